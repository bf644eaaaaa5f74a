//! Workloads at work: what a run of them gives, beside closed formulas, and what is said of wrong ones.

use crate::support::run;
use skyhop_scenario::Scenario;
use skyhop_sim::Records;

/// One link of 10 Mbit/s with a queue that serves flows in turn, of two packets each time.
fn network(duration_s: u32, delay: &str, workload: &str) -> String {
    format!(
        "duration = \"{duration_s} s\"\nprofile = \"rfc\"\n\
         [[links]]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \
         \"{delay}\"\n\
         queue = {{ fq_codel = {{ quantum = \"1500 B\", target = \"10 s\", interval = \"100 s\", limit = 1000000, \
         memory_limit = \"1 GB\", flows = 65536 }} }}\n\
         [[workloads]]\nname = \"web\"\nfrom = \"a\"\nto = \"b\"\n{workload}\n"
    )
}

fn refused(text: &str) -> String {
    Scenario::from_toml(text, "w.toml", &[]).expect_err("is wrong").to_string()
}

fn mean_completion_s(records: &Records) -> f64 {
    let rows = &records.workload_transfers;
    assert!(rows.iter().all(|row| row.end.is_some()), "every transfer has finished");
    rows.iter().filter_map(|row| row.completion()).map(|time| time.as_secs_f64()).sum::<f64>() / rows.len() as f64
}

/// A link that serves all transfers at equal shares is an M/G/1 queue with processor sharing: the mean time of a
/// transfer is its service time divided by 1 - load, whatever the distribution of sizes (L. Kleinrock, "Queueing
/// systems" II, 1976, §4.4).
///
/// That holds for TCP while the window never limits a transfer and the round trip is short beside the service: here
/// 3600 packets in the first window and 20 µs there and back beside 40 ms. Sizes are bounded, so that 5000 transfers
/// estimate the mean to some per cent.
#[test]
fn transfers_that_share_a_link_take_the_time_of_processor_sharing() {
    let tcp = "tcp = { name = \"newreno\", mss = \"1460 B\", header = \"40 B\", initial_window = 3600, window = 3600, \
               min_rto = \"100 s\", initial_rto = \"100 s\", max_rto = \"100 s\" }";
    for (sizes, mean_bytes) in [
        ("{ exponential = { mean = \"50 kB\" } }", 50_000.0),
        ("{ pareto = { least = \"10 kB\", largest = \"1 MB\", shape = 1.2 } }", 0.0),
    ] {
        let text = network(
            420,
            "10 us",
            &format!("{tcp}\narrivals = {{ poisson = {{ load = \"5 Mbit/s\" }} }}\nsizes = {sizes}\nstop = \"400 s\""),
        );
        let records = run(&text, 1);
        let rows = &records.workload_transfers;
        // What each would take alone: its packets with their headers, and segment 0.
        let service = |bytes: u64| (bytes + bytes.div_ceil(1460) * 40 + 40) as f64 * 8.0 / 10e6;
        let alone = rows.iter().map(|row| service(row.bytes)).sum::<f64>() / rows.len() as f64;
        let load = rows.iter().map(|row| service(row.bytes)).sum::<f64>() / 400.0;
        let expected = alone / (1.0 - load);
        let found = mean_completion_s(&records);
        eprintln!("{sizes}: {} transfers, load {load:.4}, mean {found:.5} s, formula {expected:.5} s", rows.len());
        assert!((found / expected - 1.0).abs() < 0.05, "{sizes}: {found} {expected}");
        if mean_bytes > 0.0 {
            let offered: u64 = rows.iter().map(|row| row.bytes).sum();
            assert!((offered as f64 * 8.0 / 400.0 / 5e6 - 1.0).abs() < 0.06, "{offered}");
        }
        assert!(records.conservation.holds());
    }
}

/// The bytes that arrive are those that the transfers have, and a row tells when its first and its last one came.
#[test]
fn every_byte_of_every_transfer_arrives_once() {
    let workload = "tcp = \"cubic\"\narrivals = { poisson = { per_s = 20.0 } }\nsizes = { lognormal = { median = \"10 \
        kB\", sigma = 1.5 } }\n\
                    stop = \"20 s\"";
    for connections in ["", "\nconnections = { persistent = 2 }"] {
        let records = run(&network(60, "10 ms", &format!("{workload}{connections}")), 1);
        let rows = &records.workload_transfers;
        assert!((300..500).contains(&rows.len()), "{}", rows.len());
        assert_eq!(records.total.bytes_delivered, rows.iter().map(|row| row.bytes).sum::<u64>());
        for row in rows {
            let (first, end) = (row.first.expect("has begun"), row.end.expect("has finished"));
            assert!(row.begin < first && first <= end);
            assert!(row.completion() > row.ideal && row.slowdown().is_some_and(|slowdown| slowdown > 1.0), "{row:?}");
            // 10 ms and the bytes at 10 Mbit/s.
            let ideal_s = 0.01 + row.bytes as f64 * 8.0 / 10e6;
            assert!((row.ideal.unwrap().as_secs_f64() - ideal_s).abs() < 2e-9);
        }
        let all = &records.workloads[0];
        assert_eq!((all.class, all.transfers, all.finished), ("all", rows.len() as u64, rows.len() as u64));
        assert!(
            records.flows.is_empty() && records.jain.is_none(),
            "connections of workloads are not flows of the scenario"
        );
    }
}

/// A transfer on a connection that is open saves the handshake, and waits for the transfers before it.
#[test]
fn open_connections_spare_the_handshake() {
    let workload = "tcp = { name = \"newreno\", initial_window = 100, window = 100 }\narrivals = { at = { text = \
        \"time_s,bytes\\n1,1000\\n3,1000\\n3,100000\" } }";
    let times = |connections: &str| -> Vec<f64> {
        let records = run(&network(10, "100 ms", &format!("{workload}\nconnections = {connections}")), 1);
        records.workload_transfers.iter().map(|row| row.completion().expect("has finished").as_secs_f64()).collect()
    };
    let (new, kept) = (times("\"new\""), times("{ persistent = 1 }"));
    // Segment 0 there and back, then the data.
    assert!((0.3..0.31).contains(&new[0]) && (0.3..0.31).contains(&new[1]), "{new:?}");
    assert!((0.3..0.31).contains(&kept[0]) && (0.1..0.11).contains(&kept[1]), "{kept:?}");
    assert!(kept[2] < new[2] - 0.19, "{kept:?} {new:?}");
}

#[test]
fn what_does_not_finish_is_counted_and_said() {
    let workload = "tcp = \"newreno\"\narrivals = { at = { text = \"time_s,bytes\\n1,1000\\n2,1000000000\" } }";
    let records = run(&network(10, "10 ms", workload), 1);
    let all = &records.workloads[0];
    assert_eq!((all.transfers, all.finished, all.bytes_finished), (2, 1, 1000));
    assert!(all.completion_s[0].is_some() && all.completion_s[1].is_none());
    assert!(
        records.warnings.iter().any(|warning| warning.starts_with("1 of 2 transfers of workload \"web\"")),
        "{:?}",
        records.warnings
    );
}

/// The seed decides about the transfers and nothing else does: another transport, link or flow meets the same ones.
#[test]
fn transfers_hang_on_the_seed_alone() {
    let drawn = |text: &str, seed| -> Vec<(u64, u64)> {
        run(text, seed).workload_transfers.iter().map(|row| (row.begin.as_nanos(), row.bytes)).collect()
    };
    let workload = |tcp: &str| {
        format!("tcp = \"{tcp}\"\narrivals = {{ poisson = {{ per_s = 5.0 }} }}\nsizes = \"web-search\"\ncount = 30")
    };
    let base = drawn(&network(20, "10 ms", &workload("cubic")), 1);
    assert_eq!(base.len(), 30);
    assert_eq!(base, drawn(&network(20, "10 ms", &workload("newreno")), 1));
    let flow = "\n[[flows]]\nname = \"bulk\"\nfrom = \"a\"\nto = \"b\"\ntcp = \"newreno\"";
    assert_eq!(base, drawn(&network(20, "200 ms", &(workload("cubic") + flow)), 1));
    assert_ne!(base, drawn(&network(20, "10 ms", &workload("cubic")), 2));
}

#[test]
fn the_canonical_form_is_a_scenario_again() {
    let workload = "tcp = \"cubic\"\narrivals = { renewal = { pareto = { least = \"10 ms\", largest = \"10 s\", shape \
        = 1.5 } } }\n\
                    sizes = { empirical = { text = \"bytes,cdf\\n100,0.5\\n1000,1\" } }\nstart = \"1 s\"\ncount = \
                    7\nconnections = { persistent = 3 }";
    let scenario = Scenario::from_toml(&network(20, "10 ms", workload), "w.toml", &[]).expect("is right");
    let again = Scenario::from_json(&scenario.canonical(), "canonical", &[]).expect("is a scenario");
    assert_eq!(scenario.canonical(), again.canonical());
    assert!(scenario.all_warnings().is_empty(), "{:?}", scenario.all_warnings());
}

#[test]
fn wrong_workloads_are_refused_with_the_place() {
    let of = |keys: &str| refused(&network(20, "10 ms", keys));
    let poisson = "arrivals = { poisson = { per_s = 5.0 } }";
    for (keys, said) in [
        (format!("tcp = \"cubic\"\n{poisson}"), "has no sizes"),
        (format!("{poisson}\nsizes = \"web-search\""), "tcp"),
        (
            "tcp = \"cubic\"\nsizes = \"web-search\"\narrivals = { poisson = {} }".into(),
            "needs one of \"per_s\" and \"load\"",
        ),
        ("tcp = \"cubic\"\nsizes = \"web-search\"\narrivals = { poisson = { per_s = -1.0 } }".into(), "more than 0"),
        (format!("tcp = \"cubic\"\n{poisson}\nsizes = {{ constant = \"0 B\" }}"), "must be more than 0 B"),
        (format!("tcp = \"cubic\"\n{poisson}\nsizes = \"websearch\""), "web-search"),
        (
            format!(
                "tcp = \"cubic\"\n{poisson}\nsizes = {{ pareto = {{ least = \"9 kB\", largest = \"8 kB\", shape = 1.0 \
                 }} }}"
            ),
            "must be more than \"least\"",
        ),
        (
            "tcp = \"cubic\"\nsizes = \"web-search\"\narrivals = { poisson = { per_s = 1000000.0 } }".into(),
            "these are some 20000000 transfers",
        ),
        (
            "tcp = \"cubic\"\narrivals = { at = { text = \"time_s,bytes\\n2,10\\n1,10\" } }".into(),
            "line 3: its time is before that of the line above",
        ),
        (
            format!("tcp = \"cubic\"\n{poisson}\nsizes = {{ empirical = {{ text = \"bytes,cdf\\n10,0.5\" }} }}"),
            "the last cdf must be 1",
        ),
        (
            format!("tcp = \"cubic\"\n{poisson}\nsizes = \"web-search\"\nstart = \"30 s\""),
            "is not before the end of the run",
        ),
    ] {
        let found = of(&keys);
        assert!(found.contains(said), "{keys}\n{found}");
    }
    let mut text = network(20, "10 ms", &format!("tcp = \"cubic\"\n{poisson}\nsizes = \"web-search\""));
    text = text.replace("to = \"b\"", "to = [\"a\"]");
    assert!(refused(&text).contains("cannot go from \"a\" to itself"), "{}", refused(&text));
    text = text.replace("to = [\"a\"]", "to = [\"b\", \"c\"]");
    assert!(refused(&text).contains("no node is called \"c\""));
}

/// A transfer over UDP takes the time of its bytes at its own rate, and the path of its last datagram; one that loses a
/// datagram does not finish. 10 kB are 9 datagrams, the last of 400 B: it leaves after 8 gaps of 9.6 ms and takes 342.4
/// us with its 28 B and 10 ms.
#[test]
fn transfers_over_udp_are_bursts_at_their_rate() {
    let workload = |more: &str| {
        format!(
            "udp = {{}}\nburst = {{ rate = \"1 Mbit/s\", payload = \"1200 B\" }}\nsizes = {{ constant = \"10 kB\" }}\n\
             arrivals = {{ poisson = {{ per_s = 1.0 }} }}\nstop = \"18 s\"\n{more}"
        )
    };
    let records = run(&network(20, "10 ms", &workload("")), 1);
    let rows = &records.workload_transfers;
    assert!(rows.len() > 5 && records.warnings.is_empty(), "{:?}", records.warnings);
    let alone_s = 8.0 * 0.0096 + 428.0 * 8.0 / 10e6 + 0.01;
    let times: Vec<f64> = rows.iter().map(|row| row.completion().expect("has finished").as_secs_f64()).collect();
    let least = times.iter().copied().fold(f64::MAX, f64::min);
    assert!((least - alone_s).abs() < 1e-6, "{least} {alone_s}");
    assert_eq!(records.total.bytes_delivered, 10_000 * rows.len() as u64);
    let lossy = network(20, "10 ms", &workload(""))
        .replace("[[workloads]]", "forward = { errors = [{ trace = { packets = [3] } }] }\n[[workloads]]");
    let records = run(&lossy, 1);
    let unfinished = records.workload_transfers.iter().filter(|row| row.end.is_none()).count();
    assert_eq!((unfinished, records.workload_transfers[0].end), (1, None));
    for (more, said) in [
        ("connections = { persistent = 2 }", "have no meaning for UDP"),
        ("tcp = \"cubic\"", "excludes \"tcp\""),
        ("jitter = \"1 ms\"", "needs TCP, and this workload has UDP"),
        ("pages = {}", "needs TCP or QUIC"),
    ] {
        let error = refused(&network(20, "10 ms", &workload(more)));
        assert!(error.contains(said), "{more}: {error}");
    }
    for wrong in [
        workload("").replace("burst = { rate = \"1 Mbit/s\", payload = \"1200 B\" }", ""),
        workload("").replace("udp = {}", "tcp = \"cubic\""),
    ] {
        assert!(refused(&network(20, "10 ms", &wrong)).contains("UDP does not say how fast"));
    }
}
