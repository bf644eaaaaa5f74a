//! Cuts that spare corruption (CETEN; Eddy, Ostermann and Allman 2004; `algorithms.md` §3.3).
//!
//! - p, the sender's estimate of its losses: retransmissions over segments sent. A segment `memory` segments back
//!   weighs e⁻¹, so p follows a path that gets worse or better. Links smooth e likewise.
//! - e = 1 − s, s being the probability that data survive their path, as ACKs echo it.
//! - r = min(1, e / p): p may be smaller by chance. A loss leaves (1 + r) / 2 of the window, or with the probability r
//!   all of it and half of it otherwise. The threshold after a timeout is set likewise; the window is then one segment.
//!
//! The amount that Reno halves is given to it (1 + r) times as large. An echoed mark is congestion whatever e is.
//!
//! Deviation: a spurious retransmission counts as a loss, too (Allman, Eddy and Ostermann 2003 take it out of the
//! count). p is too large then, and the cut too deep. The papers do not say how long the authors' senders remember.

use super::options::{CetenCut, Weighing};
use skyhop_base::Stream;

/// What a sender that weighs its cuts keeps.
#[derive(Clone, Debug)]
pub(crate) struct Ceten {
    weighing: Weighing,
    survival: f64,
    stream: Option<Stream>,
    losses: Losses,
}

/// The recent rate of losses.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    /// Segments sent, and retransmissions among them, with their present weights.
    sent: f64,
    again: f64,
    /// The unweighted counts at the last call.
    seen: [u64; 2],
}

impl Losses {
    /// p, given all segments sent and the retransmissions among them. Between two calls the latter count as evenly
    /// spread.
    fn rate(&mut self, counted: [u64; 2], memory: f64) -> f64 {
        let [sent, again] = [0, 1].map(|i| counted[i].saturating_sub(self.seen[i]) as f64);
        self.seen = counted;
        if sent > 0.0 {
            let kept = libm::exp(-sent / memory);
            let weight = memory * (1.0 - kept);
            self.sent = self.sent * kept + weight;
            self.again = self.again * kept + weight * again / sent;
        }
        if self.sent > 0.0 { self.again / self.sent } else { 0.0 }
    }
}

impl Ceten {
    pub(crate) fn new(weighing: Weighing) -> Ceten {
        Ceten { weighing, survival: 1.0, stream: None, losses: Losses::default() }
    }

    /// An ACK echoes the probability that nothing corrupts data on their path.
    pub(crate) fn set_survival(&mut self, survival: f64) {
        self.survival = survival.clamp(0.0, 1.0);
    }

    /// The random numbers of cuts by chance.
    pub(crate) fn draw_from(&mut self, stream: Stream) {
        self.stream = Some(stream);
    }

    /// The factor of the amount that a loss halves, when so many segments were sent in all, and so many of them again.
    pub(crate) fn factor(&mut self, counted: [u64; 2]) -> f64 {
        let loss = self.losses.rate(counted, self.weighing.memory);
        self.spares(loss)
    }

    /// The same for a loss rate p = `loss`: 1 halves, 2 leaves all.
    fn spares(&mut self, loss: f64) -> f64 {
        let corruption = 1.0 - self.survival;
        let share = match corruption > 0.0 {
            true if loss > corruption => corruption / loss,
            true => 1.0,
            false => 0.0,
        };
        match self.weighing.cut {
            CetenCut::Average => 1.0 + share,
            CetenCut::Chance => {
                let spared = self.stream.as_mut().is_some_and(|stream| stream.uniform() < share);
                if spared { 2.0 } else { 1.0 }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> serde_json::Value {
        let all: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/vectors/algorithms_vectors.json")).unwrap();
        all["vectors"].as_array().unwrap().iter().find(|v| v["name"] == "ceten_average").unwrap().clone()
    }

    #[test]
    fn cuts_are_those_of_the_worked_example() {
        let v = example();
        let cwnd = v["inputs"]["cwnd"].as_f64().unwrap();
        let survival = 1.0 - v["inputs"]["corruption"].as_f64().unwrap();
        let wanted = v["expected"]["cwnd_after"].as_array().unwrap();
        for (loss, want) in v["inputs"]["total_loss"].as_array().unwrap().iter().zip(wanted) {
            let (loss, want) = (loss.as_f64().unwrap(), want.as_f64().unwrap());
            let mut average = Ceten { survival, ..Ceten::new(Weighing::default()) };
            assert!((cwnd * average.spares(loss) / 2.0 - want).abs() < 1e-9, "{loss}");
            // By chance the same in the mean: 10 000 lots, four standard deviations of the mean are at most 1.
            let stream = Some(Stream::new(1, "ceten", "test"));
            let by_chance = Weighing { cut: CetenCut::Chance, ..Weighing::default() };
            let mut chance = Ceten { survival, stream, ..Ceten::new(by_chance) };
            let mean = (0..10_000).map(|_| cwnd * chance.spares(loss) / 2.0).sum::<f64>() / 1e4;
            assert!((mean - want).abs() < 1.0, "{loss}: {mean} {want}");
        }
    }

    #[test]
    fn without_corruption_a_loss_halves_and_less_loss_than_corruption_leaves_all() {
        let mut ceten = Ceten::new(Weighing::default());
        assert_eq!([ceten.spares(0.1), ceten.spares(0.0)], [1.0, 1.0]);
        ceten.survival = 0.9;
        assert_eq!([ceten.spares(0.05), ceten.spares(0.0)], [2.0, 2.0]);
    }
    /// A path that loses 1 % for 20 000 segments, then 10 %: p is 1 %, and n segments later 10 % − 9 % · e^(−n / 1000),
    /// whatever the looks in between. Counted from the start it would be 2.3 % after 3000 of the latter.
    #[test]
    fn the_rate_of_losses_forgets_as_its_memory_says() {
        let mut losses = Losses::default();
        let mut counted = [0u64; 2];
        let mut run = |segments: u64, again: u64, step: u64| {
            let mut rate = 0.0;
            for _ in 0..segments / step {
                counted = [counted[0] + step, counted[1] + again * step / segments];
                rate = losses.rate(counted, 1000.0);
            }
            rate
        };
        assert!((run(20_000, 200, 100) - 0.01).abs() < 1e-9);
        for (n, step) in [(1000u64, 10), (2000, 1000)] {
            let before = if n == 1000 { 0.01 } else { 0.1 - 0.09 * libm::exp(-1.0) };
            let want = 0.1 - (0.1 - before) * libm::exp(-(n as f64) / 1000.0);
            let rate = run(n, n / 10, step);
            assert!((rate - want).abs() < 1e-9, "{n}: {rate} {want}");
        }
        // The first segments of all weigh alike: nothing is forgotten that was never known.
        assert_eq!(Losses::default().rate([10, 1], 1000.0), 0.1);
        assert_eq!(Losses::default().rate([0, 0], 1000.0), 0.0);
    }
}
