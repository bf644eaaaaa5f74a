//! The sender alone: the recorded ACKs go in at their times, and its packets are compared.

use super::{Case, Packet, ReferenceError, Table};
use crate::flow::CaState;
use crate::path::Way;
use crate::segment::{Ecn, Segment};
use crate::sender::{Config, ControlKind, Sender};
use flate2::read::GzDecoder;
use skyhop_base::{Duration, Time};
use std::fs::File;
use std::path::Path;

/// Times agree within this.
const TOLERANCE: Duration = Duration::from_millis(2);
/// The kernel's timers fire one jiffy later than their rule now and then (README of the reference, "Timers").
const JIFFY: Duration = Duration::from_millis(4);
/// Rows of context on either side of a difference.
const CONTEXT: usize = 3;

/// Settings of both hosts that only the receiver reads, or that change nothing on an ideal host.
const RECEIVER_ONLY: [&str; 14] = [
    "tcp_dsack",
    "tcp_comp_sack_delay_ns",
    "tcp_comp_sack_nr",
    "tcp_comp_sack_slack_ns",
    "tcp_rmem",
    "tcp_adv_win_scale",
    "tcp_moderate_rcvbuf",
    "tcp_window_scaling",
    "tcp_shrink_window",
    "tcp_invalid_ratelimit",
    "tcp_synack_retries",
    "tcp_no_metrics_save",
    "tcp_no_ssthresh_metrics_save",
    "tcp_autocorking",
];

/// One window of the recording: congestion window and threshold (`None`: never set) before an ACK is processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub at: Time,
    pub cwnd: u32,
    pub ssthresh: Option<u32>,
}

/// The contents of `<case>.cwnd.csv.gz`.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    /// Changes of window or threshold, as ACKs found them.
    pub windows: Vec<Window>,
    /// Changes of the congestion state.
    pub states: Vec<(Time, CaState)>,
}

/// Reads the windows and states of a case.
pub fn read_windows(folder: &Path, case: &str) -> Result<Windows, ReferenceError> {
    let path = folder.join(format!("{case}.cwnd.csv.gz"));
    let file = File::open(&path).map_err(|e| ReferenceError::Read { path: path.clone(), source: e.into() })?;
    let table = Table::read(path, GzDecoder::new(file))?;
    let mut read = Windows::default();
    let mut state = CaState::Open;
    for row in 0..table.rows.len() {
        let at = Time::from_secs_f64(table.seconds(row, "t")?);
        if table.text(row, "ev")? == "P" {
            let ssthresh: i64 = table.number(row, "ssthresh")?;
            let ssthresh = u32::try_from(ssthresh).ok();
            read.windows.push(Window { at, cwnd: table.number(row, "cwnd")?, ssthresh });
            continue;
        }
        let new = match table.text(row, "ca_state")? {
            "Open" => CaState::Open,
            "Disorder" => CaState::Disorder,
            "CWR" => CaState::Cwr,
            "Recovery" => CaState::Recovery,
            "Loss" => CaState::Loss,
            other => return Err(table.wrong(row, "ca_state", other, "not a congestion state")),
        };
        if new != state {
            read.states.push((at, new));
            state = new;
        }
    }
    Ok(read)
}

/// A packet with data, as it is compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub at: Time,
    pub seq: u64,
    pub len: u32,
    pub again: bool,
    pub by_timer: bool,
    /// PSH, CWR and the ECN field.
    pub flags: (bool, bool, Ecn),
}

/// Where the sender and the recording differ.
#[derive(Clone, Debug, Default)]
pub struct SenderComparison {
    pub packets: usize,
    /// In words: the first packet that differs in range or kind; the first that leaves at another time; the first other
    /// window; the first other state. `None` where all agree.
    pub order: Option<String>,
    pub times: Option<String>,
    pub windows: Option<String>,
    pub states: Option<String>,
    /// The first packet with other flags (PSH, CWR, ECN).
    pub flags: Option<String>,
    /// The largest difference of the times up to the first packet that differs.
    pub worst: Duration,
    /// Packets sent by a timer that fired a jiffy later in the recording. They do not count as a difference.
    pub late_timers: usize,
}

impl SenderComparison {
    /// Packets, their times and the windows agree.
    pub fn is_equal(&self) -> bool {
        self.order.is_none() && self.times.is_none() && self.windows.is_none()
    }
}

/// The sender of a case.
pub fn sender_config(case: &Case) -> Result<Config, ReferenceError> {
    let mut config = Config {
        mss: case.mss,
        nagle: !case.nodelay,
        timers: case.timers,
        timestamps: case.switched("tcp_timestamps", true),
        sack: case.switched("tcp_sack", true),
        tlp: case.switched("tcp_early_retrans", true),
        frto: case.switched("tcp_frto", true),
        ecn: case.setting("tcp_ecn") == Some("1"),
        idle_restart: case.switched("tcp_slow_start_after_idle", true),
        timestamp_base: 0,
        control: ControlKind::named(&case.control).ok_or_else(|| ReferenceError::Setting {
            case: case.name.clone(),
            name: "cc".to_owned(),
            value: case.control.clone(),
        })?,
        seed: 0,
        ..Config::default()
    };
    for (name, value) in &case.settings {
        let number = value.parse::<u32>();
        let unknown = || ReferenceError::Setting { case: case.name.clone(), name: name.clone(), value: value.clone() };
        match name.as_str() {
            "tcp_timestamps"
            | "tcp_sack"
            | "tcp_early_retrans"
            | "tcp_frto"
            | "tcp_ecn"
            | "tcp_slow_start_after_idle" => {}
            name if RECEIVER_ONLY.contains(&name) => {}
            "tcp_recovery" => {
                let bits = number.map_err(|_| unknown())?;
                config.rack_adapts = bits & 2 == 0;
                config.rack_duplicate_threshold = bits & 4 == 0;
            }
            "tcp_retrans_collapse" => config.join_small = number.map_err(|_| unknown())? != 0,
            "tcp_tso_rtt_log" => config.burst_rtt_log = number.map_err(|_| unknown())?,
            "tcp_pacing_ss_ratio" => config.pacing_ratios.0 = number.map_err(|_| unknown())?.into(),
            "tcp_pacing_ca_ratio" => config.pacing_ratios.1 = number.map_err(|_| unknown())?.into(),
            "tcp_syn_linear_timeouts" => config.syn_linear_timeouts = number.map_err(|_| unknown())?,
            "tcp_rto_max_ms" => config.max_rto = Duration::from_millis(number.map_err(|_| unknown())?.into()),
            "tcp_reordering" => config.reordering = number.map_err(|_| unknown())?,
            "tcp_max_reordering" => config.max_reordering = number.map_err(|_| unknown())?,
            "tcp_min_tso_segs" => config.min_burst = number.map_err(|_| unknown())?,
            "tcp_tso_win_divisor" => config.burst_divisor = number.map_err(|_| unknown())?,
            "tcp_rto_min_us" => config.min_rto = Duration::from_micros(number.map_err(|_| unknown())?.into()),
            _ => return Err(unknown()),
        }
    }
    Ok(config)
}

/// One input of the replay.
#[derive(Clone, Copy, Debug)]
enum Input {
    Write(u64),
    Arrival(Segment),
}

/// Replays the recorded packets of the receiver into the sender.
pub fn compare_sender(case: &Case, packets: &[Packet], recorded: &Windows) -> Result<SenderComparison, ReferenceError> {
    let trace = |problem| ReferenceError::Trace { case: case.name.clone(), problem };
    let syn = packets.iter().find(|p| p.way == Way::Data && p.segment.syn).ok_or(trace("there is no SYN"))?;
    let mut inputs: Vec<(Time, Input)> = case.writes.iter().map(|w| (w.at, Input::Write(w.bytes))).collect();
    for packet in packets.iter().filter(|p| p.way == Way::Ack) {
        let arrivals = [packet.out, packet.duplicate];
        inputs.extend(arrivals.into_iter().flatten().map(|at| (at, Input::Arrival(packet.segment))));
    }
    inputs.sort_by_key(|&(at, _)| at);

    let mut sender = Sender::new(sender_config(case)?);
    sender.record_states();
    let mut sent: Vec<Data> = Vec::new();
    let mut windows: Vec<Window> = Vec::new();
    let mut highest = 1;
    let end = Time::ZERO + case.duration;
    sender.open(syn.entered);
    let mut inputs = inputs.into_iter().peekable();
    let mut now = syn.entered;
    let mut by_timer = false;
    loop {
        while let Some(segment) = sender.transmit() {
            if segment.len > 0 && !segment.syn {
                let again = segment.seq < highest;
                let (seq, len, flags) = (segment.seq, segment.len, flags(&segment));
                sent.push(Data { at: now, seq, len, again, by_timer, flags });
                highest = highest.max(segment.end());
            }
        }
        let input = inputs.peek().map_or(Time::MAX, |&(at, _)| at);
        let timeout = sender.next_timeout().unwrap_or(Time::MAX);
        if input.min(timeout) >= end {
            break;
        }
        if timeout < input {
            now = now.max(timeout);
            sender.on_timeout(now);
            by_timer = true;
            continue;
        }
        let Some((at, input)) = inputs.next() else { break };
        now = now.max(at);
        by_timer = false;
        match input {
            Input::Write(bytes) => sender.write(now, bytes),
            Input::Arrival(segment) => {
                if !segment.syn {
                    note_window(&mut windows, now, &sender);
                }
                sender.on_segment(now, &segment);
            }
        }
    }
    Ok(compare(packets, recorded, &sent, &windows, sender.states(), false))
}

fn gap(a: Time, b: Time) -> Duration {
    a.since(b).max(b.since(a))
}

pub(super) fn flags(segment: &Segment) -> (bool, bool, Ecn) {
    (segment.psh, segment.cwr, segment.ecn)
}

pub(super) fn note_window(windows: &mut Vec<Window>, at: Time, sender: &Sender) {
    let window = Window { at, cwnd: sender.cwnd(), ssthresh: sender.ssthresh() };
    if windows.last().is_none_or(|last| (last.cwnd, last.ssthresh) != (window.cwnd, window.ssthresh)) {
        windows.push(window);
    }
}

pub(super) fn compare(
    packets: &[Packet],
    recorded: &Windows,
    sent: &[Data],
    windows: &[Window],
    states: &[(Time, CaState)],
    carry: bool,
) -> SenderComparison {
    let theirs: Vec<Data> = packets
        .iter()
        .filter(|p| p.way == Way::Data && p.segment.len > 0)
        .map(|p| Data {
            at: p.entered,
            seq: p.segment.seq,
            len: p.segment.len,
            again: p.again,
            by_timer: false,
            flags: flags(&p.segment),
        })
        .collect();
    let mut comparison = SenderComparison { packets: theirs.len(), ..SenderComparison::default() };
    let key = |d: &Data| (d.seq, d.len, d.again);
    let place = first_difference(sent, &theirs, |a, b| key(a) == key(b));
    comparison.order = place.map(|i| differs(i, sent, &theirs, data_words));
    let place_flags = first_difference(sent, &theirs, |a, b| a.flags == b.flags);
    comparison.flags = place_flags.map(|i| differs(i, sent, &theirs, |d| format!("{} {:?}", data_words(d), d.flags)));
    // Where ACKs follow from what is sent, a timer that fires late delays what its ACKs cause.
    let mut behind = Duration::ZERO;
    for (i, (ours, recorded)) in sent.iter().zip(&theirs).enumerate().take(place.unwrap_or(usize::MAX)) {
        let gap = gap(ours.at, recorded.at);
        let late = recorded.at.since(ours.at);
        if ours.by_timer && late + TOLERANCE > JIFFY && late < JIFFY + TOLERANCE {
            comparison.late_timers += 1;
            if carry {
                behind = late;
            }
            continue;
        }
        let gap = gap.min(self::gap(ours.at + behind, recorded.at));
        comparison.worst = comparison.worst.max(gap);
        if gap > TOLERANCE && comparison.times.is_none() {
            comparison.times = Some(differs(i, sent, &theirs, data_words));
        }
    }
    let place = first_difference(windows, &recorded.windows, |a, b| (a.cwnd, a.ssthresh) == (b.cwnd, b.ssthresh));
    comparison.windows = place.map(|i| differs(i, windows, &recorded.windows, window_words));
    let place = first_difference(states, &recorded.states, |a, b| a.1 == b.1);
    comparison.states =
        place.map(|i| differs(i, states, &recorded.states, |(at, state)| format!("{state:?} at {at:?}")));
    comparison
}

pub(super) fn first_difference<T>(ours: &[T], theirs: &[T], same: impl Fn(&T, &T) -> bool) -> Option<usize> {
    let place = ours.iter().zip(theirs).position(|(a, b)| !same(a, b));
    place.or((ours.len() != theirs.len()).then_some(ours.len().min(theirs.len())))
}

fn data_words(data: &Data) -> String {
    let kind = if data.again { " again" } else { "" };
    format!("{}+{}{kind} at {:.6}", data.seq - 1, data.len, data.at.as_secs_f64())
}

fn window_words(window: &Window) -> String {
    let ssthresh = window.ssthresh.map_or("unset".to_owned(), |s| s.to_string());
    format!("{}/{ssthresh} at {:.6}", window.cwnd, window.at.as_secs_f64())
}

pub(super) fn differs<T>(place: usize, ours: &[T], theirs: &[T], words: impl Fn(&T) -> String) -> String {
    let some = |side: &[T]| {
        let from = place.saturating_sub(CONTEXT).min(side.len());
        let to = (place + CONTEXT).min(side.len());
        side[from..to].iter().map(&words).collect::<Vec<_>>().join(", ")
    };
    format!(
        "number {} (of {} and {}): ours {}; recorded {}",
        place + 1,
        ours.len(),
        theirs.len(),
        some(ours),
        some(theirs)
    )
}
