"""The δ(ε) of a sum of independent discrete losses, as a profile.

With S the sum of all losses if they are finite,

    δ(ε) = P(some loss is infinite) + E (1 − e^{ε − S})₊,

and the mean is a series with the kernel 1/(z(z + 1)), in which ε is a shift. Losses stay where they
are: rounds of different kinds need nothing in common. Proofs: docs/proofs/engine.md, sections 2 to
7, and docs/proofs/composition.md, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.fourier import sum_bounds
from shufflebounds.divergence.law import U, log
from shufflebounds.divergence.window import Kernel
from shufflebounds.profiles.losses import Losses
from shufflebounds.profiles.profile import Ends, Profile, Query

# Number of tilts that are compared at once in search of the one for δ or ε.
TILTS_AT_ONCE = 24
# Times that the interval between two of them is divided again.
TILT_ZOOMS = 3
# Smallest tilt in units of 1/√E S², and largest in units of the inverse of the largest loss.
TILT_RANGE = (1e-8, 1e4)
# Limit of the work for one δ, as of `fourier.MOST_WORK`: half a second.
MOST_WORK = 2.0**27
# Most steps to a root. A typical root takes three.
MAX_ROOT_STEPS = 30
# Share of the requested relative width of ε that the series may take at either end.
SERIES_SHARE = 0.05
# Smallest relative width of δ that the search for a root asks for.
FINEST = 1e-11
# Largest relative width of δ that the search for a root asks for.
COARSEST = 0.1
# Relative width of δ for the first steps to a root.
ROUGH = 0.02
# Most atoms of a sum that are enumerated: 512 losses of two rounds, or 64 of three. The series is
# wide near an atom, as at an ε close to the largest loss of all rounds.
MAX_ATOMS = 2**18
# Smallest logarithm of the mass of an atom that is enumerated: no product is subnormal.
SMALLEST_LOG_ATOM = -600.0
ENDS = ("lower", "upper")


class Tilt(NamedTuple):
    """A tilt θ, the ε that it is the best tilt for, and estimates of log δ(ε) and log E e^{θS}.

    They are those of the finite losses.
    """

    theta: float
    eps: float
    log_delta: float
    log_mgf: float


@dataclass(frozen=True, eq=False)
class Atoms:
    """The ``values`` of a sum of few losses, which fall, and their ``masses``, both (J,).

    Values have an absolute error of at most ``value_err``, and masses a relative one of at most
    ``mass_err``.
    """

    values: FloatArray
    masses: FloatArray
    value_err: float
    mass_err: float

    @staticmethod
    def of(rounds: Sequence[tuple[Losses, int]]) -> Atoms:
        """Return all sums of one loss of each round."""
        values, masses = np.zeros(1), np.ones(1)
        for losses in (losses for losses, times in rounds for _ in range(times)):
            values = (values[:, None] + losses.values).ravel()
            masses = (masses[:, None] * losses.masses).ravel()
        order = np.argsort(-values)
        count = sum(times for _, times in rounds)
        size = math.fsum(times * float(np.abs(losses.values).max()) for losses, times in rounds)
        return Atoms(values[order], masses[order], 2.0 * count * U * size, 2.0 * count * U)

    def delta(self, eps: float) -> tuple[float, float]:
        """Return bounds of E (1 − e^{ε − S})₊."""
        bounds = []
        for side in (-1.0, 1.0):
            distances = self.values + side * self.value_err - eps
            size = int(np.searchsorted(-distances, 0.0))
            total = float(self.masses[:size] @ -np.expm1(-distances[:size]))
            # Terms are positive, so that each addition adds at most U to the relative error.
            bounds.append(total * (1.0 + side * (self.mass_err + 2.0 * (size + 16.0) * U)))
        return bounds[0], bounds[1]


@dataclass(frozen=True, eq=False)
class LossSum(Profile):
    """A sum of independent losses: ``rounds`` lists pairs (losses, number of such rounds)."""

    rounds: Sequence[tuple[Losses, int]]
    name: str = ""

    def at(self, rows: Any) -> Self:
        """See `Profile`; there is one curve."""
        return self

    @cached_property
    def largest(self) -> float:
        """An upper bound of S."""
        terms = [times * float(losses.values.max()) for losses, times in self.rounds]
        return math.fsum(terms) + 8.0 * U * math.fsum(map(abs, terms))

    @cached_property
    def end(self) -> float:  # type: ignore[override]
        """See `Profile`."""
        return math.inf if self.infinite[1] else max(self.largest, 0.0)

    @property
    def limit(self) -> float:
        """See `Profile`."""
        return self.infinite[0]

    @cached_property
    def infinite(self) -> tuple[float, float]:
        """Lower and upper bounds of the P-mass of all outcomes with an infinite loss.

        With M and p_∞ of each round, ΠM^T − Π(M − p_∞)^T = ΠM^T (1 − Π(1 − p_∞/M)^T). M is 1 up to
        roundings: at least 1 for a pair above a curve, at most 1 for one below. So p_∞ in place of
        p_∞/M errs on the safe side in both cases.
        """
        log_finite = log_mass_err = 0.0
        for losses, times in self.rounds:
            if losses.infinite >= 1.0:
                return 1.0, 1.0
            log_finite += times * math.log1p(-losses.infinite)
            mass = math.fsum([*losses.masses, losses.infinite])
            log_mass_err += times * (abs(math.log(mass)) * (1.0 + 4.0 * U) + 2.0 * U)
        share = abs(math.expm1(log_finite))
        if share == 0.0:
            return 0.0, 0.0
        # A probability is at most 1, however large the masses are.
        upper = math.exp(min(math.log(share) + log_mass_err, 0.0))
        return share * math.exp(-log_mass_err) * (1.0 - 1e-12), upper * (1.0 + 1e-12)

    def delta_ends(self, query: Query) -> Ends:
        """See `Profile`."""
        pairs = zip(query.at.tolist(), query.rtol.tolist(), strict=True)
        enclosures = [self.delta(*pair) for pair in pairs]
        lower, upper = (np.array([getattr(x, end) for x in enclosures]) for end in ENDS)
        return Ends.of(lower, upper, self.name)

    def delta(self, eps: float, rtol: float) -> Enclosure:
        """Return an enclosure of δ at ε ≥ 0, for a relative width of `rtol`."""
        if eps >= self.largest:
            return Enclosure(*self.infinite)
        finite = self._series(eps, rtol) if self.atoms is None else self.atoms.delta(eps)
        upper = (finite[1] + self.infinite[1]) * (1.0 + 4.0 * U)
        return Enclosure(min((finite[0] + self.infinite[0]) * (1.0 - 4.0 * U), upper), upper)

    @cached_property
    def atoms(self) -> Atoms | None:
        """The atoms of S; None if they are many, or if products of masses would be tiny."""
        count = math.fsum(n * math.log(x.values.size) for x, n in self.rounds)
        smallest = math.fsum(n * math.log(x.masses.min()) for x, n in self.rounds)
        if count > math.log(MAX_ATOMS) or smallest < SMALLEST_LOG_ATOM:
            return None
        return Atoms.of(self.rounds)

    def _series(self, eps: float, rtol: float) -> tuple[float, float]:
        """Return bounds of E (1 − e^{ε − S})₊ over finite losses, by the series."""
        kinds = [(losses.law, np.array([float(times)])) for losses, times in self.rounds]
        low, high = sum_bounds(kinds, Kernel(1.0, eps), np.array([rtol]), MOST_WORK)
        logs = [times * math.log(losses.total) for losses, times in self.rounds]
        scale, count = math.fsum(logs), sum(times for _, times in self.rounds)
        err = 8.0 * U * (math.fsum(map(abs, logs)) + count)
        below, above = float(low[0]) + scale - err, float(high[0]) + scale + err
        return (
            math.exp(below) * (1.0 - 1e-12) if below > -700.0 else 0.0,
            math.exp(min(max(above, -700.0), 1.0)) * (1.0 + 1e-12),
        )

    def root_ends(self, query: Query) -> Ends:
        """See `Profile`."""
        pairs = list(zip(query.at.tolist(), query.rtol.tolist(), strict=True))
        lower, upper = (
            np.minimum([self.root(*pair, side) for pair in pairs], query.ceiling)
            for side in (-1.0, 1.0)
        )
        return Ends.of(lower, upper, self.name)

    def root(self, delta: float, rtol: float, side: float, start: Tilt | None = None) -> float:
        """Return a bound of the smallest ε with δ(ε) ≤ `delta`, from above if `side` is 1.

        If it is −1, the bound is from below. At the ε returned δ was bounded from the same side,
        unless it is 0 from below or the largest sum from above. A good `start` saves steps.
        """
        infinite = self.infinite[1 if side > 0.0 else 0]
        if infinite > delta:
            return math.inf
        if self.largest <= 0.0:
            return 0.0
        return _RootSearch(self, delta, infinite, rtol, side, start).run()

    def tilt_at_delta(self, delta: float) -> Tilt:
        """Return the tilt at the ε at which the finite part of δ(ε) is about `delta`."""
        return self._tilt(lambda tilts: tilts.log_delta > math.log(delta))

    def tilt_at_eps(self, eps: float) -> Tilt:
        """Return the tilt for δ at ε."""
        return self._tilt(lambda tilts: tilts.eps < eps)

    def _tilt(self, is_below: Callable[[Any], Any]) -> Tilt:
        """Return the largest tilt of those of which a property holds for all that are smaller."""
        square = math.fsum(n * float(x.masses @ x.values**2) for x, n in self.rounds)
        largest = max(float(np.abs(x.values).max()) for x, _ in self.rounds)
        if square == 0.0:  # nothing but losses of 0, or nothing at all
            return Tilt(1.0, 0.0, -math.inf, 0.0)
        low, high = TILT_RANGE[0] / math.sqrt(square), TILT_RANGE[1] / largest
        for _ in range(TILT_ZOOMS):
            tilts = self.saddles(np.geomspace(low, high, TILTS_AT_ONCE))
            i = min(max(int(np.argmin(is_below(tilts))) or 0, 1), TILTS_AT_ONCE - 1)
            low, high = (float(x) for x in tilts.theta[i - 1 : i + 1])
        return Tilt(*(float(0.5 * (x[i - 1] + x[i])) for x in tilts))

    def saddles(self, theta: FloatArray) -> Any:
        """Return estimates at tilts of shape (…), by the saddlepoint method."""
        k, slope, curvature = (np.zeros(theta.shape) for _ in range(3))
        for losses, times in self.rounds:
            x = theta[:, None] * losses.values
            top = x.max(axis=1)
            weights = losses.masses * np.exp(x - top[:, None])
            total = weights.sum(axis=1)
            mean = weights @ losses.values / total
            k += times * (top + np.log(total))
            slope += times * mean
            curvature += times * (weights @ losses.values**2 / total - mean**2)
        eps = slope - 1.0 / theta - 1.0 / (1.0 + theta)
        spread = curvature + theta**-2.0 + (1.0 + theta) ** -2.0
        log_delta = k - theta * eps - np.log(theta) - np.log1p(theta)
        estimates: Any = (theta, eps, log_delta - 0.5 * np.log(2.0 * math.pi * spread), k)
        return Tilt(*estimates)

    def estimates(self, eps: FloatArray) -> FloatArray:
        """See `Profile`."""
        return np.array([self.tilt_at_eps(x).log_delta for x in eps.tolist()])

    def guesses(self, delta: FloatArray) -> FloatArray:
        """See `Profile`."""
        return np.array([max(self.tilt_at_delta(x).eps, 0.0) for x in delta.tolist()])


class _RootSearch:
    """A search for a bound of the smallest ε with δ(ε) ≤ `delta`, as `LossSum.root` returns it.

    The bound of δ is above `delta` at ``low``, unless that is 0, and not at ``high``. ``theta`` is
    about how fast log δ falls at ``eps``, where it is evaluated next, to a relative width of
    ``rough`` or finer. ``infinite`` is the δ of infinite losses. A ``start`` that is given is taken
    to be close to the root.
    """

    def __init__(
        self,
        loss_sum: LossSum,
        delta: float,
        infinite: float,
        rtol: float,
        side: float,
        start: Tilt | None,
    ) -> None:
        self.loss_sum, self.delta, self.infinite = loss_sum, delta, infinite
        self.rtol, self.side, self.rough = rtol, side, 0.0 if start else ROUGH
        self.goal = max(delta - infinite, 1e-12 * delta)
        self.theta, eps, *_ = start or loss_sum.tilt_at_delta(self.goal)
        # A bound from above is sought a little above the root, one from below a little below it.
        eps += 0.5 * side * self._slack(eps) / self.theta if start else 0.0
        self.eps = min(max(eps, 0.0), loss_sum.largest)
        self.low, self.high = 0.0, max(loss_sum.largest, 0.0)
        self.previous = math.nan, math.nan

    def run(self) -> float:
        """Return the bound."""
        for _ in range(MAX_ROOT_STEPS):
            slack = self._slack(self.eps)
            enclosure = self.loss_sum.delta(self.eps, max(slack, self.rough))
            value = enclosure.upper if self.side > 0.0 else enclosure.lower
            self._narrow(value, enclosure)
            if self.high == 0.0 or self._is_close(value, enclosure, slack):
                break
        return self.high if self.side > 0.0 else self.low

    def _slack(self, eps: float) -> float:
        """Return the relative width of δ that the series may have at a root near `eps`."""
        # Near few atoms log δ may fall far more slowly than with θ.
        return min(max(SERIES_SHARE * self.rtol * self.theta * eps, FINEST), COARSEST)

    def _narrow(self, value: float, enclosure: Enclosure) -> None:
        """Use the bound of δ at ``eps``, unless it is rough and a finer one may not fail."""
        is_open = enclosure.lower <= self.delta < enclosure.upper
        if (value > self.delta) != (self.side < 0.0) and self.rough and is_open:
            return
        if value > self.delta:
            self.low = self.eps
        else:
            self.high = self.eps

    def _is_close(self, value: float, enclosure: Enclosure, slack: float) -> bool:
        """Return whether the bound is close enough; if not, choose the next ε."""
        excess = log(value - self.infinite) - math.log(self.goal)
        width = log(enclosure.upper - self.infinite) - log(enclosure.lower - self.infinite)
        aim = max(slack, min(width, 1.0))
        is_met = (value <= self.delta) == (self.side > 0.0) and not self.rough
        is_open = enclosure.lower <= self.delta < enclosure.upper
        if is_open or abs(excess) <= 2.0 * max(self.rough, width):
            self.rough = 0.0
        if self.high - self.low <= SERIES_SHARE * self.rtol * self.high:
            return True
        if is_met and abs(excess) <= 2.0 * aim:
            return True
        self._step(excess, aim)
        return False

    def _step(self, excess: float, aim: float) -> None:
        """Choose the next ε, given by how much log δ exceeds the goal."""
        before, excess_before = self.previous
        rate = self.theta
        if self.eps != before:
            rate = (excess_before - excess) / (self.eps - before)
        if math.isfinite(rate):
            self.theta = min(max(rate, 0.3 * self.theta), 3.0 * self.theta)
        self.previous = self.eps, excess
        eps = self.eps + (max(min(excess, 50.0), -50.0) + 0.5 * self.side * aim) / self.theta
        if eps <= 0.0 < min(self.low, self.eps) or not self.low < eps < self.high:
            eps = 0.5 * (self.low + self.high) if self.low or self.eps == 0.0 else 0.0
        self.eps = eps
