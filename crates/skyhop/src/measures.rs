//! The measures of flows and links, each declared once: its columns in the tables and its entries in `summary.json`.
//! Definitions: `docs/models/measures.md`; `docs/howto/add-a-measure.md` shows how to add one.

use serde::ser::{Serialize, SerializeMap};
use skyhop_sim::records::{Distribution, DropCause, DropCounts, FlowSummary, LinkSummary};

/// A measure of rows of the type `R`. A value that does not exist, or is not a number, is null.
pub(crate) enum Measure<R> {
    /// A real number; the unit stands at the end of the name.
    Real(&'static str, fn(&R) -> Option<f64>),
    /// A whole number.
    Count(&'static str, fn(&R) -> Option<u64>),
    /// The same where only some rows can have it; `summary.json` leaves it out of the others.
    CountOfSome(&'static str, fn(&R) -> Option<u64>),
    /// Mean, median, 95th percentile, least and largest value of a duration, each in seconds.
    Times(&'static str, fn(&R) -> Distribution),
    /// The same without the least value, where only some rows can have it.
    TimesOfSome(&'static str, fn(&R) -> Option<Distribution>),
    /// Dropped packets by cause: a column for each and one for all, one entry with all causes in the summary.
    Drops(fn(&R) -> &DropCounts),
}

/// In the order of the columns of the table `flows`, behind its names.
pub(crate) const OF_FLOWS: &[Measure<FlowSummary>] = &[
    Measure::Real("start_s", |r| Some(r.start.as_secs_f64())),
    Measure::Real("stop_s", |r| Some(r.stop.as_secs_f64())),
    // From the flow's start to the arrival of the last byte.
    Measure::Real("completion_s", |r| r.completed.map(|at| at.since(r.start).as_secs_f64())),
    Measure::Real("goodput_bps", |r| Some(r.goodput_bps)),
    Measure::Real("throughput_bps", |r| Some(r.throughput_bps)),
    Measure::Count("packets_sent", |r| Some(r.packets_sent)),
    Measure::Count("packets_received", |r| Some(r.packets_received)),
    Measure::Count("packets_duplicate", |r| Some(r.packets_duplicate)),
    Measure::Count("retransmissions", |r| Some(r.retransmissions)),
    Measure::Count("probes", |r| Some(r.probes)),
    Measure::Count("timeouts", |r| Some(r.timeouts)),
    Measure::Count("fast_retransmits", |r| Some(r.fast_retransmits)),
    Measure::Count("cwnd_cuts", |r| Some(r.cwnd_cuts)),
    Measure::CountOfSome("spurious_losses", |r| r.spurious_losses),
    Measure::CountOfSome("data_blocked", |r| r.data_blocked),
    Measure::CountOfSome("streams_blocked", |r| r.streams_blocked),
    Measure::CountOfSome("messages_written", |r| r.messages.map(|messages| messages.written)),
    Measure::CountOfSome("messages_dropped", |r| r.messages.map(|messages| messages.dropped)),
    Measure::CountOfSome("messages_received", |r| r.messages.map(|messages| messages.received)),
    Measure::Count("bytes_delivered", |r| Some(r.bytes_delivered)),
    Measure::Drops(|r| &r.drops),
    Measure::Count("acks_dropped", |r| Some(r.ack_drops.iter().sum())),
    Measure::Real("delivery_fraction", |r| Some(r.delivery_fraction)),
    Measure::Real("tcp_efficiency", |r| r.tcp_efficiency),
    Measure::Real("information_efficiency", |r| r.information_efficiency),
    Measure::Times("rtt", |r| r.rtt),
    Measure::Times("delay", |r| r.delay),
    Measure::Times("jitter", |r| r.jitter),
    Measure::Times("interarrival", |r| r.interarrival),
    Measure::Real("cwnd_mean", |r| r.cwnd_mean),
];

/// In the order of the columns of the table `links`, behind its names.
pub(crate) const OF_LINKS: &[Measure<LinkSummary>] = &[
    Measure::Real("rate_bps", |r| Some(r.rate_bps)),
    Measure::Real("utilisation", |r| Some(r.utilisation)),
    Measure::Count("packets", |r| Some(r.packets)),
    Measure::Count("bytes", |r| Some(r.bytes)),
    Measure::Real("queue_mean_packets", |r| Some(r.queue_mean_packets)),
    Measure::Count("queue_max_packets", |r| Some(r.queue_max_packets.into())),
    Measure::Count("marked", |r| Some(r.marked)),
    Measure::Drops(|r| &r.drops),
    Measure::CountOfSome("dropped_early", |r| r.early),
    Measure::TimesOfSome("sojourn", |r| r.sojourn),
];

/// The entries of a row in a map of `summary.json`.
pub(crate) fn entries<R, M: SerializeMap>(row: &R, measures: &[Measure<R>], map: &mut M) -> Result<(), M::Error> {
    for measure in measures {
        match measure {
            Measure::Real(name, value) => map.serialize_entry(name, &value(row))?,
            Measure::Count(name, value) => map.serialize_entry(name, &value(row))?,
            Measure::CountOfSome(name, value) => {
                if let Some(value) = value(row) {
                    map.serialize_entry(name, &value)?;
                }
            }
            Measure::Times(name, value) => {
                for (statistic, value) in statistics(&value(row)) {
                    map.serialize_entry(&column(name, statistic), &value)?;
                }
            }
            Measure::TimesOfSome(name, value) => {
                for (statistic, value) in value(row).iter().flat_map(|times| without_least(statistics(times))) {
                    map.serialize_entry(&column(name, statistic), &value)?;
                }
            }
            Measure::Drops(drops) => map.serialize_entry("drops", &Drops(drops(row)))?,
        }
    }
    Ok(())
}

/// The name of a column of durations.
pub(crate) fn column(measure: &str, statistic: &str) -> String {
    format!("{measure}_{statistic}_s")
}

/// The statistics of a measure by the name that stands between the measure's and the unit; none without samples.
pub(crate) fn statistics(d: &Distribution) -> [(&'static str, Option<f64>); 5] {
    [("mean", d.mean_s), ("median", d.median_s), ("p95", d.p95_s), ("min", d.min_s), ("max", d.max_s)]
        .map(|(statistic, value)| (statistic, (d.count > 0).then_some(value)))
}

/// All but the least value.
pub(crate) fn without_least<V>(all: [(&'static str, V); 5]) -> impl Iterator<Item = (&'static str, V)> {
    all.into_iter().filter(|(statistic, _)| *statistic != "min")
}

/// Every cause is named, also those that took no packet.
struct Drops<'a>(&'a DropCounts);

impl Serialize for Drops<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(DropCause::ALL.iter().map(|cause| cause.name()).zip(self.0))
    }
}
