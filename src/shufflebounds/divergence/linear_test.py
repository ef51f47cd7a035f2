"""`linear_test`: a lower bound of D of one pair of datasets, whose users may differ in their laws.

An attacker adds numbers f(y) over all reports y, and normal noise ηZ. If the sum is above t, it
guesses the victim's first input. With S the sum over the other users and u = a − e^ε b,

    D ≥ Σ_y u(y) Pr[S + f(y) + ηZ > t] = (1/2πi) ∫ U(z) e^{−zt + η²z²/2} Π_i E e^{zf(Y_i)} dz/z,

U(z) = Σ_y u(y) e^{zf(y)}, over the line of real part θ > 0. The integral is a sum at equally
spaced points, with bounds of what that adds, and of all rounding: docs/proofs/personal-epsilon.md.
Every f, t and η gives a lower bound. They are chosen close to the best test.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.characteristic import TiltedLaws, characteristic
from shufflebounds.divergence.elementary import SMALLEST
from shufflebounds.divergence.group_supremum import Excess
from shufflebounds.divergence.law import Law, U, exp_down, log_mgf
from shufflebounds.divergence.series import Part, log_sizes, product_power
from shufflebounds.divergence.window import round_down

# Times that the numbers f are adapted to the place where the test decides.
REFINEMENTS = 4
# Standard deviation of the noise, times θ. It lowers the bound by about half of its square,
# relatively.
NOISE = 0.03
# Relative size of the points of the integral beyond the last one.
SMALLEST_MODE = 1e-11
# Most points of an integral.
MAX_MODES = 2**20
# Largest number of components for which the best f are computed, by solving linear equations.
MAX_SOLVED = 500
# Periods that are tried, in units of the usual one, until what the copies in the other periods may
# add is small: the sum has a long tail if some reports are rare.
PERIODS = (1.0, 4.0, 16.0)
# What they may add, as a share of the bound, so that no longer period is tried.
SMALL_COPIES = 1e-3
# Thresholds t that are compared, in units of 1/θ around the middle, in two steps.
OFFSETS = np.linspace(-1.0, 1.0, 9)


@dataclass(frozen=True, eq=False)
class LinearTest:
    """A test: the numbers ``values``, (K,), at most 1 in size, and a line of integration θ."""

    values: FloatArray
    theta: float

    @staticmethod
    def best(u: FloatArray, laws: FloatArray, counts: FloatArray) -> LinearTest:
        """Return about the best test; the laws of the other users are rows, (groups, K).

        At the typical histogram h at which the test decides, the likelihoods of the histogram with
        one report fewer are proportional to s, where h is the sum of the laws tilted by s. So the
        test decides where u·s = 0, and f is the gradient of u·s.
        """
        total = counts.sum()
        mean = np.maximum(counts @ laws / total, 1e-300)
        f, theta = u / mean, 0.0
        for i in range(REFINEMENTS):
            f = f - float(mean @ f)
            f = f / float(np.abs(f).max())
            theta = _balance(u, f)
            if i == REFINEMENTS - 1 or u.size > MAX_SOLVED:
                break
            s = np.exp(theta * f)
            tilted = laws * s
            tilted = tilted / tilted.sum(axis=1, keepdims=True)
            expected = np.maximum(counts @ tilted, 1e-300)
            right = s * u
            right = right - expected * (right.sum() / expected.sum())
            # The matrix is singular for equal f, and the last term makes no other difference.
            matrix = np.diag(expected) - (tilted.T * counts) @ tilted
            matrix += np.outer(expected, expected) / total
            f = np.linalg.solve(matrix, right)
        spread = math.sqrt(max(float(counts @ (laws @ f**2 - (laws @ f) ** 2)), 0.0))
        return LinearTest(f, max(theta, 1.0 / spread))

    def laws(self, laws: FloatArray, rel_err: float) -> list[Law]:
        """Return the laws of f(Y) of all groups."""
        zero = np.zeros(self.values.size)
        return [Law(self.values, row, np.asarray(0), zero, rel_err, 0.0, rel_err) for row in laws]


def _balance(u: FloatArray, f: FloatArray) -> float:
    """Return θ ≥ 0 with Σ u e^{θf} = 0, about; 0 if there is none below 600."""
    low, high = 0.0, 1e-9

    def sign(theta: float) -> float:
        return float(u @ np.exp(theta * f))

    while sign(high) < 0.0:
        low, high = high, 2.0 * high
        if high > 600.0:
            return 0.0
    while high - low > 1e-6 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if sign(middle) < 0.0 else (low, middle)
    return high if low > 0.0 else 0.0


def linear_test(u: Excess, laws: FloatArray, counts: Sequence[int], rel_err: float) -> float:
    """Return a lower bound of D, given u = a − e^ε b.

    `laws` are those of the other users, a row for each group, (groups, K), with relative errors of
    at most `rel_err`, and `counts` how many each group has.
    """
    gains = np.maximum(u.values - u.err, 0.0)
    hidden = (laws > 0.0).any(axis=0)
    # What no other user sends gives the victim away.
    visible = math.fsum(gains[~hidden]) * (1.0 - 4.0 * U)
    if not any(counts):
        return math.fsum(gains) * (1.0 - 4.0 * U)
    with (
        np.errstate(all="ignore"),
        contextlib.suppress(OverflowError, ZeroDivisionError, np.linalg.LinAlgError),
    ):
        spend(4e6)
        inner = Excess(u.values[hidden], u.err[hidden])
        rows = laws[:, hidden]
        test = LinearTest.best(inner.values, rows, np.array([float(n) for n in counts]))
        bound = _bound_of_test(test, inner, rows, counts, rel_err)
        if bound > SMALLEST:
            visible += bound
    return visible * (1.0 - 4.0 * U)


def _bound_of_test(
    test: LinearTest, u: Excess, rows: FloatArray, counts: Sequence[int], rel_err: float
) -> float:
    """Return a lower bound of D by a test, with as long a period as it needs."""
    best = 0.0
    for period in PERIODS:
        integral = TestIntegral.of(test, u, rows, counts, rel_err, period)
        if integral is None:
            break
        bound, copies = integral.lower_bound()
        best = max(best, bound)
        if copies <= SMALL_COPIES * bound:
            break
    return best


@dataclass(frozen=True, eq=False)
class TestIntegral:
    """The integral of a test for every threshold t, in units of e^{``log_scale``}.

    ``t`` are the imaginary parts of its points, and ``terms`` its integrand there without e^{−zt},
    off by ``err``. ``wraps`` are pairs of a distance s − θ of another line, and the logarithm of
    what e^{−st} is multiplied by there.
    """

    test: LinearTest
    u: Excess
    points: Sequence[TiltedLaws]
    laws: Sequence[Law]
    eta: float
    step: float
    t: FloatArray
    terms: np.ndarray
    err: FloatArray

    @staticmethod
    def of(
        test: LinearTest,
        u: Excess,
        rows: FloatArray,
        counts: Sequence[int],
        rel_err: float,
        period: float = 1.0,
    ) -> TestIntegral | None:
        """Return the integral with a period in units of the usual; None if it is too costly."""
        laws, theta = test.laws(rows, rel_err), test.theta
        points = [
            TiltedLaws.of(law, np.array(float(n)), np.array(theta))
            for law, n in zip(laws, counts, strict=True)
        ]
        if not all(point.usable() for point in points):
            return None
        sigma = math.sqrt(sum(float(point.spread) for point in points))
        eta = NOISE / theta
        step = round_down(2.0 * math.pi / (period * (10.0 * sigma + 30.0 / theta)))
        modes = math.ceil(math.sqrt(-2.0 * math.log(SMALLEST_MODE)) / (eta * step))
        if not modes < MAX_MODES:
            return None
        spend(20.0 * modes * u.values.size)
        t = np.arange(modes + 1.0) * step
        parts: list[Part] = [characteristic(point, step, 0, t.size) for point in points]
        n = [float(x) for x in counts]
        drift = t * theta * eta**2
        real, imag, err = product_power(
            parts, n, log_sizes(parts, n, eta * t), eta * t, drift, 8.0 * U * drift
        )
        gains, gains_err = _victim(test, u, t)
        size = np.hypot(theta, t)
        terms = (real + 1j * imag) * gains / (theta + 1j * t)
        err = (err * (np.abs(gains) + gains_err) + np.hypot(real, imag) * gains_err) / size
        err = err + 16.0 * U * np.abs(terms)
        return TestIntegral(test, u, points, laws, eta, step, t, terms, err)

    def value(self, threshold: float | FloatArray) -> FloatArray:
        """Return the sum over the points at thresholds, (T,), times e^{−θt}; no error bound."""
        threshold = np.atleast_1d(threshold)
        twice = np.where(self.t == 0.0, 1.0, 2.0)
        turned = np.exp(-1j * np.multiply.outer(threshold, self.t))
        return (turned @ (twice * self.terms)).real * (self.step / (2.0 * math.pi))

    def lower_bound(self) -> tuple[float, float]:
        """Return a lower bound for about the best threshold, and what copies may have added."""
        theta = self.test.theta
        threshold = sum(float(p.n) * _tilted_mean(p) for p in self.points)
        for width in (1.0, 0.2):
            places = threshold + OFFSETS * width / theta
            values = self.value(places) * np.exp(-theta * (places - threshold))
            threshold = float(places[int(np.argmax(np.nan_to_num(values, nan=-np.inf)))])
        return self._certain(threshold)

    def _certain(self, threshold: float) -> tuple[float, float]:
        """Return a lower bound at a threshold, and what copies may have added."""
        theta, count = self.test.theta, self.t.size
        twice = np.where(self.t == 0.0, 1.0, 2.0) * (self.step / (2.0 * math.pi))
        sizes = np.abs(self.terms)
        rounding = (count + 16.0) * U + 8.0 * U * self.t * abs(threshold)
        err = float(twice @ (self.err + rounding * sizes))
        last = float(self.t[-1])
        # The points beyond the last one are at most those of the normal law.
        beyond = math.exp(-0.5 * (self.eta * last) ** 2) / (math.pi * (self.eta * last) ** 2)
        largest = float((np.abs(self.u.values) + self.u.err) @ np.exp(theta * self.test.values))
        value = float(self.value(threshold)[0]) - (err + beyond * largest) * (1.0 + 1e-9)
        if not value > 0.0:
            return 0.0, 0.0
        log_scale, slip = self._log_scale(theta, threshold)
        log_value = math.log(value)
        main = exp_down(log_scale - slip + log_value - 8.0 * U * (1.0 + abs(log_value)))
        copies = self._wrapped(threshold)
        return main - copies, copies

    def _log_scale(self, theta: float, threshold: float) -> tuple[float, float]:
        """Return the log of e^{−θt + η²θ²/2} Π E e^{θf}, and a bound of its error."""
        parts = [-theta * threshold, 0.5 * (theta * self.eta) ** 2]
        slip = 0.0
        for law, point in zip(self.laws, self.points, strict=True):
            k, err = (float(x[0]) for x in log_mgf(law, np.array([theta])))
            parts.append(float(point.n) * k)
            slip += float(point.n) * err
        return math.fsum(parts), slip + 16.0 * U * math.fsum(abs(x) for x in parts) + 8.0 * U

    def _wrapped(self, threshold: float) -> float:
        """Return an upper bound of what the copies in the other periods add."""
        theta, period = self.test.theta, 2.0 * math.pi / self.step * (1.0 - 4.0 * U)
        gain = self.u.largest_gain
        above = gain * math.exp(-theta * period) / -math.expm1(-theta * period)
        sigma = math.sqrt(sum(float(point.spread) for point in self.points))
        log_below = math.inf
        for factor in (2.0, 4.0, 6.0, 8.0):
            distance = factor / (sigma + 1.0 / theta)
            log, slip = self._log_scale(theta + distance, threshold)
            # The largest f is at most 1.
            log += slip + (theta + distance) - distance * period + 1e-12 * period * distance
            log_below = min(log_below, log - math.log(-math.expm1(-distance * period)))
        # A bound above the gain says that the period is too short for this law.
        below = gain * math.exp(log_below) if log_below <= 0.0 else math.inf
        return (above + below) * (1.0 + 1e-6)


def _victim(test: LinearTest, u: Excess, t: FloatArray) -> tuple[np.ndarray, FloatArray]:
    """Return U(θ + it) at all t, which are equally spaced from 0, and bounds of its error.

    With t = t′ + t″ on a grid, e^{itf} is a product of two factors, and U one of matrices.
    """
    growth = np.exp(test.theta * test.values)
    width = math.isqrt(t.size - 1) + 1
    short, long = (np.exp(1j * np.multiply.outer(x, test.values)) for x in (t[:width], t[::width]))
    gains = ((long * (u.values * growth)) @ short.T).ravel()[: t.size]
    size = np.abs(u.values) * growth
    relative = (3.0 * u.values.size + 24.0) * U + 4.0 * U * np.abs(test.theta * test.values)
    err = float(size @ relative + u.err @ growth * (1.0 + 1e-9))
    return gains, err + 4.0 * U * t * float(size @ np.abs(test.values))


def _tilted_mean(point: TiltedLaws) -> float:
    """Return the tilted mean of f(Y)."""
    return float(point.weights @ point.values)
