//! The rate at which senders pace, as the time series have it: against the rule of RFC or kernel, and against the
//! packets that left.

use crate::support::run;
use skyhop_sim::records::{FlowSeriesRow, PacketEvent, Records};

/// User bytes of a full segment in these scenarios: of the TCP of Linux and of ours.
const LINUX_MSS: f64 = 1448.0;
const OUR_MSS: f64 = 1000.0;

/// One flow of this TCP over 8 Mbit/s and 20 ms, its packets recorded, and a step of the grid of 1 ms: two segments
/// take 3 ms at the link, so a step has at most one ACK that changes the rate.
fn one_flow(profile: &str, tcp: &str, packets: u32) -> Records {
    let text = format!(
        "duration = \"6 s\"\nprofile = \"{profile}\"\nrecords = {{ grid = \"1 ms\", packets = [\"a->b\"] }}\n\
         [[links]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\n\
         queue = {{ drop_tail = {{ packets = {packets} }} }}\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntcp = {tcp}\n"
    );
    run(&text, 1)
}

/// Rows outside recovery in which the window is not below what is in flight, so that the rule has the window in it.
fn open(records: &Records) -> impl Iterator<Item = &FlowSeriesRow> {
    let phases = ["slow-start", "congestion-avoidance"];
    let steady = move |row: &&FlowSeriesRow| {
        phases.contains(&row.phase) && row.cwnd.is_some_and(|cwnd| f64::from(row.in_flight) <= cwnd)
    };
    records.flow_series.iter().filter(steady)
}

/// The row's rate in windows per smoothed RTT; `None` without a rate.
fn windows_per_rtt(row: &FlowSeriesRow, mss: f64) -> Option<f64> {
    let (rate, cwnd, srtt) = (row.pacing_bps?, row.cwnd?, row.srtt?);
    Some(rate * srtt.as_secs_f64() / (cwnd * mss * 8.0))
}

/// `sk_pacing_rate` of the kernel (`tcp_update_pacing_rate`), and the same rule in our TCP: 200 % of cwnd · mss / srtt
/// below half of the threshold, 120 % later, and the percentages that the scenario gives.
#[test]
fn the_rate_is_the_share_of_a_window_per_rtt_that_the_kernel_takes() {
    let cases = [
        ("linux", "{ name = \"cubic\", pacing = \"always\" }", LINUX_MSS, [2.0, 1.2]),
        ("linux", "{ name = \"reno\", pacing = \"always\", pacing_ratios = [150, 110] }", LINUX_MSS, [1.5, 1.1]),
        ("rfc", "{ name = \"newreno\", pacing = \"always\", mss = \"1000 B\" }", OUR_MSS, [2.0, 1.2]),
    ];
    for (profile, tcp, mss, [early, later]) in cases {
        let records = one_flow(profile, tcp, 30);
        let mut seen = [0, 0];
        for row in open(&records) {
            let Some(found) = windows_per_rtt(row, mss) else { continue };
            let is_early = row.ssthresh.is_none_or(|ssthresh| row.cwnd.unwrap() < (ssthresh / 2.0).floor());
            seen[usize::from(!is_early)] += 1;
            let right = if is_early { early } else { later };
            // The kernel keeps the RTT in eighths of microseconds, the row in whole ones.
            assert!((found / right - 1.0).abs() < 1e-3, "{tcp}: {found} windows in {row:?}");
        }
        assert!(seen[0] > 50 && seen[1] > 1000, "{tcp}: {seen:?}");
    }
}

/// BBR (draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.4): in `probe-bw` 5/4, 3/4 or 1 of the bandwidth, less the
/// kernel's margin of 1 %. Alone on a link it measures what the link gives user data.
#[test]
fn bbr_paces_at_its_gains_times_the_bandwidth() {
    let records = one_flow("linux", "\"bbr\"", 200);
    let bandwidth = 8e6 * LINUX_MSS / 1500.0;
    let gains = [1.25, 0.75, 1.0];
    let mut seen = [0; 3];
    let rows = records.flow_series.iter().filter(|row| row.phase == "probe-bw");
    for row in rows {
        let gain = row.pacing_bps.expect("bbr always paces") / (0.99 * bandwidth);
        let near = gains.iter().position(|right| (gain / right - 1.0f64).abs() < 0.02);
        seen[near.unwrap_or_else(|| panic!("a gain of {gain} in {row:?}"))] += 1;
    }
    assert!(seen.iter().all(|&steps| steps > 50), "{seen:?}");
}

#[test]
fn who_paces_nothing_has_no_rate() {
    let cases = [
        ("linux", "\"cubic\""),
        ("linux", "\"reno\""),
        ("rfc", "\"cubic\""),
        ("rfc", "\"sack\""),
        ("ns-2", "\"reno\""),
    ];
    for (profile, tcp) in cases {
        let records = one_flow(profile, tcp, 30);
        assert!(records.flow_series.len() > 5000 && records.flows[0].goodput_bps > 1e6, "{profile} {tcp}");
        let paced = records.flow_series.iter().find(|row| row.pacing_bps.is_some());
        assert!(paced.is_none(), "{profile} {tcp}: {paced:?}");
    }
    // Linux sends the first ten segments without spacing.
    let records = one_flow("linux", "\"bbr\"", 200);
    let sent = |at: f64| {
        let packets = records.packets.iter().filter(|row| row.event == PacketEvent::Enqueue && !row.is_ack);
        packets.filter(|row| row.payload_bytes > 0 && row.time.as_secs_f64() <= at).count()
    };
    for row in records.flow_series.iter().take(200) {
        assert_eq!(row.pacing_bps.is_some(), sent(row.time.as_secs_f64()) >= 10, "{row:?}");
    }
}

/// A bucket that fills at the larger rate of a step's two ends is never short by more than the burst that the sender
/// may make. Over the last 3 s, in which each sender is held by nothing but its window, it uses the share of the rate
/// that its rule says: a window per RTT of 1.2 of them, or all. Our pacer counts 40 B of headers in a segment, its rule
/// does not.
#[test]
fn packets_leave_no_faster_than_the_rate() {
    let cases = [
        // A burst of two segments, and the half of its time by which a late host may catch up.
        ("linux", "{ name = \"cubic\", pacing = \"always\" }", 3.0, 1.0 / 1.2),
        ("linux", "\"bbr\"", 3.0, 1.0),
        (
            "rfc",
            "{ name = \"newreno\", pacing = \"always\", mss = \"1000 B\", initial_ssthresh = 60 }",
            1.0,
            1.04 / 1.2,
        ),
        ("rfc", "{ name = \"hybla\", mss = \"1000 B\", initial_ssthresh = 60 }", 1.0, 1.0),
    ];
    for (profile, tcp, burst, used) in cases {
        let records = one_flow(profile, tcp, 4000);
        assert_eq!(records.flows[0].retransmissions, 0, "{tcp}: no repetition takes another's place");
        // The pacer of the kernel counts user bytes, ours whole packets.
        let counted = |payload: u32, size: u32| f64::from(if profile == "linux" { payload } else { size });
        let largest = records.packets.iter().map(|row| counted(row.payload_bytes, row.size_bytes)).fold(0.0, f64::max);
        let sent: Vec<(f64, f64)> = (records.packets.iter())
            .filter(|row| row.event == PacketEvent::Enqueue && !row.is_ack)
            .map(|row| (row.time.as_secs_f64(), counted(row.payload_bytes, row.size_bytes)))
            .collect();
        let (mut next, mut owed, mut late, mut allowed) = (0, 0.0f64, 0.0, 0.0);
        for pair in records.flow_series.windows(2) {
            let (from, to) = (pair[0].time.as_secs_f64(), pair[1].time.as_secs_f64());
            let first = next;
            while sent.get(next).is_some_and(|&(time, _)| time <= to) {
                next += 1;
            }
            let bytes: f64 = sent[first..next].iter().map(|(_, bytes)| bytes).sum();
            let (Some(before), Some(after)) = (pair[0].pacing_bps, pair[1].pacing_bps) else { continue };
            let fill = before.max(after) / 8.0 * (to - from);
            owed = (owed + bytes - fill).max(0.0);
            assert!(owed <= (burst + 0.5) * largest, "{tcp}: {owed} B too early at {to} s");
            if from >= 3.0 {
                (late, allowed) = (late + bytes, allowed + fill);
            }
        }
        // The SRTT of a sender with one sample per RTT lags behind an RTT that grows, so its rate is a little too high.
        let share = late / allowed;
        assert!((share / used - 1.0).abs() < 0.1, "{tcp}: {share} of the rate");
    }
}
