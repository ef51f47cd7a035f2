"""The paper's claims: each is judged by its rule, on curves made up for it."""

import numpy as np
import pandas as pd
import pytest

from reproduction.papers.base import research
from reproduction.papers.judging import IN_PART, NOT_MEASURED, NOT_REPRODUCED, REPRODUCED, check
from reproduction.papers.points import Evidence
from reproduction.papers.wang2024 import claims, general_pair
from shufflebounds.protocols import registry

CLAIMS = {claim.name: claim for claim in research("wang2024").load_claims()[1]}
DESCRIBED = [
    {"type": "krr", "k": 10},
    {"type": "subset", "domain_size": 16},
    {"type": "local_hash", "domain_size": 16},
    {"type": "cheu_zhilyaev_designed"},
    {"type": "hierarchical_histogram", "domain_size": 64},
    {"type": "separate_histograms", "domain_size": 64, "nodes": 2},
    {"type": "separate_histograms", "domain_size": 64, "nodes": 64},
    {"type": "separate_histograms", "domain_size": 128, "nodes": 2},
]
MECHANISMS = {str(one.mechanism): one.mechanism for one in map(registry.parse, DESCRIBED)}
KRR, SUBSET, HASH, FAKE, LEVELS, WORST, BEST, OTHER = MECHANISMS
GRID = (0.5, 1.0, 2.0)


def curve(mechanism, bound, eps, regime="n4", n=10_000, x="eps0", width=0.0):
    lower = np.broadcast_to(np.asarray(eps, dtype=float), (len(GRID),))
    along = {"eps0": np.nan, "target": np.nan, x: GRID}
    return pd.DataFrame(
        {
            "experiment": "any",
            "regime": regime,
            "curve": "any",
            "mechanism": mechanism,
            "k_joint": 1,
            "distance": pd.array([None] * len(GRID), dtype="Int64"),
            "bound": bound,
            "n": n,
            "delta": 0.01 / n,
            "epsilon_lower": lower,
            "epsilon_upper": lower * (1.0 + width),
            "version": "0",
            **along,
        }
    )


def judged(claim, *curves):
    return check([CLAIMS[claim]], {claim: Evidence(pd.concat(curves), MECHANISMS)}).iloc[0]


def verdict(claim, *curves):
    return judged(claim, *curves)["verdict"]


def designed(bound, eps, **more):
    return curve(FAKE, bound, eps, x="target", **more)


def test_one_dataset_above_it_refutes_an_upper_bound():
    published = [curve(name, "variation_ratio_published", 0.3) for name in (KRR, SUBSET)]
    below = curve(SUBSET, "lower", 0.29)
    assert verdict("upper_bound", *published, below, curve(KRR, "lower", 0.3)) == REPRODUCED
    above = curve(KRR, "lower", [0.2, 0.2, 0.31])
    assert verdict("upper_bound", *published, below, above) == NOT_REPRODUCED


@pytest.mark.parametrize(
    ("eps", "savings", "largest"),
    [
        (0.7, REPRODUCED, REPRODUCED),
        ([0.7, 0.8, 0.8], NOT_REPRODUCED, REPRODUCED),
        (0.8, NOT_REPRODUCED, NOT_REPRODUCED),
    ],
)
def test_savings_of_one_message_are_over_the_least_baseline(eps, savings, largest):
    shown = [
        curve(SUBSET, "variation_ratio", eps),
        curve(SUBSET, "stronger_clone", [1.0, 1.2, 1.2]),
        curve(SUBSET, "blanket_best_similarity", [1.5, 1.0, 1.0]),
        curve(SUBSET, "blanket_best", 0.8),
        *(curve(SUBSET, name, 9.0) for name in ("erlingsson", "blanket_best_generic", "clone")),
    ]
    assert verdict("single_savings", *shown) == savings
    assert verdict("single_peak", *shown) == largest
    assert verdict("savings_moment", *shown) == NOT_REPRODUCED


def test_savings_of_several_messages_are_over_the_target():
    """ε′ is 0.5, 1 and 2; where there is no protocol there is no point."""
    nothing = designed("original", [np.nan, 1.0, 2.0])
    for bound, claim in (
        ("blanket", "multi_savings"),
        ("variation_ratio_analytic", "analytic_savings"),
    ):
        share = 0.29 if claim == "multi_savings" else 0.49
        holds = designed(bound, [np.nan, share, 2 * share])
        assert verdict(claim, nothing, holds) == REPRODUCED
        fails = designed(bound, [np.nan, share, 2.2 * share])
        assert verdict(claim, nothing, fails) == NOT_REPRODUCED
        # The same point without an enclosure, where there is a protocol.
        open_point = judged(claim, designed("original", [0.5, 1.0, 2.0]), holds)
        assert open_point["verdict"] == NOT_REPRODUCED
        assert "undecided" in open_point["why"]
    worse = designed("variation_ratio_asymptotic", [np.nan, 0.9, 2.1])
    assert verdict("asymptotic_savings", nothing, worse) == NOT_REPRODUCED


def test_parallel_composition_against_both_others():
    levels = [curve(LEVELS, "variation_ratio", 0.1), curve(LEVELS, "stronger_clone", 0.35)]
    assert verdict("parallel_basic", *levels) == REPRODUCED
    apart = [curve(WORST, "blanket", 1.0), curve(BEST, "blanket", 0.6)]
    assert verdict("parallel_separate", *levels, *apart) == REPRODUCED
    # Those of another domain do not count.
    other = curve(OTHER, "blanket", 0.05)
    assert verdict("parallel_separate", *levels, *apart, other) == REPRODUCED
    found = judged("parallel_separate", *levels, apart[0], curve(BEST, "blanket", 0.05))
    assert found["verdict"] == NOT_REPRODUCED
    assert "against the level of 64 nodes" in found["extreme"]
    assert verdict("parallel_separate", *apart) == NOT_MEASURED


def test_tightness_is_that_of_the_masses():
    """k-RR's three groups by hand; two sets of two out of five values overlap."""
    e = np.exp(2.0)
    expected = np.array([[e, 1.0], [1.0, e], [1.0, 1.0]]) / (e + 4.0)
    published, pair = claims.tight_cases()["GRR, d = 5"][2]
    for one in (published, pair):
        assert claims.group_masses(one) == pytest.approx(expected, rel=1e-12)
    found = judged("tight", curve(KRR, "lower", 0.1))
    assert found["verdict"] == IN_PART
    assert "different: 2-subset, d = 5, local hash, l = 4, random, PrivUnit" in found["measured"]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        # The paper's own times are all above a dozen seconds.
        ([1.0, 2.0, 3.0, 4.0], IN_PART),
        ([100.0, 2.0, 3.0, 4.0], IN_PART),
        ([100.0, 20.0, 30.0, 40.0], NOT_REPRODUCED),
    ],
)
def test_seconds_are_those_of_the_algorithm(monkeypatch, seconds, expected):
    def timed(given, context):
        assert (given.n, given.iterations) == ((10**8,), (20,))
        return pd.DataFrame({"eps0": given.eps0, "seconds": 0.003, "bisected_20_seconds": seconds})

    monkeypatch.setattr(general_pair, "timed_table", timed)
    assert CLAIMS["seconds"].judge(pd.DataFrame()).verdict == expected


def test_the_printed_condition_admits_what_the_pair_does_not_keep():
    """The paper's own sum over all counts (Theorem 4.8) is 256 times the claimed δ."""
    eps = claims.printed_condition(1000.0, 0.4, 15.0, 1000, 1e-6)
    assert general_pair.summed_delta(1000.0, 0.4, 15.0, eps, 1000) == pytest.approx(
        2.56e-4, rel=0.01
    )
    # Near the largest β, 0.5, little is left of the victim's report, and the claim is true.
    eps = claims.printed_condition(3.0, 0.49, 5.0, 100_000, 1e-6)
    assert general_pair.summed_delta(3.0, 0.49, 5.0, eps, 100_000) <= 1e-6
    found = judged("analytic_condition", curve(KRR, "lower", 0.1))
    assert found["verdict"] == NOT_REPRODUCED
