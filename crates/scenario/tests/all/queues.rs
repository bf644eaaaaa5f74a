//! Queue disciplines on links of a scenario: what they promise at stated rate, round trip and load, from both sides.

use crate::support::load::Load;
use crate::support::run;
use skyhop_scenario::Scenario;
use skyhop_sim::Records;
use skyhop_sim::records::DropCause;

/// Greedy flows over a wire of 10 Mbit/s and 100 ms of round trip.
fn greedy(queue: &str, flows: u32, tcp: &str) -> Records {
    Load { queue, flows, tcp, rtt_ms: 100.0, profile: "rfc" }.run()
}

const RENO: &str = r#"{ recovery = "newreno", mss = "1460 B", window = 10000 }"#;

/// Median waiting time in ms and utilisation of the link forward.
fn found(records: &Records) -> (f64, f64) {
    let link = &records.links[0];
    (link.sojourn.expect("the queue is asked at each departure").median_s * 1e3, link.utilisation)
}

/// RFC 8289 §4.4: a target of 5 ms. Nichols and Jacobson, "Controlling Queue Delay", 2012: medians of 2 to 8 ms at
/// round trips up to 100 ms; a drop tail of the same room holds a hundred times as much.
#[test]
fn codel_keeps_flows_near_its_target() {
    for queue in [r#""codel""#, r#"{ codel = { variant = "rfc" } }"#] {
        for flows in [2, 5] {
            let (median_ms, utilisation) = found(&greedy(queue, flows, RENO));
            let found = format!("{queue}, {flows} flows: {median_ms} ms, {utilisation}");
            assert!((2.0..=8.0).contains(&median_ms) && utilisation > 0.8, "{found}");
        }
        // One Reno goes from half of what the path holds to all of it and a few packets more, so its link is idle for
        // some of the time: three quarters of the rate without any queue.
        let records = greedy(queue, 1, RENO);
        let (median_ms, utilisation) = found(&records);
        let p95_ms = records.links[0].sojourn.unwrap().p95_s * 1e3;
        assert!((0.75..0.85).contains(&utilisation), "{queue}: {utilisation}");
        assert!(median_ms < 5.0 && (2.0..=8.0).contains(&p95_ms), "{queue}: {median_ms} ms, {p95_ms} ms");
    }
    let (median_ms, _) = found(&greedy("{ fifo = { packets = 1000 } }", 1, RENO));
    assert!(median_ms > 200.0, "{median_ms}");
}

/// RFC 8033 §5.1: a target of 15 ms, which the controller reaches from both sides. RFC 9332 appendix A.1 has the same
/// for the queue of classic flows.
#[test]
fn pie_and_dualpi2_keep_flows_near_their_target() {
    let both = ["pie", "dualpi2"];
    for (name, variant) in both.into_iter().flat_map(|name| [(name, "linux"), (name, "rfc")]) {
        for target in [15, 40] {
            let queue = format!(r#"{{ {name} = {{ variant = "{variant}", target = "{target} ms" }} }}"#);
            let (median_ms, utilisation) = found(&greedy(&queue, 5, RENO));
            let target = f64::from(target);
            let near = target / 2.0..=target * 1.5;
            assert!(near.contains(&median_ms) && utilisation > 0.9, "{queue}: {median_ms} ms, {utilisation}");
        }
    }
}

/// RFC 9332 §2.1 and appendix A: with a coupling of 2 a scalable flow marked in L has the rate of a classic flow
/// dropped in C at equal round trips. The RFC promises about equal rates; a factor of two either way is the bound of
/// this test. Packets in L wait as measured by De Schepper et al., "Dual Queue Coupled AQM: Deployable Very Low Queuing
/// Delay for All" (arXiv 2209.01078, abstract): 100 to 300 us in the median, less than 2 ms at the 99th percentile, of
/// which records have the 95th.
#[test]
fn dualpi2_shares_a_link_between_prague_and_cubic() {
    for variant in ["linux", "rfc"] {
        for (rate_mbps, delay_ms) in [(40, 10), (40, 25), (100, 10)] {
            let text = format!(
                r#"
                duration = "60 s"
                profile = "linux"

                [[links]]
                between = ["left", "right"]
                rate = "{rate_mbps} Mbit/s"
                delay = "{delay_ms} ms"
                queue = "unlimited"
                forward = {{ queue = {{ dualpi2 = {{ variant = "{variant}" }} }} }}

                [[flows]]
                name = "classic"
                count = 2
                from = "left"
                to = "right"
                tcp = {{ name = "cubic" }}

                [[flows]]
                name = "scalable"
                count = 2
                from = "left"
                to = "right"
                tcp = {{ name = "prague" }}
                "#
            );
            let records = run(&text, 1);
            let rates: Vec<f64> = records.flows.iter().map(|flow| flow.goodput_bps / 1e6).collect();
            let (classic, scalable) = (rates[0] + rates[1], rates[2] + rates[3]);
            let said = format!("{variant}, {rate_mbps} Mbit/s, {delay_ms} ms: {rates:?}");
            for flow in &records.flows[2..] {
                let alone_s = f64::from(delay_ms) / 1e3 + 1500.0 * 8.0 / (f64::from(rate_mbps) * 1e6);
                let wait_us = [flow.delay.median_s, flow.delay.p95_s].map(|delay_s| (delay_s - alone_s) * 1e6);
                eprintln!("{said}, waits {wait_us:?} us");
                assert!(wait_us[0] < 300.0 && wait_us[1] < 2000.0, "{said}: waits {wait_us:?} us");
            }
            assert!((0.5..2.0).contains(&(scalable / classic)), "{said}");
            assert!(classic + scalable > 0.85 * f64::from(rate_mbps), "{said}");
        }
    }
}

/// ECN: the queue marks what a drop would cost, and no packet of a capable flow is lost.
#[test]
fn capable_flows_are_marked_and_not_dropped() {
    let tcp = r#"{ recovery = "newreno", mss = "1460 B", window = 10000, ecn = "on" }"#;
    for queue in ["{ codel = { ecn = true } }", r#""fq_codel""#, r#""cake""#] {
        let records = greedy(queue, 2, tcp);
        let link = &records.links[0];
        let (median_ms, utilisation) = found(&records);
        assert!(link.marked > 20 && link.drops[0] == 0, "{queue}: {link:?}");
        assert!(median_ms < 15.0 && utilisation > 0.75, "{queue}: {median_ms} ms, {utilisation}");
        let cuts: u64 = records.flows.iter().map(|flow| flow.cwnd_cuts).sum();
        assert!(cuts > 10 && records.flows.iter().all(|flow| flow.timeouts == 0), "{queue}: marks reach the senders");
    }
}

/// Isolation (RFC 8290 §1): a flow that never fills its queue waits for no other, though ten greedy ones are there. It
/// waits for the packet in service, 0.24 ms at 50 Mbit/s, and for those of the others that have just begun anew.
#[test]
fn a_sparse_flow_waits_for_no_greedy_one() {
    let beside_ten = |queue: &str| {
        let text = format!(
            r#"
            duration = "60 s"
            profile = "rfc"

            [[links]]
            between = ["left", "right"]
            rate = "50 Mbit/s"
            delay = "25 ms"
            queue = "unlimited"
            forward = {{ queue = {queue} }}

            [[flows]]
            name = "bulk"
            count = 10
            from = "left"
            to = "right"
            tcp = {RENO}

            [[flows]]
            name = "sparse"
            from = "left"
            to = "right"
            udp = {{ header = "28 B" }}
            application = {{ constant_rate = {{ rate = "40 kbit/s", payload = "100 B" }} }}
            "#
        );
        let records = run(&text, 2);
        let sparse = records.flow_names.iter().position(|name| name == "sparse").unwrap();
        let sparse = &records.flows[sparse];
        // 128 B take 51 us.
        ((sparse.delay.p95_s - 0.025 - 51.2e-6) * 1e3, sparse.drops[0])
    };
    for queue in ["fq_codel", "fq_pie", "fq", "cake"] {
        let (wait_ms, dropped) = beside_ten(&format!("{queue:?}"));
        assert!((0.0..1.0).contains(&wait_ms) && dropped == 0, "{queue}: {wait_ms} ms, {dropped}");
    }
    // These let no flow go first: it waits for its turn in a round of eleven, 1500 B each.
    for queue in ["sfq", "drr"] {
        let (wait_ms, dropped) = beside_ten(&format!("{queue:?}"));
        assert!((0.0..11.0 * 0.24 + 0.3).contains(&wait_ms) && dropped == 0, "{queue}: {wait_ms} ms, {dropped}");
    }
    let (wait_ms, _) = beside_ten("{ fifo = { packets = 500 } }");
    assert!(wait_ms > 100.0, "{wait_ms}");
}

/// Datagrams at constant rates over 1 Mbit/s, one flow per rate and class; the shares of the link that they get, and
/// the 95th percentile of their delay in ms.
fn shares(queue: &str, flows: &[(&str, u32, u8)]) -> Vec<(f64, f64)> {
    let flows: String = flows
        .iter()
        .map(|(name, kbps, class)| {
            format!(
                r#"
                [[flows]]
                name = "{name}"
                from = "left"
                to = "right"
                udp = {{ header = "0 B" }}
                class = {class}
                application = {{ poisson = {{ rate = "{kbps} kbit/s", payload = "125 B" }} }}
                "#
            )
        })
        .collect();
    let text = format!(
        r#"
        duration = "100 s"
        profile = "rfc"
        links = [{{ between = ["left", "right"], rate = "1 Mbit/s", delay = "5 ms", queue = {queue} }}]
        {flows}
        "#
    );
    let records = run(&text, 3);
    records.flows.iter().map(|flow| (flow.throughput_bps / 1e6, flow.delay.p95_s * 1e3)).collect()
}

#[test]
fn classes_get_their_priority_and_their_weight() {
    // Linux's priority 6 goes to the first band, 0 to the second, 2 to the third.
    let found = shares(r#""prio""#, &[("a", 300, 6), ("b", 500, 0), ("c", 900, 2)]);
    let near = |share: f64, expected: f64| (share - expected).abs() < 0.02;
    assert!(near(found[0].0, 0.3) && near(found[1].0, 0.5) && near(found[2].0, 0.2), "{found:?}");
    // A service of 1 ms in progress and few of its own, behind 5 ms and its own service.
    assert!(found[0].1 < 9.0, "{found:?}");
    let weighted = r#"{ drr = { classes = [{ quantum = "500 B" }, { quantum = "1500 B" }], map = [0, 1] } }"#;
    let found = shares(weighted, &[("a", 900, 0), ("b", 900, 1)]);
    assert!(near(found[0].0, 0.25) && near(found[1].0, 0.75), "{found:?}");
    let by_flow = r#"{ drr = { classes = [{ quantum = "1500 B" }, { quantum = "500 B" }] } }"#;
    let found = shares(by_flow, &[("a", 900, 0), ("b", 900, 0)]);
    assert!(near(found[0].0, 0.75) && near(found[1].0, 0.25), "{found:?}");
}

#[test]
fn shapers_hold_packets_back() {
    let one = [("a", 900, 0)];
    let found = shares(r#"{ cake = { bandwidth = "400 kbit/s" } }"#, &one);
    assert!((found[0].0 - 0.4).abs() < 0.01, "{found:?}");
    let found = shares(r#"{ tbf = { rate = "400 kbit/s", burst = "2 kB", limit = "10 kB" } }"#, &one);
    assert!((found[0].0 - 0.4).abs() < 0.01, "{found:?}");
    let found = shares(r#"{ fq = { flow_max_rate = "400 kbit/s" } }"#, &[("a", 900, 0), ("b", 100, 0)]);
    assert!((found[0].0 - 0.4).abs() < 0.02 && (found[1].0 - 0.1).abs() < 0.01, "{found:?}");
}

/// Ten minutes over Iridium: many handovers, satellites whose transmitters serve several stations, full queues.
fn over_iridium(queue: &str, on_down: &str, seed: u64) -> Records {
    let text = format!(
        r#"
        duration = "600 s"
        profile = "rfc"

        [constellation]
        preset = "iridium"
        isl = {{ rate = "1 Mbit/s", queue = {queue} }}
        gsl = {{ rate = "500 kbit/s", queue = {queue}, on_down = "{on_down}" }}

        [stations]
        palermo = {{ latitude = "38.1 deg", longitude = "13.4 deg" }}
        rome = {{ latitude = "41.9 deg", longitude = "12.5 deg" }}
        houston = {{ latitude = "29.8 deg", longitude = "-95.4 deg" }}

        [[flows]]
        name = "a"
        count = 3
        from = "houston"
        to = "rome"
        tcp = "newreno"

        [[flows]]
        name = "b"
        count = 3
        from = "houston"
        to = "palermo"
        tcp = "newreno"

        [[flows]]
        name = "c"
        from = "rome"
        to = "palermo"
        udp = {{}}
        application = {{ poisson = {{ rate = "400 kbit/s", payload = "500 B" }} }}
        "#
    );
    run(&text, seed)
}

const POLICIES: [&str; 4] = ["drop", "send-in-vain", "hold", "reroute"];

/// `run` looks after conservation.
#[test]
fn a_handover_loses_no_packet_from_sight_whatever_the_queue() {
    for on_down in POLICIES {
        for queue in ["codel", "fq_codel", "cake", "dualpi2", "pie", "fq"] {
            let records = over_iridium(&format!("{queue:?}"), on_down, 1);
            assert!(records.handovers.len() > 2, "{on_down}");
            let delivered = records.flows.iter().filter(|flow| flow.bytes_delivered > 100_000).count();
            assert_eq!(delivered, 7, "{queue}, {on_down}");
        }
    }
}

/// A queue that is asked gives its packets up at a handover exactly as one that is not.
#[test]
fn a_handover_takes_the_same_packets_from_both_kinds_of_queue() {
    for on_down in POLICIES {
        let [computed, asked] = ["{ drop_tail = { packets = 20 } }", "{ fifo = { packets = 20 } }"]
            .map(|queue| over_iridium(queue, on_down, 4));
        let lost: u64 = computed.flows.iter().map(|flow| flow.drops[2]).sum();
        assert!(lost > 0 || ["hold", "reroute"].contains(&on_down), "{on_down}: nothing waited at a handover");
        assert_eq!(format!("{:?}", computed.flows), format!("{:?}", asked.flows), "{on_down}");
        for records in [computed, asked] {
            // They are lost at the link for which they waited.
            let of_flows: u64 = records.flows.iter().map(|flow| flow.drops[2] + flow.ack_drops[2]).sum();
            assert_eq!(records.links.iter().map(|link| link.drops[2]).sum::<u64>(), of_flows, "{on_down}");
            let cause = DropCause::LinkChange;
            assert!(records.drops.iter().all(|row| row.cause != cause || row.link.is_some()), "{on_down}");
        }
    }
}

/// The message for a wrong queue.
fn problem(queue: &str) -> String {
    let text = format!(
        r#"
        duration = "1 s"
        profile = "rfc"
        links = [{{ between = ["left", "right"], rate = "1 Mbit/s", delay = "5 ms", queue = {queue} }}]
        flows = [{{ name = "a", count = 20, from = "left", to = "right", tcp = "newreno" }}]
        "#
    );
    Scenario::from_toml(&text, "test", &[]).expect_err("it is wrong").to_string()
}

#[test]
fn wrong_queues_are_named_at_their_place() {
    let cases = [
        (r#"{ codel = { limit = 0 } }"#, &["links[0].queue.codel.limit", "1 to"][..]),
        (r#"{ codel = { target = 5 } }"#, &["links[0].queue.codel.target", "a duration such as \"10 ms\""]),
        (r#"{ fq_codel = { quantum = "100 B" } }"#, &["fq_codel.quantum", "256"]),
        (r#"{ dualpi2 = { variant = "rfc", drop_early = true } }"#, &["dualpi2.drop_early", "RFC 9332"]),
        (r#"{ codel = { taget = "5 ms" } }"#, &["taget", "target"]),
        (r#""codl""#, &["codel"]),
        (r#""tbf""#, &["needs values of its own"]),
        (r#"{ tbf = { rate = "1 Mbit/s" } }"#, &["burst", "is missing"]),
        (r#"{ codel = {}, pie = {} }"#, &["exclude each other"]),
        (r#"{ cake = { mpu = "300 B" } }"#, &["cake.mpu", "256"]),
        (r#"{ fq = { weights = ["1 B", "1 B", "1 B"] } }"#, &["fq.weights"]),
        (r#""drr""#, &["16 classes for 20 flows"]),
    ];
    for (queue, parts) in cases {
        let found = problem(queue);
        for part in parts {
            assert!(found.contains(part), "{queue}: {part:?} is not in\n{found}");
        }
    }
}

/// A class that no queue looks at says so.
#[test]
fn a_class_without_effect_is_said() {
    let with = |queue: &str| {
        let text = format!(
            r#"
            duration = "1 s"
            profile = "rfc"
            links = [{{ between = ["left", "right"], rate = "1 Mbit/s", delay = "5 ms", queue = {queue} }}]
            flows = [{{ name = "a", from = "left", to = "right", tcp = "newreno", class = 46 }}]
            "#
        );
        let scenario = Scenario::from_toml(&text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        scenario.all_warnings().iter().any(|warning| warning.contains("flows[0].class"))
    };
    assert!(with(r#""drop_tail""#) && with(r#""codel""#) && with(r#"{ cake = { tins = "besteffort" } }"#));
    assert!(!with(r#""prio""#) && !with(r#""cake""#));
}
