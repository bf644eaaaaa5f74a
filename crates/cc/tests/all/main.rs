//! All tests of the crate in one binary, because each binary costs seconds of linking.

mod classic_vectors;
mod every_control;
mod models;
mod support;
mod vectors;
