//! `docs/howto/add-a-queue-discipline.md` is true: its example is the discipline BLUE, quoted word for word.

use skyhop_base::{Duration, Rate, Stream, Time};
use skyhop_queue::blue::{Blue, BlueConfig};
use skyhop_queue::replay::{End, LinkStep, OfferedPacket, replay};
use skyhop_queue::{Cause, Discipline, Packet, Parameters};

#[test]
fn the_page_quotes_the_example() {
    let page = include_str!("../../../../docs/howto/add-a-queue-discipline.md");
    let example = include_str!("../../src/blue.rs");
    assert!(page.contains(&format!("```rust\n{example}```\n")), "the page and crates/queue/src/blue.rs differ");
}

/// Packets of 1000 B at random times at 120 % of 10 Mbit/s, then at 50 %.
fn arrivals() -> Vec<OfferedPacket> {
    let (mut at, mut list) = (Time::ZERO, Vec::new());
    let mut stream = Stream::new(1, "howto", "arrivals");
    while at < Time::from_secs_f64(180.0) {
        let load = if at < Time::from_secs_f64(60.0) { 1.2 } else { 0.5 };
        at += Duration::from_secs_f64(-(1.0 - stream.uniform()).ln() * 800e-6 / load);
        let packet = Packet { handle: list.len() as u32, bytes: 1000, ..Packet::default() };
        list.push(OfferedPacket { at, packet });
    }
    list
}

/// The probability settles where it takes what the link cannot carry, one packet in six, with room left in the queue;
/// after the overload it decays.
#[test]
fn the_example_drops_early_what_a_link_cannot_carry() {
    let config = BlueConfig { limit: 200, ..BlueConfig::default() };
    config.check().expect("every value is in its range");
    assert!(BlueConfig { limit: 0, ..config.clone() }.check().is_err());
    let mut blue = Blue::new(&config, Time::ZERO);
    let arrivals = arrivals();
    let link = [LinkStep { at: Time::ZERO, rate: Rate::from_bps(10_000_000) }];
    let outcomes =
        replay(&mut blue, &arrivals, &link, Time::from_secs_f64(180.0), &mut Stream::new(1, "howto", "draws"));
    let settled = |from: f64, until: f64| {
        let within = Time::from_secs_f64(from)..Time::from_secs_f64(until);
        let these = arrivals.iter().zip(&outcomes).filter(move |(arrival, _)| within.contains(&arrival.at));
        let [all, early, full] = these.fold([0.0_f64; 3], |[all, early, full], (_, outcome)| match outcome.end {
            End::DroppedAtEnqueue(Cause::Control) => [all + 1.0, early + 1.0, full],
            End::DroppedAtEnqueue(_) => [all + 1.0, early, full + 1.0],
            _ => [all + 1.0, early, full],
        });
        [early / all, full / all]
    };
    let [early, full] = settled(20.0, 60.0);
    assert!((early + full - 1.0 / 6.0).abs() < 0.02, "{early} {full}");
    assert!(early > 10.0 * full, "most drops come before the queue is full: {early} {full}");
    let [early, full] = settled(170.0, 180.0);
    assert!(early < 0.01 && full == 0.0 && blue.probability() < 0.01, "{early} {full}");
    assert!(blue.backlog().packets < 50);
}
