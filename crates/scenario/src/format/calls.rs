//! Applications of people who talk, watch and play: calls, adaptive video, and messages with a deadline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Rate};

/// One direction of a call: voice over RTP, rated by the E-model (ITU-T G.107). Needs UDP.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallFile {
    /// Without it: "g711".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codec: Option<CodecFile>,
    /// How long the receiver holds frames back. Without it: "adaptive".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playout: Option<PlayoutFile>,
}

/// A codec, by its name alone or with its values.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CodecFile {
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
pub enum PlayoutFile {
    /// After the smoothed delay and four times its variation, anew each second (Ramjee et al. 1994).
    Adaptive,
    /// The first frame so long, all others in step with it.
    Fixed(Duration),
}

/// Messages by the clock, each with the same deadline, as of a game or a control loop.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessagesFile {
    /// Size of each message.
    pub payload: Bytes,
    /// From one message to the next.
    pub every: Duration,
    /// A message that the receiver cannot read so long after it was written has missed it.
    pub deadline: Duration,
}

/// Video over HTTP (DASH): the node `to` asks for one segment after another, each in a quality that it chooses. Needs
/// TCP or QUIC.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VideoFile {
    /// Rates of the qualities, ascending. Without it: 235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300 and 5800 kbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Vec<Rate>>,
    /// Length of a segment. Without it: 4 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<Duration>,
    /// How the player chooses. Without it: "bola".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<ChoiceName>,
    /// The player holds so much video at most. Without it: 30 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Duration>,
    /// Segments that the player waits for before it plays, at the start and after a stall. Without it: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub startup: Option<u32>,
    /// Segments of the video. Without it: no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
    /// Size of a request, all headers included. Without it: 700 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Bytes>,
}

/// How a player chooses the quality of the next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChoiceName {
    /// By the throughput of the last 20 segments, as FESTIVE estimates it (CoNEXT 2012).
    Throughput,
    /// By the buffer: BBA-0 (SIGCOMM 2014).
    Bba,
    /// By the buffer: BOLA-BASIC (INFOCOM 2016).
    Bola,
}
