//! What the tests of the applications share.

use super::{ApplicationModel, FlowOfSource, Source};

/// Gaps of `n` portions, in seconds.
pub fn gaps(application: &impl ApplicationModel, n: usize) -> Vec<f64> {
    let flow = FlowOfSource { seed: 1, name: "flow", stop: None };
    let Source::Clock { mut gaps, .. } = application.source(&flow) else { panic!("it does not go by the clock") };
    (0..n).map(|_| gaps.next_gap().as_secs_f64()).collect()
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
