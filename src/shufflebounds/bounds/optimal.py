"""The best that decompositions of a randomizer can say, from above and from below."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from operator import methodcaller

import numpy as np

from shufflebounds.accounting.composition import Composed, round_of
from shufflebounds.accounting.questions import mechanism_delta, mechanism_epsilon
from shufflebounds.accounting.worst_dataset import worst_dataset
from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics
from shufflebounds.bounds.divergences import accounted, divergence_bound
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, PrecisionError, reached
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import Candidate, Protocol, SingleMessage
from shufflebounds.randomizers.base import Randomizer

UPPER = divergence_bound(
    "upper",
    Kind.UPPER,
    label="upper bound",
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

UPPER_ACCOUNTED = accounted(UPPER, "upper_renyi", "upper bound, Rényi accounting")


# The lower bound of Wang et al. (PVLDB 17(8), 2024), Theorem 5.1: a coarser histogram.
#
# Outputs are united to those more likely under x₁⁰, those more likely under x₁¹, and the rest. As
# printed the theorem assumes that both laws give these groups alike (R₀(E₀) = R₁(E₁)); nothing
# needs it. Uniting outputs is post-processing, so that what is left is a lower bound for every
# randomizer.
#
# The theorem fixes what all other users hold: the x* with the largest min(R₀(E₀)/R(x)(E₀),
# R₁(E₁)/R(x)(E₁)). Often another input gives the larger lower bound, so there are two bounds.


def three_groups(pair: Decomposition) -> Decomposition:
    """A dataset pair's components united by whether a or b is larger; its ``inner`` end's."""
    inner = pair.bounds()[0]
    sign = np.sign(inner.a - inner.b)
    a, b, c = (
        np.array([masses[sign == one].sum() for one in (-1.0, 0.0, 1.0)])
        for masses in (inner.a, inner.b, inner.c)
    )
    used = (a > 0.0) | (b > 0.0)
    # Sums of numbers of one sign, rounded once an addition.
    rel_err = inner.rel_err + inner.a.size * 2.0**-53
    return Decomposition(a[used], b[used], c[used], rel_err)


def _merged_candidates(protocol: Protocol) -> tuple[Candidate, ...]:
    return tuple(
        replace(pair, decomposition=three_groups(pair.decomposition))
        for pair in protocol.known_lower_candidates()
    )


def _smallest_ratio(pair: Candidate) -> float:
    """The less of R₀(E₀)/R(x)(E₀) and R₁(E₁)/R(x)(E₁), x being what all other users hold."""
    a, b, c = pair.decomposition.a, pair.decomposition.b, pair.decomposition.c
    with np.errstate(divide="ignore"):
        ratios = np.maximum(a, b) / c
    return float(ratios[a != b].min(initial=np.inf))


def _printed_candidate(protocol: Protocol) -> tuple[Candidate, ...]:
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


# The least of all bounds that are proven for every dataset, around what a mechanism's own is.


def _prepare_tight(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
    """Of shuffles of a randomizer; of others the decomposition says all that is known."""
    rtol, blanket = numerics.rtol, UPPER.prepare(protocol, quantity, numerics)
    # Grids are remembered with their rounds, and few settings differ in n.
    round_of_part = cache(lambda randomizer, n: round_of(randomizer, n, 1))

    def answer(setting: Setting) -> Answer:
        n, rounds = setting.require("n"), setting.rounds or 1
        at = setting.require("eps" if quantity == "delta" else "delta")
        parts = protocol.parts(n)
        known = [one for part in parts if (one := _randomizer(part.protocol)) is not None]
        if len(known) < len(parts):
            return blanket([setting])[0]
        if rounds > 1 or len(parts) > 1:
            composed = Composed(
                tuple(
                    replace(round_of_part(randomizer, part.n), times=part.times * rounds)
                    for randomizer, part in zip(known, parts, strict=True)
                )
            )
            # What lies between the ends is theory.
            return Answer(reached(partial(getattr(composed, quantity), at, rtol=rtol)))
        [randomizer] = known
        try:
            if quantity == "delta":
                found = mechanism_delta(randomizer, at, n, rtol=rtol)
            else:
                found = mechanism_epsilon(randomizer, n, at, rtol=rtol)
        except PrecisionError as error:
            return Answer(error.enclosure, shortfall=str(error))
        # Of matrices, such as 0 against 3 among 5.
        inputs, _, others = found.others.rpartition(" among ")
        return Answer(found.enclosure, inputs=inputs, others=others)

    return lambda settings: [answer(setting) for setting in settings]


def _randomizer(protocol: Protocol) -> Randomizer | None:
    """What users shuffle reports of, if they do and every pair of inputs is asked about."""
    if isinstance(protocol, SingleMessage) and protocol.distance is None:
        return protocol.randomizer
    return None


TIGHT = Bound(
    name="tight",
    kind=Kind.UPPER,
    label="best proven bound",
    source="docs/closing-the-gap.md, Theorem 1, or the blanket where that is smaller",
    quantities=("epsilon", "delta"),
    composes=True,
    prepare=_prepare_tight,
)


# What a mechanism's own ε and δ are, by looking at every dataset: for few users.


def _prepare_enumerated(protocol: Protocol, quantity: str, _: Numerics) -> Evaluate:
    if not isinstance(protocol, SingleMessage):
        raise ValueError("the bound enumerated needs reports of a single message")
    given = "eps" if quantity == "delta" else "delta"

    def answer(setting: Setting) -> Answer:
        n, at = setting.require("n"), {given: setting.require(given)}
        found = worst_dataset(protocol.randomizer, n, **at)
        return Answer(found.enclosure, others=" ".join(map(str, found.others)))

    return lambda settings: [answer(setting) for setting in settings]


ENUMERATED = Bound(
    name="enumerated",
    kind=Kind.UPPER,
    label="worst dataset",
    source="enumeration of all datasets; for few users, inputs and outputs",
    quantities=("epsilon", "delta"),
    prepare=_prepare_enumerated,
)


# What the authors of a protocol proved for it (docs/variation-ratio.md, section 9).

# `Protocol.original_epsilon` rounds up by less.
_ROUNDING = 2.0**-40


def _prepare_original(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
    def answer(setting: Setting) -> Answer:
        eps = protocol.original_epsilon(setting.require("n"), setting.require("delta"))
        if eps is None:
            nothing = "original says nothing of these messages"
            return Answer(Enclosure(0.0, math.inf), shortfall=nothing)
        return Answer(Enclosure(eps * (1.0 - _ROUNDING), eps))

    return lambda settings: [answer(setting) for setting in settings]


ORIGINAL = Bound(
    name="original",
    kind=Kind.UPPER,
    label="original analysis",
    source="the protocol's authors: Cheu and Zhilyaev, IEEE S&P 2022; Luo, Wang and Yi, CCS 2022",
    quantities=("epsilon",),
    prepare=_prepare_original,
)
