//! All tests of the crate in one binary, because each binary costs seconds of linking.

mod common;
mod drift;
mod iridium;
mod kinds;
mod options;
mod planes;
mod real_sky;
mod renewal;
mod rules;
mod second_links;
