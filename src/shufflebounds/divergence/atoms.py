"""A law by falling size of its values, for the sweep: recentred, with the laws of its tails.

Notation: the values h are those of G minus the likeliest one, the base; atom 0 has the largest |h|.
"Law j" is that of one draw given that it is none of the atoms before j: masses p_i/R_j for i ≥ j,
and what remains of R_j = 1 − Σ_{i<j} p_i sits at the base, 0. The proofs are in docs/engine.md,
section 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.law import Law, U, rise

# Tilts per decade, and the range: θ times the largest reach, and times the smallest value.
_PER_DECADE, _LOWEST, _HIGHEST, _MOST_TILTS = 4, 0.01, 300.0, 160


@dataclass(frozen=True, eq=False)
class Atoms:
    """Atoms away from the base, by falling |h|, and what is known of law j for j = 0, …, A.

    ``values``, ``masses`` have shape (A,); the true values lie within ``value_err`` (A,), the true
    masses within the relative distances ``mass_err`` (A,), which are at most about 1. ``base`` is
    the value that was subtracted, off by at most ``base_err``. ``left`` (A + 1,) are the R_j, good
    to the relative ``left_err`` (A + 1,), ``mean`` (A + 1,) the means of law j, good to
    ``mean_err`` (A + 1,).
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
    order = np.argsort(-np.abs(h[keep]), kind="stable")
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
    )


def _tails(x: FloatArray) -> FloatArray:
    """Sums of x[j:] for j = 0, …, len(x), along the first axis."""
    sums = np.zeros((x.shape[0] + 1, *x.shape[1:]))
    sums[:-1] = np.cumsum(x[::-1], axis=0)[::-1]
    return sums


@dataclass(frozen=True, eq=False)
class Moments:
    """Upper bounds of log E e^{θH} of every law j, H a draw of it.

    ``theta`` (T,) > 0 are exact; ``upper`` (2, A + 1, T) bounds it at θ, then at −θ, inf where it
    overflows. ``lower`` (A + 1, T) are lower bounds at θ, −inf where ``upper`` is inf.
    """

    theta: FloatArray
    upper: FloatArray
    lower: FloatArray


def moments(atoms: Atoms, theta: FloatArray) -> Moments:
    """Tabulate log1p(Σ_{i≥j} p_i expm1(θh_i)/R_j) with its error, for both signs of θ."""
    upper = np.empty((2, atoms.size + 1, theta.size))
    rounding = (2.0 * atoms.size + 16.0) * U
    for side, sign in enumerate((1.0, -1.0)):
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            x = np.multiply.outer(sign * atoms.values, theta)
            x_err = 2.0 * U * np.abs(x) + np.multiply.outer(atoms.value_err, theta)
            growth = atoms.masses[:, None] * np.expm1(x)
            slip = np.abs(growth) * (atoms.mass_err + rounding)[:, None]
            slip += (atoms.masses * (1.0 + atoms.mass_err))[:, None] * rise(x, x_err)
            total = _tails(growth) / atoms.left[:, None]
            size = _tails(np.abs(growth)) / atoms.left[:, None]
            slip = _tails(slip) / atoms.left[:, None] + size * atoms.left_err[:, None] * 1.01
            k = np.log1p(total)
            err = 2.0 * slip / (1.0 + total) + 4.0 * U * np.abs(k) + 2.0**-1000
            good = np.isfinite(k) & (err <= 0.5)
        upper[side] = np.where(good, k + err + 8.0 * U * np.abs(k), np.inf)
        if side == 0:
            lower = np.where(good, k - err - 8.0 * U * np.abs(k), -np.inf)
    return Moments(theta, upper, lower)


def tilts(atoms: Atoms, n: int) -> FloatArray:
    """Tilts on a logarithmic grid, from the largest reach of S to the smallest value that counts.

    What draws far below 0 are worth does not depend on how far, hence positive reaches only.
    """
    h, masses = atoms.values, atoms.masses
    common = np.abs(h) <= float(h.max(initial=0.0))
    spread = math.sqrt(n * float(masses[common] @ h[common] ** 2))
    largest = max(float(h.max()), spread, n * atoms.base)
    counted = np.abs(h[common & (n * masses > 1e-3) & (h != 0.0)])
    smallest = float(counted.min(initial=largest))
    low, high = math.log10(_LOWEST / largest), math.log10(_HIGHEST / smallest)
    count = min(_MOST_TILTS, math.ceil((high - low) * _PER_DECADE) + 2)
    return 10.0 ** np.linspace(low, high, count)
