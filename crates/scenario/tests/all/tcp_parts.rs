//! A TCP by name, by its parts, and by both: every key has an effect, and a key that is
//! given changes no other value.

use crate::support::scenarios;
use serde_json::Value;
use skyhop_cc::ControlSpec;
use skyhop_scenario::{Override, Scenario};
use skyhop_transport::{TcpName, TcpSpec};
use std::collections::{BTreeMap, BTreeSet};

fn scenario(profile: &str, tcp: &str, changes: &[String]) -> Result<Scenario, String> {
    let text = format!(
        "duration = \"9 s\"\nprofile = \"{profile}\"\n\
         [[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntcp = {tcp}\n"
    );
    let changes: Vec<Override> = changes.iter().map(|change| change.parse().unwrap()).collect();
    Scenario::from_toml(&text, "test", &changes).map_err(|problems| problems.to_string())
}

fn hash(profile: &str, tcp: &str, changes: &[String]) -> String {
    scenario(profile, tcp, changes).unwrap_or_else(|problems| panic!("{tcp} {changes:?}: {problems}")).hash()
}

/// The control of a TCP with the values of its parameters.
fn control_of(profile: &str, name: &str) -> (String, Value) {
    let canonical = scenario(profile, &format!("{name:?}"), &[]).unwrap().canonical();
    let control = canonical["flows"][0]["tcp"]["control"].as_object().unwrap();
    let (control, parameters) = control.iter().next().unwrap();
    (control.clone(), parameters.clone())
}

#[test]
fn every_control_is_a_tcp_of_that_name() {
    for control in ControlSpec::NAMES {
        assert!(TcpName::NAMES.contains(control), "{control} brings no recovery");
    }
}

#[test]
fn a_parameter_of_a_control_changes_nothing_else() {
    for profile in ["rfc", "ns-2"] {
        for name in TcpSpec::names() {
            let by_name = hash(profile, &format!("{name:?}"), &[]);
            let (control, parameters) = control_of(profile, name);
            for (key, value) in parameters.as_object().unwrap() {
                let table = format!("control = {{ \"{control}\" = {{ {key} = {value} }} }}");
                let beside = format!("{{ name = \"{name}\", {table} }}");
                assert_eq!(hash(profile, &beside, &[]), by_name, "{profile}: {beside}");
                let change = format!("flows.f.tcp.control.\"{control}\".{key}={value}");
                assert_eq!(
                    hash(profile, &format!("{name:?}"), &[change]),
                    by_name,
                    "{profile} {name}: {control}.{key}"
                );
                // A control alone stands for the TCP that is called like it; "reno" for the usual one, NewReno.
                if *name == control && *name != "reno" || *name == "newreno" {
                    let alone = format!("{{ {table} }}");
                    assert_eq!(hash(profile, &alone, &[]), by_name, "{profile}: {alone}");
                }
            }
        }
    }
}

#[test]
fn a_name_beside_a_part_that_contradicts_it_is_refused() {
    for (tcp, option) in [
        (r#"{ name = "vegas", control = "bic" }"#, "control"),
        (r#"{ name = "cubic", recovery = "newreno" }"#, "recovery"),
        (r#"{ name = "reno", recovery = "sack", control = { bic = {} } }"#, "recovery"),
    ] {
        let message = scenario("rfc", tcp, &[]).unwrap_err();
        assert!(message.contains(&format!("flows[0].tcp.{option}: name ")), "{message}");
        assert!(message.contains("drop one of them"), "{message}");
    }
    let message = scenario("rfc", r#"{ recovery = "sack", control = "bic" }"#, &["flows[*].tcp.name=hybla".to_owned()]);
    let message = message.unwrap_err();
    assert!(
        message.contains("\"hybla\"") && message.contains("\"bic\"") && message.contains("flows[*].tcp=hybla"),
        "{message}"
    );
    // Parts that are the name's own say nothing new.
    let own = r#"{ name = "cubic", recovery = "sack", control = "cubic" }"#;
    assert_eq!(hash("rfc", own, &[]), hash("rfc", "\"cubic\"", &[]));
}

#[test]
fn an_option_of_ns_2s_agents_is_refused_where_there_are_none() {
    let message = scenario("rfc", r#"{ name = "cubic", ns2 = { agent = "linux" } }"#, &[]).unwrap_err();
    assert!(message.contains("flows[0].tcp.ns2.agent"), "{message}");
    let reno = |rest: &str| hash("ns-2", &format!("{{ recovery = \"sack\", control = \"reno\"{rest} }}"), &[]);
    assert_ne!(reno(", ns2 = { agent = \"linux\" }"), reno(""));
    assert_eq!(reno(", ns2 = { agent = \"tcp\" }"), reno(""));
}

#[test]
fn rules_that_a_recovery_cannot_follow_are_refused() {
    let message = scenario("rfc", r#"{ name = "yam", sack_rules = "ns-2-sack1" }"#, &[]).unwrap_err();
    assert!(message.contains("flows[0].tcp.sack_rules"), "{message}");
}

#[test]
fn each_tcp_of_a_sweep_is_another_scenario() {
    let mut seen = BTreeSet::new();
    for shown in scenarios::shown() {
        // What else stands in a scenario does not choose between TCPs.
        let chooses =
            |line: &&str| ["tcp =", "via =", "profile =", "[[workloads]]"].iter().any(|key| line.starts_with(key));
        let chosen: Vec<String> = shown.text.lines().map(str::trim).filter(chooses).map(str::to_owned).collect();
        if !chosen.iter().any(|line| line.starts_with("tcp =")) || !seen.insert(chosen) {
            continue;
        }
        let has_table = shown.text.contains("tcp = {");
        let mut hashes: BTreeMap<String, &str> = BTreeMap::new();
        for name in TcpSpec::names() {
            for key in ["flows[*].tcp.name", "flows[*].tcp"] {
                let change = Override::new(key, name).unwrap();
                let hash = match Scenario::from_toml_in(&shown.text, &shown.name, &shown.folder, &[change]) {
                    Ok(scenario) => scenario.hash(),
                    // A name that contradicts another key of the table is refused, not swept over in silence; setting
                    // the whole key always works.
                    Err(problems) if key.ends_with("name") && has_table && problems.to_string().contains("].tcp.") => {
                        continue;
                    }
                    // Where the profile is that of Linux, it has other names.
                    Err(problems) if problems.to_string().contains("is a TCP of profile") => continue,
                    // With that profile a bare name is a TCP of Linux, which cannot be split at a proxy.
                    Err(problems) if problems.to_string().contains("a split connection needs Skyhop's own") => continue,
                    Err(problems) => panic!("{problems}"),
                };
                let other = hashes.insert(hash, name);
                assert!(other.is_none_or(|other| other == *name), "{}: {name} is as {other:?}", shown.name);
            }
        }
    }
}
