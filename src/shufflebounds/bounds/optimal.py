"""The best upper and lower bounds of a randomizer by its decompositions and datasets.

`three_groups` is the lower bound of Wang et al. (PVLDB 17(8), 2024), Theorem 5.1. It unites the
outputs that are more likely under x₁⁰, those that are more likely under x₁¹, and the rest. The
printed theorem assumes that both laws give these groups the same masses (R₀(E₀) = R₁(E₁)). This is
not necessary: uniting outputs is post-processing, so that the result is a lower bound for every
randomizer. The theorem also fixes the input of all other users: the x* with the largest
min(R₀(E₀)/R(x)(E₀), R₁(E₁)/R(x)(E₁)). Often another input gives a larger lower bound, so there are
two bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from shufflebounds.bounds.base import FORMULA_ERR, Answer, Bound, Kind, Numerics
from shufflebounds.bounds.divergences import (
    accounted,
    blanket_inputs,
    dataset_inputs,
    divergence_bound,
    seen_pairs,
    view,
)
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.setting import Setting
from shufflebounds.questions.intervals import View
from shufflebounds.questions.worst_dataset import worst_dataset
from shufflebounds.subjects.base import PairName, Subject
from shufflebounds.subjects.reports import Reports

BLANKET = divergence_bound(
    "blanket",
    Kind.UPPER,
    view(View.BLANKET),
    label="blanket",
    source="Su, Cheng and Wang, arXiv 2504.07414, Theorems 5-8 and 13: the blanket",
    name_inputs=blanket_inputs,
)

LOWER = divergence_bound(
    "lower",
    Kind.LOWER,
    view(View.LOWER),
    label="lower bound",
    source="Su, Cheng and Wang, arXiv 2504.07414, Theorem 14: a pair of datasets",
    name_inputs=dataset_inputs,
)

BEST = divergence_bound(
    "best",
    Kind.UPPER,
    view(View.BEST),
    label="best proven bound",
    source="docs/proofs/closing-the-gap.md, Theorem 1, or the blanket where that is smaller",
    # The lower end is that of the worst known dataset.
    name_inputs=dataset_inputs,
    encloses_truth=True,
)

BLANKET_ACCOUNTED = accounted(BLANKET, "blanket_renyi", "blanket, Rényi accounting")


def three_groups(pair: Decomposition) -> Decomposition:
    """Return the pair's ``inner`` end with its components united by which of a and b is larger."""
    inner = pair.bounds()[0]
    sign = np.sign(inner.a - inner.b)
    a, b, c = (
        np.array([masses[sign == group].sum() for group in (-1.0, 0.0, 1.0)])
        for masses in (inner.a, inner.b, inner.c)
    )
    used = (a > 0.0) | (b > 0.0)
    # The terms of a sum have one sign, and each addition rounds once.
    rel_err = inner.rel_err + inner.a.size * 2.0**-53
    return Decomposition(a[used], b[used], c[used], rel_err)


def _merged(pairs: Mapping[str, Decomposition]) -> dict[str, Decomposition]:
    """Return pairs of datasets in three groups each."""
    return {name: three_groups(pair) for name, pair in pairs.items()}


def _smallest_ratio(pair: Decomposition) -> float:
    """Return min(R₀(E₀)/R(x)(E₀), R₁(E₁)/R(x)(E₁)), where all other users hold x."""
    a, b, c = pair.a, pair.b, pair.c
    with np.errstate(divide="ignore"):
        ratios = np.maximum(a, b) / c
    return float(ratios[a != b].min(initial=np.inf))


def _printed(pairs: Mapping[str, Decomposition]) -> dict[str, Decomposition]:
    """Return the pair in which all other users hold x*."""
    merged = _merged(pairs)
    if not merged:
        return merged
    name = max(merged, key=lambda key: _smallest_ratio(merged[key]))
    return {name: merged[name]}


MERGED_LOWER = divergence_bound(
    "merged_lower",
    Kind.LOWER,
    seen_pairs(_merged),
    label="lower bound, three groups",
    source="Wang et al., PVLDB 17(8), 2024, Theorem 5.1, others' best input in place of its x*",
    name_inputs=dataset_inputs,
)

MERGED_LOWER_PRINTED = divergence_bound(
    "merged_lower_printed",
    Kind.LOWER,
    seen_pairs(_printed),
    label="lower bound, Theorem 5.1",
    source="Wang et al., PVLDB 17(8), 2024, Theorem 5.1 as printed",
    name_inputs=dataset_inputs,
)


def _enumerated_answers(
    subject: Subject, quantity: str, settings: Sequence[Setting], _: Numerics
) -> list[Answer]:
    """Return the mechanism's own ε or δ by enumerating every dataset."""
    if not isinstance(subject, Reports):
        raise ValueError("the bound enumerated needs reports of a single message")
    name = "eps" if quantity == "delta" else "delta"

    def answer(setting: Setting) -> Answer:
        n, at = setting.require("n"), {name: setting.require(name)}
        worst = worst_dataset(subject.randomizer, n, **at)
        return Answer(worst.enclosure, PairName(others=" ".join(map(str, worst.others))))

    return [answer(setting) for setting in settings]


ENUMERATED = Bound(
    name="enumerated",
    kind=Kind.UPPER,
    label="worst dataset",
    source="enumeration of all datasets; for few users, inputs and outputs",
    quantities=("epsilon", "delta"),
    compute=_enumerated_answers,
)


def _original_answers(
    subject: Subject, quantity: str, settings: Sequence[Setting], _: Numerics
) -> list[Answer]:
    """Return the ε that a protocol's authors proved (docs/proofs/variation-ratio.md, section 9)."""

    def answer(setting: Setting) -> Answer:
        eps = subject.original_epsilon(setting.require("n"), setting.require("delta"))
        if eps is None:
            shortfall = "original says nothing of these messages"
            return Answer(Enclosure(0.0, math.inf), shortfall=shortfall)
        return Answer(Enclosure(eps * (1.0 - FORMULA_ERR), eps))

    return [answer(setting) for setting in settings]


ORIGINAL = Bound(
    name="original",
    kind=Kind.UPPER,
    label="original analysis",
    source="the protocol's authors: Cheu and Zhilyaev, IEEE S&P 2022; Luo, Wang and Yi, CCS 2022",
    quantities=("epsilon",),
    is_of_shuffles=True,
    compute=_original_answers,
)
