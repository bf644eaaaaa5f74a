//! Files of a run folder: each table as Parquet and as CSV, and the JSON beside them.

use crate::Error;
use crate::parquet_file::Parquet;
use crate::staging::step;
use crate::tables::Column;
use arrow_array::{Array, RecordBatch};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Files on their way into a folder. Errors name the file as `shown`, where the reader of the message looks for it.
pub(crate) struct Files<'a> {
    pub folder: &'a Path,
    pub shown: &'a Path,
}

impl Files<'_> {
    pub fn json(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        let mut text = serde_json::to_string_pretty(value).expect("names and numbers can always be written");
        text.push('\n');
        step();
        fs::write(self.folder.join(name), text).map_err(Error::write(&self.shown.join(name)))
    }

    /// A new file, and whatever writes to it.
    pub fn create<W>(&self, name: &str, writer: impl FnOnce(File) -> io::Result<W>) -> Result<W, Error> {
        step();
        let created = File::create_new(self.folder.join(name)).and_then(|created| {
            step();
            writer(created)
        });
        self.written(name, created)
    }

    /// An error of writing a file, with its name.
    pub fn written<T>(&self, name: &str, result: io::Result<T>) -> Result<T, Error> {
        result.map_err(Error::write(&self.shown.join(name)))
    }

    /// A whole table as Parquet and, where `csv` has it, as CSV; nothing without rows. False if it has rows, and `csv`
    /// leaves it out.
    pub fn write_table(&self, name: &str, batch: &RecordBatch, csv: Option<CsvTables>) -> Result<bool, Error> {
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(true);
        }
        let file = format!("{name}.parquet");
        let mut parquet = self.create(&file, |file| Parquet::new(file, batch))?;
        self.written(&file, parquet.add(batch).and_then(|()| parquet.finish()))?;
        let Some(csv) = csv else { return Ok(true) };
        if csv.has(rows) {
            let file = format!("{name}.csv");
            let mut writer = self.create(&file, |file| Csv::new(file, batch))?;
            self.written(&file, writer.add(batch).and_then(|()| writer.finish()))?;
        }
        Ok(csv.has(rows))
    }
}

/// Which tables a run folder holds as CSV beside Parquet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CsvTables {
    /// Those of at most [`CsvTables::SHORT_ROWS`] rows. Long tables are much larger as CSV than as Parquet, and most of
    /// the time of writing goes into them.
    #[default]
    Short,
    All,
}

impl CsvTables {
    pub const SHORT_ROWS: usize = 100_000;

    fn has(self, rows: usize) -> bool {
        self == CsvTables::All || rows <= CsvTables::SHORT_ROWS
    }
}

/// A header line, then one line per row; null is an empty field. Numbers have as many digits as they need to be read
/// back exactly.
pub(crate) struct Csv {
    writer: csv::Writer<BufWriter<File>>,
    field: Vec<u8>,
}

impl Csv {
    pub fn new(file: File, like: &RecordBatch) -> io::Result<Csv> {
        let mut writer = csv::Writer::from_writer(BufWriter::new(file));
        writer.write_record(like.schema().fields().iter().map(|field| field.name()))?;
        Ok(Csv { writer, field: Vec::new() })
    }

    pub fn add(&mut self, batch: &RecordBatch) -> io::Result<()> {
        for row in 0..batch.num_rows() {
            for column in batch.columns() {
                self.field.clear();
                if column.is_valid(row) {
                    write_value(&mut self.field, column, row)?;
                }
                self.writer.write_field(&self.field)?;
            }
            self.writer.write_record(None::<&[u8]>)?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

fn write_value(out: &mut Vec<u8>, column: &dyn Array, row: usize) -> io::Result<()> {
    match Column::of(column) {
        Column::Real(values) => write!(out, "{}", values.value(row)),
        Column::Count(values) => write!(out, "{}", values.value(row)),
        Column::Flag(values) => write!(out, "{}", values.value(row)),
        Column::Text(values) => out.write_all(values.value(row).as_bytes()),
    }
}
