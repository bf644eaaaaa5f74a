#!/usr/bin/env python3
"""The cost per ACK of a control from outside: Reno in Python and in C against the engine's, with the same packets.

Run it with the Python in which Skyhop is installed. `lean` defines what Reno needs. `full` sends the same packets, but
defines every method and reads every number that it is given, as a control that models its path does. `plug-in` is the
lean one in C over the interface of skyhop_cc.h, `full plug-in` the full one; both need a C compiler. All runs are made
several times, in turn; the shortest CPU times count.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

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

#: In C, with places for what the full one adds.
PLUGIN = """
#include <skyhop_cc.h>

static volatile double seen;

static int create(const skyhop_cc_host *host, const skyhop_cc_start *start, skyhop_cc_window *window, void **made) {
    (void)host, (void)start, (void)window, (void)made;
    return 0;
}

static void look(const skyhop_cc_ack *ack) {
    seen = ack->now_ns + ack->newly_acked + ack->newly_reported + ack->rtt_ns + ack->smoothed_rtt_ns + ack->min_rtt_ns;
    seen = ack->in_flight + ack->round_ends + ack->acknowledged + ack->delivered + ack->marked + ack->repairing
        + ack->mss;
}

static int on_ack(void *made, const skyhop_cc_ack *ack, skyhop_cc_window *window) {
    (void)made;
    if (FULL) look(ack);
    window->cwnd += window->cwnd < window->ssthresh ? ack->slow_start_growth : ack->avoidance_growth / window->cwnd;
    return 0;
}

static int on_measured(void *made, const skyhop_cc_ack *ack, skyhop_cc_window *window) {
    (void)made, (void)window;
    look(ack);
    return 0;
}

static int on_sent(void *made, const skyhop_cc_sent *sent, skyhop_cc_window *window) {
    (void)made, (void)window;
    seen = sent->now_ns + sent->in_flight;
    return 0;
}

static int on_lost(void *made, const skyhop_cc_loss *loss, skyhop_cc_window *window) {
    (void)made, (void)window;
    seen = loss->now_ns + loss->lost + loss->in_flight;
    return 0;
}

static int on_congestion(void *made, const skyhop_cc_congestion *event, skyhop_cc_window *window) {
    (void)made;
    window->ssthresh = event->window * 0.5 > 2 ? event->window * 0.5 : 2;
    window->cwnd = event->kind == SKYHOP_CC_TIMEOUT ? 1 : window->ssthresh;
    return 0;
}

static int on_recovered(void *made, int64_t now_ns, skyhop_cc_window *window) {
    (void)made, (void)window;
    seen = now_ns;
    return 0;
}

const skyhop_cc_table *skyhop_cc_plugin(void) {
    static const skyhop_cc_table table = {
        .abi = SKYHOP_CC_ABI, .size = sizeof(skyhop_cc_table), .create = create, .on_ack = on_ack,
        .on_congestion = on_congestion, .on_measured = FULL ? on_measured : 0, .on_sent = FULL ? on_sent : 0,
        .on_lost = FULL ? on_lost : 0, .on_recovered = FULL ? on_recovered : 0,
    };
    return &table;
}
"""

REPEATS = 9


def compiled(folder: Path, full: int) -> Path:
    """The plug-in as a library."""
    source, library = folder / "reno.c", folder / f"libreno{full}.so"
    source.write_text(PLUGIN, encoding="utf-8")
    options = ["-O2", "-shared", "-fPIC", f"-DFULL={full}", f"-I{skyhop.include()}"]
    subprocess.run(["cc", *options, str(source), "-o", str(library)], check=True)
    return library


def controls(folder: Path) -> dict[str, Any]:
    """Each control as a scenario names it."""
    sources = {"lean": LEAN, "full": FULL}
    in_python = {name: {"python": {"class": "reno:Reno", "source": source}} for name, source in sources.items()}
    if shutil.which("cc") is None:
        print("plug-in: left out, because no C compiler (cc) is installed")
        return {"engine": "reno", **in_python}
    in_c = {"plug-in": compiled(folder, 0), "full plug-in": compiled(folder, 1)}
    return {"engine": "reno", **{name: {"plugin": str(library)} for name, library in in_c.items()}, **in_python}


def main() -> None:
    """Prints the cost of a call."""
    seconds: dict[str, list[float]] = {}
    hashes = set()
    with tempfile.TemporaryDirectory() as folder:
        found = controls(Path(folder))
        scenarios = {
            name: skyhop.scenario(
                duration="60 s",
                profile="rfc",
                links=[{"between": ["a", "b"], "rate": "50 Mbit/s", "delay": "10 ms"}],
                flows=[{"name": "f", "from": "a", "to": "b", "application": "ftp", "tcp": {"control": control}}],
            )
            for name, control in found.items()
        }
    for _ in range(REPEATS):
        for name, scenario in scenarios.items():
            run = skyhop.run(scenario)
            seconds.setdefault(name, []).append(run.manifest["cpu_time_s"])
            hashes.add(run.manifest["records_hash"])
    acks = run.flows["packets_received"][0]
    engine = min(seconds["engine"])
    for name, times in seconds.items():
        on_top = "" if name == "engine" else f", {1e6 * (min(times) - engine) / acks:.2f} µs per ACK on top"
        print(f"{name}: {min(times):.3f} s for {acks} ACKs{on_top}")
    if len(hashes) > 1:
        raise SystemExit("the controls did not send the same packets, so the times cannot be compared")


if __name__ == "__main__":
    main()
