//! What every other crate of Skyhop is written in: exact time, rates, sizes, ids and random streams.
//!
//! Nothing here knows networks. Engine time is an unsigned number of nanoseconds; a quantity at a file
//! boundary is a string with its unit ([`units`]).

#![forbid(unsafe_code)]

pub mod fault;
pub mod id;
pub mod order;
pub mod random;
pub mod rate;
pub mod time;
pub mod units;

pub use fault::{Fault, FaultPlace, Faults, Step};
pub use id::{Index, IndexVec};
pub use order::natural_order;
pub use random::Stream;
pub use rate::{Carry, Rate, Serialiser};
pub use time::{Duration, Time};
pub use units::{Angle, Bytes, Length, QuantityError};

/// A window or an amount of data in segments. Real-valued, because the field's algorithms are written so.
pub type Segments = f64;
