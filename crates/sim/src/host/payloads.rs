//! Payloads of packets that are in the network, beside the hot path.
//!
//! A packet holds a handle. Whoever ends a packet's way takes its payload out: delivery in `boxed.rs`, loss in
//! `drops.rs`.

use super::endpoint::{Codepoint, Payload};
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

/// The payloads by handle.
#[derive(Default)]
pub(crate) struct Payloads {
    slots: Vec<Option<Load>>,
    free: Vec<u32>,
    bytes: u64,
}

impl Payloads {
    pub fn keep(&mut self, load: Load) -> u32 {
        self.bytes += load.payload.memory_bytes();
        match self.free.pop() {
            Some(handle) => {
                self.slots[handle as usize] = Some(load);
                handle
            }
            None => {
                self.slots.push(Some(load));
                self.slots.len() as u32 - 1
            }
        }
    }

    pub fn take(&mut self, handle: u32) -> Option<Load> {
        let load = self.slots.get_mut(handle as usize)?.take()?;
        self.bytes -= load.payload.memory_bytes();
        self.free.push(handle);
        Some(load)
    }

    /// Another one with the same content.
    pub fn copy(&mut self, handle: u32) -> Option<u32> {
        let load = self.slots.get(handle as usize)?.as_ref()?;
        let load = Load { payload: load.payload.copied()?, ..*load };
        Some(self.keep(load))
    }

    pub fn kind(&self, handle: u32) -> PacketKind {
        self.slots.get(handle as usize).and_then(Option::as_ref).map_or(PacketKind::Bare, |load| load.kind)
    }

    /// The header of a packet and its user bytes.
    pub fn header(&self, handle: u32) -> (Header, u32) {
        let load = self.slots.get(handle as usize).and_then(Option::as_ref);
        load.map_or_else(Default::default, |load| (load.payload.header(), load.user_bytes.into()))
    }

    /// Takes over those of another part of the run, under other handles.
    pub fn absorb(&mut self, other: Payloads) {
        for load in other.slots.into_iter().flatten() {
            self.keep(load);
        }
    }

    /// Payloads in the network.
    pub fn count(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// Memory that the payloads take, bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.bytes + (self.slots.capacity() * size_of::<Option<Load>>() + self.free.capacity() * 4) as u64
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
        let taken = payloads.take(handles[1]).expect("it was kept");
        assert_eq!(taken.payload.take::<u64>(), Some(1));
        assert!(payloads.take(handles[1]).is_none(), "twice");
        assert_eq!((payloads.count(), payloads.bytes), (2, 16));
        assert_eq!(payloads.keep(load(9)), handles[1], "its place is used again");
        let copy = payloads.copy(handles[2]).expect("a value that can be cloned");
        assert_eq!(payloads.take(copy).and_then(|load| load.payload.take::<u64>()), Some(2));
        assert_eq!(payloads.take(handles[1]).and_then(|load| load.payload.take::<u32>()), None, "another type");
    }
}
