"""Records whole flows of this machine's Linux: `make.py CASES.csv FOLDER [RUN ...]`, as root.

Two network namespaces send over a bottleneck in this process. The format of both tables and of the recordings, and the
conventions of the bottleneck, are those of the reference of long flows; README.md beside this file says what differs.
Needs `ip`, network namespaces and the controls that the runs name; nothing else is installed or left behind.
"""

from __future__ import annotations

import csv
import ctypes
import fcntl
import gzip
import heapq
import io
import itertools
import math
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

SENDER, RECEIVER = "10.9.0.1", "10.9.0.2"
FIRST_PORT = 5001
# linux/sockios.h and linux/ethtool.h: checksums and segmentation stay with TCP, so that each frame is one packet.
SIOCETHTOOL = 0x8946
OFFLOADS = {"receive checksum": 0x15, "send checksum": 0x17, "TSO": 0x1F, "GSO": 0x24, "GRO": 0x2C}
CLONE_NEWNET = 0x40000000
TCP_INFO, TCP_CONGESTION, TCP_CC_INFO = 11, 13, 26
SO_MAX_PACING_RATE = 47
ETHERNET = 14
UNSET = 0x7FFFFFFF
STATES = ["Open", "Disorder", "CWR", "Recovery", "Loss"]
# bbr's gain of STARTUP, in 1/256 (2885 / 1000 + 1).
STARTUP_GAIN = 739


def run_command(*words: str) -> str:
    """Runs a command and returns what it prints; raises CalledProcessError if it fails."""
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class Namespaces:
    """A namespace for the sender, one for the receiver, one between them for the bottleneck."""

    def __init__(self, settings: dict[str, dict[str, str]]) -> None:
        self.names = {end: f"flows{os.getpid()}{end}" for end in "srm"}
        try:
            self._make(settings)
        except BaseException:
            self.remove()
            raise

    def _make(self, settings: dict[str, dict[str, str]]) -> None:
        for name in self.names.values():
            run_command("ip", "netns", "add", name)
        middle = self.names["m"]
        for end, address in (("s", SENDER), ("r", RECEIVER)):
            name, peer = self.names[end], f"{end}1"
            run_command("ip", "link", "add", f"{end}0", "netns", name, "type", "veth", "peer", "name", peer, "netns",
                        middle)  # fmt: skip
            for where in (name, middle):
                run_command("ip", "netns", "exec", where, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
            run_command("ip", "-n", name, "addr", "add", f"{address}/24", "dev", f"{end}0")
            run_command("ip", "-n", name, "link", "set", f"{end}0", "up")
            run_command("ip", "-n", middle, "link", "set", peer, "up")
            for key, value in settings[end].items():
                run_command("ip", "netns", "exec", name, "sysctl", "-qw", f"{key}={value}")
        link = {end: run_command("ip", "-n", self.names[end], "link", "show", f"{end}0") for end in "sr"}
        hardware = {end: text.split("link/ether ")[1].split()[0] for end, text in link.items()}
        for end, other, address in (("s", "r", RECEIVER), ("r", "s", SENDER)):
            run_command("ip", "-n", self.names[end], "neigh", "add", address, "lladdr", hardware[other], "dev",
                        f"{end}0")  # fmt: skip
            self.enter(end)
            for what, command in OFFLOADS.items():
                _ethtool(f"{end}0", what, command)

    def enter(self, end: str) -> None:
        """Moves this process into a namespace; sockets that it opened before stay in theirs."""
        handle = os.open(f"/var/run/netns/{self.names[end]}", os.O_RDONLY)
        try:
            if ctypes.CDLL(None, use_errno=True).setns(handle, CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f"cannot enter the namespace {self.names[end]}")
        finally:
            os.close(handle)

    def remove(self) -> None:
        """Removes the three; the links between them go with them."""
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def _ethtool(device: str, what: str, command: int) -> None:
    buffer = ctypes.create_string_buffer(struct.pack("II", command, 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            fcntl.ioctl(control, SIOCETHTOOL, struct.pack("16sP", device.encode(), ctypes.addressof(buffer)))
        except OSError as error:
            print(f"{device}: {what} stays on ({error})", file=sys.stderr)


class Link:
    """One direction: FIFO with drop tail, served by IP bytes, then a delay. All follows from a packet's arrival."""

    def __init__(self, case: dict[str, Any], draws: random.Random, loss: float) -> None:
        self.rate, self.delay, self.limit = case["rate_bps"], case["delay_s"], case["limit_packets"]
        self.loss, self.draws, self.drops = loss, draws, case["outage"] == "drop"
        self.outages: list[tuple[float, float]] = case["outages"]
        self.steps: list[tuple[float, float]] = case["steps"]
        self.waiting: deque[float] = deque()
        self.free = self.last = 0.0

    def enter(self, now: float, size: int) -> tuple[int, str, float | None]:
        """Packets that wait, the outcome of this one, and when it is delivered."""
        while self.waiting and self.waiting[0] <= now:
            self.waiting.popleft()
        queue = len(self.waiting)
        service = size * 8 / self.rate
        begin = max(now, self.free)
        end = begin + service
        for start, stop in () if self.drops else self.outages:
            if start <= begin < stop:
                begin, end = stop, stop + service
            elif begin < start < end:
                end += stop - start
        if begin > now:
            if queue >= self.limit:
                return queue, "tail", None
            self.waiting.append(begin)
        self.free = end
        if self.loss and self.draws.random() < self.loss:
            return queue, "loss", None
        if self.drops and any(begin < stop and end > start for start, stop in self.outages):
            return queue, "outage", None
        delay = next((value for start, value in reversed(self.steps) if start <= end), self.delay)
        self.last = max(end + delay, self.last)
        return queue, "ok", self.last


class Flow:
    """A connection of the sending host, and what is recorded of it."""

    def __init__(self, number: int, control: str, opened: socket.socket) -> None:
        self.number, self.control, self.socket = number, control, opened
        self.first_seq: dict[int, int] = {}
        self.highest = self.una = 0
        self.sent: dict[int, float | None] = {}
        self.state = 0
        self.window: tuple[int, int] | None = None
        self.rows: dict[str, list[list[Any]]] = {"info": [], "cwnd": [], "events": [], "pkts": []}
        self.rtts: list[float] = []
        self.counts = {"segs_sent": 0, "retrans": 0, "drop_tail": 0, "drop_loss": 0, "drop_outage": 0}
        self.exit: tuple[float, int] | None = None
        self.last: dict[str, int] = {}
        self.began: float | None = None

    def look(self, now: float, sample: bool) -> None:
        """Reads TCP_INFO: the window where it changed, the congestion state, and all of it if `sample`."""
        raw = self.socket.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 248)
        (ssthresh, cwnd) = struct.unpack_from("II", raw, 76)
        before = self.window[0] if self.window else cwnd
        if self.window != (cwnd, ssthresh):
            self.window = (cwnd, ssthresh)
            self.rows["cwnd"].append([f"{now:.6f}", self.number, self.una, "", cwnd, ssthresh, "", ""])
            if self.exit is None and self.control != "bbr" and ssthresh < UNSET:
                self.exit = (now, before)
        if raw[1] != self.state:
            self.state = raw[1]
            self.rows["events"].append([f"{now:.6f}", self.number, "S", "", STATES[self.state]])
        if not sample and not (self.control == "bbr" and self.exit is None):
            return
        gain = 0
        if self.control == "bbr":
            model = self.socket.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 20)
            gain = struct.unpack_from("I", model, 12)[0] if len(model) >= 20 else 0
            if self.exit is None and gain and gain != STARTUP_GAIN and self.una:
                self.exit = (now, cwnd)
        names = {"rto": 8, "unacked": 24, "sacked": 28, "lost": 32, "retrans": 36, "rtt": 68, "rttvar": 72,
                 "reordering": 88, "total_retrans": 100, "min_rtt": 148}  # fmt: skip
        self.last = {name: struct.unpack_from("I", raw, at)[0] for name, at in names.items()}
        self.last["bytes_acked"] = struct.unpack_from("Q", raw, 120)[0]
        self.last["total_rto"] = struct.unpack_from("H", raw, 240)[0] if len(raw) >= 242 else 0
        if sample:
            values = ["inf" if ssthresh >= UNSET else ssthresh, self.last["rtt"], self.last["rttvar"]]
            values += [self.last[name] for name in ("rto", "min_rtt", "unacked", "sacked", "lost", "retrans")]
            values += [self.last[name] for name in ("total_retrans", "bytes_acked", "reordering", "total_rto")]
            self.rows["info"].append([f"{now:.4f}", self.number, self.state, cwnd, *values, gain])


INFO_HEADER = (
    "t,flow,ca_state,cwnd,ssthresh,srtt_us,rttvar_us,rto_us,min_rtt_us,unacked,sacked,lost,retrans,total_retrans,"
    "bytes_acked,reordering,total_rto,bbr_pacing_gain"
)
HEADERS = {
    "info": INFO_HEADER,
    "cwnd": "t,flow,una,outstanding_B,cwnd,ssthresh,srtt_us,snd_wnd",
    "events": "t,flow,ev,seq,what",
    "pkts": "t_in,dir,flow,seq,len,ack,nsack,q_on_arrival,fate,t_delivered",
}


class Bottleneck:
    """Carries the frames of both directions until the run ends."""

    def __init__(self, case: dict[str, Any], flows: list[Flow], frames: list[socket.socket], start: float) -> None:
        self.case, self.flows, self.frames, self.start = case, flows, frames, start
        self.links = [Link(case, random.Random(case["seed"]), case["random_loss"]), Link(case, random.Random(), 0.0)]
        self.due: list[tuple[float, int, int, bytes, Flow, list[Any]]] = []
        self.number = 0
        self.errors: list[float] = []
        self.packets_until = 15.0

    def now(self) -> float:
        """Seconds since the first connect()."""
        return time.clock_gettime(time.CLOCK_MONOTONIC) - self.start

    def run(self) -> None:
        """Returns after the run's duration."""
        end, next_sample = self.case["duration_s"], 0.0
        while (now := self.now()) <= end:
            while self.due and self.due[0][0] <= now:
                self._deliver(now)
                now = self.now()
            if now >= next_sample:
                for flow in self.flows:
                    flow.look(now, sample=True)
                next_sample = now + (0.01 if now < 10 else 0.05)
            until = min(self.due[0][0] if self.due else end, next_sample) - self.now()
            ready, _, _ = select.select(self.frames, [], [], max(0.0, until))
            for source in ready:
                self._take(self.frames.index(source))
        for flow in self.flows:
            flow.look(end, sample=True)

    def _take(self, way: int) -> None:
        while True:
            try:
                frame, address = self.frames[way].recvfrom(65536)
            except BlockingIOError:
                return
            # A packet socket also sees what this process sends through it; all but IPv4 with TCP is none of the run's.
            if address[2] == socket.PACKET_OUTGOING or frame[12:14] != b"\x08\x00" or frame[23] != socket.IPPROTO_TCP:
                continue
            self._enter(way, frame)

    def _enter(self, way: int, frame: bytes) -> None:
        now = self.now()
        at = ETHERNET + (frame[ETHERNET] & 15) * 4
        total = struct.unpack_from("!H", frame, ETHERNET + 2)[0]
        source, target, seq, ack = struct.unpack_from("!HHII", frame, at)
        head = (frame[at + 12] >> 4) * 4
        length = total - (at - ETHERNET) - head
        flow = self.flows[(target if way == 0 else source) - FIRST_PORT]
        flow.first_seq.setdefault(way, seq)
        seq, ack = (_relative(flow, number, value) for number, value in ((way, seq), (1 - way, ack)))
        queue, fate, out = self.links[way].enter(now, total)
        blocks = _sack_blocks(frame[at + 20 : at + head])
        row = [f"{now:.6f}", way, flow.number, seq, length, ack, len(blocks), queue, fate]
        row.append("")
        if now < self.packets_until:
            flow.rows["pkts"].append(row)
        if way == 0:
            self._count(flow, now, seq, length, fate)
        if out is not None:
            self.number += 1
            heapq.heappush(self.due, (out, self.number, way, frame, flow, [row, ack, blocks]))

    def _count(self, flow: Flow, now: float, seq: int, length: int, fate: str) -> None:
        if flow.began is None:
            flow.began = now
        if not length:
            return
        flow.counts["segs_sent"] += 1
        if seq < flow.highest:
            flow.counts["retrans"] += 1
            flow.rows["events"].append([f"{now:.6f}", flow.number, "R", seq, ""])
        flow.highest = max(flow.highest, seq + length)
        flow.sent[seq + length] = None if seq + length in flow.sent else now
        if fate != "ok":
            flow.counts[f"drop_{fate}"] += 1
            flow.rows["events"].append([f"{now:.6f}", flow.number, "D", seq, fate])

    def _deliver(self, now: float) -> None:
        out, _, way, frame, flow, (row, ack, blocks) = heapq.heappop(self.due)
        self.frames[1 - way].send(frame)
        row[-1] = f"{now:.6f}"
        self.errors.append(now - out)
        if way == 0:
            return
        if ack > flow.una:
            ends = sorted(end for end in flow.sent if flow.una < end <= ack)
            if ends and (sent := flow.sent[ends[-1]]) is not None:
                flow.rtts.append(now - sent)
            for end in ends:
                del flow.sent[end]
            flow.una = ack
        for start, stop in blocks:
            # Data that a SACK block names gives no RTT when the hole before it is filled.
            low, high = _relative(flow, 0, start), _relative(flow, 0, stop)
            for end in [end for end in flow.sent if low < end <= high]:
                del flow.sent[end]
        flow.look(now, sample=False)


def _relative(flow: Flow, way: int, value: int) -> int:
    """A sequence number counted from the first byte of data; the SYN is -1, and 0 acknowledges nothing."""
    if way not in flow.first_seq:
        return 0
    first = flow.first_seq[way]
    return (value - first - 1 + 2**31) % 2**32 - 2**31


def _sack_blocks(options: bytes) -> list[tuple[int, int]]:
    at = 0
    while at < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
        elif options[at] == 5:
            edges = struct.unpack_from(f"!{(options[at + 1] - 2) // 4}I", options, at + 2)
            return list(zip(edges[::2], edges[1::2], strict=True))
        else:
            at += max(2, options[at + 1])
    return []


def real_time(priority: int, processor: int) -> None:
    """Asks for real-time priority; on a busy machine times are late without it."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        os.sched_setaffinity(0, {processor % (os.cpu_count() or 1)})
    except OSError as error:
        print(f"no real-time priority ({error}): times will be late", file=sys.stderr)


def child(work: Any, priority: int, processor: int) -> int:
    """Forks a process that does `work` and ends; returns its id."""
    if pid := os.fork():
        return pid
    try:
        real_time(priority, processor)
        work()
    except OSError:
        pass
    os._exit(0)


def buffer_settings(text: str) -> str:
    """`tcp_rmem` for a receive buffer as the table names it. Raises ValueError."""
    if text in ("stock", "default"):
        return "4096 131072 33554432"
    number, unit, kind = [*text.split(), "", ""][:3]
    size = int(number) * {"KiB": 1 << 10, "MiB": 1 << 20}[unit]
    if kind == "initial":
        return f"4096 {size} {max(size, 33554432)}"
    if kind == "max":
        return f"4096 {min(131072, size)} {size}"
    raise ValueError(f'receive_buffer "{text}": neither stock nor like "8 MiB initial" or "4 MiB max"')


def read_case(row: dict[str, str], folder: Path) -> dict[str, Any]:
    """A row of the table with its numbers; flows are controls joined by `+`, each perhaps with `@` and a start in s."""
    case: dict[str, Any] = dict(row)
    for key in ("rate_bps", "delay_s", "duration_s", "random_loss"):
        case[key] = float(row[key] or 0)
    case["limit_packets"] = int(row["limit_packets"])
    case["memory"] = buffer_settings(row["receive_buffer"])
    case["parts"] = [[*part.split("@"), "0"][:2] for part in row["flows"].split("+")]
    case["outages"], case["steps"] = [], []
    if row["schedule"]:
        with open(folder / row["schedule"], newline="") as file:
            for event in csv.DictReader(file):
                at, value = float(event["time_s"]), float(event["value"])
                if event["event"] == "outage_s":
                    case["outages"].append((at, at + value))
                else:
                    case["steps"].append((at, value / 1e3))
    return case


def record(case: dict[str, Any], folder: Path) -> dict[tuple[int, str], dict[str, float]]:
    """Makes a run, writes its files and returns its figures per flow."""
    settings = {"net.ipv4.tcp_no_metrics_save": "1", "net.ipv4.tcp_wmem": "4096 8388608 33554432"}
    both = {end: {**settings, "net.ipv4.tcp_rmem": case["memory"]} for end in "sr"}
    namespaces = Namespaces(both)
    opened: list[socket.socket] = []
    children: list[int] = []
    try:
        namespaces.enter("m")
        for end in "sr":
            frame = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            frame.bind((f"{end}1", 0))
            frame.setblocking(False)
            frame.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
            opened.append(frame)
        frames = list(opened)
        listeners, flows = [], []
        for number, (control, _) in enumerate(case["parts"]):
            namespaces.enter("r")
            listener = socket.create_server((RECEIVER, FIRST_PORT + number))
            namespaces.enter("s")
            sender = socket.socket()
            sender.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, control.encode())
            if case["paced"] == "1":
                # TCP paces by itself for a socket with a limit; this one is out of reach.
                sender.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("Q", 10**12))
            opened += [listener, sender]
            listeners.append(listener)
            flows.append(Flow(number, control, sender))
        start = time.clock_gettime(time.CLOCK_MONOTONIC) + 0.2
        for number, (_, begin) in enumerate(case["parts"]):
            children.append(child(lambda n=number: _read(listeners[n]), 70, 1))
            target = (RECEIVER, FIRST_PORT + number)
            children.append(child(lambda n=number, b=begin, t=target: _send(flows[n], t, start + float(b)), 50, 1))
        real_time(60, 0)
        bottleneck = Bottleneck(case, flows, frames, start)
        bottleneck.run()
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        for one in opened:
            one.close()
        namespaces.remove()
    late = sorted(bottleneck.errors)
    print(f"{case['run']}: late by p99 {1e3 * late[len(late) * 99 // 100]:.2f} ms, at most {1e3 * late[-1]:.1f} ms")
    for kind, header in HEADERS.items():
        rows = heapq.merge(*(flow.rows[kind] for flow in flows), key=lambda row: float(row[0]))
        write(folder / f"{case['run']}.{kind}.csv.gz", header.split(","), rows)
    return {(flow.number, flow.control): figures(case, flow) for flow in flows}


def _send(flow: Flow, target: tuple[str, int], start: float) -> None:
    while (left := start - time.clock_gettime(time.CLOCK_MONOTONIC)) > 0:
        time.sleep(max(0.0, left - 0.0002))
    flow.socket.connect(target)
    data = bytes(1 << 16)
    while True:
        flow.socket.sendall(data)


def _read(listener: socket.socket) -> None:
    accepted, _ = listener.accept()
    buffer = bytearray(1 << 20)
    while accepted.recv_into(buffer):
        pass


def figures(case: dict[str, Any], flow: Flow) -> dict[str, float]:
    """The measures of a flow under the names of the reference; goodput is over the time from its first SYN on."""
    end = case["duration_s"]
    began = flow.began or 0.0
    windows = [(float(row[0]), int(row[4])) for row in flow.rows["cwnd"]]
    ends = [at for at, _ in windows[1:]] + [end]
    area = sum(cwnd * (to - at) for (at, cwnd), to in zip(windows, ends, strict=True))
    recoveries = [float(row[0]) for row in flow.rows["events"] if row[2:5:2] == ["S", "Recovery"]]
    periods = sorted(to - at for at, to in itertools.pairwise(recoveries[1:]))
    rtts = sorted(flow.rtts)
    found = {
        "goodput_Mbps": flow.una * 8e-6 / (end - began),
        **{name: float(count) for name, count in flow.counts.items()},
        "rto_events": float(flow.last["total_rto"]),
        "recoveries": float(len(recoveries)),
        "rtt_mean_ms": 1e3 * sum(rtts) / len(rtts),
        "rtt_p50_ms": 1e3 * rtts[len(rtts) // 2],
        "rtt_p95_ms": 1e3 * rtts[len(rtts) * 95 // 100],
        "cwnd_mean": area / (end - windows[0][0]),
        "cwnd_max": float(max(cwnd for _, cwnd in windows)),
    }
    if flow.exit:
        found |= {"ss_exit_s": flow.exit[0], "ss_exit_cwnd": float(flow.exit[1])}
    if len(periods) >= 2:
        found |= {"saw_period_mean_s": sum(periods) / len(periods), "saw_period_median_s": periods[len(periods) // 2]}
    return found


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Writes a table, gzipped where the name says so."""
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(header)
    table.writerows(rows)
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def main(arguments: Sequence[str]) -> int:
    """Makes the runs of a table, or those named, and writes the figures of all that were made here."""
    if len(arguments) < 2:
        print("usage: make.py CASES.csv FOLDER [RUN ...]", file=sys.stderr)
        return 2
    table, folder, only = Path(arguments[0]), Path(arguments[1]), arguments[2:]
    folder.mkdir(parents=True, exist_ok=True)
    with open(table, newline="") as file:
        rows = [row for row in csv.DictReader(file) if not only or row["run"] in only]
    found: dict[tuple[str, int, str], list[dict[str, float]]] = {}
    for row in rows:
        for (number, control), one in record(read_case(row, table.parent), folder).items():
            found.setdefault((f"{row['config']}_{row['flows']}", number, control), []).append(one)
        lines = []
        for (group, number, control), runs in found.items():
            for name in dict.fromkeys(name for one in runs for name in one):
                values = [one[name] for one in runs if name in one and math.isfinite(one[name])]
                spread = [f"{value:.4f}" for value in (sum(values) / len(values), min(values), max(values))]
                lines.append([group, number, control, name, len(values), *spread])
        write(folder / "targets.csv", ["config", "flow", "cc", "metric", "n", "mean", "min", "max"], lines)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
