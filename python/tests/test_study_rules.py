"""The rules that make a wished result hard: counting, readings, guards, whole lengths, baselines, generated numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import DUMBBELL, ROOT

from skyhop import api, best, matrix, prose, report, score, speak, starts, studies, tables
from skyhop.inference import Estimate
from skyhop.verdict import DefinitionError

STUDY = """\
title = "T"
question = "Q?"
paper = "P"
seeds = [1, 2, 3, 4, 5, 6, 7, 8]
start_within = "10 ms"

[axes.queue]
label = "queue"
key = "links[0].queue.drop_tail.packets"
values = ["5", "20", "40"]

[axes.rate]
label = "rate"
reading = "2 Mbit/s"
key = "links[0].rate"
values = ["1 Mbit/s", "2 Mbit/s"]

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

[metrics.jain]
label = "Jain's index"
unit = ""
table = "flows"
column = "goodput_bps"
reduce = "jain"
digits = 3
guard = { metric = "goodput", least = 500 }
"""

EXPECT = """\
[[cells]]
queue = ["5", "20", "40"]
rate = ["1 Mbit/s", "2 Mbit/s"]
metric = "goodput"
paper.value = [[900, 1500], [950, "-"], [950, 1900]]
paper.printed = "Table 1"
paper.tolerance = ["20 %", "20 %"]
paper.verdict = "reproduced"

[[claims]]
text = "More queue, more goodput at {rate}."
printed = "Table 1"
rate = ["1 Mbit/s", "2 Mbit/s"]
metric = "goodput"
order = "5 < 20"
verdict = "holds"

[[claims]]
text = "Never below 500."
printed = "Table 1"
rate = "2 Mbit/s"
every = { queue = ["5", "20", "40"] }
metric = "goodput"
order = "[500] < here < [2000]"
verdict = "holds"
"""

README = """\
# T

Ours is <!-- = goodput@5 / 2 Mbit/s ; ±.0f -->?<!-- / -->, theirs <!-- = goodput@5 / 2 Mbit/s#paper ; .0f -->?<!-- / -->.
The ratio is <!-- = [goodput@5 / 2 Mbit/s] / [goodput@5 / 1 Mbit/s] ; .2f -->?<!-- / -->.

<!-- table = { rows = "queue", across = "rate", metrics = ["goodput"], sources = ["paper"] } -->
<!-- end of table -->

<!-- results: generated -->
<!-- end of results -->
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "studies" / "rules"
    folder.mkdir(parents=True)
    for name, text in (
        ("scenario.toml", DUMBBELL),
        ("study.toml", STUDY),
        ("expect.toml", EXPECT),
        ("README.md", README),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def refused(folder: Path) -> str:
    with pytest.raises(DefinitionError) as caught:
        studies.load(folder)
    return str(caught.value)


def test_a_table_of_values_is_one_entry(folder: Path) -> None:
    found = studies.load(folder)
    values = {one.cell.label: one.sources["paper"].value for one in found.expectations if one.sources}
    assert values == {
        "5 / 1 Mbit/s": 900, "5 / 2 Mbit/s": 1500, "20 / 1 Mbit/s": 950, "40 / 1 Mbit/s": 950, "40 / 2 Mbit/s": 1900,
    }  # fmt: skip
    assert {one.sources["paper"].tolerance.below for one in found.expectations if one.sources} == {180, 300, 190, 380}


def test_a_claim_with_an_axis_is_one_claim_for_each_value_and_with_every_one_for_all(folder: Path) -> None:
    first, second, whole = studies.load(folder).claims
    assert first.text == "More queue, more goodput at 1 Mbit/s."
    assert first.pairs == [("5 / 1 Mbit/s", "20 / 1 Mbit/s")]
    assert second.pairs == [("5 / 2 Mbit/s", "20 / 2 Mbit/s")]
    assert whole.names == {"5 / 2 Mbit/s", "20 / 2 Mbit/s", "40 / 2 Mbit/s"} and len(whole.pairs) == 6


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('[950, "-"], ', "", "has 2 values where the entry's list has 3"),
        ('order = "5 < 20"', 'order = "5 < 21"', "compares values of queue, not 21"),
        ('order = "5 < 20"', 'order = "5"', "compares at least two"),
        ('verdict = "holds"\n\n', 'verdict = "undecided"\n\n', "claims[0].why: is missing"),
        ('paper.verdict = "reproduced"', 'paper.verdict = "given"', "the verdict given has a reason"),
        ('every = { queue = ["5", "20", "40"] }', 'every = { rate = ["1 Mbit/s"] }', "is fixed and stands in `every`"),
        (
            'metric = "goodput"\norder = "5',
            'guard = { metric = "goodput" }\nmetric = "goodput"\norder = "5',
            "needs least or",
        ),
    ],
)
def test_lists_that_cannot_be_meant(folder: Path, old: str, new: str, said: str) -> None:
    change(folder / "expect.toml", old, new)
    assert said in refused(folder)


@pytest.mark.parametrize("name", ["a < b", "a & b", "a, b", "a@b", "[3]", "a / b"])
def test_a_value_of_an_axis_has_a_name_that_orders_can_use(folder: Path, name: str) -> None:
    change(folder / "study.toml", '"5", "20", "40"', f'"5", "20", {{ name = "{name}", set = 40 }}')
    assert "axes.queue.values: are names of folders and in orders" in refused(folder)


def test_a_slash_in_a_value_makes_no_folder(folder: Path) -> None:
    assert studies.load(folder).cells[0].folder == "queue=5,rate=1 Mbit-s"


def test_reasons_take_numbers_from_the_study(folder: Path) -> None:
    change(
        folder / "expect.toml", 'paper.verdict = "reproduced"',
        'paper.verdict = "given"\n'
        'paper.why = "It is {= goodput@5 / 2 Mbit/s ; .0f}, not {= goodput@20 / 2 Mbit/s ; .0f}."',
    )  # fmt: skip
    outcome = matrix.run_study(studies.load(folder))
    ours = {one.cell.label: one.ours for one in outcome.results if one.metric.name == "goodput"}
    said = f"It is {ours['5 / 2 Mbit/s']:.0f}, not {ours['20 / 2 Mbit/s']:.0f}."
    assert said in tables.markdown(outcome)
    page = report.write(outcome, folder / "out").read_text(encoding="utf-8")
    assert said in page
    assert said in (folder / "out" / "results.csv").read_text(encoding="utf-8")
    assert page.index('<nav aria-label="Parts of this page">') < page.index('id="numbers"')


def test_a_fairness_index_without_a_guard_is_refused(folder: Path) -> None:
    change(folder / "study.toml", 'guard = { metric = "goodput", least = 500 }\n', "")
    assert "metrics.jain.guard: is missing" in refused(folder)


def test_a_part_that_measures_fairness_measures_its_guard(folder: Path) -> None:
    with (folder / "study.toml").open("a", encoding="utf-8") as file:
        file.write('\n[parts.all]\nmetrics = ["jain"]\n')
    assert "parts.all.metrics: has jain without its guard goodput" in refused(folder)


TWICE = """
[metrics.wire]
label = "On the wire"
unit = "kbit/s"
table = "flows"
column = "throughput_bps"
reduce = "total-rate"
scale = 1e-3
"""


def test_one_printed_value_is_not_counted_for_two_metrics(folder: Path) -> None:
    with (folder / "study.toml").open("a", encoding="utf-8") as file:
        file.write(TWICE)
    change(folder / "expect.toml", 'metric = "goodput"\npaper', 'metric = ["goodput", "wire"]\npaper')
    assert "A printed value counts once" in refused(folder)
    change(folder / "expect.toml", 'paper.verdict = "reproduced"', 'paper.verdict = "reproduced"\npaper.counts = false')
    studies.load(folder)


def test_other_readings_are_shown_and_not_counted(folder: Path) -> None:
    outcome = matrix.run_study(studies.load(folder))
    assert outcome.problems == []
    assert score.tally(outcome, "paper")["reproduced"] == 2, "two of five cells lie under the declared reading"
    assert sum(one.counts for one in outcome.claims) == 2
    said = score.headline(outcome)
    assert "Paper: 2 of 2 values reproduced; 3 of 3 under other readings, not counted." in said
    assert "2 of 2 claims hold; 1 of 1 hold under other readings, not counted." in said


def test_a_given_value_is_counted_apart(folder: Path) -> None:
    change(
        folder / "expect.toml", 'paper.verdict = "reproduced"', 'paper.verdict = "given"\npaper.why = "Greedy flows."'
    )
    outcome = matrix.run_study(studies.load(folder))
    assert outcome.problems == []
    assert "reproduced" not in score.headline(outcome)
    assert "2 given by the inputs and not counted" in score.headline(outcome)


def test_a_constant_stands_beside_the_study(folder: Path) -> None:
    """With every value counted there are five: a constant of their mean, 1240 kbit/s, hits 1500 within 20 %."""
    change(folder / "study.toml", 'reading = "2 Mbit/s"\n', "")
    outcome = matrix.run_study(studies.load(folder))
    (constant,) = score.scores(outcome, "paper")
    assert (constant.values, constant.reproduced, constant.hit) == (5, 5, 1)
    published = [900, 1500, 950, 950, 1900]
    by_hand = (sum((1240 - value) ** 2 for value in published) / 5) ** 0.5 / 1240
    assert constant.baseline_error == pytest.approx(by_hand)
    assert "A constant 1240.0 kbit/s hits 1 of 5, the study 5" in score.headline(outcome)


def test_a_declared_baseline_is_a_formula_over_the_axes(folder: Path) -> None:
    change(folder / "study.toml", 'reading = "2 Mbit/s"\n', "")
    with (folder / "study.toml").open("a", encoding="utf-8") as file:
        file.write(
            '\n[baselines.link]\nlabel = "the link filled"\n'
            'source = "paper"\nmetric = "goodput"\nvalue = "950 * rate"\n'
        )
    (link,) = score.scores(matrix.run_study(studies.load(folder)), "paper")
    assert (link.baseline, link.hit) == ("the link filled", 4)
    change(folder / "study.toml", "950 * rate", "950 * speed")
    with pytest.raises(DefinitionError, match="nothing is called 'speed'"):
        score.scores(matrix.run_study(studies.load(folder)), "paper")


PARTS = """
[parts.short]
rate = ["1 Mbit/s"]
whole = "long"
set = ["duration=5 s"]

[parts.long]
rate = ["2 Mbit/s"]
long = true
"""


def test_an_order_is_judged_by_the_whole_length(folder: Path) -> None:
    with (folder / "study.toml").open("a", encoding="utf-8") as file:
        file.write(PARTS)
    assert "of the shortened part short: an order is judged by the whole length, part long" in refused(folder)
    change(
        folder / "expect.toml",
        'rate = ["1 Mbit/s", "2 Mbit/s"]\nmetric = "goodput"\norder',
        'rate = "2 Mbit/s"\nmetric = "goodput"\norder',
    )
    outcome = matrix.run_study(studies.load(folder))
    assert outcome.claims == [] and outcome.claims_not_run == {"--full": 2}
    assert "| not run |" in prose.rendered(README, outcome, file=folder / "README.md")


def test_a_single_run_is_deterministic_or_decides_nothing(folder: Path) -> None:
    change(folder / "study.toml", "seeds = [1, 2, 3, 4, 5, 6, 7, 8]", "seeds = [1]")
    change(folder / "study.toml", 'start_within = "10 ms"\n', "")
    outcome = matrix.run_study(studies.load(folder))
    assert {comparison.verdict for one in outcome.results for comparison in one.comparisons.values()} == {"undecided"}
    assert {one.verdict for one in outcome.claims} == {"undecided"}
    assert any("(one run: no interval)" in problem for problem in outcome.problems)


def test_what_another_seed_or_a_microsecond_changes_is_not_deterministic(folder: Path) -> None:
    change(folder / "study.toml", "seeds = [1, 2, 3, 4, 5, 6, 7, 8]", "seeds = [1]")
    change(folder / "study.toml", 'start_within = "10 ms"', "deterministic = true")
    assert not any("microsecond" in problem for problem in matrix.run_study(studies.load(folder)).problems)
    change(folder / "scenario.toml", 'delay = "50 ms"', 'delay = "50 ms"\nerrors = [{ packet = 0.01 }]')
    outcome = matrix.run_study(studies.load(folder))
    assert len(outcome.probes) == 6
    assert any("is called deterministic, but" in problem for problem in outcome.problems)
    change(folder / "study.toml", "seeds = [1]", "seeds = [1, 2]")
    assert "deterministic: belongs to one seed" in refused(folder)


def test_starts_are_drawn_by_seed_and_flow_and_move_nothing_else() -> None:
    base = api.scenario(DUMBBELL)
    again = starts.spread(base, seed=1, within_s=0.0)
    assert api.run(again).manifest["records_hash"] == api.run(base).manifest["records_hash"]
    one, other = (starts.spread(base, seed=seed, within_s=0.5) for seed in (1, 2))
    assert one.hash == starts.spread(base, seed=1, within_s=0.5).hash != other.hash
    counted = api.scenario(DUMBBELL.replace('name = "b"', 'name = "b"\ncount = 3'))
    flows = starts.one_by_one(starts.spread(counted, seed=1, within_s=0.5))["flows"]
    assert [flow["name"] for flow in flows] == ["a", "b-0", "b-1", "b-2"]
    begins_ns = [starts._start_ns(flow) for flow in flows]
    assert len(set(begins_ns)) == 4
    assert 0 <= begins_ns[0] < 500_000_000
    assert all(1_000_000_000 <= begin < 1_500_000_000 for begin in begins_ns[1:])
    spread = api.scenario(DUMBBELL.replace('name = "b"', 'name = "b"\ncount = 3\nstart_spread = "5 s"'))
    drawn = api.run(starts.spread(spread, seed=1, within_s=1e-6)).flows["start_s"].to_list()
    assert drawn == pytest.approx(api.run(spread).flows["start_s"].to_list(), abs=1e-6)
    assert len(set(map(round, drawn))) > 2


def test_numbers_in_prose_are_what_the_study_gives(folder: Path) -> None:
    readme = folder / "README.md"
    outcome = matrix.run_study(studies.load(folder))
    assert len(prose.stale(readme, outcome)) > 0
    prose.renew(readme, outcome)
    assert prose.stale(readme, outcome) == []
    text = readme.read_text(encoding="utf-8")
    ours = {one.cell.label: one for one in outcome.results if one.metric.name == "goodput"}
    cell, slow = ours["5 / 2 Mbit/s"], ours["5 / 1 Mbit/s"]
    # Without digits behind the point the interval would have no width.
    assert 0.05 < cell.interval < 0.5
    assert f"-->{cell.ours:.1f} ± {cell.interval:.1f}<!-- / -->, theirs" in text and "-->1500<!-- / -->." in text
    assert f"-->{cell.ours / slow.ours:.2f}<!-- / -->" in text
    lowest = min(one.ours for label, one in ours.items() if label in ("20 / 1 Mbit/s", "40 / 1 Mbit/s"))
    assert lowest > slow.ours, "the pattern below leaves the lowest out"
    said = prose.rendered("<!-- = least goodput@{20,40} / 1* ; .3f -->?<!-- / -->", outcome, file=readme)
    assert f"-->{lowest:.3f}<" in said
    assert speak.filled("at least {= least goodput@{20,40} / 1* ; .3f}.", outcome) == f"at least {lowest:.3f}."
    assert "| queue | 1 Mbit/s: Goodput (kbit/s) | paper | 2 Mbit/s: Goodput (kbit/s) | paper |" in text
    readme.write_text(text.replace("-->1500<", "-->1501<"), encoding="utf-8")
    (problem,) = prose.stale(readme, outcome)
    assert "1501" in problem and "1500" in problem


def test_the_best_is_named_with_those_that_the_runs_do_not_tell_apart() -> None:
    def means(*values: float) -> Estimate:
        return Estimate(dict(enumerate(values)))

    # Paired: a is 1 above b and 9 above d with each seed; c scatters around a.
    values = {"d": means(1, 11, 21.5), "a": means(10, 20, 30), "b": means(9, 19, 29.1), "c": means(30, 20, 9)}
    assert best.first_and_equals(values, largest=True) == ["a", "c"]
    assert best.first_and_equals(values, largest=False) == ["d", "c"]
    assert best.first_and_equals({}, largest=True) == []


def test_a_bar_that_noise_decides_is_said() -> None:
    def means(*values: float) -> Estimate:
        return Estimate(dict(enumerate(values)))

    values = {
        "most": means(100, 101, 99), "near": means(95, 94, 96), "open": means(80, 95, 88), "far": means(50, 51, 49),
    }  # fmt: skip
    assert best.near_the_most(values, share=0.9) == ({"most", "near"}, {"open"})
    assert best.near_the_most({"most": Estimate.exactly(10), "below": Estimate.exactly(8)}, share=0.9) == (
        {"most"}, set(),
    )  # fmt: skip
    assert best.near_the_most({}, share=0.9) == (set(), set())


def test_a_table_names_the_best_of_each_row(folder: Path) -> None:
    outcome = matrix.run_study(studies.load(folder))
    marker = (
        '<!-- table = { best = "queue", rows = ["rate"], most = ["goodput"], '
        'pick = { most = "goodput", share = 0.7, least = "goodput" } } -->\n<!-- end of table -->'
    )
    said = prose.rendered(marker, outcome, file=Path("README.md"))
    ours = {dict(one.cell.point)["queue"]: one.ours for one in outcome.results
            if one.metric.name == "goodput" and dict(one.cell.point)["rate"] == "2 Mbit/s"}  # fmt: skip
    first = max(ours, key=lambda queue: ours[queue])
    assert "| rate | most goodput (kbit/s) | least goodput (kbit/s) of those with 70 % of the most goodput |" in said
    assert f"| 2 Mbit/s | {first} {ours[first]:.1f}" in said
    for old, new, message in (
        ('rows = ["rate"]', 'rows = ["speed"]', "no axis 'speed'"), ('["rate"]', "[]", "fixes no value of rate"),
        ('most = ["goodput"]', 'most = ["speed"]', "no metric 'speed'"),
        ("best =", "sweep = 1, best =", "sweep has no"),
    ):  # fmt: skip
        with pytest.raises(DefinitionError, match=message):
            prose.rendered(marker.replace(old, new), outcome, file=Path("README.md"))


def test_a_marker_that_means_nothing_says_so(folder: Path) -> None:
    outcome = matrix.run_study(studies.load(folder))
    for marker, said in (
        ("goodput@6 / 2 Mbit/s", "no cell"), ("goodputs@5 / 2 Mbit/s", "no metric 'goodputs'"),
        ("goodput", "metric@cell"),
        ("goodput@5 / 2 Mbit/s ; 3 digits", "a format is"), ("count nobody", "counts are"),
        ("[goodput@5 / 2 Mbit/s].real", "is not a formula"),
    ):  # fmt: skip
        with pytest.raises(DefinitionError, match=said):
            prose.rendered(f"<!-- = {marker} -->?<!-- / -->", outcome, file=Path("README.md"))


def test_documents_about_several_studies_name_them(folder: Path, tmp_path: Path) -> None:
    document = tmp_path / "findings.md"
    text = "<!-- = rules :: count paper.reproduced -->?<!-- / --> <!-- = other :: count paper -->7<!-- / -->"
    document.write_text(text, encoding="utf-8")
    outcome = matrix.run_study(studies.load(folder))
    prose.renew_others(document, outcome)
    assert document.read_text(encoding="utf-8") == text.replace("-->?<", "-->2<")


def test_a_sweep_of_the_study_fills_tables(folder: Path) -> None:
    (folder / "sizes.toml").write_text(
        'scenario = "scenario.toml"\nseeds = 2\n'
        '[axes]\nmss = { key = "flows[*].tcp.mss", values = ["500 B", "1000 B"] }\n',
        encoding="utf-8",
    )
    with (folder / "study.toml").open("a", encoding="utf-8") as file:
        file.write("\n[sweeps.sizes]\n")
    outcome = matrix.run_study(studies.load(folder))
    text = '<!-- table = { sweep = "sizes", rows = "mss", metrics = ["goodput"] } -->\n<!-- end of table -->\n'
    text += "<!-- = sweep sizes: goodput@500 B -->?<!-- / -->"
    _, result = outcome.sweeps["sizes"]
    mean = result.table.filter(metric="goodput", mss="500 B")["mean"][0]
    assert f"| 500 B | {mean:.1f} |" in prose.rendered(text, outcome, file=Path("README.md"))
    assert f"-->{mean:.1f}<!-- / -->" in prose.rendered(text, outcome, file=Path("README.md"))


@pytest.mark.parametrize("name", studies.names(ROOT / "studies"))
def test_a_studys_readme_was_renewed_after_its_files_changed(name: str) -> None:
    """`skyhop study run NAME --renew` after every change of a study; a run says whether the numbers are still true."""
    found = studies.load(ROOT / "studies" / name)
    text = (found.folder / "README.md").read_text(encoding="utf-8")
    told = prose.digest_in(text)
    assert told is None or told == prose.digest(found, text)


def test_a_run_with_drawn_starts_says_what_its_scenario_says_and_nothing_of_keys_that_nobody_wrote(
    folder: Path,
) -> None:
    file = folder / "scenario.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("[[flows]]", "[[flows]]\nclass = 3", 1), encoding="utf-8")
    said = {one for sample in matrix.run_study(studies.load(folder)).samples for one in sample.warnings}
    assert said == {"flows[0].class: has no effect here: with any value, and without it, the same is run"}
