//! Congestion controls written in Python. The run's thread takes the interpreter for the call alone.
//!
//! An exception in a control ends the run: the thread that runs it keeps the first one and cancels the run, whose
//! result is then the exception.

use crate::errors::ControlError;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use skyhop::Progress;
use skyhop::control::outside::{self, Maker};
use skyhop::control::{
    AckSample, CcState, CongestionControl, CongestionEvent, CongestionKind, LossSample, Lost, PathHint, PythonConfig,
    Segments, SentSample, Start,
};
use skyhop::{Duration, Rate, Time};
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// The module of the base class and of the loader.
const MODULE: &str = "skyhop.own";

/// An exception in a control.
struct Failure {
    error: PyErr,
    /// "MyControl.on_ack".
    place: String,
    now: Option<Time>,
}

thread_local! {
    /// The run of this thread, and the first failure in it.
    static RUN: RefCell<Option<(Arc<Progress>, Option<Failure>)>> = const { RefCell::new(None) };
}

/// Runs with controls in Python; their failure takes the place of the result.
pub(crate) fn guarded<T: Send>(
    progress: &Arc<Progress>,
    run: impl FnOnce() -> Result<T, skyhop::Error> + Send,
) -> Result<Result<T, skyhop::Error>, PyErr> {
    RUN.with_borrow_mut(|slot| *slot = Some((Arc::clone(progress), None)));
    // The thread keeps its state in the interpreter for the whole run: made anew for each call, it costs more than the
    // call.
    let result = Python::attach(|py| py.detach(run));
    let failure = RUN.with_borrow_mut(Option::take).and_then(|(_, failure)| failure);
    match failure {
        None => Ok(result),
        Some(Failure { error, place, now }) => Err(Python::attach(|py| {
            let when = now.map_or_else(String::new, |now| format!(" at {} s", now.as_secs_f64()));
            let raised = ControlError::new_err(format!("{place}{when}: {}", described(py, &error)));
            raised.set_cause(py, Some(error));
            raised
        })),
    }
}

/// "ZeroDivisionError: division by zero".
fn described(py: Python<'_>, error: &PyErr) -> String {
    let name = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    match error.value(py).to_string() {
        text if text.is_empty() => name,
        text => format!("{name}: {text}"),
    }
}

fn fail(error: PyErr, place: String, now: Option<Time>) {
    RUN.with_borrow_mut(|slot| {
        if let Some((progress, failure @ None)) = slot {
            *failure = Some(Failure { error, place, now });
            progress.cancel();
        }
    });
}

/// Makes controls by [`MODULE`]'s `make`.
struct FromPython;

impl Maker<PythonConfig> for FromPython {
    fn make(&self, config: &PythonConfig, start: Start) -> Box<dyn CongestionControl + Send> {
        let made = Python::attach(|py| Control::make(py, config, start));
        let control = made.unwrap_or_else(|error| {
            fail(error, config.class.clone(), None);
            Control::dead(config, start)
        });
        Box::new(control)
    }
}

/// Controls in Python are run from now on.
pub(crate) fn install() {
    outside::run_python_with(Box::new(FromPython));
}

/// How a connection starts.
#[pyclass(frozen, get_all, name = "Start", module = "skyhop._core")]
pub struct StartView {
    cwnd: f64,
    ssthresh: f64,
    clamp: f64,
    mss: u32,
}

/// An ACK.
#[pyclass(frozen, get_all, name = "Ack", module = "skyhop._core")]
pub struct AckView {
    now: f64,
    newly_acked: f64,
    newly_reported: f64,
    slow_start_growth: f64,
    avoidance_growth: f64,
    rtt: Option<f64>,
    smoothed_rtt: Option<f64>,
    min_rtt: Option<f64>,
    in_flight: f64,
    round_ends: bool,
    acknowledged: u64,
    delivered: u64,
    marked: f64,
    repairing: bool,
    mss: u32,
}

/// Segments that are lost.
#[pyclass(frozen, get_all, name = "Loss", module = "skyhop._core")]
pub struct LossView {
    now: f64,
    lost: f64,
    in_flight: f64,
}

/// The start of a recovery episode.
#[pyclass(frozen, get_all, name = "Congestion", module = "skyhop._core")]
pub struct CongestionView {
    now: f64,
    kind: &'static str,
    window: f64,
    in_flight: f64,
    smoothed_rtt: Option<f64>,
    min_rtt: Option<f64>,
    again: bool,
    mss: u32,
}

/// A segment that leaves.
#[pyclass(frozen, get_all, name = "Sent", module = "skyhop._core")]
pub struct SentView {
    now: f64,
    in_flight: f64,
}

fn seconds(time: Option<Duration>) -> Option<f64> {
    time.map(Duration::as_secs_f64)
}

impl AckView {
    fn of(sample: &AckSample) -> AckView {
        AckView {
            now: sample.now.as_secs_f64(),
            newly_acked: sample.newly_acked,
            newly_reported: sample.newly_reported,
            slow_start_growth: sample.growth.slow_start,
            avoidance_growth: sample.growth.avoidance,
            rtt: seconds(sample.latest_rtt),
            smoothed_rtt: seconds(sample.smoothed_rtt),
            min_rtt: seconds(sample.min_rtt),
            in_flight: sample.in_flight,
            round_ends: sample.round.is_some(),
            acknowledged: sample.acknowledged,
            delivered: sample.delivered,
            marked: sample.ecn_marked,
            repairing: sample.repairing,
            mss: sample.mss,
        }
    }
}

/// The methods that a control may leave out; those that it has not are not called.
#[derive(Default)]
struct Methods {
    on_ack: Option<Py<PyAny>>,
    on_measured: Option<Py<PyAny>>,
    on_congestion: Option<Py<PyAny>>,
    on_recovered: Option<Py<PyAny>>,
    on_lost: Option<Py<PyAny>>,
    on_sent: Option<Py<PyAny>>,
    on_handover: Option<Py<PyAny>>,
    set_cwnd: Option<Py<PyAny>>,
}

/// A control of which an object of Python decides.
struct Control {
    class: String,
    /// `None` after a failure: the run is about to end, and nothing is called any more.
    object: Option<Py<PyAny>>,
    methods: Methods,
    clamp: Segments,
    cwnd: Segments,
    ssthresh: Segments,
    pacing: Option<Rate>,
    now: Option<Time>,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Control({}, cwnd {})", self.class, self.cwnd)
    }
}

impl Control {
    fn dead(config: &PythonConfig, start: Start) -> Control {
        Control {
            class: config.class.clone(),
            object: None,
            methods: Methods::default(),
            clamp: start.clamp,
            cwnd: start.cwnd.max(1.0),
            ssthresh: start.ssthresh,
            pacing: None,
            now: None,
        }
    }

    fn make(py: Python<'_>, config: &PythonConfig, start: Start) -> PyResult<Control> {
        let view = StartView { cwnd: start.cwnd, ssthresh: start.ssthresh, clamp: start.clamp, mss: start.mss };
        let arguments = (&config.class, &config.source, view);
        let (object, found) =
            py.import(MODULE)?.call_method1("make", arguments)?.extract::<(Py<PyAny>, [Option<Py<PyAny>>; 8])>()?;
        let [on_ack, on_measured, on_congestion, on_recovered, on_lost, on_sent, on_handover, set_cwnd] = found;
        let methods =
            Methods { on_ack, on_measured, on_congestion, on_recovered, on_lost, on_sent, on_handover, set_cwnd };
        let mut control = Control { object: Some(object), methods, ..Control::dead(config, start) };
        control.read(py)?;
        Ok(control)
    }

    /// Takes over what the object says now.
    fn read(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(object) = &self.object else { return Ok(()) };
        let object = object.bind(py);
        let number = |name: &Bound<'_, pyo3::types::PyString>| -> PyResult<f64> {
            let value = object.getattr(name)?;
            value.extract().map_err(|_| PyTypeError::new_err(format!("{name} is {value:?}, not a number")))
        };
        let cwnd = number(intern!(py, "cwnd"))?;
        if !cwnd.is_finite() {
            return Err(PyValueError::new_err(format!("cwnd is {cwnd}: a window is a finite number of segments")));
        }
        let ssthresh = number(intern!(py, "ssthresh"))?;
        if ssthresh.is_nan() {
            return Err(PyValueError::new_err("ssthresh is not a number"));
        }
        let pacing = object.getattr(intern!(py, "pacing_rate"))?;
        let pacing = if pacing.is_none() { None } else { Some(number(intern!(py, "pacing_rate"))?) };
        if let Some(rate) = pacing.filter(|rate| !rate.is_finite() || *rate < 1.0) {
            return Err(PyValueError::new_err(format!("pacing_rate is {rate}: a rate is a number of bit/s, or None")));
        }
        let kept = cwnd.min(self.clamp).max(1.0);
        if kept != cwnd {
            object.setattr(intern!(py, "cwnd"), kept)?;
        }
        (self.cwnd, self.ssthresh) = (kept, ssthresh);
        self.pacing = pacing.and_then(|rate| Rate::from_bps(rate as u64));
        Ok(())
    }

    /// Calls a method with an argument, and reads the object afterwards.
    #[inline]
    fn call<A>(&mut self, name: &str, now: Option<Time>, of: fn(&Methods) -> &Option<Py<PyAny>>, argument: A)
    where
        A: for<'py> IntoPyObject<'py>,
    {
        self.now = now.or(self.now);
        let done = Python::attach(|py| {
            let Some(method) = of(&self.methods) else { return Ok(()) };
            method.bind(py).call1((argument,))?;
            self.read(py)
        });
        if let Err(error) = done {
            let class = self.class.split_once(':').map_or(self.class.as_str(), |(_, class)| class);
            fail(error, format!("{class}.{name}"), self.now);
            (self.object, self.methods) = (None, Methods::default());
        }
    }
}

impl CongestionControl for Control {
    fn on_sent(&mut self, sample: &SentSample) {
        if self.methods.on_sent.is_some() {
            let view = SentView { now: sample.now.as_secs_f64(), in_flight: sample.in_flight };
            self.call("on_sent", Some(sample.now), |methods| &methods.on_sent, view);
        }
    }

    fn on_ack(&mut self, sample: &AckSample) {
        if self.methods.on_ack.is_some() {
            self.call("on_ack", Some(sample.now), |methods| &methods.on_ack, AckView::of(sample));
        }
    }

    fn on_measured(&mut self, sample: &AckSample) {
        if self.methods.on_measured.is_some() {
            self.call("on_measured", Some(sample.now), |methods| &methods.on_measured, AckView::of(sample));
        }
    }

    fn on_lost(&mut self, sample: &LossSample) {
        if self.methods.on_lost.is_some() {
            let (now, lost, in_flight) = (sample.now.as_secs_f64(), sample.lost, sample.in_flight);
            self.call("on_lost", Some(sample.now), |methods| &methods.on_lost, LossView { now, lost, in_flight });
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let (kind, again) = match event.kind {
            CongestionKind::Loss(lost) => ("loss", lost == Lost::Again),
            CongestionKind::Ecn => ("ecn", false),
            CongestionKind::Timeout(lost) => ("timeout", lost == Lost::Again),
        };
        let view = CongestionView {
            now: event.now.as_secs_f64(),
            kind,
            window: event.window,
            in_flight: event.in_flight,
            smoothed_rtt: seconds(event.smoothed_rtt),
            min_rtt: seconds(event.min_rtt),
            again,
            mss: event.mss,
        };
        self.call("on_congestion", Some(event.now), |methods| &methods.on_congestion, view);
    }

    fn on_recovered(&mut self) {
        if self.methods.on_recovered.is_some() {
            let now = self.now.unwrap_or(Time::ZERO);
            self.call("on_recovered", None, |methods| &methods.on_recovered, now.as_secs_f64());
        }
    }

    fn on_path_hint(&mut self, hint: &PathHint) {
        if let (PathHint::Handover { now }, Some(_)) = (hint, &self.methods.on_handover) {
            self.call("on_handover", Some(*now), |methods| &methods.on_handover, now.as_secs_f64());
        }
    }

    fn hears_of_handovers(&self) -> bool {
        self.methods.on_handover.is_some()
    }

    fn set_cwnd(&mut self, cwnd: Segments) {
        self.call("set_cwnd", None, |methods| &methods.set_cwnd, cwnd.max(1.0));
    }

    fn cwnd(&self) -> Segments {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    fn state(&self) -> CcState {
        CcState::of(self.cwnd, self.ssthresh)
    }
}
