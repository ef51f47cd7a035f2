"""The privacy profile as an object: δ at every ε, also negative, and the quantities it gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, WorkError
from shufflebounds.core.number import Real
from shufflebounds.core.products import FloatArray
from shufflebounds.core.validation import Count
from shufflebounds.core.work import RESERVE, budget, limited
from shufflebounds.divergence.law import U
from shufflebounds.divergence.window import round_down
from shufflebounds.profiles.losses import UNDERFLOW_ERR, CurveBounds, Lines
from shufflebounds.profiles.profile import Profile
from shufflebounds.profiles.root_search import LARGEST_EPS
from shufflebounds.questions.answers import Sent
from shufflebounds.questions.answers import delta as delta_of
from shufflebounds.questions.plan import Plan
from shufflebounds.subjects.base import Aim
from shufflebounds.subjects.reports import subject_of

# Largest number of points of a curve.
_MAX_POINTS = 4000
# Points that are enclosed together. Speed only.
_BLOCK = 24
# Relative width of the δ(0) that decides the distance of the points, and the largest relative width
# over many rounds.
_ROUGH = 0.01
# Share of the smallest δ that the losses of many rounds may neglect.
_NEGLECTED = 0.1
# Smallest number of points of a curve: `SampledProfile` continues chords of two neighbouring cells.
_MIN_POINTS = 3
# Typical loss below which the distance of the points falls no further.
_SMALLEST_SIZE = 1e-9
# Relative width of δ at the points, times the square of their number per standard deviation.
_NODE_WIDTH = 0.06
# Relative width of ε over many rounds, times the same square.
_ROUNDS_WIDTH = 0.9
# Factor of the smallest δ above which the last point of a curve is too early.
_SHORT = 2.0
# Most halvings of a bisection. Neighbouring floats end it sooner, except near 0.
_MAX_BISECTIONS = 120
# ε below which `SampledProfile.epsilon` does not search: e^ε would underflow.
_SMALLEST_EPS = -700.0


@dataclass(frozen=True, eq=False)
class SampledProfile:
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
    H(x) = 1 − x + x H(1/x), which determines it at negative ε. All this holds for the largest of
    several such curves as well. For a mechanism H is the largest curve of all its datasets, and
    lower ends hold for the largest curve of the pairs of datasets that ``lower`` is about.

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
            The enclosure of δ(ε), a probability.

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
            mirrored = self.delta(-eps)
            x, one_minus_x = math.exp(eps), -math.expm1(eps)
            low, high = (one_minus_x + x * end for end in (mirrored.lower, mirrored.upper))
            return Enclosure(max(0.0, low * (1.0 - 16.0 * U)), min(1.0, high * (1.0 + 16.0 * U)))
        last = self.upper.size - 1
        pure_bound = float(self._delta_of_pure_privacy(np.array(eps)))
        if eps >= last * self.step:
            high = min(float(self.upper[last]), pure_bound)
            return Enclosure(min(self.limit, high), high)
        i = min(int(eps / self.step), last - 1)
        i = i - 1 if i * self.step > eps else i
        begin, end = float(self.upper[i]), float(self.upper[i + 1])
        offset = eps - i * self.step
        share = math.expm1(offset) / math.expm1(self.step)
        high = begin * (1.0 - share) + end * share
        high = min(high * (1.0 + 64.0 * U) + 64.0 * U * begin + UNDERFLOW_ERR, begin, pure_bound)
        low = max(float(line) for line in self._lines.at(np.array(eps), i))
        return Enclosure(min(max(low, float(self.lower[i + 1]), 0.0), high), high)

    def epsilon(self, delta: float) -> Enclosure:
        """Enclose the smallest real ε with δ(ε) ≤ δ.

        Parameters
        ----------
        delta
            Target δ, 10⁻³⁰⁰ ≤ δ < 1.

        Returns
        -------
        Enclosure
            The enclosure of ε (natural log), negative if δ(0) is less than `delta`. ``upper`` is
            inf if neither the points nor ``end`` reach that far. ``lower`` is −inf if they do not
            on the negative side.

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
        high = math.inf
        if self.delta(reach).upper <= delta:
            high = _bisect(lambda eps: self.delta(eps).upper > delta, _SMALLEST_EPS, reach)[1]
        low = -math.inf
        # If that lower end equals δ, the curve has reached its limit and stays there.
        if self.delta(_SMALLEST_EPS).lower > delta:
            low = _bisect(lambda eps: self.delta(eps).lower > delta, _SMALLEST_EPS, reach)[0]
        return Enclosure(min(low, high), high)

    def advantage(self) -> Enclosure:
        """Enclose δ at ε = 0, the advantage of the best test over a guess."""
        return self.delta(0.0)

    def false_negatives(self, false_positives: float) -> Enclosure:
        """Enclose the trade-off curve: the smallest rate of false negatives of any test.

        By duality f(α) = sup over x ≥ 0 of 1 − H(x) − xα (Dong, Roth and Su, JRSS B 2022,
        Proposition 2.13).

        Parameters
        ----------
        false_positives
            The rate α at which the test may take x₁⁰ for x₁¹, 0 ≤ α ≤ 1.

        Returns
        -------
        Enclosure
            The enclosure of f(α), a probability. No attack has a rate below ``lower``. Some attack
            on the pair of datasets of the lower bound has a rate below ``upper``. If there are
            several such pairs, the attack may choose among them or mix them: no curve above
            ``upper`` holds for all of them.

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
        alpha = validation.FALSE_POSITIVES.check(false_positives)
        with np.errstate(over="ignore"):
            x = np.exp(self.step * np.arange(self.upper.size))
        # At α = 0 the product is 0 also for infinite x.
        x_alpha = x * alpha if alpha > 0.0 else np.zeros(x.size)
        upper = self.upper
        # Each line below H in each cell, at both ends of the cell.
        nodes = self._lines.nodes
        floors = list(zip(self._lines.at(nodes[:-1]), self._lines.at(nodes[1:]), strict=True))
        # Any points x and 1/x give lower bounds of f.
        candidates = [1.0 - upper - x_alpha, (1.0 - upper - alpha) / x]
        low = max(0.0, float(max(np.max(values) for values in candidates)) - 64.0 * U)
        # The supremum over a cell is at most 1 − the smallest H − the smallest xα there, and at
        # most the supremum for each line that lies below H.
        ends, costs = (x[:-1], x[1:]), (x_alpha[:-1], x_alpha[1:])
        lines = [np.maximum(*(1.0 - line[k] - costs[k] for k in (0, 1))) for line in floors]
        mirrored = [
            np.maximum(*((1.0 - line[k] - alpha) / ends[k] for k in (0, 1))) for line in floors
        ]
        in_cells = float(max(np.max(np.minimum(*part)) for part in (lines, mirrored)))
        after_cells = max(1.0 - self.limit - x_alpha[-1], (1.0 - self.limit - alpha) / x[-1])
        # A guess has the rate 1 − α, here rounded up.
        guess = min(1.0, (1.0 - alpha) * (1.0 + 4.0 * U))
        high = min(guess, max(in_cells, after_cells, 0.0) + 64.0 * U)
        return Enclosure(max(0.0, min(low, high)), max(0.0, high))

    def capped(self, bound: SampledProfile) -> SampledProfile:
        """Return the profile with upper ends that are at most those of another upper bound.

        Parameters
        ----------
        bound
            A profile whose upper ends hold for the same mechanism.

        Returns
        -------
        SampledProfile
            The profile at the same points, and at further points up to the last one of `bound`.
        """
        reach = math.ceil((bound.upper.size - 1) * bound.step / self.step)
        new_points = max(0, min(reach + 1, _MAX_POINTS) - self.upper.size)
        upper = np.append(self.upper, np.full(new_points, self.upper[-1]))
        lower = np.append(self.lower, np.full(new_points, min(self.limit, self.lower[-1])))
        caps = [bound.delta(i * self.step).upper for i in range(upper.size)]
        upper = np.minimum(upper, caps)
        return SampledProfile(self.step, lower, upper, self.limit, min(self.end, bound.end))

    def _delta_of_pure_privacy(self, eps: FloatArray) -> FloatArray:
        """Return the largest δ at ε ≥ 0 of all laws that are (``end``, 0)-DP, rounded up."""
        if math.isinf(self.end):
            return np.ones(eps.shape)
        largest = -np.expm1(np.minimum(eps - self.end, 0.0)) / (1.0 + math.exp(-self.end))
        return np.asarray(np.minimum(largest * (1.0 + 16.0 * U), 1.0))

    @cached_property
    def _lines(self) -> Lines:
        """The lines below the curve in each cell."""
        nodes = np.asarray(self.step * np.arange(self.upper.size))
        bounds = CurveBounds(self.lower, self.upper, self.limit)
        return Lines.of(nodes, bounds, float(self.lower[0]), float(self.upper[1]))


@limited
def profile(
    decomposition: Sent,
    n: Count,
    *,
    rounds: int = 1,
    smallest: float = 1e-12,
    density: float = 24.0,
) -> SampledProfile:
    """Enclose δ as a curve in ε, the privacy profile of one round of n users or of several.

    Neighbouring datasets are as for `epsilon`: those of a `RandomAllocation` differ by adding or
    removing one example, all others by the replacement of one user's input.

    For a randomizer it is the mechanism's own curve, the largest one of all its datasets: ``upper``
    is proven for all of them. At every ε one of several specific pairs of datasets achieves
    ``lower``, the same pair in all rounds. Proofs: docs/proofs/composition.md, section 7.

    Parameters
    ----------
    decomposition
        What one report tells: a `Decomposition` such as ``R.blanket()``, or a `Randomizer` R. Or a
        `RandomAllocation`, as for `epsilon`, whose curve may take a minute.
    n
        Number of users, 1 to 10¹⁵.
    rounds
        Number of rounds, 1 to 10⁶.
    smallest
        The points reach up to an ε at which δ is at most this, 10⁻³⁰⁰ to 1, unless they would be
        several thousand or exceed the work budget. Beyond the points only pure privacy, such as
        Tε₀ of T rounds, bounds δ.
    density
        Number of points for each standard deviation of the privacy loss (of a blanket), 1 to 1000.

    Returns
    -------
    SampledProfile
        The curve; ask it for δ, ε, the advantage or the trade-off curve.

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
    plan = Plan(subject_of(decomposition), validation.rounds(rounds))
    return sampled_profile(plan, validation.users(n), smallest, density)


@limited
def sampled_profile(
    plan: Plan, n: int, smallest: float = 1e-12, density: float = 24.0
) -> SampledProfile:
    """Enclose δ of all rounds of a plan as a curve in ε, with further arguments of `profile`."""
    smallest = validation.delta(smallest)
    Real("density", ge=1, le=1000).check(density)
    rtol = _NODE_WIDTH / density**2
    if plan.has_several_rounds(n):
        rtol = min(_ROUNDS_WIDTH / density**2, _ROUGH)
    if plan.subject.most_cells(plan.rounds):
        rtol = _ROUGH
    interval = plan.interval([n], Aim(smallest, plan.rounds, for_curve=True))
    step, end = _step(interval.upper, density), interval.upper.end
    end = min(end, plan.subject.pure_eps(plan.rounds))
    try:
        known = [(interval.lower, -1.0)] if interval.is_attained else []
        known.append((interval.upper, 1.0))
        *lowers, upper = (x.prepared(_NEGLECTED * smallest, rtol, side) for x, side in known)
    except WorkError:
        return _capped_curve(_profile(None, step, smallest, 0.0, end), plan, n, smallest, density)

    def ends(eps: FloatArray) -> tuple[FloatArray, FloatArray]:
        rows = np.zeros(eps.size, int)
        low = np.zeros(eps.size)
        for lower in lowers:
            low = lower.at(rows).deltas(eps, rtol).lower
        return low, np.minimum(upper.at(rows).deltas(eps, rtol, floor=low).upper, 1.0)

    limit = max((lower.limit for lower in lowers), default=0.0)
    floor = upper.limit * (1.0 + 1e-6) + smallest
    return _capped_curve(_profile(ends, step, floor, limit, end), plan, n, smallest, density)


def _capped_curve(
    curve: SampledProfile, plan: Plan, n: int, smallest: float, density: float
) -> SampledProfile:
    """Return a curve of a plan, at most that of cheap bounds if it ends early."""
    if plan.cheap is None or curve.upper[-1] <= _SHORT * smallest:
        return curve
    with budget(RESERVE):
        return curve.capped(sampled_profile(plan.cheap, n, smallest, density))


def _bisect(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Return two neighbouring floats between which a property is lost.

    It holds at `low` and not at `high`.
    """
    for _ in range(_MAX_BISECTIONS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def _step(upper: Profile, density: float) -> float:
    """Return the distance of the points: a standard deviation of the loss has `density`."""
    estimate = math.exp(min(float(upper.estimates(np.zeros(1))[0]), 0.0))
    return round_down(max(math.sqrt(2.0 * math.pi) * estimate, _SMALLEST_SIZE) / density)


def _profile(
    ends: Callable[[FloatArray], tuple[FloatArray, FloatArray]] | None,
    step: float,
    floor: float,
    limit: float,
    end: float,
) -> SampledProfile:
    """Return the profile with points up to the first where δ is at most `floor`.

    They end earlier if they are too many or cost too much work.
    """
    lower, upper = np.zeros(0), np.zeros(0)
    with suppress(WorkError):
        while ends is not None and upper.size < _MAX_POINTS:
            eps = step * np.arange(upper.size, upper.size + _BLOCK)
            eps = eps[eps <= LARGEST_EPS]
            if not eps.size:
                break
            low, high = ends(np.asarray(eps, dtype=np.float64))
            lower, upper = np.append(lower, low), np.append(upper, high)
            is_small = upper[_MIN_POINTS - 1 :] <= floor
            if is_small.any():
                size = _MIN_POINTS + int(np.argmax(is_small))
                lower, upper = lower[:size], upper[:size]
                break
    missing = max(0, _MIN_POINTS - upper.size)
    upper = np.append(upper, np.full(missing, float(upper.min(initial=1.0))))
    upper = np.minimum.accumulate(upper)
    lower = np.append(lower, np.full(missing, limit))
    lower = np.maximum.accumulate(np.maximum(lower, limit)[::-1])[::-1]
    return SampledProfile(step, np.minimum(lower, upper), upper, limit, end)


def advantage(
    decomposition: Sent,
    n: Count,
    *,
    rounds: int = 1,
    rtol: float | None = None,
) -> Enclosure:
    """Enclose δ at ε = 0, the advantage of the best test over a guess (total variation).

    It is 1 minus the smallest sum of both error rates of a test. From even odds the best test is
    right with probability (1 + advantage)/2. The assumptions, and which neighbouring datasets are
    meant, are as for `epsilon`.

    Parameters
    ----------
    decomposition
        What one report tells: a `Decomposition` such as ``R.blanket()``, or a `Randomizer` R, or a
        `RandomAllocation`, as for `epsilon`.
    n
        Number of users, 1 to 10¹⁵.
    rounds
        Number of rounds of n users together, 1 to 10⁶.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 10⁻⁴, and for 10⁻³ over
        several rounds.

    Returns
    -------
    Enclosure
        The enclosure of a probability. For a randomizer it is the mechanism's own: no test does
        better than ``upper`` on any two neighbouring datasets, and a test achieves ``lower`` on two
        of them.

    Raises
    ------
    ValueError
        For an argument outside these ranges.
    PrecisionError
        If the width stays above `rtol`, as for `delta`.

    Examples
    --------
    >>> f"{sb.advantage(sb.KRR(k=2, eps0=np.log(3.0)), n=1).upper:.2f}"
    '0.50'
    """
    return delta_of(decomposition, 0.0, validation.users(n), rounds=rounds, rtol=rtol)
