//! Walker constellations: planes of equal circular orbits, spread evenly.
//!
//! J. G. Walker, "Satellite constellations", Journal of the British Interplanetary Society 37, 1984: T satellites in
//! P planes with phasing F.

use crate::{CircularOrbit, Earth, Orbit, OrbitError};
use skyhop_base::{Angle, Length};

/// More than every constellation that was filed for.
const MOST_SATELLITES: u32 = 100_000;

/// Over which arc the ascending nodes of the planes are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Over 180°: neighbours fly the same way, but first and last plane fly against each other along a seam.
    Star,
    /// Over 360°, without seam.
    Delta,
}

/// How the satellites of one plane stand against those of the plane before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phasing {
    /// Walker's F: plane p is ahead of plane 0 by p · F · 360°/T. From 0 to P − 1.
    Factor(u32),
    /// Odd planes are ahead of even ones by half of the spacing in a plane: ns-2's Iridium.
    OddPlanesHalfSpacing,
}

/// A Walker constellation.
///
/// Slots of a plane count in the direction of flight: slot k + 1 is 360°/S ahead of slot k, so the satellite that
/// trails slot k, the one that comes over the same ground next, is slot k − 1 (slot 0 is trailed by slot S − 1).
/// ns-2's Iridium script links its satellites with `set_next` in the same way.
#[derive(Clone, Debug, PartialEq)]
pub struct Walker {
    /// Satellites are called `<name>-<plane>-<slot>`: [`satellite_name`].
    pub name: String,
    pub pattern: Pattern,
    pub planes: u32,
    pub per_plane: u32,
    pub altitude: Length,
    pub inclination: Angle,
    pub phasing: Phasing,
    /// Between the ascending nodes of neighbouring planes; `None`: 180°/P (star) or 360°/P (delta).
    pub raan_spacing: Option<Angle>,
}

/// One satellite of a constellation.
#[derive(Clone, Debug, PartialEq)]
pub struct Satellite {
    pub name: String,
    pub plane: u32,
    pub slot: u32,
    pub orbit: Orbit,
}

impl Walker {
    /// Iridium as Nirmala and Pujeri model it ("Performance of TCP Vegas, Bic and Reno Congestion Control Algorithms on
    /// Iridium Satellite Constellations", Table 1): 780 km, 6 × 11, 86.4°, planes 31.6° apart, so a seam of 22°.
    /// The phasing, which the paper leaves open, is that of ns-2's Iridium script (`algorithms.md` §5.3).
    pub fn iridium() -> Walker {
        Walker {
            name: "iridium".to_owned(),
            pattern: Pattern::Star,
            planes: 6,
            per_plane: 11,
            altitude: Length::from_km(780.0),
            inclination: Angle::from_degrees(86.4),
            phasing: Phasing::OddPlanesHalfSpacing,
            raan_spacing: Some(Angle::from_degrees(31.6)),
        }
    }

    /// Between the ascending nodes of neighbouring planes.
    pub fn raan_spacing(&self) -> Angle {
        self.raan_spacing.unwrap_or_else(|| {
            let arc = match self.pattern {
                Pattern::Star => 180.0,
                Pattern::Delta => 360.0,
            };
            Angle::from_degrees(arc / f64::from(self.planes))
        })
    }

    /// The arc between the last plane and the first: for a star the width of the seam.
    pub fn closing_gap(&self) -> Angle {
        let arc = match self.pattern {
            Pattern::Star => 180.0,
            Pattern::Delta => 360.0,
        };
        Angle::from_degrees(arc - f64::from(self.planes.saturating_sub(1)) * self.raan_spacing().degrees())
    }

    /// Between satellites of one plane.
    pub fn slot_spacing(&self) -> Angle {
        Angle::from_degrees(360.0 / f64::from(self.per_plane))
    }

    /// Angle by which slot 0 of `plane` is ahead of slot 0 of plane 0.
    fn phase(&self, plane: u32) -> f64 {
        match self.phasing {
            Phasing::Factor(factor) => {
                f64::from(plane) * f64::from(factor) * 360.0 / (f64::from(self.planes) * f64::from(self.per_plane))
            }
            Phasing::OddPlanesHalfSpacing => f64::from(plane % 2) * self.slot_spacing().degrees() / 2.0,
        }
    }

    /// Whether there is such a constellation, without making its satellites.
    ///
    /// # Errors
    /// No satellites or too many, a phasing that does not exist, no orbit.
    pub fn check(&self) -> Result<(), OrbitError> {
        let (planes, per_plane) = (self.planes, self.per_plane);
        if planes == 0 || per_plane == 0 {
            return Err(OrbitError::Empty { planes, per_plane });
        }
        if u64::from(planes) * u64::from(per_plane) > u64::from(MOST_SATELLITES) {
            return Err(OrbitError::TooLarge { planes, per_plane, most: MOST_SATELLITES });
        }
        if let Phasing::Factor(factor) = self.phasing
            && factor >= planes
        {
            return Err(OrbitError::Phasing { factor, planes });
        }
        // All orbits have one altitude and one inclination, and the angles of the last one are the largest.
        self.place(0, 0).orbit.check()?;
        self.place(planes - 1, per_plane - 1).orbit.check()
    }

    fn place(&self, plane: u32, slot: u32) -> Satellite {
        let orbit = Orbit::Circular(CircularOrbit {
            altitude: self.altitude,
            inclination: self.inclination,
            raan: Angle::from_degrees(f64::from(plane) * self.raan_spacing().degrees()),
            argument_of_latitude: Angle::from_degrees(
                self.phase(plane) + f64::from(slot) * self.slot_spacing().degrees(),
            ),
        });
        Satellite { name: satellite_name(&self.name, plane, slot), plane, slot, orbit }
    }

    /// All satellites, plane by plane and in a plane slot by slot.
    ///
    /// # Errors
    /// As [`Walker::check`].
    pub fn satellites(&self) -> Result<Vec<Satellite>, OrbitError> {
        self.check()?;
        let places = (0..self.planes).flat_map(|plane| (0..self.per_plane).map(move |slot| (plane, slot)));
        Ok(places.map(|(plane, slot)| self.place(plane, slot)).collect())
    }

    /// Period in seconds.
    pub fn period_s(&self, earth: &Earth) -> f64 {
        earth.period_s(earth.radius_km + self.altitude.km())
    }
}

/// The name of a satellite of the shell, or constellation, that has this name.
pub fn satellite_name(shell: &str, plane: u32, slot: u32) -> String {
    format!("{shell}-{plane}-{slot}")
}

/// The shell, plane and slot of which [`satellite_name`] would make this name.
pub fn split_satellite_name(name: &str) -> Option<(&str, u32, u32)> {
    let number = |digits: &str| {
        let is_plain =
            digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits.len() == 1 || !digits.starts_with('0'));
        digits.parse().ok().filter(|_| is_plain)
    };
    let mut parts = name.rsplitn(3, '-');
    let (slot, plane) = (number(parts.next()?)?, number(parts.next()?)?);
    Some((parts.next()?, plane, slot))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circular(satellite: &Satellite) -> CircularOrbit {
        match satellite.orbit {
            Orbit::Circular(orbit) => orbit,
            _ => unreachable!("Walker satellites fly circles"),
        }
    }

    #[test]
    fn a_name_tells_shell_plane_and_slot() {
        for (shell, plane, slot) in [("a", 0, 0), ("a-1", 20, 3), ("a-1-2", 0, 4_294_967_295), ("-", 7, 7)] {
            assert_eq!(split_satellite_name(&satellite_name(shell, plane, slot)), Some((shell, plane, slot)));
        }
        for name in ["a", "a-1", "a-1-", "a--2", "a-01-2", "a-1-02", "a-1-+2", "a-1-4294967296", "a-1-b", ""] {
            assert_eq!(split_satellite_name(name), None, "{name}");
        }
    }

    #[test]
    fn iridium_has_every_value_of_table_1() {
        let iridium = Walker::iridium();
        let satellites = iridium.satellites().unwrap();
        assert_eq!(satellites.len(), 66);
        assert!((iridium.closing_gap().degrees() - 22.0).abs() < 1e-9);
        // algorithms.md 5.1: 100.45 min.
        assert!((iridium.period_s(&Earth::NS2) / 60.0 - 100.45).abs() < 0.005);
        let planes: Vec<f64> = (0..6).map(|plane| circular(&satellites[plane * 11]).raan.degrees()).collect();
        for (raan, expected) in planes.iter().zip([0.0, 31.6, 63.2, 94.8, 126.4, 158.0]) {
            assert!((raan - expected).abs() < 1e-9);
        }
        // ns-2's list of plane 1 starts 16.36, 49.09, 81.82; that of plane 2 starts 0, 32.73, 65.45.
        let arguments: Vec<f64> = satellites[11..14]
            .iter()
            .chain(&satellites[22..25])
            .map(|s| circular(s).argument_of_latitude.degrees())
            .collect();
        for (argument, expected) in arguments.iter().zip([16.36, 49.09, 81.82, 0.0, 32.73, 65.45]) {
            assert!((argument - expected).abs() < 0.006, "{argument} {expected}");
        }
        assert_eq!(satellites[14].name, "iridium-1-3");
        assert_eq!((satellites[14].plane, satellites[14].slot), (1, 3));
    }

    #[test]
    fn half_a_spacing_on_odd_planes_is_walkers_f_3_up_to_the_numbering_of_slots() {
        let iridium = Walker::iridium();
        let walker = Walker { phasing: Phasing::Factor(3), ..iridium.clone() };
        let spacing = iridium.slot_spacing().degrees();
        for (a, b) in iridium.satellites().unwrap().iter().zip(walker.satellites().unwrap()) {
            let apart =
                (circular(&b).argument_of_latitude.degrees() - circular(a).argument_of_latitude.degrees()) / spacing;
            assert!((apart - apart.round()).abs() < 1e-9, "{apart} slots");
        }
    }

    #[test]
    fn a_delta_closes_where_it_began() {
        // The plane after the last is plane 0, and Walker's phasing then counts whole slots.
        let delta = Walker {
            name: "d".to_owned(),
            pattern: Pattern::Delta,
            planes: 24,
            per_plane: 5,
            altitude: Length::from_km(550.0),
            inclination: Angle::from_degrees(53.0),
            phasing: Phasing::Factor(7),
            raan_spacing: None,
        };
        assert!((delta.closing_gap().degrees() - 15.0).abs() < 1e-9);
        assert!((delta.phase(24) - 7.0 * delta.slot_spacing().degrees()).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_constellation_is_refused() {
        let iridium = Walker::iridium();
        assert!(matches!(Walker { planes: 0, ..iridium.clone() }.satellites(), Err(OrbitError::Empty { .. })));
        assert!(matches!(
            Walker { planes: u32::MAX, per_plane: u32::MAX, ..iridium.clone() }.satellites(),
            Err(OrbitError::TooLarge { .. })
        ));
        assert_eq!(
            Walker { phasing: Phasing::Factor(6), ..iridium.clone() }.satellites().unwrap_err().to_string(),
            "a phasing of 6 does not exist with 6 planes: use 0 to 5"
        );
        assert!(matches!(
            Walker { altitude: Length::from_km(-1.0), ..iridium }.satellites(),
            Err(OrbitError::Altitude { .. })
        ));
    }
}
