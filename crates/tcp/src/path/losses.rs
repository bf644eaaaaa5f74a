//! Random losses of a path: those that a recording names, or drawn ones.

use std::collections::BTreeMap;

use skyhop_base::random::Stream;

use super::PathDirection;
use crate::segment::Segment;

/// Which packets are lost by chance. SYNs are lost like other packets if losses are drawn.
#[derive(Clone, Debug, Default)]
pub enum Losses {
    #[default]
    None,
    Listed(Listed),
    Drawn(Drawn),
}

/// The losses of a recording. The n-th transmission of a segment that is lost, for whatever reason, has the n-th entry
/// of its list: whether chance lost it. A packet that our own queue drops uses up its entry, so the draws stay with
/// their packets although queues differ.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    entries: BTreeMap<(usize, u64), Vec<bool>>,
    dropped: BTreeMap<(usize, u64), usize>,
    /// Losses of ACKs, which a recording of data does not name.
    acks: Option<Drawn>,
}

/// Each packet is lost with a probability, in both directions or in one.
#[derive(Clone, Debug)]
pub struct Drawn {
    probability: f64,
    streams: [Stream; 2],
    directions: [bool; 2],
}

impl Drawn {
    /// `directions`: whether data, and whether ACKs, are lost.
    pub fn new(probability: f64, seed: u64, directions: [bool; 2]) -> Drawn {
        Drawn {
            probability,
            streams: ["data", "acks"].map(|direction| Stream::new(seed, "path", direction)),
            directions,
        }
    }

    fn loses(&mut self, direction: PathDirection) -> bool {
        self.directions[direction as usize] && self.streams[direction as usize].uniform() < self.probability
    }
}

impl Listed {
    /// Adds the next drop of the segment that begins at `seq`; `by_chance` if neither queue nor outage dropped it.
    pub fn add(&mut self, flow: usize, seq: u64, by_chance: bool) {
        self.entries.entry((flow, seq)).or_default().push(by_chance);
    }

    /// Lets ACKs be lost, too.
    pub fn with_acks(self, acks: Option<Drawn>) -> Listed {
        Listed { acks, ..self }
    }

    /// Whether chance decides anything beside the list.
    pub fn draws(&self) -> bool {
        self.acks.is_some()
    }

    fn key(&self, flow: usize, segment: &Segment) -> Option<(usize, u64)> {
        self.entries.range((flow, segment.seq)..(flow, segment.end())).next().map(|(key, _)| *key)
    }
}

impl Losses {
    /// Whether chance loses the packet that enters next.
    pub(super) fn loses(&mut self, flow: usize, direction: PathDirection, segment: &Segment) -> bool {
        match self {
            Losses::None => false,
            Losses::Drawn(drawn) => drawn.loses(direction),
            Losses::Listed(listed) if direction == PathDirection::Ack => {
                listed.acks.as_mut().is_some_and(|acks| acks.loses(direction))
            }
            Losses::Listed(listed) => listed.key(flow, segment).is_some_and(|key| {
                let place = listed.dropped.get(&key).copied().unwrap_or(0);
                listed.entries[&key].get(place).copied().unwrap_or(false)
            }),
        }
    }

    /// A packet with data was dropped, by chance, queue or outage.
    pub(super) fn on_drop(&mut self, flow: usize, direction: PathDirection, segment: &Segment) {
        if let (Losses::Listed(listed), PathDirection::Data) = (self, direction)
            && let Some(key) = listed.key(flow, segment)
        {
            *listed.dropped.entry(key).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u64) -> Segment {
        Segment { seq, len: 1000, ..Segment::default() }
    }

    #[test]
    fn a_listed_loss_hits_the_transmission_that_the_recording_names() {
        let mut listed = Listed::default();
        listed.add(0, 1001, true);
        listed.add(0, 3001, false);
        listed.add(0, 3001, true);
        let mut losses = Losses::Listed(listed);
        let mut lost = |flow, seq| {
            let lost = losses.loses(flow, PathDirection::Data, &segment(seq));
            if lost || seq == 3001 {
                losses.on_drop(flow, PathDirection::Data, &segment(seq));
            }
            lost
        };
        assert_eq!([lost(0, 1), lost(1, 1001), lost(0, 1001), lost(0, 1001)], [false, false, true, false]);
        // The first drop of this one was the queue's.
        assert_eq!([lost(0, 3001), lost(0, 3001), lost(0, 3001)], [false, true, false]);
    }

    #[test]
    fn drawn_losses_keep_their_share_and_their_direction() {
        let mut losses = Losses::Drawn(Drawn::new(0.01, 7, [true, false]));
        let lost = (0..100_000).filter(|_| losses.loses(0, PathDirection::Data, &segment(1))).count();
        // Three standard deviations of a binomial count.
        assert!(lost.abs_diff(1000) < 95, "{lost}");
        assert!((0..10_000).all(|_| !losses.loses(0, PathDirection::Ack, &segment(1))));
    }
}
