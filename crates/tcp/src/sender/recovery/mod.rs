//! Loss recovery: loss detection, the states of the connection, the reduction of the window, and its undo.

mod loss;
mod newreno;
mod prr;
mod rack;
mod sack;
mod state;
mod undo;

pub(super) use prr::Prr;
pub(super) use rack::Rack;
pub(super) use undo::Undo;

/// The transmission due once the window is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    Nothing,
    /// Segments marked lost.
    Lost,
    /// New data, for F-RTO; lost segments if no new data can leave.
    New,
}
