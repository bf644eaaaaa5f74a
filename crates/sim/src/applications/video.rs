//! Adaptive video: the receiver's side asks for one segment after another (`video.rs` of the crate has the player).

use super::{ApplicationModel, Carrier, FlowOfSource, Source, Transfers};
use super::{check_packet_size, check_positive, packet_bytes};
use crate::records::Records;
use crate::video::{Player, QualityChoice, VideoConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Faults, Rate, Time};

/// Rates of Netflix's fixed ladder, kbit/s (A. Aaron et al., "Per-title encode optimization", Netflix technology blog
/// 2015).
const LADDER_KBPS: [u64; 10] = [235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800];

/// A length of segments within the 2 s to 10 s of usual players, and a buffer within their 8 s to 60 s.
const SEGMENT: Duration = Duration::from_secs(4);
const BUFFER: Duration = Duration::from_secs(30);

/// Rates of a ladder at most.
const MOST_RATES: usize = 100;

/// A request with its headers: "header sizes of 700-800 bytes is common" (M. Belshe and R. Peon, "SPDY: an experimental
/// protocol for a faster web", Google 2009).
pub const REQUEST: Bytes = Bytes(700);

/// Video over HTTP (DASH): the node `to` asks for one segment after another, each in a quality that it chooses. Needs
/// TCP or QUIC.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VideoOptions {
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

impl ApplicationModel for VideoOptions {
    const CARRIER: Carrier = Carrier::Reliable;

    fn check(&self, faults: &mut Faults) {
        let VideoConfig { segment, ladder, buffer, startup, .. } = self.config();
        if ladder.is_empty() || ladder.len() > MOST_RATES {
            faults.key("ladder").add(format_args!("has {} rates; use 1 to {MOST_RATES}", ladder.len()));
        }
        if let Some(i) = (1..ladder.len()).find(|&i| ladder[i] <= ladder[i - 1]) {
            let message = format!("{} is not above {}: rates ascend", ladder[i], ladder[i - 1]);
            faults.key("ladder").index(i).add(message);
        }
        if self.choice.is_some() && ladder.len() == 1 {
            faults.key("choice").add_with_help("has no effect: there is one quality", "leave it out");
        }
        check_positive(segment, faults.key("segment"));
        let least = segment.as_nanos().saturating_mul(u64::from(startup.max(2)));
        if buffer.as_nanos() < least {
            let message = format!("{buffer} holds less than {} segments of {segment}", startup.max(2));
            faults.key("buffer").add_with_help(message, "use a longer buffer or shorter segments");
        }
        if let Some(request) = self.request {
            check_packet_size(request, faults.key("request"));
        }
    }

    /// With every default.
    fn tidy(&mut self) {
        let usual = || LADDER_KBPS.iter().filter_map(|kbps| Rate::from_bps(kbps * 1000)).collect();
        let ladder = self.ladder.get_or_insert_with(usual);
        // One quality leaves no choice.
        self.choice = (ladder.len() > 1).then(|| self.choice.unwrap_or(ChoiceName::Bola));
        self.segment.get_or_insert(SEGMENT);
        self.buffer.get_or_insert(BUFFER);
        self.startup.get_or_insert(1);
        self.request.get_or_insert(REQUEST);
    }

    fn source(&self, flow: &FlowOfSource<'_>) -> Source {
        let config = self.config();
        let player = Player::new(&config, flow.stop);
        Source::InTurn(Box::new(Video { player, count: config.count, request_bytes: config.request_bytes }))
    }

    fn request_bytes(&self) -> Option<u32> {
        Some(packet_bytes(self.request.unwrap_or(REQUEST)))
    }

    fn has_end(&self) -> bool {
        true
    }
}

impl VideoOptions {
    fn config(&self) -> VideoConfig {
        let mut full = self.clone();
        full.tidy();
        VideoConfig {
            segment: full.segment.unwrap_or(SEGMENT),
            ladder: full.ladder.unwrap_or_default(),
            choice: match full.choice {
                Some(ChoiceName::Throughput) => QualityChoice::Throughput,
                Some(ChoiceName::Bba) => QualityChoice::Bba,
                Some(ChoiceName::Bola) | None => QualityChoice::Bola,
            },
            buffer: full.buffer.unwrap_or(BUFFER),
            startup: full.startup.unwrap_or(1),
            count: full.count,
            request_bytes: packet_bytes(full.request.unwrap_or(REQUEST)),
        }
    }
}

struct Video {
    player: Player,
    count: Option<u32>,
    request_bytes: u32,
}

impl Transfers for Video {
    fn count(&self) -> Option<u32> {
        self.count
    }

    fn request_bytes(&self) -> Option<u32> {
        Some(self.request_bytes)
    }

    fn begin(&mut self, _number: u32, now: Time) -> u64 {
        self.player.ask(now)
    }

    fn pause(&mut self, bytes: u64, now: Time) -> Duration {
        self.player.arrived(now, bytes).since(now)
    }

    fn record(&self, flow: u32, end: Time, records: &mut Records) {
        records.videos.push(self.player.summary(flow, end));
    }
}
