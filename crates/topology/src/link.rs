//! Links.

use crate::{Change, LinkId, NodeId, Why};
use skyhop_base::IndexVec;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// Constant delay, always up.
    Wired,
    /// Between two satellites.
    Isl,
    /// A station's one transmitter, to the satellite that serves it.
    Uplink,
    /// A satellite's one transmitter to the ground, shared by all stations that it serves: each packet goes to the
    /// station that its route names.
    Downlink,
}

impl LinkKind {
    /// As records and paths call it.
    pub const fn name(self) -> &'static str {
        match self {
            LinkKind::Wired => "wired",
            LinkKind::Isl => "isl",
            LinkKind::Uplink => "uplink",
            LinkKind::Downlink => "downlink",
        }
    }
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkLink {
    /// Unique: "left->right", "iridium-0-3->iridium-0-4", "iridium-0-3->seam", "berkeley->sky", "iridium-0-3->ground".
    pub name: String,
    pub kind: LinkKind,
    pub from: NodeId,
    /// The far end where it never changes; `None` for uplinks, downlinks and ISLs across a seam.
    pub to: Option<NodeId>,
}

/// Where a link leads at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Down,
    At(NodeId),
    /// To all stations that the satellite serves.
    Ground,
}

/// Where every link leads at the moment.
#[derive(Clone, Debug)]
pub(crate) struct LinkTable(IndexVec<LinkId, End>);

impl LinkTable {
    /// Before the first check: only wires are up.
    pub fn new(links: &IndexVec<LinkId, NetworkLink>) -> LinkTable {
        let end = |link: &NetworkLink| match (link.kind, link.to) {
            (LinkKind::Wired, Some(to)) => End::At(to),
            _ => End::Down,
        };
        LinkTable(links.iter().map(end).collect())
    }

    #[inline]
    pub fn end(&self, link: LinkId) -> End {
        self.0[link]
    }

    /// Changes where a link leads; tells when it comes up or goes down.
    pub fn set(&mut self, link: LinkId, end: End, why: Why, changes: &mut Vec<Change>) {
        let old = std::mem::replace(&mut self.0[link], end);
        match (old, end) {
            (End::Down, End::Down) => {}
            (End::Down, _) => changes.push(Change::LinkUp { link, why }),
            (_, End::Down) => changes.push(Change::LinkDown { link, why }),
            _ => {}
        }
    }
}
