"""Studies: reading the folder, running the matrix, failing loudly."""

from __future__ import annotations

import dataclasses
import math
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from conftest import DUMBBELL, ROOT, Skyhop, in_process

from skyhop import _core, api, cli, frames, matrix, prose, report, score, speak, studies, tables
from skyhop.inference import Estimate
from skyhop.server import library
from skyhop.verdict import DefinitionError, Expected, Tolerance

STUDY_TOML = """\
title = "Two queues"
question = "Does a longer queue delay packets?"
paper = "Nobody, “On Queues”"
seeds = [1, 2, 3, 4, 5, 6]
start_within = "1 ms"

[axes.queue]
label = "queue"
key = "links[0].queue.drop_tail.packets"
values = ["5", { name = "long", set = "40" }]

[sources.paper]
label = "paper"
citation = "Table 1."

[metrics.goodput]
label = "Goodput"
unit = "kbit/s"
table = "flows"
column = "goodput_bps"
reduce = "total-rate"
scale = 1e-3

[metrics.delay]
label = "Delay"
unit = "ms"
table = "flows"
column = "delay_mean_s"
reduce = "weighted-mean"
weight = "packets_received"
scale = 1e3

[metrics.cwnd_change]
label = "Change of cwnd"
unit = "segments"
table = "flow_series"
column = "cwnd"
reduce = "range"
from_s = 5
"""

EXPECT_TOML = """\
[[bounds]]
metric = "goodput"
most = 2000
why = "The link carries 2 Mbit/s."

[[cells]]
queue = "5"
metric = "goodput"
paper.value = 2100
paper.printed = "Table 1"
paper.tolerance = ["1 %", "1 %"]
paper.verdict = "impossible"

[[cells]]
queue = "long"
metric = "goodput"
paper.value = 1800
paper.printed = "Table 1"
paper.tolerance = ["20 %", "10 %"]
paper.verdict = "reproduced"

[[cells]]
queue = "long"
metric = "delay"
paper.value = 5
paper.printed = "Table 1"
paper.tolerance = [1, 1]
paper.verdict = "differs"
paper.why = "Light is not that fast."

[[claims]]
text = "A longer queue delays packets."
printed = "Table 1"
metric = "delay"
order = "5 < long"
verdict = "holds"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small study in a folder of studies."""
    folder = tmp_path / "studies" / "queues"
    folder.mkdir(parents=True)
    (folder / "scenario.toml").write_text(DUMBBELL, encoding="utf-8")
    (folder / "study.toml").write_text(STUDY_TOML, encoding="utf-8")
    (folder / "expect.toml").write_text(EXPECT_TOML, encoding="utf-8")
    text = "# Queues\n\n<!-- results: generated -->\n<!-- end of results -->\n"
    (folder / "README.md").write_text(text, encoding="utf-8")
    return folder


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_matrix_runs_every_cell_with_every_seed(folder: Path) -> None:
    outcome = matrix.run_study(studies.load(folder))
    made = [(sample.cell.label, sample.seed) for sample in outcome.samples]
    assert made == [(cell, seed) for cell in ("5", "long") for seed in range(1, 7)]
    assert outcome.problems == []
    verdicts = {
        (one.cell.label, one.metric.name): one.comparisons["paper"].verdict
        for one in outcome.results
        if one.comparisons
    }
    assert verdicts == {
        ("5", "goodput"): "impossible", ("long", "goodput"): "reproduced", ("long", "delay"): "differs",
    }  # fmt: skip
    flows = outcome.table("flows")
    assert flows.height == 24
    assert set(flows["queue"]) == {"5", "long"} and set(flows["seed"]) == {1, 2, 3, 4, 5, 6}


def test_equal_values_are_shown_as_such(folder: Path) -> None:
    """Starts within 1 ms change the records, but not the goodput of the long queue."""
    outcome = matrix.run_study(studies.load(folder))
    (one,) = [one for one in outcome.results if (one.cell.label, one.metric.name) == ("long", "goodput")]
    assert one.interval is None and tables.ours(one) == f"{one.ours:.1f} (at all 6 seeds)"
    (row,) = outcome.results_table.filter(metric="goodput", queue="long").iter_rows(named=True)
    assert (row["interval"], row["runs"], row["distinct_values"]) == (None, 6, 1)
    assert any("at all … seeds" in note for note in tables.notes(outcome))
    assert f"{one.ours:.1f} (at all 6 seeds)" in tables.markdown(outcome)
    (found,) = frames.of_study(outcome).at(queue="long").table.filter(metric="goodput").iter_rows(named=True)
    assert frames.shown(found).endswith(" (at all 6 seeds)")


def test_the_page_shows_numbers_as_the_program_does(folder: Path, tmp_path: Path) -> None:
    """A mean alone says nothing about its scatter, or of how many runs it is."""
    change(folder / "expect.toml", "paper.value = 2100", "paper.value = -2100")
    for seeds in ("[1, 2, 3, 4, 5, 6]", "[1]"):
        change(folder / "study.toml", "seeds = [1, 2, 3, 4, 5, 6]", f"seeds = {seeds}")
        outcome = matrix.run_study(studies.load(folder))
        report.write(outcome, tmp_path / "runs" / "queues")
        (entry,) = library.studies(library.Library(tmp_path / "runs"))
        ours = [row["cells"][entry["header"].index("ours")] for row in entry["rows"]]
        assert ours == [tables.ours(one) for one in outcome.results]
        assert [row["cells"] for row in entry["rows"]] == [list(row.cells) for row in tables.rows(outcome)]
        assert "−2100.0" in str(entry["rows"])
        assert any(("(one run)" if seeds == "[1]" else "±") in one for one in ours)


def test_numbers_have_the_minus_of_text_and_zero_has_no_sign() -> None:
    assert [speak.number(value, 1) for value in (-2.5, -0.04, 0.04, 3.0)] == ["−2.5", "0.0", "0.0", "3.0"]
    assert [speak.signed(value, 1) for value in (-2.5, -0.04, 0.04, 3.0)] == ["−2.5", "0.0", "0.0", "+3.0"]
    assert [speak.difference(3.0, theirs, 2) for theirs in (4.0, 0.0, -2.0)] == ["−25.0 %", "+3.00", "+250.0 %"]


def test_a_difference_to_a_negative_value_has_its_own_sign(folder: Path) -> None:
    """-3 lies above -5 by 2, which is 40 % of its size; a quotient of both would have the other sign."""
    study = studies.load(folder)
    expected = Expected(-5.0, "Table 1", Tolerance(1, 1), "differs", "?")
    compared = {"paper": matrix.Comparison(expected, "differs")}
    one = matrix.Result(study.cells[0], study.metrics["delay"], Estimate.exactly(-3.0), compared)
    (row,) = tables.rows(SimpleNamespace(results=[one], study=study))  # type: ignore[arg-type]
    assert row.cells[-2:] == ("+40.0 %", "differs")


def test_metrics_are_what_they_say(folder: Path) -> None:
    outcome = matrix.run_study(studies.load(folder))
    by_name = {(one.cell.label, one.metric.name): one.ours for one in outcome.results}
    first = [sample.run for sample in outcome.samples if sample.cell.label == "long"]
    flows = first[0].flows
    assert by_name["long", "goodput"] == pytest.approx(flows["bytes_delivered"].sum() * 8 / 20 / 1e3)
    weight = flows["packets_received"]
    assert by_name["long", "delay"] == pytest.approx((flows["delay_mean_s"] * weight).sum() / weight.sum() * 1e3)
    late = first[0].flow_series.filter(first[0].flow_series["time_s"] >= 5)
    ranges = [late.filter(late["flow"] == flow)["cwnd"] for flow in ("a", "b")]
    assert by_name["long", "cwnd_change"] == pytest.approx(sum(one.max() - one.min() for one in ranges) / 2)


def test_a_metric_takes_only_the_rows_of_its_event(folder: Path) -> None:
    change(folder / "study.toml", "[metrics.cwnd_change]", """\
[metrics.cuts]
label = "Windows after cuts"
unit = "segments"
table = "flow_events"
column = "cwnd"
event = "recovered"
reduce = "mean"

[metrics.cwnd_change]""")  # fmt: skip
    outcome = matrix.run_study(studies.load(folder))
    events = outcome.samples[0].run.table("flow_events")
    here = outcome.samples[0].values["cuts"]
    assert here == pytest.approx(events.filter(pl.col("event") == "recovered")["cwnd"].mean())
    assert here != pytest.approx(events["cwnd"].mean())
    change(folder / "study.toml", 'table = "flow_events"', 'table = "flows"')
    change(folder / "study.toml", 'column = "cwnd"\nevent', 'column = "cwnd_mean"\nevent')
    with pytest.raises(DefinitionError, match=r"metrics.cuts.event: .*flows has none"):
        studies.load(folder)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'paper.verdict = "reproduced"', 'paper.verdict = "differs"\npaper.why = "?"',
            '"reproduced", but expect.toml says "differs"',
        ),
        ('paper.verdict = "differs"', 'paper.verdict = "reproduced"', '"differs", but expect.toml says "reproduced"'),
        (
            'paper.verdict = "impossible"', 'paper.verdict = "reproduced"',
            '"impossible", but expect.toml says "reproduced"',
        ),
        ("most = 2000", "most = 1000", "which cannot be: The link carries 2 Mbit/s."),
        ('order = "5 < long"', 'order = "long < 5"', '"does not hold", but expect.toml says "holds"'),
    ],
)  # fmt: skip
def test_a_verdict_that_the_numbers_do_not_bear_out_fails_the_study(
    folder: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, said: str
) -> None:
    change(folder / "expect.toml", old, new)
    # In this process: five others would import everything that a report needs.
    here = folder.parent.parent
    monkeypatch.chdir(here)
    monkeypatch.setenv("COLUMNS", "120")
    code, _, err = in_process("study", "run", "queues")
    assert code == 1
    assert "The study fails:" in err
    assert said in err
    page = (here / "runs" / "queues" / "report.html").read_text(encoding="utf-8")
    assert "This study fails" in page


def test_a_study_whose_verdicts_are_true_succeeds(folder: Path, skyhop_program: Skyhop) -> None:
    done = skyhop_program("study", "run", "queues", "--renew")
    assert (done.returncode, done.stderr) == (0, "")
    assert "impossible" in done.stdout and "Report: " in done.stdout
    outcome = matrix.run_study(studies.load(folder))
    assert prose.results_part(folder / "README.md") == tables.markdown(outcome)
    assert (skyhop_program.folder / "runs" / "queues" / "results.csv").exists()
    assert (skyhop_program.folder / "runs" / "queues" / "runs" / "queue=long,seed=2" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("study.toml", "seeds = [1, 2, 3, 4, 5, 6]", "seeds = []", "study.toml: seeds: is a list of whole numbers"),
        ("study.toml", 'title = "Two queues"', "", "study.toml: title: is missing"),
        ("study.toml", 'title = "Two queues"', 'titel = "x"\ntitle = "y"', "study.toml: titel: has no meaning here"),
        ("study.toml", 'reduce = "total-rate"', 'reduce = "add"', "metrics.goodput.reduce: is one of sum, mean"),
        ("study.toml", 'weight = "packets_received"', "", "metrics.delay.weight: belongs to weighted-mean"),
        ("study.toml", "[axes.queue]", "[axes.queue", "study.toml: "),
        ("expect.toml", 'queue = "5"', 'queue = "7"', "expect.toml: cells[0].queue: is one of 5, long, not '7'"),
        ("expect.toml", 'metric = "delay"\npaper', 'metric = "dealy"\npaper', "cells[2].metric: is one of"),
        ("expect.toml", 'paper.why = "Light is not that fast."', "", "cells[2].paper.why: is missing"),
        ("expect.toml", "paper.tolerance = [1, 1]", "paper.tolerance = [1]", "has two sides"),
        ("expect.toml", 'paper.verdict = "differs"', 'paper.verdict = "fine"', "cells[2].paper.verdict: is one of"),
        ("expect.toml", 'order = "5 < long"', 'order = "5 < huge"', "claims[0].order: compares 5, long, not huge"),
        ("expect.toml", 'queue = "5"', 'queue = "long"', "stands there twice"),
    ],
)
def test_a_study_that_cannot_be_meant_says_where(folder: Path, file: str, old: str, new: str, said: str) -> None:
    change(folder / file, old, new)
    with pytest.raises(DefinitionError) as caught:
        studies.load(folder)
    assert said in str(caught.value)


PARTS_TOML = """
[parts.daily]
queue = ["5"]
seeds = [1]
deterministic = true
start_within = "0 s"
set = ["duration=2 s"]
metrics = ["goodput", "late"]

[parts.whole]
queue = ["long"]
scenario = "long.toml"
long = true

[metrics.late]
label = "In the second half"
unit = "packets"
table = "flow_series"
column = "received"
reduce = "sum"
from_share = 0.5
"""


def test_parts_have_their_own_scenario_seeds_and_metrics_and_the_long_ones_wait(folder: Path) -> None:
    (folder / "long.toml").write_text(DUMBBELL.replace("2 Mbit/s", "1 Mbit/s"), encoding="utf-8")
    with (folder / "study.toml").open("a", encoding="utf-8") as file:
        file.write(PARTS_TOML)
    change(folder / "expect.toml", 'order = "5 < long"', 'order = "[0] < 5@late"')
    daily = matrix.run_study(studies.load(folder))
    assert [(sample.cell.label, sample.seed) for sample in daily.samples] == [("5", 1)]
    assert [one.metric.name for one in daily.results] == ["goodput", "late"]
    assert daily.samples[0].run.scenario.duration_s == 2.0
    received = daily.table("flow_series").filter(pl.col("time_s") > 1.0 + 1e-9)["received"].sum()
    assert daily.results[1].ours == received > 0
    assert daily.problems == [], "expectations of the long part are not judged"
    everything = matrix.run_study(dataclasses.replace(studies.load(folder), full=True))
    assert {sample.cell.label for sample in everything.samples} == {"5", "long"}
    # The other scenario has a link of half the rate.
    assert (
        max(one.ours for one in everything.results if one.cell.label == "long" and one.metric.name == "goodput") < 1000
    )


def test_a_part_whose_stack_the_build_lacks_is_skipped_and_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "long.toml").write_text(DUMBBELL, encoding="utf-8")
    with (folder / "study.toml").open("a", encoding="utf-8") as file:
        file.write(PARTS_TOML.replace("long = true", 'stack = "noq"'))
    change(folder / "expect.toml", 'order = "5 < long"', 'order = "[0] < 5@late"')
    readme = "What it gives: <!-- = late@5 -->0<!-- / -->.\n<!-- results: -->\n<!-- end of results -->\n"
    (folder / "README.md").write_text(readme, encoding="utf-8")
    monkeypatch.setattr(_core, "quic_stacks", lambda: ["quinn", "noq"])
    assert len(studies.load(folder).cells) == 2
    monkeypatch.setattr(_core, "quic_stacks", lambda: ["quinn"])
    found = studies.load(folder)
    assert found.left_out == {"noq": ["whole"]}
    cli._run_study(found, folder.parent / "out", renew=True, keep=folder.parent / "kept", quiet=False)
    said = capsys.readouterr()
    assert "skipped: whole of " in said.err and "this build has no noq (make build FEATURES=noq)" in said.err
    assert "The study fails" not in said.err
    assert (folder / "README.md").read_text(encoding="utf-8") == readme, "numbers of both parts stay together"


def test_renewing_without_the_long_parts_keeps_the_results_of_a_full_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "long.toml").write_text(DUMBBELL, encoding="utf-8")
    with (folder / "study.toml").open("a", encoding="utf-8") as file:
        file.write(PARTS_TOML)
    readme = "<!-- results: generated by `skyhop study run queues --full --renew`; of 1 -->\n<!-- end of results -->\n"
    (folder / "README.md").write_text(readme, encoding="utf-8")
    out, keep = folder.parent / "out", folder.parent / "kept"
    cli._run_study(studies.load(folder), out, renew=True, keep=keep, quiet=False)
    assert "stays as it is: its results are those of a run with --full" in capsys.readouterr().err
    assert (folder / "README.md").read_text(encoding="utf-8") == readme
    cli._run_study(dataclasses.replace(studies.load(folder), full=True), out, renew=True, keep=keep, quiet=False)
    assert "| long |" in (folder / "README.md").read_text(encoding="utf-8")
    # A full run replaces the results of one without --full.
    (folder / "README.md").write_text(readme.replace(" --full", ""), encoding="utf-8")
    cli._run_study(dataclasses.replace(studies.load(folder), full=True), out, renew=True, keep=keep, quiet=False)
    assert "run queues --full --renew`" in (folder / "README.md").read_text(encoding="utf-8")


def test_a_readme_of_a_full_run_is_judged_where_nothing_takes_long_any_more(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --full nothing was compared, and --full has no effect."""
    found = studies.load(folder)
    assert not found.takes_long
    readme = "<!-- results: generated by `skyhop study run queues --full --renew`; of 1 -->\n<!-- end of results -->\n"
    (folder / "README.md").write_text(readme, encoding="utf-8")
    out, keep = folder.parent / "out", folder.parent / "kept"
    cli._run_study(found, out, renew=False, keep=keep, quiet=False)
    assert "(--renew puts it there)" in capsys.readouterr().err
    cli._run_study(found, out, renew=True, keep=keep, quiet=False)
    assert "`skyhop study run queues --renew`" in (folder / "README.md").read_text(encoding="utf-8")


def test_a_headline_says_why_claims_were_not_judged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "long.toml").write_text(DUMBBELL, encoding="utf-8")
    parts = folder / "study.toml"
    before = parts.read_text(encoding="utf-8")
    parts.write_text(before + PARTS_TOML, encoding="utf-8")
    assert score.headline(matrix.run_study(studies.load(folder))).endswith("; 1 not run (--full).")
    parts.write_text(before + PARTS_TOML.replace("long = true", 'stack = "noq"'), encoding="utf-8")
    monkeypatch.setattr(_core, "quic_stacks", lambda: ["quinn"])
    assert score.headline(matrix.run_study(studies.load(folder))).endswith("; 1 not run (without noq).")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('queue = ["long"]', 'queue = ["5"]', "parts.whole: holds 5, as does parts.daily"),
        ('queue = ["long"]', 'queue = ["longer"]', "parts.whole.queue: is among 5, long, not 'longer'"),
        ('["goodput", "late"]', '["goodput", "lag"]', "parts.daily.metrics: is among"),
        ("seeds = [1]", "seeds = []", "parts.daily.seeds: is a list of whole numbers"),
        ("long = true", "lang = true", "parts.whole.lang: has no meaning here"),
        ("long = true", 'stack = "lsquic"', "parts.whole.stack: is among quinn, noq, picoquic, not 'lsquic'"),
    ],
)
def test_parts_that_cannot_be_meant(folder: Path, old: str, new: str, said: str) -> None:
    with (folder / "study.toml").open("a", encoding="utf-8") as file:
        file.write(PARTS_TOML)
    change(folder / "study.toml", old, new)
    with pytest.raises(DefinitionError) as caught:
        studies.load(folder)
    assert said in str(caught.value)


def test_the_share_in_time_counts_what_never_arrives_and_not_what_began_too_late() -> None:
    text = DUMBBELL.replace("[records]", "[records]\nupdates = true", 1)
    done = api.run(
        text, overrides=['flows[*].application={ constant_rate = { rate = "80 kbit/s", payload = "1000 B" } }']
    )
    rows = done.table("transfers")
    length_s = done.scenario.duration_s
    for within in (0.06, 0.2):
        metric = studies.read_metric("m", studies.Table(Path("x"), {
            "label": "l", "unit": "", "table": "transfers", "column": "completion_s", "reduce": "share-within",
            "within": within,
        }))  # fmt: skip
        judged = [row for row in rows.to_dicts() if row["begin_s"] <= length_s - within]
        in_time = [row for row in judged if row["completion_s"] is not None and row["completion_s"] <= within]
        assert 0 < len(judged) < rows.height
        assert matrix.measure(done, metric) == len(in_time) / len(judged)


def test_a_ratio_divides_the_sums_of_two_columns() -> None:
    done = api.run(DUMBBELL)
    table = {
        "label": "l", "unit": "", "table": "flows", "column": "packets_received", "reduce": "ratio",
        "over": "packets_sent",
    }  # fmt: skip
    metric = studies.read_metric("m", studies.Table(Path("x"), table))
    received, sent = int(done.flows["packets_received"].sum()), int(done.flows["packets_sent"].sum())
    assert 0 < received < sent and matrix.measure(done, metric) == received / sent
    none_sent = studies.read_metric("m", studies.Table(Path("x"), {**table, "over": "probes"}))
    assert math.isnan(matrix.measure(done, none_sent))
    for wrong in ({**table, "over": ""}, {**table, "reduce": "sum"}):
        with pytest.raises(DefinitionError, match="over: belongs to ratio"):
            studies.read_metric("m", studies.Table(Path("x"), wrong))


def test_a_missing_study_names_those_that_exist(folder: Path, skyhop_program: Skyhop) -> None:
    assert folder.exists()
    done = skyhop_program.here("study", "run", "queue")
    assert done.returncode == 2
    assert "no study named 'queue'" in done.stderr and "there are: queues" in done.stderr


def test_list_and_show(folder: Path, skyhop_program: Skyhop) -> None:
    assert folder.exists()
    assert skyhop_program.here("study", "list").stdout == "queues  Two queues\n"
    shown = skyhop_program.here("study", "show", "queues").stdout
    assert "Does a longer queue delay packets?" in shown and "2100" in shown and "impossible" in shown


def test_a_broken_scenario_of_a_study_is_reported_and_nothing_is_written(folder: Path, skyhop_program: Skyhop) -> None:
    change(folder / "scenario.toml", 'rate = "2 Mbit/s"', 'rate = "2 Mbits/s"')
    done = skyhop_program.here("study", "run", "queues")
    assert done.returncode == 2
    assert "scenario.toml:9" in done.stderr
    assert not (skyhop_program.folder / "runs").exists()


def test_the_same_study_gives_the_same_figures_and_page_parts(folder: Path, tmp_path: Path) -> None:
    plots = (
        "from skyhop import plots\n"
        "from skyhop.report import study_figure\n\n\n"
        '@study_figure(section="S", title="T & <co>", answers="", caption="C")\n'
        "def cwnd(flow_series):\n"
        '    return plots.over_time(flow_series, "cwnd", by="queue")\n'
    )
    (folder / "plots.py").write_text(plots, encoding="utf-8")
    first, second = (matrix.run_study(studies.load(folder)) for _ in range(2))
    assert [one.svg for one in report.figures(first)] == [one.svg for one in report.figures(second)]
    page = report.write(first, tmp_path / "out").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "figures" / "cwnd.svg").exists()
    assert 'aria-label="T &amp; &lt;co&gt;"' in page
    for outside in ("<script", "<link", "<img", "@import", 'src="', "https://"):
        assert outside not in page, f"the page is not self-contained: {outside}"


def test_every_study_of_the_project_is_well_formed_and_stands_alone() -> None:
    names = studies.names(ROOT / "studies")
    assert "iridium-vegas-reno-bic" in names
    for name in names:
        found = studies.load(ROOT / "studies" / name)
        assert {one.cell for one in found.expectations} <= {cell for part in found.parts for cell in part.cells}
        text = (found.folder / "README.md").read_text(encoding="utf-8")
        assert "<!-- results:" in text


def test_studies_are_found_from_below(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = folder.parent.parent / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert studies.folder_of_studies() == folder.parent
    shutil.rmtree(folder.parent)
    assert studies.folder_of_studies() == ROOT / "studies"


def test_ctrl_c_stops_all_runs_of_a_study(folder: Path, skyhop_program: Skyhop) -> None:
    change(folder / "scenario.toml", 'duration = "20 s"', 'duration = "4000000 s"')
    change(folder / "scenario.toml", 'grid = "500 ms"', 'grid = "100 s"')
    command = [sys.executable, "-m", "skyhop", "study", "run", "queues"]
    with subprocess.Popen(command, cwd=skyhop_program.folder, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (skyhop_program.folder / "runs" / "kept" / "CACHEDIR.TAG").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert process.poll() is None, "the study is long enough to be interrupted"
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr.startswith("Interrupted: 0 finished runs are kept in runs/kept") and len(stderr.splitlines()) == 1
    # Only studies that had finished are there, and they are whole.
    assert not (skyhop_program.folder / "runs" / "queues").exists()
    assert not list((skyhop_program.folder / "runs").rglob("*.partial"))
