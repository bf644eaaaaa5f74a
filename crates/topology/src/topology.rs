//! The network: what [`Topology`] offers.

use crate::build::{self, Links, OfElements, Plane};
use crate::gsl::Gsls;
use crate::isl::{Isls, NeighbourPlanes};
use crate::link::{End, LinkTable};
use crate::route::{Edge, HOP_PENALTY, Hop, Leaf, Router};
use crate::sky::{Sky, next_multiple};
use crate::terminal::{Mount, Place, Terminal};
use crate::terrestrial::Terrestrial;
use crate::{
    Change, DelaySegment, Forwarding, GslRules, IslLayout, IslOptions, IslRules, LinkId, LinkKind, Metric, NetworkLink,
    Node, NodeId, NodeKind, NodeSpec, Path, PathHop, SkyOptions, TopologyError, TopologySpec, Why, WiredLink,
};
use skyhop_base::{Duration, Index, IndexVec, Time};
use skyhop_orbit::{Earth, Look, Motion, Track, Vec3};

/// Nodes, links and routes of a network at a moment that moves on with [`Topology::advance`].
#[derive(Clone, Debug)]
pub struct Topology {
    nodes: IndexVec<NodeId, Node>,
    links: IndexVec<LinkId, NetworkLink>,
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
    /// Stations with a wire that leads on.
    gateway: IndexVec<NodeId, bool>,
    renewal: Option<Duration>,
    next_renewal: Time,
    router: Router,
}

impl Topology {
    /// # Errors
    /// A network that cannot be: see [`TopologyError`].
    pub fn new(spec: TopologySpec) -> Result<Topology, TopologyError> {
        Topology::with_options(spec, SkyOptions::default())
    }

    /// The same with what [`TopologySpec`] does not know.
    ///
    /// # Errors
    /// A network that cannot be: see [`TopologyError`].
    pub fn with_options(spec: TopologySpec, options: SkyOptions) -> Result<Topology, TopologyError> {
        build::check(&spec)?;
        build::check_options(&options, &spec)?;
        let TopologySpec { earth, nodes, wired, isl, gsl, routing } = spec;
        let planes = build::planes(&nodes, matches!(options.isl.layout, IslLayout::Planes(_)))?;
        let mut links = Links { nodes: &nodes, list: IndexVec::new() };
        for wire in &wired {
            links.fixed(LinkKind::Wired, wire.from, wire.to);
        }
        let isls = isl.map(|rules| build_isls(&mut links, rules, &earth, &options, &planes)).transpose()?;
        let mut transit: IndexVec<NodeId, bool> = nodes.iter().map(|_| false).collect();
        // Who only falls back on a wire forwards nothing for others.
        let falls_back = |a: NodeId, b: NodeId| options.terrestrial.iter().any(|t| t.station == a && t.to == b);
        let lasting = |wire: &&WiredLink| !falls_back(wire.from, wire.to) && !falls_back(wire.to, wire.from);
        wired.iter().filter(lasting).flat_map(|wire| [wire.from, wire.to]).for_each(|node| transit[node] = true);
        let mut gateway: IndexVec<NodeId, bool> = nodes.iter().map(|_| false).collect();
        let leads_on = |wire: &&WiredLink| ![wire.from, wire.to].iter().any(|node| options.hosts.contains(node));
        let between = wired.iter().filter(lasting).filter(leads_on).flat_map(|wire| [wire.from, wire.to]);
        between.for_each(|node| gateway[node] = matches!(nodes[node.index()].kind, NodeKind::Station(_)));
        let mut terminal: IndexVec<NodeId, Option<u32>> = nodes.iter().map(|_| None).collect();
        let gsls = gsl.map(|rules| {
            let terminals = build_terminals(&mut links, &earth, &rules, &options, &gateway);
            let beams = options.beams.clone();
            for (n, found) in terminals.iter().enumerate().rev() {
                terminal[found.node] = Some(n as u32);
            }
            let downlink = |(index, node): (usize, &Node)| {
                let satellite = matches!(node.kind, NodeKind::Satellite { .. });
                satellite.then(|| links.roaming(LinkKind::Downlink, NodeId::from_usize(index), "ground"))
            };
            let downlinks = nodes.iter().enumerate().map(downlink).collect();
            Gsls::new(earth, rules, options.gsl, terminals, downlinks, &planes, beams)
        });
        let links = links.list;
        if let Some(name) = build::duplicate(links.iter().map(|link| link.name.as_str())) {
            return Err(TopologyError::DuplicateLink { name });
        }

        let motion = |(index, node): (usize, &Node)| match node.kind {
            NodeKind::Satellite { orbit, .. } => orbit.motion(&earth),
            NodeKind::Station(station) => match options.track(NodeId::from_usize(index)) {
                Some(track) => Motion::along(&earth, track.clone()),
                None => Motion::turning_with(&earth, station.site(&earth).position()),
            },
            NodeKind::Wired => Motion::turning_with(&earth, Vec3::ZERO),
        };
        let mut router = Router::new(nodes.len(), links.iter().map(|link| link.to));
        router.penalty = match options.metric {
            Metric::Delay => 0,
            Metric::Hops => HOP_PENALTY,
        };
        let mut table = LinkTable::new(&links);
        for terminal in gsls.iter().flat_map(|gsls: &Gsls| &gsls.terminals) {
            for &(link, _) in terminal.terrestrial.iter().flat_map(|terrestrial| &terrestrial.wires) {
                table.set(link, End::Down, Why::InSight, &mut Vec::new());
            }
        }
        Ok(Topology {
            table,
            sky: Sky::new(earth, nodes.iter().enumerate().map(motion).collect()),
            wires: wired.iter().map(|wire| wire.delay).collect(),
            next_renewal: Time::ZERO,
            renewal: routing.every,
            router,
            nodes: nodes.into(),
            links,
            isls,
            gsls,
            terminal,
            transit,
            gateway,
        })
    }

    pub fn nodes(&self) -> &IndexVec<NodeId, Node> {
        &self.nodes
    }

    /// Wires in the order of the specification, then ISLs, uplinks and downlinks.
    pub fn links(&self) -> &IndexVec<LinkId, NetworkLink> {
        &self.links
    }

    /// The neighbouring planes of a grid with the pairs that link them at t = 0; empty with another layout. Planes on
    /// either side of a seam are not among them.
    pub fn neighbour_planes(&self) -> &[NeighbourPlanes] {
        self.isls.as_ref().map_or(&[], Isls::neighbours)
    }

    /// Whether a satellite without a partner in a neighbouring plane takes a second link of another one there, at any
    /// time of the run ([`Unpaired::Nearest`](crate::Unpaired)).
    pub fn has_second_links(&self) -> bool {
        self.isls.as_ref().is_some_and(Isls::has_second_links)
    }

    pub fn is_station(&self, node: NodeId) -> bool {
        matches!(self.nodes[node].kind, NodeKind::Station(_))
    }

    /// A station with a wired link that leads on, not only to hosts of its own flows.
    pub fn is_gateway(&self, node: NodeId) -> bool {
        self.gateway[node]
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

    /// The satellite that serves a station, or that its (first) antenna is acquiring.
    pub fn serving(&self, station: NodeId) -> Option<NodeId> {
        self.terminal(station)?.serving
    }

    /// For each antenna of a station its transmitter, and the satellite that serves it or that it is acquiring.
    pub fn antennas(&self, station: NodeId) -> impl Iterator<Item = (LinkId, Option<NodeId>)> {
        let terminals = self.gsls.as_ref().map_or(&[][..], |gsls| &gsls.terminals);
        let own = self.terminal(station).map_or(0..0, |first| first.siblings.clone());
        terminals[own].iter().map(|terminal| (terminal.uplink, terminal.serving))
    }

    /// A station's (first) transmitter.
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
    /// later, missed checks are made once.
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
        if self.sky.stands_still() && self.gsls.as_ref().is_none_or(Gsls::may_stop) {
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

    /// Positions and routes are found on so many threads from now on, where that takes less time. Results do not depend
    /// on it. One thread, the caller's, is the default. A clone uses as many.
    pub fn use_threads(&mut self, threads: usize) {
        self.router.use_threads(threads);
        self.sky.use_threads(threads, false);
    }

    /// [`Topology::use_threads`] where it does not pay, too.
    pub fn use_threads_always(&mut self, threads: usize) {
        self.router.use_threads(threads);
        self.router.least_share = 0;
        self.sky.use_threads(threads, true);
    }

    /// The most threads that have found positions or routes together since their number was given.
    pub fn route_threads(&self) -> usize {
        self.router.most_threads.max(self.sky.most_threads())
    }

    /// Shortest-delay routes to each of `destinations` over the links that are up, with the delays of `now`.
    /// Stations without a wired link forward nothing for others. To hand over the `out` of the last time saves most of
    /// the time and changes nothing else.
    pub fn routes(&mut self, destinations: &[NodeId], now: Time, out: &mut Forwarding) {
        self.draw_graph(now);
        let changes = self.next_change() < Time::MAX;
        self.router.fill(destinations, changes, out);
        if !changes {
            self.router.forget();
        }
    }

    /// The links that are up, with their delays at `now`.
    fn draw_graph(&mut self, now: Time) {
        let Topology { sky, links, table, router, wires, gsls, transit, .. } = self;
        // Which links are up does not depend on where the nodes are by now.
        let mut wired = 0;
        sky.refresh_while(now, || {
            router.edges.clear();
            router.leaves.clear();
            for (link, &NetworkLink { kind, from, .. }) in links.enumerated() {
                let End::At(to) = table.end(link) else { continue };
                let hop = Hop { link, to };
                match kind {
                    // These are the first links.
                    LinkKind::Wired => {
                        debug_assert!(wired == router.edges.len());
                        wired += 1;
                        router.edges.push(Edge { from, hop, delay_ns: wires[link.index()].as_nanos() });
                    }
                    LinkKind::Isl => router.edges.push(Edge { from, hop, delay_ns: 0 }),
                    LinkKind::Uplink => {
                        if transit[from] {
                            router.edges.push(Edge { from, hop, delay_ns: 0 });
                        } else {
                            router.leaves.push(Leaf { node: from, up: hop, delay_ns: 0 });
                        }
                        // And down again, on the transmitter that the satellite's stations share.
                        if let Some(link) = gsls.as_ref().and_then(|gsls| gsls.downlink(to)) {
                            router.edges.push(Edge { from: to, hop: Hop { link, to: from }, delay_ns: 0 });
                        }
                    }
                    LinkKind::Downlink => {}
                }
            }
            router.arrange();
        });
        // The two directions of an ISL follow one another.
        let mut last = (NodeId::new(0), NodeId::new(0), 0);
        for edge in &mut router.edges[wired..] {
            let (from, to) = (edge.from, edge.hop.to);
            edge.delay_ns = if (last.0, last.1) == (to, from) { last.2 } else { sky.delay_ns(from, to) };
            last = (from, to, edge.delay_ns);
        }
        for leaf in &mut router.leaves {
            leaf.delay_ns = sky.delay_ns(leaf.node, leaf.up.to);
        }
        router.renew_costs();
    }

    /// The path from one node to another over the links that are up, with the delays of `at`.
    pub fn path(&mut self, from: NodeId, to: NodeId, at: Time) -> Option<Path> {
        self.path_by_routes_of(at, from, to, at)
    }

    /// The same over the routes that were renewed at `renewed`, since when no link has changed. Delays are those of
    /// `at`.
    pub fn path_by_routes_of(&mut self, renewed: Time, from: NodeId, to: NodeId, at: Time) -> Option<Path> {
        let mut forwarding = Forwarding::default();
        self.draw_graph(renewed);
        self.router.fill(&[to], false, &mut forwarding);
        self.sky.refresh(at);
        let mut path = Path { hops: Vec::new(), delay: Duration::ZERO };
        let mut node = from;
        while node != to {
            let hop = self.describe(node, forwarding.next_hop(0, node)?, at);
            path.hops.push(hop);
            path.delay += hop.delay;
            node = hop.to;
        }
        Some(path)
    }

    /// A hop with its geometry at the instant of the last positions.
    fn describe(&self, from: NodeId, Hop { link, to }: Hop, at: Time) -> PathHop {
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
        let elevation = elevation.map(|(terminal, satellite)| {
            terminal.place.site(&self.sky.earth, at).look(self.sky.positions()[satellite]).elevation
        });
        PathHop { link, from, to, delay, range, elevation }
    }

    /// Earth-fixed position in km of a satellite or station; `None` for wired nodes.
    pub fn position(&self, node: NodeId, at: Time) -> Option<Vec3> {
        let placed = self.nodes[node].kind != NodeKind::Wired;
        placed.then(|| self.sky.motion(node).earth_fixed_km(&self.sky.earth, at))
    }

    /// The track of a station that moves.
    pub fn track(&self, station: NodeId) -> Option<&Track> {
        self.sky.motion(station).track()
    }

    /// Where a station sees a satellite; `None` unless it is a station and the other one has a place.
    pub fn look(&self, station: NodeId, satellite: NodeId, at: Time) -> Option<Look> {
        let site = self.terminal(station)?.place.site(&self.sky.earth, at);
        Some(site.look(self.position(satellite, at)?))
    }
}

fn build_isls(
    links: &mut Links<'_>,
    rules: IslRules,
    earth: &Earth,
    options: &SkyOptions,
    planes: &[Plane],
) -> Result<Isls, TopologyError> {
    let layout = match &options.isl.layout {
        IslLayout::Grid => {
            links.refuse_elements()?;
            links.grid(rules, earth, None, planes)?
        }
        IslLayout::Planes(neighbours) => {
            let IslOptions { longest, pairing, unpaired, .. } = options.isl;
            let longest_km = longest.map_or(f64::INFINITY, |longest| longest.km());
            let of_elements = OfElements { neighbours: *neighbours, pairing, unpaired, longest_km };
            links.grid(rules, earth, Some(of_elements), planes)?
        }
        IslLayout::Nearest { links: transmitters } => links.mesh(*transmitters)?,
        IslLayout::List(list) => links.list(list)?,
    };
    let longest_km = options.isl.longest.map_or(f64::INFINITY, |longest| longest.km());
    let satellite_name = |node: &NodeSpec| match node.kind {
        NodeKind::Satellite { .. } => Some(node.name.clone()),
        _ => None,
    };
    let names: Vec<Option<String>> = links.nodes.iter().map(satellite_name).collect();
    Ok(Isls::new(rules, longest_km, options.isl.checks, layout, names.iter().map(Option::as_deref)))
}

/// The antennas of all stations in the order of nodes, each with its uplink.
fn build_terminals(
    links: &mut Links<'_>,
    earth: &Earth,
    rules: &GslRules,
    options: &SkyOptions,
    gateway: &IndexVec<NodeId, bool>,
) -> Vec<Terminal> {
    let mut terminals = Vec::new();
    for (index, spec) in links.nodes.iter().enumerate() {
        let NodeKind::Station(station) = spec.kind else { continue };
        let node = NodeId::from_usize(index);
        let antennas = options.station(node).map_or(1, |options| options.antennas as usize);
        let siblings = terminals.len()..terminals.len() + antennas;
        for antenna in 0..antennas {
            // The first antenna is called like that of a station with only one.
            let suffix = if antenna == 0 { String::new() } else { format!("-{antenna}") };
            let uplink = links.roaming(LinkKind::Uplink, node, &format!("sky{suffix}"));
            let place = match options.track(node) {
                Some(track) => Place::Moving(track.clone()),
                None => Place::Fixed(station.site(earth)),
            };
            let fallback = options.terrestrial.iter().find(|terrestrial| terrestrial.station == node);
            let terrestrial = fallback.map(|to| Terrestrial::new(to.rule.clone(), wires_between(links, node, to.to)));
            let own = options.station(node);
            let mount = Mount {
                node,
                place,
                uplink,
                gateway: gateway[node],
                siblings: siblings.clone(),
                terrestrial,
                mask: own.and_then(|own| own.elevation_mask),
                policy: own.and_then(|own| own.policy),
                obstructions: own.map(|own| own.obstructions.clone()).unwrap_or_default(),
            };
            terminals.push(Terminal::new(mount, &format!("{}{suffix}", spec.name), rules, options.gsl.gateway_policy));
        }
    }
    terminals
}

/// The wires between two nodes in both directions.
fn wires_between(links: &Links<'_>, a: NodeId, b: NodeId) -> Vec<(LinkId, NodeId)> {
    let joins = |(id, link): (LinkId, &NetworkLink)| {
        let to = link.to.filter(|&to| link.kind == LinkKind::Wired && [(a, b), (b, a)].contains(&(link.from, to)))?;
        Some((id, to))
    };
    links.list.enumerated().filter_map(joins).collect()
}
