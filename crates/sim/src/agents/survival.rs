//! Cumulative explicit notification of transport errors (CETEN; Eddy, Ostermann and Allman 2004; `algorithms.md` §3.3):
//! data carry the probability that nothing corrupts them on their path, each marked link multiplies what it finds, the
//! receiver echoes it.
//!
//! The far end of a marked link estimates its error rate from what it checks, as a gateway of BEEN does
//! ([`super::estimator`]); a packet of L units survives the link with (1 − rate)^L. Deviation: the option takes no
//! bytes.

use super::config::{CountUnit, SurvivalOptions};
use super::estimator::{Estimator, Integrity};
use super::{Agents, NOBODY, claim, report};
use crate::error::SimulationError;
use crate::packet::Packet;
use skyhop_topology::Topology;
use std::collections::BTreeMap;

/// What links say about survival, and what packets carry of it.
#[derive(Default)]
pub(super) struct Survival {
    estimators: Vec<Estimator>,
    /// By link the place in `estimators`, or [`NOBODY`].
    of_link: Vec<u32>,
    /// Survival of data in flight, by flow and number.
    carried: BTreeMap<(u32, u32), f64>,
    /// By flow what arrived last.
    echoed: BTreeMap<u32, f64>,
}

impl Survival {
    pub(super) fn mark(&mut self, config: &SurvivalOptions, topology: &Topology) -> Result<(), SimulationError> {
        self.of_link.resize(topology.links().len(), NOBODY);
        for link in report::watched(config.links.as_deref(), topology)? {
            claim(&mut self.of_link, link, self.estimators.len(), topology)
                .map_err(|name| SimulationError::MarkedTwice { name })?;
            self.estimators.push(Estimator::new(config.window, config.weight, config.unit.unwrap_or(CountUnit::Bit)));
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.estimators.is_empty()
    }

    pub(super) fn marks(&self, link: u32) -> bool {
        self.of_link.get(link as usize).is_some_and(|&place| place != NOBODY)
    }

    /// A packet was checked at the far end of a link.
    pub(super) fn checked(&mut self, link: u32, packet: &Packet, integrity: Integrity) {
        let Some(estimator) = self.of_link.get(link as usize).and_then(|&at| self.estimators.get_mut(at as usize))
        else {
            return;
        };
        estimator.add(packet.size, integrity);
        if integrity == Integrity::Sound && !packet.is_ack() {
            let survives = estimator.survival(packet.size);
            self.carried.entry((packet.flow, packet.number)).and_modify(|all| *all *= survives).or_insert(survives);
        }
    }

    /// Data are where they are going.
    pub(super) fn arrived(&mut self, packet: &Packet) {
        if let Some(survives) = self.carried.remove(&(packet.flow, packet.number)) {
            self.echoed.insert(packet.flow, survives);
        }
    }
}

impl Agents {
    /// What the ACKs of a flow echo.
    pub(crate) fn survival_of(&self, flow: u32) -> Option<f64> {
        self.survival.echoed.get(&flow).copied()
    }

    /// A packet is lost, and what it carried with it.
    pub(crate) fn forget(&mut self, packet: &Packet) {
        if !packet.is_ack() {
            self.survival.carried.remove(&(packet.flow, packet.number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;
    use skyhop_base::Time;

    /// Three links that lose 1 %, 2 % and none of packets of 1000 B, as the worked example has it.
    #[test]
    fn what_a_packet_carries_is_the_product_of_its_links() {
        let all: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/vectors/algorithms_vectors.json")).unwrap();
        let v = all["vectors"].as_array().unwrap().iter().find(|v| v["name"] == "ceten_average").unwrap();
        let want = v["expected"]["survival_three_hops_0_99_0_98_1"].as_f64().unwrap();
        let estimator = || Estimator::new(1000, 1.0, CountUnit::Byte);
        let mut survival = Survival {
            estimators: vec![estimator(), estimator(), estimator()],
            of_link: vec![0, 1, 2],
            ..Survival::default()
        };
        let packet = |number| Packet {
            stamp: Time::ZERO,
            flow: 3,
            seq: number,
            number,
            detail: 0,
            to: 0,
            size: 1000,
            ttl: 9,
            flags: Flags::NONE,
        };
        for (link, lost) in [(0, 10), (1, 20), (2, 0)] {
            for number in 0..1000 {
                let integrity = if number < lost { Integrity::Corrupted } else { Integrity::Sound };
                survival.checked(link, &packet(number), integrity);
            }
        }
        survival.carried.clear();
        (0..3).for_each(|link| survival.checked(link, &packet(5000), Integrity::Sound));
        survival.arrived(&packet(5000));
        let found = survival.echoed[&3];
        assert!((found - want).abs() < 1e-9, "{found} {want}");
        assert!(survival.carried.is_empty());
    }
}
