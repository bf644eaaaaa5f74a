"""`skyhop validate` over a folder of references: it knows each by its shape, and it reports every folder."""

from __future__ import annotations

import csv
import gzip
import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skyhop import cli, validate
from skyhop.validate import registry, tcp_reactions

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
    kinds = {"linux-queues": "queues", "ns2/cases": "ns2", "linux-reactions": "reactions"}
    for folder, kind in kinds.items():
        assert [one.name for one in registry.COMPARISONS if one.recognises(REFERENCE / folder)] == [kind]


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


REACTIONS = REFERENCE / "linux-reactions"


def changed(folder: Path, name: str, **columns: str) -> Path:
    """A folder with one case of the sample, its row changed."""
    folder.mkdir()
    with (REACTIONS / "cases.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    row = dict(zip(header, next(row for row in rows if row[0] == name), strict=True)) | columns
    with (folder / "cases.csv").open("w", newline="") as file:
        csv.writer(file).writerows([list(row), list(row.values())])
    for recording in REACTIONS.glob(f"{name}.*.csv.gz"):
        shutil.copy(recording, folder / f"{row['case']}{recording.name[len(name) :]}")
    return folder


def test_a_case_of_reactions_is_known_by_its_row_and_not_by_its_name(tmp_path: Path) -> None:
    folder = changed(tmp_path / "a", "lostrtx-short-reno", case="some other name", mechanism="none")
    code, out = call("reactions", "--reference", str(folder))
    assert code == 0 and "some other name: equal" in out and "both 1 of 1" in out


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"fates": "D:3=vanish"}, "cases.csv, row 2"),
        ({"events": "cut@1-2:D"}, "cases.csv, row 2"),
        ({"app": "0:many"}, "cases.csv, row 2: app"),
        ({"rate_bps": "0"}, "cases.csv, row 2: rate_bps"),
        ({"dur_s": "1e9"}, "cases.csv, row 2: dur_s"),
        ({"cc": "vegas!"}, "cc = vegas!"),
        ({"sysctls": "tcp_ecn=7"}, "tcp_ecn = 7"),
        ({"sysctls": "tcp_warp=1"}, "tcp_warp = 1"),
        ({"colour": "blue"}, 'row 2: the column "colour" is not known'),
    ],
)
def test_a_case_that_cannot_be_built_is_not_equal_and_says_why(
    tmp_path: Path, columns: dict[str, str], words: str
) -> None:
    folder = changed(tmp_path / "a", "lostrtx-short-reno", **columns)
    code, out = call("reactions", "--reference", str(folder))
    assert code == 1 and words in out and "0 of 1" in out and "1 cases could not be built" in out


def test_another_path_is_another_reaction(tmp_path: Path) -> None:
    # A slower link: the sender alone follows the recorded ACKs, both halves together do not.
    folder = changed(tmp_path / "a", "lostrtx-short-reno", delay_ms="11.0")
    found = {one.half: one for one in tcp_reactions.reactions(folder)}
    assert found["sender"].equal and not found["both"].equal
    line = tcp_reactions.lines(list(found.values()))[0]
    assert "sender equal" in line and "our state: " in line and "cwnd" in line


def test_a_recording_that_lacks_a_file_counts_as_not_equal(tmp_path: Path) -> None:
    folder = changed(tmp_path / "a", "lostrtx-short-reno")
    (folder / "lostrtx-short-reno.packets.csv.gz").unlink()
    code, out = call("reactions", "--reference", str(folder))
    assert code == 1 and "lostrtx-short-reno.packets.csv.gz" in out


def test_the_figure_of_a_case_shows_both_sides(tmp_path: Path) -> None:
    target = tmp_path / "figure.svg"
    code, _ = call("reactions", "--reference", str(REACTIONS), "--figure", "lostrtx-short-reno", "--out", str(target))
    assert code == 0 and "Linux 6.18" in target.read_text()
    panel = tcp_reactions.figure(REACTIONS, "lostrtx-short-reno").axes[0]
    with gzip.open(REACTIONS / "lostrtx-short-reno.packets.csv.gz", "rt", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["dir"] == "D" and row["len"] != "0"]
    segments = [len(bars.get_segments()) for bars in panel.collections]  # type: ignore[attr-defined]
    assert segments == [len(rows), len(rows)]


SHARED = Path(__file__).parents[3] / "shared" / "reference" / "linux"


@pytest.fixture
def flows(tmp_path: Path) -> Path:
    """One run of the kernel's whole flows under another name."""
    if not (SHARED / "cases.csv").is_file():
        pytest.skip("no ../shared/reference/linux beside the project")
    folder = tmp_path / "flows"
    folder.mkdir()
    header, *rows = (SHARED / "cases.csv").read_text().splitlines()
    row = next(row for row in rows if row.startswith("s_cubic"))
    (folder / "cases.csv").write_text(f"{header}\n{row.replace('s_cubic_r1,s,', 'renamed,other,')}\n")
    targets = (SHARED / "targets.csv").read_text()
    (folder / "targets.csv").write_text(targets.replace("s_cubic,", "other_cubic,"))
    for file in SHARED.glob("s_cubic_r1.*.csv.gz"):
        shutil.copy(file, folder / file.name.replace("s_cubic_r1", "renamed"))
    return folder


def test_a_whole_flow_is_known_by_its_row_and_not_by_its_name(flows: Path) -> None:
    code, out = call("linux", "--reference", str(flows))
    assert code == 0 and "1 of 1 runs keep all bounds" in out
    assert [one.name for one in registry.COMPARISONS if one.recognises(flows)] == ["linux"]


def test_another_queue_breaks_a_bound_of_a_whole_flow(flows: Path) -> None:
    text = (flows / "cases.csv").read_text()
    (flows / "cases.csv").write_text(text.replace(",100,60,", ",60,60,"))
    code, out = call("linux", "--reference", str(flows))
    assert code == 1 and "rtt_mean_ms" in out and "cwnd RMS" in out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (",cubic,", ",cubic+pigeon,", "row 2: flows"),
        (",cubic,,", ",cubic,1.5,", "row 2: random_loss"),
        ("8 MiB initial", "large", "row 2: receive_buffer"),
    ],
)
def test_a_whole_flow_that_cannot_be_built_keeps_no_bound(flows: Path, old: str, new: str, words: str) -> None:
    text = (flows / "cases.csv").read_text()
    (flows / "cases.csv").write_text(text.replace(old, new))
    code, out = call("linux", "--reference", str(flows))
    assert code == 1 and words in out and "0 of 1 runs" in out and "could not be built" in out


def test_the_pages_have_the_block_of_comparisons_and_its_commands_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    root = REFERENCE.parents[1]
    monkeypatch.syspath_prepend(root / "python" / "tools")
    validation = importlib.import_module("validation")
    for page in ("docs/validation.md", "README.md"):
        text = (root / page).read_text(encoding="utf-8")
        assert validation.renewed(text, "x") != text
        assert len(text.split(validation.BEGIN)[1].split(validation.END)[0].strip().splitlines()) > 5, page
    known = {one.name for one in registry.COMPARISONS}
    named = re.findall(r"`skyhop validate (\w+)", (root / "docs" / "validation.md").read_text(encoding="utf-8"))
    assert known.issuperset(named) and known - {"quic", "starlink"} <= set(named)


def test_only_a_comparison_imports_comparisons() -> None:
    """Every command waited for all of them: they took a quarter of the time of a short run."""
    code = (
        "import sys, skyhop.cli\n"
        "print(*(name for name in sys.modules if name.startswith('skyhop.validate.')))\n"
        "from skyhop import validate\n"
        "validate.routes\n"
        "print('skyhop.validate.route_pairs' in sys.modules, 'skyhop.validate.ns2_cells' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["skyhop.validate.commands", "True False"]


def test_the_package_of_comparisons_has_all_its_names() -> None:
    assert set(validate.__all__) == set(validate._HOMES) <= set(dir(validate))
    for name, home in validate._HOMES.items():
        module = importlib.import_module(f"skyhop.validate.{home}")
        assert getattr(validate, name) is getattr(module, name) and getattr(validate, home) is module
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        validate.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_a_bar_or_a_line_break_in_a_problem_adds_no_column() -> None:
    problem = 'expected `fifo` | `codel`,\nfound "red"'
    case = validate.QueueCase(
        case="a|b", discipline="codel", note="", packets=0, equal=0, totals=None, first=None, draws=None, means=[],
        ignored=[], problem=problem, ok=False,
    )  # fmt: skip
    for text in (validate.queues_markdown([case]), validate.queues_texts([case])):
        table = [line for line in text.splitlines() if line.startswith("|")]
        assert len(table) == 3
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {len(re.findall(r"\|", table[1]))}
