//! The totals of a run in one small object: `summary.json`, and what `skyhop run --json` prints.
//! Definitions of the measures: `docs/models/measures.md`. A value that was not measured is null.

use crate::tables::completion_s;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use skyhop_sim::records::{Distribution, DropCause, DropCounts, FlowSummary, LinkSummary, Records, Total};

/// `flows` and `links` in the order of the records; `jain`, the index over the goodputs; `total`, all flows together
/// over the time of the run; and `warnings`.
pub fn summary(records: &Records) -> Value {
    serde_json::to_value(Summary(records)).expect("totals are names and numbers")
}

/// The totals as they are written. With a thousand flows they are 20,000 values: none is made but in its place.
pub(crate) struct Summary<'a>(pub &'a Records);

struct Flow<'a>(&'a FlowSummary, &'a Records);
struct LinkRow<'a>(&'a LinkSummary, &'a Records);
struct TotalOf<'a>(&'a Total);
/// Every cause is named, also those that took no packet.
struct Drops<'a>(&'a DropCounts);

impl Serialize for Summary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let records = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("flows", &Sequence(|| records.flows.iter().map(|flow| Flow(flow, records))))?;
        map.serialize_entry("links", &Sequence(|| records.links.iter().map(|link| LinkRow(link, records))))?;
        map.serialize_entry("jain", &records.jain)?;
        map.serialize_entry("total", &TotalOf(&records.total))?;
        map.serialize_entry("warnings", &records.warnings)?;
        map.end()
    }
}

/// What an iterator gives, as a sequence.
struct Sequence<F>(F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for Sequence<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

impl Serialize for Flow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Flow(flow, records) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &name(&records.flow_names, Some(flow.flow)))?;
        map.serialize_entry("from", &name(&records.node_names, Some(flow.from)))?;
        map.serialize_entry("to", &name(&records.node_names, Some(flow.to)))?;
        map.serialize_entry("start_s", &flow.start.as_secs_f64())?;
        map.serialize_entry("stop_s", &flow.stop.as_secs_f64())?;
        map.serialize_entry("completion_s", &completion_s(flow))?;
        map.serialize_entry("goodput_bps", &flow.goodput_bps)?;
        map.serialize_entry("throughput_bps", &flow.throughput_bps)?;
        map.serialize_entry("packets_sent", &flow.packets_sent)?;
        map.serialize_entry("packets_received", &flow.packets_received)?;
        map.serialize_entry("packets_duplicate", &flow.packets_duplicate)?;
        map.serialize_entry("retransmissions", &flow.retransmissions)?;
        map.serialize_entry("probes", &flow.probes)?;
        map.serialize_entry("timeouts", &flow.timeouts)?;
        map.serialize_entry("fast_retransmits", &flow.fast_retransmits)?;
        map.serialize_entry("cwnd_cuts", &flow.cwnd_cuts)?;
        map.serialize_entry("bytes_delivered", &flow.bytes_delivered)?;
        map.serialize_entry("drops", &Drops(&flow.drops))?;
        map.serialize_entry("acks_dropped", &flow.ack_drops.iter().sum::<u64>())?;
        map.serialize_entry("delivery_fraction", &flow.delivery_fraction)?;
        map.serialize_entry("tcp_efficiency", &flow.tcp_efficiency)?;
        map.serialize_entry("information_efficiency", &flow.information_efficiency)?;
        map.serialize_entry("cwnd_mean", &flow.cwnd_mean)?;
        let measures =
            [("rtt", flow.rtt), ("delay", flow.delay), ("jitter", flow.jitter), ("interarrival", flow.interarrival)];
        for (measure, distribution) in measures {
            for (statistic, value) in statistics(&distribution) {
                map.serialize_entry(&format_args!("{measure}_{statistic}_s"), &value)?;
            }
        }
        map.end()
    }
}

impl Serialize for LinkRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let LinkRow(link, records) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &name(&records.link_names, Some(link.link)))?;
        map.serialize_entry("kind", link.kind)?;
        map.serialize_entry("from", &name(&records.node_names, Some(link.from)))?;
        map.serialize_entry("to", &name(&records.node_names, link.to))?;
        map.serialize_entry("rate_bps", &link.rate_bps)?;
        map.serialize_entry("utilisation", &link.utilisation)?;
        map.serialize_entry("packets", &link.packets)?;
        map.serialize_entry("bytes", &link.bytes)?;
        map.serialize_entry("queue_mean_packets", &link.queue_mean_packets)?;
        map.serialize_entry("queue_max_packets", &link.queue_max_packets)?;
        map.serialize_entry("marked", &link.marked)?;
        map.serialize_entry("drops", &Drops(&link.drops))?;
        if let Some(early) = link.early {
            map.serialize_entry("dropped_early", &early)?;
        }
        if let Some(sojourn) = &link.sojourn {
            for (statistic, value) in statistics(sojourn).into_iter().filter(|(statistic, _)| *statistic != "min") {
                map.serialize_entry(&format_args!("sojourn_{statistic}_s"), &value)?;
            }
        }
        map.end()
    }
}

impl Serialize for TotalOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Total { bytes_delivered, goodput_bps, throughput_bps } = self.0;
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("bytes_delivered", bytes_delivered)?;
        map.serialize_entry("goodput_bps", goodput_bps)?;
        map.serialize_entry("throughput_bps", throughput_bps)?;
        map.end()
    }
}

impl Serialize for Drops<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(DropCause::ALL.iter().map(|cause| cause.name()).zip(self.0))
    }
}

/// The statistics of a measure by the name that stands between the measure's and the unit; none without samples.
pub(crate) fn statistics(d: &Distribution) -> [(&'static str, Option<f64>); 5] {
    [("mean", d.mean_s), ("median", d.median_s), ("p95", d.p95_s), ("min", d.min_s), ("max", d.max_s)]
        .map(|(statistic, value)| (statistic, (d.count > 0).then_some(value)))
}

fn name(names: &[String], id: Option<u32>) -> Option<&str> {
    id.and_then(|id| names.get(id as usize)).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use serde_json::json;

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
