//! A link with what the simulation keeps beside it.

use crate::errors::{Listed, Losses};
use crate::events::Waiting;
use crate::ground::{Delay, Delays, Ground};
use crate::link::Link;
use crate::packet::Packet;
use crate::pool::Pool;
use crate::records::DropCounts;
use crate::trace::Served;
use skyhop_base::{Duration, Time};
use skyhop_topology::Topology;

/// See [`Link`] for the order.
#[repr(C, align(64))]
pub(crate) struct LinkState {
    pub link: Link,
    pub from: u32,
    /// Whether each packet event is recorded.
    pub recorded: bool,
    pub errors: Vec<Box<dyn Losses>>,
    pub drops: DropCounts,
    /// Packets that wait for a station's transmitter to find a satellite again ([`crate::spec::OnDown::Hold`]).
    pub held: Vec<Packet>,
    /// What happens to single packets behind it.
    pub listed: Option<Box<Listed>>,
}

impl Waiting for Vec<LinkState> {
    #[inline(always)]
    fn event(&self, link: u32) -> (Time, Time, u32) {
        let link = &self[link as usize].link;
        let (arrival, start) = link.front().times();
        (arrival, start, link.next)
    }

    #[inline(always)]
    fn set_next(&mut self, link: u32, next: u32) {
        self[link as usize].link.next = next;
    }
}

impl LinkState {
    /// Whether nothing of the link itself makes its arrivals special.
    pub fn can_be_plain(&self) -> bool {
        self.link.settled && !self.recorded && self.errors.is_empty() && self.listed.is_none()
    }

    /// The propagation delay of a packet to the node `to` that departs at `departure`.
    #[inline(always)]
    pub fn delay(&mut self, topology: &Topology, ground: &mut Ground, to: u32, departure: Time) -> Duration {
        self.link.path.delay(topology, ground, &self.from, to, departure)
    }

    /// The service of a packet of `size` bytes to the node `to` where rate and limit decide, whether it waits, and the
    /// delay behind it. `None`: it finds no room.
    #[inline(always)]
    pub fn serve_in_turn(
        &mut self,
        pool: &Pool,
        (topology, ground): (&Topology, &mut Ground),
        size: u16,
        (now, scheduled): (Time, Time),
        to: u32,
    ) -> Option<(Served, bool, Duration)> {
        let (served, waits) = self.link.serve_in_turn(pool, size, now, scheduled)?;
        Some((served, waits, self.delay(topology, ground, to, served.departure)))
    }

    /// Calls a function of the link with the delays over it.
    #[inline(always)]
    pub fn with_delays<R>(
        &mut self,
        topology: &Topology,
        ground: &mut Ground,
        work: impl FnOnce(&mut Link, &mut Delays<'_>) -> R,
    ) -> R {
        let mut delays = Delays { path: self.link.path, topology, ground, from: self.from };
        let result = work(&mut self.link, &mut delays);
        // With the piece of the curve that was used last.
        self.link.path = delays.path;
        result
    }

    /// Whether the oldest packet, which arrives at `now`, was on the link for its transmission and the propagation at
    /// least, as far as these are constant.
    pub fn took_its_time(&self, pool: &Pool, now: Time) -> bool {
        let Some((packet, _)) = self.link.front().packet(pool) else { return true };
        let (arrival, start) = self.link.front().times();
        let propagation = match self.link.path.get() {
            Delay::Fixed(delay) => delay,
            Delay::Moving | Delay::Ground => Duration::ZERO,
        };
        // The fraction of a nanosecond that the packet before left over may shorten this one by one.
        let least = self.link.least_service(packet.size) + propagation;
        arrival <= now && arrival + Duration::from_nanos(1) >= start + least
    }
}
