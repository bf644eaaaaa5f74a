"""The figures of the study: one per claim of the publication."""

import math

import polars as pl
from matplotlib.ticker import FormatStrFormatter

from skyhop import figure as style
from skyhop.figure import Figure
from skyhop.report import study_figure

SIZES = [1540, 540, 240, 140, 90]
RATES = {"1e-2 per byte": 1e-2, "1e-3 per byte": 1e-3, "1e-4 per byte": 1e-4}
SCHEMES = ["NewReno", "split", "SaTPEP", "BEEN", "BEEN in payload"]
# Below, a run has delivered a packet or none.
LEAST_KBPS = 0.01
# Sections 2.2 and 5.3: the share of packets that arrives, told by TCP efficiency (90, 140 B) and
# by information efficiency (240 B).
PRINTED_AT_1E3 = {90: 0.90, 140: 0.80, 240: 0.65 * 240 / 200}
SIZE_AXIS = "Packet (B, 40 B of it header)"
ERRORS_SECTION = "What an error rate is per"
SCHEMES_SECTION = "Which scheme"
GROWTH_SECTION = "The window and the estimate"
RELATIVES_SECTION = "What else is done about errors"
OPEN_ENDS_SECTION = "The paper's open ends"
RELATIVES = {
    "NewReno": "NewReno",
    "Snoop": "Snoop at the gateway",
    "CETEN": "CETEN",
    "ELN": "ELN",
    "ETEN": "ETEN",
    "BEEN": "BEEN",
    "SaTPEP": "SaTPEP",
    "ARQ": "uplink repeats (ARQ)",
    "FEC": "uplink with a code (FEC)",
}
ESTIMATES = {
    "sample of 10": "10 packets",
    "sample of 10 unsmoothed": "10, no average",
    "sample of 1000": "1000 packets",
}
SIZINGS = {
    "BEEN": "equation 1, rate per byte",
    "BEEN in bits": "equation 1, rate per bit",
    "BEEN in probability": "best in probability",
}
BETWEEN_SATELLITES = {
    "NewReno": "NewReno",
    "ETEN": "ETEN",
    "BEEN": "BEEN",
    "BEEN in bits": "BEEN in bits",
    "BEEN with ISLs": "BEEN in bits, ISLs report",
}


def _values(results: pl.DataFrame, metric: str, errors: str, scheme: str, *, column: str = "ours") -> dict[int, float]:
    rows = results.filter(
        (pl.col("metric") == metric) & (pl.col("errors") == errors) & (pl.col("scheme") == scheme)
    ).to_dicts()
    return {int(row["size"].removesuffix(" B")): float(row[column] or 0.0) for row in rows}


@study_figure(
    section=ERRORS_SECTION,
    title="Share of packets that survive, by the closed formula",
    answers="“bit error rate” in sections 2 and 5",
    caption="Lines: errors per byte; dotted: the same rates per bit. Diamonds: what the paper prints at 1e-3. A packet "
    "of 80 B would survive 1e-2 per bit once in 620.",
)
@style.in_house_style
def survival() -> Figure:
    drawn, (panel,) = style.blank()
    sizes = list(range(50, 1541, 5))
    for number, (name, rate) in enumerate(RATES.items()):
        stroke = style.STROKES[number]
        per_byte = [100 * math.exp(size * math.log1p(-rate)) for size in sizes]
        per_bit = [100 * math.exp(8 * size * math.log1p(-rate)) for size in sizes]
        panel.plot(sizes, per_byte, color=stroke.colour, label=name)
        panel.plot(sizes, per_bit, color=stroke.colour, linestyle=(0, (1, 2)))
    printed = [100 * share for share in PRINTED_AT_1E3.values()]
    panel.plot(list(PRINTED_AT_1E3), printed, "D", markersize=6, markerfacecolor=style.PAPER,
               markeredgecolor=style.INK, markeredgewidth=1.2, label="paper, 1e-3")  # fmt: skip
    panel.set_xscale("log")
    panel.set_xticks(SIZES, [str(size) for size in SIZES])
    panel.minorticks_off()
    panel.set_xlabel(SIZE_AXIS)
    panel.set_ylabel("Packets that survive (%)")
    panel.set_ylim(0, 100)
    style.legend_above(panel, columns=2)
    return drawn


@study_figure(
    section=ERRORS_SECTION, title="TCP efficiency of NewReno", answers="Figure 2",
    caption="Lines: ours, means with their 95 % intervals; crosses: ns-2; diamonds: the paper's text.",
)  # fmt: skip
@style.in_house_style
def tcp_efficiency(results: pl.DataFrame) -> Figure:
    drawn, (panel,) = style.blank()
    for number, errors in enumerate(RATES):
        stroke = style.STROKES[number]
        ours = _values(results, "tcp_efficiency", errors, "NewReno")
        halves = _values(results, "tcp_efficiency", errors, "NewReno", column="interval")
        panel.errorbar(SIZES, [ours[size] for size in SIZES], yerr=[halves[size] for size in SIZES],
                       color=stroke.colour, linestyle=stroke.dash, marker=stroke.marker, markerfacecolor=style.PAPER,
                       elinewidth=0.8, capsize=2.0, label=errors)  # fmt: skip
    rows = results.filter((pl.col("metric") == "tcp_efficiency") & (pl.col("scheme") == "NewReno"))
    for source, symbol, label in (("ns2", "x", "ns-2"), ("paper", "D", "paper")):
        known = rows.filter(pl.col(source).is_not_null() & pl.col("errors").is_in(list(RATES)))
        sizes = [int(size.removesuffix(" B")) for size in known["size"]]
        panel.plot(sizes, known[source].to_list(), symbol, markersize=6, markerfacecolor=style.PAPER,
                   markeredgecolor=style.INK, markeredgewidth=1.2, label=label)  # fmt: skip
    panel.set_xscale("log")
    panel.set_xticks(SIZES, [str(size) for size in SIZES])
    panel.minorticks_off()
    panel.set_xlabel(SIZE_AXIS)
    panel.set_ylabel("TCP efficiency (%)")
    panel.set_ylim(0, 100)
    style.legend_above(panel, columns=3)
    return drawn


@style.in_house_style
def _by_scheme(
    results: pl.DataFrame, metric: str, axis: str, *, log: bool = False, rates: list[str] | None = None
) -> Figure:
    """One panel per error rate, one line per scheme with 95 % intervals, the packet size across."""
    rates = rates or list(RATES)
    drawn, panels = style.blank(height=1.3 + 1.7 * len(rates), rows=len(rates), share_x=True)
    for panel, errors in zip(panels, rates, strict=True):
        for number, scheme in enumerate(SCHEMES):
            stroke = style.STROKES[number]
            ours = _values(results, metric, errors, scheme)
            if not ours:
                continue
            halves = _values(results, metric, errors, scheme, column="interval")
            shown = [ours[size] if not log or ours[size] > LEAST_KBPS else math.nan for size in SIZES]
            # A logarithmic axis has no place for an interval that reaches 0.
            lower = [min(halves[size], 0.9 * ours[size]) if log else halves[size] for size in SIZES]
            panel.errorbar(SIZES, shown, yerr=[lower, [halves[size] for size in SIZES]], color=stroke.colour,
                           linestyle=stroke.dash, marker=stroke.marker, markerfacecolor=style.PAPER,
                           elinewidth=0.8, capsize=2.0, label=scheme)  # fmt: skip
        panel.annotate(errors, (1.02, 0.5), xycoords="axes fraction", rotation=270, va="center", fontsize=9)
        panel.set_xscale("log")
        if log:
            panel.set_yscale("log")
            panel.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        else:
            panel.set_ylim(bottom=0)
    panels[-1].set_xticks(SIZES, [str(size) for size in SIZES])
    panels[-1].minorticks_off()
    panels[-1].set_xlabel(SIZE_AXIS + "; of BEEN the largest one")
    drawn.supylabel(axis, fontsize=9.5)
    style.legend_above(panels[0], columns=2)
    return drawn


@study_figure(
    section=SCHEMES_SECTION, title="Throughput by scheme", answers="Figures 4 to 6, throughput",
    caption="All bits that arrive, headers and repetitions among them; means over ten seeds (NewReno "
    "sixty) with 95 % intervals. The axis is logarithmic. NewReno and split lie upon each other.",
)  # fmt: skip
def throughput(results: pl.DataFrame) -> Figure:
    return _by_scheme(results, "throughput", "Throughput (kbit/s)", log=True)


@study_figure(
    section=SCHEMES_SECTION, title="Goodput by scheme", answers="Figures 4 to 6, goodput",
    caption="As above, user data that arrives for the first time; below 0.01 kbit/s nothing is drawn.",
)  # fmt: skip
def goodput(results: pl.DataFrame) -> Figure:
    return _by_scheme(results, "goodput", "Goodput (kbit/s)", log=True)


@study_figure(
    section=SCHEMES_SECTION, title="Bytes delivered by scheme", answers="Figures 4 to 6, bytes delivered",
    caption="User data that arrives in 200 s. SaTPEP runs for 40 s and is left out; its goodput is above.",
)  # fmt: skip
def delivered(results: pl.DataFrame) -> Figure:
    return _by_scheme(results, "delivered", "Delivered (kB)", log=True)


@study_figure(
    section=SCHEMES_SECTION, title="Information efficiency by scheme", answers="Figures 4 to 6, information efficiency",
    caption="Means over ten seeds (NewReno sixty) with their 95 % intervals.",
)  # fmt: skip
def information_efficiency(results: pl.DataFrame) -> Figure:
    return _by_scheme(results, "information_efficiency", "Information efficiency (%)")


@study_figure(
    section=SCHEMES_SECTION, title="TCP efficiency by scheme", answers="Figures 4 to 6, TCP efficiency",
    caption="As above; with a proxy of the connection that begins there.",
)  # fmt: skip
def efficiency_by_scheme(results: pl.DataFrame) -> Figure:
    return _by_scheme(results, "tcp_efficiency", "TCP efficiency (%)")


@study_figure(
    section=SCHEMES_SECTION, title="Overhead by scheme at 1e-4", answers="Figure 6, overhead percentage",
    caption="Bytes of headers sent for each 100 B of user data that arrive. The paper does not define its percentage.",
)  # fmt: skip
def overhead(results: pl.DataFrame) -> Figure:
    return _by_scheme(results, "overhead", "Overhead (%)", rates=["1e-4 per byte"])


@study_figure(
    section=GROWTH_SECTION, title="Congestion window", answers="sections 5.3.1 to 5.3.3: growth of CWND",
    caption="Packets of 1540 B at most, seed 1; SaTPEP runs for 40 s. A sender uses 20 segments of its window.",
)  # fmt: skip
@style.in_house_style
def window(flow_series: pl.DataFrame) -> Figure:
    drawn, panels = style.blank(height=6.4, rows=len(RATES), share_x=True)
    first = flow_series.filter((pl.col("seed") == 1) & (pl.col("flow") == "ftp") & (pl.col("size") == "1540 B"))
    for panel, errors in zip(panels, RATES, strict=True):
        for number, scheme in enumerate(SCHEMES):
            stroke = style.STROKES[number]
            line = first.filter((pl.col("errors") == errors) & (pl.col("scheme") == scheme)).sort("time_s")
            panel.plot(line["time_s"].to_numpy(), line["cwnd"].to_numpy(), color=stroke.colour,
                       linestyle=stroke.dash, linewidth=1.1, label=scheme)  # fmt: skip
        panel.annotate(errors, (1.02, 0.5), xycoords="axes fraction", rotation=270, va="center", fontsize=9)
        panel.set_ylim(bottom=0)
    panels[-1].set_xlim(0, 200)
    panels[-1].set_xlabel("Time (s)")
    drawn.supylabel("Congestion window (segments)", fontsize=9.5)
    style.legend_above(panels[0], columns=3)
    return drawn


@study_figure(
    section=GROWTH_SECTION, title="Packet size that follows the estimate", answers="section 4.1.2: fluctuations",
    caption="Each packet that BEEN sends, seed 1, by how many packets make a sample of the error rate; dashes: "
    "equation 1 for the channel's rate. Without the average one sample without a loss makes full packets.",
)  # fmt: skip
@style.in_house_style
def sizes(packets: pl.DataFrame) -> Figure:
    rates = ["1e-3 per byte", "1e-4 per byte"]
    drawn, panels = style.blank(height=4.6, rows=len(rates), share_x=True)
    sent = packets.filter((pl.col("seed") == 1) & (pl.col("flow") == "ftp") & (pl.col("event") == "enq"))
    for panel, errors in zip(panels, rates, strict=True):
        # The most scattered one lies behind the others.
        for number, (scheme, label) in sorted(enumerate(ESTIMATES.items()), key=lambda one: one[0] != 1):
            stroke = style.STROKES[number]
            line = sent.filter((pl.col("errors") == errors) & (pl.col("scheme") == scheme)).sort("time_s")
            panel.plot(line["time_s"].to_numpy(), line["size_bytes"].to_numpy(), color=stroke.colour,
                       linestyle="none", marker=stroke.marker, markersize=2.2, markeredgewidth=0,
                       rasterized=True, label=label)  # fmt: skip
        panel.axhline(max(math.sqrt(8 * 40 / RATES[errors]) / 8, 80), color=style.INK, linestyle=(0, (5, 3)),
                      linewidth=0.9)  # fmt: skip
        panel.annotate(errors, (1.02, 0.5), xycoords="axes fraction", rotation=270, va="center", fontsize=9)
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    panels[-1].set_xlim(0, 100)
    panels[-1].set_xlabel("Time (s)")
    drawn.supylabel("Packet (B)", fontsize=9.5)
    style.legend_above(panels[0], columns=2)
    return drawn


def _at_1540(results: pl.DataFrame, metric: str, errors: str) -> dict[str, float]:
    rows = results.filter(
        (pl.col("metric") == metric) & (pl.col("errors") == errors) & (pl.col("size") == "1540 B")
    ).to_dicts()
    return {row["scheme"]: float(row["ours"]) for row in rows}


@style.in_house_style
def _dots(series: dict[str, dict[str, float]], rows: dict[str, str], axis: str, *, log: bool, height: float) -> Figure:
    """One line per scheme from above, one marker per series across; values close to nothing are left out."""
    drawn, (panel,) = style.blank(height=height)
    for number, (label, values) in enumerate(series.items()):
        stroke = style.STROKES[number]
        found = [(values[name], place) for place, name in enumerate(rows) if values.get(name, 0.0) > LEAST_KBPS]
        panel.plot([value for value, _ in found], [place for _, place in found], stroke.marker, color=stroke.colour,
                   markersize=6, markerfacecolor=style.PAPER, markeredgewidth=1.4, label=label)  # fmt: skip
    panel.set_yticks(range(len(rows)), list(rows.values()))
    panel.invert_yaxis()
    if log:
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    else:
        panel.set_xlim(left=0)
    panel.set_xlabel(axis)
    style.legend_above(panel, columns=2, right=True)
    return drawn


@study_figure(
    section=RELATIVES_SECTION, title="Goodput of the relatives", answers="sections 1 and 3, related works",
    caption="Packets of 1540 B, means over ten seeds (NewReno sixty). The axis is logarithmic; below 0.01 kbit/s "
    "nothing is drawn. With a code all three lie upon each other.",
)  # fmt: skip
def relatives(results: pl.DataFrame) -> Figure:
    series = {errors: _at_1540(results, "goodput", errors) for errors in RATES}
    return _dots(series, RELATIVES, "Goodput (kbit/s)", log=True, height=3.8)


@study_figure(
    section=OPEN_ENDS_SECTION, title="Information efficiency by what a size is best for",
    answers="section 6: “deterministic” and “probabilistic”", caption="Packets of 1540 B at most, means of 10 seeds.",
)  # fmt: skip
def best_size(results: pl.DataFrame) -> Figure:
    series = {errors: _at_1540(results, "information_efficiency", errors) for errors in RATES}
    return _dots(series, SIZINGS, "Information efficiency (%)", log=False, height=2.4)


@study_figure(
    section=OPEN_ENDS_SECTION, title="Goodput with errors between satellites", answers="section 6: errors on ISLs",
    caption="1e-4 per byte on the uplink, with and without 1e-5 on each inter-satellite link; packets of 1540 B, means "
    "over ten seeds.",
)  # fmt: skip
def between_satellites(results: pl.DataFrame) -> Figure:
    quiet = _at_1540(results, "goodput", "1e-4 per byte")
    # Where ISLs make no errors there is nothing of them to report.
    quiet["BEEN with ISLs"] = quiet["BEEN in bits"]
    series = {"uplink alone": quiet, "ISLs, too": _at_1540(results, "goodput", "1e-4 and ISLs")}
    return _dots(series, BETWEEN_SATELLITES, "Goodput (kbit/s)", log=False, height=2.8)
