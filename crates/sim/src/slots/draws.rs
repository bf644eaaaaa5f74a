//! What slots draw: the kinds of draws, and values between quantiles.

use skyhop_base::Duration;

/// The kinds of draws for a slot.
#[derive(Clone, Copy)]
pub(super) enum Draw {
    Rate,
    Step,
    Spike,
    Loss,
    Jitter,
    Pause,
    Spread,
    Ripple,
    Obstruction,
    Obstructed,
    Grant,
    Outage,
    Reroute,
    RerouteAt,
    RerouteStep,
    Stay,
    InFlight,
    RerouteInFlight,
    SlotLoss,
    Restored,
    RestoredAt,
    Fades,
    FadeStart,
    FadeLength,
    FadeLoss,
}

/// The two quantiles between which a draw from [0, 1) falls, and how far it is between them.
pub(super) fn between<T: Copy + Default>(quantiles: &[T], draw: f64) -> ([T; 2], f64) {
    let gaps = quantiles.len().saturating_sub(1);
    let place = draw * gaps as f64;
    let gap = (place as usize).min(gaps.saturating_sub(1));
    let at = |n: usize| quantiles.get(n).or(quantiles.last()).copied().unwrap_or_default();
    ([at(gap), at(gap + 1)], place - gap as f64)
}

/// The number between two quantiles on which a draw from [0, 1) falls.
pub(super) fn number(quantiles: &[f64], draw: f64) -> f64 {
    let ([least, most], part) = between(quantiles, draw);
    least + part * (most - least)
}

pub(super) fn length(quantiles: &[Duration], draw: f64) -> Duration {
    let ([least, most], part) = between(quantiles, draw);
    least + share(most.saturating_sub(least), part)
}

pub(super) fn share(of: Duration, part: f64) -> Duration {
    Duration::from_nanos((of.as_nanos() as f64 * part) as u64)
}
