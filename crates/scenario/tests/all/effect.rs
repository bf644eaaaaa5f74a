//! Keys without effect cause a warning. They are found by trying, and no key with an effect is called idle.

use crate::support::scenarios;
use skyhop_scenario::{Override, Scenario};
use skyhop_sim::Simulation;

fn read(text: &str) -> Scenario {
    Scenario::from_toml(text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

const WIRE: &str = "duration = \"10 s\"\nprofile = \"rfc\"\n[[links]]\nbetween = [\"a\", \"b\"]\ndelay = \"1 ms\"\n";
const FLOW: &str = "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntcp = \"reno\"\n";

#[test]
fn keys_that_change_nothing_are_named() {
    let table = "{ table = { text = \"time_s,rate_bps\\n0,1000000\\n20,2000000\\n\" } }";
    let sky = "[constellation]\nsatellites = [{ name = \"g\", geostationary = \"0 deg\" }]\n";
    for (text, key) in [
        (format!("{WIRE}rate = \"1 Mbit/s\"\ntrace = {table}\n{FLOW}"), "links[0].rate"),
        (
            format!(
                "{WIRE}rate = \"1 Mbit/s\"\nforward = {{ rate = \"2 Mbit/s\" }}\nbackward = {{ rate = \"3 Mbit/s\" \
                 }}\n{FLOW}"
            ),
            "links[0].rate",
        ),
        (format!("{WIRE}rate = \"1 Mbit/s\"\n{FLOW}stop = \"300 s\"\n"), "flows[0].stop"),
        (format!("{WIRE}rate = \"1 Mbit/s\"\n{FLOW}{sky}isl = {{ rate = \"1 Mbit/s\" }}\n"), "constellation.isl.rate"),
        (
            format!("{WIRE}rate = \"1 Mbit/s\"\n{FLOW}")
                .replace("\"reno\"", "{ name = \"reno\", rate_halving = \"on\" }"),
            "flows[0].tcp.rate_halving",
        ),
        (
            format!("{WIRE}rate = \"1 Mbit/s\"\n{FLOW}")
                .replace("\"reno\"", "{ name = \"reno\", sack_rules = \"ns-2-sack1\" }"),
            "flows[0].tcp.sack_rules",
        ),
        (
            format!("{WIRE}rate = \"1 Mbit/s\"\n{FLOW}")
                .replace("\"reno\"", "{ control = { cubic = { ecn_beta = 0.9 } } }"),
            "flows[0].tcp.control.cubic.ecn_beta",
        ),
        (
            format!("{WIRE}rate = \"1 Mbit/s\"\n{FLOW}")
                .replace("\"reno\"", "{ profile = \"linux\", control = { cubic = { abe = \"on\" } } }"),
            "flows[0].tcp.control.cubic.abe",
        ),
    ] {
        let warnings = read(&text).all_warnings();
        let idle: Vec<_> = warnings.iter().filter(|warning| warning.contains("no effect")).collect();
        assert!(idle.iter().any(|warning| warning.starts_with(&format!("{key}: "))), "{key}: {warnings:?}\n{text}");
        assert_eq!(idle.len(), 1, "{idle:?}");
    }
}

/// The epoch is read by elements and by slots, and by nothing else.
#[test]
fn an_epoch_that_nothing_reads_is_named() {
    let sky = "[constellation]\nepoch = \"2025-10-07T12:00:05Z\"\n\
               satellites = [{ name = \"g\", geostationary = \"10 deg\" }]\n\
               gsl = { rate = \"1 Mbit/s\", @ }\n[stations]\nc = { city = \"Rome\" }\nd = { city = \"Tunis\" }\n";
    let flow = FLOW.replace("\"a\"", "\"c\"").replace("\"b\"", "\"d\"");
    let wire =
        "[[links]]\nbetween = [\"a\", \"b\"]\ndelay = \"1 ms\"\nforward = { @ }\nbackward = { rate = \"1 Mbit/s\" }\n";
    let text = |gsl: &str, wire_rate: &str, rest: &str| {
        let network = sky.replace('@', gsl) + &wire.replace('@', wire_rate) + &flow + rest;
        format!("duration = \"20 s\"\nprofile = \"rfc\"\n{network}")
    };
    let plain = "rate = \"1 Mbit/s\"";
    let also = FLOW.replace("\"f\"", "\"g\"");
    let run = |text: &str| {
        let run = Simulation::new(&read(text).simulation_spec(), 1).unwrap().run();
        format!("{:?} {:?} {:?}", run.flows, run.links, run.handovers)
    };
    let at_37 = |text: &str| text.replace("12:00:05Z", "13:10:37Z");
    for (text, is_idle) in [
        (text("", plain, ""), true),
        (text("handover = { every = \"15 s\", policy = \"nearest\" }", plain, ""), true),
        (text("", "profile = \"starlink\"", &also), false),
        (text("uplink = { profile = \"starlink\" }", plain, ""), false),
        (text("downlink = { profile = { starlink = { hours = \"wetlinks\" } } }", plain, ""), false),
    ] {
        let warnings = read(&text).all_warnings();
        let called = warnings.iter().any(|warning| warning.starts_with("constellation.epoch: has no effect"));
        assert_eq!(called, is_idle, "{warnings:?}\n{text}");
        assert_eq!(run(&text) == run(&at_37(&text)), is_idle, "{text}");
    }
    // Slots of handovers read the epoch, though nobody ever leaves a geostationary satellite.
    let slots = text("handover = { every = \"15 s\", checks = { slots = { at = \"12 s\" } } }", plain, "");
    let warnings = read(&slots).all_warnings();
    assert!(!warnings.iter().any(|warning| warning.contains("constellation.epoch")), "{warnings:?}");
}

#[test]
fn keys_that_say_the_default_are_not_idle() {
    let text = format!(
        "{WIRE}rate = \"1 Mbit/s\"\nqueue = {{ drop_tail = {{ packets = 50 }} }}\nframing = \"0 B\"\n{FLOW}ttl = \
         64\nstart = \"0 s\"\n"
    );
    assert_eq!(read(&text).all_warnings(), [""; 0]);
}

#[test]
fn what_is_shown_has_no_idle_keys() {
    for shown in scenarios::shown() {
        // These need a process that runs Python or loads plug-ins: `python/tests/test_own_control.py` and
        // `test_plugin_control.py` run them.
        if shown.text.contains("python = ") || shown.text.contains("plugin = ") {
            continue;
        }
        let scenario = Scenario::from_toml_in(&shown.text, &shown.name, &shown.folder, &[]).unwrap();
        let idle: Vec<_> =
            scenario.all_warnings().into_iter().filter(|warning| warning.contains("no effect")).collect();
        assert!(idle.is_empty(), "{}: {idle:#?}", shown.name);
    }
}

#[test]
fn what_may_not_be_meant_is_said() {
    let table = "{ table = { text = \"time_s,rate_bps\\n0,1000000\\n2,2000000\\n\" } }";
    for (text, said) in [
        (format!("{WIRE}trace = {table}\n{FLOW}"), "the recording lasts 4 s and begins anew"),
        (format!("{WIRE}rate = \"1 Mbit/s\"\nerrors = [{{ packet = 1 }}]\n{FLOW}"), "loses every packet"),
        (format!("{WIRE}rate = \"1 Mbit/s\"\n{FLOW}[records]\ngrid = \"20 s\"\n"), "longer than the run"),
        (format!("{WIRE}rate = \"1 Mbit/s\"\n{FLOW}[stations]\ns = {{ city = \"Cambridge\" }}\n"), "\"Cambridge, GB\""),
    ] {
        let warnings = read(&text).all_warnings();
        assert_eq!(warnings.iter().filter(|warning| warning.contains(said)).count(), 1, "{said}: {warnings:?}");
    }
}

/// A parameter of a control that is taken out of what is run changes no run; `tcp_options.rs` tries the other options.
#[test]
fn a_parameter_that_is_called_idle_changes_no_run() {
    let lossy = format!(
        "{WIRE}rate = \"2 Mbit/s\"\nqueue = {{ drop_tail = {{ packets = 8 }} }}\nerrors = [{{ packet = 0.01 \
         }}]\n{FLOW}start = \"0.2 s\"\n"
    )
    .replace("10 s", "5 s");
    let others = [("control.reno.ecn_decrease", ["0.2", "0.8"]), ("control.cubic.ecn_beta", ["0.3", "0.9"])];
    let mut idle = 0;
    for name in ["tahoe", "reno", "newreno", "sack", "fack", "cubic"] {
        for (option, values) in &others {
            let set = |value: &str| {
                let key = |key: &str| format!("flows.f.tcp.{key}");
                let changes = [("name", name), ("ack_every", "1"), (option, value)]
                    .map(|(k, v)| Override::new(&key(k), v).unwrap());
                Scenario::from_toml(&lossy, "test", &changes)
            };
            // Some rules and parameters belong to other names, and are refused.
            let [Ok(one), Ok(other)] = values.map(set) else { continue };
            let scenarios = [one, other];
            let is_idle =
                scenarios[1].all_warnings().iter().any(|warning| warning.contains(&format!("{option}: has no effect")));
            if !is_idle {
                continue;
            }
            idle += 1;
            let runs = scenarios.map(|scenario| Simulation::new(&scenario.simulation_spec(), 1).unwrap().run());
            let seen = |i: usize| (runs[i].events, runs[i].packet_hops, runs[i].flows[0].bytes_delivered);
            assert_eq!(seen(0), seen(1), "{name}: {option}");
        }
    }
    assert!(idle > 3, "{idle} idle");
}
