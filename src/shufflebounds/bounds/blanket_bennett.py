"""The blanket bound by Bennett's inequality (Balle, Bell, Gascón and Nissim, CRYPTO 2019).

Let L have mean −a, maximum b₊ > 0 and second moment c. As (e^y − 1 − y)/y² rises in y,
E[e^{λL}] ≤ 1 − λa + c(e^{λb₊} − 1 − λb₊)/b₊² for λ ≥ 0. This needs the *uncentred* maximum with the
*second moment*: with the variance in place of c it is false. By log(1 + y) ≤ y and Chernoff's
bound, for m independent copies

    log Pr[ΣL ≥ s] ≤ −max_λ {λ(s + ma) − mc(e^{λb₊} − 1 − λb₊)/b₊²}.

At s = 0 the maximum is at λ = log(1 + u)/b₊, u = ab₊/c, which is also the slope of the rate in s.
So (see `blanket_loss`)

    E[(ΣL)₊] ≤ b₊/log(1 + u) · e^{−(mc/b₊²)((1 + u)log(1 + u) − u)}.

For R = L/a with maximum ρ and second moment σ, u = ρ/σ, the prefactor is aσ · u/log(1 + u) and the
rate per copy κ(u)/σ with κ(u) = ((1 + u)log(1 + u) − u)/u², which stays tame as b₊ → 0. Where
b₊ ≤ 0, D is 0 and so is the bound.
"""

from __future__ import annotations

import math

from shufflebounds.bounds.blanket_inequalities import generic_bound, specific_bound
from shufflebounds.bounds.blanket_loss import ABOVE, Loss, average

# κ(u) = Σ_k (−u)^k / ((k + 1)(k + 2)); up to this u, 27 terms leave less than 2⁻⁶³.
_SERIES_UP_TO = 0.25
_SERIES = tuple((-1.0) ** k / ((k + 1) * (k + 2)) for k in range(27))


def divergence(loss: Loss, n: int, side: int) -> float:
    """Bound on δ in one direction, off at most by rounding to the given side (`blanket_loss`)."""
    if loss.drift <= 0.0:
        return 1.0
    # An interval whose end is the first ε with b₊ = 0 still has b₊ > 0 inside.
    if loss.top < 0.0 or (loss.top == 0.0 and side == ABOVE) or loss.square <= 0.0:
        return 0.0
    u = loss.top / loss.square
    stretch = u / math.log1p(u) if u > 0.0 else 1.0
    prefactor = loss.drift * (loss.square * stretch)
    return average(loss, prefactor, _kappa(u) / loss.square, n, side)


def _kappa(u: float) -> float:
    """((1 + u)log(1 + u) − u)/u² for u ≥ 0, to a relative accuracy of some 40 roundings."""
    if u > _SERIES_UP_TO:
        return ((1.0 + u) * math.log1p(u) - u) / u / u
    total = 0.0
    for coefficient in reversed(_SERIES):
        total = total * u + coefficient
    return total


BENNETT = specific_bound("blanket_bennett", divergence, label="blanket, Bennett")
BENNETT_GENERIC = generic_bound(
    "blanket_bennett_generic", divergence, label="blanket, Bennett, generic"
)
