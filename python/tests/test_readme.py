"""What README.md shows works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT

import skyhop


def block(language: str) -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return str(found)


def test_the_scenario_and_the_python_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dumbbell.toml").write_text(block("toml"), encoding="utf-8")
    exec(compile(block("python"), "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert "goodput_bps" in shown
    rates = re.findall(r"^(reno|cubic|bbr) ([0-9.]+) ([0-9.]+)$", shown, re.MULTILINE)
    assert [name for name, _, _ in rates] == ["reno", "cubic", "bbr"]
    assert all(1e6 < float(goodput) < 2e6 for _, goodput, _ in rates)
    assert Path("cwnd.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_files_and_commands_that_it_names_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("https://") or (ROOT / target).exists(), target
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_package_knows_its_version_and_carries_types() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", skyhop.__version__)
    assert (ROOT / "python" / "skyhop" / "py.typed").exists()
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in changes or f"## [{skyhop.__version__}]" in changes
