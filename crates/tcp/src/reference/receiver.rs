//! The receiver alone: recorded data goes in, its ACKs are compared.

use super::judge::Point;
use super::{Case, Difference, Packet, ReferenceError};
use crate::path::{PathDirection, wake_time};
use crate::receiver::{Compression, Config, Receiver};
use crate::segment::{Ecn, Segment, Timestamps};
use skyhop_base::{Duration, Time};

/// From the writing of a packet to the host's answer: the median over the recordings.
const HOST: Duration = Duration::from_micros(18);
/// How much later a host answers that was idle: medians over the recordings. A processor that slept takes time to wake.
pub(super) const WAKE: [(Duration, Duration); 3] = [
    (Duration::from_millis(5), Duration::from_micros(12)),
    (Duration::from_millis(20), Duration::from_micros(18)),
    (Duration::from_millis(100), Duration::from_micros(38)),
];
/// From the arrival of data to the read of an application that waits for it, and how long the read takes: an ACK of the
/// reader leaves some 50 us after its segment.
const READ_LATENCY: Duration = Duration::from_micros(20);
const READ_TIME: Duration = Duration::from_micros(30);
/// ACKs may leave so much earlier or later.
const TOLERANCE: Duration = Duration::from_millis(2);
/// A jiffy, by which the reference's timers fire late now and then.
const JIFFY: Duration = Duration::from_millis(4);
/// Settings of both hosts that only the sender reads.
const SENDER_ONLY: [&str; 24] = [
    "tcp_frto",
    "tcp_early_retrans",
    "tcp_slow_start_after_idle",
    "tcp_recovery",
    "tcp_reordering",
    "tcp_max_reordering",
    "tcp_min_tso_segs",
    "tcp_tso_win_divisor",
    "tcp_tso_rtt_log",
    "tcp_pacing_ca_ratio",
    "tcp_pacing_ss_ratio",
    "tcp_syn_linear_timeouts",
    "tcp_syn_retries",
    "tcp_thin_linear_timeouts",
    "tcp_no_metrics_save",
    "tcp_no_ssthresh_metrics_save",
    "tcp_autocorking",
    "tcp_limit_output_bytes",
    "tcp_notsent_lowat",
    "tcp_min_rtt_wlen",
    "tcp_retries1",
    "tcp_retries2",
    "tcp_rto_max_ms",
    "tcp_retrans_collapse",
];
/// The sender's first timestamp: the recording has times relative to it, and 0 means that there is none.
const SENDER_CLOCK: u32 = 1_000_000;

/// How the receiver's ACKs and a recording agree.
#[derive(Clone, Debug, Default)]
pub struct ReceiverComparison {
    /// Packets of the receiver, recorded.
    pub packets: usize,
    /// The first difference of (acknowledgement, SACK blocks, flags), in words.
    pub acks: Option<Difference>,
    /// The first difference of the window, among those before `acks`.
    pub windows: Option<Difference>,
    /// The first time that is more than 2 ms off, among those before `acks`. A delayed-ACK timer of the kernel may fire
    /// one jiffy later than its rule says; that counts as `late_timers`.
    pub times: Option<Difference>,
    /// ACKs that the delayed-ACK timer sent one jiffy earlier in the model, among those before `acks`.
    pub late_timers: usize,
    /// The first timestamp echo that differs, among those before `acks`.
    pub echoes: Option<Difference>,
    /// The largest difference of times among those before `acks`.
    pub largest: Duration,
    /// Windows that differ, among those before `acks`.
    pub other_windows: usize,
    /// What our receiver sent.
    pub points: Vec<Point>,
}

impl ReceiverComparison {
    /// Acknowledgements, their times, windows and echoes agree.
    pub fn is_equal(&self) -> bool {
        self.differences().iter().all(|(_, difference)| difference.is_none())
    }

    /// The respects that are judged, by name.
    pub fn differences(&self) -> [(&'static str, &Option<Difference>); 4] {
        [("ACKs", &self.acks), ("times", &self.times), ("windows", &self.windows), ("echoes", &self.echoes)]
    }
}

/// The receiver that a case describes.
pub fn receiver_config(case: &Case) -> Result<Config, ReferenceError> {
    let mut config = Config {
        buffer: case.receive_buffer,
        memory: case.receive_memory,
        // The reference sets the slack to nothing.
        compression: Compression { slack: Duration::ZERO, ..Compression::STOCK },
        timers: case.timers,
        read_latency: READ_LATENCY,
        read_time: READ_TIME,
        ..Config::default()
    };
    for (name, value) in &case.settings {
        let number = || {
            let wrong =
                || ReferenceError::Setting { case: case.name.clone(), name: name.clone(), value: value.clone() };
            value.parse::<u64>().map_err(|_| wrong())
        };
        match name.as_str() {
            "tcp_sack" => config.sack = number()? != 0,
            "tcp_dsack" => config.dsack = number()? != 0,
            "tcp_timestamps" => config.timestamps = number()? != 0,
            "tcp_window_scaling" => config.window_scaling = number()? != 0,
            "tcp_ecn" => config.ecn = number()? != 0,
            "tcp_comp_sack_nr" => config.compression.most = number()?.min(255) as u32,
            "tcp_comp_sack_delay_ns" => config.compression.delay = Duration::from_nanos(number()?),
            "tcp_comp_sack_slack_ns" => config.compression.slack = Duration::from_nanos(number()?),
            "tcp_moderate_rcvbuf" => config.autotuning = number()? != 0,
            "tcp_shrink_window" => config.shrink_window = number()? != 0,
            "tcp_rto_min_us" => config.rto_min = Duration::from_micros(number()?),
            "tcp_invalid_ratelimit" => config.invalid_rate_limit = Duration::from_millis(number()?),
            "tcp_synack_retries" => config.synack_retries = number()? as u32,
            name if SENDER_ONLY.contains(&name) => {}
            _ => {
                let (name, value) = (name.clone(), value.clone());
                return Err(ReferenceError::Setting { case: case.name.clone(), name, value });
            }
        }
    }
    Ok(config)
}

/// How far the receiver's millisecond clock is ahead of the recording's: the recorded timestamps narrow it down.
fn clock_phase(packets: &[Packet]) -> Duration {
    let mut stamps = packets
        .iter()
        .filter(|packet| packet.direction == PathDirection::Ack)
        .filter_map(|packet| Some((packet.entered.as_nanos() as i64, packet.segment.timestamps?.value)));
    let Some((start, first)) = stamps.next() else { return Duration::ZERO };
    // The part of the clock below a millisecond at the first packet lies between these.
    let (mut low, mut high) = (0, 1_000_000);
    for (at, value) in stamps {
        let behind = i64::from(value.wrapping_sub(first)) * 1_000_000 - (at - start);
        if (-1_000_000..1_000_000).contains(&behind) {
            low = low.max(behind);
            high = high.min(behind + 1_000_000);
        }
    }
    let part = (low + high) / 2;
    Duration::from_nanos((part - start).rem_euclid(1_000_000) as u64)
}

/// A segment that the model sends, and the receiver's state then.
struct Sent {
    at: Time,
    segment: Segment,
    /// The delayed-ACK timer sent it.
    by_timer: bool,
    state: String,
}

/// Something that the recording does to the receiver.
enum Input {
    Segment(Segment),
    Reading(bool),
}

fn inputs(case: &Case, packets: &[Packet], base: u32) -> Vec<(Time, Input)> {
    let mut inputs = Vec::new();
    if let Some((from, to)) = case.reader_pause {
        inputs.push((from, Input::Reading(false)));
        inputs.push((to, Input::Reading(true)));
    }
    for packet in packets.iter().filter(|packet| packet.direction == PathDirection::Data) {
        let mut segment = packet.segment;
        if packet.marked {
            segment.ecn = Ecn::Ce;
        }
        if let Some(timestamps) = &mut segment.timestamps {
            let echo = if segment.ack.is_some() { timestamps.echo.wrapping_add(base) } else { 0 };
            *timestamps = Timestamps { value: timestamps.value.wrapping_add(SENDER_CLOCK), echo };
        }
        for out in packet.out.into_iter().chain(packet.duplicate) {
            inputs.push((out, Input::Segment(segment)));
        }
    }
    inputs.sort_by_key(|&(at, _)| at);
    let (mut last, mut turned) = (Time::ZERO, Time::ZERO);
    for (at, input) in &mut inputs {
        if let Input::Segment(_) = input {
            let woken = wake_time(&WAKE, at.since(last));
            last = *at;
            // A host takes packets one after the other, also when it wakes up for the first.
            turned = turned.max(*at + HOST + woken);
            *at = turned;
        }
    }
    inputs.sort_by_key(|&(at, _)| at);
    inputs
}

/// Feeds the recorded packets of the sender, as delivered, to the receiver.
pub fn compare_receiver(case: &Case, packets: &[Packet]) -> Result<ReceiverComparison, ReferenceError> {
    let recorded: Vec<&Packet> = packets.iter().filter(|packet| packet.direction == PathDirection::Ack).collect();
    let mut config = receiver_config(case)?;
    config.clock_phase = clock_phase(packets);
    // The first packet of the receiver has the recording's timestamp 0.
    let first = inputs(case, packets, 0).first().map_or(Time::ZERO, |&(at, _)| at);
    let base = ((first + config.clock_phase).as_nanos() / 1_000_000 + 1) as u32;
    let end = Time::ZERO + case.duration;

    let mut receiver = Receiver::new(config);
    let mut ours: Vec<Sent> = Vec::new();
    let mut collect = |receiver: &mut Receiver, at: Time, by_timer: bool| {
        while let Some(segment) = receiver.transmit(at) {
            ours.push(Sent { at, segment, by_timer, state: state(receiver) });
        }
    };
    for (at, input) in inputs(case, packets, base) {
        run_timers(&mut receiver, at, &mut collect);
        match input {
            Input::Segment(segment) => receiver.on_segment(at, &segment),
            Input::Reading(reading) => receiver.set_reading(at, reading),
        }
        collect(&mut receiver, at, false);
    }
    run_timers(&mut receiver, end, &mut collect);
    Ok(compare(&recorded, &ours, end))
}

/// Runs what is due before `end`.
fn run_timers(receiver: &mut Receiver, end: Time, collect: &mut impl FnMut(&mut Receiver, Time, bool)) {
    while let Some(now) = receiver.next_timeout().filter(|&now| now < end) {
        let by_timer = receiver.delayed_ack_due() == Some(now);
        receiver.on_timeout(now);
        collect(receiver, now, by_timer);
    }
}

fn state(receiver: &Receiver) -> String {
    format!(
        "next {}, unread {}, buffer {}, quick {}, holes {}, rtt {:?}",
        receiver.next_expected() as i64 - 1,
        receiver.unread(),
        receiver.buffer(),
        receiver.quick_acks(),
        receiver.holes(),
        receiver.rtt().unwrap_or_default(),
    )
}

fn describe(at: Time, segment: &Segment) -> String {
    let blocks: Vec<String> =
        segment.sack.iter().map(|block| format!("{}-{}", block.start as i64 - 1, block.end as i64 - 1)).collect();
    format!(
        "{:.6} s ack {}{} win {}{}",
        at.as_secs_f64(),
        segment.ack.map_or(-1, |ack| ack as i64 - 1),
        if blocks.is_empty() { String::new() } else { format!(" sack {}", blocks.join(" ")) },
        segment.window,
        if segment.ece { " ECE" } else { "" },
    )
}

fn compare(recorded: &[&Packet], ours: &[Sent], end: Time) -> ReceiverComparison {
    let points = ours.iter().map(|sent| Point::of_ack(sent.at, &sent.segment)).collect();
    let mut result = ReceiverComparison { packets: recorded.len(), points, ..ReceiverComparison::default() };
    for (number, packet) in recorded.iter().enumerate() {
        let theirs = describe(packet.entered, &packet.segment);
        let Some(Sent { at, segment, by_timer, state }) = ours.get(number) else {
            let words = format!("packet {number}: recorded {theirs}; the model sends no more");
            result.acks = Some(Difference { at: [None, Some(packet.entered)], words });
            return result;
        };
        let difference = || Difference {
            at: [Some(*at), Some(packet.entered)],
            words: format!("packet {number}: recorded {theirs}; modelled {} ({state})", describe(*at, segment)),
        };
        let told = |s: &Segment| (s.syn, s.ack, s.ece, s.cwr, s.sack);
        if told(segment) != told(&packet.segment) {
            result.acks = Some(difference());
            return result;
        }
        if segment.window != packet.segment.window {
            result.other_windows += 1;
            result.windows.get_or_insert_with(difference);
        }
        let mut off = at.since(packet.entered).max(packet.entered.since(*at));
        let late = packet.entered.since(*at);
        if *by_timer && late + TOLERANCE > JIFFY && late < JIFFY + TOLERANCE {
            result.late_timers += 1;
            off = Duration::ZERO;
        }
        result.largest = result.largest.max(off);
        if off > TOLERANCE && result.times.is_none() {
            result.times = Some(difference());
        }
        let echo = |s: &Segment, zero: u32| s.timestamps.map(|t| t.echo.wrapping_sub(zero));
        if echo(segment, SENDER_CLOCK) != echo(&packet.segment, 0) && result.echoes.is_none() {
            let echoes = (echo(&packet.segment, 0), echo(segment, SENDER_CLOCK));
            let Difference { at, words } = difference();
            result.echoes =
                Some(Difference { at, words: format!("{words}, echo {:?} against {:?}", echoes.0, echoes.1) });
        }
    }
    // What the model sends at the very end may lie behind the recording's.
    if let Some(Sent { at, segment, state, .. }) = ours.get(recorded.len()).filter(|sent| sent.at + TOLERANCE < end) {
        let words = format!("the recording ends; modelled {} ({state})", describe(*at, segment));
        result.acks = Some(Difference { at: [Some(*at), None], words });
    }
    result
}
