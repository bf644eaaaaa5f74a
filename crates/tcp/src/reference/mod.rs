//! Recordings of the packets that Linux sent while listed packets were lost, marked, delayed or doubled, and
//! comparisons with them.
//!
//! Its format is that of the README beside its `cases.csv`. No case is known by name: all follows from its row.

mod both;
mod case;
mod flow_case;
mod flow_judge;
mod flows;
mod judge;
mod path;
mod receiver;
mod sender;
mod states;
mod trace;

pub use both::{BothComparison, compare_both};
pub use case::{Case, Row, Write, read_cases, read_rows};
pub use flow_case::{FlowCase, FlowRow, OneFlow, Range, read_flow_rows, read_flow_windows, read_flows};
pub use flow_judge::{JudgedFlow, Measure, judge_flow};
pub use flows::{FlowData, FlowResult, Sample, run_flow, window_at};
pub use judge::{Half, Judged, Overlay, Point, judge, overlay};
pub use path::{PathComparison, compare_path};
pub use receiver::{ReceiverComparison, compare_receiver, receiver_config};
pub use sender::{Difference, SenderComparison, Window, Windows, compare_sender, read_windows, sender_config};
pub use states::{State, read_states};
pub use trace::{Packet, read_packets};

use std::path::PathBuf;

/// Why a reference cannot be read or run.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    #[error("{}: {source}", .path.display())]
    Read { path: PathBuf, source: csv::Error },
    #[error("{}: there is no column \"{column}\"", .path.display())]
    Column { path: PathBuf, column: &'static str },
    #[error("{}, row {row}: {column} is \"{value}\", {wanted}", .path.display())]
    Value { path: PathBuf, row: usize, column: &'static str, value: String, wanted: &'static str },
    #[error("{}, row {row}: {source}", .path.display())]
    List { path: PathBuf, row: usize, source: crate::path::ListError },
    #[error("{case}: the setting {name} = {value} is not modelled")]
    Setting { case: String, name: String, value: String },
    #[error("{case}: {problem}")]
    Trace { case: String, problem: &'static str },
    #[error("{}, row {row}: {found} fields, but the header has {wanted}", .path.display())]
    Fields { path: PathBuf, row: usize, found: usize, wanted: usize },
    #[error("{}, row {row}: the column \"{column}\" is not known here, and it says \"{value}\"", .path.display())]
    Unknown { path: PathBuf, row: usize, column: String, value: String },
}

/// The largest number that a column of times holds, in that column's unit.
const LONGEST: f64 = 1e6;

/// A table with named columns, and the place of an error in it.
struct Table {
    path: PathBuf,
    header: csv::StringRecord,
    rows: Vec<csv::StringRecord>,
}

impl Table {
    fn read(path: PathBuf, input: impl std::io::Read) -> Result<Table, ReferenceError> {
        // A row with too few or too many fields is that row's fault, not the table's.
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(input);
        let read = |source| ReferenceError::Read { path: path.clone(), source };
        let header = reader.headers().map_err(read)?.clone();
        let rows = reader.records().collect::<Result<_, _>>().map_err(read)?;
        Ok(Table { path, header, rows })
    }

    fn column(&self, column: &'static str) -> Result<usize, ReferenceError> {
        let place = self.header.iter().position(|name| name == column);
        place.ok_or_else(|| ReferenceError::Column { path: self.path.clone(), column })
    }

    fn wrong(&self, row: usize, column: &'static str, value: &str, wanted: &'static str) -> ReferenceError {
        // The header is the file's first line.
        ReferenceError::Value { path: self.path.clone(), row: row + 2, column, value: value.to_owned(), wanted }
    }

    fn text(&self, row: usize, column: &'static str) -> Result<&str, ReferenceError> {
        let place = self.column(column)?;
        self.rows[row].get(place).ok_or_else(|| self.fields(row))
    }

    fn fields(&self, row: usize) -> ReferenceError {
        let (found, wanted) = (self.rows[row].len(), self.header.len());
        ReferenceError::Fields { path: self.path.clone(), row: row + 2, found, wanted }
    }

    fn number<T: std::str::FromStr>(&self, row: usize, column: &'static str) -> Result<T, ReferenceError> {
        let value = self.text(row, column)?;
        // Every comparison with NaN is false, so a bound would hold without a word.
        let is_nan = value.trim_start_matches(['+', '-']).eq_ignore_ascii_case("nan");
        match value.parse() {
            Ok(number) if !is_nan => Ok(number),
            _ => Err(self.wrong(row, column, value, "not a number in the range of this column")),
        }
    }

    fn seconds(&self, row: usize, column: &'static str) -> Result<f64, ReferenceError> {
        let value: f64 = self.number(row, column)?;
        if (0.0..=LONGEST).contains(&value) {
            Ok(value)
        } else {
            Err(self.wrong(row, column, &value.to_string(), "not a time from 0 to 1000000"))
        }
    }
}
