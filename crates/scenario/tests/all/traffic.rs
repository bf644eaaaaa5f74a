//! Queues, errors and sources at work: what a run of them gives, beside closed formulas.

use crate::support::run;
use skyhop_sim::Records;

fn network(link: &str, flow: &str) -> String {
    format!(
        "duration = \"60 s\"\nprofile = \"rfc\"\n\
         [[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"50 ms\"\n{link}\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    )
}

#[test]
fn files_take_the_time_of_their_bytes() {
    let flow = "tcp = { name = \"newreno\", mss = \"1000 B\", initial_window = 100, window = 100 }\n\
                application = { files = { sizes = [\"10 kB\", \"50 kB\"], pause = \"1 s\" } }";
    let records = run(&network("queue = \"unlimited\"", flow), 1);
    let [first, second] = records.transfers.as_slice() else { panic!("{:?}", records.transfers) };
    assert_eq!((first.bytes, second.bytes), (10_000, 50_000));
    // The source knows of the arrival when the last ACK is back: 40 B at 1 Mbit/s and 50 ms later.
    assert_eq!(second.begin.since(first.time).as_nanos(), 1_000_000_000 + 50_000_000 + 40 * 8 * 1000);
    // 10 packets of some 1040 B at 1 Mbit/s behind a handshake of 100 ms, and 50 ms to get there.
    let seconds = first.time.since(first.begin).as_secs_f64();
    assert!((0.15 + 0.08..0.15 + 0.09).contains(&seconds), "{seconds}");
    let seconds = second.time.since(second.begin).as_secs_f64();
    assert!((0.05 + 0.40..0.05 + 0.55).contains(&seconds), "{seconds}");
    assert_eq!(records.flows[0].completed, Some(second.time));
}

#[test]
fn requests_are_answered_also_where_packets_are_lost() {
    let flow = "tcp = \"sack\"\n\
                application = { requests = { request = \"300 B\", response = \"10 kB\", think = \"100 ms\", count = \
                20 } }";
    let clean = run(&network("", flow), 1);
    assert_eq!(clean.transfers.len(), 20);
    for transfer in &clean.transfers {
        // There and back 100 ms, 10 kB at 1 Mbit/s 80 ms and more, a window of a few packets that has to open.
        let seconds = transfer.time.since(transfer.begin).as_secs_f64();
        assert!((0.18..0.6).contains(&seconds), "{seconds}");
    }
    assert!(
        clean.transfers.windows(2).all(|pair| pair[1].begin > pair[0].time && pair[1].number == pair[0].number + 1)
    );
    let lossy = run(&network("errors = [{ packet = 0.1 }]", flow), 1);
    assert_eq!(lossy.transfers.len(), 20, "lost requests are sent again");
    let total =
        |records: &Records| -> f64 { records.transfers.iter().map(|t| t.time.since(t.begin).as_secs_f64()).sum() };
    assert!(total(&lossy) > total(&clean));
    assert!(lossy.conservation.holds() && clean.conservation.holds());
}

#[test]
fn red_keeps_the_queue_between_its_thresholds_where_drop_tail_fills_it() {
    let flow = "count = 4\ntcp = { name = \"newreno\", mss = \"1000 B\" }";
    let tail = run(&network("queue = { drop_tail = { packets = 60 } }", flow), 1);
    let red = run(&network("queue = { red = { packets = 60, min = 5, max = 15, weight = 0.02 } }", flow), 1);
    let queue = |records: &Records| records.links.iter().map(|link| link.queue_mean_packets).fold(0.0_f64, f64::max);
    assert!((20.0..60.0).contains(&queue(&tail)), "{}", queue(&tail));
    assert!((3.0..15.0).contains(&queue(&red)), "{}", queue(&red));
    let busy = |records: &Records| records.links.iter().map(|link| link.utilisation).fold(0.0_f64, f64::max);
    assert!((0.85..=1.0).contains(&busy(&red)), "{}", busy(&red));
}

#[test]
fn jitter_moves_packets_and_keeps_their_order() {
    let plain = "tcp = { name = \"newreno\", window = 4 }";
    let spread = "jitter = \"20 ms\"\ntcp = { name = \"newreno\", window = 4 }";
    let goodput = |records: &Records| records.flows[0].goodput_bps;
    let (still, moved) = (run(&network("", plain), 1), run(&network("", spread), 1));
    // A window of 4 waits for its ACK: each round takes some 10 ms longer than its 100 ms and more.
    assert!((0.80..0.99).contains(&(goodput(&moved) / goodput(&still))), "{}", goodput(&moved) / goodput(&still));
    assert_eq!((moved.flows[0].retransmissions, moved.flows[0].packets_duplicate), (0, 0));
    assert_ne!(goodput(&moved), goodput(&run(&network("", spread), 2)));
    assert_eq!(goodput(&moved), goodput(&run(&network("", spread), 1)));
}

#[test]
fn outages_and_bursts_lose_what_they_say() {
    let flow = "udp = { header = \"0 B\" }\n\
                application = { constant_rate = { rate = \"500 kbit/s\", payload = \"625 B\" } }";
    // 100 packets a second for 2 s.
    let outage = run(&network("errors = [{ trace = { during = [[\"10 s\", \"12 s\"]] } }]", flow), 1);
    assert_eq!(outage.flows[0].drops.iter().sum::<u64>(), 200);
    let bursts = "errors = [{ gilbert_elliott = { to_bad = 0.01, to_good = 0.1, loss_good = 0, loss_bad = 1 } }]";
    let lost: u64 = (1..=20).map(|seed| run(&network(bursts, flow), seed).flows[0].drops.iter().sum::<u64>()).sum();
    // 1/11 of 20 x 6000 packets; in bursts of 10 on average, so of some 1090 bursts: a standard deviation of 4 %.
    let share = lost as f64 / 120_000.0;
    assert!((share * 11.0 - 1.0).abs() < 0.12, "{share}");
}
