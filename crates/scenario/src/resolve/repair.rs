//! Links that repair their errors: values that fit each other and the errors.

use super::Resolver;
use super::wires::LARGEST_PACKET;
use crate::format::{ArqFile, CodeFile, ErasureFile, OrderName, RepairFile, RepeatsName};
use crate::tree::Path;
use skyhop_base::{Duration, Rate};
use skyhop_sim::errors::{ErrorConfig, ErrorModel, ErrorUnit};

/// A usual packet: what fills a block in time does so at the full rate of the link.
const USUAL_PACKET_BYTES: u32 = 1500;

/// The link whose errors are repaired.
pub(super) struct Repaired<'l> {
    pub rate: Option<Rate>,
    pub errors: &'l [ErrorConfig],
    pub errors_path: &'l Path,
    /// It follows a recording or a profile.
    pub paced: bool,
}

impl Resolver<'_, '_, '_> {
    /// Every value, as far as it is right.
    pub(super) fn repair(&mut self, file: &RepairFile, link: &Repaired<'_>, path: &Path) -> RepairFile {
        if file.code.is_none() && file.arq.is_none() && file.erasure.is_none() {
            let help =
                "write code = { n = 255, k = 223 }, arq = { tries = 4 } or erasure = { n = 24, k = 20 }".to_owned();
            self.add(path, "repairs nothing", Some(help));
        }
        if file.arq.is_some() && file.erasure.is_some() {
            self.add(&path.key("erasure"), "excludes \"arq\"", Some("keep one of them".to_owned()));
        }
        if link.paced {
            let message =
                "needs a link of constant rate: one that follows a recording or a profile has its losses from there";
            self.add(path, message, Some("leave \"repair\", or \"trace\" and \"profile\", out".to_owned()));
        }
        let frames = file.arq.is_some() || file.erasure.is_some();
        if file.order.is_some() && !frames {
            self.add(&path.key("order"), "needs \"arq\" or \"erasure\": a code alone keeps the order", None);
        }
        self.check_repairable(file.code.is_some(), frames, link);
        RepairFile {
            code: file.code.map(|code| self.code(code, &path.key("code"))),
            arq: file.arq.map(|arq| self.arq(arq, &path.key("arq"))),
            erasure: file.erasure.map(|erasure| self.erasure(erasure, link.rate, &path.key("erasure"))),
            order: frames.then(|| file.order.unwrap_or(OrderName::Kept)),
        }
    }

    fn arq(&mut self, arq: ArqFile, path: &Path) -> ArqFile {
        let path = path.key("answer");
        if arq.answer.is_some_and(|answer| answer.0 == 0 || answer.0 > LARGEST_PACKET) {
            self.add(&path, format!("must be 1 to {LARGEST_PACKET} B; without it answers take no bytes"), None);
        }
        if arq.answer.is_some() && arq.round_trip.is_some() {
            self.add(&path, "excludes \"round_trip\": answers take the time that the link back needs", None);
        }
        ArqFile { repeats: arq.repeats.or(Some(RepeatsName::Selective)), ..arq }
    }

    fn code(&mut self, code: CodeFile, path: &Path) -> CodeFile {
        let CodeFile { n, k, t } = code;
        if k > n {
            self.add(&path.key("k"), format!("{k} of data do not fit into a block of {n}"), None);
        }
        let most = n.saturating_sub(k) / 2;
        if let Some(t) = t.filter(|&t| t > most) {
            let message = format!("{} of parity correct at most {most} errors, not {t}", n.saturating_sub(k));
            self.add(&path.key("t"), message, None);
        }
        CodeFile { t: Some(t.unwrap_or(most)), ..code }
    }

    fn erasure(&mut self, erasure: ErasureFile, rate: Option<Rate>, path: &Path) -> ErasureFile {
        let ErasureFile { n, k, within } = erasure;
        if k >= n {
            self.add(&path.key("k"), format!("must be less than n, {n}: the rest is parity"), None);
        }
        let usual = || rate.map_or(Duration::ZERO, |rate| rate.time_of(USUAL_PACKET_BYTES) * u64::from(k));
        ErasureFile { within: Some(within.unwrap_or_else(usual)), ..erasure }
    }

    /// Errors of which it is defined what repair makes of them.
    fn check_repairable(&mut self, coded: bool, frames: bool, link: &Repaired<'_>) {
        for (i, error) in link.errors.iter().enumerate() {
            let path = link.errors_path.index(i);
            if coded && error.unit() == ErrorUnit::Packet {
                let help = "use byte or bit, or arq or erasure without code".to_owned();
                self.add(&path, "a block code corrects bytes: it says nothing about losses of packets", Some(help));
            }
            if frames && error.names_packets() {
                let message = "names packets, of which a link that repairs sends several copies";
                self.add(&path.key(error.key()), message, Some("use a probability, bursts or times".to_owned()));
            }
        }
    }
}
