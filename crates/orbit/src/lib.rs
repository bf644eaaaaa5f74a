//! Where satellites and ground stations are, and who sees whom. Knows no packets and no links.
//!
//! - [`Earth`]: the model of the Earth (radius, gravity, rotation, speed of light).
//! - [`Orbit`] → [`Motion`]: an orbit's description, and its constants worked out once; positions are cheap then.
//! - [`Walker`]: star and delta constellations, and the Iridium preset.
//! - [`GroundStation`] → [`Site`]: azimuth, elevation and slant range.
//! - [`read_elements`] → [`Catalogue`]: satellites from published elements at an instant of the calendar ([`Utc`]).
//! - [`Track`]: users on the move. [`passes`]: when a satellite is in sight. [`SkyIndex`]: who is, out of thousands.
//! - [`visibility`]: coverage of a satellite, lines of sight between satellites.
//!
//! Frames: *inertial* (x towards the right ascension 0°, z towards the north pole) and *Earth-fixed* (x towards the
//! longitude 0°). Both coincide at t = 0 and the Earth-fixed one turns eastwards. Lengths are kilometres.
//!
//! Equations, assumptions and sources: `docs/models/orbits.md`.

#![forbid(unsafe_code)]

mod catalogue;
mod earth;
mod elements;
mod epoch;
mod error;
mod ground;
mod index;
mod lasting;
mod motion;
mod near_earth;
mod passes;
mod planes;
mod presets;
mod read;
mod track;
mod vector;
pub mod visibility;
mod walker;

pub use catalogue::{Catalogue, CatalogueNote, LOWEST_KM, NoteKind};
pub use earth::Earth;
pub use elements::{MeanElements, Propagator};
pub use epoch::Utc;
pub use error::OrbitError;
pub use ground::{GroundPoint, GroundStation, Look, Site};
pub use index::SkyIndex;
pub use motion::{CircularOrbit, Motion, Orbit, distance_km, earth_fixed_positions};
pub use passes::{Pass, passes, passes_over};
pub use planes::{FoundPlane, FoundShell, LeftOut, PhaseInFlight, Place, Planes, turn_between};
pub use presets::{Preset, PresetShell, geostationary, preset, presets};
pub use read::{ElementError, ElementFile, ElementFormat, ElementPlace, ElementProblem, ElementSet, read_elements};
pub use track::Track;
pub use vector::Vec3;
pub use walker::{Pattern, Phasing, Satellite, Walker, satellite_name, split_satellite_name};
