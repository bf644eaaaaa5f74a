//! Outcomes of single packets, named by their class and their ordinal in it.

use super::ListError;
use crate::segment::Segment;
use skyhop_base::Duration;

const LIST: &str = "list of outcomes";

/// What happens to a packet that a list names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Lost after it used its service time.
    Drop,
    /// Its ECN field becomes "congestion experienced" on the way out.
    Mark,
    /// Delivered this much later, outside the FIFO: later packets overtake it.
    Delay(Duration),
    /// A second copy this much after the first; it uses no service time.
    Duplicate(Duration),
}

/// The classes of packets that count, each by ordinals from 1 in order of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `D`: packets from the sender with data.
    Data,
    /// `A`: packets from the receiver without data and without SYN.
    Ack,
    /// `S`: SYNs of the sender.
    Syn,
    /// `Y`: SYN-ACKs.
    SynAck,
}

impl Class {
    /// The class that a packet counts in; `None` for what no list can name (the sender's own pure ACKs).
    pub fn of(segment: &Segment, from_sender: bool) -> Option<Class> {
        match (from_sender, segment.syn, segment.len > 0) {
            (true, true, _) => Some(Class::Syn),
            (false, true, _) => Some(Class::SynAck),
            (true, false, true) => Some(Class::Data),
            (false, false, false) => Some(Class::Ack),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    class: Class,
    first: u64,
    last: u64,
    step: u64,
    outcome: Outcome,
}

/// A list of outcomes, `X:a=what`, `X:a-b=what` or `X:a-b/step=what`, joined by `;`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    entries: Vec<Entry>,
}

impl Outcomes {
    /// Reads a list; an empty text is an empty list.
    pub fn parse(text: &str) -> Result<Outcomes, ListError> {
        let entries = text.split(';').map(str::trim).filter(|entry| !entry.is_empty());
        Ok(Outcomes { entries: entries.map(parse_entry).collect::<Result<_, _>>()? })
    }

    /// The outcomes of a packet, in the order of the list.
    pub fn of(&self, class: Class, ordinal: u64) -> impl Iterator<Item = Outcome> + '_ {
        self.entries
            .iter()
            .filter(move |entry| {
                entry.class == class
                    && (entry.first..=entry.last).contains(&ordinal)
                    && (ordinal - entry.first).is_multiple_of(entry.step)
            })
            .map(|entry| entry.outcome)
    }
}

fn parse_entry(text: &str) -> Result<Entry, ListError> {
    let wrong = |problem: &str| ListError::new(LIST, text, problem);
    let (packets, what) =
        text.split_once('=').ok_or_else(|| wrong("an entry reads \"D:3=drop\" or \"A:2-10/2=ce\""))?;
    let (class, ordinals) =
        packets.split_once(':').ok_or_else(|| wrong("a class (D, A, S or Y) and \":\" come first"))?;
    let class = match class {
        "D" => Class::Data,
        "A" => Class::Ack,
        "S" => Class::Syn,
        "Y" => Class::SynAck,
        _ => return Err(wrong("the class is D, A, S or Y")),
    };
    let number = |text: &str| text.parse::<u64>().ok().filter(|&n| n > 0);
    let (range, step) = ordinals.split_once('/').unwrap_or((ordinals, "1"));
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (Some(first), Some(last), Some(step)) = (number(first), number(last), number(step)) else {
        return Err(wrong("ordinals and steps are whole numbers from 1"));
    };
    if last < first {
        return Err(wrong("the first ordinal is larger than the last"));
    }
    let (what, span) = what.split_once(':').map_or((what, None), |(what, span)| (what, Some(span)));
    let span = || {
        span.and_then(|ms| ms.parse::<f64>().ok())
            .filter(|ms| ms.is_finite() && *ms >= 0.0)
            .map(|ms| Duration::from_secs_f64(ms / 1e3))
            .ok_or_else(|| wrong("\"delay\" and \"dup\" need milliseconds: \"delay:2.5\""))
    };
    let outcome = match what {
        "drop" => Outcome::Drop,
        "ce" => Outcome::Mark,
        "delay" => Outcome::Delay(span()?),
        "dup" => Outcome::Duplicate(span()?),
        _ => return Err(wrong("a outcome is drop, ce, delay:MS or dup:MS")),
    };
    Ok(Entry { class, first, last, step, outcome })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_packets_by_class_and_ordinal() {
        let outcomes = Outcomes::parse("D:3=drop;D:5-9/2=ce;A:2=delay:0.5;D:7=dup:2").unwrap();
        let of = |class, ordinal| outcomes.of(class, ordinal).collect::<Vec<_>>();
        assert_eq!(of(Class::Data, 3), [Outcome::Drop]);
        assert_eq!(of(Class::Data, 5), [Outcome::Mark]);
        assert_eq!(of(Class::Data, 6), []);
        assert_eq!(of(Class::Data, 7), [Outcome::Mark, Outcome::Duplicate(Duration::from_millis(2))]);
        assert_eq!(of(Class::Ack, 2), [Outcome::Delay(Duration::from_micros(500))]);
        assert_eq!(of(Class::Syn, 3), []);
    }

    #[test]
    fn a_wrong_list_is_refused_with_its_entry() {
        for (text, part) in [
            ("D3=drop", "class"),
            ("X:3=drop", "D, A, S or Y"),
            ("D:0=drop", "from 1"),
            ("D:5-3=drop", "larger than the last"),
            ("D:3=delay", "milliseconds"),
            ("D:3=lost", "drop, ce, delay:MS or dup:MS"),
        ] {
            let message = Outcomes::parse(text).unwrap_err().to_string();
            assert!(message.contains(part) && message.contains(text), "{text}: {message}");
        }
    }
}
