"""Long outages in round trips: losses in a row over a second or more, which losses of their own do not make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skyhop.starlink.in_flight import CLAIMED
from skyhop.starlink.measuring import FIRST_S, SLOT_S, Bools, by_the_clock
from skyhop.starlink.recordings import Floats, Recording

#: Losses in a row that left within less than this, s, do not count: an edge, or a limit on answers, makes such.
LEAST_S = 1.0

#: Losses in a row over more than this, s, are none of the link's slots: a dish that restarts, or a far end that is
#: away. No slot can hold them.
MOST_S = 2 * SLOT_S

#: Losses that leave so near to an edge, s, are as likely as those near edges are.
_NEAR_S = 0.75

#: That outages begin with edges is claimed where it is so many times as likely (by the logarithm) as that they begin
#: anywhere. If they do, a ratio of 100 comes in at most one of 100 recordings, whatever their number: its mean is at
#: most 1 (Markov's inequality).
AT_EDGES = math.log(100.0)

#: An outage that begins with an edge is seen to begin elsewhere with this probability: a loss by chance before it.
_ELSEWHERE = 0.05

#: Clocks and edges agree to so much, s.
_CLOCK_S = 0.1

#: Outages that would show an edge with a greater probability, wherever they begin, do not count.
_TELLS = 1 - 2 * _ELSEWHERE

#: The most quantiles that are written: enough for an outage in one of 650 slots.
_QUANTILES = 1001

#: Shares of the rows of losses that are looked at; the first is 0.
_SHARES = np.concatenate([[0.0], np.geomspace(1e-3, 0.999, 200)])


@dataclass(frozen=True)
class Row:
    """Losses in a row."""

    first: int
    """Place of the first in the recording."""
    count: int
    least_s: float
    """From the first that was lost to the last."""
    most_s: float
    """From the answer before to the answer after."""
    chance: float
    """Logarithm of the probability that losses of their own go on as long after the first, and then end."""
    begin_s: tuple[float, float] = (0.0, 0.0)
    """It begins after this time and before that one, by the recording's clock."""

    @property
    def length_s(self) -> float:
        """The middle of what the answers around it allow, and no more than a slot."""
        return min((self.least_s + self.most_s) / 2, SLOT_S)


@dataclass(frozen=True)
class Outages:
    """The long outages of recordings; none where none is claimed."""

    rows: tuple[tuple[Row, ...], ...]
    """Those of each recording."""
    away: tuple[tuple[Row, ...], ...]
    """Losses in a row over more than two slots, of each recording."""
    slots: int
    """Slots in which a round trip left."""

    @property
    def lengths_s(self) -> Floats:
        """The lengths of all, the shortest first."""
        return np.sort(np.array([row.length_s for rows in self.rows for row in rows]))

    @property
    def between_s(self) -> tuple[float, float]:
        """The least that the shortest took, and the most that the longest took or a slot holds."""
        every = [row for rows in self.rows for row in rows]
        return min(row.least_s for row in every), min(max(row.most_s for row in every), SLOT_S)

    @property
    def share(self) -> float:
        """Outages over slots."""
        return min(self.lengths_s.size / max(self.slots, 1), 1.0)

    def interval(self) -> tuple[float, float]:
        """The 90 % interval of `share`, of a Poisson count (Garwood, Biometrika 28, 1936)."""
        count = self.lengths_s.size
        low = _mean_with(count - 1, 0.95) if count else 0.0
        return low / self.slots, min(_mean_with(count, 0.05) / self.slots, 1.0)

    @property
    def at_edges(self) -> bool:
        """Whether they begin with edges, claimed falsely in at most one of 100 recordings in which they begin anywhere.

        Wherever an outage begins, it lies within its slot. What the answers around it leave open of its begin is then
        as long a part of the times at which it could begin as there is a probability that an edge falls into it.
        """
        ratio = 0.0
        for row in (row for rows in self.rows for row in rows):
            first, last = (time_s - FIRST_S for time_s in row.begin_s)
            # The longest that it may last leaves the fewest times for its begin.
            by_chance = (last - first) / max(SLOT_S - row.most_s, 1e-9)
            if by_chance > _TELLS:
                continue
            is_at_edge = math.floor(last / SLOT_S) > math.floor(first / SLOT_S)
            ratio += math.log((1 - _ELSEWHERE) / by_chance if is_at_edge else _ELSEWHERE / (1 - by_chance))
        return ratio >= AT_EDGES

    def lost(self, place: int, size: int) -> Bools:
        """Which round trips of a recording of such a size an outage lost, or something that was away."""
        found = np.zeros(size, dtype=bool)
        for row in (*self.rows[place], *self.away[place]):
            found[row.first : row.first + row.count] = True
        return found

    def quantiles_s(self) -> tuple[float, ...]:
        """Quantiles of the time per slot for `obstructed`, evenly spaced; empty without outages, and for too rare ones.

        A straight line leads from the last 0 to the least length, so the spacing is such that the mean time per slot is
        that of the outages.
        """
        lengths = self.lengths_s
        if not lengths.size:
            return ()
        low, high, mean = float(lengths[0]), float(lengths[-1]), float(lengths.mean()) * self.share
        # The mean of what lies above the zeros, as a multiple of the spacing: a rise to low, and then to high.
        spaces = max(round((low + high / 2) / mean), 1)
        if spaces >= _QUANTILES:
            return ()
        return (*(0.0,) * max(spaces - 1, 1), round(low, 1), round(high, 1))


def outages(recordings: Sequence[Recording], *, claimed: float = CLAIMED) -> Outages:
    """The long outages of recordings of one link.

    A row of losses is chance, whose losses go on by themselves, near edges as often as there, or an outage, of which
    all lengths from a second to a slot are as likely by their logarithm. Outages are claimed where the likelihood of
    both exceeds that of chance alone by so much; then a row is one where that is more likely than chance. Rows that
    come by the clock do not count, unless they are twice as long as others of these.
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
    """The logarithm of the likelihood of an outage over that of chance."""
    if row.least_s < LEAST_S:
        return -600.0
    within = max(math.log(min(row.most_s, SLOT_S) / min(row.least_s, SLOT_S)), 1e-3) / math.log(SLOT_S / LEAST_S)
    return math.log(min(within, 1.0)) - row.chance


def _rows(recording: Recording) -> list[Row]:
    """Losses in a row with an answer before and one after, but those that come by the clock."""
    sent, lost = recording.sent_s, np.isnan(recording.rtt_ms)
    change = np.diff(np.concatenate([[False], lost, [False]]).astype(int))
    begins, ends = np.nonzero(change == 1)[0], np.nonzero(change == -1)[0]
    # A row counts once: a recording with an outage loses no more elsewhere.
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
    # An outage may come between losses by the clock, which are all about as long.
    usual = 2 * float(np.percentile((ends - begins)[by_clock], 90)) if by_clock.any() else 0.0
    # A round trip that is under way is lost, too.
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
    """The mean of a Poisson distribution that has so much of its probability at `count` and below."""
    low, high = 0.0, 10.0 * count + 20.0
    for _ in range(60):
        middle = (low + high) / 2
        terms = np.arange(count + 1)
        logs = terms * math.log(middle) - middle - np.cumsum(np.log(np.maximum(terms, 1)))
        below = float(np.exp(logs).sum())
        low, high = (middle, high) if below > share else (low, middle)
    return (low + high) / 2
