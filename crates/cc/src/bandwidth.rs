//! What the algorithms share that set the window from an estimate of the bandwidth (Westwood and relatives).

use crate::window::Window;
use crate::{AckSample, CongestionEvent, Segments};
use skyhop_base::Time;

/// The window that fills a path of `bandwidth` in bit/s and `rtt` in seconds without a queue: whole segments of
/// `mss` user bytes, at least 2 (Casetti et al. 2001 §3.2).
pub fn bandwidth_window(bandwidth: f64, rtt: f64, mss: u32) -> Segments {
    (bandwidth * rtt / (8.0 * f64::from(mss.max(1)))).trunc().max(2.0)
}

/// Cuts to the bandwidth-delay product; to the half (RFC 5681) while nothing was measured.
///
/// Loss: ssthresh = the product, W = min(W, ssthresh); timeout: the same ssthresh, W = 1.
pub(crate) fn cut_to_bandwidth(window: &mut Window, bandwidth: Option<f64>, event: &CongestionEvent) {
    let (cwnd, base) = (window.cwnd, event.window);
    let product = bandwidth.zip(event.min_rtt).map(|(rate, rtt)| bandwidth_window(rate, rtt.as_secs_f64(), event.mss));
    window.congestion(event.kind, product.unwrap_or(base / 2.0));
    window.cwnd = window.cwnd.min(cwnd);
}

/// The amount delivered between two observations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub(crate) bits: f64,
    /// Seconds, above 0.
    pub(crate) span: f64,
}

/// Measures deliveries from one ACK to a later one, duplicates included.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeliveryClock {
    last: Option<(Time, u64)>,
}

impl DeliveryClock {
    /// What came since the last observation; `None` for the first one and as long as no time has passed, when the
    /// next one has the segments of both.
    pub(crate) fn observe(&mut self, sample: &AckSample) -> Option<Delivery> {
        let Some((time, delivered)) = self.last else {
            self.last = Some((sample.now, sample.delivered));
            return None;
        };
        let span = sample.now.since(time).as_secs_f64();
        let segments = sample.delivered.saturating_sub(delivered);
        if span <= 0.0 || segments == 0 {
            return None;
        }
        self.last = Some((sample.now, sample.delivered));
        Some(Delivery { bits: segments as f64 * 8.0 * f64::from(sample.mss), span })
    }
}
