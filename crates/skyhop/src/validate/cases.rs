//! `cases.csv`: each case by machine, and the scenario that it is.

use super::ValidateError;
use super::table::{Row, Table};
use super::windows::RECORDED_STEP_S;
use serde_json::{Value, json};
use skyhop_transport::{Ns2Losses, Recovery, ns2_numbers_drawn, ns2_random_losses};
use std::ops::RangeInclusive;
use std::path::Path;

/// Packets without data that may cross the bottleneck besides full ones.
const SMALL_PACKETS: u64 = 1000;

/// One case: a dumbbell, its flows and which tables stand beside it.
///
/// Large because it is a row of `cases.csv`: one field for each column.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    /// What the case's summary file is called by.
    pub summary: String,
    pub agents: Vec<String>,
    bottleneck_rate_bps: f64,
    bottleneck_delay_s: f64,
    limit_packets: f64,
    access_rate_bps: f64,
    access_delay_s: f64,
    pub duration_s: f64,
    window_packets: f64,
    packet_size_bytes: f64,
    pub flows: usize,
    start_s: Vec<f64>,
    delayed_ack_s: Option<f64>,
    transfer_packets: Option<f64>,
    random_loss: Option<f64>,
    /// Numbers of the packets that the bottleneck loses, counted from 0 as they come over it, and of ACKs on their way
    /// back.
    lost_packets: Vec<f64>,
    lost_acks: Vec<f64>,
    pub seeds: Vec<u64>,
    pub has_windows: bool,
    events_agents: Vec<String>,
    pub events_until_s: f64,
    pub events_kinds: Vec<String>,
}

/// Bit/s of a link.
const RATES: RangeInclusive<f64> = 1.0..=1e15;

/// As the longest wire of a scenario.
const LONGEST_DELAY_S: f64 = 3600.0;

/// As the longest duration of a scenario.
const LONGEST_S: f64 = 8.64e6;

/// Packets, seeds and the like: whole numbers up to here are exact in a scenario.
const MOST_NUMBER: f64 = 1e9;

/// Packets for which random losses are drawn.
const MOST_DRAWN: f64 = 1e8;

pub fn read(path: &Path) -> Result<Vec<Case>, ValidateError> {
    Table::read(path)?.rows().map(|row| Case::of(&row)).collect()
}

impl Case {
    fn of(row: &Row) -> Result<Case, ValidateError> {
        let texts = |column| row.list(column).map(str::to_owned).collect::<Vec<_>>();
        let seeds: Vec<u64> = match row.text("seeds") {
            // A single number counts the seeds, a list names them.
            text if text.contains(['|', ';']) => {
                row.numbers_in("seeds", 0.0..=MOST_NUMBER)?.into_iter().map(|seed| seed as u64).collect()
            }
            _ => (1..=row.optional_in("seeds", 1.0..=1e4)?.unwrap_or(1.0) as u64).collect(),
        };
        let flows = row.number_in("flows", 1.0..=1e4)? as usize;
        let mut start_s = row.numbers_in("start_s", 0.0..=LONGEST_S)?;
        let last = start_s.last().copied().unwrap_or(0.0);
        start_s.resize(flows, last);
        let case = Case {
            name: row.text("case").to_owned(),
            summary: row.text("case").to_owned(),
            agents: texts("agents"),
            bottleneck_rate_bps: row.number_in("bottleneck_rate_bps", RATES)?,
            bottleneck_delay_s: row.number_in("bottleneck_delay_s", 0.0..=LONGEST_DELAY_S)?,
            limit_packets: row.number_in("limit_packets", 0.0..=MOST_NUMBER)?,
            access_rate_bps: row.number_in("access_rate_bps", RATES)?,
            access_delay_s: row.number_in("access_delay_s", 0.0..=LONGEST_DELAY_S)?,
            duration_s: row.number_in("duration_s", 1e-3..=LONGEST_S)?,
            window_packets: row.number_in("window_packets", 1.0..=MOST_NUMBER)?,
            packet_size_bytes: row.number_in("packet_size_bytes", 1.0..=65_535.0)?,
            flows,
            start_s,
            delayed_ack_s: row.optional_in("delayed_ack_s", 0.0..=LONGEST_DELAY_S)?,
            transfer_packets: row.optional_in("transfer_packets", 1.0..=MOST_NUMBER)?,
            random_loss: row.optional_in("random_loss", 0.0..=1.0)?,
            lost_packets: row.numbers_in("lost_packets", 0.0..=MOST_NUMBER)?,
            lost_acks: row.numbers_in("lost_acks", 0.0..=MOST_NUMBER)?,
            seeds,
            has_windows: row.text("cwnd_table") == "1",
            events_agents: texts("events_agents"),
            events_until_s: row.optional_in("events_until_s", 0.0..=LONGEST_S)?.unwrap_or(0.0),
            events_kinds: texts("events_kinds"),
        };
        if case.random_loss.is_some() && case.most_packets() > MOST_DRAWN {
            let reason =
                format!("the link carries up to {:.0} packets, whose losses cannot be drawn", case.most_packets());
            return Err(row.error("random_loss", reason));
        }
        Ok(case)
    }

    /// Packets that the bottleneck carries at most.
    fn most_packets(&self) -> f64 {
        self.bottleneck_rate_bps * self.duration_s / (8.0 * self.packet_size_bytes)
    }

    pub fn has_events(&self, agent: &str) -> bool {
        self.events_agents.iter().any(|name| name == agent)
    }

    /// The scenario in which every flow has the agent, or the flows have the agents of a pair ("reno+vegas") in turn.
    pub fn scenario(&self, agent: &str, seed: u64) -> Value {
        let pair: Vec<&str> = agent.split(['+', ':', '/']).collect();
        let flows: Vec<Value> = (0..self.flows).map(|i| self.flow(i, pair[i % pair.len()])).collect();
        let mut lost = self.lost_packets.clone();
        lost.extend(self.random_losses(&pair, seed));
        let mut link = json!({
            "between": ["left", "right"],
            "rate": format!("{} bit/s", self.bottleneck_rate_bps),
            "delay": format!("{} s", self.bottleneck_delay_s),
            "queue": { "drop_tail": { "packets": self.limit_packets as u64 } },
        });
        if !lost.is_empty() {
            link["forward"] = json!({ "errors": [numbers_of(&lost)] });
        }
        if !self.lost_acks.is_empty() {
            link["backward"] = json!({ "errors": [numbers_of(&self.lost_acks)] });
        }
        let mut records = json!({ "packets": ["left->right"] });
        if self.has_windows {
            records["grid"] = json!(format!("{RECORDED_STEP_S} s"));
        }
        json!({
            "duration": format!("{} s", self.duration_s),
            "profile": "ns-2",
            "clock": "ns-2",
            "links": [link],
            "flows": flows,
            "records": records,
        })
    }

    /// The packets that ns-2's generator loses. A script whose error model has a generator of its own loses others, as
    /// many on average.
    fn random_losses(&self, agents: &[&str], seed: u64) -> impl Iterator<Item = f64> {
        let drawn = |i: usize| {
            ns2_numbers_drawn(if agents[i % agents.len()] == "vegas" { Recovery::Vegas } else { Recovery::Reno })
        };
        let losses = ns2_random_losses(Ns2Losses {
            seed: seed as u32,
            drawn: (0..self.flows).map(drawn).sum(),
            probability: self.random_loss.unwrap_or(0.0),
            packets: self.most_packets() as u64 + SMALL_PACKETS,
        });
        losses.into_iter().map(|number| number as f64)
    }

    fn flow(&self, index: usize, agent: &str) -> Value {
        let application = match self.transfer_packets {
            Some(packets) => json!({ "ftp": { "bytes": format!("{} B", packets * self.packet_size_bytes) } }),
            None => json!("ftp"),
        };
        json!({
            "name": format!("flow-{index}"),
            "from": "left",
            "to": "right",
            "access": {
                "rate": format!("{} bit/s", self.access_rate_bps),
                "delay": format!("{} s", self.access_delay_s),
            },
            "tcp": self.tcp(agent),
            "application": application,
            "start": format!("{} s", self.start_s[index]),
        })
    }

    /// ns-2's agents in our names.
    fn tcp(&self, agent: &str) -> Value {
        let mut tcp = match agent.strip_prefix("linux-") {
            // ns-2's Agent/TCP/Linux.
            Some(control) => json!({ "recovery": "sack", "control": control, "ns2": { "agent": "linux" } }),
            None => json!({ "name": if agent == "sack1" { "sack" } else { agent } }),
        };
        tcp["window"] = json!(self.window_packets as u64);
        tcp["mss"] = json!(format!("{} B", self.packet_size_bytes));
        if let Some(delay_s) = self.delayed_ack_s {
            tcp["ack_every"] = json!(2);
            tcp["ack_delay"] = json!(format!("{delay_s} s"));
        }
        tcp
    }
}

/// Losses by the number of the packet.
fn numbers_of(packets: &[f64]) -> Value {
    let packets: Vec<u64> = packets.iter().map(|&number| number as u64).collect();
    json!({ "trace": { "packets": packets } })
}
