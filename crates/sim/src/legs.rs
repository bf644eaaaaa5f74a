//! The legs of split connections: which leg feeds which, and what each was told. `relay.rs` hands data over.

use crate::spec::{FlowConfig, RelayShare, SourceConfig};
use skyhop_base::Time;
use skyhop_cc::{Assigned, Start};
use skyhop_transport::TcpConfig;
use std::collections::BTreeMap;

/// One leg's place in a split connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leg {
    /// The leg that feeds this one, …
    pub before: Option<u32>,
    /// … and the one that this one feeds.
    pub after: Option<u32>,
    /// The first and the last leg.
    pub ends: [u32; 2],
    /// Bytes that the buffer behind this leg can hold.
    pub room: u64,
    /// Whether the leg after it was opened.
    pub opened: bool,
    /// User bytes of this leg that were handed on.
    pub handed: u64,
    /// The last window that this leg was told, bytes.
    pub told: u64,
    /// The share that a leg was told.
    pub share: Option<Share>,
}

/// How the share of a leg is worked out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    pub updated: Option<Time>,
    /// Bytes that the link had carried then, and those of them that were of legs with a share.
    pub link_bytes: u64,
    pub own_bytes: u64,
    /// Smoothed rate of others, bit/s.
    pub load: f64,
}

/// The legs by flow; none where nothing is split.
pub(crate) fn legs(flows: &[FlowConfig]) -> Vec<Option<Box<Leg>>> {
    let mut legs: Vec<Option<Box<Leg>>> = flows.iter().map(|_| None).collect();
    if flows.iter().all(|flow| flow.application.fed_by().is_none()) {
        return legs;
    }
    // From the last on, so that the first of a name counts.
    let ids: BTreeMap<&str, usize> =
        flows.iter().enumerate().rev().map(|(id, flow)| (flow.name.as_str(), id)).collect();
    for (id, flow) in flows.iter().enumerate() {
        let SourceConfig::Relay { before, buffer_bytes, share } = &flow.application else { continue };
        let Some(&before) = ids.get(before.as_str()) else { continue };
        let leg = legs[before].get_or_insert_default();
        (leg.after, leg.room, leg.told) = (Some(id as u32), *buffer_bytes, *buffer_bytes);
        let leg = legs[id].get_or_insert_default();
        leg.before = Some(before as u32);
        leg.share = (*share == RelayShare::OfLink).then(Share::default);
    }
    for id in 0..legs.len() {
        let follow = |step: fn(&Leg) -> Option<u32>| {
            let mut at = id as u32;
            while let Some(next) = legs[at as usize].as_deref().and_then(step) {
                at = next;
            }
            at
        };
        let ends = [follow(|leg| leg.before), follow(|leg| leg.after)];
        if let Some(leg) = &mut legs[id] {
            leg.ends = ends;
        }
    }
    legs
}

/// The control of a leg that has a share.
pub(crate) fn assigned(config: &TcpConfig) -> Box<Assigned> {
    let options = &config.options;
    Box::new(Assigned::new(Start {
        cwnd: options.initial_window.into(),
        ssthresh: f64::INFINITY,
        clamp: options.window.into(),
        mss: options.mss.0 as u32,
    }))
}
