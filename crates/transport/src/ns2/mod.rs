//! What only ns-2 does. A profile chooses it; the rest of the crate does not know it.

mod clock;
mod fack;
mod rate_halving;
mod ring;
mod sack1;
mod ticks;

pub use clock::{Ns2Losses, ns2_numbers_drawn, ns2_random_losses, ns2_tick_phases};
pub(crate) use fack::Ns2Fack;
pub(crate) use rate_halving::RateHalving;
pub(crate) use ring::Ring;
pub(crate) use sack1::Sack1;
pub(crate) use ticks::{TickEstimate, TickRules};
