//! The network: what [`Topology`] offers.

use crate::build::{self, Links};
use crate::gsl::{Gsls, Terminal};
use crate::isl::Isls;
use crate::link::{End, LinkTable};
use crate::route::{Edge, Hop, Leaf, Router};
use crate::sky::{Sky, next_multiple};
use crate::{
    Change, DelaySegment, Forwarding, Link, LinkId, LinkKind, Node, NodeId, NodeKind, Path, PathHop, TopologyError,
    TopologySpec,
};
use skyhop_base::{Duration, Index, IndexVec, Time};
use skyhop_orbit::{Look, Motion, Site, Vec3};

/// Nodes, links and routes of a network at a moment that moves on with [`Topology::advance`].
#[derive(Clone, Debug)]
pub struct Topology {
    nodes: IndexVec<NodeId, Node>,
    links: IndexVec<LinkId, Link>,
    /// Where each link leads now.
    table: LinkTable,
    sky: Sky,
    /// Delays of the wired links, which are the first links.
    wires: Vec<Duration>,
    isls: Option<Isls>,
    gsls: Option<Gsls>,
    /// For stations their place in the list of terminals.
    terminal: IndexVec<NodeId, Option<u32>>,
    /// Stations that forward for others.
    transit: IndexVec<NodeId, bool>,
    renewal: Option<Duration>,
    next_renewal: Time,
    router: Router,
}

impl Topology {
    /// # Errors
    /// A network that cannot be: see [`TopologyError`].
    pub fn new(spec: TopologySpec) -> Result<Topology, TopologyError> {
        build::check(&spec)?;
        let TopologySpec { earth, nodes, wired, isl, gsl, routing } = spec;
        let planes = build::planes(&nodes)?;
        let mut links = Links { nodes: &nodes, list: IndexVec::new() };
        for wire in &wired {
            links.fixed(LinkKind::Wired, wire.from, wire.to);
        }
        let isls = isl.map(|rules| links.grid(rules, &planes)).transpose()?;

        let mut terminal: IndexVec<NodeId, Option<u32>> = nodes.iter().map(|_| None).collect();
        let gsls = gsl.map(|rules| {
            let mut terminals = Vec::new();
            for (index, node) in nodes.iter().enumerate() {
                if let NodeKind::Station(station) = node.kind {
                    let id = NodeId::from_usize(index);
                    let uplink = links.roaming(LinkKind::Uplink, id, "sky");
                    terminal[id] = Some(terminals.len() as u32);
                    terminals.push(Terminal::new(id, &node.name, station.site(&earth), uplink, &rules));
                }
            }
            let downlink = |(index, node): (usize, &Node)| {
                let satellite = matches!(node.kind, NodeKind::Satellite { .. });
                satellite.then(|| links.roaming(LinkKind::Downlink, NodeId::from_usize(index), "ground"))
            };
            let downlinks = nodes.iter().enumerate().map(downlink).collect();
            Gsls::new(rules, terminals, downlinks, &planes)
        });
        let links = links.list;
        if let Some(name) = build::duplicate(links.iter().map(|link| link.name.as_str())) {
            return Err(TopologyError::DuplicateLink { name });
        }

        let motion = |node: &Node| match node.kind {
            NodeKind::Satellite { orbit, .. } => orbit.motion(&earth),
            NodeKind::Station(station) => Motion::turning_with(&earth, station.site(&earth).position()),
            NodeKind::Wired => Motion::turning_with(&earth, Vec3::ZERO),
        };
        let mut transit: IndexVec<NodeId, bool> = nodes.iter().map(|_| false).collect();
        wired.iter().flat_map(|wire| [wire.from, wire.to]).for_each(|node| transit[node] = true);
        Ok(Topology {
            table: LinkTable::new(&links),
            sky: Sky::new(earth, nodes.iter().map(motion).collect()),
            wires: wired.iter().map(|wire| wire.delay).collect(),
            next_renewal: Time::ZERO,
            renewal: routing.every,
            router: Router::new(nodes.len()),
            nodes: nodes.into(),
            links,
            isls,
            gsls,
            terminal,
            transit,
        })
    }

    pub fn nodes(&self) -> &IndexVec<NodeId, Node> {
        &self.nodes
    }

    /// Wires in the order of the specification, then ISLs, uplinks and downlinks.
    pub fn links(&self) -> &IndexVec<LinkId, Link> {
        &self.links
    }

    pub fn is_station(&self, node: NodeId) -> bool {
        matches!(self.nodes[node].kind, NodeKind::Station(_))
    }

    /// Whether packets can enter the link: a wire always; an ISL while its ends see each other; an uplink while a
    /// satellite serves the station; a downlink while the satellite serves any station.
    pub fn is_up(&self, link: LinkId) -> bool {
        self.table.end(link) != End::Down
    }

    /// Where a link leads now; `None` when it is down, and for downlinks, which lead to whom the route names.
    pub fn peer(&self, link: LinkId) -> Option<NodeId> {
        match self.table.end(link) {
            End::At(node) => Some(node),
            End::Down | End::Ground => None,
        }
    }

    fn terminal(&self, station: NodeId) -> Option<&Terminal> {
        self.gsls.as_ref()?.terminals.get(self.terminal[station]? as usize)
    }

    /// The satellite that serves a station.
    pub fn serving(&self, station: NodeId) -> Option<NodeId> {
        self.terminal(station)?.serving
    }

    /// A station's transmitter.
    pub fn uplink(&self, station: NodeId) -> Option<LinkId> {
        Some(self.terminal(station)?.uplink)
    }

    /// A satellite's transmitter to the ground.
    pub fn downlink(&self, satellite: NodeId) -> Option<LinkId> {
        self.gsls.as_ref()?.downlink(satellite)
    }

    /// The next instant at which something is checked, or routes are due; [`Time::MAX`] when nothing will ever change.
    pub fn next_change(&self) -> Time {
        let isls = self.isls.as_ref().map_or(Time::MAX, |isls| isls.next);
        let gsls = self.gsls.as_ref().map_or(Time::MAX, |gsls| gsls.next);
        isls.min(gsls).min(if self.has_sky() { self.next_renewal } else { Time::MAX })
    }

    /// Without a link that follows the sky, no delay ever changes.
    fn has_sky(&self) -> bool {
        self.isls.is_some() || self.gsls.is_some()
    }

    /// Does all checks that are due at `now` and appends what changed, in a fixed order: ISLs, then stations by
    /// [`NodeId`], and last [`Change::Routes`] if routes must be renewed. Call it at [`Topology::next_change`]; called
    /// later, what was missed is checked once.
    pub fn advance(&mut self, now: Time, changes: &mut Vec<Change>) {
        let Topology { sky, table, isls, gsls, .. } = self;
        let before = changes.len();
        if let Some(isls) = isls.as_mut().filter(|isls| isls.next <= now) {
            isls.check(now, sky, table, changes);
        }
        if let Some(gsls) = gsls.as_mut().filter(|gsls| gsls.next <= now) {
            gsls.check(now, sky, table, changes);
        }
        let due = self.has_sky() && self.next_renewal <= now;
        if due {
            self.next_renewal = self.renewal.map_or(Time::MAX, |every| next_multiple(now, every));
        }
        if self.sky.stands_still() {
            self.stop_checks();
        }
        if due || changes.len() > before {
            changes.push(Change::Routes);
        }
    }

    /// One check was enough: nothing moves.
    fn stop_checks(&mut self) {
        self.next_renewal = Time::MAX;
        if let Some(isls) = &mut self.isls {
            isls.next = Time::MAX;
        }
        if let Some(gsls) = &mut self.gsls {
            gsls.next = Time::MAX;
        }
    }

    /// Propagation delay between two satellites, or a satellite and a station, around `at`. It depends on the
    /// geometry alone, not on whether a link is up; it holds until its end, whatever links do.
    pub fn delay_segment(&self, from: NodeId, to: NodeId, at: Time) -> DelaySegment {
        debug_assert!([from, to].iter().all(|&node| self.nodes[node].kind != NodeKind::Wired));
        DelaySegment::between(&self.sky.earth, self.sky.motion(from), self.sky.motion(to), at)
    }

    /// Delay of a wired link; zero for links whose delay follows the sky.
    pub fn wired_delay(&self, link: LinkId) -> Duration {
        self.wires.get(link.index()).copied().unwrap_or(Duration::ZERO)
    }

    /// Shortest-delay routes to each of `destinations` over the links that are up, with the delays of `now`.
    /// Stations without a wired link forward nothing for others.
    pub fn routes(&mut self, destinations: &[NodeId], now: Time, out: &mut Forwarding) {
        self.draw_graph(now);
        out.reset(self.nodes.len(), destinations.len());
        for (n, &destination) in destinations.iter().enumerate() {
            self.router.search(destination, out.row_mut(n));
        }
    }

    /// The links that are up, with their delays at `now`.
    fn draw_graph(&mut self, now: Time) {
        let Topology { sky, links, table, router, wires, gsls, transit, .. } = self;
        sky.refresh(now);
        router.edges.clear();
        router.leaves.clear();
        for (link, &Link { kind, from, .. }) in links.enumerated() {
            let End::At(to) = table.end(link) else { continue };
            let hop = Hop { link, to };
            match kind {
                LinkKind::Wired => {
                    let delay_ns = wires[link.index()].as_nanos();
                    router.edges.push(Edge { from, hop, delay_ns });
                }
                LinkKind::Isl => router.edges.push(Edge { from, hop, delay_ns: sky.delay_ns(from, to) }),
                LinkKind::Uplink => {
                    let delay_ns = sky.delay_ns(from, to);
                    if transit[from] {
                        router.edges.push(Edge { from, hop, delay_ns });
                    } else {
                        router.leaves.push(Leaf { node: from, up: hop, delay_ns });
                    }
                    // And down again, on the transmitter that the satellite's stations share.
                    if let Some(link) = gsls.as_ref().and_then(|gsls| gsls.downlink(to)) {
                        router.edges.push(Edge { from: to, hop: Hop { link, to: from }, delay_ns });
                    }
                }
                LinkKind::Downlink => {}
            }
        }
        router.arrange();
    }

    /// The way from one node to another over the links that are up, with the delays of `at`.
    pub fn path(&mut self, from: NodeId, to: NodeId, at: Time) -> Option<Path> {
        let mut forwarding = Forwarding::default();
        self.routes(&[to], at, &mut forwarding);
        let mut path = Path { hops: Vec::new(), delay: Duration::ZERO };
        let mut node = from;
        while node != to {
            let hop = self.describe(node, forwarding.next_hop(0, node)?);
            path.hops.push(hop);
            path.delay += hop.delay;
            node = hop.to;
        }
        Some(path)
    }

    /// A hop with its geometry at the instant of the last routes.
    fn describe(&self, from: NodeId, Hop { link, to }: Hop) -> PathHop {
        let (delay, range) = match self.links[link].kind {
            LinkKind::Wired => (self.wired_delay(link), None),
            _ => {
                let km = (self.sky.positions()[from] - self.sky.positions()[to]).norm();
                (Duration::from_nanos(self.sky.delay_ns(from, to)), Some(skyhop_base::Length::from_km(km)))
            }
        };
        let elevation = match self.links[link].kind {
            LinkKind::Uplink => self.terminal(from).map(|terminal| (terminal, to)),
            LinkKind::Downlink => self.terminal(to).map(|terminal| (terminal, from)),
            LinkKind::Wired | LinkKind::Isl => None,
        };
        let elevation =
            elevation.map(|(terminal, satellite)| terminal.site.look(self.sky.positions()[satellite]).elevation);
        PathHop { link, from, to, delay, range, elevation }
    }

    /// Earth-fixed position in km of a satellite or station; `None` for wired nodes.
    pub fn position(&self, node: NodeId, at: Time) -> Option<Vec3> {
        let placed = self.nodes[node].kind != NodeKind::Wired;
        placed.then(|| self.sky.motion(node).earth_fixed_km(&self.sky.earth, at))
    }

    /// Where a station sees a satellite; `None` unless it is a station and the other one has a place.
    pub fn look(&self, station: NodeId, satellite: NodeId, at: Time) -> Option<Look> {
        let site: &Site = &self.terminal(station)?.site;
        Some(site.look(self.position(satellite, at)?))
    }
}
