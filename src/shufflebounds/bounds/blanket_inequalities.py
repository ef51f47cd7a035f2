"""From an inequality about the privacy amplification variable to a bound: δ at ε, and ε at δ."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from shufflebounds.bounds.base import Bound, Kind
from shufflebounds.bounds.blanket_loss import ABOVE, BELOW, Loss, Losses, generic, specific
from shufflebounds.bounds.formulas import closed_form
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure
from shufflebounds.setting import Setting

# Of R, n and the side: what an inequality says of D.
Inequality = Callable[[Loss, int, int], float]

# A smaller ε counts as 0, where the bounds are singular. Beyond the largest, e^ε leaves the range
# of floats; D falls in ε, so a bound there serves for all that follow.
_SMALLEST_EPS, _LARGEST_EPS = 1e-30, 700.0
# Relative width of an enclosure of ε, and the number of intervals to examine before widening it;
# some 200 are usual.
_TOLERANCE = 1e-10
_PATIENCE = 1000


def specific_bound(name: str, inequality: Inequality, *, label: str) -> Bound:
    """The bound that an inequality gives for a known blanket."""
    return _bound(name, inequality, label, specific)


def generic_bound(name: str, inequality: Inequality, *, label: str) -> Bound:
    """The bound that an inequality gives for every ε₀-LDP randomizer."""
    return _bound(name, inequality, label, None)


def _bound(
    name: str,
    inequality: Inequality,
    label: str,
    losses_of: Callable[[Decomposition], Losses] | None,
) -> Bound:
    def losses(blanket: Decomposition | None, eps0: float) -> Losses:
        return generic(eps0) if blanket is None or losses_of is None else losses_of(blanket)

    def epsilon(blanket: Decomposition | None, eps0: float) -> Callable[[Setting], Enclosure]:
        known = losses(blanket, eps0)
        return lambda at: smallest_eps(
            inequality, known, eps0, at.require("n"), at.require("delta")
        )

    def delta(blanket: Decomposition | None, eps0: float) -> Callable[[Setting], Enclosure]:
        known = losses(blanket, eps0)
        return lambda at: delta_enclosed(inequality, known, at.require("eps"), at.require("n"))

    return closed_form(
        name,
        Kind.UPPER,
        label=label,
        source="Balle, Bell, Gascón and Nissim, CRYPTO 2019",
        knows_mechanism=losses_of is not None,
        quantities={"epsilon": epsilon, "delta": delta},
    )


def delta_enclosed(inequality: Inequality, losses: Losses, eps: float, n: int) -> Enclosure:
    """The larger of the bounds in the two directions at ε ≥ 0; at most 1."""
    upper = delta_above(inequality, losses, eps, n)
    if not _SMALLEST_EPS <= eps <= _LARGEST_EPS:
        return Enclosure(0.0, upper)
    lower = max(inequality(loss, n, BELOW) for loss in losses(eps, eps, BELOW))
    return Enclosure(min(lower, upper), upper)


def delta_above(inequality: Inequality, losses: Losses, eps: float, n: int) -> float:
    """The larger of the bounds in the two directions at ε, or a little more; at most 1."""
    if eps < _SMALLEST_EPS:
        return 1.0
    eps = min(eps, _LARGEST_EPS)
    return max(inequality(loss, n, ABOVE) for loss in losses(eps, eps, ABOVE))


def smallest_eps(
    inequality: Inequality, losses: Losses, eps0: float, n: int, delta: float
) -> Enclosure:
    """Enclosure of the smallest ε in (0, ε₀] at which the bound is at most δ, or of ε₀.

    The bounds need not fall in ε (for small n they turn and rise), so intervals are discarded from
    the left, halved as needed, where the bound certainly exceeds δ all over them.
    """
    lower = None
    tolerance = _TOLERANCE
    pending = [(min(_SMALLEST_EPS, eps0), eps0)]
    for examined in itertools.count(1):
        if not pending:
            break
        if examined % _PATIENCE == 0:
            # The bound all but touches δ. Be content with less instead of creeping along.
            tolerance *= 10.0
        lo, hi = pending.pop()
        if any(inequality(loss, n, BELOW) > delta for loss in losses(lo, hi, BELOW)):
            continue
        if hi - lo > tolerance * hi:
            middle = math.sqrt(lo * hi)
            pending += [(middle, hi), (lo, middle)]
            continue
        lower = lo if lower is None else lower
        if hi == eps0 or delta_above(inequality, losses, hi, n) <= delta:
            return Enclosure(lower, hi)
    return Enclosure(eps0 if lower is None else lower, eps0)
