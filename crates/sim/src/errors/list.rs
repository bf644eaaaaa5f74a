//! Lists of single packets and times: errors that are written down one by one.

use super::intervals::{self, Intervals};
use super::{Arrival, ErrorModel, LinkFacts, ListedClass, ListedOutcome, ListedPackets, Losses, LossyLink};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Duration, Faults};

/// What happens to single packets behind a link. Each class counts its own packets from 1, in the order in which they
/// come over the link; a packet that its queue has dropped does not count.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListErrors {
    /// Packets of a source with user data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<ListedEntry>,
    /// Packets of a sink that open nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acks: Vec<ListedEntry>,
    /// Packets that ask for a connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub syns: Vec<ListedEntry>,
    /// Answers to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub syn_acks: Vec<ListedEntry>,
    /// Everything that arrives from the first to before the second moment of a pair is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lose: Option<Vec<[Duration; 2]>>,
    /// The link stands still from the first to the second moment of a pair: packets wait, also the one that is being
    /// sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Vec<[Duration; 2]>>,
}

/// Packets of one class, and what happens to them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedEntry {
    /// The number of a packet from 1, or the first and the last of several.
    pub packets: Ordinals,
    /// The step between the numbers of these packets, from the first on. Without it: each.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub every: Option<u32>,
    /// Without it: "drop".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// One number, or the first and the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Ordinals {
    One(#[schemars(range(min = 1))] u32),
    Several([u32; 2]),
}

/// What happens to a packet, by its name alone or with a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is lost; it has used the link.
    Drop,
    /// It is marked "congestion experienced" if its transport is capable of ECN; others pass as they are.
    Mark,
    /// It arrives so much later; others overtake it.
    Delay(Duration),
    /// A copy arrives so much after it.
    Duplicate(Duration),
}

impl ErrorModel for ListErrors {
    fn check(&self, link: &LinkFacts, faults: &mut Faults) {
        if link.repairs {
            let message = "names packets, of which a link that repairs sends several copies";
            faults.here().add_with_help(message, "use a probability, bursts or times");
        }
        let ListErrors { data, acks, syns, syn_acks, lose, hold } = self;
        let classes = [("data", data), ("acks", acks), ("syns", syns), ("syn_acks", syn_acks)];
        if classes.iter().all(|(_, listed)| listed.is_empty()) && lose.is_none() && hold.is_none() {
            let help =
                "write data = [{ packets = 17 }], lose = [[\"10 s\", \"12 s\"]] or hold = [[\"10 s\", \"12 s\"]]";
            faults.here().add_with_help("names nothing", help);
        }
        for (key, listed) in classes {
            for (i, listed) in listed.iter().enumerate() {
                listed.check(faults, key, i);
            }
        }
        intervals::check(lose.as_deref().unwrap_or_default(), "lose", faults);
        intervals::check(hold.as_deref().unwrap_or_default(), "hold", faults);
        let Some(hold) = hold else { return };
        if link.is_paced {
            let message =
                "needs a link of constant rate: a recording or a profile says itself when the link stands still";
            faults.key("hold").add(message);
        }
        if hold.windows(2).any(|pair| pair[1][0] < pair[0][1]) {
            faults.key("hold").add("the times have to follow each other");
        }
    }

    fn tidy(&mut self) {
        for listed in [&mut self.data, &mut self.acks, &mut self.syns, &mut self.syn_acks].into_iter().flatten() {
            listed.every = listed.every.filter(|&every| every > 1);
            listed.outcome.get_or_insert(Outcome::Drop);
        }
    }

    fn build(&self, _link: &LossyLink<'_>) -> Option<Box<dyn Losses>> {
        let times = self.lose.as_ref()?;
        Some(Box::new(LostTimes(Intervals::new(times))))
    }

    fn listed(&self) -> Vec<ListedPackets> {
        let classes = [
            (ListedClass::Data, &self.data),
            (ListedClass::Ack, &self.acks),
            (ListedClass::Syn, &self.syns),
            (ListedClass::SynAck, &self.syn_acks),
        ];
        let of_class = |(class, listed): (ListedClass, &'_ Vec<ListedEntry>)| {
            listed.iter().map(move |one| one.packets(class)).collect()
        };
        classes.into_iter().flat_map::<Vec<_>, _>(of_class).collect()
    }
}

impl ListedEntry {
    /// `i` is its place in the list under `key`.
    fn check(&self, faults: &mut Faults, key: &'static str, i: usize) {
        let place = faults.key(key).index(i);
        match self.packets {
            Ordinals::One(0) => place.key("packets").add("numbers count from 1"),
            Ordinals::Several([first, last]) if first == 0 || last < first => {
                let help = "write the first and the last number, as in [3, 9]";
                let message = format!("{first} to {last} is not a range from 1 on");
                place.key("packets").add_with_help(message, help);
            }
            Ordinals::One(_) if self.every.is_some() => {
                place.key("every").add_with_help("has no effect on a single packet", "leave it out");
            }
            Ordinals::One(_) | Ordinals::Several(_) => {}
        }
        if let Some(Outcome::Delay(Duration::ZERO)) = self.outcome {
            faults.key(key).index(i).key("outcome").key("delay").add("must be more than 0 s");
        }
    }

    fn packets(&self, class: ListedClass) -> ListedPackets {
        let [first, last] = match self.packets {
            Ordinals::One(number) => [number, number],
            Ordinals::Several(range) => range,
        };
        let outcome = match self.outcome.unwrap_or(Outcome::Drop) {
            Outcome::Drop => ListedOutcome::Drop,
            Outcome::Mark => ListedOutcome::Mark,
            Outcome::Delay(by) => ListedOutcome::Delay(by),
            Outcome::Duplicate(after) => ListedOutcome::Duplicate(after),
        };
        ListedPackets { class, first: first.into(), last: last.into(), step: self.every.unwrap_or(1).into(), outcome }
    }
}

#[derive(Debug)]
struct LostTimes(Intervals);

impl Losses for LostTimes {
    fn loses(&mut self, arrival: &Arrival<'_>) -> bool {
        self.0.hold(arrival)
    }
}
