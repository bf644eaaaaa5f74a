//! The scenario file: from text (or a Python dict) to what the engine runs.
//!
//! ```text
//!  TOML, JSON ─► tree with places ─► check against the schema ─► twin ─► resolve ─► Scenario
//!                  ▲ overrides         (made from the twin)     format     │          │
//!                                                                          ▼          ├─► canonical form, hash
//!                                                   Diagnostics: all problems         └─► SimulationSpec
//! ```
//!
//! The format is described in `docs/models/scenario.md`.

#![forbid(unsafe_code)]

mod build;
mod check;
mod diagnostic;
mod effect;
mod files;
pub mod format;
mod forms;
mod instant;
mod names;
mod overrides;
mod places;
mod quantity;
mod resolve;
pub mod scenario;
mod schema;
mod source;
mod tables;
mod text;
mod tree;

pub use diagnostic::{Diagnostic, Diagnostics, MOST_PROBLEMS};
pub use files::Files;
pub use instant::Instant;
pub use overrides::{Override, OverrideError};
pub use places::{Place, find_place, nearest_place, places};
pub use scenario::Scenario;
pub use schema::{json_schema, json_schema_text};
pub use skyhop_base::natural_order;
pub use text::LARGEST_TEXT;
