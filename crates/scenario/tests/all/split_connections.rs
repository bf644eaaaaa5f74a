//! Nodes that split a connection: each leg has its own round trip, the buffer is kept, everything arrives, and a share
//! of the link is one whatever is lost.

use crate::support::run;
use skyhop_sim::Records;
use skyhop_sim::records::FlowSummary;

fn flow<'r>(records: &'r Records, name: &str) -> &'r FlowSummary {
    let id = records.flow_names.iter().position(|other| other == name).unwrap();
    records.flows.iter().find(|flow| flow.flow as usize == id).unwrap()
}

/// A source, a proxy 100 ms away, a sink 270 ms further on; `second` is the rate of the second link.
fn network(duration: &str, second: &str, errors: &str, flows: &str) -> String {
    format!(
        r#"
        duration = "{duration}"
        profile = "ns-2"

        [[links]]
        between = ["source", "proxy"]
        rate = "100 Mbit/s"
        delay = "100 ms"

        [[links]]
        between = ["proxy", "sink"]
        rate = "{second}"
        delay = "270 ms"
        queue = {{ drop_tail = {{ packets = 1000 }} }}
        forward = {{ errors = [{errors}] }}

        {flows}
        "#
    )
}

/// A window of 20 segments of 1000 B per round trip: 0.74 s from end to end, split 0.2 and 0.54 s, the slower of which
/// decides. Serialisation adds 1 % to the round trips, slow start takes some of the time.
#[test]
fn each_leg_has_its_own_round_trip() {
    let tcp = "from = \"source\"\nto = \"sink\"\ntcp = { name = \"newreno\", window = 20 }";
    let plain = run(&network("200 s", "100 Mbit/s", "", &format!("[[flows]]\nname = \"a\"\n{tcp}")), 1);
    let split = format!(
        "[[flows]]\nname = \"a\"\nvia = [\"proxy\"]\n{tcp}\n\
         [[agents]]\nat = \"proxy\"\npep = {{ tcp = {{ name = \"newreno\", window = 20 }} }}"
    );
    let split = run(&network("200 s", "100 Mbit/s", "", &split), 1);
    for (goodput, rtt) in [(flow(&plain, "a").goodput_bps, 0.74), (flow(&split, "a").goodput_bps, 0.54)] {
        let want = 20.0 * 8000.0 / rtt;
        assert!((0.95 * want..=want).contains(&goodput), "{goodput} {want}");
    }
    assert!((flow(&split, "a").rtt.min_s - 0.54).abs() < 0.002);
    assert!((flow(&split, "a.to-proxy").rtt.min_s - 0.2).abs() < 0.002);
}

/// A connection through the proxy and one past it, with another window: fairness is between two, not three.
#[test]
fn fairness_counts_connections_and_not_their_legs() {
    let flow = |name: &str, more: &str, window: u32| {
        let ends = "from = \"source\"\nto = \"sink\"";
        format!("[[flows]]\nname = \"{name}\"\n{more}{ends}\ntcp = {{ name = \"newreno\", window = {window} }}\n")
    };
    let agents = "[[agents]]\nat = \"proxy\"\npep = { tcp = { name = \"newreno\", window = 20 } }";
    let flows = flow("a", "via = [\"proxy\"]\n", 20) + &flow("b", "", 5) + agents;
    let records = run(&network("40 s", "100 Mbit/s", "", &flows), 1);
    assert_eq!(records.flows.len(), 3);
    let [a, b] = ["a", "b"].map(|name| self::flow(&records, name).goodput_bps);
    let fair = (a + b).powi(2) / (2.0 * (a * a + b * b));
    assert!(fair < 0.8 && (records.jain.unwrap() - fair).abs() < 1e-12, "{fair} {:?}", records.jain);
}

/// The second leg is slow: what has arrived at the proxy and not at the sink is in its buffer or behind it, and never
/// more than the buffer holds.
#[test]
fn a_full_buffer_holds_the_leg_before_back() {
    let flows = "[[flows]]\nname = \"a\"\nvia = [\"proxy\"]\nfrom = \"source\"\nto = \"sink\"\n\
                 tcp = { name = \"newreno\", window = 500 }\n\
                 [[agents]]\nat = \"proxy\"\npep = { buffer = \"40 kB\", tcp = { name = \"newreno\", window = 30 } }";
    let run = run(&network("60 s", "200 kbit/s", "", flows), 1);
    let (first, last) = (flow(&run, "a.to-proxy"), flow(&run, "a"));
    let held = first.bytes_delivered - last.bytes_delivered;
    assert!((20_000..=41_000).contains(&held), "{held} B");
    assert_eq!(first.drops.iter().sum::<u64>(), 0);
    assert_eq!(last.drops.iter().sum::<u64>(), 0);
    // 200 kbit/s of packets of 1040 B, of which 1000 B are data.
    let most = 200e3 * 1000.0 / 1040.0;
    assert!((0.93 * most..=most).contains(&last.goodput_bps), "{}", last.goodput_bps);
}

#[test]
fn a_file_arrives_whole_through_two_proxies() {
    let text = r#"
        duration = "100 s"
        profile = "rfc"

        [[links]]
        between = ["a", "b"]
        rate = "10 Mbit/s"
        delay = "5 ms"

        [[links]]
        between = ["b", "c"]
        rate = "2 Mbit/s"
        delay = "270 ms"
        errors = [{ packet = 0.01 }]

        [[links]]
        between = ["c", "d"]
        rate = "10 Mbit/s"
        delay = "5 ms"

        [[flows]]
        name = "file"
        from = "a"
        to = "d"
        via = ["b", "c"]
        tcp = { name = "newreno" }
        application = { ftp = { bytes = "1234567 B" } }

        [[agents]]
        at = "b"
        pep = { share = "link", buffer = "500 kB" }

        [[agents]]
        at = "c"
        pep = {}
    "#;
    let run = run(text, 1);
    for name in ["file.to-b", "file.to-c", "file"] {
        assert_eq!(flow(&run, name).bytes_delivered, 1_234_567, "{name}");
    }
    assert!(flow(&run, "file").completed.is_some());
    assert_eq!(run.transfers.len(), 1);
    assert_eq!(flow(&run, "file.to-c").cwnd_mean.map(|cwnd| cwnd > 10.0), Some(true));
}

/// A share is a share: with 5 % of the packets lost two legs with shares use most of the link and divide it evenly,
/// where NewReno on the same legs cannot. Not all of it: a repetition that is lost again waits for the timer (RFC
/// 6675).
#[test]
fn legs_with_a_share_fill_the_link_whatever_is_lost() {
    let goodput = |pep: &str| {
        let flows = format!(
            "[[flows]]\nname = \"a\"\ncount = 2\nvia = [\"proxy\"]\nfrom = \"source\"\nto = \"sink\"\n\
             tcp = {{ name = \"newreno\", window = 300 }}\n\
             [[agents]]\nat = \"proxy\"\npep = {{ buffer = \"300 kB\", tcp = {{ {pep}window = 300 }} }}"
        );
        let flows = if pep.is_empty() { flows.replace("pep = {", "pep = { share = \"link\",") } else { flows };
        let run = run(&network("120 s", "2 Mbit/s", "{ data = { packet = 0.05 } }", &flows), 1);
        [flow(&run, "a-0").goodput_bps, flow(&run, "a-1").goodput_bps]
    };
    let share = goodput("");
    let most = 2e6 * 1000.0 / 1040.0 * 0.95;
    let sum = share[0] + share[1];
    assert!((0.65 * most..=most).contains(&sum), "{share:?} {most}");
    assert!((share[0] / share[1] - 1.0).abs() < 0.1, "{share:?}");
    let plain: f64 = goodput("name = \"newreno\", ").iter().sum();
    assert!(plain < 0.3 * sum, "{plain} {sum}");
}
