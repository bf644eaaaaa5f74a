//! The tables of calls, of messages with a deadline, and of adaptive video.

use super::builder::{Names, TableBuilder};
use arrow_array::RecordBatch;
use skyhop_base::Duration;
use skyhop_sim::records::Records;

/// A row for each direction of a call.
pub(super) fn call_table(records: &Records) -> RecordBatch {
    TableBuilder::over(&records.calls)
        .name("flow", &Names::new(&records.flow_names), |r| r.flow)
        .count("frames", |r| r.frames)
        .count("lost", |r| r.lost)
        .count("late", |r| r.late)
        .real("lost_share", |r| share(r.lost + r.late, r.frames))
        .real("delay_s", |r| r.delay_s)
        .real("burst_ratio", |r| r.burst_ratio)
        .real("rating", |r| r.rating)
        .real("mos", |r| r.mos)
        .finish()
}

/// A row for each flow of messages.
pub(super) fn message_table(records: &Records) -> RecordBatch {
    TableBuilder::over(&records.messages)
        .name("flow", &Names::new(&records.flow_names), |r| r.flow)
        .real("deadline_s", |r| Duration::as_secs_f64(r.deadline))
        .count("messages", |r| r.messages)
        .count("late", |r| r.late)
        .count("lost", |r| r.lost)
        .real("missed", |r| share(r.late + r.lost, r.messages))
        .finish()
}

/// A row for each adaptive video.
pub(super) fn video_table(records: &Records) -> RecordBatch {
    TableBuilder::over(&records.videos)
        .name("flow", &Names::new(&records.flow_names), |r| r.flow)
        .count("segments", |r| r.segments)
        .real("startup_s", |r| r.startup.map(Duration::as_secs_f64))
        .real("played_s", |r| Duration::as_secs_f64(r.played))
        .count("stalls", |r| r.stalls)
        .real("stalled_s", |r| Duration::as_secs_f64(r.stalled))
        .real("stalled_share", |r| {
            let watched_s = (r.played + r.stalled).as_secs_f64();
            (watched_s > 0.0).then(|| r.stalled.as_secs_f64() / watched_s)
        })
        .real("quality_mean_bps", |r| r.rate_bps)
        .count("switches", |r| r.switches)
        .flag("done", |r| r.done)
        .finish()
}

/// `None` of nothing.
fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}
