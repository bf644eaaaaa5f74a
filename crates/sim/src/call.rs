//! Calls: frames of voice over RTP, a playout buffer at the receiver, and the rating of the E-model (ITU-T G.107).

use crate::records::CallSummary;
use skyhop_base::{Duration, Time};

/// Bytes of RTP's header (RFC 3550 §5.1).
pub const RTP_HEADER_BYTES: u32 = 12;

/// One direction of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallConfig {
    /// Voice in a packet; a packet leaves when it is full.
    pub frame: Duration,
    /// What the coder waits for beyond a frame.
    pub lookahead: Duration,
    pub playout: Playout,
    /// The equipment impairment factor without losses, Ie of G.107.
    pub impairment: f64,
    /// The robustness against losses, Bpl of G.107, in per cent; more than zero.
    pub robustness: f64,
}

/// How long the receiver holds frames back before it plays them. Frames that come later are lost to the listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Playout {
    /// The first frame waits so long; all others are played in step with it.
    Fixed(Duration),
    /// Each second of voice is played in step, after the smoothed delay and four times its smoothed variation:
    /// algorithm 1 of R. Ramjee, J. Kurose, D. Towsley and H. Schulzrinne, "Adaptive playout mechanisms for packetized
    /// audio applications in wide-area networks", INFOCOM 1994. Deviation: a second takes the place of a talk spurt, as
    /// voice has no pauses here.
    Adaptive,
}

/// Weight of the old value in both averages (ibid., §3).
const SMOOTHING: f64 = 0.998_002;

/// The variation before any is known, s: a quarter of 60 ms, a usual buffer.
const FIRST_VARIATION_S: f64 = 0.015;

/// Voice that an adaptive buffer plays in step.
const BLOCK: Duration = Duration::from_secs(1);

/// What a call's receiver has had.
#[derive(Clone, Debug)]
pub(crate) struct CallMeter {
    config: CallConfig,
    /// When the first frame was sent, as soon as any has come.
    origin: Option<Time>,
    /// From sending to playing, of the block at hand.
    hold_s: f64,
    block: u64,
    delay_s: f64,
    variation_s: f64,
    late: u64,
    played: u64,
    hold_sum_s: f64,
    /// Frames that were played, a bit each.
    heard: Vec<u64>,
}

impl CallMeter {
    pub fn new(config: &CallConfig) -> CallMeter {
        CallMeter {
            config: config.clone(),
            origin: None,
            hold_s: 0.0,
            block: 0,
            delay_s: 0.0,
            variation_s: FIRST_VARIATION_S,
            late: 0,
            played: 0,
            hold_sum_s: 0.0,
            heard: Vec::new(),
        }
    }

    pub fn memory_bytes(&self) -> u64 {
        (self.heard.capacity() * size_of::<u64>()) as u64
    }

    /// The frame of this number arrives that was sent at `sent`.
    pub fn arrived(&mut self, now: Time, sent: Time, number: u32) {
        let delay_s = now.since(sent).as_secs_f64();
        let since_first = self.config.frame * u64::from(number);
        let origin =
            *self.origin.get_or_insert(Time::from_nanos(sent.as_nanos().saturating_sub(since_first.as_nanos())));
        let is_first = self.played + self.late == 0;
        match self.config.playout {
            Playout::Fixed(wait) => {
                if is_first {
                    self.hold_s = delay_s + wait.as_secs_f64();
                }
            }
            Playout::Adaptive => {
                if is_first {
                    self.delay_s = delay_s;
                } else {
                    self.delay_s = SMOOTHING * self.delay_s + (1.0 - SMOOTHING) * delay_s;
                    let off = (self.delay_s - delay_s).abs();
                    self.variation_s = SMOOTHING * self.variation_s + (1.0 - SMOOTHING) * off;
                }
                let block = sent.since(origin).as_nanos() / BLOCK.as_nanos();
                if is_first || block > self.block {
                    self.block = block;
                    self.hold_s = self.delay_s + 4.0 * self.variation_s;
                }
            }
        }
        // What the rounding of a double takes off is not late.
        if delay_s > self.hold_s + 1e-9 {
            self.late += 1;
            return;
        }
        self.played += 1;
        self.hold_sum_s += self.hold_s;
        let (word, bit) = (number as usize / 64, number % 64);
        if self.heard.len() <= word {
            self.heard.resize(word + 1, 0);
        }
        self.heard[word] |= 1 << bit;
    }

    fn was_heard(&self, number: u64) -> bool {
        self.heard.get((number / 64) as usize).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// The call at the end of the run, of which so many frames were sent. Frames that were sent too late to be played
    /// by then are not judged.
    pub fn summary(&self, flow: u32, end: Time, sent: u64) -> CallSummary {
        let hold = Duration::from_secs_f64(self.hold_s);
        let judged = match self.origin {
            Some(origin) => {
                let played_until = end.since(Time::ZERO).saturating_sub(hold);
                let span = played_until.saturating_sub(origin.since(Time::ZERO));
                sent.min(span.as_nanos() / self.config.frame.as_nanos().max(1) + 1)
            }
            None => sent,
        };
        let (mut missing, mut bursts, mut before_heard) = (0, 0, true);
        for number in 0..judged {
            let heard = self.was_heard(number);
            missing += u64::from(!heard);
            bursts += u64::from(!heard && before_heard);
            before_heard = heard;
        }
        let share = if judged > 0 { missing as f64 / judged as f64 } else { 0.0 };
        // Mean length of a run of losses over that of independent ones, 1 / (1 - share): G.107 §7.4, BurstR.
        let burst_ratio = (bursts > 0 && missing < judged).then(|| missing as f64 / bursts as f64 * (1.0 - share));
        let coder_s = (self.config.frame + self.config.lookahead).as_secs_f64();
        let delay_s = (self.played > 0).then(|| coder_s + self.hold_sum_s / self.played as f64);
        let rating = match delay_s {
            Some(delay_s) => rating(&self.config, delay_s, share, burst_ratio.unwrap_or(1.0)),
            None => 0.0,
        };
        CallSummary {
            flow,
            frames: judged,
            lost: missing.saturating_sub(self.late.min(missing)),
            late: self.late.min(missing),
            delay_s,
            burst_ratio,
            rating: (judged > 0).then_some(rating),
            mos: (judged > 0).then(|| mos(rating)),
        }
    }
}

/// The rating R of G.107 (06/2015) §7 with every parameter at its default but delay, codec and losses: R = 93.2 - Idd -
/// Ie-eff. The connection has no echo, so that Idte and Idle are zero.
pub fn rating(config: &CallConfig, delay_s: f64, loss: f64, burst_ratio: f64) -> f64 {
    DEFAULT_RATING - delay_impairment(delay_s) - loss_impairment(config, loss, burst_ratio)
}

/// Ro - Is of G.107 with all parameters at their defaults (table 3 there).
const DEFAULT_RATING: f64 = 93.2;

/// Idd of G.107 (7-27), (7-28): the impairment of a delay from mouth to ear.
pub fn delay_impairment(delay_s: f64) -> f64 {
    if delay_s <= 0.1 {
        return 0.0;
    }
    let x = libm::log2(delay_s / 0.1);
    let root = |x: f64| libm::pow(1.0 + libm::pow(x, 6.0), 1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// Ie-eff of G.107 (7-29).
fn loss_impairment(config: &CallConfig, loss: f64, burst_ratio: f64) -> f64 {
    let per_cent = 100.0 * loss;
    if per_cent == 0.0 {
        return config.impairment;
    }
    config.impairment + (95.0 - config.impairment) * per_cent / (per_cent / burst_ratio + config.robustness)
}

/// The mean opinion score of a rating: G.107 annex B, from 1 to 4.5.
pub fn mos(rating: f64) -> f64 {
    match rating {
        r if r <= 0.0 => 1.0,
        r if r >= 100.0 => 4.5,
        // Below R = 6.5 the polynomial dips under the scale.
        r => (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn g711(playout: Playout) -> CallConfig {
        CallConfig {
            frame: Duration::from_millis(20),
            lookahead: Duration::ZERO,
            playout,
            impairment: 0.0,
            robustness: 25.1,
        }
    }

    fn ms(ms: f64) -> Time {
        Time::from_secs_f64(ms / 1e3)
    }

    /// G.107 (06/2015): table B.1 (R and MOS), the default R of 93.2 with MOS 4.41; and G.114 (05/2003) figure 1, which
    /// G.107's delay impairment draws: R of some 93 at 100 ms, 69 at 400 ms.
    #[test]
    fn the_rating_is_that_of_the_recommendation() {
        for (r, expected) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58), (93.2, 4.41)] {
            assert!((mos(r) - expected).abs() < 0.01, "{r}: {}", mos(r));
        }
        assert_eq!([mos(-3.0), mos(3.0), mos(100.0)], [1.0, 1.0, 4.5]);
        assert_eq!(delay_impairment(0.1), 0.0);
        let at = |delay_s| rating(&g711(Playout::Adaptive), delay_s, 0.0, 1.0);
        assert!((at(0.1) - 93.2).abs() < 1e-9 && (at(0.4) - 69.1).abs() < 0.5, "{}", at(0.4));
    }

    /// The planning values of G.113 appendix I for G.711 with concealment under random losses of 1, 2, 3, 5, 7 and 10
    /// per cent are 5, 7, 10, 15, 20 and 25; the formula with Bpl = 25.1 stays within 2.5 of them.
    #[test]
    fn losses_cost_what_the_recommendation_lists() {
        for (per_cent, expected) in [(1.0, 5.0), (2.0, 7.0), (3.0, 10.0), (5.0, 15.0), (7.0, 20.0), (10.0, 25.0)] {
            let found = loss_impairment(&g711(Playout::Adaptive), per_cent / 100.0, 1.0);
            assert!((found - expected).abs() < 2.5, "{per_cent} %: {found}");
        }
    }

    #[test]
    fn a_fixed_buffer_plays_what_comes_in_time() {
        let mut call = CallMeter::new(&g711(Playout::Fixed(Duration::from_millis(30))));
        // Delays of 50 ms but for frame 3 (80 ms: just in time), 4 (81 ms: late) and 6 (lost).
        for (number, delay_ms) in [(0, 50.0), (1, 50.0), (2, 50.0), (3, 80.0), (4, 81.0), (5, 50.0), (7, 50.0)] {
            let sent = 1000.0 + 20.0 * f64::from(number);
            call.arrived(ms(sent + delay_ms), ms(sent), number);
        }
        let summary = call.summary(0, ms(10_000.0), 8);
        assert_eq!((summary.frames, summary.lost, summary.late), (8, 1, 1));
        assert!(
            (summary.delay_s.unwrap() - 0.1).abs() < 1e-9,
            "20 ms of voice, 50 ms on the path, 30 ms in the buffer"
        );
        // Two bursts of one frame each.
        assert!((summary.burst_ratio.unwrap() - 0.75).abs() < 1e-12);
        // Frames 6 and 7 were sent after 1110 ms: they could not be played by the end.
        assert_eq!(call.summary(0, ms(1190.0), 8).frames, 6);
        assert_eq!(call.summary(0, ms(1190.0), 8).lost, 0);
    }

    #[test]
    fn an_adaptive_buffer_follows_a_step_of_the_delay() {
        let played = |playout| {
            let mut call = CallMeter::new(&g711(playout));
            for number in 0..6000_u32 {
                let sent = 20.0 * f64::from(number);
                call.arrived(ms(sent + if number < 1000 { 50.0 } else { 250.0 }), ms(sent), number);
            }
            let summary = call.summary(0, ms(200_000.0), 6000);
            (summary.late, summary.mos.unwrap())
        };
        let (fixed, adaptive) = (played(Playout::Fixed(Duration::from_millis(60))), played(Playout::Adaptive));
        assert_eq!(fixed.0, 5000, "the fixed one plays nothing behind the step");
        assert!(adaptive.0 < 1000 && adaptive.1 > fixed.1 + 1.0, "{adaptive:?} {fixed:?}");
    }

    #[test]
    fn a_call_of_which_nothing_arrives_is_rated_as_the_worst() {
        let summary = CallMeter::new(&g711(Playout::Adaptive)).summary(3, ms(1000.0), 50);
        assert_eq!((summary.frames, summary.lost, summary.delay_s), (50, 50, None));
        assert_eq!((summary.rating, summary.mos), (Some(0.0), Some(1.0)));
    }
}
