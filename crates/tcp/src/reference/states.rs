//! `<case>.state.csv.gz`: the sender's state as the kernel tells it, and ours in the same terms.

use super::{ReferenceError, Table};
use crate::flow::CaState;
use crate::sender::Sender;
use flate2::read::GzDecoder;
use skyhop_base::{Duration, Time};
use std::fmt;
use std::fs::File;
use std::path::Path;

/// A sender's state at a time. Windows and counts in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub at: Time,
    pub ca: CaState,
    pub cwnd: u32,
    /// `None` where it was never set.
    pub ssthresh: Option<u32>,
    /// The retransmission timeout with its back-off.
    pub rto: Duration,
    /// Segments sent and not acknowledged, and of these: SACKed, taken for lost, repeated and in flight.
    pub out: u32,
    pub sacked: u32,
    pub lost: u32,
    pub repeated: u32,
}

impl State {
    pub(super) fn of(at: Time, sender: &Sender) -> State {
        let flow = sender.flow();
        State {
            at,
            ca: flow.state,
            cwnd: flow.cwnd,
            ssthresh: sender.ssthresh(),
            rto: sender.rto(),
            out: flow.packets_out,
            sacked: flow.sacked_out,
            lost: flow.lost_out,
            repeated: flow.retrans_out,
        }
    }

    /// Adds the state if it differs from the last.
    pub(super) fn note(states: &mut Vec<State>, at: Time, sender: &Sender) {
        let state = State::of(at, sender);
        if states.last().is_none_or(|last| State { at, ..*last } != state) {
            states.push(state);
        }
    }

    /// The last state up to `at`.
    pub(super) fn at(states: &[State], at: Time) -> Option<&State> {
        states.partition_point(|state| state.at <= at).checked_sub(1).map(|place| &states[place])
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let ssthresh = self.ssthresh.map_or("unset".to_owned(), |s| s.to_string());
        write!(
            f,
            "{:?}, cwnd {}, ssthresh {ssthresh}, out {}, SACKed {}, lost {}, repeated {}, RTO {} ms",
            self.ca,
            self.cwnd,
            self.out,
            self.sacked,
            self.lost,
            self.repeated,
            self.rto.as_nanos() / 1_000_000
        )
    }
}

/// Reads the states of a case, sampled every millisecond; none where the folder does not have them.
pub fn read_states(folder: &Path, case: &str) -> Result<Vec<State>, ReferenceError> {
    let path = folder.join(format!("{case}.state.csv.gz"));
    if !path.exists() {
        return Ok(Vec::new());
    }
    let file = File::open(&path).map_err(|e| ReferenceError::Read { path: path.clone(), source: e.into() })?;
    let table = Table::read(path, GzDecoder::new(file))?;
    (0..table.rows.len()).map(|row| read_state(&table, row)).collect()
}

fn read_state(table: &Table, row: usize) -> Result<State, ReferenceError> {
    let ca = match table.text(row, "ca_state")? {
        "0" => CaState::Open,
        "1" => CaState::Disorder,
        "2" => CaState::Cwr,
        "3" => CaState::Recovery,
        "4" => CaState::Loss,
        other => return Err(table.wrong(row, "ca_state", other, "not 0 to 4")),
    };
    Ok(State {
        at: Time::from_secs_f64(table.seconds(row, "t")?),
        ca,
        cwnd: table.number(row, "cwnd")?,
        ssthresh: u32::try_from(table.number::<i64>(row, "ssthresh")?).ok(),
        rto: Duration::from_micros(table.number(row, "rto_us")?),
        out: table.number(row, "unacked")?,
        sacked: table.number(row, "sacked")?,
        lost: table.number(row, "lost")?,
        repeated: table.number(row, "retrans")?,
    })
}
