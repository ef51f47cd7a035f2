"""The blanket bound by Hoeffding's inequality (Balle, Bell, Gascón and Nissim, CRYPTO 2019).

For m independent copies of L with mean −a and range b, Pr[ΣL ≥ s] ≤ e^{−2(s + ma)²/(mb²)}. The
rate at s = 0 is 2ma²/b² and its slope 4a/b², so that (see `blanket_loss`)

    E[(ΣL)₊] ≤ b²/(4a) · e^{−2ma²/b²}.
"""

from __future__ import annotations

from shufflebounds import validation
from shufflebounds.baselines import blanket_loss
from shufflebounds.baselines.blanket_loss import Loss
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure


def delta(blanket: Decomposition, eps: float, n: int) -> float:
    """Upper bound on δ at ε for n users of a randomizer with this blanket, both directions.

    1 where the inequality says nothing: at ε = 0, and where c is 0 on a component in use. Raises
    ValueError unless ε ≥ 0 and n ≥ 1.
    """
    eps, n = validation.eps(eps), validation.users(n)
    return blanket_loss.delta_above(bound, blanket_loss.specific(blanket), eps, n)


def delta_generic(eps0: float, eps: float, n: int) -> float:
    """Upper bound on δ at ε for n users of any ε₀-LDP randomizer; 1 at ε = 0.

    Raises ValueError unless 0 < ε₀ ≤ 300, ε ≥ 0 and n ≥ 1.
    """
    eps, n = validation.eps(eps), validation.users(n)
    return blanket_loss.delta_above(bound, blanket_loss.generic(validation.eps0(eps0)), eps, n)


def blanket_hoeffding(blanket: Decomposition, eps0: float, n: int, delta: float) -> Enclosure:
    """The smallest ε ≤ ε₀ at which the bound for this blanket is at most δ."""
    return blanket_loss.smallest_eps(bound, blanket_loss.specific(blanket), eps0, n, delta)


def blanket_hoeffding_generic(
    blanket: Decomposition, eps0: float, n: int, delta: float
) -> Enclosure:
    """The same for any ε₀-LDP randomizer; `blanket` is not looked at."""
    return blanket_loss.smallest_eps(bound, blanket_loss.generic(eps0), eps0, n, delta)


def bound(loss: Loss, n: int, side: int) -> float:
    """Bound on δ in one direction, off at most by rounding to the given side (`blanket_loss`)."""
    if loss.drift <= 0.0:
        return 1.0
    # As E[R] = −1, a range other than 0 is no smaller than rounding and its square no underflow.
    squared_range = max(loss.spread, 0.0) * loss.spread
    if squared_range == 0.0:
        return 0.0
    prefactor = loss.drift * (squared_range / 4.0)
    return blanket_loss.average(loss, prefactor, 2.0 / squared_range, n, side)
