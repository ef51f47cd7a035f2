"""The privacy profile as an object: δ at every ε, negative ones included, and what it says."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from shufflebounds.accounting.composition import Composed, compose
from shufflebounds.accounting.questions import delta as delta_of
from shufflebounds.accounting.round_laws import (
    Points,
    lower_curves,
    optimistic_sums,
    pessimistic_sum,
    upper_curve,
)
from shufflebounds.accounting.simple_bounds import no_worse_than_simple_bound
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import WorkError, limited
from shufflebounds.divergence.lattice import delta_at
from shufflebounds.divergence.law import U
from shufflebounds.divergence.losses import Side, lattice_step
from shufflebounds.randomizers.base import Randomizer, require_mechanism

# Most points of a curve of several rounds, each of which is a sum over the lattice.
_MOST_POINTS = 4000
# Fewest points of a curve: `Profile` continues chords of two neighbouring cells.
_FEWEST_POINTS = 3
# More than what underflows in sums of a few terms.
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Profile:
    """The larger δ of both directions as a curve, enclosed at ε = iΔ, i = 0, …, K, and between.

    Parameters
    ----------
    step
        Δ (natural log).
    lower, upper
        Bounds of δ(iΔ), shape (K + 1,), K ≥ 2, ascending ε.
    limit
        A lower bound of δ at every ε.
    end
        An ε > 0 at which δ is 0, such as Tε₀ of T rounds; inf if there is none.

    Notes
    -----
    In x = e^ε the curve H is convex and falls. Between points it lies below the chord, and above
    the lines that continue the chords next to it. Since both directions are covered,
    H(x) = 1 − x + x H(1/x), which tells it at negative ε. All this holds of the largest of several
    such curves as well: of a mechanism H is that of all its datasets, and what is told of it from
    below is true of the largest curve of the pairs of datasets that ``lower`` is of.

    Examples
    --------
    >>> curve = sb.profile(sb.KRR(k=2, eps0=1.0).blanket(), n=100)
    >>> f"{curve.delta(eps=0.0).upper:.3f}", f"{curve.epsilon(delta=1e-6).upper:.2f}"
    ('0.050', '0.52')
    """

    step: float
    lower: FloatArray
    upper: FloatArray
    limit: float
    end: float = math.inf

    def __post_init__(self) -> None:
        eps: FloatArray = np.asarray(self.step * np.arange(self.upper.size), dtype=np.float64)
        upper = np.minimum(self.upper, self._delta_of_pure_privacy(eps))
        object.__setattr__(self, "upper", upper)
        object.__setattr__(self, "lower", np.minimum(self.lower, upper))

    def __repr__(self) -> str:
        last = (self.upper.size - 1) * self.step
        return (
            f"<Profile: δ from {self.upper[0]:.3g} at ε = 0 to {self.upper[-1]:.3g} at {last:.3g}>"
        )

    def delta(self, eps: float) -> Enclosure:
        """Enclose δ at ε, which may be negative.

        Parameters
        ----------
        eps
            Any finite real ε (natural log).

        Returns
        -------
        Enclosure
            Of δ(ε), a probability.

        Raises
        ------
        ValueError
            For an ε that is not finite.

        Examples
        --------
        >>> curve = sb.profile(sb.KRR(k=2, eps0=np.log(3.0)).blanket(), n=1)
        >>> f"{curve.delta(eps=0.0).upper:.2f}"
        '0.50'
        """
        eps = validation.finite("eps", eps)
        if eps < 0.0:
            ends = self.delta(-eps)
            kept, lost = math.exp(eps), -math.expm1(eps)
            low, high = (lost + kept * end for end in (ends.lower, ends.upper))
            return Enclosure(max(0.0, low * (1.0 - 16.0 * U)), min(1.0, high * (1.0 + 16.0 * U)))
        last = self.upper.size - 1
        most = float(self._delta_of_pure_privacy(np.array(eps)))
        if eps >= last * self.step:
            high = min(float(self.upper[last]), most)
            return Enclosure(min(self.limit, high), high)
        i = min(int(eps / self.step), last - 1)
        i = i - 1 if i * self.step > eps else i
        before, here, after = (float(self.upper[max(k, 0)]) for k in (i - 1, i, i + 1))
        rest = eps - i * self.step
        whole = math.expm1(self.step)
        share = math.expm1(rest) / whole
        high = here * (1.0 - share) + after * share

        left, right = float(self.lower[i]), float(self.lower[i + 1])
        back = -math.expm1(-self.step)
        if i > 0:
            slope = (left - before) / back
        else:  # in terms of H(x) − 1 + x, which is x H(1/x)
            slope = (left - math.exp(-self.step) * after) / back - 1.0
        from_left = left + slope * math.expm1(rest)
        further = float(self.upper[i + 2]) if i + 2 <= last else right
        from_right = right + (right - further) * -math.expm1(rest - self.step) / whole
        from_right -= 64.0 * U * (right + further) + _TINY
        size = left + right + before + after + (self.step if i == 0 else 0.0)
        low = max(from_left - 64.0 * U * size * (1.0 + whole / back) - _TINY, from_right)
        high = min(high * (1.0 + 64.0 * U) + 64.0 * U * here + _TINY, here, most)
        return Enclosure(min(max(low, right, 0.0), high), high)

    def epsilon(self, delta: float) -> Enclosure:
        """Enclose the smallest real ε with δ(ε) ≤ δ.

        Parameters
        ----------
        delta
            Target δ, 10⁻³⁰⁰ ≤ δ < 1.

        Returns
        -------
        Enclosure
            Of ε (natural log), negative where δ(0) is less than `delta`. ``upper`` is inf where
            neither the points nor ``end`` reach that far; ``lower`` is −inf where they do not on
            the negative side.

        Raises
        ------
        ValueError
            For a δ outside this range.

        Examples
        --------
        >>> curve = sb.profile(sb.KRR(k=2, eps0=1.0).blanket(), n=100)
        >>> f"{curve.epsilon(delta=1e-6).upper:.2f}"
        '0.52'
        """
        delta = validation.delta(delta)
        reach = (self.upper.size - 1) * self.step
        reach = max(reach, self.end) if self.end < math.inf else reach
        start = -700.0
        high = math.inf
        if self.delta(reach).upper <= delta:
            high = _last(lambda eps: self.delta(eps).upper > delta, start, reach)[1]
        low = -math.inf
        # Not where both are equal: a curve that has come down to its limit stays there.
        if self.delta(start).lower > delta:
            low = _last(lambda eps: self.delta(eps).lower > delta, start, reach)[0]
        return Enclosure(min(low, high), high)

    def advantage(self) -> Enclosure:
        """δ at ε = 0: how much better than a guess anyone can tell both inputs apart."""
        return self.delta(0.0)

    def false_negatives(self, false_positives: float) -> Enclosure:
        """Enclose the trade-off curve: the least rate of false negatives that any test attains.

        By duality f(α) = sup over x ≥ 0 of 1 − H(x) − xα (Dong, Roth and Su, JRSS B 2022,
        Proposition 2.13).

        Parameters
        ----------
        false_positives
            The rate α at which the test may take x₁⁰ for x₁¹, 0 ≤ α ≤ 1.

        Returns
        -------
        Enclosure
            Of f(α), a probability. No attack undercuts ``lower``, and of the pair of datasets of
            the lower bound some attack comes below ``upper``. Where there are several such pairs it
            is an attack that may choose among them, or mix them: no curve above ``upper`` holds for
            all.

        Raises
        ------
        ValueError
            For a rate outside this range.

        Examples
        --------
        >>> curve = sb.profile(sb.KRR(k=2, eps0=1.0).blanket(), n=100)
        >>> f"{curve.false_negatives(0.05).lower:.2f}"
        '0.94'
        """
        validation.probability("false_positives", false_positives)
        alpha = validation.finite("false_positives", false_positives)
        with np.errstate(over="ignore"):
            x = np.exp(self.step * np.arange(self.upper.size))
        paid = x * alpha if alpha > 0.0 else np.zeros(x.size)  # infinite x included
        above, below = self.upper, self._floors()
        # Of any points; x and 1/x.
        found = [1.0 - above - paid, (1.0 - above - alpha) / x]
        low = max(0.0, float(max(np.max(part) for part in found)) - 64.0 * U)
        # The supremum over a cell is at most that of 1 − the smallest H − the smallest xα there,
        # and that of the lines which H lies above.
        ends, costs = (x[:-1], x[1:]), (paid[:-1], paid[1:])
        lines = [np.maximum(*(1.0 - line[k] - costs[k] for k in (0, 1))) for line in below]
        mirrored = [
            np.maximum(*((1.0 - line[k] - alpha) / ends[k] for k in (0, 1))) for line in below
        ]
        cells = float(max(np.max(np.minimum(*part)) for part in (lines, mirrored)))
        beyond = max(1.0 - self.limit - paid[-1], (1.0 - self.limit - alpha) / x[-1])
        # Guessing has it, which is no float.
        most = min(1.0, (1.0 - alpha) * (1.0 + 4.0 * U))
        high = min(most, max(cells, beyond, 0.0) + 64.0 * U)
        return Enclosure(max(0.0, min(low, high)), max(0.0, high))

    def capped(self, bound: Profile) -> Profile:
        """Return the same with upper ends that are at most those of another upper bound.

        Parameters
        ----------
        bound
            A profile of which the upper ends count.

        Returns
        -------
        Profile
            At the same points, and further ones up to the last of the bound's.
        """
        reach = math.ceil((bound.upper.size - 1) * bound.step / self.step)
        more = max(0, min(reach + 1, _MOST_POINTS) - self.upper.size)
        upper = np.append(self.upper, np.full(more, self.upper[-1]))
        lower = np.append(self.lower, np.full(more, min(self.limit, self.lower[-1])))
        caps = [bound.delta(i * self.step).upper for i in range(upper.size)]
        upper = np.minimum(upper, caps)
        return Profile(self.step, lower, upper, self.limit, min(self.end, bound.end))

    def upper_only(self) -> Profile:
        """Return the same without a lower end, for a curve that is only known to be below it.

        Returns
        -------
        Profile
            With lower ends of 0.
        """
        return replace(self, lower=np.zeros(self.upper.size), limit=0.0)

    def _delta_of_pure_privacy(self, eps: FloatArray) -> FloatArray:
        """Return what δ is at most at ε ≥ 0 of any laws that are (``end``, 0)-DP, rounded up."""
        if math.isinf(self.end):
            return np.ones(eps.shape)
        most = -np.expm1(np.minimum(eps - self.end, 0.0)) / (1.0 + math.exp(-self.end))
        return np.asarray(np.minimum(most * (1.0 + 16.0 * U), 1.0))

    def _floors(self) -> list[tuple[FloatArray, FloatArray]]:
        """Two lines below H in each cell, as their values at both ends, shape (K,) each."""
        lower, upper = self.lower, self.upper
        whole, back = math.expm1(self.step), -math.expm1(-self.step)
        slopes = (lower[1:-1] - upper[:-2]) / back
        first = (lower[0] - math.exp(-self.step) * upper[1]) / back - 1.0
        rise = np.append(first, slopes) * whole
        slack = 64.0 * U * (1.0 + whole / back) * (lower[:-1] + np.append(1.0, upper[:-2]))
        left = lower[:-1] - slack, lower[:-1] + rise - slack
        further = np.append(upper[2:], lower[-1])
        fall = math.exp(-self.step) * (lower[1:] - further)
        slack = 64.0 * U * (lower[1:] + further)
        right = lower[1:] + fall - slack, lower[1:] - slack
        return [left, right]


@no_worse_than_simple_bound()
@limited
def profile(
    decomposition: Decomposition | Randomizer,
    n: int,
    *,
    rounds: int = 1,
    smallest: float = 1e-12,
    density: float = 24.0,
) -> Profile:
    """Enclose δ as a curve in ε, the privacy profile of one round of n users or of several.

    Of a randomizer it is the mechanism's own curve, the largest of all its datasets: ``upper`` is
    proven for all of them, and at every ε one of some known pairs of datasets attains ``lower``,
    the same pair in all rounds. Proofs: docs/composition.md, section 7.

    Parameters
    ----------
    decomposition
        What one report tells: a `Decomposition` such as ``R.blanket()``, or a `Randomizer` R.
    n
        Number of users, 1 to 10¹⁵.
    rounds
        How many rounds, 1 to 10⁶.
    smallest
        The points reach to where δ is at most this, 10⁻³⁰⁰ to 1, or as far as some thousand do, or
        as far as the work budget allows. Beyond them only pure privacy, such as Tε₀ of T rounds, is
        known.
    density
        Points for each standard deviation of the privacy loss (of a blanket), 1 to 1000.

    Returns
    -------
    Profile
        Ask it for δ, ε, the advantage or the trade-off curve.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Examples
    --------
    >>> curve = sb.profile(sb.KRR(k=2, eps0=1.0).blanket(), n=100)
    >>> f"{curve.false_negatives(0.05).lower:.2f}"
    '0.94'
    """
    composed = compose([(require_mechanism(decomposition), validation.users(n), rounds)])
    smallest = validation.delta(smallest)
    if not 1.0 <= validation.finite("density", density) <= 1000.0:
        raise ValueError(f"density must be a number from 1 to 1000, got {density!r}")
    if rounds > 1:
        return _of_many(composed, smallest, density)
    return _of_one(composed, smallest, density)


def _of_one(composed: Composed, smallest: float, density: float) -> Profile:
    [one] = composed.rounds
    step = lattice_step(max(one.size, 1e-9) / density)
    points = Points(step, 0.06 / density**2)
    upper, known = np.ones(_FEWEST_POINTS), list[Side]()
    with suppress(WorkError):
        known = [side for pair in lower_curves(one, points, smallest) for side in pair]
        upper = np.minimum.accumulate(upper_curve(one, points, smallest))
    limit = max((side.limit for side in known), default=0.0)
    # Points of what is proven and of the datasets end where each is small enough.
    lower = np.full(upper.size, limit)
    if known:
        told = np.max([side.lower for side in known], axis=0)[: upper.size]
        lower[: told.size] = told
    lower = np.maximum.accumulate(lower[::-1])[::-1]
    return Profile(step, lower, upper, limit, composed.largest_loss())


def _of_many(composed: Composed, smallest: float, density: float) -> Profile:
    asked = composed.rounds, density, 0.01 * smallest
    size = math.sqrt(math.fsum(one.times * one.size**2 for one in composed.rounds))
    step = lattice_step(max(size, 1e-9) / density)
    lower, upper, limit = list[float](), list[float](), 0.0
    with suppress(WorkError):
        above, below = pessimistic_sum(*asked), optimistic_sums(*asked)
        limit = max((one.infinite[0] for one in below), default=0.0)
        while len(lower) < _MOST_POINTS:
            eps = len(lower) * step
            low = max((delta_at(one, eps).lower for one in below), default=0.0)
            upper.append(min(delta_at(above, eps).upper, 1.0, *upper[-1:]))
            lower.append(low)
            if len(lower) > 2 and upper[-1] <= smallest + above.infinite[1]:
                break
    missing = max(0, _FEWEST_POINTS - len(upper))
    ends = np.array([*upper, *[min(upper, default=1.0)] * missing])
    floor = np.maximum.accumulate(np.array([*lower, *[0.0] * missing])[::-1])[::-1]
    return Profile(step, np.minimum(floor, ends), ends, limit, composed.largest_loss())


def advantage(
    decomposition: Decomposition | Randomizer,
    n: int,
    *,
    rounds: int = 1,
    rtol: float | None = None,
) -> Enclosure:
    """Enclose δ at ε = 0, the advantage of the best test over a guess (total variation).

    It is 1 less the least sum of both error rates of a test; from even odds such a test guesses
    right with probability (1 + advantage)/2. What is assumed is as for `epsilon`.

    Parameters
    ----------
    decomposition
        What one report tells: a `Decomposition` such as ``R.blanket()``, or a `Randomizer` R.
    n
        Number of users, 1 to 10¹⁵.
    rounds
        How many rounds of n users together, 1 to 10⁶.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 10⁻⁴, and for 0.05 of
        several rounds.

    Returns
    -------
    Enclosure
        A probability. Of a randomizer it is the mechanism's own: no test does better than ``upper``
        on any two neighbouring datasets, and some test attains ``lower`` on two of them.

    Raises
    ------
    ValueError
        For an argument outside these ranges.
    PrecisionError
        Where the width stays above `rtol`, as for `delta`.

    Examples
    --------
    >>> f"{sb.advantage(sb.KRR(k=2, eps0=np.log(3.0)), n=1).upper:.2f}"
    '0.50'
    """
    return delta_of(decomposition, 0.0, validation.users(n), rounds=rounds, rtol=rtol)


def _last(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Where a property that holds at `low` and not at `high` is lost, to the last digits."""
    for _ in range(120):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high
