//! Times at which a path changes: steps of its delay, times in which it stands still, times in which it loses all.

use super::{ListError, PathDirection};
use skyhop_base::{Duration, Time};

const LIST: &str = "list of events";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: Time,
    to: Time,
}

/// The events of one direction, each kind in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Schedule {
    delays: Vec<(Time, Duration)>,
    holds: Vec<Span>,
    outages: Vec<Span>,
}

/// The events of a path, `delay@t:W=ms`, `hold@t1-t2:W` or `drop@t1-t2:W` joined by `;`, with times in seconds and
/// W one of `D` (data direction), `A` (ACK direction), `B` (both).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    directions: [Schedule; 2],
}

impl Events {
    /// Reads a list; an empty text is a path without events.
    pub fn parse(text: &str) -> Result<Events, ListError> {
        let mut events = Events::default();
        for entry in text.split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
            events.add(entry)?;
        }
        for (schedule, direction) in events.directions.iter_mut().zip(["D", "A"]) {
            schedule.delays.sort_by_key(|&(from, _)| from);
            for (kind, spans) in [("hold", &mut schedule.holds), ("drop", &mut schedule.outages)] {
                spans.sort_by_key(|span| span.from);
                if spans.windows(2).any(|pair| pair[1].from < pair[0].to) {
                    let entry = format!("{kind} in direction {direction}");
                    return Err(ListError::new(LIST, &entry, "two of these overlap in time; write them as one"));
                }
            }
        }
        Ok(events)
    }

    fn add(&mut self, text: &str) -> Result<(), ListError> {
        let wrong = |problem: &str| ListError::new(LIST, text, problem);
        let seconds = |text: &str| {
            let seconds = text.parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0);
            seconds.map(Time::from_secs_f64).ok_or_else(|| wrong("times are seconds from 0"))
        };
        let form = "an entry reads \"delay@2.0:B=100\", \"hold@1-1.5:D\" or \"drop@1-1.5:A\"";
        let (kind, rest) = text.split_once('@').ok_or_else(|| wrong(form))?;
        let (times, rest) = rest.split_once(':').ok_or_else(|| wrong(form))?;
        let (direction, value) =
            rest.split_once('=').map_or((rest, None), |(direction, value)| (direction, Some(value)));
        let directions = match direction {
            "D" => 0..1,
            "A" => 1..2,
            "B" => 0..2,
            _ => return Err(wrong("the direction is D, A or B")),
        };
        if kind == "delay" {
            let ms = value.and_then(|ms| ms.parse::<f64>().ok()).filter(|ms| ms.is_finite() && *ms >= 0.0);
            let delay = Duration::from_secs_f64(ms.ok_or_else(|| wrong("a delay needs milliseconds: \"=100\""))? / 1e3);
            let from = seconds(times)?;
            self.directions[directions].iter_mut().for_each(|schedule| schedule.delays.push((from, delay)));
            return Ok(());
        }
        let (from, to) = times.split_once('-').ok_or_else(|| wrong("hold and drop need two times: \"@1-1.5\""))?;
        let span = Span { from: seconds(from)?, to: seconds(to)? };
        if value.is_some() || span.to <= span.from {
            return Err(wrong("hold and drop last from a time to a later one and take no value"));
        }
        for schedule in &mut self.directions[directions] {
            match kind {
                "hold" => schedule.holds.push(span),
                "drop" => schedule.outages.push(span),
                _ => return Err(wrong("an event is delay, hold or drop")),
            }
        }
        Ok(())
    }

    fn schedule(&self, direction: PathDirection) -> &Schedule {
        &self.directions[direction as usize]
    }

    /// When service that is ready at `ready` begins and ends, if it takes `service`. The server stands still while it
    /// is held: nothing begins, and a packet under way goes on afterwards.
    pub(super) fn service(&self, direction: PathDirection, ready: Time, service: Duration) -> (Time, Time) {
        let mut begin = ready;
        let mut end = ready + service;
        for hold in &self.schedule(direction).holds {
            if (hold.from..hold.to).contains(&begin) {
                begin = hold.to;
                end = begin + service;
            } else if hold.from > begin && hold.from < end {
                end += hold.to.since(hold.from);
            }
        }
        (begin, end)
    }

    /// Whether an outage loses a packet that is served from `begin` to `end`.
    pub(super) fn loses(&self, direction: PathDirection, begin: Time, end: Time) -> bool {
        self.schedule(direction).outages.iter().any(|outage| begin < outage.to && end > outage.from)
    }

    /// The one-way delay of a packet whose service ends at `end`.
    pub(super) fn delay(&self, direction: PathDirection, end: Time, otherwise: Duration) -> Duration {
        let steps = &self.schedule(direction).delays;
        steps.iter().rev().find(|&&(from, _)| from <= end).map_or(otherwise, |&(_, delay)| delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_held_server_goes_on_where_it_stopped() {
        let events = Events::parse("hold@1-1.5:D;delay@2.0:B=100;drop@3-3.1:A").unwrap();
        assert_eq!(events.service(PathDirection::Data, at(990), ms(20)), (at(990), at(1510)));
        assert_eq!(events.service(PathDirection::Data, at(1200), ms(20)), (at(1500), at(1520)));
        assert_eq!(events.service(PathDirection::Data, at(980), ms(20)), (at(980), at(1000)));
        assert_eq!(events.service(PathDirection::Ack, at(1200), ms(20)), (at(1200), at(1220)));
        assert_eq!(events.delay(PathDirection::Ack, at(1999), ms(10)), ms(10));
        assert_eq!(events.delay(PathDirection::Ack, at(2000), ms(10)), ms(100));
        assert!(
            events.loses(PathDirection::Ack, at(2990), at(3010))
                && !events.loses(PathDirection::Data, at(2990), at(3010))
        );
    }

    #[test]
    fn a_wrong_list_is_refused_with_its_entry() {
        for (text, part) in [
            ("hold@1:D", "two times"),
            ("hold@2-1:D", "a later one"),
            ("delay@1:D", "milliseconds"),
            ("delay@1:Z=3", "D, A or B"),
            ("cut@1-2:D", "delay, hold or drop"),
            ("hold@1-2:D;hold@1.5-3:B", "overlap"),
        ] {
            let message = Events::parse(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
