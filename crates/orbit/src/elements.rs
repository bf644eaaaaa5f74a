//! Mean orbital elements as they are published, propagated by SGP4.
//!
//! Hoots and Roehrich, "Spacetrack Report No. 3", 1980, in the revision of Vallado, Crawford, Hujsak and Kelso,
//! "Revisiting Spacetrack Report #3", AIAA 2006-6753. The elements are fitted with the constants of WGS 72 and the
//! sidereal time of the operational program ("AFSPC mode"), so these belong to them.

use crate::near_earth::NearEarth;
use crate::{OrbitError, Utc, Vec3};
use skyhop_base::{Angle, Time};
use std::f64::consts::PI;

/// The equator of WGS 72, below which SGP4 calls a satellite decayed.
const GROUND_KM: f64 = 6378.135;

/// One set of elements: mean elements in the sense of SGP4, and only of SGP4.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanElements {
    /// In the catalogue of the United States Space Command; up to nine digits.
    pub catalogue_number: u32,
    /// The instant to which the elements belong.
    pub epoch: Utc,
    /// Revolutions per day, as Kozai defines it.
    pub mean_motion: f64,
    pub eccentricity: f64,
    pub inclination: Angle,
    /// Right ascension of the ascending node.
    pub raan: Angle,
    pub argument_of_perigee: Angle,
    pub mean_anomaly: Angle,
    /// B*, drag, per Earth radius.
    pub drag: f64,
}

impl MeanElements {
    /// # Errors
    /// Values that describe no orbit about the Earth.
    pub fn check(&self) -> Result<(), OrbitError> {
        let within = |what, value: f64, range: std::ops::RangeInclusive<f64>, valid| {
            if range.contains(&value) { Ok(()) } else { Err(OrbitError::Elements { what, value, valid }) }
        };
        // Faster than 17.5 revolutions a day is below the ground; 0.002 is beyond the Moon.
        within("mean motion", self.mean_motion, 0.002..=17.5, "0.002 to 17.5 revolutions per day")?;
        within("eccentricity", self.eccentricity, 0.0..=0.999_999_9, "0 to less than 1")?;
        within("inclination", self.inclination.degrees(), 0.0..=180.0, "0 to 180 deg")?;
        let turns = "-360 to 360 deg";
        within("right ascension of the ascending node", self.raan.degrees(), -360.0..=360.0, turns)?;
        within("argument of perigee", self.argument_of_perigee.degrees(), -360.0..=360.0, turns)?;
        within("mean anomaly", self.mean_anomaly.degrees(), -360.0..=360.0, turns)?;
        within("drag term", self.drag, -10.0..=10.0, "-10 to 10 per Earth radius")?;
        self.propagator().map(|_| ())
    }

    /// The constants of the orbit.
    ///
    /// # Errors
    /// Values that describe no orbit.
    pub fn propagator(&self) -> Result<Propagator, OrbitError> {
        if let Some(orbit) = NearEarth::new(self) {
            return Ok(Propagator { theory: Theory::NearEarth(Box::new(orbit)), epoch: self.epoch });
        }
        let no_orbit = |reason: String| OrbitError::NoOrbit { reason };
        let orbit = sgp4::Orbit::from_kozai_elements(
            &sgp4::WGS72,
            self.inclination.radians(),
            self.raan.radians(),
            self.eccentricity,
            self.argument_of_perigee.radians(),
            self.mean_anomaly.radians(),
            self.mean_motion * (PI / 720.0),
        )
        .map_err(|error| no_orbit(error.to_string()))?;
        // Through the Julian date in one f64, whose last digit is 40 µs, as the program that made the verification set.
        let years = ((self.epoch.days_since_j2000() + 2_451_545.0) - 2_451_545.0) / 365.25;
        let constants = sgp4::Constants::new(sgp4::WGS72, sgp4::afspc_epoch_to_sidereal_time, years, self.drag, orbit)
            .map_err(|error| no_orbit(error.to_string()))?;
        Ok(Propagator { theory: Theory::DeepSpace(Box::new(constants)), epoch: self.epoch })
    }

    /// Revolution in seconds.
    pub fn period_s(&self) -> f64 {
        86_400.0 / self.mean_motion
    }
}

/// SGP4 with the constants of one orbit worked out.
#[derive(Clone, Debug, PartialEq)]
pub struct Propagator {
    theory: Theory,
    epoch: Utc,
}

#[derive(Clone, Debug, PartialEq)]
enum Theory {
    NearEarth(Box<NearEarth>),
    /// Periods of 225 minutes and more, with the Sun, the Moon and resonances.
    DeepSpace(Box<sgp4::Constants>),
}

impl Propagator {
    /// Position in km and velocity in km/s in the frame TEME, so many minutes after the epoch of the elements; `None`
    /// when the orbit has ended by then: drag has changed it beyond what the theory describes, or the satellite is
    /// below the ground (error 6 of the published program). An orbit that has ended may have positions again later,
    /// which mean nothing: [`Catalogue::leave_out_ends`](crate::Catalogue::leave_out_ends).
    pub fn teme_at_minutes(&self, minutes: f64) -> Option<(Vec3, Vec3)> {
        let (position, velocity) = match &self.theory {
            Theory::NearEarth(orbit) => orbit.at(minutes)?,
            Theory::DeepSpace(orbit) => {
                let found = orbit.propagate_afspc_compatibility_mode(sgp4::MinutesSinceEpoch(minutes)).ok()?;
                let vector = |[x, y, z]: [f64; 3]| Vec3::new(x, y, z);
                (vector(found.position), vector(found.velocity))
            }
        };
        let finite = |v: Vec3| v.x.is_finite() && v.y.is_finite() && v.z.is_finite();
        let flies = position.norm() >= GROUND_KM;
        (finite(position) && finite(velocity) && flies).then_some((position, velocity))
    }

    /// The same at an instant.
    pub fn teme(&self, at: Utc) -> Option<(Vec3, Vec3)> {
        self.teme_at_minutes(at.seconds_since(self.epoch) / 60.0)
    }
}

/// A satellite's motion from its elements in a simulation that starts at an instant of the calendar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flight {
    propagator: Propagator,
    /// t = 0.
    pub start: Utc,
    /// From the epoch of the elements to t = 0.
    offset_minutes: f64,
}

impl Flight {
    pub fn new(propagator: Propagator, start: Utc) -> Flight {
        let offset_minutes = start.seconds_since(propagator.epoch) / 60.0;
        Flight { propagator, start, offset_minutes }
    }

    /// Position in km and velocity in km/s; `None` when the orbit has ended.
    pub fn teme(&self, t: Time) -> Option<(Vec3, Vec3)> {
        self.propagator.teme_at_minutes(self.offset_minutes + t.as_secs_f64() / 60.0)
    }

    /// In km. A satellite whose orbit has ended is at the Earth's centre, where nobody sees it.
    pub fn teme_km(&self, t: Time) -> Vec3 {
        self.teme(t).map_or(Vec3::ZERO, |(position, _)| position)
    }

    /// By how much the Earth is turned against TEME.
    pub fn sidereal_time_rad(&self, t: Time) -> f64 {
        self.start.after(t).sidereal_time_rad()
    }

    pub fn earth_fixed_km(&self, t: Time) -> Vec3 {
        let (sin, cos) = libm::sincos(self.sidereal_time_rad(t));
        self.teme_km(t).turned(-sin, cos)
    }
}
