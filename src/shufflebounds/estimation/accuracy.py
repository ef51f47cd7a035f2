"""Errors of estimates from local reports: of the shares of users by value, of means of numbers.

The estimates are linear in the reports and unbiased, for any fixed inputs of the users.
docs/proofs/errors.md derives every formula.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.products import SUM_TOLERANCE, FloatArray
from shufflebounds.core.words import counted

# Bits of a report that is a real number, and of the seed of a hash.
WORD = 64.0
# Nodes of the quadrature of `mean_reciprocal`. 16 leave a relative error of 1e-9, 20 only rounding.
_NODES = 32
# End of the quadrature of `mean_reciprocal`, in units of 1/(n·rate): e^-40 is left out.
_REACH = 40.0
# Largest singular value, relative to the largest one, that is a rounding error.
_RANK_TOLERANCE = 1e-12
# Half of the sensitivity over the deviation of Gaussian noise below which the difference of its two
# tails would be a rounding error. At the threshold both formulas agree to 1e-8.
_SMALL_HALF_STEP = 5e-5
# A function that maps the shares of users to the variances of all values.
_Variances: TypeAlias = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Error:
    """The error of an unbiased estimate from n local reports, for fixed inputs of the users.

    The estimate is the share of the users who hold a value (or an item of their set), for every
    value, or the mean of all users' numbers, which is a single value. If users report at random,
    the errors are conditional on at least one report.

    Parameters
    ----------
    n
        Number of users who report.
    values
        Number of values; inf for the limit of many.
    mse
        Mean squared error of the shares, summed over all values, which is the measure to compare
        mechanisms by. It is the largest over all data, and most mechanisms have the same one for
        all data. For numbers it is in the square of their unit.
    rare
        Variance of the share of a value that nobody holds, the largest over all data. For numbers
        it is the same as ``mse``.
    largest
        The largest variance of any value's share over all data.
    variances
        The variance of every value's share, if the data are known; else None.

    Examples
    --------
    >>> error = sb.KRR(k=256, eps0=10.0).error(n=1_000_000)
    >>> f"{error.standard_error:.1e} of the users, {error.in_users(error.rare):.1f} of them"
    '9.5e-06 of the users, 6.8 of them'
    """

    n: int
    values: float
    mse: float
    rare: float
    largest: float
    # None if the data are not known. Callers know whether they gave them, so that Any spares them
    # an assertion.
    variances: FloatArray | Any = None

    @property
    def standard_error(self) -> float:
        """The standard error of a value's share: the root of ``mse`` over the number of values."""
        return math.sqrt(self.rare if math.isinf(self.values) else self.mse / self.values)

    def in_users(self, variance: float) -> float:
        """Return the standard error of a number of users.

        Parameters
        ----------
        variance
            The variance of a share, such as ``rare``.

        Returns
        -------
        float
            The number n times the root of the variance.
        """
        return self.n * math.sqrt(variance)


@dataclass(frozen=True)
class Largest:
    """The largest of `Error.mse`, `Error.rare` and `Error.largest` over all data, times n."""

    mse: float
    rare: float
    variance: float


@dataclass(frozen=True, kw_only=True)
class Spread(ABC):
    """Variances of the estimate from one report, of the shares of `values` values or of a mean.

    Each user reports with probability ``rate``, independently of all else. ``at`` maps the shares
    of the users who hold each value to the mean variance of a report, for every value.
    """

    values: float
    at: _Variances
    rate: float = 1.0

    @abstractmethod
    def largest(self, growth: float, odds: float) -> Largest:
        """Return the largest `growth` times the variance of a report + `odds` times `diversity`."""

    @abstractmethod
    def diversity(self, shares: FloatArray) -> FloatArray:
        """Return the variance of the data among users, for every value at these shares."""

    def sampled(self, rate: float) -> Spread:
        """Return the variances if each user reports with probability `rate` only."""
        if rate == 0.0:
            raise ValueError("rate must be more than 0 for there to be reports to estimate from")
        return replace(self, rate=self.rate * rate)

    def error(self, n: int, shares: ArrayLike | None) -> Error:
        """Return the error for n users, given that at least one of them reports.

        The formula is in docs/proofs/errors.md. Raises ValueError for shares of a wrong number of
        values or below 0.
        """
        growth, odds = 1.0, 0.0
        if self.rate < 1.0:
            growth = n * mean_reciprocal(n, self.rate)
            odds = n * max(growth - 1.0, 0.0) / (n - 1) if n > 1 else 0.0
        variances = None
        if shares is not None:
            frequencies = checked_shares(shares, self.values)
            variances = (growth * self.at(frequencies) + odds * self.diversity(frequencies)) / n
        largest = self.largest(growth, odds)
        return Error(
            n, self.values, largest.mse / n, largest.rare / n, largest.variance / n, variances
        )


@dataclass(frozen=True, kw_only=True)
class SpreadOfShares(Spread):
    """Variances of the estimates of the shares of values from one report.

    ``own_value`` is the variance for a value that the user holds, and ``other_value`` the largest
    one for a value that the user does not hold. Both are numbers, or arrays with an entry for every
    value. ``totals`` has pairs for groups of values: the sum of the variances over all values for a
    user who holds a value of the group, and the number of values in it. A user holds ``items``
    values; if there are several, all totals are equal. The estimate is the sum of those from
    ``histograms`` independent reports, and a value that a user holds is in one of these at most.
    """

    own_value: float | FloatArray
    other_value: float | FloatArray
    totals: Sequence[tuple[float, float]]
    items: int = 1
    histograms: int = 1

    def largest(self, growth: float, odds: float) -> Largest:
        """See `Spread`."""
        total = self.histograms * self._largest_total(growth, odds)
        rare = self.histograms * growth * np.max(self.other_value)
        # With s histograms, a share f has the variance
        # growth·(f·own_value + (s − f)·other_value) + odds·f·(1 − f/s), which is concave in f.
        slope = growth * (np.asarray(self.own_value) - self.other_value)
        share = np.where(slope >= 0.0, 1.0, 0.0)
        if odds > 0.0:
            with np.errstate(over="ignore"):
                share = np.clip(0.5 * self.histograms * (1.0 + slope / odds), 0.0, 1.0)
        variances = self.histograms * growth * np.asarray(self.other_value) + share * slope
        variances += odds * share * (1.0 - share / self.histograms)
        return Largest(total, float(rare), float(np.max(variances)))

    def _largest_total(self, growth: float, odds: float) -> float:
        """Return the largest growth·Σ f_v T_v + odds·Σ f_v(1 − f_v) over shares f, for totals T_v.

        By Lagrange, f_v = (growth·T_v − level)/(2·odds) where that is positive, else 0.
        """
        totals, counts = np.array(sorted(self.totals, reverse=True), dtype=np.float64).T
        largest = growth * totals[0]
        if math.isinf(largest) or odds == 0.0:
            return float(largest)
        below = growth * totals - largest
        sizes = np.cumsum(counts)
        levels = (np.cumsum(counts * below) - 2.0 * odds * self.items) / sizes
        level = levels[np.flatnonzero(below > levels)[-1]]
        shares = np.maximum(below - level, 0.0) / (2.0 * odds)
        gain = counts @ (shares * (below - odds * shares)) + odds * self.items
        return float(largest + gain)

    def diversity(self, shares: FloatArray) -> FloatArray:
        """See `Spread`; for several histograms it is the largest sum."""
        return shares * (1.0 - shares / self.histograms)


@dataclass(frozen=True, kw_only=True)
class SpreadOfNumbers(Spread):
    """Variances of reports whose mean is the user's number, which is in an interval around 0.

    ``pieces`` has a row (low, high, a, b, c) for each piece of the interval: the report of a number
    x between low and high has the variance a + bx + cx². That of −x is the same. Errors are in a
    unit whose square is ``factor`` times as small.
    """

    pieces: FloatArray
    factor: float = 1.0

    def largest(self, growth: float, odds: float) -> Largest:
        """See `Spread`. Half of the users hold a number x, half −x: no other data are worse."""
        low, high, a, b, c = self.pieces.T
        a, b, c = growth * a, growth * b, growth * c + odds
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.where(c < 0.0, np.clip(-0.5 * b / c, low, high), low)
        variance = self.factor * float(max(np.max(a + b * x + c * x * x) for x in (low, high, top)))
        return Largest(variance, variance, variance)

    def diversity(self, shares: FloatArray) -> FloatArray:
        """See `Spread`; it is never called, since numbers have no shares."""
        raise NotImplementedError

    def times(self, factor: float) -> SpreadOfNumbers:
        """Return the variances in a unit whose square is `factor` times as small."""
        return replace(self, factor=self.factor * factor)


def mean_reciprocal(n: int, rate: float) -> float:
    """Return E[1/m | m ≥ 1], where m of n users report, each with probability `rate` below 1.

    E[1/m; m ≥ 1] is the integral of ((1 − rate·u)ⁿ − (1 − rate)ⁿ)/(1 − u) over u from 0 to 1, by
    Gauss-Legendre quadrature. The relative error is below 10⁻¹².
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    reach = min(1.0, _REACH / (n * rate))
    u = 0.5 * reach * (1.0 + nodes)
    log_no_report = n * math.log1p(-rate)
    logarithm = n * np.log1p(-rate * u)
    values = np.exp(logarithm) * -np.expm1(log_no_report - logarithm) / (1.0 - u)
    return float(0.5 * reach * (weights @ values) / -math.expm1(log_no_report))


@dataclass(frozen=True)
class Supports:
    """Supports of a pure mechanism (Wang, Blocki, Li and Jha, USENIX Security 2017).

    A report supports a value that the user holds with probability ``p``, and another value with
    probability ``q``. The share of the reports that support a value, minus q, over p − q estimates
    the share of the users who hold it. ``miss`` is 1 − p and ``gap`` is p − q, both without
    cancellation. A user holds ``items`` of ``values`` values.
    """

    p: float
    miss: float
    q: float
    gap: float
    values: float
    items: int = 1

    @property
    def spread(self) -> SpreadOfShares:
        """The variances, which do not depend on the dependence between supports of values."""
        own_value = self.p * self.miss / self.gap / self.gap
        other_value = self.q * (1.0 - self.q) / self.gap / self.gap
        return of_pure(self.values, own_value, other_value, self.items)

    def shares(self, supporters: NDArray, reports: int) -> FloatArray:
        """Return the estimates from the number of reports that support each value."""
        return np.asarray((supporters / reports - self.q) / self.gap, dtype=np.float64)


def of_numbers(variance: float, square: float = 0.0, radius: float = 1.0) -> SpreadOfNumbers:
    """Return the spread of the mean of numbers x from −radius to radius.

    The variance of a report is variance + square·x².
    """
    return of_pieces(np.array([[-radius, radius, variance, 0.0, square]]))


def of_pieces(pieces: FloatArray) -> SpreadOfNumbers:
    """Return the spread of the mean of numbers with the pieces of `SpreadOfNumbers`."""
    return SpreadOfNumbers(values=1, at=_refuse_shares, pieces=pieces)


def _refuse_shares(_: FloatArray) -> FloatArray:
    """Raise ValueError: numbers have no shares."""
    raise ValueError("frequencies must be left out of numbers, whose mean is estimated")


def of_rounded(points: FloatArray, noise: float, gap: float = 1.0) -> SpreadOfNumbers:
    """Return the spread of the mean of numbers that are rounded at random to `points`.

    A number x between the neighbours g and h is their mean: the rounded number has the mean square
    (g + h)x − gh. The report has this over `gap`, plus `noise`, as mean square, and the mean x.
    """
    low, high = points[:-1], points[1:]
    squares = np.full(low.size, -1.0)
    constants, slopes = noise - low * high / gap, (low + high) / gap
    return of_pieces(np.column_stack([low, high, constants, slopes, squares]))


def of_pure(values: float, own_value: float, other_value: float, items: int = 1) -> SpreadOfShares:
    """Return the spread of values with one variance for own values, and one for all others.

    A user holds `items` values.
    """
    other_values = values - items
    # A domain may have no more values than a user holds; `other_value` may be infinite.
    total = items * own_value + (other_values * other_value if other_values else 0.0)
    return SpreadOfShares(
        values=values,
        at=lambda shares: shares * own_value + (1.0 - shares) * other_value,
        own_value=own_value,
        other_value=other_value,
        totals=[(total, values)],
        items=items,
    )


def of_grid(supports: Supports) -> SpreadOfNumbers:
    """Return the spread of the mean of numbers in [−1, 1] by a mechanism of k values.

    The values are evenly spaced. A number is rounded at random to one of its two neighbours, with
    the number as mean. A report counts as the sum of the values g that it supports, over p − q. Its
    mean square is E g²/(p − q) + qΣg²/(p − q)².
    """
    points = np.linspace(-1.0, 1.0, int(supports.values))
    noise = supports.q * float(np.sum(points**2)) / supports.gap**2
    return of_rounded(points, noise, supports.gap)


def best_linear(matrix: NDArray[np.float64], weights: FloatArray) -> FloatArray:
    """Return the matrix G of the best linear unbiased estimator, for any randomizer's `matrix`.

    The estimated shares of inputs are G times the shares of outputs. G = (P D⁻¹ Pᵀ)⁻¹ P D⁻¹, where
    P is the `matrix` and D the diagonal of the outputs' shares for inputs with the `weights`. It is
    computed by a QR decomposition of D^{−1/2} Pᵀ. Raises ValueError if different shares of inputs
    have the same law of reports.
    """
    law = weights @ matrix
    used = law > 0.0
    root = np.sqrt(law[used])
    if not (root.size and np.all(weights >= 0.0) and not matrix[:, ~used].any()):
        raise ValueError("weights must leave every output possible that any input has")
    q, r = np.linalg.qr((matrix[:, used] / root).T)
    sizes = np.linalg.svd(r, compute_uv=False)
    rank = int(np.count_nonzero(sizes > _RANK_TOLERANCE * sizes[0]))
    if rank < len(matrix):
        raise ValueError(
            "shares of the inputs must follow from the law of reports, but the matrix has "
            f"{len(matrix)} inputs and only {counted(rank, 'independent row')}: nobody can "
            "estimate them"
        )
    estimator = np.zeros_like(matrix)
    estimator[:, used] = np.linalg.solve(r, q.T) / root
    return estimator


def of_matrix(matrix: NDArray[np.float64], weights: ArrayLike | None = None) -> SpreadOfShares:
    """Return the spread of the best linear unbiased estimator for inputs with these weights.

    The weights are uniform if they are None.
    """
    shares = uniform(len(matrix)) if weights is None else checked_shares(weights, len(matrix))
    estimator = best_linear(matrix, shares)
    # Entry (v, x) is for value v and a user who holds x: the estimate has mean 1 for v = x, else 0.
    variances = np.maximum(estimator**2 @ matrix.T - np.eye(len(matrix)), 0.0)
    own_value = np.diag(variances).copy()
    return SpreadOfShares(
        values=len(matrix),
        at=lambda shares: variances @ shares,
        own_value=own_value,
        other_value=(variances - np.diag(own_value)).max(axis=1),
        totals=[(float(total), 1) for total in variances.sum(axis=0)],
    )


def uniform(values: int) -> FloatArray:
    """Return equal shares of all values."""
    return np.full(values, 1.0 / values)


def checked_shares(shares: ArrayLike, values: float) -> FloatArray:
    """Return shares of users, one for each value; raise ValueError unless they are from 0 to 1."""
    array = np.asarray(shares, dtype=np.float64)
    if array.shape != (values,) or not np.all((array >= 0.0) & (array <= 1.0 + SUM_TOLERANCE)):
        raise ValueError(
            f"frequencies must be {values} shares of users from 0 to 1, one of every value, got "
            f"an array of shape {array.shape}"
        )
    return array


def bits_of_sets(values: int, size: int) -> float:
    """Return log₂ C(values, size), the number of bits of a set of `size` values."""
    from scipy.special import betaln  # takes longer to load than most answers

    # A difference of logarithms of factorials would cancel for large numbers.
    return float(-math.log(values + 1) - betaln(values - size + 1, size + 1)) / math.log(2.0)


def gaussian_noise(eps: float, delta: float) -> float:
    """Return the smallest standard deviation per L2 sensitivity with (ε, δ)-DP Gaussian noise.

    Balle and Wang (ICML 2018), Theorem 8: s with Φ(1/(2s) − εs) − e^ε Φ(−1/(2s) − εs) = δ. T rounds
    are as one round with √T times the sensitivity. It serves for comparisons with a trusted curator
    and is not certified.
    """
    from scipy.special import erfcx, log_ndtr  # takes longer to load than most answers

    eps, delta = validation.eps(eps), validation.delta(delta)

    def log_divergence(s: float) -> float:
        x, half = eps * s, 0.5 / s
        if half < _SMALL_HALF_STEP:
            # φ(half − x) times the derivative of Φ/φ at −x, whose error is relative half²/6.
            slope = 1.0 - x * math.sqrt(0.5 * math.pi) * float(erfcx(x * math.sqrt(0.5)))
            log_density = -0.5 * (x - half) * (x - half) - 0.5 * math.log(2.0 * math.pi)
            return log_density + math.log(slope / s) if slope > 0.0 else -math.inf
        first = float(log_ndtr(half - x))
        second = eps + float(log_ndtr(-half - x))
        return first + math.log(-math.expm1(second - first)) if second < first else -math.inf

    low, high = 1e-6, 1.0
    while log_divergence(high) > math.log(delta) and high < 1e300:
        high *= 2.0
    while low < (middle := 0.5 * (low + high)) < high:
        if log_divergence(middle) > math.log(delta):
            low = middle
        else:
            high = middle
    return high


def eps_of_each(eps: float, delta: float, count: int) -> float:
    """Return the largest ε with which each of `count` mechanisms makes all of them (ε, δ)-DP.

    Kairouz, Oh and Viswanath (ICML 2015), Theorem 3.3: together they are worst if each is
    randomized response over two values. Geometric noise is, for a count that changes by 1. It
    serves for comparisons with a trusted curator and is not certified.
    """
    eps, delta = validation.eps(eps), validation.delta(delta)
    # Basic composition of all ε, or of all total variations, which are at most half of each ε.
    low, high = max(eps, delta) / count, eps + math.log(2.0 / (1.0 - delta))
    while high > low * (1.0 + 1e-12):
        middle = math.sqrt(low) * math.sqrt(high)
        if _delta_of_responses(eps, middle, count) <= delta:
            low = middle
        else:
            high = middle
    return low


def _delta_of_responses(eps: float, eps0: float, count: int) -> float:
    """Return δ at ε of `count` randomized responses over two values: the binomial sum."""
    from scipy.special import betaln, log_expit  # takes longer to load than most answers

    # Terms further than 40 standard deviations from the largest one are negligible.
    reach = 20.0 * math.sqrt(count)
    mean = count / (1.0 + math.exp(-eps0))
    first = max(0.5 * (count + eps / eps0), mean - reach)
    truths = np.arange(math.floor(first), min(count, max(first, mean) + reach) + 1.0)
    excess = np.maximum(eps0 * (2.0 * truths - count) - eps, 0.0)
    log_ways = -betaln(truths + 1.0, count - truths + 1.0) - math.log(count + 1.0)
    log_masses = log_ways + truths * log_expit(eps0) + (count - truths) * log_expit(-eps0)
    return float(np.sum(np.exp(log_masses) * -np.expm1(-excess)))


def curator_mse(
    values: int, n: int, eps: float, delta: float, *, items: int = 1, sums: int = 1
) -> float:
    """Return the total mean squared error of a histogram of n users from a trusted curator.

    A user holds `items` of the `values` values. All `sums` histograms (attributes times rounds)
    together are (ε, δ)-DP. The curator adds independent noise to every count, two-sided geometric
    or Gaussian, whichever has the smaller error. Of two values one count is enough.
    """
    # Replacing a user changes so many counts by 1.
    changed = sums * (1 if values == 2 else 2 * min(items, values - items))
    geometric = math.sqrt(0.5) / math.sinh(0.5 * eps_of_each(eps, delta, changed))
    gaussian = math.sqrt(changed) * gaussian_noise(eps, delta)
    deviation = min(geometric, gaussian) / n
    return values * deviation * deviation


def curator_mse_of_mean(n: int, eps: float, delta: float, *, sums: int = 1) -> float:
    """Return the error of a curator's mean of numbers in [−1, 1], which a user changes by 2/n.

    The noise is Laplace or Gaussian, whichever has the smaller error.
    """
    laplace = math.sqrt(2.0) / eps_of_each(eps, delta, sums)
    deviation = 2.0 / n * min(laplace, math.sqrt(sums) * gaussian_noise(eps, delta))
    return deviation * deviation
