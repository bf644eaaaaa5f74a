//! The order in which a search visits nodes.

/// Nodes by distance, in buckets as wide as the shortest link or less (R. B. Dial, "Shortest-path forest with
/// topological ordering", Communications of the ACM 12, 1969). Then no node of a bucket improves another one of it, so
/// they need no order, and what a heap spends on order is saved. Where links differ by more than [`MOST_BUCKETS`] the
/// buckets are wider; a node that is improved within its bucket is then visited again, and the result is the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Buckets {
    /// A ring: the distance d belongs into `ring[(d >> shift) % ring.len()]`. Its length is a power of two.
    ring: Vec<Vec<u32>>,
    shift: u32,
    /// The bucket that is emptied now: d >> shift of its nodes.
    current: u64,
    /// Entries in all buckets, outdated ones included.
    entries: usize,
}

/// Buckets in the ring at most, but for rounding to a power of two.
const MOST_BUCKETS: u64 = 4096;

impl Buckets {
    /// Makes place for links of these delays in ns.
    pub fn fit(&mut self, shortest: u64, longest: u64) {
        self.shift = shortest.max(longest / MOST_BUCKETS).max(1).ilog2();
        // What a node of the current bucket reaches lies up to this many buckets ahead.
        let span = (longest >> self.shift) as usize + 2;
        self.ring.resize(span.next_power_of_two().max(self.ring.len()), Vec::new());
    }

    pub fn start(&mut self, node: u32) {
        debug_assert_eq!(self.entries, 0);
        self.current = 0;
        self.put(node, 0);
    }

    #[inline]
    fn put(&mut self, node: u32, bucket: u64) {
        let place = bucket as usize & (self.ring.len() - 1);
        self.ring[place].push(node);
        self.entries += 1;
    }

    /// The distance of `node` fell from `old` to `new`.
    #[inline]
    pub fn improve(&mut self, node: u32, old: u64, new: u64) {
        let bucket = new >> self.shift;
        // It waits there already, unless it has been visited in the bucket that is emptied now.
        if old >> self.shift != bucket || bucket == self.current {
            self.put(node, bucket);
        }
    }

    /// A node to visit: none that is left is nearer, but for those of its bucket.
    #[inline]
    pub fn next(&mut self, distance: &[u64]) -> Option<u32> {
        while self.entries > 0 {
            let place = self.current as usize & (self.ring.len() - 1);
            match self.ring[place].pop() {
                None => self.current += 1,
                Some(node) => {
                    self.entries -= 1;
                    // Else it has been improved since and was visited in a nearer bucket.
                    if distance[node as usize] >> self.shift == self.current {
                        return Some(node);
                    }
                }
            }
        }
        None
    }
}
