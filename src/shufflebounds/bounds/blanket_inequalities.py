"""Blanket bounds by Hoeffding's and Bennett's inequality.

The source is Balle, Bell, Gascón and Nissim, CRYPTO 2019. Let γ = Σc, M ~ Bin(n, γ) the number of
users in the blanket, and L the privacy amplification variable: γ (a_j − e^ε b_j)/c_j with
probability c_j/γ. Then, with L₁, L₂, … independent copies,

    D(ε) = E[(L₁ + … + L_M)₊] / (γ n),        E[L] = 1 − e^ε =: −a.

Hoeffding's and Bennett's inequality bound Pr[ΣL ≥ s] for m copies by e^{−r(s + ma)} with a convex
rate r. As r lies above its tangent at ma,

    E[(ΣL)₊] = ∫₀^∞ Pr[ΣL ≥ s] ds ≤ e^{−r(ma)} ∫₀^∞ e^{−r′(ma) s} ds = e^{−r(ma)} / r′(ma),

where r(ma) = mx and r′(ma) = 1/P, with x and P that do not depend on m. M = 0 contributes nothing,
so

    D(ε) ≤ P · ((1 − γ + γe^{−x})ⁿ − (1 − γ)ⁿ) / (γ n) = P · ∫_q^1 (1 − γy)^{n−1} dy

with q = 1 − e^{−x}. The integral shows that the bound falls as γ grows with P and x fixed. So a
lower bound of γ may replace γ there, such as e^{−ε₀} for an unknown randomizer; γ as a factor of L
needs an upper bound. The bound also falls as a grows and rises with the range, the maximum and the
second moment of L. All rounding and all bounds over an interval of ε use these directions.

Everything is computed for R = L/a, which has mean −1. Each of its values is a straight line in
s = 1/(e^ε − 1), namely s(a_j − b_j)γ/c_j − b_jγ/c_j. x is the same for R as for L, and P is a times
that of R.

*Hoeffding.* For m independent copies of L with mean −a and range b,
Pr[ΣL ≥ s] ≤ e^{−2(s + ma)²/(mb²)}. The rate at s = 0 is 2ma²/b² and its slope 4a/b², so that

    E[(ΣL)₊] ≤ b²/(4a) · e^{−2ma²/b²}.

*Bennett.* Let L have mean −a, maximum b₊ > 0 and second moment c. As (e^y − 1 − y)/y² rises in y,
E[e^{λL}] ≤ 1 − λa + c(e^{λb₊} − 1 − λb₊)/b₊² for λ ≥ 0. This needs the *uncentred* maximum with the
*second moment*: with the variance in place of c it is false. By log(1 + y) ≤ y and Chernoff's
bound, for m independent copies

    log Pr[ΣL ≥ s] ≤ −max_λ {λ(s + ma) − mc(e^{λb₊} − 1 − λb₊)/b₊²}.

At s = 0 the maximum is at λ = log(1 + u)/b₊, u = ab₊/c, which is also the slope of the rate in s.
So

    E[(ΣL)₊] ≤ b₊/log(1 + u) · e^{−(mc/b₊²)((1 + u)log(1 + u) − u)}.

For R = L/a with maximum ρ and second moment σ, u = ρ/σ, the prefactor is aσ · u/log(1 + u) and the
rate per copy κ(u)/σ with κ(u) = ((1 + u)log(1 + u) − u)/u², which has a limit as b₊ → 0. If b₊ ≤ 0,
D is 0 and so is the bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shufflebounds.bounds.base import Answer, Bound, Kind, Numerics, closed_form, smallest
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray, U
from shufflebounds.core.setting import Setting
from shufflebounds.subjects.base import Subject

# Side of results that must not be below the exact bound.
ABOVE = 1
# Side of results that must not be above the exact bound.
BELOW = -1
# Largest u at which the series of κ(u) is used, because the formula cancels for small u.
_SERIES_UP_TO = 0.25
# Smallest ε that is not treated as 0, where the bounds are singular.
_SMALLEST_EPS = 1e-30
# Relative width of an enclosure of ε.
_EPS_RTOL = 1e-10
# Number of intervals that are examined before an enclosure is widened. About 200 are usual.
_MAX_INTERVALS = 1000


@dataclass(frozen=True)
class Loss:
    """The numbers of R = L/a that the bounds use, at one ε or over an interval lo ≤ ε < hi.

    ``drift`` is a; ``top``, ``spread`` and ``square`` are the maximum, the range and the
    (uncentred) second moment of R; ``gamma`` and ``residual`` are γ and 1 − γ in the law of M. Each
    is a bound over the interval, rounding included, in the direction of the requested side.
    """

    drift: float
    top: float
    spread: float
    square: float
    gamma: float
    residual: float


# A function from lo, hi and the side to R in each direction between the two inputs. For the side
# ABOVE, lo and hi must be equal.
Losses = Callable[[float, float, int], Iterable[Loss]]


def _no_losses(lo: float, hi: float, side: int) -> Iterable[Loss]:
    """Return an R whose bounds are 1."""
    return [Loss(0.0, math.inf, math.inf, math.inf, gamma=1.0, residual=0.0)]


def specific(blanket: Decomposition) -> Losses:
    """Return R for the masses of a blanket itself, without its ``inner`` and ``outer`` ends.

    Each end has its own R: spreading masses, as an ``outer`` end does, raises the range, the
    maximum and the second moment. Uniting components, as an ``inner`` end does, lowers them.
    """
    is_used = (blanket.a > 0.0) | (blanket.b > 0.0)
    if (blanket.c[is_used] == 0.0).any():
        return _no_losses
    directions = (_BlanketLoss.of(blanket), _BlanketLoss.of(blanket.swap()))
    return lambda lo, hi, side: (direction.loss(lo, hi, side) for direction in directions)


def generic(eps0: float) -> Losses:
    """Return bounds of R for every ε₀-LDP randomizer: γ lies between e^{−ε₀} and 1."""
    return _losses_by_similarity(eps0, math.exp(-eps0), 1.0)


def with_similarity(blanket: Decomposition, eps0: float) -> Losses:
    """Return bounds of R for every ε₀-LDP randomizer with the γ of a blanket.

    γ = Σc is the total variation similarity. If the blanket has ends, γ is not known well enough,
    and the bounds are 1.
    """
    if blanket.outer is not None:
        return _no_losses
    gamma = math.fsum(blanket.c)
    slack = 2.0 * blanket.rel_err + (blanket.c.size + 32.0) * U
    return _losses_by_similarity(eps0, gamma, gamma, slack)


def _losses_by_similarity(
    eps0: float, min_gamma: float, max_gamma: float, gamma_err: float = 0.0
) -> Losses:
    """Return bounds of R by ε₀ and two bounds of γ, whose relative error is at most `gamma_err`.

    With t = e^ε and e = e^{ε₀}, γa_j/c_j and γb_j/c_j have mean 1 and lie in [γ, γe]. Therefore L
    has at most the range γ(e − 1)(t + 1), the maximum γ(e − t) and the second moment
    γ(e(t² + 1) − 2t), with the upper bound for γ. The law of M has the lower bound.
    """
    e, growth = math.exp(eps0), math.expm1(eps0)
    slack = (32.0 + 4.0 * eps0) * U + gamma_err

    def losses(lo: float, hi: float, side: int) -> Iterable[Loss]:
        # Divided by a, all three fall in ε.
        scale = max_gamma * (1.0 + side * slack)
        s = 1.0 / math.expm1(hi)
        loss = Loss(
            drift=math.expm1(lo),
            top=math.expm1(eps0 - hi) / -math.expm1(-hi) * scale,
            spread=growth * (1.0 + 2.0 * s) * scale,
            square=(e + 2.0 * growth * s * (s + 1.0)) * scale,
            gamma=min(min_gamma * (1.0 - side * slack), 1.0),
            residual=max(1.0 - min_gamma + side * slack, 0.0),
        )
        return [loss]

    return losses


def average(loss: Loss, prefactor: float, rate: float, n: int, side: int) -> float:
    """Return P · ((1 − γ + γe^{−x})ⁿ − (1 − γ)ⁿ) / (γ n), at most 1, rounded to the side.

    `prefactor` is P and `rate` is x. Both may have errors of 64 roundings.
    """
    if side == BELOW:
        prefactor = min(prefactor, 1e300)
    if not (0.0 < prefactor < math.inf and rate < math.inf):
        # The result is out of the range of floats.
        return 1.0 if side == ABOVE else 0.0
    # Beyond this rate γe^{−x} would underflow. If D > 0, x is at most 2.
    max_rate = 700.0 + math.log(loss.gamma)
    if rate > max_rate:
        if side == BELOW:
            return 0.0
        rate = max_rate
    # γ(1 − e^{−x}) and γe^{−x}.
    lost_mass = -loss.gamma * math.expm1(-rate)
    kept_mass = loss.gamma * math.exp(-rate)
    log_factor = math.log1p(-lost_mass) if lost_mass < 0.5 else math.log(loss.residual + kept_mass)
    exponent = n * log_factor
    # `share` is 1 − ((1 − γ)/(1 − γ + γe^{−x}))ⁿ, that of M ≥ 1.
    ratio = kept_mass / math.exp(log_factor)
    share = -math.expm1(n * math.log1p(-ratio)) if ratio < 1.0 else 1.0
    parts = (math.log(prefactor), -math.log(loss.gamma), -math.log(n))
    # −log E e^{−xM} is concave in x and 0 at 0: its relative error is at most that of x. The
    # relative error of γe^{−x}, which is x times that of x, can only enter through `share`, one to
    # one.
    margin = 128.0 * U * (1.0 + rate - exponent + math.fsum(map(abs, parts)))
    logarithm = math.fsum([exponent, math.log(share), *parts]) + side * margin
    value = math.exp(min(logarithm, 0.0))
    # The margin includes the rounding of exp, but not underflow.
    return math.nextafter(value, 1.0 if side == ABOVE else 0.0)


@dataclass(frozen=True, eq=False)
class _BlanketLoss:
    """R in one direction, for a blanket whose components all have c > 0.

    Arrays have shape (J,): ``shift`` is (a − b)/c and ``weight`` is b/c. ``rel_err`` bounds
    the relative error of the masses, ``slack`` that of sums over them.
    """

    shift: FloatArray
    weight: FloatArray
    c: FloatArray
    gamma: float
    residual: float
    rel_err: float
    slack: float

    @classmethod
    def of(cls, blanket: Decomposition) -> _BlanketLoss:
        is_shared = blanket.c > 0.0
        a, b, c = blanket.a[is_shared], blanket.b[is_shared], blanket.c[is_shared]
        rel_err = 1.01 * blanket.rel_err
        return cls(
            shift=(a - b) / c,
            weight=b / c,
            c=c,
            gamma=math.fsum(c),
            residual=blanket.residual,
            rel_err=rel_err,
            slack=2.0 * rel_err + (c.size + 32.0) * U,
        )

    def loss(self, lo: float, hi: float, side: int) -> Loss:
        """Return bounds of R over an interval of ε; see `Loss`."""
        with np.errstate(over="ignore", invalid="ignore"):
            first, first_err = self._values(lo)
            last, last_err = self._values(hi)
            # The values are straight lines, so that they are extreme at the ends.
            smallest_values = np.minimum(first + side * first_err, last + side * last_err)
            largest_values = np.maximum(first - side * first_err, last - side * last_err)
            top, bottom = float(smallest_values.max()), float(largest_values.min())
            size = np.maximum(np.maximum(smallest_values, -largest_values), 0.0)
            square = float((self.c * size * size).sum())
        scale = self.gamma * (1.0 + side * self.slack)
        return Loss(
            drift=math.expm1(lo),
            top=top * scale,
            spread=(top - bottom) * scale,
            square=square * scale,
            gamma=min(self.gamma * (1.0 - side * self.slack), 1.0),
            residual=max(self.residual + side * self.slack * self.gamma, 0.0),
        )

    def _values(self, eps: float) -> tuple[FloatArray, FloatArray]:
        """Return the values of R/γ at ε, (J,), and bounds of their errors."""
        s = 1.0 / math.expm1(eps)
        values = s * self.shift - self.weight
        terms = s * np.abs(self.shift) + self.weight
        # Errors of the masses have the weight s(a + e^ε b)/c, at most the terms and 2sb/c.
        error = (16.0 * U + 2.0 * self.rel_err) * terms + 4.0 * self.rel_err * s * self.weight
        return values, error


_SOURCE = "Balle, Bell, Gascón and Nissim, CRYPTO 2019"

# A function from R, n and the side to the bound of D by an inequality.
Inequality = Callable[[Loss, int, int], float]


def _losses_of_blanket(blanket: Decomposition, _: float) -> Losses:
    """Return R for a blanket itself."""
    return specific(blanket)


def _losses_of_eps0(_: None, eps0: float) -> Losses:
    """Return bounds of R by ε₀ alone."""
    return generic(eps0)


# The variants of each bound: the ending of its name, that of its label, and a function from the
# blanket and ε₀ to R. It uses the blanket, ε₀ alone, or ε₀ and γ.
_VARIANTS: Sequence[tuple[str, str, Callable[[Any, float], Losses]]] = (
    ("", "", _losses_of_blanket),
    ("_generic", ", generic", _losses_of_eps0),
    ("_similarity", ", γ known", with_similarity),
)


def _inequality_bounds(name: str, label: str, inequality: Inequality) -> list[Bound]:
    """Return the bounds by an inequality, one for each of `_VARIANTS`."""
    return [
        _inequality_bound(name + name_ending, label + label_ending, inequality, losses_of)
        for name_ending, label_ending, losses_of in _VARIANTS
    ]


def _inequality_bound(
    name: str, label: str, inequality: Inequality, losses_of: Callable[[Any, float], Losses]
) -> Bound:
    """Return the bound by an inequality for the losses of a blanket and ε₀."""

    def enclose(
        blanket: Decomposition | None, eps0: float, evaluate: Callable[[Losses], Enclosure]
    ) -> Enclosure:
        """Return an enclosure by the blanket, or by its ``inner`` and ``outer`` ends."""
        if losses_of is not _losses_of_blanket or blanket is None or blanket.is_finite():
            return evaluate(losses_of(blanket, eps0))
        inner, outer = (evaluate(losses_of(end, eps0)) for end in blanket.bounds())
        return Enclosure(min(inner.lower, outer.lower), outer.upper)

    def epsilon(blanket: Decomposition | None, eps0: float, at: Setting) -> Enclosure:
        n, delta = at.require("n"), at.require("delta")
        return enclose(
            blanket,
            eps0,
            lambda losses: smallest_eps_of_inequality(inequality, losses, eps0, n, delta),
        )

    def delta(blanket: Decomposition | None, eps0: float, at: Setting) -> Enclosure:
        n, eps = at.require("n"), at.require("eps")
        return enclose(blanket, eps0, lambda losses: delta_enclosure(inequality, losses, eps, n))

    return closed_form(
        name,
        Kind.UPPER,
        label=label,
        source=_SOURCE,
        knows_mechanism=losses_of is not _losses_of_eps0,
        quantities={"epsilon": epsilon, "delta": delta},
    )


def delta_enclosure(inequality: Inequality, losses: Losses, eps: float, n: int) -> Enclosure:
    """Return an enclosure of the larger bound of both directions at ε ≥ 0; at most 1."""
    upper = delta_above(inequality, losses, eps, n)
    if not _SMALLEST_EPS <= eps <= validation.MAX_EXPONENT:
        return Enclosure(0.0, upper)
    lower = max(inequality(loss, n, BELOW) for loss in losses(eps, eps, BELOW))
    return Enclosure(min(lower, upper), upper)


def delta_above(inequality: Inequality, losses: Losses, eps: float, n: int) -> float:
    """Return the larger bound of both directions at ε, rounded up; at most 1."""
    if eps < _SMALLEST_EPS:
        return 1.0
    # A bound at this ε holds for all larger ε, since D falls in ε.
    eps = min(eps, validation.MAX_EXPONENT)
    return max(inequality(loss, n, ABOVE) for loss in losses(eps, eps, ABOVE))


def smallest_eps_of_inequality(
    inequality: Inequality, losses: Losses, eps0: float, n: int, delta: float
) -> Enclosure:
    """Return an enclosure of the smallest ε in (0, ε₀] at which the bound is at most δ, or of ε₀.

    The bounds need not fall in ε (for small n they turn and rise). Therefore intervals are
    discarded from the left if the bound certainly exceeds δ everywhere in them, else halved.
    """
    lower = None
    rtol = _EPS_RTOL
    intervals = [(min(_SMALLEST_EPS, eps0), eps0)]
    for count in itertools.count(1):
        if not intervals:
            break
        if count % _MAX_INTERVALS == 0:
            # The bound nearly touches δ, where narrow intervals would take too long.
            rtol *= 10.0
        lo, hi = intervals.pop()
        if any(inequality(loss, n, BELOW) > delta for loss in losses(lo, hi, BELOW)):
            continue
        if hi - lo > rtol * hi:
            middle = math.sqrt(lo * hi)
            intervals += [(middle, hi), (lo, middle)]
            continue
        lower = lo if lower is None else lower
        if hi == eps0 or delta_above(inequality, losses, hi, n) <= delta:
            return Enclosure(lower, hi)
    return Enclosure(eps0 if lower is None else lower, eps0)


def hoeffding_divergence(loss: Loss, n: int, side: int) -> float:
    """Return the bound of D in one direction, rounded to the side."""
    if loss.drift <= 0.0:
        return 1.0
    # As E[R] = −1, a range other than 0 is at least a rounding error, and its square is not 0.
    squared_range = max(loss.spread, 0.0) * loss.spread
    if squared_range == 0.0:
        return 0.0
    prefactor = loss.drift * (squared_range / 4.0)
    return average(loss, prefactor, 2.0 / squared_range, n, side)


_HOEFFDING = _inequality_bounds("blanket_hoeffding", "blanket, Hoeffding", hoeffding_divergence)
HOEFFDING, HOEFFDING_GENERIC, HOEFFDING_SIMILARITY = _HOEFFDING


def bennett_divergence(loss: Loss, n: int, side: int) -> float:
    """Return the bound of D in one direction, rounded to the side."""
    if loss.drift <= 0.0:
        return 1.0
    # An interval that ends at the first ε with b₊ = 0 has b₊ > 0 inside.
    if loss.top < 0.0 or (loss.top == 0.0 and side == ABOVE) or loss.square <= 0.0:
        return 0.0
    u = loss.top / loss.square
    stretch = u / math.log1p(u) if u > 0.0 else 1.0
    prefactor = loss.drift * (loss.square * stretch)
    return average(loss, prefactor, _kappa(u) / loss.square, n, side)


def _kappa(u: float) -> float:
    """Return ((1 + u)log(1 + u) − u)/u² for u ≥ 0, with a relative error of about 40 roundings."""
    if u > _SERIES_UP_TO:
        return ((1.0 + u) * math.log1p(u) - u) / u / u
    # κ(u) = Σ_k (−u)^k/((k + 1)(k + 2)), of which 27 terms leave less than 2⁻⁶³.
    total = 0.0
    for k in reversed(range(27)):
        total = 1.0 / ((k + 1) * (k + 2)) - total * u
    return total


_BENNETT = _inequality_bounds("blanket_bennett", "blanket, Bennett", bennett_divergence)
BENNETT, BENNETT_GENERIC, BENNETT_SIMILARITY = _BENNETT


def _smaller_bound(name: str, label: str, *bounds: Bound) -> Bound:
    """Return the smallest of several bounds of the same quantities, as one bound."""

    def compute(
        subject: Subject, quantity: str, settings: Sequence[Setting], numerics: Numerics
    ) -> list[Answer]:
        rows = [bound.answers(subject, quantity, settings, numerics) for bound in bounds]
        return [smallest(answers) for answers in zip(*rows, strict=True)]

    return Bound(
        name=name,
        kind=Kind.UPPER,
        label=label,
        source=_SOURCE,
        knows_mechanism=bounds[0].knows_mechanism,
        quantities=bounds[0].quantities,
        compute=compute,
    )


BLANKET_BEST, BLANKET_BEST_GENERIC, BLANKET_BEST_SIMILARITY = (
    _smaller_bound(f"blanket_best{name_ending}", f"blanket, best inequality{label_ending}", *bounds)
    for (name_ending, label_ending, _), *bounds in zip(_VARIANTS, _HOEFFDING, _BENNETT, strict=True)
)
