//! Orbits, and positions on them.

use crate::elements::Flight;
use crate::{Earth, MeanElements, OrbitError, Track, Utc, Vec3};
use skyhop_base::{Angle, Duration, Length, Time};
use std::f64::consts::TAU;

/// A circle about the Earth's centre whose plane keeps its direction among the stars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CircularOrbit {
    /// Above the equatorial radius of the [`Earth`].
    pub altitude: Length,
    pub inclination: Angle,
    /// Right ascension of the ascending node; at t = 0 also the node's longitude.
    pub raan: Angle,
    /// Angle from the ascending node to the satellite at t = 0, in the direction of flight.
    pub argument_of_latitude: Angle,
}

/// How a satellite moves.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Orbit {
    Circular(CircularOrbit),
    /// Stands above the equator at this longitude, east positive.
    Geostationary {
        longitude: Angle,
    },
    /// Published elements, propagated by SGP4 in a simulation that begins at `start`.
    Elements {
        elements: MeanElements,
        start: Utc,
    },
}

impl Orbit {
    /// # Errors
    /// Values that describe no orbit.
    pub fn check(&self) -> Result<(), OrbitError> {
        let finite = |what, angle: Angle| match angle.degrees() {
            degrees if degrees.is_finite() => Ok(()),
            degrees => Err(OrbitError::Angle { what, degrees }),
        };
        match self {
            Orbit::Circular(orbit) => {
                let (km, degrees) = (orbit.altitude.km(), orbit.inclination.degrees());
                if !(km > 0.0 && km <= 1e6) {
                    return Err(OrbitError::Altitude { km });
                }
                if !(0.0..=180.0).contains(&degrees) {
                    return Err(OrbitError::Inclination { degrees });
                }
                finite("right ascension of the ascending node", orbit.raan)?;
                finite("argument of latitude", orbit.argument_of_latitude)
            }
            Orbit::Geostationary { longitude } => finite("longitude", *longitude),
            Orbit::Elements { elements, .. } => elements.check(),
        }
    }

    /// Radius at t = 0, km; 0 for elements whose orbit has ended by then.
    pub fn radius_km(&self, earth: &Earth) -> f64 {
        match self {
            Orbit::Circular(orbit) => earth.radius_km + orbit.altitude.km(),
            Orbit::Geostationary { .. } => earth.radius_km + earth.geostationary_altitude_km,
            Orbit::Elements { .. } => self.inertial_km(earth, Time::ZERO).norm(),
        }
    }

    /// Time of one revolution among the stars.
    pub fn period(&self, earth: &Earth) -> Duration {
        Duration::from_secs_f64(match self {
            Orbit::Circular(_) => earth.period_s(self.radius_km(earth)),
            // By definition, even where the model's altitude is rounded.
            Orbit::Geostationary { .. } => earth.day_s,
            Orbit::Elements { elements, .. } => elements.period_s(),
        })
    }

    /// The constants of the orbit. Positions come from them.
    /// Elements that [`Orbit::check`] refuses stay at the Earth's centre.
    pub fn motion(&self, earth: &Earth) -> Motion {
        match self {
            Orbit::Circular(orbit) => {
                let radius = self.radius_km(earth);
                let (sin_node, cos_node) = libm::sincos(orbit.raan.radians());
                let (sin_i, cos_i) = libm::sincos(orbit.inclination.radians());
                let (sin_u, cos_u) = libm::sincos(orbit.argument_of_latitude.radians());
                // Unit vectors towards the ascending node and a quarter of the orbit further on; turned by u at t = 0.
                let node = Vec3::new(cos_node, sin_node, 0.0);
                let ahead = Vec3::new(-sin_node * cos_i, cos_node * cos_i, sin_i);
                Motion(Kind::Circle(Circle {
                    p: (node * cos_u + ahead * sin_u) * radius,
                    q: (ahead * cos_u - node * sin_u) * radius,
                    centre: Vec3::ZERO,
                    rate_rad_s: TAU / earth.period_s(radius),
                }))
            }
            Orbit::Geostationary { longitude } => {
                let radius = self.radius_km(earth);
                let (sin, cos) = libm::sincos(longitude.radians());
                Motion::turning_with(earth, Vec3::new(cos * radius, sin * radius, 0.0))
            }
            Orbit::Elements { elements, start } => match elements.propagator() {
                Ok(propagator) => Motion(Kind::Flight {
                    flight: Box::new(Flight::new(propagator, *start)),
                    rotation_rad_s: earth.rotation_rad_s(),
                }),
                Err(_) => Motion::turning_with(earth, Vec3::ZERO),
            },
        }
    }

    pub fn inertial_km(&self, earth: &Earth, t: Time) -> Vec3 {
        self.motion(earth).inertial_km(t)
    }

    pub fn earth_fixed_km(&self, earth: &Earth, t: Time) -> Vec3 {
        self.motion(earth).earth_fixed_km(earth, t)
    }
}

/// How a satellite, a station or a moving user goes, with its constants worked out.
#[derive(Clone, Debug, PartialEq)]
pub struct Motion(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Circle(Circle),
    /// From elements. Behind a pointer, so that the list of a large shell's circles stays dense.
    Flight {
        flight: Box<Flight>,
        rotation_rad_s: f64,
    },
    Track {
        track: Box<Track>,
        earth: Earth,
    },
}

/// Uniform motion on a circle, x(t) = centre + p cos ωt + q sin ωt in the inertial frame: what satellites on circular
/// orbits, geostationary ones and points on the turning Earth have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Circle {
    p: Vec3,
    q: Vec3,
    centre: Vec3,
    rate_rad_s: f64,
}

impl Circle {
    #[inline]
    fn at_phase(&self, sin: f64, cos: f64) -> Vec3 {
        self.centre + self.p * cos + self.q * sin
    }
}

impl Motion {
    /// The motion of a point that is fixed to the Earth, given in the Earth-fixed frame.
    pub fn turning_with(earth: &Earth, point: Vec3) -> Motion {
        Motion(Kind::Circle(Circle {
            p: Vec3::new(point.x, point.y, 0.0),
            q: Vec3::new(-point.y, point.x, 0.0),
            centre: Vec3::new(0.0, 0.0, point.z),
            rate_rad_s: earth.rotation_rad_s(),
        }))
    }

    /// The motion of a user along a track.
    pub fn along(earth: &Earth, track: Track) -> Motion {
        if track.stands_still() {
            return Motion::turning_with(earth, track.site(earth, Time::ZERO).position());
        }
        Motion(Kind::Track { track: Box::new(track), earth: *earth })
    }

    /// Whether the point stands still over the Earth.
    pub fn is_earth_fixed(&self, earth: &Earth) -> bool {
        match &self.0 {
            Kind::Circle(c) => c.rate_rad_s == earth.rotation_rad_s() && c.p.z == 0.0 && c.q.z == 0.0,
            Kind::Flight { .. } | Kind::Track { .. } => false,
        }
    }

    /// Whether SGP4 gives the position, which costs some twenty times what other motions do.
    pub fn is_propagated(&self) -> bool {
        matches!(self.0, Kind::Flight { .. })
    }

    /// The track of a user who moves over the Earth.
    pub fn track(&self) -> Option<&Track> {
        match &self.0 {
            Kind::Track { track, .. } => Some(track),
            Kind::Circle(_) | Kind::Flight { .. } => None,
        }
    }

    /// Position in the inertial frame, which coincides with the Earth-fixed one at t = 0.
    pub fn inertial_km(&self, t: Time) -> Vec3 {
        let turned = |fixed: Vec3, rate_rad_s: f64| {
            let (sin, cos) = libm::sincos(rate_rad_s * t.as_secs_f64());
            fixed.turned(sin, cos)
        };
        match &self.0 {
            Kind::Circle(circle) => {
                let (sin, cos) = libm::sincos(circle.rate_rad_s * t.as_secs_f64());
                circle.at_phase(sin, cos)
            }
            Kind::Flight { flight, rotation_rad_s } => turned(flight.earth_fixed_km(t), *rotation_rad_s),
            Kind::Track { track, earth } => turned(track.site(earth, t).position(), earth.rotation_rad_s()),
        }
    }

    pub fn earth_fixed_km(&self, earth: &Earth, t: Time) -> Vec3 {
        match &self.0 {
            Kind::Circle(_) => {
                let (sin, cos) = libm::sincos(earth.angle_rad(t));
                self.inertial_km(t).turned(-sin, cos)
            }
            Kind::Flight { flight, .. } => flight.earth_fixed_km(t),
            Kind::Track { track, earth } => track.site(earth, t).position(),
        }
    }
}

/// Distance in km of two moving points at one instant.
pub fn distance_km(a: &Motion, b: &Motion, t: Time) -> f64 {
    match (&a.0, &b.0) {
        (Kind::Circle(a), Kind::Circle(b)) => {
            let seconds = t.as_secs_f64();
            let (sin, cos) = libm::sincos(a.rate_rad_s * seconds);
            // Satellites of one shell share their rate and so the expensive part.
            let (sin_b, cos_b) =
                if a.rate_rad_s == b.rate_rad_s { (sin, cos) } else { libm::sincos(b.rate_rad_s * seconds) };
            (a.at_phase(sin, cos) - b.at_phase(sin_b, cos_b)).norm()
        }
        _ => (a.inertial_km(t) - b.inertial_km(t)).norm(),
    }
}

/// Earth-fixed positions of many points at one instant, in their order. Points that follow each other and share a rate
/// (the satellites of a shell) cost a dozen multiplications each; satellites from elements cost SGP4.
pub fn earth_fixed_positions<'a>(
    earth: &Earth,
    motions: impl Iterator<Item = &'a Motion>,
    t: Time,
) -> impl Iterator<Item = Vec3> {
    let seconds = t.as_secs_f64();
    let (sin_earth, cos_earth) = libm::sincos(earth.angle_rad(t));
    let (mut rate, mut sin, mut cos) = (0.0, 0.0, 1.0);
    let mut sidereal = None;
    motions.map(move |motion| match &motion.0 {
        Kind::Circle(circle) => {
            if circle.rate_rad_s != rate {
                rate = circle.rate_rad_s;
                (sin, cos) = libm::sincos(rate * seconds);
            }
            circle.at_phase(sin, cos).turned(-sin_earth, cos_earth)
        }
        Kind::Flight { flight, .. } => {
            let (sin, cos) = match sidereal {
                Some((start, turned)) if start == flight.start => turned,
                _ => libm::sincos(flight.sidereal_time_rad(t)),
            };
            sidereal = Some((flight.start, (sin, cos)));
            flight.teme_km(t).turned(-sin, cos)
        }
        Kind::Track { track, earth } => track.site(earth, t).position(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circular(altitude: f64, inclination: f64, raan: f64, u: f64) -> Orbit {
        Orbit::Circular(CircularOrbit {
            altitude: Length::from_km(altitude),
            inclination: Angle::from_degrees(inclination),
            raan: Angle::from_degrees(raan),
            argument_of_latitude: Angle::from_degrees(u),
        })
    }

    #[test]
    fn a_satellite_keeps_its_radius_and_comes_back_after_a_period() {
        let orbit = circular(550.0, 53.0, 40.0, 100.0);
        let start = orbit.inertial_km(&Earth::WGS84, Time::ZERO);
        for second in [0, 1, 1000, 86_400, 30_000_000] {
            let position = orbit.inertial_km(&Earth::WGS84, Time::ZERO + Duration::from_secs(second));
            assert!((position.norm() - 6928.137).abs() < 1e-8);
        }
        let after = orbit.inertial_km(&Earth::WGS84, Time::ZERO + orbit.period(&Earth::WGS84));
        assert!((after - start).norm() < 1e-5, "a nanosecond of flight is 8 mm");
    }

    #[test]
    fn the_earth_turns_eastwards_below() {
        // After one revolution a satellite is where it was among the stars; the ground below has moved on.
        let earth = Earth::NS2;
        let orbit = circular(780.0, 90.0, 0.0, 0.0);
        let period = orbit.period(&earth);
        let ground = orbit.earth_fixed_km(&earth, Time::ZERO + period);
        let longitude = libm::atan2(ground.y, ground.x).to_degrees();
        let expected = -360.0 * period.as_secs_f64() / earth.day_s;
        assert!((longitude - expected).abs() < 1e-9, "{longitude} {expected}");
    }

    #[test]
    fn a_geostationary_satellite_stands_still() {
        let earth = Earth::NS2;
        let orbit = Orbit::Geostationary { longitude: Angle::from_degrees(-34.5) };
        let motion = orbit.motion(&earth);
        assert!(motion.is_earth_fixed(&earth));
        assert!(!circular(35_786.0, 0.0, 0.0, 0.0).motion(&earth).is_earth_fixed(&earth));
        let start = motion.earth_fixed_km(&earth, Time::ZERO);
        let later = motion.earth_fixed_km(&earth, Time::ZERO + Duration::from_secs(1_000_000));
        assert!((start - later).norm() < 1e-6);
    }

    #[test]
    fn many_positions_at_once_equal_single_ones() {
        let earth = Earth::WGS84;
        let orbits =
            [circular(550.0, 53.0, 0.0, 0.0), circular(550.0, 53.0, 20.0, 7.0), circular(1200.0, 87.9, 5.0, 1.0)];
        let motions: Vec<Motion> = orbits.iter().map(|orbit| orbit.motion(&earth)).collect();
        let t = Time::ZERO + Duration::from_secs(12_345);
        let together: Vec<Vec3> = earth_fixed_positions(&earth, motions.iter(), t).collect();
        for (motion, position) in motions.iter().zip(&together) {
            assert!((motion.earth_fixed_km(&earth, t) - *position).norm() < 1e-9);
        }
        let apart = (together[0] - together[2]).norm();
        assert!((distance_km(&motions[0], &motions[2], t) - apart).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_orbit_is_refused() {
        assert_eq!(circular(0.0, 53.0, 0.0, 0.0).check(), Err(OrbitError::Altitude { km: 0.0 }));
        assert!(circular(f64::NAN, 53.0, 0.0, 0.0).check().is_err());
        assert_eq!(circular(550.0, 181.0, 0.0, 0.0).check(), Err(OrbitError::Inclination { degrees: 181.0 }));
        assert!(circular(550.0, 53.0, f64::INFINITY, 0.0).check().is_err());
        assert_eq!(circular(550.0, 97.6, 0.0, 0.0).check(), Ok(()));
    }
}
