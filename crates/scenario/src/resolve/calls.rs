//! Calls, and messages with a deadline.

use super::Resolver;
use crate::format::{CallFile, CodecFile, CodecName, CodecValues, MessagesFile, PlayoutFile};
use crate::tree::Path;
use skyhop_base::{Bytes, Duration};
use skyhop_sim::call::{CallConfig, Playout, RTP_HEADER_BYTES};

/// What a codec is to the engine.
struct Values {
    bps: f64,
    frame: Duration,
    lookahead: Duration,
    ie: f64,
    bpl: f64,
}

/// Ie and Bpl of a codec with a name: ITU-T G.113 (11/2007), appendix I; G.711 conceals losses by its own appendix I,
/// and G.729 annex A looks 5 ms ahead (G.729 §1); its row there has voice activity detection. Packets hold 20 ms.
fn values_of(name: CodecName) -> Values {
    let (bps, lookahead, ie, bpl) = match name {
        CodecName::G711 => (64e3, Duration::ZERO, 0.0, 25.1),
        CodecName::G711Bare => (64e3, Duration::ZERO, 0.0, 4.3),
        CodecName::G729A => (8e3, Duration::from_millis(5), 11.0, 19.0),
    };
    Values { bps, frame: Duration::from_millis(20), lookahead, ie, bpl }
}

fn codec(file: &CallFile) -> Values {
    match &file.codec {
        Some(CodecFile::Values(CodecValues { rate, frame, lookahead, ie, bpl })) => {
            let lookahead = lookahead.unwrap_or(Duration::ZERO);
            Values { bps: rate.bps_f64(), frame: *frame, lookahead, ie: *ie, bpl: *bpl }
        }
        Some(CodecFile::Named(name)) => values_of(*name),
        None => values_of(CodecName::G711),
    }
}

/// Voice in a packet, in bytes; the last one may not be full.
fn voice_bytes(codec: &Values) -> u64 {
    (codec.bps * codec.frame.as_secs_f64() / 8.0).ceil() as u64
}

/// What the engine makes of a call.
pub(crate) fn call(file: &CallFile) -> CallConfig {
    let codec = codec(file);
    CallConfig {
        payload_bytes: u32::try_from(voice_bytes(&codec)).unwrap_or(u32::MAX).saturating_add(RTP_HEADER_BYTES),
        frame: codec.frame,
        lookahead: codec.lookahead,
        playout: match file.playout {
            Some(PlayoutFile::Fixed(wait)) => Playout::Fixed(wait),
            Some(PlayoutFile::Adaptive) | None => Playout::Adaptive,
        },
        impairment: codec.ie,
        robustness: codec.bpl,
    }
}

/// The same with its defaults.
pub(super) fn in_full(file: CallFile) -> CallFile {
    CallFile {
        codec: file.codec.or(Some(CodecFile::Named(CodecName::G711))),
        playout: file.playout.or(Some(PlayoutFile::Adaptive)),
    }
}

impl Resolver<'_, '_, '_> {
    pub(super) fn check_call(&mut self, file: &CallFile, path: &Path) {
        let path = path.key("codec");
        let codec = codec(file);
        self.check_positive(Some(codec.frame), &path.key("frame"));
        self.check_packet_size(
            Bytes(voice_bytes(&codec).saturating_add(RTP_HEADER_BYTES.into())),
            1,
            &path.key("rate"),
        );
        if codec.bpl <= 0.0 {
            self.add(&path.key("bpl"), "must be more than 0", None);
        }
    }

    pub(super) fn check_messages(&mut self, file: &MessagesFile, path: &Path) {
        self.check_packet_size(file.payload, 1, &path.key("payload"));
        self.check_positive(Some(file.every), &path.key("every"));
        self.check_positive(Some(file.deadline), &path.key("deadline"));
    }
}
