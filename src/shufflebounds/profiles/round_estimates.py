"""Estimates of the δ(ε) of one round: they choose the nodes of many rounds, and bound nothing.

Most are saddlepoint estimates. Where few draws of a round matter, as in an epoch of training with
little noise, those are off by orders of magnitude, and rough enclosures at few ε take their place.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from shufflebounds.core.enclosure import WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import RESERVE, budget
from shufflebounds.profiles.direction import Direction
from shufflebounds.profiles.profile import Ends, Max, Profile
from shufflebounds.profiles.root_search import LARGEST_EPS

# Largest distance of an estimate from the last one, as a share of its ε.
ROUGH_GROWTH = 0.12
# Number of estimates that are computed at once.
ROUGH_BLOCK = 48
# Smallest distance of the first estimates.
SMALLEST_STEP = 1e-12
# Distance of the first estimates, in units of δ(0): four for each standard deviation of a normal
# loss.
FIRST_STEP = 0.6
# Logarithm of δ below which estimates end.
SMALLEST_LOG = -690.0
# Relative width of rough enclosures.
ENCLOSED_RTOL = 0.2
# Largest fall of log δ from one of them to the next.
ENCLOSED_FALL = 1.5
# Largest distance of one of them from the last one, as a share of its ε.
ENCLOSED_GROWTH = 0.3
# Number of them that are computed at once.
ENCLOSED_BLOCK = 4
# Number of estimates from one of them to the next.
FINE_PARTS = 8

# ε that ascend from 0, and δ there.
Points = tuple[FloatArray, FloatArray]


class Reach(NamedTuple):
    """Where δ of a round is negligible: from ``level``, or ``share`` times that at ``eps``, on."""

    level: float
    eps: float = 0.0
    share: float = 0.0


def enclosures_at(
    direction: Direction, eps: FloatArray, rtol: float | FloatArray, level: float
) -> Ends:
    """Return ends of δ at several ε, by enumeration if outcomes are few."""
    ranked = direction.few_outcomes()
    if ranked is None:
        return direction.at(np.zeros(eps.size, int)).deltas(eps, rtol, floor=level)
    enclosures = [ranked.divergence(x) for x in eps.tolist()]
    lower, upper = (np.array([getattr(x, end) for x in enclosures]) for end in ("lower", "upper"))
    is_zero = eps >= direction.end
    return Ends.of(np.where(is_zero, 0.0, lower), np.where(is_zero, 0.0, upper), direction.name)


def log_estimates(profile: Profile, eps: FloatArray) -> FloatArray:
    """Return estimates of log δ at several ε."""
    if isinstance(profile, Max):
        return np.asarray(np.max([log_estimates(part, eps) for part in profile.parts], axis=0))
    # D of a single report is a sum over its outcomes, and nothing like its estimate.
    if isinstance(profile, Direction) and (profile.n[0] == 1 or profile.few_outcomes()):
        with np.errstate(divide="ignore"):
            return np.log(enclosures_at(profile, eps, 1.0, 0.0).upper)
    return profile.at(np.zeros(eps.size, int)).estimates(eps)


def estimated_curve(profile: Profile, reach: Reach | None) -> Points:
    """Return ε that ascend from 0 to where δ is negligible or 0, and estimates of δ there.

    There are two or more. If a `reach` is given, the curve is smooth, and enclosures may be used.
    """
    if reach is not None and profile.has_rough_estimates:
        # Where engines enclose δ badly, saddlepoint estimates are all there is.
        with suppress(WorkError), budget(RESERVE):
            return _enclosed_curve(profile, reach)
    return _saddle_curve(profile)


def _saddle_curve(profile: Profile) -> Points:
    """Return what `estimated_curve` returns, by saddlepoint estimates."""
    end = min(profile.end, LARGEST_EPS)
    logs = log_estimates(profile, np.zeros(1))
    step = _first_step(float(logs[0]))
    eps = np.zeros(1)
    while eps[-1] < end and (eps.size == 1 or logs[-1] > SMALLEST_LOG):
        block = [float(eps[-1])]
        for _ in range(ROUGH_BLOCK):
            block.append(block[-1] + max(step, ROUGH_GROWTH * block[-1]))
        new_eps = np.unique(np.minimum(np.array(block[1:]), end))
        logs = np.append(logs, log_estimates(profile, new_eps))
        eps = np.append(eps, new_eps)
    return _points(profile, eps, logs)


def _first_step(log_delta: float) -> float:
    """Return the distance of the first estimates, given that of log δ(0)."""
    return max(FIRST_STEP * math.exp(min(log_delta, 0.0)), SMALLEST_STEP)


def _points(profile: Profile, eps: FloatArray, logs: FloatArray) -> Points:
    """Return ε up to where δ is tiny, and estimates of δ that fall."""
    logs = np.where(np.isnan(logs) | (eps >= profile.end), -np.inf, np.minimum(logs, 0.0))
    heights = np.exp(np.minimum.accumulate(logs))
    last = int(np.argmax(logs <= SMALLEST_LOG)) or eps.size - 1
    return eps[: last + 1], heights[: last + 1]


def _enclosed_curve(profile: Profile, reach: Reach) -> Points:
    """Return what `estimated_curve` returns, by rough enclosures and a smooth curve between."""

    def log_deltas(eps: FloatArray, floor: float) -> FloatArray:
        ends = profile.at(np.zeros(eps.size, int)).deltas(eps, ENCLOSED_RTOL, floor=floor)
        return np.log(np.maximum(np.minimum(ends.upper, 1.0), math.exp(SMALLEST_LOG)))

    end = min(profile.end, LARGEST_EPS)
    eps, logs, level = np.zeros(1), log_deltas(np.zeros(1), 0.0), reach.level
    step = _first_step(float(logs[0]))
    while eps[-1] < end and (eps.size == 1 or logs[-1] > max(math.log(level), SMALLEST_LOG)):
        fall = (logs[-2] - logs[-1]) / (eps[-1] - eps[-2]) if eps.size > 1 else 1.0 / step
        block = [float(eps[-1])]
        for _ in range(ENCLOSED_BLOCK):
            widest = min(max(step, ENCLOSED_GROWTH * block[-1]), ENCLOSED_FALL / max(fall, 1e-9))
            block.append(block[-1] + max(widest, 0.5 * step))
        new_eps = np.unique(np.minimum(np.array(block[1:]), end))
        logs = np.append(logs, log_deltas(new_eps, level))
        eps = np.append(eps, new_eps)
        is_beyond = eps >= reach.eps
        if reach.share and is_beyond.any():
            level = max(reach.level, reach.share * math.exp(float(logs[int(np.argmax(is_beyond))])))
    return _points(profile, *_smooth(eps, np.minimum.accumulate(logs)))


def _smooth(eps: FloatArray, logs: FloatArray) -> Points:
    """Return more points of a curve by cubic interpolation of its logarithms."""
    widths, slopes = np.diff(eps), np.gradient(logs, eps)
    s = np.arange(FINE_PARTS)[:, None] / FINE_PARTS
    weights = (1.0 + 2.0 * s) * (1.0 - s) ** 2, s * (1.0 - s) ** 2, s * s * (s - 1.0)
    between = weights[0] * logs[:-1] + (1.0 - weights[0]) * logs[1:]
    between += widths * (weights[1] * slopes[:-1] + weights[2] * slopes[1:])
    places = eps[:-1] + s * widths
    return np.append(places.T.ravel(), eps[-1]), np.append(between.T.ravel(), logs[-1])
