//! Which satellite serves which station.

use crate::beams::Beams;
use crate::build::Plane;
use crate::choose::{self, Choice, View};
use crate::link::{End, LinkTable};
use crate::sky::{Sky, next_multiple};
use crate::terminal::Terminal;
use crate::{
    BeamOptions, Change, CheckTimes, GatewayRule, GslOptions, GslRules, Handover, HandoverKind, HandoverPolicy, LinkId,
    NodeId, Switching, Why,
};
use skyhop_base::{Angle, Duration, Index, IndexVec, Length, Time};
use skyhop_orbit::visibility::is_below_horizon;
use skyhop_orbit::{Earth, Site, SkyIndex, Vec3};

/// From so many satellites on, and so many stations that look at one instant, an index is cheaper than looking at all.
const INDEX_SATELLITES: usize = 256;
const INDEX_STATIONS: usize = 4;

/// With exact checks.
const CONDITION_CHECKS: Duration = Duration::from_secs(1);

/// All stations and the satellites that may serve them.
#[derive(Clone, Debug)]
pub(crate) struct Gsls {
    pub rules: GslRules,
    pub options: GslOptions,
    earth: Earth,
    /// Infinite without a limit.
    longest_km: f64,
    pub terminals: Vec<Terminal>,
    /// The order in which they are checked: with bent pipes gateways come first.
    order: Vec<u32>,
    pub satellites: Vec<NodeId>,
    /// For satellites their downlink.
    downlinks: IndexVec<NodeId, Option<LinkId>>,
    /// For satellites how many terminals they serve, …
    served: IndexVec<NodeId, u32>,
    /// … how many users point at them, served already or not, …
    users: IndexVec<NodeId, u32>,
    /// … and how many gateways they serve.
    gateways: IndexVec<NodeId, u32>,
    /// For satellites the one that follows on the same plane, if there is one.
    pub trailing: IndexVec<NodeId, Option<NodeId>>,
    /// The earliest check of any terminal.
    pub next: Time,
    beams: Option<Beams>,
    index: SkyIndex,
    /// Instant of the positions in the index.
    indexed_at: Option<Time>,
    /// For the answer of the index.
    found: Vec<u32>,
}

impl Gsls {
    /// `downlinks` by node. `planes` tell who trails whom.
    pub fn new(
        earth: Earth,
        rules: GslRules,
        options: GslOptions,
        terminals: Vec<Terminal>,
        downlinks: IndexVec<NodeId, Option<LinkId>>,
        planes: &[Plane],
        beams: Option<BeamOptions>,
    ) -> Gsls {
        let mut trailing: IndexVec<NodeId, Option<NodeId>> = downlinks.iter().map(|_| None).collect();
        for plane in planes.iter().filter(|plane| plane.members.len() > 1) {
            let before = plane.members.iter().cycle().skip(plane.members.len() - 1);
            plane.members.iter().zip(before).for_each(|(&node, &trails)| trailing[node] = Some(trails));
        }
        let mut order: Vec<u32> = (0..terminals.len() as u32).collect();
        if options.gateways == GatewayRule::BentPipe {
            order.sort_by_key(|&n| (!terminals[n as usize].gateway, n));
        }
        let none = || -> IndexVec<NodeId, u32> { downlinks.iter().map(|_| 0).collect() };
        Gsls {
            earth,
            rules,
            options,
            longest_km: options.longest.map_or(f64::INFINITY, |longest| longest.km()),
            satellites: downlinks.ids().filter(|&node| downlinks[node].is_some()).collect(),
            served: none(),
            users: none(),
            gateways: none(),
            next: if terminals.is_empty() { Time::MAX } else { Time::ZERO },
            terminals,
            beams: beams.map(|beams| Beams::new(beams, rules.elevation_mask.radians())),
            order,
            downlinks,
            trailing,
            index: SkyIndex::default(),
            indexed_at: None,
            found: Vec::new(),
        }
    }

    /// Whether a satellite at `place` (Earth-fixed, km) is above the terminal's mask, near enough and not hidden.
    pub fn sees(&self, n: usize, site: &Site, place: Vec3) -> bool {
        site.sin_elevation(place) > self.terminals[n].sin_mask && self.reaches(n, site, place)
    }

    /// The same for a satellite above the mask.
    fn reaches(&self, n: usize, site: &Site, place: Vec3) -> bool {
        let near = self.longest_km == f64::INFINITY || (place - site.position()).norm() <= self.longest_km;
        // A mask below the horizon is for users in the air; nobody looks through the Earth.
        let looks_down = self.terminals[n].sin_mask < 0.0;
        near && !(looks_down && is_below_horizon(&self.earth, site.position(), place))
            && !self.is_hidden(n, site, place)
    }

    fn is_hidden(&self, n: usize, site: &Site, place: Vec3) -> bool {
        let obstructions = &self.terminals[n].obstructions;
        if obstructions.is_empty() {
            return false;
        }
        let elevation_deg = libm::asin(site.sin_elevation(place)).to_degrees();
        let bearing_deg = site.bearing_deg(place);
        obstructions.iter().any(|obstruction| obstruction.hides(bearing_deg, elevation_deg))
    }

    pub fn downlink(&self, satellite: NodeId) -> Option<LinkId> {
        self.downlinks[satellite]
    }

    /// Nothing will be decided differently while nothing moves.
    pub fn may_stop(&self) -> bool {
        let decided = |terminal: &Terminal| terminal.ready.is_none() && terminal.terrestrial.is_none();
        let drawn = |terminal: &Terminal| matches!(terminal.policy, HandoverPolicy::Random { .. });
        self.terminals.iter().all(|terminal| decided(terminal) && !drawn(terminal))
    }

    /// Lets every station that is due at `now` check its satellite.
    pub fn check(&mut self, now: Time, sky: &mut Sky, links: &mut LinkTable, changes: &mut Vec<Change>) {
        let due = self.terminals.iter().filter(|terminal| terminal.next <= now).count();
        let indexed = due >= INDEX_STATIONS && self.satellites.len() >= INDEX_SATELLITES;
        let exact = self.rules.check_times == CheckTimes::Exact;
        for place in 0..self.order.len() {
            let n = self.order[place] as usize;
            if self.terminals[n].ready.is_some_and(|ready| ready <= now) {
                self.connect(n, Why::Acquired, links, changes);
            }
            if self.terminals[n].next <= now {
                let changed = self.check_terminal(n, now, indexed, sky, links, changes);
                if exact && changed && self.terminals[n].gateway && self.options.gateways == GatewayRule::BentPipe {
                    // Users look again at once at what gateways have changed; they come later in the order.
                    self.terminals.iter_mut().filter(|t| !t.gateway).for_each(|t| t.next = now);
                }
                self.terminals[n].schedule(now, &self.rules);
                if exact {
                    // The condition of a terrestrial network may be anything.
                    self.terminals[n].next = match self.terminals[n].terrestrial {
                        Some(_) => next_multiple(now, CONDITION_CHECKS),
                        None => choose::next_exact(self, n, now, sky),
                    };
                }
            }
        }
        self.check_beams(now, sky, links, changes);
        self.next = self.terminals.iter().map(Terminal::due).min().unwrap_or(Time::MAX);
        if let Some(beams) = self.beams.as_ref().filter(|_| self.next < Time::MAX) {
            self.next = self.next.min(beams.next);
        }
    }

    /// Lets every station look for its beam, if that is due.
    fn check_beams(&mut self, now: Time, sky: &Sky, links: &mut LinkTable, changes: &mut Vec<Change>) {
        let Some(beams) = self.beams.as_mut().filter(|beams| beams.next <= now) else { return };
        beams.schedule(now);
        let outage = Some(beams.options.outage).filter(|outage| !outage.is_zero());
        for n in 0..self.terminals.len() {
            let Some(satellite) = self.terminals[n].serving else { continue };
            let before = self.terminals[n].beam;
            let beam = self.beam(n, Some(satellite), now, sky);
            if beam == before {
                continue;
            }
            let site = self.terminals[n].place.site(&sky.earth, now);
            let look = site.look(sky.position_at(satellite, now));
            self.terminals[n].beam = beam;
            changes.push(Change::Handover(Handover {
                at: now,
                kind: HandoverKind::Beam,
                terminal: self.terminals[n].node,
                from: Some(satellite),
                to: Some(satellite),
                beams: [before, beam],
                elevation: look.elevation,
                slant_range: look.slant_range,
                why: Why::NextBeam,
            }));
            let Some(outage) = outage.filter(|_| self.terminals[n].ready.is_none()) else { continue };
            self.disconnect(n, satellite, links, changes);
            links.set(self.terminals[n].uplink, End::Down, Why::NextBeam, changes);
            self.terminals[n].ready = Some(now.saturating_add(outage));
        }
    }

    /// The beam of a satellite that lights a terminal.
    fn beam(&self, n: usize, satellite: Option<NodeId>, now: Time, sky: &Sky) -> Option<u32> {
        let place = self.terminals[n].place.site(&sky.earth, now).position();
        Some(self.beams.as_ref()?.of(place, satellite?, now, sky))
    }

    /// Whether the satellite was changed.
    fn check_terminal(
        &mut self,
        n: usize,
        now: Time,
        indexed: bool,
        sky: &mut Sky,
        links: &mut LinkTable,
        changes: &mut Vec<Change>,
    ) -> bool {
        let Terminal { node, uplink, serving, ref place, ref siblings, .. } = self.terminals[n];
        let several = siblings.len() > 1;
        let site = place.site(&sky.earth, now);
        let Choice { satellite: chosen, why } = self.choose(n, &site, now, indexed, sky);
        let (kind, chosen, why) = self.network(n, (chosen, why), &site, now, sky);
        if chosen == serving && kind == HandoverKind::Satellite {
            return false;
        }
        let beams = [self.terminals[n].beam, self.beam(n, chosen, now, sky)];
        let look = chosen.or(serving).map(|seen| site.look(sky.position_at(seen, now)));
        changes.push(Change::Handover(Handover {
            at: now,
            kind,
            terminal: node,
            from: serving,
            to: chosen,
            beams,
            elevation: look.map_or(Angle::from_degrees(0.0), |look| look.elevation),
            slant_range: look.map_or(Length::from_km(0.0), |look| look.slant_range),
            why,
        }));
        self.terminals[n].beam = beams[1];
        let outage = match self.options.switching {
            Switching::BreakBeforeMake { outage } if now > Time::ZERO && !outage.is_zero() => Some(outage),
            _ => None,
        };
        let connected = serving.filter(|_| self.terminals[n].ready.is_none());
        self.terminals[n].serving = chosen;
        if !self.terminals[n].gateway {
            serving.into_iter().for_each(|old| self.users[old] -= 1);
            chosen.into_iter().for_each(|new| self.users[new] += 1);
        }
        let on_ground = self.terminals[n].terrestrial.as_ref().is_some_and(|terrestrial| terrestrial.on);
        let outage = outage.filter(|_| chosen.is_some() || on_ground);
        self.terminals[n].ready = outage.map(|outage| now.saturating_add(outage));
        // A station's one uplink swings over to the new satellite; that of one antenna of several ends and begins,
        // because a handover does not say which of them it concerns.
        if chosen.is_none() || outage.is_some() || several {
            let why = if chosen.is_some() { Why::Acquiring } else { why };
            links.set(uplink, End::Down, why, changes);
        }
        if self.terminals[n].ready.is_none() && chosen.is_some() {
            links.set(uplink, chosen.map_or(End::Down, End::At), why, changes);
        }
        if let Some(old) = connected {
            self.disconnect(n, old, links, changes);
        }
        self.switch_wires(n, why, links, changes);
        if self.terminals[n].ready.is_none() {
            self.connect(n, why, links, changes);
        }
        true
    }

    /// Whether a terminal uses satellites or the terrestrial network; `choice` is what it would do without the latter.
    fn network(
        &mut self,
        n: usize,
        (satellite, why): (Option<NodeId>, Why),
        site: &Site,
        now: Time,
        sky: &Sky,
    ) -> (HandoverKind, Option<NodeId>, Why) {
        let Some(terrestrial) = &mut self.terminals[n].terrestrial else {
            return (HandoverKind::Satellite, satellite, why);
        };
        let wanted = terrestrial.wanted(satellite, site, now, sky);
        let was_on = std::mem::replace(&mut terrestrial.on, wanted.is_some());
        match (was_on, wanted) {
            (true, Some(why)) => (HandoverKind::Satellite, None, why),
            (false, Some(why)) => (HandoverKind::Terrestrial, None, why),
            (true, None) if satellite.is_some() => (HandoverKind::Terrestrial, satellite, Why::BackToSatellite),
            (true, None) => (HandoverKind::Terrestrial, None, why),
            (false, None) => (HandoverKind::Satellite, satellite, why),
        }
    }

    /// Ends what a satellite does for a terminal; the uplink is the caller's.
    fn disconnect(&mut self, n: usize, old: NodeId, links: &mut LinkTable, changes: &mut Vec<Change>) {
        self.count(n, old, -1);
        if let (0, Some(downlink)) = (self.served[old], self.downlinks[old]) {
            links.set(downlink, End::Down, Why::ServesNone, changes);
        }
    }

    /// Brings up the links with the satellite that is pointed at.
    fn connect(&mut self, n: usize, why: Why, links: &mut LinkTable, changes: &mut Vec<Change>) {
        self.terminals[n].ready = None;
        self.switch_wires(n, why, links, changes);
        let Some(new) = self.terminals[n].serving else { return };
        links.set(self.terminals[n].uplink, End::At(new), why, changes);
        self.count(n, new, 1);
        if let Some(downlink) = self.downlinks[new] {
            links.set(downlink, End::Ground, Why::ServesStation, changes);
        }
    }

    /// One terminal more or less for a satellite.
    fn count(&mut self, n: usize, satellite: NodeId, more: i32) {
        let add = |count: &mut u32| *count = count.saturating_add_signed(more);
        add(&mut self.served[satellite]);
        if self.terminals[n].gateway {
            add(&mut self.gateways[satellite]);
        }
    }

    /// Whether a satellite in sight may be taken by this terminal.
    pub fn may_take(&self, n: usize, satellite: NodeId) -> Result<(), Why> {
        let terminal = &self.terminals[n];
        let mut others = terminal.siblings.clone().filter(|&other| other != n);
        if others.any(|other| self.terminals[other].serving == Some(satellite)) {
            return Err(Why::NoneInSight);
        }
        if terminal.gateway {
            return Ok(());
        }
        if self.options.gateways == GatewayRule::BentPipe && self.gateways[satellite] == 0 {
            return Err(Why::NoGateway);
        }
        let full = self.options.users_per_satellite.is_some_and(|most| self.users[satellite] >= most);
        if full && terminal.serving != Some(satellite) { Err(Why::NoRoom) } else { Ok(()) }
    }

    fn choose(&mut self, n: usize, site: &Site, now: Time, indexed: bool, sky: &mut Sky) -> Choice {
        if let Some(kept) = choose::keeps(self, n, site, now, sky) {
            return kept;
        }
        sky.refresh(now);
        if !indexed {
            return choose::choose(self, n, &View::of_all(self, n, site, now, sky), sky);
        }
        let positions = sky.positions();
        if self.indexed_at != Some(now) {
            self.index.renew(positions.as_slice(), self.satellites.iter().map(|node| node.as_u32()));
            self.indexed_at = Some(now);
        }
        let mut found = std::mem::take(&mut self.found);
        self.index.visible(site, self.terminals[n].sin_mask, positions.as_slice(), &mut found);
        let above_the_mask = found.iter().map(|&node| NodeId::from_usize(node as usize));
        let in_sight = above_the_mask.filter(|&node| self.reaches(n, site, sky.positions()[node])).collect();
        self.found = found;
        choose::choose(self, n, &View { site, now, in_sight, places: None }, sky)
    }
}
