//! Users on the move.

use crate::{Earth, GroundPoint, GroundStation, OrbitError, Site, Vec3};
use skyhop_base::Time;

/// Where a moving user is when: it stands at the first waypoint until its time, goes from each to the next on the
/// shortest path at an even pace, and stays at the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    waypoints: Vec<Waypoint>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Waypoint {
    at: Time,
    up: Vec3,
    height_km: f64,
}

impl Track {
    /// From points and the times when the user is there.
    ///
    /// # Errors
    /// No waypoints, times that do not increase, points that are not on the ground, legs between antipodes.
    pub fn new(points: &[(Time, GroundPoint)]) -> Result<Track, OrbitError> {
        if points.is_empty() {
            return Err(OrbitError::EmptyTrack);
        }
        let mut waypoints: Vec<Waypoint> = Vec::with_capacity(points.len());
        for (index, &(at, point)) in points.iter().enumerate() {
            let point = GroundStation::new(point)?.point();
            let (sin_lat, cos_lat) = libm::sincos(point.latitude.radians());
            let (sin_lon, cos_lon) = libm::sincos(point.longitude.radians());
            let up = Vec3::new(cos_lat * cos_lon, cos_lat * sin_lon, sin_lat);
            if let Some(last) = waypoints.last() {
                if at <= last.at {
                    return Err(OrbitError::TrackOrder { index });
                }
                if up.dot(last.up) < -0.999_999 {
                    return Err(OrbitError::TrackAntipodes { index: index - 1 });
                }
            }
            waypoints.push(Waypoint { at, up, height_km: point.altitude.km() });
        }
        Ok(Track { waypoints })
    }

    /// The place at `t`, with its horizon.
    pub fn site(&self, earth: &Earth, t: Time) -> Site {
        let next = self.waypoints.partition_point(|waypoint| waypoint.at <= t);
        let (before, after) = (next.checked_sub(1).map(|last| self.waypoints[last]), self.waypoints.get(next));
        let (up, height_km) = match (before, after) {
            (Some(a), Some(b)) => {
                let share = t.since(a.at).as_nanos() as f64 / b.at.since(a.at).as_nanos() as f64;
                (between(a.up, b.up, share), a.height_km + share * (b.height_km - a.height_km))
            }
            (Some(only), None) => (only.up, only.height_km),
            (None, first) => first.map_or((Vec3::ZERO, 0.0), |first| (first.up, first.height_km)),
        };
        let site = Site::with_vertical(earth, up, height_km);
        // At the end it stands as it came, at the beginning as it will go.
        let ahead = match (next, after) {
            (0, _) => self.waypoints.get(1).map(|second| second.up),
            (_, Some(after)) => Some(after.up),
            (_, None) => self.waypoints.len().checked_sub(2).map(|n| up * 2.0 - self.waypoints[n].up),
        };
        ahead.map_or(site, |ahead| site.heading_for(ahead))
    }

    /// When it is at its waypoints, where it may turn and change its speed.
    pub fn turns(&self) -> impl Iterator<Item = Time> + '_ {
        self.waypoints.iter().map(|waypoint| waypoint.at)
    }

    /// The greatest height above the ellipsoid, km.
    pub fn highest_km(&self) -> f64 {
        self.waypoints.iter().map(|waypoint| waypoint.height_km).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Never moves.
    pub fn stands_still(&self) -> bool {
        self.waypoints.iter().all(|w| (w.up, w.height_km) == (self.waypoints[0].up, self.waypoints[0].height_km))
    }
}

/// The direction at `share` of the distance along the great circle from one to another.
fn between(a: Vec3, b: Vec3, share: f64) -> Vec3 {
    let angle = libm::atan2(a.cross(b).norm(), a.dot(b));
    let whole = libm::sin(angle);
    if whole < 1e-12 {
        return a;
    }
    a * (libm::sin((1.0 - share) * angle) / whole) + b * (libm::sin(share * angle) / whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::{Angle, Length};

    fn point(latitude: f64, longitude: f64, km: f64) -> GroundPoint {
        GroundPoint {
            latitude: Angle::from_degrees(latitude),
            longitude: Angle::from_degrees(longitude),
            altitude: Length::from_km(km),
        }
    }

    fn at(seconds: f64) -> Time {
        Time::from_secs_f64(seconds)
    }

    #[test]
    fn a_ship_sails_the_great_circle_at_an_even_pace() {
        for earth in [Earth::NS2, Earth::WGS84] {
            let track = Track::new(&[(at(10.0), point(0.0, 0.0, 0.0)), (at(110.0), point(0.0, 90.0, 10.0))]).unwrap();
            let place = |t| GroundPoint::below(&earth, track.site(&earth, at(t)).position());
            for (t, longitude, km) in
                [(0.0, 0.0, 0.0), (10.0, 0.0, 0.0), (35.0, 22.5, 2.5), (110.0, 90.0, 10.0), (500.0, 90.0, 10.0)]
            {
                let found = place(t);
                assert!((found.longitude.degrees() - longitude).abs() < 1e-9, "{found:?}");
                assert!((found.altitude.km() - km).abs() < 1e-9 && found.latitude.degrees().abs() < 1e-9);
            }
            // Over the pole, from 60° N to 60° N on the other side: the pole is half-way.
            let track = Track::new(&[(at(0.0), point(60.0, 0.0, 0.0)), (at(60.0), point(60.0, 180.0, 0.0))]).unwrap();
            let pole = GroundPoint::below(&earth, track.site(&earth, at(30.0)).position());
            assert!((pole.latitude.degrees() - 90.0).abs() < 1e-6, "{pole:?}");
        }
    }

    #[test]
    fn a_track_at_rest_is_a_station() {
        let here = point(38.12, 13.36, 0.2);
        let track = Track::new(&[(at(5.0), here)]).unwrap();
        assert!(track.stands_still());
        let (site, station) =
            (track.site(&Earth::WGS84, at(0.0)), GroundStation::new(here).unwrap().site(&Earth::WGS84));
        assert!((site.position() - station.position()).norm() < 1e-9);
        let target = Vec3::new(6000.0, 3000.0, 4000.0);
        assert!((site.look(target).azimuth.degrees() - station.look(target).azimuth.degrees()).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_track_is_refused() {
        let (a, b) = (point(0.0, 0.0, 0.0), point(0.0, 180.0, 0.0));
        assert_eq!(Track::new(&[]), Err(OrbitError::EmptyTrack));
        assert_eq!(Track::new(&[(at(1.0), a), (at(1.0), b)]), Err(OrbitError::TrackOrder { index: 1 }));
        assert_eq!(Track::new(&[(at(1.0), a), (at(2.0), b)]), Err(OrbitError::TrackAntipodes { index: 0 }));
        assert!(Track::new(&[(at(1.0), point(91.0, 0.0, 0.0))]).is_err());
    }
}
