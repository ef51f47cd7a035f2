"""Variation-ratio in closed form: Theorems 4.2 and 4.3 of Wang et al. (PVLDB 17(8), 2024).

Both bound ε of the *published* pair, which is an upper bound of a protocol for some parameters only
(docs/variation-ratio.md, section 7). With α = β/(p − 1), r = pα/q, w = 1 − α − pα (α = 0 and
r = β/q for p = ∞), L = log(4/δ), and m = n − 1 other messages:

* 4.2: with C clones among the others and S = √(CL/2),

      ε(C) = log(1 + β(2S + 1)/(αC + β(C/2 − S) + w(m − C)r/(1 − 2r))),

  and C is at least Ω = 2rm − √(min(6r, 1/2) m L) but for a probability δ/2. The theorem is ε(Ω)
  where ε falls from Ω on: where A = α + β/2 − wr/(1 − 2r) > 0 and AΩ ≥ wrm/(1 − 2r) + β/2. (The
  printed condition on Ω has a sign error.) Elsewhere the proof needs the largest ε(C) on [Ω, m],
  which is given here. In √C, ε rises up to the positive root of
  A(sC + √C) = s(wrm/(1 − 2r) + β/2), s = √(L/2), and falls from there on; for A ≤ 0 it rises.
* 4.3: v = max(0, (4/9)(1 − 3r)/(1 − 2r)),

      ε = log(1 + β/((1 − v)(1 + p)β/(p − 1) + v) · (√(32L/(rm)) + 4/(rn))),

  where n ≥ 8 log(2/δ)/r.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal, localcontext

from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics
from shufflebounds.enclosure import Enclosure
from shufflebounds.protocols.base import Protocol
from shufflebounds.protocols.ratios import Ratios
from shufflebounds.setting import Setting

# Of a protocol's ratios, its number of messages n and δ: ε, or None outside the range.
Formula = Callable[[Ratios, int, float], Decimal | None]

# Digits of all that follows; what cancels is at most 10²⁰ times as large as what is left.
_CONTEXT = Context(prec=80)
_HAIR = Decimal("1e-40")


def analytic(ratios: Ratios, n: int, delta: float) -> Decimal | None:
    """ε of Theorem 4.2, the largest over Ω ≤ C ≤ n − 1; None where there is none."""
    with localcontext(_CONTEXT):
        beta, alpha, r, w = _masses(ratios)
        others, log_inverse = Decimal(n - 1), Decimal(4).ln() - Decimal(delta).ln()
        spread = min(6 * r, Decimal("0.5")) * others * log_inverse
        clones = 2 * r * others - spread.sqrt()
        if clones <= _HAIR or not (2 * r < 1 or w == 0):
            return None
        rest = w * r / (1 - 2 * r) if w else Decimal(0)
        slope, scale = alpha + beta / 2 - rest, (log_inverse / 2).sqrt()

        # As functions of x = √C.
        def below(x: Decimal) -> Decimal:
            return slope * x * x - beta * scale * x + rest * others

        least, most = clones.sqrt(), others.sqrt()
        lowest = peak = most
        if slope > _HAIR:
            lowest = min(max(beta * scale / (2 * slope), least), most)
            root = slope * slope + 4 * scale * scale * slope * (rest * others + beta / 2)
            peak = min(max((root.sqrt() - slope) / (2 * scale * slope), least), most)
        if min(below(x) for x in (least, lowest, most)) <= _HAIR:
            return None
        return (1 + beta * (2 * scale * peak + 1) / below(peak)).ln()


def asymptotic(ratios: Ratios, n: int, delta: float) -> Decimal | None:
    """ε of Theorem 4.3; None for fewer messages than it asks for."""
    with localcontext(_CONTEXT):
        beta, _, r, w = _masses(ratios)
        log_inverse = -Decimal(delta).ln()
        needed = 8 * (Decimal(2).ln() + log_inverse)
        if beta == 0 or n < 2 or n * r < needed * (1 + _HAIR) or not (2 * r < 1 or w == 0):
            return None
        v = Decimal(0) if 3 * r >= 1 else Decimal(4) / 9 * (1 - 3 * r) / (1 - 2 * r)
        noise = (32 * (Decimal(4).ln() + log_inverse) / (r * (n - 1))).sqrt() + 4 / (r * n)
        # (1 + p)β/(p − 1) is 1 − w.
        return (1 + beta / ((1 - v) * (1 - w) + v) * noise).ln()


def _masses(ratios: Ratios) -> tuple[Decimal, Decimal, Decimal, Decimal]:
    """β, α, r and w, w being 0 where β is at its maximum."""
    beta, q = Decimal(ratios.beta), Decimal(ratios.q)
    if math.isinf(ratios.p):
        return beta, Decimal(0), beta / q, 1 - beta
    p = Decimal(ratios.p)
    beta = min(beta, (p - 1) / (p + 1))
    alpha = beta / (p - 1)
    w = 1 - alpha * (1 + p)
    return beta, alpha, alpha * p / q, w if w > _HAIR else Decimal(0)


def _bound(name: str, label: str, theorem: str, formula: Formula) -> Bound:
    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        ratios = protocol.ratios()

        def answer(setting: Setting) -> Answer:
            draws = protocol.draws(setting.require("n"))
            eps = formula(ratios, draws, setting.require("delta"))
            return _answer(name, eps, protocol.eps0 or math.log(ratios.p))

        return lambda settings: [answer(setting) for setting in settings]

    return Bound(
        name=name,
        kind=Kind.UNPROVEN,
        label=label,
        source=f"Wang et al., PVLDB 17(8), 2024, {theorem}: of the published pair",
        knows_mechanism=True,
        is_divergence=False,
        quantities=("epsilon",),
        composes=False,
        prepare=prepare,
    )


def _answer(name: str, eps: Decimal | None, largest: float) -> Answer:
    """What the formula says, at most the local ε; that or, if there is none, nothing."""
    if eps is not None and eps < largest:
        nearest = float(eps)
        ends = math.nextafter(nearest, 0.0), math.nextafter(nearest, math.inf)
        return Answer(Enclosure(ends[0], min(ends[1], largest)))
    if math.isinf(largest):
        return Answer(
            Enclosure(0.0, math.inf), shortfall=f"{name} says nothing for so few messages"
        )
    return Answer(Enclosure(largest, largest))


ANALYTIC = _bound(
    "variation_ratio_analytic",
    "variation-ratio, analytic",
    "Theorem 4.2 with its condition corrected",
    analytic,
)
ASYMPTOTIC = _bound(
    "variation_ratio_asymptotic", "variation-ratio, asymptotic", "Theorem 4.3", asymptotic
)
