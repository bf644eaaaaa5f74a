//! All tests of the crate in one binary, because each binary costs seconds of linking.

mod docs;
mod howto;
mod properties;
