//! The sets of values of the profile `starlink`: what a link has where a scenario gives no value.

use crate::format::{LossFile, PauseFile, StarlinkDirection, StarlinkValues, UpToFile};
use crate::scenario::{Allowance, Fades};
use skyhop_base::{Bytes, Duration, Rate};

/// Bit/s up: Lai et al., "LeoCC", SIGCOMM 2025: capacity moves between 10 and 70 Mbit/s within tens of seconds.
const RATES_UP: [u64; 2] = [10_000_000, 70_000_000];

/// Bit/s down: Huston, "A transport protocol's view of Starlink", APNIC blog, 17 May 2024: 10 to 370 Mbit/s.
const RATES_DOWN: [u64; 2] = [10_000_000, 370_000_000];

/// Up to a satellite at 550 km and down again takes 3.7 ms from below it and 7.5 ms at the mask of 25° (Huston, "TCP
/// and Starlink", INNOG 8, 2025; coverage geometry gives the same): a slot with another satellite adds up to the
/// difference.
const STEP: Duration = Duration::from_micros(3800);

/// Successive round trips differ by 6.7 ms on average (Huston 2024). Two directions that draw uniformly from zero to J
/// make sums whose mean distance is 7 J / 15.
const JITTER: Duration = Duration::from_micros(14_400);

/// Round trips at an edge take 30 to 50 ms more (Huston 2024); our reading: half of it in each direction.
const SPIKE: [Duration; 2] = [Duration::from_millis(15), Duration::from_millis(25)];

/// Delays are raised for about 75 ms at the end and 140 ms at the start of each period: "Statistical characterization
/// and prediction of E2E latency over LEO satellite networks", arXiv 2601.08439, abstract (one-way delays, 500 per
/// second).
const BEFORE: Duration = Duration::from_millis(75);
pub(super) const AFTER: Duration = Duration::from_millis(140);

/// Share of the packets of a second: LeoCC finds 0.5 to 6 % in windows of 1 s. Our reading: the windows with an edge.
const EDGE_LOSS: [f64; 2] = [0.005, 0.06];

/// Random losses up and down: README of LeoReplayer (SpaceNetLab/LeoCC), "empirical".
const LOSS: (f64, f64) = (0.002, 0.0001);

/// What the recording of an uplink in SpaceNetLab/LeoCC shows in place of the above, all of it our reading
/// (`docs/models/starlink-sets.md` has both beside each other). Its delays are halves of round trips: its recorder has
/// pings.
mod recorded {
    use super::Duration;

    /// Bit/s up: mean rates of seven whole slots.
    pub const RATES_UP: [u64; 2] = [38_000_000, 58_000_000];
    /// The least delays of slots lie in 3 ms.
    pub const STEP: Duration = Duration::from_millis(3);
    /// Gives the recording's mean distance of delays 10 ms apart.
    pub const JITTER: Duration = Duration::from_millis(5);
    /// What delays more at an edge is the pause.
    pub const SPIKE: [Duration; 2] = [Duration::ZERO; 2];
    /// Uplink: the recording has no opportunity to send for 59, 59, 68, 69, 82, 93, 95 and 135 ms at eight edges. The
    /// range begins with the shortest of these and has their mean. The highest recorded delays at edges are half as
    /// long, because the recording halves round trips and a packet waits in one direction only.
    pub const PAUSE: [Duration; 2] = [Duration::from_millis(59), Duration::from_millis(106)];
}

/// `skyhop fit starlink` writes these from one public recording (`docs/models/starlink-sets.md` has the command, the
/// intervals and what came of recordings that the fit did not see).
mod fitted {
    /// Quantiles 5 % apart, from 0.5 to 99.5 %, of what a slot adds.
    pub const STEP_MS: [f64; 21] = [
        0.0, 5.5, 7.0, 8.3, 9.2, 9.8, 10.5, 11.6, 12.3, 13.2, 13.9, 14.8, 15.7, 17.4, 19.4, 21.0, 23.7, 27.4, 33.1,
        40.2, 82.2,
    ];
    /// What each interval of jitter adds in a slot of median spread, as `STEP_MS`.
    pub const JITTER_MS: [f64; 21] = [
        0.0, 5.4, 7.0, 8.2, 9.4, 10.6, 11.7, 13.0, 14.4, 15.3, 15.8, 16.4, 17.3, 18.8, 20.5, 22.1, 24.2, 26.7, 29.5,
        33.9, 52.5,
    ];
    /// The factor by which a slot's jitter is wider than the median slot's, as `STEP_MS`.
    pub const SPREAD: [f64; 21] = [
        0.424, 0.567, 0.658, 0.723, 0.754, 0.794, 0.851, 0.909, 0.949, 0.972, 1.000, 1.033, 1.098, 1.151, 1.204, 1.264,
        1.354, 1.449, 1.573, 1.828, 2.576,
    ];
    /// The time without service after an edge, as `STEP_MS`.
    pub const PAUSE_MS: [f64; 21] = [
        21.4, 31.6, 36.3, 39.9, 43.0, 46.0, 48.8, 51.5, 54.3, 57.1, 60.0, 63.1, 66.3, 69.9, 73.8, 78.3, 83.7, 90.3,
        99.3, 113.9, 168.1,
    ];
}

/// What a loaded link shows beyond the round trips of `fitted` (`docs/models/starlink-sets.md`).
mod loaded {
    use super::Duration;

    /// Bit/s up, quantiles: median of uploads 17 Mbit/s (Michel et al., IMC 2022), uploads with BBR 25 to 30 Mbit/s
    /// (blog.wirelessmoves.com, "Starlink - Part 6", August 2023), 48 Mbit/s (recording of SpaceNetLab/LeoCC), within
    /// the range of LeoCC (SIGCOMM 2025). Our reading: four places stand for the quarters of the slots.
    pub const RATES_UP: [u64; 5] = [10_000_000, 17_000_000, 27_000_000, 48_000_000, 70_000_000];
    /// Bit/s down: 134 Mbit/s, the median of UDP on drives (Hu et al., CoNEXT 2023), and 120 to 150 with BBR
    /// (wirelessmoves, part 3) in the middle, 178 (Michel et al.) at three quarters, within the range of Huston 2024;
    /// the lowest quarter ends halfway.
    pub const RATES_DOWN: [u64; 5] = [10_000_000, 75_000_000, 135_000_000, 180_000_000, 370_000_000];

    /// As in `fitted`, of the same recording. The outermost values stand where the gaps there have the recorded means,
    /// and steps and spreads drawn independently are as far apart as the recorded medians of slots.
    pub const STEP_MS: [f64; 21] = [
        0.0, 4.8, 6.2, 7.1, 8.0, 8.5, 9.1, 9.9, 10.6, 11.3, 11.9, 12.7, 13.6, 15.0, 16.7, 17.9, 20.6, 23.3, 28.1, 35.1,
        64.2,
    ];
    pub const JITTER_MS: [f64; 21] = [
        0.0, 3.8, 5.4, 6.7, 7.9, 9.1, 10.2, 11.5, 13.0, 13.9, 14.4, 15.0, 15.9, 17.4, 19.1, 20.8, 22.9, 25.5, 28.3,
        33.2, 48.7,
    ];
    pub const SPREAD: [f64; 21] = [
        0.449, 0.566, 0.655, 0.722, 0.752, 0.793, 0.849, 0.908, 0.947, 0.971, 1.0, 1.032, 1.098, 1.155, 1.201, 1.263,
        1.366, 1.45, 1.631, 1.845, 2.485,
    ];
    /// Correlation of the normal scores of neighbouring slots' steps.
    pub const CORRELATION: f64 = 0.06;
    /// Rate of 20 ms over that of its slot, in the recording of SpaceNetLab/LeoCC without 100 ms at each edge:
    /// quantiles 5 % apart, from 0.5 to 99.5 %.
    pub const RIPPLE: [f64; 21] = [
        0.33, 0.62, 0.72, 0.77, 0.83, 0.87, 0.90, 0.93, 0.96, 0.98, 1.01, 1.03, 1.06, 1.09, 1.12, 1.15, 1.18, 1.22,
        1.27, 1.35, 1.59,
    ];
    /// As `recorded::JITTER`, of pings beside a flood.
    pub const BUSY_JITTER: Duration = super::recorded::JITTER;
    /// Edges lose as much as this much time more without an edge: in a CUBIC upload of 300 s, 16 % of the
    /// retransmissions fell into the 1.5 s after edges, a tenth of the time, 1.71 times as many as elsewhere.
    pub const EDGE_LOSS_S: f64 = 0.71 * 1.5;
}

/// What `skyhop fit starlink` finds in a recording of round trips, all of it in the uplink. The other values are those
/// of `loaded`. `python benches/sky/starlink_set.py RECORDING` prints these lines.
struct RoundTrips {
    step_ms: [f64; 21],
    jitter_ms: [f64; 21],
    spread: [f64; 21],
    pause_ms: [f64; 21],
    correlation: f64,
    reroute: f64,
    reroute_at_s: [f64; 21],
    stay: f64,
    /// Zero: none was claimed, and the losses around edges are those of `loaded`.
    in_flight_loss: f64,
}

/// The whole of the recording of `fitted`: a bent pipe in Seattle, 12 September 2023. The fit maximises a likelihood;
/// the older ones of `fitted` and `loaded` took the chance of few round trips for jitter and steps.
const SEATTLE_2023: RoundTrips = RoundTrips {
    step_ms: [
        0.0, 2.5, 3.4, 3.8, 4.1, 4.3, 4.5, 4.8, 5.2, 5.7, 7.2, 8.6, 9.1, 10.3, 12.0, 14.9, 16.0, 21.8, 26.9, 36.2, 70.7,
    ],
    jitter_ms: [
        0.0, 1.4, 2.6, 4.2, 5.8, 7.2, 8.1, 8.9, 9.9, 11.2, 12.8, 14.0, 14.9, 15.8, 17.0, 18.8, 21.3, 23.9, 27.6, 32.9,
        48.0,
    ],
    spread: [
        0.362, 0.577, 0.670, 0.723, 0.745, 0.768, 0.806, 0.852, 0.906, 0.961, 1.000, 1.041, 1.077, 1.110, 1.155, 1.258,
        1.337, 1.408, 1.522, 1.703, 2.276,
    ],
    pause_ms: [
        30.4, 40.1, 44.2, 47.3, 50.0, 52.4, 54.6, 56.8, 58.9, 61.1, 63.3, 65.5, 67.9, 70.5, 73.3, 76.5, 80.1, 84.6,
        90.5, 99.7, 131.5,
    ],
    correlation: 0.1,
    reroute: 0.164,
    reroute_at_s: [
        0.00, 1.01, 1.04, 1.07, 1.10, 1.13, 1.15, 1.18, 1.21, 1.24, 1.29, 1.35, 1.41, 1.47, 3.54, 6.88, 9.80, 11.13,
        14.27, 14.41, 15.00,
    ],
    stay: 0.0,
    in_flight_loss: 0.0,
};

/// Over ISLs to the gateway in Lagos, 12 September 2023, the first 1,200 s from 00:26:04 UTC on of
/// `src/latency/isl-ping-gw-lagos-230911-172603-0.1s-60min.txt` in
/// github.com/clarkzjw/mmsys24-starlink-livestreaming-data (CC BY-SA 4.0). The rest of it is unseen.
const LAGOS_2023: RoundTrips = RoundTrips {
    step_ms: [
        0.0, 4.3, 13.6, 19.9, 23.0, 27.7, 36.8, 39.4, 48.3, 51.5, 59.2, 66.5, 75.6, 91.4, 96.9, 99.9, 104.3, 127.9,
        135.3, 148.8, 191.9,
    ],
    jitter_ms: [
        0.0, 0.9, 1.8, 2.6, 3.7, 4.8, 5.7, 6.6, 7.2, 7.8, 8.2, 8.5, 8.8, 9.2, 10.0, 11.4, 13.4, 15.9, 19.7, 24.6, 44.3,
    ],
    spread: [
        0.408, 0.479, 0.549, 0.633, 0.684, 0.700, 0.808, 0.861, 0.895, 0.917, 1.000, 1.020, 1.100, 1.126, 1.197, 1.327,
        1.572, 1.749, 2.011, 2.383, 3.005,
    ],
    pause_ms: [
        18.7, 33.8, 41.6, 48.1, 54.0, 59.7, 65.3, 70.9, 76.8, 82.9, 89.4, 96.4, 104.1, 112.7, 122.5, 134.0, 148.0,
        166.2, 192.0, 236.5, 426.8,
    ],
    correlation: 0.3,
    reroute: 0.306,
    reroute_at_s: [
        0.00, 1.14, 2.73, 7.76, 10.45, 11.54, 11.66, 12.74, 14.02, 14.04, 14.06, 14.08, 14.10, 14.12, 14.14, 14.16,
        14.18, 14.20, 14.22, 14.24, 15.00,
    ],
    stay: 0.308,
    in_flight_loss: 0.31,
};

/// What uploads of one dish in Seoul show, 3 to 8 April 2026 (`logs/` of github.com/dlawogud000/starlink-TCP and
/// starlink-TCP-Server; `docs/models/starlink-sets.md` has each value's source, interval and command). All else is that
/// of `seattle-2023`.
mod seoul_2026 {
    use super::{Allowance, Duration, Fades, LossFile, PauseFile};

    /// Bit/s up: `skyhop fit starlink --loaded` of seven floods of 40 to 100 Mbit/s, until their arrivals fall.
    pub const RATES_UP: [u64; 21] = [
        32_440_000, 40_260_000, 48_270_000, 64_630_000, 70_190_000, 70_190_000, 72_090_000, 73_390_000, 73_390_000,
        76_950_000, 76_950_000, 85_220_000, 85_220_000, 85_220_000, 85_220_000, 85_220_000, 87_170_000, 87_170_000,
        87_170_000, 87_170_000, 87_170_000,
    ];
    /// Bit/s and bytes of IP: a token bucket, by when the same floods fall and to which level
    /// (`benches/sky/starlink_seoul.py`).
    pub const ALLOWANCE_UP: (u64, u64) = (24_600_000, 426_000_000);
    /// Bit/s down: a normal distribution of slots that lets pass what two floods of 300 and 500 Mbit/s got; its shape
    /// is our choice. 0.5, 25, 50, 75 and 99.5 %.
    pub const RATES_DOWN: [u64; 5] = [82_000_000, 305_000_000, 384_500_000, 464_000_000, 687_000_000];
    /// Factor on the steps and the jitter of `seattle-2023`, so that smoothed round trips of uploads lie as far above
    /// their least as recorded.
    pub const OF_SEATTLE: f64 = 0.6;
    /// Lognormal, with the median and the deviation of the time for which a flood's datagrams stay away at 20 edges.
    pub const PAUSE_MS: [f64; 21] = [
        92.6, 112.5, 120.5, 126.4, 131.3, 135.7, 139.7, 143.6, 147.4, 151.2, 155.0, 158.9, 163.0, 167.3, 171.9, 177.1,
        183.0, 190.1, 199.4, 213.6, 259.5,
    ];
    /// Between the bursts of one upload with CUBIC: 53 of 96,282 segments.
    pub const LOSS_UP: f64 = 0.00055;
    /// What edges lose beyond that in four uploads with CUBIC and a stream of datagrams: 9 ms on average. The shape is
    /// our choice.
    pub const OUTAGE_MS: [f64; 3] = [0.0, 0.0, 36.0];

    /// The losses of `seoul-2026-fades`, from the slots of a stream of 30 Mbit/s of datagrams that lost little
    /// (`benches/sky/starlink_fades.py`): s from fade to fade, its length, quantiles of its loss, and the loss
    /// besides.
    pub const FADES_EVERY_S: f64 = 5.35;
    pub const FADES_LENGTH_MS: f64 = 150.0;
    pub const FADES_LOSS: [f64; 5] = [0.0155, 0.0232, 0.0283, 0.0309, 0.0541];
    pub const LOSS_BESIDE_FADES: f64 = 0.00028;

    pub fn fades() -> Fades {
        Fades {
            every: Duration::from_secs_f64(FADES_EVERY_S),
            length: PauseFile::Same(Duration::from_secs_f64(1e-3 * FADES_LENGTH_MS)),
            loss: LossFile::Drawn(FADES_LOSS.to_vec()),
        }
    }

    /// Full at the start: nothing tells what a terminal sent before.
    pub fn allowance_up() -> Option<Allowance> {
        super::full(ALLOWANCE_UP, None)
    }
}

/// Packets in the queue of the downlink of `sydney-2026`: with 300 to 1000 nine flows share it about as recorded
/// (`benches/sky/starlink_competing.py`).
pub(super) const SYDNEY_2026_QUEUE_DOWN: u32 = 500;

/// What transfers over another dish show, 28 March to 8 April 2026 (github.com/MPTCP-FreeBSD/tcp-cc-starlink;
/// `docs/models/starlink-sets.md` has each value's source and command). All else is that of `seoul-2026-fades`.
mod sydney_2026 {
    use super::{Allowance, Duration, PauseFile};

    /// Factor on the steps and the jitter of `seoul-2026-fades`. Smoothed round trips of twelve uploads tell it.
    pub const OF_SEOUL: f64 = 0.4;
    /// Factor on the rates down of `seoul-2026`. The sums of nine flows in twelve runs tell it.
    pub const RATES_DOWN_OF_SEOUL: f64 = 0.83;
    /// Bit/s and bytes of IP, by uploads with BBR to Sydney.
    const ALLOWANCE_UP: (u64, u64) = (18_100_000, 443_000_000);
    /// s until the volume comes back, the least and the greatest, by the same uploads.
    const RESTORED_S: [u64; 2] = [14 * 60, 17 * 60];

    pub fn allowance_up() -> Option<Allowance> {
        super::full(ALLOWANCE_UP, Some(PauseFile::Drawn(RESTORED_S.map(Duration::from_secs).to_vec())))
    }
}

/// A bucket of bit/s and bytes that is full at the start.
fn full((rate, bytes): (u64, u64), restored: Option<PauseFile>) -> Option<Allowance> {
    Some(Allowance { rate: Rate::from_bps(rate)?, volume: Bytes(bytes), filled: 1.0, restored, restored_at: None })
}

/// What the values that a recording can show are without others.
pub(super) struct Usual {
    pub rates: Vec<u64>,
    pub step: UpToFile,
    pub jitter: UpToFile,
    pub spread: Vec<f64>,
    pub busy_jitter: Option<UpToFile>,
    pub ripple: Vec<f64>,
    pub correlation: f64,
    pub rate_correlation: f64,
    pub spike: [Duration; 2],
    pub pause: PauseFile,
    pub before: Duration,
    pub edge_loss: [f64; 2],
    pub loss: f64,
    /// Empty: never.
    pub outage: Vec<Duration>,
    pub reroute: f64,
    /// Empty: evenly.
    pub reroute_at: Vec<Duration>,
    pub stay: f64,
    pub in_flight_loss: f64,
    pub allowance: Option<Allowance>,
    pub fades: Option<Fades>,
}

impl Usual {
    pub fn of(values: StarlinkValues, direction: StarlinkDirection) -> Usual {
        let up = direction == StarlinkDirection::Up;
        match values {
            StarlinkValues::Published => Usual {
                rates: if up { RATES_UP } else { RATES_DOWN }.to_vec(),
                step: UpToFile::Largest(STEP),
                jitter: UpToFile::Largest(JITTER),
                spread: Vec::new(),
                busy_jitter: None,
                ripple: Vec::new(),
                correlation: 0.0,
                rate_correlation: 0.0,
                spike: SPIKE,
                pause: PauseFile::Same(Duration::ZERO),
                before: BEFORE,
                edge_loss: EDGE_LOSS,
                loss: if up { LOSS.0 } else { LOSS.1 },
                outage: Vec::new(),
                reroute: 0.0,
                reroute_at: Vec::new(),
                stay: 0.0,
                in_flight_loss: 0.0,
                allowance: None,
                fades: None,
            },
            StarlinkValues::Recorded => Usual {
                rates: if up { recorded::RATES_UP } else { RATES_DOWN }.to_vec(),
                step: UpToFile::Largest(recorded::STEP),
                jitter: UpToFile::Largest(recorded::JITTER),
                spike: recorded::SPIKE,
                pause: if up { in_few_words(recorded::PAUSE.into()) } else { PauseFile::Same(Duration::ZERO) },
                ..Usual::of(StarlinkValues::Published, direction)
            },
            // Round trips do not tell the directions apart: all that varies is uplink, whose delays the periods affect
            // more (Garcia, Sundberg and Brunstrom, LEO-NET 2025) and whose grants make it wait.
            StarlinkValues::Fitted => Usual {
                rates: if up { recorded::RATES_UP } else { RATES_DOWN }.to_vec(),
                step: if up { quantiles(&fitted::STEP_MS) } else { UpToFile::Largest(Duration::ZERO) },
                jitter: if up { quantiles(&fitted::JITTER_MS) } else { UpToFile::Largest(Duration::ZERO) },
                spread: if up { fitted::SPREAD.to_vec() } else { Vec::new() },
                spike: [Duration::ZERO; 2],
                pause: if up { PauseFile::Drawn(lengths(&fitted::PAUSE_MS)) } else { PauseFile::Same(Duration::ZERO) },
                before: Duration::ZERO,
                // The recording loses no more at edges than elsewhere.
                edge_loss: [AFTER.as_secs_f64() * if up { LOSS.0 } else { LOSS.1 }; 2],
                ..Usual::of(StarlinkValues::Published, direction)
            },
            StarlinkValues::Loaded => Usual {
                rates: if up { loaded::RATES_UP } else { loaded::RATES_DOWN }.to_vec(),
                step: if up { quantiles(&loaded::STEP_MS) } else { UpToFile::Largest(Duration::ZERO) },
                jitter: if up { quantiles(&loaded::JITTER_MS) } else { UpToFile::Largest(Duration::ZERO) },
                spread: if up { loaded::SPREAD.to_vec() } else { Vec::new() },
                busy_jitter: up.then_some(UpToFile::Largest(loaded::BUSY_JITTER)),
                ripple: if up { loaded::RIPPLE.to_vec() } else { Vec::new() },
                correlation: loaded::CORRELATION,
                // The set had one correlation for all that a slot draws.
                rate_correlation: loaded::CORRELATION,
                edge_loss: [(AFTER.as_secs_f64() + loaded::EDGE_LOSS_S) * if up { LOSS.0 } else { LOSS.1 }; 2],
                ..Usual::of(StarlinkValues::Fitted, direction)
            },
            StarlinkValues::Seattle2023 => Usual::over_loaded(&SEATTLE_2023, direction),
            StarlinkValues::Lagos2023 => Usual::over_loaded(&LAGOS_2023, direction),
            StarlinkValues::Seoul2026 => {
                let seattle = Usual::over_loaded(&SEATTLE_2023, direction);
                let in_both = Usual {
                    // What edges lose is all in the outage.
                    edge_loss: [0.0; 2],
                    outage: lengths(&seoul_2026::OUTAGE_MS),
                    ..seattle
                };
                if !up {
                    return Usual { rates: seoul_2026::RATES_DOWN.to_vec(), ..in_both };
                }
                Usual {
                    rates: seoul_2026::RATES_UP.to_vec(),
                    allowance: seoul_2026::allowance_up(),
                    step: scaled(SEATTLE_2023.step_ms, seoul_2026::OF_SEATTLE),
                    jitter: scaled(SEATTLE_2023.jitter_ms, seoul_2026::OF_SEATTLE),
                    pause: PauseFile::Drawn(lengths(&seoul_2026::PAUSE_MS)),
                    loss: seoul_2026::LOSS_UP,
                    ..in_both
                }
            }
            StarlinkValues::Seoul2026Fades => {
                let before = Usual { outage: Vec::new(), ..Usual::of(StarlinkValues::Seoul2026, direction) };
                if !up {
                    return before;
                }
                Usual { loss: seoul_2026::LOSS_BESIDE_FADES, fades: Some(seoul_2026::fades()), ..before }
            }
            StarlinkValues::Sydney2026 => {
                let before = Usual::of(StarlinkValues::Seoul2026Fades, direction);
                if !up {
                    let scaled = |bps: u64| (sydney_2026::RATES_DOWN_OF_SEOUL * bps as f64).round() as u64;
                    return Usual { rates: before.rates.iter().map(|&bps| scaled(bps)).collect(), ..before };
                }
                let of_seattle = sydney_2026::OF_SEOUL * seoul_2026::OF_SEATTLE;
                Usual {
                    step: scaled(SEATTLE_2023.step_ms, of_seattle),
                    jitter: scaled(SEATTLE_2023.jitter_ms, of_seattle),
                    allowance: sydney_2026::allowance_up(),
                    ..before
                }
            }
        }
    }

    fn over_loaded(found: &RoundTrips, direction: StarlinkDirection) -> Usual {
        let loaded = Usual::of(StarlinkValues::Loaded, direction);
        let in_both = Usual {
            correlation: found.correlation,
            reroute: found.reroute,
            reroute_at: lengths(&found.reroute_at_s.map(|s| 1e3 * s)),
            stay: found.stay,
            in_flight_loss: found.in_flight_loss,
            edge_loss: if found.in_flight_loss > 0.0 { [0.0; 2] } else { loaded.edge_loss },
            ..loaded
        };
        if direction == StarlinkDirection::Down {
            return in_both;
        }
        Usual {
            step: quantiles(&found.step_ms),
            jitter: quantiles(&found.jitter_ms),
            spread: found.spread.to_vec(),
            pause: PauseFile::Drawn(lengths(&found.pause_ms)),
            ..in_both
        }
    }
}

pub(super) fn lengths(ms: &[f64]) -> Vec<Duration> {
    ms.iter().map(|ms| Duration::from_nanos((ms * 1e6 + 0.5) as u64)).collect()
}

fn scaled(ms: [f64; 21], factor: f64) -> UpToFile {
    quantiles(&ms.map(|ms| factor * ms))
}

fn quantiles(ms: &[f64]) -> UpToFile {
    UpToFile::Quantiles(lengths(ms))
}

/// As one length where every edge has the same.
pub(super) fn in_few_words(quantiles: Vec<Duration>) -> PauseFile {
    match quantiles.first() {
        Some(&first) if quantiles.iter().all(|&other| other == first) => PauseFile::Same(first),
        _ => PauseFile::Drawn(quantiles),
    }
}
