"""What all commands share at the terminal: colours, JSON, completion, Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from conftest import DUMBBELL, TWO_QUEUES, Skyhop

import skyhop
from skyhop import cli, completion, tables, terminal

#: Escape sequences that set a colour (ECMA-48, SGR 30 to 49 and 90 to 107); bold, dim and reset do not.
COLOUR = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9]+)*m")

STUDY = f"""\
{TWO_QUEUES.replace("[1]", "[1, 2]")}\
[sources.nobody]
label = "Nobody"
citation = "Nobody, 2020"
"""

EXPECT = """\
[[cells]]
queue = "5"
metric = "delay"
nobody = { value = 1.0, tolerance = ["10 %", "10 %"], printed = "1", verdict = "differs", why = "It is made up." }
"""


@pytest.fixture
def studies(tmp_path: Path) -> Path:
    folder = tmp_path / "studies" / "queues"
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "expect.toml").write_text(EXPECT, encoding="utf-8")
    (folder / "scenario.toml").write_text(DUMBBELL.replace('"20 s"', '"3 s"'), encoding="utf-8")
    (folder / "README.md").write_text("<!-- results: generated -->\n<!-- end of results -->\n", encoding="utf-8")
    return folder


def on_a_terminal(folder: Path, *arguments: str, **environment: str) -> str:
    """What the program writes to a terminal."""
    base = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    base |= {"TERM": "xterm-256color", "COLUMNS": "100", **environment}
    # Not by a fork: this process has threads.
    terminal, side = pty.openpty()
    program = [sys.executable, "-m", "skyhop", *arguments]
    with subprocess.Popen(program, cwd=folder, env=base, stdin=side, stdout=side, stderr=side):
        os.close(side)
        written = b""
        while True:
            try:
                some = os.read(terminal, 65536)
            except OSError:
                # Linux says so when the last writer has gone.
                break
            if not some:
                break
            written += some
    os.close(terminal)
    return written.decode(errors="replace")


def test_no_color_takes_away_every_colour(tmp_path: Path) -> None:
    assert COLOUR.search(on_a_terminal(tmp_path, "run", "--nope"))
    # An error in a box, and a table.
    for arguments in (["run", "--nope"], ["presets"]):
        shown = on_a_terminal(tmp_path, *arguments, NO_COLOR="1")
        assert len(shown) > 100 and not COLOUR.search(shown), arguments


def test_tables_show_names_in_brackets_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """What looks like markup of rich was left out: a message lost the name of the section that it was about."""
    table = terminal.table("measure [x]")
    table.add_row("record less ([records])")
    table.add_row(":star: [link=a]b")
    terminal.console().print(table)
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("measure [x]", "record less ([records])", ":star: [link=a]b"))


def test_studies_as_json(skyhop_program: Skyhop, studies: Path) -> None:
    options = ["--studies", studies.parent, "--json"]
    assert json.loads(skyhop_program.here("study", "list", *options).stdout) == [
        {"name": "queues", "title": "Two queues"}
    ]
    shown = json.loads(skyhop_program.here("study", "show", "queues", *options).stdout)
    assert shown["expected"][0]["value"] == 1.0 and shown["parts"][0]["seeds"] == [1, 2]
    grid = skyhop.study(studies, keep=studies.parent / "kept")
    assert grid.outcome is not None
    study = tables.as_found(grid.outcome)
    assert grid["delay"]["mean"].to_list() == [row["ours"] for row in study["results"]]
    assert grid.run(queue="40", seed=2).seed == 2
    assert [row["queue"] for row in study["results"]] == ["5", "40"]
    assert 50 < study["results"][0]["ours"] < study["results"][1]["ours"] < 500
    # Every seed gave the same value, so no interval can be computed to judge the claim.
    assert study["results"][0]["nobody_verdict"] == "undecided" and study["results"][1]["nobody"] is None


def is_there(folder: Path, pattern: str) -> bool:
    try:
        return any(folder.glob(pattern))
    except FileNotFoundError:
        # The program has renamed a folder while it was being listed.
        return False


def interrupted(folder: Path, when: str, *arguments: str) -> str:
    """What the program says to Ctrl-C once something in the folder matches the pattern `when`."""
    program = [sys.executable, "-m", "skyhop", *arguments]
    running = subprocess.Popen(program, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not is_there(folder, when) and time.monotonic() < deadline and running.poll() is None:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    return said


def test_ctrl_c_says_that_a_run_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(DUMBBELL.replace('"20 s"', '"2 d"'), encoding="utf-8")
    said = interrupted(tmp_path, ".skyhop-*", "run", "long.toml", "--out", "out")
    assert said == "Interrupted: no run folder was written to out.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["long.toml"]


def test_ctrl_c_says_how_many_runs_of_a_study_are_kept(studies: Path, tmp_path: Path) -> None:
    long = STUDY.replace("[1, 2]", str(list(range(300))))
    (studies / "study.toml").write_text(long, encoding="utf-8")
    kept = tmp_path / "kept"
    said = interrupted(tmp_path, "kept/*/*/manifest.json", "study", "run", "queues", "--keep", "kept")
    count = len(list(kept.glob("*/*/manifest.json")))
    assert f"{count} finished run" in said and "the same command goes on from there" in said


def all_commands() -> list[completion.Command]:
    return completion.commands(typer.main.get_command(cli.app))


def bash(line: list[str]) -> list[str]:
    """What bash offers for the last word of a line."""
    words = " ".join(f"'{word}'" for word in line)
    asked = (
        f"compopt() {{ :; }}; COMP_WORDS=({words}); COMP_CWORD={len(line) - 1}; "
        '_skyhop; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    text = completion.script(completion.Shell.bash, all_commands())
    done = subprocess.run(["bash", "-c", f"{text}\n{asked}"], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_what_the_parser_knows(tmp_path: Path) -> None:
    assert bash(["skyhop", "sw"]) == ["sweep"]
    assert bash(["skyhop", "study", ""]) == ["list", "show", "run"]
    assert bash(["skyhop", "study", "run", "--fu"]) == ["--full"]
    assert bash(["skyhop", "run", "--fu"]) == []
    assert bash(["skyhop", "export", "run", "--to", "pcap"]) == ["pcapng", "pcap"]
    (tmp_path / "some.toml").write_text("", encoding="utf-8")
    (tmp_path / "some").mkdir()
    assert set(bash(["skyhop", "check", f"{tmp_path}/so"])) == {f"{tmp_path}/some", f"{tmp_path}/some.toml"}
    assert bash(["skyhop", "run", "x", "--out", f"{tmp_path}/so"]) == [f"{tmp_path}/some"]


@pytest.mark.parametrize("shell", list(completion.Shell))
def test_every_command_and_option_is_in_every_script(shell: completion.Shell) -> None:
    text = completion.script(shell, all_commands())
    for command in all_commands():
        assert all(word in text for word in command.words)
        for option in command.options:
            for name in option.names:
                assert (name.lstrip("-") if shell is completion.Shell.fish else name) in text
    program = shutil.which(shell.value)
    if program is not None:
        subprocess.run([program, "-n"], input=text, text=True, check=True)
