"""What the blanket bounds of Balle, Bell, Gascón and Nissim (CRYPTO 2019) have in common.

Let γ = Σc, M ~ Bin(n, γ) the number of users in the blanket, and L the privacy amplification
variable: γ (a_j − e^ε b_j)/c_j with probability c_j/γ. Then, with L₁, L₂, … independent copies,

    D(ε) = E[(L₁ + … + L_M)₊] / (γ n),        E[L] = 1 − e^ε =: −a.

Hoeffding's and Bennett's inequality bound Pr[ΣL ≥ s] for m copies by e^{−r(s + ma)} with a convex
rate r. As r lies above its tangent at ma,

    E[(ΣL)₊] = ∫₀^∞ Pr[ΣL ≥ s] ds ≤ e^{−r(ma)} ∫₀^∞ e^{−r′(ma) s} ds = e^{−r(ma)} / r′(ma),

where r(ma) = mx and r′(ma) = 1/P do not depend on m otherwise. M = 0 contributes nothing, so

    D(ε) ≤ P · ((1 − γ + γe^{−x})ⁿ − (1 − γ)ⁿ) / (γ n) = P · ∫_q^1 (1 − γy)^{n−1} dy

with q = 1 − e^{−x}. The integral shows that the bound falls as γ grows with P and x fixed. So a
lower bound of γ may stand in for γ there, such as e^{−ε₀} for an unknown randomizer; γ as a factor
of L needs an upper bound. The bound also falls as a grows and rises with the range, the maximum and
the second moment of L. All rounding and all bounds over an interval of ε go by these directions.

Everything is computed for R = L/a, which has mean −1. Each of its values is a straight line in
s = 1/(e^ε − 1), namely s(a_j − b_j)γ/c_j − b_jγ/c_j. x is the same for R as for L, and P is a times
that of R.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import Decomposition

FloatArray = NDArray[np.float64]

_U = 2.0**-53
# On which side of the exact bound a result must lie.
ABOVE, BELOW = 1, -1


@dataclass(frozen=True)
class Loss:
    """What the bounds need to know of R = L/a, at one ε or over an interval lo ≤ ε < hi.

    ``drift`` is a; ``top``, ``spread`` and ``square`` are the maximum, the range and the
    (uncentred) second moment of R; ``gamma`` and ``rest`` are γ and 1 − γ as they enter the law of
    M. Each is as extreme as it gets, rounding included, in the direction of the side asked for.
    """

    drift: float
    top: float
    spread: float
    square: float
    gamma: float
    rest: float


# Of lo, hi and the side: R in each direction between the two inputs. For the side ABOVE lo and hi
# must be equal.
Losses = Callable[[float, float, int], Iterable[Loss]]

# Without a drift there is no bound but 1.
_NO_DRIFT = Loss(drift=0.0, top=math.inf, spread=math.inf, square=math.inf, gamma=1.0, rest=0.0)


def specific(blanket: Decomposition) -> Losses:
    """R of a randomizer with a known blanket; of its ``outer`` end where it has one.

    Spreading masses, as ``outer`` does, only raises the range, the maximum and the second moment.
    """
    blanket = blanket.bounds()[1]
    used = (blanket.a > 0.0) | (blanket.b > 0.0)
    if (blanket.c[used] == 0.0).any():
        return lambda lo, hi, side: [_NO_DRIFT]
    ways = (_OneWay.of(blanket), _OneWay.of(blanket.swap()))
    return lambda lo, hi, side: (way.loss(lo, hi, side) for way in ways)


def generic(eps0: float) -> Losses:
    """What is true of R for every ε₀-LDP randomizer.

    With t = e^ε and e = e^{ε₀}, γa_j/c_j and γb_j/c_j have mean 1 and lie in [γ, γe]. Therefore L
    has at most the range γ(e − 1)(t + 1), the maximum γ(e − t) and the second moment
    γ(e(t² + 1) − 2t). The factors γ ≤ 1 are dropped. For the law of M, γ ≥ e^{−ε₀}.
    """
    e, growth = math.exp(eps0), math.expm1(eps0)
    slack = (32.0 + 4.0 * eps0) * _U

    def losses(lo: float, hi: float, side: int) -> Iterable[Loss]:
        # Over a, all three fall in ε.
        widen = 1.0 + side * slack
        s = 1.0 / math.expm1(hi)
        loss = Loss(
            drift=math.expm1(lo),
            top=math.expm1(eps0 - hi) / -math.expm1(-hi) * widen,
            spread=growth * (1.0 + 2.0 * s) * widen,
            square=(e + 2.0 * growth * s * (s + 1.0)) * widen,
            gamma=min((1.0 - side * slack) / e, 1.0),
            rest=max(growth / e + side * slack, 0.0),
        )
        return [loss]

    return losses


def average(loss: Loss, prefactor: float, rate: float, n: int, side: int) -> float:
    """P · ((1 − γ + γe^{−x})ⁿ − (1 − γ)ⁿ) / (γ n) for the prefactor P and the rate x; at most 1.

    `prefactor` and `rate` may be off by 64 roundings; the result is on the given side regardless.
    """
    if side == BELOW:
        prefactor = min(prefactor, 1e300)
    if not (0.0 < prefactor < math.inf and rate < math.inf):
        # Out of the range of floats.
        return 1.0 if side == ABOVE else 0.0
    # Beyond this γe^{−x} would underflow; where D > 0, x is at most 2.
    largest = 700.0 + math.log(loss.gamma)
    if rate > largest:
        if side == BELOW:
            return 0.0
        rate = largest
    hidden = -loss.gamma * math.expm1(-rate)
    seen = loss.gamma * math.exp(-rate)
    log_factor = math.log1p(-hidden) if hidden < 0.5 else math.log(loss.rest + seen)
    exponent = n * log_factor
    # 1 − ((1 − γ)/(1 − γ + γe^{−x}))ⁿ, the share of M ≥ 1.
    ratio = seen / math.exp(log_factor)
    occupied = -math.expm1(n * math.log1p(-ratio)) if ratio < 1.0 else 1.0
    parts = (math.log(prefactor), -math.log(loss.gamma), -math.log(n))
    # −log E e^{−xM} is concave in x and 0 at 0: its relative error is at most that of x. What
    # γe^{−x} loses, x relative errors of x, can only enter through `occupied`, and one to one.
    margin = 128.0 * _U * (1.0 + rate - exponent + math.fsum(map(abs, parts)))
    logarithm = math.fsum([exponent, math.log(occupied), *parts]) + side * margin
    value = math.exp(min(logarithm, 0.0))
    # The margin includes the rounding of exp, but not underflow.
    return math.nextafter(value, 1.0 if side == ABOVE else 0.0)


@dataclass(frozen=True, eq=False)
class _OneWay:
    """R in one direction, for a blanket whose components all have c > 0.

    Arrays have shape (J,): ``shift`` is (a − b)/c and ``weight`` is b/c. ``rel_err`` bounds
    the relative error of the masses, ``slack`` that of sums over them.
    """

    shift: FloatArray
    weight: FloatArray
    c: FloatArray
    gamma: float
    rest: float
    rel_err: float
    slack: float

    @classmethod
    def of(cls, blanket: Decomposition) -> _OneWay:
        used = blanket.c > 0.0
        a, b, c = blanket.a[used], blanket.b[used], blanket.c[used]
        rel_err = 1.01 * blanket.rel_err
        return cls(
            shift=(a - b) / c,
            weight=b / c,
            c=c,
            gamma=math.fsum(c),
            rest=blanket.residual,
            rel_err=rel_err,
            slack=2.0 * rel_err + (c.size + 32.0) * _U,
        )

    def loss(self, lo: float, hi: float, side: int) -> Loss:
        with np.errstate(over="ignore", invalid="ignore"):
            first, first_err = self._values(lo)
            last, last_err = self._values(hi)
            # The values are straight lines, so each is least and largest at the ends.
            least = np.minimum(first + side * first_err, last + side * last_err)
            most = np.maximum(first - side * first_err, last - side * last_err)
            top, bottom = float(least.max()), float(most.min())
            size = np.maximum(np.maximum(least, -most), 0.0)
            square = float((self.c * size * size).sum())
        scale = self.gamma * (1.0 + side * self.slack)
        return Loss(
            drift=math.expm1(lo),
            top=top * scale,
            spread=(top - bottom) * scale,
            square=square * scale,
            gamma=min(self.gamma * (1.0 - side * self.slack), 1.0),
            rest=max(self.rest + side * self.slack * self.gamma, 0.0),
        )

    def _values(self, eps: float) -> tuple[FloatArray, FloatArray]:
        """Values of R/γ at ε, and how far the true ones may be from them."""
        s = 1.0 / math.expm1(eps)
        values = s * self.shift - self.weight
        terms = s * np.abs(self.shift) + self.weight
        # Errors of the masses count for s(a + e^ε b)/c, which is at most the terms and 2sb/c.
        error = (16.0 * _U + 2.0 * self.rel_err) * terms + 4.0 * self.rel_err * s * self.weight
        return values, error
