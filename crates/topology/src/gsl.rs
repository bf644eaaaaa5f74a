//! Which satellite serves which station.

use crate::build::Plane;
use crate::link::{End, LinkTable};
use crate::sky::{Sky, next_multiple};
use crate::{Change, CheckTimes, GslRules, Handover, HandoverPolicy, LinkId, NodeId, Why};
use skyhop_base::{Duration, IndexVec, Stream, Time};
use skyhop_orbit::{Site, Vec3};

/// How far apart the looks into the future are that find when a satellite sets. Shorter than any pass worth having.
const LOOK_AHEAD: Duration = Duration::from_secs(10);
/// Satellites that stay longer than this stay equally long.
const FURTHEST_LOOK: Duration = Duration::from_secs(86_400);
/// To which the setting is found.
const SETTING_PRECISION: Duration = Duration::from_millis(1);

#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    pub node: NodeId,
    pub site: Site,
    pub uplink: LinkId,
    pub serving: Option<NodeId>,
    /// The next check.
    next: Time,
    /// Of its check times, if they are random.
    stream: Option<Stream>,
}

impl Terminal {
    pub fn new(node: NodeId, name: &str, site: Site, uplink: LinkId, rules: &GslRules) -> Terminal {
        let stream = match rules.check_times {
            CheckTimes::Regular => None,
            CheckTimes::Randomised { seed } => Some(Stream::new(seed, name, "handover checks")),
        };
        Terminal { node, site, uplink, serving: None, next: Time::ZERO, stream }
    }

    fn schedule(&mut self, now: Time, every: Duration) {
        self.next = match &mut self.stream {
            None => next_multiple(now, every),
            Some(stream) => {
                let interval = every.as_nanos() as f64 * (0.5 + stream.uniform());
                now.saturating_add(Duration::from_nanos((interval as u64).max(1)))
            }
        };
    }
}

/// All stations and the satellites that may serve them.
#[derive(Clone, Debug)]
pub(crate) struct Gsls {
    rules: GslRules,
    sin_mask: f64,
    pub terminals: Vec<Terminal>,
    satellites: Vec<NodeId>,
    /// For satellites their downlink.
    downlinks: IndexVec<NodeId, Option<LinkId>>,
    /// For satellites how many stations they serve.
    served: IndexVec<NodeId, u32>,
    /// For satellites the one that follows on the same plane, if there is one.
    trailing: IndexVec<NodeId, Option<NodeId>>,
    /// The earliest check of any terminal.
    pub next: Time,
}

/// What one station sees at one instant.
struct View<'a> {
    site: &'a Site,
    positions: &'a IndexVec<NodeId, Vec3>,
    satellites: &'a [NodeId],
    sin_mask: f64,
}

impl View<'_> {
    fn sees(&self, satellite: NodeId) -> bool {
        self.site.sin_elevation(self.positions[satellite]) > self.sin_mask
    }

    /// The satellite in sight with the greatest `worth`, the first of equal ones.
    fn best(&self, worth: impl Fn(NodeId) -> f64) -> Option<NodeId> {
        let mut best = None;
        for &satellite in self.satellites.iter().filter(|&&satellite| self.sees(satellite)) {
            let worth = worth(satellite);
            if best.is_none_or(|(_, most)| worth > most) {
                best = Some((satellite, worth));
            }
        }
        best.map(|(satellite, _)| satellite)
    }

    fn highest(&self) -> Option<NodeId> {
        self.best(|satellite| self.site.sin_elevation(self.positions[satellite]))
    }

    fn nearest(&self) -> Option<NodeId> {
        self.best(|satellite| -(self.positions[satellite] - self.site.position()).norm())
    }
}

impl Gsls {
    /// `downlinks` by node. `planes` tell who trails whom.
    pub fn new(
        rules: GslRules,
        terminals: Vec<Terminal>,
        downlinks: IndexVec<NodeId, Option<LinkId>>,
        planes: &[Plane],
    ) -> Gsls {
        let mut trailing: IndexVec<NodeId, Option<NodeId>> = downlinks.iter().map(|_| None).collect();
        for plane in planes.iter().filter(|plane| plane.members.len() > 1) {
            let before = plane.members.iter().cycle().skip(plane.members.len() - 1);
            plane.members.iter().zip(before).for_each(|(&node, &trails)| trailing[node] = Some(trails));
        }
        Gsls {
            rules,
            sin_mask: libm::sin(rules.elevation_mask.radians()),
            satellites: downlinks.ids().filter(|&node| downlinks[node].is_some()).collect(),
            served: downlinks.iter().map(|_| 0).collect(),
            next: if terminals.is_empty() { Time::MAX } else { Time::ZERO },
            terminals,
            downlinks,
            trailing,
        }
    }

    pub fn downlink(&self, satellite: NodeId) -> Option<LinkId> {
        self.downlinks[satellite]
    }

    /// Lets every station that is due at `now` check its satellite.
    pub fn check(&mut self, now: Time, sky: &mut Sky, links: &mut LinkTable, changes: &mut Vec<Change>) {
        for n in 0..self.terminals.len() {
            if self.terminals[n].next <= now {
                self.check_terminal(n, now, sky, links, changes);
                self.terminals[n].schedule(now, self.rules.every);
            }
        }
        self.next = self.terminals.iter().map(|terminal| terminal.next).min().unwrap_or(Time::MAX);
    }

    fn check_terminal(&mut self, n: usize, now: Time, sky: &mut Sky, links: &mut LinkTable, changes: &mut Vec<Change>) {
        let Terminal { node, ref site, uplink, serving, .. } = self.terminals[n];
        sky.refresh(now);
        let (chosen, why) = self.choose(site, serving, now, sky);
        if chosen == serving {
            return;
        }
        let Some(seen) = chosen.or(serving) else { return };
        let look = site.look(sky.positions()[seen]);
        changes.push(Change::Handover(Handover {
            at: now,
            terminal: node,
            from: serving,
            to: chosen,
            elevation: look.elevation,
            slant_range: look.slant_range,
            why,
        }));
        self.terminals[n].serving = chosen;
        links.set(uplink, chosen.map_or(End::Down, End::At), why, changes);
        if let Some(old) = serving {
            self.served[old] -= 1;
            if let (0, Some(downlink)) = (self.served[old], self.downlinks[old]) {
                links.set(downlink, End::Down, Why::ServesNone, changes);
            }
        }
        if let Some(new) = chosen {
            self.served[new] += 1;
            if let Some(downlink) = self.downlinks[new] {
                links.set(downlink, End::Ground, Why::ServesStation, changes);
            }
        }
    }

    /// The satellite that the station takes now and, should it be another than before, why.
    fn choose(&self, site: &Site, serving: Option<NodeId>, now: Time, sky: &Sky) -> (Option<NodeId>, Why) {
        let view = View { site, positions: sky.positions(), satellites: &self.satellites, sin_mask: self.sin_mask };
        let kept = serving.filter(|&satellite| view.sees(satellite));
        let policy = self.rules.policy;
        let keeps = matches!(policy, HandoverPolicy::UntilBelowMask | HandoverPolicy::LongestVisibility);
        if keeps && kept.is_some() {
            return (kept, Why::InSight);
        }
        if policy == HandoverPolicy::UntilBelowMask
            && let Some(trailing) = serving.and_then(|old| self.trailing[old]).filter(|&next| view.sees(next))
        {
            return (Some(trailing), Why::TrailingSatellite);
        }
        let (chosen, better, after_loss) = match policy {
            HandoverPolicy::UntilBelowMask => (view.highest(), Why::Higher, Why::HighestAfterLoss),
            HandoverPolicy::HighestElevation => (view.highest(), Why::Higher, Why::HighestAfterLoss),
            HandoverPolicy::Nearest => (view.nearest(), Why::Nearer, Why::NearestAfterLoss),
            HandoverPolicy::LongestVisibility => {
                let stays = |satellite| self.stays_ns(site, satellite, now, sky);
                (view.best(stays), Why::LongestAfterLoss, Why::LongestAfterLoss)
            }
        };
        let why = match (serving, chosen) {
            (_, None) => Why::NoneInSight,
            (None, _) => Why::FirstContact,
            _ if kept.is_some() => better,
            _ => after_loss,
        };
        (chosen, why)
    }

    /// For how many nanoseconds from now a satellite in sight stays in sight; infinite beyond [`FURTHEST_LOOK`].
    fn stays_ns(&self, site: &Site, satellite: NodeId, now: Time, sky: &Sky) -> f64 {
        let motion = sky.motion(satellite);
        if motion.is_earth_fixed(&sky.earth) {
            return f64::INFINITY;
        }
        let sees = |t: Time| site.sin_elevation(motion.earth_fixed_km(&sky.earth, t)) > self.sin_mask;
        let mut seen = now;
        while sees(seen.saturating_add(LOOK_AHEAD)) {
            seen = seen.saturating_add(LOOK_AHEAD);
            if seen.since(now) > FURTHEST_LOOK {
                return f64::INFINITY;
            }
        }
        let mut step = LOOK_AHEAD;
        while step > SETTING_PRECISION {
            step = Duration::from_nanos(step.as_nanos() / 2);
            if sees(seen.saturating_add(step)) {
                seen = seen.saturating_add(step);
            }
        }
        seen.since(now).as_nanos() as f64
    }
}
