"""Bounds by clones, which look at ε₀ and, at most, at the laws of the victim's two inputs."""

from __future__ import annotations

import math
from collections.abc import Callable

from shufflebounds.bounds.base import Bound, Kind, closed_form
from shufflebounds.bounds.divergences import See, accounted, blanket_inputs, divergence_bound, seen
from shufflebounds.bounds.rounds import advanced, theorem_bound
from shufflebounds.core import validation
from shufflebounds.core.clones import standard_clone, stronger_clone
from shufflebounds.core.decomposition import Decomposition, require
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import MASSES_ERR, FloatArray
from shufflebounds.core.setting import Setting
from shufflebounds.subjects.base import GivenSource, Source

# Relative rounding error of a formula for ε: a dozen roundings of 2⁻⁵³, with room to spare.
_FORMULA_ERR = 2.0**-46
# Shares of δ that `clone_advanced` tries for the single rounds. The composition has the rest of δ.
_ADVANCED_SHARES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)


def coarsened_clone(decomposition: Decomposition, eps0: float) -> Decomposition:
    """Return the standard clone of a randomizer with these R(x₁⁰), R(x₁¹): c = (a + b)/(2e^{ε₀}).

    Parameters
    ----------
    decomposition
        A decomposition of an ε₀-LDP randomizer R. Only its a and b are used: R(x₁⁰) and R(x₁¹).
        If it has an ``inner`` (``outer``) end, the a and b of that end must be a post-processing of
        those of R (those of R one of the end's), as for every mechanism of this package.
    eps0
        ε₀ of everything a user sends, natural log.

    Raises ValueError for a bad argument.

    Notes
    -----
    Proof: docs/proofs/variation-ratio.md, section 5.
    """
    half = math.exp(-validation.eps0(eps0)) / 2.0
    return _replace_c(require("decomposition", decomposition), lambda a, b: (a + b) * half)


def _replace_c(
    decomposition: Decomposition, masses: Callable[[FloatArray, FloatArray], FloatArray]
) -> Decomposition:
    """Return the decomposition with c = masses(a, b), also at its ends."""
    inner, outer = (
        end and _replace_c(end, masses) for end in (decomposition.inner, decomposition.outer)
    )
    a, b = decomposition.a, decomposition.b
    err, relation = decomposition.rel_err + MASSES_ERR, decomposition.relation
    return Decomposition(a, b, masses(a, b), err, inner, outer, relation=relation)


def _see_clone(clone: Callable[[float], Decomposition]) -> See:
    """Return the function from a source to the clone of its ε₀."""
    return lambda source: GivenSource(
        {"": clone(source.require_eps0("the clone"))}, eps0=source.eps0
    )


CLONE = divergence_bound(
    "clone",
    Kind.UPPER,
    seen(_see_clone(standard_clone)),
    label="clone",
    source="Feldman, McMillan and Talwar, FOCS 2021, Theorem 3.1",
    knows_mechanism=False,
)

STRONGER_CLONE = divergence_bound(
    "stronger_clone",
    Kind.UPPER,
    seen(_see_clone(stronger_clone)),
    label="stronger clone",
    source="docs/proofs/variation-ratio.md, for independent reports of a randomizer that all users "
    "share; "
    "the pair is that of Feldman, McMillan and Talwar, SODA 2023",
    knows_mechanism=False,
)

CLONE_ACCOUNTED = accounted(CLONE, "clone_renyi", "clone, Rényi accounting")
STRONGER_ACCOUNTED = accounted(
    STRONGER_CLONE, "stronger_clone_renyi", "stronger clone, Rényi accounting"
)

CLONE_ADVANCED = theorem_bound(
    "clone_advanced",
    "clone, advanced composition",
    "Feldman, McMillan and Talwar, FOCS 2021, Theorem 3.1; Kairouz, Oh and Viswanath, ICML 2015, "
    "Theorem 3.5, with the best of several shares of δ",
    advanced,
    _ADVANCED_SHARES,
    seen(_see_clone(standard_clone)),
    False,
)


def same_input_clone(decomposition: Decomposition, eps0: float) -> Decomposition:
    """Return the decomposition of Girgis et al., CCS 2021, Theorem 3.6: c = R(x₁¹)/e^{ε₀}.

    For an ε₀-LDP randomizer R every report is one of R(x₁¹) with a probability of at least e^{−ε₀}.
    All other reports are given away. The divergence is that of the theorem's special case, m + 1
    users of the same input, averaged over m ~ Bin(n − 1, e^{−ε₀}). It is never below that of the
    blanket.

    The arguments are those of `coarsened_clone`. Raises ValueError for a bad argument.
    """
    probability = math.exp(-validation.eps0(eps0))
    return _replace_c(require("decomposition", decomposition), lambda _, b: b * probability)


def _see_same_input(source: Source) -> Source:
    """Return the `same_input_clone` of each blanket."""
    eps0 = source.require_eps0("girgis_reduction")
    pairs = {name: same_input_clone(x, eps0) for name, x in source.blankets.items()}
    return GivenSource(pairs, eps0=eps0)


REDUCTION = divergence_bound(
    "girgis_reduction",
    Kind.UPPER,
    seen(_see_same_input),
    label="Girgis et al., Theorem 3.6",
    source="Girgis et al., CCS 2021, Theorem 3.6",
    name_inputs=blanket_inputs,
)


def clone_closed_form(eps0: float, n: int, delta: float) -> Enclosure:
    """Return ε by Feldman, McMillan and Talwar (FOCS 2021), Theorem 3.1.

    For ε₀ ≤ log(n / (16 log(4/δ))),
    ε = log(1 + (e^{ε₀} − 1)/(e^{ε₀} + 1) · (8 √(e^{ε₀} log(4/δ) / n) + 8 e^{ε₀} / n)).
    Outside that range, and within rounding of its end, the answer is ε₀. The paper has 2/δ in the
    range; the authors' own code has 4/δ, and their tracker calls the 2 a typo.
    """
    log_inverse = -math.log(delta)
    largest = math.log(n) - math.log(16.0 * (math.log(4.0) + log_inverse))
    if eps0 > largest - _FORMULA_ERR * math.log(n):
        return Enclosure(eps0, eps0)
    share = math.exp(eps0) / n
    noise = 8.0 * math.sqrt(share * (math.log(4.0) + log_inverse)) + 8.0 * share
    return _enclose_rounded(math.log1p(math.tanh(eps0 / 2.0) * noise), eps0)


def erlingsson(eps0: float, n: int, delta: float) -> Enclosure:
    """Return ε by Erlingsson et al. (SODA 2019).

    For n ≥ 1000, ε₀ < 1/2 and δ < 1/100, ε = 12 ε₀ √(log(1/δ) / n). Otherwise the answer is ε₀.
    Wang et al. (PVLDB 2024) draw it as EFMRTT19.
    """
    if not (n >= 1000 and eps0 < 0.5 and delta < 0.01):
        return Enclosure(eps0, eps0)
    return _enclose_rounded(12.0 * eps0 * math.sqrt(-math.log(delta) / n), eps0)


def _enclose_rounded(eps: float, eps0: float) -> Enclosure:
    """Return an enclosure of the value of a formula for ε, whose ends are at most ε₀."""
    return Enclosure(min(eps * (1.0 - _FORMULA_ERR), eps0), min(eps * (1.0 + _FORMULA_ERR), eps0))


def _eps0_bound(
    name: str, label: str, source: str, epsilon: Callable[[float, int, float], Enclosure]
) -> Bound:
    """Return the bound by a formula of ε₀, n and δ."""

    def formula(_: None, eps0: float, at: Setting) -> Enclosure:
        return epsilon(eps0, at.require("n"), at.require("delta"))

    return closed_form(
        name,
        Kind.UPPER,
        label=label,
        source=source,
        knows_mechanism=False,
        quantities={"epsilon": formula},
    )


CLONE_CLOSED_FORM = _eps0_bound(
    "clone_closed_form",
    "clone, closed form",
    "Feldman, McMillan and Talwar, FOCS 2021, Theorem 3.1, for eps0 <= log(n/(16 log(4/delta)))",
    clone_closed_form,
)
ERLINGSSON = _eps0_bound(
    "erlingsson", "Erlingsson et al.", "Erlingsson et al., SODA 2019", erlingsson
)
