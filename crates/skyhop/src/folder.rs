//! What a run folder holds. How it comes to its place: [`crate::Staging`].

use crate::long_tables::LongTables;
use crate::staging::{FolderKind, Staging, is_whole};
use crate::summary::Summary;
use crate::table_files::{CsvTables, Files};
use crate::{Error, Run};
use serde_json::Value;
use std::path::Path;

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

/// Every table that has rows, and the JSON. Returns the tables that `csv` leaves out; the manifest names them, too.
fn write_all(run: &Run, files: &Files<'_>, csv: Option<CsvTables>) -> Result<Vec<&'static str>, Error> {
    let csv = csv.map(|csv| if run.asks_for_csv() { CsvTables::All } else { csv });
    finish(run, LongTables::new(files, csv)).map(|(without, _)| without)
}

/// Writes the rows that are still in memory, and the JSON. Returns the tables that have rows but no CSV, and the
/// manifest.
pub(crate) fn finish(run: &Run, tables: LongTables<'_>) -> Result<(Vec<&'static str>, Value), Error> {
    let files = tables.files();
    let (without, hash) = tables.finish(&run.records)?;
    run.hash_is(hash);
    let mut manifest = run.manifest();
    if !without.is_empty() {
        manifest["tables_without_csv"] = without.clone().into();
    }
    files.json("summary.json", &Summary(&run.records))?;
    files.json("scenario.json", &manifest["scenario"])?;
    files.json("manifest.json", &manifest)?;
    Ok((without, manifest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parquet_file::ParquetReader;
    use crate::{LIST, TABLES, sample};
    use serde_json::json;
    use skyhop_sim::Records;
    use std::fs::{self, File};

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
        let write_with = |records: &Records, csv, scenario: serde_json::Value| {
            let run = Run::by_hand(records.clone(), json!({ "seed": 3, "scenario": scenario }));
            let without = run.write_with(&folder, csv).unwrap();
            let manifest: serde_json::Value =
                serde_json::from_str(&fs::read_to_string(folder.join("manifest.json")).unwrap()).unwrap();
            assert_eq!(manifest["tables_without_csv"].as_array().map_or(0, Vec::len), without.len());
            assert!(folder.join("drops.parquet").exists() && folder.join("flows.csv").exists());
            (without, folder.join("drops.csv").exists())
        };
        let write = |records: &Records, csv| write_with(records, csv, json!({}));
        assert_eq!(write(&records, CsvTables::Short), (vec![], true));
        records.drops.push(row);
        assert_eq!(write(&records, CsvTables::Short), (vec!["drops"], false));
        assert_eq!(write(&records, CsvTables::All), (vec![], true));
        let asks = json!({ "records": { "csv": true } });
        assert_eq!(write_with(&records, CsvTables::Short, asks), (vec![], true));
    }

    #[test]
    fn parquet_gives_back_the_table() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        run().write(&folder).unwrap();
        for name in full() {
            let file = File::open(folder.join(format!("{name}.parquet"))).unwrap();
            let reader = ParquetReader::new(file).unwrap();
            let all: Vec<usize> = (0..reader.columns().len()).collect();
            assert_eq!(reader.row_groups(), 1);
            assert_eq!(reader.read(0, &all).unwrap(), run().table(name).unwrap(), "{name}");
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
