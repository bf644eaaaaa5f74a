//! One direction of a call: frames of voice, with a playout buffer at the receiver (`call.rs` of the crate).

use super::messages::EqualGaps;
use super::{ApplicationModel, Carrier, FlowOfSource, Source, check_packet_size, check_positive, packet_bytes};
use crate::call::{CallConfig, Playout, RTP_HEADER_BYTES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Faults, Rate};

/// One direction of a call: voice over RTP, rated by the E-model (ITU-T G.107). Needs UDP, or QUIC with datagrams.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallOptions {
    /// Without it: "g711".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codec: Option<CodecChoice>,
    /// How long the receiver holds frames back. Without it: "adaptive".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playout: Option<PlayoutChoice>,
}

/// A codec, by its name alone or with its values.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CodecChoice {
    Named(CodecName),
    Values(CodecValues),
}

/// Codecs for which ITU-T G.113, appendix I, has values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum CodecName {
    /// 64 kbit/s in packets of 20 ms, with concealment of losses: Ie 0, Bpl 25.1.
    #[serde(rename = "g711")]
    G711,
    /// The same without concealment: Ie 0, Bpl 4.3.
    #[serde(rename = "g711-bare")]
    G711Bare,
    /// 8 kbit/s in packets of 20 ms, 5 ms of look-ahead: Ie 11, Bpl 19.
    #[serde(rename = "g729a")]
    G729A,
}

/// A codec of one's own. G.113 has no values for Opus in the band of G.107: a study states the ones that it uses.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodecValues {
    /// Rate of the voice, without headers.
    pub rate: Rate,
    /// Voice in a packet.
    pub frame: Duration,
    /// What the coder waits for beyond a packet. Without it: 0 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lookahead: Option<Duration>,
    /// The equipment impairment factor without losses.
    #[schemars(range(min = 0.0, max = 95.0))]
    pub ie: f64,
    /// The robustness against losses, in per cent; more than zero.
    #[schemars(range(min = 0.0))]
    pub bpl: f64,
}

/// How long the receiver holds frames back before it plays them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlayoutChoice {
    /// After the smoothed delay and four times its variation, anew each second (Ramjee et al. 1994).
    Adaptive,
    /// The first frame so long, all others in step with it.
    Fixed(Duration),
}

impl ApplicationModel for CallOptions {
    const CARRIER: Carrier = Carrier::Datagrams("a call needs UDP, in which a late frame does not hold up others");

    fn check(&self, faults: &mut Faults) {
        let codec = self.codec();
        check_positive(codec.frame, faults.key("codec").key("frame"));
        check_packet_size(codec.payload(), faults.key("codec").key("rate"));
        if codec.bpl <= 0.0 {
            faults.key("codec").key("bpl").add("must be more than 0");
        }
    }

    fn tidy(&mut self) {
        self.codec.get_or_insert(CodecChoice::Named(CodecName::G711));
        self.playout.get_or_insert(PlayoutChoice::Adaptive);
    }

    fn source(&self, _flow: &FlowOfSource<'_>) -> Source {
        let codec = self.codec();
        let gaps = Box::new(EqualGaps(codec.frame));
        Source::Clock { payload_bytes: packet_bytes(codec.payload()), first_gap: Duration::ZERO, gaps }
    }

    fn payload_bytes(&self) -> Option<u32> {
        Some(packet_bytes(self.codec().payload()))
    }

    fn call(&self) -> Option<CallConfig> {
        let codec = self.codec();
        Some(CallConfig {
            frame: codec.frame,
            lookahead: codec.lookahead,
            playout: match self.playout {
                Some(PlayoutChoice::Fixed(wait)) => Playout::Fixed(wait),
                Some(PlayoutChoice::Adaptive) | None => Playout::Adaptive,
            },
            impairment: codec.ie,
            robustness: codec.bpl,
        })
    }
}

/// What a codec is to the engine.
struct Codec {
    bps: f64,
    frame: Duration,
    lookahead: Duration,
    ie: f64,
    bpl: f64,
}

impl Codec {
    /// A packet: its voice, which may not fill the last byte, and RTP's header.
    fn payload(&self) -> Bytes {
        let voice = (self.bps * self.frame.as_secs_f64() / 8.0).ceil() as u64;
        Bytes(voice.saturating_add(RTP_HEADER_BYTES.into()))
    }
}

impl CallOptions {
    /// Ie and Bpl of a codec with a name: ITU-T G.113 (11/2007), appendix I; G.711 conceals losses by its own appendix
    /// I, and G.729 annex A looks 5 ms ahead (G.729 §1); its row there has voice activity detection. Packets hold
    /// 20 ms.
    fn codec(&self) -> Codec {
        let name = match &self.codec {
            Some(CodecChoice::Values(CodecValues { rate, frame, lookahead, ie, bpl })) => {
                let lookahead = lookahead.unwrap_or(Duration::ZERO);
                return Codec { bps: rate.bps_f64(), frame: *frame, lookahead, ie: *ie, bpl: *bpl };
            }
            Some(CodecChoice::Named(name)) => *name,
            None => CodecName::G711,
        };
        let (bps, lookahead, ie, bpl) = match name {
            CodecName::G711 => (64e3, Duration::ZERO, 0.0, 25.1),
            CodecName::G711Bare => (64e3, Duration::ZERO, 0.0, 4.3),
            CodecName::G729A => (8e3, Duration::from_millis(5), 11.0, 19.0),
        };
        Codec { bps, frame: Duration::from_millis(20), lookahead, ie, bpl }
    }
}
