"""Outputs appear whole or not at all: kills, full disks, processes at one place, outputs that go away."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from conftest import DUMBBELL, Skyhop

import skyhop
from skyhop import _core, folders, kept, spreading, sweeps

SHORT = DUMBBELL.replace('"20 s"', '"2 s"')
SWEEP = 'scenario = "short.toml"\nseeds = 2\n[axes]\n"flows[*].tcp" = ["reno", "vegas"]\n'


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a scenario and a sweep."""
    (tmp_path / "short.toml").write_text(SHORT, encoding="utf-8")
    (tmp_path / "grid.toml").write_text(SWEEP, encoding="utf-8")
    return tmp_path


def no_studies(here: Path) -> None:
    """Puts a study that cannot be read beside the runs: a page without any looks at all those of the source tree."""
    (here / "studies/none").mkdir(parents=True)
    (here / "studies/none/study.toml").touch()


def content(folder: Path) -> dict[str, bytes] | None:
    """Every file below a folder; None if it is not there."""
    if not folder.exists():
        return None
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


#: Reads numbers n, for each of which a child ends at its n-th attempt to make or to open something for writing. Each is
#: answered by the exit code. The children are copies of a process that has its imports, which take longest.
KILLING = """
import os, signal, sys
from skyhop import serve, spreading, sweeps
from pathlib import Path
left = 0
def hook(event, arguments):
    global left
    made = event == "os.mkdir" or event == "open" and "w" in str(arguments[1])
    if made and ".skyhop-" in str(arguments[0]):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
for line in iter(sys.stdin.readline, ""):
    child = os.fork()
    if child == 0:
        left = int(line)
        sys.addaudithook(hook)
        {write}
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

WRITERS = {
    "sweep": 'spreading.run(sweeps.load(Path("grid.toml")), keep=Path("kept")).write(Path("out"))',
    "page": 'serve.export("runs", "out")',
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_kill_at_any_file_leaves_the_older_folder_and_the_same_again_succeeds(here: Path, kind: str) -> None:
    if kind == "page" and not (Path(folders.__file__).parent / "page" / "index.html").exists():
        pytest.skip("the page is not built here")
    skyhop.run(here / "short.toml").write(here / "runs" / "one")
    no_studies(here)
    command = [sys.executable, "-c", KILLING.replace("{write}", WRITERS[kind])]
    with subprocess.Popen(command, cwd=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        killed_at_any_file(here, kind, writer)
    assert writer.returncode == 0


def killed_at_any_file(here: Path, kind: str, writer: subprocess.Popen[str]) -> None:
    def write(kill_at: int) -> int:
        assert writer.stdin is not None and writer.stdout is not None
        writer.stdin.write(f"{kill_at}\n")
        writer.stdin.flush()
        code = int(writer.stdout.readline())
        assert code in (0, -signal.SIGKILL)
        return code

    assert write(0) == 0
    older = content(here / "out")
    assert older
    # What a newer one has to replace.
    shutil.rmtree(here / "runs")
    skyhop.run(here / "short.toml", seed=2).write(here / "runs" / "two")
    (here / "grid.toml").write_text(SWEEP.replace("vegas", "tahoe"), encoding="utf-8")
    kills = 0
    while write(kills + 1) != 0:
        kills += 1
        assert content(here / "out") == older
    assert kills >= 4
    newer = content(here / "out")
    assert newer and newer != older
    assert write(0) == 0
    assert content(here / "out") == newer or kind == "page"
    assert not list(here.rglob(".skyhop-*"))


def test_programs_at_one_place_leave_the_run_of_one_of_them(here: Path) -> None:
    programs = [
        subprocess.Popen(
            [sys.executable, "-m", "skyhop", "run", "short.toml", "--out", "out/run", "--seed", str(seed),
             "--set", 'links[0].errors=[{ packet = 0.02 }]'],
            cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for seed in range(1, 5)
    ]  # fmt: skip
    for program in programs:
        out, err = program.communicate(timeout=120)
        assert (program.returncode, out) == (0, "out/run\n")
        # With some seeds the only ACK of a flow is lost, which the run says; nothing else is said.
        assert all(line.startswith("warning: flow") for line in err.splitlines()), err
    left = content(here / "out" / "run")
    assert left is not None
    manifest = json.loads(left["manifest.json"])
    again = skyhop.run(here / "short.toml", seed=manifest["seed"], overrides=["links[0].errors=[{ packet = 0.02 }]"])
    assert manifest["records_hash"] == again.manifest["records_hash"]
    # Every table is that of the manifest's seed.
    for name in again.table_names:
        file = here / "out" / "run" / f"{name}.parquet"
        assert file.exists() == (again.table(name).height > 0)
        assert not file.exists() or pl.read_parquet(file).equals(again.table(name))
    assert [path.name for path in (here / "out").iterdir()] == ["run"]


@pytest.mark.parametrize("harm", ["missing", "empty", "cut", "without a list"])
def test_a_kept_run_that_is_not_whole_is_made_again(here: Path, harm: str) -> None:
    shelf = kept.Keep(here / "kept")
    scenario = skyhop.scenario(here / "short.toml")
    whole = shelf.run(scenario, 1, _core.Progress())
    place = shelf.place(scenario, 1)
    before = content(place)
    assert before is not None
    for name in ["flows.parquet", "summary.json"] if harm != "without a list" else [kept.LIST]:
        match harm:
            case "empty":
                (place / name).write_bytes(b"")
            case "cut":
                (place / name).write_bytes(before[name][:-5])
            case _:
                (place / name).unlink()
        assert shelf.find(scenario, 1) is None, name
        again = shelf.run(scenario, 1, _core.Progress())
        assert again.table("flows").equals(whole.table("flows"))
        assert content(place).keys() == before.keys()  # type: ignore[union-attr]
    # What goes while it is read is not a table without rows.
    found = shelf.find(scenario, 1)
    assert found is not None
    shutil.rmtree(place)
    with pytest.raises(OSError, match=r"flows\.parquet"):
        found.table("flows")


def test_a_reader_is_told_that_the_folder_was_replaced(here: Path) -> None:
    run = skyhop.run(here / "short.toml")
    run.write(here / "run")
    with pytest.raises(OSError, match="was replaced while it was read"), folders.unchanged(here / "run"):
        run.write(here / "run")
    with folders.unchanged(here / "run"):
        pass


def limited(size: int) -> Callable[[], None]:
    """No file may become longer than that: what a full disk does, for every user."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


COMMANDS = {
    "run": ("run", "short.toml", "--out", "out"),
    "json": ("run", "short.toml", "--out", "out", "--json"),
    "sweep": ("sweep", "grid.toml", "--out", "out", "--keep", "kept"),
    "page": ("export", "runs", "--html", "out"),
    "map": ("sky", "sky.toml", "--out", "out.svg"),
    "czml": ("export-sky", "sky", "--czml", "out.czml"),
}

SKY = """\
duration = "2 s"
profile = "rfc"
[constellation]
preset = "iridium"
gsl = { rate = "1.5 Mbit/s" }
[stations]
here = { city = "Palermo" }
"""


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("size", [0, 700])
def test_a_full_disk_is_a_message_and_leaves_nothing(here: Path, name: str, size: int) -> None:
    if name == "page" and not (Path(folders.__file__).parent / "page" / "index.html").exists():
        pytest.skip("the page is not built here")
    (here / "sky.toml").write_text(SKY, encoding="utf-8")
    skyhop.run(here / "short.toml").write(here / "runs" / "one")
    skyhop.run(here / "sky.toml").write(here / "sky")
    no_studies(here)
    if size:
        # The runs are there already: it is the sweep's own folder that does not fit.
        spreading.run(sweeps.load(here / "grid.toml"), keep=here / "kept")
    before = content(here)
    done = subprocess.run(
        [sys.executable, "-m", "skyhop", *COMMANDS[name]], cwd=here, capture_output=True, text=True, timeout=120,
        preexec_fn=limited(size), check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.splitlines()) == 1 and "File too large" in done.stderr, done.stderr
    assert ".skyhop-" not in done.stderr
    left = content(here) or {}
    tag = f"kept/{kept.TAG}"
    assert {one: left[one] for one in left if one != tag} == {one: before[one] for one in before or {} if one != tag}
    assert not (here / "out").exists() and not (here / "out.svg").exists()


PRINTING = [
    ("schema",), ("run", "short.toml", "--json"), ("path", "short.toml"), ("places",), ("presets", "--json"),
    ("--help",),
    ("--version",), ("sweep", "grid.toml"), ("sky", "sky.toml", "--json"),
]  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no /dev/full")
@pytest.mark.parametrize("arguments", PRINTING, ids=lambda arguments: arguments[0])
def test_output_that_cannot_be_written_is_a_message(here: Path, arguments: tuple[str, ...]) -> None:
    (here / "sky.toml").write_text(SKY, encoding="utf-8")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "skyhop", *arguments], cwd=here, stdout=full, stderr=subprocess.PIPE, text=True,
            timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 1, done.stderr
    lines = done.stderr.splitlines()
    assert lines[-1] == "the output cannot be written: No space left on device", done.stderr
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


@pytest.mark.parametrize("arguments", PRINTING, ids=lambda arguments: arguments[0])
def test_output_that_nobody_reads_or_that_is_closed_ends_the_program_quietly(
    here: Path, arguments: tuple[str, ...]
) -> None:
    (here / "sky.toml").write_text(SKY, encoding="utf-8")
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "skyhop", *arguments]
    unread = subprocess.run(
        command, cwd=here, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120, check=False
    )
    os.close(writing)
    notes = [line for line in unread.stderr.splitlines() if "No random element" not in line]
    assert (unread.returncode, notes) == (1, [])
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command], cwd=here, stderr=subprocess.PIPE, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert closed.returncode == 0 and "Traceback" not in closed.stderr, closed.stderr


INTERRUPT_AT_IMPORT = """
def interrupt(event, arguments):
    if event == "import" and {name!r} in arguments:
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(interrupt)
"""
#: A text that Python evaluates for an imported module (an annotation, a dataclass) once its own handler is back.
INTERRUPT_IN_A_TEXT = """
def interrupt(frame, event, argument):
    if frame.f_code.co_filename == "<string>" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGINT)
sys.setprofile(interrupt)
"""


@pytest.mark.parametrize(
    "interrupting",
    [INTERRUPT_IN_A_TEXT]
    + [INTERRUPT_AT_IMPORT.format(name=name) for name in ("typer", "polars", "skyhop._core", "skyhop.cli")],
    ids=["text", "typer", "polars", "core", "cli"],
)
def test_ctrl_c_while_the_program_is_imported_ends_it_with_130(
    here: Path, interrupting: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # A module, not the text of an option: Python itself ends the two in different ways.
    modules = tmp_path_factory.mktemp("modules")
    (modules / "interrupted.py").write_text(f"""
import os, signal, sys
{interrupting}
sys.argv = ["skyhop", "sweep", "grid.toml"]
from skyhop.program import main
main()
""", encoding="utf-8")  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"], cwd=here, env=os.environ | {"PYTHONPATH": str(modules)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert sorted(path.name for path in here.iterdir()) == ["grid.toml", "short.toml"]


def test_a_name_that_is_no_text_is_shown_with_escapes(skyhop_program: Skyhop) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "skyhop", "check", b"\xff.toml"], cwd=skyhop_program.folder, capture_output=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and b"Traceback" not in done.stderr and b".toml" in done.stderr
