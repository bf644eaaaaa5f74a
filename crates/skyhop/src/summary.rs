//! The totals of a run in one small object: `summary.json`, and what `skyhop run --json` prints.
//! Definitions of the measures: `docs/models/measures.md`. A value that was not measured is null.

use crate::measures;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use skyhop_sim::records::{FlowSummary, LinkSummary, Records, Total};

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
        measures::entries(*flow, measures::OF_FLOWS, &mut map)?;
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
        measures::entries(*link, measures::OF_LINKS, &mut map)?;
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
