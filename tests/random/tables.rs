//! What must hold in every table of every run: what a column's name promises, order of times, sums.

use super::finding::Findings;
use skyhop::records::{Distribution, DropCause, Records};
use skyhop_base::Time;

/// Relative error of percentiles: they are read from classes that are narrower than 0.1 % of the value.
const CLASS: f64 = 1.001;

/// What sums and quotients of doubles may be off by.
const ROUNDING: f64 = 1e-9;

pub fn check(records: &Records, findings: &mut Findings) {
    check_sums(records, findings);
    check_order(records, findings);
    check_flows(records, findings);
    check_links(records, findings);
    check_series(records, findings);
    check_sky(records, findings);
}

fn check_sums(records: &Records, findings: &mut Findings) {
    let fate = &records.conservation;
    findings.expect(fate.holds(), "packets are not conserved", || format!("{fate:?}"));
    if records.drops_left_out > 0 {
        // The table is bounded: the rows of a cause or of a flow are fewer than its count.
        let (rows, lost) = (records.drops.len() as u64, fate.dropped.values().sum::<u64>());
        return findings.expect(rows + records.drops_left_out == lost, "drops are neither kept nor counted", || {
            format!("{rows} rows, {} left out, {lost} dropped", records.drops_left_out)
        });
    }
    for cause in DropCause::ALL {
        let rows = records.drops.iter().filter(|row| row.cause == cause).count() as u64;
        let counted = fate.dropped.get(cause.name()).copied().unwrap_or(0);
        findings.expect(rows == counted, "the table of drops differs from their count", || {
            format!("{}: {rows} rows, {counted} dropped", cause.name())
        });
        let at_links: u64 = records.links.iter().map(|link| link.drops[cause as usize]).sum();
        let with_link = records.drops.iter().filter(|row| row.cause == cause && row.link.is_some()).count() as u64;
        findings.expect(at_links == with_link, "the drops of links differ from the table", || {
            format!("{}: {at_links} at links, {with_link} rows with a link", cause.name())
        });
    }
    for (flow, row) in records.flows.iter().enumerate() {
        for cause in DropCause::ALL {
            let of_flow = |acks: bool| {
                let rows = records.drops.iter().filter(|row| row.flow as usize == flow && row.is_ack == acks);
                rows.filter(|row| row.cause == cause).count() as u64
            };
            let (data, acks) = (row.drops[cause as usize], row.ack_drops[cause as usize]);
            findings.expect(
                (of_flow(false), of_flow(true)) == (data, acks),
                "a flow's drops differ from the table",
                || {
                    format!(
                        "flow {flow}, {}: {data} and {acks} of ACKs, rows {} and {}",
                        cause.name(),
                        of_flow(false),
                        of_flow(true)
                    )
                },
            );
        }
    }
}

fn check_order(records: &Records, findings: &mut Findings) {
    let end = records.end;
    let mut order = |table: &str, times: &mut dyn Iterator<Item = Time>| {
        let mut last = Time::ZERO;
        for (row, time) in times.enumerate() {
            findings.expect(last <= time, &format!("times of {table} are out of order"), || {
                format!("row {row}: {time:?} after {last:?}")
            });
            findings.expect(time <= end, &format!("a time of {table} is behind the end"), || {
                format!("row {row}: {time:?}, end {end:?}")
            });
            last = time;
        }
    };
    order("drops", &mut records.drops.iter().map(|r| r.time));
    order("flow_series", &mut records.flow_series.iter().map(|r| r.time));
    order("link_series", &mut records.link_series.iter().map(|r| r.time));
    order("flow_events", &mut records.flow_events.iter().map(|r| r.time));
    order("handovers", &mut records.handovers.iter().map(|r| r.time));
    order("link_changes", &mut records.link_changes.iter().map(|r| r.time));
    order("paths", &mut records.paths.iter().map(|r| r.time));
    order("positions", &mut records.positions.iter().map(|r| r.time));
    order("packets", &mut records.packets.iter().map(|r| r.time));
    order("transfers", &mut records.transfers.iter().map(|r| r.time));
    for row in &records.transfers {
        findings.expect(row.begin <= row.time, "a transfer ends before it begins", || format!("{row:?}"));
    }
}

fn check_flows(records: &Records, findings: &mut Findings) {
    let count = records.flows.len() as f64;
    let fair = |jain: f64| jain >= 1.0 / count - ROUNDING && jain <= 1.0 + ROUNDING;
    findings.expect(records.jain.is_none_or(fair), "Jain's index is out of range", || format!("{:?}", records.jain));
    for row in &records.flows {
        let say = |what: &str| format!("{what} of {}: {row:?}", records.flow_names[row.flow as usize]);
        findings.expect(
            row.start <= row.stop && row.stop <= records.end,
            "a flow's own time is out of the run",
            || say("own time"),
        );
        findings.expect(
            row.completed.is_none_or(|at| at >= row.start && at <= records.end),
            "completed out of the run",
            || say("completed"),
        );
        for (name, value) in [("goodput_bps", row.goodput_bps), ("throughput_bps", row.throughput_bps)] {
            findings.expect(value.is_finite() && value >= 0.0, &format!("{name} is not a rate"), || say(name));
        }
        findings.expect(row.goodput_bps <= row.throughput_bps * (1.0 + ROUNDING), "goodput above throughput", || {
            say("rates")
        });
        findings
            .expect(row.packets_duplicate <= row.packets_received, "more duplicates than packets", || say("packets"));
        findings.expect(row.retransmissions + row.probes <= row.packets_sent, "more sent again than sent", || {
            say("packets")
        });
        let shares = [
            ("delivery_fraction", Some(row.delivery_fraction)),
            ("tcp_efficiency", row.tcp_efficiency),
            ("information_efficiency", row.information_efficiency),
        ];
        for (name, share) in shares {
            let holds = share.is_none_or(|share| (0.0..=1.0 + ROUNDING).contains(&share));
            findings.expect(holds, &format!("{name} is not a share"), || say(name));
        }
        findings.expect(
            row.cwnd_mean.is_none_or(|cwnd| cwnd.is_finite() && cwnd >= 0.0),
            "cwnd_mean is not a window",
            || say("cwnd_mean"),
        );
        for (name, d) in
            [("rtt", row.rtt), ("delay", row.delay), ("jitter", row.jitter), ("interarrival", row.interarrival)]
        {
            findings
                .expect(is_distribution(&d), &format!("the statistics of {name} contradict each other"), || say(name));
        }
    }
}

fn is_distribution(d: &Distribution) -> bool {
    let rising = [0.0, d.min_s, d.median_s, d.p95_s, d.max_s];
    let finite = rising.iter().chain([&d.mean_s]).all(|value| value.is_finite());
    let mean = d.mean_s >= d.min_s * (1.0 - ROUNDING) && d.mean_s <= d.max_s * (1.0 + ROUNDING) + 1e-12;
    finite && (d.count == 0 || mean && rising.windows(2).all(|pair| pair[0] <= pair[1] * CLASS + 1e-9))
}

fn check_links(records: &Records, findings: &mut Findings) {
    for row in &records.links {
        let say = |what: &str| format!("{what} of {}: {row:?}", records.link_names[row.link as usize]);
        let busy = (0.0..=1.0 + ROUNDING).contains(&row.utilisation);
        findings.expect(busy, "utilisation of a link is not a share", || say("utilisation"));
        findings.expect(row.rate_bps.is_finite() && row.rate_bps > 0.0, "rate of a link is not a rate", || say("rate"));
        let mean = row.queue_mean_packets;
        let fits = mean >= 0.0 && mean <= f64::from(row.queue_max_packets) * (1.0 + ROUNDING);
        findings.expect(fits, "the mean of a queue is above its maximum", || say("queue"));
    }
}

fn check_series(records: &Records, findings: &mut Findings) {
    for row in &records.link_series {
        let name = || format!("{}: {row:?}", records.link_names[row.link as usize]);
        findings.expect(
            (0.0..=1.0 + ROUNDING).contains(&row.utilisation),
            "utilisation of a step is not a share",
            name,
        );
        let most = records.links.iter().find(|link| link.link == row.link).map(|link| link.queue_max_packets);
        findings.expect(
            most.is_some_and(|most| row.queue_packets <= most),
            "a step's queue is above the maximum",
            name,
        );
    }
    for row in &records.flow_series {
        let name = || format!("{}: {row:?}", records.flow_names[row.flow as usize]);
        let reals = [row.cwnd, row.delay_mean_s, row.jitter_mean_s, row.interarrival_mean_s];
        let reals = reals.into_iter().flatten().chain([row.goodput_bps, row.throughput_bps]);
        for value in reals {
            findings.expect(value.is_finite() && value >= 0.0, "a number of a flow's step is not an amount", name);
        }
        findings.expect(row.ssthresh.is_none_or(|s| s.is_finite() && s >= 0.0), "ssthresh is not a window", name);
    }
    for (flow, row) in records.flows.iter().enumerate() {
        let steps = records.flow_series.iter().filter(|step| step.flow as usize == flow);
        let received: u64 = steps.map(|step| step.received).sum();
        findings.expect(received <= row.packets_received, "steps received more than the flow", || {
            format!("{received} of {}: {row:?}", row.packets_received)
        });
    }
    for row in &records.flow_events {
        let windows = [row.cwnd, row.ssthresh];
        let finite = windows.into_iter().flatten().all(|value| value.is_finite() && value >= 0.0);
        findings.expect(finite, "a window of an event is not a window", || format!("{row:?}"));
    }
}

fn check_sky(records: &Records, findings: &mut Findings) {
    for row in &records.handovers {
        let fits = (-90.0..=90.0).contains(&row.elevation_deg) && row.slant_range_km.is_finite();
        findings
            .expect(fits && row.slant_range_km >= 0.0, "a handover's geometry is impossible", || format!("{row:?}"));
    }
    for row in &records.positions {
        let fits = row.latitude_deg.abs() <= 90.0 && row.longitude_deg.abs() <= 180.0 && row.altitude_km.is_finite();
        findings.expect(fits, "a position is impossible", || format!("{row:?}"));
    }
    for row in &records.paths {
        findings.expect(row.delay_s.is_finite() && row.delay_s >= 0.0, "a path's delay is impossible", || {
            format!("{row:?}")
        });
    }
}
