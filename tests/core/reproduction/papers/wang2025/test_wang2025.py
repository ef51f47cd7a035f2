"""The paper's counterexample, by two other ways, and what its claims measure."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import shuffles

import shufflebounds as sb
from reproduction.papers.base import research
from reproduction.papers.judging import NOT_REPRODUCED, REPRODUCED, Condition
from reproduction.papers.points import Comparison, Evidence
from reproduction.papers.wang2025 import claims as measures
from shufflebounds.bounds.variation_ratio import published_vector_bits
from shufflebounds.protocols.histograms import DecisionTrees

EPS = math.log(3.5)


def test_a_dataset_exceeds_theorem_1():
    assert measures.counterexample_divergence() == Fraction(2, 81)
    assert measures.counterexample_claim() == Fraction(1, 162)


def test_so_say_the_engine_and_another_enumeration():
    keep = 2.0 / 3.0
    bit = np.array([[keep, 1 - keep], [1 - keep, keep]])
    rows = np.array([np.kron(bit[0], bit[0]), np.kron(bit[1], bit[1])])
    dataset = sb.Decomposition(rows[0], rows[1], rows[0], 1e-15)
    truth = sb.delta(dataset, EPS, 2)
    assert truth.lower <= 2 / 81 * (1 + 1e-9)
    assert truth.upper >= 2 / 81 * (1 - 1e-9)
    published = published_vector_bits(2, 2 * math.log(2.0))
    low, high = shuffles.divergence(shuffles.pair_of(published, 2), EPS)
    assert float(low) == pytest.approx(1 / 162, rel=1e-9)
    assert float(high) == pytest.approx(1 / 162, rel=1e-9)
    # The blanket, which is drawn beside it, covers the dataset.
    blanket = sb.Joint([sb.KRR(2, math.log(2.0))] * 2).blanket()
    assert sb.delta(blanket, EPS, 2).upper >= 2 / 81


@pytest.mark.parametrize(("height", "attributes", "trees"), [(1, 1, 1), (5, 8, 1), (8, 32, 5)])
def test_queries_of_trees(height, attributes, trees):
    sent = DecisionTrees(height, attributes, 3, trees)
    found = sent.shuffles(1000)
    queries = trees * height * (2 * attributes - height + 1) // 2
    assert sum(shuffle.times for shuffle in found) == queries
    assert [query.bins for query, _ in sent.queries] == [2 ** (h + 1) for h in range(height)]
    assert {shuffle.draws for shuffle in found} == {2001}
    (blanket,) = found[0].source.blankets.values()
    a, b, c = (getattr(blanket, name).tolist() for name in "abc")
    assert (a, b, c) == ([1.0, 0.0], [0.0, 1.0], [0.5, 0.5])


@pytest.mark.parametrize(("bits", "n"), [(2, 20), (3, 20)])
def test_lists_are_those_of_all_counts_of_clones(bits, n):
    """Few users leave nothing out but the points whose first count is 0, which have no δ."""
    dropped, terms, most = measures.truncated_list(bits, 1.0, n)
    assert terms == n * (n + 1) // 2
    assert dropped <= 1e-12
    assert terms <= most
    delta = sb.delta(published_vector_bits(bits, 1.0), 0.3, n)
    mass, delta_of_list = measures.loss_list(bits, 1.0, n, 0.3, released=True)
    assert mass == pytest.approx(1.0 - first_count_is_zero(bits, 1.0, n), abs=1e-12)
    assert delta_of_list == pytest.approx(delta.upper, rel=1e-3)
    assert measures.loss_list(bits, 1.0, n, 0.3, released=False)[0] < 0.99


def first_count_is_zero(bits, eps0, n):
    """Neither the victim nor any of the others is a clone of the first kind."""
    pair = published_vector_bits(bits, eps0)
    return (1.0 - pair.a[0]) * (1.0 - pair.c[0]) ** (n - 1)


def test_the_released_program_leaves_out_what_its_loop_never_reaches():
    """Of the settings of Figure 2, this is more than τ only for 4 bits and n = 10³."""
    for bits, eps0, n in measures.LISTS:
        mass, _ = measures.loss_list(bits, eps0, n, 0.1, released=True)
        assert 1.0 - mass == pytest.approx(first_count_is_zero(bits, eps0, n), abs=1e-11)
    assert first_count_is_zero(4, 4.0, 1000) == pytest.approx(1.97e-6, rel=1e-2)


def multinomial(counts, victim, bins):
    """The chance of these counts if one message is the victim's and three are noise."""
    noise = [count - (i == victim) for i, count in enumerate(counts)]
    if min(noise) < 0:
        return Fraction(0)
    return Fraction(math.factorial(3), math.prod(map(math.factorial, noise)) * bins**3)


@pytest.mark.parametrize("bins", [2, 4])
def test_datasets_that_reach_the_pair_of_histograms(bins):
    """Three messages of noise: D = Σ (P − e^ε Q)₊ over all counts, by their multinomials."""
    found = measures.histogram_divergence(bins)
    total = Fraction(0)
    for counts in itertools.product(range(5), repeat=bins):
        if sum(counts) != 4:
            continue
        first, second = (multinomial(counts, victim, bins) for victim in (0, 1))
        total += max(Fraction(0), first - Fraction(3, 2) * second)
    assert found == total
    assert measures.reached_pairs(None).verdict == REPRODUCED
    assert measures.both_directions(None).verdict == REPRODUCED


def rows(bound, ends, **also):
    given = {"mechanism": "m", "eps0": 2.0, "n": 100, "rounds": 4, "messages": None} | also
    low, high = ends
    return {"bound": bound, "epsilon_lower": low, "epsilon_upper": high, **given}


def evidence(*found):
    columns = {"k_joint": 1, "distance": np.nan, "delta": 1e-6, "version": "0"}
    return Evidence(pd.DataFrame(found).assign(**columns), {})


def test_savings_are_enclosed():
    compare = Comparison("blanket", ("basic_composition", "advanced_composition"), saves=True)
    found = compare.points(
        evidence(
            rows("blanket", (1.0, 1.5)),
            rows("basic_composition", (4.0, 5.0)),
            rows("advanced_composition", (6.0, 7.0)),
            rows("blanket", (1.0, 1.0), rounds=8),  # nothing to compare it with
        )
    )
    (point,) = found.to_dict("records")
    assert (point["low"], point["high"]) == (1 - 1.5 / 4.0, 1 - 1.0 / 5.0)
    assert (point["mechanism"], point["eps0"], point["n"], point["detail"]) == (
        "m",
        2.0,
        100,
        "T = 4",
    )


def test_messages_without_an_eps0_are_points_too():
    trees = {"eps0": None, "rounds": None, "messages": 3}
    found = Comparison("blanket", ("basic_composition",), saves=True).points(
        evidence(
            rows("blanket", (1.0, 1.0), **trees), rows("basic_composition", (10.0, 10.0), **trees)
        )
    )
    assert found["detail"].tolist() == ["m = 3"]
    judged = Condition("at_least", 0.8).judge(found)
    assert judged.verdict == REPRODUCED
    assert judged.extreme == "worst: m, n = 100, m = 3; best: m, n = 100, m = 3"
    missed = Condition("at_least", 0.95).judge(found)
    assert missed.verdict == NOT_REPRODUCED
    assert missed.why == "Exceptions: m (1 of 1 points fail, worst 90.0 %)."


def test_one_dataset_refutes_theorem_1():
    claims = {claim.name: claim for claim in research("wang2025").load_claims()[1]}
    judged = claims["theorem1_holds"].judge(evidence(rows("blanket", (1.0, 1.0))))
    assert judged.verdict == NOT_REPRODUCED
    assert judged.measured == "D = 2/81 where the theorem says at most 1/162"
    assert claims["trees_save"].judge(evidence(rows("blanket", (1.0, 1.0)))) is None
