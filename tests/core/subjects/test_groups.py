"""Groups of users with an ε₀ of their own, who share a shuffler, as a subject of all questions."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import shufflebounds as sb
from shufflebounds.core.work import budget

HALVES = sb.Groups([(2000, sb.KRR(10, 0.5)), (2000, sb.KRR(10, 2.0))])


def test_others_of_another_group_provide_cover():
    for groups, (size, mechanism) in zip(HALVES.members(), HALVES.groups, strict=True):
        shared = sb.epsilon(groups, n=4000, delta=1e-6)
        alone = sb.epsilon(mechanism, n=size, delta=1e-6)
        assert shared.upper < 0.9 * alone.upper
        assert shared.upper < 1.005 * shared.lower


def test_the_largest_is_that_of_all_groups():
    each = [sb.epsilon(x, n=4000, delta=1e-6) for x in HALVES.members()]
    found = sb.epsilon(HALVES, n=4000, delta=1e-6)
    assert found.upper == pytest.approx(max(x.upper for x in each), rel=1e-3)
    assert found.lower <= max(x.upper for x in each)


def test_one_group_is_an_ordinary_shuffle():
    mechanism = sb.BLH(1.0)
    found = sb.epsilon(sb.Groups([(3000, mechanism)]), n=3000, delta=1e-6)
    ordinary = sb.epsilon(mechanism, n=3000, delta=1e-6)
    assert found.lower <= ordinary.upper
    assert ordinary.lower <= found.upper
    assert found.upper < 1.005 * ordinary.upper


def test_equal_groups_are_one():
    mechanism = sb.KRR(6, 1.0)
    found = sb.epsilon(sb.Groups([(900, mechanism), (1100, mechanism)]), n=2000, delta=1e-6)
    ordinary = sb.epsilon(mechanism, n=2000, delta=1e-6)
    assert found.lower <= ordinary.upper
    assert ordinary.lower <= found.upper
    assert found.upper < 1.005 * ordinary.upper


def test_a_group_that_provides_no_cover_costs_nothing():
    alone = sb.epsilon(sb.KRR(10, 0.5), n=2000, delta=1e-6)
    groups = sb.Groups([(2000, sb.KRR(10, 0.5)), (10, sb.KRR(10, 30.0))], victim=1)
    assert sb.epsilon(groups, n=2010, delta=1e-6).upper < 1.005 * alone.upper


def test_rounds_cost_more_than_one_and_less_than_basic_composition():
    [_, strong] = HALVES.members()
    one, many = (sb.epsilon(strong, n=4000, delta=1e-6, rounds=x) for x in (1, 4))
    assert one.lower < many.lower <= many.upper < 4 * one.upper
    assert many.upper < 1.02 * many.lower


def test_matrices():
    matrices = [sb.MatrixRandomizer(sb.RAPPOR(x, 3).matrix()) for x in (0.5, 2.0)]
    groups = sb.Groups([(2000, x) for x in matrices])
    for found in (sb.epsilon(x, n=4000, delta=1e-6) for x in groups.members()):
        assert found.upper < 1.03 * found.lower
    other = sb.Groups([(2000, sb.RAPPOR(0.5, 3)), (2000, sb.RAPPOR(2.0, 3))])
    assert sb.epsilon(other, n=4000, delta=1e-6).upper == pytest.approx(found.upper, rel=1e-6)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "groups must be one or more pairs"),
        ([(1.5, sb.KRR(4, 1.0))], "n of group 1 must"),
        ([(0, sb.KRR(4, 1.0))], "n of group 1 must"),
        ([(10, 1.0)], "group 1 must have a randomizer, got 1.0"),
        ([(10, sb.KRR(4, 1.0)), (10, sb.KRR(5, 1.0))], "same outputs, got 4 outputs of .* and 5"),
        ([(10, sb.BLH(1.0)), (10, sb.LocalHash(3.0))], "groups must send reports of one form"),
        ([10, sb.KRR(4, 1.0)], "groups must be pairs"),
    ],
)
def test_mistakes_in_one_sentence(groups, message):
    with pytest.raises(ValueError, match=message) as error:
        sb.Groups(groups)
    assert "\n" not in str(error.value)


def test_n_is_the_sum():
    with pytest.raises(ValueError, match=r"n must be 4000, .* got 4001"):
        sb.epsilon(HALVES, n=4001, delta=1e-6)


def test_the_victim_is_one_of_the_groups():
    with pytest.raises(ValueError, match="victim must be an integer from 1 to 2, got 3"):
        sb.Groups(HALVES.groups, victim=3)


def test_several_deltas():
    found = sb.epsilon(HALVES, n=4000, delta=[1e-8, 1e-6, 1e-4])
    assert np.all(np.diff(found.upper) < 0.0)
    assert found.upper[1] == pytest.approx(sb.epsilon(HALVES, n=4000, delta=1e-6).upper, rel=1e-3)


def test_the_mean_law_is_not_a_lower_bound_of_renyi_divergences():
    ends = sb.renyi(HALVES, n=4000, order=[2.0, 8.0])
    assert (ends.lower == 0.0).all()
    assert (ends.upper < 2.0).all()
    assert sb.renyi_epsilon(HALVES, n=4000, delta=1e-6).lower == 0.0


# From a separate program in floats: the largest D of equal inputs in each group, by convolution in
# two dimensions, and Theorem P.
@pytest.mark.parametrize(
    ("mechanisms", "lower", "upper"),
    [
        ((sb.KRR(10, 0.5), sb.KRR(10, 2.0)), (0.0094359, 0.0702135), (0.0094385, 0.0702262)),
        ((sb.BLH(0.5), sb.BLH(2.0)), (0.0128602, 0.0438959), (0.0129133, 0.0440470)),
    ],
)
def test_half_at_half_and_half_at_two(mechanisms, lower, upper):
    groups = sb.Groups([(5000, x) for x in mechanisms])
    for members, low, high in zip(groups.members(), lower, upper, strict=True):
        ends = sb.epsilon(members, n=10_000, delta=1e-6)
        assert low * (1.0 - 1e-4) <= ends.upper <= high * 1.001
        assert low * (1.0 - 1e-4) <= ends.lower <= high


def formula_of_chen_cao_and_ge(budgets, delta):
    """ε at δ of their μ-GDP, μ² = 2/(Σ 1/(1 + e^ε₀) − max)."""
    terms = 1.0 / (1.0 + np.exp(budgets))
    mu = np.sqrt(2.0 / (terms.sum() - terms.max()))

    def excess(eps):
        return norm.cdf(mu / 2 - eps / mu) - np.exp(eps) * norm.cdf(-mu / 2 - eps / mu) - delta

    return brentq(excess, 0.0, 10.0)


@pytest.mark.parametrize(("k", "eps0", "least"), [(1000, 8.0, 1.6), (100, 4.0, 0.18)])
def test_the_formula_of_chen_cao_and_ge_is_not_a_bound(k, eps0, least):
    formula = formula_of_chen_cao_and_ge(np.array([eps0, *[0.5] * 9999]), 1e-6)
    assert formula == pytest.approx(0.0825, rel=1e-3)
    groups = sb.Groups([(1, sb.KRR(k, eps0)), (9999, sb.KRR(k, 0.5))], victim=1)
    assert sb.epsilon(groups, n=10_000, delta=1e-6).lower > least


@pytest.mark.parametrize(("mechanism", "limit"), [(lambda x: sb.KRR(10, x), 5e-4), (sb.BLH, 6e-3)])
def test_a_dozen_groups_are_no_burden(mechanism, limit):
    groups = sb.Groups([(1000, mechanism(x)) for x in np.linspace(0.5, 3.0, 12)], victim=12)
    with budget(4e9):
        ends = sb.epsilon(groups, n=12_000, delta=1e-6)
    assert ends.upper < (1.0 + limit) * ends.lower


def test_three_groups_of_hashes_are_nearly_tight():
    groups = sb.Groups([(4000, sb.BLH(x)) for x in (0.5, 1.0, 2.0)], victim=1)
    ends = sb.epsilon(groups, n=12_000, delta=1e-6)
    assert ends.upper < 1.005 * ends.lower


def test_a_group_whose_reports_say_nothing():
    """Its members have ε = 0, and the others have the same cover as without a name for it."""
    silent, open_ = (
        sb.MatrixRandomizer([[0.25, 0.75]] * 2),
        sb.MatrixRandomizer(sb.KRR(2, 1.0).matrix()),
    )
    first, second = sb.Groups([(2, silent), (3, open_)]).members()
    assert sb.epsilon(first, 5, 1e-3).upper == 0.0
    everybody = sb.delta(sb.Groups([(2, silent), (3, open_)]), 0.3, 5)
    assert everybody.lower <= sb.delta(second, 0.3, 5).upper <= everybody.upper * (1.0 + 1e-9)
