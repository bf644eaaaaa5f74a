//! The values of a profile: the known properties of an operator's links.

use super::Resolver;
use super::wires::SendDirection;
use crate::format::{
    CountsName, DropTailFile, GrantsFile, HoursFile, HoursName, LinkProfileFile, LinkProfileName, LinkProfileOptions,
    PauseFile, QueueFile, QueueOptions, StarlinkDirection, StarlinkFile, StarlinkValues, UpToFile,
};
use crate::scenario::{Grants, LinkProfile, Starlink};
use crate::tree::Path;
use skyhop_base::{Duration, Rate};

/// Slots of 15 s at :12, :27, :42 and :57: Mohan et al., "A multifaceted look at Starlink performance", WWW 2024
/// (arXiv 2310.09242), §6; Tanveer et al., "Making sense of constellations", CoNEXT Companion 2023.
const SLOT: Duration = Duration::from_secs(15);
const SLOT_AT: Duration = Duration::from_secs(12);

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

/// Our reading of a recording of SpaceNetLab/LeoCC: delays 10 ms apart differ by 60 % as much as those 50 ms or more
/// apart, delays 20 ms apart by 88 %.
const JITTER_EVERY: Duration = Duration::from_millis(20);

/// Round trips at an edge take 30 to 50 ms more (Huston 2024); our reading: half of it in each direction.
const SPIKE: [Duration; 2] = [Duration::from_millis(15), Duration::from_millis(25)];

/// Delays are raised for about 75 ms at the end and 140 ms at the begin of each period: "Statistical characterization
/// and prediction of E2E latency over LEO satellite networks", arXiv 2601.08439, abstract (one-way delays, 500 per
/// second).
const BEFORE: Duration = Duration::from_millis(75);
const AFTER: Duration = Duration::from_millis(140);

/// Share of the packets of a second: LeoCC finds 0.5 to 6 % in windows of 1 s. Our reading: the windows with an edge.
const EDGE_LOSS: [f64; 2] = [0.005, 0.06];

/// Random losses and packets of queue, up and down: README of LeoReplayer (SpaceNetLab/LeoCC), "empirical".
const LOSS: (f64, f64) = (0.002, 0.0001);
const QUEUE: (u32, u32) = (500, 50_000);

/// What the recording of an uplink in SpaceNetLab/LeoCC shows in place of the above, all of it our reading
/// (`docs/models/starlink.md` has both beside each other). Its delays are halves of round trips: its recorder has
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

/// `skyhop fit starlink` writes these from one public recording (`docs/models/starlink.md` has the command, the
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

/// What a loaded link shows beyond the round trips of `fitted` (`docs/models/starlink.md`).
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

/// Grants of the recorded uplink of SpaceNetLab/LeoCC (`skyhop fit starlink --grants`): one in three frames of 1.333 ms
/// (Humphreys et al. 2023); of bursts, the share that lies in two whole ms; and quantiles 5 % apart of the shift.
mod grants {
    use super::Duration;

    pub const EVERY: Duration = Duration::from_millis(4);
    pub const LENGTH: Duration = Duration::from_micros(250);
    pub const SHIFT_MS: [f64; 21] = [
        0.0, 0.14, 0.87, 1.08, 1.14, 1.35, 1.72, 1.93, 1.96, 2.01, 2.03, 2.05, 2.07, 2.1, 2.11, 2.14, 2.16, 2.23, 2.68,
        3.1, 3.75,
    ];
}

/// Median download of each hour from 0 to 1 h on, over that of all, at Osnabrück and Enschede together, without rain,
/// September 2023 to March 2024: WetLinks (Laniewski et al., TMA 2024, arXiv 2402.16448). The authors publish the
/// differences from the median of all hours (`correction_factors.csv` of sys-uos/WetLinks); 218.1 Mbit/s is the median
/// that their notebook prints for dry weather after the correction.
const WETLINKS: [f64; 24] = [
    1.04, 1.06, 1.06, 1.08, 1.09, 1.13, 1.07, 1.03, 1.02, 1.03, 1.01, 1.01, 1.0, 0.99, 0.99, 0.98, 0.95, 0.91, 0.88,
    0.84, 0.84, 0.9, 0.97, 1.0,
];

/// What the values that a recording can show are without others.
struct Usual {
    rates: Vec<u64>,
    step: UpToFile,
    jitter: UpToFile,
    spread: Vec<f64>,
    busy_jitter: Option<UpToFile>,
    ripple: Vec<f64>,
    correlation: f64,
    spike: [Duration; 2],
    pause: PauseFile,
    before: Duration,
    edge_loss: [f64; 2],
}

impl Usual {
    fn of(values: StarlinkValues, direction: StarlinkDirection) -> Usual {
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
                spike: SPIKE,
                pause: PauseFile::Same(Duration::ZERO),
                before: BEFORE,
                edge_loss: EDGE_LOSS,
            },
            StarlinkValues::Recorded => Usual {
                rates: if up { recorded::RATES_UP } else { RATES_DOWN }.to_vec(),
                step: UpToFile::Largest(recorded::STEP),
                jitter: UpToFile::Largest(recorded::JITTER),
                spread: Vec::new(),
                busy_jitter: None,
                ripple: Vec::new(),
                correlation: 0.0,
                spike: recorded::SPIKE,
                pause: if up { in_few_words(recorded::PAUSE.into()) } else { PauseFile::Same(Duration::ZERO) },
                before: BEFORE,
                edge_loss: EDGE_LOSS,
            },
            // Round trips do not tell the directions apart: all that varies is uplink, whose delays the periods affect
            // more (Garcia, Sundberg and Brunstrom, LEO-NET 2025) and whose grants make it wait.
            StarlinkValues::Fitted => Usual {
                rates: if up { recorded::RATES_UP } else { RATES_DOWN }.to_vec(),
                step: if up { quantiles(&fitted::STEP_MS) } else { UpToFile::Largest(Duration::ZERO) },
                jitter: if up { quantiles(&fitted::JITTER_MS) } else { UpToFile::Largest(Duration::ZERO) },
                spread: if up { fitted::SPREAD.to_vec() } else { Vec::new() },
                busy_jitter: None,
                ripple: Vec::new(),
                correlation: 0.0,
                spike: [Duration::ZERO; 2],
                pause: if up { PauseFile::Drawn(lengths(&fitted::PAUSE_MS)) } else { PauseFile::Same(Duration::ZERO) },
                before: Duration::ZERO,
                // The recording loses no more at edges than elsewhere.
                edge_loss: [AFTER.as_secs_f64() * if up { LOSS.0 } else { LOSS.1 }; 2],
            },
            StarlinkValues::Loaded => Usual {
                rates: if up { loaded::RATES_UP } else { loaded::RATES_DOWN }.to_vec(),
                step: if up { quantiles(&loaded::STEP_MS) } else { UpToFile::Largest(Duration::ZERO) },
                jitter: if up { quantiles(&loaded::JITTER_MS) } else { UpToFile::Largest(Duration::ZERO) },
                spread: if up { loaded::SPREAD.to_vec() } else { Vec::new() },
                busy_jitter: up.then_some(UpToFile::Largest(loaded::BUSY_JITTER)),
                ripple: if up { loaded::RIPPLE.to_vec() } else { Vec::new() },
                correlation: loaded::CORRELATION,
                edge_loss: [(AFTER.as_secs_f64() + loaded::EDGE_LOSS_S) * if up { LOSS.0 } else { LOSS.1 }; 2],
                ..Usual::of(StarlinkValues::Fitted, direction)
            },
        }
    }
}

fn lengths(ms: &[f64]) -> Vec<Duration> {
    ms.iter().map(|ms| Duration::from_nanos((ms * 1e6 + 0.5) as u64)).collect()
}

fn quantiles(ms: &[f64]) -> UpToFile {
    UpToFile::Quantiles(lengths(ms))
}

/// Where a profile is resolved.
pub(super) struct ProfilePlace<'p> {
    pub way: SendDirection,
    /// That the scenario gives.
    pub rate: Option<Rate>,
    pub path: &'p Path,
}

/// The profile that a key names; `None` where it names none.
fn options(file: &LinkProfileFile) -> Option<(StarlinkFile, bool)> {
    match file {
        LinkProfileFile::Named(LinkProfileName::None) => None,
        LinkProfileFile::Named(LinkProfileName::Starlink) => Some((StarlinkFile::default(), false)),
        LinkProfileFile::Options(options) => {
            let LinkProfileOptions::Starlink(options) = options.as_ref();
            Some((options.clone(), true))
        }
    }
}

fn direction(file: &StarlinkFile, way: SendDirection) -> StarlinkDirection {
    file.direction.unwrap_or(way.direction)
}

/// The queue of a link with a profile, where none is written: it drops from its front (Brunstrom et al.,
/// "Characterizing the configuration of Starlink queuing", IMC 2026, arXiv 2605.27717).
pub(super) fn queue(file: &LinkProfileFile, way: SendDirection) -> Option<QueueFile> {
    let (options, _) = options(file)?;
    let packets = match direction(&options, way) {
        StarlinkDirection::Up => QUEUE.0,
        StarlinkDirection::Down => QUEUE.1,
    };
    let room = DropTailFile { packets: Some(packets), counts: Some(CountsName::Waiting), ..DropTailFile::default() };
    Some(QueueFile::Options(QueueOptions::DropFront(room)))
}

impl Resolver<'_, '_, '_> {
    pub(super) fn link_profile(&mut self, file: &LinkProfileFile, place: &ProfilePlace<'_>) -> Option<LinkProfile> {
        let (given, written) = options(file)?;
        let way = direction(&given, place.way);
        let up = way == StarlinkDirection::Up;
        let as_written = given.clone();
        let usual = Usual::of(given.values.unwrap_or(StarlinkValues::Published), way);
        let rates = given
            .rates
            .or(place.rate.map(|rate| vec![rate, rate]))
            .or_else(|| usual.rates.iter().map(|&bps| Rate::from_bps(bps)).collect())?;

        let (own_jitter, own_busy) = (given.jitter.is_some(), given.busy_jitter.is_some());
        let starlink = Starlink {
            every: given.every.unwrap_or(SLOT),
            at: given.at.unwrap_or(SLOT_AT),
            rates,
            step: given.step.unwrap_or(if place.way.is_wire { usual.step } else { UpToFile::Largest(Duration::ZERO) }),
            jitter: given.jitter.unwrap_or(usual.jitter),
            spread: given.spread.unwrap_or(usual.spread),
            jitter_every: given.jitter_every.unwrap_or(JITTER_EVERY),
            busy_jitter: given.busy_jitter.or(usual.busy_jitter),
            ripple: given.ripple.unwrap_or(usual.ripple),
            correlation: given.correlation.unwrap_or(usual.correlation),
            // Every set has one correlation for all that a slot draws.
            rate_correlation: given.rate_correlation.unwrap_or(usual.correlation),
            hours: match &given.hours {
                None => Vec::new(),
                Some(HoursFile::Factors(factors)) => factors.clone(),
                Some(HoursFile::Named(HoursName::Wetlinks)) => WETLINKS.to_vec(),
            },
            grants: given.grants.clone().map(granted),
            spike: given.spike.unwrap_or(usual.spike.into()),
            before: given.before.unwrap_or(usual.before),
            after: given.after.unwrap_or(AFTER),
            pause: in_few_words(given.pause.unwrap_or(usual.pause).quantiles()),
            edge_loss: given.edge_loss.unwrap_or(usual.edge_loss),
            loss: given.loss.unwrap_or(if up { LOSS.0 } else { LOSS.1 }),
            obstructed: given.obstructed.unwrap_or_default(),
            outage: given.outage.unwrap_or_default(),
        };
        let path = if written { place.path.key("starlink") } else { place.path.clone() };
        if !place.way.is_wire && !starlink.obstructed.is_empty() {
            let help = "give the stations `obstructions`, which say where in their sky".to_owned();
            self.add(&path.key("obstructed"), "is for wires, whose ends are one terminal's", Some(help));
        }
        if matches!(given.hours, Some(HoursFile::Named(_))) && up {
            let help = "leave it out, or write 24 factors".to_owned();
            self.add(&path.key("hours"), "is a curve of downloads, and none of uploads is published", Some(help));
        }
        let waits = |jitter: &UpToFile| jitter.quantiles().iter().any(|delay| !delay.is_zero());
        let of_set =
            (!own_jitter && waits(&starlink.jitter)) || (!own_busy && starlink.busy_jitter.as_ref().is_some_and(waits));
        if given.grants.is_some() && of_set {
            self.warnings.push(format!(
                "{}: the jitter of the set of values contains the wait for a grant already, so both add up: write \
                 jitter and busy_jitter besides",
                path.key("grants")
            ));
        }
        self.check_starlink(&starlink, &path);
        self.warn_of_edge_loss(&as_written, &starlink, &path);
        Some(LinkProfile::Starlink(starlink))
    }

    /// Slots that do not fill a minute begin at other seconds in each.
    pub(super) fn warn_of_minutes(&mut self, every: Duration, at: Duration, path: &Path) {
        if !every.is_zero() && !Duration::from_secs(60).as_nanos().is_multiple_of(every.as_nanos()) {
            let message = format!(
                "slots of {every} do not fill a minute: one begins {at} after the full minute at or before the start, \
                 and those of later minutes at other seconds"
            );
            self.warn(path, message);
        }
    }

    /// Losses at edges are a value of the set and replace `loss` there: who writes `loss` alone gets both.
    fn warn_of_edge_loss(&mut self, given: &StarlinkFile, starlink: &Starlink, path: &Path) {
        let edge_s = (starlink.before + starlink.after).as_secs_f64();
        if given.edge_loss.is_some() || starlink.edge_loss[1] == 0.0 || edge_s == 0.0 {
            return;
        }
        let at_edges = starlink.edge_loss.map(|share| (share / edge_s).min(1.0));
        let own = given.loss.filter(|&loss| loss == 0.0 || loss > at_edges[1]);
        // There the set says how many packets are lost, not how many of a second's.
        let is_narrower = matches!(given.values, Some(StarlinkValues::Fitted | StarlinkValues::Loaded))
            && (given.before.is_some() || given.after.is_some())
            && starlink.before + starlink.after != AFTER;
        let key = match (own, is_narrower) {
            (Some(_), _) => "loss",
            (None, true) if given.after.is_some() => "after",
            (None, true) => "before",
            (None, false) => return,
        };
        let percent =
            |share: f64| format!("{:.3}", share * 100.0).trim_end_matches('0').trim_end_matches('.').to_owned();
        let [least, most] = at_edges.map(percent);
        let shares = if least == most { most } else { format!("{least} to {most}") };
        let message = format!(
            "edge_loss stays that of the set of values: {shares} % of the packets near an edge are lost, and {} % of \
             the others: write edge_loss, too, such as [0, 0] for no losses at edges",
            percent(starlink.loss)
        );
        self.warn(&path.key(key), message);
    }

    fn check_starlink(&mut self, starlink: &Starlink, path: &Path) {
        self.check_interval(starlink.every, &path.key("every"));
        self.check_interval(starlink.jitter_every, &path.key("jitter_every"));
        if starlink.at >= Duration::from_secs(60) {
            self.add(&path.key("at"), format!("{} is not within a minute", starlink.at), None);
        }
        self.warn_of_minutes(starlink.every, starlink.at, &path.key("every"));
        let limit = Duration::from_secs(1);
        let (step, jitter, pause) =
            (starlink.step.quantiles(), starlink.jitter.quantiles(), starlink.pause.quantiles());
        let busy = starlink.busy_jitter.as_ref().map(UpToFile::quantiles).unwrap_or_default();
        for (key, delays) in [("step", &step), ("jitter", &jitter), ("busy_jitter", &busy), ("spike", &starlink.spike)]
        {
            if let Some(delay) = delays.iter().find(|&&delay| delay > limit) {
                self.add(&path.key(key), format!("{delay} is more than {limit}"), None);
            }
        }
        for (key, factors) in [("spread", &starlink.spread), ("ripple", &starlink.ripple), ("hours", &starlink.hours)] {
            if factors.iter().any(|factor| !(0.0..=100.0).contains(factor)) {
                self.add(&path.key(key), "must be factors from 0 to 100", None);
            }
        }
        for (key, lengths) in [("obstructed", &starlink.obstructed), ("outage", &starlink.outage)] {
            if lengths.last().is_some_and(|longest| *longest > starlink.every) {
                let message = format!("must not be longer than a slot, {}", starlink.every);
                self.add(&path.key(key), message, None);
            }
        }
        let lists = [
            ("rates", starlink.rates.is_sorted(), starlink.rates.len()),
            ("step", step.is_sorted(), step.len()),
            ("jitter", jitter.is_sorted(), jitter.len()),
            ("busy_jitter", busy.is_sorted(), busy.len()),
            ("spread", starlink.spread.is_sorted(), starlink.spread.len()),
            ("ripple", starlink.ripple.is_sorted(), starlink.ripple.len()),
            ("obstructed", starlink.obstructed.is_sorted(), starlink.obstructed.len()),
            ("outage", starlink.outage.is_sorted(), starlink.outage.len()),
            ("spike", starlink.spike.is_sorted(), starlink.spike.len()),
            ("pause", pause.is_sorted(), pause.len()),
            ("edge_loss", starlink.edge_loss.is_sorted(), 2),
        ];
        for (key, _, values) in lists.into_iter().filter(|(_, in_order, _)| !in_order) {
            let said = if values == 2 { "the first must not be more than the second" } else { "must not decrease" };
            self.add(&path.key(key), said, None);
        }
        if let Some(grants) = &starlink.grants {
            self.check_grants(grants, &path.key("grants"));
        }
        let longest = pause.last().copied().unwrap_or_default();
        let edge = starlink.before + starlink.after;
        if starlink.edge_loss.iter().any(|share| !(0.0..=1.0).contains(share)) {
            self.add(&path.key("edge_loss"), "must be shares from 0 to 1", None);
        } else if !edge.is_zero() && starlink.edge_loss[1] > edge.as_secs_f64() {
            // Zero turns edges off.
            let message = format!(
                "{} of the packets of a second do not pass in the {edge} for which an edge is felt: all of these are \
                 lost, and no more",
                starlink.edge_loss[1]
            );
            self.warn(&path.key("edge_loss"), message);
        }
        if edge >= starlink.every {
            let message = format!("an edge of {edge} in all takes the whole slot of {}", starlink.every);
            self.add(&path.key("after"), message, None);
        }
        if longest >= starlink.every {
            let message = format!("a pause of {longest} takes the whole slot of {}", starlink.every);
            self.add(&path.key("pause"), message, None);
        }
    }
}

impl Resolver<'_, '_, '_> {
    fn check_grants(&mut self, grants: &Grants, path: &Path) {
        self.check_interval(grants.every, &path.key("every"));
        self.check_interval(grants.length, &path.key("length"));
        if !grants.shift.is_sorted() {
            self.add(&path.key("shift"), "must not decrease", None);
        }
        let last = grants.shift.last().copied().unwrap_or_default() + grants.length;
        if last > grants.every {
            let message = format!("a grant ends up to {last} after the begin of its period of {}", grants.every);
            let help = "the largest shift and the length must fit into a period".to_owned();
            self.add(&path.key("shift"), message, Some(help));
        }
    }
}

fn granted(given: GrantsFile) -> Grants {
    Grants {
        every: given.every.unwrap_or(grants::EVERY),
        length: given.length.unwrap_or(grants::LENGTH),
        shift: given.shift.unwrap_or_else(|| lengths(&grants::SHIFT_MS)),
    }
}

/// As one length where every edge has the same.
fn in_few_words(quantiles: Vec<Duration>) -> PauseFile {
    match quantiles.first() {
        Some(&first) if quantiles.iter().all(|&other| other == first) => PauseFile::Same(first),
        _ => PauseFile::Drawn(quantiles),
    }
}

/// Mean rate of the slots: each gap between two quantiles is drawn equally often.
pub(super) fn mean_rate(profile: &LinkProfile) -> Option<Rate> {
    let LinkProfile::Starlink(Starlink { rates, .. }) = profile;
    let gaps = rates.windows(2).map(|gap| u128::from(gap[0].bps().midpoint(gap[1].bps())));
    let mean = gaps.sum::<u128>() / (rates.len() as u128 - 1).max(1);
    Rate::from_bps(u64::try_from(mean).ok()?)
}
