//! Congestion controls for Skyhop as plug-ins: the declarations of `skyhop_cc.h` in Rust, for `mod skyhop_cc;` in a
//! plug-in. The header says what each field means and what the engine relies on.
//!
//! Windows and amounts are real numbers of segments, times nanoseconds of simulated time, rates bit/s.

#![allow(dead_code)]

use std::ffi::{c_char, c_int, c_void};

/// Version of this interface. The engine refuses a library of another version.
pub const ABI: u32 = 1;

/// A time that was not measured.
pub const NO_TIME: i64 = -1;

/// `Congestion::kind`: a segment was lost.
pub const LOSS: u32 = 1;
/// `Congestion::kind`: an ECN mark arrived.
pub const ECN: u32 = 2;
/// `Congestion::kind`: the retransmission timer ran out.
pub const TIMEOUT: u32 = 3;

/// What the control decides; filled in before every call and read afterwards.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub cwnd: f64,
    pub ssthresh: f64,
    /// 0: the window alone decides when segments leave.
    pub pacing_bps: f64,
}

/// What the engine offers to a control.
#[repr(C)]
#[derive(Debug)]
pub struct Host {
    pub size: u32,
    pub abi: u32,
    pub context: *mut c_void,
    pub parameter: unsafe extern "C" fn(context: *mut c_void, name: *const c_char, otherwise: f64) -> f64,
    pub log: unsafe extern "C" fn(context: *mut c_void, message: *const c_char),
    pub fail: unsafe extern "C" fn(context: *mut c_void, message: *const c_char),
}

/// How a connection starts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Start {
    pub size: u32,
    pub mss: u32,
    pub clamp: f64,
}

/// An ACK.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    pub size: u32,
    pub mss: u32,
    pub now_ns: i64,
    pub newly_acked: f64,
    pub newly_reported: f64,
    pub slow_start_growth: f64,
    pub avoidance_growth: f64,
    pub rtt_ns: i64,
    pub smoothed_rtt_ns: i64,
    pub min_rtt_ns: i64,
    pub in_flight: f64,
    pub acknowledged: u64,
    pub delivered: u64,
    pub marked: f64,
    pub round_ends: u32,
    pub repairing: u32,
}

/// Segments found lost.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    pub size: u32,
    pub mss: u32,
    pub now_ns: i64,
    pub lost: f64,
    pub in_flight: f64,
}

/// The start of a recovery episode.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    pub size: u32,
    pub mss: u32,
    pub now_ns: i64,
    pub kind: u32,
    pub again: u32,
    pub window: f64,
    pub in_flight: f64,
    pub smoothed_rtt_ns: i64,
    pub min_rtt_ns: i64,
}

/// A segment that leaves.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub size: u32,
    pub mss: u32,
    pub now_ns: i64,
    pub in_flight: f64,
}

/// A function that is told `Fact`.
pub type OnFact<Fact> = unsafe extern "C" fn(control: *mut c_void, fact: *const Fact, window: *mut Window) -> c_int;
/// A function that is told the time.
pub type OnTime = unsafe extern "C" fn(control: *mut c_void, now_ns: i64, window: *mut Window) -> c_int;
/// `on_cwnd_set`.
pub type OnCwndSet = unsafe extern "C" fn(control: *mut c_void, window: *mut Window) -> c_int;
/// `create`.
pub type Create = unsafe extern "C" fn(
    host: *const Host,
    start: *const Start,
    window: *mut Window,
    control: *mut *mut c_void,
) -> c_int;
/// `destroy`.
pub type Destroy = unsafe extern "C" fn(control: *mut c_void);

/// The control: what `skyhop_cc_plugin` returns. `create`, `on_ack` and `on_congestion` must be there.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    pub abi: u32,
    pub size: u32,
    pub create: Option<Create>,
    pub destroy: Option<Destroy>,
    pub on_ack: Option<OnFact<Ack>>,
    pub on_congestion: Option<OnFact<Congestion>>,
    pub on_measured: Option<OnFact<Ack>>,
    pub on_lost: Option<OnFact<Loss>>,
    pub on_recovered: Option<OnTime>,
    pub on_sent: Option<OnFact<Sent>>,
    pub on_handover: Option<OnTime>,
    pub on_cwnd_set: Option<OnCwndSet>,
}

impl Table {
    /// A table of this version without functions, for the `..` of another.
    pub const EMPTY: Table = Table {
        abi: ABI,
        size: size_of::<Table>() as u32,
        create: None,
        destroy: None,
        on_ack: None,
        on_congestion: None,
        on_measured: None,
        on_lost: None,
        on_recovered: None,
        on_sent: None,
        on_handover: None,
        on_cwnd_set: None,
    };
}
