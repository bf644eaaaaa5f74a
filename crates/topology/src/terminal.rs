//! One antenna of a station.

use crate::sky::next_multiple;
use crate::terrestrial::Terrestrial;
use crate::{CheckTimes, GslRules, HandoverPolicy, LinkId, NodeId, Obstruction};
use skyhop_base::{Angle, Duration, Stream, Time};
use skyhop_orbit::{Earth, Site, Track};
use std::ops::Range;

/// Where a station is.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Fixed(Site),
    Moving(Track),
}

impl Place {
    pub fn site(&self, earth: &Earth, t: Time) -> Site {
        match self {
            Place::Fixed(site) => *site,
            Place::Moving(track) => track.site(earth, t),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    pub node: NodeId,
    pub place: Place,
    pub uplink: LinkId,
    /// Has a wired link, so it carries the packets of others.
    pub gateway: bool,
    /// The places of all antennas of the station in the list of terminals, this one among them.
    pub siblings: Range<usize>,
    /// Which satellite it takes.
    pub policy: HandoverPolicy,
    /// It sees satellites above this elevation only.
    pub mask_rad: f64,
    pub sin_mask: f64,
    /// It sees none there.
    pub obstructions: Vec<Obstruction>,
    /// The satellite that it points at.
    pub serving: Option<NodeId>,
    /// Until when that satellite is being acquired; the link comes up then.
    pub ready: Option<Time>,
    /// The beam of the satellite that lights it, if they have beams.
    pub beam: Option<u32>,
    pub terrestrial: Option<Terrestrial>,
    /// The next check.
    pub next: Time,
    /// Of its check times, if they are random.
    times: Option<Stream>,
    /// Of its choices, if they are drawn.
    draws: Stream,
    checks: u64,
}

/// What a terminal is made of.
pub(crate) struct Mount {
    pub node: NodeId,
    pub place: Place,
    pub uplink: LinkId,
    pub gateway: bool,
    pub siblings: Range<usize>,
    pub terrestrial: Option<Terrestrial>,
    /// Its own mask and policy, if it has them.
    pub mask: Option<Angle>,
    pub policy: Option<HandoverPolicy>,
    pub obstructions: Vec<Obstruction>,
}

impl Terminal {
    /// `name` is that of the antenna, to which its random streams belong. Gateways may have a policy of their own, and
    /// so may single stations.
    pub fn new(mount: Mount, name: &str, rules: &GslRules, of_gateways: Option<HandoverPolicy>) -> Terminal {
        let policy = mount.policy.or(of_gateways.filter(|_| mount.gateway)).unwrap_or(rules.policy);
        let mask_rad = mount.mask.unwrap_or(rules.elevation_mask).radians();
        let times = match rules.check_times {
            CheckTimes::Randomised { seed } => Some(Stream::new(seed, name, "handover checks")),
            CheckTimes::Regular | CheckTimes::Slots { .. } | CheckTimes::Exact => None,
        };
        let seed = match policy {
            HandoverPolicy::Random { seed } => seed,
            _ => 0,
        };
        let draws = Stream::new(seed, name, "handover choice");
        let Mount { node, place, uplink, gateway, siblings, terrestrial, obstructions, .. } = mount;
        Terminal {
            node,
            place,
            uplink,
            gateway,
            siblings,
            policy,
            mask_rad,
            sin_mask: libm::sin(mask_rad),
            obstructions,
            serving: None,
            ready: None,
            beam: None,
            terrestrial,
            next: Time::ZERO,
            times,
            draws,
            checks: 0,
        }
    }

    /// After a check at `now`, when checks are not exact.
    pub fn schedule(&mut self, now: Time, rules: &GslRules) {
        self.checks += 1;
        self.next = match (&mut self.times, rules.check_times) {
            (Some(stream), _) => random_interval(stream, now, rules.every),
            (None, CheckTimes::Slots { phase }) => {
                // The slots before the first one count backwards from it.
                let phase = Duration::from_nanos(phase.as_nanos() % rules.every.as_nanos());
                let first = Time::ZERO + phase;
                if now < first { first } else { next_multiple(Time::ZERO + now.since(first), rules.every) + phase }
            }
            (None, _) => next_multiple(now, rules.every),
        };
    }

    /// The number of this check, uniform in [0, 1).
    pub fn draw(&self) -> f64 {
        self.draws.uniform_at(self.checks)
    }

    /// When something is to be done about it.
    pub fn due(&self) -> Time {
        self.ready.map_or(self.next, |ready| ready.min(self.next))
    }
}

/// An instant between half an interval and one and a half after `now`.
pub(crate) fn random_interval(stream: &mut Stream, now: Time, every: Duration) -> Time {
    let interval = every.as_nanos() as f64 * (0.5 + stream.uniform());
    now.saturating_add(Duration::from_nanos((interval as u64).max(1)))
}
