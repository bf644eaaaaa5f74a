//! Reports of corruption: nothing is cut for what was corrupted, the estimate finds the error rate, and the packet size
//! follows it.

use crate::support::run;
use skyhop_scenario::Scenario;
use skyhop_sim::Records;

/// A source, a gateway and a sink; `errors` on the wire behind the gateway, 2 Mbit/s and 20 ms.
fn wired(errors: &str, tcp: &str, more: &str) -> Records {
    let text = format!(
        r#"
        duration = "100 s"
        profile = "ns-2"

        [[links]]
        between = ["source", "gateway"]
        rate = "10 Mbit/s"
        delay = "5 ms"

        [[links]]
        between = ["gateway", "sink"]
        rate = "2 Mbit/s"
        delay = "20 ms"
        forward = {{ errors = [{{ data = {errors} }}] }}

        [[flows]]
        name = "ftp"
        from = "source"
        to = "sink"
        tcp = {{ {tcp} }}

        {more}
        "#
    );
    run(&text, 1)
}

const REPORTS: &str = "[[agents]]\nat = \"gateway\"\nerror_report = { links = [\"gateway->sink\"] }";

/// 1000 B of data in 1040 B at 2 Mbit/s: without errors 1.92 Mbit/s of goodput at most; 2 % of the packets are sent
/// twice.
#[test]
fn reported_corruption_cuts_no_window() {
    let plain = wired("{ packet = 0.02 }", "name = \"newreno\", window = 30", "");
    assert!(plain.flows[0].cwnd_cuts > 50, "{}", plain.flows[0].cwnd_cuts);
    for tcp in ["name = \"newreno\", window = 30", "name = \"sack\", sack_rules = \"rfc-6675\", window = 30"] {
        let eten = &wired("{ packet = 0.02 }", &format!("{tcp}, notification = \"eten\""), REPORTS).flows[0];
        assert_eq!((eten.cwnd_cuts, eten.timeouts), (0, 0), "{tcp}");
        // Each corrupted packet was sent again once, except those whose reports were in flight at the end.
        assert!(eten.retransmissions.abs_diff(eten.drops[1]) <= 2, "{tcp}: {} {}", eten.retransmissions, eten.drops[1]);
        let most = 2e6 * 1000.0 / 1040.0 * 0.98;
        // A hole holds the window of a NewReno for a round trip, so that it is not always full.
        assert!((0.85 * most..=most).contains(&eten.goodput_bps), "{tcp}: {}", eten.goodput_bps);
        assert!(eten.goodput_bps > 1.3 * plain.flows[0].goodput_bps, "{tcp}");
    }
}

/// A full queue behind the gateway is congestion: nobody reports it, and it cuts the window as usual.
#[test]
fn congestion_still_cuts() {
    let eten =
        &wired("{ packet = 0.0 }", "name = \"newreno\", window = 500, notification = \"eten\"", REPORTS).flows[0];
    assert!(eten.drops[0] > 0 && eten.cwnd_cuts > 0, "{:?}", eten.drops);
}

/// Counted in the channel's unit the estimate is the channel's rate, so that 1e-4 per byte gives the paper's 223 B; in
/// bits it is 1.25e-5 and the size 632 B. The mean over all packets of a run is near, for the estimate is noisy.
#[test]
fn the_packet_size_follows_the_estimated_rate() {
    let tcp = "name = \"newreno\", mss = \"1500 B\", window = 20, notification = \"been\"";
    for (unit, size) in [("byte", 223.0), ("bit", 632.0)] {
        let agent = REPORTS.replace("error_report = {", &format!("error_report = {{ unit = \"{unit}\", "));
        let flow = &wired("{ byte = 1e-4 }", tcp, &agent).flows[0];
        let mean = flow.throughput_bps * 100.0 / 8.0 / flow.packets_received as f64;
        assert!((0.8 * size..=1.6 * size).contains(&mean), "{unit}: {mean} B");
        assert!(flow.cwnd_cuts <= 2, "{unit}: {}", flow.cwnd_cuts);
    }
    // At 1e-2 every estimate is at the bound.
    let flow = &wired("{ byte = 1e-2 }", tcp, REPORTS).flows[0];
    let mean = flow.throughput_bps * 100.0 / 8.0 / flow.packets_received as f64;
    assert!((79.0..82.0).contains(&mean), "{mean} B");
}

/// Errors between satellites, the first open end of the paper: the same reports, from further away.
#[test]
fn errors_between_satellites_are_reported_too() {
    let iridium = |tcp: &str, more: &str| {
        let text = format!(
            r#"
            duration = "60 s"
            profile = "ns-2"
            constellation = {{ preset = "iridium", isl = {{ errors = [{{ data = {{ packet = 0.01 }} }}] }} }}

            [stations]
            berkeley = {{ city = "Berkeley" }}
            chennai = {{ city = "Chennai" }}

            [[flows]]
            name = "ftp"
            from = "berkeley"
            to = "chennai"
            tcp = {{ name = "newreno", window = 20{tcp} }}

            {more}
            "#
        );
        run(&text, 1)
    };
    let agent = "[[agents]]\nat = \"berkeley\"\nerror_report = { links = [\"isl\"] }";
    let (plain, eten) = (iridium("", ""), iridium(", notification = \"eten\"", agent));
    assert!(plain.flows[0].cwnd_cuts >= 10, "{}", plain.flows[0].cwnd_cuts);
    // A handover loses packets, too, but does not corrupt them.
    assert!(eten.flows[0].cwnd_cuts <= 3, "{}", eten.flows[0].cwnd_cuts);
    assert!(eten.flows[0].goodput_bps > 1.3 * plain.flows[0].goodput_bps);
}

/// An agent to which no sender listens, or which no connection uses, is named. A workload that listens to no agent is
/// refused.
#[test]
fn agents_that_nobody_uses_are_named() {
    let text = |tcp: &str, agents: &str| {
        format!(
            "duration = \"10 s\"\nprofile = \"rfc\"\n[[links]]\nbetween = [\"a\", \"m\"]\nrate = \"10 Mbit/s\"\n\
             delay = \"5 ms\"\n[[links]]\nbetween = [\"m\", \"b\"]\nrate = \"2 Mbit/s\"\ndelay = \"20 ms\"\n\
             errors = [{{ byte = 2e-5 }}]\n[[workloads]]\nname = \"w\"\nfrom = \"a\"\nto = \"b\"\n\
             tcp = {{ name = \"newreno\"{tcp} }}\narrivals = {{ poisson = {{ per_s = 1 }} }}\n\
             sizes = {{ constant = \"50 kB\" }}\n{agents}"
        )
    };
    let read = |tcp: &str, agents: &str| Scenario::from_toml(&text(tcp, agents), "test", &[]);
    let agent = |task: &str| format!("[[agents]]\nat = \"m\"\n{task}\n");
    for (task, listens) in [("error_report", "eten"), ("survival", "ceten"), ("eln", "eln"), ("pep", "")] {
        let agents = agent(&format!("{task} = {{}}"));
        let warnings = read("", &agents).unwrap().all_warnings();
        let named = format!("agents[0].{task}: no ");
        assert!(warnings.iter().any(|warning| warning.starts_with(&named)), "{task}: {warnings:?}");
        if !listens.is_empty() {
            let tcp = format!(", notification = \"{listens}\"");
            assert_eq!(read(&tcp, &agents).unwrap().all_warnings(), [""; 0], "{task}");
            let error = read(&tcp, "").unwrap_err().to_string();
            assert!(error.contains("\"w\" ") && error.contains(&format!("{task} = {{}}")), "{error}");
        }
    }
    // The rate of errors is what BEEN takes.
    let agents = agent("error_report = { window = 50, weight = 0.9, unit = \"bit\" }");
    let idle = |tcp: &str| {
        let warnings = read(tcp, &agents).unwrap().all_warnings();
        warnings.iter().filter(|warning| warning.contains("has no effect")).count()
    };
    assert_eq!((idle(", notification = \"eten\""), idle(", notification = \"been\"")), (3, 0));
}
