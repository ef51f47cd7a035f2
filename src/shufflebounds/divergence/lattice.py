"""The T-fold engine: the divergence of composed pairs whose losses lie on a lattice.

With S the sum of all losses, W its law tilted by θ and f(y) = (e^{−θy} − e^{−(1+θ)y})₊,

    δ(ε) = P(some loss is infinite) + e^{ΣTK(θ) − θε} Σ_s W(s) f(s − ε).

W is known modulo N lattice points through the T-th powers of N Fourier coefficients, f repeated
with that period has Fourier coefficients in closed form, and Parseval's identity gives the sum.
Repeating f only adds to it: an upper bound as it stands, and Chernoff's bound makes a lower one.
Every term is proven in docs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shufflebounds.divergence.law import Tilted, U, log_mgf, tilt
from shufflebounds.divergence.losses import Composition, LossLaw
from shufflebounds.divergence.spectrum import Coefficients, coefficients
from shufflebounds.enclosure import Enclosure

MAX_POINTS = 2**23

# The logarithm of the mass of W outside the window.
_LOG_OUTSIDE = -26.0
_CHERNOFF_FACTORS = 2.0 ** np.linspace(-3.0, 3.0, 25)


@dataclass(frozen=True, eq=False)
class TiltedSum:
    """The law W of S at one tilt θ, for ε about ``eps``, through its Fourier ``coefficients``.

    ``log_scale`` is ΣTK(θ), off by at most ``log_scale_err``. ``tails`` bound W above and below.
    """

    composition: Composition
    theta: float
    eps: float
    log_scale: float
    log_scale_err: float
    coefficients: Coefficients
    tails: tuple[_Tail, _Tail]

    def delta(self, eps: float) -> Enclosure:
        """Enclosure of δ(ε) of the composition, for any real ε."""
        told = self.composition.infinite
        if eps >= self.composition.largest:
            return Enclosure(*told)
        scale = self.log_scale - self.theta * eps
        slip = self.log_scale_err + 8.0 * U * (1.0 + abs(self.log_scale) + abs(self.theta * eps))
        slip += 16.0 * U * self.theta * (abs(eps) + abs(self.composition.shift))
        offset = eps - self.composition.shift
        # δ falls with ε: what rounding moved is moved on, to the safe side.
        margin = 4.0 * U * (abs(eps) + abs(self.composition.shift)) + 1e-300
        value, err, _ = self._mean(offset - margin)
        upper = _exp_up(scale + slip, value + err) + told[1]
        value, err, largest = self._mean(offset + margin)
        lower = _exp_down(scale - slip, value - err - self._wrap(eps, largest)) + told[0]
        upper *= 1.0 + 4.0 * U
        return Enclosure(min(lower * (1.0 - 4.0 * U), upper), upper)

    def _mean(self, offset: float) -> tuple[float, float, float]:
        """E f^N(S − ε), a bound of its error, and the largest coefficient of f^N.

        `offset` is ε minus the beginning of the lattice, taken for exact.
        """
        step, theta = self.composition.step, self.theta
        start = math.floor(offset / step) + 1
        ahead = start * step - offset
        if not 0.0 < ahead <= step:  # the quotient was rounded across a lattice point
            start += 1 if ahead <= 0.0 else -1
            ahead = start * step - offset
        near = -math.expm1(-ahead)
        far = -math.exp(-ahead) * math.expm1(-max(0.0, step - ahead))
        gain = math.exp(-theta * ahead)
        decay, faster = math.exp(-theta * step), math.exp(-(1.0 + theta) * step)

        w = self.coefficients
        unit = 2.0 * math.pi / w.size
        angle = unit * w.modes
        bent, wave = 2.0 * np.sin(0.5 * angle) ** 2, np.sin(angle)  # 1 − cos, sin
        one = -math.expm1(-theta * step) + decay * (bent + 1j * wave)
        two = -math.expm1(-(1.0 + theta) * step) + faster * (bent + 1j * wave)
        top = near + far * decay * ((1.0 - bent) - 1j * wave)
        size = gain * (near + far * decay) / (np.abs(one) * np.abs(two))
        turn = unit * (w.modes * (start % w.size) % w.size)
        coefficient = np.exp(-1j * turn) * (gain * top / (one * two))
        terms = coefficient.real * w.values.real + coefficient.imag * w.values.imag

        rounding = U * (256.0 + 16.0 * theta * step)
        err = size * (w.err + rounding * np.abs(w.values))
        largest = float(size[0])
        error = float(np.sum(w.weights * err)) + w.skipped * largest
        value = float(np.sum(w.weights * terms))
        return value / w.size, error / w.size * (1.0 + 1e-9), largest * (1.0 + 1e-9)

    def _wrap(self, eps: float, largest: float) -> float:
        """Bound of E f^N(S − ε) − E f(S − ε) for f^N <= `largest`."""
        above, below = self.tails
        period = self.coefficients.size * self.composition.step * (1.0 - 4.0 * U)
        left = max(below.reach + eps, 0.0)
        right = (period - left) * (1.0 - 4.0 * U)
        theta = self.theta
        if right * theta < 1.0:  # f may still be rising there
            return math.inf
        outside = above.tail(eps + right, abs(eps)) + below.tail(left - eps, abs(eps))
        q = math.exp(-theta * period)
        copies = math.exp(-theta * right) * (right / (1.0 - q) + period * q / (1.0 - q) ** 2)
        return (min(1.0, outside) * largest + copies) * (1.0 + 1e-9)


@dataclass(frozen=True)
class _Tail:
    """Chernoff's bound Pr[Y ≥ end] ≤ e^{log_moment − u·end} for Y = S or Y = −S and one u > 0."""

    u: float
    log_moment: float

    @property
    def reach(self) -> float:
        """The end beyond which the probability is negligible."""
        return (self.log_moment - _LOG_OUTSIDE) / self.u

    def tail(self, end: float, size: float) -> float:
        """Bound of the probability beyond `end`, which was rounded from numbers of that `size`."""
        rounding = 16.0 * U * (abs(self.log_moment) + self.u * (abs(end) + size))
        return math.exp(min(0.0, self.log_moment - self.u * end + rounding))


def tilted_sum(composition: Composition, theta: float, eps: float) -> TiltedSum | None:
    """The tilted law of S, with room for ε like `eps`.

    None where round-off leaves nothing, or where more than `MAX_POINTS` lattice points would be
    needed. Every θ > 0 is valid; `tilting` finds one that serves.
    """
    tilts = [(tilt(law.law, theta), law, times) for law, times in composition.rounds]
    log_scale = math.fsum(n * (t.log_mgf + math.log(law.total)) for t, law, n in tilts)
    log_scale_err = math.fsum(
        n * (t.log_mgf_err + 4.0 * U * (1.0 + abs(t.log_mgf) + abs(math.log(law.total))))
        for t, law, n in tilts
    )
    if not (log_scale_err < 1.0 and all(t.left_out < 1e-9 for t, _, _ in tilts)):
        return None
    step = composition.step
    sigma = max(math.sqrt(math.fsum(n * t.variance for t, _, n in tilts)), step)
    above, below = (_chernoff(tilts, theta, sigma, side) for side in (1.0, -1.0))
    if above is None or below is None:
        return None
    decay = 4.0 - _LOG_OUTSIDE + math.log1p((1.0 + theta) * sigma)
    right = max(above.reach - eps, (decay + math.log(decay)) / theta)
    period = right + max(below.reach + eps, 0.0)
    if not period < MAX_POINTS * step:
        return None
    found = coefficients(tilts, math.ceil(period / step * (1.0 + 1e-9)) + 1, step)
    return TiltedSum(
        composition,
        theta,
        eps,
        log_scale,
        log_scale_err,
        found,
        (above, below),
    )


def _chernoff(
    tilts: Sequence[tuple[Tilted, LossLaw, int]], theta: float, sigma: float, side: float
) -> _Tail | None:
    """The bound for S (`side` 1) or −S (−1) that reaches least far."""
    point = theta + side * math.sqrt(-2.0 * _LOG_OUTSIDE) / sigma * _CHERNOFF_FACTORS
    u = np.abs(point - theta)
    moment = np.zeros(point.size)
    for tilted, law, times in tilts:
        k, err = log_mgf(law.law, point)
        with np.errstate(invalid="ignore"):
            slip = err + tilted.log_mgf_err + 4.0 * U * (np.abs(k) + abs(tilted.log_mgf))
            moment = moment + times * (k - tilted.log_mgf + slip)
    usable = np.isfinite(moment) & (u > 0.0)
    if not usable.any():
        return None
    reach = np.where(usable, moment - _LOG_OUTSIDE, np.inf) / np.where(usable, u, 1.0)
    best = int(np.argmin(reach))
    return _Tail(float(u[best]), float(moment[best]))


def _exp_up(x: float, factor: float) -> float:
    """An upper bound of e^x·factor that does not underflow to 0."""
    if factor <= 0.0:
        return 0.0
    exponent = x + math.log(factor)
    return math.inf if exponent > 700.0 else math.exp(max(exponent, -700.0)) * (1.0 + 1e-12)


def _exp_down(x: float, factor: float) -> float:
    """A lower bound of e^x·factor; 0 where that nearly underflows."""
    exponent = x + math.log(factor) if factor > 0.0 else -math.inf
    return 0.0 if exponent < -700.0 else math.exp(min(exponent, 700.0)) * (1.0 - 1e-12)
