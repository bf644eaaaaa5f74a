"""The engine, written in Rust."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, final, type_check_only

__all__ = [
    "Ack",
    "Cancelled",
    "Congestion",
    "ControlError",
    "Loss",
    "Progress",
    "Run",
    "Scenario",
    "ScenarioError",
    "Sent",
    "Staging",
    "Start",
    "Table",
    "empty_table",
    "is_whole",
    "json_schema",
    "memory_limit",
    "places",
    "presets_json",
    "quic_stacks",
    "reaction_packets",
    "reference_scenarios",
    "run",
    "run_into",
    "sweep",
    "table_names",
    "validate_flows",
    "validate_ns2",
    "validate_queues",
    "validate_quic",
    "validate_reactions",
    "version",
    "write_file",
]

@type_check_only
class Diagnostic(TypedDict):
    """One problem of a scenario."""

    file: str
    """The file, or what the text was called; for an override, the override."""
    line: int | None
    """From 1; None when the value came from no text."""
    column: int | None
    """In characters, from 1."""
    path: str
    """The key, as in `flows[2].from`; empty when the whole file is meant."""
    message: str
    help: str | None
    """What would be right."""

class ScenarioError(ValueError):
    """A scenario has problems. The message shows all of them."""

    diagnostics: list[Diagnostic]

class Cancelled(RuntimeError):
    """`Progress.cancel` ended the run."""

class ControlError(RuntimeError):
    """A congestion control in Python or from a plug-in ended the run: an exception, which is the cause, or a bad
    window."""

@final
class Start:
    """How a connection starts. `clamp` is the receiver's window in segments, infinite without one; `mss` in bytes."""

    cwnd: float
    ssthresh: float
    clamp: float
    mss: int

@final
class Ack:
    """An ACK. Times in seconds, amounts in segments, `mss` in bytes."""

    @property
    def now(self) -> float:
        """The simulated time."""
    @property
    def newly_acked(self) -> float:
        """Segments that it acknowledges cumulatively for the first time."""
    @property
    def newly_reported(self) -> float:
        """Segments beyond these that it reports selectively for the first time."""
    @property
    def slow_start_growth(self) -> float:
        """By how many segments the window may grow in slow start (RFC 3465); 0 when the window was not used."""
    @property
    def avoidance_growth(self) -> float:
        """The acknowledged segments that count for congestion avoidance; 0 when the window was not used."""
    @property
    def rtt(self) -> float | None:
        """Sample of the round-trip time; None when it acknowledges only what was sent more than once."""
    @property
    def smoothed_rtt(self) -> float | None:
        """Smoothed round-trip time (RFC 6298)."""
    @property
    def min_rtt(self) -> float | None:
        """Smallest sample of the connection."""
    @property
    def in_flight(self) -> float:
        """Segments outstanding after this ACK."""
    @property
    def round_ends(self) -> bool:
        """Whether a round trip, counted in packets, ends with it."""
    @property
    def acknowledged(self) -> int:
        """Segments acknowledged cumulatively since the start."""
    @property
    def delivered(self) -> int:
        """Segments delivered since the start, by cumulative and selective acknowledgement."""
    @property
    def marked(self) -> float:
        """Segments of these that carried an ECN mark."""
    @property
    def repairing(self) -> bool:
        """Losses that a timeout found are still being repaired."""
    @property
    def mss(self) -> int:
        """User bytes in a full segment."""

@final
class Loss:
    """Segments that are found lost; time in seconds."""

    now: float
    lost: float
    in_flight: float

@final
class Congestion:
    """The start of a recovery episode. `kind` is "loss", "ecn" or "timeout"; `window` is what the cut is taken from."""

    now: float
    kind: str
    window: float
    in_flight: float
    smoothed_rtt: float | None
    min_rtt: float | None
    again: bool
    mss: int

@final
class Sent:
    """A segment that leaves, which `in_flight` includes; time in seconds."""

    now: float
    in_flight: float

@final
class Scenario:
    """A validated scenario, defaults filled in and names resolved.

    `overrides` are `key=value` as on the command line: `["constellation.gsl.rate=3 Mbit/s"]`.
    `files` are the files that the scenario may name, and folders below which it may name any; an empty list stands for
    no file, None for every file. What is none of them is not opened. Pipes and devices are never read.
    Every way to make one raises ScenarioError with all problems found.
    """

    @staticmethod
    def from_file(
        path: str | PathLike[str],
        overrides: Sequence[str] = (),
        *,
        files: Sequence[str | PathLike[str]] | None = None,
    ) -> Scenario:
        """The scenario itself is read wherever it lies."""

    @staticmethod
    def from_toml(
        text: str,
        *,
        origin: str = "<text>",
        overrides: Sequence[str] = (),
        files: Sequence[str | PathLike[str]] | None = None,
    ) -> Scenario:
        """`origin` stands for the file in messages."""

    @staticmethod
    def from_json(
        text: str,
        *,
        overrides: Sequence[str] = (),
        files: Sequence[str | PathLike[str]] | None = None,
        written: bool = True,
    ) -> Scenario:
        """The same keys as in a file, as a JSON object; also the canonical form.

        Of a canonical form, which has every key, say `written=False`: its warnings then leave out keys without effect,
        which nobody wrote and which take longer to find than a short run.
        """

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hexadecimal."""

    @property
    def duration_s(self) -> float: ...
    @property
    def memory_bytes(self) -> int:
        """What a run takes before its first packet, about: network, flows, rows at the steps of its recording."""

    @property
    def memory_bytes_in_folder(self) -> int:
        """The same for `run_into`, which keeps no long table in memory."""

    def canonical_json(self) -> str:
        """The scenario with every default written out."""

    @property
    def has_tcp_by_default(self) -> bool:
        """Whether flows have the TCP of Linux because nothing names a profile or a version of the format."""

    @property
    def warnings(self) -> list[str]:
        """What to know about a scenario that is right: old elements, entries of files that were left out."""

    def sky_json(self, at_s: float, seed: int = 1) -> str:
        """Everything at a moment of a run with this seed.

        `{"at_s", "utc", "elevation_mask_deg", "satellites": [{"name", "latitude_deg", "longitude_deg",
        "altitude_km"}], "stations": [the same and "satellite", "elevation_deg", "azimuth_deg", "range_km", "antennas"],
        "isls": [[name, name]], "flows": [{"flow", "hops"}]}`. `antennas` has "satellite" and its angles for each
        antenna, and "up", which is false while the satellite is acquired.
        """

    def passes_json(self) -> str:
        """Every pass of every satellite over every station: `[{"station", "satellite", "rise_s", "culmination_s",
        "set_s", "highest_deg", "azimuth_at_rise_deg", "rise_utc", "set_utc"}]`, in the order of their beginning.

        A pass is above the station's elevation mask; obstructions and ranges do not count. One that is under way at the
        start or at the end of the scenario is cut there. Instants in UTC are null without an epoch.
        """

    def planes_json(self) -> str:
        """Orbital planes at the start: `{"utc", "shells": [{"name", "inclination_deg", "altitude_km", "planes":
        [{"plane", "node_deg", "altitude_km", "satellites", "count", "phases_deg", "spacing_deg": {"min", "median",
        "max"}, "next": {"plane", "links", "unpaired"}, "previous"}], "unpaired": {"next": {"count", "satellites"},
        "previous"}}], "left_out": [{"satellite", "catalogue_number", "reason", "detail"}]}`.

        Satellites stand in the order of flight. `phases_deg` has the argument of latitude of each, from elements with
        an inclination below 0.1° or above 179.9° its right ascension. `next` describes the plane that follows by
        number, after the last the first, and `previous` the one before: `links` counts the links of the run's +Grid to
        it, and `unpaired` the satellites of this plane without one, whom the shell names. Either is null where that
        plane is not a neighbour, as at a seam. Elements have planes only where their links are a grid. Raises
        ValueError for a network that cannot be.
        """

    def ephemeris_json(self, step_s: float) -> str:
        """Earth-fixed positions in metres, one after the other: `{"step_s", "epoch", "nodes": [{"name", "kind",
        "times_s", "xyz_m": [x, y, z, x, y, z, …]}]}`; the last lies behind the end.

        They are `step_s` seconds apart. A station on a track has positions at its waypoints besides; its `times_s` says
        when each is, and is null for all others. Raises ValueError for a step that makes too many positions.
        """

    def paths_json(self, step_s: float) -> str:
        """The paths of all flows at t = 0 and every `step_s` seconds until the end.

        `[{"flow", "from", "to", "paths", "delays_ns"}]`: `delays_ns` has the propagation delay in one direction at each
        instant, null without a path; `paths` lists `[n, [node, ...]]` for each instant n at which the path is another
        than before. Raises ValueError for a step that makes too many instants.
        """
    def path_json(self, at_s: float, seed: int = 1) -> str:
        """The paths of all flows at a moment of a run with this seed, over the routes that are in force then.

        `{"at_s", "flows": [{"flow", "from", "to", "delay_s", "hops": [{"from", "to", "link", "kind", "delay_s",
        "range_km", "elevation_deg"}]}]}`. Between wired nodes range and elevation are null, between satellites the
        elevation. A flow that has no path has no hops, and null for its delay. Delays are those of propagation.
        """

@final
class Progress:
    """How far a run is; may be read, and the run cancelled, from another thread."""

    def __init__(self) -> None: ...
    @property
    def fraction(self) -> float:
        """Share of the simulated time that is done, from 0 to 1."""

    def glance(self) -> tuple[float, list[tuple[str, int, float | None]]]:
        """The simulated time in seconds, and how at most six flows do by then.

        Of each flow: its name, the user bytes delivered, its congestion window in segments (None for UDP).
        """

    def cancel(self) -> None:
        """Ends the run soon, with Cancelled."""

@final
class Table:
    """Columns of a run, for whatever reads Arrow: `polars.DataFrame(table)` copies nothing."""

    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """The Arrow PyCapsule interface."""

    def __len__(self) -> int: ...

@final
class Run:
    """A finished run."""

    def table_names(self) -> list[str]:
        """What `table` takes; the same names for every run."""

    def table(self, name: str) -> Table:
        """A table without rows has its columns. Raises KeyError for any other name."""

    @property
    def warnings(self) -> list[str]:
        """What a reader of the results should know, a sentence each."""

    def summary_json(self) -> str:
        """The content of summary.json."""

    def manifest_json(self) -> str:
        """The content of manifest.json."""

    def write(self, path: str | PathLike[str], *, csv: bool = False) -> list[str]:
        """Writes the run folder, which appears whole or not at all, in place of an older run folder.

        Tables of more than 100,000 rows are written as Parquet alone, unless `csv`; returns their names.

        Raises FileExistsError if `path` holds anything that is not part of a run folder, OSError if it cannot be
        written.
        """

    def write_into(self, path: str | PathLike[str], *, csv: bool = False) -> list[str]:
        """Writes the files of a run folder into a folder that is there and holds none of them.

        Tables of more than 100,000 rows are written as Parquet alone, unless `csv`; returns their names.

        Raises OSError if one cannot be written; the others stay.
        """

    def keep(self, path: str | PathLike[str]) -> None:
        """Writes what `write` does without CSV; the folder appears whole or not at all.

        A whole one that is there by then stays as it is, a damaged one is replaced. Raises FileExistsError if `path`
        holds anything that is not part of a kept run, OSError if it cannot be written.
        """

@final
class Staging:
    """A folder on its way to its place `target`, where it appears whole or not at all.

    `kind` is one of run, kept, sweep, study, page, export. Raises FileExistsError if `target` holds anything that is
    not part of a folder of this kind, OSError if it cannot be written.
    """

    def __new__(cls, target: str | PathLike[str], kind: str) -> Staging: ...
    @property
    def folder(self) -> Path:
        """Where to write. Raises RuntimeError after `publish` or `discard`."""

    def publish(self) -> None:
        """Puts the folder into its place. Raises as the constructor does, and RuntimeError the second time."""

    def discard(self) -> None:
        """Removes what was written, unless it was published."""

def is_whole(folder: str | PathLike[str]) -> bool:
    """Whether a folder that was published holds every file that it held then, in its full size."""

def sweep(folder: str | PathLike[str]) -> None:
    """Removes what processes left in `folder` that died while they wrote there."""

def write_file(path: str | PathLike[str], content: bytes) -> None:
    """Writes a file that appears whole or not at all, in place of an older one; a device or pipe takes it as it comes.

    Raises FileExistsError if `path` is a folder, OSError if it cannot be written.
    """

def run(
    scenario: Scenario,
    *,
    seed: int = 1,
    progress: Progress | None = None,
    memory_bytes: int | None = None,
    threads: int = 1,
) -> Run:
    """Simulates the whole scenario. Other threads of Python go on; Ctrl-C interrupts.

    Raises Cancelled after `progress.cancel()`, MemoryError when it needs more than `memory_bytes` (without it
    `memory_limit()`), ValueError for no `threads`.
    """

def run_into(
    scenario: Scenario,
    folder: str | PathLike[str],
    *,
    shown: str | PathLike[str],
    seed: int = 1,
    progress: Progress | None = None,
    memory_bytes: int | None = None,
    threads: int = 1,
    csv: bool = False,
) -> None:
    """Simulates the whole scenario, with the files of a run folder in a folder that is there and holds none of them.

    Long tables are written while the run goes on. Errors name files as in `shown`. Otherwise as `run`; raises OSError
    if a file cannot be written.
    """

def memory_limit() -> int:
    """Memory in bytes that a run may take unless it is told otherwise.

    What SKYHOP_MEMORY says ("4 GB", "none"), else half of what the machine, its control group or the process may have.
    Raises ValueError if SKYHOP_MEMORY holds something else.
    """

def table_names() -> list[str]:
    """The names of all tables that a run has."""

def empty_table(name: str) -> Table:
    """The table of that name as it is without rows. Raises KeyError for an unknown name."""

def validate_ns2(folder: str | PathLike[str], *, cases: list[str] = ..., agents: list[str] = ...) -> str:
    """Runs the cases of an ns-2 reference folder; JSON list of cells with case, agent, measure, reference, ours,
    difference, bound, ok and detail, worst first. Empty lists select all.

    Raises ValueError for a folder that cannot be read.
    """

def validate_queues(folder: str | PathLike[str], *, cases: list[str] = ..., variant: str = ...) -> str:
    """Runs the cases of a folder of kernel queue disciplines; JSON list of what was found of each, in its order.

    Each entry has case, discipline, note, packets, equal, totals (of the reference and ours delivered, drops, marks,
    p50_ns, p95_ns; or null), first (packet, arrival_ns, and of the reference and ours
    verdict, ce, after_ns; or null), draws (reference, ours; or null), means (metric, reference, ours, bound, ok),
    ignored, problem and ok. An empty list selects all cases. The variant "rfc" runs the disciplines that have a text by
    it. Raises ValueError for a folder that cannot be read, an unknown case and an unknown variant.
    """

def validate_reactions(folder: str | PathLike[str], *, cases: list[str] = ..., halves: list[str] = ...) -> str:
    """Runs the cases of a folder of recorded reactions of Linux; JSON list of what was found of each, in its order.

    `halves` are of "sender", "receiver" and "both". Each entry has case, mechanism, line (of `cases.csv`), half,
    packets, equal, late_timers, worst_s, differences (pairs of respect and words), states (ours and the recorded one,
    or null) and problem. An empty list of cases selects all. Raises ValueError for a folder that cannot be read, an
    unknown case and an unknown half; a row that cannot be built is an entry with a problem.
    """

def validate_flows(folder: str | PathLike[str], *, runs: list[str] = ...) -> str:
    """Runs the whole flows of a folder of Linux; JSON list of run, line, measures, missing, problem, ok.

    Each measure has measure, reference (least and largest), ours, difference, bound and ok; null is not finite.
    `missing` names absent files of the recording. An empty list selects all, in the folder's order. Raises ValueError
    for a folder that cannot be read and an unknown run; a row that cannot be built is an entry with a problem.
    """

def reaction_packets(folder: str | PathLike[str], case: str, *, half: str = ...) -> str:
    """JSON pair, ours and the recording, of data (time in s, first byte, bytes, sent before) and acks (time, number).

    Raises ValueError as `validate_reactions`, and for a row that cannot be built.
    """

def validate_quic(folder: str | PathLike[str], *, cases: list[str] = ..., seeds: int | None = ...) -> str:
    """Runs the cases of a folder of QUIC stacks; JSON list of what was found of each, in its order.

    Each entry has case, mechanism, stack, figures (name, ours or null, seen, allowed or null, ok), runs, deaths, died,
    survival_right, skipped, problem and ok. An empty list selects all cases. `seeds`: runs for each case; None: ten
    where the congestion control draws random numbers, five elsewhere. Raises ValueError for a folder that cannot be
    read, an unknown case and no seed.
    """

def quic_stacks() -> list[str]:
    """The QUIC stacks of this build, by name."""

def reference_scenarios(folder: str | PathLike[str]) -> str:
    """JSON list of case, agent, has_windows and scenario: every case of a reference folder with every agent.

    Raises ValueError for a folder that cannot be read.
    """

def json_schema() -> str:
    """The JSON Schema of a scenario."""

def places() -> list[tuple[str, str, float, float]]:
    """Name, country (ISO 3166), latitude and longitude in degrees of the cities that stations may name."""

def presets_json() -> str:
    """JSON list of the constellations that have a name: shells, satellites, source, what is not in the source."""

def version() -> str: ...
