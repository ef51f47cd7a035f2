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
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import methodcaller

import numpy as np

from shufflebounds.accounting.composition import compose
from shufflebounds.accounting.questions import mechanism_delta, mechanism_epsilon
from shufflebounds.accounting.worst_dataset import worst_dataset
from shufflebounds.bounds.base import (
    FORMULA_ERR,
    Answer,
    Bound,
    Kind,
    Numerics,
)
from shufflebounds.bounds.divergences import accounted, divergence_bound
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, PrecisionError, reached
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import Candidate, Protocol, SingleReport
from shufflebounds.randomizers.base import Randomizer

BLANKET = divergence_bound(
    "blanket",
    Kind.UPPER,
    label="blanket",
    source="Su, Cheng and Wang, arXiv 2504.07414, Theorems 5-8 and 13: the blanket",
    candidates=methodcaller("upper_candidates"),
)

LOWER = divergence_bound(
    "lower",
    Kind.LOWER,
    label="lower bound",
    source="Su, Cheng and Wang, arXiv 2504.07414, Theorem 14: a pair of datasets",
    candidates=methodcaller("known_lower_candidates"),
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


def _merged_candidates(protocol: Protocol) -> tuple[Candidate, ...]:
    """Return the protocol's dataset pairs in three groups each."""
    return tuple(
        replace(pair, decomposition=three_groups(pair.decomposition))
        for pair in protocol.known_lower_candidates()
    )


def _smallest_ratio(pair: Candidate) -> float:
    """Return min(R₀(E₀)/R(x)(E₀), R₁(E₁)/R(x)(E₁)), where all other users hold x."""
    a, b, c = pair.decomposition.a, pair.decomposition.b, pair.decomposition.c
    with np.errstate(divide="ignore"):
        ratios = np.maximum(a, b) / c
    return float(ratios[a != b].min(initial=np.inf))


def _printed_candidate(protocol: Protocol) -> tuple[Candidate, ...]:
    """Return the pair in which all other users hold x*."""
    return (max(_merged_candidates(protocol), key=_smallest_ratio),)


MERGED_LOWER = divergence_bound(
    "merged_lower",
    Kind.LOWER,
    label="lower bound, three groups",
    source="Wang et al., PVLDB 17(8), 2024, Theorem 5.1, others' best input in place of its x*",
    candidates=_merged_candidates,
)

MERGED_LOWER_PRINTED = divergence_bound(
    "merged_lower_printed",
    Kind.LOWER,
    label="lower bound, Theorem 5.1",
    source="Wang et al., PVLDB 17(8), 2024, Theorem 5.1 as printed",
    candidates=_printed_candidate,
)


def _best_answers(
    protocol: Protocol, quantity: str, settings: Sequence[Setting], numerics: Numerics
) -> list[Answer]:
    """Return the mechanism's own ε or δ, and that of the blanket if there is no randomizer."""
    rtol = numerics.rtol

    def answer(setting: Setting) -> Answer:
        n, rounds = setting.require("n"), setting.rounds or 1
        at = setting.require("eps" if quantity == "delta" else "delta")
        parts = protocol.parts(n)
        randomizers = [
            randomizer
            for part in parts
            if (randomizer := _randomizer_of(part.protocol)) is not None
        ]
        if len(randomizers) < len(parts):
            return BLANKET.answer(protocol, quantity, setting, numerics)
        if rounds > 1 or len(parts) > 1:
            composed = compose(
                [
                    (randomizer, part.n, part.times * rounds)
                    for randomizer, part in zip(randomizers, parts, strict=True)
                ]
            )
            # The distance between the ends is no shortfall: no width is promised for it.
            return Answer(reached(partial(getattr(composed, quantity), at, rtol=rtol)))
        [randomizer] = randomizers
        try:
            if quantity == "delta":
                mechanism = mechanism_delta(randomizer, at, n, rtol=rtol)
            else:
                mechanism = mechanism_epsilon(randomizer, n, at, rtol=rtol)
        except PrecisionError as error:
            return Answer(error.enclosure, shortfall=str(error))
        # The datasets of a matrix are named like "0 against 3 among 5".
        inputs, _, others = mechanism.others.rpartition(" among ")
        return Answer(mechanism.enclosure, inputs=inputs, others=others)

    return [answer(setting) for setting in settings]


def _randomizer_of(protocol: Protocol) -> Randomizer | None:
    """Return the randomizer of a protocol that covers every pair of inputs, else None."""
    if isinstance(protocol, SingleReport) and protocol.distance is None:
        return protocol.randomizer
    return None


BEST = Bound(
    name="best",
    kind=Kind.UPPER,
    label="best proven bound",
    source="docs/proofs/closing-the-gap.md, Theorem 1, or the blanket where that is smaller",
    quantities=("epsilon", "delta"),
    is_of_shuffles=True,
    composes=True,
    vanishes=True,
    compute=_best_answers,
)


def _enumerated_answers(
    protocol: Protocol, quantity: str, settings: Sequence[Setting], _: Numerics
) -> list[Answer]:
    """Return the mechanism's own ε or δ by enumerating every dataset."""
    if not isinstance(protocol, SingleReport):
        raise ValueError("the bound enumerated needs reports of a single message")
    name = "eps" if quantity == "delta" else "delta"

    def answer(setting: Setting) -> Answer:
        n, at = setting.require("n"), {name: setting.require(name)}
        worst = worst_dataset(protocol.randomizer, n, **at)
        return Answer(worst.enclosure, others=" ".join(map(str, worst.others)))

    return [answer(setting) for setting in settings]


ENUMERATED = Bound(
    name="enumerated",
    kind=Kind.UPPER,
    label="worst dataset",
    source="enumeration of all datasets; for few users, inputs and outputs",
    quantities=("epsilon", "delta"),
    vanishes=True,
    compute=_enumerated_answers,
)


def _original_answers(
    protocol: Protocol, quantity: str, settings: Sequence[Setting], _: Numerics
) -> list[Answer]:
    """Return the ε that a protocol's authors proved (docs/proofs/variation-ratio.md, section 9)."""

    def answer(setting: Setting) -> Answer:
        eps = protocol.original_epsilon(setting.require("n"), setting.require("delta"))
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
