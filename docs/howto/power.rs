//! The power of a flow: L. Kleinrock, "On flow control in computer networks", ICC 1978: what a flow gets over what it
//! waits. A control that fills queues for little more goodput has less of it.

use crate::measures::Measure;
use skyhop_sim::records::FlowSummary;

/// Goodput in bit/s over the mean delay in seconds; null for a flow without delivered packets.
pub(crate) const POWER: Measure<FlowSummary> = Measure::Real("power_bps_per_s", |row| {
    let has_delay = row.delay.count > 0 && row.delay.mean_s > 0.0;
    has_delay.then(|| row.goodput_bps / row.delay.mean_s)
});
