"""Every command with wrong input: a message of the program's own and an exit code, no traceback, nothing
half-written."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import DUMBBELL, TWO_QUEUES, in_process, program_group

import skyhop
from skyhop import program

SHORT = DUMBBELL.replace('"20 s"', '"3 s"')
SWEEP = 'scenario = "good.toml"\nseeds = 2\n[axes]\n"flows[*].tcp" = ["reno", "vegas"]\n'

#: Of every command, a call that works; `{}` stands for the value of the parameter that is tried.
WORKS = {
    "check": ["good.toml"],
    "schema": [],
    "run": ["good.toml", "--out", "out"],
    "path": ["good.toml"],
    "serve": ["run", "--port", "0", "--no-browser"],
    "export": ["run", "--html", "page"],
    "completion": ["bash"],
    "import": ["mahimahi", "up.trace", "--delay", "5 ms", "--out", "imported"],
    "packets": ["run", "--flow", "a", "--out", "packets.csv"],
    "sweep": ["good-sweep.toml", "--out", "out", "--keep", "kept"],
    "study list": ["--studies", "studies"],
    "study show": ["queues", "--studies", "studies"],
    "study run": ["queues", "--studies", "studies", "--out", "out", "--keep", "kept"],
    "validate ns2": ["--reference", "reference"],
    "validate queues": ["--reference", "reference"],
    "validate reactions": ["--reference", "reference"],
    "validate quic": ["--reference", "reference"],
    "validate linux": ["--reference", "reference"],
    "validate opensand": ["--reference", "reference"],
    "validate routes": ["--reference", "reference"],
    "validate starlink": ["--reference", "reference"],
    "fit starlink": ["recording.csv"],
    "sky": ["sky.toml"],
    "passes": ["--station", "Palermo", "--constellation", "iridium", "--hours", "1"],
    "planes": ["iridium"],
    "handovers": ["sky-run"],
    "places": [],
    "presets": [],
    "export-sky": ["sky-run", "--czml", "out.czml"],
}

LONG = "x" * 300
SEEDS = ("-1", str(2**64), "x", "", "1.5")
#: No file that can be read as what it has to be.
FILES = [
    "", "absent.toml", "folder", "empty.toml", "bytes.toml", "deep.toml", "new\nline.toml", "good.toml/x", LONG,
    "\udcff",
    "/dev/full", "words.toml",
]  # fmt: skip
RUNS = ["", "absent", "good.toml", "folder", "no-run", "garbled", LONG, "\udcff"]
#: No place for a folder.
PLACES = ["", ".", "..", "/", "good.toml", "good.toml/x", "folder", "/proc/x/y", LONG, "link"]
#: No place for a file.
TARGETS = ["", ".", "/", "folder", "good.toml/x.svg", "/proc/x.svg", f"{LONG}.svg", "map.gif", "/dev/full"]
TIMES = ["", "5", "s", "-1 s", "1e3 s", "nan s", "9" * 400 + " s", "1 fortnight"]
NAMES = ["", "nobody", "\udcff", "x" * 300, "a\nb", "../.."]
MEMORY = ["-1 GB", "much", "4", "0 B"]
#: Sweeps whose measure would be a number, and not the one that it is called.
MEASURES = {
    "event-sweep.toml": 'table = "flow_events"\ncolumn = "cwnd"\nreduce = "count"\nevent = "timed-out"\n',
    "unfinished-sweep.toml": 'table = "flows"\ncolumn = "completion_s"\nreduce = "mean"\n',
    "scale-sweep.toml": 'table = "flows"\ncolumn = "dropped"\nreduce = "sum"\nscale = 0\n',
    "classes-sweep.toml": 'table = "workloads"\nsize = "all"\ncolumn = "bytes"\nover = "transfers"\nreduce = "ratio"\n',
    "warm-sweep.toml": 'table = "flow_series"\ncolumn = "received"\nreduce = "sum"\nuntil_s = 1\n',
}
SETS = [
    "",
    "=",
    "x",
    "duration=",
    "duration=-1 s",
    "nokey=1",
    "[=1",
    "flows[9].from=x",
    "links[0].rate=9e999 bit/s",
    "\udcff=1",
]

WRONG: dict[str, dict[str, list[list[str]]]] = {
    "check": {
        "file": [
            [one]
            for one in [
                *FILES, "bad-sweep.toml", "bad-studies/one", "no-run", "garbled", "folder/thesis.txt",
                "garbled/handovers.parquet",
            ]
        ],
        "overrides": [*(["good.toml", "--set", one] for one in SETS), ["good-sweep.toml", "--set", "duration=2 s"]],
    },
    "schema": {"": [["extra"]]},
    "import": {
        "form": [[one, "up.trace", "--out", "new"] for one in ("", "nothing")],
        "sources": [
            *(["mahimahi", one, "--delay", "5 ms", "--out", "new"] for one in FILES),
            ["csv", "bytes.csv", "--delay", "5 ms", "--out", "new"],
        ],
        "out": [["mahimahi", "up.trace", "--delay", "5 ms", "--out", one] for one in PLACES],
        "rate": [["mahimahi", "up.trace", "--delay", "5 ms", "--rate", "1 Mbit/s", "--out", "new"]],
        "delay": [["mahimahi", "up.trace", "--delay", one, "--out", "new"] for one in ("", "5", "-1 ms")],
        "duration": [
            ["mahimahi", "up.trace", "--delay", "5 ms", "--duration", one, "--out", "new"] for one in ("5", "-1 s")
        ],
        "flows": [
            ["mahimahi", "up.trace", "--delay", "5 ms", "--flow", one, "--out", "new"] for one in ("", "a", "a,b")
        ],
    },
    "completion": {"shell": [[one] for one in ("", "sh", "\udcff")]},
    "run": {
        "memory": [["good.toml", "--memory", one] for one in MEMORY],
        "threads": [["good.toml", "--threads", one] for one in ("0", "-1", "x", "1.5")],
        "file": [[one] for one in FILES],
        "out": [["good.toml", "--out", one] for one in PLACES],
        "seed": [["good.toml", "--seed", one] for one in SEEDS],
        "overrides": [["good.toml", "--set", one] for one in SETS],
    },
    "path": {
        "file": [[one] for one in FILES],
        "at": [["good.toml", "--at", one] for one in [*TIMES, "4 s"]],
        "seed": [["good.toml", "--seed", one] for one in SEEDS],
        "overrides": [["good.toml", "--set", one] for one in SETS],
    },
    "serve": {
        "folder": [[one, "--no-browser"] for one in ("", "absent", "good.toml", LONG)],
        "port": [["run", "--port", one] for one in ("-1", "65536", "x")],
        "memory": [["run", "--memory", one] for one in ("-1", "x", "nan")],
    },
    "export": {
        "run_folder": [[one, "--html", "page"] for one in RUNS],
        "html": [["run", "--html", one] for one in [*PLACES, "run"]],
        "to": [["run", "--to", one, "--out", "out.x"] for one in ("", "x", "PCAP NG")],
        "out": [["run", "--to", "iperf3", "--out", one] for one in ("folder", "good.toml/x", "/proc/x/y", LONG)],
        "at": [["run", "--to", "pcapng", "--out", "out.pcapng", "--at", one] for one in NAMES],
    },
    "packets": {
        "run_folder": [[one, "--flow", "a", "--out", "packets.csv"] for one in RUNS],
        "flow": [["run", "--flow", one, "--out", "packets.csv"] for one in NAMES],
        "out": [["run", "--flow", "a", "--out", one]
            for one in ("", "packets", "packets.xlsx", "folder", "/proc/x/y.csv")],
        "begin": [["run", "--flow", "a", "--out", "packets.csv", "--from", one]
            for one in ("x", "", "99", "nan")],
        "end": [["run", "--flow", "a", "--out", "packets.csv", "--from", "1", "--to", one]
            for one in ("x", "", "0.5", "-1", "nan")],
        "memory": [["run", "--flow", "a", "--out", "packets.csv", "--memory", one] for one in MEMORY],
    },
    "sweep": {
        "memory": [["good-sweep.toml", "--memory", one] for one in MEMORY],
        "file": [[one, "--keep", "kept"] for one in [*FILES, "bad-sweep.toml", *MEASURES]],
        "out": [["good-sweep.toml", "--keep", "kept", "--out", one] for one in [*PLACES, "kept", "kept/x"]],
        "keep": [["good-sweep.toml", "--out", "out", "--keep", one]
            for one in ("good.toml", "good.toml/x", "/proc/x", LONG, "out/kept")],
        "threads": [["good-sweep.toml", "--threads", one] for one in ("0", "x", "-3")],
        "shard": [["good-sweep.toml", "--keep", "kept", "--shard", one]
            for one in ("0/2", "3/2", "1", "a/b", "-1/2", "1/0", "1/2/3")],
        "until": [["good-sweep.toml", "--keep", "kept", "--until", one]
            for one in ("goodput", "± 2 %", "goodput ± 0 %", "goodput ± 2 miles", "x ± 2 %", "goodput ± 1e999 %")],
        "most_seeds": [["good-sweep.toml", "--keep", "kept", *one]
            for one in (["--most-seeds", "20"], ["--until", "goodput ± 2 %", "--most-seeds", "2"],
                ["--most-seeds", "x"], ["--until", "goodput ± 2 %", "--most-seeds", "99999999"])],
        "every": [["good-sweep.toml", "--list", *one]
            for one in (["--missing"], ["--out", "out"], ["--until", "goodput ± 2 %"], ["--keep", "good.toml"])],
        "missing": [["good-sweep.toml", "--missing", *one]
            for one in (["--list"], ["--out", "out"], ["--keep", "good.toml"])],
        "as_json": [["good-sweep.toml", "--shard", "1/2", "--json"]],
        "scheduler": [
            ["good-sweep.toml", "--scheduler", "tcp://127.0.0.1:1", *one]
            for one in (["--list"], ["--missing"], ["--shard", "1/2"], ["--threads", "2"])
        ],
        "drawn": [
            *(["good-sweep.toml", "--keep", "kept", "--figure", one] for one in ("", "nothing")),
            ["good-sweep.toml", "--list", "--figure", "goodput"],
            ["good-sweep.toml", "--shard", "1/2", "--figure", "goodput"],
        ],
    },
    "study list": {"studies": [["--studies", one] for one in ("good.toml", "absent", "bad-studies")]},
    "study show": {
        "name": [[one, "--studies", "studies"] for one in NAMES],
        "studies": [["queues", "--studies", one] for one in ("", "good.toml", "absent", LONG)],
    },
    "study run": {
        "memory": [["queues", "--studies", "studies", "--memory", one] for one in MEMORY],
        "name": [[one, "--studies", "studies"] for one in NAMES],
        "out": [["queues", "--studies", "studies", "--keep", "kept", "--out", one] for one in [*PLACES, "kept"]],
        "studies": [["queues", "--studies", one] for one in ("", "good.toml", "absent")],
        "keep": [["queues", "--studies", "studies", "--out", "out", "--keep", one]
            for one in ("good.toml", "/proc/x", "out/kept")],
        "all_studies": [["queues", "--all", "--studies", "studies"]],
        "full": [["queues", "--studies", "studies", "--full"], ["--all", "--studies", "studies", "--full"]],
    },
    "validate ns2": {
        "as_markdown": [["--reference", "folder", "--json", "--markdown"]],
        "reference": [["--reference", one] for one in ("", "absent", "good.toml", "folder", "garbled", LONG)],
        "cases": [["--reference", "folder", "--case", "nothing"]],
        "agents": [["--reference", "folder", "--agent", "nobody"]],
        "drawings": [["--reference", "folder", "--figures", "good.toml"]],
    },
    "validate queues": {
        "as_markdown": [["--reference", "folder", "--json", "--markdown"]],
        "reference": [["--reference", one] for one in ("", "absent", "good.toml", "folder", "garbled", LONG)],
        "cases": [["--reference", "folder", "--case", "nothing"]],
        "variant": [["--reference", "folder", "--variant", one] for one in ("", "bsd")],
    },
    "validate routes": {
        "as_markdown": [["--reference", "folder", "--json", "--markdown"]],
        "reference": [["--reference", one] for one in ("", "absent", "good.toml", "folder", "garbled", LONG)],
        "pairs": [["--reference", "folder", "--pair", one] for one in ("", "nothing", "1-2")],
    },
    "validate starlink": {
        "as_markdown": [["--reference", "folder", "--json", "--markdown"]],
        "reference": [["--reference", one] for one in ("", "absent", "good.toml", "folder", "garbled", LONG)],
        "values": [["--reference", "folder", "--fit", one] for one in ("absent", "folder", "garbled")],
        "part": [["--reference", "folder", "--part", one] for one in ("", "x", "1-0", "0-2")],
    },
    "fit starlink": {
        "files": [["absent"], ["folder"], ["garbled"], ["good.toml"]],
        "part": [["good.toml", "--part", one] for one in ("", "x", "1-0", "0-2")],
        "draws": [["good.toml", "--draws", one] for one in ("-1", "x", "10001")],
        "out": [["absent", "--out", "fit.toml"]],
        "grants": [["--grants", one] for one in ("", "absent", "good.toml", "folder", "garbled", LONG)],
        "hours": [["--hours", one] for one in ("", "absent", "good.toml", "folder", "garbled", LONG)],
        "loaded": [["--loaded", one] for one in ("", "absent", "good.toml", "folder", "garbled", LONG)],
        "session": [
            *(["--session", one] for one in ("", "absent", "good.toml", "folder", "garbled", LONG)),
            ["--session", "absent", "--draws", "9"],
            ["--session", "absent", "--part", "0-0.5"],
            ["--session", "absent", "--loaded", "absent"],
            ["absent", "--session", "absent"],
        ],
    },
    "validate opensand": {
        "as_markdown": [["--reference", "folder", "--json", "--markdown"]],
        "reference": [["--reference", one] for one in ("", "absent", "good.toml", "folder", "garbled", LONG)],
    },
    "validate linux": {
        "as_markdown": [["--reference", "folder", "--json", "--markdown"]],
        "reference": [["--reference", one] for one in ("", "absent", "good.toml", "folder", "garbled", LONG)],
        "cases": [["--reference", "folder", "--case", "nothing"]],
    },
    "validate reactions": {
        "as_markdown": [["--reference", "folder", "--json", "--markdown"]],
        "reference": [["--reference", one] for one in ("", "absent", "good.toml", "folder", "garbled", LONG)],
        "cases": [["--reference", "folder", "nothing"]],
        "drawn": [["--reference", "folder", "--figure", one] for one in ("", "nothing", "../x")],
        "out": [["--reference", "folder", "--out", "x.svg"]],
        "sender_only": [["--reference", "folder", "--sender-only", "--receiver-only"]],
    },
    "validate quic": {
        "as_markdown": [["--reference", "folder", "--json", "--markdown"]],
        "reference": [["--reference", one] for one in ("", "absent", "good.toml", "folder", "garbled", LONG)],
        "cases": [["--reference", "folder", "--case", "nothing"]],
        "seeds": [["--reference", "folder", "--seeds", one] for one in ("0", "-1", "x", "1001")],
    },
    "sky": {
        "file": [[one] for one in [*FILES, "good.toml"]],
        "at": [["sky.toml", "--at", one] for one in [*TIMES, "4 s"]],
        "seed": [["sky.toml", "--seed", one] for one in SEEDS],
        "out": [["sky.toml", "--out", one] for one in TARGETS],
        "coverage": [["sky.toml", "--coverage", one] for one in TARGETS],
        "overrides": [["sky.toml", "--set", one] for one in SETS],
    },
    "planes": {
        "constellation": [[one] for one in [*FILES, "geo", "iridum"]],
        "begin": [["iridium", "--from", one] for one in ("", "now", "2025-13-01T00:00:00Z")],
        "csv": [["iridium", "--csv", one] for one in TARGETS if one != "map.gif"],
        "left_out": [["iridium", "--left-out", "--json"]],
    },
    "passes": {
        "station": [["--station", one, "--constellation", "iridium"]
            for one in ["", "Palremo", "91,0", "1,2,3", "..,..", "\udcff"]],
        "constellation": [["--station", "Palermo", "--constellation", one] for one in [*FILES, "geo", "iridum"]],
        "begin": [["--station", "Palermo", "--constellation", "iridium", "--from", one]
            for one in ("", "now", "2025-13-01T00:00:00Z", "9999999-01-01T00:00:00Z")],
        "hours": [["--station", "Palermo", "--constellation", "iridium", "--hours", one]
            for one in ("0", "-1", "nan", "inf", "x", "1e9")],
        "mask": [["--station", "Palermo", "--constellation", "iridium", "--mask", one]
            for one in ("-1", "90", "nan", "x")],
    },
    "handovers": {"run_folder": [[one] for one in RUNS], "station": [["sky-run", "--station", one] for one in NAMES]},
    "places": {"": [["a", "b"]]},
    "presets": {"name": [[one] for one in NAMES]},
    "export-sky": {
        "run_folder": [[one, "--czml", "out.czml"] for one in [*RUNS, "run"]],
        "czml": [["sky-run"], *(["sky-run", "--czml", one] for one in TARGETS if one != "map.gif")],
        "geojson": [["sky-run", "--geojson", one] for one in TARGETS if one != "map.gif"],
        "at": [["sky-run", "--geojson", "out.json", "--at", one] for one in [*TIMES, "4 s"]]
            + [["sky-run", "--czml", "out.czml", "--at", "1 s"]],
        "step": [["sky-run", "--czml", "out.czml", "--step", one] for one in [*TIMES, "0 s", "1 ns"]]
            + [["sky-run", "--geojson", "out.json", "--step", "1 s"]],
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def same_environment() -> Iterator[None]:
    """Commands run in this process, and `--memory` stands in its environment afterwards."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


#: Parameters of which every value means something.
FREE = {
    ("planes", "as_json"),
    ("passes", "as_json"), ("path", "as_json"), ("handovers", "as_json"), ("places", "as_json"),
    ("study list", "as_json"), ("study show", "as_json"), ("study run", "as_json"), ("places", "part"),
    ("presets", "as_json"), ("run", "as_json"), ("sky", "as_json"),
    ("serve", "browser"), ("study run", "renew"), ("validate ns2", "as_json"),
    ("validate queues", "as_json"), 
    ("validate reactions", "as_json"), ("validate reactions", "receiver_only"),
    ("validate quic", "as_json"), 
    ("run", "csv"), ("serve", "python_controls"), ("serve", "plugin_controls"),
    ("validate opensand", "as_json"), 
    ("validate linux", "as_json"), 
    ("validate routes", "as_json"), 
    ("validate starlink", "as_json"), ("fit starlink", "as_json"),
}  # fmt: skip

CASES = [
    pytest.param(command, arguments, id=f"{command} {parameter} {arguments!a:.60}")
    for command, parameters in WRONG.items()
    for parameter, cases in parameters.items()
    for arguments in cases
]

SKY = """\
duration = "3 s"
profile = "rfc"
[constellation]
preset = "iridium"
gsl = { rate = "1.5 Mbit/s" }
[stations]
here = { city = "Palermo" }
there = { city = "Quito" }
[[flows]]
name = "a"
from = "here"
to = "there"
tcp = "reno"
application = "ftp"
"""


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the calls above name."""
    here = tmp_path_factory.mktemp("furnished")
    (here / "good.toml").write_text(SHORT, encoding="utf-8")
    (here / "good-sweep.toml").write_text(SWEEP, encoding="utf-8")
    (here / "bad-sweep.toml").write_text(SWEEP.replace("reno", "renno"), encoding="utf-8")
    for name, measure in MEASURES.items():
        text = f'warm_up = "2 s"\n{SWEEP}[metrics.m]\nlabel = "m"\nunit = ""\n{measure}'
        (here / name).write_text(text, encoding="utf-8")
    (here / "sky.toml").write_text(SKY, encoding="utf-8")
    (here / "up.trace").write_text("1\n2\n3\n", encoding="utf-8")
    (here / "bytes.csv").write_text("time_s,rate_MBps\n0,1\n1,2\n2,3\n", encoding="utf-8")
    (here / "empty.toml").write_bytes(b"")
    (here / "bytes.toml").write_bytes(bytes(range(256)))
    (here / "words.toml").write_text("Dear Skyhop, please run fast.", encoding="utf-8")
    (here / "deep.toml").write_text("x = " + "[" * 50_000 + "]" * 50_000, encoding="utf-8")
    for name in ("folder", "no-run", "garbled", "bad-studies/one"):
        (here / name).mkdir(parents=True)
    (here / "folder" / "thesis.txt").write_text("chapter 1", encoding="utf-8")
    (here / "no-run" / "manifest.json").write_text("{}", encoding="utf-8")
    (here / "bad-studies" / "one" / "study.toml").write_text("title = 5", encoding="utf-8")
    (here / "link").symlink_to("nowhere")
    study = here / "studies" / "queues"
    study.mkdir(parents=True)
    (study / "study.toml").write_text(TWO_QUEUES, encoding="utf-8")
    (study / "expect.toml").write_text("", encoding="utf-8")
    (study / "scenario.toml").write_text(SHORT, encoding="utf-8")
    (study / "README.md").write_text("<!-- results: generated -->\n<!-- end of results -->\n", encoding="utf-8")
    skyhop.run(here / "good.toml").write(here / "run")
    skyhop.run(here / "sky.toml").write(here / "sky-run")
    for file in (here / "sky-run").iterdir():
        (here / "garbled" / file.name).write_bytes(b"\x00\xff{" + file.name.encode())
    (here / "garbled" / "handovers.parquet").write_bytes(b"PAR1")
    (here / "garbled" / "cases.csv").write_bytes(b"\xff,\n")
    return here


def everything(folder: Path) -> dict[str, bytes | None]:
    """Each path below a folder with its content."""
    found: dict[str, bytes | None] = {}
    for root, folders, files in os.walk(folder):
        found |= dict.fromkeys([os.path.join(root, name) for name in folders])
        for path in [os.path.join(root, name) for name in files]:
            found[path] = Path(path).read_bytes() if os.path.isfile(path) else None
    return found


def commands() -> dict[str, list[str]]:
    """The parameters of every command, from the program itself."""
    found = {}
    for name, one in program_group().commands.items():
        for below, command in getattr(one, "commands", {"": one}).items():
            found[f"{name} {below}".strip()] = [parameter.name for parameter in command.params]
    return found


@pytest.mark.parametrize("order", [("--json", "--markdown"), ("--markdown", "--json")])
def test_one_of_two_forms_would_have_no_effect(furnished: Path, order: tuple[str, str]) -> None:
    for command in WORKS:
        if command.startswith("validate "):
            code, _, said = in_process(*command.split(), "--reference", str(furnished / "folder"), *order)
            assert code == 2 and "--json and --markdown: one of them would have no effect" in said, command


def test_every_parameter_of_every_command_is_tried() -> None:
    assert set(WORKS) == set(WRONG) == set(commands())
    for command, parameters in commands().items():
        tried = {name for name in WRONG[command] if name} | {name for one, name in FREE if one == command}
        assert tried == set(parameters) - {"help"}, command


@pytest.mark.parametrize(("command", "arguments"), CASES)
def test_wrong_input_gets_a_message_and_leaves_nothing(
    furnished: Path, monkeypatch: pytest.MonkeyPatch, command: str, arguments: list[str]
) -> None:
    monkeypatch.chdir(furnished)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("skyhop.serve.asyncio.run", lambda _: pytest.fail("it began to serve"))
    before = everything(furnished)
    code, out, err = in_process(*command.split(), *arguments)
    assert code in (program.USAGE, program.FAILED), (code, out, err)
    said = err.strip()
    assert said and "Traceback" not in said and "Errno" not in said, err
    assert "no such table" not in said.lower()
    assert len(said.splitlines()) <= 40, err
    assert everything(furnished) == before


def not_json(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


@pytest.mark.parametrize("command", [command for command, names in commands().items() if "as_json" in names])
def test_json_is_json_and_nothing_else(furnished: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    if command.startswith(("validate ", "fit ")):
        pytest.skip("needs a reference or a recording; its infinities are tested with it")
    monkeypatch.chdir(furnished)
    shutil.rmtree(furnished / "out", ignore_errors=True)
    arguments = [*command.split(), *WORKS[command], "--json"]
    # A flow that delivers nothing has warnings, and nulls where nothing was measured.
    for more in ([], ["--set", "links[0].errors=[{ packet = 1.0 }]"] if command == "run" else []):
        code, out, _ = in_process(*arguments, *more)
        # The study's README does not say yet what the study gives.
        assert code == (program.FAILED if command == "study run" else 0)
        json.loads(out, parse_constant=not_json)
    shutil.rmtree(furnished / "out", ignore_errors=True)
