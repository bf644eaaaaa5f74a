//! The values of a profile: the known properties of an operator's links.

use super::Resolver;
use super::wires::Way;
use crate::format::{
    CountsName, DropTailFile, LinkProfileFile, LinkProfileName, LinkProfileOptions, PauseFile, QueueFile, QueueOptions,
    StarlinkDirection, StarlinkFile, StarlinkValues,
};
use crate::scenario::{LinkProfile, Starlink};
use crate::tree::Path;
use skyhop_base::{Duration, Rate};

/// Slots of 15 s at :12, :27, :42 and :57: Mohan et al., "A multifaceted look at Starlink performance", WWW 2024
/// (arXiv 2310.09242), §6; Tanveer et al., "Making sense of constellations", CoNEXT Companion 2023.
pub(super) const SLOT: Duration = Duration::from_secs(15);
pub(super) const SLOT_AT: Duration = Duration::from_secs(12);

/// Bit/s up: Lai et al., "LeoCC", SIGCOMM 2025: capacity moves between 10 and 70 Mbit/s within tens of seconds.
const RATES_UP: [u64; 2] = [10_000_000, 70_000_000];

/// Bit/s down: Huston, "A transport protocol's view of Starlink", APNIC blog, 17 May 2024: 10 to 370 Mbit/s.
const RATES_DOWN: [u64; 2] = [10_000_000, 370_000_000];

/// Up to a satellite at 550 km and down again takes 3.7 ms from below it and 7.5 ms at the mask of 25° (Huston, "TCP and
/// Starlink", INNOG 8, 2025; coverage geometry gives the same): a slot with another satellite adds up to the difference.
const STEP: Duration = Duration::from_micros(3800);

/// Successive round trips differ by 6.7 ms on average (Huston 2024). Two directions that draw uniformly from zero to J
/// make sums whose mean distance is 7 J / 15.
const JITTER: Duration = Duration::from_micros(14_400);

/// Our reading of a recording of SpaceNetLab/LeoCC: delays 10 ms apart differ by 60 % as much as those 50 ms or more apart,
/// delays 20 ms apart by 88 %.
const JITTER_EVERY: Duration = Duration::from_millis(20);

/// Round trips at an edge take 30 to 50 ms more (Huston 2024); our reading: half of it in each direction.
const SPIKE: [Duration; 2] = [Duration::from_millis(15), Duration::from_millis(25)];

/// Delays are raised for about 75 ms at the end and 140 ms at the begin of each period: "Statistical characterization and
/// prediction of E2E latency over LEO satellite networks", arXiv 2601.08439, abstract (one-way delays, 500 per second).
const BEFORE: Duration = Duration::from_millis(75);
const AFTER: Duration = Duration::from_millis(140);

/// Share of the packets of a second: LeoCC finds 0.5 to 6 % in windows of 1 s. Our reading: the windows with an edge.
const EDGE_LOSS: [f64; 2] = [0.005, 0.06];

/// Random losses and packets of queue, up and down: README of LeoReplayer (SpaceNetLab/LeoCC), "empirical".
const LOSS: (f64, f64) = (0.002, 0.0001);
const QUEUE: (u32, u32) = (500, 50_000);

/// What the recording of an uplink in SpaceNetLab/LeoCC shows in place of the above, all of it our reading
/// (`docs/models/starlink.md` has both beside each other). Its delays are halves of round trips: its recorder has pings.
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
    /// Up: at eight edges there is no opportunity to send for 59, 59, 68, 69, 82, 93, 95 and 135 ms. From the shortest on with
    /// their mean. The highest delays there are half as much, as half of a round trip is that waits in one direction.
    pub const PAUSE: [Duration; 2] = [Duration::from_millis(59), Duration::from_millis(106)];
}

/// What the values that a recording can show are without others.
struct Usual {
    rates: [u64; 2],
    step: Duration,
    jitter: Duration,
    spike: [Duration; 2],
    pause: [Duration; 2],
}

impl Usual {
    fn of(values: StarlinkValues, direction: StarlinkDirection) -> Usual {
        let up = direction == StarlinkDirection::Up;
        match values {
            StarlinkValues::Published => Usual {
                rates: if up { RATES_UP } else { RATES_DOWN },
                step: STEP,
                jitter: JITTER,
                spike: SPIKE,
                pause: [Duration::ZERO; 2],
            },
            StarlinkValues::Recorded => Usual {
                rates: if up { recorded::RATES_UP } else { RATES_DOWN },
                step: recorded::STEP,
                jitter: recorded::JITTER,
                spike: recorded::SPIKE,
                pause: if up { recorded::PAUSE } else { [Duration::ZERO; 2] },
            },
        }
    }
}

/// Where a profile is resolved.
pub(super) struct ProfilePlace<'p> {
    pub way: Way,
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

fn direction(file: &StarlinkFile, way: Way) -> StarlinkDirection {
    file.direction.unwrap_or(way.direction)
}

/// The queue of a link with a profile, where none is written: it drops from its front (Brunstrom et al., "Characterizing
/// the configuration of Starlink queuing", IMC 2026, arXiv 2605.27717).
pub(super) fn queue(file: &LinkProfileFile, way: Way) -> Option<QueueFile> {
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
        let usual = Usual::of(given.values.unwrap_or(StarlinkValues::Published), way);
        let [least, most] = usual.rates.map(Rate::from_bps);
        let rates = given.rates.or(place.rate.map(|rate| [rate, rate])).or(least.zip(most).map(<[Rate; 2]>::from))?;
        let starlink = Starlink {
            every: given.every.unwrap_or(SLOT),
            at: given.at.unwrap_or(SLOT_AT),
            rates,
            step: given.step.unwrap_or(if place.way.is_wire { usual.step } else { Duration::ZERO }),
            jitter: given.jitter.unwrap_or(usual.jitter),
            jitter_every: given.jitter_every.unwrap_or(JITTER_EVERY),
            spike: given.spike.unwrap_or(usual.spike),
            before: given.before.unwrap_or(BEFORE),
            after: given.after.unwrap_or(AFTER),
            pause: in_few_words(given.pause.map_or(usual.pause, PauseFile::ends)),
            edge_loss: given.edge_loss.unwrap_or(EDGE_LOSS),
            loss: given.loss.unwrap_or(if up { LOSS.0 } else { LOSS.1 }),
        };
        let path = if written { place.path.key("starlink") } else { place.path.clone() };
        self.check_starlink(&starlink, &path);
        Some(LinkProfile::Starlink(starlink))
    }

    fn check_starlink(&mut self, starlink: &Starlink, path: &Path) {
        self.check_interval(starlink.every, &path.key("every"));
        self.check_interval(starlink.jitter_every, &path.key("jitter_every"));
        if starlink.at >= Duration::from_secs(60) {
            self.add(&path.key("at"), format!("{} is not within a minute", starlink.at), None);
        }
        let limit = Duration::from_secs(1);
        for (key, delay) in [("step", starlink.step), ("jitter", starlink.jitter), ("spike", starlink.spike[1])] {
            if delay > limit {
                self.add(&path.key(key), format!("{delay} is more than {limit}"), None);
            }
        }
        let [shortest, longest] = starlink.pause.ends();
        let pairs = [
            ("rates", starlink.rates[0] <= starlink.rates[1]),
            ("spike", starlink.spike[0] <= starlink.spike[1]),
            ("pause", shortest <= longest),
            ("edge_loss", starlink.edge_loss[0] <= starlink.edge_loss[1]),
        ];
        for (key, _) in pairs.into_iter().filter(|(_, in_order)| !in_order) {
            self.add(&path.key(key), "the first must not be more than the second", None);
        }
        if starlink.edge_loss.iter().any(|share| !(0.0..=1.0).contains(share)) {
            self.add(&path.key("edge_loss"), "must be shares from 0 to 1", None);
        }
        let edge = starlink.before + starlink.after;
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

/// As one length where every edge has the same.
fn in_few_words([shortest, longest]: [Duration; 2]) -> PauseFile {
    if shortest == longest { PauseFile::Same(shortest) } else { PauseFile::Drawn([shortest, longest]) }
}

/// Mean rate of the slots.
pub(super) fn mean_rate(profile: &LinkProfile) -> Option<Rate> {
    let LinkProfile::Starlink(Starlink { rates: [least, most], .. }) = profile;
    Rate::from_bps(least.bps().midpoint(most.bps()))
}
