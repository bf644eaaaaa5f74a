//! What the tests of the applications share; `docs/howto/add-an-application.md` is true.

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

#[test]
fn the_page_quotes_the_example() {
    let page = include_str!("../../../../docs/howto/add-an-application.md");
    let example = include_str!("pareto_on_off.rs").split("\n#[cfg(test)]").next().unwrap();
    assert!(page.contains(&format!("```rust\n{example}```\n")), "the page and pareto_on_off.rs differ");
}
