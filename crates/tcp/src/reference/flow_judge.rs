//! A long flow beside its recording: each measure against its bound, widened to the spread of the recorded runs.

use super::ReferenceError;
use super::flow_case::{FlowCase, FlowRow, Range, if_there, is_of, read_flow_windows, windows_over, zipped};
use super::flows::{FlowData, FlowResult, Sample, run_flow, window_at};
use std::path::Path;

/// Bounds as shares of the recorded value, and as numbers of packets, segments and seconds.
const GOODPUT: f64 = 0.02;
const RTT: f64 = 0.05;
const REPEATED: f64 = 0.10;
const REPEATED_PACKETS: f64 = 5.0;
const EXIT_SEGMENTS: f64 = 2.0;
const SAWTOOTH: f64 = 0.05;
const FIRST_LOSS: f64 = 0.05;
const FIRST_PACKETS_S: f64 = 0.002;
const WINDOW: f64 = 0.05;
const PROBE_PERIOD: f64 = 0.02;
/// The window to which bbr's PROBE_RTT falls, in segments.
const PROBE_WINDOW: u32 = 4;
/// Windows are compared every 10 ms, or at every segment.
const STEP_S: f64 = 0.01;
const MSS: f64 = 1448.0;
/// Shifts that are tried, in parts of a round trip.
const SHIFTS: i32 = 20;
/// Runs with seeds of their own where chance decides anything; their mean is judged.
const SEEDS: u64 = 10;
/// Standard deviations by which the mean of recorded runs may stray where chance decides. A measure on which our runs
/// agree gains nothing.
const STRAY: f64 = 2.0;

/// One measure of a flow.
#[derive(Clone, Debug)]
pub struct Measure {
    /// With the flow in front where several share the path.
    pub name: String,
    /// Least and largest over the recorded runs.
    pub reference: (f64, f64),
    pub ours: f64,
    /// Distance of ours from that range, and how far it may be, in the measure's unit.
    pub difference: f64,
    pub bound: f64,
}

impl Measure {
    fn new(name: &str, reference: (f64, f64), ours: f64, bound: f64) -> Measure {
        let difference = (reference.0 - ours).max(ours - reference.1).max(0.0);
        // A measure that could not be taken is out of every bound.
        let difference = if ours.is_finite() { difference } else { f64::INFINITY };
        Measure { name: name.to_owned(), reference, ours, difference, bound }
    }

    /// Bounds that are a share hold for the nearer end of the range.
    fn share(name: &str, reference: (f64, f64), ours: f64, share: f64) -> Measure {
        let nearer = if ours > reference.1 { reference.1 } else { reference.0 };
        Measure::new(name, reference, ours, share * nearer.abs())
    }

    pub fn ok(&self) -> bool {
        self.difference <= self.bound
    }
}

/// A figure over our runs.
struct Ours {
    mean: f64,
    /// How far a single run strays from the mean of many.
    deviation: f64,
}

impl Ours {
    fn of(runs: &[&FlowResult], value: impl Fn(&FlowResult) -> f64) -> Ours {
        let values: Vec<f64> = runs.iter().map(|run| value(run)).collect();
        let mean = mean(&values);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Ours { mean, deviation: (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt() }
    }
}

/// A run beside its recording.
#[derive(Clone, Debug, Default)]
pub struct JudgedFlow {
    pub measures: Vec<Measure>,
    /// Files of the recording that are not there, and whose measures are not taken.
    pub missing: Vec<String>,
}

/// Runs the flows of a row and takes every measure that the folder has of them.
pub fn judge_flow(folder: &Path, row: &FlowRow) -> Result<JudgedFlow, String> {
    let case = row.case.as_ref().map_err(ToString::to_string)?;
    if let Some(missing) = case.flows.iter().position(|flow| flow.figures.is_empty()) {
        return Err(format!("targets.csv has nothing of \"{}\", flow {missing}", case.group));
    }
    let exact = run_flow(case, Sample::Exact);
    let drawn = if case.draws() { SEEDS } else { 0 };
    let drawn: Vec<Vec<FlowResult>> = (1..=drawn).map(|seed| run_flow(case, Sample::Drawn(seed))).collect();
    let mut judged = JudgedFlow::default();
    for (number, flow) in case.flows.iter().enumerate() {
        let mut ours: Vec<&FlowResult> = drawn.iter().map(|run| &run[number]).collect();
        if ours.is_empty() {
            ours.push(&exact[number]);
        }
        let of_flow = measures(folder, case, number, &exact[number], &ours, &mut judged.missing)
            .map_err(|error| error.to_string())?;
        judged.measures.extend(of_flow.into_iter().map(|one| match case.flows.len() {
            1 => one,
            _ => Measure { name: format!("flow {number} ({}) {}", flow.control.name(), one.name), ..one },
        }));
    }
    Ok(judged)
}

fn measures(
    folder: &Path,
    case: &FlowCase,
    number: usize,
    exact: &FlowResult,
    runs: &[&FlowResult],
    missing: &mut Vec<String>,
) -> Result<Vec<Measure>, ReferenceError> {
    let flow = &case.flows[number];
    let windows = if_there(read_flow_windows(folder, &case.name, number), missing)?;
    let events = if_there(read_events(folder, &case.name, number), missing)?;
    let recorded = if_there(read_packets(folder, &case.name, number), missing)?;
    let is_bbr = flow.control.name() == "bbr";
    let figure = |name: &str| flow.figures.get(name).copied();
    let ends = |range: Range| (range.least, range.most);
    // A recorded run is one sample of what chance does, and strays from the mean of many as far as ours do.
    let stray = |ours: &Ours, range: Range| {
        let runs = f64::from(range.runs.max(1));
        if case.draws() { STRAY * ours.deviation * (1.0 / runs + 1.0 / SEEDS as f64).sqrt() } else { 0.0 }
    };
    let mut found = Vec::new();
    let share = |name: &str, ours: &Ours, share: f64| {
        figure(name).map(|range| {
            let measure = Measure::share(name, ends(range), ours.mean, share);
            Measure { bound: measure.bound + stray(ours, range), ..measure }
        })
    };
    let p95 = |run: &FlowResult| {
        let mut rtts = run.rtts.clone();
        rtts.sort_by(f64::total_cmp);
        1e3 * rtts.get(rtts.len() * 95 / 100).copied().unwrap_or(f64::NAN)
    };
    let mean_rtt = Ours::of(runs, |run| mean(&run.rtts));
    found.extend(share("goodput_Mbps", &Ours::of(runs, |run| run.figures["goodput_Mbps"]), GOODPUT));
    found.extend(share("rtt_mean_ms", &Ours::of(runs, |run| 1e3 * mean(&run.rtts)), RTT));
    found.extend(share("rtt_p95_ms", &Ours::of(runs, p95), RTT));
    if let Some(range) = figure("retrans") {
        let ours = Ours::of(runs, |run| run.figures["retrans"]);
        let bound = (REPEATED * range.most).max(REPEATED_PACKETS) + stray(&ours, range);
        found.push(Measure::new("retrans", ends(range), ours.mean, bound));
    }
    if let Some(range) = figure("ss_exit_cwnd") {
        let ours = Ours::of(runs, |run| run.exit.map_or(f64::NAN, |(_, cwnd)| f64::from(cwnd)));
        found.push(Measure::new("ss_exit_cwnd", ends(range), ours.mean, EXIT_SEGMENTS + stray(&ours, range)));
    }
    if let Some(recorded) = &recorded
        && !case.draws_losses()
    {
        let exit = figure("ss_exit_s").map(|range| range.least);
        first_packets(exact, flow.start.as_secs_f64(), recorded, exit, &mut found);
    }
    let end = case.length.as_secs_f64();
    if is_bbr || case.is_a_sample() {
        for (name, of) in [("cwnd mean", weighted_mean as fn(&[(f64, u32)], f64) -> f64), ("cwnd p95", weighted_p95)] {
            let alone = windows.as_ref().map(|windows| of(windows, end));
            let alone = alone.map(|value| Range { least: value, most: value, runs: 1 });
            let Some(range) = (if name == "cwnd mean" { figure("cwnd_mean") } else { None }).or(alone) else {
                continue;
            };
            let ours = Ours::of(runs, |run| of(&run.windows, end));
            let measure = Measure::share(name, ends(range), ours.mean, WINDOW);
            found.push(Measure { bound: measure.bound + stray(&ours, range), ..measure });
        }
        let period = windows.as_ref().map_or(f64::NAN, |windows| probe_period(windows));
        if is_bbr && period.is_finite() {
            let ours = Ours::of(runs, |run| probe_period(&run.windows));
            let measure = Measure::share("PROBE_RTT period s", (period, period), ours.mean, PROBE_PERIOD);
            let alone = Range { least: period, most: period, runs: 1 };
            found.push(Measure { bound: measure.bound + stray(&ours, alone), ..measure });
        }
    }
    if is_bbr {
        return Ok(found);
    }
    // The first recovery repairs the overshoot of slow start: the period after it is none of the sawtooth's.
    let sawtooth = |begins: &[f64]| periods(begins.get(1..).unwrap_or(&[]));
    for (name, of) in [("saw_period_mean_s", mean as fn(&[f64]) -> f64), ("saw_period_median_s", median)] {
        found.extend(share(name, &Ours::of(runs, |run| of(&sawtooth(&run.recoveries))), SAWTOOTH));
    }
    // Windows of samples do not overlay.
    let (Some(windows), Some(events), false) = (windows, events, case.is_a_sample()) else { return Ok(found) };
    let theirs = sawtooth(&events.recoveries);
    if theirs.len() >= 4 {
        for (name, long) in [("short periods s", false), ("long periods s", true)] {
            let reference = half_mean(&theirs, long);
            let ours = Ours::of(runs, |run| half_mean(&sawtooth(&run.recoveries), long));
            found.push(Measure::share(name, (reference, reference), ours.mean, SAWTOOTH));
        }
    }
    if let Some(at) = events.first_loss {
        let ours = Ours::of(runs, |run| run.first_loss.unwrap_or(f64::NAN));
        found.push(Measure::share("first loss s", (at, at), ours.mean, FIRST_LOSS));
    }
    let (deviation, level) = if case.replays() {
        let recorded = windows_over(folder, &case.name, number, "una")?;
        let bytes = exact.figures["goodput_Mbps"] / 8e-6 * end;
        let window = exact.figures["cwnd_mean"] * MSS;
        deviation(&exact.windows_by_bytes, &recorded, bytes, window, MSS)
    } else {
        deviation(&exact.windows, &windows, end, mean_rtt.mean, STEP_S)
    };
    found.push(Measure::new("cwnd RMS / mean", (0.0, 0.0), deviation / level, WINDOW));
    Ok(found)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The middle one, of an even number the upper one, as the reference takes it.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn periods(begins: &[f64]) -> Vec<f64> {
    begins.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// The mean of the shorter or of the longer half of the periods.
fn half_mean(periods: &[f64], long: bool) -> f64 {
    let mut sorted = periods.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    mean(if long { &sorted[sorted.len() - half..] } else { &sorted[..half] })
}

/// How long each window stood.
fn spans(windows: &[(f64, u32)], end: f64) -> impl Iterator<Item = (u32, f64)> {
    let ends = windows.iter().skip(1).map(|&(at, _)| at).chain([end]);
    windows.iter().zip(ends).map(|(&(from, cwnd), to)| (cwnd, to - from))
}

fn weighted_mean(windows: &[(f64, u32)], end: f64) -> f64 {
    let (area, time) =
        spans(windows, end).fold((0.0, 0.0), |(a, t), (cwnd, span)| (a + f64::from(cwnd) * span, t + span));
    area / time
}

fn weighted_p95(windows: &[(f64, u32)], end: f64) -> f64 {
    let mut all: Vec<(u32, f64)> = spans(windows, end).collect();
    all.sort_by_key(|&(cwnd, _)| cwnd);
    let wanted = 0.95 * all.iter().map(|&(_, span)| span).sum::<f64>();
    let mut time = 0.0;
    let place = all.iter().find(|&&(_, span)| {
        time += span;
        time >= wanted
    });
    place.map_or(f64::NAN, |&(cwnd, _)| f64::from(cwnd))
}

/// The mean time from one PROBE_RTT to the next.
fn probe_period(windows: &[(f64, u32)]) -> f64 {
    let begins: Vec<f64> = windows
        .windows(2)
        .filter(|pair| pair[0].1 > PROBE_WINDOW && pair[1].1 == PROBE_WINDOW)
        .map(|pair| pair[1].0)
        .collect();
    mean(&periods(&begins))
}

/// The least root mean square of the difference of the windows over shifts of at most a round trip, and the mean of the
/// recorded window. All in the unit of the windows' places: seconds or bytes.
fn deviation(ours: &[(f64, u32)], recorded: &[(f64, u32)], end: f64, round: f64, step: f64) -> (f64, f64) {
    let places = || (1..).map(|i| f64::from(i) * step).take_while(|&at| at < end);
    let theirs: Vec<f64> = places().map(|at| f64::from(window_at(recorded, at))).collect();
    let best = (-SHIFTS..=SHIFTS).map(|part| {
        let shift = round * f64::from(part) / f64::from(SHIFTS);
        let squares =
            places().zip(&theirs).map(|(at, theirs)| (f64::from(window_at(ours, at + shift)) - theirs).powi(2));
        (squares.sum::<f64>() / theirs.len() as f64).sqrt()
    });
    (best.fold(f64::INFINITY, f64::min), mean(&theirs))
}

/// Rounds of slow start: the number of segments in each, and the times of the packets.
fn first_packets(ours: &FlowResult, start: f64, recorded: &Recorded, exit_s: Option<f64>, found: &mut Vec<Measure>) {
    let Some((other, worst)) = exit_s.and_then(|exit| compare_start(ours, start, recorded, exit)) else { return };
    found.push(Measure::new("rounds of other size", (0.0, 0.0), other as f64, 0.0));
    found.push(Measure::new("first packets: s off", (0.0, 0.0), worst, FIRST_PACKETS_S));
}

/// How many rounds of slow start differ in size, and by how many s a packet of the whole rounds is off at most.
fn compare_start(ours: &FlowResult, start: f64, recorded: &Recorded, theirs_end: f64) -> Option<(usize, f64)> {
    let (ours_end, _) = ours.exit?;
    // A recording of packets may end before slow start does.
    let last = recorded.data.last().map_or(0.0, |packet| packet.at);
    let theirs = rounds(&recorded.data, &recorded.acks, (theirs_end - recorded.syn).min(last));
    let mine = rounds(&ours.data, &ours.acks, (ours_end - start).min(last));
    // Slow start ends inside the last round.
    let whole = theirs.len().min(mine.len()).saturating_sub(1);
    let other =
        theirs.iter().zip(&mine).take(whole).filter(|(a, b)| a != b).count() + theirs.len().abs_diff(mine.len());
    let packets: usize = theirs.iter().take(whole).sum();
    let pairs = recorded.data.iter().zip(&ours.data).take(packets);
    let off = pairs.map(|(a, b)| if (a.seq, a.len) == (b.seq, b.len) { (a.at - b.at).abs() } else { f64::INFINITY });
    Some((other, off.fold(0.0, f64::max)))
}

/// Segments per round until `end`: a round begins with the first packet after the ACK of the last round's first one.
fn rounds(data: &[FlowData], acks: &[(f64, u64)], end: f64) -> Vec<usize> {
    let mut rounds: Vec<usize> = Vec::new();
    let mut mark = 0;
    let mut next = 0;
    let mut una = 0;
    for packet in data.iter().take_while(|packet| packet.at <= end) {
        while let Some(&(_, ack)) = acks.get(next).filter(|(at, _)| *at <= packet.at) {
            una = una.max(ack);
            next += 1;
        }
        match rounds.last_mut() {
            Some(count) if una <= mark => *count += 1,
            _ => {
                rounds.push(1);
                mark = packet.seq;
            }
        }
    }
    rounds
}

/// The first packets of a recording; times count from the SYN.
#[derive(Default)]
struct Recorded {
    syn: f64,
    data: Vec<FlowData>,
    acks: Vec<(f64, u64)>,
}

fn read_packets(folder: &Path, run: &str, flow: usize) -> Result<Recorded, ReferenceError> {
    let table = zipped(folder, run, "pkts")?;
    let mut recorded = Recorded::default();
    for row in 0..table.rows.len() {
        if !is_of(&table, row, flow)? {
            continue;
        }
        let seq: i64 = table.number(row, "seq")?;
        let at = table.seconds(row, "t_in")?;
        let len = table.number(row, "len")?;
        match table.text(row, "dir")? {
            "0" if seq < 0 => recorded.syn = at,
            "0" if len > 0 => recorded.data.push(FlowData { at: at - recorded.syn, seq: seq as u64, len }),
            "0" => {}
            "1" if table.text(row, "t_delivered")?.is_empty() => {}
            "1" => {
                let ack: i64 = table.number(row, "ack")?;
                recorded.acks.push((table.seconds(row, "t_delivered")? - recorded.syn, ack.max(0) as u64));
            }
            other => return Err(table.wrong(row, "dir", other, "neither 0 nor 1")),
        }
    }
    Ok(recorded)
}

struct Events {
    recoveries: Vec<f64>,
    first_loss: Option<f64>,
}

fn read_events(folder: &Path, run: &str, flow: usize) -> Result<Events, ReferenceError> {
    let table = zipped(folder, run, "events")?;
    let mut events = Events { recoveries: Vec::new(), first_loss: None };
    for row in 0..table.rows.len() {
        if !is_of(&table, row, flow)? {
            continue;
        }
        let at = table.seconds(row, "t")?;
        match (table.text(row, "ev")?, table.text(row, "what")?) {
            ("S", "Recovery") => events.recoveries.push(at),
            ("D", _) if events.first_loss.is_none() => events.first_loss = Some(at),
            _ => {}
        }
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_begins_with_the_first_packet_after_the_ack_of_the_last_rounds_first() {
        let packet = |at: f64, number: u64| FlowData { at, seq: number * 1000, len: 1000 };
        let data: Vec<FlowData> =
            [0.0, 0.0, 1.0, 1.0, 1.1, 1.1, 2.0].iter().zip(0..).map(|(&at, n)| packet(at, n)).collect();
        let acks = [(1.0, 1000), (1.1, 2000), (2.0, 3000)];
        assert_eq!(rounds(&data, &acks, 9.0), [2, 4, 1]);
        assert_eq!(rounds(&data, &acks, 1.05), [2, 2]);
    }

    #[test]
    fn a_measure_is_held_to_the_nearer_end_of_the_recorded_range() {
        let range = (100.0, 110.0);
        assert!(Measure::share("x", range, 105.0, 0.0).ok());
        assert!(Measure::share("x", range, 112.1, 0.02).ok() && !Measure::share("x", range, 112.3, 0.02).ok());
        assert!(!Measure::share("x", range, f64::NAN, 0.5).ok());
    }

    #[test]
    fn windows_are_weighed_by_how_long_they_stand() {
        let windows = [(0.0, 10), (1.0, 4), (2.0, 20), (12.0, 4), (13.0, 20)];
        assert_eq!(weighted_mean(&windows[..2], 4.0), 5.5);
        assert_eq!(weighted_p95(&windows[..3], 4.0), 20.0);
        assert_eq!(probe_period(&windows), 11.0);
    }
}
