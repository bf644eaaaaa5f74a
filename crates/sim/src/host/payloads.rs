//! Payloads of packets that are in the network, beside the hot path.
//!
//! A packet holds a handle. Whoever ends a packet's way takes its payload out: delivery in `endpoint.rs`, loss in
//! `drops.rs`. A host may leave a payload as room for the next packet.

use super::endpoint::{Codepoint, Fact, Outgoing, Payload};
use crate::headers::Header;

/// What the network keeps for a packet of a host.
#[derive(Debug)]
pub(crate) struct Load {
    pub payload: Payload,
    pub ecn: Codepoint,
    pub kind: PacketKind,
    pub user_bytes: u16,
}

/// What a packet is to a list of outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketKind {
    /// It carries user data.
    Data,
    /// It carries none, and opens nothing.
    Bare,
    /// It asks for a connection, or answers that.
    Opens,
}

/// A packet that a host has handed over, on its way to the first link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub seq: u32,
    pub handle: u32,
    pub size: u16,
    pub user_bytes: u16,
    pub repeats: bool,
    pub ecn: Codepoint,
}

/// The payloads by handle, and what a host hands over after an input.
#[derive(Default)]
pub struct Payloads {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Bytes of all payloads, room that waits for the next packet included.
    bytes: u64,
    pub(crate) leaving: Vec<Leaving>,
    pub(crate) facts: Vec<Fact>,
}

struct Slot {
    load: Load,
    /// A packet has it. Otherwise the payload is nothing, or room for the next one.
    is_taken: bool,
}

const EMPTY: Slot = Slot {
    load: Load { payload: Payload::NOTHING, ecn: Codepoint::NotEct, kind: PacketKind::Bare, user_bytes: 0 },
    is_taken: false,
};

impl Payloads {
    /// A host sends the packet for which `fill` writes the payload, if there is one. Returns whether there was.
    #[inline(always)]
    pub(super) fn send(&mut self, fill: impl FnOnce(&mut Payload) -> Option<Outgoing>) -> bool {
        let handle = match self.free.last() {
            Some(&handle) => handle,
            None => self.grow(),
        };
        let Some(slot) = self.slots.get_mut(handle as usize) else { return false };
        let load = &mut slot.load;
        let before = load.payload.memory_bytes();
        let Some(Outgoing { seq, size, user_bytes, repeats, ecn }) = fill(&mut load.payload) else { return false };
        self.free.pop();
        self.bytes = self.bytes - before + load.payload.memory_bytes();
        load.kind = match load.payload.opens() {
            true => PacketKind::Opens,
            false if user_bytes > 0 => PacketKind::Data,
            false => PacketKind::Bare,
        };
        (load.ecn, load.user_bytes) = (ecn, user_bytes);
        slot.is_taken = true;
        self.leaving.push(Leaving { seq, handle, size, user_bytes, repeats, ecn });
        true
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let handle = self.slots.len() as u32;
        self.slots.push(EMPTY);
        self.free.push(handle);
        handle
    }

    /// A packet has arrived at a host, which reads its payload and may take it. Returns whether there was one.
    #[inline(always)]
    pub(super) fn arrive(&mut self, handle: u32, read: impl FnOnce(&mut Payload, Codepoint)) -> bool {
        let Some(slot) = self.slots.get_mut(handle as usize).filter(|slot| slot.is_taken) else { return false };
        let payload = &mut slot.load.payload;
        let before = payload.memory_bytes();
        read(payload, slot.load.ecn);
        payload.leave_room();
        slot.is_taken = false;
        self.bytes = self.bytes - before + payload.memory_bytes();
        self.free.push(handle);
        true
    }

    pub(crate) fn keep(&mut self, load: Load) -> u32 {
        let handle = match self.free.pop() {
            Some(handle) => handle,
            None => {
                self.slots.push(EMPTY);
                self.slots.len() as u32 - 1
            }
        };
        if let Some(slot) = self.slots.get_mut(handle as usize) {
            self.bytes = self.bytes - slot.load.payload.memory_bytes() + load.payload.memory_bytes();
            *slot = Slot { load, is_taken: true };
        }
        handle
    }

    pub(crate) fn take(&mut self, handle: u32) -> Option<Load> {
        let slot = self.slots.get_mut(handle as usize).filter(|slot| slot.is_taken)?;
        let Slot { load, .. } = std::mem::replace(slot, EMPTY);
        self.bytes -= load.payload.memory_bytes();
        self.free.push(handle);
        Some(load)
    }

    fn get(&self, handle: u32) -> Option<&Load> {
        self.slots.get(handle as usize).filter(|slot| slot.is_taken).map(|slot| &slot.load)
    }

    /// Another one with the same content.
    pub(crate) fn copy(&mut self, handle: u32) -> Option<u32> {
        let load = self.get(handle)?;
        let load = Load { payload: load.payload.copied()?, ..*load };
        Some(self.keep(load))
    }

    pub(crate) fn kind(&self, handle: u32) -> PacketKind {
        self.get(handle).map_or(PacketKind::Bare, |load| load.kind)
    }

    /// The header of a packet and its user bytes.
    pub(crate) fn header(&self, handle: u32) -> (Header, u32) {
        self.get(handle).map_or_else(Default::default, |load| (load.payload.header(), load.user_bytes.into()))
    }

    /// Takes over those of another part of the run, under other handles.
    pub(crate) fn absorb(&mut self, other: Payloads) {
        for slot in other.slots.into_iter().filter(|slot| slot.is_taken) {
            self.keep(slot.load);
        }
    }

    /// Payloads in the network.
    pub(crate) fn count(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// Memory that the payloads take, bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let table = self.slots.capacity() * size_of::<Slot>() + self.free.capacity() * size_of::<u32>();
        let handed_over = self.leaving.capacity() * size_of::<Leaving>() + self.facts.capacity() * size_of::<Fact>();
        self.bytes + (table + handed_over) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_kept_once_and_taken_once() {
        let mut payloads = Payloads::default();
        let (ecn, kind, user_bytes) = (Codepoint::NotEct, PacketKind::Bare, 0);
        let load = |value: u64| Load { payload: Payload::of(value), ecn, kind, user_bytes };
        let handles: Vec<u32> = (0..3).map(|value| payloads.keep(load(value))).collect();
        assert_eq!(payloads.count(), 3);
        let mut taken = payloads.take(handles[1]).expect("it was kept");
        assert_eq!(taken.payload.take::<u64>(), Some(1));
        assert!(payloads.take(handles[1]).is_none(), "twice");
        assert_eq!((payloads.count(), payloads.bytes), (2, 16));
        assert_eq!(payloads.keep(load(9)), handles[1], "its place is used again");
        let copy = payloads.copy(handles[2]).expect("a value that can be cloned");
        assert_eq!(payloads.take(copy).and_then(|mut load| load.payload.take::<u64>()), Some(2));
        assert_eq!(payloads.take(handles[1]).and_then(|mut load| load.payload.take::<u32>()), None, "another type");
    }

    #[test]
    fn a_host_may_leave_room_for_the_next_packet() {
        let mut payloads = Payloads::default();
        let packet = Outgoing { seq: 1, size: 40, user_bytes: 0, repeats: false, ecn: Codepoint::NotEct };
        let send = |payloads: &mut Payloads, value: u64| {
            let sent = payloads.send(|payload| {
                payload.write(|_| Header::default(), |place: &mut u64| *place = value);
                Some(packet)
            });
            assert!(sent);
            payloads.leaving.pop().expect("a packet").handle
        };
        let first = send(&mut payloads, 7);
        assert!(!payloads.send(|_| None));
        assert!(payloads.arrive(first, |payload, _| assert_eq!(payload.get::<u64>(), Some(&7))));
        assert!(!payloads.arrive(first, |_, _| {}), "twice");
        assert_eq!((payloads.count(), payloads.bytes), (0, 8), "the room stays");
        assert_eq!(send(&mut payloads, 8), first, "and is used again");
        // A payload that is not room goes with its packet.
        let other = payloads.keep(Load { payload: Payload::of(5u64), ..EMPTY.load });
        assert!(payloads.arrive(other, |_, _| {}));
        assert_eq!((payloads.count(), payloads.bytes), (1, 8));
        let taken = payloads.take(first).expect("it was sent").payload.take::<u64>();
        assert_eq!((taken, payloads.count(), payloads.bytes), (Some(8), 0, 0));
    }
}
