//! Payloads of packets that are in the network, beside the hot path.
//!
//! A packet holds a handle. Whoever ends a packet's journey takes its payload out: delivery in `endpoint.rs`, loss in
//! `drops.rs`. A host may leave a payload as room for the next packet.

use super::endpoint::{Codepoint, Fact, Outgoing, Payload, Settled, Words};
use crate::headers::Header;

/// What the network keeps for a packet of a host.
#[derive(Debug)]
pub(crate) struct Load {
    pub payload: Payload,
    pub ecn: Codepoint,
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
pub struct Payloads {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Bytes of all payloads, room that waits for the next packet included.
    bytes: u64,
    pub(crate) leaving: Vec<Leaving>,
    pub(crate) facts: Vec<Fact>,
    /// The state of the host that was asked last.
    pub(super) settled: Settled,
}

impl Default for Payloads {
    fn default() -> Payloads {
        let (slots, free, leaving, facts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Payloads { slots, free, bytes: 0, leaving, facts, settled: Settled::NOTHING }
    }
}

struct Slot {
    load: Load,
    /// A packet has it. Otherwise the payload is nothing, or room for the next one.
    is_taken: bool,
}

const EMPTY: Slot =
    Slot { load: Load { payload: Payload::NOTHING, ecn: Codepoint::NotEct, user_bytes: 0 }, is_taken: false };

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
        let after = load.payload.memory_bytes();
        // Mostly a packet finds room, or needs none.
        if after != before {
            self.bytes = self.bytes - before + after;
        }
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

    /// A packet has arrived at `host`, which reads its words, or else its payload, which it may take. Returns whether
    /// there was one.
    #[inline(always)]
    pub(super) fn arrive<H: ?Sized>(
        &mut self,
        handle: u32,
        host: &mut H,
        read_words: impl FnOnce(&mut H, &Words),
        read: impl FnOnce(&mut H, &mut Payload, Codepoint),
    ) -> bool {
        let Some(slot) = self.slots.get_mut(handle as usize).filter(|slot| slot.is_taken) else { return false };
        slot.is_taken = false;
        let payload = &mut slot.load.payload;
        if let Some(words) = payload.words() {
            // They take no memory, and leave none.
            read_words(host, words);
        } else {
            let before = payload.memory_bytes();
            read(host, payload, slot.load.ecn);
            payload.leave_room();
            self.bytes = self.bytes - before + payload.memory_bytes();
        }
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
        let Some(load) = self.get(handle) else { return PacketKind::Bare };
        match load.payload.opens() {
            true => PacketKind::Opens,
            false if load.user_bytes > 0 => PacketKind::Data,
            false => PacketKind::Bare,
        }
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
        let (ecn, user_bytes) = (Codepoint::NotEct, 0);
        let load = |value: u64| Load { payload: Payload::of(value), ecn, user_bytes };
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
        let arrive = |payloads: &mut Payloads, handle| {
            let mut found = None;
            let is_there = payloads.arrive(
                handle,
                &mut found,
                |_, words| panic!("{words:?}"),
                |found, payload, _| *found = payload.get::<u64>().copied(),
            );
            assert_eq!(found.is_some(), is_there);
            found
        };
        let first = send(&mut payloads, 7);
        assert!(!payloads.send(|_| None));
        assert_eq!(arrive(&mut payloads, first), Some(7));
        assert_eq!(arrive(&mut payloads, first), None, "twice");
        assert_eq!((payloads.count(), payloads.bytes), (0, 8), "the room stays");
        assert_eq!(send(&mut payloads, 8), first, "and is used again");
        // A payload that is not room goes with its packet.
        let other = payloads.keep(Load { payload: Payload::of(5u64), ..EMPTY.load });
        assert_eq!(arrive(&mut payloads, other), Some(5));
        assert_eq!((payloads.count(), payloads.bytes), (1, 8));
        let taken = payloads.take(first).expect("it was sent").payload.take::<u64>();
        assert_eq!((taken, payloads.count(), payloads.bytes), (Some(8), 0, 0));
    }

    #[test]
    fn words_go_beside_the_room_of_a_place() {
        let mut payloads = Payloads::default();
        let packet = Outgoing { seq: 1, size: 40, user_bytes: 0, repeats: false, ecn: Codepoint::NotEct };
        let header = |content: &dyn std::any::Any| Header {
            seq: content.downcast_ref::<Words>().map(|words| words[0].into()),
            ..Header::default()
        };
        let send = |payloads: &mut Payloads, number: Option<u32>| {
            payloads.send(|payload| {
                match number {
                    Some(number) => payload.write_words([number; 10], header, number == 1),
                    None => payload.write(|_| Header::default(), |place: &mut u64| *place = 9),
                }
                Some(packet)
            });
            payloads.leaving.pop().expect("a packet").handle
        };
        let read = |payloads: &mut Payloads, handle| {
            let mut found = 0;
            let note = |found: &mut u64, words: &Words| *found = words[9].into();
            payloads.arrive(handle, &mut found, note, |found, payload, _| *found = *payload.get().expect("a value"));
            found
        };
        // A value leaves its room, which words do not use and the next value does.
        let first = send(&mut payloads, None);
        assert_eq!((read(&mut payloads, first), payloads.bytes), (9, 8));
        assert_eq!(send(&mut payloads, Some(1)), first);
        assert_eq!((payloads.kind(first), payloads.header(first).0.seq), (PacketKind::Opens, Some(1)));
        let copy = payloads.copy(first).expect("words can be copied");
        assert_eq!((payloads.count(), payloads.bytes), (2, 8), "the copy has no room");
        assert_eq!((read(&mut payloads, first), read(&mut payloads, copy), payloads.bytes), (1, 1, 8));
        let second = send(&mut payloads, Some(2));
        assert_eq!(payloads.kind(second), PacketKind::Bare);
        let load = payloads.take(second).expect("it was sent");
        assert_eq!(load.payload.get::<u64>(), None, "the room holds a value, but the packet has words");
        let moved = payloads.keep(load);
        assert_eq!((read(&mut payloads, moved), payloads.count()), (2, 0));
    }
}
