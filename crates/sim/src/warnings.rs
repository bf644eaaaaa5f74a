//! What the numbers of a finished run do not say by themselves: flows that delivered nothing and why, rows that were
//! left out.

use crate::flow::Flow;
use crate::link::Refused;
use crate::recorder::MOST_DROP_ROWS;
use crate::records::{DropCause, DropCounts, FlowSummary};
use crate::simulation::Simulation;

/// A sentence for each of so many flows; the others are counted.
const MOST_SILENT_FLOWS: usize = 50;

impl Simulation {
    /// One sentence for each thing that a reader of the results should know.
    pub(crate) fn warnings(&self, flows: &[FlowSummary]) -> Vec<String> {
        let mut warnings = Vec::new();
        let names = &self.recorder.records.flow_names;
        let failed: Vec<String> =
            names.iter().zip(&self.flows).filter_map(|(name, flow)| failure(name, flow)).collect();
        let rest = failed.len().saturating_sub(MOST_SILENT_FLOWS);
        warnings.extend(failed.into_iter().take(MOST_SILENT_FLOWS));
        if rest > 0 {
            warnings.push(format!("{rest} further connections ended before their applications were done"));
        }
        let silent: Vec<&FlowSummary> = flows.iter().filter(|flow| flow.bytes_delivered == 0).collect();
        warnings.extend(silent.iter().take(MOST_SILENT_FLOWS).map(|flow| self.why_silent(flow)));
        if silent.len() > MOST_SILENT_FLOWS {
            let rest = silent.len() - MOST_SILENT_FLOWS;
            warnings.push(format!("{rest} further flows delivered nothing"));
        }
        let refusing = self.links.iter().enumerate().filter_map(|(id, state)| {
            let Refused { too_large, no_class } = state.link.discipline()?.refused;
            Some([(id, too_large, "larger than its bucket"), (id, no_class, "of a flow or class without a queue")])
        });
        warnings.extend(refusing.flatten().filter(|&(_, packets, _)| packets > 0).map(|(id, packets, why)| {
            let link = &self.recorder.records.link_names[id];
            format!("the queue of {link} dropped {packets} packets because they were {why}")
        }));
        warnings.extend(self.recorder.records.workload_warnings(&self.recorder.pages_loaded));
        let left_out = self.recorder.records.drops_left_out;
        if left_out > 0 {
            warnings.push(format!(
                "the table of drops holds the first {MOST_DROP_ROWS} lost packets; {left_out} later ones are in the \
                 totals only"
            ));
        }
        warnings
    }

    /// Why a flow has delivered nothing, as far as its packets tell.
    fn why_silent(&self, summary: &FlowSummary) -> String {
        let id = summary.flow as usize;
        let records = &self.recorder.records;
        let node = |node: u32| &records.node_names[node as usize];
        let ttl = self.flows[id].ttl;
        let mut causes = Vec::new();
        let without = self.recorder.flow_paths(id).without_until(self.now, (summary.start, summary.stop));
        let own = summary.stop.since(summary.start);
        if !without.is_zero() && !own.is_zero() {
            let share = 100.0 * without.as_secs_f64() / own.as_secs_f64();
            let (from, to) = (node(summary.from), node(summary.to));
            causes.push(format!("no route from {from:?} to {to:?} for {share:.1} % of its time"));
        }
        let of_ttl = |drops: &DropCounts| drops[DropCause::Ttl as usize] > 0;
        if of_ttl(&summary.drops) || of_ttl(&summary.ack_drops) {
            let hops = self.recorder.flow_paths(id).most_hops;
            causes.push(format!("its hop limit is {ttl} (ttl), its path had up to {hops} hops"));
        }
        if summary.packets_sent == 0 {
            causes.push("it sent no packet".to_owned());
        }
        causes.extend(losses("packets", summary.packets_sent, &summary.drops));
        causes.extend(losses("acknowledgements", self.flows[id].totals.acks_sent, &summary.ack_drops));
        if causes.is_empty() {
            let (sent, arrived) = (summary.packets_sent, summary.packets_received);
            causes.push(format!("{arrived} of {sent} packets had arrived at its end, none with data"));
        }
        format!("flow {:?} delivered nothing: {}", records.flow_names[id], causes.join("; "))
    }
}

/// When and why a flow's connection ended before its application was done.
fn failure(name: &str, flow: &Flow) -> Option<String> {
    let failure = flow.ends.failure()?;
    Some(format!("the connection of flow {name:?} ended after {} s: {}", failure.at.as_secs_f64(), failure.words))
}

/// How many were lost, by cause.
fn losses(what: &str, sent: u64, drops: &DropCounts) -> Option<String> {
    let lost: u64 = drops.iter().sum();
    let causes = DropCause::ALL.iter().zip(drops).filter(|&(_, &count)| count > 0);
    let list: Vec<String> = causes.map(|(cause, count)| format!("{} {count}", cause.name())).collect();
    (lost > 0).then(|| format!("{lost} of {sent} {what} were lost ({})", list.join(", ")))
}
