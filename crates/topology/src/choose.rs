//! Which of the satellites in sight a station takes, and when that will change.

use crate::gsl::Gsls;
use crate::sky::Sky;
use crate::{CheckTimes, HandoverPolicy, NodeId, Why};
use skyhop_base::{Duration, Time};
use skyhop_orbit::{Site, Vec3};

/// How far apart the looks into the future are that find when a satellite sets. Shorter than any pass worth having.
const LOOK_AHEAD: Duration = Duration::from_secs(10);
/// Satellites that stay longer than this stay equally long.
const FURTHEST_LOOK: Duration = Duration::from_secs(86_400);
/// To which the setting is found.
const SETTING_PRECISION: Duration = Duration::from_millis(1);

/// Exact checks look so far ahead, in these steps, and find what changes to this precision.
const HORIZON: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_secs(1);
const PRECISION: Duration = Duration::from_micros(1);
/// Nothing above 160 km moves faster around the Earth's centre, against the turning Earth and with an orbit as
/// elongated as one likes: √2 · 7.8 km/s / 6538 km + 7.3·10⁻⁵.
const FASTEST_RAD_S: f64 = 1.8e-3;

/// What a station decides at a check: its satellite, and why, should it be another than before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice {
    pub satellite: Option<NodeId>,
    pub why: Why,
}

/// What one station sees at one instant.
pub(crate) struct View<'a> {
    pub site: &'a Site,
    pub now: Time,
    /// Above the mask and near enough, in the order of nodes.
    pub in_sight: Vec<NodeId>,
    /// Their positions, if the instant is not that of the sky.
    pub places: Option<Vec<Vec3>>,
}

impl<'a> View<'a> {
    /// Looks at all satellites.
    pub fn of_all(gsls: &Gsls, n: usize, site: &'a Site, now: Time, sky: &Sky) -> View<'a> {
        let sees = |&&satellite: &&NodeId| gsls.sees(n, site, sky.positions()[satellite]);
        View { site, now, in_sight: gsls.satellites.iter().filter(sees).copied().collect(), places: None }
    }

    /// Looks at some satellites at another instant.
    fn ahead(gsls: &Gsls, n: usize, site: &'a Site, now: Time, satellites: &[NodeId], sky: &Sky) -> View<'a> {
        let (mut in_sight, mut places) = (Vec::new(), Vec::new());
        for &satellite in satellites {
            let place = sky.motion(satellite).earth_fixed_km(&sky.earth, now);
            if gsls.sees(n, site, place) {
                in_sight.push(satellite);
                places.push(place);
            }
        }
        View { site, now, in_sight, places: Some(places) }
    }

    /// The satellite in sight that may be taken with the greatest `worth`, the first of equal ones.
    fn best(&self, gsls: &Gsls, n: usize, sky: &Sky, worth: impl Fn(NodeId, Vec3) -> f64) -> Result<NodeId, Why> {
        let mut best = Err(Why::NoneInSight);
        let mut most = f64::NEG_INFINITY;
        for (index, &satellite) in self.in_sight.iter().enumerate() {
            if let Err(why) = gsls.may_take(n, satellite) {
                best = best.map_err(|_| why);
                continue;
            }
            let place = self.places.as_ref().map_or_else(|| sky.positions()[satellite], |places| places[index]);
            let worth = worth(satellite, place);
            if best.is_err() || worth > most {
                (best, most) = (Ok(satellite), worth);
            }
        }
        best
    }
}

/// With these rules a station stays with its satellite while it sees it.
fn is_faithful(gsls: &Gsls, n: usize) -> bool {
    match gsls.terminals[n].policy {
        HandoverPolicy::UntilBelowMask | HandoverPolicy::LongestVisibility => true,
        HandoverPolicy::Nearest | HandoverPolicy::HighestElevation => false,
        HandoverPolicy::Random { .. } => gsls.rules.check_times == CheckTimes::Exact,
    }
}

fn sees(gsls: &Gsls, n: usize, site: &Site, satellite: NodeId, now: Time, sky: &Sky) -> bool {
    gsls.sees(n, site, sky.position_at(satellite, now))
}

/// The satellite that a station keeps without looking at others.
pub(crate) fn keeps(gsls: &Gsls, n: usize, site: &Site, now: Time, sky: &Sky) -> Option<Choice> {
    let serving = gsls.terminals[n].serving.filter(|_| is_faithful(gsls, n))?;
    let keeps = sees(gsls, n, site, serving, now, sky) && gsls.may_take(n, serving).is_ok();
    keeps.then_some(Choice { satellite: Some(serving), why: Why::InSight })
}

/// The satellite that a station takes when it does not simply keep its own. [`Sky::refresh`] has been called for the
/// instant of the view, unless the view holds places.
pub(crate) fn choose(gsls: &Gsls, n: usize, view: &View<'_>, sky: &Sky) -> Choice {
    let terminal = &gsls.terminals[n];
    let serving = terminal.serving;
    let site = view.site;
    let policy = terminal.policy;
    if policy == HandoverPolicy::UntilBelowMask
        && let Some(next) = serving.and_then(|old| gsls.trailing[old])
        && view.in_sight.binary_search(&next).is_ok()
        && gsls.may_take(n, next).is_ok()
    {
        return Choice { satellite: Some(next), why: Why::TrailingSatellite };
    }
    let highest = || view.best(gsls, n, sky, |_, place| site.sin_elevation(place));
    let (chosen, better, after_loss) = match policy {
        HandoverPolicy::UntilBelowMask | HandoverPolicy::HighestElevation => {
            (highest(), Why::Higher, Why::HighestAfterLoss)
        }
        HandoverPolicy::Nearest => {
            let nearest = view.best(gsls, n, sky, |_, place| -(place - site.position()).norm());
            (nearest, Why::Nearer, Why::NearestAfterLoss)
        }
        HandoverPolicy::LongestVisibility => {
            let longest = view.best(gsls, n, sky, |satellite, _| stays_ns(gsls, n, satellite, view.now, sky));
            (longest, Why::LongestAfterLoss, Why::LongestAfterLoss)
        }
        HandoverPolicy::Random { .. } => {
            let may: Vec<NodeId> =
                view.in_sight.iter().copied().filter(|&satellite| gsls.may_take(n, satellite).is_ok()).collect();
            let drawn = may.get((terminal.draw() * may.len() as f64) as usize).copied();
            (drawn.map_or_else(highest, Ok), Why::Drawn, Why::DrawnAfterLoss)
        }
    };
    // Why the satellite so far cannot stay, if it cannot.
    let lost = serving.and_then(|satellite| {
        let seen = view.in_sight.binary_search(&satellite).is_ok();
        if seen { gsls.may_take(n, satellite).err() } else { Some(after_loss) }
    });
    match (serving, chosen) {
        (_, Err(why)) => Choice { satellite: None, why },
        (None, Ok(new)) => Choice { satellite: Some(new), why: Why::FirstContact },
        (Some(_), Ok(new)) => Choice { satellite: Some(new), why: lost.unwrap_or(better) },
    }
}

/// For how many nanoseconds from now a satellite in sight stays in sight; infinite beyond [`FURTHEST_LOOK`].
fn stays_ns(gsls: &Gsls, n: usize, satellite: NodeId, now: Time, sky: &Sky) -> f64 {
    let motion = sky.motion(satellite);
    let place = &gsls.terminals[n].place;
    if motion.is_earth_fixed(&sky.earth) && sky.motion(gsls.terminals[n].node).is_earth_fixed(&sky.earth) {
        return f64::INFINITY;
    }
    let sees = |t: Time| gsls.sees(n, &place.site(&sky.earth, t), motion.earth_fixed_km(&sky.earth, t));
    let mut seen = now;
    while sees(seen.saturating_add(LOOK_AHEAD)) {
        seen = seen.saturating_add(LOOK_AHEAD);
        if seen.since(now) > FURTHEST_LOOK {
            return f64::INFINITY;
        }
    }
    let mut step = LOOK_AHEAD;
    while step > SETTING_PRECISION {
        step = Duration::from_nanos(step.as_nanos() / 2);
        if sees(seen.saturating_add(step)) {
            seen = seen.saturating_add(step);
        }
    }
    seen.since(now).as_nanos() as f64
}

/// The next instant after a check at `now` at which the station would decide otherwise, or at which it has to look
/// again: at most [`HORIZON`] ahead.
pub(crate) fn next_exact(gsls: &Gsls, n: usize, now: Time, sky: &mut Sky) -> Time {
    let terminal = &gsls.terminals[n];
    let serving = terminal.serving;
    let place = &terminal.place;
    if let Some(satellite) = serving.filter(|_| is_faithful(gsls, n)) {
        let earth = sky.earth;
        let lost = |t: Time| !sees(gsls, n, &place.site(&earth, t), satellite, t, sky);
        return first(lost, now);
    }
    sky.refresh(now);
    let sky = &*sky;
    let nearby = nearby(gsls, n, &place.site(&sky.earth, now), sky);
    let differs = |t: Time| {
        let site = place.site(&sky.earth, t);
        let view = View::ahead(gsls, n, &site, t, &nearby, sky);
        match serving {
            None => view.in_sight.iter().any(|&satellite| gsls.may_take(n, satellite).is_ok()),
            Some(_) => choose(gsls, n, &view, sky).satellite != serving,
        }
    };
    first(differs, now)
}

/// The satellites that can come into sight within [`HORIZON`].
fn nearby(gsls: &Gsls, n: usize, site: &Site, sky: &Sky) -> Vec<NodeId> {
    let here = site.position();
    let mask_rad = gsls.terminals[n].mask_rad;
    let (radius, cos_mask) = (here.norm(), libm::cos(mask_rad));
    // Vertical and radius differ by up to 0.2° on the ellipsoid.
    let slack = FASTEST_RAD_S * HORIZON.as_secs_f64() + 0.004;
    let near = |&&satellite: &&NodeId| {
        let position = sky.positions()[satellite];
        let distance = position.norm();
        if distance < radius {
            return true;
        }
        // λ = acos(R cos ε / r) − ε
        let reach = libm::acos((radius * cos_mask / distance).min(1.0)) - mask_rad + slack;
        reach >= std::f64::consts::PI || here.dot(position) >= radius * distance * libm::cos(reach)
    };
    gsls.satellites.iter().filter(near).copied().collect()
}

/// The first instant after `now` at which something holds, by steps and halving; the horizon if it does not.
pub(crate) fn first(holds: impl Fn(Time) -> bool, now: Time) -> Time {
    first_within(holds, now, STEP)
}

pub(crate) fn first_within(holds: impl Fn(Time) -> bool, now: Time, step: Duration) -> Time {
    let end = now.saturating_add(HORIZON);
    let mut from = now;
    while from < end {
        let mut until = from.saturating_add(step);
        if holds(until) {
            while until.since(from) > PRECISION {
                let middle = from.saturating_add(Duration::from_nanos(until.since(from).as_nanos() / 2));
                if holds(middle) {
                    until = middle;
                } else {
                    from = middle;
                }
            }
            return until;
        }
        from = until;
    }
    end
}
