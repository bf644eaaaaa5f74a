//! Hosts with the TCP of Linux.

use crate::format::{LinuxPacing, TimersName};
use crate::scenario::Linux;
use skyhop_base::Bytes;
use skyhop_hosts::LinuxTcp;
use skyhop_sim::endpoint::Transport;
use skyhop_tcp::control::EcnUse;
use skyhop_tcp::receiver::{self, Compression};
use skyhop_tcp::sender::{self, EcnMode};
use skyhop_transport::Switch;
use std::sync::Arc;

/// Bytes of a segment that timestamps take, with their padding (RFC 7323 appendix A).
const TIMESTAMPS: u32 = 12;

/// The hosts of a flow and of all that are counted with it.
pub(super) fn hosts(linux: &Linux) -> Arc<dyn Transport> {
    let options = &linux.options;
    let is_on = |switch: Switch| switch == Switch::On;
    let timestamps = is_on(options.timestamps);
    // Sizes were found to fit.
    let announced = options.mss.0 as u32;
    let sender = sender::Config {
        mss: announced - if timestamps { TIMESTAMPS } else { 0 },
        timestamps,
        sack: is_on(options.sack),
        dsack: is_on(options.dsack),
        tlp: is_on(options.tlp),
        frto: is_on(options.frto),
        undo: is_on(options.undo),
        limited_transmit: is_on(options.limited_transmit),
        prr: is_on(options.prr),
        rack: is_on(options.rack),
        ecn: options.ecn,
        window_validation: options.window_validation,
        byte_counting: is_on(options.byte_counting),
        app_limited_marks: is_on(options.app_limited_marks),
        estimator: options.rto_estimator,
        idle_restart: is_on(options.slow_start_after_idle),
        nagle: is_on(options.nagle),
        pacing: options.pacing == LinuxPacing::Always,
        pacing_ratios: (options.pacing_ratios[0].into(), options.pacing_ratios[1].into()),
        min_burst: options.min_burst,
        burst_rtt_log: options.burst_rtt_log,
        join_small: is_on(options.join_small),
        rack_adapts: is_on(options.rack_adapts),
        rack_duplicate_threshold: is_on(options.rack_duplicate_threshold),
        burst_divisor: options.burst_divisor,
        control: linux.control.clone(),
        min_rto: options.min_rto,
        max_rto: options.max_rto,
        initial_rto: options.initial_rto,
        syn_linear_timeouts: options.syn_linear_timeouts,
        initial_window: options.initial_window,
        reordering: options.reordering,
        max_reordering: options.max_reordering,
        ..sender::Config::default()
    };
    let (stock, echo) = (receiver::Config::default(), linux.control.ecn());
    let receiver = receiver::Config {
        mss: announced,
        buffer: linux.receive_buffer.map(|Bytes(bytes)| bytes),
        // A host that is asked for a buffer gives it.
        buffer_limit: linux.receive_buffer.map_or(stock.buffer_limit, |Bytes(bytes)| bytes.max(stock.buffer_limit)),
        memory: options.receive_memory.map(|Bytes(bytes)| bytes),
        autotuning: is_on(options.autotuning),
        window_scaling: is_on(options.window_scaling),
        timestamps,
        sack: is_on(options.sack),
        dsack: is_on(options.dsack),
        // A control that reacts to marks asks for them by itself.
        ecn: options.ecn != EcnMode::Off || echo != EcnUse::Classic,
        delayed_acks: is_on(options.delayed_ack),
        quick_acks: is_on(options.quick_acks),
        compression: Compression {
            delay: options.compression_delay,
            slack: options.compression_slack,
            most: options.compressed_acks,
        },
        rto_min: options.min_rto,
        ..stock
    };
    let jiffies = options.timers == TimersName::Jiffies;
    Arc::new(LinuxTcp::new(sender, receiver, options.send_buffer.0, jiffies))
}
