"""How long 100 MB take over picoquic's satellite links, by transport: the table in docs/models/quic.md.

`python python/tools/satellite_times.py` prints it; with `--renew` it is written into the page. It needs a build with
every stack of the table (`make build`), what `picoquic_native.py` needs, and two minutes of CPU
time.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import picoquic_native
import quic_tables
from picoquic_native import Native

import skyhop

BEGIN = "<!-- satellite times: written by `.venv/bin/python python/tools/satellite_times.py --renew` -->"
END = "<!-- end of satellite times -->"


class Path100MB(NamedTuple):
    """A path of picoquictest/satellite_test.c."""

    #: Its tests.
    tests: str
    #: Mbit/s in the direction of the data, and in that of the ACKs.
    rate: int
    back: int
    #: Seconds that picoquic allows itself, by congestion control.
    bounds: dict[str, float]
    #: One data packet in 64 is lost.
    loses: bool = False
    #: The connection knows the path's bandwidth-delay product from an earlier one.
    knows: bool = False

    def native(self, control: str) -> Native:
        """The same in picoquic's own simulator."""
        return Native(control, self.rate, self.back, self.loses, self.knows)


PATHS = (
    Path100MB("`basic`, `cubic`", 250, 3, {"bbr": 5.5, "cubic": 6.5}),
    Path100MB("`loss`, `cubic_loss`", 250, 3, {"bbr": 8.0, "cubic": 7.5}, loses=True),
    Path100MB("`seeded`, `cubic_seeded`", 250, 3, {"bbr": 4.9, "cubic": 5.0}, knows=True),
    Path100MB("`medium`", 50, 10, {"bbr": 18.2}),
    Path100MB("`small`", 10, 2, {"bbr": 81.5}),
    Path100MB("`small_up`", 2, 10, {"bbr": 400.0}),
)


def _picoquic(control: str) -> dict[str, Any]:
    # picoquic's tests open the windows of the receiver at once and run the stack without a program around it.
    windows = {"stream_window": "128 MB", "connection_window": "128 MB"}
    return {"quic": {"stack": "picoquic", "control": control, "payload": "1440 B", "runtime": "exact", **windows}}


def _quic(stack: str, control: str) -> dict[str, Any]:
    windows = {"stream_window": "64 MB", "connection_window": "64 MB", "send_window": "128 MB"}
    return {"quic": {"stack": stack, "control": control, "payload": "1440 B", **windows}}


def _tcp(name: str) -> dict[str, Any]:
    memory = {"send_buffer": "128 MB", "receive_memory": ["4096 B", "131072 B", "256 MiB"]}
    return {"tcp": {"profile": "linux", "name": name, **memory}}


TRANSPORTS = {
    "picoquic BBR": _picoquic("bbr"),
    "picoquic CUBIC": _picoquic("cubic"),
    "quinn CUBIC": _quic("quinn", "cubic"),
    "quinn BBR": _quic("quinn", "bbr"),
    "noq CUBIC": _quic("noq", "cubic"),
    "noq BBRv3": _quic("noq", "bbr3"),
    "TCP CUBIC": _tcp("cubic"),
    "TCP BBR": _tcp("bbr"),
    "TCP BBRv3": _tcp("bbr3"),
}

#: Its simulator divides picoseconds by 2^20 for microseconds (sim_link.c), so its links are so much faster than named.
FASTER = 2**20 / 1e6
#: Its packets have no headers of IP and UDP. Ours have 28 B; the data's link is as much faster for full packets.
HEADERS = 1468 / 1440
#: Its acknowledgements have 56 B on average where they come often, as `seeded`.
HEADERS_BACK = (56 + 28) / 56

_ENDED = re.compile(r"ended after ([\d.]+) s")

#: A transfer that takes longer is given up.
LONGEST_S = 900


def knowing(path: Path100MB, transport: dict[str, Any]) -> dict[str, Any] | None:
    """The transport with a first window of a bandwidth-delay product; None where it has no such option."""
    product = path.rate * FASTER * 1e6 / 8 * 0.6
    if quic := transport.get("quic"):
        known = {"initial_window": f"{product:.0f} B"}
        if quic["stack"] == "picoquic":
            known = {"initial_window": f"{path.rate * 1e6 / 8 * 0.6:.0f} B", "initial_rtt": "600 ms"}
        return {"quic": quic | known}
    tcp = transport["tcp"]
    if tcp["name"] != "cubic":
        return None
    # Careful Resume (RFC 9959).
    resume = {"cwnd": round(product / 1500), "rtt": 0.6}
    rest = {key: value for key, value in tcp.items() if key not in ("name", "receive_memory")}
    # The receiver opens its window at once: autotuning would hold the jump back.
    return {"tcp": rest | {"control": {"cubic": {"resume": resume}}, "receive_buffer": "128 MB"}}


def _direction(rate: float) -> dict[str, Any]:
    """`rate` in Mbit/s. A packet that would wait for 600 ms is dropped."""
    return {"rate": f"{rate:.6f} Mbit/s", "queue": {"drop_tail": {"bytes": f"{rate * 1e6 / 8 * 0.6:.0f} B"}}}


def took(path: Path100MB, transport: dict[str, Any]) -> str:
    """Seconds until the last byte has arrived, or when the connection died; a dash for what a transport cannot do."""
    if path.knows:
        seeded = knowing(path, transport)
        if seeded is None:
            return "–"
        transport = seeded
    errors = [{"list": {"data": [{"packets": [64, 10_000_000], "every": 64, "outcome": "drop"}]}}] if path.loses else []
    link = {
        "between": ["client", "server"],
        "delay": "300 ms",
        "forward": _direction(path.rate * FASTER * HEADERS) | {"errors": errors},
        "backward": _direction(path.back * FASTER * HEADERS_BACK),
    }
    application = {"ftp": {"bytes": "100 MB"}}
    flow = {"name": "upload", "from": "client", "to": "server", "application": application, **transport}
    run = skyhop.run({"duration": f"{LONGEST_S} s", "links": [link], "flows": [flow]})
    completed = run.flows["completion_s"][0]
    if completed is not None:
        return f"{completed:.1f} s"
    died = [match[1] for match in map(_ENDED.search, run.warnings) if match]
    return f"dies at {float(died[0]):.1f} s" if died else f"over {LONGEST_S} s"


def allowed(path: Path100MB, native: dict[Native, float]) -> str:
    """What picoquic needs in its own simulator, and what its tests allow it."""
    said = []
    for control, name in (("bbr", "BBR"), ("cubic", "CUBIC")):
        bound = f" of {path.bounds[control]:.1f}" if control in path.bounds else ""
        said.append(f"{name} {native[path.native(control)]:.1f}{bound} s")
    return ", ".join(said)


def table() -> str:
    """In Markdown: a row for each path."""
    lines = [
        "| tests | Mbit/s, back | lost | picoquic in its own simulator | " + " | ".join(TRANSPORTS) + " |",
        "|---" * 4 + "|---:" * len(TRANSPORTS) + "|",
    ]
    native = picoquic_native.times([path.native(control) for path in PATHS for control in ("bbr", "cubic")])
    for path in PATHS:
        cells = [took(path, transport) for transport in TRANSPORTS.values()]
        lost = "1 in 64" if path.loses else ""
        own = allowed(path, native)
        lines.append(f"| {path.tests} | {path.rate}, {path.back} | {lost} | {own} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    quic_tables.main(__doc__, BEGIN, END, {"quinn", "noq", "picoquic"}, table)
