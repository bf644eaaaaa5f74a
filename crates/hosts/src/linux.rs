//! The TCP of Linux (`skyhop-tcp`) as a pair of hosts.
//!
//! Known limits: an application that closes sends no FIN, for the stack has none; what it wrote before is still
//! delivered. Data goes one way, so the sink writes nothing. The number of a packet in the records is the sequence
//! number of its first byte, which wraps at 2^32 as on the wire.

mod sink;
mod source;

use sink::Sink;
use skyhop_base::{Duration, Stream};
use skyhop_sim::endpoint::{Codepoint, Endpoint, Incoming, Outgoing, Payload, Transport, Words};
use skyhop_sim::headers::{Header, Protocol, TcpFlags};
use skyhop_tcp::receiver::{self, Receiver};
use skyhop_tcp::segment::{Brief, Ecn, Segment, Seq};
use skyhop_tcp::sender::{self, Sender};
use skyhop_tcp::timer::Timers;
use source::Source;
use std::any::Any;
use std::sync::Arc;

/// IP bytes of a SYN and of a SYN-ACK: 40 of headers, MSS 4, window scaling 3, and with their padding timestamps 10 and
/// SACK-permitted 2 (RFC 9293 §3.2, RFC 7323, RFC 2018).
const SYN_WITH_TIMESTAMPS: u32 = 60;
const SYN_WITH_SACK: u32 = 52;
const SYN_WITH_NEITHER: u32 = 48;

/// A jiffy of the timer wheel, and after how many the wheel repeats (`skyhop_tcp::timer`).
const JIFFY: Duration = Duration::from_millis(4);
const WHEEL_JIFFIES: f64 = 512.0;

/// What both hosts of a connection are told.
#[derive(Clone, Debug)]
pub struct LinuxTcp {
    /// Connections share both configurations, so that each of many flows takes less memory.
    sender: Arc<sender::Config>,
    receiver: Arc<receiver::Config>,
    /// User bytes that the application may have written without an acknowledgement; more wait in the application
    /// (SO_SNDBUF). Deviation: the kernel counts the memory that they take, which is more.
    send_buffer: u64,
    /// Whether timers fire at the edges of jiffies, whose phase each host draws. Overrides `timers` of both halves.
    jiffies: bool,
}

/// The largest value of the kernel's `tcp_wmem`, bytes.
pub const SEND_BUFFER: u64 = 4_194_304;

impl Default for LinuxTcp {
    /// Stock hosts with exact timers.
    fn default() -> LinuxTcp {
        LinuxTcp::new(sender::Config::default(), receiver::Config::default(), SEND_BUFFER, false)
    }
}

impl LinuxTcp {
    /// Hosts with these options. The receiver's `echo` becomes the one that the sender's control needs. `send_buffer`
    /// is in bytes. With `jiffies` timers fire at the edges of jiffies, whose phase each host draws, whatever `timers`
    /// the configurations have.
    pub fn new(sender: sender::Config, mut receiver: receiver::Config, send_buffer: u64, jiffies: bool) -> LinuxTcp {
        receiver.echo = receiver::EcnEcho::for_control(sender.control.ecn(), sender.ecn);
        LinuxTcp { sender: Arc::new(sender), receiver: Arc::new(receiver), send_buffer, jiffies }
    }

    fn timers(&self, draws: &mut Stream, otherwise: Timers) -> Timers {
        if !self.jiffies {
            return otherwise;
        }
        let first = (draws.uniform() * WHEEL_JIFFIES) as u64;
        let phase = Duration::from_nanos((draws.uniform() * JIFFY.as_nanos() as f64) as u64);
        Timers::Wheel { first, phase }
    }

    /// IP bytes of the packets that open the connection.
    fn syn_bytes(&self) -> u32 {
        match (self.sender.timestamps, self.sender.sack) {
            (true, _) => SYN_WITH_TIMESTAMPS,
            (false, true) => SYN_WITH_SACK,
            (false, false) => SYN_WITH_NEITHER,
        }
    }
}

impl Transport for LinuxTcp {
    fn source(&self, mut draws: Stream) -> Box<dyn Endpoint> {
        let seed = draws.bits();
        let timers = self.timers(&mut draws, self.sender.timers);
        let sender = Sender::shared(Arc::clone(&self.sender), seed, timers);
        Box::new(Source::new(sender, self.send_buffer, self.syn_bytes()))
    }

    fn sink(&self, mut draws: Stream) -> Box<dyn Endpoint> {
        let timers = self.timers(&mut draws, self.receiver.timers);
        Box::new(Sink::new(Receiver::shared(Arc::clone(&self.receiver), timers), self.syn_bytes()))
    }
}

/// The packet of a segment with the number `seq`, `size` bytes with the IP header and `len` bytes of data.
#[inline(always)]
fn packet(seq: Seq, size: u32, len: u32, repeats: bool, ecn: Ecn) -> Outgoing {
    Outgoing {
        seq: seq as u32,
        // `skyhop-scenario` refuses an MSS with which a packet would be larger.
        size: size.min(u16::MAX.into()) as u16,
        user_bytes: len as u16,
        repeats,
        ecn: match ecn {
            Ecn::NotEct => Codepoint::NotEct,
            Ecn::Ect0 => Codepoint::Ect0,
            Ecn::Ect1 => Codepoint::Ect1,
            Ecn::Ce => Codepoint::Ce,
        },
    }
}

/// Makes a segment without SACK blocks the payload. Returns the packet.
#[inline(always)]
fn brief_packet(brief: &Brief, syn_bytes: u32, repeats: bool, payload: &mut Payload) -> Outgoing {
    let opens = brief.is_syn();
    payload.write_words(brief.words(), header, opens);
    let size = if opens { syn_bytes } else { brief.ip_bytes() };
    packet(brief.seq, size, brief.len, repeats, brief.ecn())
}

/// The header of a segment, for the records.
fn header(content: &dyn Any) -> Header {
    let segment = match content.downcast_ref::<Words>() {
        Some(words) => &Brief::of_words(words).segment(),
        None => match content.downcast_ref::<Segment>() {
            Some(segment) => segment,
            None => return Header::default(),
        },
    };
    let flags = TcpFlags::default()
        .and(TcpFlags::FIN, segment.fin)
        .and(TcpFlags::SYN, segment.syn)
        .and(TcpFlags::PSH, segment.psh)
        .and(TcpFlags::ACK, segment.ack.is_some())
        .and(TcpFlags::ECE, segment.ece)
        .and(TcpFlags::CWR, segment.cwr)
        .and(TcpFlags::AE, segment.ae);
    Header {
        protocol: Protocol::Tcp,
        flags,
        seq: Some(segment.seq),
        ack: segment.ack,
        window: Some(segment.window),
        timestamps: segment.timestamps.map(|timestamps| (timestamps.value, timestamps.echo)),
        blocks: segment.sack.iter().map(|block| (block.start, block.end)).collect(),
        ..Header::default()
    }
}

/// The whole segment in a packet that has arrived, with the mark that the network set. `None` for a packet without a
/// segment, such as a request of the engine.
fn segment(packet: Incoming<'_>) -> Option<&Segment> {
    let segment = packet.payload.get_mut::<Segment>()?;
    if packet.ecn == Codepoint::Ce {
        segment.ecn = Ecn::Ce;
    }
    Some(segment)
}

/// The segment in words that have arrived, with the mark that the network set.
fn marked(words: &Words, ecn: Codepoint) -> Segment {
    let mut brief = Brief::of_words(words);
    if ecn == Codepoint::Ce {
        brief.mark();
    }
    brief.segment()
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_tcp::segment::{SackBlocks, Timestamps};

    #[test]
    fn words_say_the_same_as_the_segment() {
        let stamps = Some(Timestamps { value: 7, echo: u32::MAX });
        for bits in 0..1 << 8 {
            let is_set = |bit: u32| bits >> bit & 1 == 1;
            let segment = Segment {
                syn: is_set(0),
                fin: is_set(1),
                ack: is_set(2).then_some(3 << 40),
                psh: is_set(3),
                ece: is_set(4),
                cwr: is_set(5),
                ae: is_set(6),
                seq: 5 << 40,
                len: 1448,
                window: 1 << 30,
                sack: SackBlocks::default(),
                timestamps: stamps.filter(|_| is_set(7)),
                ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][bits as usize & 3],
            };
            let words = Brief::of(&segment).expect("no blocks").words();
            assert_eq!(header(&words), header(&segment));
            assert_eq!(marked(&words, Codepoint::Ect0), segment);
            assert_eq!(marked(&words, Codepoint::Ce), Segment { ecn: Ecn::Ce, ..segment });
        }
    }
}
