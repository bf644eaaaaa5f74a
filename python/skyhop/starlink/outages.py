"""Long outages in round trips: losses in a row over a second or more, longer than independent losses make them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skyhop.starlink.in_flight import CLAIMED
from skyhop.starlink.measuring import FIRST_S, SLOT_S, Bools, by_the_clock
from skyhop.starlink.recordings import Floats, Recording

#: Losses in a row that left within less time than this, s, do not count: edges and limits on answers make such rows.
LEAST_S = 1.0

#: Losses in a row over more than this, s, do not come from the link's slots, which cannot hold them: a dish restarts,
#: or the far end is away.
MOST_S = 2 * SLOT_S

#: Within this time of an edge, s, the probability of a loss is that of losses near edges.
_NEAR_S = 0.75

#: Least logarithm of the likelihood that outages begin with edges over that of a start anywhere, for a claim. Where
#: they begin anywhere, the mean of this ratio is at most 1, so it reaches 100 in at most one of 100 recordings, however
#: many outages there are (Markov's inequality).
AT_EDGES = math.log(100.0)

#: Probability that an outage which begins with an edge seems to begin elsewhere, because of a loss by chance before it.
_ELSEWHERE = 0.05

#: Largest difference between the recording's clock and the edges, s.
_CLOCK_S = 0.1

#: An outage tells nothing if an edge falls among its possible begins with more than this probability in any case.
_TELLS = 1 - 2 * _ELSEWHERE

#: The most quantiles that are written: enough for outages in one of 650 slots.
_QUANTILES = 1001

#: Shares of outages among the rows of losses, of which the most likely one is taken; the first is 0.
_SHARES = np.concatenate([[0.0], np.geomspace(1e-3, 0.999, 200)])


@dataclass(frozen=True)
class Row:
    """Losses in a row."""

    first: int
    """Index of the first in the recording."""
    count: int
    least_s: float
    """From the first that was lost to the last."""
    most_s: float
    """From the answer before to the answer after."""
    chance: float
    """Logarithm of the probability that as many independent losses follow the first, and then an answer."""
    begin_s: tuple[float, float] = (0.0, 0.0)
    """The outage begins between these times, by the recording's clock."""

    @property
    def length_s(self) -> float:
        """Midway between `least_s` and `most_s`, and no more than a slot."""
        return min((self.least_s + self.most_s) / 2, SLOT_S)


@dataclass(frozen=True)
class Outages:
    """The long outages of recordings; empty where none is claimed."""

    rows: tuple[tuple[Row, ...], ...]
    """Rows that are outages, of each recording."""
    away: tuple[tuple[Row, ...], ...]
    """Losses in a row over more than two slots, of each recording."""
    slots: int
    """Number of slots in which a ping left."""

    @property
    def lengths_s(self) -> Floats:
        """The lengths of all outages in ascending order."""
        return np.sort(np.array([row.length_s for rows in self.rows for row in rows]))

    @property
    def between_s(self) -> tuple[float, float]:
        """The shortest and the longest time that any outage may have taken, at most a slot. Needs an outage."""
        every = [row for rows in self.rows for row in rows]
        return min(row.least_s for row in every), min(max(row.most_s for row in every), SLOT_S)

    @property
    def share(self) -> float:
        """Share of the slots that have an outage."""
        return min(self.lengths_s.size / max(self.slots, 1), 1.0)

    def interval(self) -> tuple[float, float]:
        """The 90 % interval of `share`, of a Poisson count (Garwood, Biometrika 28, 1936)."""
        count = self.lengths_s.size
        low = _mean_with(count - 1, 0.95) if count else 0.0
        return low / self.slots, min(_mean_with(count, 0.05) / self.slots, 1.0)

    @property
    def at_edges(self) -> bool:
        """Whether outages begin with edges. A false claim comes in at most one of 100 recordings.

        An outage lies within its slot. If it begins anywhere there, the probability that an edge falls among its
        possible begins (`begin_s`) is at most their length over 15 s less the length of the outage.
        """
        ratio = 0.0
        for row in (row for rows in self.rows for row in rows):
            first, last = (time_s - FIRST_S for time_s in row.begin_s)
            # With the longest length that is possible, the probability is the largest one.
            by_chance = (last - first) / max(SLOT_S - row.most_s, 1e-9)
            if by_chance > _TELLS:
                continue
            is_at_edge = math.floor(last / SLOT_S) > math.floor(first / SLOT_S)
            ratio += math.log((1 - _ELSEWHERE) / by_chance if is_at_edge else _ELSEWHERE / (1 - by_chance))
        return ratio >= AT_EDGES

    def lost(self, place: int, size: int) -> Bools:
        """Marks the pings of recording `place`, `size` in number, that an outage lost or one of the rows `away`."""
        found = np.zeros(size, dtype=bool)
        for row in (*self.rows[place], *self.away[place]):
            found[row.first : row.first + row.count] = True
        return found

    def quantiles_s(self) -> tuple[float, ...]:
        """Evenly spaced quantiles of the time per slot for `obstructed`: zeros, the shortest and the longest length.

        The number of zeros is that which comes nearest to the outages' mean time per slot; a straight line leads from
        the last 0 to the shortest length. Empty without outages, and where they are too rare for `_QUANTILES`.
        """
        lengths = self.lengths_s
        if not lengths.size:
            return ()
        low, high, mean = float(lengths[0]), float(lengths[-1]), float(lengths.mean()) * self.share
        # With n zeros the mean is this area, of the rises to `low` and to `high`, times the spacing, 1 / (n + 1);
        # without zeros it is (low + high) / 2.
        area = low + high / 2
        spaces = round(area / mean)
        if spaces >= _QUANTILES:
            return ()
        zeros = max(spaces - 1, 1)
        if abs((low + high) / 2 - mean) < abs(area / (zeros + 1) - mean):
            zeros = 0
        return (*(0.0,) * zeros, round(low, 1), round(high, 1))


def outages(recordings: Sequence[Recording], *, claimed: float = CLAIMED) -> Outages:
    """The long outages of recordings of one link.

    A row of losses is either chance or an outage. By chance a row goes on with the probability of a loss, near edges
    with that of losses there. The logarithm of an outage's length is equally likely between those of a second and of a
    slot. Outages are claimed where a mixture of both raises the logarithm of the likelihood over that of chance alone
    by `claimed`; a row then is an outage where that is more likely than chance. Rows at equal distances in time, as a
    limit on answers makes them, do not count unless they are twice as long as the others.
    """
    each = [_rows(one) for one in recordings]
    away = tuple(tuple(row for row in rows if row.least_s > MOST_S) for rows in each)
    within = [[row for row in rows if row.least_s <= MOST_S] for rows in each]
    slots = sum(np.unique(np.floor((one.sent_s - FIRST_S) / SLOT_S)).size for one in recordings)
    every = [row for rows in within for row in rows]
    none = Outages(tuple(() for _ in recordings), away, slots)
    if not every:
        return none
    ratio = np.exp(np.minimum([_gain(row) for row in every], 600.0))
    sums = np.log1p(_SHARES[:, None] * (ratio - 1)).sum(axis=1)
    best = int(np.argmax(sums))
    if sums[best] < claimed:
        return none
    share = float(_SHARES[best])
    return Outages(
        tuple(tuple(row for row in rows if share * math.exp(min(_gain(row), 600.0)) > 1 - share) for rows in within),
        away,
        slots,
    )


def _gain(row: Row) -> float:
    """Logarithm of the likelihood ratio of an outage to chance."""
    if row.least_s < LEAST_S:
        return -600.0
    within = max(math.log(min(row.most_s, SLOT_S) / min(row.least_s, SLOT_S)), 1e-3) / math.log(SLOT_S / LEAST_S)
    return math.log(min(within, 1.0)) - row.chance


def _rows(recording: Recording) -> list[Row]:
    """Losses in a row with an answer before and one after, without those at equal distances in time."""
    sent, lost = recording.sent_s, np.isnan(recording.rtt_ms)
    change = np.diff(np.concatenate([[False], lost, [False]]).astype(int))
    begins, ends = np.nonzero(change == 1)[0], np.nonzero(change == -1)[0]
    # A row counts as one loss, so that an outage does not raise the probability of a loss elsewhere.
    once = np.zeros(lost.size, dtype=bool)
    once[begins] = True
    others = ~lost | once
    clocked = np.zeros(lost.size, dtype=bool)
    clocked[others] = by_the_clock(Recording(recording.name, sent[others], recording.rtt_ms[others]))
    phase = (sent - FIRST_S) % SLOT_S
    near = (phase < _NEAR_S) | (phase >= SLOT_S - _NEAR_S)
    chance = np.empty(lost.size)
    for where in (near, ~near):
        counted = where & others
        chance[where] = (np.count_nonzero(once & where) + 0.5) / (np.count_nonzero(counted) + 1.0)
    by_clock = clocked[begins]
    # An outage may fall among losses at equal distances, whose rows are about equally long.
    usual = 2 * float(np.percentile((ends - begins)[by_clock], 90)) if by_clock.any() else 0.0
    # An outage also loses the ping in flight, so it may begin as late as a round trip after that left.
    under_way_s = 1e-3 * float(np.nanmedian(recording.rtt_ms)) if not lost.all() else 0.0
    found = []
    for begin, end in zip(begins, ends, strict=True):
        if begin == 0 or end == lost.size or (clocked[begin] and end - begin <= usual):
            continue
        found.append(
            Row(
                int(begin), int(end - begin), float(sent[end - 1] - sent[begin]), float(sent[end] - sent[begin - 1]),
                float(np.log(chance[begin + 1 : end]).sum() + math.log1p(-chance[end])),
                (float(sent[begin - 1]) - _CLOCK_S, float(sent[begin]) + under_way_s + _CLOCK_S),
            )
        )  # fmt: skip
    return found


def _mean_with(count: int, share: float) -> float:
    """Mean of the Poisson distribution with the probability `share` of `count` or fewer, by bisection."""
    low, high = 0.0, 10.0 * count + 20.0
    for _ in range(60):
        middle = (low + high) / 2
        terms = np.arange(count + 1)
        logs = terms * math.log(middle) - middle - np.cumsum(np.log(np.maximum(terms, 1)))
        below = float(np.exp(logs).sum())
        low, high = (middle, high) if below > share else (low, middle)
    return (low + high) / 2
