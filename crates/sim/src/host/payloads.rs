//! Payloads of packets that are in the network, beside the hot path.
//!
//! A packet holds a handle. Whoever ends a packet's way takes its payload out: delivery in `boxed.rs`, loss in `drops.rs`.

use super::endpoint::{Codepoint, Payload};

/// What the network keeps for a packet of a host.
#[derive(Debug)]
pub(crate) struct Load {
    pub payload: Payload,
    pub ecn: Codepoint,
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
        let load = |value: u64| Load { payload: Payload::of(value), ecn: Codepoint::NotEct };
        let handles: Vec<u32> = (0..3).map(|value| payloads.keep(load(value))).collect();
        assert_eq!(payloads.count(), 3);
        let taken = payloads.take(handles[1]).expect("it was kept");
        assert_eq!(taken.payload.take::<u64>(), Some(1));
        assert!(payloads.take(handles[1]).is_none(), "twice");
        assert_eq!((payloads.count(), payloads.bytes), (2, 16));
        assert_eq!(payloads.keep(load(9)), handles[1], "its place is used again");
        assert_eq!(payloads.take(handles[1]).and_then(|load| load.payload.take::<u32>()), None, "another type");
    }
}
