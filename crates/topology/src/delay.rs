//! Propagation delay between two moving nodes, as a chain of parabolas.
//!
//! Time is cut into cells of 2³² ns (4.3 s), and a cell is halved again and again until the parabola through the exact
//! delay at its ends and its middle misses the exact delay at its quarters by at most [`LARGEST_MISS_NS`]. Whether a
//! cell is halved depends on the pair and the cell alone, so the segments of a pair always join at the same knots,
//! whoever asks and whenever.

use skyhop_base::{Duration, Time};
use skyhop_orbit::{Earth, Motion, distance_km};

/// What a parabola leaves of a smooth delay is a cubic, which is largest 0.21 of the length from either end and there
/// 1.03 times as large as at the quarters. Next to a kink (a user who turns round) it may be 2.7 times as large: 0.4
/// ns.
const LARGEST_MISS_NS: f64 = 0.15;
const CELL_BITS: u32 = 32;
/// Shortest segment, 2¹⁹ ns (0.5 ms): enough for satellites that pass each other within a few hundred metres.
const SHORTEST_BITS: u32 = 19;

/// The delay of a packet that departs x ns after the start of a segment: `start + slope x + bend x²`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parabola {
    start_ns: f64,
    /// Nanoseconds of delay per nanosecond.
    slope: f64,
    /// The same per nanosecond.
    bend: f64,
}

impl Parabola {
    /// No delay.
    pub const NONE: Parabola = Parabola { start_ns: 0.0, slope: 0.0, bend: 0.0 };

    /// Delay to the nearest nanosecond, `since` ns after the start.
    #[inline(always)]
    pub fn at(&self, since: i64) -> Duration {
        // Never negative within the segment. A signed number is converted with one instruction, an unsigned one with
        // six.
        Duration::from_nanos((self.at_ns(since) + 0.5) as i64 as u64)
    }

    #[inline(always)]
    fn at_ns(&self, since: i64) -> f64 {
        let since = since as f64;
        self.start_ns + (self.slope + self.bend * since) * since
    }
}

/// Delay from `from` until `until`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelaySegment {
    pub from: Time,
    pub until: Time,
    pub curve: Parabola,
}

impl DelaySegment {
    /// The same at all times.
    pub fn constant(delay: Duration) -> DelaySegment {
        DelaySegment::level(delay.as_nanos() as f64)
    }

    fn level(start_ns: f64) -> DelaySegment {
        DelaySegment { from: Time::ZERO, until: Time::MAX, curve: Parabola { start_ns, ..Parabola::NONE } }
    }

    /// Delay of what departs at `t`, to the nearest nanosecond. Meant for `from <= t < until`.
    #[inline]
    pub fn at(&self, t: Time) -> Duration {
        debug_assert!(self.from <= t && t <= self.until, "{t:?} is outside of {self:?}");
        self.curve.at(t.since(self.from).as_nanos() as i64)
    }

    #[cfg(test)]
    fn at_ns(&self, t: Time) -> f64 {
        self.curve.at_ns(t.since(self.from).as_nanos() as i64)
    }

    /// The segment of the delay between `a` and `b` that contains `at`.
    pub(crate) fn between(earth: &Earth, a: &Motion, b: &Motion, at: Time) -> DelaySegment {
        let delay_ns = |nanos: u64| earth.light_time_ns(distance_km(a, b, Time::from_nanos(nanos)));
        if a.is_earth_fixed(earth) && b.is_earth_fixed(earth) {
            return DelaySegment::level(delay_ns(0));
        }
        let mut bits = CELL_BITS;
        let mut from = at.as_nanos() >> bits << bits;
        let knot = |from: u64, bits: u32, quarter: u64| delay_ns(from.saturating_add(quarter << (bits - 2)));
        let mut values: [f64; 5] = std::array::from_fn(|quarter| knot(from, bits, quarter as u64));
        while bits > SHORTEST_BITS && miss_ns(&values) > LARGEST_MISS_NS {
            let [first, second, middle, third, last] = values;
            bits -= 1;
            let middle_nanos = from.saturating_add(1 << bits);
            let (start, centre, end) = if at.as_nanos() < middle_nanos {
                (first, second, middle)
            } else {
                from = middle_nanos;
                (middle, third, last)
            };
            values = [start, knot(from, bits, 1), centre, knot(from, bits, 3), end];
        }
        let [start, _, middle, _, end] = values;
        let until = from.saturating_add(1 << bits);
        let length = (until - from) as f64;
        DelaySegment {
            from: Time::from_nanos(from),
            until: Time::from_nanos(until),
            curve: Parabola {
                start_ns: start,
                slope: (4.0 * middle - 3.0 * start - end) / length,
                bend: (2.0 * start + 2.0 * end - 4.0 * middle) / (length * length),
            },
        }
    }
}

/// How far the parabola through the first, the third and the last of five equidistant values is from the others.
fn miss_ns([start, second, middle, fourth, end]: &[f64; 5]) -> f64 {
    let at_second = 0.375 * start + 0.75 * middle - 0.125 * end;
    let at_fourth = 0.375 * end + 0.75 * middle - 0.125 * start;
    (second - at_second).abs().max((fourth - at_fourth).abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::{Angle, Length, Stream};
    use skyhop_orbit::{CircularOrbit, GroundPoint, GroundStation, Orbit, Track};

    fn orbit(altitude: f64, inclination: f64, raan: f64, u: f64) -> Orbit {
        Orbit::Circular(CircularOrbit {
            altitude: Length::from_km(altitude),
            inclination: Angle::from_degrees(inclination),
            raan: Angle::from_degrees(raan),
            argument_of_latitude: Angle::from_degrees(u),
        })
    }

    fn station(latitude: f64, longitude: f64) -> Motion {
        let point = GroundPoint {
            latitude: Angle::from_degrees(latitude),
            longitude: Angle::from_degrees(longitude),
            altitude: Length::from_km(0.0),
        };
        Motion::turning_with(&Earth::WGS84, GroundStation::new(point).unwrap().site(&Earth::WGS84).position())
    }

    /// Walks the chain over `seconds`: knots join, and between them the parabola stays within 0.5 ns of the geometry.
    /// Returns the largest error and the number of segments.
    fn walk(a: &Motion, b: &Motion, start: u64, seconds: u64) -> (f64, usize) {
        let earth = Earth::WGS84;
        let exact = |t: Time| earth.light_time_ns(distance_km(a, b, t));
        let mut t = Time::ZERO + Duration::from_secs(start);
        let end = t + Duration::from_secs(seconds);
        let (mut worst, mut count, mut last): (f64, usize, Option<DelaySegment>) = (0.0, 0, None);
        while t < end {
            let segment = DelaySegment::between(&earth, a, b, t);
            assert!(segment.from <= t && t < segment.until);
            if let Some(last) = last {
                assert_eq!(last.until, segment.from);
                assert!((last.at_ns(last.until) - segment.curve.start_ns).abs() < 1e-6, "segments join");
            }
            let length = segment.until.since(segment.from).as_nanos();
            for eighth in 0..8 {
                let t = segment.from + Duration::from_nanos(length * eighth / 8);
                worst = worst.max((segment.at_ns(t) - exact(t)).abs());
                let rounded = segment.at(t).as_nanos() as f64 - exact(t);
                assert!(rounded.abs() <= 1.0, "half a nanosecond of error and half of rounding");
            }
            (t, last, count) = (segment.until, Some(segment), count + 1);
        }
        (worst, count)
    }

    #[test]
    fn passes_over_stations_stay_within_half_a_nanosecond() {
        for altitude in [300.0, 550.0, 780.0, 1200.0, 2000.0] {
            for inclination in [0.0, 53.0, 86.4, 120.0, 180.0] {
                // Straight through the zenith at t = 0, seen 300 s before and after it.
                let overhead = orbit(altitude, inclination, 10.0, 0.0).motion(&Earth::WGS84);
                let (worst, count) = walk(&overhead, &station(0.0, 10.0), 0, 300);
                assert!(worst < 0.5 && worst > 0.0, "{altitude} km, {inclination} deg: {worst} ns");
                assert!(count < 300 * 40, "segments are not needlessly short: {count}");
                let (worst, _) = walk(&overhead, &station(30.0, 60.0), 40_000, 300);
                assert!(worst < 0.5, "{altitude} km, {inclination} deg: {worst} ns");
            }
        }
    }

    #[test]
    fn isls_stay_within_half_a_nanosecond() {
        for altitude in [300.0, 550.0, 780.0, 2000.0] {
            let here = orbit(altitude, 86.4, 0.0, 0.0).motion(&Earth::WGS84);
            for (raan, u) in [(31.6, 16.36), (5.0, 1.0), (0.0, 32.7), (180.0, 172.0), (158.0, 175.0)] {
                let there = orbit(altitude, 86.4, raan, u).motion(&Earth::WGS84);
                let (worst, _) = walk(&here, &there, 0, 1600);
                assert!(worst < 0.5, "{altitude} km, {raan} deg: {worst} ns");
            }
        }
    }

    #[test]
    fn random_pairs_stay_within_half_a_nanosecond() {
        let mut stream = Stream::new(11, "delay", "test");
        for _ in 0..300 {
            let mut satellite = || {
                let altitude = 300.0 + 1700.0 * stream.uniform();
                orbit(altitude, 180.0 * stream.uniform(), 360.0 * stream.uniform(), 360.0 * stream.uniform())
            };
            let (a, b) = (satellite().motion(&Earth::WGS84), satellite().motion(&Earth::WGS84));
            let ground = station(180.0 * stream.uniform() - 90.0, 360.0 * stream.uniform());
            for (a, b) in [(&a, &b), (&a, &ground)] {
                let start = (86_400.0 * stream.uniform()) as u64;
                let (worst, _) = walk(a, b, start, 20);
                assert!(worst < 0.5, "{worst} ns");
            }
        }
    }

    #[test]
    fn users_on_a_track_stay_within_half_a_nanosecond() {
        // A train that turns round: its delay has a kink at the waypoint, which the shortest segment bounds.
        let point = |longitude: f64| GroundPoint {
            latitude: Angle::from_degrees(45.0),
            longitude: Angle::from_degrees(longitude),
            altitude: Length::from_km(0.0),
        };
        let at = Time::from_secs_f64;
        let track = Track::new(&[(at(0.0), point(10.0)), (at(100.3), point(10.1)), (at(200.0), point(10.0))]).unwrap();
        let train = Motion::along(&Earth::WGS84, track);
        let satellite = orbit(550.0, 53.0, 0.0, 70.0).motion(&Earth::WGS84);
        let (worst, count) = walk(&train, &satellite, 0, 250);
        assert!(worst < 0.5 && worst > 0.0 && count < 250 * 40, "{worst} ns, {count}");
    }

    #[test]
    fn what_stands_still_has_one_segment() {
        let earth = Earth::WGS84;
        let geo = Orbit::Geostationary { longitude: Angle::from_degrees(10.0) }.motion(&earth);
        let segment = DelaySegment::between(&earth, &geo, &station(0.0, 10.0), Time::from_secs_f64(5000.0));
        assert_eq!((segment.from, segment.until), (Time::ZERO, Time::MAX));
        // 35786.035 km at the speed of light.
        assert_eq!(segment.at(Time::from_secs_f64(1e6)).as_nanos(), 119_369_364);
        assert_eq!(size_of::<DelaySegment>(), 40);
    }
}
