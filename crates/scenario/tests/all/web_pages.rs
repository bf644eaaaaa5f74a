//! Workloads of web pages: how long they take beside round trips counted by hand, and what is said of wrong ones.

use crate::support::run;
use skyhop_scenario::Scenario;
use skyhop_sim::Records;

fn network(duration_s: u32, rate: &str, link: &str, workload: &str) -> String {
    format!(
        "duration = \"{duration_s} s\"\nprofile = \"rfc\"\n\
         [[links]]\nbetween = [\"server\", \"user\"]\nrate = \"{rate}\"\n{link}\n\
         [[workloads]]\nname = \"web\"\nfrom = \"server\"\nto = \"user\"\n{workload}\n"
    )
}

const ONE: &str = "arrivals = { at = { text = \"time_s\\n1\\n\" } }";

fn load_s(records: &Records) -> Vec<f64> {
    records.pages.iter().map(|page| page.loaded.expect("has loaded").since(page.begin).as_secs_f64()).collect()
}

/// A page of a document and 8 objects of 400 B over a link that is fast beside its round trip of 200 ms. The document
/// takes two round trips: the request, the handshake that it brings about, and the answer. Over one connection its
/// objects take one more, and late ones another. Of six connections with one request each five open first: 1, 7 and
/// then all 8 objects have come after each of the next round trips.
#[test]
fn pages_take_the_round_trips_that_their_objects_need() {
    for tcp in ["{ name = \"newreno\", initial_window = 10 }", "{ profile = \"linux\", name = \"cubic\" }"] {
        for (protocol, late, round_trips) in [
            ("\"http/2\"", 0.0, 3.0),
            ("\"http/2\"", 0.5, 4.0),
            ("\"http/1.1\"", 0.0, 5.0),
            ("{ connections = 1, multiplexed = false }", 0.0, 10.0),
        ] {
            let content = format!(
                "{{ document = {{ constant = \"400 B\" }}, objects = 8, sizes = {{ constant = \"400 B\" }}, late = \
                 {late} }}"
            );
            let workload = format!("tcp = {tcp}\n{ONE}\npages = {{ content = {content}, protocol = {protocol} }}");
            let records = run(&network(20, "1 Gbit/s", "delay = \"100 ms\"", &workload), 1);
            let page = &records.pages[0];
            assert_eq!((page.objects, page.bytes, page.begin.as_secs_f64()), (9, 3600, 1.0));
            let first_s = page.first.unwrap().since(page.begin).as_secs_f64();
            assert!((0.4..0.405).contains(&first_s), "{tcp} {protocol}: {first_s}");
            let load_s = load_s(&records)[0];
            let expected = 0.2 * round_trips;
            assert!((expected..expected + 0.01).contains(&load_s), "{tcp} {protocol} {late}: {load_s} {expected}");
            assert_eq!(records.total.bytes_delivered, 3600);
            assert!(records.workloads.is_empty() && records.warnings.is_empty(), "{:?}", records.warnings);
        }
    }
}

/// Where the link is slow beside its round trip, a page takes the time of its bytes and their headers, over whatever
/// connections.
#[test]
fn a_page_on_a_slow_link_takes_the_time_of_its_bytes() {
    let mut found = Vec::new();
    for protocol in ["http/1.1", "http/2"] {
        let workload = format!("tcp = \"cubic\"\n{ONE}\npages = {{ protocol = \"{protocol}\" }}");
        let records =
            run(&network(60, "2 Mbit/s", "delay = \"5 ms\"\nqueue = { drop_tail = { packets = 1000 } }", &workload), 1);
        let page = &records.pages[0];
        // 71 objects of at least a segment each, 40 B of headers per segment of 1460 B.
        let least = page.bytes as f64 * 8.0 / 2e6;
        let load_s = load_s(&records)[0];
        assert!((least * 1.02..least * 1.1).contains(&load_s), "{protocol}: {load_s} {least}");
        found.push(load_s);
    }
    assert!((found[0] / found[1] - 1.0).abs() < 0.06, "{found:?}");
}

/// A request that is lost is sent again after a second: the first packet of the user is one.
#[test]
fn a_lost_request_is_sent_again() {
    let content = "{ document = { constant = \"1 kB\" }, objects = 0, sizes = { constant = \"1 kB\" } }";
    let workload = format!("tcp = \"newreno\"\n{ONE}\npages = {{ content = {content} }}");
    let link = "delay = \"100 ms\"\nbackward = { errors = [{ trace = { packets = [0] } }] }";
    let records = run(&network(10, "1 Gbit/s", link, &workload), 1);
    let load_s = load_s(&records)[0];
    assert!((1.4..1.405).contains(&load_s), "{load_s}");
}

/// A visit loads one page after another, each behind a pause, over connections that stay open; pages hang on the seed
/// alone.
#[test]
fn a_visit_loads_its_pages_one_after_another() {
    let workload = |tcp: &str| {
        let content = "{ document = { constant = \"20 kB\" }, objects = { lognormal = { median = 10, sigma = 0.7 } }, \
                       sizes = { lognormal = { median = \"5 kB\", sigma = 1.0 } }, late = 0.3 }";
        format!(
            "tcp = \"{tcp}\"\narrivals = {{ poisson = {{ per_s = 0.2 }} }}\nstop = \"50 s\"\n\
             pages = {{ content = {content}, views = 4, think = \"2 s\" }}"
        )
    };
    let pages = |tcp: &str, seed| run(&network(90, "20 Mbit/s", "delay = \"20 ms\"", &workload(tcp)), seed);
    let records = pages("cubic", 1);
    assert!(records.pages.len() > 15, "{}", records.pages.len());
    assert_eq!(records.total.bytes_delivered, records.pages.iter().map(|page| page.bytes).sum::<u64>());
    load_s(&records);
    for page in &records.pages {
        assert!(page.begin.as_secs_f64() < 50.0, "a stop ends views, too: {page:?}");
        let of_visit = |view: u32| records.pages.iter().find(|other| (other.visit, other.view) == (page.visit, view));
        if let Some(before) = page.view.checked_sub(1).and_then(of_visit) {
            assert!(before.loaded.unwrap() < page.begin, "{page:?}");
            // An open connection saves the handshake.
            assert!(page.first.unwrap().since(page.begin).as_secs_f64() < 0.06, "{page:?}");
        }
    }
    let drawn = |records: &Records| -> Vec<(u32, u32, u32, u64)> {
        let mut pages: Vec<_> =
            records.pages.iter().map(|page| (page.visit, page.view, page.objects, page.bytes)).collect();
        pages.sort_unstable();
        // The last views of a visit may come after the stop.
        pages.retain(|page| page.1 == 0);
        pages
    };
    assert_eq!(drawn(&records), drawn(&pages("newreno", 1)));
    assert_ne!(drawn(&records), drawn(&pages("cubic", 2)));
}

/// The load counts the user data of whole visits.
#[test]
fn arrivals_by_load_bring_the_load() {
    let content =
        "{ document = { constant = \"10 kB\" }, objects = 9, sizes = { exponential = { mean = \"10 kB\" } } }";
    let workload = format!(
        "tcp = \"newreno\"\narrivals = {{ poisson = {{ load = \"2 Mbit/s\" }} }}\nstop = \"200 s\"\n\
         pages = {{ content = {content}, views = 2, think = \"1 ms\" }}"
    );
    let records = run(&network(210, "20 Mbit/s", "delay = \"1 ms\"", &workload), 1);
    let bytes: u64 = records.pages.iter().map(|page| page.bytes).sum();
    // 250 visits of 200 kB: four standard deviations of a Poisson count with sizes that vary by a fifth.
    assert!((bytes as f64 * 8.0 / 200.0 / 2e6 - 1.0).abs() < 4.0 * 1.05 / 250_f64.sqrt(), "{bytes}");
}

#[test]
fn a_page_that_does_not_load_is_said() {
    let workload = format!("tcp = \"newreno\"\n{ONE}\npages = {{}}");
    let records = run(&network(4, "1 Mbit/s", "delay = \"10 ms\"", &workload), 1);
    assert_eq!((records.pages.len(), records.pages[0].loaded), (1, None));
    let warning = &records.warnings[0];
    assert!(warning.starts_with("1 of 1 pages of workload \"web\" had not loaded"), "{warning}");
}

#[test]
fn wrong_pages_are_refused() {
    for (workload, said) in [
        ("pages = { think = \"1 s\" }", "passes between two views, and there is one"),
        ("pages = { views = 2 }", "has several views, and no time between them"),
        ("pages = {}\nsizes = \"web-search\"", "excludes \"pages\", which has its own"),
        ("pages = {}\nconnections = \"new\"", "excludes \"pages\", which has its own"),
        ("pages = { request = \"100 kB\" }", "is not a size of a packet"),
        ("pages = { protocol = { connections = 0, multiplexed = true } }", "connections"),
        (
            "pages = { content = { document = { constant = \"1 kB\" }, objects = 3, sizes = \"web-search\", late = \
             1.0 } }",
            "late",
        ),
        (
            "pages = { content = { document = { constant = \"0 B\" }, objects = 3, sizes = \"web-search\" } }",
            "must be more than 0 B",
        ),
    ] {
        let text = network(10, "1 Mbit/s", "", &format!("tcp = \"newreno\"\n{ONE}\n{workload}"));
        let error = Scenario::from_toml(&text, "w.toml", &[]).expect_err(workload).to_string();
        assert!(error.contains(said), "{workload}: {error}");
    }
    let with_bytes = "arrivals = { at = { text = \"time_s,bytes\\n1,5\\n\" } }\ntcp = \"newreno\"\npages = {}";
    let error = Scenario::from_toml(&network(10, "1 Mbit/s", "", with_bytes), "w.toml", &[]).expect_err("bytes twice");
    assert!(error.to_string().contains("sizes or pages"), "{error}");
}
