"""δ at ε and ε at δ: both directions, the ends of the range, order, and bad arguments."""

import math
from fractions import Fraction

import mpmath
import pytest
from engines import overlap
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact, exact_delta
from strategies import decompositions, examples

import shufflebounds as sb
from shufflebounds.core.enclosure import reached


def test_outcomes_whose_products_are_no_floats_claim_nothing():
    """Two reports of mass 10⁻¹⁰⁰ each, which one input sends with 10⁻¹⁵⁰, the other with 10⁻²⁵⁰."""
    wide, eps = sb.Decomposition([1.0, 1e-150], [1.0, 1e-250], [1.0, 1e-100]), 230.258
    with pytest.raises(sb.PrecisionError) as caught:
        sb.delta(wide, eps, 2)
    truth = exact_delta(wide, eps, 2)
    assert caught.value.enclosure.lower <= truth.lower <= truth.upper
    assert truth.upper <= caught.value.enclosure.upper


@given(st.data(), st.integers(1, 4), st.floats(-8.0, -0.3).map(lambda x: 10.0**x))
@examples(100)
def test_epsilon_is_the_root(data, n, delta):
    decomposition = data.draw(decompositions(max_components=3))
    found = reached(lambda: sb.epsilon(decomposition, n, delta))
    if found.upper < math.inf:
        assert exact_delta(decomposition, found.upper, n).lower <= delta
    if 0.0 < found.lower < math.inf:
        assert exact_delta(decomposition, found.lower, n).upper >= delta
    if found.lower == math.inf:
        assert exact_delta(decomposition, 60.0, n).upper >= delta


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9, 10**12])
@pytest.mark.parametrize("delta", [0.01, 1e-10, 1e-100, 1e-300])
def test_many_users_and_small_deltas(n, delta):
    found = sb.epsilon(sb.KRR(k=10, eps0=4.0).blanket(), n, delta)
    assert found.relative_width <= 1e-4
    assert 0.0 <= found.lower <= found.upper <= 4.0 * (1.0 + 1e-9)


def test_unreachable_delta_gives_the_largest_loss():
    found = sb.epsilon(sb.KRR(k=3, eps0=1.0).blanket(), 5, 1e-300)
    assert found.lower < 1.0 <= found.upper * (1.0 + 1e-12)
    assert found.relative_width <= 1e-4


def test_an_output_that_tells_gives_infinite_epsilon():
    telling = sb.Decomposition([0.9, 0.1, 0.0], [0.9, 0.0, 0.1], [0.5, 0.0, 0.0])
    assert sb.epsilon(telling, 1000, 0.05).lower == math.inf
    found = sb.epsilon(telling, 1000, 0.2)
    assert found.upper < math.inf


def test_hidden_telling_outputs_still_tell_a_lone_user():
    """Others cover the output with c > 0, but not always: D(∞) = a(1 − Σc)^(n−1)."""
    telling = sb.Decomposition([0.5, 0.5], [0.0, 1.0], [0.25, 0.25])
    limit = 0.5 * 0.75**9
    assert sb.epsilon(telling, 10, 0.9 * limit).lower == math.inf
    assert sb.epsilon(telling, 10, 1.1 * limit).upper < math.inf


def test_shortfall_is_told_and_carries_the_enclosure():
    coarse = sb.Laplace(4.0, cells=5).blanket()
    with pytest.raises(sb.PrecisionError, match=r"rtol = 0\.0001 was asked for") as caught:
        sb.epsilon(coarse, 1000, 1e-6, rtol=1e-4)
    assert caught.value.enclosure == sb.epsilon(coarse, 1000, 1e-6)
    fine = sb.epsilon(sb.Laplace(4.0).blanket(), 1000, 1e-6)
    assert overlap(caught.value.enclosure, fine)


@pytest.mark.parametrize("loss", [70.0, 120.0])
def test_a_shortfall_at_a_loss_that_is_no_float_carries_both_ends(loss):
    """Next to the largest loss, D at the floats beside ε differs by more than it is rounded."""
    pair = sb.Decomposition([0.5, 0.5], [math.exp(-loss), 1.0 - math.exp(-loss)], [0.0, 0.25])
    with mpmath.workdps(60):
        a, b = (mpmath.mpf(x[0]) for x in (pair.a, pair.b))
        eps = mpmath.log(a / b) - mpmath.mpf("5e-8")
        eps = Fraction(*map(int, eps.as_integer_ratio()))
        truth = a - mpmath.exp(mpmath.mpf(eps.numerator) / eps.denominator) * b
        with pytest.raises(sb.PrecisionError) as caught:
            sb.delta(pair, eps, 500, rtol=1e-9)
        found = caught.value.enclosure
        assert mpmath.mpf(found.lower) <= truth <= mpmath.mpf(found.upper)


def test_beyond_the_range_of_floats_delta_is_its_limit():
    assert sb.delta(sb.KRR(k=2, eps0=1.0).blanket(), 800.0, 1000) == sb.Enclosure(0.0, 0.0)
    telling = sb.Decomposition([0.9, 0.1, 0.0], [0.9, 0.0, 0.1], [0.5, 0.0, 0.0])
    found = sb.delta(telling, 800.0, 1000, rtol=1e-6)
    assert found.lower <= 0.1 <= found.upper
    with pytest.raises(ValueError, match="eps must be"):
        sb.delta(telling, 10**400, 1000)


def test_a_rare_other_user_is_no_proof_of_infinity():
    """1 − Σc cancels where the components that both inputs give take up nearly all of c."""
    rare = sb.Decomposition([0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [3e-16, 0.3, 0.6999999999999996])
    limit = exact(rare, 600.0, 2)
    delta = 2.1e-16
    assert limit.upper < delta
    assert reached(lambda: sb.epsilon(rare, 2, delta, rtol=0.1)).lower < 600.0


def test_values_that_overflow_when_squared_are_no_error():
    """GPARV values of 1e230 beside ones of 1: the engine falls back to what is plainly so."""
    a = [
        0.49998130337580665,
        8.816180769673563e-247,
        7.559835923183458e-97,
        3.739324838673402e-05,
        0.49998130337580665,
    ]
    b = [
        0.49998130337580665,
        8.816180769668834e-247,
        7.55983592318514e-97,
        3.73932483867377e-05,
        0.49998130337580665,
    ]
    c = [
        0.014919276458250261,
        0.8694176706929245,
        0.10074377549212137,
        8.984536351116775e-10,
        0.014919276458250261,
    ]
    decomposition = sb.Decomposition(a, b, c)
    # D(0) is at most their distance, some 1e-17.
    assert sb.epsilon(decomposition, n=5, delta=0.01) == sb.Enclosure(0.0, 0.0)
