"""`skyhop validate` over a folder of references: it knows each by its shape, and no folder disappears without a word."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skyhop import cli
from skyhop.validate import registry

REFERENCE = Path(__file__).parents[2] / "tests" / "reference"


def call(*arguments: str) -> tuple[int, str]:
    answer = CliRunner().invoke(cli.app, ["validate", *arguments])
    return answer.exit_code, answer.output


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two kernel queues under another name, and folders that no comparison knows."""
    queues = tmp_path / "references" / "some queues"
    queues.mkdir(parents=True)
    header, *rows = (REFERENCE / "linux-queues" / "cases.csv").read_text().splitlines()
    kept = [row for row in rows if row.startswith(("prio_steps,", "drr_weights,"))]
    (queues / "cases.csv").write_text("\n".join([header, *kept]) + "\n")
    for row in kept:
        for file in (REFERENCE / "linux-queues").glob(f"{row.split(',')[0]}.*.csv.gz"):
            shutil.copy(file, queues)
    unknown = tmp_path / "references" / "unknown"
    unknown.mkdir()
    (unknown / "cases.csv").write_text("case,colour\na,blue\n")
    return tmp_path / "references"


def test_each_folder_is_known_by_its_shape() -> None:
    for folder in (REFERENCE / "linux-queues", REFERENCE / "ns2" / "cases"):
        assert [one.name for one in registry.COMPARISONS if one.recognises(folder)] in (["queues"], ["ns2"])


def test_all_references_below_a_folder_are_compared(root: Path) -> None:
    code, out = call("--reference", str(root), "--json")
    first, second = json.loads(out)
    assert code == 0
    assert (first["comparison"], first["cases"], first["equal"], first["within"], first["ok"]) == (
        "queues", 2, 2, 2, True,
    )  # fmt: skip
    assert second["comparison"] is None and "no comparison" in second["problem"]
    code, out = call("--reference", str(root), "--markdown")
    assert code == 0 and "| 2 | 2 | 2 | 0 |" in out and "unknown: skipped" in out


def test_a_missed_bound_fails_the_command(root: Path) -> None:
    path = root / "some queues" / "cases.csv"
    # Four times the rate: no packet leaves when the kernel's did.
    text = path.read_text()
    cells = text.splitlines()[1].split(",")
    rate = next(cell for cell in cells if ":" in cell and cell.split(":")[0] == "0")
    path.write_text(text.replace(rate, f"0:{int(rate.split(':')[1].split()[0]) * 4}"))
    code, out = call("--reference", str(root))
    assert code == 1 and "missed" in out


def test_a_folder_that_cannot_be_read_fails_the_command(root: Path) -> None:
    for file in (root / "some queues").glob("*.gz"):
        file.unlink()
    code, out = call("--reference", str(root), "--json")
    assert code == 1 and not json.loads(out)[0]["ok"]
    assert "some queues" in json.loads(out)[0]["problem"]


def test_a_folder_without_references_and_options_before_a_kind_are_refused(tmp_path: Path) -> None:
    assert call("--reference", str(tmp_path))[0] == 2
    code, out = call("--reference", str(tmp_path), "queues", "--reference", str(tmp_path))
    assert code == 2 and "behind its name" in out
