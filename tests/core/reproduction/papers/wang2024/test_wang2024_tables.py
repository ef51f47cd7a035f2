"""Tables 1 to 5: what is confirmed, and what is not; the paper's own algorithm."""

import math

import numpy as np
import pytest
from oracles import exact

import shufflebounds as sb
from reproduction.papers.tables import Context
from reproduction.papers.wang2024 import (
    Asymptotics,
    Timed,
    asymptotics,
    general_pair,
    parameters,
)
from shufflebounds.bounds.base import Numerics

CONTEXT = Context({}, Numerics(rtol=1e-4))
OVER_N = {"over_n": 0.01}


@pytest.mark.parametrize("eps0", [0.3, 1.0, 4.0])
def test_table_two_is_confirmed_but_for_three_rows(eps0):
    table = parameters.mechanisms_table(eps0).set_index("name")
    factors = {
        "local hash, l = 4": 0.75,
        # Either of two of five bits is among two: 1 − C(3, 2)/C(5, 2) in place of 2/5.
        "sampling RAPPOR, s = 2 of d = 5": 0.7 / 0.4,
        # What two arcs of length 0.3 share is 0.09 on average.
        "Wheel, s = 1, length 0.3": 0.7,
    }
    for name, row in table.iterrows():
        assert row["measured"] / row["printed"] == pytest.approx(factors.get(name, 1.0), rel=1e-7)
        assert (row["verdict"] == "confirmed") == (name not in factors)
        assert row["note"] or name not in factors


def test_sampled_rappor_is_a_matrix_and_ldp():
    rows = parameters.sampled_rappor(1.2, 4, 2)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    assert (rows.max(axis=0) / rows.min(axis=0)).max() == pytest.approx(math.exp(1.2))
    # All bits: RAPPOR, whose outputs may be in another order.
    for mine, theirs in zip(
        parameters.sampled_rappor(1.2, 3, 3), sb.RAPPOR(1.2, 3).matrix(), strict=True
    ):
        np.testing.assert_allclose(sorted(mine), sorted(theirs), rtol=1e-12)


@pytest.mark.parametrize("distance", [0.2, 1.0, 5.0])
def test_table_three_is_confirmed(distance):
    assert set(parameters.metric_table(distance)["verdict"]) == {"confirmed"}


def test_table_four_is_confirmed():
    table = parameters.protocols_table()
    assert len(table) == 15
    assert set(table["verdict"]) == {"confirmed"}


def test_table_one_settles_for_all_but_the_first_method():
    table = asymptotics.asymptotics_table(
        Asymptotics(eps0=(1.0, 3.0), n=(10**6, 10**9), delta=OVER_N)
    )
    assert len(table) == 5 * 2 * 2
    for (method, _), rows in table.groupby(["method", "eps0"]):
        few, many = rows["quotient"]
        if method == "EFMRTT19":  # stands at ε₀
            assert many > 10 * few
        else:
            assert 0.85 <= many / few <= 1.15


def test_table_five_is_certified_and_agrees_with_the_algorithm():
    table = general_pair.timed_table(
        Timed(eps0=(1.0, 7.0), n=(10**4, 10**6), delta=OVER_N, iterations=(20, 10)), CONTEXT
    )
    for row in table.to_dict("records"):
        assert row["delta"] == 0.01 / row["n"]
        for count in (20, 10):
            step, bisected = row["eps0"] / 2**count, row[f"bisected_{count}"]
            assert row["epsilon_lower"] * (1 - 1e-6) <= bisected
            assert bisected <= row["epsilon_upper"] * (1 + 1e-6) + step
        # The paper prints three digits of an upper end.
        assert row["epsilon_lower"] <= row["printed_20"] * 1.005
        assert row["printed_20"] <= row["printed_10"]
    unknown = general_pair.timed_table(
        Timed(eps0=(2.0,), n=(100,), delta=1e-3, iterations=(20,)), CONTEXT
    )
    assert math.isnan(unknown["printed_20"].iloc[0])


# The algorithm against exact sums, and against the engine.


CASES = [(3.0, 0.5, 3.0), (3.0, 0.3, 2.5), (9.0, 0.4, 20.0), (1.2, 0.05, 1.1)]


@pytest.mark.parametrize(("p", "beta", "q"), CASES)
@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_theorem_4_8_is_the_published_pair(p, beta, q, n):
    pair = sb.variation_ratio(p, beta, q, published=True)
    for eps in (0.0, 0.1, 0.7, math.log(p)):
        expected = exact(pair, eps, n)
        found = general_pair.summed_delta(p, beta, q, eps, n)
        assert expected.lower - 1e-12 <= found <= expected.upper + 1e-12


@pytest.mark.parametrize("n", [1000, 10**6])
def test_it_agrees_with_the_engine(n):
    p, beta, q = math.exp(2.0), 0.4, math.exp(2.0)
    pair = sb.variation_ratio(p, beta, q, published=True)
    expected = sb.epsilon(pair, n=n, delta=1e-7, rtol=1e-5)
    found = general_pair.bisected_epsilon(p, beta, q, n, 1e-7, 24)
    # The upper end of an interval of length 2/2²⁴.
    assert expected.lower * (1 - 1e-6) <= found <= expected.upper * (1 + 1e-6) + 2.0 / 2**24
