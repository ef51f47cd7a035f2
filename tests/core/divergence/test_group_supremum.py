"""Bounds of groups that share a shuffler, against all datasets of small crowds in fractions."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from enumeration import hockey_stick, precise_exp, shuffled
from scipy.signal import fftconvolve
from scipy.stats import multinomial

import shufflebounds as sb
from shufflebounds.divergence import group_supremum as supremum
from shufflebounds.divergence.group_supremum import Excess, block_law, blocks_of, group_supremum
from shufflebounds.divergence.linear_test import linear_test
from shufflebounds.randomizers.group_laws import group_crowds


def random_matrix(rng, inputs, outputs, has_zeros):
    rows = []
    for _ in range(inputs):
        weights = [
            rng.randint(0 if has_zeros else 1, 30) ** rng.choice([1, 2]) for _ in range(outputs)
        ]
        weights[0] += not any(weights)
        rows.append([Fraction(x, sum(weights)) for x in weights])
    return rows


def as_floats(rows):
    return np.array([[float(x) for x in row] for row in rows])


def random_problem(seed):
    """Matrices of fractions, numbers of others and the victim's group."""
    rng = random.Random(seed)
    outputs, groups = rng.choice([2, 2, 3]), rng.choice([2, 2, 3])
    has_zeros = rng.random() < 0.25
    matrices = [
        random_matrix(rng, rng.choice([2, 2, 3]), outputs, has_zeros) for _ in range(groups)
    ]
    most = {2: 5, 3: 3}[outputs] if groups == 2 else 2
    counts = [rng.randint(0, most) for _ in range(groups)]
    return rng, matrices, counts, rng.randrange(groups)


def all_datasets(matrices, counts):
    """Yield the inputs of the others of every group, for all datasets."""
    choices = [
        itertools.combinations_with_replacement(range(len(rows)), count)
        for rows, count in zip(matrices, counts, strict=True)
    ]
    return itertools.product(*choices)


def quick_supremum(crowd, counts, eps):
    """The bound by variances of laws, where it is below the trivial one."""
    u = Excess.of(crowd.crowd.a, crowd.crowd.b, eps, crowd.crowd.rel_err)
    return group_supremum(crowd, counts, eps, enough=0.999 * min(u.largest_gain, 1.0))


def exact_divergence(victim, other, others, exp_eps):
    return hockey_stick(shuffled([victim, *others]), shuffled([other, *others]), exp_eps)


# Few users have bounds below the trivial one only if few heads are tried.
@pytest.mark.parametrize("heads", [(0.3, 0.7, 1.5), (0.5,), (1.5, 3.0)])
@pytest.mark.parametrize("seed", range(12))
def test_no_dataset_of_a_small_crowd_is_beyond_the_bounds(seed, heads, monkeypatch):
    rng, matrices, counts, group = random_problem(seed)
    monkeypatch.setattr(supremum, "HEADS", heads)
    crowds = group_crowds([sb.MatrixRandomizer(as_floats(x)) for x in matrices], group)
    eps = rng.choice([0.0, 0.1, 0.5, 1.0])
    exp_eps = precise_exp(eps)
    orders = [order for crowd in crowds for order in (crowd, crowd.swap())]
    upper = max(group_supremum(order, counts, eps) for order in orders)
    quick = max(quick_supremum(order, counts, eps) for order in orders)
    largest = Fraction(0)
    for dataset in all_datasets(matrices, counts):
        held = [(i, x) for i, inputs in enumerate(dataset) for x in inputs]
        others = [matrices[i][x] for i, x in held]
        kinds = sorted(set(held))
        for x0, x1 in itertools.permutations(range(len(matrices[group])), 2):
            a, b = matrices[group][x0], matrices[group][x1]
            exact = exact_divergence(a, b, others, exp_eps)
            largest = max(largest, exact)
            u = Excess.of(*as_floats([a, b]), eps, 1e-15)
            laws = as_floats([matrices[i][x] for i, x in kinds]) if kinds else np.ones((1, len(a)))
            lower = linear_test(u, laws, [held.count(x) for x in kinds] or [0], 1e-15)
            assert lower <= exact * (1 + Fraction(1, 10**12))
    assert min(upper, quick) >= largest * (1 - Fraction(1, 10**12))


@pytest.mark.parametrize("eps", [0.0, 2.5, 6.0])
@pytest.mark.parametrize("rare", [2, 1000, 10**6, 10**12])
def test_a_report_that_others_hardly_send_does_not_raise_the_linear_test(rare, eps):
    rows = [[Fraction(rare, rare + 1), Fraction(1, rare + 1)], [Fraction(1, 2), Fraction(1, 2)]]
    a, b = as_floats(rows)
    for first, second, x, y in ((a, b, *rows), (b, a, *reversed(rows))):
        u = Excess.of(first, second, eps, 1e-15)
        for others in (1, 4, 30):
            lower = linear_test(u, as_floats(rows[:1]), [others], 1e-15)
            assert lower <= exact_divergence(x, y, [rows[0]] * others, precise_exp(eps))


@pytest.mark.parametrize("share", [Fraction(k, 64) for k in range(1, 64, 3)])
def test_groups_whose_sum_of_scores_is_certain(share):
    """The first two reports tell as much, and a group sends only these, the other one the third."""
    rows = [[share, 1 - share, Fraction(0)], [Fraction(0), Fraction(0), Fraction(1)]]
    a, b = rows[0], [share / 4, (1 - share) / 4, Fraction(3, 4)]
    u = Excess.of(*as_floats([a, b]), 0.0, 1e-15)
    for counts in ((1, 2), (3, 2)):
        lower = linear_test(u, as_floats(rows), counts, 1e-15)
        others = [row for row, count in zip(rows, counts, strict=True) for _ in range(count)]
        assert lower <= exact_divergence(a, b, others, 1)


def worst_of_equal_inputs(mechanisms, counts, group, eps):
    """D of 3-RR by convolution of multinomials; all users of a group hold one input."""
    tables = [r.matrix() for r in mechanisms]
    a, b = tables[group][:2]
    u = a - math.exp(eps) * b
    size = sum(counts) + 2
    places = np.array(list(np.ndindex(size, size)))
    worst = 0.0
    for inputs in itertools.product(range(3), repeat=len(mechanisms)):
        law = np.ones((1, 1))
        for rows, count, x in zip(tables, counts, inputs, strict=True):
            p0, p1 = rows[x][:2]
            rest = count - places.sum(axis=1)
            histograms = np.column_stack([places, np.maximum(rest, 0)])
            masses = np.where(
                rest >= 0, multinomial.pmf(histograms, count, [p0, p1, 1 - p0 - p1]), 0
            )
            law = fftconvolve(law, masses.reshape(size, size))[:size, :size]
        shifted = np.zeros((size + 1, size + 1))
        shifted[1:, :-1] += u[0] * law
        shifted[:-1, 1:] += u[1] * law
        shifted[:-1, :-1] += u[2:].sum() * law
        worst = max(worst, float(np.maximum(shifted, 0.0).sum()))
    return worst


def test_3_rr_is_nearly_tight():
    mechanisms, sizes = [sb.KRR(3, 0.5), sb.KRR(3, 1.5)], [150, 150]
    for group, eps in ((0, 0.05), (1, 0.2)):
        counts = [n - (i == group) for i, n in enumerate(sizes)]
        exact = worst_of_equal_inputs(mechanisms, counts, group, eps)
        found = sb.delta(sb.Groups([*zip(sizes, mechanisms, strict=True)], group + 1), eps, 300)
        assert found.lower <= exact * (1.0 + 1e-9)
        assert exact <= found.upper
        assert found.lower > 0.99 * exact
        assert found.upper < 1.15 * exact
        [crowd] = group_crowds(mechanisms, group)
        quick = quick_supremum(crowd, counts, eps)
        assert group_supremum(crowd, counts, eps) < quick < 1.25 * exact


def test_the_law_of_a_block_is_that_of_unlabelled_reports():
    rows = [
        [Fraction(1, 2), Fraction(3, 10), Fraction(1, 10)],
        [Fraction(1, 5), Fraction(3, 5), Fraction(1, 10)],
    ]
    weights = [Fraction(1), Fraction(1, 2)]
    u = [Fraction(1, 4), Fraction(-3, 8), Fraction(1, 8)]
    masses, gains = {}, {}
    for y in itertools.product(range(3), repeat=2):
        key = tuple(sorted(y))
        masses[key] = masses.get(key, 0) + rows[0][y[0]] * rows[1][y[1]]
        gain = weights[0] * u[y[0]] * rows[1][y[1]] + weights[1] * rows[0][y[0]] * u[y[1]]
        gains[key] = gains.get(key, 0) + gain
    exact = sorted((gains[key] / masses[key], masses[key]) for key in masses)
    members = [
        supremum.Tails(as_floats([row])[0], 0.0, float(w))
        for row, w in zip(rows, weights, strict=True)
    ]
    law = block_law(members, Excess(as_floats([u])[0], np.zeros(3)))
    values = np.ldexp(law.values, law.exponent)
    for i, (value, mass) in zip(np.argsort(values), exact, strict=True):
        assert abs(values[i] - value) <= np.ldexp(law.value_err[i], law.exponent)
        assert abs(law.masses[i] - mass) <= law.mass_err * mass
    assert abs(law.residual - (1 - sum(masses.values()))) <= law.residual_err


@pytest.mark.parametrize("counts", [[3, 5], [7, 0], [4, 4, 9], [1, 0, 2]])
def test_blocks_have_every_user_once(counts):
    crowd = group_crowds([sb.BLH(1.0)] * len(counts), 0)[0]
    members = [0] * len(counts)
    for block in blocks_of(crowd, counts):
        for group in block.groups:
            members[group] += block.number
    assert members == counts


def test_two_users_of_a_block_may_hold_different_third_values():
    crowd = group_crowds([sb.KRR(10, 0.5), sb.KRR(10, 2.0)], 0)[0]
    assert {(2, 2), (2, 3)} <= {*crowd.combinations((0, 1))}
    # Values that may change places count once.
    assert len(crowd.combinations((0, 1))) == 10


def test_alike_pairs_are_alike_among_some_of_the_groups():
    """What one group is sure of may tell pairs apart that all combinations of inputs do not."""
    first, second, third = np.array(list(itertools.product((1, -1), repeat=3))).T
    near = [0.125 + 0.03125 * x for x in (first, second)]
    far = [0.125 + 0.0625 * x for x in (third, -third, first * second, -first * second)]
    groups = [sb.MatrixRandomizer(rows) for rows in (near, far)]
    crowds = {x.pair: x for x in group_crowds(groups, 1)}
    alone = []
    for place in (0, 2):
        rows = np.stack([far[place], far[place + 1], np.min(near, axis=0)])
        alone.append(rows[:, np.lexsort(rows)])
    assert (alone[0] != alone[1]).any()
    assert {"0 against 1", "2 against 3"} <= crowds.keys()
