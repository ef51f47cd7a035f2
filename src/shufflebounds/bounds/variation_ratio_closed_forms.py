"""Variation-ratio in closed form: Theorems 4.2 and 4.3 of Wang et al. (PVLDB 17(8), 2024).

Both bound the ε of the *published* pair, which is an upper bound of a protocol for some parameters
only (docs/proofs/variation-ratio.md, section 7). Let α = β/(p − 1), r = pα/q, w = 1 − α − pα (α = 0
and r = β/q for p = ∞), L = log(4/δ), and m = n − 1 other messages.

Theorem 4.2: with C clones among the others and S = √(CL/2),

    ε(C) = log(1 + β(2S + 1)/(αC + β(C/2 − S) + w(m − C)r/(1 − 2r))).

C is at least Ω = 2rm − √(min(6r, 1/2) m L), except with probability δ/2. The theorem is ε(Ω) if ε
falls from Ω on, which it does if A = α + β/2 − wr/(1 − 2r) > 0 and AΩ ≥ wrm/(1 − 2r) + β/2. (The
printed condition on Ω has a sign error.) Otherwise the proof needs the largest ε(C) on [Ω, m]:
`analytic` returns it. In √C, ε rises up to the positive root of
A(sC + √C) = s(wrm/(1 − 2r) + β/2), s = √(L/2), and falls from there on; for A ≤ 0 it rises.

Theorem 4.3: with v = max(0, (4/9)(1 − 3r)/(1 − 2r)) and if n ≥ 8 log(2/δ)/r,

    ε = log(1 + β/((1 − v)(1 + p)β/(p − 1) + v) · (√(32L/(rm)) + 4/(rn))).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, localcontext

from shufflebounds.bounds.base import Answer, Bound, Kind, Numerics, single_shuffle
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.setting import Setting
from shufflebounds.subjects.base import Subject
from shufflebounds.subjects.ratios import Ratios

# The precision of the formulas: 80 decimal digits, of which cancellation takes at most 20.
_CONTEXT = Context(prec=80)
# A number below this, in absolute or relative terms, may be a rounding error of the formulas.
_NEGLIGIBLE = Decimal("1e-40")

# Returns ε for a protocol's ratios, its number of messages n and δ; None outside the range.
RatioFormula = Callable[[Ratios, int, float], Decimal | None]


def analytic(ratios: Ratios, n: int, delta: float) -> Decimal | None:
    """Return ε by Theorem 4.2, the largest over Ω ≤ C ≤ n − 1; None if there is none."""
    with localcontext(_CONTEXT):
        beta, alpha, r, w = _ratio_numbers(ratios)
        m, log_inverse = Decimal(n - 1), Decimal(4).ln() - Decimal(delta).ln()
        spread = min(6 * r, Decimal("0.5")) * m * log_inverse
        omega = 2 * r * m - spread.sqrt()
        if omega <= _NEGLIGIBLE or not (2 * r < 1 or w == 0):
            return None
        w_term = w * r / (1 - 2 * r) if w else Decimal(0)
        slope, scale = alpha + beta / 2 - w_term, (log_inverse / 2).sqrt()

        def denominator(x: Decimal) -> Decimal:
            """Return the denominator of ε(C) at x = √C."""
            return slope * x * x - beta * scale * x + w_term * m

        start, end = omega.sqrt(), m.sqrt()
        # At `lowest` the denominator is smallest, and at `peak` ε is largest.
        lowest = peak = end
        if slope > _NEGLIGIBLE:
            lowest = min(max(beta * scale / (2 * slope), start), end)
            root = slope * slope + 4 * scale * scale * slope * (w_term * m + beta / 2)
            peak = min(max((root.sqrt() - slope) / (2 * scale * slope), start), end)
        if min(denominator(x) for x in (start, lowest, end)) <= _NEGLIGIBLE:
            return None
        return (1 + beta * (2 * scale * peak + 1) / denominator(peak)).ln()


def asymptotic(ratios: Ratios, n: int, delta: float) -> Decimal | None:
    """Return ε by Theorem 4.3; None for fewer messages than it requires."""
    with localcontext(_CONTEXT):
        beta, _, r, w = _ratio_numbers(ratios)
        log_inverse = -Decimal(delta).ln()
        required = 8 * (Decimal(2).ln() + log_inverse)
        has_enough = n >= 2 and n * r >= required * (1 + _NEGLIGIBLE)
        if beta == 0 or not has_enough or not (2 * r < 1 or w == 0):
            return None
        v = Decimal(0) if 3 * r >= 1 else Decimal(4) / 9 * (1 - 3 * r) / (1 - 2 * r)
        noise = (32 * (Decimal(4).ln() + log_inverse) / (r * (n - 1))).sqrt() + 4 / (r * n)
        # (1 + p)β/(p − 1) is 1 − w.
        return (1 + beta / ((1 - v) * (1 - w) + v) * noise).ln()


def _ratio_numbers(ratios: Ratios) -> tuple[Decimal, Decimal, Decimal, Decimal]:
    """Return β, α, r and w, where w is 0 if β is at its maximum."""
    beta, q = Decimal(ratios.beta), Decimal(ratios.q)
    if math.isinf(ratios.p):
        return beta, Decimal(0), beta / q, 1 - beta
    p = Decimal(ratios.p)
    beta = min(beta, (p - 1) / (p + 1))
    alpha = beta / (p - 1)
    w = 1 - alpha * (1 + p)
    return beta, alpha, alpha * p / q, w if w > _NEGLIGIBLE else Decimal(0)


def _ratio_bound(name: str, label: str, theorem: str, formula: RatioFormula) -> Bound:
    """Return the bound by a formula of the protocol's ratios, at most its ε₀."""

    def compute(
        subject: Subject, quantity: str, settings: Sequence[Setting], _: Numerics
    ) -> list[Answer]:
        def answer(setting: Setting) -> Answer:
            shuffle = single_shuffle(name, subject, setting)
            ratios = shuffle.source.ratios()
            eps = formula(ratios, shuffle.draws, setting.require("delta"))
            return _is_at_most(subject.eps0 or math.log(ratios.p), eps, name)

        return [answer(setting) for setting in settings]

    return Bound(
        name=name,
        kind=Kind.UNPROVEN,
        label=label,
        source=f"Wang et al., PVLDB 17(8), 2024, {theorem}: of the published pair",
        quantities=("epsilon",),
        compute=compute,
    )


def _is_at_most(local_eps: float, eps: Decimal | None, name: str) -> Answer:
    """Return the smaller one of a formula's ε and the local ε; a shortfall if there is neither."""
    if eps is not None and eps < local_eps:
        nearest = float(eps)
        ends = math.nextafter(nearest, 0.0), math.nextafter(nearest, math.inf)
        return Answer(Enclosure(ends[0], min(ends[1], local_eps)))
    if math.isinf(local_eps):
        return Answer(
            Enclosure(0.0, math.inf), shortfall=f"{name} says nothing for so few messages"
        )
    return Answer(Enclosure(local_eps, local_eps))


ANALYTIC = _ratio_bound(
    "variation_ratio_analytic",
    "variation-ratio, analytic",
    "Theorem 4.2 with its condition corrected",
    analytic,
)
ASYMPTOTIC = _ratio_bound(
    "variation_ratio_asymptotic", "variation-ratio, asymptotic", "Theorem 4.3", asymptotic
)
