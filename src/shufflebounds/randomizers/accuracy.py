"""How far estimates from local reports lie off: shares of users by value, means of numbers.

The estimates are linear in the reports and unbiased, given what users hold. docs/accuracy.md
derives every formula.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.products import FloatArray

# Sums of shares that users are given by.
_SUM_TOLERANCE = 1e-9
# Expected number of reports below which m ≥ 1 means m = 1, up to rounding.
_HARDLY_ANYBODY = 2.0**-53
# Nodes of the quadrature of `mean_reciprocal`. 16 leave a relative error of 1e-9, 20 only rounding.
_NODES = 32
# Where the quadrature of `mean_reciprocal` ends, in units of 1/(n·rate): e^-40 is left out.
_REACH = 40.0
# A singular value below this, relative to the largest, is a rounding error.
_RANK_TOLERANCE = 1e-12
# Variances of all values at given shares of users.
_Variances: TypeAlias = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Error:
    """How far an unbiased estimate from n local reports lies off, given what users hold.

    Estimated is the share of the users who hold a value (an item, of sets), for every value; or
    the mean of all users' numbers, a single value. If users report at random, the errors are those
    given that at least one of them does.

    Parameters
    ----------
    n
        Number of users who report.
    values
        How many values there are; inf for the limit of many.
    mse
        Mean squared error of the shares, summed over all values: the measure to compare mechanisms
        by. The largest over all data, of which it does not depend for most mechanisms; of numbers
        in the squared unit of these.
    rare
        Variance of the share of a value that nobody holds, the largest over all data; of numbers
        the same as ``mse``.
    largest
        The largest variance of any value's share, whatever users hold.
    variances
        Of every value's share, where it is known what users hold; else None.

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
    variances: FloatArray | None = None

    @property
    def standard_error(self) -> float:
        """Of a value's share: the root of ``mse`` over the number of values."""
        return math.sqrt(self.rare if math.isinf(self.values) else self.mse / self.values)

    def in_users(self, variance: float) -> float:
        """The standard error of a number of users.

        Parameters
        ----------
        variance
            That of a share, such as ``rare``.

        Returns
        -------
        float
            n times its root.
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
    """Variances of what one report says of the shares of `values` values, or of a mean.

    Each user reports with probability ``rate``, independently of all else. ``at`` maps the shares
    of the users who hold each value to the mean variance of a report, for every value.
    """

    values: float
    at: _Variances
    rate: float = 1.0

    @abstractmethod
    def largest(self, growth: float, odds: float) -> Largest:
        """The largest of `growth` times a report's variance plus `odds` times that of the data."""

    @abstractmethod
    def diversity(self, shares: FloatArray) -> FloatArray:
        """The variance among users of what they hold, for every value at these shares."""

    def sampled(self, rate: float) -> Spread:
        """Of a random sample of the users: each of them reports with a probability of `rate`."""
        if rate == 0.0:
            raise ValueError("rate must be more than 0 for there to be reports to estimate from")
        return replace(self, rate=self.rate * rate)

    def error(self, n: int, shares: ArrayLike | None) -> Error:
        """Of the reports of n users, if at least one of them reports (docs/accuracy.md).

        Raises ValueError for shares of a wrong number of values or below 0.
        """
        growth, odds = 1.0, 0.0
        if self.rate < 1.0:
            growth = n * mean_reciprocal(n, self.rate)
            odds = n * max(growth - 1.0, 0.0) / (n - 1) if n > 1 else 0.0
        variances = None
        if shares is not None:
            checked = checked_shares(shares, self.values)
            variances = (growth * self.at(checked) + odds * self.diversity(checked)) / n
        largest = self.largest(growth, odds)
        return Error(
            n, self.values, largest.mse / n, largest.rare / n, largest.variance / n, variances
        )


@dataclass(frozen=True, kw_only=True)
class SpreadOfShares(Spread):
    """Variances of what one report says of the shares of values.

    ``held`` is the variance for a value that the user holds, ``other`` the largest for a value that
    the user does not hold: numbers, or arrays with an entry for every value. ``totals`` has pairs:
    the sum of the variances over all values for a user who holds one of some values, and how many
    values these are. A user holds ``items`` values; if there are several, all totals are equal.
    The estimate is the sum of those from ``histograms`` independent reports. A value that a user
    holds is in one of these at most.
    """

    held: float | FloatArray
    other: float | FloatArray
    totals: Sequence[tuple[float, float]]
    items: int = 1
    histograms: int = 1

    def largest(self, growth: float, odds: float) -> Largest:
        """See `Spread`."""
        total = self.histograms * self._largest_total(growth, odds)
        rare = self.histograms * growth * np.max(self.other)
        # A share f has the variance growth·(f·held + (s − f)·other) + odds·f·(1 − f/s), with s for
        # the number of histograms. It is concave in f.
        slope = growth * (np.asarray(self.held) - self.other)
        share = np.where(slope >= 0.0, 1.0, 0.0)
        if odds > 0.0:
            with np.errstate(over="ignore"):
                share = np.clip(0.5 * self.histograms * (1.0 + slope / odds), 0.0, 1.0)
        variances = self.histograms * growth * np.asarray(self.other) + share * slope
        variances += odds * share * (1.0 - share / self.histograms)
        return Largest(total, float(rare), float(np.max(variances)))

    def _largest_total(self, growth: float, odds: float) -> float:
        """The largest growth·Σ f_v T_v + odds·Σ f_v(1 − f_v) over shares f, T_v being the totals.

        Lagrange: f_v = (growth·T_v − level)/(2·odds) where that is positive, else 0.
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
        """See `Spread`; of several histograms the largest sum."""
        return shares * (1.0 - shares / self.histograms)


@dataclass(frozen=True, kw_only=True)
class SpreadOfNumbers(Spread):
    """Variances of reports whose mean is the user's number, which lies in an interval around 0.

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
        """See `Spread`; nobody can ask for it, since numbers have no shares."""
        raise NotImplementedError

    def times(self, factor: float) -> SpreadOfNumbers:
        """Of numbers in a unit whose square is so many times as small."""
        return replace(self, factor=self.factor * factor)


def mean_reciprocal(n: int, rate: float) -> float:
    """E[1/m | m ≥ 1] of the number m of n users who report, each with probability `rate` below 1.

    E[1/m; m ≥ 1] is the integral of ((1 − rate·u)ⁿ − (1 − rate)ⁿ)/(1 − u) over u from 0 to 1, by
    Gauss-Legendre quadrature. The relative error is below 10⁻¹².
    """
    if n * rate < _HARDLY_ANYBODY:
        return 1.0
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    reach = min(1.0, _REACH / (n * rate))
    u = 0.5 * reach * (1.0 + nodes)
    nobody = n * math.log1p(-rate)
    logarithm = n * np.log1p(-rate * u)
    values = np.exp(logarithm) * -np.expm1(nobody - logarithm) / (1.0 - u)
    return float(0.5 * reach * (weights @ values) / -math.expm1(nobody))


@dataclass(frozen=True)
class Supports:
    """What a report supports: a value that the user holds with chance ``p``, another with ``q``.

    Wang, Blocki, Li and Jha (USENIX Security 2017) call mechanisms that do so pure: the share of
    the reports that support a value, minus q, over p − q estimates the share of the users who hold
    it. ``miss`` is 1 − p and ``gap`` is p − q, both without cancellation; of ``values`` values a
    user holds so many as ``items`` says.
    """

    p: float
    miss: float
    q: float
    gap: float
    values: float
    items: int = 1

    @property
    def spread(self) -> SpreadOfShares:
        """Any two bits of support may depend on each other: variances do not care."""
        held = self.p * self.miss / self.gap / self.gap
        other = self.q * (1.0 - self.q) / self.gap / self.gap
        return of_pure(self.values, held, other, self.items)

    def shares(self, supporters: NDArray, reports: int) -> FloatArray:
        """The estimates, from how many of the reports support each value."""
        return np.asarray((supporters / reports - self.q) / self.gap, dtype=np.float64)


def of_numbers(variance: float, square: float = 0.0, radius: float = 1.0) -> SpreadOfNumbers:
    """Of the mean of numbers x from −radius to radius: reports vary by variance + square·x²."""
    return of_pieces(np.array([[-radius, radius, variance, 0.0, square]]))


def of_pieces(pieces: FloatArray) -> SpreadOfNumbers:
    """Of the mean of numbers, with the pieces of `SpreadOfNumbers`."""
    return SpreadOfNumbers(values=1, at=_refuse_shares, pieces=pieces)


def _refuse_shares(_: FloatArray) -> FloatArray:
    raise ValueError("frequencies must be left out of numbers, whose mean is estimated")


def of_rounded(points: FloatArray, noise: float, gap: float = 1.0) -> SpreadOfNumbers:
    """Of the mean of numbers that are rounded at random to one of two neighbours in `points`.

    A number x between the neighbours g and h is their mean: the rounded number has the mean square
    (g + h)x − gh. The report has this over `gap`, plus `noise`, as mean square, and the mean x.
    """
    low, high = points[:-1], points[1:]
    squares = np.full(low.size, -1.0)
    constants, slopes = noise - low * high / gap, (low + high) / gap
    return of_pieces(np.column_stack([low, high, constants, slopes, squares]))


def of_pure(values: float, held: float, other: float, items: int = 1) -> SpreadOfShares:
    """Of values whose variances are ``held`` for a user who holds them, ``other`` for the rest.

    A user holds so many `items` of them.
    """
    rest = values - items
    # A domain may have no more values than a user holds.
    total = items * held + (rest * other if rest else 0.0)
    return SpreadOfShares(
        values=values,
        at=lambda shares: shares * held + (1.0 - shares) * other,
        held=held,
        other=other,
        totals=[(total, values)],
        items=items,
    )


def of_grid(supports: Supports) -> SpreadOfNumbers:
    """Of the mean of numbers in [−1, 1], each of them one of k values, evenly spaced.

    A number becomes one of its two neighbours at random, with the number as mean, and a report the
    value g that it supports over p − q: its mean square is E g²/(p − q) + qΣg²/(p − q)².
    """
    points = np.linspace(-1.0, 1.0, int(supports.values))
    noise = supports.q * float(np.sum(points**2)) / supports.gap**2
    return of_rounded(points, noise, supports.gap)


# Any randomizer of finitely many inputs and outputs.


def best_linear(matrix: NDArray[np.float64], weights: FloatArray) -> FloatArray:
    """G of the best linear unbiased estimator: shares are G times the shares of the outputs.

    With D the diagonal of the outputs' shares where inputs have the `weights`, it is
    (P D⁻¹ Pᵀ)⁻¹ P D⁻¹, P being the `matrix`, by a QR decomposition of D^{−1/2} Pᵀ. Raises
    ValueError where different shares of inputs have the same law of reports.
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
            f"{len(matrix)} inputs and only {rank} independent rows: nobody can estimate them"
        )
    found = np.zeros_like(matrix)
    found[:, used] = np.linalg.solve(r, q.T) / root
    return found


def of_matrix(matrix: NDArray[np.float64], weights: ArrayLike | None = None) -> SpreadOfShares:
    """Of the best linear unbiased estimator for inputs of these weights, uniform if None."""
    each = uniform(len(matrix)) if weights is None else checked_shares(weights, len(matrix))
    estimator = best_linear(matrix, each)
    # Of value v, where the user holds x: its estimate has the mean 1 for v = x, else 0.
    variances = np.maximum(estimator**2 @ matrix.T - np.eye(len(matrix)), 0.0)
    held = np.diag(variances).copy()
    return SpreadOfShares(
        values=len(matrix),
        at=lambda shares: variances @ shares,
        held=held,
        other=(variances - np.diag(held)).max(axis=1),
        totals=[(float(total), 1) for total in variances.sum(axis=0)],
    )


def uniform(values: int) -> FloatArray:
    """Every value is held by as many users."""
    return np.full(values, 1.0 / values)


def checked_shares(shares: ArrayLike, values: float) -> FloatArray:
    """Shares of the users who hold each value, from 0 to 1; ValueError for others."""
    found = np.asarray(shares, dtype=np.float64)
    if found.shape != (values,) or not np.all((found >= 0.0) & (found <= 1.0 + _SUM_TOLERANCE)):
        raise ValueError(
            f"frequencies must be {values} shares of users from 0 to 1, one of every value, got "
            f"an array of shape {found.shape}"
        )
    return found


# Bits that tell one of so many outcomes; and what stands for a real number or the seed of a hash.

WORD = 64.0
_FEW = 1000


def bits_of_sets(values: int, size: int) -> float:
    """log₂ C(values, size)."""
    size = min(size, values - size)
    if size < _FEW:
        return math.fsum(math.log2((values - i) / (i + 1)) for i in range(size))
    from scipy.special import betaln  # takes longer to load than most answers

    # Logarithms of factorials of large numbers would cancel.
    return float(-math.log(values + 1) - betaln(values - size + 1, size + 1)) / math.log(2.0)


# What a trusted curator's answer is off by: the Gaussian mechanism, calibrated exactly.

_BISECTIONS = 200


def gaussian_noise(eps: float, delta: float) -> float:
    """The standard deviation per L2 sensitivity at which Gaussian noise is (ε, δ)-DP, and no less.

    Balle and Wang (ICML 2018), Theorem 8: s with Φ(1/(2s) − εs) − e^ε Φ(−1/(2s) − εs) = δ. T
    rounds are one with √T times the sensitivity. For comparisons only: nothing is certified.
    """
    from scipy.special import log_ndtr  # takes longer to load than most answers

    eps, delta = validation.eps(eps), validation.delta(delta)

    def log_divergence(s: float) -> float:
        first = float(log_ndtr(0.5 / s - eps * s))
        second = eps + float(log_ndtr(-0.5 / s - eps * s))
        return first + math.log(-math.expm1(second - first)) if second < first else -math.inf

    low, high = 1e-6, 1.0
    while log_divergence(high) > math.log(delta) and high < 1e300:
        high *= 2.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if log_divergence(middle) > math.log(delta):
            low = middle
        else:
            high = middle
    return high


def curator_mse(
    values: int, n: int, eps: float, delta: float, *, items: int = 1, sums: int = 1
) -> float:
    """Total mean squared error of a histogram of n users that a trusted curator publishes.

    Users hold so many `items` of the `values` values, and `sums` histograms (attributes times
    rounds) together are (ε, δ)-DP: to replace a user changes them by √(2·items·sums)/n.
    """
    return values * 2.0 * items * sums * (gaussian_noise(eps, delta) / n) ** 2


def curator_mse_of_mean(n: int, eps: float, delta: float, *, sums: int = 1) -> float:
    """The same of the mean of numbers in [−1, 1], which one user changes by 2/n."""
    return 4.0 * sums * (gaussian_noise(eps, delta) / n) ** 2
