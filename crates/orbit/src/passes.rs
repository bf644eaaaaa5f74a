//! When a satellite passes over a station.

use crate::visibility::is_below_horizon;
use crate::{Earth, Motion, Site};
use skyhop_base::{Angle, Duration, Time};

/// How far apart the looks are between which a pass is searched for. A pass that rises and sets between two looks is
/// found all the same: the satellite then stands higher in between, and the highest point is searched for.
const STEP: Duration = Duration::from_secs(20);
/// To which instants are found.
const PRECISION: Duration = Duration::from_micros(1);

/// One pass above the mask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// When it comes above the mask; the beginning of the search if it stood there already.
    pub rise: Time,
    /// When it stands highest, and how high.
    pub culmination: Time,
    pub highest: Angle,
    /// When it sinks below the mask; the end of the search if it still stands above.
    pub set: Time,
}

/// The passes of a satellite over a station between two instants, in order. A mask below the horizon is the horizon.
/// Maxima of the elevation that are less than 20 s apart count as one.
pub fn passes(earth: &Earth, site: &Site, satellite: &Motion, from: Time, until: Time, mask: Angle) -> Vec<Pass> {
    passes_over(earth, |_| *site, satellite, from, until, mask)
}

/// The same over a user on the move, who is at a site at each instant.
pub fn passes_over(
    earth: &Earth,
    site: impl Fn(Time) -> Site,
    satellite: &Motion,
    from: Time,
    until: Time,
    mask: Angle,
) -> Vec<Pass> {
    let sin_mask = libm::sin(mask.radians());
    let height = |t: Time| {
        let (site, place) = (site(t), satellite.earth_fixed_km(earth, t));
        // Less than any sine where a mask below the horizon looks at the Earth.
        let is_hidden = sin_mask < 0.0 && is_below_horizon(earth, site.position(), place);
        if is_hidden { -2.0 } else { site.sin_elevation(place) }
    };
    let mut passes = Vec::new();
    // The last three looks; the middle one is the highest where the elevation has a maximum.
    let (mut before, mut now) = ((from, height(from)), (from, height(from)));
    let mut open = (now.1 > sin_mask).then_some((from, now));
    while now.0 < until {
        let next = now.0.saturating_add(STEP).min(until);
        let next = (next, height(next));
        if now.1 >= before.1 && now.1 >= next.1 {
            let top = highest(&height, before.0, next.0);
            match &mut open {
                Some((_, best)) if top.1 > best.1 => *best = top,
                Some(_) => {}
                None if top.1 > sin_mask => {
                    let rise = crossing(|t| height(t) > sin_mask, before.0, top.0);
                    open = Some((rise, top));
                }
                None => {}
            }
        }
        if let Some((_, best)) = &mut open
            && next.1 > best.1
        {
            *best = next;
        }
        match open {
            None if next.1 > sin_mask => open = Some((crossing(|t| height(t) > sin_mask, now.0, next.0), next)),
            Some((rise, best)) if next.1 <= sin_mask => {
                let last_up = if now.1 > sin_mask { now.0 } else { best.0 };
                let set = crossing(|t| height(t) <= sin_mask, last_up, next.0);
                passes.push(pass(rise, best, set));
                open = None;
            }
            _ => {}
        }
        (before, now) = (now, next);
    }
    passes.extend(open.map(|(rise, best)| pass(rise, best, until)));
    passes
}

fn pass(rise: Time, (culmination, sine): (Time, f64), set: Time) -> Pass {
    Pass { rise, culmination, highest: Angle::from_degrees(libm::asin(sine).to_degrees()), set }
}

/// The first instant after `from` at which something holds that holds at `until` and not at `from`, by halving.
fn crossing(holds: impl Fn(Time) -> bool, mut from: Time, mut until: Time) -> Time {
    while until.since(from) > PRECISION {
        let middle = from.saturating_add(Duration::from_nanos(until.since(from).as_nanos() / 2));
        if holds(middle) {
            until = middle;
        } else {
            from = middle;
        }
    }
    until
}

/// The maximum of what rises to it and falls from it, by thirds.
fn highest(height: &impl Fn(Time) -> f64, mut from: Time, mut until: Time) -> (Time, f64) {
    // At the top the elevation differs by less than its rounding long before this.
    while until.since(from) > Duration::from_millis(1) {
        let third = Duration::from_nanos(until.since(from).as_nanos() / 3);
        let (a, b) = (from.saturating_add(third), from.saturating_add(third.saturating_mul(2)));
        if height(a) < height(b) {
            from = a;
        } else {
            until = b;
        }
    }
    (from, height(from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visibility::coverage;
    use crate::{CircularOrbit, GroundPoint, GroundStation, Orbit};
    use skyhop_base::Length;

    fn site(latitude: f64, longitude: f64) -> Site {
        let point = GroundPoint {
            latitude: Angle::from_degrees(latitude),
            longitude: Angle::from_degrees(longitude),
            altitude: Length::from_km(0.0),
        };
        GroundStation::new(point).unwrap().site(&Earth::NS2)
    }

    fn motion(inclination: f64, raan: f64) -> Motion {
        let orbit = CircularOrbit {
            altitude: Length::from_km(780.0),
            inclination: Angle::from_degrees(inclination),
            raan: Angle::from_degrees(raan),
            argument_of_latitude: Angle::from_degrees(180.0),
        };
        Orbit::Circular(orbit).motion(&Earth::NS2)
    }

    #[test]
    fn a_pole_sees_every_revolution_of_a_polar_satellite_through_the_zenith() {
        let (earth, mask) = (Earth::NS2, Angle::from_degrees(8.2));
        let satellite = motion(90.0, 0.0);
        let day = Time::from_secs_f64(86_400.0);
        let found = passes(&earth, &site(90.0, 0.0), &satellite, Time::ZERO, day, mask);
        // 86400 s / 6027 s; the pole does not turn, so each pass lasts 2λ/360° of the period.
        assert_eq!(found.len(), 14);
        let longest = coverage(&earth, Length::from_km(780.0), mask).longest_pass.as_secs_f64();
        for pass in &found {
            assert!((pass.set.since(pass.rise).as_secs_f64() - longest).abs() < 1e-4, "{pass:?}");
            assert!((pass.highest.degrees() - 90.0).abs() < 0.01, "{pass:?}");
            let half = pass.culmination.since(pass.rise).as_secs_f64();
            assert!((half - longest / 2.0).abs() < 0.01, "{pass:?}");
        }
        let period = earth.period_s(7158.0);
        for pair in found.windows(2) {
            assert!((pair[1].rise.since(pair[0].rise).as_secs_f64() - period).abs() < 1e-4);
        }
        // A search that begins and ends within a pass.
        let middle = found[3].culmination;
        let clipped = passes(&earth, &site(90.0, 0.0), &satellite, middle, found[4].culmination, mask);
        assert_eq!((clipped.len(), clipped[0].rise, clipped[1].set), (2, middle, found[4].culmination));
    }

    #[test]
    fn nothing_passes_below_the_horizon() {
        let (earth, satellite) = (Earth::NS2, motion(53.0, 40.0));
        let of_mask = |degrees| {
            passes(
                &earth,
                &site(45.0, 9.0),
                &satellite,
                Time::ZERO,
                Time::from_secs_f64(86_400.0),
                Angle::from_degrees(degrees),
            )
        };
        let (level, low) = (of_mask(0.0), of_mask(-30.0));
        assert!(level.len() > 3 && level.len() == low.len(), "{level:?} {low:?}");
        for (a, b) in level.iter().zip(&low) {
            // The horizon is found to a thousandth of a degree.
            let differ = |a: Time, b: Time| (a.as_secs_f64() - b.as_secs_f64()).abs();
            assert!(differ(a.rise, b.rise) < 0.1 && differ(a.set, b.set) < 0.1, "{a:?} {b:?}");
            assert!((a.highest.degrees() - b.highest.degrees()).abs() < 1e-6, "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_user_who_flies_below_a_satellite_keeps_it_for_longer() {
        let (earth, satellite, mask) = (Earth::NS2, motion(90.0, 0.0), Angle::from_degrees(10.0));
        // The satellite comes over the south pole at 1507 s.
        let until = Time::from_secs_f64(4_000.0);
        let along = |t: Time| site(-60.0 + (t.as_secs_f64() - 1_507.0).max(0.0) * 0.02, 0.0);
        let stays = passes(&earth, &along(Time::ZERO), &satellite, Time::ZERO, until, mask);
        let flies = passes_over(&earth, along, &satellite, Time::ZERO, until, mask);
        let seconds = |pass: &Pass| pass.set.since(pass.rise).as_secs_f64();
        assert_eq!((stays.len(), flies.len()), (1, 1));
        // The satellite goes 0.0597° a second, the user a third of it; the Earth turns away below.
        let ratio = seconds(&flies[0]) / seconds(&stays[0]);
        assert!((ratio - 0.0597 / (0.0597 - 0.02)).abs() < 0.1, "{ratio}");
        let up = |t: Time| along(t).look(satellite.earth_fixed_km(&earth, t)).elevation.degrees();
        assert!((up(flies[0].rise) - 10.0).abs() < 1e-3 && (up(flies[0].set) - 10.0).abs() < 1e-3);
    }

    #[test]
    fn the_shortest_pass_is_found_between_two_looks() {
        // Just below the highest elevation of a pass at a side the mask leaves a pass of a few seconds.
        let (earth, here) = (Earth::NS2, site(20.0, 3.0));
        let satellite = motion(60.0, 0.0);
        let until = Time::from_secs_f64(20_000.0);
        let all = passes(&earth, &here, &satellite, Time::ZERO, until, Angle::from_degrees(0.0));
        assert!(all.len() > 1);
        for pass in all {
            let mask = Angle::from_degrees(pass.highest.degrees() - 1e-4);
            let short = passes(&earth, &here, &satellite, Time::ZERO, until, mask);
            let found = short.iter().find(|p| p.rise >= pass.rise && p.set <= pass.set).unwrap();
            assert!(found.set.since(found.rise) < STEP && found.rise < found.culmination, "{found:?}");
        }
        assert!(passes(&earth, &here, &satellite, Time::ZERO, until, Angle::from_degrees(89.9)).is_empty());
    }
}
