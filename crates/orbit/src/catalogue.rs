//! From published elements to the satellites of a simulation: which can be used at its start, and what to know about
//! them.

use crate::lasting::{self, End};
use crate::read::ElementSet;
use crate::{Earth, Orbit, Satellite, Utc};
use skyhop_base::{Duration, Time};
use std::collections::BTreeMap;
use std::fmt;

/// Below this altitude a satellite is falling, not flying: the Kármán line, in km.
pub const LOWEST_KM: f64 = 100.0;

/// So many times its apogee at the epoch of its elements no satellite is away without engines: perturbations move the
/// apogee of the most elongated orbits by a tenth in years.
const MOST_APOGEES: f64 = 2.0;

/// Beyond this the Sun pulls more than the Earth: 149.6e6 km (m_Earth / m_Sun)^(2/5).
const SPHERE_OF_INFLUENCE_KM: f64 = 924_000.0;

/// WGS 84's gravitational constant times the mass of the Earth (NIMA TR8350.2).
const MU_KM3_S2: f64 = 398_600.441_8;

/// What a user should know about one satellite of a catalogue.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogueNote {
    pub name: String,
    pub catalogue_number: u32,
    pub kind: NoteKind,
}

#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NoteKind {
    /// The elements are used, but their epoch is further from the start than the limit; negative: it lies after it.
    Old { days: f64 },
    /// The elements are used, and their epoch is further from the end of the run than the limit, but not from its
    /// start.
    GrowsOld { days: f64 },
    /// Left out: the orbit has ended by the start.
    Decayed { days: f64 },
    /// Left out: at the start it is lower than 100 km.
    Falling { altitude_km: f64 },
    /// Left out: at the start the theory takes it away from the Earth, which no satellite does: its elements do not
    /// hold any more.
    Escaped { distance_km: f64 },
    /// Left out: so long after the start it is lower than 100 km for the first time.
    ComesDown { days: f64 },
    /// Left out: so long after the start the theory describes no orbit any more.
    Fails { days: f64 },
    /// Left out: another set for the same object is nearer to the start.
    Superseded { epoch: Utc },
}

impl fmt::Display for CatalogueNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (object {}): ", self.name, self.catalogue_number)?;
        match &self.kind {
            NoteKind::Old { days } if *days >= 0.0 => write!(f, "its elements are {days:.1} days old"),
            NoteKind::Old { days } => write!(f, "its elements are {:.1} days younger than the start", -days),
            NoteKind::GrowsOld { days } => {
                write!(f, "its elements will be {days:.1} days old at the end of the run")
            }
            NoteKind::Decayed { days } => {
                write!(f, "left out, its orbit has ended ({days:.1} days after its elements)")
            }
            NoteKind::Falling { altitude_km } => write!(f, "left out, it is falling at {altitude_km:.0} km"),
            NoteKind::Escaped { distance_km } => write!(
                f,
                "left out, at the start its elements lead to {distance_km:.0} km from the Earth's centre: they do not \
                 hold so far from their epoch"
            ),
            NoteKind::ComesDown { days } => {
                write!(f, "left out, it comes down during the run (below {LOWEST_KM} km after {days:.2} days)")
            }
            NoteKind::Fails { days } => {
                write!(f, "left out, its elements describe no orbit from {days:.2} days after the start on")
            }
            NoteKind::Superseded { epoch } => {
                write!(f, "elements of {epoch} left out, others for the same object are nearer to the start")
            }
        }
    }
}

/// The satellites of a catalogue at the start of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalogue {
    /// In the order of the file. They have no planes: `plane` is 0 and `slot` counts them.
    pub satellites: Vec<Satellite>,
    pub notes: Vec<CatalogueNote>,
}

impl Catalogue {
    /// SGP4 is wrong by about 1 km at the epoch of its elements and by 1 to 3 km more for every day (Vallado and
    /// Crawford, "SGP4 orbit determination", AIAA 2008-6770): after a week still less than a beam.
    pub const OLDEST: Duration = Duration::from_secs(7 * 86_400);

    /// Takes what can fly at `start`. Elements whose epoch is more than `oldest` away are used and noted.
    ///
    /// Satellites are called as in the file, in lower case and with `-` for everything but letters, digits, `.` and
    /// `_`; without a name, or where two would share it, with the catalogue number.
    pub fn new(sets: &[ElementSet], start: Utc, oldest: Duration) -> Catalogue {
        let mut catalogue = Catalogue { satellites: Vec::new(), notes: Vec::new() };
        let away = |set: &ElementSet| start.seconds_since(set.elements.epoch).abs();
        let mut nearest: BTreeMap<u32, usize> = BTreeMap::new();
        for (index, set) in sets.iter().enumerate() {
            let best = nearest.entry(set.elements.catalogue_number).or_insert(index);
            if away(set) < away(&sets[*best]) {
                *best = index;
            }
        }
        let mut names: BTreeMap<String, u32> = BTreeMap::new();
        for set in nearest.values().map(|&index| &sets[index]) {
            *names.entry(node_name(set)).or_default() += 1;
        }
        for (index, set) in sets.iter().enumerate() {
            let number = set.elements.catalogue_number;
            let mut name = node_name(set);
            if names.get(&name).is_some_and(|&count| count > 1) {
                name = format!("{name}-{number}");
            }
            let mut note = |kind| {
                catalogue.notes.push(CatalogueNote { name: name.clone(), catalogue_number: number, kind });
            };
            if nearest.get(&number) != Some(&index) {
                note(NoteKind::Superseded { epoch: set.elements.epoch });
                continue;
            }
            let days = start.seconds_since(set.elements.epoch) / 86_400.0;
            let orbit = Orbit::Elements { elements: set.elements, start };
            let distance_km = orbit.earth_fixed_km(&Earth::WGS84, Time::ZERO).norm();
            let altitude_km = distance_km - Earth::WGS84.radius_km;
            if altitude_km < -Earth::WGS84.radius_km / 2.0 {
                note(NoteKind::Decayed { days });
            } else if altitude_km < LOWEST_KM {
                note(NoteKind::Falling { altitude_km });
            } else if distance_km > (MOST_APOGEES * apogee_km(set)).min(SPHERE_OF_INFLUENCE_KM) {
                note(NoteKind::Escaped { distance_km });
            } else {
                if days.abs() * 86_400.0 > oldest.as_secs_f64() {
                    note(NoteKind::Old { days });
                }
                let slot = catalogue.satellites.len() as u32;
                catalogue.satellites.push(Satellite { name, plane: 0, slot, orbit });
            }
        }
        catalogue
    }

    /// Notes elements whose epoch is within `oldest` of the start of a run of this duration, but not of its end.
    pub fn note_old_at_end(&mut self, duration: Duration, oldest: Duration) {
        for Satellite { name, orbit, .. } in &self.satellites {
            let Orbit::Elements { elements, start } = orbit else { continue };
            let at_start_s = start.seconds_since(elements.epoch);
            let at_end_s = at_start_s + duration.as_secs_f64();
            if at_start_s.abs() <= oldest.as_secs_f64() && at_end_s > oldest.as_secs_f64() {
                let kind = NoteKind::GrowsOld { days: at_end_s / 86_400.0 };
                let catalogue_number = elements.catalogue_number;
                self.notes.push(CatalogueNote { name: name.clone(), catalogue_number, kind });
            }
        }
    }

    /// Leaves out whose orbit ends in a run of this duration, wherever in the run that is: SGP4 does not stop there,
    /// but has such a satellite inside the Earth and days later high above it. The others move up: `slot` counts them
    /// anew.
    pub fn leave_out_ends(&mut self, duration: Duration) {
        let Catalogue { satellites, notes } = self;
        satellites.retain(|Satellite { name, orbit, .. }| {
            let Orbit::Elements { elements, start } = orbit else { return true };
            let Some((at, end)) = lasting::end(elements, *start, duration) else { return true };
            let days = at.as_secs_f64() / 86_400.0;
            let kind = match end {
                End::ComesDown => NoteKind::ComesDown { days },
                End::Fails => NoteKind::Fails { days },
            };
            notes.push(CatalogueNote { name: name.clone(), catalogue_number: elements.catalogue_number, kind });
            false
        });
        (0..).zip(satellites).for_each(|(slot, satellite)| satellite.slot = slot);
    }
}

/// The greatest distance from the Earth's centre by the elements at their epoch (Kepler's third law).
fn apogee_km(set: &ElementSet) -> f64 {
    let turns_per_s = std::f64::consts::TAU / set.elements.period_s();
    libm::cbrt(MU_KM3_S2 / (turns_per_s * turns_per_s)) * (1.0 + set.elements.eccentricity)
}

/// A name for the scenario.
fn node_name(set: &ElementSet) -> String {
    let mut name = String::new();
    for c in set.name.as_deref().unwrap_or("").chars().flat_map(char::to_lowercase) {
        let kept = c.is_alphanumeric() || c == '.' || c == '_';
        match (kept, name.ends_with('-')) {
            (true, _) => name.push(c),
            (false, false) => name.push('-'),
            (false, true) => {}
        }
    }
    let name = name.trim_matches('-');
    if name.is_empty() { format!("object-{}", set.elements.catalogue_number) } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_elements;

    #[test]
    fn elements_that_lead_away_from_the_earth_are_left_out() {
        // The example of CelesTrak's description of the format; its drag is negative, so that its orbit grows for ever.
        let text = "ISS (ZARYA)\n\
            1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-2 0  2925\n\
            2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537\n";
        let read = read_elements(text.as_bytes());
        let epoch = read.sets[0].elements.epoch;
        let mut left_out = 0;
        for years in 1..80_u64 {
            let start = epoch.after(Time::from_nanos(years * 365 * 86_400_000_000_000));
            let catalogue = Catalogue::new(&read.sets, start, Catalogue::OLDEST);
            for satellite in &catalogue.satellites {
                let km = satellite.orbit.earth_fixed_km(&Earth::WGS84, Time::ZERO).norm();
                assert!(km < 2.0 * 6800.0, "{years} years: {km} km");
            }
            let kinds = catalogue.notes.iter().map(|note| &note.kind);
            // The theory lets this orbit grow, and then shrink to nothing.
            left_out +=
                kinds.filter(|kind| matches!(kind, NoteKind::Escaped { .. } | NoteKind::Decayed { .. })).count();
        }
        assert!(left_out > 0, "none is left out");
    }
}
