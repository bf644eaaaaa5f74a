//! Links with a name: overrides and tables use it, and it changes nothing else.

use crate::support::run;
use skyhop_scenario::{Override, Scenario};
use skyhop_sim::Simulation;

const TEXT: &str = "duration = \"20 s\"\nprofile = \"rfc\"\n\
    [[links]]\nname = \"uplink\"\nbetween = [\"user\", \"hub\"]\nrate = \"2 \
    Mbit/s\"\ndelay = \"20 ms\"\n\
                    errors = [{ packet = 0.01 }]\n[[links]]\nbetween = [\"hub\", \"server\"]\nrate = \"10 \
                    Mbit/s\"\ndelay = \"5 ms\"\n\
                    [[flows]]\nname = \"f\"\nfrom = \"user\"\nto = \"server\"\ntcp = \"cubic\"\n[records]\npackets = \
                    [\"uplink\"]\n";

#[test]
fn a_name_stands_in_tables_and_changes_no_packet() {
    let named = run(TEXT, 1);
    let plain = TEXT.replace("name = \"uplink\"\n", "").replace("[\"uplink\"]", "[\"user->hub\", \"hub->user\"]");
    let plain = run(&plain, 1);
    let uplink: Vec<&String> = named.link_names.iter().filter(|name| name.starts_with("uplink ")).collect();
    assert_eq!(uplink, ["uplink hub->user", "uplink user->hub"]);
    assert!(named.link_names.contains(&"hub->server".to_owned()), "a link without a name is called by its ends");
    assert_eq!(named.packets.len(), plain.packets.len());
    assert_eq!(format!("{:?}", named.flows), format!("{:?}", plain.flows));
}

#[test]
fn an_override_finds_a_link_by_its_name() {
    let over = |key: &str| Override::new(key, "3 Mbit/s").expect("is an override");
    let rate = |overrides: &[Override]| {
        let scenario = Scenario::from_toml(TEXT, "l.toml", overrides).expect("is right");
        let records = Simulation::new(&scenario.simulation_spec(), 1).expect("can be built").run();
        let link = records.link_names.iter().position(|name| name == "uplink user->hub").expect("is there");
        records.links[link].rate_bps
    };
    assert_eq!((rate(&[]), rate(&[over("links.uplink.rate")])), (2e6, 3e6));
    let unknown = Scenario::from_toml(TEXT, "l.toml", &[over("links.uplnk.rate")]).expect_err("is wrong");
    assert!(unknown.to_string().contains("did you mean \"uplink\"?"), "{unknown}");
}

#[test]
fn two_links_of_one_name_are_refused() {
    let twice = TEXT.replace(
        "[[links]]\nbetween = [\"hub\", \"server\"]",
        "[[links]]\nname = \"uplink\"\nbetween = [\"hub\", \"server\"]",
    );
    let problems = Scenario::from_toml(&twice, "l.toml", &[]).expect_err("is wrong");
    assert!(problems.to_string().contains("the name \"uplink\" is taken by links[0]"), "{problems}");
}

/// An agent finds its links by their name, which stands for both directions; a name that is not one is answered with
/// those that are.
#[test]
fn an_agent_finds_links_by_their_name() {
    let with = |links: &str| {
        let listening = TEXT.replace("tcp = \"cubic\"", "tcp = { name = \"newreno\", notification = \"eten\" }");
        format!("{listening}[[agents]]\nat = \"user\"\nerror_report = {{ links = [{links}] }}\n")
    };
    let json = |links: &str| Scenario::from_toml(&with(links), "l.toml", &[]).expect("is right").canonical_json();
    assert_eq!(json("\"uplink\""), json("\"hub->user\", \"user->hub\""));
    assert_ne!(json("\"uplink\""), json("\"user->hub\""));
    let unknown = Scenario::from_toml(&with("\"uplnk\""), "l.toml", &[]).expect_err("is wrong").to_string();
    assert!(
        unknown.contains("no link is called \"uplnk\"") && unknown.contains("did you mean \"uplink\"?"),
        "{unknown}"
    );
}
