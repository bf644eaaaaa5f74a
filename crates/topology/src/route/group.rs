//! Rows that are renewed together: their roots, the arcs that all nodes take, and an order for the nodes.

use super::graph::{Graph, NARROW_COST, NO_ARC};
use super::search::Search;
use std::ops::{Deref, DerefMut};

/// Rows of a group: as many distances as a cache line holds.
pub(super) const LANES: usize = 16;
/// Lanes of a group, one bit each.
pub(super) type Lanes = u16;
/// In place of a distance, in ns: no route. One more arc must not overflow.
pub(super) const FAR: i32 = i32::MAX - NARROW_COST;
/// In place of a root: nobody needs the row.
pub(super) const NO_ROOT: u32 = u32::MAX;
/// In place of a slot: no route, or the root itself.
pub(super) const NO_SLOT: u16 = u16::MAX;
/// A chain of next hops is followed no further than that. Next hops of before a change can lead in a circle.
const MOST_HOPS: usize = 256;

/// To bring a plan up to date costs no more than the repairs that about so many outdated steps cause.
const MOST_UNPLANNED: u32 = 32;

/// A plan is mended while this share of its steps is outdated at most.
const MOST_MENDED: usize = 16;

/// A node's distance to each root of a group, on a cache line of its own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Distances(pub [i32; LANES]);

impl Deref for Distances {
    type Target = [i32; LANES];

    #[inline(always)]
    fn deref(&self) -> &[i32; LANES] {
        &self.0
    }
}

impl DerefMut for Distances {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [i32; LANES] {
        &mut self.0
    }
}

/// A distance that is found out of turn: that of `node` in a lane, over the arc at this place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// It is needed when the node of this rank has its turn.
    pub rank: u32,
    pub node: u32,
    pub arc: u32,
    pub lane: u32,
}

/// For each of [`LANES`] roots the arcs that all nodes take towards it.
///
/// A sweep visits the nodes in one order for all lanes, those near the roots first. Where the next hop of a node comes
/// after it, the distances of the hops up to one that is known are found out of turn, by a plan. Order and plan come
/// from earlier delays. They decide how long a renewal takes and never what it finds.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub roots: [u32; LANES],
    /// Lanes whose rows hold something else than `slots` says.
    pub stale: Lanes,
    /// All nodes, …
    pub order: Vec<u32>,
    /// … and the place of each node in the order.
    ranks: Vec<u32>,
    /// For each node which of its arcs it takes towards each root, or [`NO_SLOT`].
    pub slots: Vec<[u16; LANES]>,
    /// Distances out of turn, by rank.
    pub plan: Vec<Step>,
    /// For each node the lanes in which its next hop comes after it in the order, …
    late: Vec<Lanes>,
    /// … and those in which the plan has it.
    planned: Vec<Lanes>,
    /// Next hops that the plan does not know, or knows as they were.
    unplanned: u32,
    /// These next hops: a node, and in which lanes.
    outdated: Vec<(u32, Lanes)>,
    /// Steps of the plan when it was made.
    steps_when_made: usize,
    /// Steps of the plan when the nodes were ordered; `None` while they are not.
    steps_at_first: Option<usize>,
}

impl Group {
    pub fn new(nodes: usize) -> Group {
        Group {
            roots: [NO_ROOT; LANES],
            stale: 0,
            order: (0..nodes as u32).collect(),
            ranks: (0..nodes as u32).collect(),
            slots: vec![[NO_SLOT; LANES]; nodes],
            plan: Vec::new(),
            late: vec![0; nodes],
            planned: vec![0; nodes],
            unplanned: u32::MAX,
            outdated: Vec::new(),
            steps_when_made: 0,
            steps_at_first: None,
        }
    }

    /// Adds a root in a free lane, of which there must be one.
    pub fn add(&mut self, root: u32) -> usize {
        let lane = self.roots.iter().position(|&root| root == NO_ROOT).unwrap_or_default();
        self.roots[lane] = root;
        self.stale |= 1 << lane;
        lane
    }

    /// How far a node is from the roots, in nodes.
    pub fn rank(&self, node: u32) -> u32 {
        self.ranks[node as usize]
    }

    /// Takes over what a search from the root of a lane has found. [`Group::note_lanes`] is to follow.
    pub fn take(&mut self, graph: &Graph, lane: usize, search: &Search) {
        for (node, &parent) in search.parent.iter().enumerate() {
            self.slots[node][lane] = if parent == NO_ARC { NO_SLOT } else { (parent - graph.first_arc(node)) as u16 };
        }
    }

    /// All nodes may have other slots than before in these lanes.
    pub fn note_lanes(&mut self, graph: &Graph, lanes: Lanes) {
        if lanes != 0 {
            (0..self.order.len() as u32).for_each(|node| self.note_change(graph, node, lanes));
        }
    }

    /// The graph has another shape than before, in which these nodes have other arcs.
    pub fn reshape(&mut self, graph: &Graph, nodes: &[u32]) {
        nodes.iter().for_each(|&node| self.note_change(graph, node, Lanes::MAX));
        // Arcs have other places.
        self.unplanned = u32::MAX;
    }

    /// Some of these lanes of a node have another slot than before.
    #[inline]
    pub fn note_change(&mut self, graph: &Graph, node: u32, lanes: Lanes) {
        let (place, rank, fan) = (node as usize, self.rank(node), graph.fan(node as usize));
        let (mut left, mut late) = (lanes, self.late[place] & !lanes);
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            let end = fan.get(usize::from(self.slots[place][lane]));
            late |= Lanes::from(end.is_some_and(|&(to, _)| self.rank(to) > rank)) << lane;
        }
        let outdated = (late | self.planned[place]) & lanes;
        if outdated != 0 {
            self.unplanned = self.unplanned.saturating_add(outdated.count_ones());
            if self.is_mendable() {
                self.outdated.push((node, outdated));
            }
        }
        self.late[place] = late;
    }

    /// Gets ready for a sweep.
    pub fn prepare(&mut self, graph: &Graph) {
        if self.unplanned > MOST_UNPLANNED {
            match self.is_mendable() {
                true => self.mend_plan(graph),
                false => self.make_plan(graph),
            }
        }
    }

    /// Whether it takes less time to mend the plan than to make one. Mending leaves steps that nothing needs.
    pub fn is_mendable(&self) -> bool {
        let made = self.steps_when_made;
        self.unplanned as usize <= made / MOST_MENDED && self.plan.len() <= made + made / 4
    }

    /// Brings a plan that is mendable up to date with the next hops that have changed.
    pub fn mend_plan(&mut self, graph: &Graph) {
        let Group { ranks, slots, plan, planned, late, outdated, roots, .. } = self;
        let hops = NextHops { graph, slots, ranks, roots };
        let mut added: Vec<Step> = Vec::new();
        let mut touched: Vec<Lanes> = vec![0; slots.len()];
        for &(node, lanes) in &*outdated {
            touched[node as usize] |= lanes;
        }
        for step in plan.iter_mut().filter(|step| touched[step.node as usize] & 1 << step.lane != 0) {
            let slot = slots[step.node as usize][step.lane as usize];
            let Some(&(to, _)) = graph.fan(step.node as usize).get(usize::from(slot)) else { continue };
            step.arc = graph.first_arc(step.node as usize) + u32::from(slot);
            if to != roots[step.lane as usize] && ranks[to as usize] >= step.rank {
                hops.follow(to, step.rank, step.lane, planned, |_| false, &mut added);
            }
        }
        for &(node, lanes) in &*outdated {
            let mut left = lanes & late[node as usize] & !planned[node as usize];
            while left != 0 {
                hops.follow(node, ranks[node as usize], left.trailing_zeros(), planned, |_| false, &mut added);
                left &= left - 1;
            }
        }
        added.sort_by_key(|step| step.rank);
        // Those of an earlier plan may need them.
        let (old, mut added) = (std::mem::take(plan), added.into_iter().peekable());
        plan.reserve(old.len() + added.len());
        for step in old {
            while let Some(new) = added.next_if(|new| new.rank <= step.rank) {
                plan.push(new);
            }
            plan.push(step);
        }
        plan.extend(added);
        self.unplanned = 0;
        self.outdated.clear();
    }

    /// Orders the nodes by their mean distance to the roots, if they have no order yet or it has become bad.
    /// `distances` are those of now.
    pub fn arrange(&mut self, graph: &Graph, distances: &[Distances]) {
        if self.steps_at_first.is_some_and(|steps| self.plan.len() <= steps + steps / 2 + self.order.len() / 4) {
            return;
        }
        let sum = |node: &u32| -> i64 {
            let lanes = distances[*node as usize].iter().zip(&self.roots);
            lanes.filter(|&(_, &root)| root != NO_ROOT).map(|(&ns, _)| i64::from(ns)).sum()
        };
        self.order.sort_by_cached_key(sum);
        for (rank, &node) in self.order.iter().enumerate() {
            self.ranks[node as usize] = rank as u32;
        }
        self.note_lanes(graph, Lanes::MAX);
        self.make_plan(graph);
        self.steps_at_first = Some(self.plan.len());
    }

    fn make_plan(&mut self, graph: &Graph) {
        let Group { order, ranks, slots, plan, planned, late, roots, unplanned, outdated, .. } = self;
        *unplanned = 0;
        outdated.clear();
        plan.clear();
        planned.fill(0);
        let hops = NextHops { graph, slots, ranks, roots };
        for (rank, &node) in (0_u32..).zip(&*order) {
            let mut left = late[node as usize] & !planned[node as usize];
            while left != 0 {
                let lane = left.trailing_zeros();
                left &= left - 1;
                // A planned node has its step already, at this turn or before it.
                hops.follow(node, rank, lane, planned, |lanes| lanes & 1 << lane != 0, plan);
            }
        }
        self.steps_when_made = self.plan.len();
    }
}

/// The next hops of a group, and where their nodes stand in the order.
struct NextHops<'a> {
    graph: &'a Graph,
    slots: &'a [[u16; LANES]],
    ranks: &'a [u32],
    roots: &'a [u32; LANES],
}

impl NextHops<'_> {
    /// Adds to `steps` those from a node over next hops to one whose distance is known at the turn of `rank`, the last
    /// one first, and notes them in `planned`. `has` tells by the lanes in which a node is planned whether it ends
    /// there.
    #[inline]
    fn follow(
        &self,
        node: u32,
        rank: u32,
        lane: u32,
        planned: &mut [Lanes],
        has: impl Fn(Lanes) -> bool,
        steps: &mut Vec<Step>,
    ) {
        let (mut at, first) = (node, steps.len());
        while !has(planned[at as usize]) && steps.len() - first < MOST_HOPS {
            let slot = self.slots[at as usize][lane as usize];
            let Some(&(to, _)) = self.graph.fan(at as usize).get(usize::from(slot)) else { break };
            let arc = self.graph.first_arc(at as usize) + u32::from(slot);
            steps.push(Step { rank, node: at, arc, lane });
            if to == self.roots[lane as usize] || self.ranks[to as usize] < rank {
                break;
            }
            at = to;
        }
        steps[first..].reverse();
        steps[first..].iter().for_each(|step| planned[step.node as usize] |= 1 << lane);
    }
}
