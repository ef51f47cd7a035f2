"""How far estimates from local reports lie off: shares of users by value, means of numbers.

The estimates are linear in the reports and unbiased, given what users hold. docs/accuracy.md
derives every formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.products import FloatArray

# Sums of shares that users are given by.
_SUM_TOLERANCE = 1e-9
# A singular value below this, relative to the largest, is a rounding error.
_RANK_TOLERANCE = 1e-12
# Variances of all values at given shares of users.
_Variances: TypeAlias = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Error:
    """How far an unbiased estimate from n local reports lies off, given what users hold.

    Estimated is the share of the users who hold a value (an item, of sets), for every value; or
    the mean of all users' numbers, a single value.

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
class Spread:
    """Variances of what one report says of the shares of `values` values.

    ``held`` is that of a value which the user holds, ``other`` of another one, ``total`` the sum
    over all values; each the largest there is. ``at`` gives the mean variance of every value, where
    the shares of users who hold each are known. ``diversity`` is the largest variance of what users
    hold: Σ f(1 − f) of shares f, or that of numbers.
    """

    values: float
    held: float
    other: float
    total: float
    at: _Variances
    diversity: float

    def error(self, n: int, shares: ArrayLike | None) -> Error:
        """Of n reports. Raises ValueError for shares of a wrong number of values or below 0."""
        found = None if shares is None else self.at(checked_shares(shares, self.values)) / n
        largest = max(self.held, self.other)
        return Error(n, self.values, self.total / n, self.other / n, largest / n, found)

    def sampled(self, rate: float) -> Spread:
        """Of users who report with this chance, which makes them a sample of all.

        The estimate is that from their reports, as many as these are.
        """
        if rate == 0.0:
            raise ValueError("rate must be more than 0 for there to be reports to estimate from")
        odds = (1.0 - rate) / rate
        # Of a value that nobody holds every sample is true.
        return Spread(
            self.values,
            self.held / rate + odds * min(self.diversity, 0.25 if self.values > 1 else math.inf),
            self.other / rate + (odds * self.diversity if self.values == 1 else 0.0),
            self.total / rate + odds * self.diversity,
            lambda shares: self.at(shares) / rate + odds * shares * (1.0 - shares),
            self.diversity,
        )

    def times(self, factor: float) -> Spread:
        """Of numbers in a unit so many times as small, squared."""
        return of_numbers(factor * self.total, factor * self.diversity)


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
    def spread(self) -> Spread:
        """Any two bits of support may depend on each other: variances do not care."""
        held = self.p * self.miss / self.gap / self.gap
        other = self.q * (1.0 - self.q) / self.gap / self.gap
        return of_pure(self.values, held, other, self.items)

    def shares(self, supporters: NDArray, reports: int) -> FloatArray:
        """The estimates, from how many of the reports support each value."""
        return np.asarray((supporters / reports - self.q) / self.gap, dtype=np.float64)


def of_numbers(variance: float, diversity: float = 1.0) -> Spread:
    """Of the mean of numbers, whose reports have a variance of at most `variance`.

    That of the numbers themselves is at most `diversity`, which is 1 in [−1, 1].
    """
    return Spread(1, variance, variance, variance, lambda _: np.array([variance]), diversity)


def of_pure(values: float, held: float, other: float, items: int = 1) -> Spread:
    """Of values whose variances are ``held`` for a user who holds them, ``other`` for the rest.

    A user holds so many `items` of them.
    """
    rest = values - items
    return Spread(
        values,
        held,
        other,
        # A domain may have no more values than a user holds.
        items * held + (rest * other if rest else 0.0),
        lambda shares: shares * held + (1.0 - shares) * other,
        # Shares add up to `items`, and are the most diverse if they are equal.
        items * (1.0 - items / values),
    )


def of_grid(supports: Supports) -> Spread:
    """Of the mean of numbers in [−1, 1], each of them one of k values, evenly spaced.

    A number becomes one of its two neighbours at random, with the number as mean, and a report the
    value that it supports over p − q. Given x between neighbours g and g + h, that has the variance
    E g²/(p − q) + qΣg²/(p − q)² − x² with E g² = (2g + h)x − g(g + h), at most that for x = (g +
    h/2)/(p − q), or for g or g + h.
    """
    points = np.linspace(-1.0, 1.0, int(supports.values))
    low, high = points[:-1], points[1:]
    x = np.clip((low + high) / 2.0 / supports.gap, low, high)
    mean_square = (low + high) * x - low * high
    noise = supports.q * np.sum(points**2) / supports.gap**2
    return of_numbers(float(np.max(mean_square / supports.gap + noise - x**2)))


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


def of_matrix(matrix: NDArray[np.float64], weights: ArrayLike | None = None) -> Spread:
    """Of the best linear unbiased estimator for inputs of these weights, uniform if None."""
    each = uniform(len(matrix)) if weights is None else checked_shares(weights, len(matrix))
    estimator = best_linear(matrix, each)
    # Of value v, where the user holds x: its estimate has the mean 1 for v = x, else 0.
    variances = np.maximum(estimator**2 @ matrix.T - np.eye(len(matrix)), 0.0)
    others = variances - np.diag(np.diag(variances))
    return Spread(
        len(matrix),
        float(np.diag(variances).max()),
        float(others.max()),
        float(variances.sum(axis=0).max()),
        lambda shares: variances @ shares,
        1.0 - 1.0 / len(matrix),
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
