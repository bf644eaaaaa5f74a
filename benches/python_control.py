#!/usr/bin/env python3
"""The cost per ACK of a control in Python: Reno in Python against the engine's Reno, which sends the same packets.

Run it with the Python in which Skyhop is installed. `lean` defines what Reno needs. `full` sends the same packets, but
defines every method and reads every number that it is given, as a control that models its path does. All runs are made
several times; the shortest CPU times count.
"""

from __future__ import annotations

import skyhop

LEAN = """
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

FULL = """
import skyhop

class Reno(skyhop.CongestionControl):
    def on_ack(self, ack):
        self.look(ack)
        if self.cwnd < self.ssthresh:
            self.cwnd += ack.slow_start_growth
        else:
            self.cwnd += ack.avoidance_growth / self.cwnd

    def on_measured(self, ack):
        self.look(ack)

    def look(self, ack):
        self.seen = (
            ack.now, ack.newly_acked, ack.newly_reported, ack.rtt, ack.smoothed_rtt, ack.min_rtt, ack.in_flight,
            ack.round_ends, ack.acknowledged, ack.delivered, ack.marked, ack.repairing, ack.mss,
        )

    def on_sent(self, sent):
        self.sent = (sent.now, sent.in_flight)

    def on_lost(self, loss):
        self.lost = (loss.now, loss.lost, loss.in_flight)

    def on_congestion(self, event):
        self.ssthresh = max(event.window * 0.5, 2.0)
        self.cwnd = 1.0 if event.kind == "timeout" else self.ssthresh

    def on_recovered(self, now):
        self.recovered = now
"""

REPEATS = 5


def main() -> None:
    """Prints the cost of a call."""
    found = {}
    for name, source in [("engine", None), ("lean", LEAN), ("full", FULL)]:
        control = "reno" if source is None else {"python": {"class": "reno:Reno", "source": source}}
        scenario = skyhop.scenario(
            duration="60 s",
            links=[{"between": ["a", "b"], "rate": "50 Mbit/s", "delay": "10 ms"}],
            flows=[{"name": "f", "from": "a", "to": "b", "application": "ftp", "tcp": {"control": control}}],
        )
        runs = [skyhop.run(scenario) for _ in range(REPEATS)]
        seconds = min(run.manifest["cpu_time_s"] for run in runs)
        acks = runs[0].flows["packets_received"][0]
        found[name] = seconds, runs[0].manifest["records_hash"]
        on_top = "" if source is None else f", {1e6 * (seconds - found['engine'][0]) / acks:.2f} µs per ACK on top"
        print(f"{name}: {seconds:.3f} s for {acks} ACKs{on_top}")
    if len({records for _, records in found.values()}) > 1:
        raise SystemExit("the controls did not send the same packets, so the times cannot be compared")


if __name__ == "__main__":
    main()
