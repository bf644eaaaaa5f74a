//! Loss recovery: one trait ([`LossRecovery`]), one file per algorithm, one list that registers them.
//!
//! `docs/howto/add-a-recovery.md` shows how to add one.

/// The list of recoveries: documentation, variant of [`crate::Recovery`], name in scenario files, whether the receiver
/// reports blocks unless a scenario says otherwise, and the algorithm.
macro_rules! for_each_recovery {
    ($declare:ident) => {
        $declare! {
            /// Fast retransmit, then slow start from the loss on (Jacobson 1988).
            Tahoe "tahoe", Off, |_options| Machine::Classic(Classic::new(After::SlowStart));
            /// Fast recovery that ends with the first new ACK (RFC 2581).
            Reno "reno", Off, |_options| Machine::Classic(Classic::new(After::FirstAck));
            /// Fast recovery that repairs a hole per partial ACK (RFC 6582).
            NewReno "newreno", Off, |_options| Machine::Classic(Classic::new(After::PartialAcks));
            /// Selective acknowledgements (RFC 6675, or as `sack_rules` says).
            Sack "sack", On, |options| match options.sack_rules {
                SackRules::Rfc6675 => Machine::Sack(Sack::default()),
                SackRules::Ns2Sack1 => Machine::Sack1(ns2::Sack1::default()),
                SackRules::Ns2Linux => Machine::RateHalving(Box::default()),
                SackRules::Nak => Machine::Nak(Box::default()),
            };
            /// Forward acknowledgement (Mathis and Mahdavi 1996, or as `fack_rules` says).
            Fack "fack", On, |options| match options.ns2.fack_rules {
                FackRules::Paper => Machine::Fack(Box::default()),
                FackRules::Ns2 => Machine::Ns2Fack(Box::default()),
            };
            /// Reno with the fine-grained timeout of Vegas (Brakmo and Peterson 1995 §3.1).
            Vegas "vegas", Off, |options| Machine::Vegas(Box::new(Vegas::new(options)));
            /// Only missing segments are sent until all have arrived; further losses count (TCP Yam).
            Yam "yam", On, |_options| Machine::Yam(Yam::default());
            /// NewReno with sudden start and rapid recovery by dummy segments (TCP Peach, Akyildiz et al. 2001).
            Peach "peach", Off, |_options| {
                Machine::Peach(Box::new(Peach::new(Classic::new(After::PartialAcks), Dummies::Last)))
            };
            /// SACK with jump start and quick recovery by NIL segments (TCP Peach+, Akyildiz et al. 2002).
            PeachPlus "peach+", On, |_options| {
                Machine::PeachPlus(Box::new(Peach::new(Sack::default(), Dummies::Missing(0))))
            };
        }
    };
}

mod classic;
mod contract;
#[cfg(test)]
#[path = "../../../../docs/howto/early_retransmit.rs"]
mod early_retransmit;
mod fack;
#[cfg(test)]
mod howto;
mod nak;
mod peach;
mod sack;
mod vegas;
mod yam;

pub(crate) use contract::LossRecovery;
pub(crate) use fack::Forward;
pub use peach::sudden_start_interval;

use crate::config::{FackRules, Options, Recovery, SackRules};
use crate::core::Core;
use crate::ns2;
use crate::segment::{Ack, Segment};
use classic::{After, Classic};
use fack::Fack;
use nak::Nak;
use peach::{Dummies, Peach};
use sack::Sack;
use skyhop_base::{Segments, Time};
use vegas::Vegas;
use yam::Yam;

/// Declares the enum over all algorithms: static dispatch, because every ACK and every segment goes through it.
macro_rules! machines {
    ($($(#[$meta:meta])* $variant:ident($machine:ty),)+) => {
        /// The recovery of one sender. Those with much state stand in a place of their own, so that the others stay
        /// small.
        #[derive(Debug)]
        pub(crate) enum Machine {
            $($(#[$meta])* $variant($machine),)+
        }

        /// Forwards to the algorithm inside.
        macro_rules! forward {
            ($self:ident, $recovery:ident => $call:expr) => {
                match $self {
                    $($(#[$meta])* Machine::$variant($recovery) => $call,)+
                }
            };
        }
    };
}

machines! {
    Classic(Classic),
    Sack(Sack),
    Fack(Box<Fack>),
    Vegas(Box<Vegas>),
    Yam(Yam),
    Peach(Box<Peach<Classic>>),
    PeachPlus(Box<Peach<Sack>>),
    Nak(Box<Nak>),
    Sack1(ns2::Sack1),
    Ns2Fack(Box<ns2::Ns2Fack>),
    RateHalving(Box<ns2::RateHalving>),
    #[cfg(test)]
    EarlyRetransmit(early_retransmit::EarlyRetransmit),
}

macro_rules! declare_machine {
    ($($(#[doc = $doc:expr])+ $variant:ident $name:literal, $blocks:ident, |$options:ident| $machine:expr;)+) => {
        impl Machine {
            /// The recovery that a configuration names.
            pub(crate) fn new(recovery: Recovery, options: &Options) -> Machine {
                match recovery {
                    $(Recovery::$variant => {
                        let $options = options;
                        $machine
                    })+
                }
            }
        }
    };
}

for_each_recovery!(declare_machine);

impl LossRecovery for Machine {
    #[inline]
    fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        forward!(self, recovery => recovery.on_ack(core, now, ack));
    }

    fn on_timeout(&mut self, core: &mut Core, now: Time) {
        forward!(self, recovery => recovery.on_timeout(core, now));
    }

    #[inline]
    fn poll(&mut self, core: &mut Core, now: Time) -> Option<Segment> {
        forward!(self, recovery => recovery.poll(core, now))
    }

    fn releases(&mut self, core: &mut Core) -> bool {
        forward!(self, recovery => recovery.releases(core))
    }

    #[inline]
    fn on_sent(&mut self, core: &mut Core, segment: &Segment) {
        forward!(self, recovery => recovery.on_sent(core, segment));
    }

    fn on_release(&mut self, core: &Core) {
        forward!(self, recovery => recovery.on_release(core));
    }

    #[inline]
    fn window(&self, core: &Core) -> Segments {
        forward!(self, recovery => recovery.window(core))
    }

    fn cuts_at_every_timeout(&self) -> bool {
        forward!(self, recovery => recovery.cuts_at_every_timeout())
    }

    fn needs_ledger(&self) -> bool {
        forward!(self, recovery => recovery.needs_ledger())
    }

    #[inline]
    fn next_timeout(&self) -> Time {
        forward!(self, recovery => recovery.next_timeout())
    }

    fn on_time(&mut self, now: Time) {
        forward!(self, recovery => recovery.on_time(now));
    }

    #[inline]
    fn has_probe(&self) -> bool {
        forward!(self, recovery => recovery.has_probe())
    }

    #[inline]
    fn poll_probe(&mut self, core: &mut Core) -> Option<Segment> {
        forward!(self, recovery => recovery.poll_probe(core))
    }
}
