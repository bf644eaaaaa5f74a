//! What a run folder holds. How it comes to its place: [`crate::Staging`].

use crate::staging::{FolderKind, Staging, is_whole, step};
use crate::summary::Summary;
use crate::tables::{Column, RecordsHasher, TABLES, table};
use crate::{Error, Run};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use serde::Serialize;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Files on their way into a folder. Errors name the file as `shown`, where the reader of the message looks for it.
pub(crate) struct Files<'a> {
    pub folder: &'a Path,
    pub shown: &'a Path,
}

impl Files<'_> {
    fn json(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
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

    /// A file that is there.
    pub fn open(&self, name: &str) -> io::Result<File> {
        File::open(self.folder.join(name))
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

pub(crate) fn write(run: &Run, target: &Path, csv: CsvTables) -> Result<Vec<&'static str>, Error> {
    let staging = Staging::begin(target, FolderKind::Run)?;
    let without = write_into(run, &staging.folder(), target, csv)?;
    staging.publish()?;
    Ok(without)
}

/// The files of a run folder, into a folder that is there and holds none of them; errors name `shown`. Returns the
/// tables that have rows but no CSV.
pub(crate) fn write_into(run: &Run, folder: &Path, shown: &Path, csv: CsvTables) -> Result<Vec<&'static str>, Error> {
    write_all(run, &Files { folder, shown }, Some(csv))
}

pub(crate) fn keep(run: &Run, target: &Path) -> Result<(), Error> {
    if is_whole(target) {
        return Ok(());
    }
    let staging = Staging::begin(target, FolderKind::Kept)?;
    let folder = staging.folder();
    let files = Files { folder: &folder, shown: target };
    write_all(run, &files, None)?;
    staging.publish()
}

/// Every table that has rows, and the JSON. Each table is made once, for its files and for the hash. Returns the tables
/// that `csv` leaves out; the manifest names them, too.
fn write_all(run: &Run, files: &Files<'_>, csv: Option<CsvTables>) -> Result<Vec<&'static str>, Error> {
    let mut hasher = RecordsHasher::default();
    let mut without = Vec::new();
    for name in TABLES {
        let batch = table(&run.records, name).expect("every name of TABLES is a table");
        hasher.table(name, &batch);
        if !files.write_table(name, &batch, csv)? {
            without.push(name);
        }
    }
    run.hash_is(hasher.finish());
    write_json(run, files, &without)?;
    Ok(without)
}

/// The files beside the tables. `without`: the tables that have rows but no CSV. Returns the manifest.
pub(crate) fn write_json(run: &Run, files: &Files<'_>, without: &[&'static str]) -> Result<Value, Error> {
    let mut manifest = run.manifest();
    if !without.is_empty() {
        manifest["tables_without_csv"] = without.into();
    }
    files.json("summary.json", &Summary(&run.records))?;
    files.json("scenario.json", &manifest["scenario"])?;
    files.json("manifest.json", &manifest)?;
    Ok(manifest)
}

/// A Parquet file to which batches are added, a row group each.
pub(crate) struct Parquet(ArrowWriter<BufWriter<File>>);

impl Parquet {
    /// Without statistics, which nobody asks for: tables are read whole. Hardly a real number repeats: a dictionary of
    /// them is given up when it is full, after most of the time was spent.
    pub fn new(file: File, like: &RecordBatch) -> io::Result<Parquet> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(None)
            .set_statistics_enabled(EnabledStatistics::None);
        let schema = like.schema();
        let reals = schema.fields().iter().filter(|field| *field.data_type() == DataType::Float64);
        let properties = reals.fold(properties, |properties, field| {
            properties.set_column_dictionary_enabled(ColumnPath::from(field.name().as_str()), false)
        });
        Ok(Parquet(ArrowWriter::try_new(BufWriter::new(file), like.schema(), Some(properties.build()))?))
    }

    pub fn add(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.0.write(batch)?;
        Ok(self.0.flush()?)
    }

    pub fn finish(self) -> io::Result<()> {
        self.0.into_inner()?.flush()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LIST, sample};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use serde_json::json;
    use skyhop_sim::Records;

    fn run() -> Run {
        Run::by_hand(sample::records(), json!({ "seed": 3, "scenario": { "duration": "76 s" } }))
    }

    /// The tables of [`run`] that have rows.
    fn full() -> impl Iterator<Item = &'static str> {
        let empty = ["positions", "packets", "workload_transfers", "workloads", "pages", "calls", "messages", "videos"];
        TABLES.into_iter().filter(move |name| !empty.contains(name))
    }

    fn listing(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_folder_holds_each_table_that_has_rows_twice() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("deeper/run");
        run().write(&folder).unwrap();
        let mut expected: Vec<_> = full().flat_map(|t| [format!("{t}.csv"), format!("{t}.parquet")]).collect();
        expected.extend([LIST, "manifest.json", "scenario.json", "summary.json"].map(String::from));
        expected.sort();
        assert_eq!(listing(&folder), expected);
        assert_eq!(listing(&parent.path().join("deeper")), ["run"], "nothing unfinished stays behind");
        let scenario = fs::read_to_string(folder.join("scenario.json")).unwrap();
        assert_eq!(scenario, "{\n  \"duration\": \"76 s\"\n}\n");
    }

    #[test]
    fn a_long_table_is_csv_only_where_somebody_asks() {
        let mut records = sample::records();
        let row = records.drops[0];
        records.drops.resize(CsvTables::SHORT_ROWS, row);
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        let write = |records: &Records, csv| {
            let run = Run::by_hand(records.clone(), json!({ "seed": 3, "scenario": {} }));
            let without = run.write_with(&folder, csv).unwrap();
            let manifest: serde_json::Value =
                serde_json::from_str(&fs::read_to_string(folder.join("manifest.json")).unwrap()).unwrap();
            assert_eq!(manifest["tables_without_csv"].as_array().map_or(0, Vec::len), without.len());
            assert!(folder.join("drops.parquet").exists() && folder.join("flows.csv").exists());
            (without, folder.join("drops.csv").exists())
        };
        assert_eq!(write(&records, CsvTables::Short), (vec![], true));
        records.drops.push(row);
        assert_eq!(write(&records, CsvTables::Short), (vec!["drops"], false));
        assert_eq!(write(&records, CsvTables::All), (vec![], true));
    }

    #[test]
    fn parquet_gives_back_the_table() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        run().write(&folder).unwrap();
        for name in full() {
            let file = File::open(folder.join(format!("{name}.parquet"))).unwrap();
            let mut reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
            let read = reader.next().unwrap().unwrap();
            let written = run().table(name).unwrap();
            assert_eq!(read.columns(), written.columns(), "{name}");
            assert!(reader.next().is_none());
        }
    }

    #[test]
    fn csv_is_plain() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        run().write(&folder).unwrap();
        let handovers = fs::read_to_string(folder.join("handovers.csv")).unwrap();
        assert_eq!(
            handovers,
            "time_s,terminal,from,to,elevation_deg,slant_range_km,why,kind,from_beam,to_beam\n\
             10,berkeley,,iridium-0-3,40.5,1100,\"first, \"\"nearest\"\"\",satellite,,7\n"
        );
        let drops = fs::read_to_string(folder.join("drops.csv")).unwrap();
        assert_eq!(drops.lines().nth(1).unwrap(), "2.5,no-route,,iridium-0-3,a flow whose name is long,17,1040,false");
    }

    #[test]
    fn an_older_run_is_replaced_with_all_its_tables() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        fs::create_dir(&folder).unwrap();
        run().write(&folder).unwrap();
        assert!(folder.join("handovers.csv").exists());
        let mut records = sample::records();
        records.handovers.clear();
        Run::by_hand(records, json!({ "seed": 4, "scenario": {} })).write(&folder).unwrap();
        assert!(!folder.join("handovers.csv").exists() && !folder.join("handovers.parquet").exists());
        assert!(fs::read_to_string(folder.join("manifest.json")).unwrap().contains("\"seed\": 4"));
    }

    #[test]
    fn a_kept_run_has_each_table_with_rows_and_is_kept_once() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("ab/run");
        run().keep(&folder).unwrap();
        let mut expected: Vec<_> = full().map(|table| format!("{table}.parquet")).collect();
        expected.extend([LIST, "manifest.json", "scenario.json", "summary.json"].map(String::from));
        expected.sort();
        assert_eq!(listing(&folder), expected);
        let before = fs::metadata(folder.join("summary.json")).unwrap().modified().unwrap();
        run().keep(&folder).unwrap();
        assert_eq!(fs::metadata(folder.join("summary.json")).unwrap().modified().unwrap(), before);
        assert_eq!(listing(&parent.path().join("ab")), ["run"], "nothing unfinished stays behind");
    }

    #[test]
    fn a_run_is_not_kept_where_something_else_is() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("other"), "").unwrap();
        assert!(matches!(run().keep(&folder), Err(Error::Exists { .. })));
        assert_eq!(listing(&folder), ["other"]);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_that_names_it() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        let error = run().write(file.join("run")).unwrap_err();
        assert!(error.to_string().contains("file/run"), "{error}");
        assert!(matches!(run().write(&file), Err(Error::Exists { .. })));
        assert_eq!(listing(parent.path()), ["file"]);
    }
}
