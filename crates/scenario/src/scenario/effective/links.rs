//! What of the queues, the repair and the profiles of links is run.

use super::form::{forget_in, list_of};
use crate::format::{ArqFile, RepairFile, RepeatsName, StarlinkFile, UpToFile};
use serde_json::{Map, Value};
use skyhop_base::Duration;
use skyhop_queue::QueueSpec;
use skyhop_tcp::control::{ControlKind, EcnUse};

/// What the senders of a scenario put into packets.
pub(super) struct Packets {
    /// Some can carry an ECN mark.
    can_mark: bool,
    /// Some have low priority: those of TCP Peach.
    has_low: bool,
}

impl Packets {
    pub(super) fn of(form: &Value) -> Packets {
        let senders: Vec<&Value> = list_of(form, "flows").chain(list_of(form, "workloads")).collect();
        let agents = list_of(form, "agents").map(|agent| &agent["pep"]["tcp"]);
        let tcps: Vec<&Value> = senders.iter().map(|sender| &sender["tcp"]).chain(agents).collect();
        Packets {
            can_mark: tcps.iter().any(|tcp| asks_for_ecn(tcp))
                || senders.iter().any(|sender| sender["quic"].is_object()),
            has_low: tcps.iter().any(|tcp| tcp["recovery"].as_str().is_some_and(|name| name.starts_with("peach"))),
        }
    }
}

/// Whether a TCP sends packets that can carry a mark.
fn asks_for_ecn(tcp: &Value) -> bool {
    let control = tcp["control"].as_object().and_then(|control| control.keys().next());
    let of_linux = control.filter(|_| tcp["profile"].is_string()).and_then(|name| ControlKind::named(name));
    tcp["ecn"].as_str().is_some_and(|ecn| ecn != "off") || of_linux.is_some_and(|kind| kind.ecn() != EcnUse::Classic)
}

/// Takes the values away that no link reads.
pub(super) fn forget_unread(form: &mut Value, packets: &Packets) {
    let stations = form["stations"].as_object();
    let may_go_down = stations.into_iter().flatten().any(|(_, station)| !station["terrestrial"].is_null());
    for (transmitter, is_wire) in transmitters(form) {
        if let Some(queue) = transmitter.get_mut("queue") {
            forget_in_queue(queue, packets);
        }
        if !packets.can_mark {
            forget_listed_marks(transmitter);
        }
        // A link that goes down asks who has not been answered.
        if is_wire && !may_go_down {
            forget_in_repair(transmitter);
        }
        if let Some(profile) = transmitter.get_mut("profile").and_then(|profile| profile.get_mut("starlink")) {
            forget_in_profile(profile);
        }
    }
}

/// Whether a list of single errors marks packets.
pub(super) fn lists_mark(form: &Value) -> bool {
    match form {
        Value::Object(table) => {
            table.get("outcome").is_some_and(|outcome| outcome == "mark") || table.values().any(lists_mark)
        }
        Value::Array(items) => items.iter().any(lists_mark),
        _ => false,
    }
}

/// Whether a transmitter follows the slots of a profile.
pub(super) fn has_profile(form: &mut Value) -> bool {
    transmitters(form)
        .iter()
        .any(|(transmitter, _)| transmitter.get("profile").is_some_and(|profile| !profile.is_null()))
}

/// The transmitters of all links, and whether they send into wires.
fn transmitters(form: &mut Value) -> Vec<(&mut Map<String, Value>, bool)> {
    let mut found: Vec<(Option<&mut Value>, bool)> = Vec::new();
    let Some(form) = form.as_object_mut() else { return Vec::new() };
    for (key, value) in form.iter_mut() {
        match key.as_str() {
            "links" => {
                for link in value.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                    let ends = link.iter_mut().filter(|(key, _)| ["forward", "backward"].contains(&key.as_str()));
                    found.extend(ends.map(|(_, end)| (Some(end), true)));
                }
            }
            "flows" => {
                let flows = value.as_array_mut().into_iter().flatten();
                found.extend(flows.map(|flow| (flow.get_mut("access"), true)));
            }
            "constellation" => {
                for (key, links) in value.as_object_mut().into_iter().flatten() {
                    match key.as_str() {
                        "isl" => found.push((Some(links), false)),
                        "gsl" => {
                            let ends = links.as_object_mut().into_iter().flatten();
                            let ends = ends.filter(|(key, _)| ["uplink", "downlink"].contains(&key.as_str()));
                            found.extend(ends.map(|(_, end)| (Some(end), false)));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    found.into_iter().filter_map(|(value, is_wire)| Some((value?.as_object_mut()?, is_wire))).collect()
}

fn forget_in_queue(queue: &mut Value, packets: &Packets) {
    let spec = serde_json::from_value::<QueueSpec>(queue.clone()).ok();
    let Some((name, options)) = queue.as_object_mut().and_then(|queue| queue.iter_mut().next()) else { return };
    let mut unread = match spec {
        Some(spec) => spec.unread(packets.can_mark),
        // Those of the engine.
        None if packets.can_mark && options["ecn"] != false => Vec::new(),
        None if name == "red" => vec!["ecn", "mark_p"],
        None => vec!["mark_above"],
    };
    if !packets.has_low {
        unread.push("priority");
    }
    forget_in(options, &unread);
}

/// Single packets of a list that would be marked if they could carry a mark.
fn forget_listed_marks(transmitter: &mut Map<String, Value>) {
    let errors = transmitter.get_mut("errors").and_then(Value::as_array_mut).into_iter().flatten();
    let lists = errors.filter_map(|error| error.get_mut("list").and_then(Value::as_object_mut));
    for listed in lists.flat_map(Map::values_mut).filter_map(Value::as_array_mut) {
        listed.retain(|entry| entry["outcome"] != "mark");
    }
}

/// Repair of a link that is always there.
fn forget_in_repair(transmitter: &mut Map<String, Value>) {
    let repair = transmitter.get("repair").and_then(|repair| serde_json::from_value::<RepairFile>(repair.clone()).ok());
    let Some(RepairFile { code, arq: Some(arq), .. }) = repair else { return };
    let has_errors = transmitter.get("errors").and_then(Value::as_array).is_some_and(|errors| !errors.is_empty());
    let ArqFile { tries, repeats, answer, .. } = arq;
    if !has_errors && code.is_none() && answer.is_none() {
        // Nothing fails, and answers take no bytes.
        transmitter.shift_remove("repair");
        return;
    }
    let Some(repair) = transmitter.get_mut("repair") else { return };
    if repeats == Some(RepeatsName::GoBackN) {
        // All packets behind a failed one are sent again.
        forget_in(repair, &["order"]);
    } else if tries == 1 {
        // Nobody waits for an answer.
        forget_in(&mut repair["arq"], &["round_trip"]);
    }
}

/// Values of slots that decide only about what is zero, or the same in every slot.
fn forget_in_profile(starlink: &mut Value) {
    let Ok(file) = serde_json::from_value::<StarlinkFile>(starlink.clone()) else { return };
    let quantiles = |delays: Option<&UpToFile>| delays.map(UpToFile::quantiles).unwrap_or_default();
    let jitters = [quantiles(file.jitter.as_ref()), quantiles(file.busy_jitter.as_ref())];
    let has_jitter = jitters.iter().flatten().any(|jitter| !jitter.is_zero());
    let spreads = has_jitter && varies(&file.spread.unwrap_or_default());
    let ripples = file.ripple.is_some_and(|factors| !factors.is_empty());
    let [before, after] = [file.before, file.after].map(|time| time.unwrap_or(Duration::ZERO));
    let mut unread = Vec::new();
    if !has_jitter {
        unread.push("spread");
    }
    if !has_jitter && !ripples {
        unread.push("jitter_every");
    }
    let steps = quantiles(file.step.as_ref());
    if !spreads && !varies(&steps) {
        unread.push("correlation");
    }
    let has_steps = steps.iter().any(|step| !step.is_zero());
    let pauses = file.pause.map(|pause| pause.quantiles()).unwrap_or_default();
    let loses = file.in_flight_loss.is_some_and(|share| share > 0.0);
    if !has_steps && pauses.iter().all(|pause| pause.is_zero()) {
        unread.push("in_flight_loss");
    }
    if !varies(&steps) {
        unread.push("stay");
        // A reroute loses the packets in flight for as long as the new step.
        if !(has_steps && loses) {
            unread.extend(["reroute", "reroute_at"]);
        }
    }
    if !varies(&file.rates.unwrap_or_default()) {
        unread.push("rate_correlation");
    }
    if before.is_zero() && after.is_zero() {
        unread.extend(["spike", "edge_loss"]);
    }
    forget_in(starlink, &unread);
}

/// Whether a draw from these quantiles can give different values.
fn varies<T: PartialEq>(quantiles: &[T]) -> bool {
    quantiles.windows(2).any(|pair| pair[0] != pair[1])
}
