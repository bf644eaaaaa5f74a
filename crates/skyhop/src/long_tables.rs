//! Tables of a run folder that grow while the run goes on, so that its memory does not grow with its length.
//!
//! A table moves from memory to its files when it has [`LONG_ROWS`] rows; every shorter one is written at the end. A
//! piece of it is one row group of the Parquet file.

use crate::Error;
use crate::parquet_file::Parquet;
use crate::table_files::{Csv, CsvTables, Files};
use crate::tables::{RecordsHasher, TABLES, TableHasher, table};
use arrow_array::RecordBatch;
use skyhop_sim::records::Records;
use std::collections::BTreeMap;

/// Rows of a table that stay in memory, some 15 MB of the widest one. More than [`CsvTables::SHORT_ROWS`], so that no
/// table in pieces has a CSV file by default.
pub(crate) const LONG_ROWS: usize = 1 << 17;
const _: () = assert!(LONG_ROWS > CsvTables::SHORT_ROWS);

/// The tables of a run on their way into a folder; those that are open have files that are not finished.
pub(crate) struct LongTables<'a> {
    files: &'a Files<'a>,
    /// `None` for no CSV at all.
    csv: Option<CsvTables>,
    open: BTreeMap<&'static str, LongTable>,
}

struct LongTable {
    parquet: Parquet,
    csv: Option<Csv>,
    hash: TableHasher,
}

impl<'a> LongTables<'a> {
    pub fn new(files: &'a Files<'a>, csv: Option<CsvTables>) -> LongTables<'a> {
        LongTables { files, csv, open: BTreeMap::new() }
    }

    pub fn files(&self) -> &'a Files<'a> {
        self.files
    }

    /// Writes the rows of `records`, which are later than all that a table has by now.
    ///
    /// # Errors
    /// [`Error::Write`], which names the file.
    pub fn add(&mut self, records: &Records) -> Result<(), Error> {
        for name in TABLES {
            let batch = table(records, name).expect("every name of TABLES is a table");
            if batch.num_rows() > 0 {
                self.add_to(name, &batch)?;
            }
        }
        Ok(())
    }

    fn add_to(&mut self, name: &'static str, batch: &RecordBatch) -> Result<(), Error> {
        let (files, csv) = (self.files, self.csv);
        if !self.open.contains_key(name) {
            let csv = match csv {
                Some(CsvTables::All) => Some(files.create(&csv_name(name), |file| Csv::new(file, batch))?),
                Some(CsvTables::Short) | None => None,
            };
            let parquet = files.create(&parquet_name(name), |file| Parquet::new(file, batch))?;
            self.open.insert(name, LongTable { parquet, csv, hash: TableHasher::new(name, batch) });
        }
        let long = self.open.get_mut(name).expect("it is open by now");
        files.written(&parquet_name(name), long.parquet.add(batch))?;
        if let Some(csv) = &mut long.csv {
            files.written(&csv_name(name), csv.add(batch))?;
        }
        long.hash.add(batch);
        Ok(())
    }

    /// Writes what is left in `records`. Returns the tables that have rows but no CSV file, and the hash over all
    /// tables: each is made once, for its files and for the hash.
    ///
    /// # Errors
    /// [`Error::Write`], which names the file.
    pub fn finish(mut self, records: &Records) -> Result<(Vec<&'static str>, String), Error> {
        let mut hasher = RecordsHasher::default();
        let mut without = Vec::new();
        for name in TABLES {
            let batch = table(records, name).expect("every name of TABLES is a table");
            if self.open.contains_key(name) {
                if batch.num_rows() > 0 {
                    self.add_to(name, &batch)?;
                }
                if self.csv == Some(CsvTables::Short) {
                    without.push(name);
                }
                hasher.add(self.close(name)?);
                continue;
            }
            hasher.add_whole(name, &batch);
            if !self.files.write_table(name, &batch, self.csv)? {
                without.push(name);
            }
        }
        Ok((without, hasher.finish()))
    }

    fn close(&mut self, name: &'static str) -> Result<TableHasher, Error> {
        let LongTable { parquet, csv, hash } = self.open.remove(name).expect("it is open");
        self.files.written(&parquet_name(name), parquet.finish())?;
        if let Some(csv) = csv {
            self.files.written(&csv_name(name), csv.finish())?;
        }
        Ok(hash)
    }
}

fn parquet_name(table: &str) -> String {
    format!("{table}.parquet")
}

fn csv_name(table: &str) -> String {
    format!("{table}.csv")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parquet_file::ParquetReader;
    use crate::{Progress, RunOptions, Scenario, records_hash, run, run_into};
    use arrow_array::{Array, BooleanArray, StringViewArray};
    use std::fs::{self, File};
    use std::path::Path;

    /// Two flows over five links, 140,000 instants: each series is written in pieces, and most tables are short. The
    /// names of the flows are not in the order of their rows.
    const SCENARIO: &str = r#"
        duration = "14 s"
        profile = "rfc"
        records = { grid = "0.1 ms" }

        [[links]]
        between = ["left", "right"]
        rate = "1 Mbit/s"
        delay = "10 ms"
        queue = { drop_tail = { packets = 9 } }

        [[flows]]
        name = "z"
        from = "left"
        to = "right"
        tcp = "newreno"
        application = "ftp"

        [[flows]]
        name = "a"
        from = "left"
        to = "right"
        tcp = "sack"
        application = { messages = { payload = "100 B", every = "50 ms", deadline = "40 ms" } }
        start = "1 s"
    "#;

    /// The pieces of a table in a file.
    fn read(file: &Path) -> Vec<RecordBatch> {
        let reader = ParquetReader::new(File::open(file).unwrap()).unwrap();
        let all: Vec<usize> = (0..reader.columns().len()).collect();
        (0..reader.row_groups()).map(|group| reader.read(group, &all).unwrap()).collect()
    }

    /// Checks that the pieces, one after the other, have the names and the rows of the whole table.
    fn assert_joined(what: &str, pieces: &[RecordBatch], whole: &RecordBatch) {
        let mut row = 0;
        for piece in pieces {
            assert_eq!(piece.schema(), whole.schema(), "{what}");
            let part = whole.slice(row, piece.num_rows().min(whole.num_rows() - row));
            for (field, (a, b)) in whole.schema().fields().iter().zip(piece.columns().iter().zip(part.columns())) {
                assert!(a == b, "{what}: {} differs from row {row} on", field.name());
            }
            row += piece.num_rows();
        }
        assert_eq!(row, whole.num_rows(), "{what}");
    }

    #[test]
    fn tables_in_pieces_are_the_whole_tables() {
        let scenario = Scenario::from_toml(SCENARIO, "<test>", &[]).unwrap_or_else(|error| panic!("{error}"));
        let (options, progress) = (RunOptions::with_seed(3), Progress::new());
        let whole = run(&scenario, &options, &progress).unwrap();
        let parent = tempfile::tempdir().unwrap();
        let (wide, narrow) = (parent.path().join("whole"), parent.path().join("pieces"));
        whole.write_with(&wide, CsvTables::All).unwrap();
        fs::create_dir(&narrow).unwrap();
        let manifest = run_into(&scenario, &options, &progress, &narrow, &narrow, CsvTables::All).unwrap();
        assert_eq!(manifest["records_hash"], whole.records_hash());
        let summary = |folder: &Path| fs::read(folder.join("summary.json")).unwrap();
        assert_eq!(summary(&narrow), summary(&wide));
        assert!(whole.records.messages[0].messages > 200, "{:?}", whole.records.messages);
        let mut pieces = 0;
        for name in TABLES {
            let table = whole.table(name).unwrap();
            let file = narrow.join(format!("{name}.parquet"));
            assert_eq!(file.exists(), table.num_rows() > 0, "{name}");
            if table.num_rows() > 0 {
                let found = read(&file);
                assert_joined(name, &found, &table);
                pieces += found.len() - 1;
                let csv = |folder: &Path| fs::read(folder.join(format!("{name}.csv"))).unwrap();
                assert_eq!(csv(&narrow), csv(&wide), "{name}");
            }
        }
        assert!(pieces >= 4, "{pieces}: nothing was written while the run went on");
    }

    /// Over rings, behind a discipline, with losses, with short segments, SACK blocks and handshakes, and QUIC.
    const PACKETS: &str = r#"
        duration = "8 s"
        records = { packets = ["left->right", "right->left", "left->far"] }

        [[links]]
        between = ["left", "right"]
        rate = "1 Mbit/s"
        delay = "100 ms"
        queue = { drop_tail = { packets = 9 } }
        errors = [{ packet = 0.02 }]

        [[links]]
        between = ["left", "far"]
        rate = "1 Mbit/s"
        delay = "20 ms"
        queue = "fq_codel"

        [[flows]]
        name = "own"
        from = "left"
        to = "right"
        tcp = { profile = "rfc", name = "sack", handshake = "syn" }
        application = { telnet = { payload = "300 B", interval = "20 ms" } }

        [[flows]]
        name = "files"
        from = "left"
        to = "right"
        tcp = { profile = "rfc", name = "sack" }
        application = { ftp = { bytes = "60100 B" } }

        [[flows]]
        name = "back"
        from = "right"
        to = "left"
        tcp = { profile = "linux", name = "cubic" }

        [[flows]]
        name = "quic"
        from = "left"
        to = "far"
        quic = "quinn"
    "#;

    #[test]
    fn packets_taken_while_the_run_goes_on_are_those_of_the_whole_run() {
        let scenario = Scenario::from_toml(PACKETS, "<test>", &[]).unwrap_or_else(|error| panic!("{error}"));
        let new = || skyhop_sim::Execution::new(&scenario.simulation_spec(), 5, 1).unwrap();
        let whole = new().run();
        let whole = table(&whole, "packets").unwrap();
        let mut simulation = new();
        let mut pieces = Vec::new();
        for ms in (0..8000).step_by(7) {
            simulation.run_until(skyhop_base::Time::from_nanos(ms * 1_000_000));
            simulation.take_rows(1, |records| pieces.push(table(records, "packets").unwrap()));
        }
        pieces.retain(|piece| piece.num_rows() > 0);
        let many = pieces.len();
        pieces.push(table(&simulation.run(), "packets").unwrap());
        assert!(many > 300 && whole.num_rows() > 3000, "{many} pieces of {} rows", whole.num_rows());
        assert_joined("packets", &pieces, &whole);
    }

    /// A satellite whose one transmitter serves two stations.
    const SHARED: &str = r#"
        duration = "4 s"
        profile = "rfc"
        records = { packets = ["geo-0->ground", "hub->sky", "hub->office"] }

        [constellation]
        preset = "geo"
        longitudes = ["10 deg"]
        gsl = { rate = "1 Mbit/s" }

        [stations]
        hub = { city = "Palermo" }
        rome = { city = "Rome" }
        tunis = { city = "Tunis" }

        [[links]]
        between = ["hub", "office"]
        rate = "10 Mbit/s"
        delay = "1 ms"

        [[flows]]
        name = "hub-rome"
        from = "hub"
        to = "rome"
        udp = {}
        application = { constant_rate = { rate = "100 kbit/s", payload = "500 B" } }

        [[flows]]
        name = "office-tunis"
        from = "office"
        to = "tunis"
        tcp = "sack"
        application = "ftp"
    "#;

    #[test]
    fn rows_at_a_downlink_say_who_receives() {
        let scenario = Scenario::from_toml(SHARED, "<test>", &[]).unwrap_or_else(|error| panic!("{error}"));
        let whole = run(&scenario, &RunOptions::with_seed(5), &Progress::new()).unwrap();
        let packets = whole.table("packets").unwrap();
        let texts = |name: &str| {
            let column = packets.column_by_name(name).unwrap().as_any().downcast_ref::<StringViewArray>().unwrap();
            column.iter().map(|text| text.unwrap_or("-").to_owned()).collect::<Vec<_>>()
        };
        let (links, flows, tos) = (texts("link"), texts("flow"), texts("to"));
        let is_ack = packets.column_by_name("is_ack").unwrap().as_any().downcast_ref::<BooleanArray>().unwrap();
        let mut counts: BTreeMap<(String, String, bool, String), usize> = BTreeMap::new();
        for row in 0..packets.num_rows() {
            let key = (links[row].clone(), flows[row].clone(), is_ack.value(row), tos[row].clone());
            *counts.entry(key).or_default() += 1;
        }
        let found: Vec<(&str, &str, bool, &str)> =
            counts.keys().map(|(link, flow, is_ack, to)| (&**link, &**flow, *is_ack, &**to)).collect();
        let expected = [
            ("geo-0->ground", "hub-rome", false, "rome"),
            ("geo-0->ground", "office-tunis", false, "tunis"),
            ("geo-0->ground", "office-tunis", true, "hub"),
            ("hub->office", "office-tunis", true, "-"),
            ("hub->sky", "hub-rome", false, "geo-0"),
            ("hub->sky", "office-tunis", false, "geo-0"),
        ];
        assert_eq!(found, expected, "{counts:?}");

        // The hash has the column where it holds something, in memory and over files that are written in pieces.
        let mut empty = whole.records.clone();
        empty.packets.iter_mut().for_each(|row| row.to = None);
        assert_ne!(records_hash(&empty), records_hash(&whole.records));
        for records in [&empty, &whole.records] {
            let folder = tempfile::tempdir().unwrap();
            let files = Files { folder: folder.path(), shown: folder.path() };
            let mut tables = LongTables::new(&files, None);
            let mut rest = records.clone();
            for packets in [rest.packets.drain(..50).collect(), rest.packets.drain(..70).collect()] {
                let (flow_names, link_names) = (rest.flow_names.clone(), rest.link_names.clone());
                let node_names = rest.node_names.clone();
                tables.add(&Records { packets, flow_names, link_names, node_names, ..Records::default() }).unwrap();
            }
            assert_eq!(tables.finish(&rest).unwrap().1, records_hash(records));
        }
    }

    /// Three places, 30 ms apart: TCP from end to end, with drops and messages; web pages at both ends, of which some
    /// are so large that the pages after them wait.
    const FAR: &str = r#"
        duration = "9 s"
        profile = "rfc"
        records = { grid = "20 ms", packets = ["a->near-a", "c->near-c"], updates = true }
        links = [
            { between = ["a", "b"], rate = "2 Mbit/s", delay = "30 ms", queue = { drop_tail = { packets = 9 } } },
            { between = ["b", "c"], rate = "2 Mbit/s", delay = "30 ms", queue = { drop_tail = { packets = 9 } } },
            { between = ["a", "near-a"], rate = "1 Mbit/s", delay = "1 ms" },
            { between = ["c", "near-c"], rate = "1 Mbit/s", delay = "1 ms" },
        ]

        [[flows]]
        name = "greedy"
        from = "a"
        to = "c"
        tcp = "newreno"

        [[flows]]
        name = "ending"
        from = "c"
        to = "near-a"
        tcp = "sack"
        application = { telnet = { payload = "300 B", interval = "20 ms" } }
        stop = "6 s"

        [[flows]]
        name = "told"
        from = "near-a"
        to = "b"
        tcp = "sack"
        application = { messages = { payload = "200 B", every = "50 ms", deadline = "40 ms" } }

        [[workloads]]
        name = "pages-a"
        from = ["a"]
        to = ["near-a"]
        tcp = "newreno"
        arrivals = { renewal = { constant = "2 s" } }
        stop = "8 s"
        [workloads.pages]
        views = 500
        think = "50 ms"
        content.document = { lognormal = { median = "9 kB", sigma = 2.0 } }
        content.objects = 3
        content.sizes = { constant = "2 kB" }

        [[workloads]]
        name = "pages-c"
        from = ["c"]
        to = ["near-c"]
        tcp = "newreno"
        arrivals = { renewal = { constant = "2 s" } }
        stop = "9 s"
        [workloads.pages]
        views = 500
        think = "50 ms"
        content.document = { lognormal = { median = "9 kB", sigma = 2.0 } }
        content.objects = 3
        content.sizes = { constant = "2 kB" }

        [[workloads]]
        name = "files"
        from = ["near-a"]
        to = ["c"]
        tcp = "newreno"
        arrivals = { renewal = { constant = "500 ms" } }
        stop = "1.7 s"
        sizes = { constant = "30 kB" }
    "#;

    #[test]
    fn rows_taken_in_pieces_are_those_of_the_whole_run_in_any_number_of_parts() {
        let scenario = Scenario::from_toml(FAR, "<test>", &[]).unwrap_or_else(|error| panic!("{error}"));
        let spec = scenario.simulation_spec();
        let whole = skyhop_sim::Execution::new(&spec, 2, 1).unwrap().run();
        let tables = |records: &Records| TABLES.map(|name| table(records, name).unwrap());
        let rows = |name: &str| table(&whole, name).unwrap().num_rows();
        let counts = ["drops", "packets", "pages", "transfers"].map(rows);
        assert!(counts.iter().zip([20, 500, 20, 200]).all(|(&found, least)| found >= least), "{counts:?}");
        assert!(whole.pages.iter().any(|page| page.loaded.is_none()), "none waits at the end");
        for (threads, parts) in [(1, 1), (1, 2), (2, 3)] {
            for least in [1, 100] {
                let mut run = skyhop_sim::Execution::with_parts(&spec, 2, threads, parts).unwrap();
                assert_eq!(run.division().parts, parts, "{:?}", run.division());
                let mut pieces: Vec<_> = TABLES.map(|_| Vec::new()).into();
                for ms in (0..9000).step_by(40) {
                    run.run_until(skyhop_base::Time::from_nanos(ms * 1_000_000));
                    run.take_rows(least, |records| {
                        pieces.iter_mut().zip(tables(records)).for_each(|(of, it)| of.push(it))
                    });
                }
                run.run_until(skyhop_base::Time::MAX);
                let rest = run.finish();
                assert_eq!(rest.warnings, whole.warnings);
                assert!(least > 1 || rest.pages.len() < whole.pages.len(), "no page was taken");
                for ((name, whole), (mut pieces, rest)) in
                    TABLES.iter().zip(tables(&whole)).zip(pieces.into_iter().zip(tables(&rest)))
                {
                    pieces.push(rest);
                    let what = format!("{name}, {threads} threads, {parts} parts, from {least} rows on");
                    assert_joined(&what, &pieces, &whole);
                }
            }
        }
    }

    #[test]
    fn long_tables_have_no_csv_unless_asked_and_a_file_in_the_way_is_an_error() {
        let scenario = Scenario::from_toml(SCENARIO, "<test>", &[]).unwrap_or_else(|error| panic!("{error}"));
        let (options, progress) = (RunOptions::with_seed(3), Progress::new());
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        fs::create_dir(&folder).unwrap();
        let into = |shown: &str| run_into(&scenario, &options, &progress, &folder, shown.as_ref(), CsvTables::Short);
        let manifest = into("elsewhere").unwrap();
        assert_eq!(manifest["tables_without_csv"], serde_json::json!(["flow_series", "link_series"]));
        let asks = SCENARIO.replace("grid = \"0.1 ms\"", "grid = \"0.1 ms\", csv = true");
        let asks = Scenario::from_toml(&asks, "<test>", &[]).unwrap_or_else(|error| panic!("{error}"));
        let whole = parent.path().join("whole");
        fs::create_dir(&whole).unwrap();
        let manifest = run_into(&asks, &options, &progress, &whole, &whole, CsvTables::Short).unwrap();
        assert_eq!(manifest.get("tables_without_csv"), None);
        assert!(whole.join("flow_series.csv").exists());
        assert!(!folder.join("flow_series.csv").exists() && folder.join("flows.csv").exists());
        let error = into("elsewhere").unwrap_err().to_string();
        assert!(error.contains("elsewhere/") && error.contains("series.parquet"), "{error}");
    }
}
