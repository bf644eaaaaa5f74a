//! The values of a profile: the known properties of an operator's links.

use super::Resolver;
use super::starlink_sets::{AFTER, SYDNEY_2026_QUEUE_DOWN, Usual, in_few_words, lengths};
use super::wires::TransmitterKind;
use crate::format::{
    AllowanceOrNone, CountsName, DropTailFile, FadesOrNone, GrantsFile, HoursFile, HoursName, LinkProfileFile,
    LinkProfileName, LinkProfileOptions, LossFile, NoneOfSet, PauseFile, QueueFile, QueueOptions, StarlinkDirection,
    StarlinkFile, StarlinkValues, UpToFile,
};
use crate::scenario::{Allowance, Direction, Fades, Grants, LinkProfile, Starlink};
use crate::tree::Path;
use skyhop_base::{Duration, Rate};
use skyhop_queue::fq_codel::FqCodelConfig;
use skyhop_queue::{DisciplineName, QueueSpec};

/// Slots of 15 s at :12, :27, :42 and :57: Mohan et al., "A multifaceted look at Starlink performance", WWW 2024
/// (arXiv 2310.09242), §6; Tanveer et al., "Making sense of constellations", CoNEXT Companion 2023.
const SLOT: Duration = Duration::from_secs(15);
const SLOT_AT: Duration = Duration::from_secs(12);

/// Our reading of a recording of SpaceNetLab/LeoCC: delays 10 ms apart differ by 60 % as much as those 50 ms or more
/// apart, delays 20 ms apart by 88 %.
const JITTER_EVERY: Duration = Duration::from_millis(20);

/// Packets of queue up and down: README of LeoReplayer (SpaceNetLab/LeoCC), "empirical".
const QUEUE: (u32, u32) = (500, 50_000);

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

/// Restorations of an allowance that follow more closely do not limit a volume: they make a greater rate.
const LEAST_RESTORED: Duration = Duration::from_secs(1);

/// Where a profile is resolved.
pub(super) struct ProfilePlace<'p> {
    pub kind: TransmitterKind,
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

fn direction(file: &StarlinkFile, kind: TransmitterKind) -> StarlinkDirection {
    file.direction.unwrap_or(kind.direction)
}

/// The queue of a link with a profile, where none is written: it drops from its front (Brunstrom et al.,
/// "Characterizing the configuration of Starlink queuing", IMC 2026, arXiv 2605.27717). The uplinks of `seoul-2026` and
/// `seoul-2026-fades` have CoDel, which came closest to the uploads of the first (`docs/models/starlink-sets.md`).
/// Those of `sydney-2026` have FQ-CoDel, and its downlinks a short queue: nine flows with as many controls share the
/// former evenly, and not the latter (`docs/models/starlink-competing.md`).
pub(super) fn queue(file: &LinkProfileFile, kind: TransmitterKind) -> Option<QueueFile> {
    let (options, _) = options(file)?;
    let room =
        |packets| DropTailFile { packets: Some(packets), counts: Some(CountsName::Waiting), ..DropTailFile::default() };
    Some(match (options.values, direction(&options, kind)) {
        (Some(StarlinkValues::Seoul2026 | StarlinkValues::Seoul2026Fades), StarlinkDirection::Up) => {
            QueueFile::Discipline(DisciplineName::Codel)
        }
        (Some(StarlinkValues::Sydney2026), StarlinkDirection::Up) => {
            // No recording tells whether the uplink marks packets.
            let without_marks = FqCodelConfig { ecn: false, ..FqCodelConfig::default() };
            QueueFile::Spec(Box::new(QueueSpec::FqCodel(without_marks)))
        }
        (Some(StarlinkValues::Sydney2026), StarlinkDirection::Down) => {
            QueueFile::Options(QueueOptions::DropTail(room(SYDNEY_2026_QUEUE_DOWN)))
        }
        (_, StarlinkDirection::Up) => QueueFile::Options(QueueOptions::DropFront(room(QUEUE.0))),
        (_, StarlinkDirection::Down) => QueueFile::Options(QueueOptions::DropFront(room(QUEUE.1))),
    })
}

impl Resolver<'_, '_, '_> {
    pub(super) fn link_profile(&mut self, file: &LinkProfileFile, place: &ProfilePlace<'_>) -> Option<LinkProfile> {
        let (given, written) = options(file)?;
        let direction = direction(&given, place.kind);
        let up = direction == StarlinkDirection::Up;
        let as_written = given.clone();
        let usual = Usual::of(given.values.unwrap_or(StarlinkValues::Published), direction);
        let rates = given
            .rates
            .or(place.rate.map(|rate| vec![rate, rate]))
            .or_else(|| usual.rates.iter().map(|&bps| Rate::from_bps(bps)).collect())?;
        let every = given.every.unwrap_or(SLOT);
        // Where geometry makes the path, a set brings no other changes of it.
        let of_set = if place.kind.is_wire { usual.reroute } else { 0.0 };
        let reroute = given.reroute.unwrap_or(of_set);
        let own_times = given.reroute_at.is_some();
        let (own_jitter, own_busy) = (given.jitter.is_some(), given.busy_jitter.is_some());
        let mut starlink = Starlink {
            every,
            at: given.at.unwrap_or(SLOT_AT),
            rates,
            step: given.step.unwrap_or(if place.kind.is_wire { usual.step } else { UpToFile::Largest(Duration::ZERO) }),
            jitter: given.jitter.unwrap_or(usual.jitter),
            spread: given.spread.unwrap_or(usual.spread),
            jitter_every: given.jitter_every.unwrap_or(JITTER_EVERY),
            busy_jitter: given.busy_jitter.or(usual.busy_jitter),
            ripple: given.ripple.unwrap_or(usual.ripple),
            correlation: given.correlation.unwrap_or(usual.correlation),
            rate_correlation: given.rate_correlation.unwrap_or(usual.rate_correlation),
            hours: match &given.hours {
                None => Vec::new(),
                Some(HoursFile::Factors(factors)) => factors.clone(),
                Some(HoursFile::Named(HoursName::Wetlinks)) => WETLINKS.to_vec(),
            },
            grants: given.grants.clone().map(granted),
            allowance: match &given.allowance {
                None => usual.allowance,
                Some(AllowanceOrNone::Named(NoneOfSet::None)) => None,
                Some(AllowanceOrNone::Bucket(bucket)) => Some(Allowance {
                    rate: bucket.rate,
                    volume: bucket.volume,
                    filled: bucket.filled.unwrap_or(1.0),
                    restored: bucket.restored.as_ref().map(|times| in_few_words(times.quantiles())),
                    restored_at: bucket.restored_at,
                }),
            },
            spike: given.spike.unwrap_or(usual.spike.into()),
            before: given.before.unwrap_or(usual.before),
            after: given.after.unwrap_or(AFTER),
            pause: in_few_words(given.pause.unwrap_or(usual.pause).quantiles()),
            edge_loss: given.edge_loss.unwrap_or(usual.edge_loss),
            loss: given.loss.unwrap_or(LossFile::Same(usual.loss)).in_few_words(),
            fades: match &given.fades {
                None => usual.fades,
                Some(FadesOrNone::Named(NoneOfSet::None)) => None,
                Some(FadesOrNone::Fades(fades)) => Some(Fades {
                    every: fades.every,
                    length: in_few_words(fades.length.quantiles()),
                    loss: fades.loss.clone().in_few_words(),
                }),
            },
            obstructed: given.obstructed.unwrap_or_default(),
            obstructed_at: given.obstructed_at.unwrap_or_default(),
            outage: given.outage.unwrap_or(usual.outage),
            reroute,
            reroute_at: match given.reroute_at {
                _ if reroute == 0.0 => Vec::new(),
                Some(times) => times,
                // The times of a set are those of its slots.
                None if usual.reroute_at.is_empty() || every != SLOT => vec![Duration::ZERO, every],
                None => usual.reroute_at,
            },
            stay: given.stay.unwrap_or(if place.kind.is_wire { usual.stay } else { 0.0 }),
            in_flight_loss: given.in_flight_loss.unwrap_or(usual.in_flight_loss),
        };
        let path = if written { place.path.key("starlink") } else { place.path.clone() };
        if !place.kind.is_wire && !starlink.obstructed.is_empty() {
            let help = "give the stations `obstructions`, which say where in their sky".to_owned();
            self.add(&path.key("obstructed"), "is for wires, whose ends are one terminal's", Some(help));
        }
        for (key, share) in [("reroute", starlink.reroute), ("stay", starlink.stay)] {
            if !place.kind.is_wire && share > 0.0 {
                let help = "leave it out: geometry changes the path".to_owned();
                self.add(&path.key(key), "is for wires, whose path is drawn", Some(help));
            }
        }
        if given.obstructed_at.is_some() && starlink.obstructed.last().is_none_or(|longest| longest.is_zero()) {
            let help = "write the quantiles `obstructed` besides".to_owned();
            self.add(&path.key("obstructed_at"), "has no effect where no slot is obstructed", Some(help));
        }
        if own_times && reroute == 0.0 {
            let help = "write the probability `reroute` besides".to_owned();
            self.add(&path.key("reroute_at"), "has no effect where no path changes", Some(help));
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
        self.check_allowance(&as_written, &mut starlink, &path);
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
        let greatest = given.loss.as_ref().map(LossFile::greatest);
        if greatest == Some(0.0) && given.in_flight_loss.is_none() && starlink.in_flight_loss > 0.0 {
            let message = format!(
                "in_flight_loss stays that of the set of values: {:.0} % of the edges lose all packets in flight: \
                 write in_flight_loss, too, such as 0 for no losses at edges",
                starlink.in_flight_loss * 100.0
            );
            self.warn(&path.key("loss"), message);
        }
        if given.loss.is_some() && given.fades.is_none() && starlink.fades.is_some() {
            let message = "fades stay those of the set of values and lose packets besides: write fades, too, such as \
                           \"none\" if this loss contains them";
            self.warn(&path.key("loss"), message);
        }
        let edge_s = (starlink.before + starlink.after).as_secs_f64();
        if given.edge_loss.is_some() || starlink.edge_loss[1] == 0.0 || edge_s == 0.0 {
            return;
        }
        let at_edges = starlink.edge_loss.map(|share| (share / edge_s).min(1.0));
        let own = greatest.filter(|&loss| loss == 0.0 || loss > at_edges[1]);
        // There the set says how many packets are lost, not how many of a second's.
        let is_narrower =
            matches!(given.values, Some(StarlinkValues::Fitted | StarlinkValues::Loaded | StarlinkValues::Seattle2023))
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
        let shares = |least: f64, most: f64| {
            let [least, most] = [least, most].map(percent);
            if least == most { most } else { format!("{least} to {most}") }
        };
        let [least, most] = at_edges;
        let least_between = starlink.loss.quantiles().first().copied().unwrap_or_default();
        let message = format!(
            "edge_loss stays that of the set of values: {} % of the packets near an edge are lost, and {} % of the \
             others: write edge_loss, too, such as [0, 0] for no losses at edges",
            shares(least, most),
            shares(least_between, starlink.loss.greatest())
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
        let losses = starlink.loss.quantiles();
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
        for (key, lengths) in
            [("obstructed", &starlink.obstructed), ("outage", &starlink.outage), ("reroute_at", &starlink.reroute_at)]
        {
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
            ("reroute_at", starlink.reroute_at.is_sorted(), starlink.reroute_at.len()),
            ("spike", starlink.spike.is_sorted(), starlink.spike.len()),
            ("pause", pause.is_sorted(), pause.len()),
            ("edge_loss", starlink.edge_loss.is_sorted(), 2),
            ("loss", losses.is_sorted(), losses.len()),
        ];
        self.check_order(&lists, path);
        if let Some(fades) = &starlink.fades {
            self.check_fades(fades, &path.key("fades"));
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
    /// An outage takes both directions at once only where it lies in the same part of the slot.
    pub(super) fn warn_of_outages_apart(&mut self, directions: [&Direction; 2], path: &Path) {
        let places = directions.map(|direction| match &direction.transmitter.profile {
            Some(LinkProfile::Starlink(starlink)) if !starlink.obstructed.is_empty() => Some(starlink.obstructed_at),
            _ => None,
        });
        if let [Some(forward), Some(backward)] = places
            && forward != backward
        {
            let text = "obstructed_at differs between forward and backward: an outage takes each direction at another \
                        time of the slot";
            self.warn(path, text);
        }
    }

    /// A limit that no slot reaches has no effect: one that is written is an error, that of a set is left out with a
    /// warning.
    fn check_allowance(&mut self, given: &StarlinkFile, starlink: &mut Starlink, path: &Path) {
        let Some(allowance) = &starlink.allowance else { return };
        if !(0.0..=1.0).contains(&allowance.filled) {
            self.add(&path.key("allowance").key("filled"), "must be a share from 0 to 1", None);
        }
        self.check_restored(allowance, &path.key("allowance"));
        let greatest = |factors: &[f64]| factors.iter().copied().reduce(f64::max).unwrap_or(1.0);
        let fastest = starlink.rates.last().map_or(0.0, |rate| rate.bps_f64())
            * greatest(&starlink.ripple)
            * greatest(&starlink.hours);
        // Within grants the link is faster than its rates say.
        if starlink.grants.is_some() || fastest > allowance.rate.bps_f64() {
            return;
        }
        let message = format!("has no effect: no slot is faster than its rate of {}", allowance.rate);
        let at = path.key("allowance");
        if given.allowance.is_some() {
            let help = "leave it out, or give it a rate below those of slots".to_owned();
            self.add(&at, message, Some(help));
        } else {
            self.warn(&at, format!("that of the set of values {message}, so it is left out"));
            starlink.allowance = None;
        }
    }

    /// Restorations must be times apart that rise, and the first one must lie within the run.
    fn check_restored(&mut self, allowance: &Allowance, path: &Path) {
        let Some(times) = allowance.restored.as_ref().map(PauseFile::quantiles) else {
            if allowance.restored_at.is_some() {
                let help = "write `restored` besides: how long after it the next restoration is".to_owned();
                self.add(&path.key("restored_at"), "has no effect where nothing is restored", Some(help));
            }
            return;
        };
        self.check_order(&[("restored", times.is_sorted(), times.len())], path);
        if let Some(shortest) = times.first().filter(|&&first| times.is_sorted() && first < LEAST_RESTORED) {
            let message = format!("{shortest} is less than {LEAST_RESTORED}");
            self.add(&path.key("restored"), message, None);
        }
        if let (Some(first), Some(duration)) = (allowance.restored_at, self.duration)
            && first >= duration
        {
            let message = format!("nothing is restored: the run of {duration} ends before {first}");
            self.warn(&path.key("restored_at"), message);
        }
    }

    /// Quantiles must rise: of each key, whether its own do, and how many they are.
    fn check_order(&mut self, lists: &[(&str, bool, usize)], path: &Path) {
        for &(key, _, values) in lists.iter().filter(|(_, in_order, _)| !in_order) {
            let said = if values == 2 { "the first must not be more than the second" } else { "must not decrease" };
            self.add(&path.key(key), said, None);
        }
    }

    fn check_fades(&mut self, fades: &Fades, path: &Path) {
        self.check_interval(fades.every, &path.key("every"));
        let (lengths, losses) = (fades.length.quantiles(), fades.loss.quantiles());
        let in_order = [("length", lengths.is_sorted(), lengths.len()), ("loss", losses.is_sorted(), losses.len())];
        self.check_order(&in_order, path);
        let longest = lengths.last().copied().unwrap_or_default();
        if longest > fades.every {
            let message =
                format!("a fade of {longest} is longer than {}, after which the next one begins", fades.every);
            self.add(&path.key("length"), message, None);
        }
        let help = "leave `fades` out, or write \"none\" for a set that has some".to_owned();
        if longest.is_zero() {
            self.add(&path.key("length"), "a fade of no length loses nothing", Some(help));
        } else if fades.loss.greatest() == 0.0 {
            self.add(&path.key("loss"), "a fade that loses nothing has no effect", Some(help));
        }
    }

    fn check_grants(&mut self, grants: &Grants, path: &Path) {
        self.check_interval(grants.every, &path.key("every"));
        self.check_interval(grants.length, &path.key("length"));
        if !grants.shift.is_sorted() {
            self.add(&path.key("shift"), "must not decrease", None);
        }
        let last = grants.shift.last().copied().unwrap_or_default() + grants.length;
        if last > grants.every {
            let message = format!("a grant ends up to {last} after the start of its period of {}", grants.every);
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

/// Mean rate of the slots: each gap between two quantiles is drawn equally often.
pub(super) fn mean_rate(profile: &LinkProfile) -> Option<Rate> {
    let LinkProfile::Starlink(Starlink { rates, .. }) = profile;
    let gaps = rates.windows(2).map(|gap| u128::from(gap[0].bps().midpoint(gap[1].bps())));
    let mean = gaps.sum::<u128>() / (rates.len() as u128 - 1).max(1);
    Rate::from_bps(u64::try_from(mean).ok()?)
}
