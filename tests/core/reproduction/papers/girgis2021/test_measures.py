"""What the claims about Rényi bounds measure, on tables whose answers are known."""

import math

import pandas as pd
import pytest

from reproduction.papers.base import research
from reproduction.papers.girgis2021 import claims
from reproduction.papers.judging import IN_PART, NOT_MEASURED, NOT_REPRODUCED, REPRODUCED, check
from reproduction.papers.points import Evidence
from shufflebounds.bounds.renyi_closed_forms import theorem_3_1

CLAIMS = {claim.name: claim for claim in research("girgis2021").load_claims()[1]}


def curves(*rows):
    """Rows of (bound, quantity, ε₀, n, order or rounds, low, high)."""
    listed = []
    for bound, quantity, eps0, n, at, low, high in rows:
        axis = "order" if quantity == "renyi" else "rounds"
        listed.append(
            {
                "mechanism": "krr(k=2)",
                "k_joint": 1,
                "distance": None,
                "bound": bound,
                "quantity": quantity,
                "eps0": eps0,
                "n": n,
                "delta": None if quantity == "renyi" else 1e-8,
                "order": None,
                "rounds": None,
                axis: at,
                f"{quantity}_lower": low,
                f"{quantity}_upper": high,
                "version": "0",
            }
        )
    return Evidence(pd.DataFrame(listed), {})


def test_theorem_3_1_at_other_shares_of_the_clones():
    """γ = 1/2 is what the bound has; the suggested γ goes to 0, and twice as many clones count."""
    found = claims.theorem_3_1_at(0.5, 1.0, 10**6, 4)
    assert found == pytest.approx(theorem_3_1(1.0, 10**6, 4.0), rel=1e-9)
    shares = [claims.suggested_share(3.0, 10**power) for power in (6, 10, 14, 18)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 1.0 > 100 * shares[-1]
    assert claims.factor_of_two(None).verdict == REPRODUCED
    assert claims.half_is_better(None).verdict == IN_PART


def test_first_below_second():
    shown = curves(
        ("girgis_upper", "renyi", 1.0, 100, 2.0, 0.2, 0.2),
        ("girgis_simple", "renyi", 1.0, 100, 2.0, 0.8, 0.8),
        ("girgis_upper", "renyi", 1.0, 100, 9.0, 1.0, 1.0),  # both stand at ε₀
        ("girgis_simple", "renyi", 1.0, 100, 9.0, 1.0, 1.0),
        ("girgis_upper", "renyi", 1.0, 100, 5.0, 0.5, 0.5),  # alone
    )
    [point] = claims.first_below_second(shown).itertuples()
    assert (point.low, point.high) == (0.75, 0.75)
    assert point.detail == "λ = 2"


def test_gap_counts_where_it_is_claimed():
    rows = [
        (name, "renyi", 0.1, 10**6, order, value, value * wide)
        for order in (1.5, 2.0, 100.0)
        for name, value, wide in (("girgis_upper", 2.2, 1.0), ("girgis_lower", 1.0, 1.1))
    ]
    [point] = claims.upper_above_lower(curves(*rows)).itertuples()
    assert point.detail == "λ = 2"
    assert point.low == pytest.approx(2.2 / 1.1 / (2 * math.exp(0.1)) - 1, rel=1e-9)
    assert point.high == pytest.approx(2.2 / (2 * math.exp(0.1)) - 1, rel=1e-9)


def test_what_a_mechanism_saves():
    """For many users D_λ is λ/2n times Σ(a − b)²/c: half as much for OUE as for 2-RR."""
    table = claims.knowledge_saves(None)
    assert (table["low"] > 0.1).all()
    rows = table[(table["mechanism"] == "OUE") & (table["n"] == 10**6)]
    assert rows["low"].min() == pytest.approx(0.5, abs=2e-3)
    e = math.exp(0.5)
    # (a − b)²/c is (e − 1)²p on each of both values of 10-RR and of 2-RR, p = 1/(e + k − 1).
    rows = table[(table["mechanism"] == "10-RR") & (table["eps0"] == 0.5)]
    assert rows["low"].max() == pytest.approx(1.0 - (e + 1.0) / (e + 9.0), abs=2e-3)


def test_the_moment_of_lemma_d_1():
    """E_m of one user: a report has the ratio e with probability 1/(e + 1), else 1/e."""
    e = math.exp(1.0)
    by_hand = (e ** (1 - 3) + e**3) / (e + 1.0)
    assert claims.log_moment(3, 1.0, 1) == pytest.approx(math.log(by_hand), rel=1e-12)
    assert claims.moments_fall(None).verdict == REPRODUCED


@pytest.mark.parametrize(
    ("eps0", "rounds", "expected"),
    [(0.5, 10**3, 2.7314), (0.5, 10**5, 47.77), (3.0, 10**3, 57.41), (3.0, 10**5, 3430.0)],
)
def test_the_published_baseline(eps0, rounds, expected):
    """Numbers of an independent program, at n = 10⁶ and δ = 10⁻⁸."""
    found = claims.published_composition(eps0, 10**6, 1e-8, rounds)
    assert found == pytest.approx(expected, rel=5e-4)


def test_composition():
    shown = curves(
        *(("girgis_upper", "epsilon", 1.0, 10**6, rounds, 0.5, 0.5) for rounds in (99, 100)),
        *(("clone_advanced", "epsilon", 1.0, 10**6, rounds, 4.0, 4.0) for rounds in (99, 100)),
    )
    [point] = CLAIMS["below_advanced_exact"].compare.points(shown).itertuples()
    assert (point.low, point.detail) == (0.875, "T = 100")
    [point] = claims.saved_of_published(shown).itertuples()
    baseline = claims.published_composition(1.0, 10**6, 1e-8, 100)
    assert (point.low, point.detail) == (1.0 - 0.5 / baseline, "T = 100")
    gains = ("below_advanced", "below_advanced_exact", "eightfold", "eightfold_exact")
    judged = check(CLAIMS.values(), dict.fromkeys(gains, shown))
    verdicts = dict(zip(judged["claim"], judged["verdict"], strict=True))
    assert verdicts["below_advanced"] == REPRODUCED
    assert verdicts["below_advanced_exact"] == verdicts["eightfold_exact"] == "holds"
    # 0.5 is an eighth of 4, but only a fourth of the baseline.
    assert 1.5 < baseline < 2.5
    assert verdicts["eightfold"] == NOT_REPRODUCED
    assert verdicts["converted"] == verdicts["gap"] == NOT_MEASURED
    assert IN_PART not in verdicts.values()


def test_nothing_to_compare():
    shown = curves(("clone", "renyi", 1.0, 100, 2.0, 0.1, 0.1))
    for measure in (
        claims.first_below_second,
        claims.upper_above_lower,
        CLAIMS["below_advanced_exact"].compare.points,
        claims.saved_of_published,
    ):
        assert measure(shown).empty
