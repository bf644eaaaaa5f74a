//! Queue disciplines: which packet waits, which goes next, which is marked or dropped. One trait, one file each.
//!
//! A discipline is a sans-IO object: packets and `now` go in; packets, drops and the next time at which it wants to
//! be called come out. It never sees links, routes or endpoints. The link asks it at each departure.
//!
//! Each discipline follows the Linux kernel by default (`variant = "linux"`, Linux 6.18 as
//! `tests/reference/linux-queues/README.md` describes it); where the published text differs, `variant = "rfc"` follows
//! the text. `docs/models/queues.md` lists the differences and their effect.
#![forbid(unsafe_code)]

/// The list of disciplines: what scenarios say of each, its variant of [`QueueSpec`], its parameters. Those of
/// `by_name` have defaults.
macro_rules! for_each_discipline {
    ($declare:ident) => {
        $declare! {
            by_name {
                /// CoDel: drops from the front when packets have waited too long (RFC 8289).
                Codel(codel::CodelConfig),
                /// FQ-CoDel: a queue with CoDel for each flow, in turn (RFC 8290).
                FqCodel(fq_codel::FqCodelConfig),
                /// PIE: drops arrivals at random, by the delay (RFC 8033).
                Pie(pie::PieConfig),
                /// FQ-PIE: a queue with PIE for each flow, in turn.
                FqPie(fq_pie::FqPieConfig),
                /// BLUE: drops arrivals at random, more after overflows, fewer after idle times (Feng et al. 2002).
                Blue(blue::BlueConfig),
                /// DualPI2: one queue for scalable flows, one for others, coupled (RFC 9332).
                #[serde(rename = "dualpi2")]
                DualPi2(dualpi2::DualPi2Config),
                /// RED as Linux's sch_red and tc have it, in bytes.
                #[serde(rename = "sch_red")]
                Red(red::RedConfig),
                /// SFQ: a queue for each flow, in turn (McKenney 1990).
                Sfq(sfq::SfqConfig),
                /// DRR: a queue for each class, in turn, weighted (Shreedhar and Varghese 1995).
                Drr(drr::DrrConfig),
                /// Strict priorities.
                Prio(prio::PrioConfig),
                /// FQ: fair queueing with pacing, Linux's sch_fq.
                Fq(fq::FqConfig),
                /// CAKE: a shaper, classes of service and a queue for each flow.
                Cake(cake::CakeConfig),
            }
            with_values {
                /// First in, first out, asked at each departure: `drop_tail` with its sojourns measured.
                #[serde(rename = "fifo")]
                DropTail(fifo::FifoConfig),
                /// Token bucket filter: a shaper before a queue bounded in bytes.
                Tbf(tbf::TbfConfig),
            }
        }
    };
}

pub mod blue;
pub mod cake;
mod cobalt;
pub mod codel;
pub mod drr;
pub mod dualpi2;
mod error;
pub mod fifo;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
mod heap;
mod list;
mod packet;
pub mod pie;
pub mod prio;
mod random;
pub mod red;
pub mod replay;
mod round;
pub mod sfq;
mod sizes;
mod spec;
mod store;
pub mod tbf;
mod watchdog;

pub use error::{ConfigError, within};
pub use packet::{Cause, Dropped, Ecn, Packet};
pub use random::Random;
pub use spec::{DisciplineName, Parameters, QueueSpec};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Time;

/// Ethernet's 1500 B and its header of 14 B: the unit of the kernel's thresholds and default quanta (`psched_mtu`).
pub const DEVICE_MTU_BYTES: u32 = 1514;

/// Whose description a discipline follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// The Linux kernel's: its units, its fixed-point arithmetic, its order of tests.
    #[default]
    Linux,
    /// The text of the RFC or the paper, in real numbers and nanoseconds.
    Rfc,
}

/// What a call of a [`Discipline`] is given.
pub struct Context<'a> {
    pub now: Time,
    /// Where random numbers come from. Only disciplines that draw look at it.
    pub random: &'a mut dyn Random,
    /// Receives every packet that the call drops, in order. The caller empties it.
    pub dropped: &'a mut Vec<Dropped>,
}

impl Context<'_> {
    /// Notes a drop.
    pub fn drop(&mut self, packet: Packet, cause: Cause) {
        self.dropped.push(Dropped { packet, cause });
    }
}

/// What became of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It waits.
    Queued,
    /// It waits and was marked on arrival.
    Marked,
    /// It is the last entry, or among the entries, of [`Context::dropped`].
    Dropped,
}

/// Whether the link is to ask for a packet now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// A timer of the discipline ran; nothing new can be sent.
    Nothing,
    /// A shaper lets a packet go: call [`Discipline::dequeue`] when the transmitter is idle.
    Dequeue,
}

/// Waiting packets and bytes, without the packet in service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    pub packets: u64,
    pub bytes: u64,
}

/// What happened to the link below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    Up,
    Down,
    /// Another rate, in bit/s.
    Rate(u64),
}

/// A queue discipline.
///
/// The link calls [`enqueue`](Discipline::enqueue) for every packet that arrives, and
/// [`dequeue`](Discipline::dequeue) whenever its transmitter becomes idle, after each arrival at an idle transmitter,
/// and when [`on_event`](Discipline::on_event) answers [`Wake::Dequeue`]. The clock never runs backwards.
/// Every packet leaves exactly once: returned by `dequeue`, listed in [`Context::dropped`], or taken by `drain`.
pub trait Discipline: Send {
    /// A packet arrives. Packets dropped by its arrival, itself or others, are listed in the context.
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>) -> Verdict;

    /// The packet to send now. `None`: nothing waits, or a shaper holds it until [`Discipline::next_event`].
    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Packet>;

    /// When the discipline next wants [`Discipline::on_event`]: a timer, or the time at which a shaper lets go.
    fn next_event(&self) -> Option<Time> {
        None
    }

    /// Runs what is due at `context.now`.
    fn on_event(&mut self, _context: &mut Context<'_>) -> Wake {
        Wake::Nothing
    }

    /// The link changed. The kernel tells its disciplines nothing, so the default does nothing.
    fn on_link(&mut self, _change: LinkChange, _context: &mut Context<'_>) {}

    fn backlog(&self) -> Backlog;

    /// Memory that the queues take besides waiting packets, where it is much.
    fn memory_bytes(&self) -> u64 {
        0
    }

    /// Moves the waiting packets that `affected` names to `out`, for a link that drops or reroutes what waits for a
    /// peer it has lost. The order of `out` is that of each inner queue. Control state stays.
    fn withdraw(&mut self, affected: Affected<'_>, out: &mut Vec<Packet>);

    /// Moves every waiting packet to `out`.
    fn drain(&mut self, out: &mut Vec<Packet>) {
        self.withdraw(&mut |_| true, out);
    }
}

/// Which waiting packets [`Discipline::withdraw`] takes.
pub type Affected<'a> = &'a mut dyn FnMut(&Packet) -> bool;
