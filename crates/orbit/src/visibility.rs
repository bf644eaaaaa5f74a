//! Who can see whom.

use crate::{Earth, Vec3};
use skyhop_base::{Angle, Duration, Length};
use std::f64::consts::PI;

/// What a satellite covers on a sphere of the equatorial radius, with an elevation mask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// Angle at the Earth's centre from the point below the satellite to the edge.
    pub central_angle: Angle,
    /// From the satellite to the edge, the longest link.
    pub slant_range: Length,
    /// Length of a pass through the zenith of a station at rest: 2λ/360° of the period.
    pub longest_pass: Duration,
}

/// Coverage of a satellite at `altitude` over stations that need `mask` of elevation: sin η = R cos ε / r,
/// λ = 90° − ε − η (`algorithms.md` §5.4). `mask` from −90° to 90°; at sea level the Earth hides what a mask below 0°
/// would add, which counts here all the same.
pub fn coverage(earth: &Earth, altitude: Length, mask: Angle) -> Coverage {
    let radius = earth.radius_km + altitude.km();
    let (_, cos_mask) = libm::sincos(mask.radians());
    let nadir = libm::asin((earth.radius_km * cos_mask / radius).clamp(-1.0, 1.0));
    let central = PI / 2.0 - mask.radians() - nadir;
    let (_, cos_central) = libm::sincos(central);
    let squared = earth.radius_km * earth.radius_km + radius * radius - 2.0 * earth.radius_km * radius * cos_central;
    Coverage {
        central_angle: Angle::from_degrees(central.to_degrees()),
        slant_range: Length::from_km(squared.max(0.0).sqrt()),
        longest_pass: Duration::from_secs_f64(central / PI * earth.period_s(radius)),
    }
}

/// Least altitude in km over the sphere of the equatorial radius that the straight line between two positions passes;
/// negative when the Earth is in the way. Both in the same frame.
pub fn grazing_altitude_km(earth: &Earth, a: Vec3, b: Vec3) -> f64 {
    let line = b - a;
    let squared = line.dot(line);
    // Nearest point of the segment to the Earth's centre: at the foot of the perpendicular, or at an end.
    let along = if squared > 0.0 { (-a.dot(line) / squared).clamp(0.0, 1.0) } else { 0.0 };
    (a + line * along).norm() - earth.radius_km
}

/// Whether the Earth, an ellipsoid, hides `there` from a station or user `here`; both Earth-fixed, km. The horizon of
/// who is below the ellipsoid is level.
pub fn is_below_horizon(earth: &Earth, here: Vec3, there: Vec3) -> bool {
    // Where the ellipsoid is a sphere of radius 1.
    let scaled = |p: Vec3| {
        let across = 1.0 / earth.radius_km;
        Vec3::new(p.x * across, p.y * across, p.z * across / (1.0 - earth.flattening))
    };
    let (a, b) = (scaled(here), scaled(there));
    let line = b - a;
    let squared = line.dot(line);
    let along = if squared > 0.0 { (-a.dot(line) / squared).clamp(0.0, 1.0) } else { 0.0 };
    // A millimetre: a station on the ground sees what stands level.
    (a + line * along).norm() < a.norm().min(1.0) - 1e-10
}

/// Longest line in km between two satellites at `radius_km` that stays above `margin_km` of altitude:
/// 2 √(r² − (R + m)²); zero when they fly below it.
pub fn longest_isl_km(earth: &Earth, radius_km: f64, margin_km: f64) -> f64 {
    let floor = earth.radius_km + margin_km;
    2.0 * (radius_km * radius_km - floor * floor).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_grazes_where_the_longest_isl_says() {
        let earth = Earth::NS2;
        let radius = 6378.0 + 780.0;
        let half = libm::asin(longest_isl_km(&earth, radius, 150.0) / 2.0 / radius);
        let ends = |half: f64| {
            let (sin, cos) = libm::sincos(half);
            (Vec3::new(radius * cos, radius * sin, 0.0), Vec3::new(radius * cos, -radius * sin, 0.0))
        };
        let (a, b) = ends(half);
        assert!((grazing_altitude_km(&earth, a, b) - 150.0).abs() < 1e-9);
        let (a, b) = ends(half * 1.001);
        assert!(grazing_altitude_km(&earth, a, b) < 150.0);
    }

    #[test]
    fn the_horizon_dips_below_who_stands_high() {
        use crate::{GroundPoint, GroundStation};
        for earth in [Earth::NS2, Earth::WGS84] {
            for (latitude, km, dip_deg) in
                [(0.0, 0.0, 0.0), (38.0, -0.4, 0.0), (38.0, 0.0, 0.0), (38.0, 12.0, 3.51), (80.0, 30.0, 5.55)]
            {
                let point = GroundPoint {
                    latitude: Angle::from_degrees(latitude),
                    longitude: Angle::from_degrees(10.0),
                    altitude: Length::from_km(km),
                };
                let site = GroundStation::new(point).unwrap().site(&earth);
                let (mut lowest, mut highest): (f64, f64) = (90.0, -90.0);
                // A ring of points 3000 km away around the station, between 10° below and 10° above its plane.
                for azimuth in (0..360).step_by(5) {
                    for tenth in -1000..1000 {
                        let elevation = f64::from(tenth) / 100.0;
                        let target = site.along(azimuth.into(), elevation, 3000.0);
                        if is_below_horizon(&earth, site.position(), target) {
                            highest = highest.max(elevation);
                        } else {
                            lowest = lowest.min(elevation);
                        }
                    }
                }
                // The ellipsoid's horizon differs by some hundredths of a degree between north and east.
                assert!((lowest + dip_deg).abs() < 0.04, "{latitude} deg, {km} km: {lowest}");
                assert!((highest + dip_deg).abs() < 0.04, "{latitude} deg, {km} km: {highest}");
            }
        }
    }

    #[test]
    fn a_line_that_leads_away_from_the_earth_is_lowest_at_its_end() {
        let earth = Earth::NS2;
        let lowest = grazing_altitude_km(&earth, Vec3::new(7000.0, 0.0, 0.0), Vec3::new(42_164.0, 0.0, 0.0));
        assert!((lowest - 622.0).abs() < 1e-9);
        let through = grazing_altitude_km(&earth, Vec3::new(7000.0, 0.0, 0.0), Vec3::new(-7000.0, 0.0, 0.0));
        assert!((through + 6378.0).abs() < 1e-9);
    }
}
