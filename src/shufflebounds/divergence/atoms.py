"""The atoms of a law by falling size of their values, and the moments of what is left of the law.

Notation: the values h are those of G minus the likeliest one, the base; atom 0 may be the largest.
"Law j" is that of one draw given that it is none of the atoms before j: masses p_i/R_j for i ≥ j,
and what remains of R_j = 1 − Σ_{i<j} p_i sits at the base, 0.

Proofs: docs/proofs/engine.md, section 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import BLOCK, Law, U

# Number of tilts per decade. Every tilt gives a bound, so their number only decides how close the
# bounds are (benchmarks/deployer_grid.py).
TILTS_PER_DECADE = 2
# Smallest tilt, times the largest reach of S.
LOWEST_TILT = 0.01
# Largest tilt, times the smallest relevant value.
HIGHEST_TILT = 300.0
# Largest number of tilts: laws whose values differ by more than forty decades get fewer a decade.
MAX_TILTS = 120
# Relative error above which a mass may be anything from 0 to its largest value. Below it, the
# factor 1.02 in `_shares` covers what the first order of the errors leaves out.
MAX_MASS_ERROR = 0.01
# Error of the logarithm of such a mass; e to the power of minus twice this counts as 0.
LOG_UNKNOWN = 400.0
# If all other atoms may have less than this share, nothing is claimed of it.
MIN_OTHERS_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Atoms:
    """Atoms away from the base, by falling |h| + error, and the properties of law j, j = 0, …, A.

    ``values`` and ``masses`` have shape (A,), with absolute errors of at most ``value_err`` (A,)
    and relative errors of at most ``mass_err`` (A,), which are at most about 1. ``base`` is the
    value that was subtracted, with an error of at most ``base_err``. ``remaining`` (A + 1,) are the
    R_j, with relative errors ``remaining_err`` (A + 1,). ``mean`` (A + 1,) are the means of law j,
    with errors ``mean_err`` (A + 1,).

    ``log_share`` (A,) is log p_j/R_j, ``log_other`` (A,) is log(1 − p_j/R_j), and ``log_remaining``
    (A + 1,) is log R_j/R_0. Their errors are absolute. Those of ``log_remaining`` add up: the error
    of log R_i/R_j is the difference of two, plus rounding.
    """

    values: FloatArray
    value_err: FloatArray
    masses: FloatArray
    mass_err: FloatArray
    base: float
    base_err: float
    remaining: FloatArray
    remaining_err: FloatArray
    mean: FloatArray
    mean_err: FloatArray
    log_share: FloatArray
    share_err: FloatArray
    log_other: FloatArray
    other_err: FloatArray
    log_remaining: FloatArray
    log_remaining_err: FloatArray

    @property
    def size(self) -> int:
        """The number of atoms away from the base."""
        return self.values.size


def recentred_atoms(g: Law) -> Atoms:
    """Return the atoms of a law around its likeliest value, including the residual atom."""
    values, value_err = np.append(g.values, 0.0), np.append(g.value_err, 0.0)
    # The residual lies anywhere in this interval.
    residual_low, residual_high = (
        max(0.0, g.residual - g.residual_err) * (1.0 - U),
        (g.residual + g.residual_err) * (1.0 + U),
    )
    residual = 0.5 * (residual_low + residual_high)
    residual_mass_err = (
        0.5 * (residual_high - residual_low) / residual * (1.0 + 8.0 * U) + 4.0 * U
        if residual > 0.0
        else 0.0
    )
    masses, mass_err = (
        np.append(g.masses, residual),
        np.append(g.mass_err + 0.0 * g.masses, residual_mass_err),
    )
    base_index = int(np.argmax(masses))
    is_atom = masses > 0.0
    is_atom[base_index] = False
    h = values - values[base_index]
    h_err = value_err + value_err[base_index] + U * np.abs(h)
    order = np.argsort(-(np.abs(h) + h_err)[is_atom], kind="stable")
    base_mass, base_mass_err = float(masses[base_index]), float(mass_err[base_index])
    h, h_err, masses, mass_err = (x[is_atom][order] for x in (h, h_err, masses, mass_err))

    rounding = (2.0 * masses.size + 8.0) * U
    remaining = base_mass + _tails(masses)
    error_sum = (base_mass * base_mass_err + _tails(masses * mass_err)) * (1.0 + 1e-9)
    remaining_err = error_sum / remaining + rounding
    mean = _tails(masses * h) / remaining
    error_sum = (
        _tails(masses * (np.abs(h) * (mass_err + rounding) + (1.0 + mass_err) * h_err)) / remaining
    )
    mean_err = (error_sum + np.abs(mean) * remaining_err) / (1.0 - remaining_err) * (1.0 + 1e-9)
    return Atoms(
        h,
        h_err,
        masses,
        mass_err,
        float(values[base_index]),
        float(value_err[base_index]),
        remaining,
        remaining_err,
        mean,
        mean_err,
        *_shares(masses, mass_err, remaining, remaining_err),
    )


def _shares(
    masses: FloatArray, mass_err: FloatArray, remaining: FloatArray, remaining_err: FloatArray
) -> tuple[FloatArray, ...]:
    """Return the logarithms of `Atoms`, each followed by its error."""
    share = masses / remaining[:-1]
    relative_err = (mass_err + remaining_err[:-1]) * 1.02 + 4.0 * U
    # These shares may be anything up to the largest.
    doubtful = relative_err > MAX_MASS_ERROR
    log_share = (
        np.log(np.where(doubtful, share * (1.0 + relative_err), share)) - LOG_UNKNOWN * doubtful
    )
    share_err = np.where(doubtful, LOG_UNKNOWN, relative_err)
    others_share = 1.0 - share - share * relative_err
    with np.errstate(divide="ignore", invalid="ignore"):
        log_other = np.log1p(-share)
        other_err = 1.01 * share * relative_err / others_share - 4.0 * U * log_other
    other_err[others_share < MIN_OTHERS_SHARE] = np.inf
    log_remaining, log_remaining_err = np.zeros(remaining.size), np.zeros(remaining.size)
    np.cumsum(log_other, out=log_remaining[1:])
    np.cumsum(other_err, out=log_remaining_err[1:])
    return log_share, share_err, log_other, other_err, log_remaining, log_remaining_err


def _tails(x: FloatArray) -> FloatArray:
    """Return the sums of x[j:] for j = 0, …, len(x), along the first axis."""
    sums = np.zeros((x.shape[0] + 1, *x.shape[1:]))
    sums[:-1] = np.cumsum(x[::-1], axis=0)[::-1]
    return sums


@dataclass(frozen=True, eq=False)
class Moments:
    """Upper bounds of log E e^{θH} for a draw H of each law j, and what one draw contributes.

    ``theta`` (T,) > 0 are exact. ``upper`` (2, A + 1, T) are the bounds at θ, then at −θ, inf on
    overflow. ``one_draw`` (A, T) are upper bounds of log p_i e^{θh_i}, and ``scale`` (T,) is
    log(eθ).
    """

    theta: FloatArray
    upper: FloatArray
    one_draw: FloatArray
    scale: FloatArray


def atom_moments(atoms: Atoms, theta: FloatArray) -> Moments:
    """Return bounds of log1p(Σ_{i≥j} p_i expm1(θh_i)/R_j) for all j, θ and both signs of θ."""
    upper = np.empty((2, atoms.size + 1, theta.size))
    one_draw = np.empty((atoms.size, theta.size))
    largest_masses = (atoms.masses * (1.0 + atoms.mass_err))[:, None]
    log_largest_masses = np.log(largest_masses)
    log_largest_masses += 8.0 * U * np.abs(log_largest_masses) + 1e-12
    exponent_err = (2.0 * U * np.abs(atoms.values) + atoms.value_err)[:, None] * (1.0 + 4.0 * U)
    step = max(1, BLOCK // atoms.size)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        for columns in (slice(i, i + step) for i in range(0, theta.size, step)):
            x, x_err = atoms.values[:, None] * theta[columns], exponent_err * theta[columns]
            one_draw[:, columns] = x + (x_err + 8.0 * U * np.abs(x)) + log_largest_masses
            for side, exponent in enumerate((x, -x)):
                k, err = _log_moment(atoms, exponent, x_err, largest_masses)
                upper[side, :, columns] = np.where(err <= 0.5, k + err, np.inf)
    return Moments(theta, upper, one_draw, 1.0 + np.log(theta))


def _log_moment(
    atoms: Atoms, x: FloatArray, x_err: FloatArray, largest_masses: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return K_j and its error, given the exponents and their errors.

    The error is valid up to ½. It includes 8u|K|, for the product with a number of draws.
    `largest_masses` are upper bounds of the masses.
    """
    rounding = (2.0 * atoms.size + 16.0) * U + 1.01 * float(atoms.remaining_err.max())
    growth = np.expm1(x)
    err_terms = (growth + 1.0) * (x_err * (1.72 * largest_masses))
    # Errors grow with the tilt.
    if x_err[:, -1].max() >= 1.0:
        atom, column = np.nonzero(x_err >= 1.0)
        err_terms[atom, column] = largest_masses[atom, 0] * np.exp(
            x[atom, column] + x_err[atom, column]
        )
    growth *= atoms.masses[:, None]
    err_terms += np.abs(growth) * (atoms.mass_err + rounding)[:, None]
    total, err_terms = _tails(growth), _tails(err_terms)
    remaining = atoms.remaining[:, None]
    err_terms /= total + remaining
    total /= remaining
    k = np.log1p(total, out=total)
    return k, 2.0 * err_terms + 12.0 * U * np.abs(k) + 2.0**-1000


def tilts(atoms: Atoms, n: float) -> FloatArray:
    """Return tilts on a logarithmic grid, for the largest reach of S to the smallest value.

    Only positive reaches matter, since draws far below 0 have the same effect at any distance. The
    positions of S without a draw, and with one draw, matter as well: large tilts resolve their
    distance from 0.
    """
    h, masses = atoms.values, atoms.masses
    common = np.abs(h) <= float(h.max(initial=0.0))
    spread = math.sqrt(n * float(masses[common] @ h[common] ** 2))
    largest = max(float(h.max()), spread, n * atoms.base)
    relevant = np.abs(h[common & (n * masses > 1e-3) & (h != 0.0)])
    smallest = float(relevant.min(initial=largest))
    if atoms.base != 0.0:
        base_sum = abs(n * atoms.base)
        one_draw_values = np.abs(n * atoms.base + h[common]).min()
        smallest = min(smallest, base_sum, max(float(one_draw_values), 1e-3 * base_sum))
    smallest = max(smallest, 1e-200 * largest)
    low, high = math.log10(LOWEST_TILT / largest), math.log10(HIGHEST_TILT / smallest)
    count = min(MAX_TILTS, math.ceil((high - low) * TILTS_PER_DECADE) + 2)
    return 10.0 ** np.linspace(low, high, count)
