//! Every option of a queue, a repair, a profile, a QUIC stack and of the records either changes a run or is called
//! idle: each is tried, with other values, over small networks.

use skyhop_scenario::Scenario;
use skyhop_sim::Simulation;

/// A scenario with `@` where the options of one table stand.
struct Case {
    what: &'static str,
    texts: Vec<String>,
    /// Options that every trial has.
    with: &'static str,
    /// Options, and other values of each.
    options: &'static [(&'static str, &'static [&'static str])],
}

const UDP: &str = "[[flows]]\nname = \"u\"\nfrom = \"a\"\nto = \"b\"\nclass = 46\nudp = {}\n\
                   application = { poisson = { rate = \"400 kbit/s\", payload = \"300 B\" } }\n";
const BURSTS: &str = "[[flows]]\nname = \"v\"\nfrom = \"a\"\nto = \"b\"\nclass = 1\nudp = {}\n\
                      [flows.application.on_off]\nrate = \"5 Mbit/s\"\npayload = \"1000 B\"\n\
                      on = \"500 ms\"\noff = \"500 ms\"\n";

fn tcp(name: &str, tcp: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\nclass = 8\ntcp = {{ {tcp} }}\n")
}

fn wire(rate: &str, keys: &str, rest: &str) -> String {
    format!(
        "duration = \"8 s\"\n[[links]]\nbetween = [\"a\", \"b\"]\ndelay = \"20 ms\"\nrate = \"{rate}\"\n{keys}\n{rest}\
         [records]\ngrid = \"100 ms\"\n"
    )
}

/// A queue behind flows of all kinds, and behind some whose packets cannot carry a mark.
fn queue(name: &str) -> Vec<String> {
    let key = format!("forward = {{ queue = {{ {name} = {{ @ }} }} }}");
    let cubic = tcp("c", "name = \"cubic\"");
    let marked: String = ["e", "f", "g"].map(|flow| tcp(flow, "name = \"cubic\", ecn = \"on\"")).concat()
        + &tcp("p", "name = \"prague\"");
    let sparse: String = (0..5)
        .map(|i| BURSTS.replace("\"v\"", &format!("\"s{i}\"")).replace("1000 B", &format!("{} B", 200 + 300 * i)))
        .collect::<String>()
        .replace("5 Mbit/s", "2 Mbit/s")
        .replace("off = \"500 ms\"", "off = \"1600 ms\"");
    vec![
        wire("2 Mbit/s", &key, &(marked.clone() + &cubic + UDP)),
        wire("2 Mbit/s", &key, &(tcp("e", "name = \"cubic\", ecn = \"on\"") + BURSTS + UDP)),
        wire("1 Mbit/s", &key, &(sparse + &tcp("p", "name = \"prague\""))),
        wire("1 Mbit/s", &key, &marked),
        wire("2 Mbit/s", &key, &(cubic + BURSTS)),
    ]
}

fn cases() -> Vec<Case> {
    type Options = &'static [(&'static str, &'static [&'static str])];
    const MARKS: Options = &[("ecn", &["true", "false"]), ("ce_threshold", &["\"2 ms\""])];
    const MASK: Options = &[("ce_threshold_mask", &["3", "255"]), ("ce_threshold_selector", &["1", "2"])];
    let queues: &[(&str, &str, Options)] = &[
        ("codel", "", MARKS),
        ("codel", "", MASK),
        ("codel", "ce_threshold = \"1 ms\"", MASK),
        ("codel", "ce_threshold = \"1 ms\", ce_threshold_mask = 3", &[("ce_threshold_selector", &["1", "2"])]),
        ("fq_codel", "", MARKS),
        ("fq_codel", "", MASK),
        ("fq_codel", "", &[("quantum", &["\"300 B\""]), ("flows", &["1", "2"]), ("memory_limit", &["\"20 kB\""])]),
        ("fq_codel", "flows = 1", &[("quantum", &["\"300 B\"", "\"9000 B\""]), ("interval", &["\"20 ms\""])]),
        ("pie", "", &[("ecn_limit", &["0", "100"]), ("target", &["\"40 ms\""])]),
        ("pie", "ecn_limit = 50", &[("ecn", &["true"])]),
        ("pie", "ecn = true", &[("ecn_limit", &["0", "100"])]),
        ("fq_pie", "", &[("ecn_limit", &["0", "100"]), ("quantum", &["\"300 B\""])]),
        ("fq_pie", "ecn_limit = 50", &[("ecn", &["true"])]),
        ("fq_pie", "flows = 1", &[("quantum", &["\"300 B\"", "\"9000 B\""])]),
        ("blue", "limit = 20", &[("ecn", &["true"]), ("increase", &["0.1"])]),
        (
            "dualpi2",
            "",
            &[
                ("step", &["{ packets = 3 }"]),
                ("min_qlen_step", &["3"]),
                ("c_protection", &["50"]),
                ("ecn_mask", &["3"]),
                ("coupling", &["4"]),
            ],
        ),
        ("sch_red", "", &[("ecn", &["true"]), ("burst", &["200"]), ("weight_log", &["3"]), ("packet", &["\"300 B\""])]),
        ("sch_red", "weight_log = 10", &[("burst", &["100", "200"]), ("bandwidth", &["\"100 kbit/s\""])]),
        ("sch_red", "ecn = true", &[("harddrop", &["true"]), ("nodrop", &["true"])]),
        ("sch_red", "ecn = true, nodrop = true", &[("harddrop", &["true"])]),
        ("sfq", "", &[("quantum", &["\"300 B\""]), ("perturb", &["\"200 ms\""]), ("flows", &["2"])]),
        ("sfq", "divisor = 1, flows = 1", &[("quantum", &["\"300 B\""]), ("perturb", &["\"200 ms\""])]),
        (
            "fq",
            "",
            &[("pacing", &["false"]), ("low_rate_threshold", &["\"2 Mbit/s\""]), ("ce_threshold", &["\"1 ms\""])],
        ),
        ("fq", "flow_max_rate = \"1 Mbit/s\"", &[("pacing", &["false"]), ("low_rate_threshold", &["\"2 Mbit/s\""])]),
        ("fq", "flow_max_rate = \"1 Mbit/s\", pacing = false", &[("low_rate_threshold", &["\"2 Mbit/s\""])]),
        ("drop_tail", "", &[("mark_above", &["3"]), ("priority", &["\"ignored\""]), ("packets", &["9"])]),
        ("drop_front", "", &[("mark_above", &["3"]), ("priority", &["\"ignored\""]), ("packets", &["9"])]),
        ("red", "", &[("ecn", &["true"]), ("priority", &["\"ignored\""]), ("max_p", &["0.5"])]),
        ("red", "ecn = true", &[("mark_p", &["0.01"])]),
    ];
    let of_queue = |&(what, with, options)| Case { what, texts: queue(what), with, options };
    let mut cases: Vec<Case> = queues.iter().map(of_queue).collect();
    let cubic = tcp("c", "name = \"cubic\"");
    let repair = |errors: &str, repair: &str, flows: &str| {
        vec![wire("2 Mbit/s", &format!("errors = [{errors}]\nrepair = {{ {repair} }}"), flows)]
    };
    let lossy = "{ packet = 0.1 }";
    cases.extend([
        Case {
            what: "arq",
            texts: repair(lossy, "arq = { @ }", &cubic),
            with: "tries = 3",
            options: &[("round_trip", &["\"100 ms\""]), ("repeats", &["\"go-back-n\""]), ("answer", &["\"800 B\""])],
        },
        Case {
            what: "arq with one try",
            texts: repair(lossy, "arq = { @ }", &cubic),
            with: "tries = 1",
            options: &[("round_trip", &["\"100 ms\"", "\"1 ms\""]), ("answer", &["\"800 B\""])],
        },
        Case {
            what: "arq that goes back with one try",
            texts: repair(lossy, "arq = { @ }", &cubic),
            with: "tries = 1, repeats = \"go-back-n\"",
            options: &[("round_trip", &["\"100 ms\""])],
        },
        Case {
            what: "arq without errors",
            texts: repair("", "arq = { @ }", &cubic),
            with: "tries = 3",
            options: &[("repeats", &["\"go-back-n\""]), ("round_trip", &["\"100 ms\""])],
        },
        Case {
            what: "order",
            texts: repair(lossy, "@, arq = { tries = 3 }", &cubic),
            with: "",
            options: &[("order", &["\"as-it-comes\""])],
        },
        Case {
            what: "order that is kept by going back",
            texts: repair(lossy, "@, arq = { tries = 3, repeats = \"go-back-n\" }", &cubic),
            with: "",
            options: &[("order", &["\"as-it-comes\""])],
        },
    ]);
    let starlink = wire("9 Mbit/s", "profile = { starlink = { @ } }", &cubic).replace("8 s", "50 s");
    cases.extend([
        Case {
            what: "slots",
            texts: vec![starlink.replace("rate = \"9 Mbit/s\"", "")],
            with: "values = \"loaded\"",
            options: &[
                ("correlation", &["0.9"]),
                ("rate_correlation", &["0.9"]),
                ("reroute", &["0.9"]),
                ("stay", &["0.9"]),
                ("in_flight_loss", &["0.9"]),
                ("spread", &["[0.5, 2.0]"]),
                ("jitter_every", &["\"50 ms\""]),
                ("spike", &["[\"5 ms\", \"9 ms\"]"]),
                ("edge_loss", &["[0.05, 0.06]"]),
                ("loss", &["0.01", "[0.0, 0.004]", "[0.0, 0.0, 0.05]"]),
            ],
        },
        Case {
            what: "slots of one rate",
            texts: vec![starlink.clone()],
            with: "step = \"0 ms\", before = \"0 s\", after = \"0 s\"",
            options: &[
                ("correlation", &["0.9"]),
                ("rate_correlation", &["0.9"]),
                ("reroute", &["0.9"]),
                ("stay", &["0.9"]),
                ("in_flight_loss", &["0.9"]),
                ("spike", &["[\"5 ms\", \"9 ms\"]"]),
                ("edge_loss", &["[0.05, 0.06]"]),
                ("spread", &["[0.5, 2.0]"]),
            ],
        },
        Case {
            what: "slots without jitter",
            texts: vec![starlink],
            with: "jitter = \"0 ms\"",
            options: &[
                ("spread", &["[0.5, 2.0]"]),
                ("jitter_every", &["\"50 ms\""]),
                ("correlation", &["0.9"]),
                ("busy_jitter", &["\"9 ms\""]),
                ("ripple", &["[0.5, 1.5]"]),
            ],
        },
    ]);
    let messages = "application = { constant_rate = { rate = \"3 Mbit/s\", payload = \"600 B\" } }";
    let quic = |application: &str| {
        let flow = "[[flows]]\nname = \"q\"\nfrom = \"a\"\nto = \"b\"\nquic = { stack = \"quinn\", @ }\n";
        let flow = format!("{flow}{application}\n");
        vec![wire("2 Mbit/s", "", &flow)]
    };
    const WINDOWS: Options =
        &[("stream_window", &["\"20 kB\""]), ("connection_window", &["\"20 kB\""]), ("send_window", &["\"20 kB\""])];
    let files = "application = { files = { sizes = [\"9 kB\", \"90 kB\"] } }";
    cases.extend([
        Case { what: "quinn", texts: quic(messages), with: "", options: WINDOWS },
        Case { what: "quinn", texts: quic(messages), with: "datagrams = true", options: WINDOWS },
        Case { what: "quinn", texts: quic(messages), with: "", options: &[("max_streams", &["1", "3"])] },
        Case { what: "quinn with files", texts: quic(files), with: "", options: &[("max_streams", &["1"])] },
    ]);
    let records = |flows: &str| vec![wire("2 Mbit/s", "", flows).replace("[records]", "[records]\n@")];
    cases.extend([
        Case { what: "records", texts: records(&cubic), with: "", options: &[("updates", &["true"])] },
        Case { what: "records", texts: records(UDP), with: "", options: &[("updates", &["true"])] },
        Case { what: "records", texts: records(UDP), with: "", options: &[("positions", &["\"1 s\""])] },
    ]);
    let marked_packet = |name: &str| {
        let flow = tcp("c", &format!("name = \"{name}\""));
        vec![wire(
            "2 Mbit/s",
            "errors = [{ list = { data = [{ packets = [20, 90], outcome = \"mark\", @ }] } }]",
            &flow,
        )]
    };
    let routing = wire("2 Mbit/s", "", UDP).replace("[records]", "[routing]\n@\n[records]");
    cases.extend([
        Case { what: "routing", texts: vec![routing], with: "", options: &[("every", &["\"1 s\""])] },
        Case { what: "a mark", texts: marked_packet("cubic"), with: "", options: &[("every", &["2", "7"])] },
        Case { what: "a mark of dctcp", texts: marked_packet("dctcp"), with: "", options: &[("every", &["2", "7"])] },
    ]);
    let accurate = tcp("c", "name = \"cubic\", ecn = \"accurate\"");
    cases.push(Case {
        what: "codel under Accurate ECN",
        texts: vec![wire("2 Mbit/s", "forward = { queue = { codel = { @ } } }", &accurate)],
        with: "",
        options: &[("ecn", &["true", "false"])],
    });
    let ecn = |queue: &str| {
        let flow = tcp("f", "profile = \"rfc\", name = \"sack\", @");
        vec![wire("2 Mbit/s", &format!("queue = {queue}"), &flow)]
    };
    for queue in ["\"drop_tail\"", "\"codel\"", "{ drop_tail = { mark_above = 5 } }", "{ codel = { ecn = true } }"] {
        cases.push(Case { what: queue, texts: ecn(queue), with: "", options: &[("ecn", &["\"on\""])] });
    }
    cases
}

fn read(text: &str, options: &[&str]) -> Result<Scenario, String> {
    let given: Vec<&str> = options.iter().copied().filter(|option| !option.is_empty()).collect();
    let separator = if text.contains("]\n@") { "\n" } else { ", " };
    let text = text.replace("@, ", if given.is_empty() { "" } else { "@, " });
    let text = text.replace(", @", if given.is_empty() { "" } else { ", @" });
    Scenario::from_toml(&text.replace('@', &given.join(separator)), "test", &[])
        .map_err(|problems| problems.to_string())
}

fn run(scenario: &Scenario) -> String {
    let run = Simulation::new(&scenario.simulation_spec(), 1).unwrap().run();
    // A timer that nobody needs is an event, too.
    format!("{:?} {:?} {:?} {:?}", run.flows, run.links, run.flow_series, run.transfers)
}

#[test]
fn every_option_of_links_changes_a_run_or_is_called_idle() {
    let mut wrong = Vec::new();
    let (mut live, mut idle) = (0, 0);
    for Case { what, texts, with, options } in cases() {
        let plain: Vec<String> = texts.iter().map(|text| run(&read(text, &[with]).unwrap())).collect();
        for &(option, values) in options {
            let (mut changes, mut is_idle_everywhere, mut tried) = (false, true, false);
            for (text, plain) in texts.iter().zip(&plain) {
                for value in values {
                    let given = format!("{option} = {value}");
                    let Ok(scenario) = read(text, &[with, &given]) else { continue };
                    tried = true;
                    let called = format!("{option}: has no effect");
                    let is_idle = scenario.all_warnings().iter().any(|warning| warning.contains(&called));
                    // An option that has changed a run need not change another one, unless it is called idle there.
                    let differs = (is_idle || !changes) && run(&scenario) != *plain;
                    if is_idle && differs {
                        wrong.push(format!("{what} with {with:?}: {given} is called idle and changes a run"));
                    }
                    changes |= differs;
                    is_idle_everywhere &= is_idle;
                }
            }
            assert!(tried, "{what} with {with:?}: {option} is refused");
            match (is_idle_everywhere, changes) {
                (true, _) => idle += 1,
                (false, true) => live += 1,
                (false, false) => {
                    wrong.push(format!("{what} with {with:?}: {option} changes nothing, and nothing says so"))
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(idle > 25 && live > 50, "{idle} idle, {live} live");
}
