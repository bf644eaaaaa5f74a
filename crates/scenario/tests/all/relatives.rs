//! Relatives of error reports, as whole runs: Snoop repairs behind its node, CETEN weighs cuts, NAKs repair at once.

use skyhop_sim::records::FlowSummary;

/// A source, a node and a sink, and the links between them.
fn over([first, second]: [&str; 2], tcp: &str, agent: &str) -> FlowSummary {
    let text = format!(
        r#"
        duration = "200 s"
        profile = "ns-2"

        [[links]]
        between = ["source", "node"]
        {first}

        [[links]]
        between = ["node", "sink"]
        {second}

        [[flows]]
        name = "ftp"
        from = "source"
        to = "sink"
        tcp = {{ {tcp} }}

        {agent}
        "#
    );
    crate::support::run(&text, 1).flows.remove(0)
}

/// A node that is `far` ms away, and behind it a link of 2 Mbit/s and `near` ms that loses data.
fn run([far, near]: [u32; 2], errors: &str, tcp: &str, agent: &str) -> FlowSummary {
    // Room for what a sender that cuts nothing has outstanding.
    let queue = if tcp.contains("nak") { ", queue = { drop_tail = { packets = 200 } }" } else { "" };
    let first = format!("rate = \"10 Mbit/s\"\ndelay = \"{far} ms\"");
    let second = format!("rate = \"2 Mbit/s\"\ndelay = \"{near} ms\"\nforward = {{ errors = [{errors}] {queue} }}");
    over([&first, &second], tcp, agent)
}

const SNOOP: &str = "[[agents]]\nat = \"node\"\nsnoop = {}";

/// 2 % of loss on a short link behind a long one: the sender hardly learns of it. A window of 60 packets of 1000 B is
/// what 220 ms at 2 Mbit/s hold, 1.92 Mbit/s of user data; without help √1.5 / √0.02 = 8.7 packets per round trip are
/// 0.3 Mbit/s.
#[test]
fn snoop_repairs_a_short_link_without_the_sender() {
    let tcp = "name = \"newreno\", window = 60";
    let plain = run([100, 5], "{ data = { packet = 0.02 } }", tcp, "");
    let helped = run([100, 5], "{ data = { packet = 0.02 } }", tcp, SNOOP);
    assert!((0.2e6..0.5e6).contains(&plain.goodput_bps), "{}", plain.goodput_bps);
    assert!((1.5e6..1.92e6).contains(&helped.goodput_bps), "{}", helped.goodput_bps);
    // Of all that crosses the lossy link, copies among it, 2 % are lost.
    assert!((helped.delivery_fraction - 0.98).abs() < 0.005, "{}", helped.delivery_fraction);
    assert!(helped.cwnd_cuts * 20 < plain.cwnd_cuts, "{} {}", helped.cwnd_cuts, plain.cwnd_cuts);
    assert!(helped.retransmissions * 4 < helped.drops[1], "{} {}", helped.retransmissions, helped.drops[1]);
}

/// Where the lossy link is most of the path, the node learns of a loss hardly sooner than the sender, whose timer soon
/// expires. The node still helps, but less than half as much as above.
#[test]
fn snoop_gains_little_where_the_lossy_link_is_the_way() {
    let tcp = "name = \"newreno\", window = 60";
    let errors = "{ data = { packet = 0.02 } }";
    let gain = |delays| run(delays, errors, tcp, SNOOP).goodput_bps / run(delays, errors, tcp, "").goodput_bps;
    let (short, long) = (gain([100, 5]), gain([5, 100]));
    assert!(short > 3.0 && long < 0.75 * short, "{short} {long}");
}

/// What a full queue behind the node drops was not kept: a window of 500 packets fills it, and the sender cuts as
/// without.
#[test]
fn snoop_leaves_congestion_to_the_sender() {
    let tcp = "name = \"newreno\", window = 500";
    let [plain, helped] = ["", SNOOP].map(|agent| run([20, 5], "", tcp, agent));
    assert!(plain.drops[0] > 0 && plain.cwnd_cuts > 5, "{} {}", plain.drops[0], plain.cwnd_cuts);
    assert!(helped.cwnd_cuts * 2 > plain.cwnd_cuts, "{} {}", helped.cwnd_cuts, plain.cwnd_cuts);
    assert!((helped.goodput_bps / plain.goodput_bps - 1.0).abs() < 0.1);
}

const SURVIVAL: &str = "[[agents]]\nat = \"node\"\nsurvival = { links = [\"node->sink\"] }";

/// When all losses are corruption, CETEN hardly cuts the window and multiplies the goodput. A full queue is congestion:
/// the window is halved.
#[test]
fn ceten_cuts_for_congestion_alone() {
    let tcp = "name = \"newreno\", window = 60";
    let errors = "{ data = { byte = 1e-5 } }";
    let plain = run([100, 5], errors, tcp, "");
    for cut in ["\"ceten\"", "{ ceten = \"average\" }", "{ ceten = \"chance\" }"] {
        let weighed = run([100, 5], errors, &format!("{tcp}, notification = {cut}"), SURVIVAL);
        assert!(weighed.goodput_bps > 1.3 * plain.goodput_bps, "{cut}: {} {}", weighed.goodput_bps, plain.goodput_bps);
        assert!(weighed.goodput_bps < 1.92e6, "{cut}");
    }
    let congested = |more: &str, agent| run([20, 5], "", &format!("name = \"newreno\", window = 500{more}"), agent);
    let (plain, weighed) = (congested("", ""), congested(", notification = \"ceten\"", SURVIVAL));
    assert_eq!((plain.cwnd_cuts, plain.goodput_bps), (weighed.cwnd_cuts, weighed.goodput_bps));
}

/// A sender behind a lossy link of its own: 2 % of loss on 5 ms, 100 ms behind it. Marked duplicate ACKs repair without
/// a cut; a repetition that is lost again (2 %) waits for the timer, so that there are few timeouts and no other cuts.
/// As the window is not inflated, a hole still costs its round trip.
#[test]
fn eln_repairs_a_lossy_first_link_without_a_cut() {
    let links = [
        "rate = \"2 Mbit/s\"\ndelay = \"5 ms\"\nforward = { errors = [{ data = { packet = 0.02 } }] }",
        "rate = \"10 Mbit/s\"\ndelay = \"100 ms\"",
    ];
    let run = |more: &str, agent: &str| over(links, &format!("name = \"newreno\", window = 60 {more}"), agent);
    let plain = run("", "");
    // Where the lossy link ends, or where its ACKs come from there.
    for agent in ["at = \"node\"\neln = { links = [\"source->node\"] }", "at = \"source\"\neln = {}"] {
        let told = run(", notification = \"eln\"", &format!("[[agents]]\n{agent}"));
        assert_eq!(told.cwnd_cuts, told.timeouts, "{agent}");
        assert!(told.timeouts * 4 < plain.cwnd_cuts, "{agent}: {} {}", told.timeouts, plain.cwnd_cuts);
        assert!(
            (1.2 * plain.goodput_bps..0.96e6).contains(&told.goodput_bps),
            "{agent}: {} {}",
            told.goodput_bps,
            plain.goodput_bps
        );
    }
}

/// ELN takes losses behind its link for congestion: a queue that overflows there cuts the window.
#[test]
fn eln_leaves_congestion_behind_its_link_to_the_sender() {
    let tcp = "name = \"newreno\", window = 500";
    let agent = "[[agents]]\nat = \"node\"\neln = { links = [\"source->node\"] }";
    let plain = run([20, 5], "", tcp, "");
    let told = run([20, 5], "", &format!("{tcp}, notification = \"eln\""), agent);
    assert!(plain.drops[0] > 0);
    assert_eq!((plain.cwnd_cuts, plain.goodput_bps), (told.cwnd_cuts, told.goodput_bps));
}

/// Where the path stays as it is, it matters little how long a sender remembers its losses; how fast it forgets is held
/// to a formula beside the sender's code.
#[test]
fn the_memory_of_ceten_reaches_the_sender() {
    let tcp =
        |memory: &str| format!("name = \"newreno\", window = 60, notification = {{ ceten = {{ memory = {memory} }} }}");
    let [short, long] =
        ["100", "100000"].map(|memory| run([100, 5], "{ data = { byte = 1e-5 } }", &tcp(memory), SURVIVAL));
    assert_ne!(short.goodput_bps, long.goodput_bps);
    assert!((short.goodput_bps / long.goodput_bps - 1.0).abs() < 0.3, "{} {}", short.goodput_bps, long.goodput_bps);
}

/// 2 % of loss over 210 ms: every hole is repaired when it is known, also when the repetition is lost, so that hardly a
/// timeout comes, and of the rate most of the share that survives is goodput. Nothing is cut but by timeouts.
#[test]
fn naks_repair_without_a_cut_or_a_timeout() {
    let tcp = "name = \"sack\", sack_rules = \"nak\", window = 200, sack_memory = 8";
    let flow = run([5, 100], "{ data = { packet = 0.02 } }", tcp, "");
    let most = 2e6 * 1000.0 / 1040.0 * 0.98;
    assert!(flow.timeouts <= 2 && flow.cwnd_cuts == flow.timeouts, "{} {}", flow.timeouts, flow.cwnd_cuts);
    assert!((0.85 * most..=most).contains(&flow.goodput_bps), "{} {most}", flow.goodput_bps);
    // Once for each that was lost, also in the first queue, which bursts after a hole overflow.
    let again = flow.retransmissions as f64 / (flow.drops[0] + flow.drops[1]) as f64;
    assert!((0.98..1.05).contains(&again), "{again}");
}
