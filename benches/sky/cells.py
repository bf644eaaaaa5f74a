"""How tables show a mean over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skyhop.inference import all_equal


def spread(values: Sequence[float], half: float, digits: int) -> str:
    """The mean with half of its interval; of equal values, which have none, how many there are.

    Both have so many digits behind the point, or more where half of the interval would be rounded to zero.
    """
    values = [float(one) for one in values]
    mean = float(np.mean(values))
    if all_equal(values):
        return f"{mean:.{digits}f} (all {len(values)} equal)"
    while half > 0 and digits < 12 and float(f"{half:.{digits}f}") == 0:
        digits += 1
    return f"{mean:.{digits}f} ± {half:.{digits}f}"
