//! Good scenarios: what the examples mean, and that the arrangement of a text means nothing.

use serde_json::{Value, json};
use skyhop_scenario::{Override, Scenario};
use skyhop_sim::errors::{ErrorConfig, PacketErrors, SegmentErrors, TraceErrors};
use skyhop_sim::spec::{OnDown, QueueConfig, QueueLimit, TransportConfig};
use skyhop_topology::{NodeKind, Topology};
use std::fs;
use std::path::Path;

fn example(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    Scenario::from_file(&path, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn toml(text: &str) -> Scenario {
    Scenario::from_toml(text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn json(value: &Value) -> Scenario {
    Scenario::from_json(value, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn the_examples_have_their_canonical_forms() {
    for name in ["iridium", "dumbbell", "mixed"] {
        let mut canonical = example(&format!("{name}.toml")).canonical();
        // One list of TCP's options is enough to see that they are written out.
        if name != "iridium" {
            for flow in canonical["flows"].as_array_mut().unwrap() {
                if let Some(tcp) = flow.get_mut("tcp") {
                    *tcp = json!({ "recovery": tcp["recovery"], "control": tcp["control"] });
                }
            }
        }
        insta::assert_snapshot!(format!("canonical-{name}"), format!("{canonical:#}"));
    }
}

#[test]
fn the_canonical_form_is_a_scenario_of_the_same_hash() {
    for name in ["iridium.toml", "dumbbell.toml", "mixed.toml"] {
        let scenario = example(name);
        let again = json(&scenario.canonical());
        assert_eq!(again.canonical_json(), scenario.canonical_json());
        assert_eq!(again.hash(), scenario.hash());
        assert_eq!(scenario.hash().len(), 64);
    }
}

#[test]
fn every_example_makes_a_network() {
    for name in ["iridium.toml", "dumbbell.toml", "mixed.toml"] {
        let spec = example(name).simulation_spec();
        let topology = Topology::new(spec.topology.clone()).unwrap();
        assert_eq!(spec.links.wired.len(), spec.topology.wired.len());
        for link in &spec.records.packets {
            assert!(topology.links().iter().any(|known| known.name == *link), "{link}");
        }
    }
}

/// The two examples of the format's design, as they stand there.
#[test]
fn the_sketches_of_the_format_are_scenarios() {
    let iridium = toml(
        r#"
duration = "76 s"
profile = "ns-2"

[constellation]
preset = "iridium"
isl = { rate = "25 Mbit/s", queue = { drop_tail = { packets = 50 } }, on_down = "reroute" }
gsl.rate = "1.5 Mbit/s"
gsl.queue = { drop_tail = { packets = 50 } }
gsl.on_down = "drop"
gsl.elevation_mask = "8.2 deg"
gsl.handover = { policy = "until-below-mask", every = "10 s" }

[stations]
berkeley = { latitude = "37.9 deg", longitude = "-122.3 deg" }
chennai  = { latitude = "13.04 deg", longitude = "80.17 deg" }

[[flows]]
name = "ftp"
count = 3
from = "berkeley"
to = "chennai"
tcp = "vegas"
application = "ftp"
start = "1 s"
"#,
    );
    let spec = iridium.simulation_spec();
    assert_eq!(spec.links.isl.as_ref().unwrap().on_down, OnDown::Reroute);
    assert_eq!(spec.links.uplink.as_ref().unwrap().on_down, OnDown::Drop);
    let dumbbell = toml(
        r#"
duration = "60 s"
profile = "rfc"

[[links]]
between = ["left", "right"]
rate = "2 Mbit/s"
delay = "50 ms"
queue = { drop_tail = { packets = 100 } }

[[flows]]
name = "a"
from = "left"
to = "right"
access = { rate = "10 Mbit/s", delay = "1 ms" }
tcp = "newreno"
application = "ftp"
"#,
    );
    let names: Vec<String> = dumbbell.simulation_spec().topology.nodes.into_iter().map(|node| node.name).collect();
    assert_eq!(names, ["a.sink", "a.source", "left", "right"]);
}

#[test]
fn the_iridium_preset_is_table_1_under_the_rules_of_ns_2() {
    let spec = example("iridium.toml").simulation_spec();
    let is_satellite = |kind: &NodeKind| matches!(kind, NodeKind::Satellite { .. });
    assert_eq!(spec.topology.nodes.iter().filter(|node| is_satellite(&node.kind)).count(), 66);
    assert_eq!(spec.topology.earth, skyhop_orbit::Earth::NS2);
    assert_eq!(spec.topology.isl, Some(skyhop_topology::IslRules::iridium()));
    assert_eq!(spec.topology.gsl, Some(skyhop_topology::GslRules::iridium()));
    let (isl, uplink) = (spec.links.isl.unwrap(), spec.links.uplink.unwrap());
    assert_eq!((isl.rate.bps(), uplink.rate.bps()), (25_000_000, 1_500_000));
    // ns-2's limit of 50 holds 49 that wait and the one in service.
    assert_eq!(isl.queue, QueueConfig::drop_tail(QueueLimit::Packets(49)));
    assert_eq!((isl.framing_bytes, uplink.framing_bytes), (16, 16));
    assert_eq!((isl.on_down, uplink.on_down), (OnDown::Drain, OnDown::SendInVain));
    let names: Vec<&str> = spec.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["ftp-0", "ftp-1", "ftp-2"]);
    assert!(spec.flows.iter().all(|flow| flow.ttl == 32));
}

#[test]
fn the_order_of_declaration_means_nothing() {
    let links = [
        json!({ "between": ["b", "a"], "rate": "1 Mbit/s", "delay": "1 ms", "forward": { "rate": "2 Mbit/s" } }),
        json!({ "between": ["c", "b"], "rate": "3 Mbit/s", "delay": "2 ms" }),
    ];
    let flow = |name: &str| json!({ "name": name, "from": "a", "to": "c", "tcp": "reno" });
    let flows = [flow("f-10"), flow("f-2"), flow("e")];
    let build = |links: Vec<&Value>, flows: Vec<&Value>| {
        json(&json!({ "duration": "9 s", "profile": "rfc", "links": links, "flows": flows }))
    };
    let first = build(links.iter().collect(), flows.iter().collect());
    let second = build(links.iter().rev().collect(), flows.iter().rev().collect());
    assert_eq!(first.canonical_json(), second.canonical_json());
    let names = |scenario: &Scenario| -> Vec<String> {
        scenario.simulation_spec().flows.into_iter().map(|flow| flow.name).collect()
    };
    assert_eq!(names(&first), ["e", "f-2", "f-10"]);
    assert_eq!(names(&second), names(&first));
    // A link is the same from both its ends.
    let turned =
        json!({ "between": ["a", "b"], "rate": "1 Mbit/s", "delay": "1 ms", "backward": { "rate": "2 Mbit/s" } });
    let third = build(vec![&turned, &links[1]], flows.iter().collect());
    assert_eq!(third.hash(), first.hash());
    let spec = first.simulation_spec();
    let rate = |from: &str, to: &str| {
        let name = |id: skyhop_topology::NodeId| spec.topology.nodes[skyhop_base::Index::index(id)].name.as_str();
        let at = spec.topology.wired.iter().position(|wire| (name(wire.from), name(wire.to)) == (from, to)).unwrap();
        spec.links.wired[at].rate.bps()
    };
    assert_eq!((rate("b", "a"), rate("a", "b"), rate("c", "b")), (2_000_000, 1_000_000, 3_000_000));
}

#[test]
fn units_and_notation_mean_nothing_and_values_do() {
    let hash = |rate: &str, rest: &str| {
        toml(&format!(
            "duration = \"1 s\"\n{rest}\n[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"{rate}\"\ndelay = \"1 ms\"\n"
        ))
        .hash()
    };
    let base = hash("2 Mbit/s", "");
    for same in ["2000 kbit/s", "2e6 bit/s", "0.002 Gbit/s", " 2Mbit/s "] {
        assert_eq!(hash(same, ""), base, "{same}");
    }
    assert_eq!(hash("2 Mbit/s", "profile = \"rfc\"\nflows = []"), base);
    assert_ne!(hash("2.1 Mbit/s", ""), base);
    assert_ne!(hash("2 Mbit/s", "[records]\ngrid = \"1 s\""), base);
}

#[test]
fn toml_and_json_give_the_same_scenario() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mixed.toml")).unwrap();
    let value: Value = ::toml::from_str(&text).unwrap();
    assert_eq!(json(&value).hash(), example("mixed.toml").hash());
}

#[test]
fn overrides_replace_values_before_the_check() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/iridium.toml");
    let set = |changes: &[&str]| {
        let changes: Vec<Override> = changes.iter().map(|change| change.parse().unwrap()).collect();
        Scenario::from_file(&path, &changes).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let changed =
        set(&["constellation.gsl.rate=3 Mbit/s", "flows.ftp.count=1", "flows[*].tcp.name=reno", "duration=20 s"]);
    let spec = changed.simulation_spec();
    assert_eq!(spec.links.downlink.unwrap().rate.bps(), 3_000_000);
    assert_eq!(spec.flows.len(), 1);
    assert_eq!(spec.duration, skyhop_base::Duration::from_secs(20));
    match &spec.flows[0].transport {
        TransportConfig::Tcp(tcp) => assert_eq!(serde_json::to_value(tcp.recovery).unwrap(), "reno"),
        other => panic!("{other:?}"),
    }
    // In their order, the last one counts.
    assert_eq!(set(&["duration=20 s", "duration=30 s"]).hash(), set(&["duration=30 s"]).hash());
}

#[test]
fn errors_name_flows_by_their_rank() {
    let scenario = toml(
        r#"
duration = "9 s"
profile = "rfc"

[[links]]
between = ["left", "right"]
rate = "1 Mbit/s"
delay = "1 ms"
forward = { errors = [{ segments = { flow = "f-2", segments = [105, 100, 105] } }, { packet = 0.25 }] }

[[flows]]
name = "f"
count = 11
from = "left"
to = "right"
tcp = "reno"

[[flows]]
name = "a"
from = "left"
to = "right"
tcp = "reno"
"#,
    );
    let spec = scenario.simulation_spec();
    assert_eq!(spec.flows[3].name, "f-2");
    assert_eq!(spec.flows[11].name, "f-10");
    let errors: Vec<&ErrorConfig> = spec.links.wired.iter().flat_map(|link| &link.errors).collect();
    let segments = ErrorConfig::Segments(SegmentErrors { flow: "f-2".into(), segments: vec![100, 105] });
    assert_eq!(errors, [&segments, &ErrorConfig::Packet(PacketErrors(0.25))]);
}

#[test]
fn queues_are_what_they_say() {
    let limit = |profile: &str, queue: &str| {
        let text = format!(
            "duration = \"1 s\"\nprofile = \"{profile}\"\n[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 \
             Mbit/s\"\ndelay = \"0 s\"\n{queue}"
        );
        let queue = toml(&text).simulation_spec().links.wired[0].queue.clone();
        assert_eq!(queue, QueueConfig::drop_tail(queue.limit), "{text}");
        queue.limit
    };
    assert_eq!(limit("rfc", ""), QueueLimit::Packets(50));
    assert_eq!(limit("ns-2", ""), QueueLimit::Packets(49));
    assert_eq!(limit("ns-2", "queue = { drop_tail = { packets = 18 } }"), QueueLimit::Packets(17));
    assert_eq!(
        limit("rfc", "queue = { drop_tail = { packets = 18, counts = \"with-service\" } }"),
        QueueLimit::Packets(17)
    );
    assert_eq!(
        limit("ns-2", "queue = { drop_tail = { packets = 18, counts = \"waiting\" } }"),
        QueueLimit::Packets(18)
    );
    assert_eq!(limit("ns-2", "queue = { drop_tail = { bytes = \"9 kB\" } }"), QueueLimit::Bytes(9000));
    assert_eq!(limit("ns-2", "queue = \"unlimited\""), QueueLimit::Unlimited);
    assert_eq!(limit("rfc", "queue = \"drop_tail\""), QueueLimit::Packets(50));
}

/// One scenario with everything that queues, errors and applications can be.
const TRAFFIC: &str = r#"
duration = "60 s"
profile = "rfc"

[[links]]
between = ["a", "b"]
rate = "1.5 Mbit/s"
delay = "10 ms"
forward = { queue = { red = { packets = 60, adaptive = true, mean_packet = "1000 B" } } }
backward = { queue = "red" }
errors = [
    { byte = 1e-5 },
    { bit = 1e-7 },
    { gilbert_elliott = { to_bad = 0.01, to_good = 0.1, loss_good = 0, loss_bad = 0.2 } },
    { trace = { packets = [5, 3, 5], during = [["4 s", "5 s"], ["1 s", "2 s"]] } },
]

[[flows]]
name = "bulk"
from = "a"
to = "b"
tcp = "reno"
jitter = "4 ms"

[[flows]]
name = "files"
from = "a"
to = "b"
tcp = "reno"
application = { files = { sizes = ["10 kB", "1 MB"], pause = "0 s" } }

[[flows]]
name = "on-off"
from = "a"
to = "b"
udp = {}
application = { on_off = { rate = "1 Mbit/s", payload = "500 B", on = "1 s", off = "2 s" } }

[[flows]]
name = "cbr"
from = "a"
to = "b"
udp = {}
application = { constant_rate = { rate = "1 Mbit/s", payload = "500 B", spacing = "random" } }

[[flows]]
name = "typist"
from = "a"
to = "b"
tcp = "reno"
application = { telnet = { payload = "64 B" } }

[[flows]]
name = "web"
from = "a"
to = "b"
tcp = "reno"
application = { requests = { request = "300 B", response = "10 kB", think = "1 s", count = 3 } }
"#;

#[test]
fn queues_errors_and_applications_arrive_in_the_engine() {
    use skyhop_base::{Bytes, Duration};
    use skyhop_sim::SimulationSpec;
    use skyhop_sim::applications::FilesOptions;
    use skyhop_sim::spec::{Discipline, RedConfig, RedCounting, RedUnit};
    let spec = toml(TRAFFIC).simulation_spec();
    let red = |link: usize, spec: &SimulationSpec| match &spec.links.wired[link].queue.discipline {
        Discipline::Red(red) => (spec.links.wired[link].queue.limit, RedConfig::clone(red)),
        other => panic!("{other:?} is no RED"),
    };
    let (_, forward) = red(0, &spec);
    // The worked example adaptive_red_auto: 1.5 Mbit/s, 10 ms, 1000 B.
    assert_eq!((forward.min_threshold, forward.max_threshold, forward.unit), (5.0, 15.0, RedUnit::Packets));
    assert!((forward.weight - 0.005_319_136).abs() < 1e-9 && forward.adaptive.is_some());
    let (limit, backward) = red(1, &spec);
    assert_eq!((limit, backward.weight), (QueueLimit::Packets(50), 0.002));
    assert_eq!((backward.counting, backward.mark_up_to), (RedCounting::Floyd, None));
    assert_eq!(spec.links.wired[0].errors.len(), 4);
    let ErrorConfig::Trace(TraceErrors { packets, during: Some(during) }) = &spec.links.wired[0].errors[3] else {
        panic!("{:?}", spec.links.wired[0].errors)
    };
    assert_eq!((packets.as_deref(), during.len()), (Some(&[3, 5][..]), 2));
    let flow = |name: &str| spec.flows.iter().find(|flow| flow.name == name).unwrap();
    assert_eq!(flow("bulk").jitter, Duration::from_millis(4));
    assert_eq!(
        flow("files").application,
        FilesOptions { sizes: vec![Bytes(10_000), Bytes(1_000_000)], pause: None }.into()
    );

    // ns-2's own RED counts bytes: 50 packets of 500 B, thresholds worked out for the link.
    let text = TRAFFIC.replace("\"rfc\"", "\"ns-2\"");
    let spec = toml(&text).simulation_spec();
    let (limit, red) = red(1, &spec);
    assert_eq!((limit, red.unit, red.gentle), (QueueLimit::Backlog(25_000), RedUnit::Bytes, true));
    assert_eq!((red.min_threshold, red.max_threshold), (2500.0, 7500.0));
}

#[test]
fn marks_and_priorities_arrive_in_the_engine() {
    use skyhop_sim::spec::{Discipline, FullQueue};
    let queue = |queue: &str| {
        let text = format!(
            "duration = \"1 s\"\nprofile = \"rfc\"\n\
             [[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"0 s\"\nqueue = \
             {queue}"
        );
        let scenario = toml(&text);
        assert_eq!(json(&scenario.canonical()).canonical_json(), scenario.canonical_json());
        (scenario.simulation_spec().links.wired[0].queue.clone(), scenario.hash())
    };
    let plain = queue("\"drop_tail\"");
    assert_eq!(plain.0.full, FullQueue::LowFirst);
    assert_eq!(plain, queue("{ drop_tail = { priority = \"low-first\" } }"));
    let ignoring = queue("{ drop_tail = { priority = \"ignored\", mark_above = 20 } }");
    assert_eq!(ignoring.0.full, FullQueue::Arrival);
    assert_eq!(ignoring.0.discipline, Discipline::DropTail { mark_above: Some(20) });
    assert_ne!(plain.1, ignoring.1);
    let marks = |text: &str| match queue(text).0.discipline {
        Discipline::Red(red) => red.mark_up_to,
        other => panic!("{other:?} is no RED"),
    };
    assert_eq!(marks("\"red\""), None);
    assert_eq!(marks("{ red = { ecn = true } }"), Some(0.1));
    assert_eq!(marks("{ red = { ecn = true, mark_p = 0.5 } }"), Some(0.5));
}

#[test]
fn traffic_has_one_canonical_form() {
    for text in [TRAFFIC.to_owned(), TRAFFIC.replace("\"rfc\"", "\"ns-2\"")] {
        let scenario = toml(&text);
        assert_eq!(json(&scenario.canonical()).canonical_json(), scenario.canonical_json());
    }
    let plain = TRAFFIC.replace(", pause = \"0 s\"", "").replace("[5, 3, 5]", "[3, 5]");
    assert_eq!(toml(&plain).hash(), toml(TRAFFIC).hash());
}

#[test]
fn a_recording_whose_period_no_duration_can_state_is_refused() {
    let text = |last_s: u64, more: &str| {
        format!(
            r#"
duration = "1 s"
profile = "rfc"
links = [{{ between = ["a", "b"], delay = "1 ms", trace = {{ {more} table = {{ text = """
time_s,rate_bps
0,1e6
{last_s},2e6
""" }} }} }}]
flows = [{{ name = "f", from = "a", to = "b", tcp = "newreno" }}]
"#
        )
    };
    let read = |text: &str| Scenario::from_toml(text, "test", &[]);
    // The last row holds as long as the one before: two times 99 days.
    let refused = read(&text(99 * 86_400, "")).unwrap_err().to_string();
    assert!(refused.contains("the recording lasts 17107200 s"), "{refused}");
    for scenario in [text(49 * 86_400, ""), text(99 * 86_400, r#"period = "99.5 d","#)] {
        let scenario = read(&scenario).unwrap();
        assert_eq!(json(&serde_json::from_str(&scenario.canonical_json()).unwrap()).hash(), scenario.hash());
    }
    let short = read(&text(60, r#"period = "59 s", delays = { text = "1\n" },"#)).unwrap_err().to_string();
    assert!(short.contains("a period of 59 s ends before the recording does"), "{short}");
    let delays = r#"period = "61 s", delays_every = "60 s", delays = { text = "1\n2\n3\n" },"#;
    let short = read(&text(60, delays)).unwrap_err().to_string();
    assert!(short.contains("a period of 61 s ends before the recording does"), "{short}");
}
