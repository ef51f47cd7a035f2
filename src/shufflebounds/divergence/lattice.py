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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.law import Tilted, U, log_mgf, tilt
from shufflebounds.divergence.losses import LossLaw, LossSum
from shufflebounds.divergence.window import Chernoff

# Fourier coefficients of sums of lattice losses: those that can matter, and a bound of the others.
#
# Those of one law are looked at everywhere before any is left out, for they need not be large near
# 0 alone: two atoms at ±1 have one of modulus 1 half-way. docs/composition.md proves the bounds.

Tilts = Sequence[tuple[Tilted, LossLaw, int]]

# The logarithm of coefficients that are bounded and charged, but take no part in sums: speed and
# width (benchmarks/rounds.py).
_LOG_SKIPPED = -45.0


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Of the law of a sum modulo ``size`` lattice points, at the ``modes`` (M,), 0 the first.

    ``values`` (M,) are off by at most ``err`` (M,); ``weights`` (M,) are 2 where a mode stands for
    its mirror image, too. The moduli of all others add up to at most ``skipped``.
    """

    size: int
    modes: NDArray[np.int64]
    values: NDArray[np.complex128]
    err: FloatArray
    weights: FloatArray
    skipped: float


def coefficients(tilts: Tilts, size: int) -> Coefficients:
    """Those of the sum of independent tilted laws, each so many times, at least `size` of them."""
    spend(1e5 + 300.0 * size * len(tilts))
    size = _fast_length(size)
    spectra = [_Spectrum.of(t, law, times, size) for t, law, times in tilts]
    ceiling = np.asarray(sum(one.log_ceiling() for one in spectra))
    kept = ceiling > _LOG_SKIPPED
    kept[0] = True
    weights = np.full(ceiling.size, 2.0)
    weights[0] = 1.0
    if size % 2 == 0:
        weights[-1] = 1.0
    skipped = float(weights[~kept] @ np.exp(ceiling[~kept])) * (1.0 + 1e-9)
    values, err = _product([one.at(kept) for one in spectra], ceiling[kept])
    return Coefficients(size, np.flatnonzero(kept), values, err, weights[kept], skipped)


def _fast_length(size: int) -> int:
    """A length ≥ `size` and ≥ 8 with small prime factors, for which Fourier transforms are fast."""
    size = max(8, size)
    return min(odd * 2 ** max(0, math.ceil(math.log2(size / odd))) for odd in (1, 3, 5, 9, 15))


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """Fourier coefficients of a tilted law, each off by at most ``err``, and the power to take."""

    times: int
    phi: NDArray[np.complex128]
    modulus: FloatArray
    err: float

    @staticmethod
    def of(tilted: Tilted, law: LossLaw, times: int, size: int) -> _Spectrum:
        """At 0, 1, …, ⌊size/2⌋."""
        weights = np.where(tilted.used, tilted.weights, 0.0)
        known = float(weights @ np.where(tilted.used, tilted.weight_err, 0.0))
        err = known * (1.0 + 1e-9) + tilted.left_out + 2.0**-1000
        phi = np.fft.rfft(np.bincount(law.index % size, weights=weights, minlength=size))
        rounding = U * (8.0 * math.log2(size) + 16.0 + weights.size / size)
        err += rounding * float(weights.sum()) * (1.0 + 1e-9)
        return _Spectrum(times, phi, np.abs(phi), err)

    def log_ceiling(self) -> FloatArray:
        """Upper bounds of the logarithms of the moduli of the powers."""
        return self.times * (np.log(self.modulus * (1.0 + 4.0 * U) + self.err) + 4.0 * U)

    def at(self, where: NDArray[np.bool_]) -> _Spectrum:
        return _Spectrum(self.times, self.phi[where], self.modulus[where], self.err)


def _product(
    spectra: Sequence[_Spectrum], ceiling: FloatArray
) -> tuple[NDArray[np.complex128], FloatArray]:
    """The product of the powers, shape (M,), and a bound of its error."""
    log_size = turn = slip = np.zeros(ceiling.size)
    solid = np.ones(ceiling.size, dtype=bool)
    for one in spectra:
        known = one.modulus > 2.0 * one.err
        modulus = np.where(known, one.modulus, 1.0)
        angle = np.angle(one.phi)
        log_modulus = np.log(modulus)
        log_size = log_size + one.times * log_modulus
        turn = turn + one.times * angle
        relative = one.err / modulus + U * (8.0 + 4.0 * np.abs(log_modulus) + 8.0 * np.abs(angle))
        slip = slip + one.times * relative
        solid &= known
    slip = slip + U * (64.0 + 4.0 * len(spectra) * (np.abs(turn) + np.abs(log_size)))
    size = np.where(solid, np.exp(log_size), 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        err = size * np.expm1(slip)
    # Where a coefficient may be all error, its power counts as 0.
    worst = np.exp(np.minimum(ceiling, 1.0)) * (1.0 + 1e-9)
    hopeless = ~solid | ~(err < worst)
    values = np.where(hopeless, 0.0, size * np.exp(1j * turn))
    return values, np.where(hopeless, worst, err)


# Some hundred megabytes.
MAX_POINTS = 2**23

# The logarithm of the mass of W outside the window, which is charged, and multiples of the tilt
# that a normal law has there: Chernoff's bound holds at all of them.
_LOG_OUTSIDE = -26.0
_CHERNOFF_FACTORS = 2.0 ** np.linspace(-3.0, 3.0, 25)


@dataclass(frozen=True, eq=False)
class TiltedSum:
    """The law W of S at one tilt θ, for ε about ``eps``, through its Fourier ``coefficients``.

    ``log_scale`` is ΣTK(θ), off by at most ``log_scale_err``. ``tails`` bound W above and below.
    """

    composition: LossSum
    theta: float
    eps: float
    log_scale: float
    log_scale_err: float
    coefficients: Coefficients
    tails: tuple[Chernoff, Chernoff]

    def delta(self, eps: float) -> Enclosure:
        """Enclosure of δ(ε) of the composition, for any real ε."""
        upper = self.above(eps)
        return Enclosure(min(self.below(eps), upper), upper)

    def above(self, eps: float) -> float:
        """The upper end of `delta`."""
        told = self.composition.infinite[1]
        if eps >= self.composition.largest:
            return told
        offset, margin, scale, slip = self._at(eps)
        value, err, _ = self._mean(offset - margin)
        return (_exp_up(scale + slip, value + err) + told) * (1.0 + 4.0 * U)

    def below(self, eps: float) -> float:
        """The lower end of `delta`."""
        told = self.composition.infinite[0]
        if eps >= self.composition.largest:
            return told
        offset, margin, scale, slip = self._at(eps)
        value, err, largest = self._mean(offset + margin)
        found = _exp_down(scale - slip, value - err - self._wrap(eps, largest))
        return (found + told) * (1.0 - 4.0 * U)

    def _at(self, eps: float) -> tuple[float, float, float, float]:
        """ε on the lattice, what rounding moved it by, the log of a factor and its error.

        δ falls with ε: what rounding moved is to be moved on, to the safe side.
        """
        scale, shift = self.log_scale - self.theta * eps, abs(self.composition.shift)
        slip = self.log_scale_err + 8.0 * U * (1.0 + abs(self.log_scale) + abs(self.theta * eps))
        slip += 16.0 * U * self.theta * (abs(eps) + shift)
        margin = 4.0 * U * (abs(eps) + shift) + 1e-300
        return eps - self.composition.shift, margin, scale, slip

    @cached_property
    def _angles(self) -> tuple[FloatArray, FloatArray, NDArray[np.complex128]]:
        """1 − cos and sin of the modes' angles, and both denominators' product."""
        decay = math.exp(-self.theta * self.composition.step)
        faster = math.exp(-(1.0 + self.theta) * self.composition.step)
        angle = 2.0 * math.pi / self.coefficients.size * self.coefficients.modes
        bent, wave = 2.0 * np.sin(0.5 * angle) ** 2, np.sin(angle)
        turn = bent + 1j * wave
        one = -math.expm1(-self.theta * self.composition.step) + decay * turn
        two = -math.expm1(-(1.0 + self.theta) * self.composition.step) + faster * turn
        return bent, wave, one * two

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
        decay = math.exp(-theta * step)

        w = self.coefficients
        spend(1e5 + 300.0 * w.modes.size)
        bent, wave, bottom = self._angles
        top = near + far * decay * ((1.0 - bent) - 1j * wave)
        size = gain * (near + far * decay) / np.abs(bottom)
        turn = (2.0 * math.pi / w.size) * (w.modes * (start % w.size) % w.size)
        coefficient = (np.cos(turn) - 1j * np.sin(turn)) * (gain * top / bottom)
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
        left = max(below.reach(_LOG_OUTSIDE) + eps, 0.0)
        right = (period - left) * (1.0 - 4.0 * U)
        theta = self.theta
        if right * theta < 1.0:  # f may still be rising there
            return math.inf
        outside = above.tail(eps + right, abs(eps)) + below.tail(left - eps, abs(eps))
        q = math.exp(-theta * period)
        copies = math.exp(-theta * right) * (right / (1.0 - q) + period * q / (1.0 - q) ** 2)
        return (min(1.0, outside) * largest + copies) * (1.0 + 1e-9)


def tilted_sum(composition: LossSum, theta: float, eps: float) -> TiltedSum | None:
    """The tilted law of S, with room for ε like `eps`.

    None where round-off leaves nothing, where more than `MAX_POINTS` lattice points would be
    needed, and where θ is so large that e^{−θx} underflows within a step of the lattice. Every
    other θ > 0 is valid; `tilt_at_eps` finds one that serves.
    """
    if not theta * composition.step <= 2.0 * _LARGEST:
        return None
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
    above, below = (_tail(tilts, theta, sigma, side) for side in (1.0, -1.0))
    if above is None or below is None:
        return None
    decay = 4.0 - _LOG_OUTSIDE + math.log1p((1.0 + theta) * sigma)
    right = max(above.reach(_LOG_OUTSIDE) - eps, (decay + math.log(decay)) / theta)
    period = right + max(below.reach(_LOG_OUTSIDE) + eps, 0.0)
    if not period < MAX_POINTS * step:
        return None
    found = coefficients(tilts, math.ceil(period / step * (1.0 + 1e-9)) + 1)
    return TiltedSum(composition, theta, eps, log_scale, log_scale_err, found, (above, below))


def _tail(
    tilts: Sequence[tuple[Tilted, LossLaw, int]], theta: float, sigma: float, side: float
) -> Chernoff | None:
    """The bound for S (`side` 1) or −S (−1) that reaches least far."""
    point = theta + side * math.sqrt(-2.0 * _LOG_OUTSIDE) / sigma * _CHERNOFF_FACTORS
    u = np.abs(point - theta)
    moment = np.zeros(point.size)
    for tilted, law, times in tilts:
        k, err = log_mgf(law.law, point)
        with np.errstate(invalid="ignore"):
            slip = err + tilted.log_mgf_err + 4.0 * U * (np.abs(k) + abs(tilted.log_mgf))
            moment = moment + times * (k - tilted.log_mgf + slip)
    return Chernoff.best(u, moment, _LOG_OUTSIDE)


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


# Where to tilt a composition: estimates that steer, and claim nothing.

# The tilts that are tried: from the smallest, as a logarithm, to where losses that are a step apart
# differ by this factor, as a logarithm, and one of them is all that counts.
_SMALLEST, _LARGEST = -60.0, 50.0


def tilt_at_eps(composition: LossSum, eps: float) -> float:
    """A θ that serves δ(ε): the minimiser of K(θ) − θε − log θ − log(1 + θ), to about 10⁻³."""
    return _bisect(composition.step, lambda theta: _saddle(composition, theta)[0] > eps)


def tilt_at_delta(composition: LossSum, delta: float) -> tuple[float, float]:
    """A θ that serves where δ(ε) = δ, and an estimate of that ε."""
    goal = math.log(max(delta - composition.infinite[1], 1e-12 * delta))
    theta = _bisect(composition.step, lambda theta: _saddle(composition, theta)[1] < goal)
    return theta, _saddle(composition, theta)[0]


def _saddle(composition: LossSum, theta: float) -> tuple[float, float]:
    """The ε that θ is the best tilt for, and an estimate of log δ(ε) there."""
    k = slope = curvature = 0.0
    for law, times in composition.rounds:
        values = law.law.values
        x = theta * values
        top = float(x.max())
        weights = law.masses * np.exp(x - top)
        size = float(weights.sum())
        mean = float(weights @ values) / size
        k += times * (top + math.log(size))
        slope += times * mean
        curvature += times * float(weights @ (values - mean) ** 2) / size
    eps = slope - 1.0 / theta - 1.0 / (1.0 + theta)
    spread = curvature + theta**-2 + (1.0 + theta) ** -2
    value = k - theta * eps - math.log(theta) - math.log1p(theta)
    return eps, value - 0.5 * math.log(2.0 * math.pi * spread)


def _bisect(step: float, beyond: Callable[[float], bool]) -> float:
    """e^x for the x at which `beyond` becomes true, to about 10⁻³."""
    low, high = _SMALLEST, math.log(_LARGEST / step)
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if beyond(math.exp(middle)) else (middle, high)
    return math.exp(0.5 * (low + high))


# δ at ε and ε at δ of composed discrete pairs.


def delta_at(composition: LossSum, eps: float) -> Enclosure:
    """δ(ε) of discrete pairs, for ε ≥ 0."""
    told = Enclosure(*composition.infinite)
    if eps >= composition.largest:
        return told
    found = tilted_sum(composition, tilt_at_eps(composition, eps), eps)
    return Enclosure(told.lower, math.inf) if found is None else found.delta(eps)


def smallest_eps(composition: LossSum, delta: float) -> float:
    """An ε ≥ 0 at which δ(ε) of discrete pairs is certainly at most δ, hardly above the least."""
    if composition.infinite[1] > delta:
        return math.inf
    end = max(composition.largest, 0.0)
    found = _near(composition, delta)
    if found is None:
        return end
    eps = _root(found, delta)
    margin = 1e-8 * eps + 1e-300
    while eps < end and found.above(eps) > delta:
        eps, margin = min(eps + margin, end), 4.0 * margin
    return eps


def largest_eps(composition: LossSum, delta: float) -> float:
    """An ε ≥ 0 at which δ(ε) of discrete pairs is certainly at least δ, hardly below the most.

    0 where none was found.
    """
    if composition.infinite[0] > delta:
        return math.inf
    found = _near(composition, delta)
    if found is None:
        return 0.0
    eps = _root(found, delta)
    margin = 1e-8 * eps + 1e-300
    while eps > 0.0 and found.below(eps) < delta:
        eps, margin = max(eps - margin, 0.0), 4.0 * margin
    return eps


def _near(composition: LossSum, delta: float) -> TiltedSum | None:
    theta, eps = tilt_at_delta(composition, delta)
    if eps <= 0.0:  # δ may be more than δ(0)
        theta, eps = tilt_at_eps(composition, 0.0), 0.0
    return tilted_sum(composition, theta, min(eps, max(composition.largest, 0.0)))


def _root(found: TiltedSum, delta: float) -> float:
    """Where δ(ε) is about δ, or 0; log δ falls at a rate of about θ where no loss is infinite."""
    told, eps = found.composition.infinite[1], found.eps
    goal, rate = max(delta - told, 1e-9 * delta), found.theta
    before: tuple[float, float] | None = None
    for _ in range(30):
        excess = found.above(eps) - told
        height = math.log(excess / goal) if excess > 0.0 else -1.0
        if before is not None and (eps - before[0]) * (before[1] - height) > 0.0:
            secant = (before[1] - height) / (eps - before[0])
            rate = min(max(secant, 0.1 * found.theta), 10.0 * found.theta)
        before = eps, height
        eps = max(min(eps + height / rate, found.composition.largest), 0.0)
        if abs(eps - before[0]) <= 1e-9 * eps:
            break
    return eps
