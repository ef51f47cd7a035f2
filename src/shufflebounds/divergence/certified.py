"""D(ε) by whichever of both engines suits what the tilted law looks like, or by both."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import NamedTuple

import numpy as np

from shufflebounds.decomposition import Decomposition
from shufflebounds.divergence.enclosing import LogBounds, enclose
from shufflebounds.divergence.law import Law, cumulants, tilt
from shufflebounds.divergence.saddle import log_bounds as smooth_bounds
from shufflebounds.divergence.saddlepoint import tilting_point
from shufflebounds.divergence.sweep import log_bounds as sweep_bounds
from shufflebounds.enclosure import Enclosure

# Excess kurtosis of the tilted S: below the first, many draws make up its spread and the smooth
# engine does; below the second it mostly does; above the third it hardly ever does.
_COMMON, _FEW, _RARE = 0.1, 0.7, 5.0
# For relative widths below this it mostly does up to the third, if there are so many values.
_FINE, _SEVERAL = 0.01, 60
# So many times the rounding of nK is what it may leave.
_CLOSE = 30.0

# D that is off δ by so much, as a logarithm, only has to be known to be so.
_FAR_OFF = 7.0

# A search for ε can do with so many times the width that it asked for.
_ENOUGH = 1.5
# Failures at an ε this close, relatively, are expected again; where more than the second width is
# asked for, D tends to fall by decades, and only ones closer still.
_NEARBY, _STEEP, _NEARBY_IF_STEEP = 0.01, 0.05, 1e-4
# An engine that failed so often in turn, at any ε, is not tried again.
_IN_VAIN = 5
# An engine with more than this width, or than this share of the one it had with less work, is not
# given more.
_HOPELESS, _NO_LESS = 0.5, 0.9


# The engines, by how much work a pass may take: modes times what each takes, and nodes.
_SMOOTH: dict[int, LogBounds] = {
    bits: partial(smooth_bounds, most_work=2.0**bits) for bits in (25, 27, 29, 31, 32)
}
_SWEEP: dict[int, LogBounds] = {
    nodes: partial(sweep_bounds, most_work=nodes) for nodes in (2_000, 8_000, 30_000, 200_000)
}

# What to try in turn, by what it tends to cost until one of them gets there.
_LAST = (_SMOOTH[29], _SWEEP[30_000], _SMOOTH[31], _SWEEP[200_000], _SMOOTH[32])
_MANY_DRAWS = (_SMOOTH[25], _SWEEP[2_000], _SMOOTH[27], _SWEEP[8_000], *_LAST)
_FEW_DRAWS = (_SWEEP[2_000], _SMOOTH[25], _SWEEP[8_000], _SMOOTH[27], *_LAST)
_RARE_DRAWS = (_SWEEP[2_000], _SWEEP[8_000], _SMOOTH[27], *_LAST)


def _engines(kurtosis: float, values: int, rtol: float) -> tuple[LogBounds, ...]:
    if kurtosis < (_FEW if rtol > _FINE or values < _SEVERAL else _RARE):
        return _MANY_DRAWS
    return _FEW_DRAWS if kurtosis < _RARE or values < _SEVERAL else _RARE_DRAWS


class _Failure(NamedTuple):
    """The width that an engine was asked for and the one that it reached, at some ε."""

    eps: float
    rtol: float
    width: float


class Experience:
    """Which engines reached the width asked of them, from one ε of a question to the next.

    Where the question is at which ε D falls to `delta`, D far below or above it is close enough,
    and what misses the width by little, too.
    """

    def __init__(self, delta: float = math.nan) -> None:
        self._target, self._eps = math.log(delta), 0.0
        self._enough = 1.0 if math.isnan(delta) else _ENOUGH
        self._failures: dict[LogBounds, _Failure] = {}
        self._in_vain: Counter[LogBounds] = Counter()
        self._last: LogBounds | None = None

    def at(self, eps: float) -> Experience:
        """The same, about to be used at another ε."""
        self._eps = eps
        return self

    def add(self, engine: LogBounds, rtol: float, width: float) -> None:
        """Note the relative width that an engine was asked for, and the one it reached."""
        if self.is_enough(rtol, width):
            self._last = engine
            self._in_vain[engine] = 0
        else:
            self._in_vain[engine] += 1
            self._failures[engine] = _Failure(self._eps, rtol, width)

    def is_enough(self, rtol: float, width: float) -> bool:
        """Whether a relative width will do where another was asked for."""
        return width <= self._enough * rtol

    def is_far_off(self, log_low: float, log_high: float) -> bool:
        """Whether D with these ends, as logarithms, is so far from δ that no more need be known."""
        return log_high < self._target - _FAR_OFF or log_low > self._target + _FAR_OFF

    def is_futile(self, engine: LogBounds) -> bool:
        """Whether it promises nothing, after failures elsewhere or with less work."""
        if self._in_vain[engine] >= _IN_VAIN:
            return True
        nearby = self._nearby()
        family = next((x for x in (_SMOOTH, _SWEEP) if engine in x.values()), {})
        widths = [nearby[one].width for one in family.values() if one in nearby]
        # A sweep is far from the end until it is through with all nodes.
        if engine in nearby or len(widths) < (3 if family is _SWEEP else 2):
            return False
        return widths[-1] > min(_HOPELESS, _NO_LESS * widths[-2])

    def _nearby(self) -> dict[LogBounds, _Failure]:
        return {
            one: x
            for one, x in self._failures.items()
            if abs(x.eps - self._eps)
            <= self._eps * (_NEARBY if x.rtol < _STEEP else _NEARBY_IF_STEEP)
        }

    def order(self, engines: tuple[LogBounds, ...], rtol: float) -> list[LogBounds]:
        """The one that did it last comes first.

        Of those that failed nearby when no less was asked for, only the best comes at all, last.
        """
        nearby = self._nearby()
        failed = {one: nearby[one].width for one in nearby if nearby[one].rtol >= rtol}
        fresh = [one for one in engines if one not in failed]
        best = [one for one in engines if one in failed and failed[one] == min(failed.values())]
        return [*sorted(fresh, key=lambda one: one is not self._last), *best]


def divergence(
    decomposition: Decomposition,
    eps: float,
    n: int,
    rtol: float = 1e-4,
    experience: Experience | None = None,
) -> Enclosure:
    """Enclosure of D(ε) of (a, b, c), in this one direction, by the engine that suits it.

    What one engine leaves wider than the relative width `rtol`, the other one tries too;
    `experience` with a neighbouring ε tells which comes first. Raises ValueError for eps < 0 or
    n < 1.
    """
    experience = (experience or Experience()).at(eps)
    return enclose(decomposition, eps, n, rtol, partial(log_bounds, experience=experience))


def log_bounds(
    g: Law, n: int, rtol: float, experience: Experience | None = None
) -> tuple[float, float]:
    """Bounds of log E[S₊], each the better one of the engines that were needed."""
    kurtosis = _tilted_kurtosis(g, n)
    low, high = -math.inf, math.inf
    experience = experience or Experience()
    engines = experience.order(_engines(kurtosis, g.values.size, rtol), rtol)
    if kurtosis < _COMMON:
        low, high = smooth_bounds(g, n, rtol)
        # What rounding holds up it would hold up with the others, too.
        done = high - low <= rtol or high - low <= _CLOSE * _rounding(g, n)
        engines = [] if done else [*_LAST]
    for engine in engines:
        if experience.is_enough(rtol, high - low):
            break
        if experience.is_futile(engine):
            continue
        ends = engine(g, n, rtol)
        low, high = max(low, ends[0]), min(high, ends[1])
        if experience.is_far_off(low - math.log(n), high - math.log(n)):
            break
        experience.add(engine, rtol, ends[1] - ends[0])
    return low, high


def _rounding(g: Law, n: int) -> float:
    """By how much log E[S₊] is uncertain because K is; inf if no value is a gain."""
    if not (g.values.size and g.values.max() > 0.0):
        return math.inf
    return n * tilt(g, tilting_point(g, n)).log_mgf_err


def _tilted_kurtosis(g: Law, n: int) -> float:
    """Excess kurtosis of S under the tilted law, but for a constant: 1/draws that matter."""
    if not (g.values.size and g.values.max() > 0.0):
        return 0.0
    theta = tilting_point(g, n)
    k, mean, variance = cumulants(g, theta)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        weights = g.masses * np.exp(theta * g.values - k)
        fourth = weights @ np.square(np.square(g.values - mean))
        return float(np.nan_to_num(fourth / (n * np.square(variance)), nan=0.0))
