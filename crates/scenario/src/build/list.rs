//! Outcomes of listed packets.

use super::at;
use crate::format::{ErrorFile, ListFile, ListedFile, OrdinalsFile, OutcomeFile};
use crate::scenario::Transmitter;
use skyhop_base::{Duration, Time};
use skyhop_sim::LONGEST_RUN;
use skyhop_sim::listed::{ListedClass, ListedOutcome, ListedPackets};
use skyhop_sim::spec::{Service, TraceConfig};

/// The packets that an error names, if it is a list.
pub(super) fn packets(error: &ErrorFile) -> Vec<ListedPackets> {
    let ErrorFile::List(ListFile { data, acks, syns, syn_acks, .. }) = error else { return Vec::new() };
    let classes = [
        (ListedClass::Data, data),
        (ListedClass::Ack, acks),
        (ListedClass::Syn, syns),
        (ListedClass::SynAck, syn_acks),
    ];
    let of_class = |(class, listed): (ListedClass, &Vec<ListedFile>)| {
        listed.iter().map(|listed| one(class, listed)).collect::<Vec<_>>()
    };
    classes.into_iter().flat_map(of_class).collect()
}

fn one(class: ListedClass, listed: &ListedFile) -> ListedPackets {
    let (first, last) = match listed.packets {
        OrdinalsFile::One(number) => (number, number),
        OrdinalsFile::Several([first, last]) => (first, last),
    };
    let outcome = match listed.outcome.unwrap_or(OutcomeFile::Drop) {
        OutcomeFile::Drop => ListedOutcome::Drop,
        OutcomeFile::Mark => ListedOutcome::Mark,
        OutcomeFile::Delay(by) => ListedOutcome::Delay(by),
        OutcomeFile::Duplicate(after) => ListedOutcome::Duplicate(after),
    };
    ListedPackets { class, first: first.into(), last: last.into(), step: listed.every.unwrap_or(1).into(), outcome }
}

pub(super) fn times(pairs: &[[Duration; 2]]) -> Vec<(Time, Time)> {
    pairs.iter().map(|[from, until]| (at(*from), at(*until))).collect()
}

/// The pace of a transmitter that stands still at listed times; `None` if it never does. They were found in order.
pub(super) fn holds(transmitter: &Transmitter) -> Option<TraceConfig> {
    let held = transmitter.errors.iter().find_map(|error| match error {
        ErrorFile::List(ListFile { hold: Some(hold), .. }) if !hold.is_empty() => Some(hold),
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
        period,
    })
}
