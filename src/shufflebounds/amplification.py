"""From a decomposition to δ at ε and to ε at δ, as enclosures that cover both directions."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition, require
from shufflebounds.divergence.exact import exact, histogram_count
from shufflebounds.divergence.law import U
from shufflebounds.divergence.saddle import log_estimate, saddle
from shufflebounds.enclosure import Enclosure, PrecisionError
from shufflebounds.inversion import LARGEST_EPS, smallest_eps

ENGINES = ("exact", "fft", "saddle")

# So few are enumerated at once. They leave atoms near 0, which cost the smooth engine dearly.
_FEW_HISTOGRAMS, _FEW_USERS = 5_000, 300
_FEW_COMPONENTS = 40
_DEFAULT_RTOL = 1e-4


def delta(
    decomposition: Decomposition,
    eps: float,
    n: int,
    *,
    rounds: int = 1,
    rtol: float | None = None,
    engine: str = "saddle",
) -> Enclosure:
    """Enclosure of max{D(ε) of (a, b, c), D(ε) of (b, a, c)} for n users (Theorem 12).

    Parameters
    ----------
    decomposition
        Of the randomizer; where it has ``inner`` and ``outer``, the enclosure is of the randomizer
        they surround.
    eps
        ε ≥ 0, natural log.
    n
        Number of users, 1 to 10¹⁵.
    rounds
        How many rounds are composed, 1 to 10⁶; see `Composed.delta` for more than one.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1. None stands for 10⁻⁴, and leaves out of
        account how far ``inner`` and ``outer`` of a continuous randomizer lie apart.
    engine
        ``saddle``, or ``fft`` or ``exact`` to cross-check it; their width is what it is.

    Raises
    ------
    ValueError
        For arguments outside these ranges.
    PrecisionError
        Where the width stays above `rtol`. Values below 10⁻³⁰⁰, and those that the rounding of the
        decomposition's own entries cannot tell from 0 (ε at its largest log a/b), do not count.

    """
    if validation.whole("rounds", rounds, minimum=1) > 1:
        return _rounds().delta(decomposition, eps, n, rounds, rtol=rtol, engine=engine)
    eps, n = validation.eps(eps), validation.users(n)
    goal = _DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    problem = _Problem.of(decomposition, n, engine)
    found = problem.delta(min(eps, LARGEST_EPS), goal)
    if eps > LARGEST_EPS:  # D falls, but not below its limit
        found = Enclosure(min(problem.never_below(), found.upper), found.upper)
    told = found.upper > validation.MIN_DELTA and not problem.vanishes(eps)
    if problem.promises(rtol) and found.relative_width > goal and told:
        raise PrecisionError(_shortfall(f"delta at eps = {eps!r}", problem, goal, found), found)
    return found


def epsilon(
    decomposition: Decomposition,
    n: int,
    delta: float,
    *,
    rounds: int = 1,
    rtol: float | None = None,
    engine: str = "saddle",
) -> Enclosure:
    """Enclosure of the smallest ε with D(ε) ≤ δ in both directions, for n users.

    ``upper`` is an ε at which D was found to be at most δ, ``lower`` one at which it was at least
    δ (or 0). Where no ε will do, both are inf. `delta` lies between 10⁻³⁰⁰ and 1; the other
    arguments and what is raised are those of `delta`.
    """
    if validation.whole("rounds", rounds, minimum=1) > 1:
        return _rounds().epsilon(decomposition, n, delta, rounds, rtol=rtol, engine=engine)
    n, delta = validation.users(n), validation.delta(delta)
    goal = _DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    problem = _Problem.of(decomposition, n, engine)
    if problem.never_below() > delta:
        return Enclosure(math.inf, math.inf)
    end = problem.largest_loss()
    start, slope = _start(problem, delta, min(end, LARGEST_EPS))
    found = smallest_eps(problem.delta, delta, start, slope, end, goal)
    if problem.promises(rtol) and found.relative_width > goal:
        raise PrecisionError(
            _shortfall(f"epsilon at delta = {delta!r}", problem, goal, found), found
        )
    return found


def _rounds() -> ModuleType:
    """Only who composes rounds pays for loading what it takes; it builds on this module."""
    return importlib.import_module("shufflebounds.accounting.rounds")


def _shortfall(what: str, problem: _Problem, rtol: float, found: Enclosure) -> str:
    advice = "" if problem.is_finite() else "; more cells or a larger rtol would help"
    return (
        f"{what}, n = {problem.n} is known only to lie in [{found.lower!r}, {found.upper!r}]: "
        f"relative width {found.relative_width:.1e} where rtol = {rtol:g} was asked for{advice}"
    )


@dataclass(frozen=True)
class _Problem:
    """What has to be evaluated, at one n: the directions, each as (inner, outer)."""

    directions: tuple[tuple[Decomposition, Decomposition], ...]
    n: int
    engine: str

    @staticmethod
    def of(decomposition: Decomposition, n: int, engine: str) -> _Problem:
        validation.choice("engine", engine, ENGINES)
        return _Problem(require("decomposition", decomposition).directions, n, engine)

    def delta(self, eps: float, rtol: float) -> Enclosure:
        ends = [self._direction(inner, outer, eps, rtol) for inner, outer in self.directions]
        return Enclosure(max(e.lower for e in ends), max(e.upper for e in ends))

    def _direction(
        self, inner: Decomposition, outer: Decomposition, eps: float, rtol: float
    ) -> Enclosure:
        below = self._divergence(inner, eps, rtol)
        above = below if outer is inner else self._divergence(outer, eps, rtol)
        return Enclosure(min(below.lower, above.upper), above.upper)

    def _divergence(self, decomposition: Decomposition, eps: float, rtol: float) -> Enclosure:
        if self.engine != "saddle":
            module = importlib.import_module(f"shufflebounds.divergence.{self.engine}")
            return getattr(module, self.engine)(decomposition, eps, self.n)
        if (
            1 < self.n <= _FEW_USERS
            and len(decomposition) <= _FEW_COMPONENTS
            and histogram_count(decomposition, self.n) <= _FEW_HISTOGRAMS
        ):
            return exact(decomposition, eps, self.n)
        return saddle(decomposition, eps, self.n, rtol)

    def estimate(self, eps: float) -> tuple[float, float]:
        """Rough log D(ε) and its slope, of the direction where it is larger."""
        return max(log_estimate(outer, eps, self.n) for _, outer in self.directions)

    def is_finite(self) -> bool:
        """Whether nothing lies between an inner and an outer decomposition."""
        return all(inner is outer for inner, outer in self.directions)

    def promises(self, rtol: float | None) -> bool:
        """Whether a relative width above the goal is a failure."""
        return self.engine == "saddle" and (rtol is not None or self.is_finite())

    def largest_loss(self) -> float:
        """An ε at which D is certainly 0: the largest log a/b, inf where some b is 0."""
        return max(sum(_largest_loss(outer)) for _, outer in self.directions)

    def never_below(self) -> float:
        """A lower bound of D at every ε, from outputs that the other input never gives."""
        return max(_never_below(inner, self.n) for inner, _ in self.directions)

    def vanishes(self, eps: float) -> bool:
        """Whether D(ε) may be 0 for all that rounding lets us know."""
        losses = (_largest_loss(inner) for inner, _ in self.directions)
        return all(eps >= loss - slack for loss, slack in losses)

    def typical_eps(self, delta: float) -> float:
        """The ε of a normal approximation, to start from."""
        _, outer = self.directions[0]
        values, masses = outer.gparv(0.0)
        with np.errstate(over="ignore"):
            variance = float(masses @ values**2)
        return math.sqrt(2.0 * variance * -math.log(delta) / self.n)


def _largest_loss(decomposition: Decomposition) -> tuple[float, float]:
    """The largest log a/b and how far rounding may have moved it; (inf, 0) where some b is 0."""
    a, b = (x[decomposition.a > 0.0] for x in (decomposition.a, decomposition.b))
    if not b.all():
        return math.inf, 0.0
    loss = max(0.0, float(np.max(np.log(a / b))))
    return loss, 2.1 * decomposition.rel_err + 4.0 * U * (1.0 + loss)


def _never_below(decomposition: Decomposition, n: int) -> float:
    a, b, c = decomposition.a, decomposition.b, decomposition.c
    telling, err = b == 0.0, decomposition.rel_err
    alone = float(a[telling & (c == 0.0)].sum())
    hidden = float(a[telling & (c > 0.0)].sum())
    rest = math.fsum([1.0, *(-c[~telling]).tolist()])
    rest -= (err + 8.0 * U) * (1.0 - rest) + 8.0 * U * rest
    if hidden > 0.0 and rest > 0.0:
        alone += hidden * math.exp((n - 1) * math.log(rest) * (1.0 + 1e-12))
    return alone * (1.0 - 1e-9 - err)


def _start(problem: _Problem, delta: float, end: float) -> tuple[float, float]:
    """Root and slope of the estimated log D − log δ; 0 where even D(0) seems to be small enough."""
    target, low, high = math.log(delta), 0.0, end
    guess, slope = min(problem.typical_eps(delta), 0.9 * end), -1.0
    for _ in range(60):
        value, slope = problem.estimate(guess)
        low, high = (guess, high) if value > target else (low, guess)
        newton = guess - (value - target) / slope if slope < 0.0 else math.nan
        if abs(newton - guess) <= 1e-7 * guess:
            return newton, slope
        if not low < newton < high:
            if low == 0.0 and high < 1e-9 * end:
                return 0.0, slope
            newton = 0.5 * (low + high)
        guess = newton
    return guess, slope
