//! A flow that delivers nothing is never a zero without a word: a cause known before the run is an error, any other a
//! warning.

use crate::support::run;
use skyhop_scenario::Scenario;

/// Wires in a row, `n0` to `n<hops>`, and a flow from end to end with these keys.
fn chain(hops: usize, flow: &str) -> String {
    let link = |n: usize| {
        let next = n + 1;
        format!("[[links]]\nbetween = [\"n{n}\", \"n{next}\"]\nrate = \"10 Mbit/s\"\ndelay = \"1 ms\"\n")
    };
    let links: String = (0..hops).map(link).collect();
    format!(
        "duration = \"5 s\"\nprofile = \"rfc\"\n\
         {links}\n[[flows]]\nname = \"flow\"\nfrom = \"n0\"\nto = \"n{hops}\"\ntcp = \
         \"newreno\"\n{flow}\n"
    )
}

fn problems(text: &str) -> String {
    Scenario::from_toml(text, "test", &[]).map(|_| ()).expect_err("a problem").to_string()
}

#[test]
fn a_hop_limit_shorter_than_the_only_way_is_an_error() {
    let found = problems(&chain(5, "ttl = 4"));
    assert!(found.contains("flows[0].ttl") && found.contains("has 5 hops") && found.contains("ttl = 5"), "{found}");
    assert!(run(&chain(5, "ttl = 5"), 1).flows[0].bytes_delivered > 0, "as many hops as the path has");
    let access = "access = { rate = \"10 Mbit/s\", delay = \"1 ms\" }";
    let found = problems(&chain(5, &format!("ttl = 6\n{access}")));
    assert!(found.contains("has 7 hops"), "an access link is a hop at either end: {found}");
}

#[test]
fn more_hops_than_any_packet_can_take_are_an_error() {
    let found = problems(&chain(256, ""));
    assert!(found.contains("has 256 hops") && found.contains("more than 255 hops"), "{found}");
    assert!(run(&chain(255, ""), 1).flows[0].bytes_delivered > 0, "the default is 255");
}

/// Berkeley to Chennai over Iridium, with these keys for the station and the flow.
fn iridium(mask: &str, flow: &str) -> String {
    format!(
        r#"
        duration = "30 s"
        profile = "rfc"

        [constellation]
        preset = "iridium"
        gsl = {{ elevation_mask = "{mask}" }}

        [stations]
        berkeley = {{ latitude = "37.9 deg", longitude = "-122.3 deg" }}
        chennai = {{ latitude = "13.04 deg", longitude = "80.17 deg" }}

        [[flows]]
        name = "flow"
        from = "berkeley"
        to = "chennai"
        tcp = "newreno"
        {flow}
        "#
    )
}

fn the_warning(text: &str) -> String {
    let records = run(text, 1);
    assert_eq!((records.flows[0].bytes_delivered, records.warnings.len()), (0, 1), "{:?}", records.warnings);
    let warning = records.warnings[0].clone();
    assert!(warning.starts_with("flow \"flow\" delivered nothing: "), "{warning}");
    warning
}

#[test]
fn a_flow_that_never_has_a_route_is_a_warning() {
    let warning = the_warning(&iridium("80 deg", ""));
    assert!(warning.contains("no route from \"berkeley\" to \"chennai\" for 100.0 % of its time"), "{warning}");
    assert!(warning.contains("packets were lost (no-route "), "{warning}");
}

#[test]
fn a_hop_limit_shorter_than_a_way_over_satellites_is_a_warning() {
    let warning = the_warning(&iridium("8.2 deg", "ttl = 2"));
    assert!(
        warning.contains("its hop limit is 2 (ttl), its path had up to ") && warning.contains("(ttl "),
        "{warning}"
    );
}

#[test]
fn losses_of_everything_are_named() {
    let text = |direction: &str| {
        chain(1, "").replace(
            "delay = \"1 ms\"",
            &format!("delay = \"1 ms\"\n{direction} = {{ errors = [{{ packet = 1.0 }}] }}"),
        )
    };
    let warning = the_warning(&text("forward"));
    assert!(warning.contains(" packets were lost (error "), "{warning}");
    let warning = the_warning(&text("backward"));
    assert!(warning.contains(" acknowledgements were lost (error "), "{warning}");
}

#[test]
fn a_flow_that_is_still_on_its_way_at_the_end_says_so() {
    let text = chain(1, "start = \"4.9995 s\"");
    let warning = the_warning(&text);
    assert!(warning.ends_with("0 of 1 packets had arrived at its end, none with data"), "{warning}");
}

#[test]
fn a_flow_that_delivers_is_no_warning() {
    assert_eq!(run(&chain(3, ""), 1).warnings, Vec::<String>::new());
}
