//! The totals of a run in one small object: `summary.json`, and what `skyhop run --json` prints.
//! Definitions of the measures: `docs/models/measures.md`. A value that was not measured is null.

use crate::tables::completion_s;
use serde_json::{Map, Value, json};
use skyhop_sim::records::{Distribution, DropCause, DropCounts, FlowSummary, LinkSummary, Records};

/// `flows` and `links` in the order of the records, and `jain`, the index over the goodputs.
pub fn summary(records: &Records) -> Value {
    json!({
        "flows": records.flows.iter().map(|flow| flow_totals(flow, records)).collect::<Vec<_>>(),
        "links": records.links.iter().map(|link| link_totals(link, records)).collect::<Vec<_>>(),
        "jain": records.jain,
    })
}

fn flow_totals(flow: &FlowSummary, records: &Records) -> Value {
    let mut totals = json!({
        "name": name(&records.flow_names, Some(flow.flow)),
        "from": name(&records.node_names, Some(flow.from)),
        "to": name(&records.node_names, Some(flow.to)),
        "start_s": flow.start.as_secs_f64(),
        "stop_s": flow.stop.as_secs_f64(),
        "completion_s": completion_s(flow),
        "goodput_bps": flow.goodput_bps,
        "throughput_bps": flow.throughput_bps,
        "packets_sent": flow.packets_sent,
        "packets_received": flow.packets_received,
        "packets_duplicate": flow.packets_duplicate,
        "retransmissions": flow.retransmissions,
        "probes": flow.probes,
        "timeouts": flow.timeouts,
        "fast_retransmits": flow.fast_retransmits,
        "cwnd_cuts": flow.cwnd_cuts,
        "bytes_delivered": flow.bytes_delivered,
        "drops": drops(&flow.drops),
        "acks_dropped": flow.ack_drops.iter().sum::<u64>(),
        "delivery_fraction": flow.delivery_fraction,
        "tcp_efficiency": flow.tcp_efficiency,
        "information_efficiency": flow.information_efficiency,
        "cwnd_mean": flow.cwnd_mean,
    });
    let measures =
        [("rtt", flow.rtt), ("delay", flow.delay), ("jitter", flow.jitter), ("interarrival", flow.interarrival)];
    for (measure, distribution) in measures {
        for (statistic, value) in statistics(&distribution) {
            totals[format!("{measure}_{statistic}_s")] = json!(value);
        }
    }
    totals
}

fn link_totals(link: &LinkSummary, records: &Records) -> Value {
    json!({
        "name": name(&records.link_names, Some(link.link)),
        "kind": link.kind,
        "from": name(&records.node_names, Some(link.from)),
        "to": name(&records.node_names, link.to),
        "rate_bps": link.rate_bps,
        "utilisation": link.utilisation,
        "packets": link.packets,
        "bytes": link.bytes,
        "queue_mean_packets": link.queue_mean_packets,
        "queue_max_packets": link.queue_max_packets,
        "marked": link.marked,
        "drops": drops(&link.drops),
    })
}

/// The statistics of a measure by the name that stands between the measure's and the unit; none without samples.
pub(crate) fn statistics(d: &Distribution) -> [(&'static str, Option<f64>); 5] {
    [("mean", d.mean_s), ("median", d.median_s), ("p95", d.p95_s), ("min", d.min_s), ("max", d.max_s)]
        .map(|(statistic, value)| (statistic, (d.count > 0).then_some(value)))
}

fn name(names: &[String], id: Option<u32>) -> Option<&str> {
    id.and_then(|id| names.get(id as usize)).map(String::as_str)
}

/// Every cause is named, also those that took no packet.
fn drops(counts: &DropCounts) -> Map<String, Value> {
    DropCause::ALL.iter().zip(counts).map(|(cause, &count)| (cause.name().to_owned(), json!(count))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn totals_stand_under_their_names() {
        let summary = summary(&sample::records());
        let flow = &summary["flows"][1];
        assert_eq!(flow["name"], "a flow whose name is long");
        assert_eq!(flow["from"], "chennai");
        assert_eq!(flow["completion_s"], 30.0);
        assert_eq!(
            flow["drops"],
            json!({ "queue": 3, "error": 0, "link-change": 1, "no-route": 0, "ttl": 0, "priority": 0 })
        );
        assert_eq!((&flow["rtt_mean_s"], &flow["delay_p95_s"]), (&json!(0.2), &json!(0.2)));
        assert_eq!(flow["jitter_mean_s"], Value::Null, "a mean of no samples");
        let link = &summary["links"][0];
        assert_eq!((&link["name"], &link["to"]), (&json!("berkeley up"), &Value::Null));
        assert_eq!(link["queue_max_packets"], 50);
        assert_eq!(summary["jain"], 1.0);
    }

    #[test]
    fn what_is_no_number_becomes_null() {
        let mut records = sample::records();
        records.flows[0].delivery_fraction = f64::NAN;
        records.links[0].queue_mean_packets = f64::INFINITY;
        let text = serde_json::to_string(&summary(&records)).unwrap();
        assert!(text.contains("\"delivery_fraction\":null") && text.contains("\"queue_mean_packets\":null"));
    }
}
