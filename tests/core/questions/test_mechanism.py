"""A mechanism's own ε and δ: its inputs against matrices, its ends against decompositions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from engines import overlap
from strategies import FUZZ

import shufflebounds as sb
from shufflebounds.core.datasets import Crowd, both_directions
from shufflebounds.divergence.supremum import supremum
from shufflebounds.profiles.datasets import Supremum
from shufflebounds.randomizers.matching import MatchingRandomizer

LISTED = [
    sb.KRR(2, 1.0),
    sb.KRR(3, 1.5),
    sb.KRR(5, 1.0),
    *(cls(1.2, domain_size=size) for cls in (sb.BLH, sb.OUE, sb.RAPPOR) for size in (2, 3, 4, 5)),
    sb.LocalHash(1.0, domain_size=5, hash_values=3),
    sb.Subset(1.0, 3, 2),
    sb.Subset(1.0, 4, 3),
    sb.Subset(2.0, 5, 2),
    sb.Duchi(1.0),
    *(sb.HadamardResponse(1.5, domain_size=size) for size in (2, 3, 5, 7)),
]


def largest(crowds, eps, n):
    return max(supremum(one, eps, n) for crowd in crowds for one in (crowd, crowd.swap()))


@pytest.mark.parametrize("mechanism", LISTED, ids=lambda R: f"{R.label} {type(R).__name__}")
def test_the_inputs_listed_stand_for_all_rows_of_the_matrix(mechanism):
    rows = mechanism.matrix()
    names = [str(x) for x in range(len(rows))]
    # Pairs are alike: the first one, and the last.
    some = [
        Crowd.of_rows(rows, x0, x1, names, 1e-14)
        for x0, x1 in ((0, 1), (len(rows) - 2, len(rows) - 1))
    ]
    expected = pytest.approx(largest(some, 0.1, 1000), rel=1e-6)
    assert largest(mechanism.crowds(), 0.1, 1000) == expected
    assert largest(sb.MatrixRandomizer(rows).crowds(), 0.1, 1000) == expected


def test_vertices_of_matches_cover_every_triple_of_inputs():
    """Where inputs match in few ways the vertices are attained: Subset lists them itself."""
    for subset in (sb.Subset(1.0, 6, 2), sb.Subset(2.0, 5, 3)):
        (vertices,) = MatchingRandomizer.crowds(subset)
        (listed,) = subset.crowds()
        for eps, n in ((0.1, 3000), (0.3, 1000)):
            covering = supremum(vertices, eps, n)
            assert supremum(listed, eps, n) <= covering * (1.0 + 1e-6)
    for mechanism in (
        sb.PrivSet(1.0, 5, 3, 1),
        sb.PrivSet(2.0, 4, 2, 1),
        sb.HadamardBlocks(1.0, 2, 4),
    ):
        covering = largest(mechanism.crowds(), 0.1, 3000)
        pairs = sb.MatrixRandomizer(mechanism.matrix()).dataset_pairs().values()
        assert max(sb.delta(pair, 0.1, 3000).lower for pair in pairs) <= covering < 1e-2
    found = sb.mechanism_epsilon(sb.PrivSet(2.0, 5, 3, 1), 10_000, 1e-6)
    assert found.upper_bound == "all datasets"
    assert found.enclosure.relative_width < 1e-3


def test_the_blanket_of_a_crowd_is_that_of_the_mechanism():
    infinite = [
        sb.BLH(2.0),
        sb.OUE(2.0),
        sb.RAPPOR(2.0),
        sb.LocalHash(2.0),
        sb.HadamardResponse(2.0),
    ]
    for mechanism in (*LISTED, *infinite, sb.OUE(1.0, domain_size=1000), sb.Laplace(1.0)):
        (crowd,) = mechanism.crowds()
        for eps in (0.1, 0.5):
            expected = sb.delta(mechanism.blanket(), eps, 200)
            assert sb.delta(crowd.blanket(), eps, 200).upper == pytest.approx(
                expected.upper, rel=2e-4
            )


@pytest.mark.parametrize(
    "joint",
    [
        sb.Joint([sb.RAPPOR(1.0)] * 4),
        sb.Joint([sb.BLH(1.0)] * 4),
        sb.Joint([sb.Laplace(1.0)] * 3),
        sb.Joint([sb.KRR(10, 1.0), sb.OUE(1.0), sb.KRR(10, 1.0)]),
    ],
    ids=lambda joint: joint.label,
)
def test_joints_of_many_components_are_tight(joint):
    found = sb.mechanism_epsilon(joint, 10_000, 1e-6)
    assert found.upper_bound == "all datasets"
    assert found.enclosure.relative_width < 2e-3


def test_inputs_that_agree_in_a_coordinate_may_be_the_worst():
    """Of the mechanism, though not of its blanket."""
    joint = sb.Joint([sb.Duchi(2.0), sb.KRR(3, 2.0)])
    found = sb.mechanism_epsilon(joint, 10_000, 1e-6)
    assert found.others == "x1 third (inputs differ in 2)"
    assert found.enclosure.lower > 1.1 * max(
        sb.epsilon(pair, 10_000, 1e-6).upper for pair in joint.dataset_pairs().values()
    )
    assert found.enclosure.relative_width < 1e-3


def test_parallel_and_sampled_reports_have_the_inputs_of_their_channel():
    one, two = sb.KRR(3, 1.0), sb.KRR(3, 2.0)
    mixed = np.hstack([0.25 * one.matrix(), 0.75 * two.matrix()])
    sampled = np.hstack([0.25 * one.matrix(), np.full((3, 1), 0.75)])
    eps, n = 0.1, 4000
    apart = largest(sb.Parallel([(0.25, one), (0.75, two)]).crowds(), eps, n)
    # Looking at one value is a case of looking at two.
    assert largest(sb.MatrixRandomizer(mixed).crowds(), eps, n) <= apart * (1.0 + 1e-9)
    of_a_matrix = largest(sb.MatrixRandomizer(sampled).crowds(), eps, n)
    for rate in (0.25, Fraction(1, 4)):
        found = largest(sb.Subsampled(one, rate).crowds(), eps, n)
        assert found == pytest.approx(of_a_matrix, rel=1e-6)


def test_too_many_inputs_leave_the_blanket():
    joint = sb.Joint([sb.KRR(3, 0.1 * i) for i in range(1, 12)])
    assert joint.crowds() == ()
    found = sb.mechanism_epsilon(joint, 1000, 1e-6)
    assert found.upper_bound == "blanket"


def test_what_nobody_has_listed_has_its_blanket():
    for mechanism in (sb.Collision(2.0, 2, 8), sb.Laplace(11.0, domain="interval")):
        assert mechanism.crowds() == ()
        found = sb.mechanism_epsilon(mechanism, 1000, 1e-6)
        blanket = sb.epsilon(mechanism.blanket(), 1000, 1e-6)
        assert (found.upper_bound, found.enclosure.upper) == ("blanket", blanket.upper)


def test_extreme_numbers_of_users_and_losses():
    for n in (10**9, 10**12, 10**15):
        found = sb.mechanism_epsilon(sb.BLH(1.0), n, 1e-9).enclosure
        assert 0.0 < found.lower <= found.upper < 1.01 * found.lower
    assert sb.delta(sb.BLH(1.0), 1000.0, 10) == sb.Enclosure(0.0, 0.0)
    assert sb.epsilon(sb.BLH(1.0), 1000, 0.9).upper == 0.0
    assert sb.epsilon(sb.BLH(1.0), 1000, 1e-280).upper < 1.0 + 1e-9
    # Some reports come from one input only.
    apart = sb.MatrixRandomizer([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    assert sb.epsilon(apart, 10, 1e-9).lower == math.inf
    assert sb.delta(apart, 2.0, 10).upper == pytest.approx(0.5)


def test_no_dataset_of_few_users_exceeds_the_bounds():
    rng = np.random.default_rng(12)
    for _ in range(12 * FUZZ):
        rows = rng.dirichlet(np.full(2, 0.5), 2) * (1.0 - 2e-3) + 1e-3
        R, n = sb.MatrixRandomizer(rows), int(rng.integers(6, 40))
        found = sb.mechanism_epsilon(R, n, 1e-4)
        worst = sb.worst_dataset(R, n, delta=1e-4).enclosure
        assert overlap(found.enclosure, worst)
        eps = 0.7 * worst.lower
        delta, most = sb.mechanism_delta(R, eps, n), sb.worst_dataset(R, n, eps=eps)
        assert delta.enclosure.lower <= most.enclosure.upper <= delta.enclosure.upper * (1 + 1e-9)


@pytest.mark.parametrize("R", [sb.KRR(2, 2.0), sb.Joint([sb.KRR(3, 1.0)] * 3)])
def test_arrays_are_answered_as_their_points_are(R):
    over_n = sb.epsilon(R, [1000, 2000], 1e-6)
    over_eps = sb.delta(R, np.array([0.1, 0.2]), 1000)
    points = [sb.epsilon(R, n, 1e-6) for n in (1000, 2000)]
    points += [sb.delta(R, eps, 1000) for eps in (0.1, 0.2)]
    for one, point in zip([*over_n, *over_eps], points, strict=True):
        assert one.lower == pytest.approx(point.lower, rel=2e-4)
        assert one.upper == pytest.approx(point.upper, rel=2e-4)


def of_many_pairs():
    rows = 0.1 + 0.4 * np.random.default_rng(5).dirichlet(np.ones(6), size=5)
    return sb.MatrixRandomizer(rows / rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("n", [30, 2000])
def test_pairs_that_a_blanket_settles_change_nothing(n, monkeypatch):
    """Of many pairs of inputs few are looked at; the answers are those of all of them."""
    R = of_many_pairs()
    found = sb.mechanism_epsilon(R, n, 1e-5).enclosure.upper
    at = np.array([float(n)])
    alone = [Supremum.of(crowd, at) for crowd in both_directions(R.crowds())]
    roots = [
        float(x.roots(np.array([1e-5]), 1e-4, ceiling=np.array([9.0])).upper[0]) for x in alone
    ]
    assert found == pytest.approx(min(max(roots), found), rel=4e-4)
    asked, whole = [], Supremum.delta_ends
    monkeypatch.setattr(Supremum, "delta_ends", lambda *x, **y: asked.append(1) or whole(*x, **y))
    sb.mechanism_epsilon(R, n, 1e-5)
    assert len(asked) < len(alone)


@pytest.mark.parametrize(
    ("randomizer", "eps"),
    [
        (sb.OUE(300.0), 150.0),
        (sb.MatrixRandomizer([[0.6, 0.4, 0.0], [0.5, 0.0, 0.5], [0.1, 0.5, 0.4]]), 400.0),
        (sb.MatrixRandomizer([[1.0 - 1e-200, 1e-200], [0.5, 0.5]]), 0.5),
    ],
)
def test_values_too_far_apart_leave_the_blanket(randomizer, eps):
    found = sb.mechanism_delta(randomizer, eps, 1000)
    assert found.upper_bound == "blanket"
    blankets = [sb.delta(one, eps, 1000).upper for one in randomizer.blankets().values()]
    assert 0.0 <= found.enclosure.lower <= found.enclosure.upper
    assert found.enclosure.upper == pytest.approx(max(blankets), rel=1e-3)


def test_a_pair_too_close_to_tell_does_not_hide_the_others():
    """Rows 1 and 2 differ by rounding, row 0 by far more."""
    rows = [[0.4, 0.6], [0.5, 0.5], [0.5 + 1e-16, 0.5 - 1e-16], [0.5, 0.5], [0.5, 0.5]]
    assert sb.epsilon(sb.MatrixRandomizer(rows), 2, 1e-46).lower > 0.01


TIGHT = {
    "KRR(2)": lambda eps0: sb.KRR(2, eps0),
    "KRR(10)": lambda eps0: sb.KRR(10, eps0),
    "KRR(256)": lambda eps0: sb.KRR(256, eps0),
    "RAPPOR": sb.RAPPOR,
    "OUE": sb.OUE,
    "BLH": sb.BLH,
    "LocalHash": lambda eps0: sb.LocalHash(eps0, hash_values=16),
    "Subset": lambda eps0: sb.Subset(eps0, 20, 4),
    "HadamardResponse": sb.HadamardResponse,
    "Laplace": sb.Laplace,
}


@pytest.mark.parametrize("eps0", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("name", TIGHT)
def test_both_ends_meet_as_the_readme_says(name, eps0):
    found = sb.epsilon(TIGHT[name](eps0), 10_000, 1e-6)
    assert found.upper <= 1.001 * found.lower
