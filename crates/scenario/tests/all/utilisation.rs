//! Nobody uses more of a link than there is: utilisation is at most 1 in every step and over the run, whatever sets the
//! pace.

use crate::support::run;
use skyhop_sim::Records;

/// A greedy TCP over a wire with these keys, and a small queue.
fn greedy(link: &str, seconds: u32, grid: &str) -> Records {
    run(
        &format!(
            r#"
            duration = "{seconds} s"
            profile = "rfc"
            records = {{ grid = "{grid}" }}

            [[links]]
            between = ["left", "right"]
            delay = "10 ms"
            {link}

            [[flows]]
            name = "flow"
            from = "left"
            to = "right"
            tcp = "newreno"
            application = "ftp"
            "#
        ),
        1,
    )
}

/// No step and no link above 1; and something was used.
fn assert_bounded(records: &Records, what: &str) {
    assert!(records.links.iter().any(|link| link.utilisation > 0.01), "{what}");
    for link in &records.links {
        assert!(
            (0.0..=1.0).contains(&link.utilisation),
            "{what}: link {} over the run: {}",
            link.link,
            link.utilisation
        );
    }
    assert!(!records.link_series.is_empty(), "{what}");
    for row in &records.link_series {
        assert!((0.0..=1.0).contains(&row.utilisation), "{what}: {row:?}");
        let most = records.links[row.link as usize].queue_max_packets;
        assert!(row.queue_packets <= most, "{what}: {row:?}, at most {most}");
    }
    for link in &records.links {
        assert!(link.queue_mean_packets <= f64::from(link.queue_max_packets), "{what}: {link:?}");
    }
}

/// The busy time of the steps is that of the run: the utilisation of the first link, from the series.
fn mean_of_steps(records: &Records, steps: usize) -> f64 {
    records.link_series.iter().filter(|row| row.link == 0).map(|row| row.utilisation).sum::<f64>() / steps as f64
}

/// One opportunity of 1504 B in each of the first two milliseconds, one in the fifth: 3 in 5 ms, 7.2 Mbit/s.
#[test]
fn opportunities_are_used_once() {
    let link = "trace = { opportunities = { text = \"1\\n2\\n5\\n\" } }\nqueue = { drop_tail = { packets = 40 } }";
    for grid in ["1 ms", "2 ms", "7 ms", "1 s"] {
        let records = greedy(link, 5, grid);
        assert_bounded(&records, grid);
        // 1000 rounds of 3 x 1504 B; what left the transmitter is the share that was used.
        let link = &records.links[0];
        let carried = link.bytes as f64 / (1000.0 * 3.0 * 1504.0);
        assert!((link.utilisation - carried).abs() < 1e-3, "{} {carried}", link.utilisation);
    }
}

/// A gap of 2 s between opportunities, and steps of 100 ms.
#[test]
fn an_opportunity_after_a_long_gap_is_one_opportunity() {
    let link =
        "trace = { opportunities = { text = \"1\\n2\\n3\\n2000\\n\" } }\nqueue = { drop_tail = { packets = 40 } }";
    assert_bounded(&greedy(link, 30, "100 ms"), "gap");
}

/// 2 Mbit/s, then nothing for 300 ms, then 500 kbit/s: the transmitter is not busy while it can send nothing.
#[test]
fn a_rate_that_changes_is_used_while_there_is_one() {
    let table =
        "trace = { table = { text = \"time_s,rate_bps\\n0,2000000\\n0.5,0\\n0.8,500000\\n\" }, period = \"1 s\" }";
    let link = format!("{table}\nqueue = {{ drop_tail = {{ packets = 40 }} }}");
    let records = greedy(&link, 20, "100 ms");
    assert_bounded(&records, "table");
    let (steps, whole) = (mean_of_steps(&records, 200), records.links[0].utilisation);
    assert!((steps - whole).abs() < 1e-9, "{steps} {whole}");
    // 0.7 s of each second.
    assert!((0.6..=0.7).contains(&whole), "{whole}");
    let in_the_pause = |time: f64| time.fract() > 0.55 && time.fract() < 0.85;
    for row in records.link_series.iter().filter(|row| row.link == 0 && in_the_pause(row.time.as_secs_f64())) {
        assert_eq!(row.utilisation, 0.0, "{row:?}");
    }
}

#[test]
fn slots_with_pauses_are_used_outside_of_them() {
    let link = "profile = { starlink = { rates = [\"1 Mbit/s\", \"4 Mbit/s\"], pause = \"400 ms\", every = \"2 s\" } }";
    let records = greedy(link, 30, "50 ms");
    assert_bounded(&records, "slots");
    let (steps, whole) = (mean_of_steps(&records, 600), records.links[0].utilisation);
    assert!((steps - whole).abs() < 1e-9, "{steps} {whole}");
}

/// The answers to the data take the link back, which itself answers those to the ACKs, and low rates fill both.
#[test]
fn answers_use_what_is_left() {
    for repeats in ["selective", "go-back-n"] {
        let repair = format!("{{ arq = {{ tries = 4, repeats = \"{repeats}\", answer = \"700 B\" }} }}");
        let link = format!("rate = \"1 Mbit/s\"\nerrors = [{{ packet = 0.05 }}]\nrepair = {repair}");
        let records = greedy(&link, 20, "50 ms");
        assert_bounded(&records, repeats);
        let (steps, whole) = (mean_of_steps(&records, 400), records.links[0].utilisation);
        assert!((steps - whole).abs() < 1e-9, "{steps} {whole}");
    }
}

#[test]
fn the_clock_of_ns_2_counts_no_time_twice() {
    let records = run(
        r#"
        duration = "20 s"
        clock = "ns-2"
        profile = "ns-2"
        records = { grid = "10 ms" }

        [[links]]
        between = ["left", "right"]
        rate = "1.7 Mbit/s"
        delay = "10 ms"

        [[flows]]
        name = "flow"
        from = "left"
        to = "right"
        tcp = "newreno"
        application = "ftp"
        "#,
        1,
    );
    assert_bounded(&records, "ns-2");
    assert!((mean_of_steps(&records, 2000) - records.links[0].utilisation).abs() < 1e-9);
}

/// Iridium's handovers take what waits out of the queues, or leave the packets to another satellite.
#[test]
fn links_to_satellites_are_used_once_through_outages() {
    let keys = [
        "trace = { opportunities = { text = \"3\\n4\\n90\\n\" } }",
        "trace = { table = { text = \"time_s,rate_bps\\n0,900000\\n3,0\\n4,1500000\\n\" }, period = \"7 s\" }",
        "repair = { arq = { tries = 4, answer = \"300 B\" } }\nerrors = [{ packet = 0.02 }]",
        "repair = { erasure = { n = 8, k = 6, within = \"100 ms\" } }\nerrors = [{ packet = 0.02 }]",
        "profile = { starlink = { rates = [\"200 kbit/s\", \"1 Mbit/s\"], pause = \"400 ms\" } }",
        "",
    ];
    for keys in keys {
        for on_down in ["drop", "reroute", "hold", "drain", "send-in-vain"] {
            let text = format!(
                r#"
                duration = "400 s"
                profile = "rfc"
                records = {{ grid = "500 ms" }}

                [constellation]
                preset = "iridium"

                [constellation.gsl]
                on_down = "{on_down}"
                {keys}

                [stations]
                berkeley = {{ latitude = "37.9 deg", longitude = "-122.3 deg" }}
                chennai = {{ latitude = "13.04 deg", longitude = "80.17 deg" }}

                [[flows]]
                name = "flow"
                from = "berkeley"
                to = "chennai"
                tcp = "newreno"
                application = "ftp"
                "#
            );
            let records = run(&text, 1);
            assert!(records.handovers.len() > 2);
            assert_bounded(&records, &format!("{keys}, {on_down}"));
        }
    }
}

/// The answers of a link that repeats use the link back: a quarter of it from the first packet on, long before it
/// carries a packet of its own.
#[test]
fn answers_count_before_the_first_packet() {
    let records = run(
        r#"
        duration = "8 s"
        profile = "rfc"
        records = { grid = "1 s" }

        [[links]]
        between = ["left", "right"]
        rate = "1 Mbit/s"
        delay = "10 ms"
        forward = { repair = { arq = { tries = 2, answer = "250 B" } } }

        [[flows]]
        name = "there"
        from = "left"
        to = "right"
        udp = {}
        application = { constant_rate = { rate = "800 kbit/s", payload = "772 B" } }

        [[flows]]
        name = "back"
        from = "right"
        to = "left"
        start = "6 s"
        udp = {}
        application = { constant_rate = { rate = "100 kbit/s", payload = "972 B" } }
        "#,
        1,
    );
    assert_bounded(&records, "answers");
    let back: Vec<f64> = records.link_series.iter().filter(|row| row.link == 1).map(|row| row.utilisation).collect();
    assert_eq!(back.len(), 8, "a row for each step: {back:?}");
    let expected = records.links[1].utilisation;
    let mean = back.iter().sum::<f64>() / 8.0;
    assert!((mean - expected).abs() < 1e-6, "{mean} by steps, {expected} over the run");
    // 800 kbit/s in packets of 772 B of payload are 129.5 answers per second.
    assert!((back[3] - 129.5 * 250.0 * 8.0 / 1e6).abs() < 0.003, "{back:?}");
}
