//! `docs/howto/add-a-recovery.md` is true: its example is compiled, run, and quoted word for word.

use super::Machine;
use super::early_retransmit::EarlyRetransmit;
use crate::config::{TcpConfig, TcpSpec};
use crate::segment::{Segment, Transmission};
use crate::sender::Sender;
use crate::sender::tests::{ack, drain};
use crate::supply::Supply;
use skyhop_base::Time;
use skyhop_cc::Profile;

fn config() -> TcpConfig {
    TcpSpec::named("newreno").expect("a name").resolve(Profile::Rfc).expect("a valid TCP")
}

/// The segments that leave again when the first of `outstanding` is lost and the others are acknowledged.
fn repaired(recovery: Option<EarlyRetransmit>, outstanding: u32) -> (Vec<u32>, Sender) {
    let config = config();
    let mut sender = match recovery {
        Some(recovery) => Sender::with_recovery(&config, 0.0, Machine::EarlyRetransmit(recovery)),
        None => Sender::at_tick_phase(&config, 0.0),
    };
    let now = Time::from_secs_f64(0.1);
    sender.supply(Time::ZERO, Supply::Segments(outstanding));
    sender.open(Time::ZERO);
    drain(&mut sender, Time::ZERO);
    sender.on_ack(now, &ack(1));
    assert_eq!(drain(&mut sender, now).len() as u32, outstanding);
    let again = |segment: &Segment| segment.transmission == Transmission::Again;
    let mut found = Vec::new();
    for _ in 1..outstanding {
        sender.on_ack(now, &ack(1));
        found.extend(drain(&mut sender, now).iter().filter(|segment| again(segment)).map(|segment| segment.seq));
    }
    (found, sender)
}

#[test]
fn the_page_quotes_the_example() {
    let page = include_str!("../../../../docs/howto/add-a-recovery.md");
    let example = include_str!("../../../../docs/howto/early_retransmit.rs");
    assert!(page.contains(&format!("```rust\n{example}```\n")), "the page and docs/howto/early_retransmit.rs differ");
}

/// RFC 5827 §3.2: outstanding − 1 duplicate ACKs are enough below four segments; RFC 5681 always waits for three.
#[test]
fn the_example_repairs_short_flights_without_the_timer() {
    for outstanding in 2..=5 {
        let (early, sender) = repaired(Some(EarlyRetransmit::default()), outstanding);
        assert_eq!(early, [1], "{outstanding} outstanding");
        let Machine::EarlyRetransmit(recovery) = &sender.recovery else { panic!("it was put in") };
        assert_eq!(recovery.early, u32::from(outstanding < 4), "{outstanding} outstanding");
        let usual: &[u32] = if outstanding < 4 { &[] } else { &[1] };
        assert_eq!(repaired(None, outstanding).0, usual, "{outstanding} outstanding");
    }
}

/// The retransmission arrives: the episode ends and nothing else leaves again.
#[test]
fn the_example_ends_its_episode() {
    let (_, mut sender) = repaired(Some(EarlyRetransmit::default()), 3);
    let now = Time::from_secs_f64(0.2);
    sender.on_ack(now, &ack(4));
    assert!(drain(&mut sender, now).is_empty());
    sender.close(now);
    assert!(sender.is_finished());
    assert_eq!((sender.counters().retransmissions, sender.counters().timeouts), (1, 0));
}
