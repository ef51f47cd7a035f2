"""From a decomposition to δ at ε and to ε at δ, as enclosures that cover both directions."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass, replace

import numpy as np

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition
from shufflebounds.divergence.exact import exact, histogram_count
from shufflebounds.divergence.saddle import log_estimate, saddle
from shufflebounds.enclosure import Enclosure, PrecisionError

ENGINES = ("exact", "fft", "saddle")

# Decompositions this close to their mirror image are taken for symmetric, at the price of counting
# the difference as uncertainty of the data.
_NEARLY_SYMMETRIC = 1e-12
# So few are enumerated at once. They leave atoms near 0, which cost the smooth engine dearly.
_FEW_HISTOGRAMS = 5_000
_LARGEST_EPS = 690.0


def delta(
    decomposition: Decomposition,
    eps: float,
    n: int,
    *,
    rtol: float = 1e-4,
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
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1.
    engine
        ``saddle``, or ``fft`` or ``exact`` to cross-check it; their width is what it is.

    Raises
    ------
    ValueError
        For arguments outside these ranges.
    PrecisionError
        Where the width stays above `rtol`. Values that the rounding of the decomposition's own
        entries cannot tell from 0 (ε at its largest log a/b) do not count.

    """
    eps, n, rtol = validation.eps(eps), validation.users(n), validation.rtol(rtol)
    problem = _Problem.of(decomposition, n, engine)
    found = problem.delta(eps, rtol)
    if engine == "saddle" and found.relative_width > rtol and not problem.vanishes(eps):
        raise PrecisionError(_shortfall(f"delta at eps = {eps!r}", n, rtol, found), found)
    return found


def epsilon(
    decomposition: Decomposition,
    n: int,
    delta: float,
    *,
    rtol: float = 1e-4,
    engine: str = "saddle",
) -> Enclosure:
    """Enclosure of the smallest ε with D(ε) ≤ δ in both directions, for n users.

    ``upper`` is an ε at which D was found to be at most δ, ``lower`` one at which it was at least
    δ (or 0). Where no ε will do, both are inf. `delta` lies between 10⁻³⁰⁰ and 1; the other
    arguments and what is raised are those of `delta`.
    """
    n, delta, rtol = validation.users(n), validation.delta(delta), validation.rtol(rtol)
    problem = _Problem.of(decomposition, n, engine)
    found = _invert(problem, delta, rtol)
    if engine == "saddle" and found.relative_width > rtol:
        raise PrecisionError(_shortfall(f"epsilon at delta = {delta!r}", n, rtol, found), found)
    return found


def _shortfall(what: str, n: int, rtol: float, found: Enclosure) -> str:
    return (
        f"{what}, n = {n} is known only to lie in [{found.lower!r}, {found.upper!r}]: "
        f"relative width {found.relative_width:.1e} where rtol = {rtol:g} was asked for"
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
        merged = decomposition.merge()
        asymmetry = merged.asymmetry()
        if asymmetry > _NEARLY_SYMMETRIC:
            return _Problem((merged.bounds(), merged.swap().bounds()), n, engine)
        inner, outer = (
            replace(end, rel_err=end.rel_err + asymmetry, inner=None, outer=None)
            for end in merged.bounds()
        )
        return _Problem(((inner, inner if merged.is_finite() else outer),), n, engine)

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
        if histogram_count(decomposition, self.n) <= _FEW_HISTOGRAMS:
            return exact(decomposition, eps, self.n)
        return saddle(decomposition, eps, self.n, rtol)

    def estimate(self, eps: float) -> tuple[float, float]:
        """Rough log D(ε) and its slope, of the direction where it is larger."""
        return max(log_estimate(outer, eps, self.n) for _, outer in self.directions)

    def largest_loss(self) -> float:
        """An ε at which D is certainly 0: the largest log a/b, inf where some b is 0."""
        return max(_largest_loss(outer) for _, outer in self.directions)

    def never_below(self) -> float:
        """A lower bound of D at every ε, from outputs that the other input never gives."""
        return max(_never_below(inner, self.n) for inner, _ in self.directions)

    def vanishes(self, eps: float) -> bool:
        """Whether D(ε) may be 0 for all that rounding lets us know."""
        return all(
            eps >= _largest_loss(inner) * (1.0 - 1e-15) - 4.0 * inner.rel_err
            for inner, _ in self.directions
        )

    def typical_eps(self, delta: float) -> float:
        """The ε of a normal approximation, to start from."""
        _, outer = self.directions[0]
        values, masses = outer.gparv(0.0)
        with np.errstate(over="ignore"):
            variance = float(masses @ values**2)
        return math.sqrt(2.0 * variance * -math.log(delta) / self.n)


def _largest_loss(decomposition: Decomposition) -> float:
    a, b = decomposition.a, decomposition.b
    if np.any((b == 0.0) & (a > 0.0)):
        return math.inf
    both = (a > 0.0) & (b > 0.0)
    loss = float(np.max(np.log(a[both]) - np.log(b[both]), initial=0.0))
    return loss + 1e-12 * (loss > 0) + 2.1 * decomposition.rel_err


def _never_below(decomposition: Decomposition, n: int) -> float:
    a, b, c = decomposition.a, decomposition.b, decomposition.c
    telling = b == 0.0
    alone = float(a[telling & (c == 0.0)].sum())
    hidden = float(a[telling & (c > 0.0)].sum())
    other = float(c[~telling].sum())
    if hidden > 0.0 and other < 1.0:
        alone += hidden * math.exp((n - 1) * math.log1p(-other) * (1.0 + 1e-12))
    return alone * (1.0 - 1e-9 - 2.0 * decomposition.rel_err * n)


def _invert(problem: _Problem, delta: float, rtol: float) -> Enclosure:
    """Bracket the root of log D(ε) = log δ by points at which D was evaluated.

    Newton's method on estimates finds where the root must be; probes a little above and below it
    then give the ends, and correct the guess as they go.
    """
    if problem.never_below() > delta:
        return Enclosure(math.inf, math.inf)
    target = math.log(delta)
    low, high = 0.0, problem.largest_loss()
    guess, slope = _start(problem, target, min(high, _LARGEST_EPS))
    half = 0.45 * rtol
    floor_known = False
    last: tuple[float, float] | None = None
    for _ in range(80):
        if high - low <= rtol * high or half > 0.3:
            break
        if guess <= 0.0 and low == 0.0 and not floor_known:
            probe, floor_known = 0.0, True
            need = 0.1 * abs(problem.estimate(0.0)[0] - target)
        else:
            probe = _probe(guess, low, high, half, rtol)
            need = 0.3 * abs(slope) * half * (probe or 0.0)
        if probe is None:
            break
        aim = min(0.1, max(1e-12, need))
        found = problem.delta(probe, aim)
        if found.upper <= delta:
            high = probe
        elif found.lower >= delta:
            low = probe
        else:
            half *= 2.0
        middle = 0.5 * (_log(found.lower) + _log(found.upper))
        if not math.isfinite(middle):
            guess = math.nan
            continue
        if last is not None and abs(probe - last[0]) > 0.0:
            secant = (middle - last[1]) / (probe - last[0])
            # Close together the noise of two enclosures would spoil it.
            if secant < 0.0 and abs(middle - last[1]) > 10.0 * aim:
                slope = secant
        last = (probe, middle)
        guess = probe - (middle - target) / slope if slope < 0.0 else math.nan
    return Enclosure(low, high)


def _probe(guess: float, low: float, high: float, half: float, rtol: float) -> float | None:
    """Where to look next: just above the guess, then just below it, else inside the bracket."""
    if not low < guess < high:
        if math.isinf(high):
            guess = max(2.0 * low, 1.0)
            return (
                guess if guess <= _LARGEST_EPS else (_LARGEST_EPS if low < _LARGEST_EPS else None)
            )
        guess = 0.25 * high if low == 0.0 else math.sqrt(low * high)
        return guess if low < guess < high else None
    above, below = guess * (1.0 + half), guess * (1.0 - half)
    if above * (1.0 + 0.05 * rtol) < high:
        return min(above, _LARGEST_EPS)
    return below if below > low else math.sqrt(low * high) if low > 0.0 else 0.5 * high


def _start(problem: _Problem, target: float, end: float) -> tuple[float, float]:
    """Root and slope of the estimated log D; NaN for the root where the estimates do not help."""
    low, high = 0.0, end
    guess = min(problem.typical_eps(math.exp(max(target, -690.0))), 0.9 * end)
    slope = -1.0
    for _ in range(60):
        value, slope = problem.estimate(guess)
        if value > target:
            low = guess
        else:
            high = guess
        newton = guess - (value - target) / slope if slope < 0.0 else math.nan
        if abs(newton - guess) <= 1e-7 * guess:
            return newton, slope
        if not low < newton < high:
            if low == 0.0 and high < 1e-9 * end:
                return 0.0, slope
            newton = 0.5 * (low + high)
        guess = newton
    return guess, slope


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf
