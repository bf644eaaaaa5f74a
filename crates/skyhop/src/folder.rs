//! The run folder. It appears complete or not at all: everything is written to a folder beside it, which is
//! renamed at the end.

use crate::tables::{Column, TABLES, table};
use crate::{Error, Run};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde_json::Value;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A folder that goes away unless it is kept.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Nothing to do about a failure here, and the error that led here matters more.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Unfinished {
    /// A new, empty folder beside `target`, which must not exist or be an empty folder.
    fn beside(target: &Path) -> Result<Unfinished, Error> {
        let taken = match fs::read_dir(target) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        if taken {
            return Err(Error::Exists { path: target.to_owned() });
        }
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_else(|| "run".as_ref()));
        name.push(format!(".{}.unfinished", std::process::id()));
        let path = target.with_file_name(name);
        fs::create_dir_all(&path).map_err(Error::write(target))?;
        Ok(Unfinished(path))
    }

    fn become_target(self, target: &Path) -> Result<(), Error> {
        match fs::remove_dir(target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::rename(&self.0, target),
        }
        .map_err(Error::write(target))
    }
}

pub(crate) fn write(run: &Run, target: &Path) -> Result<(), Error> {
    let folder = Unfinished::beside(target)?;
    let write_json = |name: &str, value: &Value| {
        let mut text = serde_json::to_string_pretty(value).expect("a JSON value can always be written");
        text.push('\n');
        fs::write(folder.0.join(name), text).map_err(Error::write(&target.join(name)))
    };
    write_json("manifest.json", run.manifest())?;
    write_json("summary.json", run.summary())?;
    write_json("scenario.json", &run.manifest()["scenario"])?;
    for name in TABLES {
        let batch = table(&run.records, name).expect("every name of TABLES is a table");
        if batch.num_rows() == 0 {
            continue;
        }
        for (suffix, write_table) in [("parquet", write_parquet as fn(_, _) -> _), ("csv", write_csv)] {
            let file = format!("{name}.{suffix}");
            File::create_new(folder.0.join(&file))
                .and_then(|created| write_table(&batch, created))
                .map_err(Error::write(&target.join(&file)))?;
        }
    }
    folder.become_target(target)
}

fn write_parquet(batch: &RecordBatch, file: File) -> io::Result<()> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(BufWriter::new(file), batch.schema(), Some(properties))?;
    writer.write(batch)?;
    writer.into_inner()?.flush()
}

/// A header line, then one line per row; null is an empty field. Numbers have as many digits as they need to be
/// read back exactly.
fn write_csv(batch: &RecordBatch, file: File) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(BufWriter::new(file));
    writer.write_record(batch.schema().fields().iter().map(|field| field.name()))?;
    let mut field = Vec::new();
    for row in 0..batch.num_rows() {
        for column in batch.columns() {
            field.clear();
            if column.is_valid(row) {
                write_value(&mut field, column, row)?;
            }
            writer.write_field(&field)?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()
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
    use crate::sample;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use serde_json::json;

    fn run() -> Run {
        Run::by_hand(sample::records(), json!({ "seed": 3, "scenario": { "duration": "76 s" } }))
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
        let full = TABLES.iter().filter(|&&name| name != "positions" && name != "packets");
        let mut expected: Vec<_> = full.flat_map(|t| [format!("{t}.csv"), format!("{t}.parquet")]).collect();
        expected.extend(["manifest.json", "scenario.json", "summary.json"].map(String::from));
        expected.sort();
        assert_eq!(listing(&folder), expected);
        assert_eq!(listing(&parent.path().join("deeper")), ["run"], "nothing unfinished stays behind");
        let scenario = fs::read_to_string(folder.join("scenario.json")).unwrap();
        assert_eq!(scenario, "{\n  \"duration\": \"76 s\"\n}\n");
    }

    #[test]
    fn parquet_gives_back_the_table() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        run().write(&folder).unwrap();
        for name in TABLES.iter().filter(|&&name| name != "positions" && name != "packets") {
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
    fn an_empty_folder_is_taken_and_a_full_one_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        fs::create_dir(&folder).unwrap();
        run().write(&folder).unwrap();
        let before = listing(&folder);
        let error = run().write(&folder).unwrap_err();
        assert!(matches!(&error, Error::Exists { path } if *path == folder), "{error}");
        assert_eq!(listing(&folder), before);
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
