//! What of a scenario is run: its canonical form without what nothing reads.

use super::{Queue, Scenario};
use form::{forget, list_of};
use links::Packets;
use serde_json::{Map, Value};
use skyhop_cc::{Bundle, ControlSpec, Input};
use skyhop_tcp::control::{ControlKind, EcnUse};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

mod form;
mod links;

/// So many controls, each with its parameters, are kept with what they do not read.
const MOST_KNOWN: usize = 1000;

impl Scenario {
    /// The canonical form without values that no component of the run reads. Two scenarios in which it is the same give
    /// the same records; `tests/effect.rs` runs them.
    pub(crate) fn effective(&self) -> Value {
        let mut form = self.canonical();
        if !self.queues().iter().any(|queue| matches!(queue, Queue::Discipline(spec) if spec.sees_classes())) {
            for key in ["flows", "workloads"] {
                let flows = form.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten();
                flows.filter_map(Value::as_object_mut).for_each(|flow| _ = flow.shift_remove("class"));
            }
        }
        let packets = Packets::of(&form);
        links::forget_unread(&mut form, &packets);
        self.forget_unread_by_quic(&mut form);
        self.forget_records(&mut form);
        if let Some(routing) = form.get_mut("routing").and_then(Value::as_object_mut) {
            // Routes over wires are what they were at the start.
            if self.satellite_count() == 0 {
                routing.shift_remove("every");
            }
        }
        // The control of a leg that has a share begins with the initial window, whatever opens it elsewhere.
        let has_shares = list_of(&form, "agents").any(|agent| !agent["pep"]["share"].is_null());
        let marks = self.marks(&form);
        for key in ["flows", "workloads"] {
            for flow in form.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(tcp) = flow.get_mut("tcp").and_then(Value::as_object_mut) {
                    forget_unread(tcp, has_shares, marks);
                }
            }
        }
        // Only BEEN takes the error rate; the others go by the report itself.
        let takes_rate = |sender: &Value| sender["tcp"]["notification"].get("been").is_some();
        let takes_rate = ["flows", "workloads"].iter().any(|key| list_of(&form, key).any(takes_rate));
        for agent in form.get_mut("agents").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(report) = agent.get_mut("error_report").and_then(Value::as_object_mut).filter(|_| !takes_rate) {
                forget(report, &["window", "weight", "unit"]);
            }
            if let Some(tcp) = agent["pep"].get_mut("tcp").and_then(Value::as_object_mut) {
                forget_unread(tcp, has_shares, marks);
            }
        }
        let (stations, satellites) = (self.stations.len(), self.satellite_count());
        if let Some(sky) = form.get_mut("constellation").and_then(Value::as_object_mut) {
            if stations == 0 {
                sky.shift_remove("gsl");
            }
            if satellites < 2 {
                sky.shift_remove("isl");
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
        self.forget_epoch(&mut form);
        form
    }

    /// Takes the instant of the start away where nothing goes by the calendar: neither elements nor slots.
    fn forget_epoch(&self, form: &mut Value) {
        let has_slots = !form["constellation"]["gsl"]["handover"]["checks"]["slots"].is_null();
        let has_elements = self.constellation.as_ref().is_some_and(|sky| sky.elements.is_some());
        if has_slots || has_elements || links::has_profile(form) {
            return;
        }
        if let Some(sky) = form.get_mut("constellation").and_then(Value::as_object_mut) {
            forget(sky, &["epoch"]);
        }
    }

    /// Whether the mark that a packet can carry makes a difference: something marks, or the records show it.
    fn marks(&self, form: &Value) -> bool {
        let of_queue = |queue: &Queue| match queue {
            Queue::Unlimited => false,
            Queue::DropTail(fifo) | Queue::DropFront(fifo) => fifo.mark_above.is_some(),
            Queue::Red(red) => red.ecn,
            Queue::Discipline(spec) => spec.marks(),
        };
        !self.records.packets.is_empty() || self.queues().into_iter().any(of_queue) || links::lists_mark(form)
    }

    /// Takes the options away that a QUIC stack does not read.
    fn forget_unread_by_quic(&self, form: &mut Value) {
        for key in ["flows", "workloads"] {
            // Those of a workload are streams of their own.
            let applications = self.flows.iter().map(|flow| Some(&flow.application)).filter(|_| key == "flows");
            let applications = applications.chain(std::iter::repeat(None));
            let senders = form.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten();
            for (sender, application) in senders.zip(applications) {
                let Some(quic) = sender.get_mut("quic").and_then(Value::as_object_mut) else { continue };
                if quic.get("datagrams") == Some(&Value::Bool(true)) {
                    // DATAGRAM frames have no flow control (RFC 9221, section 5.3). picoquic's window limits its cwnd.
                    quic.shift_remove("stream_window");
                    quic.shift_remove("connection_window");
                    if quic.get("stack").is_some_and(|stack| stack != "picoquic") {
                        quic.shift_remove("send_window");
                    }
                }
                if application.is_some_and(|application| !application.has_end()) {
                    // All data share one stream.
                    quic.shift_remove("max_streams");
                }
            }
        }
    }

    /// Takes records away that nothing fills.
    fn forget_records(&self, form: &mut Value) {
        let Some(records) = form.get_mut("records").and_then(Value::as_object_mut) else { return };
        if self.satellite_count() == 0 {
            records.shift_remove("positions");
        }
        // Portions with a deadline are followed in any case.
        let mut applications = self.flows.iter().map(|flow| &flow.application);
        if !applications.any(|application| application.payload_bytes().is_some() && application.deadline().is_none()) {
            records.shift_remove("updates");
        }
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
fn forget_unread(tcp: &mut Map<String, Value>, has_shares: bool, marks: bool) {
    if tcp.contains_key("profile") {
        return forget_unread_by_linux(tcp);
    }
    let is = |tcp: &Map<String, Value>, key: &str, values: &[&str]| {
        let found = tcp.get(key).or_else(|| tcp.get("ns2")?.get(key));
        found.and_then(Value::as_str).is_some_and(|found| values.contains(&found))
    };
    let recovers = |names: &[&str]| is(tcp, "recovery", names);
    let sack_rules = |names: &[&str]| recovers(&["sack"]) && is(tcp, "sack_rules", names);
    let mut unread: Vec<&str> = Vec::new();
    if is(tcp, "sack", &["off"]) {
        unread.extend(["sack_option_size", "sack_block_size", "max_sack_blocks", "sack_memory", "sack_after_timeout"]);
    }
    if !recovers(&["sack"]) {
        unread.push("sack_rules");
    }
    if recovers(&["yam", "peach+"]) {
        // Other values are refused.
        unread.push("sack_after_timeout");
    }
    // Recoveries by reports know no partial ACK, and end with the window that they have.
    if recovers(&["sack", "fack", "yam", "peach+", "tahoe"]) {
        unread.push("recovery_exit");
    }
    if !recovers(&["newreno", "peach"]) {
        unread.extend(["partial_ack_timer", "recovery_burst"]);
    }
    if !recovers(&["fack"]) && !sack_rules(&["ns-2-linux"]) {
        unread.push("timer_restart");
    }
    if recovers(&["fack", "vegas", "yam"]) || sack_rules(&["ns-2-linux", "nak"]) {
        unread.push("limited_transmit");
    }
    // The scoreboard says what is lost; duplicates need no leave to count.
    if recovers(&["fack", "vegas", "yam", "peach+"]) || sack_rules(&["rfc-6675", "ns-2-linux", "nak"]) {
        unread.push("retransmit");
    }
    // After a timeout they repair until all data sent before is acknowledged, and the first new ACK forgets duplicates.
    if recovers(&["fack", "yam", "peach+"]) || sack_rules(&["rfc-6675"]) {
        unread.push("duplicates_survive_timeout");
    }
    if sack_rules(&["ns-2-linux"]) && is(tcp, "timer_restart", &["every-ack"]) {
        unread.push("fast_retransmit_restarts_timer");
    }
    if recovers(&["vegas"]) {
        // It restarts its timer by rules of its own and measures with its own clock.
        unread.extend(["fast_retransmit_restarts_timer", "control_rtt"]);
    } else {
        unread.push("send_times");
    }
    if recovers(&["yam"]) {
        // It cuts at every timeout.
        unread.push("repeated_timeout");
    }
    if !recovers(&["fack"]) {
        unread.extend(["fack_rules", "rate_halving"]);
    }
    if !recovers(&["peach", "peach+"]) {
        unread.push("sudden_start_window");
    }
    if sack_rules(&["ns-2-linux", "nak"]) {
        // Their scoreboards have numbers of their own.
        unread.push("duplicate_threshold");
    }
    // Sudden start begins with one segment, whatever the ACK of segment 0 has opened.
    let opens = has_shares
        || is(tcp, "initial_window_at", &["open"])
        || (is(tcp, "initial_window_at", &["first-ack"]) && !recovers(&["peach", "peach+"]))
        || (is(tcp, "initial_window_at", &["second-ack"]) && recovers(&["vegas"]));
    if !opens && !is(tcp, "idle_restart", &["restart-window", "timer-to-initial-window"]) {
        unread.push("initial_window");
    }
    if is(tcp, "rtt_arithmetic", &["exact", "linux"]) {
        unread.push("tick_phase");
    }
    if tcp.get("ack_every") == Some(&Value::from(1)) {
        unread.extend(["ack_delay", "delayed_ack"]);
    }
    if is(tcp, "growth", &["per-ack"]) {
        unread.push("growth_limit");
    }
    if is(tcp, "handshake", &["none"]) {
        unread.push("syn_size");
    }
    if let Some(control) = tcp.get("control") {
        unread.extend(unread_by_control(control));
    }
    if !marks {
        unread.push("ecn");
    }
    // What a control takes after a mark.
    if !marks || is(tcp, "ecn", &["off"]) {
        forget_in_control(tcp, |key| key.starts_with("ecn_"));
    }
    forget(tcp, &unread);
    if let Some(ns2) = tcp.get_mut("ns2").and_then(Value::as_object_mut) {
        forget(ns2, &unread);
    }
}

/// The options of the transport that decide only what a control does not read. Controls are tried in a script, and what
/// came out is kept, because the search for keys without effect asks hundreds of times.
fn unread_by_control(control: &Value) -> Vec<&'static str> {
    static KNOWN: Mutex<BTreeMap<String, Vec<&'static str>>> = Mutex::new(BTreeMap::new());
    let text = control.to_string();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(unread) = known.get(&text) {
        return unread.clone();
    }
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    let spec = serde_json::from_value::<ControlSpec>(control.clone()).ok();
    let unread = match spec.and_then(|spec| spec.resolve(Bundle::Rfc).ok()) {
        None => Vec::new(),
        Some(config) => config.unread().into_iter().flat_map(options_of).copied().collect(),
    };
    known.insert(text, unread.clone());
    unread
}

/// The options of the transport that decide an input of controls and nothing else.
fn options_of(input: Input) -> &'static [&'static str] {
    match input {
        Input::Rtt => &["control_rtt"],
        Input::Growth => &["growth", "growth_limit"],
        Input::MayGrow => &["growth_when"],
        Input::CutBase => &["threshold_base"],
        Input::FirstThreshold => &["initial_ssthresh"],
    }
}

/// The same of the TCP of Linux, whose table alone names its profile.
fn forget_unread_by_linux(tcp: &mut Map<String, Value>) {
    let is = |key: &str, value: &str| tcp.get(key).is_some_and(|found| found == value);
    let mut unread: Vec<&str> = Vec::new();
    if is("sack", "off") {
        unread.extend(["dsack", "tlp", "rack", "rack_adapts", "rack_duplicate_threshold"]);
    }
    if is("delayed_ack", "off") {
        unread.push("quick_acks");
    }
    if is("rack", "off") {
        unread.extend(["rack_adapts", "rack_duplicate_threshold"]);
    }
    // It takes the place of a restart; switched off it lets a window stay, too, but not over idle time.
    if is("window_validation", "rfc-7661") {
        unread.push("slow_start_after_idle");
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
            unread.extend(["slow_start_after_idle", "prr", "window_validation", "byte_counting"]);
        }
        if !control.reads_limits() {
            unread.push("app_limited_marks");
        }
        if kind.sizes_bursts() {
            unread.push("min_burst");
        }
        // Careful Resume paces by itself in one of its phases only.
        if kind.sets_rate() {
            unread.push("pacing_ratios");
        }
        if kind.ecn() != EcnUse::Classic {
            unread.push("ecn");
        }
        // With Accurate ECN, which both hosts have, prague alone decides how long bursts are once there is a rate.
        if kind.ecn() == EcnUse::Scalable {
            unread.push("burst_rtt_log");
        }
        has_no_marks = kind.ecn() == EcnUse::Classic && is("ecn", "off");
    }
    if has_no_marks {
        forget_in_control(tcp, |key| key == "abe");
    }
    let leocc = tcp.get("control").and_then(|control| control.get("leocc"));
    if leocc.is_some_and(|options| options["clock"] == "off") {
        forget_in_control(tcp, |key| ["period", "offset"].contains(&key));
    }
    forget(tcp, &unread);
}

/// Takes parameters of the control away.
fn forget_in_control(tcp: &mut Map<String, Value>, is_unread: impl Fn(&str) -> bool) {
    for parameters in tcp.get_mut("control").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if let Some(parameters) = parameters.as_object_mut() {
            parameters.retain(|key, _| !is_unread(key));
        }
    }
}
