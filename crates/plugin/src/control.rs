//! A control whose decisions are those of a plug-in.

use crate::abi;
use skyhop_base::{Duration, Rate, Time};
use skyhop_cc::outside;
use skyhop_cc::plugin::PluginConfig;
use skyhop_cc::{
    AckSample, CcState, CongestionControl, CongestionEvent, CongestionKind, LossSample, Lost, PathHint, Segments,
    SentSample, Start,
};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::ptr;

/// What the functions of a host know. It lies in a box, so that its address stays.
struct Context {
    /// "libmine.so of the flow \"f\"".
    place: String,
    now: Cell<Option<Time>>,
    parameters: BTreeMap<String, f64>,
    asked: RefCell<BTreeSet<String>>,
    failure: RefCell<Option<String>>,
}

impl Context {
    /// "libmine.so of the flow \"f\" at 0.5 s".
    fn place(&self) -> String {
        match self.now.get() {
            Some(now) => format!("{} at {} s", self.place, now.as_secs_f64()),
            None => self.place.clone(),
        }
    }
}

/// What the plug-in holds; dropping it tells the plug-in.
struct Held {
    control: *mut c_void,
    destroy: Option<abi::Destroy>,
    /// Both are valid until `destroy` returned.
    _host: Box<abi::Host>,
    context: Box<Context>,
}

// SAFETY: the pointer is the plug-in's own, and skyhop_cc.h demands that a control may be called from another thread
// than the one that created it. Everything else is owned by this value alone: the host points to its own context, and
// both are boxes that move with it.
unsafe impl Send for Held {}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy {
            // SAFETY: the control is what `create` stored, and this is the last call with it.
            unsafe { destroy(self.control) };
        }
    }
}

/// A control from a plug-in.
pub(crate) struct Control {
    place: String,
    /// `None` after a failure: the run is about to end, and nothing is called any more.
    held: Option<Held>,
    table: abi::Table,
    clamp: Segments,
    mss: u32,
    window: abi::Window,
    pacing: Option<Rate>,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Control({}, cwnd {})", self.place, self.window.cwnd)
    }
}

impl Control {
    /// A control that does nothing, in a run that is about to end.
    pub(crate) fn dead(place: String, start: Start) -> Control {
        Control {
            place,
            held: None,
            table: abi::Table::EMPTY,
            clamp: start.clamp,
            mss: start.mss,
            window: abi::Window { cwnd: start.cwnd.max(1.0), ssthresh: start.ssthresh, pacing_bps: 0.0 },
            pacing: None,
        }
    }

    /// A control at the start of a connection.
    pub(crate) fn create(table: abi::Table, config: &PluginConfig, place: String, start: Start) -> Control {
        let mut made = Control { table, ..Control::dead(place.clone(), start) };
        let context = Box::new(Context {
            place,
            now: Cell::new(None),
            parameters: config.parameters.clone(),
            asked: RefCell::default(),
            failure: RefCell::default(),
        });
        let host = Box::new(abi::Host {
            size: size_of::<abi::Host>() as u32,
            abi: abi::ABI,
            context: ptr::from_ref(&*context).cast_mut().cast(),
            parameter,
            log,
            fail,
        });
        let view = abi::Start { size: size_of::<abi::Start>() as u32, mss: start.mss, clamp: start.clamp };
        let mut control = ptr::null_mut();
        let Some(create) = table.create else { return made };
        // SAFETY: the pointers are valid during the call, and the host for as long as the control: `Held` keeps it. The
        // function has this type, as the header demands of a table of this version.
        let answer = unsafe { create(&raw const *host, &raw const view, &raw mut made.window, &raw mut control) };
        let mut held = Held { control, destroy: table.destroy, _host: host, context };
        if answer != 0 {
            // Nothing was created.
            held.destroy = None;
        }
        made.held = Some(held);
        made.settle("create", answer);
        made.check_parameters();
        made
    }

    /// A parameter that nobody asked for would be without effect.
    fn check_parameters(&mut self) {
        let Some(held) = &self.held else { return };
        let asked = held.context.asked.borrow();
        let Some(unknown) = held.context.parameters.keys().find(|name| !asked.contains(*name)) else { return };
        let known = asked.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "takes no parameters".to_owned() } else { format!("takes {known}") };
        let message = format!("{}: there is no parameter {unknown:?}: the plug-in {known}", held.context.place());
        drop(asked);
        self.end(message);
    }

    /// Takes over what a call of the plug-in answered, or ends the run.
    #[inline]
    fn settle(&mut self, name: &str, answer: c_int) {
        let Some(held) = &self.held else { return };
        let failure = held.context.failure.take();
        let message = match (failure, answer) {
            (Some(reason), _) => reason,
            (None, 0) => match held_window(&mut self.window, self.clamp) {
                Ok(pacing) => {
                    self.pacing = pacing;
                    return;
                }
                Err(reason) => reason,
            },
            (None, code) => format!("it returned the error {code}"),
        };
        let message = format!("{}: {name}: {message}", held.context.place());
        self.end(message);
    }

    fn end(&mut self, message: String) {
        outside::fail(message);
        self.held = None;
        // What it said last may be no window.
        self.window.cwnd = if self.window.cwnd >= 1.0 { self.window.cwnd.min(1e6) } else { 1.0 };
        self.window.ssthresh = f64::INFINITY;
        self.pacing = None;
    }

    /// Calls a function that is told a fact.
    #[inline]
    fn tell<Fact>(&mut self, name: &str, now: Time, call: Option<abi::OnFact<Fact>>, fact: &Fact) {
        let (Some(call), Some(held)) = (call, &self.held) else { return };
        held.context.now.set(Some(now));
        // SAFETY: the control is what `create` stored and was not destroyed; the pointers are valid during the call.
        let answer = unsafe { call(held.control, ptr::from_ref(fact), &raw mut self.window) };
        self.settle(name, answer);
    }

    /// Calls a function that is told the time.
    fn tell_time(&mut self, name: &str, now: Option<Time>, call: Option<abi::OnTime>) {
        let (Some(call), Some(held)) = (call, &self.held) else { return };
        let now = now.or(held.context.now.get());
        held.context.now.set(now);
        // SAFETY: as in `tell`.
        let answer = unsafe { call(held.control, nanoseconds(now.unwrap_or(Time::ZERO)), &raw mut self.window) };
        self.settle(name, answer);
    }

    fn view(&self, sample: &AckSample) -> abi::Ack {
        abi::Ack {
            size: size_of::<abi::Ack>() as u32,
            mss: sample.mss,
            now_ns: nanoseconds(sample.now),
            newly_acked: sample.newly_acked,
            newly_reported: sample.newly_reported,
            slow_start_growth: sample.growth.slow_start,
            avoidance_growth: sample.growth.avoidance,
            rtt_ns: measured(sample.latest_rtt),
            smoothed_rtt_ns: measured(sample.smoothed_rtt),
            min_rtt_ns: measured(sample.min_rtt),
            in_flight: sample.in_flight,
            acknowledged: sample.acknowledged,
            delivered: sample.delivered,
            marked: sample.ecn_marked,
            round_ends: u32::from(sample.round.is_some()),
            repairing: u32::from(sample.repairing),
        }
    }
}

/// Checks the window that a plug-in left, and holds it within its bounds. The rate at which segments leave, if any.
#[inline]
fn held_window(window: &mut abi::Window, clamp: Segments) -> Result<Option<Rate>, String> {
    let abi::Window { cwnd, ssthresh, pacing_bps } = *window;
    if !cwnd.is_finite() || cwnd < 0.0 {
        return Err(format!("cwnd is {cwnd}: a window is a finite number of segments, and not negative"));
    }
    if ssthresh.is_nan() {
        return Err("ssthresh is not a number".to_owned());
    }
    window.cwnd = cwnd.min(clamp).max(1.0);
    match pacing_bps {
        0.0 => Ok(None),
        rate if rate.is_finite() && rate >= 1.0 => Ok(Rate::from_bps(rate as u64)),
        rate => Err(format!("pacing_bps is {rate}: a rate is at least 1 bit/s, and 0 leaves it to the window")),
    }
}

/// A run lasts 52 days at most.
fn nanoseconds(time: Time) -> i64 {
    time.as_nanos() as i64
}

fn measured(time: Option<Duration>) -> i64 {
    time.map_or(abi::NO_TIME, |time| time.as_nanos() as i64)
}

impl CongestionControl for Control {
    fn on_sent(&mut self, sample: &SentSample) {
        let (size, mss, now_ns) = (size_of::<abi::Sent>() as u32, self.mss, nanoseconds(sample.now));
        let view = abi::Sent { size, mss, now_ns, in_flight: sample.in_flight };
        self.tell("on_sent", sample.now, self.table.on_sent, &view);
    }

    fn on_ack(&mut self, sample: &AckSample) {
        let view = self.view(sample);
        self.tell("on_ack", sample.now, self.table.on_ack, &view);
    }

    fn on_measured(&mut self, sample: &AckSample) {
        let view = self.view(sample);
        self.tell("on_measured", sample.now, self.table.on_measured, &view);
    }

    fn on_lost(&mut self, sample: &LossSample) {
        let (size, mss, now_ns) = (size_of::<abi::Loss>() as u32, self.mss, nanoseconds(sample.now));
        let view = abi::Loss { size, mss, now_ns, lost: sample.lost, in_flight: sample.in_flight };
        self.tell("on_lost", sample.now, self.table.on_lost, &view);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let (kind, lost) = match event.kind {
            CongestionKind::Loss(lost) => (abi::LOSS, lost),
            CongestionKind::Ecn => (abi::ECN, Lost::First),
            CongestionKind::Timeout(lost) => (abi::TIMEOUT, lost),
        };
        let view = abi::Congestion {
            size: size_of::<abi::Congestion>() as u32,
            mss: event.mss,
            now_ns: nanoseconds(event.now),
            kind,
            again: u32::from(lost == Lost::Again),
            window: event.window,
            in_flight: event.in_flight,
            smoothed_rtt_ns: measured(event.smoothed_rtt),
            min_rtt_ns: measured(event.min_rtt),
        };
        self.tell("on_congestion", event.now, self.table.on_congestion, &view);
    }

    fn on_recovered(&mut self) {
        self.tell_time("on_recovered", None, self.table.on_recovered);
    }

    fn on_path_hint(&mut self, hint: &PathHint) {
        if let PathHint::Handover { now } = hint {
            self.tell_time("on_handover", Some(*now), self.table.on_handover);
        }
    }

    fn set_cwnd(&mut self, cwnd: Segments) {
        self.window.cwnd = cwnd.min(self.clamp).max(1.0);
        let (Some(call), Some(held)) = (self.table.on_cwnd_set, &self.held) else { return };
        // SAFETY: as in `tell`.
        let answer = unsafe { call(held.control, &raw mut self.window) };
        self.settle("on_cwnd_set", answer);
    }

    fn cwnd(&self) -> Segments {
        self.window.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    fn state(&self) -> CcState {
        CcState::of(self.window.cwnd, self.window.ssthresh)
    }
}

/// The text that a plug-in hands over.
///
/// # Safety
/// `text` is NULL or points to bytes that end with 0, valid for the call.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return "(no text)".to_owned();
    }
    // SAFETY: the caller promises it.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

/// The context of a host.
///
/// # Safety
/// `context` is that of a host whose control was not destroyed.
unsafe fn context<'c>(context: *mut c_void) -> &'c Context {
    // SAFETY: the caller promises it. The context is only ever shared: what changes in it lies in cells.
    unsafe { &*context.cast::<Context>() }
}

unsafe extern "C" fn parameter(of: *mut c_void, name: *const c_char, otherwise: f64) -> f64 {
    // SAFETY: the header demands that a plug-in passes the context of its host.
    let context = unsafe { context(of) };
    // SAFETY: the header demands a text that ends with 0.
    let name = unsafe { text(name) };
    let value = context.parameters.get(&name).copied().unwrap_or(otherwise);
    context.asked.borrow_mut().insert(name);
    value
}

unsafe extern "C" fn log(of: *mut c_void, message: *const c_char) {
    // SAFETY: the header demands that a plug-in passes the context of its host.
    let context = unsafe { context(of) };
    // SAFETY: the header demands a text that ends with 0.
    let message = unsafe { text(message) };
    outside::note(format!("{}: {message}", context.place()));
}

unsafe extern "C" fn fail(of: *mut c_void, message: *const c_char) {
    // SAFETY: the header demands that a plug-in passes the context of its host.
    let context = unsafe { context(of) };
    // SAFETY: the header demands a text that ends with 0.
    let message = unsafe { text(message) };
    context.failure.borrow_mut().get_or_insert(message);
}
