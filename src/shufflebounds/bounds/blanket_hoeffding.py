"""The blanket bound by Hoeffding's inequality (Balle, Bell, Gascón and Nissim, CRYPTO 2019).

For m independent copies of L with mean −a and range b, Pr[ΣL ≥ s] ≤ e^{−2(s + ma)²/(mb²)}. The
rate at s = 0 is 2ma²/b² and its slope 4a/b², so that (see `blanket_loss`)

    E[(ΣL)₊] ≤ b²/(4a) · e^{−2ma²/b²}.
"""

from __future__ import annotations

from shufflebounds.bounds.blanket_inequalities import generic_bound, specific_bound
from shufflebounds.bounds.blanket_loss import Loss, average


def divergence(loss: Loss, n: int, side: int) -> float:
    """Bound on δ in one direction, off at most by rounding to the given side (`blanket_loss`)."""
    if loss.drift <= 0.0:
        return 1.0
    # As E[R] = −1, a range other than 0 is no smaller than rounding and its square no underflow.
    squared_range = max(loss.spread, 0.0) * loss.spread
    if squared_range == 0.0:
        return 0.0
    prefactor = loss.drift * (squared_range / 4.0)
    return average(loss, prefactor, 2.0 / squared_range, n, side)


HOEFFDING = specific_bound("blanket_hoeffding", divergence, label="blanket, Hoeffding")
HOEFFDING_GENERIC = generic_bound(
    "blanket_hoeffding_generic", divergence, label="blanket, Hoeffding, generic"
)
