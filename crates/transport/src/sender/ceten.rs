//! Cuts that spare corruption (CETEN; Eddy, Ostermann and Allman 2004; `algorithms.md` §3.3).
//!
//! - p, the sender's estimate of its losses: segments sent again over segments sent, since the start.
//! - e = 1 − s, s being the probability that data survive their way, as ACKs echo it.
//! - r = min(1, e / p): p may be smaller by chance. A loss leaves (1 + r) / 2 of the window, or with the probability r all of it and
//!   half of it otherwise. So is the threshold after a timeout; the window is then one segment as ever.
//!
//! The amount that Reno halves is given to it (1 + r) times as large. An echoed mark is congestion whatever e is.

use super::Sender;
use crate::notification::CetenCut;
use skyhop_base::Stream;

/// What a sender that weighs its cuts keeps.
#[derive(Clone, Debug)]
pub(super) struct Ceten {
    cut: CetenCut,
    survival: f64,
    stream: Option<Stream>,
}

impl Ceten {
    pub(super) fn new(cut: CetenCut) -> Ceten {
        Ceten { cut, survival: 1.0, stream: None }
    }

    /// What the amount that is to be halved is multiplied by: 1 halves, 2 leaves all. `loss` is p.
    pub(super) fn spares(&mut self, loss: f64) -> f64 {
        let corruption = 1.0 - self.survival;
        let share = match corruption > 0.0 {
            true if loss > corruption => corruption / loss,
            true => 1.0,
            false => 0.0,
        };
        match self.cut {
            CetenCut::Average => 1.0 + share,
            CetenCut::Chance => {
                let spared = self.stream.as_mut().is_some_and(|stream| stream.uniform() < share);
                if spared { 2.0 } else { 1.0 }
            }
        }
    }
}

impl Sender {
    fn ceten(&mut self) -> Option<&mut Ceten> {
        self.rare.as_deref_mut()?.ceten.as_mut()
    }

    /// An ACK echoes the probability that nothing corrupts data on their way. A sender that does not weigh its cuts ignores it.
    pub fn on_survival(&mut self, survival: f64) {
        if let Some(ceten) = self.ceten() {
            ceten.survival = survival.clamp(0.0, 1.0);
        }
    }

    /// Where a sender that cuts by chance has its lots from.
    pub fn draw_from(&mut self, stream: Stream) {
        if let Some(ceten) = self.ceten() {
            ceten.stream = Some(stream);
        }
    }

    /// The factor of the amount that a loss is to halve.
    #[cold]
    pub(super) fn spared(&mut self) -> f64 {
        let loss = self.counters.retransmissions as f64 / (self.counters.segments as f64).max(1.0);
        self.ceten().map_or(1.0, |ceten| ceten.spares(loss))
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
            let mut average = Ceten { survival, ..Ceten::new(CetenCut::Average) };
            assert!((cwnd * average.spares(loss) / 2.0 - want).abs() < 1e-9, "{loss}");
            // By chance the same in the mean: 10 000 lots, four standard deviations of the mean are at most 1.
            let stream = Some(Stream::new(1, "ceten", "test"));
            let mut chance = Ceten { survival, stream, ..Ceten::new(CetenCut::Chance) };
            let mean = (0..10_000).map(|_| cwnd * chance.spares(loss) / 2.0).sum::<f64>() / 1e4;
            assert!((mean - want).abs() < 1.0, "{loss}: {mean} {want}");
        }
    }

    #[test]
    fn without_corruption_a_loss_halves_and_less_loss_than_corruption_leaves_all() {
        let mut ceten = Ceten::new(CetenCut::Average);
        assert_eq!([ceten.spares(0.1), ceten.spares(0.0)], [1.0, 1.0]);
        ceten.survival = 0.9;
        assert_eq!([ceten.spares(0.05), ceten.spares(0.0)], [2.0, 2.0]);
    }
}
