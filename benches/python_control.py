#!/usr/bin/env python3
"""The cost per ACK of a control in Python: Reno in Python against the engine's Reno, which sends the same packets.

Run it with the Python in which Skyhop is installed. Both runs are made several times; the shortest CPU times count.
"""

from __future__ import annotations

import skyhop

RENO = """
import skyhop

class Reno(skyhop.CongestionControl):
    def on_ack(self, ack):
        if self.cwnd < self.ssthresh:
            self.cwnd += ack.slow_start_growth
        else:
            self.cwnd += ack.avoidance_growth / self.cwnd

    def on_congestion(self, event):
        self.ssthresh = max(event.window * 0.5, 2.0)
        self.cwnd = 1.0 if event.kind == "timeout" else self.ssthresh
"""

REPEATS = 5


def main() -> None:
    """Prints the cost of a call."""
    times = {}
    for name, control in [("engine", "reno"), ("python", {"python": {"class": "reno:Reno", "source": RENO}})]:
        scenario = skyhop.scenario(
            duration="60 s",
            links=[{"between": ["a", "b"], "rate": "50 Mbit/s", "delay": "10 ms"}],
            flows=[{"name": "f", "from": "a", "to": "b", "application": "ftp", "tcp": {"control": control}}],
        )
        runs = [skyhop.run(scenario) for _ in range(REPEATS)]
        times[name] = min(run.manifest["cpu_time_s"] for run in runs)
        acks = runs[0].flows["packets_received"][0]
        print(f"{name}: {times[name]:.3f} s for {acks} ACKs, records {runs[0].manifest['records_hash'][:12]}")
    print(f"{1e6 * (times['python'] - times['engine']) / acks:.2f} µs per ACK on top")


if __name__ == "__main__":
    main()
