"""Cumulative distribution functions with steps, as figures take them from tables."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shufflebounds.plotting.cells import FloatArray, check, numbers

MARGIN = 0.05  # beyond the smallest and the largest value, as a share of what lies between them


def steps(frame: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Where a distribution function steps, ascending, and what it steps to.

    The first of these points is below all steps, at 0, and the last one above them, at 1.

    `frame` has a row per step: ``cdf`` is the probability of at most t from t = ``value`` up to the
    next value. Raises ValueError where the rows hold anything but finite numbers, or where ``cdf``
    is negative, falls as ``value`` grows, or does not end at 1 (within 10⁻⁹).
    """
    where = "the distribution function"
    value, cdf = numbers(frame["value"]), numbers(frame["cdf"])
    check("value", value, np.isfinite(value), "finite", where)
    check("cdf", cdf, cdf >= 0.0, "finite and at least 0", where)
    order = np.argsort(value, kind="stable")
    value, cdf = value[order], cdf[order]
    check("cdf", cdf[1:], np.diff(cdf) >= 0.0, "no less than at the value before", where)
    check("cdf", cdf[-1:], abs(cdf[-1:] - 1.0) <= 1e-9, "1 at the largest value", where)
    beyond = MARGIN * (np.ptp(value) or 1.0)
    ends = value[0] - beyond, value[-1] + beyond
    return np.array([ends[0], *value, ends[1]]), np.array([0.0, *cdf, 1.0])
