"""The fit of losses that are drawn for each slot: it finds what was drawn, and nothing else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from test_starlink_uplink import loaded

from skyhop import api, starlink
from skyhop.starlink import losses
from skyhop.starlink.recordings import Floats

PACKETS = 500.0

#: Seconds of 100 slots that lie a second or more from edges: 13 of each.
PLACE = ((np.arange(1500.0) + 0.5) / 15)[(np.arange(1500) % 15 != 0) & (np.arange(1500) % 15 != 14)]


def clumped(expected: Floats, size: int, generator: np.random.Generator) -> Floats:
    """Losses with these means, so many at a time."""
    return np.minimum(size * generator.poisson(expected / size), PACKETS).astype(float)


def told(lost: Floats, place: Floats = PLACE) -> losses.Told:
    """What the fit says of such seconds."""
    ones = np.ones(place.size)
    return losses.tell(place, ones, lost, PACKETS * ones, draws=50, generator=np.random.Generator(np.random.PCG64(9)))


def test_the_distribution_is_found_beside_clumps() -> None:
    generator = np.random.Generator(np.random.PCG64(4))
    slot = np.floor(PLACE)
    for mean, shape, size in [(0.004, 1.0, 1), (0.004, 1.0, 4), (0.01, 6.0, 3)]:
        found = []
        for _ in range(20):
            drawn = generator.gamma(shape, mean / shape, 100)[slot.astype(int)]
            found.append(losses.of_slots(slot, clumped(PACKETS * drawn, size, generator), np.full(slot.size, PACKETS)))
        assert all(one.is_claimed for one in found)
        # 2000 slots in all: standard errors of the mean are 1 / sqrt(2000 shape), of the shape some 5 %.
        # Clumps that are all of one size are not quite those of the model.
        assert np.mean([one.mean for one in found]) == pytest.approx(mean, rel=0.07)
        assert np.median([one.shape for one in found]) == pytest.approx(shape, rel=0.25)
        clump = np.mean([one.clump for one in found])
        assert clump == pytest.approx(1, abs=0.05) if size == 1 else clump > 2


def test_the_points_are_the_shares_of_slots_or_a_gamma_distribution() -> None:
    generator = np.random.Generator(np.random.PCG64(5))
    slot = np.arange(400.0)
    # Two kinds of slots: no gamma distribution. Many losses tell each slot, few do not.
    probability = np.where(generator.random(400) < 0.5, 0.01, 0.04)
    for packets, near in [(1e6, True), (100.0, False)]:
        lost = generator.binomial(int(packets), probability).astype(float)
        found = losses.of_slots(slot, lost, np.full(400, packets))
        points = found.points(np.ones(400))
        assert points.mean() == pytest.approx(0.025, rel=0.1) and np.all(np.diff(points) >= 0)
        between = float(np.mean((points > 0.013) & (points < 0.03)))
        assert (between < 0.03) == near and (near or 0.2 < between < 0.7), between
    # A slot that counts twice is there twice.
    first = np.where(probability == 0.01, 1.0, 0.0)
    assert found.points(first).mean() < 0.7 * points.mean()


@pytest.mark.parametrize("size", [1, 9, 90])
def test_losses_without_slots_are_not_claimed(size: int) -> None:
    generator = np.random.Generator(np.random.PCG64(6))
    every = [told(clumped(np.full(PLACE.size, 1.0), size, generator)) for _ in range(100)]
    assert sum(bool(one.quantiles) for one in every) <= 1


def test_slots_that_change_elsewhere_than_at_edges_are_not_claimed_and_said() -> None:
    generator = np.random.Generator(np.random.PCG64(7))
    drawn = generator.gamma(1.0, 0.004, 102)
    at_edges = told(clumped(PACKETS * drawn[np.floor(PLACE).astype(int)], 1, generator))
    assert len(at_edges.quantiles) == 21 and at_edges.note == ""
    (upper,) = at_edges.parameters
    # One slot of ten has more than 2.303 times the mean.
    assert upper.name == "loss of slots, 90 %" and upper.low <= 0.00921 <= upper.high
    assert upper.low < upper.value < upper.high < 2 * upper.value
    half_later = told(clumped(PACKETS * drawn[np.floor(PLACE + 0.5).astype(int)], 1, generator))
    assert half_later.quantiles == () and "does not show that these change at edges" in half_later.note
    # A loss that wanders over minutes makes slots differ as well.
    held = math.exp(-1 / 8)
    log = np.zeros(101)
    for n in range(1, 101):
        log[n] = held * log[n - 1] + math.sqrt(1 - held**2) * generator.standard_normal()
    wandering = told(clumped(PACKETS * 0.004 * np.exp(np.interp(PLACE, np.arange(101.0), log)), 1, generator))
    assert wandering.quantiles == () and wandering.note


def test_few_slots_and_no_losses_tell_nothing() -> None:
    few = PLACE[PLACE < losses.LEAST_SLOTS - 1]
    generator = np.random.Generator(np.random.PCG64(8))
    drawn = generator.gamma(1.0, 0.02, 8)[np.floor(few).astype(int)]
    assert told(clumped(PACKETS * drawn, 1, generator), few) == losses.Told()
    assert told(np.zeros(PLACE.size)) == losses.Told()
    # iperf3 may count a datagram as lost before it is sent, and take one back.
    odd = np.zeros(PLACE.size)
    odd[:2] = (-1, PACKETS + 1)
    assert told(odd).quantiles == ()
    for wrong in (np.zeros(2), np.array([PACKETS + 1, 0])):
        with pytest.raises(ValueError, match="needs two slots or more, a loss"):
            losses.of_slots(np.array([0.0, 1.0]), wrong, np.full(2, PACKETS))


def test_a_stream_over_the_engine_tells_the_losses_of_slots() -> None:
    quantiles = [0.0005, 0.002, 0.004, 0.008, 0.02]
    fits: dict[str, Any] = {}
    for name, loss in (("drawn", quantiles), ("same", 0.006)):
        profile = {"rates": ["5 Mbit/s", "7 Mbit/s"], "loss": loss}
        stream = loaded(profile, slots=160, rate="0.8 Mbit/s", payload="172 B")
        fits[name] = starlink.fit_capacity([stream], draws=100)
    assert fits["same"].loss_quantiles == () and "\nloss = 0.00" in starlink.capacity_table(fits["same"])
    found = fits["drawn"]
    parameters = {one.name: one for one in found.parameters}
    upper = parameters["loss of slots, 90 %"]
    # 0.9 lies 0.6 of the way through the last quarter, which goes from 0.008 to 0.02.
    assert upper.low <= 0.0152 <= upper.high
    # The mean of the quarters is 6.06 per mille; its standard error over 160 slots 7 %.
    assert found.loss == pytest.approx(0.00606, rel=0.2)
    assert np.mean(found.loss_quantiles[5:16]) == pytest.approx(0.0044, rel=0.25)
    text = starlink.capacity_table(found).replace("[starlink]", "[links.forward.profile.starlink]")
    assert text.count("\nloss = [0.") == 1
    api.scenario(
        f"duration = '1 s'\n[[links]]\nbetween = ['a', 'b']\ndelay = '1 ms'\nbackward = {{ rate = '1 Mbit/s' }}\n{text}"
    )
