//! Loss recovery: what is lost, in which state the connection is, how far the window falls, and what was needless.

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

/// What is sent after the window was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    Nothing,
    /// What is marked lost.
    Lost,
    /// New data, for F-RTO; where none leaves, what is lost.
    New,
}
