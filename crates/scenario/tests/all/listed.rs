//! Lists of packets that are lost, marked, late or doubled, and times in which a link loses or holds all.

use crate::support::run;
use skyhop_scenario::Scenario;
use skyhop_sim::records::{DropCause, FlowSummary, Records};

const TCPS: [&str; 4] = [
    "\"newreno\"",
    "\"sack\"",
    "{ profile = \"linux\", name = \"reno\" }",
    "{ profile = \"linux\", name = \"cubic\" }",
];

/// A file of 300 kB over 8 Mbit/s and 20 ms. The list stands behind the link of the data, `back` behind that of the
/// ACKs.
fn text(tcp: &str, list: &str, back: &str) -> String {
    let errors =
        |list: &str| if list.is_empty() { String::new() } else { format!("errors = [{{ list = {{ {list} }} }}]") };
    format!(
        "duration = \"30 s\"\nprofile = \"rfc\"\n\
         [[links]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \
         \"unlimited\"\n\
         forward = {{ {} }}\nbackward = {{ {} }}\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntcp = {tcp}\napplication = {{ ftp = {{ bytes = \"300 kB\" \
         }} }}\n",
        errors(list),
        errors(back)
    )
}

fn records(tcp: &str, list: &str, back: &str) -> Records {
    run(&text(tcp, list, back), 1)
}

fn flow(tcp: &str, list: &str, back: &str) -> FlowSummary {
    let flow = records(tcp, list, back).flows[0].clone();
    assert_eq!(flow.bytes_delivered, 300_000, "{tcp}: {list} {back}");
    assert!(flow.completed.is_some(), "{tcp}: {list} {back}");
    flow
}

fn completed_s(flow: &FlowSummary) -> f64 {
    flow.completed.expect("complete").as_secs_f64()
}

#[test]
fn a_listed_segment_is_lost_once_and_sent_again() {
    for tcp in TCPS {
        let flow = flow(tcp, "data = [{ packets = 40 }]", "");
        assert_eq!((flow.drops[DropCause::Error as usize], flow.retransmissions), (1, 1), "{tcp}: {flow:?}");
        assert_eq!((flow.timeouts, flow.fast_retransmits, flow.packets_duplicate), (0, 1, 0), "{tcp}: {flow:?}");
        // 41 to 49, every fourth: 41, 45, 49.
        let several = self::flow(tcp, "data = [{ packets = [41, 49], every = 4 }]", "");
        assert_eq!((several.drops[DropCause::Error as usize], several.retransmissions), (3, 3), "{tcp}: {several:?}");
    }
}

#[test]
fn the_opening_packets_have_classes_of_their_own() {
    for tcp in TCPS {
        let usual = completed_s(&flow(tcp, "", ""));
        // The timeout of a SYN is a second (RFC 6298 §2.1); a window of one segment follows for some.
        for (list, back) in [("syns = [{ packets = 1 }]", ""), ("", "syn_acks = [{ packets = 1 }]")] {
            let later = completed_s(&flow(tcp, list, back)) - usual;
            assert!((1.0..2.0).contains(&later), "{tcp}: {list}{back}: {later}");
        }
        // The first ACK is that of data: nothing waits a second for it.
        let lost = flow(tcp, "", "acks = [{ packets = 1 }]");
        assert!(completed_s(&lost) - usual < 0.3, "{tcp}: {lost:?}");
        assert_eq!(lost.ack_drops[DropCause::Error as usize], 1, "{tcp}");
        assert_eq!(lost.retransmissions, 0, "{tcp}: the next ACK answers it");
    }
}

#[test]
fn a_mark_cuts_the_window_of_who_is_capable_of_ecn() {
    let capable = ["{ name = \"newreno\", ecn = \"on\" }", "{ profile = \"linux\", name = \"cubic\", ecn = \"on\" }"];
    for tcp in capable {
        let flow = flow(tcp, "data = [{ packets = 40, outcome = \"mark\" }]", "");
        assert_eq!((flow.cwnd_cuts, flow.retransmissions), (1, 0), "{tcp}: {flow:?}");
    }
    for tcp in TCPS {
        assert_eq!(flow(tcp, "data = [{ packets = 40, outcome = \"mark\" }]", "").cwnd_cuts, 0, "{tcp}");
    }
}

#[test]
fn a_late_segment_is_overtaken_and_a_doubled_one_comes_twice() {
    for tcp in TCPS {
        let doubled = flow(tcp, "data = [{ packets = 40, outcome = { duplicate = \"3 ms\" } }]", "");
        assert_eq!((doubled.packets_duplicate, doubled.retransmissions), (1, 0), "{tcp}: {doubled:?}");
        assert_eq!(doubled.packets_received, doubled.packets_sent + 1, "{tcp}");
        let again = flow(tcp, "", "acks = [{ packets = 9, outcome = { duplicate = \"3 ms\" } }]");
        assert_eq!(again.retransmissions, 0, "{tcp}: one duplicate ACK proves no loss");
        // A segment takes 1.5 ms: 6 ms later it comes behind four others, after which RFC 5681 repeats it.
        let late = flow(tcp, "data = [{ packets = 40, outcome = { delay = \"6 ms\" } }]", "");
        assert_eq!(late.drops[DropCause::Error as usize], 0, "{tcp}");
        assert_eq!(late.packets_duplicate, late.retransmissions, "{tcp}: the original was not lost");
        if tcp == "\"newreno\"" {
            assert!(late.retransmissions >= 1, "{late:?}");
        }
    }
}

#[test]
fn a_link_that_holds_sends_the_same_packets_later_and_one_that_loses_none() {
    let datagrams = |list: &str| {
        let text = text("", list, "").replace("tcp = ", "udp = {}").replace(
            "{ ftp = { bytes = \"300 kB\" } }",
            "{ constant_rate = { rate = \"80 kbit/s\", payload = \"1000 B\" } }",
        );
        run(&text, 1).flows[0].clone()
    };
    let (usual, held, lost) =
        (datagrams(""), datagrams("hold = [[\"10 s\", \"11 s\"]]"), datagrams("lose = [[\"10 s\", \"11 s\"]]"));
    assert_eq!(held.packets_received, usual.packets_received);
    assert!((held.delay.max_s - usual.delay.max_s - 1.0).abs() < 0.01, "{:?}", held.delay);
    assert!(held.interarrival.max_s > 1.0, "{:?}", held.interarrival);
    assert_eq!(usual.packets_received - lost.packets_received, 10, "ten datagrams a second");
    for tcp in TCPS {
        let held = flow(tcp, "hold = [[\"0.2 s\", \"0.35 s\"]]", "");
        let later = completed_s(&held) - completed_s(&flow(tcp, "", ""));
        assert!((0.1..0.2).contains(&later), "{tcp}: {later}");
    }
}

#[test]
fn lists_that_make_no_sense_are_refused() {
    for (list, part) in [
        ("", "names nothing"),
        ("data = [{ packets = 0 }]", "use 1"),
        ("data = [{ packets = [9, 3] }]", "not a range"),
        ("data = [{ packets = 3, every = 2 }]", "single packet"),
        ("data = [{ packets = 3, outcome = \"lost\" }]", "unknown here"),
        ("data = [{ packets = 3, outcome = { delay = \"0 s\" } }]", "more than 0 s"),
        ("hold = [[\"2 s\", \"1 s\"]]", "not after"),
        ("hold = [[\"1 s\", \"3 s\"], [\"2 s\", \"4 s\"]]", "follow each other"),
    ] {
        let text = text("\"newreno\"", "x", "").replace("{ x }", &format!("{{ {list} }}"));
        match Scenario::from_toml(&text, "test", &[]) {
            Ok(_) => panic!("{list} was accepted"),
            Err(problems) => assert!(problems.to_string().contains(part), "{list}\n{problems}"),
        }
    }
}
