//! Adaptive video beside what a link of known rate makes of it.

use crate::support::run;
use skyhop_scenario::Scenario;

fn network(duration_s: u32, rate: &str, video: &str) -> String {
    format!(
        "duration = \"{duration_s} s\"\nprofile = \"rfc\"\n\
         [[links]]\nbetween = [\"server\", \"user\"]\nrate = \"{rate}\"\ndelay = \"20 \
         ms\"\n\
         queue = {{ drop_tail = {{ packets = 10000 }} }}\n\
         [[flows]]\nname = \"tv\"\nfrom = \"server\"\nto = \"user\"\n\
         tcp = {{ name = \"newreno\", initial_window = 1000, window = 1000, min_rto = \"100 s\", initial_rto = \"100 \
         s\", max_rto = \"100 s\" }}\n\
         application = {{ video = {video} }}\n"
    )
}

/// A video above the rate of its link stalls after each segment until the next one is there. A segment of 4 s at 1.5
/// Mbit/s takes 750 kB and 40 B for each 1460 B at 1 Mbit/s, and a round trip of 40 ms for the request and the first
/// byte.
#[test]
fn a_video_above_the_rate_stalls_as_long_as_its_segments_take() {
    let records = run(&network(130, "1 Mbit/s", "{ ladder = [\"1.5 Mbit/s\"], count = 20 }"), 1);
    let video = &records.videos[0];
    let wire_bytes = 750_000.0 + 750_000.0_f64 / 1460.0 * 40.0;
    // The request of 700 B takes 5.6 ms.
    let each_s = wire_bytes * 8.0 / 1e6 + 0.04 + 0.0056;
    assert_eq!((video.segments, video.stalls, video.done), (20, 19, true));
    let (expected, found) = (19.0 * (each_s - 4.0), video.stalled.as_secs_f64());
    assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    let startup_s = video.startup.unwrap().as_secs_f64();
    assert!((startup_s / each_s - 1.0).abs() < 0.02, "{startup_s} {each_s}");
    assert_eq!(video.played.as_secs_f64(), 80.0);
    assert_eq!((video.rate_bps, video.switches), (Some(1.5e6), 0));
    assert_eq!(records.total.bytes_delivered, 20 * 750_000);
}

/// A video whose lowest quality fits never stalls, whatever chooses; it uses what the link has, and not more.
#[test]
fn a_video_whose_lowest_quality_fits_never_stalls() {
    for choice in ["throughput", "bba", "bola"] {
        for (rate, least_bps, most_bps) in
            [("0.5 Mbit/s", 235e3, 0.5e6), ("3 Mbit/s", 1e6, 3e6), ("20 Mbit/s", 4e6, 5.8e6)]
        {
            let text = network(600, rate, &format!("{{ choice = \"{choice}\" }}"));
            let records = run(&text, 1);
            let video = &records.videos[0];
            assert_eq!(
                (video.stalls, video.stalled.as_secs_f64(), video.done),
                (0, 0.0, false),
                "{choice} {rate}: {video:?}"
            );
            let mean_bps = video.rate_bps.unwrap();
            assert!((least_bps..=most_bps).contains(&mean_bps), "{choice} {rate}: {mean_bps}");
            // Each segment is played or held.
            let got_s = 4.0 * video.segments as f64;
            assert!(video.played.as_secs_f64() <= got_s && got_s <= video.played.as_secs_f64() + 30.0, "{video:?}");
            assert!((video.played + video.startup.unwrap()).as_secs_f64() > 599.9, "{video:?}");
            assert_eq!(records.transfers.len() as u64, video.segments);
        }
    }
}

/// A stop ends the watching: what would run out later is not a stall.
#[test]
fn a_stop_ends_the_watching() {
    let text = network(60, "5 Mbit/s", "{}").replace("[[flows]]", "[[flows]]\nstop = \"20 s\"");
    let records = run(&text, 1);
    let video = &records.videos[0];
    assert_eq!(video.stalls, 0, "{video:?}");
    assert!((video.played + video.startup.unwrap()).as_secs_f64() <= 20.0, "{video:?}");
}

#[test]
fn wrong_videos_are_refused() {
    for (video, said) in [
        ("{ ladder = [] }", "ladder"),
        ("{ ladder = [\"2 Mbit/s\", \"1 Mbit/s\"] }", "rates ascend"),
        ("{ ladder = [\"2 Mbit/s\"], choice = \"bba\" }", "there is one quality"),
        ("{ segment = \"20 s\" }", "holds less than 2 segments"),
        ("{ startup = 8 }", "holds less than 8 segments"),
        ("{ segment = \"0 s\" }", "must be more than 0 s"),
        ("{ request = \"100 kB\" }", "is not a size of a packet"),
    ] {
        let error = Scenario::from_toml(&network(10, "1 Mbit/s", video), "v.toml", &[]).expect_err(video).to_string();
        assert!(error.contains(said), "{video}: {error}");
    }
    let text = network(10, "1 Mbit/s", "{}");
    let (from, to) = (text.find("tcp = ").unwrap(), text.find("application").unwrap());
    let udp = format!("{}udp = {{}}\n{}", &text[..from], &text[to..]);
    assert!(Scenario::from_toml(&udp, "v.toml", &[]).expect_err("needs TCP").to_string().contains("needs TCP"));
}
