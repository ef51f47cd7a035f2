"""The T-fold engine: the divergence of composed pairs whose losses lie on a lattice.

With S the sum of all losses, W its law tilted by θ and f(y) = (e^{−θy} − e^{−(1+θ)y})₊,

    δ(ε) = P(some loss is infinite) + e^{ΣTK(θ) − θε} Σ_s W(s) f(s − ε).

W is known modulo N lattice points through the T-th powers of N Fourier coefficients, f repeated
with that period has Fourier coefficients in closed form, and Parseval's identity gives the sum.
Repeating f only adds to it, so the sum is an upper bound, and Chernoff's bound makes a lower one.

All coefficients of one law are inspected before any is left out, because they need not be large
near 0 alone: two atoms at ±1 have a coefficient of modulus 1 half-way. docs/composition.md proves
every term.
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

Tilts = Sequence[tuple[Tilted, LossLaw, int]]

# Log modulus below which a coefficient is left out, and counted as error. It decides about speed
# and width (benchmarks/rounds.py).
_LOG_SKIPPED = -45.0
# Largest number of lattice points, which takes some hundred megabytes.
MAX_POINTS = 2**23
# Logarithm of the mass of W outside the window, which is counted as error.
_LOG_OUTSIDE = -26.0
# Multiples of the tilt that suits the tails of a normal law. Chernoff's bound holds at all of them.
_CHERNOFF_FACTORS = 2.0 ** np.linspace(-3.0, 3.0, 25)
# Logarithm of the smallest tilt of a composition.
_LOG_SMALLEST_TILT = -60.0
# Log factor between losses one step apart at the largest tilt, at which only one loss matters.
_MAX_LOG_FACTOR = 50.0


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Fourier coefficients of the law of a sum modulo ``size`` lattice points.

    They belong to the ``modes`` (M,), the first of which is 0. ``values`` (M,) have errors of at
    most ``err`` (M,). ``weights`` (M,) are 2 if a mode stands for its mirror image, too. The moduli
    of all other coefficients add up to at most ``skipped``.
    """

    size: int
    modes: NDArray[np.int64]
    values: NDArray[np.complex128]
    err: FloatArray
    weights: FloatArray
    skipped: float


def coefficients(tilts: Tilts, size: int) -> Coefficients:
    """Return the coefficients of the sum of independent tilted laws, modulo `size` or more points.

    Each law occurs as often as its number in `tilts` says.
    """
    spend(1e5 + 300.0 * size * len(tilts))
    size = _fast_length(size)
    spectra = [_Spectrum.of(t, law, times, size) for t, law, times in tilts]
    ceiling = np.asarray(sum(spectrum.log_ceiling() for spectrum in spectra))
    needed = ceiling > _LOG_SKIPPED
    needed[0] = True
    weights = np.full(ceiling.size, 2.0)
    weights[0] = 1.0
    if size % 2 == 0:
        weights[-1] = 1.0
    skipped = float(weights[~needed] @ np.exp(ceiling[~needed])) * (1.0 + 1e-9)
    values, err = _product([spectrum.at(needed) for spectrum in spectra], ceiling[needed])
    return Coefficients(size, np.flatnonzero(needed), values, err, weights[needed], skipped)


def _fast_length(size: int) -> int:
    """Return a length ≥ `size` and ≥ 8 with small prime factors, as fast transforms need it."""
    size = max(8, size)
    return min(odd * 2 ** max(0, math.ceil(math.log2(size / odd))) for odd in (1, 3, 5, 9, 15))


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """Fourier coefficients of a tilted law, with errors of at most ``err``, and their power."""

    times: int
    phi: NDArray[np.complex128]
    modulus: FloatArray
    err: float

    @staticmethod
    def of(tilted: Tilted, law: LossLaw, times: int, size: int) -> _Spectrum:
        """Return the coefficients at 0, 1, …, ⌊size/2⌋."""
        weights = np.where(tilted.used, tilted.weights, 0.0)
        weight_err = float(weights @ np.where(tilted.used, tilted.weight_err, 0.0))
        err = weight_err * (1.0 + 1e-9) + float(tilted.left_out) + 2.0**-1000
        phi = np.fft.rfft(np.bincount(law.index % size, weights=weights, minlength=size))
        rounding = U * (8.0 * math.log2(size) + 16.0 + weights.size / size)
        err += rounding * float(weights.sum()) * (1.0 + 1e-9)
        return _Spectrum(times, phi, np.abs(phi), err)

    def log_ceiling(self) -> FloatArray:
        """Return upper bounds of the logarithms of the moduli of the powers."""
        return self.times * (np.log(self.modulus * (1.0 + 4.0 * U) + self.err) + 4.0 * U)

    def at(self, modes: NDArray[np.bool_]) -> _Spectrum:
        """Return the part for the modes marked True."""
        return _Spectrum(self.times, self.phi[modes], self.modulus[modes], self.err)


def _product(
    spectra: Sequence[_Spectrum], ceiling: FloatArray
) -> tuple[NDArray[np.complex128], FloatArray]:
    """Return the product of the powers, shape (M,), and a bound of its error."""
    log_amplitude = angle_sum = log_err = np.zeros(ceiling.size)
    all_reliable = np.ones(ceiling.size, dtype=bool)
    for spectrum in spectra:
        reliable = spectrum.modulus > 2.0 * spectrum.err
        modulus = np.where(reliable, spectrum.modulus, 1.0)
        angle = np.angle(spectrum.phi)
        log_modulus = np.log(modulus)
        log_amplitude = log_amplitude + spectrum.times * log_modulus
        angle_sum = angle_sum + spectrum.times * angle
        relative = spectrum.err / modulus + U * (
            8.0 + 4.0 * np.abs(log_modulus) + 8.0 * np.abs(angle)
        )
        log_err = log_err + spectrum.times * relative
        all_reliable &= reliable
    log_err = log_err + U * (
        64.0 + 4.0 * len(spectra) * (np.abs(angle_sum) + np.abs(log_amplitude))
    )
    amplitude = np.where(all_reliable, np.exp(log_amplitude), 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        err = amplitude * np.expm1(log_err)
    # If a coefficient may consist of error only, its power counts as 0.
    bound = np.exp(np.minimum(ceiling, 1.0)) * (1.0 + 1e-9)
    unreliable = ~all_reliable | ~(err < bound)
    values = np.where(unreliable, 0.0, amplitude * np.exp(1j * angle_sum))
    return values, np.where(unreliable, bound, err)


@dataclass(frozen=True, eq=False)
class TiltedSum:
    """The law W of S at one tilt θ, for ε about ``eps``, through its Fourier ``coefficients``.

    ``log_scale`` is ΣTK(θ), with an error of at most ``log_scale_err``. ``tails`` bound W above and
    below.
    """

    composition: LossSum
    theta: float
    eps: float
    log_scale: float
    log_scale_err: float
    coefficients: Coefficients
    tails: tuple[Chernoff, Chernoff]

    def delta(self, eps: float) -> Enclosure:
        """Return an enclosure of δ(ε) of the composition, for any real ε."""
        infinite = self.composition.infinite
        if eps >= self.composition.largest:
            return Enclosure(*infinite)
        scale = self.log_scale - self.theta * eps
        log_err = self.log_scale_err + 8.0 * U * (1.0 + abs(self.log_scale) + abs(self.theta * eps))
        value, err, largest = self._mean(eps)
        above = _exp_up(scale + log_err, value + err)
        below = _exp_down(scale - log_err, value - err - self._wrap(eps, largest))
        upper = (above + infinite[1]) * (1.0 + 4.0 * U)
        return Enclosure(min((below + infinite[0]) * (1.0 - 4.0 * U), upper), upper)

    @cached_property
    def _angles(self) -> tuple[FloatArray, FloatArray, NDArray[np.complex128]]:
        """1 − cos and sin of the modes' angles, and the product of both denominators."""
        decay = math.exp(-self.theta * self.composition.step)
        faster = math.exp(-(1.0 + self.theta) * self.composition.step)
        angle = 2.0 * math.pi / self.coefficients.size * self.coefficients.modes
        versine, sine = 2.0 * np.sin(0.5 * angle) ** 2, np.sin(angle)
        turn = versine + 1j * sine
        first_denominator = -math.expm1(-self.theta * self.composition.step) + decay * turn
        second_denominator = (
            -math.expm1(-(1.0 + self.theta) * self.composition.step) + faster * turn
        )
        return versine, sine, first_denominator * second_denominator

    def _mean(self, eps: float) -> tuple[float, float, float]:
        """Return E f^N(S − ε), a bound of its error, and the largest coefficient of f^N."""
        step, theta = self.composition.step, self.theta
        start = math.floor(eps / step) + 1
        distance = start * step - eps
        # The quotient may have been rounded across a lattice point.
        if not 0.0 < distance <= step:
            start += 1 if distance <= 0.0 else -1
            distance = start * step - eps
        rise = -math.expm1(-distance)
        fall = -math.exp(-distance) * math.expm1(-max(0.0, step - distance))
        gain = math.exp(-theta * distance)
        decay = math.exp(-theta * step)

        w = self.coefficients
        spend(1e5 + 300.0 * w.modes.size)
        versine, sine, denominator = self._angles
        numerator = rise + fall * decay * ((1.0 - versine) - 1j * sine)
        size = gain * (rise + fall * decay) / np.abs(denominator)
        turn = (2.0 * math.pi / w.size) * (w.modes * (start % w.size) % w.size)
        coefficient = (np.cos(turn) - 1j * np.sin(turn)) * (gain * numerator / denominator)
        terms = coefficient.real * w.values.real + coefficient.imag * w.values.imag

        rounding = U * (256.0 + 16.0 * theta * step)
        err = size * (w.err + rounding * np.abs(w.values))
        largest = float(size[0])
        error = float(np.sum(w.weights * err)) + w.skipped * largest
        value = float(np.sum(w.weights * terms))
        return value / w.size, error / w.size * (1.0 + 1e-9), largest * (1.0 + 1e-9)

    def _wrap(self, eps: float, largest: float) -> float:
        """Return a bound of E f^N(S − ε) − E f(S − ε) for f^N ≤ `largest`."""
        above, below = self.tails
        period = self.coefficients.size * self.composition.step * (1.0 - 4.0 * U)
        left = max(below.reach(_LOG_OUTSIDE) + eps, 0.0)
        right = (period - left) * (1.0 - 4.0 * U)
        theta = self.theta
        # f may still be rising at `right`.
        if right * theta < 1.0:
            return math.inf
        outside = above.tail(eps + right, abs(eps)) + below.tail(left - eps, abs(eps))
        q = math.exp(-theta * period)
        copies = math.exp(-theta * right) * (right / (1.0 - q) + period * q / (1.0 - q) ** 2)
        return (min(1.0, outside) * largest + copies) * (1.0 + 1e-9)


def tilted_sum(composition: LossSum, theta: float, eps: float) -> TiltedSum | None:
    """Return the tilted law of S for ε about `eps`.

    The answer is None if round-off prevents bounds, if more than `MAX_POINTS` lattice points would
    be needed, or if θ is so large that e^{−θx} underflows within a step of the lattice. Every other
    θ > 0 is valid; `tilt_at_eps` returns a suitable θ.
    """
    if not theta * composition.step <= 2.0 * _MAX_LOG_FACTOR:
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
    fourier = coefficients(tilts, math.ceil(period / step * (1.0 + 1e-9)) + 1)
    return TiltedSum(composition, theta, eps, log_scale, log_scale_err, fourier, (above, below))


def _tail(
    tilts: Sequence[tuple[Tilted, LossLaw, int]], theta: float, sigma: float, side: float
) -> Chernoff | None:
    """Return the bound for S (`side` 1) or −S (`side` −1) that reaches least far, None if none."""
    point = theta + side * math.sqrt(-2.0 * _LOG_OUTSIDE) / sigma * _CHERNOFF_FACTORS
    u = np.abs(point - theta)
    moment = np.zeros(point.size)
    for tilted, law, times in tilts:
        k, err = log_mgf(law.law, point)
        with np.errstate(invalid="ignore"):
            log_err = err + tilted.log_mgf_err + 4.0 * U * (np.abs(k) + abs(tilted.log_mgf))
            moment = moment + times * (k - tilted.log_mgf + log_err)
    return Chernoff.best(u, moment, _LOG_OUTSIDE)


def _exp_up(x: float, factor: float) -> float:
    """Return an upper bound of e^x·factor that does not underflow to 0."""
    if factor <= 0.0:
        return 0.0
    exponent = x + math.log(factor)
    return math.inf if exponent > 700.0 else math.exp(max(exponent, -700.0)) * (1.0 + 1e-12)


def _exp_down(x: float, factor: float) -> float:
    """Return a lower bound of e^x·factor, which is 0 if the product nearly underflows."""
    exponent = x + math.log(factor) if factor > 0.0 else -math.inf
    return 0.0 if exponent < -700.0 else math.exp(min(exponent, 700.0)) * (1.0 - 1e-12)


def tilt_at_eps(composition: LossSum, eps: float) -> float:
    """Return a θ for δ(ε): the minimiser of K(θ) − θε − log θ − log(1 + θ), to about 10⁻³."""
    return _bisect(composition.step, lambda theta: _saddle(composition, theta)[0] > eps)


def tilt_at_delta(composition: LossSum, delta: float) -> tuple[float, float]:
    """Return a θ for the ε at which δ(ε) = δ, and an estimate of that ε."""
    goal = math.log(max(delta - composition.infinite[1], 1e-12 * delta))
    theta = _bisect(composition.step, lambda theta: _saddle(composition, theta)[1] < goal)
    return theta, _saddle(composition, theta)[0]


def _saddle(composition: LossSum, theta: float) -> tuple[float, float]:
    """Return the ε that θ is the best tilt for, and an estimate of log δ(ε)."""
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


def _bisect(step: float, is_beyond: Callable[[float], bool]) -> float:
    """Return e^x for the x at which `is_beyond(e^x)` becomes true, to about 10⁻³."""
    low, high = _LOG_SMALLEST_TILT, math.log(_MAX_LOG_FACTOR / step)
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_beyond(math.exp(middle)) else (middle, high)
    return math.exp(0.5 * (low + high))


def delta_at(composition: LossSum, eps: float) -> Enclosure:
    """Return an enclosure of δ(ε) of composed discrete pairs, for ε ≥ 0."""
    infinite = Enclosure(*composition.infinite)
    if eps >= composition.largest:
        return infinite
    tilted = tilted_sum(composition, tilt_at_eps(composition, eps), eps)
    return Enclosure(infinite.lower, math.inf) if tilted is None else tilted.delta(eps)


def smallest_eps(composition: LossSum, delta: float) -> float:
    """Return an ε ≥ 0, close to the smallest one, at which δ(ε) is certainly at most δ."""
    if composition.infinite[1] > delta:
        return math.inf
    end = max(composition.largest, 0.0)
    tilted = _sum_near_delta(composition, delta)
    return end if tilted is None else _walk(tilted, delta, end)


def largest_eps(composition: LossSum, delta: float) -> float:
    """Return an ε ≥ 0, close to the largest one, at which δ(ε) is certainly at least δ.

    The answer is 0 if the search fails.
    """
    if composition.infinite[0] > delta:
        return math.inf
    tilted = _sum_near_delta(composition, delta)
    return 0.0 if tilted is None else _walk(tilted, delta, 0.0)


def _walk(tilted: TiltedSum, delta: float, end: float) -> float:
    """Return the first ε on the way from where δ(ε) is about δ to `end` that is certain, or `end`.

    There δ(ε) is at least δ if `end` is 0, and at most δ otherwise.
    """
    eps = min(_estimated_root(tilted, delta), end) if end else _estimated_root(tilted, delta)
    margin = 1e-8 * eps + 1e-300
    while eps != end:
        enclosure = tilted.delta(eps)
        if enclosure.upper <= delta if end else enclosure.lower >= delta:
            break
        eps = min(eps + margin, end) if end else max(eps - margin, 0.0)
        margin *= 4.0
    return eps


def _sum_near_delta(composition: LossSum, delta: float) -> TiltedSum | None:
    """Return the tilted law of S for the ε at which δ(ε) is about δ, None if there is none."""
    theta, eps = tilt_at_delta(composition, delta)
    # δ may be more than δ(0).
    if eps <= 0.0:
        theta, eps = tilt_at_eps(composition, 0.0), 0.0
    return tilted_sum(composition, theta, min(eps, max(composition.largest, 0.0)))


def _estimated_root(tilted: TiltedSum, delta: float) -> float:
    """Return the ε ≥ 0 at which δ(ε) is about δ.

    The logarithm of the finite part of δ(ε) falls at a rate of about θ.
    """
    infinite, eps = tilted.composition.infinite[1], tilted.eps
    goal, rate = max(delta - infinite, 1e-9 * delta), tilted.theta
    previous: tuple[float, float] | None = None
    for _ in range(30):
        excess = tilted.delta(eps).upper - infinite
        height = math.log(excess / goal) if excess > 0.0 else -1.0
        if previous is not None and (eps - previous[0]) * (previous[1] - height) > 0.0:
            secant = (previous[1] - height) / (eps - previous[0])
            rate = min(max(secant, 0.1 * tilted.theta), 10.0 * tilted.theta)
        previous = eps, height
        eps = max(min(eps + height / rate, tilted.composition.largest), 0.0)
        if abs(eps - previous[0]) <= 1e-9 * eps:
            break
    return eps
