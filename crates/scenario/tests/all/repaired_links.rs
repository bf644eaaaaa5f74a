//! Links that repair their own errors, as whole runs: what is lost, how much time it takes, and that a scenario says
//! so.

use skyhop_sim::Records;

fn run(text: &str) -> Records {
    crate::support::run(text, 1)
}

/// Datagrams of 1000 B over a link, each after 1.25 ms, until a second before the end.
fn datagrams_over(link: &str, seconds: u32) -> Records {
    let stop = seconds - 1;
    run(&format!(
        r#"
        duration = "{seconds} s"
        profile = "rfc"

        [[links]]
        between = ["left", "right"]
        delay = "50 ms"
        {link}

        [[flows]]
        name = "a"
        from = "left"
        to = "right"
        udp = {{ header = "0 B" }}
        application = {{ constant_rate = {{ rate = "6.4 Mbit/s", payload = "1000 B" }} }}
        stop = "{stop} s"
        "#
    ))
}

/// The same over 8 Mbit/s for 199 s.
fn datagrams(forward: &str) -> Records {
    let link = format!("rate = \"8 Mbit/s\"\nqueue = \"unlimited\"\nforward = {{ {forward} }}");
    datagrams_over(&link, 200)
}

/// Selective repeat, P = 0.1, four tries: 1e-4 of 159 200 packets are lost, 16 ± 4 standard deviations; the transmitter
/// is busy for 1.111 transmissions of each; a packet that takes four is three round trips late.
#[test]
fn repetition_leaves_few_losses_and_takes_its_time() {
    let records = datagrams("errors = [{ packet = 0.1 }], repair = { arq = { tries = 4 } }");
    let flow = &records.flows[0];
    assert!((1..=32).contains(&flow.drops[1]), "{}", flow.drops[1]);
    let busy = records.links[0].utilisation;
    let want = 199.0 / 200.0 * 0.8 * 1.111;
    assert!((busy / want - 1.0).abs() < 0.01, "{busy} {want}");
    assert!((flow.delay.min_s - 0.051).abs() < 1e-6, "{}", flow.delay.min_s);
    assert!((0.351..0.40).contains(&flow.delay.max_s), "{}", flow.delay.max_s);
    // In order every packet waits for those before it: of 80 packets in a round trip some failed.
    assert!(flow.delay.median_s > 0.1, "{}", flow.delay.median_s);
}

/// The same with answers of 500 B: each of the 1.111 transmissions of a packet has one, half as long, on the link back,
/// which is idle otherwise. A failure is known half a packet later: a packet that takes four is 1.5 ms later than
/// above.
#[test]
fn answers_take_the_link_back() {
    let records = datagrams("errors = [{ packet = 0.1 }], repair = { arq = { tries = 4, answer = \"500 B\" } }");
    let want = 199.0 / 200.0 * 0.8 * 1.111;
    let [there, back] = [0, 1].map(|link| records.links[link].utilisation);
    assert!((there / want - 1.0).abs() < 0.01, "{there} {want}");
    assert!((back / there - 0.5).abs() < 1e-3, "{back} {there}");
    let plain = datagrams("errors = [{ packet = 0.1 }], repair = { arq = { tries = 4 } }");
    assert_eq!(plain.links[1].utilisation, 0.0);
    let later = records.flows[0].delay.mean_s - plain.flows[0].delay.mean_s;
    assert!((0.0..0.0015).contains(&later), "{later}");
}

/// Answers of 1000 B over a link back of a tenth of the rate: it carries 100 of them per second, so every failure waits
/// for ever longer, and what arrives in order is bound by it.
#[test]
fn a_link_back_that_is_too_slow_holds_repetition_up() {
    let link = |answer: &str| {
        format!(
            r#"
            queue = {{ drop_tail = {{ packets = 100 }} }}
            forward.rate = "8 Mbit/s"
            forward.errors = [{{ packet = 0.1 }}]
            forward.repair = {{ arq = {{ tries = 9{answer} }} }}
            backward = {{ rate = "800 kbit/s" }}
            "#
        )
    };
    let carried = |answer| datagrams_over(&link(answer), 100).flows[0].packets_received as f64 / 99.0;
    assert!((carried("") / 800.0 - 1.0).abs() < 0.01);
    let small = carried(", answer = \"40 B\"");
    assert!((small / 800.0 - 1.0).abs() < 0.01, "{small}: 889 answers of 40 B are 284 kbit/s");
    let large = carried(", answer = \"1000 B\"");
    assert!(large < 200.0, "{large}");
}

/// As they come 90 % are not delayed, but for the queue that repetitions make.
#[test]
fn without_order_only_the_failed_are_late() {
    let records = datagrams("errors = [{ packet = 0.1 }], repair = { arq = { tries = 4 }, order = \"as-it-comes\" }");
    let delay = &records.flows[0].delay;
    assert!(delay.median_s < 0.06 && delay.p95_s > 0.15, "{} {}", delay.median_s, delay.p95_s);
}

/// Go-back-N with a round trip of five packets needs (1 + 0.5) / 0.9 transmissions each: more than the link has for
/// these packets, and what arrives is what the formula leaves.
#[test]
fn go_back_n_pays_a_round_trip_for_each_failure() {
    let arq = "arq = { tries = 20, round_trip = \"5 ms\", repeats = \"go-back-n\" }";
    let records = datagrams(&format!("errors = [{{ packet = 0.1 }}], repair = {{ {arq} }}"));
    let carried = records.flows[0].packets_received as f64 / 200.0;
    let want = 1000.0 * 0.9 / (1.0 + 5.0 * 0.1);
    assert!((carried / want - 1.0).abs() < 0.01, "{carried} {want}");
}

/// Reed-Solomon (255, 223) at 3 % of wrong bytes: a block fails with 2.016e-3, a packet of four blocks and one of 108 B
/// with 8.04e-3 and next to nothing more; 1160 B instead of 1000 B take the transmitter.
#[test]
fn a_code_leaves_the_losses_of_the_formula() {
    let records = datagrams("errors = [{ data = { byte = 0.03 } }], repair = { code = { n = 255, k = 223 } }");
    let flow = &records.flows[0];
    let lost = flow.drops[1] as f64 / flow.packets_sent as f64;
    let want = 1.0 - (1.0f64 - 0.002_016_076_612_597_95).powi(4);
    // Four standard deviations of a binomial share.
    assert!((lost - want).abs() < 4.0 * (want / flow.packets_sent as f64).sqrt(), "{lost} {want}");
    let busy = records.links[0].utilisation;
    assert!((busy / (199.0 / 200.0 * 0.8 * 1.16) - 1.0).abs() < 0.002, "{busy}");
}

/// (24, 20) at a loss of 10 %: of the blocks 8.5 % fail, and lose those of their data that are missing: by the binomial
/// sum Σ_{i>4} C(24,i) 0.1^i 0.9^(24-i) i / 24 = 1.93 % of all data.
#[test]
fn parity_takes_its_share_of_the_rate_and_repairs_the_rest() {
    let records = datagrams("errors = [{ packet = 0.1 }], repair = { erasure = { n = 24, k = 20 } }");
    let flow = &records.flows[0];
    let lost = flow.drops[1] as f64 / flow.packets_sent as f64;
    assert!((0.0173..0.0213).contains(&lost), "{lost}");
    let busy = records.links[0].utilisation;
    assert!((busy / (199.0 / 200.0 * 0.8 * 1.2) - 1.0).abs() < 0.002, "{busy}");
}

/// 2 % of loss, which leaves a Reno of 560 ms next to nothing (√1.5 / √0.02 = 8.7 packets per round trip, 124 kbit/s),
/// are none with selective repeat: the window of 50 packets per round trip is 714 kbit/s.
#[test]
fn a_tcp_over_a_repaired_link_is_bound_by_its_window_alone() {
    let goodput = |repair: &str| {
        let records = run(&format!(
            r#"
            duration = "300 s"
            profile = "rfc"

            [[links]]
            between = ["left", "right"]
            rate = "10 Mbit/s"
            delay = "280 ms"
            forward = {{ errors = [{{ packet = 0.02 }}] {repair} }}

            [[flows]]
            name = "a"
            from = "left"
            to = "right"
            tcp = {{ name = "newreno", mss = "1000 B", window = 50 }}
            "#
        ));
        (records.flows[0].goodput_bps, records.flows[0].retransmissions)
    };
    let (plain, _) = goodput("");
    assert!((60e3..200e3).contains(&plain), "{plain}");
    let (with_arq, _) = goodput(", repair = { arq = { tries = 10, round_trip = \"20 ms\" } }");
    // A repetition adds 20 ms to a round trip of 561, which most windows of 50 meet.
    assert!((640e3..714e3).contains(&with_arq), "{with_arq}");
    let (with_parity, again) = goodput(", repair = { erasure = { n = 14, k = 10 } }");
    assert!((600e3..714e3).contains(&with_parity), "{with_parity}, {again} again");
}

/// An uplink to Iridium with a code and selective repeat through handovers: every packet is accounted for, and
/// handovers cause all losses, errors none.
#[test]
fn satellites_repair_through_handovers() {
    for on_down in ["drop", "send-in-vain", "hold", "reroute"] {
        for repair in [
            "arq = { tries = 20 }",
            "arq = { tries = 20, repeats = \"go-back-n\" }",
            "erasure = { n = 12, k = 6 }",
            "code = { n = 255, k = 223 }",
            "code = { n = 255, k = 239 }, arq = { tries = 5 }, order = \"as-it-comes\"",
        ] {
            let records = run(&format!(
                r#"
                duration = "1200 s"
                profile = "ns-2"

                [constellation]
                preset = "iridium"
                gsl = {{ on_down = "{on_down}", uplink = {{ errors = [{{ byte = 1e-4 }}], repair = {{ {repair} }} }} }}

                [stations]
                berkeley = {{ latitude = "37.9 deg", longitude = "-122.3 deg" }}
                chennai = {{ latitude = "13.04 deg", longitude = "80.17 deg" }}

                [[flows]]
                name = "a"
                from = "berkeley"
                to = "chennai"
                udp = {{}}
                application = {{ constant_rate = {{ rate = "200 kbit/s", payload = "1000 B" }} }}
                "#
            ));
            let flow = &records.flows[0];
            assert!(records.handovers.len() > 2, "{}", records.handovers.len());
            let lost = flow.drops[1] as f64 / flow.packets_sent as f64;
            // Unrepaired 9.5 %; of blocks of twelve more than six are lost with 1e-4.
            assert!(lost < 5e-4, "{on_down} {repair}: {lost}");
            assert!(flow.packets_received as f64 > 0.95 * flow.packets_sent as f64, "{on_down} {repair}");
        }
    }
}
