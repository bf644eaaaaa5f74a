//! Byte numbers of segments, for the headers in the table of packets.

use skyhop_base::Time;

/// Byte numbers of the segments of a flow of Skyhop's own TCP, which counts segments.
///
/// A segment's number follows from the segments before it, and these were sent before any packet that names it: rows
/// get the same numbers whenever they are numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByteNumbers {
    /// User bytes of a full segment.
    pub full: u64,
    /// Segment 0 is the SYN, which takes one number; without a handshake the first byte has the number 1 as well.
    pub opens_empty: bool,
    /// When the first segment with data was sent.
    pub data_begin: Time,
    /// Segments sent so far.
    sent: u32,
    /// Segments that are not full, ascending, and the bytes that all of them up to this one lack.
    short: Vec<(u32, u64)>,
}

impl ByteNumbers {
    pub fn new(full: u64, opens_empty: bool) -> ByteNumbers {
        ByteNumbers { full, opens_empty, data_begin: Time::MAX, sent: 0, short: Vec::new() }
    }

    /// A segment is sent, perhaps again.
    pub fn sent(&mut self, now: Time, segment: u32, payload: u32) {
        if segment < self.sent {
            return;
        }
        self.sent = segment + 1;
        let is_syn = self.opens_empty && segment == 0;
        if segment > 0 {
            self.data_begin = self.data_begin.min(now);
        }
        let takes = if is_syn { 1 } else { u64::from(payload) };
        if takes != self.full {
            let lacking = self.short.last().map_or(0, |&(_, lacking)| lacking);
            self.short.push((segment, lacking + self.full.saturating_sub(takes)));
        }
    }

    /// The number of the first byte of a segment.
    pub fn of(&self, segment: u64) -> u64 {
        let before = self.short.partition_point(|&(short, _)| u64::from(short) < segment);
        let lacking = before.checked_sub(1).map_or(0, |last| self.short[last].1);
        u64::from(!self.opens_empty) + segment * self.full - lacking
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_any_size_have_the_numbers_that_tcp_would_give_them() {
        let sent = |opens_empty, payloads: &[u32]| {
            let mut numbers = ByteNumbers::new(1000, opens_empty);
            for (segment, &payload) in (0..).zip(payloads) {
                numbers.sent(Time::ZERO, segment, payload);
                // A repetition changes nothing.
                numbers.sent(Time::ZERO, 0, 7);
            }
            (0..8).map(|segment| numbers.of(segment)).collect::<Vec<_>>()
        };
        assert_eq!(sent(true, &[0, 1000, 1000, 300, 1000]), [0, 1, 1001, 2001, 2301, 3301, 4301, 5301]);
        assert_eq!(sent(false, &[500, 1000]), [1, 501, 1501, 2501, 3501, 4501, 5501, 6501]);
        assert_eq!(sent(false, &[]), [1, 1001, 2001, 3001, 4001, 5001, 6001, 7001]);
    }
}
