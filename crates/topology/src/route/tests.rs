use super::group::NO_ROOT;
use super::*;
use skyhop_base::Stream;

/// Edges as (from, to, delay); a link's id is its place.
fn router(nodes: usize, edges: &[(u32, u32, u64)]) -> Router {
    let mut router = Router::new(nodes, std::iter::empty());
    let edge = |(n, &(from, to, delay_ns)): (usize, &(u32, u32, u64))| Edge {
        from: NodeId::new(from),
        hop: Hop { link: LinkId::from_usize(n), to: NodeId::new(to) },
        delay_ns,
    };
    router.edges = edges.iter().enumerate().map(edge).collect();
    router.arrange();
    router.renew_costs();
    router
}

/// First hops towards a destination, and distances.
fn search(router: &mut Router, destination: u32) -> (Vec<Hop>, Vec<u64>) {
    let nodes = router.graph.nodes();
    let mut table = Table::new(nodes, &router.far);
    table.reserve(1);
    let Router { graph, leaves, worker, .. } = router;
    worker.search(graph, leaves, NodeId::new(destination), &mut table.blocks().next().unwrap(), 0);
    ((0..nodes).map(|node| table.get(0, node)).collect(), worker.search.distance.clone())
}

fn rows(router: &mut Router, destination: u32) -> Vec<Hop> {
    search(router, destination).0
}

fn triples(n: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..n * n * n).map(move |k| (k / (n * n), k / n % n, k % n))
}

#[test]
fn searches_equal_floyd_and_warshall_on_random_graphs() {
    let mut stream = Stream::new(5, "route", "test");
    for round in 0..300 {
        let nodes = 2 + (stream.uniform() * 30.0) as usize;
        let count = (stream.uniform() * 4.0 * nodes as f64) as usize;
        // Few different delays, so that there are many ties; alike, or from a nanosecond to an hour.
        let delay = |u: f64| if round % 2 == 0 { 7 + (u * 6.0) as u64 } else { 1 << (u * 42.0) as u32 };
        let edges: Vec<(u32, u32, u64)> = (0..count)
            .map(|_| {
                let mut node = || (stream.uniform() * nodes as f64) as u32;
                (node(), node(), delay(stream.uniform()))
            })
            .filter(|(from, to, _)| from != to)
            .collect();
        let mut all = vec![vec![UNREACHED; nodes]; nodes];
        (0..nodes).for_each(|n| all[n][n] = 0);
        for &(from, to, delay) in &edges {
            let entry = &mut all[from as usize][to as usize];
            *entry = delay.min(*entry);
        }
        for (via, from, to) in triples(nodes) {
            all[from][to] = all[from][to].min(all[from][via].saturating_add(all[via][to]));
        }
        let mut router = router(nodes, &edges);
        for to in 0..nodes {
            let (row, distance) = search(&mut router, to as u32);
            for (from, known) in all.iter().map(|row| row[to]).enumerate() {
                assert_eq!(distance[from], known);
                // Following the hops takes exactly that long and ends.
                let (mut at, mut sum, mut hops) = (from, 0, 0);
                while at != to && row[at] != Forwarding::NONE {
                    let (near, far, delay) = edges[row[at].link.index()];
                    assert_eq!((near as usize, far), (at, row[at].to.as_u32()));
                    (at, sum, hops) = (far as usize, sum + delay, hops + 1);
                    assert!(hops < nodes, "no circles");
                }
                assert_eq!(at == to, known != UNREACHED);
                assert!(at != to || sum == known);
            }
        }
    }
}

/// Rows shared over gateways say the same as a search from each destination.
#[test]
fn shared_rows_equal_searches() {
    let mut stream = Stream::new(6, "route", "shared");
    let mut shared = 0;
    for _ in 0..300 {
        let nodes = 3 + (stream.uniform() * 20.0) as usize;
        let count = (stream.uniform() * 3.0 * nodes as f64) as usize;
        let mut node = || (stream.uniform() * nodes as f64) as u32;
        let mut edges: Vec<(u32, u32, u64)> = (0..count).map(|n| (node(), node(), 5 + n as u64 % 3)).collect();
        edges.retain(|(from, to, _)| from != to);
        // One station that forwards nothing, with two antennas.
        let station = nodes as u32;
        let mut router = router(nodes + 1, &edges);
        router.leaves = [node(), node()]
            .iter()
            .enumerate()
            .map(|(n, &satellite)| Leaf {
                node: NodeId::new(station),
                up: Hop { link: LinkId::from_usize(edges.len() + n), to: NodeId::new(satellite) },
                delay_ns: 4 + n as u64,
            })
            .collect();
        let destinations: Vec<NodeId> = (0..=station).map(NodeId::new).collect();
        let mut forwarding = Forwarding::default();
        router.fill(&destinations, false, &mut forwarding);
        for (index, &to) in destinations.iter().enumerate() {
            let row = rows(&mut router, to.as_u32());
            for &from in &destinations {
                let searched = Some(row[from.index()]).filter(|&hop| from != to && hop != Forwarding::NONE);
                assert_eq!(forwarding.next_hop(index, from), searched);
            }
        }
        let rows: std::collections::BTreeSet<usize> =
            forwarding.destinations.iter().map(|target| target.begin).collect();
        shared += destinations.len() - rows.len();
    }
    assert!(shared > 300, "{shared}");
}

#[test]
fn ties_go_to_the_lower_node_whatever_the_order_of_links() {
    //      1
    //   5 / \ 5
    //    0   3      both paths take 10; parallel links 0→1
    //   5 \ / 5
    //      2
    let edges = [(0, 2, 5), (2, 3, 5), (0, 1, 5), (0, 1, 5), (1, 3, 5)];
    let row = rows(&mut router(4, &edges), 3);
    assert_eq!(row[0], Hop { link: LinkId::new(2), to: NodeId::new(1) });
    let mut other = edges;
    other.reverse();
    assert_eq!(rows(&mut router(4, &other), 3)[0].to, NodeId::new(1));
}

#[test]
fn links_without_delay_lead_in_no_circle() {
    //    0 ══ 1 ── 2        both directions of 0 ══ 1 take no time
    let mut router = router(3, &[(0, 1, 0), (1, 0, 0), (1, 2, 5), (2, 1, 5)]);
    let row = rows(&mut router, 2);
    assert_eq!((row[0].to, row[1].to), (NodeId::new(1), NodeId::new(2)));
    assert_eq!(rows(&mut router, 0)[2].to, NodeId::new(1));
}

#[test]
fn directions_count_and_what_is_cut_off_has_no_route() {
    let mut router = router(4, &[(0, 1, 7), (1, 2, 1), (2, 0, 1)]);
    assert_eq!(rows(&mut router, 1)[2], Hop { link: LinkId::new(2), to: NodeId::new(0) });
    assert_eq!(rows(&mut router, 1)[1], Forwarding::NONE);
    assert_eq!(rows(&mut router, 1)[3], Forwarding::NONE);
}

/// A random network that changes: wires of few different delays, so that there are many ties, and stations that look at
/// one or two satellites or at none.
struct Changing {
    stream: Stream,
    nodes: u32,
    links: Vec<(u32, u32)>,
    delays: Vec<Option<u64>>,
    /// In ns. In some rounds so long that paths, or single links, do not fit into the 31 bits of a renewal.
    unit: u64,
}

impl Changing {
    const STATIONS: u32 = 3;

    fn new(round: u64) -> Changing {
        let mut stream = Stream::new(round, "route", "changing");
        let nodes = 5 + (stream.uniform() * 25.0) as u32;
        let count = (stream.uniform() * 4.0 * f64::from(nodes)) as usize;
        let mut node = || (stream.uniform() * f64::from(nodes)) as u32;
        let mut links: Vec<(u32, u32)> = (0..count).map(|_| (node(), node())).collect();
        links.retain(|(from, to)| from != to);
        let unit = [1, 1, 1 << 24, 1 << 25][round as usize % 4];
        Changing { stream, nodes, delays: vec![Some(10 * unit); links.len()], links, unit }
    }

    fn below(&mut self, limit: u32) -> u32 {
        (self.stream.uniform() * f64::from(limit)) as u32
    }

    /// Some steps change delays alone, others also what is up.
    fn step(&mut self, router: &mut Router) {
        let (share, links_change) = (self.stream.uniform(), self.stream.uniform() < 0.5);
        for link in 0..self.links.len() {
            if self.stream.uniform() > share {
                continue;
            }
            let delay = (5 + u64::from(self.below(8))) * self.unit;
            let toggles = links_change && self.stream.uniform() < 0.2;
            self.delays[link] = match self.delays[link] {
                Some(_) if toggles => None,
                None if !toggles => None,
                _ => Some(delay),
            };
        }
        let up = self.links.iter().zip(&self.delays).enumerate();
        let edge = |(n, (&(from, to), delay)): (usize, (&(u32, u32), &Option<u64>))| {
            let hop = Hop { link: LinkId::from_usize(n), to: NodeId::new(to) };
            delay.map(|delay_ns| Edge { from: NodeId::new(from), hop, delay_ns })
        };
        router.edges = up.filter_map(edge).collect();
        if links_change {
            router.leaves.clear();
            for n in 0..Self::STATIONS * 2 {
                let (satellite, delay_ns) =
                    (NodeId::new(self.below(self.nodes)), u64::from(4 + self.below(3)) * self.unit);
                if self.stream.uniform() < 0.6 {
                    let link = |more: u32| LinkId::from_usize(self.links.len() + (2 * n + more) as usize);
                    let node = NodeId::new(self.nodes + n / 2);
                    router.leaves.push(Leaf { node, up: Hop { link: link(0), to: satellite }, delay_ns });
                    let down = Hop { link: link(1), to: node };
                    router.edges.push(Edge { from: satellite, hop: down, delay_ns });
                }
            }
        }
        router.arrange();
        router.renew_costs();
    }
}

/// Distances by relaxing every edge until nothing changes; then among the shortest paths the lowest node and link.
fn by_definition(router: &Router, to: NodeId) -> Vec<Hop> {
    let nodes = router.graph.nodes();
    let mut distance = vec![u64::MAX; nodes];
    distance[to.index()] = 0;
    let total = |distance: &[u64], edge: &Edge| distance[edge.hop.to.index()].saturating_add(edge.delay_ns);
    for _ in 0..nodes {
        for edge in &router.edges {
            distance[edge.from.index()] = distance[edge.from.index()].min(total(&distance, edge));
        }
    }
    let leaves = router.leaves.iter().map(|leaf| Edge { from: leaf.node, hop: leaf.up, delay_ns: leaf.delay_ns });
    let edges: Vec<Edge> = router.edges.iter().copied().chain(leaves).collect();
    let best = |from: NodeId| {
        let ways = edges.iter().filter(|edge| edge.from == from);
        let way = |edge: &Edge| (total(&distance, edge), edge.hop.to, edge.hop.link);
        let (total, to, link) = ways.map(way).min()?;
        (total < u64::MAX).then_some(Hop { link, to })
    };
    let hop = |from| if from == to { Forwarding::NONE } else { best(from).unwrap_or(Forwarding::NONE) };
    (0..nodes).map(NodeId::from_usize).map(hop).collect()
}

/// A router that shares the smallest renewal among so many threads.
fn on_threads(nodes: u32, threads: usize) -> Router {
    let mut router = Router::new(nodes as usize, std::iter::empty());
    router.least_share = 0;
    router.use_threads(threads);
    router
}

/// Rows that are in use, with their roots.
fn roots(forwarding: &Forwarding) -> Vec<(usize, u32)> {
    let rows = forwarding.groups.iter().flat_map(|group| group.roots).enumerate();
    rows.filter(|&(_, root)| root != NO_ROOT).collect()
}

#[test]
fn renewed_routes_equal_searches_after_any_change() {
    let (mut renewed, mut moved) = (0, 0);
    for round in 0..60 {
        let mut network = Changing::new(round);
        let nodes = network.nodes + Changing::STATIONS;
        let mut router = on_threads(nodes, 1);
        let mut kept = Forwarding::default();
        for step in 0..40 {
            router.use_threads(1 + step % 3);
            network.step(&mut router);
            let mut destinations: Vec<NodeId> =
                (0..4 + round % 2 * 40).map(|_| NodeId::new(network.below(nodes))).collect();
            // These stay, …
            destinations.extend([NodeId::new(0), NodeId::new(nodes - 1)]);
            let before = kept.clone();
            router.fill(&destinations, true, &mut kept);
            let mut fresh = Forwarding::default();
            router.fill(&destinations, false, &mut fresh);
            for (index, &to) in destinations.iter().enumerate() {
                let known = by_definition(&router, to);
                for from in (0..nodes).map(NodeId::new) {
                    let hop = Some(known[from.index()]).filter(|&hop| hop != Forwarding::NONE);
                    assert_eq!(kept.next_hop(index, from), hop, "round {round}: {from:?} to {to:?}");
                    assert_eq!(fresh.next_hop(index, from), hop, "round {round}: {from:?} to {to:?}");
                }
            }
            // … so that their rows are renewed, and some routes change.
            for (row, _) in roots(&kept).into_iter().filter(|row| roots(&before).contains(row)) {
                renewed += 1;
                let hops = |table: &Table| {
                    (0..nodes as usize).map(|node| table.get(table.begin(row), node)).collect::<Vec<_>>()
                };
                moved += u32::from(hops(&before.table) != hops(&kept.table));
            }
        }
    }
    assert!(renewed > 3000 && moved > 1000, "{renewed} renewals, {moved} of them changed routes");
}

/// A net of `side` × `side` nodes, each linked to its neighbours.
fn net(side: u32) -> Vec<(u32, u32)> {
    let right = (0..side * side).filter(|n| n % side + 1 < side).map(|n| (n, n + 1));
    let below = (0..side * (side - 1)).map(|n| (n, n + side));
    right.chain(below).flat_map(|(a, b)| [(a, b), (b, a)]).collect()
}

/// A sweep over unchanged links needs no repair with a sequence made anew, and needs some with the one before. One node
/// has no links for a while.
#[test]
fn a_sequence_that_is_made_anew_knows_all_next_hops() {
    const SIDE: u32 = 40;
    let mut stream = Stream::new(9, "route", "visits");
    let mut router = Router::new((SIDE * SIDE) as usize, std::iter::empty());
    let links = net(SIDE);
    let mut delays: Vec<u64> = links.iter().map(|_| 1_000 + (stream.uniform() * 1_000.0) as u64).collect();
    let roots: Vec<NodeId> = (0..16).map(|n| NodeId::new(n * 100)).collect();
    let (mut kept, mut repaired, mut most) = (Forwarding::default(), 0, 0);
    for step in 0..40 {
        delays.iter_mut().for_each(|delay| *delay += (stream.uniform() * 3.0) as u64);
        let edge = |(n, (&(from, to), &delay_ns)): (usize, (&(u32, u32), &u64))| Edge {
            from: NodeId::new(from),
            hop: Hop { link: LinkId::from_usize(n), to: NodeId::new(to) },
            delay_ns,
        };
        let is_up = |(from, to): (u32, u32)| step >= 5 || (from != 1 && to != 1);
        let up = links.iter().zip(&delays).enumerate().filter(|(_, (link, _))| is_up(**link));
        router.edges = up.map(edge).collect();
        router.arrange();
        router.renew_costs();
        router.fill(&roots, true, &mut kept);
        let (graph, sweep, group) = (&router.graph, &mut router.worker.sweep, kept.groups[0].clone());
        sweep.run(graph, &mut group.clone());
        repaired += usize::from(sweep.repairs() > 0);
        most = most.max(sweep.repairs());
        let mut anew = group;
        anew.make_visits(graph);
        sweep.run(graph, &mut anew);
        assert_eq!(sweep.repairs(), 0);
    }
    // Outdated sequences are made anew in time.
    assert!(repaired > 10 && most < 100, "{repaired} sweeps with repairs, {most} in one");
}

/// Costs drift and links come and go in a net of 20 × 20 nodes while 40 roots, three groups, are renewed: enough for
/// orders that fit no lane, for further visits and for repairs.
#[test]
fn renewed_routes_equal_searches_in_a_net_with_many_roots() {
    const SIDE: u32 = 20;
    let mut stream = Stream::new(8, "route", "net");
    let mut router = on_threads(SIDE * SIDE, 1);
    let links = net(SIDE);
    let mut delays: Vec<u64> = links.iter().map(|_| 1_000 + (stream.uniform() * 1_000.0) as u64).collect();
    let mut roots: Vec<NodeId> = (0..40).map(|n| NodeId::new(n * 10)).collect();
    let (mut kept, mut visits, mut repaired) = (Forwarding::default(), 0, 0);
    for step in 0..60 {
        for delay in &mut delays {
            *delay = (*delay + (stream.uniform() * 40.0) as u64).saturating_sub(20).max(1);
        }
        router.use_threads(1 + step % 4);
        // Every fifth time other links are down, in between the same, and now and then there was another shape that
        // the rows have not seen.
        let mut draw = |shift: usize| {
            let up = links.iter().zip(&delays).enumerate().filter(|&(n, _)| !(n + shift).is_multiple_of(17));
            let edge = |(n, (&(from, to), &delay_ns)): (usize, (&(u32, u32), &u64))| Edge {
                from: NodeId::new(from),
                hop: Hop { link: LinkId::from_usize(n), to: NodeId::new(to) },
                delay_ns,
            };
            router.edges = up.map(edge).collect();
            router.arrange();
            router.renew_costs();
        };
        if step % 10 == 5 {
            draw(16);
        }
        draw(step / 5);
        roots[step % 40] = NodeId::new((stream.uniform() * f64::from(SIDE * SIDE)) as u32);
        router.fill(&roots, true, &mut kept);
        visits += kept.groups.iter().map(|group| group.visits.len() - (SIDE * SIDE) as usize).sum::<usize>();
        assert_eq!(router.most_threads, (1 + step % 4).min(kept.groups.len()));
        let workers = std::iter::once(&router.worker).chain(&router.helpers);
        repaired += usize::from(workers.map(|worker| worker.sweep.repairs()).sum::<usize>() > 0);
        assert!(kept.groups.iter().all(|group| group.stale == 0), "lanes without a root stay stale");
        let mut fresh = Forwarding::default();
        router.fill(&roots, false, &mut fresh);
        for (index, to) in roots.iter().enumerate() {
            for from in (0..SIDE * SIDE).map(NodeId::new) {
                assert_eq!(kept.next_hop(index, from), fresh.next_hop(index, from), "step {step}: {from:?} to {to:?}");
            }
        }
    }
    assert!(visits > 10_000 && repaired > 10, "{visits} visits added, repairs in {repaired} renewals");
}
