//! The sender alone: the recorded ACKs go in at their times, and its packets are compared.

use super::judge::Point;
use super::{Case, Packet, ReferenceError, State, Table};
use crate::flow::CaState;
use crate::path::PathDirection;
use crate::segment::{Ecn, Segment};
use crate::sender::{Config, ControlKind, EcnMode, Sender};
use flate2::read::GzDecoder;
use skyhop_base::{Duration, Time};
use std::fs::File;
use std::path::Path;

/// Times agree within this.
const TOLERANCE: Duration = Duration::from_millis(2);
/// The kernel's timers fire one jiffy later than their rule now and then (README of the reference, "Timers").
const JIFFY: Duration = Duration::from_millis(4);
/// Where windows are held to a share, it is a fiftieth: 2 %.
const WINDOW_SHARE: u32 = 50;
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

/// The first place at which two lists differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The entry's time in ours and in the recording; `None` where that list has ended.
    pub at: [Option<Time>; 2],
    pub words: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.words)
    }
}

/// Where the sender and the recording differ.
#[derive(Clone, Debug, Default)]
pub struct SenderComparison {
    pub packets: usize,
    /// The first packet that differs in range or kind; the first that leaves at another time; the first other window;
    /// the first other congestion state; the first other timeout. `None` where all agree.
    pub order: Option<Difference>,
    pub times: Option<Difference>,
    pub windows: Option<Difference>,
    pub states: Option<Difference>,
    pub timeouts: Option<Difference>,
    /// The first packet with other flags (PSH, CWR, ECN). They are told and not judged.
    pub flags: Option<Difference>,
    /// Our sender's state over time, and the packets that it sent.
    pub seen: Vec<State>,
    pub points: Vec<Point>,
    /// The largest difference of the times up to the first packet that differs.
    pub worst: Duration,
    /// Packets sent by a timer that fired a jiffy later in the recording. They do not count as a difference.
    pub late_timers: usize,
}

impl SenderComparison {
    /// Packets, their times, the windows, the congestion states and the timeouts agree.
    pub fn is_equal(&self) -> bool {
        self.differences().iter().all(|(_, difference)| difference.is_none())
    }

    /// The respects that are judged, by name.
    pub fn differences(&self) -> [(&'static str, &Option<Difference>); 5] {
        [
            ("order", &self.order),
            ("times", &self.times),
            ("windows", &self.windows),
            ("states", &self.states),
            ("timeouts", &self.timeouts),
        ]
    }
}

/// The sender of a case.
pub fn sender_config(case: &Case) -> Result<Config, ReferenceError> {
    let mut config = Config {
        mss: case.mss,
        nagle: !case.nodelay,
        timers: case.timers,
        timestamps: case.switched("tcp_timestamps", &["0"], &["1"], true)?,
        sack: case.switched("tcp_sack", &["0"], &["1"], true)?,
        // 1 and 2 were early retransmit, which is gone; 3 and 4 are loss probes.
        tlp: case.switched("tcp_early_retrans", &["0", "1", "2"], &["3", "4"], true)?,
        frto: case.switched("tcp_frto", &["0"], &["1", "2"], true)?,
        // 2 answers and does not ask.
        ecn: if case.switched("tcp_ecn", &["0", "2"], &["1"], false)? { EcnMode::On } else { EcnMode::Off },
        idle_restart: case.switched("tcp_slow_start_after_idle", &["0"], &["1"], true)?,
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
pub fn compare_sender(
    case: &Case,
    packets: &[Packet],
    recorded: &Windows,
    told: &[State],
) -> Result<SenderComparison, ReferenceError> {
    let trace = |problem| ReferenceError::Trace { case: case.name.clone(), problem };
    let syn =
        packets.iter().find(|p| p.direction == PathDirection::Data && p.segment.syn).ok_or(trace("there is no SYN"))?;
    let mut inputs: Vec<(Time, Input)> = case.writes.iter().map(|w| (w.at, Input::Write(w.bytes))).collect();
    for packet in packets.iter().filter(|p| p.direction == PathDirection::Ack) {
        let arrivals = [packet.out, packet.duplicate];
        inputs.extend(arrivals.into_iter().flatten().map(|at| (at, Input::Arrival(packet.segment))));
    }
    inputs.sort_by_key(|&(at, _)| at);

    let mut sender = Sender::new(sender_config(case)?);
    sender.record_states();
    let mut sent: Vec<Data> = Vec::new();
    let mut windows: Vec<Window> = Vec::new();
    let mut states: Vec<State> = Vec::new();
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
        State::note(&mut states, now, &sender);
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
    let ours = Ours { sent: &sent, windows: &windows, changes: sender.states(), states, carry: false };
    Ok(compare(case, packets, recorded, told, ours))
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

/// What our sender did.
pub(super) struct Ours<'a> {
    pub sent: &'a [Data],
    pub windows: &'a [Window],
    /// Changes of the congestion state.
    pub changes: &'a [(Time, CaState)],
    pub states: Vec<State>,
    /// Where ACKs follow from what is sent, a timer that fires late delays what its ACKs cause.
    pub carry: bool,
}

pub(super) fn compare(
    case: &Case,
    packets: &[Packet],
    recorded: &Windows,
    told: &[State],
    ours: Ours,
) -> SenderComparison {
    let Ours { sent, windows, changes, states, carry } = ours;
    let theirs: Vec<Data> = packets
        .iter()
        .filter(|p| p.direction == PathDirection::Data && p.segment.len > 0)
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
    let at = |d: &Data| d.at;
    let place = first_difference(sent, &theirs, |a, b| key(a) == key(b));
    comparison.order = place.map(|i| differs(i, sent, &theirs, at, data_words));
    let place_flags = first_difference(sent, &theirs, |a, b| a.flags == b.flags);
    let flag_words = |d: &Data| format!("{} {:?}", data_words(d), d.flags);
    comparison.flags = place_flags.map(|i| differs(i, sent, &theirs, at, flag_words));
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
            comparison.times = Some(differs(i, sent, &theirs, at, data_words));
        }
    }
    // bbr's window rounds a bandwidth in microseconds, and some cases do not repeat theirs (README, "Comparing",
    // "Repeatability"): those windows are held to 2 %.
    let place = if case.control == "bbr" || !case.windows_repeat {
        let slack = TOLERANCE + behind;
        first_far(windows, &recorded.windows, slack).or_else(|| first_far(&recorded.windows, windows, slack))
    } else {
        first_difference(windows, &recorded.windows, |a, b| (a.cwnd, a.ssthresh) == (b.cwnd, b.ssthresh))
    };
    comparison.windows = place.map(|i| differs(i, windows, &recorded.windows, |w| w.at, window_words));
    let place = first_difference(changes, &recorded.states, |a, b| a.1 == b.1);
    let change_words = |(at, state): &(Time, CaState)| format!("{state:?} at {:.6}", at.as_secs_f64());
    comparison.states = place.map(|i| differs(i, changes, &recorded.states, |&(at, _)| at, change_words));
    let late = if comparison.late_timers > 0 { JIFFY } else { Duration::ZERO };
    comparison.timeouts = compare_timeouts(&states, told, TOLERANCE + late);
    comparison.points = sent.iter().map(|d| Point::of_data(d.at, d.seq, d.len, d.again)).collect();
    comparison.seen = states;
    comparison
}

/// The first window of `these` that lies more than 2 % and more than one segment outside what `those` were within
/// `slack` of its time.
fn first_far(these: &[Window], those: &[Window], slack: Duration) -> Option<usize> {
    these.iter().position(|one| {
        let from = those.partition_point(|other| other.at + slack < one.at).saturating_sub(1);
        let to = those.partition_point(|other| other.at <= one.at + slack);
        let near = |a: u32, b: u32| a.abs_diff(b) <= (b / WINDOW_SHARE).max(1);
        let within = |of: fn(&Window) -> u32| {
            let values = || those[from..to].iter().map(of);
            let (Some(least), Some(most)) = (values().min(), values().max()) else { return true };
            let value = of(one);
            (least..=most).contains(&value) || near(value, least) || near(value, most)
        };
        !(within(|w| w.cwnd) && within(|w| w.ssthresh.unwrap_or(u32::MAX)))
    })
}

/// The first recorded timeout that ours does not have within `slack` of its time. A timeout is rounded up to a jiffy,
/// so a microsecond in a sample may change it by one, and back-off doubles that.
fn compare_timeouts(ours: &[State], recorded: &[State], slack: Duration) -> Option<Difference> {
    let changes = recorded.iter().enumerate().filter(|&(i, state)| i == 0 || recorded[i - 1].rto != state.rto);
    for (_, theirs) in changes {
        let from = ours.partition_point(|state| state.at + slack < theirs.at).saturating_sub(1);
        let to = ours.partition_point(|state| state.at <= theirs.at + slack);
        let near = |state: &State| {
            let gap = state.rto.max(theirs.rto).as_nanos() - state.rto.min(theirs.rto).as_nanos();
            gap <= JIFFY.as_nanos().max(theirs.rto.as_nanos() / u64::from(WINDOW_SHARE))
        };
        let around = &ours[from.min(to)..to];
        if !around.is_empty() && !around.iter().any(near) {
            let ours = around[around.len() - 1];
            let [mine, other] = [ours.rto, theirs.rto].map(|rto| rto.as_nanos() / 1_000_000);
            let words = format!("ours {mine} ms, recorded {other} ms at {:.6}", theirs.at.as_secs_f64());
            return Some(Difference { at: [Some(ours.at), Some(theirs.at)], words });
        }
    }
    None
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

pub(super) fn differs<T>(
    place: usize,
    ours: &[T],
    theirs: &[T],
    at: impl Fn(&T) -> Time,
    words: impl Fn(&T) -> String,
) -> Difference {
    let some = |side: &[T]| {
        let from = place.saturating_sub(CONTEXT).min(side.len());
        let to = (place + CONTEXT).min(side.len());
        if from == to {
            "nothing more".to_owned()
        } else {
            side[from..to].iter().map(&words).collect::<Vec<_>>().join(", ")
        }
    };
    let words = format!(
        "number {} (of {} and {}): ours {}; recorded {}",
        place + 1,
        ours.len(),
        theirs.len(),
        some(ours),
        some(theirs)
    );
    Difference { at: [ours.get(place).map(&at), theirs.get(place).map(&at)], words }
}
