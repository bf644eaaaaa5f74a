//! The host memory behind a segment: it decides how much of a buffer is window.

/// What the kernel books for every segment beside its bytes: the buffer's descriptor and the shared part at its end,
/// on a 64-bit machine.
const DESCRIPTOR: u64 = 256;
const SHARED: u64 = 320;
/// Link, network and transport header before the data: Ethernet, IPv4, TCP with timestamps.
const HEADERS: u64 = 14 + 20 + 32;
/// Room in front that drivers keep, rounded up to whole cache lines with what follows.
const HEADROOM: u64 = 16;
const CACHE_LINE: u64 = 64;
/// The allocator's sizes: a cache for small packets, then powers of two.
const SMALL: u64 = 576;

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
                let used = HEADROOM + HEADERS + u64::from(len);
                let head = used.next_multiple_of(CACHE_LINE) + SHARED;
                let size = if head <= SMALL { SMALL } else { head.next_power_of_two() };
                Buffer { memory: DESCRIPTOR + size, room: size - SHARED - used }
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_segment_occupies_a_buffer_of_two_kilobytes() {
        assert_eq!(SegmentMemory::Linear.of(1448), Buffer { memory: 2304, room: 198 });
        assert_eq!(SegmentMemory::Linear.of(1).memory, 832);
        assert_eq!(SegmentMemory::Linear.of(200).memory, 1280);
        assert_eq!(SegmentMemory::Fixed(0).of(1448).memory, 1448);
    }

    #[test]
    fn a_small_segment_fits_behind_a_large_one() {
        let mut tail = Tail::default();
        assert_eq!(tail.append(1448, SegmentMemory::Linear.of(1448)), 2304);
        assert_eq!(tail.append(8, SegmentMemory::Linear.of(8)), 0);
        assert_eq!(tail.append(191, SegmentMemory::Linear.of(191)), 1280);
    }
}
