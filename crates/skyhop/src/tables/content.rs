//! The fingerprint of what a run found: over the content of its tables, not over the bytes of any file.

use super::{Column, TABLES, table};
use arrow_array::{Array, Float64Array, RecordBatch, StringViewArray};
use sha2::{Digest, Sha256};
use skyhop_sim::records::Records;
use std::cmp::Ordering;
use std::fmt::Write as _;

/// Version of the records: which tables there are, with which columns, and how their hash is formed. It is part of the
/// hash and rises with each change to any of these, so that hashes of two versions never agree. A column at the end of
/// a table may come without a rise, if it is empty in most runs: `LATE_COLUMNS`.
pub const RECORDS_FORMAT: u32 = 6;

/// Columns that came without a rise of [`RECORDS_FORMAT`], by table. The hash contains them where they hold a value:
/// runs in which they are empty kept their hash.
const LATE_COLUMNS: [(&str, &str); 1] = [("packets", "to")];

/// The hash over every table of a run.
pub fn records_hash(records: &Records) -> String {
    let mut hasher = RecordsHasher::default();
    for name in TABLES {
        hasher.add_whole(name, &table(records, name).expect("every name of TABLES is a table"));
    }
    hasher.finish()
}

/// SHA-256, in hexadecimal, over [`RECORDS_FORMAT`] and every table of [`TABLES`], in that order: its name, the number
/// of its rows and of its columns, and per column the name, the type and the SHA-256 of its values. `LATE_COLUMNS`
/// without a value have no part in it.
///
/// Rows are taken in the order of time and then of the names in them, so the hash does not depend on the order in
/// which flows and links were declared. Wall time, the program's version and file formats have no part in it.
///
/// No two different contents feed the same bytes: lengths go before texts, a mark before each value that may be absent.
pub(crate) struct RecordsHasher(Sha256);

impl Default for RecordsHasher {
    fn default() -> RecordsHasher {
        let mut hasher = RecordsHasher(Sha256::new());
        hasher.text("records");
        hasher.length(RECORDS_FORMAT as usize);
        hasher
    }
}

impl RecordsHasher {
    pub fn add(&mut self, table: TableHasher) {
        let TableHasher { name, rows, columns } = table;
        let columns: Vec<ColumnHasher> = columns.into_iter().filter(|column| column.is_hashed(name)).collect();
        self.text(name);
        self.length(rows);
        self.length(columns.len());
        for ColumnHasher { name, kind, values, .. } in columns {
            self.text(&name);
            self.text(kind);
            self.0.update(values.finalize());
        }
    }

    /// Adds a table that has not been written in pieces.
    pub fn add_whole(&mut self, name: &'static str, batch: &RecordBatch) {
        let mut table = TableHasher::new(name, batch);
        table.add(batch);
        self.add(table);
    }

    pub fn finish(self) -> String {
        self.0.finalize().iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    fn length(&mut self, n: usize) {
        self.0.update((n as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.update(text);
    }
}

/// What the hash of the records contains of one table, piece by piece.
pub(crate) struct TableHasher {
    name: &'static str,
    rows: usize,
    columns: Vec<ColumnHasher>,
}

struct ColumnHasher {
    name: String,
    kind: &'static str,
    values: Sha256,
    /// Whether any value is there.
    has_values: bool,
}

impl TableHasher {
    /// For a table with these columns, none of whose rows is added.
    pub fn new(name: &'static str, like: &RecordBatch) -> TableHasher {
        let schema = like.schema();
        let columns = schema.fields().iter().zip(like.columns());
        let columns = columns.map(|(field, column)| ColumnHasher::new(field.name(), column)).collect();
        TableHasher { name, rows: 0, columns }
    }

    /// Adds rows that are later than all before.
    pub fn add(&mut self, batch: &RecordBatch) {
        let order = row_order(batch);
        self.rows += batch.num_rows();
        self.columns.iter_mut().zip(batch.columns()).for_each(|(hasher, column)| hasher.add(column, &order));
    }
}

impl ColumnHasher {
    fn new(name: &str, column: &dyn Array) -> ColumnHasher {
        let kind = match Column::of(column) {
            Column::Real(_) => "real",
            Column::Count(_) => "count",
            Column::Flag(_) => "flag",
            Column::Text(_) => "text",
        };
        ColumnHasher { name: name.to_owned(), kind, values: Sha256::new(), has_values: false }
    }

    fn is_hashed(&self, table: &str) -> bool {
        self.has_values || !LATE_COLUMNS.contains(&(table, &*self.name))
    }

    /// A piece of the values, in the order of `order`.
    fn add(&mut self, column: &dyn Array, order: &[u32]) {
        self.has_values |= column.null_count() < column.len();
        match Column::of(column) {
            Column::Real(values) => {
                self.put(column, order, |row, out| out.extend(values.value(row).to_bits().to_le_bytes()));
            }
            Column::Count(values) => {
                self.put(column, order, |row, out| out.extend(values.value(row).to_le_bytes()));
            }
            Column::Flag(values) => {
                self.put(column, order, |row, out| out.push(u8::from(values.value(row))));
            }
            Column::Text(values) => self.put(column, order, |row, out| {
                let text = values.value(row);
                out.extend((text.len() as u64).to_le_bytes());
                out.extend(text.as_bytes());
            }),
        }
    }

    fn put(&mut self, column: &dyn Array, order: &[u32], put: impl Fn(usize, &mut Vec<u8>)) {
        let mut bytes = Vec::with_capacity(1 << 16);
        let nulls = column.nulls();
        for &row in order {
            let row = row as usize;
            let is_valid = nulls.is_none_or(|nulls| nulls.is_valid(row));
            bytes.push(u8::from(is_valid));
            if is_valid {
                put(row, &mut bytes);
            }
            if bytes.len() > 1 << 15 {
                self.values.update(&bytes);
                bytes.clear();
            }
        }
        self.values.update(&bytes);
    }
}

/// Rows sorted by time and then by every column of text, from left to right. Equal rows keep their order.
fn row_order(batch: &RecordBatch) -> Vec<u32> {
    let keys = RowKeys::of(batch);
    let mut order: Vec<u32> = (0..batch.num_rows() as u32).collect();
    order.sort_by(|&a, &b| keys.compare(a as usize, b as usize));
    order
}

/// The columns by which rows are ordered.
struct RowKeys<'a> {
    time: Option<&'a Float64Array>,
    texts: Vec<&'a StringViewArray>,
}

impl<'a> RowKeys<'a> {
    fn of(batch: &'a RecordBatch) -> RowKeys<'a> {
        RowKeys {
            time: batch.column_by_name("time_s").and_then(|c| c.as_any().downcast_ref()),
            texts: batch.columns().iter().filter_map(|c| c.as_any().downcast_ref()).collect(),
        }
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        let text = |column: &'a StringViewArray, row: usize| column.is_valid(row).then(|| column.value(row));
        let by_time = self.time.map_or(Ordering::Equal, |time| time.value(a).total_cmp(&time.value(b)));
        self.texts.iter().fold(by_time, |order, column| order.then_with(|| text(column, a).cmp(&text(column, b))))
    }
}
