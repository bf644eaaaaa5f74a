//! Calls, and messages with a deadline, beside what a link of known rate and delay makes of them.

use crate::support::run;
use skyhop_scenario::Scenario;
use skyhop_sim::call::mos;

fn network(link: &str, flow: &str) -> String {
    format!(
        "duration = \"60 s\"\nprofile = \"rfc\"\n[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\n{link}\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    )
}

const G711: &str = "udp = {}\napplication = { call = { playout = { fixed = \"40 ms\" } } }";

/// Without losses the delay from mouth to ear is the packet of 20 ms, its 200 B at 1 Mbit/s, the link and the buffer;
/// G.107 rates it by its delay alone. At 331.6 ms X is 1.729, and Idd = 25 (1.740 - 3.018 + 2) = 18.05.
#[test]
fn an_undisturbed_call_is_rated_by_its_delay() {
    for (delay_ms, least, most) in [(10.0, 93.2, 93.2), (270.0, 75.1, 75.2)] {
        let records = run(&network(&format!("delay = \"{delay_ms} ms\""), G711), 1);
        let call = &records.calls[0];
        assert_eq!((call.lost, call.late, call.burst_ratio), (0, 0, None));
        // 50 frames a second, but for those that cannot be played by the end.
        assert!((2980..=3001).contains(&call.frames), "{}", call.frames);
        let delay_s = 0.02 + 0.0016 + delay_ms / 1e3 + 0.04;
        assert!((call.delay_s.unwrap() - delay_s).abs() < 1e-6, "{call:?}");
        let rating = call.rating.unwrap();
        assert!((least - 1e-9..=most + 1e-9).contains(&rating), "{rating}");
        assert_eq!(call.mos, Some(mos(rating)));
        assert!(records.warnings.is_empty(), "{:?}", records.warnings);
    }
}

/// Independent losses of 3 %: Ie-eff is 95 · 3 / (3 + 25.1) = 10.1, and runs of losses are as long as chance makes
/// them.
#[test]
fn random_losses_cost_what_the_formula_says() {
    let records = run(&network("delay = \"10 ms\"\nforward = { errors = [{ packet = 0.03 }] }", G711), 1);
    let call = &records.calls[0];
    let loss = call.lost as f64 / call.frames as f64;
    // Four standard deviations of 3000 frames.
    assert!((loss - 0.03).abs() < 4.0 * (0.03_f64 * 0.97 / 3000.0).sqrt(), "{loss}");
    assert!((call.burst_ratio.unwrap() - 1.0).abs() < 0.1, "{call:?}");
    let per_cent = 100.0 * loss;
    let expected = 93.2 - 95.0 * per_cent / (per_cent / call.burst_ratio.unwrap() + 25.1);
    assert!((call.rating.unwrap() - expected).abs() < 1e-9, "{call:?} {expected}");
}

/// A message takes 10 ms and its 128 B at 1 Mbit/s. A burst of other data every now and then makes some late.
#[test]
fn messages_miss_their_deadline_where_others_fill_the_queue() {
    let messages = |deadline: &str| {
        format!(
            "udp = {{}}\napplication = {{ messages = {{ payload = \"100 B\", every = \"50 ms\", deadline = \
             \"{deadline}\" }} }}"
        )
    };
    let alone = run(&network("delay = \"10 ms\"", &messages("12 ms")), 1);
    assert_eq!(alone.messages[0].messages, 1200);
    assert_eq!((alone.messages[0].late, alone.messages[0].lost), (0, 0));
    let too_tight = run(&network("delay = \"10 ms\"", &messages("11 ms")), 1);
    assert_eq!(too_tight.messages[0].late, 1200, "11.024 ms are more than 11 ms");
    let beside = "\n[[flows]]\nname = \"bulk\"\nfrom = \"a\"\nto = \"b\"\ntcp = \"cubic\"";
    let filled = run(&network("delay = \"10 ms\"", &(messages("12 ms") + beside)), 1);
    let summary = &filled.messages[0];
    assert!(summary.late > 900 && summary.messages == 1200, "{summary:?}");
    // The transfers say the same one by one.
    let late = filled.transfers.iter().filter(|row| row.arrived && row.time.since(row.begin) > summary.deadline);
    assert_eq!(late.count() as u64, summary.late);
    let tcp = messages("12 ms").replace("udp = {}", "tcp = \"newreno\"");
    let over_tcp = run(&network("delay = \"10 ms\"", &tcp), 1);
    assert_eq!((over_tcp.messages[0].messages, over_tcp.messages[0].lost), (1200, 0));
    assert!(
        (1..10).contains(&over_tcp.messages[0].late),
        "the first ones wait for the handshake: {:?}",
        over_tcp.messages
    );
}

#[test]
fn wrong_calls_are_refused_with_the_place() {
    let refused = |flow: &str| {
        Scenario::from_toml(&network("delay = \"10 ms\"", flow), "c.toml", &[]).expect_err("is wrong").to_string()
    };
    for (flow, said) in [
        ("tcp = \"cubic\"\napplication = { call = {} }", "flows[0].application: a call needs UDP"),
        ("udp = {}\napplication = { call = { codec = \"g712\" } }", "g711"),
        (
            "udp = {}\napplication = { call = { codec = { rate = \"64 kbit/s\", frame = \"20 ms\", ie = 0.0, bpl = \
             0.0 } } }",
            "bpl: must be more than 0",
        ),
        (
            "udp = {}\napplication = { messages = { payload = \"100 B\", every = \"50 ms\", deadline = \"0 s\" } }",
            "deadline: must be more than 0 s",
        ),
    ] {
        let found = refused(flow);
        assert!(found.contains(said), "{flow}\n{found}");
    }
    let text = network("delay = \"10 ms\"", "udp = {}\napplication = { call = {} }");
    let scenario = Scenario::from_toml(&text, "c.toml", &[]).expect("is right");
    let again = Scenario::from_json(&scenario.canonical(), "canonical", &[]).expect("is a scenario");
    assert_eq!(scenario.canonical(), again.canonical());
}
