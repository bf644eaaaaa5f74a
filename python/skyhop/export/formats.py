"""The formats of `skyhop export`, and what each of them needs from a run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from skyhop import _core, folders
from skyhop.export import pcap, qlog, summaries, wire
from skyhop.legs import earlier_legs
from skyhop.results import pieces
from skyhop.starts import one_by_one

if TYPE_CHECKING:
    import polars as pl


class ExportError(ValueError):
    """The run does not hold what the format needs, or an option does not fit it; the message says what would."""


class Source(Protocol):
    """A run, fresh or read back."""

    @property
    def table_names(self) -> list[str]:
        """Names that `table` knows."""

    def table(self, name: str, /) -> pl.DataFrame:
        """The table of that name."""

    def scan(self, name: str, /) -> pl.LazyFrame:
        """The same, read as far as it is needed."""

    @property
    def scenario(self) -> _core.Scenario:
        """The scenario with everything filled in."""

    @property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds."""

    @property
    def manifest(self) -> dict[str, Any]:
        """What `manifest.json` holds."""


@dataclass(frozen=True)
class Exported:
    """Where the export is, and what its reader should know, a sentence each."""

    path: Path
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Format:
    """One format: what it is, how its file is called after, and how it is written."""

    about: str
    #: Ending of the file; without one a folder is written.
    ending: str | None
    write: Callable[[Source, Path, Sequence[str]], list[str]]
    #: Whether packets are picked by node.
    by_node: bool = False


def write(run: Source, to: str, out: Path, *, nodes: Sequence[str] = ()) -> Exported:
    """Writes a run in another tool's format. The file or folder appears whole or not at all.

    `to` is one of `FORMATS`, `out` the file or folder. `nodes` picks the interfaces of a capture.

    Raises ExportError if the run lacks what the format needs, FileExistsError if `out` holds anything else, OSError if
    it cannot be written.
    """
    if to not in FORMATS:
        raise ExportError(f"no format is called {to!r}; there are: {', '.join(FORMATS)}")
    format_ = FORMATS[to]
    if nodes and not format_.by_node:
        raise ExportError(f"{to} has no interfaces to choose from: leave the nodes out")
    return Exported(out, format_.write(run, out, nodes))


def packets_of(run: Source) -> pl.LazyFrame:
    """The table of packets of a run that has one."""
    packets = run.scan("packets")
    if _is_empty(packets):
        links = run.table("links")["link"].to_list()
        some = ", ".join(f'"{name}"' for name in links[:2]) or '"left->right"'
        raise ExportError(
            "the run recorded no packets: name links in the scenario, such as\n"
            f"  [records]\n  packets = [{some}]\nand run it again"
        )
    if "tcp_seq" not in packets.collect_schema():
        raise ExportError("the run was made by an older Skyhop, whose packets have no headers: run the scenario again")
    return packets


def _is_empty(table: pl.LazyFrame) -> bool:
    return table.head(1).collect().is_empty()


def _recorded(run: Source, column: str) -> set[str]:
    """The different texts in a column of the table of packets."""
    values: list[str] = packets_of(run).select(column).unique().collect()[column].drop_nulls().to_list()
    return set(values)


def ends_of(run: Source) -> dict[str, tuple[str, str]]:
    """The two nodes of each flow that has a row of its own."""
    return {row["flow"]: (row["from"], row["to"]) for row in run.table("flows").iter_rows(named=True)}


def payloads_of(run: Source) -> dict[str, int]:
    """The user bytes of a full segment of each flow, the bytes of a full datagram with QUIC: what windows count.

    The scenario says them. The largest recorded packet tells those of UDP and of legs of split connections, whose
    proxies may have another TCP; a flow of these of which no data were recorded is not there.
    """
    import polars as pl

    sizes = packets_of(run).group_by("flow").agg(pl.col("payload_bytes").max()).collect()
    found = {name: largest for name, largest in sizes.iter_rows() if largest}
    scenario = one_by_one(run.scenario)
    for flow in scenario["flows"]:
        if full := None if flow.get("via") else _full(flow):
            found[flow["name"]] = full
    of_workloads = {one["name"]: _full(one) for one in scenario.get("workloads", [])}
    for name in sizes["flow"]:
        # A connection of a workload is called after it: web#0, web#1.
        if full := of_workloads.get(name.rpartition("#")[0]):
            found[name] = full
    return found


def _full(flow: dict[str, Any]) -> int | None:
    if "quic" in flow:
        return int(flow["quic"]["payload"].removesuffix(" B"))
    if "tcp" not in flow:
        return None
    # Linux takes the bytes of timestamps from the MSS; in Skyhop's own TCP the MSS is all user data.
    stamps = 12 if flow["tcp"].get("timestamps") == "on" else 0
    return int(flow["tcp"]["mss"].removesuffix(" B")) - stamps


def _captured(run: Source, nodes: Sequence[str]) -> tuple[wire.Wire, dict[str, bytes], wire.Capture]:
    packets = packets_of(run).collect()
    made, names = wire.wire_of(packets, ends_of(run), payloads_of(run))
    found = wire.capture(packets, run.table("links"), nodes=nodes)
    there = {interface.node for interface in found.interfaces}
    if missing := [node for node in nodes if node not in there]:
        all_nodes = sorted({one.node for one in wire.capture(packets, run.table("links")).interfaces if one.node})
        raise ExportError(f"no recorded link ends at {missing[0]!r}; there are: {', '.join(all_nodes)}")
    return made, names, found


_FILLED = (
    "What the simulation does not have is filled in: payloads are zeros, addresses and ports stand for nodes and "
    "flows, the TTL is 64, sequence numbers begin at 0, and a receiver that does not say its window has 65535. "
    "Times are those of the run. A packet that leaves is stamped when its transmission begins, one that arrives when "
    "its last bit has."
)


def _application() -> str:
    return f"skyhop {_core.version()}"


def _unseen(run: Source, nodes: Sequence[str]) -> list[str]:
    """What a capture at nodes leaves out though its links were recorded: packets on links that end nowhere by name."""
    recorded = _recorded(run, "link")
    links = run.table("links").iter_rows(named=True)
    shared = sorted(row["link"] for row in links if row["to"] is None and row["link"] in recorded)
    if not nodes or not shared:
        return []
    return [
        f"what arrives over {_some(shared)} is not in the capture: these links end at no node of a name. "
        "Without --at each has an interface of its own."
    ]


def _pcapng(run: Source, out: Path, nodes: Sequence[str]) -> list[str]:
    made, names, found = _captured(run, nodes)
    comment = f"Simulated by Skyhop: scenario {run.manifest['scenario_hash']}, seed {run.manifest['seed']}. {_FILLED}"
    blocks = pcap.pcapng(found.interfaces, names, found.each(made), application=_application(), comment=comment)
    with folders.streamed(out) as file:
        file.writelines(blocks)
    notes = [*([said] if (said := made.fitting.words()) else []), *_unseen(run, nodes)]
    if len(found.interfaces) > 1:
        shown = ", ".join(f'"{interface.name}"' for interface in found.interfaces[:4])
        notes.append(
            f"The file has {len(found.interfaces)} interfaces ({shown}{', …' if len(found.interfaces) > 4 else ''}), "
            "and a packet appears at each that it passes. Tools that do not tell interfaces apart take the copies for "
            "retransmissions: --at NODE writes those of one node."
        )
    return notes


def _pcap(run: Source, out: Path, nodes: Sequence[str]) -> list[str]:
    made, _, found = _captured(run, nodes)
    with folders.staged(out, "export") as staging:
        for rank, name in enumerate(_file_names(interface.name for interface in found.interfaces)):
            with (staging / f"{name}.pcap").open("wb") as file:
                file.writelines(pcap.pcap(found.each(made, only=rank)))
        text = f"Simulated by {_application()}: scenario {run.manifest['scenario_hash']}.\n{_FILLED}\n"
        (staging / "README.txt").write_text(text, encoding="utf-8")
    return [*([said] if (said := made.fitting.words()) else []), *_unseen(run, nodes)]


def _file_names(names: Iterator[str]) -> list[str]:
    """Names of files without what file systems mind; two that would be equal have a number."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^\w.-]+", "-", name).strip("-")
        while plain in found:
            plain += "-2"
        found.append(plain)
    return found


def _write_parts(out: Path, parts: Iterator[str]) -> None:
    """Writes a text while it is made: that of a long run may be larger than the memory."""
    with folders.streamed(out) as file:
        file.writelines(part.encode("utf-8") for part in parts)


def _csv(run: Source, out: Path, _nodes: Sequence[str]) -> list[str]:
    with folders.staged(out, "export") as staging:
        for name in run.table_names:
            run.scan(name).sink_csv(staging / f"{name}.csv")
    return []


def _parquet(run: Source, out: Path, _nodes: Sequence[str]) -> list[str]:
    with folders.staged(out, "export") as staging:
        for name in run.table_names:
            run.scan(name).sink_parquet(staging / f"{name}.parquet")
    return []


def _iperf3(run: Source, out: Path, _nodes: Sequence[str]) -> list[str]:
    import polars as pl

    series = run.scan("flow_series").select("time_s", "flow", "goodput_bps", "srtt_s")
    end_s = float(run.manifest["simulated_s"])
    parts = summaries.iperf3(
        run.summary["flows"], pieces(series), run.summary["total"], simulated_s=end_s, scenario=run.manifest["scenario"]
    )
    _write_parts(out, parts)
    notes = []
    last_s = series.select(pl.col("time_s").max()).collect().item()
    if last_s is None:
        notes.append("the run has no time series, so there are no intervals and no round trips: set [records] grid")
    elif last_s < end_s - 1e-9:
        notes.append(f"the intervals end at {last_s:g} s with the last whole step, the run at {end_s:g} s")
    flows = run.summary["flows"]
    if late := [flow["name"] for flow in flows if not _is_all_in_own_time(flow)]:
        notes.append(
            f"bits_per_second counts until a flow's own end, bytes until the run's end: they differ in {_some(late)}"
        )
    kinds = summaries.kinds(run.manifest["scenario"])
    if not summaries.has_epoch(run.manifest["scenario"]):
        notes.append("the run has no epoch: the timestamp is 2020-01-01 00:00 UTC, a full minute")
    if len(kinds) > 1 or "quic" in kinds:
        notes.append(f"iperf3 has one protocol for all streams, the flows have {', '.join(sorted(kinds))}: it has none")
    legs = earlier_legs(flow["name"] for flow in flows)
    if legs:
        notes.append(f"sums leave out legs that hand on what the last leg delivers: {_some(sorted(legs))}")
    of_flows = sum(flow["bytes_delivered"] for flow in flows if flow["name"] not in legs)
    if of_flows != run.summary["total"]["bytes_delivered"]:
        notes.append("sum_received has the transfers of workloads, too; they have no streams and no intervals")
    return notes


def _is_all_in_own_time(flow: dict[str, Any]) -> bool:
    """Whether all bytes arrived in the flow's own time, to which its rate refers."""
    in_own_time: float = flow["goodput_bps"] * (flow["stop_s"] - flow["start_s"]) / 8
    return bool(abs(in_own_time - flow["bytes_delivered"]) < 0.5)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (" and others" if len(names) > 4 else "")


def _flow_monitor(run: Source, out: Path, _nodes: Sequence[str]) -> list[str]:
    flows = run.summary["flows"]
    names = wire.addresses(flow[end] for flow in flows for end in ("from", "to"))
    shown = {name: ".".join(map(str, address)) for name, address in names.items()}
    folders.write(out, summaries.flow_monitor(flows, shown))
    notes = []
    if early := [flow["name"] for flow in flows if flow["stop_s"] < float(run.manifest["simulated_s"])]:
        notes.append(
            f"rxBytes counts until a flow's own end, packets until the run's end: they differ in {_some(early)}"
        )
    if of_messages := [flow["name"] for flow in flows if flow.get("messages_received") is not None]:
        notes.append(f"delays are recorded of messages, not of packets, and left out of {_some(of_messages)}")
    if not run.table("workloads").is_empty():
        notes.append("the transfers of workloads are left out: they have no rows of their own in the records")
    return notes


def _qlog(run: Source, out: Path, _nodes: Sequence[str]) -> list[str]:
    series = run.scan("flow_series")
    title = f"Skyhop, scenario {run.manifest['scenario_hash'][:12]}, seed {run.manifest['seed']}"
    ends = ends_of(run)
    tables = (packets_of(run), series, run.scan("flow_events"), ends, run.table("links"))
    payloads = payloads_of(run)
    parts = qlog.document(*tables, title=title, warnings=run.manifest["warnings"], payloads=payloads)
    _write_parts(out, parts)
    notes = ["the run has no time series, so there are no windows: set [records] grid"] if _is_empty(series) else []
    recorded = _recorded(run, "flow")
    if unknown := sorted((recorded & ends.keys()) - payloads.keys()):
        notes.append(f"no windows in bytes: the records hold no data of {_some(unknown)}")
    if others := len(recorded - ends.keys()):
        notes.append(f"connections of workloads have no trace, and {others} of them have packets here")
    return [*notes, "the packets that a flow sent are those at recorded links that begin at its source"]


def _ns2(run: Source, out: Path, _nodes: Sequence[str]) -> list[str]:
    lines, numbers = summaries.ns2_lines(packets_of(run).collect(), run.table("links"), ends_of(run))
    _write_parts(out, lines)
    return ["the trace numbers nodes by rank of name: " + ", ".join(f"{i} {name}" for name, i in numbers.items())]


def _czml(run: Source, out: Path, _nodes: Sequence[str]) -> list[str]:
    from skyhop import czml

    scenario = _with_sky(run)
    ephemeris = json.loads(scenario.ephemeris_json(czml.step_s(scenario.duration_s)))
    tables = (run.table("handovers"), run.table("paths"))
    packets = czml.czml(ephemeris, *tables, duration_s=scenario.duration_s)
    folders.write(out, json.dumps(packets, separators=(",", ":")) + "\n")
    return []


def _geojson(run: Source, out: Path, _nodes: Sequence[str]) -> list[str]:
    from skyhop import czml

    collection = czml.geojson(json.loads(_with_sky(run).sky_json(0.0, int(run.manifest["seed"]))))
    folders.write(out, json.dumps(collection, indent=1) + "\n")
    return ["GeoJSON holds one moment, here the start; skyhop export-sky --geojson FILE --at TIME writes another"]


def _with_sky(run: Source) -> _core.Scenario:
    scenario = run.scenario
    sky = json.loads(scenario.sky_json(0.0))
    if not sky["satellites"] and not sky["stations"]:
        raise ExportError("the scenario has neither a constellation nor stations: there is no sky to write")
    return scenario


#: The formats by name.
FORMATS: dict[str, Format] = {
    "pcapng": Format("a capture of all recorded links, for Wireshark and tshark", "pcapng", _pcapng, by_node=True),
    "pcap": Format("a capture for each interface, in a folder", None, _pcap, by_node=True),
    "csv": Format("every table as CSV, in a folder", None, _csv),
    "parquet": Format("every table as Parquet, in a folder", None, _parquet),
    "iperf3": Format("totals and intervals as iperf3 --json prints them", "json", _iperf3),
    "flowmon": Format("totals as FlowMonitor of ns-3 writes them", "xml", _flow_monitor),
    "qlog": Format("packets and windows of each flow at its source, for qvis", "qlog", _qlog),
    "ns2": Format("a trace of ns-2, a line for each event at a recorded link", "tr", _ns2),
    "czml": Format("the sky over time, for Cesium", "czml", _czml),
    "geojson": Format("the sky at the start, for map tools", "geojson", _geojson),
}
