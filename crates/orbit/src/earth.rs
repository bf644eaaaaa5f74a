//! Models of the Earth.

use skyhop_base::Time;
use std::f64::consts::TAU;

/// Size, gravity and rotation of the Earth, and the speed of light that goes with them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Earth {
    /// Radius at the equator, km. Altitudes of orbits count from it.
    pub radius_km: f64,
    /// Flattening of the ellipsoid on which stations stand; 0 for a sphere.
    pub flattening: f64,
    /// Gravitational parameter, km³/s².
    pub mu_km3_s2: f64,
    /// Time of one rotation against the stars, s.
    pub day_s: f64,
    /// Altitude of geostationary satellites, km.
    pub geostationary_altitude_km: f64,
    /// Speed of light, km/s.
    pub light_km_s: f64,
}

impl Earth {
    /// The sphere of ns-2 (`satellite/satgeometry.h` of ns-2.35, as `algorithms.md` §5.1 gives it); its speed of light
    /// is rounded.
    pub const NS2: Earth = Earth {
        radius_km: 6378.0,
        flattening: 0.0,
        mu_km3_s2: 398_601.2,
        day_s: 86_164.0,
        geostationary_altitude_km: 35_786.0,
        light_km_s: 299_793.0,
    };

    /// WGS 84 (NIMA TR8350.2, third edition, tables 3.1 and 3.3): ellipsoid, GM and the rotation of 7.292115e-5 rad/s;
    /// speed of light of the SI.
    pub const WGS84: Earth = Earth {
        radius_km: 6378.137,
        flattening: 1.0 / 298.257_223_563,
        mu_km3_s2: 398_600.441_8,
        day_s: TAU / 7.292_115e-5,
        // The radius at which the period is one rotation, cbrt(μ (day/2π)²), less the Earth's.
        geostationary_altitude_km: 35_786.035,
        light_km_s: 299_792.458,
    };

    /// Rate of rotation, rad/s.
    pub fn rotation_rad_s(&self) -> f64 {
        TAU / self.day_s
    }

    /// Angle in radians by which the Earth-fixed frame has turned since t = 0.
    pub fn angle_rad(&self, t: Time) -> f64 {
        self.rotation_rad_s() * t.as_secs_f64()
    }

    /// Nanoseconds that light takes for `km`.
    #[inline]
    pub fn light_time_ns(&self, km: f64) -> f64 {
        km * (1e9 / self.light_km_s)
    }

    /// Period in seconds of a circular orbit of this radius: T = 2π √(a³/μ).
    pub fn period_s(&self, radius_km: f64) -> f64 {
        TAU * (radius_km * radius_km * radius_km / self.mu_km3_s2).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_geostationary_period_is_one_rotation() {
        for earth in [Earth::NS2, Earth::WGS84] {
            let period = earth.period_s(earth.radius_km + earth.geostationary_altitude_km);
            // ns-2 rounds the altitude to a kilometre: 3 s per km at that height, so 2 s bound its rounding.
            assert!((period - earth.day_s).abs() < 2.0, "{period}");
        }
        let exact = libm::cbrt(Earth::WGS84.mu_km3_s2 / Earth::WGS84.rotation_rad_s().powi(2)) - Earth::WGS84.radius_km;
        assert!((exact - Earth::WGS84.geostationary_altitude_km).abs() < 1e-3, "{exact}");
    }
}
