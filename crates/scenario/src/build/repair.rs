//! Repair of a link's errors, as the engine takes it.

use super::packet_bytes;
use crate::format::{OrderName, RepairFile, RepeatsName};
use skyhop_sim::spec::{BlockCode, DeliveryOrder, FrameRepair, RepairConfig, Repeats};

pub(super) fn repair(file: &RepairFile) -> RepairConfig {
    let arq = file.arq.map(|arq| FrameRepair::Arq {
        tries: arq.tries,
        repeats: match arq.repeats {
            Some(RepeatsName::GoBackN) => Repeats::GoBackN,
            Some(RepeatsName::Selective) | None => Repeats::Selective,
        },
        round_trip: arq.round_trip,
        answer_bytes: arq.answer.map_or(0, packet_bytes),
    });
    let erasure = file.erasure.map(|erasure| FrameRepair::Erasure {
        n: erasure.n,
        k: erasure.k,
        within: erasure.within.unwrap_or_default(),
    });
    RepairConfig {
        code: file.code.map(|code| BlockCode {
            n: code.n,
            k: code.k,
            t: code.t.unwrap_or(code.n.saturating_sub(code.k) / 2),
        }),
        frames: arq.or(erasure),
        order: match file.order {
            Some(OrderName::AsItComes) => DeliveryOrder::AsItComes,
            Some(OrderName::Kept) | None => DeliveryOrder::Kept,
        },
    }
}
