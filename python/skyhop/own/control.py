"""The base class of congestion controls in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skyhop._core import Ack, Congestion, Loss, Sent, Start


class CongestionControl:
    """Decides how much one connection may send. The transport finds losses, measures times and keeps the timer.

    Override `on_ack` and `on_congestion`, and set `cwnd` in them. Windows are real numbers of segments, times seconds,
    rates bit/s. The transport reads `cwnd`, `ssthresh` and `pacing_rate` after every call. It holds the window between
    one segment and the receiver's window, and writes the held value back to `cwnd`.

    A control must be a function of what it is told: with random numbers from elsewhere, or with the clock of the
    machine, two runs of one scenario would differ.
    """

    #: Congestion window, in segments.
    cwnd: float
    #: Slow-start threshold, in segments; infinite while nothing is known. Records call the phase below it slow start.
    ssthresh: float
    #: Rate at which segments leave, in bit/s; with None the window alone decides.
    pacing_rate: float | None = None

    def __init__(self, start: Start) -> None:
        self.cwnd = start.cwnd
        self.ssthresh = start.ssthresh

    def on_ack(self, ack: Ack) -> None:
        """An ACK of new data, outside of recovery: the window may grow."""
        raise NotImplementedError(f"{type(self).__name__} does not say what an ACK does: define on_ack(self, ack)")

    def on_congestion(self, event: Congestion) -> None:
        """A recovery episode begins, by a loss, a mark or a timeout: the window is cut."""
        raise NotImplementedError(f"{type(self).__name__} cuts no window: define on_congestion(self, event)")

    def on_measured(self, ack: Ack) -> None:
        """An ACK that may not grow the window: a duplicate with news, or any during recovery."""

    def on_recovered(self, now: float) -> None:
        """A recovery episode ends."""

    def on_lost(self, loss: Loss) -> None:
        """Segments are found lost; several calls may fall into one episode."""

    def on_sent(self, sent: Sent) -> None:
        """A segment leaves."""

    def on_handover(self, now: float) -> None:
        """A terminal at one end of the flow moves on to another satellite or beam, at `now` in s of simulated time."""

    def set_cwnd(self, cwnd: float) -> None:
        """The transport sets the window: at the start, after idle time, at the end of a recovery."""
        self.cwnd = cwnd
