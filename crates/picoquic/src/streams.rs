//! Data of streams on both sides of picoquic: what waits to be sent, and what has come and is not read.

use std::collections::{BTreeMap, VecDeque};

/// Bytes of all streams that wait for picoquic, at most. picoquic takes a packet's worth at a time, and never finds
/// the buffer empty while its application has more: a driver's turn is 20 datagrams, of 64 kB at most together.
const WAITING: usize = 1 << 20;

#[derive(Debug, Default)]
struct Data {
    waiting: VecDeque<u8>,
    /// The application writes no more.
    ends: bool,
    /// picoquic has all of it.
    ended: bool,
    arrived: VecDeque<u8>,
    /// The peer writes no more.
    finished: bool,
    is_known: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Streams {
    data: BTreeMap<u64, Data>,
    waiting: usize,
    /// The application found the buffer full and wants to know when there is room.
    is_blocked: bool,
    /// Something can be read, or written again.
    changed: bool,
    /// Streams of the peer that nobody has accepted.
    opened: VecDeque<u64>,
    is_server: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub bytes: usize,
    pub is_end: bool,
    pub is_more: bool,
}

impl Streams {
    pub fn new(is_server: bool) -> Streams {
        Streams { is_server, ..Streams::default() }
    }

    /// picoquic hands over data in order.
    pub fn arrived(&mut self, stream: u64, bytes: &[u8], is_end: bool) {
        let is_peers = (stream & 1 == 1) != self.is_server;
        let data = self.data.entry(stream).or_default();
        if !data.is_known && is_peers {
            self.opened.push_back(stream);
        }
        data.is_known = true;
        data.arrived.extend(bytes);
        data.finished |= is_end;
        self.changed = true;
    }

    /// What a packet with room for `most` bytes gets.
    pub fn offered(&mut self, stream: u64, most: usize) -> Offer {
        let data = self.data.entry(stream).or_default();
        let bytes = data.waiting.len().min(most);
        let is_all = bytes == data.waiting.len();
        data.ended |= is_all && data.ends;
        Offer { bytes, is_end: is_all && data.ends, is_more: !is_all }
    }

    /// The bytes that were offered, into the packet.
    pub fn take(&mut self, stream: u64, target: &mut [u8]) {
        let Some(data) = self.data.get_mut(&stream) else { return };
        let count = target.len().min(data.waiting.len());
        for (place, byte) in target.iter_mut().zip(data.waiting.drain(..count)) {
            *place = byte;
        }
        self.waiting -= count;
        if self.is_blocked && self.waiting <= WAITING / 2 {
            (self.is_blocked, self.changed) = (false, true);
        }
    }

    /// The application's data, as far as there is room; says how many bytes were taken.
    pub fn write(&mut self, stream: u64, bytes: &[u8]) -> usize {
        let count = bytes.len().min(WAITING - self.waiting);
        self.is_blocked |= count < bytes.len();
        self.data.entry(stream).or_default().waiting.extend(&bytes[..count]);
        self.waiting += count;
        count
    }

    /// The application writes no more. False: it said so before.
    pub fn finish(&mut self, stream: u64) -> bool {
        let data = self.data.entry(stream).or_default();
        !std::mem::replace(&mut data.ends, true)
    }

    /// At most `limit` bytes, in order; and whether the stream is read to its end.
    pub fn read(&mut self, stream: u64, limit: usize, keep: Option<&mut Vec<u8>>) -> (usize, bool) {
        let Some(data) = self.data.get_mut(&stream) else { return (0, false) };
        let count = limit.min(data.arrived.len());
        match keep {
            Some(keep) => keep.extend(data.arrived.drain(..count)),
            None => drop(data.arrived.drain(..count)),
        }
        (count, data.finished && data.arrived.is_empty())
    }

    pub fn accept(&mut self) -> Option<u64> {
        self.opened.pop_front()
    }

    /// Whether something has changed for the application since the last call.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// picoquic has all data of the stream, its end included.
    pub fn is_ended(&self, stream: u64) -> bool {
        self.data.get(&stream).is_some_and(|data| data.ended)
    }

    /// Nothing of the stream is needed any more.
    pub fn forget(&mut self, stream: u64) {
        if self.data.get(&stream).is_some_and(|data| data.finished && data.arrived.is_empty() && data.ended) {
            self.data.remove(&stream);
        }
    }
}
