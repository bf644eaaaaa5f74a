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
/// λ = 90° − ε − η (`algorithms.md` §5.4). `mask` from −90° to 90°; below the horizon's dip the whole visible cap.
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
    fn a_line_that_leads_away_from_the_earth_is_lowest_at_its_end() {
        let earth = Earth::NS2;
        let lowest = grazing_altitude_km(&earth, Vec3::new(7000.0, 0.0, 0.0), Vec3::new(42_164.0, 0.0, 0.0));
        assert!((lowest - 622.0).abs() < 1e-9);
        let through = grazing_altitude_km(&earth, Vec3::new(7000.0, 0.0, 0.0), Vec3::new(-7000.0, 0.0, 0.0));
        assert!((through + 6378.0).abs() < 1e-9);
    }
}
