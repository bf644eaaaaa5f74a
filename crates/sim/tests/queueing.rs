//! The engine against queueing theory and against arithmetic done by hand.

use skyhop_base::{Bytes, Duration, Rate, Time};
use skyhop_orbit::Earth;
use skyhop_queue::QueueSpec;
use skyhop_queue::codel::CodelConfig;
use skyhop_queue::fifo::FifoConfig;
use skyhop_queue::tbf::TbfConfig;
use skyhop_sim::applications::{ConstantRateOptions, PoissonOptions};
use skyhop_sim::errors::PacketErrors;
use skyhop_sim::spec::{
    ErrorConfig, FlowConfig, FrameRepair, LinkConfig, LinkConfigs, LinkVariation, OnDown, QueueConfig, QueueLimit,
    RecordConfig, RepairConfig, Repeats, RunClock, Service, SourceConfig, TraceConfig, TransportConfig,
};
use skyhop_sim::{Records, Simulation, SimulationSpec};
use skyhop_topology::{NodeId, NodeKind, NodeSpec, RoutingRules, SkyOptions, TopologySpec, WiredLink};

const LEFT: NodeId = NodeId::new(0);
const RIGHT: NodeId = NodeId::new(1);

fn link(rate_bps: u64, limit: QueueLimit) -> LinkConfig {
    LinkConfig {
        rate: Rate::from_bps(rate_bps).unwrap(),
        queue: QueueConfig::drop_tail(limit),
        framing_bytes: 0,
        on_down: OnDown::Drop,
        errors: Vec::new(),
        pace: LinkVariation::Steady,
        repair: RepairConfig::default(),
    }
}

/// Two nodes, one link each way of the given delay, datagrams from left to right.
fn one_link(link: LinkConfig, delay: Duration, duration: Duration, application: SourceConfig) -> SimulationSpec {
    let node = |name: &str| NodeSpec { name: name.into(), kind: NodeKind::Wired };
    SimulationSpec {
        duration,
        clock: RunClock::default(),
        sky: SkyOptions::default(),
        topology: TopologySpec {
            earth: Earth::WGS84,
            nodes: vec![node("left"), node("right")],
            wired: vec![WiredLink { from: LEFT, to: RIGHT, delay }, WiredLink { from: RIGHT, to: LEFT, delay }],
            isl: None,
            gsl: None,
            routing: RoutingRules::default(),
        },
        links: LinkConfigs { wired: vec![link.clone(), link], ..LinkConfigs::default() },
        flows: vec![FlowConfig {
            name: "flow".into(),
            from: LEFT,
            to: RIGHT,
            transport: TransportConfig::Udp { header_bytes: 0 },
            application,
            start: Time::ZERO,
            stop: None,
            ttl: 64,
            class: 0,
            jitter: Duration::ZERO,
        }],
        labels: Default::default(),
        workloads: Vec::new(),
        agents: Vec::new(),
        records: RecordConfig::default(),
    }
}

fn run(spec: &SimulationSpec, seed: u64) -> Records {
    let records = Simulation::new(spec, seed).unwrap().run();
    assert!(records.conservation.holds(), "{:?}", records.conservation);
    records
}

/// Mean wait of an M/D/1 queue, ρ s / (2 (1 - ρ)) (Pollaczek and Khinchine), over 2.8 million packets.
#[test]
fn waiting_time_is_that_of_an_md1_queue() {
    for (load, seed) in [(0.5, 1), (0.7, 2), (0.8, 3)] {
        // 125 B at 1 Mbit/s: a service of 1 ms.
        let rate = Rate::from_bps((load * 1e6) as u64).unwrap();
        let application = SourceConfig::from(PoissonOptions { rate, payload: Bytes(125) });
        let seconds = 4000;
        let link = link(1_000_000, QueueLimit::Unlimited);
        let records = run(&one_link(link, Duration::from_millis(5), Duration::from_secs(seconds), application), seed);
        let wait_s = records.flows[0].delay.mean_s - 1e-3 - 5e-3;
        let theory_s = load * 1e-3 / (2.0 * (1.0 - load));
        assert!((wait_s / theory_s - 1.0).abs() < 0.02, "load {load}: {wait_s} s, theory {theory_s} s");
        // Little's law ties the queue's time average to the wait; the utilisation is the load.
        let sent_per_s = records.flows[0].packets_sent as f64 / seconds as f64;
        assert!((records.links[0].queue_mean_packets / (sent_per_s * wait_s) - 1.0).abs() < 1e-3);
        assert!((records.links[0].utilisation / load - 1.0).abs() < 0.01);
    }
}

/// A constant rate of twice the link's: half of the packets are lost, the delay is that of the full queue.
#[test]
fn an_overloaded_link_loses_what_it_cannot_carry() {
    let rate = Rate::from_bps(2_000_000).unwrap();
    let application = SourceConfig::from(ConstantRateOptions { rate, payload: Bytes(125), spacing: None });
    let link = link(1_000_000, QueueLimit::Packets(10));
    let records = run(&one_link(link, Duration::from_millis(5), Duration::from_secs(10), application), 1);
    let flow = &records.flows[0];
    assert_eq!(flow.packets_sent, 20_001);
    let lost = flow.drops[0] as f64 / flow.packets_sent as f64;
    assert!((lost - 0.5).abs() < 0.001, "{lost}");
    assert!((flow.goodput_bps / 1e6 - 1.0).abs() < 0.001, "{}", flow.goodput_bps);
    // Ten wait and one is in service: at most 11 services and the propagation, at least one service less.
    assert!((flow.delay.p95_s - 0.016).abs() < 0.001, "{}", flow.delay.p95_s);
    assert_eq!(records.links[0].queue_max_packets, 10);
    assert!((records.links[0].utilisation - 1.0).abs() < 0.001);
}

#[test]
fn the_delay_of_a_lone_packet_is_serialisation_and_propagation() {
    let rate = Rate::from_bps(1_000).unwrap();
    let application = SourceConfig::from(ConstantRateOptions { rate, payload: Bytes(1500), spacing: None });
    let link = link(3_000_000, QueueLimit::Unlimited);
    let records = run(&one_link(link, Duration::from_millis(250), Duration::from_secs(60), application), 1);
    let delay = records.flows[0].delay;
    assert_eq!(delay.count, 5);
    assert!((delay.min_s - 0.254).abs() < 1e-9 && (delay.max_s - 0.254).abs() < 1e-9, "{delay:?}");
    assert_eq!(records.flows[0].jitter.max_s, 0.0);
    assert!((records.flows[0].interarrival.mean_s - 12.0).abs() < 1e-9);
}

#[test]
fn random_losses_hit_the_share_asked_for_and_hang_on_the_seed() {
    let application = SourceConfig::from(ConstantRateOptions {
        rate: Rate::from_bps(500_000).unwrap(),
        payload: Bytes(125),
        spacing: None,
    });
    let mut link = link(1_000_000, QueueLimit::Unlimited);
    link.errors = vec![ErrorConfig::Packet(PacketErrors(0.05))];
    let spec = one_link(link, Duration::from_millis(5), Duration::from_secs(100), application);
    let lost = |seed| run(&spec, seed).flows[0].drops[1] as f64;
    // 50,001 packets; four standard deviations of the binomial count are 195.
    assert!((lost(1) - 2500.0).abs() < 195.0, "{}", lost(1));
    assert_eq!(lost(1), lost(1));
    assert_ne!(lost(1), lost(2));
}

/// Where all packets take equally long it does not matter to the queue's length which one is dropped (Yin and Hluchyj
/// 1993, §II), but those that are served have waited less: in a full queue of K as long as K arrivals take, not K
/// services.
#[test]
fn dropping_from_the_front_loses_as_much_and_delays_less() {
    let under = |queue: QueueConfig, application: SourceConfig| {
        let config = LinkConfig { queue, ..link(1_000_000, QueueLimit::Unlimited) };
        let records = run(&one_link(config, Duration::from_millis(5), Duration::from_secs(100), application), 3);
        (records.flows[0].drops, records.flows[0].delay, records.links[0].clone())
    };
    let rate = Rate::from_bps(2_000_000).unwrap();
    let limit = QueueLimit::Packets(10);
    let (tail, front) = (QueueConfig::drop_tail(limit), QueueConfig::drop_front(limit));
    let source = SourceConfig::from(PoissonOptions { rate, payload: Bytes(125) });
    let (lost, delay, of_tail) = under(tail.clone(), source.clone());
    let (lost_at_front, delay_at_front, of_front) = under(front.clone(), source);
    assert_eq!(lost[0], lost_at_front[0]);
    assert_eq!(of_tail.packets, of_front.packets);
    assert!((of_tail.queue_mean_packets / of_front.queue_mean_packets - 1.0).abs() < 1e-9);
    assert!(delay_at_front.mean_s < delay.mean_s - 3e-3, "{delay_at_front:?} {delay:?}");
    let source = SourceConfig::from(ConstantRateOptions { rate, payload: Bytes(125), spacing: None });
    // A service, 5 ms of propagation; ten services of 1 ms, or ten gaps of 0.5 ms, each to one of them.
    let (_, delay, _) = under(tail, source.clone());
    assert!((delay.p95_s - 0.016).abs() < 0.001, "{delay:?}");
    let (_, delay, _) = under(front, source);
    assert!((delay.p95_s - 0.011).abs() < 0.001, "{delay:?}");
}

fn poisson(bps: u64) -> SourceConfig {
    PoissonOptions { rate: Rate::from_bps(bps).unwrap(), payload: Bytes(125) }.into()
}

fn every_link() -> Vec<(&'static str, LinkConfig)> {
    let steady = link(1_000_000, QueueLimit::Packets(10));
    let recorded = |service| {
        let period = Duration::from_millis(100);
        LinkVariation::Trace(TraceConfig { service, delays: [].into(), losses: [].into(), period })
    };
    let ms = Duration::from_millis;
    let opportunities: Vec<Duration> = (0..8).map(|n| ms(7 * n + n * n)).collect();
    let rates = [(ms(0), 1_500_000), (ms(40), 0), (ms(60), 800_000)];
    let failing = vec![ErrorConfig::Packet(PacketErrors(0.2))];
    let arq = |repeats| {
        let arq = FrameRepair::Arq { tries: 3, repeats, round_trip: None, answer_bytes: 0 };
        RepairConfig { frames: Some(arq), ..RepairConfig::default() }
    };
    let erasure =
        RepairConfig { frames: Some(FrameRepair::Erasure { n: 6, k: 4, within: ms(20) }), ..RepairConfig::default() };
    let repairing = |repair| LinkConfig { repair, errors: failing.clone(), ..steady.clone() };
    vec![
        ("steady", steady.clone()),
        ("framed", LinkConfig { framing_bytes: 16, ..steady.clone() }),
        (
            "opportunities",
            LinkConfig { pace: recorded(Service::Opportunities(opportunities.into())), ..steady.clone() },
        ),
        ("rates", LinkConfig { pace: recorded(Service::Rates(rates.into())), ..steady.clone() }),
        ("selective", repairing(arq(Repeats::Selective))),
        ("go-back-n", repairing(arq(Repeats::GoBackN))),
        ("erasure", repairing(erasure)),
    ]
}

/// Two transmitters that have nothing in common but the link: one works departures out at arrival, one asks its queue.
/// First in, first out, they must serve the same packets at the same times.
#[test]
fn a_queue_that_is_asked_serves_what_a_precomputed_one_serves() {
    for (name, config) in every_link() {
        for load in [500_000, 900_000, 2_000_000] {
            let with = |queue: QueueConfig| {
                let config = LinkConfig { queue, ..config.clone() };
                let spec = one_link(config, Duration::from_millis(5), Duration::from_secs(60), poisson(load));
                run(&spec, 5)
            };
            let computed = with(QueueConfig::drop_tail(QueueLimit::Packets(10)));
            let asked = with(QueueConfig::served(QueueSpec::DropTail(FifoConfig::Packets(10))));
            assert!(computed.flows[0].packets_received > 1000, "{name}");
            assert_eq!(format!("{:?}", computed.flows), format!("{:?}", asked.flows), "{name}, {load} bit/s");
            let of_link = |records: &Records| {
                let link = &records.links[0];
                (link.packets, link.bytes, link.utilisation, link.queue_max_packets, link.drops)
            };
            assert_eq!(of_link(&computed), of_link(&asked), "{name}, {load} bit/s");
            let means = [&computed, &asked].map(|records| records.links[0].queue_mean_packets);
            assert!((means[0] - means[1]).abs() < 1e-6, "{name}, {load} bit/s: {means:?}");
            // Little's law over the packets that were served.
            let link = &asked.links[0];
            let sojourn = link.sojourn.expect("a queue that is asked knows waiting times");
            let served = sojourn.mean_s * sojourn.count as f64 / 60.0;
            let bound = 0.02 * link.queue_mean_packets + 1e-3;
            assert!((served - link.queue_mean_packets).abs() < bound, "{name}, {load} bit/s: {served} {link:?}");
        }
    }
}

/// A bucket of half the link's rate: what it lets through, and what a full queue of it delays.
#[test]
fn a_shaper_before_a_faster_link_sends_at_its_own_rate() {
    let rate = Rate::from_bps(500_000).unwrap();
    let tbf = TbfConfig { rate, burst: 250, limit: 1250, peak: None, overhead: 0, mpu: 0 };
    let config =
        LinkConfig { queue: QueueConfig::served(QueueSpec::Tbf(tbf)), ..link(1_000_000, QueueLimit::Unlimited) };
    let records = run(&one_link(config, Duration::from_millis(5), Duration::from_secs(100), poisson(2_000_000)), 1);
    let (flow, link) = (&records.flows[0], &records.links[0]);
    assert!((flow.goodput_bps / 5e5 - 1.0).abs() < 0.002, "{}", flow.goodput_bps);
    assert!((link.utilisation - 0.5).abs() < 0.002, "{}", link.utilisation);
    // Ten packets of 125 B before each that comes in, 2 ms each.
    let sojourn = link.sojourn.unwrap();
    assert!((sojourn.median_s - 0.020).abs() < 0.002 && sojourn.max_s <= 0.0201, "{sojourn:?}");
}

/// The rate falls to a tenth for a while: CoDel drops, the drops are counted as early ones, and every packet is
/// accounted for.
#[test]
fn codel_follows_a_link_that_changes_its_rate() {
    let s = Duration::from_secs;
    let service = Service::Rates([(s(0), 1_000_000), (s(20), 100_000), (s(40), 1_000_000)].into());
    let pace = LinkVariation::Trace(TraceConfig { service, delays: [].into(), losses: [].into(), period: s(60) });
    let codel = QueueConfig::served(QueueSpec::Codel(CodelConfig { limit: 100_000, ..CodelConfig::default() }));
    let config = LinkConfig { queue: codel, pace, ..link(1_000_000, QueueLimit::Unlimited) };
    let records = run(&one_link(config, Duration::from_millis(5), s(60), poisson(500_000)), 1);
    let (flow, link) = (&records.flows[0], &records.links[0]);
    let early = link.early.unwrap();
    assert_eq!((flow.drops.iter().sum(), link.drops[0]), (early, early), "CoDel's drops are early ones");
    // 500 packets a second come, 100 can leave: without a reaction CoDel's n-th drop follows 100 ms / sqrt(n) after the
    // last, so 20 s see (20 / 0.2)^2 drops; the queue is gone soon after the rate is back.
    assert!((5_000..=10_500).contains(&early), "{early}");
}
