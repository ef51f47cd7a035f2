"""Bounds on ε in closed form that know nothing of a randomizer but its ε₀."""

from __future__ import annotations

import math
from collections.abc import Callable

from shufflebounds.bounds.base import Bound, Kind
from shufflebounds.bounds.formulas import closed_form
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure
from shufflebounds.setting import Setting

# A dozen roundings of 2⁻⁵³, with room to spare.
_ROUNDING = 2.0**-46


def clone_closed_form(eps0: float, n: int, delta: float) -> Enclosure:
    """ε of Feldman, McMillan and Talwar (FOCS 2021), Theorem 3.1.

    For ε₀ ≤ log(n / (16 log(4/δ))),
    ε = log(1 + (e^{ε₀} − 1)/(e^{ε₀} + 1) · (8 √(e^{ε₀} log(4/δ) / n) + 8 e^{ε₀} / n)).
    Outside that range, decided a hair on the safe side, the answer is ε₀. The paper has 2/δ in the
    range; the authors' own code has 4/δ, and their tracker calls the 2 a typo.
    """
    log_inverse = -math.log(delta)
    largest = math.log(n) - math.log(16.0 * (math.log(4.0) + log_inverse))
    if eps0 > largest - _ROUNDING * math.log(n):
        return Enclosure(eps0, eps0)
    share = math.exp(eps0) / n
    noise = 8.0 * math.sqrt(share * (math.log(4.0) + log_inverse)) + 8.0 * share
    return _capped(math.log1p(math.tanh(eps0 / 2.0) * noise), eps0)


def erlingsson(eps0: float, n: int, delta: float) -> Enclosure:
    """ε of Erlingsson et al. (SODA 2019).

    For n ≥ 1000, ε₀ < 1/2 and δ < 1/100, ε = 12 ε₀ √(log(1/δ) / n). Otherwise the answer is ε₀.
    Wang et al. (PVLDB 2024) draw it as EFMRTT19.
    """
    if not (n >= 1000 and eps0 < 0.5 and delta < 0.01):
        return Enclosure(eps0, eps0)
    return _capped(12.0 * eps0 * math.sqrt(-math.log(delta) / n), eps0)


def _capped(eps: float, eps0: float) -> Enclosure:
    """Room for the rounding of `eps`, but never above ε₀."""
    return Enclosure(min(eps * (1.0 - _ROUNDING), eps0), min(eps * (1.0 + _ROUNDING), eps0))


def _of_eps0(
    name: str, label: str, source: str, epsilon: Callable[[float, int, float], Enclosure]
) -> Bound:
    def formula(_: Decomposition | None, eps0: float) -> Callable[[Setting], Enclosure]:
        return lambda at: epsilon(eps0, at.require("n"), at.require("delta"))

    return closed_form(
        name,
        Kind.UPPER,
        label=label,
        source=source,
        knows_mechanism=False,
        quantities={"epsilon": formula},
    )


CLONE_CLOSED_FORM = _of_eps0(
    "clone_closed_form",
    "clone, closed form",
    "Feldman, McMillan and Talwar, FOCS 2021, Theorem 3.1, for eps0 <= log(n/(16 log(4/delta)))",
    clone_closed_form,
)
ERLINGSSON = _of_eps0("erlingsson", "Erlingsson et al.", "Erlingsson et al., SODA 2019", erlingsson)
