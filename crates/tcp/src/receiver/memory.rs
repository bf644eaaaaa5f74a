//! The host memory behind a segment: it decides how much of a buffer is window.

/// What the kernel books for every segment beside its bytes: the buffer's descriptor and the shared part at its end,
/// on a 64-bit machine.
const DESCRIPTOR: u64 = 256;
const SHARED: u64 = 320;
/// Network and transport header before the data: IPv4, TCP with timestamps.
const HEADERS: u64 = 20 + 32;
/// Room in front that drivers keep for the link's header, and the length of that header. A buffer is made for both one
/// after the other, but the header lies inside the room.
const HEADROOM: u64 = 16;
const LINK_HEADER: u64 = 14;
const CACHE_LINE: u64 = 64;
/// The allocator's sizes: a cache for small packets, then powers of two.
const SMALL: u64 = 576;

/// When the buffer is full, small segments move together into buffers of a page.
pub(super) const PAGE: u64 = 4096;

/// How much memory is booked for a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SegmentMemory {
    /// One linear buffer per segment, as virtual links between network namespaces and simple drivers give: 2304 bytes
    /// for a full Ethernet segment. Few bytes fit behind those of the segment before.
    #[default]
    Linear,
    /// The same for every segment. 0 books a segment's bytes only.
    Fixed(u32),
}

/// The buffer of one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Buffer {
    /// Bytes of host memory.
    pub(super) memory: u64,
    /// Bytes that are free behind the segment's.
    pub(super) room: u64,
}

impl SegmentMemory {
    pub(super) fn of(self, len: u32) -> Buffer {
        match self {
            SegmentMemory::Fixed(bytes) => Buffer { memory: u64::from(bytes.max(len).max(1)), room: 0 },
            SegmentMemory::Linear => {
                let data = HEADROOM + HEADERS + u64::from(len);
                let Buffer { memory, room } = linear(data + LINK_HEADER);
                Buffer { memory, room: room + LINK_HEADER }
            }
        }
    }
}

fn linear(used: u64) -> Buffer {
    let head = used.next_multiple_of(CACHE_LINE) + SHARED;
    let size = if head <= SMALL { SMALL } else { head.next_power_of_two() };
    Buffer { memory: DESCRIPTOR + size, room: size - SHARED - used }
}

/// The end of a queue of buffers: a segment that fits behind the last one needs no buffer of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tail {
    pub(super) room: u64,
}

impl Tail {
    /// Appends `len` bytes that came in `buffer`. Returns the memory that they add.
    pub(super) fn append(&mut self, len: u64, buffer: Buffer) -> u64 {
        if len <= self.room {
            self.room -= len;
            0
        } else {
            self.room = buffer.room;
            buffer.memory
        }
    }
}

/// Data in order that was not read, as buffers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    /// Bytes of host memory.
    pub(super) memory: u64,
    pub(super) tail: Tail,
    /// Bytes of data and of memory from the first buffer on that holds too little for its size.
    wasteful: Option<(u64, u64)>,
}

impl Queue {
    /// Appends `len` bytes; `wasteful` says that their buffer is larger than the window counts for such data.
    pub(super) fn push(&mut self, len: u64, buffer: Buffer, wasteful: bool) {
        let memory = self.tail.append(len, buffer);
        self.add(len, memory, wasteful);
    }

    /// Takes over a stretch of `len` bytes with its memory.
    pub(super) fn add(&mut self, len: u64, memory: u64, wasteful: bool) {
        self.memory += memory;
        if wasteful && memory > 0 && self.wasteful.is_none() {
            self.wasteful = Some((0, 0));
        }
        if let Some((data, behind)) = &mut self.wasteful {
            *data += len;
            *behind += memory;
        }
    }

    /// Moves the data from the first wasteful buffer on together, into pages.
    pub(super) fn collapse(&mut self) {
        let Some((data, memory)) = self.wasteful.take() else { return };
        let page = PAGE - SHARED;
        let rest = data % page;
        let last = if rest > 0 { linear(rest) } else { Buffer::default() };
        self.memory = self.memory - memory + data / page * (DESCRIPTOR + PAGE) + last.memory;
        self.tail = Tail { room: last.room };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_segment_occupies_a_buffer_of_two_kilobytes() {
        assert_eq!(SegmentMemory::Linear.of(1448), Buffer { memory: 2304, room: 212 });
        assert_eq!(SegmentMemory::Linear.of(1).memory, 832);
        assert_eq!(SegmentMemory::Linear.of(200).memory, 1280);
        assert_eq!(SegmentMemory::Fixed(0).of(1448).memory, 1448);
    }

    #[test]
    fn small_segments_move_together_behind_the_first_wasteful_one() {
        let mut queue = Queue::default();
        queue.push(1448, SegmentMemory::Linear.of(1448), false);
        for _ in 0..20 {
            queue.push(300, SegmentMemory::Linear.of(300), true);
        }
        assert_eq!(queue.memory, 2304 + 10 * 1280);
        queue.collapse();
        // 6000 bytes in two pages.
        assert_eq!(queue.memory, 2304 + 2 * 4352);
        queue.collapse();
        assert_eq!(queue.memory, 2304 + 2 * 4352);
    }

    #[test]
    fn a_small_segment_fits_behind_a_large_one() {
        let mut tail = Tail::default();
        assert_eq!(tail.append(1448, SegmentMemory::Linear.of(1448)), 2304);
        assert_eq!(tail.append(8, SegmentMemory::Linear.of(8)), 0);
        assert_eq!(tail.append(205, SegmentMemory::Linear.of(205)), 1280);
    }
}
