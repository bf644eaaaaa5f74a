//! Packets of a link that a list names, and what it counts to find them.

use skyhop_base::Duration;

/// The classes in which packets count, each from 1, in the order in which they come over the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedClass {
    /// From a source, with user data.
    Data,
    /// From a sink: acknowledges and opens nothing.
    Ack,
    /// Asks for a connection.
    Syn,
    /// Answers such a packet.
    SynAck,
}

/// What happens to a packet that a list names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedOutcome {
    Drop,
    /// It gets the mark "congestion experienced" if its transport is capable of ECN; otherwise nothing happens.
    Mark,
    /// It arrives so much later; others overtake it.
    Delay(Duration),
    /// A copy arrives so much after it.
    Duplicate(Duration),
}

/// From the first to the last ordinal, with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedPackets {
    pub class: ListedClass,
    pub first: u64,
    pub last: u64,
    pub step: u64,
    pub outcome: ListedOutcome,
}

impl ListedPackets {
    fn names(&self, class: ListedClass, ordinal: u64) -> bool {
        let in_range = (self.first..=self.last).contains(&ordinal);
        self.class == class && in_range && (ordinal - self.first).is_multiple_of(self.step.max(1))
    }
}

/// The lists of a link, and how many packets of each class have come.
#[derive(Debug)]
pub(crate) struct Listed {
    packets: Vec<ListedPackets>,
    counts: [u64; 4],
}

/// What becomes of one packet. Delays add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketOutcome {
    pub lost: bool,
    pub marked: bool,
    pub later: Duration,
    pub copy: Option<Duration>,
}

impl Listed {
    /// `None` where nothing is listed.
    pub fn new(packets: Vec<ListedPackets>) -> Option<Box<Listed>> {
        (!packets.is_empty()).then(|| Box::new(Listed { packets, counts: [0; 4] }))
    }

    pub fn outcome(&mut self, class: ListedClass) -> PacketOutcome {
        let count = &mut self.counts[class as usize];
        *count += 1;
        let (ordinal, mut outcome) = (*count, PacketOutcome::default());
        for listed in self.packets.iter().filter(|listed| listed.names(class, ordinal)) {
            match listed.outcome {
                ListedOutcome::Drop => outcome.lost = true,
                ListedOutcome::Mark => outcome.marked = true,
                ListedOutcome::Delay(by) => outcome.later += by,
                ListedOutcome::Duplicate(after) => outcome.copy = Some(after),
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_packets_by_class_and_ordinal() {
        let listed = |class, first, last, step, outcome| ListedPackets { class, first, last, step, outcome };
        let ms = Duration::from_millis;
        let mut list = Listed::new(vec![
            listed(ListedClass::Data, 2, 2, 1, ListedOutcome::Drop),
            listed(ListedClass::Data, 3, 7, 2, ListedOutcome::Mark),
            listed(ListedClass::Data, 5, 5, 1, ListedOutcome::Delay(ms(4))),
            listed(ListedClass::Ack, 1, 1, 1, ListedOutcome::Duplicate(ms(2))),
        ])
        .unwrap();
        let of_data: Vec<PacketOutcome> = (0..7).map(|_| list.outcome(ListedClass::Data)).collect();
        assert_eq!(
            of_data.iter().map(|outcome| outcome.lost).collect::<Vec<_>>(),
            [false, true, false, false, false, false, false]
        );
        assert_eq!(
            of_data.iter().map(|outcome| outcome.marked).collect::<Vec<_>>(),
            [false, false, true, false, true, false, true]
        );
        assert_eq!(of_data[4].later, ms(4));
        assert_eq!(list.outcome(ListedClass::Ack).copy, Some(ms(2)));
        assert_eq!(list.outcome(ListedClass::Syn), PacketOutcome::default());
        assert!(Listed::new(Vec::new()).is_none());
    }
}
