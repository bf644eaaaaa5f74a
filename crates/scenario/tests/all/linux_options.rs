//! Whether every option of Linux' TCP changes a run, or the scenario says that it has no effect, for every control.

use crate::support::trials::{Network, Trials};
use skyhop_scenario::json_schema;
use skyhop_tcp::sender::ControlKind;

/// Other values of every option.
const ALTERNATIVES: [(&str, &[&str]); 43] = [
    ("mss", &["1000 B"]),
    ("initial_window", &["4", "30"]),
    ("receive_memory", &["[\"4096 B\", \"20 kB\", \"50 kB\"]"]),
    ("receive_buffer", &["30 kB"]),
    ("autotuning", &["off"]),
    ("send_buffer", &["20 kB"]),
    ("ecn", &["on", "accurate"]),
    ("timestamps", &["off"]),
    ("window_scaling", &["off"]),
    ("sack", &["off"]),
    ("dsack", &["off"]),
    ("tlp", &["off"]),
    ("frto", &["off"]),
    ("undo", &["off"]),
    ("limited_transmit", &["off"]),
    ("prr", &["off"]),
    ("rack", &["off"]),
    ("rack_adapts", &["off"]),
    ("rack_duplicate_threshold", &["off"]),
    ("reordering", &["12", "4"]),
    ("max_reordering", &["3"]),
    ("join_small", &["off"]),
    ("slow_start_after_idle", &["off"]),
    ("window_validation", &["off", "rfc-7661"]),
    ("byte_counting", &["off"]),
    ("app_limited_marks", &["off"]),
    ("nagle", &["off"]),
    ("pacing", &["always"]),
    ("pacing_ratios", &["[110, 50]"]),
    ("min_burst", &["6"]),
    ("burst_rtt_log", &["0"]),
    ("burst_divisor", &["0"]),
    ("delayed_ack", &["off"]),
    ("quick_acks", &["off"]),
    ("compressed_acks", &["0"]),
    ("compression_delay", &["20 ms"]),
    ("compression_slack", &["5 ms"]),
    ("initial_rto", &["3 s"]),
    ("syn_linear_timeouts", &["0"]),
    ("rto_estimator", &["rfc-6298"]),
    ("min_rto", &["5 ms"]),
    ("max_rto", &["800 ms"]),
    ("timers", &["jiffies"]),
];

const NETWORKS: [Network; 11] = [
    Network {
        seconds: 6,
        delay: "20 ms",
        wire: "rate = \"10 Mbit/s\"\nqueue = { drop_tail = { packets = 12 } }\nerrors = [{ packet = 0.01 }]\n",
        flow: "",
        tcp: &[],
    },
    Network {
        seconds: 8,
        delay: "20 ms",
        wire: "rate = \"5 Mbit/s\"\nqueue = { red = { packets = 60, min = 2, max = 9, weight = 0.2, ecn = true } }\n",
        flow: "",
        tcp: &[],
    },
    // Segments that others overtake, ACKs that come late, and a loss of the last segment.
    Network {
        seconds: 12,
        delay: "20 ms",
        wire: "rate = \"20 Mbit/s\"\nerrors = [{ list = { data = [\
               { packets = [60, 900], every = 37, outcome = { delay = \"30 ms\" } }, { packets = [300, 330] }], \
               acks = [{ packets = [90, 99], outcome = { delay = \"700 ms\" } }] } }]\n",
        flow: "application = { requests = { request = \"200 B\", response = \"400 kB\", think = \"500 ms\" } }\n",
        tcp: &[],
    },
    // The opening is lost, then the link pauses.
    Network {
        seconds: 30,
        delay: "20 ms",
        wire: "rate = \"4 Mbit/s\"\nerrors = [{ list = { syns = [{ packets = [1, 6] }], \
               lose = [[\"20 s\", \"24 s\"]] } }]\n",
        flow: "",
        tcp: &[],
    },
    Network {
        seconds: 30,
        delay: "40 ms",
        wire: "rate = \"20 Mbit/s\"\nerrors = [{ packet = 0.02 }]\n",
        flow: "application = { requests = { request = \"200 B\", response = \"60 kB\", think = \"800 ms\" } }\n",
        tcp: &[],
    },
    // Small writes.
    Network {
        seconds: 10,
        delay: "20 ms",
        wire: "rate = \"20 Mbit/s\"\nerrors = [{ packet = 0.03 }]\n",
        flow: "application = { poisson = { rate = \"400 kbit/s\", payload = \"300 B\" } }\n",
        tcp: &[("nagle", "off")],
    },
    Network {
        seconds: 10,
        delay: "20 ms",
        wire: "rate = \"20 Mbit/s\"\n",
        flow: "application = { poisson = { rate = \"400 kbit/s\", payload = \"300 B\" } }\n",
        tcp: &[],
    },
    // A long fast path.
    Network {
        seconds: 12,
        delay: "300 ms",
        wire: "rate = \"100 Mbit/s\"\nqueue = { drop_tail = { packets = 4000 } }\n",
        flow: "",
        tcp: &[],
    },
    // A short path.
    Network {
        seconds: 4,
        delay: "1 ms",
        wire: "rate = \"40 Mbit/s\"\nqueue = { drop_tail = { packets = 30 } }\n",
        flow: "",
        tcp: &[],
    },
    // All ACKs of some round trips are late, and timestamps do not tell that.
    Network {
        seconds: 20,
        delay: "20 ms",
        wire: "rate = \"4 Mbit/s\"\nerrors = [{ list = { acks = [\
               { packets = [100, 250], outcome = { delay = \"900 ms\" } }] } }]\n",
        flow: "",
        tcp: &[("timestamps", "off")],
    },
    // Fewer losses and no SACK.
    Network {
        seconds: 10,
        delay: "10 ms",
        wire: "rate = \"5 Mbit/s\"\nqueue = { drop_tail = { packets = 20 } }\nerrors = [{ list = { data = [\
               { packets = [60, 900], every = 37, outcome = { delay = \"30 ms\" } }] } }]\n",
        flow: "",
        tcp: &[("sack", "off")],
    },
];

#[test]
fn every_option_of_linux_changes_a_run_or_is_called_idle() {
    let schema = json_schema();
    let options = schema["$defs"]["LinuxTable"]["properties"].as_object().unwrap();
    for option in options.keys().filter(|option| !["profile", "name", "control"].contains(&option.as_str())) {
        assert!(ALTERNATIVES.iter().any(|(known, _)| known == option), "{option} is not tried here");
    }
    let mut trials = Trials::new("linux", &NETWORKS, 0);
    for &name in ControlKind::NAMES {
        let plain = trials.plain(name.to_owned(), &[("name", name)]);
        for (option, values) in &ALTERNATIVES {
            trials.judge(&plain, option, values, false);
        }
    }
    let Trials { wrong, idle, live, .. } = trials;
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(idle > 40 && live > 400, "{idle} idle, {live} live");
}
