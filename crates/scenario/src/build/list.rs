//! Links that stand still at listed times.

use crate::scenario::Transmitter;
use skyhop_base::Duration;
use skyhop_sim::LONGEST_RUN;
use skyhop_sim::errors::{ErrorConfig, ListErrors};
use skyhop_sim::spec::{Service, TraceConfig};

/// The pace of a transmitter that stands still at listed times; `None` if it never does. They were found in order.
pub(super) fn holds(transmitter: &Transmitter) -> Option<TraceConfig> {
    let held = transmitter.errors.iter().find_map(|error| match error {
        ErrorConfig::List(ListErrors { hold: Some(hold), .. }) if !hold.is_empty() => Some(hold),
        _ => None,
    })?;
    let rate = transmitter.rate.bps();
    let mut rates = vec![(Duration::ZERO, rate)];
    for &[from, until] in held {
        // A hold that begins where one ends goes on.
        if rates.last().is_some_and(|&(last, _)| last == from) {
            rates.pop();
        }
        rates.extend([(from, 0), (until, rate)]);
    }
    // No run is so long that it begins anew.
    let period = LONGEST_RUN + LONGEST_RUN;
    Some(TraceConfig {
        service: Service::Rates(rates.into()),
        delays: [(Duration::ZERO, Duration::ZERO)].into(),
        losses: [].into(),
        period,
    })
}
