//! HighSpeed TCP: Floyd, "HighSpeed TCP for Large Congestion Windows", RFC 3649.
//!
//! W the window in segments, p(W) the loss rate that the response function gives it:
//!
//! - each ACK of N segments in congestion avoidance: W += a(W) N / W; loss: W −= b(W) W;
//! - b(W) = (0.1 − 0.5) (log W − log 38) / (log 83000 − log 38) + 0.5, p(W) = 0.078 / W^1.2;
//! - a(W) = W² p(W) 2 b(W) / (2 − b(W)); W <= 38: a = 1, b = 1/2 (Reno);
//! - slow start limited as RFC 3742 (RFC 3649 §7); timeout: ssthresh = W/2, W = 1.
//!
//! Deviation (`response = "anchored"`, ns-2): p(W) is the line through (38, 1.5/38²) and (83000, 1e-7) in
//! logarithms, so a is slightly larger. Deviation (`form = "ns-2"`, `tcp_highspeed`): a and b are those of
//! the table of RFC 3649 Appendix B, a the number of the row and b in 256ths; W is a whole number; the cut takes
//! the b of the last ACK in congestion avoidance, so the first cut halves.
//!
//! Known limits: ns-2's own form halves at the first cut too; here only the Linux form does.

use crate::window::{Form, Window, pass_to_window};
use crate::{AckSample, ConfigError, CongestionControl, CongestionEvent, CongestionKind, Segments, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the loss rate of a window is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// p = 0.078 / W^1.2 (RFC 3649 §5).
    Rounded,
    /// The line between the two anchors (ns-2).
    Anchored,
}

crate::options! {
    /// Parameters of HighSpeed TCP.
    pub struct HighspeedConfig, HighspeedSpec {
        /// Window in segments up to which it is Reno (RFC 3649 §5 Low_Window).
        low_window: f64 = 38.0,
        /// Window in segments at `high_loss` (RFC 3649 §5 High_Window).
        high_window: f64 = 83_000.0,
        /// Loss rate at the high window (RFC 3649 §5 High_P).
        high_loss: f64 = 1e-7,
        /// Share that a loss takes at the high window (RFC 3649 §5 High_Decrease).
        high_decrease: f64 = 0.1,
        /// How the loss rate of a window is found.
        response: Response = Response::Rounded; ns2 = Response::Anchored; linux = Response::Rounded,
        /// Window in segments above which slow start is limited (RFC 3742 §3); 0 turns that off.
        max_ssthresh: f64 = 100.0; ns2 = 0.0,
        /// Whose description is followed.
        form: Form = Form::Paper; linux = Form::Ns2,
    }
}

/// RFC 3649 §5: p = 0.078 / W^1.2.
const RESPONSE_FACTOR: f64 = 0.078;
const RESPONSE_EXPONENT: f64 = 1.2;
/// The response function of Reno is sqrt(1.5 / p) (RFC 3649 §3).
const RENO_FACTOR: f64 = 1.5;
/// The table of RFC 3649 Appendix B was computed with p = 1 / (12.8 W^1.2); this is 12.8 · 0.078.
const TABLE_FACTOR: f64 = 12.8 * RESPONSE_FACTOR;
/// b stays above this one beyond the high window.
const SMALLEST_DECREASE: f64 = 0.01;
/// b of the table in Linux has 256 for 1.
const TABLE_SCALE: f64 = 256.0;
/// Linux has the table up to 89053 segments.
const TABLE_ROWS: usize = 72;

impl HighspeedConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("low_window", self.low_window, 1.0..=1e6, "1 to 1e6 segments")?;
        let above = self.low_window + 1.0..=1e9;
        ConfigError::within("high_window", self.high_window, above, "above low_window, at most 1e9 segments")?;
        ConfigError::within("high_loss", self.high_loss, 1e-12..=1e-2, "1e-12 to 1e-2")?;
        ConfigError::within("high_decrease", self.high_decrease, SMALLEST_DECREASE..=0.5, "a share from 0.01 to 0.5")?;
        ConfigError::within("max_ssthresh", self.max_ssthresh, 0.0..=1e9, "0 (off) to 1e9 segments")
    }

    /// b(W): share of the window that a loss takes (RFC 3649 §5).
    pub fn b(&self, window: Segments) -> f64 {
        if window <= self.low_window {
            return 0.5;
        }
        let (low, high) = (libm::log(self.low_window), libm::log(self.high_window));
        let b = (self.high_decrease - 0.5) * (libm::log(window) - low) / (high - low) + 0.5;
        b.max(SMALLEST_DECREASE)
    }

    /// p(W): loss rate at which the mean window is W.
    pub fn p(&self, window: Segments) -> f64 {
        match self.response {
            Response::Rounded => RESPONSE_FACTOR / libm::pow(window, RESPONSE_EXPONENT),
            Response::Anchored => {
                let low_loss = RENO_FACTOR / (self.low_window * self.low_window);
                let slope = (libm::log(self.high_loss) - libm::log(low_loss))
                    / (libm::log(self.high_window) - libm::log(self.low_window));
                libm::exp(libm::log(low_loss) + slope * (libm::log(window) - libm::log(self.low_window)))
            }
        }
    }

    /// a(W): segments added per round trip (RFC 3649 §5).
    pub fn a(&self, window: Segments) -> f64 {
        if window <= self.low_window {
            return 1.0;
        }
        let b = self.b(window);
        (window * window * self.p(window) * 2.0 * b / (2.0 - b)).max(1.0)
    }
}

/// a for a window of real size; `log` and `pow` cost more than an ACK should.
#[derive(Clone, Copy, Debug)]
struct Cached {
    window: Segments,
    a: f64,
}

/// The table of RFC 3649 Appendix B, as far as the window has come.
#[derive(Clone, Debug)]
struct Table {
    /// Largest window of each row.
    tops: Vec<Segments>,
    /// The row in use.
    row: usize,
}

impl Table {
    fn new(config: &HighspeedConfig) -> Table {
        Table { tops: vec![config.low_window.trunc()], row: 0 }
    }

    /// Chooses the row: window <= its top, and above the top of the row before.
    fn choose(&mut self, config: &HighspeedConfig, window: Segments) {
        while window > self.tops[self.row] && self.row + 1 < TABLE_ROWS {
            self.row += 1;
            if self.row == self.tops.len() {
                self.tops.push(next_top(config, self.tops[self.row - 1]));
            }
        }
        while self.row > 0 && window <= self.tops[self.row - 1] {
            self.row -= 1;
        }
    }

    fn a(&self) -> f64 {
        (self.row + 1) as f64
    }

    /// b in 256ths, rounded down.
    fn b(&self, config: &HighspeedConfig) -> f64 {
        (config.b(self.tops[self.row]) * TABLE_SCALE).trunc() / TABLE_SCALE
    }
}

/// The next row's top: the first whole window whose a is more than one above that of the last top.
fn next_top(config: &HighspeedConfig, top: Segments) -> Segments {
    let a = |window| (config.a(window) / TABLE_FACTOR).max(1.0);
    let wanted = a(top) + 1.0;
    let (mut below, mut above) = (top, 4.0 * top + 4.0);
    while above - below > 1.0 {
        let middle = ((below + above) / 2.0).trunc();
        if a(middle) > wanted { above = middle } else { below = middle }
    }
    above
}

/// The window of HighSpeed TCP.
#[derive(Clone, Debug)]
pub struct Highspeed {
    config: HighspeedConfig,
    window: Window,
    cached: Cached,
    table: Table,
}

impl Highspeed {
    pub fn new(config: HighspeedConfig, start: Start) -> Highspeed {
        Highspeed {
            window: Window::new(start, config.form),
            cached: Cached { window: 0.0, a: 1.0 },
            table: Table::new(&config),
            config,
        }
    }

    /// a for the present window, computed again when that has changed by 1/1000.
    fn increase(&mut self) -> f64 {
        let window = self.window.cwnd;
        if (window - self.cached.window).abs() * 1000.0 > self.cached.window {
            self.cached = Cached { window, a: self.config.a(window) };
        }
        self.cached.a
    }

    fn grow(&mut self, sample: &AckSample) {
        if self.window.in_slow_start() {
            let limit = self.config.max_ssthresh;
            let step = if limit > 0.0 { crate::limited_slow_start(self.window.cwnd, limit) } else { 1.0 };
            self.window.grow(step * sample.growth.slow_start);
        } else {
            let increase = self.increase();
            self.window.additive(sample.growth, increase);
        }
    }

    fn grow_whole(&mut self) {
        if self.window.whole_in_slow_start() {
            return self.window.whole_slow_start();
        }
        self.table.choose(&self.config, self.window.cwnd);
        let window = &mut self.window;
        if window.cwnd < window.clamp {
            window.count += self.table.a();
            if window.count >= window.cwnd {
                window.count -= window.cwnd;
                window.cwnd += 1.0;
            }
        }
    }
}

impl CongestionControl for Highspeed {
    fn on_ack(&mut self, sample: &AckSample) {
        if !self.window.acknowledge(sample) {
            return;
        }
        match self.config.form {
            Form::Paper => self.grow(sample),
            Form::Ns2 => self.grow_whole(),
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let cwnd = self.window.cwnd;
        let ssthresh = match (self.config.form, event.kind) {
            (Form::Ns2, _) => cwnd - (cwnd * self.table.b(&self.config)).trunc(),
            (Form::Paper, CongestionKind::Timeout(_)) => event.window / 2.0,
            (Form::Paper, _) => event.window * (1.0 - self.config.b(event.window)),
        };
        self.window.congestion(event.kind, ssthresh);
    }

    fn recovery_floor(&self) -> Segments {
        self.window.half_threshold()
    }

    pass_to_window!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bundle;

    #[test]
    fn table_is_that_of_rfc_3649_appendix_b() {
        let config = HighspeedConfig::of(Bundle::Ns2Linux);
        let mut table = Table::new(&config);
        // Row, window, b in 256ths: RFC 3649 Appendix B prints w, a and b with two digits.
        for (row, window, b) in [
            (1, 38.0, 128.0),
            (2, 118.0, 112.0),
            (3, 221.0, 104.0),
            (5, 495.0, 93.0),
            (8, 1058.0, 83.0),
            (20, 5036.0, 62.0),
            (50, 30975.0, 38.0),
            (71, 84035.0, 25.0),
            (72, 89053.0, 24.0),
        ] {
            table.choose(&config, window);
            assert_eq!((table.a(), table.b(&config) * 256.0), (f64::from(row), b), "window {window}");
            table.choose(&config, window + 1.0);
            assert_eq!(table.a(), f64::from((row + 1).min(72)), "window {window} + 1");
        }
        table.choose(&config, 200.0);
        assert_eq!(table.a(), 3.0);
    }
}
