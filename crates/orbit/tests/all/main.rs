//! All tests of the crate in one binary, because each binary costs seconds of linking.

mod bad_elements;
mod sgp4;
mod vectors;
