"""Fourier coefficients of sums of lattice losses: those that can matter, and a bound of the others.

Those of one law are bounded everywhere before any is left out, for they need not be large near 0
alone: two atoms at ±1 have one of modulus 1 half-way. docs/composition.md proves the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.law import Tilted, U
from shufflebounds.divergence.losses import LossLaw

Tilts = Sequence[tuple[Tilted, LossLaw, int]]

# The logarithm of coefficients that are only bounded.
_LOG_SKIPPED = -45.0
# From so many coefficients on, one in so many is looked at first.
_MANY, _STRIDE = 2**15, 16
# Coefficients times atoms that are worth summing without an FFT.
_MOST_DIRECT = 2**20


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


def coefficients(tilts: Tilts, size: int, step: float) -> Coefficients:
    """Those of the sum of independent tilted laws, each so many times, at least `size` of them."""
    # Here, since it takes longer to load than all of this library.
    from scipy.fft import next_fast_len

    if size >= _MANY:
        size = _STRIDE * next_fast_len(2 * math.ceil(size / (2 * _STRIDE)), real=True)
        if size % (2 * _STRIDE) == 0:
            found = _in_stretches(tilts, size, step)
            if found is not None:
                return found
    size = next_fast_len(max(8, size), real=True)
    spectra = [_Spectrum.everywhere(t, law, times, size) for t, law, times in tilts]
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


def _in_stretches(tilts: Tilts, size: int, step: float) -> Coefficients | None:
    """The same for a multiple of 2·`_STRIDE`; None where too many coefficients are large.

    |φ|² has a second derivative of at least −2σ², so that between two points H apart it exceeds
    the larger end by at most σ²H²/4.
    """
    width = 2.0 * math.pi * _STRIDE / (size * step)
    ceiling = np.zeros(1)
    for tilted, law, times in tilts:
        coarse = _Spectrum.everywhere(tilted, law, times, size // _STRIDE)
        square = (coarse.modulus * (1.0 + 4.0 * U) + coarse.err) ** 2
        rise = 0.25 * _variance(tilted, law) * width**2 * (1.0 + 1e-9)
        bound = np.maximum(square[:-1], square[1:]) + rise
        ceiling = ceiling + 0.5 * times * (np.log(bound) + 8.0 * U)
    kept = ceiling > _LOG_SKIPPED
    kept[0] = True
    starts = np.flatnonzero(kept) * _STRIDE
    atoms = sum(law.index.size for _, law, _ in tilts)
    if starts.size * _STRIDE * atoms > _MOST_DIRECT:
        return None
    skipped = 2.0 * _STRIDE * float(np.exp(ceiling[~kept]).sum())
    modes = (starts[:, None] + np.arange(_STRIDE)).ravel()
    # The last one of all belongs to no stretch.
    modes = np.append(modes, size // 2)
    spectra = [_Spectrum.here(t, law, times, modes, size) for t, law, times in tilts]
    values, err = _product(spectra, np.asarray(sum(one.log_ceiling() for one in spectra)))
    weights = np.where((modes == 0) | (modes == size // 2), 1.0, 2.0)
    return Coefficients(size, modes, values, err, weights, skipped * (1.0 + 1e-9))


def _variance(tilted: Tilted, law: LossLaw) -> float:
    """An upper bound of the variance of a tilted law."""
    away = (law.law.values - tilted.mean) ** 2
    weights = np.where(tilted.used, tilted.weights * (1.0 + tilted.weight_err), 0.0)
    return (float(weights @ away) + tilted.left_out * float(away.max())) * (1.0 + 1e-9)


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """Fourier coefficients of a tilted law, each off by at most ``err``, and the power to take."""

    times: int
    phi: NDArray[np.complex128]
    modulus: FloatArray
    err: float

    @staticmethod
    def everywhere(tilted: Tilted, law: LossLaw, times: int, size: int) -> _Spectrum:
        """At 0, 1, …, ⌊size/2⌋."""
        # Here, since it takes longer to load than all of this library.
        from scipy.fft import rfft

        weights, err = _weights(tilted)
        phi = rfft(np.bincount(law.index % size, weights=weights, minlength=size))
        rounding = U * (8.0 * math.log2(size) + 16.0 + weights.size / size)
        err += rounding * float(weights.sum()) * (1.0 + 1e-9)
        return _Spectrum(times, phi, np.abs(phi), err)

    @staticmethod
    def here(
        tilted: Tilted, law: LossLaw, times: int, modes: NDArray[np.int64], size: int
    ) -> _Spectrum:
        """At some modes, term by term."""
        weights, err = _weights(tilted)
        angle = (2.0 * math.pi / size) * (modes[:, None] * (law.index % size) % size)
        phi = (weights * np.cos(angle)).sum(axis=1) - 1j * (weights * np.sin(angle)).sum(axis=1)
        err += 192.0 * U * float(weights.sum())
        return _Spectrum(times, phi, np.abs(phi), err)

    def log_ceiling(self) -> FloatArray:
        """Upper bounds of the logarithms of the moduli of the powers."""
        return self.times * (np.log(self.modulus * (1.0 + 4.0 * U) + self.err) + 4.0 * U)

    def at(self, where: NDArray[np.bool_]) -> _Spectrum:
        return _Spectrum(self.times, self.phi[where], self.modulus[where], self.err)


def _weights(tilted: Tilted) -> tuple[FloatArray, float]:
    """The weights to compute with, and by how much their uncertainty may move a coefficient."""
    weights = np.where(tilted.used, tilted.weights, 0.0)
    known = float(weights @ np.where(tilted.used, tilted.weight_err, 0.0))
    return weights, known * (1.0 + 1e-9) + tilted.left_out + 2.0**-1000


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
