//! The tables of a scenario, one file each: as a file writes a table and, beside it, as a scenario has it with every
//! value filled in. A key stands in both, and `resolve` fills the one from the other. `crate::format` names what files
//! write, `crate::scenario` what a scenario has.

pub(crate) mod agents;
pub(crate) mod constellation;
pub(crate) mod content;
pub(crate) mod flows;
pub(crate) mod gsl;
pub(crate) mod isl;
pub(crate) mod links;
pub(crate) mod queue;
pub(crate) mod quic;
pub(crate) mod records;
pub(crate) mod repair;
pub(crate) mod routing;
pub(crate) mod starlink;
pub(crate) mod stations;
pub(crate) mod tcp;
pub(crate) mod trace;
pub(crate) mod workloads;
