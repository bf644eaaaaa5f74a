//! Both ends of a connection whose application sends messages in DATAGRAM frames (RFC 9221): what is lost stays lost.
//!
//! A message begins with its number and the time at which the application wrote it, as RTP's header has a sequence
//! number and a time stamp, so that the receiver can tell delay and loss of each.

use crate::application::Turn;
use crate::stack::Stack;
use skyhop_base::Time;
use std::collections::VecDeque;

/// Bytes of the number (4) and of the time in nanoseconds (8) at the front of a message.
pub const STAMP_BYTES: u32 = 12;

/// Bytes of a full UDP payload that a message cannot have: the short header with a connection id of eight bytes and a
/// packet number of four, the authentication tag (RFC 9000, section 17.3.1; RFC 9001, section 5.3), and nine for the
/// type and length of the frame, as quinn and noq reckon (`Datagram::SIZE_BOUND`).
const OVERHEAD: u32 = 1 + 8 + 4 + 16 + 9;

/// Most bytes of a message in a UDP payload of so many bytes: one bound for all stacks.
pub fn largest_message(udp_payload: u16) -> u32 {
    u32::from(udp_payload).saturating_sub(OVERHEAD)
}

/// A message that the receiver's application has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Counted from 0 in the order of writing.
    pub number: u32,
    pub written: Time,
}

/// Messages of a connection, as far as one end knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageTally {
    pub written: u64,
    /// Never sent: the sender's stack has dropped them from its own queue.
    pub dropped: u64,
    /// Read by the receiver's application.
    pub received: u64,
}

/// The message of `bytes` bytes with its stamp.
fn stamped(message: Message, bytes: u32) -> Vec<u8> {
    let mut data = vec![0; bytes.max(STAMP_BYTES) as usize];
    data[..4].copy_from_slice(&message.number.to_be_bytes());
    data[4..STAMP_BYTES as usize].copy_from_slice(&message.written.as_nanos().to_be_bytes());
    data
}

/// The number of the message in a DATAGRAM frame; `None` if it is too short for one.
pub(crate) fn number_of(data: &[u8]) -> Option<u32> {
    (data.len() >= STAMP_BYTES as usize).then(|| u32::from_be_bytes(std::array::from_fn(|i| data[i])))
}

fn read(data: &[u8]) -> Option<Message> {
    let number = number_of(data)?;
    Some(Message { number, written: Time::from_nanos(u64::from_be_bytes(std::array::from_fn(|i| data[4 + i]))) })
}

/// The end that sends.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    /// Messages that the stack does not have yet, with their bytes: it takes them once it is connected.
    waiting: VecDeque<(Message, u32)>,
    /// Numbers and bytes of those that it has and that have not left. It sends them in order and drops the oldest, so
    /// one that is older than one that has left was dropped.
    queued: VecDeque<(u32, u32)>,
    written: u32,
    dropped: u64,
    closing: bool,
}

impl Sender {
    pub fn write(&mut self, now: Time, bytes: u32) {
        self.waiting.push_back((Message { number: self.written, written: now }, bytes));
        self.written += 1;
    }

    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Whether it closes the connection as soon as nothing is in flight.
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// A packet with the message of this number leaves.
    pub fn left(&mut self, number: u32) {
        while let Some(&(first, _)) = self.queued.front().filter(|(first, _)| *first <= number) {
            self.dropped += u64::from(first < number);
            self.queued.pop_front();
        }
    }

    /// Bytes of messages that have neither left nor been dropped.
    pub fn backlog_bytes(&self) -> u64 {
        let waiting = self.waiting.iter().map(|(_, bytes)| u64::from(*bytes)).sum::<u64>();
        waiting + self.queued.iter().map(|(_, bytes)| u64::from(*bytes)).sum::<u64>()
    }

    pub fn memory_bytes(&self) -> u64 {
        (self.waiting.capacity() * size_of::<(Message, u32)>() + self.queued.capacity() * size_of::<(u32, u32)>())
            as u64
    }

    pub fn tally(&self) -> MessageTally {
        MessageTally { written: self.written.into(), dropped: self.dropped, received: 0 }
    }

    pub fn turn(&mut self, stack: &mut dyn Stack) -> Result<Turn, String> {
        let mut turn = Turn::default();
        while let Some((message, bytes)) = self.waiting.pop_front() {
            let sent = stack.send_datagram(&stamped(message, bytes));
            sent.map_err(|words| format!("a message of {bytes} B in a DATAGRAM frame: {words}"))?;
            self.queued.push_back((message.number, bytes));
            turn.wake = true;
        }
        // A connection that closes takes with it what is in flight.
        turn.close = self.closing && self.queued.is_empty() && stack.measures().in_flight.unwrap_or(0) == 0;
        Ok(turn)
    }
}

/// The end that reads.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    /// Since they were taken last.
    fresh: Vec<Message>,
    received: u64,
    bytes: u64,
}

impl Receiver {
    pub fn turn(&mut self, stack: &mut dyn Stack) {
        while let Some(data) = stack.receive_datagram() {
            if let Some(message) = read(&data) {
                self.fresh.push(message);
                self.received += 1;
                self.bytes += data.len() as u64;
            }
        }
    }

    pub fn take(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.fresh)
    }

    pub fn read_bytes(&self) -> u64 {
        self.bytes
    }

    pub fn tally(&self) -> MessageTally {
        MessageTally { received: self.received, ..MessageTally::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_as_it_was_written() {
        let message = Message { number: 70_000, written: Time::from_nanos(1 << 40) };
        let data = stamped(message, 160);
        assert_eq!((data.len(), read(&data), number_of(&data)), (160, Some(message), Some(70_000)));
        assert_eq!((read(&data[..11]), number_of(&data[..11])), (None, None));
    }

    #[test]
    fn what_is_older_than_what_left_was_dropped() {
        let mut sender =
            Sender { queued: (0..6).map(|number| (number, 100)).collect(), written: 6, ..Sender::default() };
        [0, 3, 4].into_iter().for_each(|number| sender.left(number));
        assert_eq!((sender.dropped, sender.backlog_bytes()), (2, 100));
        sender.left(5);
        assert_eq!((sender.tally(), sender.backlog_bytes()), (MessageTally { written: 6, dropped: 2, received: 0 }, 0));
    }
}
