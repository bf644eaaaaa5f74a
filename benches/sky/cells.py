"""How tables show a mean over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skyhop.inference import all_equal
from skyhop.speak import digits_of


def spread(values: Sequence[float], half: float, digits: int) -> str:
    """The mean with half of its interval; of equal values, which have none, how many there are.

    Both have the digits of `digits_of`.
    """
    values = [float(one) for one in values]
    mean = float(np.mean(values))
    if all_equal(values):
        return f"{mean:.{digits}f} (all {len(values)} equal)"
    digits = digits_of(half, digits)
    return f"{mean:.{digits}f} ± {half:.{digits}f}"
