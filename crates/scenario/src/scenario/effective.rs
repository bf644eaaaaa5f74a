//! What of a scenario is run: its canonical form without what nothing reads.

use super::{Queue, Scenario};
use serde_json::{Map, Value};
use skyhop_tcp::control::{ControlKind, EcnUse};

impl Scenario {
    /// The canonical form without values that no component of the run reads. Two scenarios in which it is the same give the
    /// same records; `tests/effect.rs` runs them.
    pub(crate) fn effective(&self) -> Value {
        let mut form = self.canonical();
        if !self.queues().iter().any(|queue| matches!(queue, Queue::Discipline(spec) if spec.sees_classes())) {
            for key in ["flows", "workloads"] {
                let flows = form.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten();
                flows.filter_map(Value::as_object_mut).for_each(|flow| _ = flow.shift_remove("class"));
            }
        }
        for key in ["flows", "workloads"] {
            for flow in form.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(tcp) = flow.get_mut("tcp").and_then(Value::as_object_mut) {
                    forget_unread(tcp);
                }
            }
        }
        for agent in form.get_mut("agents").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(tcp) = agent["pep"].get_mut("tcp").and_then(Value::as_object_mut) {
                forget_unread(tcp);
            }
        }
        let (stations, satellites) = (self.stations.len(), self.satellite_count());
        if let Some(sky) = form.get_mut("constellation").and_then(Value::as_object_mut) {
            if stations == 0 {
                sky.remove("gsl");
            }
            if satellites < 2 {
                sky.remove("isl");
            }
            for links in ["isl", "gsl"] {
                if let Some(links) = sky.get_mut(links) {
                    let checks = if links.get("handover").is_some() { &mut links["handover"] } else { links };
                    if checks["checks"] == "exact" {
                        checks["every"] = Value::Null;
                    }
                }
            }
        }
        form
    }

    /// The queues of all links.
    fn queues(&self) -> Vec<&Queue> {
        let wires = self.links.iter().flat_map(|link| [&link.forward.transmitter, &link.backward.transmitter]);
        let isl = self.constellation.iter().filter_map(|sky| sky.isl.as_ref()).map(|isl| &isl.transmitter);
        let gsl = self.constellation.iter().filter_map(|sky| sky.gsl.as_ref());
        let ground = gsl.flat_map(|gsl| [&gsl.uplink, &gsl.downlink]);
        let access = self.flows.iter().filter_map(|flow| flow.access.as_ref()).map(|access| &access.queue);
        wires.chain(isl).chain(ground).map(|transmitter| &transmitter.queue).chain(access).collect()
    }

    /// Satellites of all kinds.
    pub(crate) fn satellite_count(&self) -> usize {
        let Some(sky) = &self.constellation else { return 0 };
        let of_shells: usize = sky.shells.iter().map(|shell| shell.planes as usize * shell.per_plane as usize).sum();
        let of_elements = sky.elements.as_ref().map_or(0, |elements| elements.satellites.len());
        of_shells + of_elements + sky.satellites.len()
    }
}

/// Takes the options away that this TCP does not read.
fn forget_unread(tcp: &mut Map<String, Value>) {
    if tcp.contains_key("profile") {
        return forget_unread_by_linux(tcp);
    }
    let is = |tcp: &Map<String, Value>, key: &str, values: &[&str]| {
        tcp.get(key).and_then(Value::as_str).is_some_and(|found| values.contains(&found))
    };
    let mut unread: Vec<&str> = Vec::new();
    if is(tcp, "sack", &["off"]) {
        unread.extend(["sack_option_size", "sack_block_size", "max_sack_blocks", "sack_memory", "sack_after_timeout"]);
    }
    if !is(tcp, "recovery", &["sack"]) {
        unread.push("sack_rules");
    }
    // Recoveries by reports know no partial ACK, and end with the window that they have.
    if is(tcp, "recovery", &["sack", "fack", "yam", "peach+"]) {
        unread.extend(["recovery_exit", "partial_ack_timer"]);
    }
    if is(tcp, "recovery", &["tahoe", "reno"]) {
        unread.push("partial_ack_timer");
    }
    if !is(tcp, "recovery", &["fack"]) {
        unread.extend(["fack_rules", "rate_halving"]);
    }
    if !is(tcp, "recovery", &["peach", "peach+"]) {
        unread.push("sudden_start_window");
    }
    if !is(tcp, "recovery", &["vegas"]) {
        unread.push("send_times");
    }
    if tcp.get("ack_every") == Some(&Value::from(1)) {
        unread.push("ack_delay");
    }
    // What a control takes after a mark.
    if is(tcp, "ecn", &["off"]) {
        forget_in_control(tcp, |key| key.starts_with("ecn_"));
    }
    for key in unread {
        tcp.remove(key);
    }
}

/// The same of the TCP of Linux, whose table alone names its profile.
fn forget_unread_by_linux(tcp: &mut Map<String, Value>) {
    let is = |key: &str, value: &str| tcp.get(key).is_some_and(|found| found == value);
    let mut unread: Vec<&str> = Vec::new();
    if is("sack", "off") {
        unread.extend(["dsack", "tlp", "rack_adapts", "rack_duplicate_threshold"]);
    }
    if is("sack", "off") || is("delayed_ack", "off") || tcp.get("compressed_acks") == Some(&Value::from(0)) {
        unread.extend(["compressed_acks", "compression_delay", "compression_slack"]);
    }
    if tcp.contains_key("receive_buffer") {
        unread.extend(["receive_memory", "autotuning"]);
    }
    let mut has_no_marks = false;
    let name = tcp.get("control").and_then(Value::as_object).and_then(|control| control.keys().next());
    if let Some(kind) = name.and_then(|name| ControlKind::named(name)) {
        let control = kind.build(0);
        if control.paces() {
            unread.push("pacing");
        }
        if control.owns_window() {
            unread.push("slow_start_after_idle");
        }
        if kind.ecn() != EcnUse::Classic {
            unread.push("ecn");
        }
        has_no_marks = kind.ecn() == EcnUse::Classic && is("ecn", "off");
        // Both versions have a rule of their own for bursts.
        if kind.name().starts_with("bbr") {
            unread.push("min_burst");
        }
    }
    if has_no_marks {
        forget_in_control(tcp, |key| key == "abe");
    }
    for key in unread {
        tcp.remove(key);
    }
}

/// Takes parameters of the control away.
fn forget_in_control(tcp: &mut Map<String, Value>, is_unread: impl Fn(&str) -> bool) {
    for parameters in tcp.get_mut("control").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if let Some(parameters) = parameters.as_object_mut() {
            parameters.retain(|key, _| !is_unread(key));
        }
    }
}
