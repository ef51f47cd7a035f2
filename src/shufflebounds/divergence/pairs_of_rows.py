"""An upper bound of D over all datasets and all pairs of inputs of a matrix without symmetries.

Nearly all pairs of inputs are far below the worst one. They are dismissed by two bounds that are
quick to compute for many pairs and larger than that of `divergence.supremum`: the *simple* bound
has one exponential for each output, and the *close* bound the variances of tilted laws. What is
left is asked one pair at a time. Proof: docs/proofs/closing-the-gap.md, section 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from shufflebounds.core.datasets import second_moments
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray, U
from shufflebounds.core.work import spend
from shufflebounds.divergence.saddlepoint import log_estimate

# Logarithm of the ratio of D to the term without heads that the number of heads aims at.
_LOG_NO_HEADS_SHARE = math.log(1e3)
# Largest share of the blanket that heads report from.
_MAX_SHARE = 0.5
# Relative distance below which the bounds of two pairs count as equal. It moves ε by a tenth of it.
_NEARLY_EQUAL = 1e-3
# Number of pairs with the largest simple bounds whose close bounds are compared.
_COMPARED = 10
# Largest numbers of pairs that the two bounds may leave. More are left if users are too few.
_MAX_CLOSE_BOUNDS = 1000
_MAX_ASKED_PAIRS = 100
# Tilts that are tried, in units of the best one for normal values.
_TILTS = 2.0 ** np.linspace(-3.0, 1.0, 13)
# Standard deviations of the smoothing, times θ, of which the better one counts.
_SMOOTHINGS = (0.06, 0.2)
# Largest modulus of η t: modes beyond have a weight of e^{−21}.
_LAST_MODE = 6.5
# Largest number of modes of all inputs: 130 MB.
_MAX_MODES = 2**24
# Largest relative error of a sum of at most 2²⁰ positive terms and of its terms.
_SUM_ERR = 1e-9
# Bound of the relative rounding of a few operations.
_FEW_ROUNDINGS = 1e-12
# Work of one exponential among many, and of the close bound of a pair, in units of `core.work`.
_WORK_PER_EXPONENTIAL = 10.0
_WORK_PER_PAIR = 1e6

# Maps a pair of inputs to an upper bound of D of all datasets.
PairBound = Callable[[int, int], float]


def supremum_of_rows(
    rows: FloatArray, rel_err: float, eps: float, n: int, hopeless: float, bound: PairBound
) -> float:
    """Return an upper bound of D(ε) over all datasets and all ordered pairs of rows, at most 1.

    The `rows` are positive probabilities R(x)(y) with a relative error of `rel_err`. The `bound` of
    a pair is asked for few of them. If one is above `hopeless`, or if many pairs are left, the
    result may be 1.
    """
    if n == 1:
        return _unhidden(rows, rel_err, eps)
    screen = _Screen.of(rows, rel_err, eps, n)
    simple = screen.simple_bounds()
    uppers = {pair: float(simple[pair]) for pair in np.ndindex(*simple.shape)}
    # The pair that is asked first should be the worst one, so that it dismisses the others.
    compared = [divmod(i, len(rows)) for i in np.argsort(-simple, axis=None)[:_COMPARED].tolist()]
    close = {pair: screen.close_bound(*pair) for pair in compared}
    first = max(close, key=lambda pair: close[pair])
    largest = bound(*first)
    negligible = largest * (1.0 + _NEARLY_EQUAL)
    many = _pairs_above(uppers, negligible)
    if largest > hopeless or len(many) > _MAX_CLOSE_BOUNDS:
        return 1.0
    close |= {pair: screen.close_bound(*pair) for pair in many if pair not in close}
    uppers |= {pair: min(uppers[pair], bound_of_pair) for pair, bound_of_pair in close.items()}
    uppers[first] = largest
    few = _pairs_above(uppers, negligible)
    if len(few) > _MAX_ASKED_PAIRS:
        return 1.0
    for pair in few:
        uppers[pair] = min(uppers[pair], bound(*pair))
    return min(max(uppers.values()), 1.0)


def _pairs_above(uppers: Mapping[tuple[int, ...], float], limit: float) -> list[tuple[int, ...]]:
    """Return the pairs of inputs with an upper bound above a limit."""
    return [pair for pair, upper in uppers.items() if upper > limit]


def _unhidden(rows: FloatArray, rel_err: float, eps: float) -> float:
    """Return the largest Σ(a − e^ε b)₊, which is D of a single user."""
    exp_eps = math.exp(eps)
    largest = max(float(np.maximum(row - exp_eps * rows, 0.0).sum(axis=1).max()) for row in rows)
    return min(1.0, largest + (rel_err + (rows.shape[1] + 8.0) * U) * 1.01 * (1.0 + exp_eps))


@dataclass(frozen=True, eq=False)
class _Screen:
    """Bounds of all pairs of inputs at one ε and n.

    Heads report from d = τc. ``rest`` (inputs, outputs) is R(x) − d, ``share`` is λ, ``no_heads``
    bounds (1 − λ)^{n−1}. ``largest_value`` bounds (a + e^ε b)/(R(x) − d), and ``value_err`` its
    relative error. ``log_err`` is the relative error of λ + M, apart from that of exponents.
    """

    rows: FloatArray
    eps: float
    n: int
    rest: FloatArray
    share: float
    no_heads: float
    largest_value: float
    value_err: float
    log_err: float

    @staticmethod
    def of(rows: FloatArray, rel_err: float, eps: float, n: int) -> _Screen:
        """Return the screen with a suitable number of heads."""
        sure = rows.min(axis=0)
        total = float(sure.sum())
        tau = min(_heads(rows, eps, n) / ((n - 1) * total), _MAX_SHARE)
        share = tau * total
        # Data, products and differences: R(x) − d is at least (1 − τ) R(x).
        value_err = 4.0 * (rel_err + 6.0 * U) / (1.0 - tau)
        log_err = 1.01 * (value_err + (rows.shape[1] + 20.0) * U)
        no_heads = math.exp((n - 1) * math.log1p(-share * (1.0 - log_err))) * (1.0 + _SUM_ERR)
        ratio = float((rows.max(axis=0) / sure).max())
        return _Screen(
            rows,
            eps,
            n,
            rows - tau * sure,
            share,
            no_heads,
            1.01 * (1.0 + math.exp(eps)) * ratio / (1.0 - tau),
            value_err,
            log_err,
        )

    def simple_bounds(self) -> FloatArray:
        """Return bounds by s₊ ≤ e^{θs}/(eθ) for all ordered pairs, shape (inputs, inputs)."""
        inputs, outputs = self.rows.shape
        spend(_WORK_PER_EXPONENTIAL * inputs**3 * outputs)
        bounds = np.zeros((inputs, inputs))
        inverse = 1.0 / self.rows.T
        with np.errstate(all="ignore"):
            for x0, row in enumerate(self.rows):
                excess = row - math.exp(self.eps) * self.rows
                squares = excess**2 @ inverse
                values = excess[:, None, :] / self.rest
                # The inputs with the largest spread and with the largest value decide θ.
                widest, highest = squares.argmax(axis=1), values.max(axis=-1).argmax(axis=-1)
                rest = self.rest[np.column_stack([widest, highest])]
                theta = self._tilts(squares.max(axis=1), excess[:, None], rest)
                values *= theta[:, None, None]
                sums = np.einsum("ijk,jk->ij", np.exp(values, out=values), self.rest).max(axis=1)
                logs = self.n * (np.log(self.share + sums) + self._err(theta))
                main = np.exp(logs) / (self.n * math.e * theta)
                bounds[x0] = main * (1.0 + _SUM_ERR) + self.no_heads
                bounds[x0, x0] = 0.0
        return np.where(np.isnan(bounds), math.inf, bounds)

    def close_bound(self, x0: int, x1: int) -> float:
        """Return a bound of T_x by the variance of the tilted law, the largest over x."""
        with np.errstate(all="ignore"):
            excess = self.rows[x0] - math.exp(self.eps) * self.rows[x1]
            squares = (excess**2 / self.rows).sum(axis=1).max(keepdims=True)
            theta = float(self._tilts(squares, excess[None, None], self.rest[None])[0])
            return min(self._smoothed_bound(excess, theta, x / theta) for x in _SMOOTHINGS)

    def _smoothed_bound(self, excess: FloatArray, theta: float, eta: float) -> float:
        """Return the close bound with a tilt and a smoothing; inf if rounding prevents it."""
        values = excess / self.rest
        weights = self.rest * np.exp(theta * values)
        mass = weights.sum(axis=1)
        weights /= mass[:, None]
        distance = values - (weights * values).sum(axis=1, keepdims=True)
        variance, fourth = self._moments(weights, distance, theta)
        spread = 16.0 * math.sqrt(self.n * float(variance.max()))
        step = 2.0 * math.pi / (20.0 / theta + spread)
        count = _LAST_MODE / (eta * step) + 2.0
        if not count * len(mass) <= _MAX_MODES:
            return math.inf
        modes = int(count)
        spend(_WORK_PER_PAIR + _WORK_PER_EXPONENTIAL * modes * len(mass))
        t = np.arange(modes) * step
        weight = step / (2.0 * math.pi) * np.where(t == 0.0, 1.0, 2.0) / (theta**2 + t**2)
        weight *= np.exp(0.5 * eta**2 * (theta**2 - t**2))
        last = float(t[-1])
        tail = math.exp(0.5 * eta**2 * (theta**2 - last**2)) / (math.pi * eta**2 * last**3)
        # |M(z)| is at most M(θ) (1 − s/2), so that λ + |M(z)| ≤ (λ + M(θ)) e^{−κs/2}.
        s = np.maximum(
            np.multiply.outer(variance, t**2) * (1.0 - _FEW_ROUNDINGS)
            - np.multiply.outer(fourth, t**4 / 24.0) * (1.0 + _FEW_ROUNDINGS),
            0.0,
        )
        err = float(self._err(np.array(theta)))
        kappa = mass / (self.share + mass) * (1.0 - 4.0 * err - _FEW_ROUNDINGS)
        sums = np.exp(np.maximum(-0.5 * self.n * kappa[:, None] * s, -700.0)) @ weight + tail
        main = np.exp(self.n * (np.log(self.share + mass) + err)) * sums / self.n
        bound = float(main.max()) * (1.0 + _SUM_ERR) + self.no_heads
        return math.inf if math.isnan(bound) else bound

    def _moments(
        self, weights: FloatArray, distance: FloatArray, theta: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the variance, rounded down, and the fourth moment of a difference, rounded up.

        The `distance` of each value from the mean has an absolute error, and so do roots of
        moments. Both errors are those of values; weights have the relative error of exponents.
        """
        outputs = self.rows.shape[1]
        value_err = 4.0 * self.largest_value * (self.value_err + (outputs + 20.0) * U)
        weight_err = 4.0 * float(self._err(np.array(theta)))
        square = (weights * distance**2).sum(axis=1)
        fourth = 2.0 * (weights * distance**4).sum(axis=1) + 6.0 * square**2
        low = np.maximum(np.sqrt(square) * (1.0 - _FEW_ROUNDINGS) - value_err, 0.0)
        high = np.sqrt(np.sqrt(fourth)) * (1.0 + _FEW_ROUNDINGS) + value_err
        return low**2 * (1.0 - weight_err), high**4 * (1.0 + 2.0 * weight_err)

    def _tilts(self, mean_square: FloatArray, excess: FloatArray, rest: FloatArray) -> FloatArray:
        """Return θ for each pair, (P,), which is near the best one; every positive θ is valid.

        The mean squares have shape (P,), and (P, inputs, outputs) is that of the product of the
        values of a − e^ε b and of R(x) − d for the inputs of others that decide.
        """
        mean = math.expm1(self.eps)
        variance = np.maximum(mean_square - mean**2, 1e-3 * mean_square)
        normal = (mean + np.sqrt(mean**2 + 4.0 * variance / self.n)) / (2.0 * variance)
        values, best, tilts = excess / rest, np.full(normal.shape, math.inf), normal
        for theta in np.multiply.outer(_TILTS, normal):
            sums = (rest * np.exp(theta[:, None, None] * values)).sum(axis=-1).max(axis=-1)
            logs = self.n * np.log(self.share + sums) - np.log(theta)
            tilts = np.where(logs < best, theta, tilts)
            best = np.fmin(best, logs)
        return tilts

    def _err(self, theta: FloatArray) -> FloatArray:
        """Return the relative error of λ + M(θ)."""
        err: FloatArray = 1.01 * theta * self.largest_value * self.value_err + self.log_err
        return err


def _heads(rows: FloatArray, eps: float, n: int) -> float:
    """Return a number of heads that makes the term without heads a thousandth of D."""
    moments = second_moments(rows)
    x0, x1, x = np.unravel_index(int(np.argmax(moments)), moments.shape)
    largest = Decomposition(rows[x0], rows[x1], rows[x])
    with np.errstate(all="ignore"):
        log = float(log_estimate(largest, eps, n).log)
    return min(max(2.0, _LOG_NO_HEADS_SHARE - log), 700.0) if log < 0.0 else 2.0
