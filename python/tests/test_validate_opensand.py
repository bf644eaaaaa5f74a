"""`skyhop validate opensand`: verdicts by intervals, wrong tables, a small folder from end to end."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from skyhop import _core, cli
from skyhop.validate import registry, testbed_downloads
from skyhop.validate.testbed_downloads import Download

HEAD = "second,quic,tcp,orbit,pep,iw,loss\n"


def _call(*arguments: str) -> tuple[int, str]:
    answer = CliRunner().invoke(cli.app, ["validate", "opensand", *arguments])
    return answer.exit_code, answer.output


def _download(ours: float, half: float) -> Download:
    return Download("tcp", "geo", 0.1, 30, 1000.0, {"cubic": ours, "reno": ours}, {"cubic": half, "reno": half})


@pytest.mark.parametrize(
    ("ours", "half", "verdict"),
    [(1100, 50, "within"), (1190, 50, "undecided"), (1250, 40, "out"), (800, 0, "within"), (700, 150, "undecided")],
)
def test_an_interval_across_the_bound_leaves_a_download_undecided(ours: float, half: float, verdict: str) -> None:
    one = _download(ours, half)
    assert one.verdict("cubic") == verdict
    assert one.ok is (verdict == "within")


def test_a_skipped_download_agrees_with_nothing() -> None:
    skipped = Download("quic", "leo", 1.0, 30, 1000.0, {}, {}, "this build has no quinn")
    assert not skipped.ok
    assert "0 of 0" in testbed_downloads.downloads_summary([skipped])
    assert "1 skipped" in testbed_downloads.downloads_summary([skipped])


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("1,1,1,meo,0,10,0", "orbit 'meo' is unknown"),
        ("1,1,1,geo,1,10,0", "through a proxy"),
        ("1,1,1,geo,0,10,much", "is not a percentage"),
        ("1,1,1,geo,0,10,10^3", "not between 0 and 100 %"),
        ("2,1,1,geo,0,10,0", "goodputs of second 1"),
        ("1,nan,1,geo,0,10,0", "finite"),
        ("1,1,a,geo,0,10,0", "could not convert"),
        ("1,1,1,geo,0,10,0.1", "no download without loss"),
        ("1,1,1,geo,0,10", "loss '' is not a percentage"),
        ("1,1,1,geo,0,10,0^-1", "is not a percentage"),
        ("1,1,1,geo,0,10,-1^0.5", "is not a percentage"),
        ("1,1,-1,geo,0,10,0", "not below 0, found those of second 1: -1 and 1 kbit/s"),
        ("1,0,1,geo,0,10,0", "quic geo 0 % has no goodput with which to compare ours"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(tmp_path: Path, row: str, words: str) -> None:
    (tmp_path / "goodput.csv").write_text(HEAD + row + "\n")
    code, said = _call("--reference", str(tmp_path))
    assert code == 2
    assert words in said.replace("\n", " ")


def test_a_download_at_the_rate_of_the_link_agrees_and_one_at_half_of_it_does_not(tmp_path: Path) -> None:
    # The first second of the recording holds the slow start.
    rows = [f"{second},9000,{6000 if second == 1 else 10000},leo,0,10,0" for second in range(1, 13)]
    rows += [f"{second},4500,{3000 if second == 1 else 5000},geo,0,10,0" for second in range(1, 13)]
    (tmp_path / "README.md").write_text("made for a test\n")
    (tmp_path / "goodput.csv").write_text(HEAD + "\n".join(rows) + "\n")
    assert [one.name for one in registry.COMPARISONS if one.recognises(tmp_path)] == ["opensand"]
    code, said = _call("--reference", str(tmp_path))
    lines = {line.split(":")[0]: line for line in said.splitlines()}
    assert code == 1
    assert "out of its bound" not in lines["tcp leo 0 %"]
    assert lines["tcp geo 0 %"].count("out of its bound") == 2
    quic = lines["quic leo 0 %"]
    assert ("skipped" in quic) == ("quinn" not in _core.quic_stacks())
    assert "out of its bound" not in quic


def test_losses_are_drawn_for_every_seed(tmp_path: Path) -> None:
    rows = [f"{second},1000,1000,leo,0,10,{loss}" for loss in (0, 1) for second in range(1, 6)]
    (tmp_path / "goodput.csv").write_text(HEAD + "\n".join(rows) + "\n")
    found = {one.case: one for one in testbed_downloads.downloads(tmp_path, seeds={"tcp": 4, "quic": 2})}
    assert found["tcp leo 0 %"].half["cubic"] == 0.0
    assert found["tcp leo 1 %"].half["cubic"] > 0.0
    assert found["tcp leo 1 %"].ours["cubic"] < found["tcp leo 0 %"].ours["cubic"]
