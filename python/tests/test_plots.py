"""Figures: labelled with units, legible in grey, the same bytes each time."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import matplotlib
import polars as pl
import pytest
from conftest import STUDY

import skyhop
from skyhop import figure, plots, worldmap
from skyhop.plots import Measure, RunPlots

UNITS = {
    "cwnd": "segments", "rtt": "ms", "delay": "ms", "interarrival": "ms", "jitter": "ms", "goodput": "kbit/s",
    "drops": "packets", "queue": "packets",
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> skyhop.Run:
    from conftest import DUMBBELL

    return skyhop.run(DUMBBELL)


@pytest.mark.parametrize("name", UNITS)
def test_axes_have_labels_with_units_and_lines_have_names(run: skyhop.Run, name: str) -> None:
    draw: Callable[[], figure.Figure] = getattr(run.plot, name)
    (panel,) = draw().axes
    assert panel.get_xlabel() == "Time (s)"
    assert panel.get_ylabel().endswith(f"({UNITS[name]})")
    legend = panel.get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert names == (["a", "b"] if name != "queue" else names) and names
    assert panel.lines, "something is drawn"


def test_lines_differ_by_more_than_colour(run: skyhop.Run) -> None:
    (panel,) = run.plot.cwnd().axes
    looks = [(line.get_linestyle(), line.get_marker(), line._unscaled_dash_pattern) for line in panel.lines]
    assert looks[0][1] != looks[1][1] and looks[0][2] != looks[1][2]


def test_strokes_are_told_apart_in_grey() -> None:
    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        return 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2

    first = figure.STROKES[:3]
    assert len({stroke.marker for stroke in figure.STROKES}) == len(figure.STROKES)
    assert len({stroke.hatch for stroke in figure.STROKES}) == len(figure.STROKES)
    # Contrast of three to one against white paper (WCAG 2.2, 1.4.11).
    assert all(1.05 / (lightness(stroke.colour) + 0.05) >= 3 for stroke in first)


def test_svg_is_the_same_each_time_and_carries_no_date(run: skyhop.Run) -> None:
    first, second = figure.svg(run.plot.cwnd()), figure.svg(run.plot.cwnd())
    assert first == second
    assert "<dc:date>" not in first
    assert re.findall(r"https?://(?!www\.w3\.org|creativecommons|purl\.org)[^\s\"]+", first.split("<svg")[1]) == []


def test_the_users_own_figures_keep_their_style(run: skyhop.Run) -> None:
    before = dict(matplotlib.rcParams)
    run.plot.cwnd()
    assert dict(matplotlib.rcParams) == before


def test_a_figure_on_a_page_has_ids_of_its_own_and_follows_its_colours(run: skyhop.Run) -> None:
    page = figure.for_page(figure.svg(run.plot.rtt()), name="rtt", title='A "title" <b>')
    assert page.startswith('<svg viewBox="')
    assert 'aria-label="A &quot;title&quot; &lt;b&gt;"' in page
    assert all(name.startswith("rtt-") for name in re.findall(r'\bid="([^"]+)"', page))
    assert all(name.startswith("rtt-") for name in re.findall(r"url\(#([^)]+)\)", page))
    assert "var(--series-0)" in page and figure.STROKES[0].colour not in page


def test_a_run_without_a_grid_says_what_to_set(dumbbell: Path) -> None:
    text = dumbbell.read_text(encoding="utf-8").replace('grid = "500 ms"', "")
    with pytest.raises(ValueError, match=r"records\.grid"):
        skyhop.run(text).plot.cwnd()
    with pytest.raises(ValueError, match=r"records\.positions"):
        skyhop.run(text).plot.world_map()


def test_the_queue_of_a_link_that_is_not_there_is_no_empty_figure(run: skyhop.Run) -> None:
    (panel,) = run.plot.queue(links=["left->right"]).axes
    assert len(panel.lines) == 1
    with pytest.raises(ValueError, match=r"no link is called 'left->rihgt'; there are: left->right"):
        run.plot.queue(links=["left->rihgt"])


def series(flows: dict[str, list[float]]) -> pl.DataFrame:
    rows = [(float(time), flow, value, 1) for flow, values in flows.items() for time, value in enumerate(values, 1)]
    return pl.DataFrame(rows, schema=["time_s", "flow", "cwnd", "received"], orient="row").with_columns(tcp=pl.lit("x"))


def test_several_flows_become_their_median_and_a_band() -> None:
    drawn = plots.over_time(series({"a": [1, 10], "b": [2, 20], "c": [9, 90]}), "cwnd", by="tcp")
    (panel,) = drawn.axes
    assert panel.lines[0].get_ydata().tolist() == [2, 20]
    (band,) = panel.collections
    corners = band.get_paths()[0].vertices
    assert corners[:, 1].min() == 1 and corners[:, 1].max() == 90
    # The lower of two in the middle, as in the tables of a run and on the page.
    (panel,) = plots.over_time(series({"a": [1, 10], "b": [2, 20]}), "cwnd", by="tcp").axes
    assert panel.lines[0].get_ydata().tolist() == [1, 10]


def test_steps_without_a_value_are_gaps() -> None:
    """A line across them would show a delay while nothing arrived."""
    table = series({"a": [1, 2, 3, 4, 5, 6]}).with_columns(
        cwnd=pl.when(pl.col("time_s").is_in([3.0, 5.0])).then(None).otherwise(pl.col("cwnd"))
    )
    nan = math.nan
    for drawn in (plots.over_time(table, "cwnd", by="tcp"), plots.each_flow_over_time(table, "cwnd", by="tcp")):
        line, dots = drawn.axes[0].lines
        assert line.get_xdata().tolist() == [1, 2, 3, 4, 5, 6]
        assert line.get_ydata().tolist() == pytest.approx([1, 2, nan, 4, nan, 6], nan_ok=True)
        # A point of a line without a neighbour would be invisible.
        assert (dots.get_xdata().tolist(), dots.get_ydata().tolist()) == ([4, 6], [4, 6])
        assert drawn.axes[0].get_xlim() == (0, 6)
    # A second flow with values there leaves no gap; a step's mean is that of the values in it.
    both = pl.concat([table, series({"b": [9] * 6})])
    (line,) = plots.over_time(both, "cwnd", by="tcp").axes[0].lines
    assert not any(map(math.isnan, line.get_ydata()))
    (line,) = plots.over_time(table, "cwnd", by="tcp", step_s=2.0).axes[0].lines
    assert line.get_ydata().tolist() == [1.5, 4, 6]
    nothing = table.with_columns(received=0)
    assert all(map(math.isnan, plots.over_time(nothing, "cwnd", step_s=2.0).axes[0].lines[0].get_ydata()))


def test_steps_average_each_flow_and_totals_add_up() -> None:
    table = series({"a": [1, 3, 5, 7], "b": [1, 3, 5, 7]})
    (panel,) = plots.over_time(table, "cwnd", by="tcp", step_s=2.0).axes
    assert panel.lines[0].get_xdata().tolist() == [2, 4]
    assert panel.lines[0].get_ydata().tolist() == [2, 6]
    (panel,) = plots.over_time(table, "cwnd", by="tcp", cumulative=True).axes
    assert panel.lines[0].get_ydata().tolist() == [2, 8, 18, 32]


def test_bars_show_their_value_and_others() -> None:
    drawn = plots.bars(
        ["vegas", "reno"], [1.0, 2.5], measure=Measure("Delay", "ms"), marks={"paper": [1.5, None]}, limit=(3.0, "most")
    )
    (panel,) = drawn.axes
    assert [bar.get_height() for bar in panel.patches] == [1.0, 2.5]
    assert [text.get_text() for text in panel.texts] == ["1.0", "2.5"]
    assert panel.get_ylabel() == "Delay (ms)"
    legend = panel.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == ["paper", "most"]


def test_the_world_of_iridium() -> None:
    run = skyhop.run(STUDY / "scenario.toml", overrides=["duration=12 s"])
    assert run.positions["node"].n_unique() == 66
    drawn = RunPlots(run).world_map(at_s=10.0)
    (panel,) = drawn.axes
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("Longitude", "Latitude")
    assert {text.get_text() for text in panel.texts} == {"berkeley", "chennai"}
    ups = worldmap._isls_up(run.links, run.link_changes, 10.0)
    # 66 links in the planes; of the 55 between planes those with an end beyond 60 degrees are down.
    within = [pair for pair in ups if pair[0].split("-")[1] == pair[1].split("-")[1]]
    assert len(within) == 66
    assert 20 <= len(ups) - len(within) <= 45
    assert not any({pair[0].split("-")[1], pair[1].split("-")[1]} == {"0", "5"} for pair in ups), "the seam"
    assert run.plot.coverage(mask_deg=8.2).axes


def test_a_ship_on_a_map_is_where_it_has_sailed() -> None:
    run = skyhop.run({
        "duration": "200 s",
        "constellation": {"preset": "iridium", "gsl": {"rate": "1 Mbit/s"}},
        "stations": {"ship": {"track": [
            {"at": "0 s", "latitude": "0 deg", "longitude": "0 deg"},
            {"at": "100 s", "latitude": "0 deg", "longitude": "40 deg"},
        ]}},
        "records": {"positions": "10 s"},
    })  # fmt: skip
    for at_s, longitude in [(0.0, 0.0), (50.0, 20.0), (200.0, 40.0)]:
        (panel,) = run.plot.world_map(at_s=at_s).axes
        (name,) = (text for text in panel.texts if text.get_text() == "ship")
        assert name.xy == pytest.approx((longitude, 0.0), abs=1e-9)
    # The end of the run is not what happens later.
    for at_s in (200.1, 1e9, -0.1, math.nan):
        for draw in (run.plot.world_map, partial(run.plot.coverage, mask_deg=8.2)):
            with pytest.raises(ValueError, match="the run lasts from 0 to 200 s"):
                draw(at_s=at_s)


def test_footprints_have_the_size_that_geometry_gives() -> None:
    # 780 km: 27.00 degrees to the horizon, 19.92 at a mask of 8.2 degrees (cos of the Earth's triangle).
    assert math.degrees(worldmap.footprint_angle(780, 0)) == pytest.approx(27.00, abs=0.01)
    assert math.degrees(worldmap.footprint_angle(780, 8.2)) == pytest.approx(19.92, abs=0.01)
    # A station on the ground sees nothing below the horizon.
    assert worldmap.footprint_angle(780, -5) == worldmap.footprint_angle(780, 0)


def test_coverage_of_one_satellite_is_its_cap() -> None:
    one = pl.DataFrame(
        {"time_s": [0.0], "node": ["s"], "latitude_deg": [40.0], "longitude_deg": [170.0], "altitude_km": [780.0]}
    )
    cap = (1 - math.cos(worldmap.footprint_angle(780, 8.2))) / 2
    assert worldmap.covered_fraction(one, mask_deg=8.2) == pytest.approx(cap, rel=0.02)


def test_iridium_covers_the_earth_at_its_mask() -> None:
    run = skyhop.run(STUDY / "scenario.toml", overrides=["duration=2 s"])
    assert worldmap.covered_fraction(run.positions, mask_deg=8.2) == 1.0
    assert worldmap.covered_fraction(run.positions, mask_deg=25) < 0.9


def test_lines_over_the_antimeridian_are_cut_there() -> None:
    pieces = worldmap.great_circle(worldmap.Place(10, 170), worldmap.Place(20, -170))
    assert len(pieces) == 2
    assert pieces[0][0] == pytest.approx((170, 10)) and pieces[1][-1] == pytest.approx((-170, 20))
    assert abs(pieces[0][-1][0]) == abs(pieces[1][0][0]) == 180 and pieces[0][-1][1] == pieces[1][0][1]
    assert all(abs(a[0] - b[0]) < 20 for piece in pieces for a, b in itertools.pairwise(piece))
