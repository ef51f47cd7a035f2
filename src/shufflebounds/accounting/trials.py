"""What evaluations of D at some ε tell of where it falls to δ: to aim with, not to claim."""

from __future__ import annotations

import math
from typing import NamedTuple

from shufflebounds.accounting.crossing import Trial, bracketed, streak_of

# How far a derivative of log D is trusted: what this share of a step changes may be wrong.
_STEEPER = 0.02
# Probes on one side after which steps grow, each time by this factor.
_CREEPING, _STRIDE = 1, 2.0
# How far towards 0 one step may lead, as a factor, before D(0) is asked for.
_SHRINK, _SHRUNK = 8.0, 2
# Noises by which two probes must differ to tell a slope, by which they must differ to be told
# apart, and within which the root must lie for its noise to be all that is left.
_TOLD, _UNTOLD, _DROWNED = 5.0, 2.0, 4.0
# How far, as a logarithm of D, a probe next to the root may be off it.
_NEXT_TO = 0.5
# What share of a step to where an end of D is δ is made from beyond it and from before it, and how
# much more of it each time.
_INWARD, _OUTWARD, _FURTHER = 0.8, 1.05, 1.4


class Guess(NamedTuple):
    """An ε, and by how much log D may be off log δ there; 0 or less asks for D(0)."""

    eps: float
    doubt: float


class Trials:
    """Probes made so far. ``slope`` is the derivative of log D in ε near the root, NaN if unknown.

    At first that is the one given, where log D may be off by `doubt`.
    """

    def __init__(self, slope: float, doubt: float) -> None:
        self.slope = slope
        self._distrust = _STEEPER + min(doubt, 0.5)
        self._all: list[Trial] = []
        self._shrunk = 0
        self._outward = {1.0: _OUTWARD, -1.0: _OUTWARD}

    def add(self, trial: Trial) -> None:
        """One more, by which the slope is corrected."""
        self._all.append(trial)
        near, *others = sorted(self._all, key=_distance)
        for other in others:
            fall = other.excess - near.excess
            if abs(fall) > _TOLD * (other.noise + near.noise) and other.eps != near.eps:
                slope = fall / (other.eps - near.eps)
                self.slope = slope if slope < 0.0 else self.slope
                break

    @property
    def made(self) -> tuple[Trial, ...]:
        """All of them, in the order in which they were added."""
        return tuple(self._all)

    def guess(self) -> Guess:
        """Where the root seems to be."""
        crossing = bracketed(self._all)
        if crossing is not None:
            return Guess(*crossing)
        if not self.slope < 0.0:
            return Guess(math.nan, math.inf)
        near = min(self._all, key=_distance)
        doubt = self._distrust * abs(near.excess) + near.noise
        step = -near.excess / self.slope
        run = streak_of(self._all)
        if run > _CREEPING and abs(near.excess) > near.noise:
            step *= _STRIDE ** (run - _CREEPING)
            doubt = abs(near.excess)
        if near.eps + step < min(near.eps, near.eps / _SHRINK):
            self._shrunk += 1
            return Guess(near.eps / _SHRINK if self._shrunk <= _SHRUNK else 0.0, math.inf)
        return Guess(near.eps + step, doubt)

    def nearest(self, eps: float, noise: float) -> Trial | None:
        """The probe closest to a point of those next to the root, with no more noise."""
        known = [x for x in self._all if x.noise <= noise and _distance(x) <= _NEXT_TO]
        return min(known, key=lambda x: (abs(x.eps - eps), x.noise), default=None)

    def noise(self, eps: float) -> float:
        """The least noise of those that a point is not told apart from; inf if there are none."""
        return min((x.noise for x in self._untold(eps)), default=math.inf)

    def drowned(self, eps: float) -> float | None:
        """The noise that D kept where a point is not told apart from; None if it had none left."""
        drowned = [x for x in self._untold(eps) if x.short and _distance(x) <= _DROWNED * x.noise]
        return min(drowned, key=_distance).noise if drowned else None

    def _untold(self, eps: float) -> list[Trial]:
        return [
            x
            for x in self._all
            if x.noise < 1.0 and abs((x.eps - eps) * self.slope) <= _UNTOLD * x.noise
        ]

    def is_supported(self, near: Trial, fall: float) -> bool:
        """Whether log D is known a little beyond a probe, by `fall` below it at most."""
        return any(
            4.0 * (near.noise + x.noise) < near.excess - x.excess <= fall
            for x in self._all
            if x.eps > near.eps
        )

    def where_end_is_delta(self, side: float) -> float:
        """Just beyond where the upper (1) or the lower (−1) end of D seems to be δ."""
        near = min(self._all, key=lambda x: abs(x.excess + side * x.noise))
        off = near.excess + side * near.noise
        if side * off < 0.0:
            return near.eps - _INWARD * off / self.slope
        step = self._outward[side] * off / self.slope
        self._outward[side] *= _FURTHER
        return near.eps - step


def _distance(trial: Trial) -> float:
    """How far off the root a probe may be, as a logarithm of D."""
    return abs(trial.excess) + trial.noise
