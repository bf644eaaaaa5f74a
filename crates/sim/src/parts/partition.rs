//! Divides a weighted graph into parts of equal weight between which little passes.
//!
//! Recursive bisection. A half is grown from a seed by the node that is tied to it most (greedy graph growing), from
//! several seeds, and the best is improved by moving single nodes (C. Fiduccia and R. Mattheyses, "A linear-time
//! heuristic for improving network partitions", DAC 1982): G. Karypis and V. Kumar, "A fast and high quality multilevel
//! scheme for partitioning irregular graphs", SIAM Journal on Scientific Computing 20(1), 1998, §3.2 and §3.3, without
//! its coarsening.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

/// Seeds from which a half is grown.
const SEEDS: usize = 8;
/// Passes that move single nodes.
const PASSES: usize = 6;
/// Nodes that are moved at most to balance two halves.
const MOVES: usize = 64;
/// While a cut is sought, the heavier part may have so much more than its share, of the whole.
const SLACK: f64 = 0.02;

/// Nodes with weights, and what passes between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    /// The time that a node takes.
    pub weights: Vec<f64>,
    /// By node, its neighbours and how many packets pass to and from each; every edge stands at both ends.
    pub edges: Vec<BTreeMap<u32, f64>>,
}

impl Graph {
    pub fn new(nodes: usize) -> Graph {
        Graph { weights: vec![0.0; nodes], edges: vec![BTreeMap::new(); nodes] }
    }

    pub fn connect(&mut self, a: u32, b: u32, weight: f64) {
        *self.edges[a as usize].entry(b).or_default() += weight;
        *self.edges[b as usize].entry(a).or_default() += weight;
    }

    /// The graph of groups of nodes; `groups` gives each node's, below `count`.
    pub fn contracted(&self, groups: &[u32], count: usize) -> Graph {
        let mut graph = Graph::new(count);
        for (node, &group) in groups.iter().enumerate() {
            graph.weights[group as usize] += self.weights[node];
            for (&other, &weight) in self.edges[node].range(node as u32..) {
                if groups[other as usize] != group {
                    graph.connect(group, groups[other as usize], weight);
                }
            }
        }
        graph
    }

    /// What passes between each two neighbours in different parts, in both directions.
    pub fn cut(&self, parts: &[u32]) -> impl Iterator<Item = f64> {
        self.edges.iter().enumerate().flat_map(move |(node, edges)| {
            let crosses = move |other: u32| other as usize > node && parts[other as usize] != parts[node];
            edges.iter().filter(move |(other, _)| crosses(**other)).map(|(_, weight)| *weight)
        })
    }

    /// The weight of each part.
    pub fn loads(&self, parts: &[u32], count: usize) -> Vec<f64> {
        let mut loads = vec![0.0; count];
        parts.iter().zip(&self.weights).for_each(|(&part, weight)| loads[part as usize] += weight);
        loads
    }

    /// The part of each node, of so many. `crossing` is the time that a packet that crosses takes of one part.
    pub fn divided(&self, parts: usize, crossing: f64) -> Vec<u32> {
        let mut found = vec![0; self.weights.len()];
        self.divide((0..self.weights.len() as u32).collect(), 0, (parts, crossing), &mut found);
        found
    }

    fn divide(&self, nodes: Vec<u32>, first: u32, (parts, crossing): (usize, f64), found: &mut [u32]) {
        if parts <= 1 || nodes.len() <= 1 {
            nodes.iter().for_each(|&node| found[node as usize] = first);
            return;
        }
        let near = parts / 2;
        let inside = self.bisected(&nodes, near as f64 / parts as f64, crossing);
        let (a, b) = nodes.into_iter().partition(|&node| inside[node as usize] == Side::In);
        self.divide(a, first, (near, crossing), found);
        self.divide(b, first + near as u32, (parts - near, crossing), found);
    }

    /// Which of `nodes` make up a share of their weight.
    fn bisected(&self, nodes: &[u32], share: f64, crossing: f64) -> Vec<Side> {
        let total: f64 = nodes.iter().map(|&node| self.weights[node as usize]).sum();
        let target = total * share;
        let step = nodes.len().div_ceil(SEEDS);
        let mut best: Option<(f64, Vec<Side>)> = None;
        for &seed in nodes.iter().step_by(step) {
            let mut sides = self.grown(nodes, seed, target);
            self.improve(nodes, target, total * SLACK, &mut sides);
            self.balance(nodes, target, crossing, &mut sides);
            let cost = self.cost(nodes, target, crossing, &sides);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, sides));
            }
        }
        best.map(|(_, sides)| sides).unwrap_or_default()
    }

    /// The time that the run takes for what crosses, and because one half has more than its share.
    fn cost(&self, nodes: &[u32], target: f64, crossing: f64, sides: &[Side]) -> f64 {
        let mut cut = 0.0;
        for &node in nodes.iter().filter(|&&node| sides[node as usize] == Side::In) {
            let out = self.edges[node as usize].iter().filter(|(other, _)| sides[**other as usize] == Side::Out);
            cut += out.map(|(_, weight)| weight).sum::<f64>();
        }
        crossing * cut + (self.inside(nodes, sides) - target).abs()
    }

    /// The weight of a half.
    fn inside(&self, nodes: &[u32], sides: &[Side]) -> f64 {
        let inside = nodes.iter().filter(|&&node| sides[node as usize] == Side::In);
        inside.map(|&node| self.weights[node as usize]).sum()
    }

    /// What passes between a node and its own half, and between it and the other one.
    fn ties(&self, node: u32, sides: &[Side]) -> (f64, f64) {
        let (mut here, mut there) = (0.0, 0.0);
        for (&other, &weight) in &self.edges[node as usize] {
            match sides[other as usize] {
                Side::Absent => {}
                other if other == sides[node as usize] => here += weight,
                _ => there += weight,
            }
        }
        (here, there)
    }

    fn grown(&self, nodes: &[u32], seed: u32, target: f64) -> Vec<Side> {
        let mut sides = vec![Side::Absent; self.weights.len()];
        nodes.iter().for_each(|&node| sides[node as usize] = Side::Out);
        let mut ties = vec![0.0; self.weights.len()];
        let mut heap = BinaryHeap::from([Tie { weight: 0.0, node: seed }]);
        let (mut inside, mut others) = (0.0, nodes.iter().copied());
        while inside < target {
            let node = match heap.pop() {
                Some(Tie { weight, node }) if sides[node as usize] == Side::Out && weight >= ties[node as usize] => {
                    node
                }
                Some(_) => continue,
                // Nothing is tied to the half any more.
                None => match others.find(|&node| sides[node as usize] == Side::Out) {
                    Some(node) => node,
                    None => break,
                },
            };
            let weight = self.weights[node as usize];
            // One that overshoots by more than it lacks stays outside.
            if inside > 0.0 && inside + weight - target > target - inside {
                sides[node as usize] = Side::Refused;
                continue;
            }
            sides[node as usize] = Side::In;
            inside += weight;
            for (&other, &weight) in &self.edges[node as usize] {
                if sides[other as usize] == Side::Out {
                    ties[other as usize] += weight;
                    heap.push(Tie { weight: ties[other as usize], node: other });
                }
            }
        }
        sides.iter_mut().filter(|side| **side == Side::Refused).for_each(|side| *side = Side::Out);
        sides
    }

    /// Moves nodes while less passes for it and the balance allows it.
    fn improve(&self, nodes: &[u32], target: f64, slack: f64, sides: &mut [Side]) {
        let mut inside = self.inside(nodes, sides);
        for _ in 0..PASSES {
            let mut moved = false;
            for &node in nodes {
                let side = sides[node as usize];
                let (here, there) = self.ties(node, sides);
                let weight = self.weights[node as usize];
                let after = if side == Side::In { inside - weight } else { inside + weight };
                let (off, off_after) = ((inside - target).abs(), (after - target).abs());
                let balances = off > slack && off_after < off && there + (off - off_after) > here;
                if there > here && off_after <= slack.max(off) || balances {
                    sides[node as usize] = side.other();
                    inside = after;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
    }

    /// Moves nodes while the run gets shorter by it, the most useful first. No half becomes empty.
    fn balance(&self, nodes: &[u32], target: f64, crossing: f64, sides: &mut [Side]) {
        let mut inside = self.inside(nodes, sides);
        let mut count = nodes.iter().filter(|&&node| sides[node as usize] == Side::In).count();
        for _ in 0..MOVES {
            let off = inside - target;
            let may_leave = |side: Side| if side == Side::In { count > 1 } else { count + 1 < nodes.len() };
            let gains = nodes.iter().filter(|&&node| may_leave(sides[node as usize])).map(|&node| {
                let weight = self.weights[node as usize];
                let after = if sides[node as usize] == Side::In { off - weight } else { off + weight };
                let (here, there) = self.ties(node, sides);
                (off.abs() - after.abs() + crossing * (there - here), node, after)
            });
            let best = gains.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            let Some((_, node, after)) = best.filter(|&(gain, ..)| gain > 1e-9 * target) else { break };
            let to = sides[node as usize].other();
            count = if to == Side::In { count + 1 } else { count - 1 };
            sides[node as usize] = to;
            inside = target + after;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Not among the nodes that are divided.
    Absent,
    In,
    Out,
    /// Too heavy for the half that is grown.
    Refused,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::In => Side::Out,
            Side::Out => Side::In,
            other => other,
        }
    }
}

/// A node outside, and how much it is tied to the half.
#[derive(Clone, Copy, Debug)]
struct Tie {
    weight: f64,
    node: u32,
}

impl Ord for Tie {
    fn cmp(&self, other: &Tie) -> Ordering {
        self.weight.total_cmp(&other.weight).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Tie {
    fn partial_cmp(&self, other: &Tie) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Tie {
    fn eq(&self, other: &Tie) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Tie {}

/// Groups of nodes that belong together.
#[derive(Clone, Debug)]
pub(crate) struct Groups(Vec<u32>);

impl Groups {
    pub fn new(nodes: usize) -> Groups {
        Groups((0..nodes as u32).collect())
    }

    fn root(&mut self, mut node: u32) -> u32 {
        while self.0[node as usize] != node {
            let above = self.0[self.0[node as usize] as usize];
            self.0[node as usize] = above;
            node = above;
        }
        node
    }

    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
    }

    /// The group of each node, counted from 0, and how many there are.
    pub fn numbered(&mut self) -> (Vec<u32>, usize) {
        let roots: Vec<u32> = (0..self.0.len() as u32).map(|node| self.root(node)).collect();
        let mut numbers = vec![u32::MAX; roots.len()];
        let mut count = 0;
        let groups = roots.iter().map(|&root| {
            let number = &mut numbers[root as usize];
            if *number == u32::MAX {
                *number = count;
                count += 1;
            }
            *number
        });
        let groups = groups.collect();
        (groups, count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two grids of 5 x 5 with heavy edges, joined by five light ones.
    #[test]
    fn a_graph_is_cut_where_little_passes() {
        let mut graph = Graph::new(50);
        graph.weights.fill(1.0);
        for node in 0..50_u32 {
            let (row, column) = (node / 10, node % 10);
            if column < 9 {
                graph.connect(node, node + 1, if column == 4 { 0.5 } else { 3.0 });
            }
            if row < 4 {
                graph.connect(node, node + 10, 3.0);
            }
        }
        let parts = graph.divided(2, 1.0);
        assert_eq!(graph.loads(&parts, 2), [25.0, 25.0]);
        let cut: f64 = graph.cut(&parts).sum();
        assert!((cut - 2.5).abs() < 1e-9, "{cut}");
        let loads = graph.loads(&graph.divided(5, 1.0), 5);
        assert!(loads.iter().all(|&load| (8.0..=12.0).contains(&load)), "{loads:?}");
    }

    #[test]
    fn groups_join_and_contract() {
        let mut groups = Groups::new(5);
        groups.join(3, 1);
        groups.join(4, 3);
        let (of, count) = groups.numbered();
        assert_eq!((of.as_slice(), count), ([0, 1, 2, 1, 1].as_slice(), 3));
        let mut graph = Graph::new(5);
        graph.weights = vec![1.0, 2.0, 3.0, 4.0, 5.0];
        [(0, 1, 1.0), (1, 3, 9.0), (2, 4, 2.0), (0, 4, 1.5)].iter().for_each(|&(a, b, w)| graph.connect(a, b, w));
        let small = graph.contracted(&of, count);
        assert_eq!(small.weights, [1.0, 11.0, 3.0]);
        assert_eq!(small.edges[1], BTreeMap::from([(0, 2.5), (2, 2.0)]));
        assert_eq!(small.edges[0].len(), 1);
    }

    #[test]
    fn few_nodes_make_few_parts() {
        let mut graph = Graph::new(2);
        graph.weights = vec![1.0, 9.0];
        let parts = graph.divided(4, 1.0);
        assert_ne!(parts[0], parts[1]);
        assert!(Graph::new(0).divided(3, 1.0).is_empty());
    }
}
