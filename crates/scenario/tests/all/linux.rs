//! The TCP of Linux in scenarios: what a file may say of it, and what runs then.

use crate::support::run;
use serde_json::{Value, json};
use skyhop_scenario::Scenario;
use skyhop_sim::records::{DropCause, Records};
use skyhop_tcp::path::Events;
use skyhop_tcp::reference::{Sample, read_flows, run_flow};
use std::path::PathBuf;

/// A link of 8 Mbit/s and 20 ms with a queue of 30 packets, and flows over it.
fn dumbbell(profile: &str, flows: &str) -> String {
    format!(
        "duration = \"20 s\"\nprofile = \"{profile}\"\nrecords = {{ grid = \"1 s\" }}\n\
         [[links]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\n\
         queue = {{ drop_tail = {{ packets = 30 }} }}\n{flows}"
    )
}

fn flow(name: &str, more: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\n{more}\n")
}

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::from_toml(text, "test", &[]).map_err(|problems| problems.to_string())
}

fn canonical_tcp(text: &str) -> Value {
    read(text).unwrap_or_else(|problems| panic!("{problems}")).canonical()["flows"][0]["tcp"].clone()
}

#[test]
fn the_profile_of_the_scenario_and_that_of_a_flow_mean_the_same_tcp() {
    let by_scenario = canonical_tcp(&dumbbell("linux", &flow("f", "tcp = \"bbr\"")));
    let by_flow = canonical_tcp(&dumbbell("rfc", &flow("f", "tcp = { profile = \"linux\", name = \"bbr\" }")));
    let by_control = canonical_tcp(&dumbbell("rfc", &flow("f", "tcp = { profile = \"linux\", control = \"bbr\" }")));
    assert_eq!(by_scenario, by_flow);
    assert_eq!(by_scenario, by_control);
    assert_eq!((&by_scenario["profile"], &by_scenario["control"]), (&json!("linux"), &json!({ "bbr": {} })));
    let own = canonical_tcp(&dumbbell("linux", &flow("f", "tcp = { profile = \"rfc\", name = \"newreno\" }")));
    assert_eq!(own, canonical_tcp(&dumbbell("rfc", &flow("f", "tcp = \"newreno\""))));
    let ns2 = canonical_tcp(&dumbbell("rfc", &flow("f", "tcp = { profile = \"ns-2\", name = \"sack\" }")));
    assert_eq!(ns2["sack_rules"], "ns-2-sack1");
}

/// Only `format = 1` keeps the default of its time, and only where no profile is named. Names that both TCPs have
/// follow the default.
#[test]
fn the_version_of_the_format_decides_the_default() {
    let network = dumbbell("linux", &flow("f", "tcp = \"cubic\""));
    let with = |keys: &str| read(&network.replace("profile = \"linux\"\n", keys)).unwrap();
    let (linux, rfc) = (with("profile = \"linux\"\n"), with("profile = \"rfc\"\n"));
    assert_ne!(linux.hash(), rfc.hash());
    let cases = [
        ("", &linux, true),
        ("format = 2\n", &linux, false),
        ("format = 1\n", &rfc, false),
        ("format = 1\nprofile = \"linux\"\n", &linux, false),
        ("format = 2\nprofile = \"rfc\"\n", &rfc, false),
        ("profile = \"linux\"\n", &linux, false),
    ];
    for (keys, meant, by_default) in cases {
        let found = with(keys);
        assert_eq!(found.canonical(), meant.canonical(), "{keys}");
        assert_eq!(found.has_tcp_by_default(), by_default, "{keys}");
        let idle: Vec<_> = found.all_warnings().into_iter().filter(|text| text.starts_with("format")).collect();
        assert!(idle.is_empty(), "{keys}: {idle:?}");
        // A canonical form names its version, and so keeps its meaning under any default.
        let form = found.canonical();
        assert_eq!(form["format"], 1);
        let again = Scenario::from_json(&form, "again", &[]).unwrap();
        assert_eq!((again.canonical(), again.has_tcp_by_default()), (form, false), "{keys}");
    }
    let own = flow("f", "tcp = { profile = \"linux\", name = \"cubic\" }");
    let own = read(&dumbbell("linux", &own).replace("profile = \"linux\"\nrecords", "records")).unwrap();
    assert!(!own.has_tcp_by_default(), "the flow names it");
}

/// What helps Skyhop's own TCP may stand beside flows of both kinds, and not where no flow hears of it.
#[test]
fn helpers_need_a_tcp_that_they_help() {
    let agent = "[[agents]]\nat = \"b\"\nsnoop = {}\n";
    let linux = flow("f", "tcp = \"cubic\"");
    let own = flow("own", "tcp = { profile = \"rfc\", name = \"reno\" }");
    let problems = read(&dumbbell("linux", &format!("{linux}{agent}"))).unwrap_err();
    assert!(problems.contains("agents[0].snoop: helps Skyhop's own TCP alone"), "{problems}");
    assert!(problems.contains("profile = \"rfc\" at the top"), "{problems}");
    assert!(read(&dumbbell("linux", &format!("{linux}{own}{agent}"))).is_ok());
    assert!(read(&dumbbell("rfc", &format!("{linux}{agent}"))).is_ok());
}

#[test]
fn what_is_not_there_is_answered_with_what_there_is() {
    let cases = [
        ("rfc", "tcp = \"bbr\"", "profile = \"linux\""),
        ("linux", "tcp = \"vegas\"", "profile = \"rfc\""),
        ("linux", "tcp = { name = \"westwood\" }", "profile = \"rfc\""),
        ("linux", "tcp = \"mptcp\"", "not modelled"),
        ("rfc", "tcp = \"quic\"", "docs/models/quic.md"),
        ("rfc", "tcp = { name = \"reno\", hystart = \"off\" }", "belongs to cubic"),
        ("linux", "tcp = { name = \"reno\", hystart = \"off\" }", "belongs to cubic"),
        ("linux", "tcp = { window = 30 }", "receive_buffer"),
        ("linux", "tcp = { recovery = \"sack\" }", "RACK"),
        ("linux", "tcp = { ack_every = 1 }", "delayed_ack"),
        ("linux", "tcp = { growth_limit = 3 }", "profile = \"rfc\""),
        ("rfc", "tcp = { name = \"reno\", send_buffer = \"1 MB\" }", "profile = \"linux\""),
        ("rfc", "tcp = { profile = \"linux\", window = 30 }", "receive_buffer"),
        ("linux", "tcp = { name = \"reno\", control = \"bbr\" }", "control is \"bbr\""),
        ("linux", "tcp = { control = { cubic = { hystart = { edge = 3 } } } }", "edge"),
        ("linux", "tcp = \"reno\"\nvia = [\"m\"]", "own TCP"),
        ("linux", "tcp = \"reno\"\njitter = \"1 ms\"", "own TCP"),
        ("linux", "tcp = { mss = \"65500 B\" }", "88 to 65495"),
        ("linux", "tcp = { receive_memory = [\"1 MB\", \"4 kB\", \"8 MB\"] }", "rise"),
        ("linux", "tcp = { receive_buffer = \"1 MB\", autotuning = \"off\" }", "keep one"),
        ("linux", "tcp = { max_rto = \"300 s\" }", "120 s"),
        ("linux", "tcp = { initial_window = 0 }", "1 to 100000"),
        ("linux", "tcp = { send_buffer = \"100 B\" }", "a segment"),
    ];
    for (profile, line, part) in cases {
        match read(&dumbbell(profile, &flow("f", line))) {
            Ok(_) => panic!("{profile}: {line} was accepted"),
            Err(problems) => assert!(problems.contains(part), "{profile}: {line}\n{problems}"),
        }
    }
}

#[test]
fn segments_of_linux_have_no_numbers_that_errors_could_name() {
    let text = dumbbell("linux", &flow("f", "tcp = \"reno\""))
        .replace("queue = {", "errors = [{ segments = { flow = \"f\", segments = [3] } }]\nqueue = {");
    let problems = read(&text).unwrap_err();
    assert!(problems.contains("have no numbers"), "{problems}");
}

/// Every option is in the canonical form, and another value of it gives another scenario.
#[test]
fn every_option_is_part_of_the_scenario() {
    let mut changes = json!({
        "mss": "1000 B", "initial_window": 4, "receive_memory": ["4096 B", "1 MB", "8 MB"], "autotuning": "off",
        "send_buffer": "1 MB", "ecn": "on", "timestamps": "off", "window_scaling": "off", "sack": "off",
        "dsack": "off", "tlp": "off", "frto": "off", "undo": "off", "rack_adapts": "off",
        "rack_duplicate_threshold": "off", "reordering": 5, "max_reordering": 100, "join_small": "off",
        "slow_start_after_idle": "off", "nagle": "off", "pacing": "always", "pacing_ratios": [150, 110],
        "min_burst": 1, "burst_rtt_log": 0, "burst_divisor": 0, "delayed_ack": "off", "compressed_acks": 0,
        "compression_delay": "2 ms", "compression_slack": "0 s", "initial_rto": "3 s", "syn_linear_timeouts": 0,
        "min_rto": "1 s", "max_rto": "60 s", "timers": "jiffies", "control": "reno",
    });
    // Written out only where they differ.
    let later = json!({
        "limited_transmit": "off", "prr": "off", "rack": "off", "window_validation": "rfc-7661",
        "byte_counting": "off", "rto_estimator": "rfc-6298", "quick_acks": "off",
    });
    changes.as_object_mut().unwrap().extend(later.as_object().unwrap().clone());
    let with = |table: &Value| {
        let mut network: Value = json!({ "duration": "20 s", "profile": "linux",
            "links": [{ "between": ["a", "b"], "rate": "8 Mbit/s", "delay": "20 ms" }],
            "flows": [{ "name": "f", "from": "a", "to": "b" }] });
        network["flows"][0]["tcp"] = table.clone();
        let scenario = Scenario::from_json(&network, "test", &[]);
        scenario.unwrap_or_else(|problems| panic!("{table}: {problems}"))
    };
    let stock = with(&json!({}));
    let of_stock = stock.canonical()["flows"][0]["tcp"].as_object().unwrap().clone();
    for (key, value) in changes.as_object().unwrap() {
        let changed = with(&json!({ key: value }));
        assert_ne!(changed.hash(), stock.hash(), "{key}");
        let idle: Vec<_> = changed.all_warnings().into_iter().filter(|text| text.contains("no effect")).collect();
        assert!(idle.is_empty(), "{key}: {idle:?}");
    }
    for key in of_stock.keys().filter(|key| *key != "profile") {
        assert!(changes.get(key).is_some(), "{key} is not tried here");
    }
    let idle = with(&json!({ "sack": "off", "compression_delay": "2 ms", "dsack": "on" })).all_warnings();
    for key in ["compression_delay", "dsack"] {
        assert!(idle.iter().any(|text| text.contains(key) && text.contains("no effect")), "{key}: {idle:?}");
    }
}

fn facts(records: &Records) -> String {
    format!("{records:?}")
}

#[test]
fn flows_of_both_kinds_share_a_link_and_a_seed_gives_one_run() {
    let flows = ["reno", "cubic", "bbr"].map(|name| flow(name, &format!("tcp = \"{name}\""))).concat()
        + &flow("own", "tcp = { profile = \"rfc\", name = \"newreno\" }");
    let text = dumbbell("linux", &flows);
    let records = run(&text, 3);
    let goodputs: Vec<f64> = records.flows.iter().map(|flow| flow.goodput_bps).collect();
    let sum: f64 = goodputs.iter().sum();
    // Headers of 52 bytes take 3.5 % of full packets.
    assert!(sum < 8e6 * 1448.0 / 1500.0 && sum > 0.8 * 8e6, "{goodputs:?}");
    assert!(goodputs.iter().all(|&goodput| goodput > 1e5), "{goodputs:?}");
    assert_eq!(facts(&records), facts(&run(&text, 3)));
    assert_ne!(facts(&records), facts(&run(&text, 4)), "bbr draws the phase of its cycles");
    for flow in &records.flows {
        let rows: Vec<_> = records.flow_series.iter().filter(|row| row.flow == flow.flow).collect();
        let name = &records.flow_names[flow.flow as usize];
        assert!(rows.len() >= 19, "{name}");
        let last = rows.last().unwrap();
        assert!(last.cwnd.is_some_and(|cwnd| cwnd > 1.0) && last.srtt.is_some() && last.rto.is_some(), "{last:?}");
        assert!(!last.phase.is_empty(), "{last:?}");
        // A full queue in one direction, and the longest delay of an ACK.
        let most_s = if name == "own" { f64::INFINITY } else { 0.04 + 32.0 * 0.0015 + 0.2 };
        assert!(flow.rtt.min_s >= 0.04 && flow.rtt.max_s < most_s, "{name}: {:?}", flow.rtt);
        let again = records.flow_events.iter().filter(|row| row.flow == flow.flow && row.event == "recovery").count();
        assert_eq!(again as u64, flow.fast_retransmits, "{name}");
        assert!(flow.retransmissions >= flow.drops[DropCause::Queue as usize].saturating_sub(30), "{flow:?}");
    }
    let bbr = records.flow_series.iter().filter(|row| records.flow_names[row.flow as usize] == "bbr");
    assert!(bbr.into_iter().any(|row| row.phase == "probe-bw"));
}

#[test]
fn every_application_writes_over_it() {
    let applications = [
        ("ftp = { bytes = \"3 MB\" }", 3_000_000),
        ("files = { sizes = [\"200 kB\", \"50 kB\", \"300 kB\"], pause = \"100 ms\" }", 550_000),
        ("requests = { request = \"300 B\", response = \"100 kB\", think = \"200 ms\", count = 4 }", 400_000),
        ("constant_rate = { rate = \"400 kbit/s\", payload = \"500 B\" }", 0),
        ("poisson = { rate = \"400 kbit/s\", payload = \"500 B\" }", 0),
        ("telnet = { payload = \"50 B\", interval = \"300 ms\" }", 0),
        ("on_off = { rate = \"1 Mbit/s\", payload = \"500 B\", on = \"500 ms\", off = \"500 ms\" }", 0),
    ];
    for (application, bytes) in applications {
        let line = format!("tcp = \"cubic\"\nstop = \"15 s\"\napplication = {{ {application} }}");
        let text = dumbbell("linux", &flow("f", &line)).replace("queue = {", "errors = [{ packet = 0.01 }]\nqueue = {");
        let flow = &run(&text, 5).flows[0];
        if bytes > 0 {
            assert_eq!(flow.bytes_delivered, bytes, "{application}");
            assert!(flow.completed.is_some(), "{application}");
        } else {
            assert!(flow.bytes_delivered > 1000, "{application}: {}", flow.bytes_delivered);
        }
    }
}

#[test]
fn marks_of_red_and_codel_cut_the_window_and_lose_nothing() {
    let red = "{ red = { packets = 1000, min = 5, max = 200, mark_p = 1.0, ecn = true } }";
    let queues = [red, "{ codel = { ecn = true } }"];
    for queue in queues {
        let text = |ecn: &str| {
            dumbbell("linux", &flow("f", &format!("tcp = {{ name = \"reno\", ecn = \"{ecn}\" }}")))
                .replace("{ drop_tail = { packets = 30 } }", queue)
        };
        let [with, without] = ["on", "off"].map(|ecn| run(&text(ecn), 1).flows[0].clone());
        assert!(with.cwnd_cuts > 3, "{queue}: {with:?}");
        assert_eq!((with.retransmissions, with.drops[DropCause::Queue as usize]), (0, 0), "{queue}: {with:?}");
        assert!(without.drops[DropCause::Queue as usize] > 0, "{queue}: {without:?}");
        assert!(with.goodput_bps > 0.85 * 8e6 * 1448.0 / 1500.0, "{queue}: {}", with.goodput_bps);
    }
}

#[test]
fn three_flows_cross_the_handovers_of_iridium() {
    let text = "duration = \"600 s\"\nprofile = \"linux\"\nrecords = { grid = \"10 s\" }\n\
        [constellation]\npreset = \"iridium\"\nisl = { rate = \"25 Mbit/s\" }\n\
        gsl = { rate = \"1.5 Mbit/s\", queue = { drop_tail = { packets = 50 } } }\n\
        [stations]\nberkeley = { latitude = \"37.9 deg\", longitude = \"-122.3 deg\" }\n\
        chennai = { latitude = \"13.04 deg\", longitude = \"80.17 deg\" }\n"
        .to_owned()
        + &["reno", "cubic", "bbr"]
            .map(|name| {
                format!("[[flows]]\nname = \"{name}\"\nfrom = \"berkeley\"\nto = \"chennai\"\ntcp = \"{name}\"\n")
            })
            .concat();
    let records = run(&text, 1);
    assert!(records.handovers.len() >= 4, "{} handovers", records.handovers.len());
    let sum: f64 = records.flows.iter().map(|flow| flow.goodput_bps).sum();
    assert!(sum > 0.5 * 1.5e6 && sum < 1.5e6 * 1448.0 / 1500.0, "{sum}");
    for flow in &records.flows {
        let name = &records.flow_names[flow.flow as usize];
        assert!(flow.goodput_bps > 0.03 * 1.5e6, "{name}: {}", flow.goodput_bps);
        assert!(flow.rtt.min_s > 0.09, "{name}: light alone takes 0.09 s there and back");
    }
}

/// The bottlenecks of the recorded flows as scenarios give what the crate's own path gives, which the test
/// `reference_whole_flows` compares with the recordings.
#[test]
fn recorded_bottlenecks_as_scenarios_give_the_same_flows() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/linux");
    if !folder.join("cases.csv").is_file() {
        eprintln!("skipped: {} is absent", folder.display());
        return;
    }
    let mut compared = 0;
    // The folder's runs have one flow each. A scenario's wire has neither steps of its delay nor outages.
    for case in read_flows(&folder).unwrap().iter().filter(|case| case.path.events == Events::default()) {
        let (path, name) = (&case.path, case.flows[0].control.name());
        let text = format!(
            "duration = \"{} s\"\n[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"{} bit/s\"\ndelay = \"{} ns\"\n\
             queue = {{ drop_tail = {{ packets = {}, counts = \"waiting\" }} }}\n\
             [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntcp = {{ profile = \"linux\", name = \"{name}\", \
             timers = \"jiffies\", receive_memory = [\"4096 B\", \"8388608 B\", \"33554432 B\"] }}\n",
            case.length.as_secs_f64(),
            path.rate.bps(),
            path.delay.as_nanos(),
            path.queues[0],
        );
        let flow = &run(&text, 1).flows[0];
        let figures = &run_flow(case, Sample::Exact)[0].figures;
        let goodput = flow.goodput_bps / 1e6;
        assert!((goodput / figures["goodput_Mbps"] - 1.0).abs() < 0.01, "{}: {goodput} {figures:?}", case.group);
        let (again, theirs) = (flow.retransmissions as f64, figures["retrans"]);
        assert!((again - theirs).abs() <= (0.1 * theirs).max(5.0), "{}: {again} {figures:?}", case.group);
        assert_eq!(flow.timeouts as f64, figures["rto_events"], "{}", case.group);
        compared += 1;
    }
    assert!(compared >= 3, "{compared}");
}

/// picoquic's bound for satellites, as a lower limit: 100 MB over 250 Mbit/s down and 3 Mbit/s up at 600 ms. A round
/// trip for the handshake, windows that double from ten segments until they fill the link, then the rest at its rate,
/// and half a round trip for the last byte.
#[test]
fn a_large_file_over_a_satellite_comes_close_to_the_lower_limit() {
    let (bytes, rtt_s, rate_bps, up_bps) = (100e6_f64, 0.6_f64, 250e6_f64, 3e6_f64);
    let (payload, packet, ack) = (1448.0, 1500.0, 52.0);
    let (segments, per_second) = ((bytes / payload).ceil(), rate_bps / (8.0 * packet));
    let (mut window, mut sent, mut begins_s) = (10.0, 0.0, rtt_s);
    while window < per_second * rtt_s {
        sent += window;
        begins_s += rtt_s;
        window *= 2.0;
    }
    // Every second segment is acknowledged; in slow start an ACK brings out four.
    let by_acks = 4.0 * up_bps / (8.0 * ack);
    let limit_s = begins_s + (segments - sent) / per_second.min(by_acks) + rtt_s / 2.0;
    assert!((9.5..10.1).contains(&limit_s), "{limit_s}");
    // Queues of ACKs of 14 and of 140 ms.
    for (name, up) in [("cubic", 100), ("bbr", 100), ("cubic", 1000), ("bbr", 1000)] {
        let text = format!(
            "duration = \"60 s\"\nprofile = \"linux\"\n\
             [[links]]\nbetween = [\"gateway\", \"terminal\"]\ndelay = \"300 ms\"\n\
             forward = {{ rate = \"250 Mbit/s\", queue = {{ drop_tail = {{ packets = 12500 }} }} }}\n\
             backward = {{ rate = \"3 Mbit/s\", queue = {{ drop_tail = {{ packets = {up} }} }} }}\n\
             [[flows]]\nname = \"file\"\nfrom = \"gateway\"\nto = \"terminal\"\n\
             tcp = {{ name = \"{name}\", send_buffer = \"128 MB\", receive_memory = [\"4096 B\", \"131072 B\", \"256 \
             MiB\"] }}\n\
             application = {{ ftp = {{ bytes = \"100 MB\" }} }}\n"
        );
        let flow = &run(&text, 1).flows[0];
        let took_s = flow.completed.expect("it is complete").as_secs_f64();
        eprintln!("{name} {up}: {took_s:.2} s, {:.2} times {limit_s:.2} s", took_s / limit_s);
        assert!((1.0..1.3).contains(&(took_s / limit_s)), "{name}, {up} ACKs: {took_s} s, the limit is {limit_s} s");
    }
}

/// Without window scaling a window of at most 65,535 bytes is in flight per round trip (RFC 7323 §1.1;
/// `algorithms_vectors.json`, "unscaled_window_limit"): 904 kbit/s over 580 ms.
#[test]
fn an_unscaled_window_limits_a_long_path() {
    let text = dumbbell("linux", &flow("f", "tcp = { name = \"cubic\", window_scaling = \"off\" }"))
        .replace("duration = \"20 s\"", "duration = \"300 s\"")
        .replace("delay = \"20 ms\"", "delay = \"290 ms\"");
    let goodput = run(&text, 1).flows[0].goodput_bps;
    let limit = 65_535.0 * 8.0 / 0.58;
    // Whole segments of 1448 B, and the first round trips with a smaller window.
    assert!((0.93 * limit..limit).contains(&goodput), "{goodput} of {limit}");
    let scaled = text.replace("window_scaling = \"off\"", "window_scaling = \"on\"");
    assert!(run(&scaled, 1).flows[0].goodput_bps > 4.0 * limit);
}
