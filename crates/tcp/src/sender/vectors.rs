//! The worked examples of `tests/vectors/algorithms_vectors.json` that are about parts of the sender, each under its
//! name there.

use super::{Config, Sender, TimerKind};
use crate::flow::CaState;
use crate::ledger::Record;
use crate::rate::{RateSample, RateSampler};
use skyhop_base::{Duration, Time};

fn sender() -> Sender {
    Sender::new(Config::default())
}

/// What each ACK lets out in a reduction of a flight of 20, of which one is lost: one SACKed segment for each ACK.
fn reduction(prr: bool, ssthresh: u32) -> (Vec<u32>, u32, u32) {
    let mut sender = Sender::new(Config { prr, ..Config::default() });
    let flow = &mut sender.flow;
    (flow.state, flow.prior_cwnd, flow.ssthresh) = (CaState::Recovery, 20, ssthresh);
    (flow.packets_out, flow.lost_out) = (20, 1);
    let mut counts = Vec::new();
    for _ in 0..19 {
        sender.flow.sacked_out += 1;
        sender.reduce(1, 0, false);
        let count = sender.flow.cwnd.saturating_sub(sender.flow.in_flight());
        // The first is the repetition.
        if sender.prr.out == 0 && count > 0 {
            sender.flow.retrans_out = 1;
            sender.flow.packets_out += count - 1;
        } else {
            sender.flow.packets_out += count;
        }
        sender.prr.out += count;
        counts.push(count);
    }
    (counts, sender.flow.in_flight(), sender.prr.out)
}

#[test]
fn prr_reno_one_loss() {
    let expected = vec![1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1];
    assert_eq!(reduction(true, 10), (expected, 10, 10));
}

#[test]
fn prr_cubic_one_loss() {
    let expected = vec![1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1];
    assert_eq!(reduction(true, 14), (expected, 14, 14));
}

#[test]
fn without_prr_the_window_falls_at_once() {
    // RFC 6675 §5: the repetition leaves with the first ACK, then nothing until the pipe is below the threshold of 10:
    // 18 are in flight after the first ACK and the repetition makes 19, so nine ACKs are silent.
    let (counts, in_flight, out) = reduction(false, 10);
    assert_eq!(counts, [[1].as_slice(), &[0; 9], &[1; 9]].concat());
    assert_eq!((in_flight, out), (10, 10));
}

#[test]
fn rack_reo_wnd() {
    for (min_rtt_ms, srtt_ms, steps, expected_ms) in [(600, 620, 1, 150), (60, 70, 5, 70)] {
        let mut sender = sender();
        sender.flow.min_rtt_us = min_rtt_ms * 1000;
        sender.flow.srtt8_us = 8 * srtt_ms * 1000;
        sender.set_reordering_steps(steps);
        assert_eq!(sender.reordering_window_us(), expected_ms * 1000);
    }
}

#[test]
fn tlp_pto() {
    // The kernel adds 2 ms where RFC 8985 adds nothing, and its least timeout is the RFC's longest delay of an ACK.
    for (flight, expected_ms) in [(5, 1200 + 2), (1, 1400)] {
        let mut sender = sender();
        sender.flow.srtt8_us = 8 * 600_000;
        sender.flow.packets_out = flight;
        sender.rto = Duration::from_millis(1800);
        sender.ledger.push(Record::new(1, 1448, 0));
        sender.set_loss_probe(true);
        assert_eq!(sender.due(TimerKind::LossProbe), Some(Time::ZERO + Duration::from_millis(expected_ms)));
    }
}

#[test]
fn linux_idle_restart() {
    let mut sender = sender();
    (sender.flow.cwnd, sender.flow.ssthresh, sender.rto) = (64, 32, Duration::from_secs(1));
    sender.flow.jiffy = 3500 * crate::timer::HZ / 1000;
    sender.restart_after_idle();
    assert_eq!((sender.flow.ssthresh, sender.flow.cwnd), (48, 10));
}

#[test]
fn delivery_rate_sample() {
    // In segments of 1000 B: 120 delivered now, 40 when the segment was sent.
    let mut sender = sender();
    let flow = &mut sender.flow;
    (flow.delivered, flow.now_us, flow.min_rtt_us, flow.packets_out) = (120, 1_300_000, 500_000, 1);
    let mut record = Record::new(1, 1000, 720_000);
    (record.delivered, record.delivered_us, record.first_sent_us) = (40, 700_000, 100_000);
    let (mut sampler, mut sample) = (RateSampler::default(), RateSample::default());
    sampler.delivered(&record, &mut sample);
    sampler.complete(flow, &mut sample, 1, 0);
    // ACKs took 0.6 s and sending 0.62 s: 129,032 B/s.
    assert_eq!((sample.delivered, sample.interval_us), (Some(80), Some(620_000)));
}
