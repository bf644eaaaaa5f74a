//! Adaptive video.

use super::Resolver;
use super::pages::REQUEST;
use crate::format::{ChoiceName, VideoFile};
use crate::tree::Path;
use skyhop_base::{Duration, Rate};
use skyhop_sim::video::{QualityChoice, VideoConfig};

/// Rates of Netflix's fixed ladder, kbit/s (A. Aaron et al., "Per-title encode optimization", Netflix technology blog
/// 2015).
const LADDER_KBPS: [u64; 10] = [235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800];

/// A length of segments within the 2 s to 10 s of usual players, and a buffer within their 8 s to 60 s.
const SEGMENT: Duration = Duration::from_secs(4);
const BUFFER: Duration = Duration::from_secs(30);

/// Rates of a ladder at most.
const MOST_RATES: usize = 100;

/// The same with its defaults.
pub(super) fn in_full(file: VideoFile) -> VideoFile {
    let usual = || LADDER_KBPS.iter().filter_map(|kbps| Rate::from_bps(kbps * 1000)).collect();
    let ladder = file.ladder.unwrap_or_else(usual);
    // One quality leaves no choice.
    let choice = (ladder.len() > 1).then(|| file.choice.unwrap_or(ChoiceName::Bola));
    VideoFile {
        ladder: Some(ladder),
        segment: Some(file.segment.unwrap_or(SEGMENT)),
        choice,
        buffer: Some(file.buffer.unwrap_or(BUFFER)),
        startup: Some(file.startup.unwrap_or(1)),
        count: file.count,
        request: Some(file.request.unwrap_or(REQUEST)),
    }
}

/// What the engine makes of a video.
pub(crate) fn video(file: &VideoFile) -> VideoConfig {
    let VideoFile { ladder, segment, choice, buffer, startup, count, request } = in_full(file.clone());
    VideoConfig {
        segment: segment.unwrap_or(SEGMENT),
        ladder: ladder.unwrap_or_default(),
        choice: match choice {
            Some(ChoiceName::Throughput) => QualityChoice::Throughput,
            Some(ChoiceName::Bba) => QualityChoice::Bba,
            Some(ChoiceName::Bola) | None => QualityChoice::Bola,
        },
        buffer: buffer.unwrap_or(BUFFER),
        startup: startup.unwrap_or(1),
        count,
        request_bytes: u32::try_from(request.unwrap_or(REQUEST).0).unwrap_or(u32::MAX),
    }
}

impl Resolver<'_, '_, '_> {
    pub(super) fn check_video(&mut self, file: &VideoFile, path: &Path) {
        let VideoConfig { segment, ladder, buffer, startup, .. } = video(file);
        let at = path.key("ladder");
        if ladder.is_empty() || ladder.len() > MOST_RATES {
            self.add(&at, format!("has {} rates; use 1 to {MOST_RATES}", ladder.len()), None);
        }
        if let Some(i) = (1..ladder.len()).find(|&i| ladder[i] <= ladder[i - 1]) {
            self.add(&at.index(i), format!("{} is not above {}: rates ascend", ladder[i], ladder[i - 1]), None);
        }
        if file.choice.is_some() && ladder.len() == 1 {
            self.add(&path.key("choice"), "has no effect: there is one quality", Some("leave it out".to_owned()));
        }
        self.check_positive(Some(segment), &path.key("segment"));
        let least = segment.as_nanos().saturating_mul(u64::from(startup.max(2)));
        if buffer.as_nanos() < least {
            let message = format!("{buffer} holds less than {} segments of {segment}", startup.max(2));
            self.add(&path.key("buffer"), message, Some("use a longer buffer or shorter segments".to_owned()));
        }
        if let Some(request) = file.request {
            self.check_packet_size(request, 1, &path.key("request"));
        }
    }
}
