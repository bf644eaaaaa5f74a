//! Whether an orbit from elements lasts until a run ends.
//!
//! SGP4 does not say when drag has brought a satellite down: its semi-major axis is a square, which falls to zero and
//! then grows again, so that a satellite that has hit the ground comes out of it days later. Who flies must therefore
//! be known from the whole run, not from one instant.

use crate::catalogue::LOWEST_KM;
use crate::elements::Flight;
use crate::{Earth, MeanElements, Utc};
use skyhop_base::{Duration, Time};

/// Between two looks at an orbit that seems to last.
const LOOK: Duration = Duration::from_secs(6 * 3600);
/// Between two looks at an orbit that may come down.
const CLOSE_LOOK: Duration = Duration::from_secs(60);
/// To which the end is found.
const PRECISION: Duration = Duration::from_secs(1);
/// Perigees that are higher than this stay above [`LOWEST_KM`] from one look to the next: in 6 h drag takes a few
/// kilometres away from them, and short-periodic terms, which a perigee from one state contains, are up to 30 km.
const SAFE_PERIGEE_KM: f64 = 200.0;
/// Unless drag is beyond all reason, for which the semi-major axis changes by more than this share.
const SAFE_SHRINK: f64 = 0.05;
/// A satellite so low at a close look may be below [`LOWEST_KM`] before the next one: within 60 s of its perigee even
/// the most elongated orbit rises by less than 16 km.
const NEARLY_DOWN_KM: f64 = LOWEST_KM + 30.0;
/// WGS 72, as in SGP4.
const MU_KM3_S2: f64 = 398_600.8;

/// How an orbit ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    /// Lower than [`LOWEST_KM`].
    ComesDown,
    /// The theory fails without it.
    Fails,
}

/// What one instant tells.
#[derive(Clone, Copy, Debug)]
struct Look {
    at: Time,
    end: Option<End>,
    height_km: f64,
    /// Height of the lowest point of the Kepler orbit through position and velocity, and its semi-major axis.
    perigee_km: f64,
    axis_km: f64,
}

/// When and how the orbit ends in a run of this duration from `start` on; `None`: it lasts. Not asked about the start
/// itself.
pub(crate) fn end(elements: &MeanElements, start: Utc, duration: Duration) -> Option<(Time, End)> {
    let flight = Flight::new(elements.propagator().ok()?, start);
    let look = |at: Time| look(&flight, at);
    let finish = Time::ZERO + duration;
    let mut before = look(Time::ZERO);
    while before.at < finish {
        let after = look(before.at.saturating_add(LOOK).min(finish));
        if !(after.end.is_none() && are_calm(&before, &after)) {
            let found = look_closely(&look, before, after);
            if found.is_some() {
                return found;
            }
        }
        before = after;
    }
    None
}

fn are_calm(before: &Look, after: &Look) -> bool {
    let high = before.perigee_km > SAFE_PERIGEE_KM && after.perigee_km > SAFE_PERIGEE_KM;
    high && (after.axis_km - before.axis_km).abs() < SAFE_SHRINK * before.axis_km
}

fn look(flight: &Flight, at: Time) -> Look {
    let ground_km = Earth::WGS84.radius_km;
    let Some((position, velocity)) = flight.teme(at) else {
        return Look { at, end: Some(End::Fails), height_km: -ground_km, perigee_km: -ground_km, axis_km: 0.0 };
    };
    let (radius, momentum) = (position.norm(), position.cross(velocity).norm());
    let energy = velocity.dot(velocity) / 2.0 - MU_KM3_S2 / radius;
    let parameter = momentum * momentum / MU_KM3_S2;
    let eccentricity = (1.0 + 2.0 * energy * parameter / MU_KM3_S2).max(0.0).sqrt();
    Look {
        at,
        end: (radius - ground_km < LOWEST_KM).then_some(End::ComesDown),
        height_km: radius - ground_km,
        perigee_km: parameter / (1.0 + eccentricity) - ground_km,
        axis_km: -MU_KM3_S2 / (2.0 * energy),
    }
}

/// The end between two looks.
fn look_closely(look: &impl Fn(Time) -> Look, from: Look, until: Look) -> Option<(Time, End)> {
    let (mut earlier, mut before) = (from, from);
    while before.at < until.at {
        let mut after = look(before.at.saturating_add(CLOSE_LOOK).min(until.at));
        let is_low = before.height_km <= earlier.height_km && before.height_km <= after.height_km;
        if after.end.is_none() && is_low && before.height_km < NEARLY_DOWN_KM {
            let lowest = lowest(look, earlier.at, after.at);
            if lowest.end.is_some() {
                (before, after) = (earlier, lowest);
            }
        }
        if after.end.is_some() {
            // Where drag is strong the theory has failed a minute later.
            let first = first(look, before.at, after);
            return first.end.map(|end| (first.at, end));
        }
        (earlier, before) = (before, after);
    }
    None
}

/// The first instant after `from` at which the orbit has ended, which it has at `until`, by halving.
fn first(look: &impl Fn(Time) -> Look, mut from: Time, mut until: Look) -> Look {
    while until.at.since(from) > PRECISION {
        let middle = look(from.saturating_add(Duration::from_nanos(until.at.since(from).as_nanos() / 2)));
        if middle.end.is_some() {
            until = middle;
        } else {
            from = middle.at;
        }
    }
    until
}

/// The lowest point of what falls to it and rises from it, by thirds.
fn lowest(look: &impl Fn(Time) -> Look, mut from: Time, mut until: Time) -> Look {
    while until.since(from) > PRECISION {
        let third = Duration::from_nanos(until.since(from).as_nanos() / 3);
        let (a, b) = (from.saturating_add(third), from.saturating_add(third.saturating_mul(2)));
        if look(a).height_km > look(b).height_km {
            from = a;
        } else {
            until = b;
        }
    }
    look(from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Angle;

    fn elements(mean_motion: f64, eccentricity: f64, drag: f64) -> MeanElements {
        MeanElements {
            catalogue_number: 1,
            epoch: Utc::J2000,
            mean_motion,
            eccentricity,
            inclination: Angle::from_degrees(63.4),
            raan: Angle::from_degrees(120.0),
            argument_of_perigee: Angle::from_degrees(270.0),
            mean_anomaly: Angle::from_degrees(20.0),
            drag,
        }
    }

    /// The first second at which the satellite is too low, by looking at each.
    fn by_looking_at_all(elements: &MeanElements, seconds: u64) -> Option<u64> {
        let flight = Flight::new(elements.propagator().unwrap(), Utc::J2000);
        (0..=seconds).find(|&second| {
            let km = flight.teme_km(Time::ZERO + Duration::from_secs(second)).norm();
            km < Earth::WGS84.radius_km + LOWEST_KM
        })
    }

    #[test]
    fn ends_are_those_that_looking_at_every_second_finds() {
        let day = 86_400;
        let mut ended = 0;
        // Low orbits, with drag that brings them through the ground and out again, also within one look; elongated
        // ones with a perigee just above and just below 100 km; a drag that lifts; orbits for the terms of deep space.
        let cases = [
            (16.1, 0.001, 5e-3, 12 * day),
            (16.1, 0.001, 0.05, day),
            (15.5, 0.0001, 0.5, 2 * day),
            (15.5, 0.0001, 9.0, day),
            (15.0, 0.0001, 1e-4, 2 * day),
            (12.0, 0.196, 0.0, day),
            (12.0, 0.2, 0.0, day),
            (12.0, 0.204, 0.0, day),
            (15.5, 0.0001, -2.0, 5 * day),
            (2.25, 0.734, 0.0, 2 * day),
            (2.25, 0.745, 0.0, 2 * day),
            (5.0, 0.54, -0.5, 20 * day),
        ];
        for (mean_motion, eccentricity, drag, seconds) in cases {
            let elements = elements(mean_motion, eccentricity, drag);
            let expected = by_looking_at_all(&elements, seconds);
            let found = end(&elements, Utc::J2000, Duration::from_secs(seconds));
            let found_s = found.map(|(at, _)| at.as_secs_f64());
            let case = format!("{mean_motion} {eccentricity} {drag}: {found:?}, {expected:?}");
            assert_eq!(found_s.is_some(), expected.is_some(), "{case}");
            if let (Some(found), Some(expected)) = (found_s, expected) {
                assert!((found - expected as f64).abs() <= 2.0, "{case}");
                ended += 1;
            }
        }
        assert!((4..cases.len()).contains(&ended), "{ended}");
    }
}
