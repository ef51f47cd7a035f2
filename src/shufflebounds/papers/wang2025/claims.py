"""What the paper claims (Wang et al., Appl. Sci. 15(3), 2025), how it is measured, when it holds.

The words are ours. Sections are those of the paper.
"""

from __future__ import annotations

from functools import partial

from shufflebounds.papers.claims import Claim, Evidence
from shufflebounds.papers.judging import NOT_REPRODUCED, REPRODUCED, Judgement, at_least, everywhere
from shufflebounds.papers.wang2025 import counterexample, measures

INTRODUCTION = """\
What Wang, Zeng, Li, Huang and Chen ([Appl. Sci. 15(3):1595,
2025](https://doi.org/10.3390/app15031595)) say about their composition, in our words, and what the
curves say. That composition costs Õ(n) is not judged: the one here costs the same for every n.
"""


def _saves(
    evidence: Evidence, bound: str, others: tuple[str, ...], share: float
) -> Judgement | None:
    return everywhere(measures.below(evidence, bound, others), at_least(share))


def _holds(_: Evidence) -> Judgement:
    """By one dataset, which no curve shows."""
    truth, claimed = counterexample.truth(), counterexample.claimed()
    return Judgement(
        measured=f"D = {truth} where the theorem says at most {claimed}",
        extreme="s = d = 2, r = 2/3, n = 2: the victim holds 00 or 11, the other user 00, "
        "e^ε = 7/2",
        holds_in=f"{int(truth <= claimed)} of 1 datasets",
        verdict=REPRODUCED if truth <= claimed else NOT_REPRODUCED,
        why="",
    )


CLAIMS = (
    Claim(
        name="theorem1_saves",
        source="Section 8.1, Figure 2",
        words="For vectors of randomized bits Theorem 1 saves about 20 % over the numerical "
        "accounting of Koskela et al.",
        measure="1 − ε(Theorem 1) / ε(stronger clone), both composed T times, at every T. Holds at "
        "a point: at least 15 %, 20 % to the nearest ten.",
        judge=partial(
            _saves, bound="vector_bits_published", others=("stronger_clone",), share=0.15
        ),
        note="Theorem 1 is not proven, so that nobody may spend what it saves.",
    ),
    Claim(
        name="theorem1_holds",
        source="Section 6, Theorem 1",
        words="The pair of Theorem 1 dominates vectors of s randomized bits.",
        measure="D(ε) of one dataset of two users and of the theorem's pair, both by enumeration "
        "in rational arithmetic. Holds: the former is not larger.",
        judge=_holds,
        cause="β is the total variation, as the paper says; it is the reduction (Lemma 4) that is "
        "no bound where β is below its largest value, which it is for s ≥ 2: the victim's report "
        "that both inputs make as likely is taken for one that hides among others.",
    ),
    Claim(
        name="blanket_saves",
        source="Section 8.1, Figure 2",
        words="For vectors of randomized bits a pair that fits them saves about 20 %: here that of "
        "the blanket, which is proven.",
        measure="1 − ε(blanket of s bits) / ε(stronger clone), both composed T times, at every T. "
        "Holds at a point: at least 15 %.",
        judge=partial(_saves, bound="upper", others=("stronger_clone",), share=0.15),
    ),
    Claim(
        name="renyi_far",
        source="Section 7",
        words="Rényi accounting is far from tight for the noise of shuffling.",
        measure="1 − ε(composed blanket) / ε(Rényi accounting of the same blanket, exact and over "
        "all orders), at every T. Holds at a point: at least 20 %.",
        judge=partial(_saves, bound="upper", others=("upper_renyi",), share=0.20),
        cause="It is the closed forms that are loose, as that of Girgis et al. in the figure: with "
        "the exact divergence all that is lost is in the conversion to (ε, δ).",
    ),
    Claim(
        name="trees_save",
        source="Abstract, Section 8.2, Figures 3 and 4",
        words="For decision trees numerical composition saves 80 % of what basic or advanced "
        "composition spends.",
        measure="1 − ε(composed profiles) / less of ε(basic) and ε(advanced), at every number of "
        "messages. Holds at a point: at least 75 %, 80 % to the nearest ten.",
        judge=partial(
            _saves,
            bound="upper",
            others=("basic_composition", "advanced_composition"),
            share=0.75,
        ),
        cause="Advanced composition here is the heterogeneous theorem of Kairouz, Oh and "
        "Viswanath, not larger than the sum of all ε. The fewer the queries, the less there is to "
        "save.",
    ),
)
