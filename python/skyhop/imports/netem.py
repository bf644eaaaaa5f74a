"""Commands of tc-netem(8) with `sleep` between them, as scripts have them that replay a link.

`delay` and `loss` of a command are 0 unless it says them, its `limit` 1000, and `rate` stays, as in the kernel's
`netem_change` (net/sched/sch_netem.c): the first three are in the structure that each command sends (tc fills it with a
limit of 1000), the rate is an attribute.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skyhop import durations
from skyhop.imports.draft import DURATION_S, Draft, ImportProblem, Wanted, link, one_or_two, seconds, text_of

#: Units of tc(8): bits per second have "bit", bytes per second "bps"; a time without a unit is in microseconds.
_RATES = {"": 1.0, "bit": 1.0, "bps": 8.0}
_PREFIXES = {
    "": 1.0,
    "k": 1e3,
    "m": 1e6,
    "g": 1e9,
    "t": 1e12,
    "ki": 2.0**10,
    "mi": 2.0**20,
    "gi": 2.0**30,
    "ti": 2.0**40,
}
_TIMES = {
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "ms": 1e-3,
    "msec": 1e-3,
    "msecs": 1e-3,
    "us": 1e-6,
    "usec": 1e-6,
    "usecs": 1e-6,
}
_SLEEPS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

#: What netem can do and a recording of a link cannot say.
_BEYOND = {
    "jitter", "distribution", "corrupt", "duplicate", "reorder", "gap", "ecn", "slot", "state", "gemodel", "seed",
}  # fmt: skip


@dataclass(frozen=True)
class _Setting:
    rate_bps: float | None = None
    delay_s: float = 0.0
    loss: float = 0.0
    packets: int = 1000


def read(sources: Sequence[Path], wanted: Wanted) -> Draft:
    """A link that is set as the commands set it."""
    one_or_two(sources, "netem")
    scripts = [_script(path) for path in sources]
    has_rate = {any(setting.rate_bps is not None for _, setting in steps) for steps, _ in scripts}
    if len(has_rate) > 1:
        raise ImportProblem(f"{sources[0]} and {sources[1]}: one sets a rate and the other does not")
    files, traces, packets = {}, [], set()
    ends = [end_s if end_s > steps[-1][0] else steps[-1][0] + DURATION_S for steps, end_s in scripts]
    duration_s = max(ends)
    if wanted.duration is not None and (wanted_s := durations.seconds(wanted.duration)) > duration_s:
        # The last command holds on.
        duration_s = wanted_s
    for path, (steps, _), name in zip(sources, scripts, ("up.csv", "down.csv"), strict=False):
        columns = ["time_s", *(["rate_bps"] if True in has_rate else []), "delay_s", "loss"]
        lines = [",".join(columns)]
        for at, one in steps:
            if True in has_rate and one.rate_bps is None:
                raise ImportProblem(f"{path}: the first command sets no rate, and a later one does")
            rate = [f"{one.rate_bps:.12g}"] if one.rate_bps is not None else []
            lines.append(",".join([f"{at:.9f}", *rate, f"{one.delay_s:.12g}", f"{one.loss:.12g}"]))
            packets.add(one.packets)
        files[name] = "\n".join(lines) + "\n"
        # The last command of a shorter script holds on.
        traces.append({"table": name, "period": seconds(duration_s)})
    if len(packets) > 1:
        raise ImportProblem(
            "the limit of the queue changes from one command to another, which a scenario cannot say; a command "
            "without a limit sets 1000"
        )
    extra = {"queue": {"drop_tail": {"packets": packets.pop()}}}
    notes = (
        "netem's limit counts packets that wait for their delay; the queue of this link counts waiting packets only.",
    )
    needs = set() if True in has_rate else {"rate"}
    return link(traces, wanted, needs=needs, files=files, duration_s=duration_s, notes=notes, extra=extra)


def _script(path: Path) -> tuple[list[tuple[float, _Setting]], float]:
    """When the link is set to what, and when the script ends, in s."""
    now_s = 0.0
    setting = _Setting()
    steps: list[tuple[float, _Setting]] = []
    devices: set[str] = set()
    places: set[str] = set()
    for number, line in enumerate(text_of(path).splitlines(), 1):
        where = f"{path}, line {number}"
        for part in line.split(";"):
            try:
                words = shlex.split(part, comments=True)
            except ValueError as error:
                raise ImportProblem(f"{where}: {error}") from None
            words = words[1:] if words[:1] == ["sudo"] else words
            if not words:
                continue
            if words[0] == "sleep" and len(words) == 2:
                now_s += _number(words[1], _SLEEPS, where)
            elif words[:2] == ["tc", "qdisc"] and "netem" in words and words[2:3] != ["del"]:
                devices |= {after for before, after in itertools.pairwise(words) if before == "dev"}
                if len(devices) > 1:
                    raise ImportProblem(
                        f"{where}: the commands are for {' and '.join(sorted(devices))}: give each device a file of "
                        "its own, the one up and the other down"
                    )
                head = words[: words.index("netem")]
                places |= {"root"} & set(head)
                places |= {f"parent {after}" for before, after in itertools.pairwise(head) if before == "parent"}
                if len(places) > 1:
                    raise ImportProblem(
                        f"{where}: one netem stands at {' and another at '.join(sorted(places))}, whose delays and "
                        "losses add up: write one command that says both"
                    )
                setting = _set(words[words.index("netem") + 1 :], setting, where)
                if steps and steps[-1][0] == now_s:
                    steps.pop()
                steps.append((now_s, setting))
            else:
                raise ImportProblem(
                    f"{where}: {part.strip()[:60]!r} is neither a tc qdisc command of netem nor a sleep"
                )
    if not steps or steps[0][0] > 0:
        raise ImportProblem(f"{path}: no tc qdisc command of netem before the first sleep")
    return steps, now_s


def _set(words: list[str], before: _Setting, where: str) -> _Setting:
    made = _Setting(rate_bps=before.rate_bps)
    at = 0

    def value() -> str:
        nonlocal at
        at += 1
        if at >= len(words):
            raise ImportProblem(f"{where}: {words[-1]!r} needs a value")
        return words[at]

    while at < len(words):
        word = words[at]
        if word in ("delay", "latency"):
            made = replace(made, delay_s=_time(value(), where))
            if at + 1 < len(words) and re.match(r"[0-9.]", words[at + 1]):
                raise ImportProblem(
                    f"{where}: jitter ({words[at + 1]}) draws a delay for each packet, which no recording of a link "
                    "says: leave it out"
                )
        elif word == "rate":
            made = replace(made, rate_bps=_rate(value(), where))
        elif word in ("loss", "drop"):
            share = value()
            share = value() if share == "random" else share
            if share in _BEYOND:
                raise ImportProblem(f"{where}: loss {share} cannot be said by a recording of a link: leave it out")
            made = replace(made, loss=_number(share.rstrip("%"), {"": 1e-2}, where))
            if at + 1 < len(words) and re.match(r"[0-9.]", words[at + 1]):
                raise ImportProblem(f"{where}: correlated loss cannot be said by a recording of a link: leave it out")
        elif word == "limit":
            made = replace(made, packets=int(_number(value(), {"": 1.0}, where)))
        elif word in _BEYOND:
            raise ImportProblem(f"{where}: {word} cannot be said by a recording of a link: leave it out")
        else:
            raise ImportProblem(f"{where}: {word!r} is not known here; known are delay, rate, loss and limit")
        at += 1
    return made


def _number(text: str, units: dict[str, float], where: str) -> float:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([a-z]*)", text.lower())
    if match is None or match[2] not in units:
        raise ImportProblem(f"{where}: {text!r} is not a number with one of the units {', '.join(filter(None, units))}")
    return float(match[1]) * units[match[2]]


def _time(text: str, where: str) -> float:
    return _number(text, {"": 1e-6, **_TIMES}, where)


def _rate(text: str, where: str) -> float:
    units = {
        prefix + unit: factor * size for prefix, factor in _PREFIXES.items() for unit, size in _RATES.items() if unit
    }
    return _number(text, {"": 1.0, **units}, where)
