//! The receiver against what the RFCs say of receivers, with exact timers.

use skyhop_base::{Duration, Stream, Time};
use skyhop_tcp::receiver::{Compression, Config, Receiver};
use skyhop_tcp::segment::{Ecn, Segment, Seq, Timestamps};

const MSS: u32 = 1448;

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn stamp(now: Time) -> Timestamps {
    Timestamps { value: (now.as_nanos() / 1_000_000) as u32 + 100, echo: 1 }
}

fn data(now: Time, seq: Seq, len: u32) -> Segment {
    Segment { ack: Some(1), seq, len, timestamps: Some(stamp(now)), ..Segment::default() }
}

/// A receiver whose handshake took 100 ms and ended at 100 ms. It compresses no ACKs unless asked to.
fn established(config: Config) -> Receiver {
    let mut receiver = Receiver::new(config);
    let syn = Segment { syn: true, ece: true, cwr: true, timestamps: Some(stamp(ms(0))), ..Segment::default() };
    receiver.on_segment(ms(0), &syn);
    assert!(receiver.transmit(ms(0)).is_some_and(|answer| answer.syn && answer.ack == Some(1)));
    receiver.on_segment(ms(100), &data(ms(100), 1, 0));
    assert_eq!(receiver.transmit(ms(100)), None);
    receiver
}

fn plain() -> Config {
    Config { compression: Compression::OFF, ..Config::default() }
}

fn answers(receiver: &mut Receiver, now: Time) -> Vec<Segment> {
    std::iter::from_fn(|| receiver.transmit(now)).collect()
}

/// The acknowledgement and the blocks that answer a segment.
fn told(receiver: &mut Receiver, now: Time, seq: Seq, len: u32) -> (Seq, Vec<(Seq, Seq)>) {
    receiver.on_segment(now, &data(now, seq, len));
    let answers = answers(receiver, now);
    assert_eq!(answers.len(), 1, "{answers:?}");
    (answers[0].ack.unwrap(), answers[0].sack.iter().map(|block| (block.start, block.end)).collect())
}

/// RFC 2018 §7: segments of 500 bytes. There the data begins at 5000, here at 1.
#[test]
fn the_examples_of_rfc_2018() {
    let at = |number: u64| number - 4999;
    let blocks = |list: &[(u64, u64)]| list.iter().map(|&(from, to)| (at(from), at(to))).collect::<Vec<_>>();
    // Case 2: the first segment is lost, the others come.
    let mut receiver = established(plain());
    for end in [6000, 6500, 7000, 7500, 8000, 8500, 9000] {
        let found = told(&mut receiver, ms(101), at(end - 500), 500);
        assert_eq!(found, (at(5000), blocks(&[(5500, end)])));
    }
    // Case 3: every second of eight is lost; then the fourth comes, then the second.
    let mut receiver = established(plain());
    assert_eq!(told(&mut receiver, ms(101), at(5000), 500), (at(5500), vec![]));
    assert_eq!(told(&mut receiver, ms(101), at(6000), 500), (at(5500), blocks(&[(6000, 6500)])));
    assert_eq!(told(&mut receiver, ms(101), at(7000), 500), (at(5500), blocks(&[(7000, 7500), (6000, 6500)])));
    let three = blocks(&[(8000, 8500), (7000, 7500), (6000, 6500)]);
    assert_eq!(told(&mut receiver, ms(101), at(8000), 500), (at(5500), three));
    let joined = blocks(&[(6000, 7500), (8000, 8500)]);
    assert_eq!(told(&mut receiver, ms(101), at(6500), 500), (at(5500), joined));
    assert_eq!(told(&mut receiver, ms(101), at(5500), 500), (at(7500), blocks(&[(8000, 8500)])));
}

/// RFC 2883 §4.1: a duplicate below the cumulative ACK, one above it, and one that is partly new.
#[test]
fn the_examples_of_rfc_2883() {
    let at = |number: u64| number - 2999;
    let mut receiver = established(plain());
    assert_eq!(told(&mut receiver, ms(101), at(3000), 500).0, at(3500));
    assert_eq!(told(&mut receiver, ms(102), at(3500), 500).0, at(4000));
    // §4.1.1: 3000-3499 comes again.
    let again = told(&mut receiver, ms(103), at(3000), 500);
    assert_eq!(again, (at(4000), vec![(at(3000), at(3500))]));
    // §4.1.2: a hole at 4000, and 4500-4999 twice.
    assert_eq!(told(&mut receiver, ms(104), at(4500), 500), (at(4000), vec![(at(4500), at(5000))]));
    let above = told(&mut receiver, ms(105), at(4500), 500);
    assert_eq!(above, (at(4000), vec![(at(4500), at(5000)), (at(4500), at(5000))]));
    // The report is made once.
    let next = told(&mut receiver, ms(106), at(5000), 500);
    assert_eq!(next, (at(4000), vec![(at(4500), at(5500))]));
    // §4.2: a segment that overlaps what is there.
    let overlap = told(&mut receiver, ms(107), at(5000), 1000);
    assert_eq!(overlap, (at(4000), vec![(at(5000), at(5500)), (at(4500), at(6000))]));
}

#[test]
fn each_option_can_be_switched_alone() {
    let twice = |config| {
        let mut receiver = established(config);
        receiver.on_segment(ms(101), &data(ms(101), 1, MSS));
        receiver.on_segment(ms(102), &data(ms(102), 1, MSS));
        receiver.on_segment(ms(103), &data(ms(103), 1 + 2 * u64::from(MSS), MSS));
        answers(&mut receiver, ms(103))
    };
    let blocks = |answers: &[Segment]| answers.iter().map(|answer| answer.sack.len()).collect::<Vec<_>>();
    assert_eq!(blocks(&twice(plain())), [0, 1, 1]);
    assert_eq!(blocks(&twice(Config { dsack: false, ..plain() })), [0, 0, 1]);
    assert_eq!(blocks(&twice(Config { sack: false, ..plain() })), [0, 0, 0]);
    assert!(twice(Config { timestamps: false, ..plain() }).iter().all(|answer| answer.timestamps.is_none()));
    // Without scaling no window is larger than the header's field.
    let unscaled = twice(Config { window_scaling: false, memory: [4096, 1 << 20, 1 << 25], ..plain() });
    assert!(unscaled.iter().all(|answer| answer.window <= 65_535));
    assert!(twice(Config { memory: [4096, 1 << 20, 1 << 25], ..plain() }).iter().all(|answer| answer.window > 65_535));
}

/// RFC 3168 §6.1.3: the echo lasts from a mark until CWR.
#[test]
fn a_mark_is_echoed_until_the_sender_has_answered() {
    for ecn in [true, false] {
        let mut receiver = established(Config { ecn, ..plain() });
        let mut echoes = Vec::new();
        for (number, (mark, cwr)) in
            [(false, false), (true, false), (false, false), (false, true)].into_iter().enumerate()
        {
            let now = ms(101 + number as u64);
            let mut segment = data(now, 1 + number as u64 * u64::from(MSS), MSS);
            segment.ecn = if mark { Ecn::Ce } else { Ecn::Ect0 };
            segment.cwr = cwr;
            receiver.on_segment(now, &segment);
            echoes.extend(answers(&mut receiver, now).iter().map(|answer| answer.ece));
        }
        assert_eq!(echoes, [false, ecn, ecn, false]);
    }
}

/// RFC 7323 §4.3: the echo is that of the earliest segment not acknowledged, not that of a segment behind a hole.
#[test]
fn the_echo_is_that_of_the_segment_that_moves_the_acknowledgement() {
    let mut receiver = established(plain());
    let echo = |receiver: &mut Receiver, at: u64, seq: Seq| {
        receiver.on_segment(ms(at), &data(ms(at), seq, MSS));
        answers(receiver, ms(at))[0].timestamps.unwrap().echo
    };
    let mss = u64::from(MSS);
    assert_eq!(echo(&mut receiver, 110, 1), stamp(ms(110)).value);
    assert_eq!(echo(&mut receiver, 120, 1 + 2 * mss), stamp(ms(110)).value);
    assert_eq!(echo(&mut receiver, 130, 1 + mss), stamp(ms(130)).value);
}

/// RFC 1122 §4.2.3.2: an ACK is late by less than half a second and covers at most two full segments.
#[test]
fn delayed_acks_keep_to_rfc_1122() {
    // A buffer that grows would bring quick ACKs back.
    let mut receiver = established(Config { autotuning: false, ..plain() });
    let mut now = ms(200);
    let mut seq = 1;
    let mut send = |receiver: &mut Receiver, now: Time| {
        receiver.on_segment(now, &data(now, seq, MSS));
        seq += u64::from(MSS);
        answers(receiver, now).len()
    };
    // Until quick ACKs end, each segment is acknowledged; then every second one.
    let sent: Vec<usize> = (0..60)
        .map(|_| {
            now += Duration::from_micros(1200);
            send(&mut receiver, now)
        })
        .collect();
    assert!(sent[..16].iter().all(|&acks| acks == 1), "{sent:?}");
    assert_eq!(sent[40..].iter().sum::<usize>(), 10, "{sent:?}");
    // A single segment: nobody reads its ACK out, so the timer sends it.
    while send(&mut receiver, now) > 0 {}
    assert_eq!(receiver.next_timeout(), Some(now + Duration::from_millis(40)));
    receiver.on_timeout(now + Duration::from_millis(40));
    assert_eq!(answers(&mut receiver, now).len(), 1);
    assert_eq!(receiver.next_timeout(), None);
}

/// Without quick ACKs only every second segment is acknowledged from the first on, and one alone waits for the timer.
#[test]
fn without_quick_acks_the_first_segment_waits_for_the_second() {
    let mut receiver = established(Config { autotuning: false, quick_acks: false, ..plain() });
    let sent: Vec<usize> = (0..8)
        .map(|number: u64| {
            let now = ms(200) + Duration::from_micros(1200 * number);
            receiver.on_segment(now, &data(now, 1 + number * u64::from(MSS), MSS));
            answers(&mut receiver, now).len()
        })
        .collect();
    assert_eq!(sent, [0, 1, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn a_reader_that_pauses_closes_the_window_and_opens_it_again() {
    let mut receiver = established(Config { buffer: Some(65_536), ..plain() });
    receiver.set_reading(ms(150), false);
    let (mut now, mut seq, mut edge) = (ms(200), 1, u64::MAX);
    let mut last = None;
    while seq < edge {
        let len = (edge - seq).min(u64::from(MSS)) as u32;
        now += Duration::from_millis(50);
        receiver.on_segment(now, &data(now, seq, len));
        while let Some(due) = receiver.next_timeout().filter(|_| receiver.next_expected() == seq + u64::from(len)) {
            now = due;
            receiver.on_timeout(due);
        }
        seq += u64::from(len);
        for ack in answers(&mut receiver, now) {
            edge = ack.ack.unwrap() + ack.window;
            last = Some(ack);
        }
    }
    assert_eq!((last.unwrap().window, receiver.unread()), (0, seq - 1));
    // A probe below the window is answered, and data beyond it is refused.
    now += Duration::from_secs(1);
    receiver.on_segment(now, &data(now, seq - 1, 0));
    assert_eq!(answers(&mut receiver, now)[0].window, 0);
    receiver.on_segment(now, &data(now, seq, MSS));
    assert!(answers(&mut receiver, now).iter().all(|ack| ack.ack == Some(seq)));
    receiver.set_reading(now, true);
    let update = answers(&mut receiver, now);
    assert!(update.len() == 1 && update[0].window >= 65_536, "{update:?}");
}

/// Data in any order, with duplicates and overlaps: all of it arrives, and every ACK tells the truth.
#[test]
fn every_ack_tells_the_truth_in_any_order_of_arrival() {
    for seed in 0..60 {
        let mut random = Stream::new(seed, "arrivals", "order");
        let mut below = |most: u64| random.bits() % most;
        let compression = if seed % 2 == 0 { Compression::STOCK } else { Compression::OFF };
        let sack = seed % 5 != 0;
        let mut receiver = established(Config { compression, sack, ..Config::default() });
        let total = 200;
        let mut segments: Vec<u64> = (0..total).collect();
        // Each segment may move some places on, and come twice.
        let mut order: Vec<(u64, u64)> = Vec::new();
        for place in segments.drain(..) {
            order.push((place + below(12), place));
            if below(10) == 0 {
                order.push((place + below(40), place));
            }
        }
        order.sort();
        let mut received = vec![false; total as usize];
        let (mut now, mut edge, mut highest) = (ms(200), 0, 0);
        for (_, place) in order {
            now += Duration::from_micros(100 + below(900));
            let mut due_acks = Vec::new();
            while let Some(due) = receiver.next_timeout().filter(|&due| due <= now) {
                receiver.on_timeout(due);
                due_acks.extend(answers(&mut receiver, due));
            }
            received[place as usize] = true;
            receiver.on_segment(now, &data(now, 1 + place * u64::from(MSS), MSS));
            due_acks.extend(answers(&mut receiver, now));
            let first_missing = received.iter().position(|&there| !there).unwrap_or(total as usize) as u64;
            for ack in due_acks {
                let next = ack.ack.unwrap();
                assert!(next <= 1 + first_missing * u64::from(MSS) && next >= highest);
                assert!(next + ack.window >= edge, "the window shrinks");
                assert!(sack || ack.sack.is_empty());
                highest = next;
                edge = edge.max(next + ack.window);
                for block in ack.sack.iter() {
                    let places = (block.start - 1) / u64::from(MSS)..(block.end - 1) / u64::from(MSS);
                    assert!(!places.is_empty() && places.clone().all(|place| received[place as usize]));
                }
            }
            let islands = received[first_missing as usize..].windows(2).filter(|pair| !pair[0] && pair[1]).count();
            assert_eq!(receiver.holes(), islands);
        }
        while let Some(due) = receiver.next_timeout() {
            receiver.on_timeout(due);
            highest = answers(&mut receiver, due).last().map_or(highest, |ack| ack.ack.unwrap());
        }
        assert_eq!((highest, receiver.unread()), (1 + total * u64::from(MSS), 0));
    }
}

/// An idle connection stays small, and one hole costs one entry however much data lies behind it.
#[test]
fn an_idle_receiver_is_small() {
    assert!(size_of::<Receiver>() + size_of::<Config>() < 1536, "{}", size_of::<Receiver>());
    let mut receiver = established(Config { memory: [4096, 1 << 25, 1 << 25], ..Config::default() });
    for place in 1..5000 {
        let now = ms(200) + Duration::from_micros(place * 10);
        receiver.on_segment(now, &data(now, 1 + place * u64::from(MSS), MSS));
        answers(&mut receiver, now);
    }
    assert_eq!(receiver.holes(), 1);
}

/// Segments without blocks wait elsewhere than those with blocks.
#[test]
fn acks_leave_in_the_order_in_which_they_were_decided() {
    let mut receiver = established(plain());
    // By segments of 1000 bytes: the next one, one after a gap, the gap, another after a gap, its gap, the next one.
    for number in [0, 2, 1, 4, 3, 5] {
        receiver.on_segment(ms(101), &data(ms(101), 1 + 1000 * number, 1000));
    }
    let told: Vec<_> = answers(&mut receiver, ms(101)).iter().map(|ack| (ack.ack, ack.sack.len())).collect();
    let expected = [(1001, 0), (1001, 1), (3001, 0), (3001, 1), (5001, 0), (6001, 0)];
    assert_eq!(told, expected.map(|(ack, blocks)| (Some(ack), blocks)));
    assert!(!receiver.is_ready());
    // The places are free again.
    receiver.on_segment(ms(102), &data(ms(102), 6001, 1000));
    assert_eq!(answers(&mut receiver, ms(102)).iter().map(|ack| ack.ack).collect::<Vec<_>>(), [Some(7001)]);
}
