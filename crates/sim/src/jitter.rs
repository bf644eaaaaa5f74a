//! A random time over what a sender's window releases, so that flows of equal periods do not stay in step.

use skyhop_base::{Duration, Stream, Time};

/// A sender that takes a random time over what its window releases: `overhead_` of ns-2. The time begins when there is
/// something to send, and runs once for all that may be sent when it is over. Packets that do not wait for the window,
/// such as a fast retransmission, leave immediately.
#[derive(Debug)]
pub struct Jitter {
    longest: Duration,
    stream: Stream,
    /// When the sender sends.
    pub due: Option<Time>,
}

impl Jitter {
    pub fn new(longest: Duration, stream: Stream) -> Option<Jitter> {
        (!longest.is_zero()).then_some(Jitter { longest, stream, due: None })
    }

    /// Whether the time is over now.
    pub fn is_over(&mut self, now: Time) -> bool {
        self.due.take_if(|due| *due <= now).is_some()
    }

    /// There is something to send: the time begins.
    pub fn begin(&mut self, now: Time) {
        let share = self.stream.uniform();
        self.due = Some(now + Duration::from_secs_f64(self.longest.as_secs_f64() * share));
    }
}

/// When a sender that takes its time sends; [`Time::MAX`] when there is nothing for it to do.
pub fn sends_at(jitter: Option<&Jitter>) -> Time {
    jitter.and_then(|jitter| jitter.due).unwrap_or(Time::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_takes_its_time_once_for_all_that_it_may_send() {
        let at = Time::from_nanos;
        assert!(Jitter::new(Duration::ZERO, Stream::new(1, "a", "jitter")).is_none());
        let mut jitter = Jitter::new(Duration::from_nanos(1000), Stream::new(1, "a", "jitter")).unwrap();
        assert!(!jitter.is_over(at(5000)), "nothing has begun");
        jitter.begin(at(5000));
        let due = jitter.due.unwrap();
        assert!((at(5000)..=at(6000)).contains(&due));
        assert!(!jitter.is_over(at(4999)));
        assert!(jitter.is_over(due));
        assert_eq!(jitter.due, None);
    }
}
