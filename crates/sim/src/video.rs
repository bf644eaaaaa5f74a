//! Adaptive video over HTTP (DASH): segments of equal length, each in several qualities, of which the player chooses
//! one.

use crate::records::VideoSummary;
use skyhop_base::{Duration, Rate, Time};
use std::collections::VecDeque;

/// A video and its player.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoConfig {
    /// Length of a segment when it is played; more than zero.
    pub segment: Duration,
    /// Rates of the qualities, ascending; at least one.
    pub ladder: Vec<Rate>,
    pub choice: QualityChoice,
    /// The player holds so much video at most, at least two segments and those of `startup`.
    pub buffer: Duration,
    /// Segments that the player waits for before it begins to play, at the start and after a stall. At least one.
    pub startup: u32,
    /// Segments of the video; `None` has no end.
    pub count: Option<u32>,
    /// Size of a request on the wire.
    pub request_bytes: u32,
}

/// How a player chooses the quality of the next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QualityChoice {
    /// By what the last segments measured: the highest rate that is not above 0.85 times the harmonic mean of the
    /// throughput of the last 20 segments, the estimate of J. Jiang, V. Sekar and H. Zhang, "Improving fairness,
    /// efficiency, and stability in HTTP-based adaptive video streaming with FESTIVE", CoNEXT 2012, §4. Deviations: no
    /// delayed upward steps and no random times of requests.
    Throughput,
    /// BBA-0 of T.-Y. Huang et al., "A buffer-based approach to rate adaptation", SIGCOMM 2014, algorithm 1. Their
    /// reservoir of 90 s and the cushion behind it, up to 216 s, are taken as shares of their buffer of 240 s.
    Bba,
    /// BOLA-BASIC of K. Spiteri, R. Urgaonkar and R. Sitaraman, "BOLA: near-optimal bitrate adaptation for online
    /// videos", INFOCOM 2016, §III: the quality m with the largest (V (v_m + γp) - Q) / S_m, with the utility v_m =
    /// ln(S_m / S_1), γp = 5, Q the buffered segments and V the largest value that keeps the buffer within its limit.
    Bola,
}

/// FESTIVE's samples and its share of the estimate (§4.1 and §4.3 there).
const SAMPLES: usize = 20;
const SAFE_SHARE: f64 = 0.85;

/// Reservoir and end of the cushion as shares of the buffer (BBA-0, §4 there: 90 s and 216 s of 240 s).
const RESERVOIR: f64 = 90.0 / 240.0;
const CUSHION_END: f64 = 216.0 / 240.0;

/// γp of BOLA (§V there).
const GAMMA_P: f64 = 5.0;

/// What a player holds and has done.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    config: VideoConfig,
    /// From here on nobody watches.
    stop: Time,
    /// Video that is there and not yet played, at the instant `updated`.
    held: Duration,
    updated: Time,
    is_playing: bool,
    /// When the player asked for its first segment.
    began: Option<Time>,
    started: Option<Time>,
    played: Duration,
    stalled: Duration,
    stalls: u64,
    /// The quality that was asked for last, and when.
    asked: Option<(usize, Time)>,
    segments: u64,
    switches: u64,
    /// Sum of the rates of all segments that have come, bit/s.
    rate_sum_bps: f64,
    /// Throughput of the last segments, bit/s.
    samples: VecDeque<f64>,
}

impl Player {
    pub fn new(config: &VideoConfig, stop: Option<Time>) -> Player {
        Player {
            config: config.clone(),
            stop: stop.unwrap_or(Time::MAX),
            held: Duration::ZERO,
            updated: Time::ZERO,
            is_playing: false,
            began: None,
            started: None,
            played: Duration::ZERO,
            stalled: Duration::ZERO,
            stalls: 0,
            asked: None,
            segments: 0,
            switches: 0,
            rate_sum_bps: 0.0,
            samples: VecDeque::new(),
        }
    }

    /// Plays up to `now`; what is held may run out before.
    fn advance(&mut self, now: Time) {
        let now = now.min(self.stop);
        let passed = now.since(self.updated);
        self.updated = now;
        if !self.is_playing {
            // Before the first start it is not a stall.
            if self.started.is_some() && !self.is_over() {
                self.stalled += passed;
            }
            return;
        }
        let played = passed.min(self.held);
        self.held = self.held.saturating_sub(played);
        self.played += played;
        if passed > played {
            self.is_playing = false;
            if !self.is_over() {
                self.stalls += 1;
                self.stalled += passed.saturating_sub(played);
            }
        }
    }

    /// Whether every segment of the video has come and is played.
    fn is_over(&self) -> bool {
        self.held.is_zero() && self.config.count.is_some_and(|count| self.segments >= u64::from(count))
    }

    /// The player asks for the next segment; its size.
    pub fn ask(&mut self, now: Time) -> u64 {
        self.advance(now);
        self.began.get_or_insert(now);
        let before = self.asked.map(|(level, _)| level);
        let level = self.level();
        self.switches += u64::from(before.is_some_and(|before| before != level));
        self.asked = Some((level, now));
        self.bytes(level)
    }

    fn bytes(&self, level: usize) -> u64 {
        let bits = self.config.ladder[level].bps_f64() * self.config.segment.as_secs_f64();
        (libm::ceil(bits / 8.0) as u64).max(1)
    }

    /// A segment has arrived as a whole; when the player asks for the next one.
    pub fn arrived(&mut self, now: Time, bytes: u64) -> Time {
        self.advance(now);
        if now > self.stop {
            return now;
        }
        if let Some((level, at)) = self.asked {
            self.rate_sum_bps += self.config.ladder[level].bps_f64();
            if self.samples.len() == SAMPLES {
                self.samples.pop_front();
            }
            self.samples.push_back(bytes as f64 * 8.0 / now.since(at).as_secs_f64().max(1e-9));
        }
        self.segments += 1;
        self.held += self.config.segment;
        let is_last = self.config.count.is_some_and(|count| self.segments >= u64::from(count));
        if !self.is_playing && (self.held >= self.config.segment * u64::from(self.config.startup) || is_last) {
            self.is_playing = true;
            self.started.get_or_insert(now);
        }
        // Room for a segment comes as the held ones are played.
        let most = self.config.buffer.saturating_sub(self.config.segment);
        now + self.held.saturating_sub(most)
    }

    /// The quality of the next segment.
    fn level(&self) -> usize {
        let ladder = &self.config.ladder;
        let top = ladder.len() - 1;
        let bps = |level: usize| ladder[level].bps_f64();
        match self.config.choice {
            QualityChoice::Throughput => {
                let mean = self.samples.len() as f64 / self.samples.iter().map(|sample| 1.0 / sample).sum::<f64>();
                (1..=top).rev().find(|&level| bps(level) <= SAFE_SHARE * mean).unwrap_or(0)
            }
            QualityChoice::Bba => {
                let share = self.held.as_secs_f64() / self.config.buffer.as_secs_f64();
                let before = self.asked.map_or(0, |(level, _)| level);
                if share <= RESERVOIR {
                    return 0;
                }
                if share >= CUSHION_END {
                    return top;
                }
                let wanted = bps(0) + (bps(top) - bps(0)) * (share - RESERVOIR) / (CUSHION_END - RESERVOIR);
                if before < top && wanted >= bps(before + 1) {
                    (0..=top).rev().find(|&level| bps(level) < wanted).unwrap_or(0)
                } else if before > 0 && wanted <= bps(before - 1) {
                    (0..=top).find(|&level| bps(level) > wanted).unwrap_or(top)
                } else {
                    before
                }
            }
            QualityChoice::Bola => {
                let utility = |level: usize| libm::log(bps(level) / bps(0));
                let segment_s = self.config.segment.as_secs_f64();
                let most = self.config.buffer.as_secs_f64() / segment_s;
                let held = self.held.as_secs_f64() / segment_s;
                let v = (most - 1.0) / (utility(top) + GAMMA_P);
                let value = |level: usize| (v * (utility(level) + GAMMA_P) - held) / bps(level);
                // The highest of equal ones.
                (0..=top).max_by(|&a, &b| value(a).total_cmp(&value(b))).unwrap_or(0)
            }
        }
    }

    /// The video at the end of the run.
    pub fn summary(&self, flow: u32, end: Time) -> VideoSummary {
        let mut player = self.clone();
        player.advance(end);
        VideoSummary {
            flow,
            segments: player.segments,
            startup: player.started.zip(player.began).map(|(started, began)| started.since(began)),
            played: player.played,
            stalls: player.stalls,
            stalled: player.stalled,
            rate_bps: (player.segments > 0).then(|| player.rate_sum_bps / player.segments as f64),
            switches: player.switches,
            done: player.is_over(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ladder of Netflix before 2015, kbit/s.
    const LADDER: [u64; 10] = [235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800];

    fn player(choice: QualityChoice, buffer_s: u64) -> Player {
        let config = VideoConfig {
            segment: Duration::from_secs(4),
            ladder: LADDER.iter().map(|kbps| Rate::from_bps(kbps * 1000).unwrap()).collect(),
            choice,
            buffer: Duration::from_secs(buffer_s),
            startup: 1,
            count: None,
            request_bytes: 700,
        };
        Player::new(&config, None)
    }

    fn at(s: f64) -> Time {
        Time::from_secs_f64(s)
    }

    /// Algorithm 1 of the paper with its buffer: the lowest rate up to 90 s, the highest from 216 s on, and between
    /// them a step only where the map reaches the next rate. At 153 s the map is at 235 + 5565 / 2 = 3017.5 kbit/s.
    #[test]
    fn bba_follows_its_map() {
        let mut player = player(QualityChoice::Bba, 240);
        let mut level = |held_s: f64, before: usize| {
            player.held = Duration::from_secs_f64(held_s);
            player.asked = Some((before, Time::ZERO));
            LADDER[player.level()]
        };
        assert_eq!((level(90.0, 9), level(216.0, 0)), (235, 5800));
        assert_eq!((level(153.0, 0), level(153.0, 9)), (3000, 4300));
        // Neither at 4300 nor down at 2350: it stays.
        assert_eq!((level(153.0, 7), level(138.0, 7)), (3000, 3000));
        assert_eq!((level(137.9, 6), level(137.9, 8)), (2350, 3000));
    }

    /// BOLA's levels by hand: with a ladder of 1, 2 and 4 Mbit/s, a buffer of 10 segments and γp = 5
    /// V is 9 / (ln 4 + 5) = 1.4093.
    /// The values of two neighbours are equal at Q = V (γp + v_low - (v_high - v_low) S_low / (S_high - S_low)):
    /// at 6.070 and 7.047.
    #[test]
    fn bola_changes_where_its_values_cross() {
        let mut player = player(QualityChoice::Bola, 40);
        player.config.ladder = [1, 2, 4].map(|mbps| Rate::from_bps(mbps * 1_000_000).unwrap()).to_vec();
        let mut level = |segments: f64| {
            player.held = Duration::from_secs_f64(4.0 * segments);
            player.level()
        };
        let v = 9.0 / (4.0_f64.ln() + 5.0);
        let crossing = |low: f64, high: f64| v * (5.0 + low.ln() - (high / low).ln() * low / (high - low));
        let (first, second) = (crossing(1.0, 2.0), crossing(2.0, 4.0));
        assert!((first - 6.070).abs() < 0.001 && (second - 7.047).abs() < 0.001, "{first} {second}");
        assert_eq!([level(0.0), level(first - 0.01), level(first + 0.01)], [0, 0, 1]);
        assert_eq!([level(second - 0.01), level(second + 0.01), level(9.0)], [1, 2, 2]);
    }

    /// The harmonic mean of 2 and 6 Mbit/s is 3, and 0.85 of it 2.55 Mbit/s.
    #[test]
    fn the_throughput_is_a_harmonic_mean() {
        let mut player = player(QualityChoice::Throughput, 30);
        assert_eq!(player.level(), 0, "nothing is known yet");
        player.samples.extend([2e6, 6e6]);
        assert_eq!(LADDER[player.level()], 2350);
    }

    /// Segments of 4 s that take 6 s each: after the first one, 2 s of silence before each of the others.
    #[test]
    fn a_stall_lasts_until_the_next_segment() {
        let mut player = player(QualityChoice::Bba, 30);
        for n in 0..5 {
            let asked = 6.0 * f64::from(n);
            player.ask(at(asked));
            assert_eq!(player.arrived(at(asked + 6.0), 100), at(asked + 6.0));
        }
        let summary = player.summary(0, at(34.0));
        assert_eq!((summary.segments, summary.stalls), (5, 4));
        assert_eq!(summary.startup, Some(Duration::from_secs(6)));
        assert_eq!((summary.stalled, summary.played), (Duration::from_secs(8), Duration::from_secs(20)));
        assert_eq!(player.summary(0, at(35.0)).stalls, 5, "the buffer has run out");
        player.stop = at(34.0);
        assert_eq!(player.summary(0, at(35.0)), summary, "nobody watches any more");
    }

    /// A full buffer lets the player ask when there is room for a segment, and a video that is over does not stall.
    #[test]
    fn a_full_buffer_waits_and_an_end_is_not_a_stall() {
        let mut player = player(QualityChoice::Bba, 10);
        player.config.count = Some(3);
        player.ask(at(0.0));
        assert_eq!(player.arrived(at(1.0), 100), at(1.0));
        player.ask(at(1.0));
        // 4 s less 1 s, and 4 s more: 7 s are held, and 6 s leave room.
        assert_eq!(player.arrived(at(2.0), 100), at(3.0));
        player.ask(at(3.0));
        player.arrived(at(4.0), 100);
        let summary = player.summary(0, at(60.0));
        assert_eq!((summary.stalls, summary.played, summary.done), (0, Duration::from_secs(12), true));
    }
}
