//! Constellations by name: a table of shells, each with where its numbers are printed.
//!
//! Filings say how many satellites fly how high in how many planes. They rarely say how the planes are phased. If they
//! do not, and planes spread over 360°, F is the value up to P/2 that keeps satellites furthest apart (searched in
//! steps of half a degree; with a larger F the satellite of the same slot, to which +Grid links, would not be the
//! nearest of the next plane). If planes spread over 180°, odd planes are half a slot ahead, as in ns-2.

use crate::{Orbit, Pattern, Phasing, Satellite, Walker};
use skyhop_base::{Angle, Length};

/// A constellation with a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    pub name: &'static str,
    /// Other names for the same.
    pub aliases: &'static [&'static str],
    pub shells: &'static [PresetShell],
    /// Satellites of all shells, as the source counts them.
    pub satellites: u32,
    /// Where the numbers are printed.
    pub source: &'static str,
    /// Values that the source does not print, and where they come from instead.
    pub besides: &'static str,
}

/// One shell of a preset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PresetShell {
    pub pattern: Pattern,
    pub planes: u32,
    pub per_plane: u32,
    pub altitude_km: f64,
    pub inclination_deg: f64,
    pub phasing: Phasing,
    /// Between neighbouring planes, where they are not spread evenly.
    pub raan_spacing_deg: Option<f64>,
    /// Minutes for one revolution, to check the altitude against; from the source or from satellites in orbit.
    pub period_min: f64,
}

const STAR: PresetShell = PresetShell {
    pattern: Pattern::Star,
    planes: 0,
    per_plane: 0,
    altitude_km: 0.0,
    inclination_deg: 0.0,
    phasing: Phasing::OddPlanesHalfSpacing,
    raan_spacing_deg: None,
    period_min: 0.0,
};

const fn star(planes: u32, per_plane: u32, altitude_km: f64, inclination_deg: f64, period_min: f64) -> PresetShell {
    PresetShell { planes, per_plane, altitude_km, inclination_deg, period_min, ..STAR }
}

/// Planes, satellites per plane and F, as Walker writes it.
const fn delta(
    [planes, per_plane, f]: [u32; 3],
    altitude_km: f64,
    inclination_deg: f64,
    period_min: f64,
) -> PresetShell {
    let shell = star(planes, per_plane, altitude_km, inclination_deg, period_min);
    PresetShell { pattern: Pattern::Delta, phasing: Phasing::Factor(f), ..shell }
}

const IRIDIUM_SHELL: PresetShell = PresetShell { raan_spacing_deg: Some(31.6), ..star(6, 11, 780.0, 86.4, 100.4) };

static PRESETS: [Preset; 9] = [
    Preset {
        name: "iridium",
        aliases: &[],
        shells: &[IRIDIUM_SHELL],
        satellites: 66,
        source: "Nirmala and Pujeri, \"Performance of TCP Vegas, Bic and Reno Congestion Control Algorithms on Iridium \
                 Satellite Constellations\", Table 1",
        besides: "phasing (odd planes half a slot ahead): sat-iridium.tcl of ns-2",
    },
    Preset {
        name: "iridium-next",
        aliases: &["iridiumnext"],
        shells: &[IRIDIUM_SHELL],
        satellites: 66,
        // The satellites of October 2025 go round 14.342 times a day: 100.4 min.
        source: "FCC IBFS SAT-MOD-20131227-00148: the planes and the altitude of the first generation, 6 x 11 at 780 \
            km",
        besides: "spread of planes and phasing: those of iridium",
    },
    Preset {
        name: "globalstar",
        aliases: &[],
        // "48/8/1" is its Walker notation.
        shells: &[delta([8, 6, 1], 1414.0, 52.0, 114.1)],
        satellites: 48,
        source: "Dietrich, Metzen and Monte, \"The Globalstar cellular satellite system\", IEEE Transactions on \
                 Antennas and Propagation 46 (6), 1998",
        besides: "nothing: its notation 48/8/1 has spread and phasing",
    },
    Preset {
        name: "teledesic",
        aliases: &[],
        // 6794 s; planes 15° apart and the seam of 15° are called a guess there.
        shells: &[star(12, 24, 1375.0, 84.7, 113.23)],
        satellites: 288,
        source: "the design of 1997 with 288 satellites as in sat-teledesic.tcl of ns-2.35",
        besides: "spread of planes: a guess, says sat-teledesic.tcl; phasing (odd planes half a slot ahead): \
                  our reading",
    },
    Preset {
        name: "starlink",
        aliases: &["starlink-gen1"],
        // Starlink's satellites at 550 km go round 15.06 times a day: 95.6 min.
        shells: &[
            delta([72, 22, 3], 550.0, 53.0, 95.6),
            delta([72, 22, 3], 540.0, 53.2, 95.4),
            delta([36, 20, 15], 570.0, 70.0, 96.0),
            star(6, 58, 560.0, 97.6, 95.8),
            star(4, 43, 560.0, 97.6, 95.8),
        ],
        satellites: 4408,
        source: "FCC 21-48 (April 2021), third modification, IBFS SAT-MOD-20200417-00037",
        besides: "our reading: in shells 1 to 3 the F that keeps satellites furthest apart; in 4 and 5 180 deg, \
                  odd planes half a slot ahead",
    },
    Preset {
        name: "oneweb",
        aliases: &[],
        // OneWeb's satellites go round 13.166 times a day: 109.4 min. The 128 satellites of phase 1 at 55° are left
        // out; the filing of 2016 had 18 x 40.
        shells: &[star(12, 49, 1200.0, 87.9, 109.4)],
        satellites: 588,
        source: "IBFS SAT-MPL-20200526-00062, the polar planes of phase 1, as they are in orbit",
        besides: "our reading: planes spread over 180 deg, odd ones half a slot ahead",
    },
    Preset {
        name: "amazon-leo",
        aliases: &["kuiper", "amazonleo"],
        shells: &[
            delta([34, 34, 7], 630.0, 51.9, 97.2),
            delta([36, 36, 11], 610.0, 42.0, 96.8),
            delta([28, 28, 1], 590.0, 33.0, 96.4),
        ],
        satellites: 3236,
        source: "FCC 20-102 (July 2020), IBFS SAT-LOA-20190704-00057",
        besides: "our reading: planes spread over 360 deg, the F that keeps satellites furthest apart (arXiv \
                  2109.13994 finds it too for shell 2)",
    },
    Preset {
        name: "telesat",
        aliases: &["telesat-lightspeed"],
        // The operator has since asked for fewer and higher satellites.
        shells: &[star(27, 13, 1015.0, 98.98, 105.4), delta([40, 33, 4], 1325.0, 50.88, 112.2)],
        satellites: 1671,
        source: "IBFS SAT-MPL-20200526-00053 (May 2020)",
        besides: "our reading: in shell 1 180 deg, odd planes half a slot ahead; in 2 360 deg, the F that keeps \
                  satellites furthest apart",
    },
    Preset {
        name: "o3b",
        aliases: &[],
        shells: &[delta([1, 20, 0], 8062.0, 0.0, 287.9)],
        satellites: 20,
        source: "the first generation of O3b in full, FCC call sign S2935: 20 satellites above the equator at 8062 km",
        besides: "nothing: one plane",
    },
];

/// All presets except `geo`, which is not a shell: see [`geostationary`].
pub fn presets() -> &'static [Preset] {
    &PRESETS
}

/// The shells of a name, in any case: a preset (`starlink`, all its shells), an alias of it (`kuiper`), or one shell
/// of several, counted from 1 (`starlink-3`). Satellites are called `<preset>-<plane>-<slot>`, with several shells
/// `<preset>-<shell>-<plane>-<slot>`. `None`: no such name.
pub fn preset(name: &str) -> Option<Vec<Walker>> {
    let name = name.to_ascii_lowercase();
    if let Some(found) = find(&name) {
        return Some(found.walkers());
    }
    let (stem, number) = name.rsplit_once('-')?;
    let index = number.parse::<usize>().ok()?.checked_sub(1)?;
    let found = find(stem).filter(|found| found.shells.len() > 1)?;
    found.walkers().into_iter().nth(index).map(|walker| vec![walker])
}

fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name || preset.aliases.contains(&name))
}

impl Preset {
    /// One for each shell.
    pub fn walkers(&self) -> Vec<Walker> {
        let several = self.shells.len() > 1;
        let walker = |(index, shell): (usize, &PresetShell)| Walker {
            name: if several { format!("{}-{}", self.name, index + 1) } else { self.name.to_owned() },
            pattern: shell.pattern,
            planes: shell.planes,
            per_plane: shell.per_plane,
            altitude: Length::from_km(shell.altitude_km),
            inclination: Angle::from_degrees(shell.inclination_deg),
            phasing: shell.phasing,
            raan_spacing: shell.raan_spacing_deg.map(Angle::from_degrees),
        };
        self.shells.iter().enumerate().map(walker).collect()
    }
}

/// Satellites that stand above the equator at these longitudes, called `<name>-<n>`.
pub fn geostationary(name: &str, longitudes: &[Angle]) -> Vec<Satellite> {
    let satellite = |(slot, &longitude): (u32, &Angle)| Satellite {
        name: format!("{name}-{slot}"),
        plane: 0,
        slot,
        orbit: Orbit::Geostationary { longitude },
    };
    (0..).zip(longitudes).map(satellite).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Earth, distance_km};
    use skyhop_base::Time;

    #[test]
    fn every_preset_has_the_satellites_the_planes_and_the_period_of_its_source() {
        for preset in presets() {
            let walkers = preset.walkers();
            let count: usize = walkers.iter().map(|walker| walker.satellites().unwrap().len()).sum();
            assert_eq!(count, preset.satellites as usize, "{}", preset.name);
            for (walker, shell) in walkers.iter().zip(preset.shells) {
                let planes = walker.satellites().unwrap().iter().map(|s| s.plane).max().unwrap() + 1;
                assert_eq!(planes, shell.planes, "{}", walker.name);
                let minutes = walker.period_s(&Earth::WGS84) / 60.0;
                assert!((minutes / shell.period_min - 1.0).abs() < 2e-3, "{}: {minutes} min", walker.name);
            }
            assert!(!preset.source.is_empty() && !preset.besides.is_empty());
        }
    }

    #[test]
    fn names_lead_to_shells() {
        let names = |name: &str| preset(name).map(|all| all.into_iter().map(|w| w.name).collect::<Vec<_>>());
        assert_eq!(preset("Iridium").unwrap(), [Walker::iridium()]);
        assert_eq!(names("kuiper").unwrap(), ["amazon-leo-1", "amazon-leo-2", "amazon-leo-3"]);
        assert_eq!(names("kuiper-3").unwrap(), ["amazon-leo-3"]);
        assert_eq!(names("starlink-1").unwrap(), ["starlink-1"]);
        for unknown in ["starlink-0", "starlink-6", "starlink-x", "iridium-1", "", "-1"] {
            assert_eq!(names(unknown), None, "{unknown}");
        }
        let mut all: Vec<&str> = presets().iter().flat_map(|p| p.aliases.iter().chain([&p.name])).copied().collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|two| two[0] != two[1]), "{all:?}");
    }

    #[test]
    fn satellites_of_a_shell_keep_apart() {
        // Plane 0's first satellite against all others over half a revolution; every satellite of a Walker delta sees
        // the same, and a star's are nearest where planes cross at the poles.
        for preset in presets() {
            for walker in preset.walkers() {
                let earth = Earth::WGS84;
                let motions: Vec<_> = walker.satellites().unwrap().iter().map(|s| s.orbit.motion(&earth)).collect();
                let period = walker.period_s(&earth);
                let times = (0..360).map(|n| Time::from_secs_f64(period * f64::from(n) / 720.0));
                let apart = |t: Time| {
                    motions[1..].iter().map(|other| distance_km(&motions[0], other, t)).fold(f64::MAX, f64::min)
                };
                let nearest = times.map(apart).fold(f64::MAX, f64::min);
                assert!(nearest > 5.0, "{}: {nearest} km", walker.name);
            }
        }
    }

    #[test]
    fn geostationary_satellites_stand_where_they_are_told() {
        let found = geostationary("geo", &[Angle::from_degrees(-34.5), Angle::from_degrees(13.0)]);
        assert_eq!(found[1].name, "geo-1");
        let position = found[1].orbit.earth_fixed_km(&Earth::WGS84, Time::from_secs_f64(1e5));
        assert!((libm::atan2(position.y, position.x).to_degrees() - 13.0).abs() < 1e-9);
    }
}
