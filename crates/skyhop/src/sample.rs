//! Records made by hand, small enough to know every value of.

use skyhop_base::{Duration, Time};
use skyhop_sim::records::*;

pub(crate) fn seconds(s: f64) -> Time {
    Time::from_secs_f64(s)
}

pub(crate) fn flow(flow: u32) -> FlowSummary {
    FlowSummary {
        flow,
        from: 0,
        to: 2,
        start: seconds(1.0),
        stop: seconds(76.0),
        completed: None,
        goodput_bps: 500_000.0,
        throughput_bps: 520_000.0,
        packets_sent: 104,
        packets_received: 100,
        packets_duplicate: 1,
        retransmissions: 3,
        probes: 0,
        timeouts: 1,
        fast_retransmits: 2,
        cwnd_cuts: 3,
        spurious_losses: Some(1),
        data_blocked: None,
        streams_blocked: None,
        messages: None,
        bytes_delivered: 100_000,
        drops: [3, 0, 1, 0, 0, 0],
        ack_drops: [1, 0, 0, 0, 1, 0],
        delivery_fraction: 100.0 / 104.0,
        tcp_efficiency: Some(0.97),
        information_efficiency: None,
        rtt: Distribution { count: 9, mean_s: 0.2, median_s: 0.19, p95_s: 0.3, min_s: 0.1, max_s: 0.4 },
        delay: Distribution { count: 100, mean_s: 0.1, median_s: 0.09, p95_s: 0.2, min_s: 0.05, max_s: 0.25 },
        jitter: Distribution::default(),
        interarrival: Distribution { count: 99, mean_s: 0.01, median_s: 0.01, p95_s: 0.02, min_s: 0.0, max_s: 1.0 },
        cwnd_mean: Some(12.5),
    }
}

/// A row of the time series.
pub(crate) fn point(time_s: f64, flow: u32, cwnd: f64) -> FlowSeriesRow {
    FlowSeriesRow {
        time: seconds(time_s),
        flow,
        cwnd: Some(cwnd),
        inflation: Some(0),
        ssthresh: None,
        in_flight: 4,
        phase: "congestion-avoidance",
        rtt: Some(Duration::from_millis(120)),
        srtt: Some(Duration::from_millis(125)),
        rto: None,
        pacing_bps: Some(1.2e6),
        delay_mean_s: None,
        jitter_mean_s: Some(f64::NAN),
        interarrival_mean_s: None,
        goodput_bps: 1e6,
        throughput_bps: 1.04e6,
        received: 10,
        dropped: 0,
    }
}

/// Two flows from Berkeley to Chennai over one satellite; of the tables, `packets` and `positions` are empty.
pub(crate) fn records() -> Records {
    let link = LinkSummary {
        link: 0,
        kind: "uplink",
        from: 0,
        to: None,
        rate_bps: 1.5e6,
        utilisation: 0.75,
        packets: 200,
        bytes: 200_000,
        queue_mean_packets: 12.25,
        queue_max_packets: 50,
        marked: 0,
        early: None,
        sojourn: None,
        drops: [7, 0, 2, 0, 0, 0],
    };
    let drop = DropRow {
        time: seconds(2.5),
        cause: DropCause::NoRoute,
        link: None,
        node: 1,
        flow: 1,
        seq: 17,
        size_bytes: 1040,
        is_ack: false,
    };
    Records {
        flow_names: vec!["bic".into(), "a flow whose name is long".into()],
        link_names: vec!["berkeley up".into()],
        node_names: vec!["berkeley".into(), "iridium-0-3".into(), "chennai".into()],
        flows: vec![flow(0), FlowSummary { completed: Some(seconds(31.0)), from: 2, to: 0, ..flow(1) }],
        links: vec![link],
        drops: vec![drop, DropRow { time: seconds(3.0), cause: DropCause::Queue, link: Some(0), ..drop }],
        flow_series: vec![point(0.1, 0, 2.0), point(0.1, 1, 3.0), point(0.2, 0, 4.0), point(0.2, 1, 6.5)],
        link_series: vec![LinkSeriesRow { time: seconds(0.1), link: 0, queue_packets: 3, utilisation: 1.0 }],
        flow_events: vec![FlowEventRow {
            time: seconds(1.0),
            flow: 0,
            event: "start",
            cwnd: Some(1.0),
            ssthresh: None,
        }],
        handovers: vec![HandoverRow {
            time: seconds(10.0),
            terminal: 0,
            from: None,
            to: Some(1),
            elevation_deg: 40.5,
            slant_range_km: 1100.0,
            why: "first, \"nearest\"",
            kind: "satellite",
            from_beam: None,
            to_beam: Some(7),
        }],
        link_changes: vec![LinkChangeRow { time: seconds(10.0), link: 0, up: true, why: "handover" }],
        paths: vec![
            PathRow { time: seconds(0.0), flow: 0, nodes: vec![], delay_s: 0.0 },
            PathRow { time: seconds(10.0), flow: 0, nodes: vec![0, 1, 2], delay_s: 0.0625 },
        ],
        transfers: vec![TransferRow {
            time: seconds(31.0),
            flow: 1,
            number: 0,
            bytes: 100_000,
            begin: seconds(1.5),
            arrived: true,
        }],
        jain: Some(1.0),
        end: seconds(76.0),
        ..Records::default()
    }
}
