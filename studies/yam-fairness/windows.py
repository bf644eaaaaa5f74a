"""What Table 1 would say of flows that have no congestion control: only their windows limit them.

    python studies/yam-fairness/windows.py

Flow i sends a window of W packets per round trip R_i + q, where q is the wait in the queue that makes the flows
together no faster than the link: the sum of W / (R_i + q) is at most the link's rate.
"""

from __future__ import annotations

WINDOW = 3000  # segments
PAYLOAD_BITS = 8000.0
LINK_BPS = 400e6 * 1000 / 1040  # of user data
RTTS_S = {1: 0.1, 2: 0.15, 3: 0.2}
PHASES = {
    "second quarter": (1, 2),
    "third quarter": (1, 2, 3),
    "last quarter, flow 3 stays": (1, 3),
    "last quarter, flow 2 stays": (1, 2),
}


def rates_bps(rtts_s: list[float]) -> list[float]:
    """User data of each flow; the wait is found by bisection."""

    def at(wait_s: float) -> list[float]:
        return [WINDOW * PAYLOAD_BITS / (rtt + wait_s) for rtt in rtts_s]

    low, high = 0.0, 1.0
    if sum(at(low)) <= LINK_BPS:
        return at(low)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(at(middle)) > LINK_BPS else (low, middle)
    return at(high)


def jain(rates: list[float]) -> float:
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def main() -> None:
    for phase, flows in PHASES.items():
        rates = rates_bps([RTTS_S[flow] for flow in flows])
        print(f"{phase:28} {jain(rates):.4f}  " + " ".join(f"{rate / 1e6:.0f}" for rate in rates) + " Mbit/s")


if __name__ == "__main__":
    main()
