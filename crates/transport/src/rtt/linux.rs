//! The estimator of today's Linux, in whole microseconds.

/// SRTT in eighths of a microsecond. Deviations in quarters, which is also what is added to SRTT for the RTO.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinuxEstimate {
    srtt_8: i64,
    mdev: i64,
    mdev_max: i64,
    rttvar: i64,
    /// The first sample starts a round and ends none.
    first: bool,
}

impl LinuxEstimate {
    fn started(&self) -> bool {
        self.srtt_8 != 0
    }

    /// SRTT in microseconds; `None` before the first sample.
    pub(super) fn smoothed(&self) -> Option<i64> {
        self.started().then_some(self.srtt_8 >> 3)
    }

    /// The variance that is added to SRTT, in microseconds; `None` before the first sample.
    pub(super) fn variation(&self) -> Option<i64> {
        self.started().then_some(self.rttvar)
    }

    /// RTO in microseconds.
    pub(super) fn rto(&self) -> i64 {
        (self.srtt_8 >> 3) + self.rttvar
    }

    /// tcp_rtt_estimator: an RTT in microseconds; `floor` is tcp_rto_min.
    pub(super) fn sample(&mut self, rtt: i64, floor: i64) {
        let rtt = rtt.max(1);
        if self.srtt_8 == 0 {
            self.srtt_8 = rtt << 3;
            self.mdev = rtt << 1;
            self.rttvar = self.mdev.max(floor);
            self.mdev_max = self.rttvar;
            self.first = true;
            return;
        }
        let error = rtt - (self.srtt_8 >> 3);
        self.srtt_8 += error;
        let change = error.abs() - (self.mdev >> 2);
        // A falling RTT must not inflate the RTO.
        self.mdev += if error < 0 && change > 0 { change >> 3 } else { change };
        if self.mdev > self.mdev_max {
            self.mdev_max = self.mdev;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
    }

    /// A round trip ended with the last sample.
    pub(super) fn end_round(&mut self, floor: i64) {
        if std::mem::take(&mut self.first) {
            return;
        }
        if self.mdev_max < self.rttvar {
            self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
        }
        self.mdev_max = floor;
    }
}
