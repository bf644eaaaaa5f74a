//! DCTCP (RFC 8257) against its model: the share of marked data and the sawtooth at a queue that marks at a step.

use crate::support::*;
use skyhop_base::{Duration, Time};
use skyhop_tcp::receiver::{self, Receiver};
use skyhop_tcp::segment::{Ecn, Segment};

/// A deep queue that marks at `mark_at` packets.
fn path(mbps: f64, rtt_ms: f64, mark_at: usize) -> Bottleneck {
    let mut path = Bottleneck::new(mbps, rtt_ms, 2000);
    path.mark_at = Some(mark_at);
    path
}

#[test]
fn the_share_of_marks_and_the_sawtooth_are_those_of_the_model() {
    // Alizadeh et al. 2010, §3.3: one flow, W* = C RTT + K; alpha solves alpha^2 (1 - alpha/4) = (2 W* + 1) / (W* +
    // 1)^2 if all data of the last round trip of a period is marked. Here a flight that exceeds K by a packet or two
    // has only some of its packets marked, so alpha lies below that.
    for (mbps, rtt_ms, mark_at) in [(20.0, 50.0, 40), (30.0, 20.0, 30), (10.0, 200.0, 60)] {
        let path = path(mbps, rtt_ms, mark_at);
        let run = run(&path, vec![Flow::bulk("dctcp")], 40.0);
        let w = path.bdp() + mark_at as f64;
        let right = (2.0 * w + 1.0) / (w + 1.0).powi(2);
        let mut model: f64 = 0.5;
        for _ in 0..200 {
            model = (right / (1.0 - model / 4.0)).sqrt();
        }
        let late: Vec<&Point> = run.points.iter().filter(|p| p.at > 20.0).collect();
        let alpha = late.iter().map(|p| p.figure("alpha")).sum::<f64>() / late.len() as f64;
        let most = late.iter().map(|p| p.cwnd).max().unwrap();
        // The echo is exact: every mark is counted once, but for those in flight.
        let counted = run.hosts[0].sender.flow().delivered_ce;
        let marks = run.marked.len() as u64;
        assert!(counted <= marks && marks - counted <= 2 * u64::from(most), "{counted} of {marks}");
        assert!((0.4..1.2).contains(&(alpha / model)), "alpha {alpha}, model {model}");
        assert!((f64::from(most) / w - 1.0).abs() < 0.05, "largest window {most}, model {w}");
        assert!(run.goodput(0, 20.0, 40.0) > 0.95 * mbps * 1448.0 / 1500.0);
        assert_eq!(run.drops_between(10.0, 40.0), 0);
    }
}

#[test]
fn two_flows_share_a_marking_queue_and_keep_it_short() {
    let run = run(&path(30.0, 20.0, 40), vec![Flow::bulk("dctcp"), Flow::bulk("dctcp").from(3.0)], 40.0);
    let shares = [run.goodput(0, 15.0, 40.0), run.goodput(1, 15.0, 40.0)];
    assert!(jain(&shares) > 0.95, "{shares:?}");
    // 40 packets take 16 ms.
    assert!(run.mean_queue(15.0, 40.0) < 18.0);
}

#[test]
fn without_ecn_on_the_path_it_is_reno() {
    let path = Bottleneck::new(20.0, 50.0, 80);
    let series = |control: &str| {
        let flow = Flow::bulk(control);
        run(&path, vec![flow], 30.0).points.iter().map(|p| (p.acked, p.cwnd)).collect::<Vec<_>>()
    };
    assert_eq!(series("dctcp"), series("reno"));
}

/// The echo of a receiver with DCTCP after each ACK: the number acknowledged, and ECE.
fn echoes(marks: &[bool]) -> Vec<(u64, bool)> {
    let mut receiver =
        Receiver::new(receiver::Config { echo: receiver::EcnEcho::Precise, ..receiver::Config::default() });
    let ms = |ms: u64| Time::ZERO + Duration::from_millis(ms);
    receiver.on_segment(ms(0), &Segment { syn: true, ece: true, cwr: true, ..Segment::default() });
    receiver.on_segment(ms(1), &Segment { seq: 1, ack: Some(1), ..Segment::default() });
    let mut acks = Vec::new();
    let mut drain = |receiver: &mut Receiver, now| {
        while let Some(ack) = receiver.transmit(now) {
            acks.push((ack.ack.unwrap(), ack.ece));
        }
    };
    drain(&mut receiver, ms(1));
    for (number, &marked) in (0u64..).zip(marks) {
        let ecn = if marked { Ecn::Ce } else { Ecn::Ect0 };
        let segment = Segment { seq: 1 + number * 1000, len: 1000, ack: Some(1), ecn, ..Segment::default() };
        receiver.on_segment(ms(10 + number), &segment);
        drain(&mut receiver, ms(10 + number));
    }
    acks
}

#[test]
fn the_receiver_acknowledges_before_its_echo_changes() {
    // After the quick ACKs of the start two segments make an ACK; RFC 8257 figure 1 asks for one at each change.
    let mut marks = vec![false; 41];
    marks.extend([true, true, true, false]);
    let acks = echoes(&marks);
    let marked: u64 = acks.windows(2).filter(|pair| pair[1].1).map(|pair| pair[1].0 - pair[0].0).sum();
    assert_eq!(marked, 3000, "{acks:?}");
    // Each byte is acknowledged under the mark that it carried.
    for pair in acks.windows(2) {
        let bytes = pair[0].0.max(1)..pair[1].0;
        let first = ((bytes.start - 1) / 1000) as usize;
        let last = ((bytes.end.max(bytes.start + 1) - 2) / 1000) as usize;
        if pair[0].0 > 1 && last < marks.len() && bytes.end > bytes.start {
            assert!(marks[first..=last].iter().all(|&mark| mark == pair[1].1), "{pair:?}");
        }
    }
}
