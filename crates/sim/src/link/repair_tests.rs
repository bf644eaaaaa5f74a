//! Against the closed formulas of the worked examples: a saturated link of 8 Mbit/s, 1000 B take 1 ms.

use super::*;
use crate::errors::{ByteErrors, ErrorConfig, ErrorModel, GilbertElliott, LossyLink, PacketErrors, TraceErrors};
use crate::link::Offered;
use crate::link::tests::Alone;
use crate::spec::{BlockCode, ErrorUnit, OnDown, QueueConfig, QueueLimit};
use skyhop_base::{Rate, Stream};

fn example(name: &str) -> serde_json::Value {
    let all: serde_json::Value =
        serde_json::from_str(include_str!("../../../../tests/vectors/algorithms_vectors.json")).unwrap();
    all["vectors"].as_array().unwrap().iter().find(|v| v["name"] == name).unwrap().clone()
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Times from and until which everything is lost, in milliseconds.
fn bad_times(pairs: &[[u64; 2]]) -> ErrorConfig {
    ErrorConfig::Trace(TraceErrors { packets: None, during: Some(pairs.iter().map(|pair| pair.map(ms)).collect()) })
}

fn packet_errors(probability: f64) -> ErrorConfig {
    ErrorConfig::Packet(PacketErrors(probability))
}

fn arq(tries: u32, repeats: Repeats) -> RepairConfig {
    // 5 ms there and 5 ms back.
    RepairConfig {
        frames: Some(FrameRepair::Arq { tries, repeats, round_trip: None, answer_bytes: 0 }),
        ..RepairConfig::default()
    }
}

fn built(config: &RepairConfig, error: ErrorConfig) -> Alone {
    let stream = Stream::new(1, "link", "queue");
    let queue = QueueConfig::drop_tail(QueueLimit::Unlimited);
    let lossy = LossyLink { seed: 1, name: "link", code: config.code, flows: &[] };
    let repairs = config.frames.map(|scheme| Repairs::new(config, scheme, error.build(&lossy).into_iter().collect()));
    Link::new(Rate::from_bps(8_000_000).unwrap(), 0, &queue, OnDown::Drop, stream).with_repairs(repairs).into()
}

fn packet(number: u32) -> Packet {
    let flags = Flags::NONE;
    Packet { stamp: Time::ZERO, flow: 0, seq: number, number, detail: 0, to: 0, size: 1000, ttl: 64, flags }
}

fn offer(link: &mut Alone, number: u32, now: Time) {
    assert_ne!(link.offer(&packet(number), now, now, |_| ms(5)), Offered::Full, "{number}");
}

/// A packet that has come over a link.
struct Arrived {
    number: u32,
    at: Time,
    reception: Reception,
}

/// Handles the link's events up to the last, and keeps `backlog` packets waiting of `packets` in all.
fn run(link: &mut Alone, packets: u32, backlog: u32) -> Vec<Arrived> {
    let mut arrived = Vec::new();
    let mut offered = 0;
    let mut now = Time::ZERO;
    loop {
        while offered < packets && link.queue_packets(now) < backlog {
            link.offer(&packet(offered), now, now, |_| ms(5));
            offered += 1;
        }
        let Some((at, _)) = link.next_event(now) else { break };
        assert!(at >= now, "no event lies in the past");
        now = at;
        if link.next_arrival().is_some_and(|arrival| arrival <= now) {
            let entry = link.take_arrived().unwrap();
            let reception = link.take_reception().unwrap();
            arrived.push(Arrived { number: entry.packet.number, at: entry.arrival, reception });
        } else {
            link.begin_service(now, |_, _| ms(5));
        }
    }
    assert_eq!((arrived.len() as u32, link.left_over(now)), (packets, (0, 0)), "every packet is accounted for");
    arrived
}

fn in_order(arrived: &[Arrived]) -> bool {
    arrived.windows(2).all(|pair| pair[0].number < pair[1].number && pair[0].at <= pair[1].at)
}

/// The worked example: P = 0.1, a round trip of 10 packets. 200 000 packets: four standard deviations of the mean
/// number of transmissions, sqrt(P) / (1 − P) each, are 0.3 %.
#[test]
fn a_saturated_link_has_the_efficiency_of_the_formula() {
    let example = example("arq");
    let want = |key: &str| example["expected"][key].as_f64().unwrap();
    for (repeats, key) in
        [(Repeats::Selective, "selective_repeat_efficiency"), (Repeats::GoBackN, "go_back_n_efficiency")]
    {
        let mut link = built(&arq(1000, repeats), packet_errors(0.1));
        let n = 200_000;
        let arrived = run(&mut link, n, 3);
        assert!(in_order(&arrived) && arrived.iter().all(|packet| packet.reception == Reception::Sound));
        let efficiency = f64::from(n) / (arrived.last().unwrap().at.as_nanos() as f64 / 1e6);
        assert!((efficiency / want(key) - 1.0).abs() < 0.01, "{repeats:?}: {efficiency} {}", want(key));
        if repeats == Repeats::Selective {
            let transmissions = link.totals.busy.as_secs_f64() * 1e3 / f64::from(n);
            let want = want("mean_transmissions_unbounded");
            assert!((transmissions / want - 1.0).abs() < 0.004, "{transmissions} {want}");
        }
    }
}

/// P⁴ = 1e-4: of 400 000 packets 40 are lost, four standard deviations are 25.
#[test]
fn what_four_tries_leave_is_the_fourth_power() {
    let residual = example("arq")["expected"]["residual_loss"].as_f64().unwrap();
    let tries = example("arq")["inputs"]["max_transmissions"].as_u64().unwrap() as u32;
    for repeats in [Repeats::Selective, Repeats::GoBackN] {
        let mut link = built(&arq(tries, repeats), packet_errors(0.1));
        let arrived = run(&mut link, 400_000, 3);
        let lost = arrived.iter().filter(|packet| packet.reception == Reception::Lost).count() as f64;
        let want = 400_000.0 * residual;
        assert!((lost - want).abs() < 4.0 * want.sqrt(), "{repeats:?}: {lost} {want}");
        assert!(in_order(&arrived), "what is given up holds up nothing");
    }
}

/// Followed by hand: packet 1 of five fails once. Its end is at 2 ms, its failure known at 12 ms.
#[test]
fn a_failed_packet_leaves_again_a_round_trip_later_and_the_others_wait_for_it() {
    let errors = || bad_times(&[[7, 8]]);
    let times = |link: &mut Alone| {
        (0..5).for_each(|n| offer(link, n, Time::ZERO));
        let ms_of = |packet: &Arrived| (packet.number, packet.at.as_nanos() / 1_000_000);
        run(link, 5, 0).iter().map(ms_of).collect::<Vec<_>>()
    };
    // At 12 ms the transmitter has long been free: 1 is there at 18 ms, and what waits for it goes on then.
    let mut selective = built(&arq(9, Repeats::Selective), errors());
    assert_eq!(times(&mut selective), [(0, 6), (1, 18), (2, 18), (3, 18), (4, 18)]);
    assert_eq!(selective.totals.busy, ms(6));
    let any = RepairConfig { order: DeliveryOrder::AsItComes, ..arq(9, Repeats::Selective) };
    assert_eq!(times(&mut built(&any, errors())), [(0, 6), (2, 8), (3, 9), (4, 10), (1, 18)]);
    // All four are sent again.
    let mut back = built(&arq(9, Repeats::GoBackN), errors());
    assert_eq!(times(&mut back), [(0, 6), (1, 18), (2, 19), (3, 20), (4, 21)]);
    assert_eq!(back.totals.busy, ms(9));
    // A round trip that is given counts.
    let mut given = built(
        &RepairConfig {
            frames: Some(FrameRepair::Arq {
                tries: 9,
                repeats: Repeats::Selective,
                round_trip: Some(ms(30)),
                answer_bytes: 0,
            }),
            ..RepairConfig::default()
        },
        errors(),
    );
    assert_eq!(times(&mut given)[1], (1, 38));
}

/// As above, but each answer takes 2 ms of a link back that is as fast: those of 0 to 4 leave it at 8, 10, 12, 14 and
/// 16 ms, and are there 5 ms later. 1 is known to have failed at 15 ms.
#[test]
fn a_failure_is_known_when_its_answer_is_there() {
    let answered = |repeats| {
        let frames = Some(FrameRepair::Arq { tries: 9, repeats, round_trip: None, answer_bytes: 2000 });
        let mut link = built(&RepairConfig { frames, ..RepairConfig::default() }, bad_times(&[[7, 8]]));
        let back = packet_errors(0.0);
        let mut back = built(&RepairConfig::default(), back);
        (0..5).for_each(|n| offer(&mut link, n, Time::ZERO));
        let mut times = Vec::new();
        let mut now = Time::ZERO;
        while let Some((at, _)) = link.next_event(now) {
            now = at;
            while let Some(answer) = link.take_answer(now) {
                let left = back.occupy(now, answer.bytes);
                link.hear_answer(&answer, left + ms(5));
            }
            if link.next_arrival().is_some_and(|arrival| arrival <= now) {
                let entry = link.take_arrived().unwrap();
                assert_eq!(link.take_reception(), Some(Reception::Sound));
                times.push((entry.packet.number, entry.arrival.as_nanos() / 1_000_000));
            } else {
                link.begin_service(now, |_, _| ms(5));
            }
        }
        (times, link.totals.busy, back.totals.busy)
    };
    let want = |times: [u64; 5]| (0..5).zip(times).collect::<Vec<_>>();
    // Answers to five and one.
    assert_eq!(answered(Repeats::Selective), (want([6, 21, 21, 21, 21]), ms(6), ms(12)));
    // Behind the failure nothing is answered; all four are sent again.
    assert_eq!(answered(Repeats::GoBackN), (want([6, 21, 22, 23, 24]), ms(9), ms(12)));
}

/// 1000 B with 250 B of frame leave four fifths of the rate for packets; half of them sent twice, two thirds of that.
#[test]
fn frames_and_repairs_leave_the_rest_of_the_rate_for_packets() {
    let queue = QueueConfig::drop_tail(QueueLimit::Unlimited);
    let rate = Rate::from_bps(8_000_000).unwrap();
    let mut framed: Alone = Link::new(rate, 250, &queue, OnDown::Drop, Stream::new(1, "link", "queue")).into();
    assert_eq!(framed.packet_rate_bps(), 8e6, "nothing has been sent");
    (0..3).for_each(|n| offer(&mut framed, n, Time::ZERO));
    assert!((framed.packet_rate_bps() - 6.4e6).abs() < 1e-3, "{}", framed.packet_rate_bps());
    let mut link = built(&arq(9, Repeats::Selective), bad_times(&[[6, 7]]));
    (0..2).for_each(|n| offer(&mut link, n, Time::ZERO));
    run(&mut link, 2, 0);
    assert!((link.packet_rate_bps() - 8e6 * 2.0 / 3.0).abs() < 1e-3, "{}", link.packet_rate_bps());
}

/// A new packet that is being sent is not interrupted, and a repetition goes before those that wait.
#[test]
fn repetitions_go_before_what_waits() {
    let mut link = built(&arq(9, Repeats::Selective), bad_times(&[[6, 7]]));
    // 0 ends at 1 ms and fails; known at 11 ms, when 11 begins unless 0 goes first.
    (0..20).for_each(|n| offer(&mut link, n, Time::ZERO));
    let arrived = run(&mut link, 20, 0);
    let at = |n: usize| arrived[n].at.as_nanos() / 1_000_000;
    assert_eq!([at(0), at(10), at(11), at(19)], [17, 17, 18, 26]);
}

/// Bursts of 20 packets, P = 0.1 on average. A repetition after 40 packets mostly finds another state, one at once the
/// same.
#[test]
fn bursts_are_met_in_the_order_of_time() {
    let bursts = GilbertElliott { to_bad: 1.0 / 180.0, to_good: 0.05, loss_good: 0.0, loss_bad: 1.0 };
    let residual = |round_trip| {
        let round_trip = Some(round_trip);
        let frames = FrameRepair::Arq { tries: 2, repeats: Repeats::Selective, round_trip, answer_bytes: 0 };
        let config = RepairConfig { frames: Some(frames), ..RepairConfig::default() };
        let arrived = run(&mut built(&config, ErrorConfig::GilbertElliott(bursts)), 200_000, 3);
        arrived.iter().filter(|packet| packet.reception == Reception::Lost).count() as f64 / 200_000.0
    };
    // It is still bad after d steps with 0.1 + 0.9 · (1 − 1/180 − 0.05)^d. Repeated at once, a packet that begins in a
    // bad time takes two steps, one that begins in a good time one: by the chain of states at the starts the former are
    // 5.405 %.
    let still = |steps: i32| 0.1 + 0.9 * (1.0f64 - 1.0 / 180.0 - 0.05).powi(steps);
    let (late, soon) = (residual(ms(39)), residual(ms(0)));
    // Some 1000 bursts: 15 %.
    let wanted = [0.1 * still(40), 0.05405 * still(1)];
    assert!((late / wanted[0] - 1.0).abs() < 0.15 && (soon / wanted[1] - 1.0).abs() < 0.15, "{late} {soon} {wanted:?}");
}

/// The worked example: of blocks of (24, 20) more than 4 are lost with 8.5 % at a loss of 10 %. In such a block the
/// packets of data stay lost that were: E[lost data · 1(block fails)] / 20, worked out by the binomial sum.
#[test]
fn parity_repairs_the_blocks_of_the_worked_example() {
    let v = example("erasure_block");
    let (k, n) = (v["inputs"]["k"].as_u64().unwrap() as u32, v["inputs"]["n"].as_u64().unwrap() as u32);
    let frames = FrameRepair::Erasure { n, k, within: ms(1000) };
    let config = RepairConfig { frames: Some(frames), ..RepairConfig::default() };
    let expected = v["expected"]["block_failure"].as_array().unwrap();
    for (p, want) in v["inputs"]["packet_loss"].as_array().unwrap().iter().zip(expected).skip(1) {
        let (p, want) = (p.as_f64().unwrap(), want.as_f64().unwrap());
        let blocks = 10_000;
        let mut link = built(&config, packet_errors(p));
        let arrived = run(&mut link, blocks * k, 3);
        assert!(in_order(&arrived));
        let failed = arrived
            .chunks(k as usize)
            .filter(|block| block.iter().any(|packet| packet.reception == Reception::Lost))
            .count();
        // A block of which parity alone is missing beyond n - k does not exist: with five losses one is of data.
        let (failed, want) = (failed as f64, want * f64::from(blocks));
        assert!((failed - want).abs() < 4.0 * want.sqrt(), "{p}: {failed} {want}");
        // n packets on the wire for k: the overhead.
        let busy = link.totals.busy.as_secs_f64() * 1e3 / f64::from(blocks);
        assert!((busy - f64::from(n)).abs() < 1e-6, "{busy}");
    }
}

/// Followed by hand: blocks of three with one of parity; 1 is lost and comes back with the parity, a block that is not
/// filled is closed in time.
#[test]
fn a_missing_packet_waits_for_the_parity_of_its_block() {
    let frames = FrameRepair::Erasure { n: 4, k: 3, within: ms(20) };
    let config = RepairConfig { frames: Some(frames), ..RepairConfig::default() };
    let mut link = built(&config, bad_times(&[[7, 8], [10, 11]]));
    (0..5).for_each(|n| offer(&mut link, n, Time::ZERO));
    let arrived = run(&mut link, 5, 0);
    let times: Vec<_> = arrived.iter().map(|packet| (packet.number, packet.at.as_nanos() / 1_000_000)).collect();
    // Parity of the first block from 3 to 4 ms, there at 9; 3 is lost at 10; its block began at 4 and is closed at 24
    // ms.
    assert_eq!(times, [(0, 6), (1, 9), (2, 9), (3, 30), (4, 30)]);
    assert!(arrived.iter().all(|packet| packet.reception == Reception::Sound));
}

/// Two are missing of a block of three with one of parity: they are given up when the last of it was due.
#[test]
fn a_block_that_lost_too_much_gives_up_what_it_lost_and_no_more() {
    let frames = FrameRepair::Erasure { n: 4, k: 3, within: ms(20) };
    let config = RepairConfig { frames: Some(frames), ..RepairConfig::default() };
    let mut link = built(&config, bad_times(&[[6, 8]]));
    (0..3).for_each(|n| offer(&mut link, n, Time::ZERO));
    let receptions: Vec<_> = run(&mut link, 3, 0).iter().map(|p| (p.reception, p.at.as_nanos() / 1_000_000)).collect();
    assert_eq!(receptions, [(Reception::Lost, 9), (Reception::Lost, 9), (Reception::Sound, 9)]);
}

/// Reed-Solomon (255, 223) at 5 % of wrong bytes, repeated: five blocks of 1000 B fail with 1 − (1 − 0.14139)⁴ (1 − q),
/// q of the last one with 108 B; a packet takes 1160 B of the transmitter's time.
#[test]
fn a_code_and_repetition_work_together() {
    let code = BlockCode { n: 255, k: 223, t: 16 };
    let config = RepairConfig { code: Some(code), ..arq(1000, Repeats::Selective) };
    let error = ErrorConfig::Byte(ByteErrors(0.05));
    let failure = crate::code::CodedChannel::new(code, ErrorUnit::Byte, 0.05).failure(1000);
    let least = 1.0 - (1.0f64 - 0.141_386_037_999_794_2).powi(4);
    assert!(failure > least && failure < least + 0.002, "{failure} {least}");
    let mut link = built(&config, error);
    run(&mut link, 100_000, 3);
    let transmissions = link.totals.busy.as_secs_f64() * 1e3 / 1.16 / 100_000.0;
    // sqrt(P) / (1 - P) each: four standard deviations are 2.2 %.
    assert!((transmissions * (1.0 - failure) - 1.0).abs() < 0.022, "{transmissions} {failure}");
}

#[test]
fn packets_that_wait_for_repetition_can_be_withdrawn_and_free_those_behind_them() {
    for repeats in [Repeats::Selective, Repeats::GoBackN] {
        let mut link = built(&arq(9, repeats), bad_times(&[[6, 7]]));
        (0..3).for_each(|n| offer(&mut link, n, Time::ZERO));
        [1, 2].into_iter().for_each(|at| link.begin_service(Time::ZERO + ms(at), |_, _| ms(5)));
        let mut out = Vec::new();
        link.withdraw(Time::ZERO + ms(9), |packet| packet.number == 0, |_, _| ms(5), &mut out);
        assert_eq!(out.iter().map(|packet| packet.number).collect::<Vec<_>>(), [0]);
        let arrived = run(&mut link, 2, 0);
        assert_eq!(arrived.iter().map(|packet| packet.number).collect::<Vec<_>>(), [1, 2], "{repeats:?}");
        assert!(arrived[0].at >= Time::ZERO + ms(9), "not before they were free");
    }
}

/// Without errors every packet of the block has been passed on by the time at which its parity leaves.
#[test]
fn parity_goes_where_the_data_of_its_block_went() {
    let frames = FrameRepair::Erasure { n: 5, k: 3, within: ms(20) };
    let config = RepairConfig { frames: Some(frames), ..RepairConfig::default() };
    let mut link = built(&config, packet_errors(0.0));
    let mut destinations = Vec::new();
    // A full block, and one that is closed in time.
    for number in 0..4 {
        let packet = Packet { to: 7, ..packet(number) };
        link.offer(&packet, Time::ZERO, Time::ZERO, |_| ms(5));
    }
    let mut now = Time::ZERO;
    while let Some((at, _)) = link.next_event(now) {
        now = at;
        if link.next_arrival().is_some_and(|arrival| arrival <= now) {
            link.take_arrived();
            continue;
        }
        link.begin_service(now, |packet, _| {
            destinations.push(packet.to);
            ms(5)
        });
    }
    // The first packet is served when it is offered; three of data and twice two of parity follow.
    assert_eq!(destinations, [7; 7]);
}
