"""A law by falling size of its values, for the sweep: recentred, with the laws of its tails.

Notation: the values h are those of G minus the likeliest one, the base; atom 0 may be the largest.
"Law j" is that of one draw given that it is none of the atoms before j: masses p_i/R_j for i ≥ j,
and what remains of R_j = 1 − Σ_{i<j} p_i sits at the base, 0. The proofs are in docs/engine.md,
section 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.law import Law, U

# Tilts per decade, and the range: θ times the largest reach, and times the smallest value.
_PER_DECADE, _LOWEST, _HIGHEST, _MOST_TILTS = 3, 0.01, 300.0, 120
# How narrowly one draw may miss 0, as a share of what it must make up for.
_NARROWLY = 1e-3
# The smallest value that counts, as a share of the largest reach: tilts must be finite.
_TINY = 1e-200
# Tilts times atoms held in memory at once.
_BLOCK = 2**14
# A mass known no better than this may be anything from 0, or e^{−2·void}, to its largest.
_DOUBTFUL, _VOID = 0.01, 400.0
# Where all other atoms may have less than this share, nothing is claimed of it.
_LEAST_REST = 0.01


@dataclass(frozen=True, eq=False)
class Atoms:
    """Atoms away from the base, by falling |h| + error, and what is known of law j, j = 0, …, A.

    ``values``, ``masses`` have shape (A,); the true values lie within ``value_err`` (A,), the true
    masses within the relative distances ``mass_err`` (A,), which are at most about 1. ``base`` is
    the value that was subtracted, off by at most ``base_err``. ``left`` (A + 1,) are the R_j, good
    to the relative ``left_err`` (A + 1,), ``mean`` (A + 1,) the means of law j, good to
    ``mean_err`` (A + 1,).

    Of the draws from law j, ``log_share`` (A,) is log p_j/R_j and ``log_other`` (A,) that of the
    contrary; ``log_left`` (A + 1,) is log R_j/R_0. Their errors are absolute; those of
    ``log_left`` add up: R_i/R_j is known to within the difference of two, and ``rounding`` of the
    larger of both. ``odds`` (A,) are upper bounds of p_j/(R_j − p_j).
    """

    values: FloatArray
    value_err: FloatArray
    masses: FloatArray
    mass_err: FloatArray
    base: float
    base_err: float
    left: FloatArray
    left_err: FloatArray
    mean: FloatArray
    mean_err: FloatArray
    log_share: FloatArray
    share_err: FloatArray
    log_other: FloatArray
    other_err: FloatArray
    log_left: FloatArray
    log_left_err: FloatArray
    odds: FloatArray

    @property
    def size(self) -> int:
        """The number of atoms away from the base."""
        return self.values.size


def recentred(g: Law) -> Atoms:
    """The atoms of a law around its likeliest value, the residual atom being one of them."""
    values, value_err = np.append(g.values, 0.0), np.append(g.value_err, 0.0)
    # The residual lies anywhere in this interval, which may be all that is known of it.
    least, most = max(0.0, g.rest - g.rest_err) * (1.0 - U), (g.rest + g.rest_err) * (1.0 + U)
    rest = 0.5 * (least + most)
    rest_err = 0.5 * (most - least) / rest * (1.0 + 8.0 * U) + 4.0 * U if rest > 0.0 else 0.0
    masses, mass_err = np.append(g.masses, rest), np.append(g.mass_err + 0.0 * g.masses, rest_err)
    star = int(np.argmax(masses))
    keep = masses > 0.0
    keep[star] = False
    h = values - values[star]
    h_err = value_err + value_err[star] + U * np.abs(h)
    order = np.argsort(-(np.abs(h) + h_err)[keep], kind="stable")
    base_mass, base_mass_err = float(masses[star]), float(mass_err[star])
    h, h_err, masses, mass_err = (x[keep][order] for x in (h, h_err, masses, mass_err))

    rounding = (2.0 * masses.size + 8.0) * U
    left = base_mass + _tails(masses)
    slip = (base_mass * base_mass_err + _tails(masses * mass_err)) * (1.0 + 1e-9)
    left_err = slip / left + rounding
    mean = _tails(masses * h) / left
    slip = _tails(masses * (np.abs(h) * (mass_err + rounding) + (1.0 + mass_err) * h_err)) / left
    mean_err = (slip + np.abs(mean) * left_err) / (1.0 - left_err) * (1.0 + 1e-9)
    return Atoms(
        h,
        h_err,
        masses,
        mass_err,
        float(values[star]),
        float(value_err[star]),
        left,
        left_err,
        mean,
        mean_err,
        *_shares(masses, mass_err, left, left_err),
    )


def _shares(
    masses: FloatArray, mass_err: FloatArray, left: FloatArray, left_err: FloatArray
) -> tuple[FloatArray, ...]:
    """The logarithms of `Atoms`, each followed by its error, and the odds."""
    share = masses / left[:-1]
    rel = (mass_err + left_err[:-1]) * 1.02 + 4.0 * U
    doubtful = rel > _DOUBTFUL  # any share up to the largest
    log_share = np.log(np.where(doubtful, share * (1.0 + rel), share)) - _VOID * doubtful
    share_err = np.where(doubtful, _VOID, rel)
    rest = 1.0 - share - share * rel
    with np.errstate(divide="ignore", invalid="ignore"):
        log_other = np.log1p(-share)
        other_err = 1.01 * share * rel / rest - 4.0 * U * log_other
        odds = share * (1.0 + rel) / rest * (1.0 + 1e-12)
    other_err[rest < _LEAST_REST] = np.inf
    log_left, log_left_err = np.zeros(left.size), np.zeros(left.size)
    np.cumsum(log_other, out=log_left[1:])
    np.cumsum(other_err, out=log_left_err[1:])
    return log_share, share_err, log_other, other_err, log_left, log_left_err, odds


def _tails(x: FloatArray) -> FloatArray:
    """Sums of x[j:] for j = 0, …, len(x), along the first axis."""
    sums = np.zeros((x.shape[0] + 1, *x.shape[1:]))
    sums[:-1] = np.cumsum(x[::-1], axis=0)[::-1]
    return sums


@dataclass(frozen=True, eq=False)
class Moments:
    """Bounds of log E e^{θH} of every law j, H a draw of it, and what one draw of an atom adds.

    ``theta`` (T,) > 0 are exact. ``upper`` (2, A + 1, T) are upper bounds at θ, then at −θ, inf
    where it overflows, ``lower`` (A + 1, T) lower bounds at θ, −inf where ``upper`` is inf. ``one``
    (A, T) are upper bounds of log p_i e^{θh_i}, and ``scale`` (T,) is log(eθ).
    """

    theta: FloatArray
    upper: FloatArray
    lower: FloatArray
    one: FloatArray
    scale: FloatArray


def moments(atoms: Atoms, theta: FloatArray) -> Moments:
    """Tabulate log1p(Σ_{i≥j} p_i expm1(θh_i)/R_j) with its error, for both signs of θ."""
    shape = atoms.size + 1, theta.size
    upper, lower = np.empty((2, *shape)), np.empty(shape)
    one = np.empty((atoms.size, theta.size))
    most = (atoms.masses * (1.0 + atoms.mass_err))[:, None]
    log_most = np.log(most)
    log_most += 8.0 * U * np.abs(log_most) + 1e-12
    doubt = (2.0 * U * np.abs(atoms.values) + atoms.value_err)[:, None] * (1.0 + 4.0 * U)
    step = max(1, _BLOCK // atoms.size)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        for start in range(0, theta.size, step):
            part = slice(start, start + step)
            x, x_err = atoms.values[:, None] * theta[part], doubt * theta[part]
            one[:, part] = x + (x_err + 8.0 * U * np.abs(x)) + log_most
            k, err = _log_moment(atoms, x, x_err, most)
            upper[0, :, part] = np.where(err <= 0.5, k + err, np.inf)
            lower[:, part] = np.where(err <= 0.5, k - err, -np.inf)
            k, err = _log_moment(atoms, -x, x_err, most)
            upper[1, :, part] = np.where(err <= 0.5, k + err, np.inf)
    return Moments(theta, upper, lower, one, 1.0 + np.log(theta))


def _log_moment(
    atoms: Atoms, x: FloatArray, x_err: FloatArray, most: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """K_j from the exponents and their errors, and its error, which means nothing beyond ½.

    The error includes 8u|K|, for the product with a number of draws. `most` are the largest masses.
    """
    rounding = (2.0 * atoms.size + 16.0) * U + 1.01 * float(atoms.left_err.max())
    growth = np.expm1(x)
    slip = (growth + 1.0) * (x_err * (1.72 * most))
    # Errors grow with the tilt.
    if x_err[:, -1].max() >= 1.0:
        atom, vague = np.nonzero(x_err >= 1.0)
        slip[atom, vague] = most[atom, 0] * np.exp(x[atom, vague] + x_err[atom, vague])
    growth *= atoms.masses[:, None]
    slip += np.abs(growth) * (atoms.mass_err + rounding)[:, None]
    total, slip = _tails(growth), _tails(slip)
    left = atoms.left[:, None]
    slip /= total + left
    total /= left
    k = np.log1p(total, out=total)
    return k, 2.0 * slip + 12.0 * U * np.abs(k) + 2.0**-1000


def tilts(atoms: Atoms, n: int) -> FloatArray:
    """Tilts on a logarithmic grid, from the largest reach of S to the smallest value that counts.

    What draws far below 0 are worth does not depend on how far, hence positive reaches only. Where
    S is without a draw, or with one, counts as well: large tilts tell that from 0.
    """
    h, masses = atoms.values, atoms.masses
    common = np.abs(h) <= float(h.max(initial=0.0))
    spread = math.sqrt(n * float(masses[common] @ h[common] ** 2))
    largest = max(float(h.max()), spread, n * atoms.base)
    counted = np.abs(h[common & (n * masses > 1e-3) & (h != 0.0)])
    smallest = float(counted.min(initial=largest))
    if atoms.base != 0.0:
        missing = abs(n * atoms.base)
        after = np.abs(n * atoms.base + h[common]).min()
        smallest = min(smallest, missing, max(float(after), _NARROWLY * missing))
    smallest = max(smallest, _TINY * largest)
    low, high = math.log10(_LOWEST / largest), math.log10(_HIGHEST / smallest)
    count = min(_MOST_TILTS, math.ceil((high - low) * _PER_DECADE) + 2)
    return 10.0 ** np.linspace(low, high, count)
