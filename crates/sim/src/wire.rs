//! What of a segment and of an ACK stands in a packet: numbers in its fields, the rest in its bits.

use crate::packet::{Flags, Packet};
use skyhop_transport::{Ack, Ecn, PlainAck, Priority, SackBlocks, Segment, Transmission};

/// The segment that a packet carries.
#[inline]
pub(crate) fn segment(packet: &Packet) -> Segment {
    Segment {
        seq: packet.seq,
        size: u32::from(packet.size),
        payload: packet.detail,
        transmission: transmission(packet),
        priority: priority(packet),
        ecn: match (packet.flags.has(Flags::CE), packet.flags.has(Flags::ECT)) {
            (true, _) => Ecn::Experienced,
            (false, true) => Ecn::Capable,
            (false, false) => Ecn::NotCapable,
        },
        window_reduced: packet.flags.has(Flags::CWR),
    }
}

/// The ACK that a packet carries; its blocks lie aside.
#[inline]
pub(crate) fn ack(packet: &Packet, blocks: SackBlocks) -> Ack {
    Ack {
        next: packet.seq,
        size: u32::from(packet.size),
        echo: packet.stamp,
        trigger: transmission(packet),
        answers: priority(packet),
        ecn_echo: packet.flags.has(Flags::ECE),
        blocks,
    }
}

#[inline]
pub(crate) fn segment_flags(segment: &Segment) -> Flags {
    let ecn = match segment.ecn {
        Ecn::NotCapable => Flags::NONE,
        Ecn::Capable => Flags::ECT,
        Ecn::Experienced => Flags::ECT.with(Flags::CE),
    };
    let reduced = if segment.window_reduced { Flags::CWR } else { Flags::NONE };
    flags(segment.transmission, segment.priority).with(ecn).with(reduced)
}

#[inline]
pub(crate) fn ack_flags(ack: &Ack) -> Flags {
    let echo = if ack.ecn_echo { Flags::ECE } else { Flags::NONE };
    flags(ack.trigger, ack.answers).with(Flags::ACK).with(echo)
}

#[inline]
pub(crate) fn plain_ack_flags(ack: &PlainAck) -> Flags {
    flags(ack.trigger, Priority::Normal).with(Flags::ACK)
}

fn flags(transmission: Transmission, priority: Priority) -> Flags {
    let again = match transmission {
        Transmission::First => Flags::NONE,
        Transmission::Again => Flags::RETRANSMISSION,
    };
    match priority {
        Priority::Normal => again,
        Priority::Low => again.with(Flags::LOW),
    }
}

/// For an ACK, that of the segment which it answers.
fn transmission(packet: &Packet) -> Transmission {
    if packet.flags.has(Flags::RETRANSMISSION) { Transmission::Again } else { Transmission::First }
}

/// For an ACK, that of the segment which it answers.
fn priority(packet: &Packet) -> Priority {
    if packet.flags.has(Flags::LOW) { Priority::Low } else { Priority::Normal }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Time;

    fn packet(flags: Flags, detail: u32) -> Packet {
        let stamp = Time::from_secs_f64(2.0);
        Packet { stamp, flow: 1, seq: 7, number: 9, detail, to: 3, size: 1040, ttl: 64, flags }
    }

    #[test]
    fn segments_arrive_as_they_were_sent() {
        for transmission in [Transmission::First, Transmission::Again] {
            for priority in [Priority::Normal, Priority::Low] {
                for ecn in [Ecn::NotCapable, Ecn::Capable, Ecn::Experienced] {
                    for window_reduced in [false, true] {
                        let (seq, size, payload) = (7, 1040, 1000);
                        let sent = Segment { seq, size, payload, transmission, priority, ecn, window_reduced };
                        let packet = packet(segment_flags(&sent), payload);
                        assert_eq!(segment(&packet), sent);
                        assert_eq!((packet.is_ack(), packet.is_low()), (false, priority == Priority::Low));
                    }
                }
            }
        }
    }

    #[test]
    fn acks_arrive_as_they_were_sent_and_have_no_priority_of_their_own() {
        for trigger in [Transmission::First, Transmission::Again] {
            for answers in [Priority::Normal, Priority::Low] {
                for ecn_echo in [false, true] {
                    let (echo, blocks) = (Time::from_secs_f64(2.0), SackBlocks::EMPTY);
                    let sent = Ack { next: 7, size: 1040, echo, trigger, answers, ecn_echo, blocks };
                    let packet = packet(ack_flags(&sent), Packet::NO_DETAIL);
                    assert_eq!(ack(&packet, blocks), sent);
                    assert!(packet.is_ack() && !packet.is_low());
                    assert!(!packet.flags.has(Flags::ECT), "ACKs are not ECN-capable (RFC 3168 §6.1.4)");
                }
            }
        }
    }
}
