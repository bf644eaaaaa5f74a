//! Shared by the tests against independent traces: the reference folder, a dumbbell, and the comparison; and by those
//! of a sender alone.

pub mod clock;
pub mod dumbbell;
pub mod pipe;
pub mod reference;
pub mod sender;
