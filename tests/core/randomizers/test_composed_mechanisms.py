"""Compositions against explicit matrices of the composed randomizer and shuffles of its reports."""

import functools
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from components import assert_same
from engines import overlap
from hypothesis import given
from oracles import exact
from strategies import examples

import shufflebounds as sb
from shufflebounds.bounds import blanket_inequalities
from shufflebounds.core import decomposition
from shufflebounds.core.enclosure import reached
from shufflebounds.randomizers import joint as joint_size
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.composition import inputs_are_alike
from shufflebounds.randomizers.joint import Joint, joint_of
from shufflebounds.randomizers.mixed import Parallel, Subsampled


def matrix(randomizer):
    """Probabilities of all reports, shape (inputs, outputs).

    The inputs of a joint are tuples in the order of np.kron; the parts of a parallel composition
    look at the same value.
    """
    match randomizer:
        case Joint(parts):
            return functools.reduce(np.kron, map(matrix, parts))
        case Parallel(parts):
            return np.hstack([float(weight) * matrix(part) for weight, part in parts])
        case Subsampled(part, rate):
            rows = rate * matrix(part)
            return np.hstack([rows, np.full((len(rows), 1), 1.0 - rate)])
    return randomizer.matrix()


def apart(parts):
    """The matrix of a parallel composition each of whose parts has its own coordinate."""
    rows = [weight * matrix(part) for weight, part in parts]
    inputs = itertools.product(*(range(len(row)) for row in rows))
    return np.array(
        [np.concatenate([row[x] for row, x in zip(rows, xs, strict=True)]) for xs in inputs]
    )


def inputs(parts):
    """The inputs of a joint of leaves, and of parallel ones with a shared value, in order."""
    return list(itertools.product(*(range(len(matrix(part))) for part in parts)))


def enclosure(decomposition, eps, n):
    """`delta`, be it as wide as it may."""
    return reached(lambda: sb.delta(decomposition, eps, n))


JOINTS = {
    "krr3 twice": [sb.KRR(3, 0.7)] * 2,
    "krr3, rappor3": [sb.KRR(3, 0.7), sb.RAPPOR(1.1, 3)],
    "krr2, krr2, krr3": [sb.KRR(2, 0.5), sb.KRR(2, 0.5), sb.KRR(3, 1.5)],
    "krr2, blh3, krr4": [sb.KRR(2, 0.3), sb.BLH(1.0, 3), sb.KRR(4, 0.6)],
    "parallel, subsampled": [
        Parallel([(0.3, sb.KRR(3, 0.5)), (0.7, sb.RAPPOR(0.9, 3))]),
        Subsampled(sb.KRR(3, 1.0), 0.6),
    ],
}
# Of inputs whose first and last rows differ in every coordinate.
TREES = {
    "parallel": Parallel([(0.25, sb.KRR(3, 1.0)), (0.75, sb.OUE(0.6, 3))]),
    "joint in a joint": Joint([Joint([sb.KRR(2, 0.4), sb.KRR(3, 0.8)]), sb.KRR(3, 0.6)]),
    "subsampled joint": Subsampled(Joint([sb.KRR(2, 0.5), sb.KRR(2, 0.9)]), 0.3),
    "parallel of joints": Parallel(
        [(0.5, joint_of(sb.KRR(2, 0.5), 2)), (0.5, Joint([sb.KRR(2, 0.2), sb.BLH(0.7, 2)]))]
    ),
    "joint of a subsampled joint": Joint(
        [Subsampled(joint_of(sb.KRR(2, 0.3), 2), 0.9), sb.KRR(3, 0.4)]
    ),
    "subsampled parallel of a subsampled one": Subsampled(
        Parallel([(0.9, sb.KRR(3, 0.8)), (0.1, Subsampled(sb.BLH(2.0, 3), 0.5))]), 0.7
    ),
}


@pytest.mark.parametrize("parts", JOINTS.values(), ids=JOINTS)
def test_every_pair_of_inputs_of_a_joint(parts):
    """The blankets by distance against rows x, x' and the least of each column, for all x, x'."""
    joint = Joint(parts)
    rows, least = matrix(joint), matrix(joint).min(axis=0)
    found = {
        name: blanket
        for distance in range(1, len(parts) + 1)
        for name, blanket in joint.blankets(distance).items()
    }
    seen = set()
    for (i, x), (j, y) in itertools.permutations(enumerate(inputs(parts)), 2):
        differing = [k for k in range(len(parts)) if x[k] != y[k]]
        # Equal parts may change places, and only the first of them are listed.
        kind = sorted(parts.index(parts[k]) for k in differing)
        for k in range(1, len(kind)):
            kind[k] = max(kind[k], kind[k - 1] + 1) if kind[k] == kind[k - 1] else kind[k]
        name = " ".join(str(k + 1) for k in kind)
        seen.add(name)
        assert_same(found[name], rows[i], rows[j], least)
    assert seen == found.keys()
    assert_same(joint.blanket(), rows[0], rows[-1], least)


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_nested_compositions_are_their_matrices(tree):
    rows = matrix(tree)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-14)
    ratios = rows.max(axis=0) / rows.min(axis=0)
    assert math.log(ratios.max()) <= tree.eps0 * (1.0 + 1e-14)
    assert_same(tree.blanket(), rows[0], rows[-1], rows.min(axis=0))
    assert tree.blanket().is_symmetric()


def test_parts_of_a_parallel_composition_may_have_a_coordinate_each():
    parts = [(0.25, sb.KRR(3, 1.0)), (0.75, sb.RAPPOR(0.6, 2))]
    rows, parallel = apart(parts), Parallel(parts)
    least, blanket = rows.min(axis=0), parallel.blanket()
    assert_same(blanket, rows[0], rows[-1], least)
    for eps, n in itertools.product((0.0, 0.3, 0.7), (1, 2, 3)):
        above = exact(blanket, eps, n).upper
        for one, two in itertools.permutations(rows, 2):
            pair = sb.Decomposition(one, two, least, rel_err=1e-15).merge()
            assert exact(pair, eps, n).lower <= above


def test_dataset_pairs_are_rows_of_the_matrix():
    joint = Joint([sb.KRR(3, 0.7), sb.RAPPOR(1.1, 3), sb.KRR(2, 0.5)])
    rows = matrix(joint)
    places = inputs(joint.parts)
    pairs = joint.dataset_pairs()
    assert list(pairs) == ["third third x1", "x1"]
    for name, others in (("third third x1", (2, 2, 1)), ("x1", (1, 1, 1))):
        chosen = [places.index(x) for x in ((0, 0, 0), (1, 1, 1), others)]
        assert_same(pairs[name], *rows[chosen])
    assert_same(
        joint.dataset_pair(),
        *rows[[places.index(x) for x in ((0,) * 3, (1,) * 3)]],
        rows[places.index((2, 2, 1))],
    )


# Shuffles of actual reports.


# A further coordinate that differs.


@st.composite
def mirrored(draw, most=2):
    """Decompositions that are their own mirror image, zeros in all three arrays among them."""
    masses = st.one_of(st.just(0.0), st.floats(0.02, 1.0))
    pairs = draw(
        st.lists(st.tuples(masses, masses, masses), min_size=1, max_size=most).filter(
            lambda rows: any(x + y > 0.0 for x, y, _ in rows)
        )
    )
    alone = draw(st.lists(st.tuples(masses, masses), max_size=1))
    a = np.array([*(p[0] for p in pairs), *(p[1] for p in pairs), *(x for x, _ in alone)])
    b = np.array([*(p[1] for p in pairs), *(p[0] for p in pairs), *(x for x, _ in alone)])
    c = np.array([*(p[2] for p in pairs), *(p[2] for p in pairs), *(z for _, z in alone)])
    total = a.sum()
    sure = draw(st.sampled_from([0.25, 0.75, 1.0 - 1e-9])) / max(c.sum(), 1e-9)
    return sb.Decomposition(a / total, b / total, sure * c)


def at_distances(parts):
    """Products of which the first 1, 2, … parts differ."""
    return [
        functools.reduce(
            sb.Decomposition.joint,
            [part if i < distance else part.same_input() for i, part in enumerate(parts)],
        )
        for distance in range(1, len(parts) + 1)
    ]


@given(st.lists(mirrored(), min_size=2, max_size=2), st.integers(1, 3), st.floats(0.0, 2.0))
@examples(60)
def test_a_further_coordinate_that_differs_raises_the_divergence(parts, n, eps):
    one, both = at_distances(parts)
    assert exact(one, eps, n).lower <= exact(both, eps, n).upper
    assert exact(one.swap(), eps, n).lower <= exact(both, eps, n).upper


@pytest.mark.parametrize(
    "divergence",
    [blanket_inequalities.hoeffding_divergence, blanket_inequalities.bennett_divergence],
)
@given(st.lists(mirrored(), min_size=3, max_size=3), st.integers(1, 10_000), st.floats(0.0, 1.5))
@examples(20)
def test_the_same_for_the_baselines(divergence, parts, n, eps):
    """Of blankets, whose c is at most a and b: other c would count among the users to hide in."""
    blankets = [sb.Decomposition(p.a, p.b, np.minimum(p.c, np.minimum(p.a, p.b))) for p in parts]
    found = [
        blanket_inequalities.delta_above(divergence, blanket_inequalities.specific(pair), eps, n)
        for pair in at_distances(blankets)
    ]
    assert all(less <= more * (1.0 + 1e-9) for less, more in itertools.pairwise(found))


@dataclass(frozen=True)
class Lopsided(Randomizer):
    """Binary reports that say more about one of the two inputs, with more in the blanket."""

    eps0: float = math.log(2.0)

    def blanket(self):
        return sb.Decomposition([0.25, 0.75], [0.5, 0.5], [0.7, 0.3])

    def dataset_pairs(self):
        return {"x1": self.blanket()}


@dataclass(frozen=True)
class Gossip(Randomizer):
    """Reports that say little of 0 and 1, much of 2. Its blanket is that of 0 and 1 alone."""

    eps0: float = math.log(16.0)

    def matrix(self):
        return np.array([[10.0, 9.0, 1.0], [9.0, 10.0, 1.0], [2.0, 2.0, 16.0]]) / 20.0

    def blanket(self):
        rows = self.matrix()
        return sb.Decomposition(rows[0], rows[1], rows.min(axis=0), rel_err=1e-15)

    def dataset_pairs(self):
        return {"third": sb.Decomposition(*self.matrix(), rel_err=1e-15)}


class Whisper(Gossip):
    """The same, but too many inputs to write its matrix."""

    def matrix(self):
        raise ValueError("there are too many inputs")

    def blanket(self):
        return Gossip().blanket()


def test_a_third_value_that_is_shared_may_say_more():
    """Why a blanket that is its own mirror image is not enough: exact values for three users."""
    part, gossip = sb.KRR(2, 2.0).blanket(), Gossip()
    assert gossip.blanket().is_symmetric()
    third = gossip.matrix()[2]
    shared = sb.Decomposition(third, third, gossip.matrix().min(axis=0), rel_err=1e-15)
    below = exact(part.joint(shared), 0.5, 3).lower
    assert below > 1.01 * exact(part.joint(gossip.blanket()), 0.5, 3).upper


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Lopsided(), "parts must have blankets that are their own mirror im"),
        (Whisper(), "parts must have inputs any two of which are alike"),
    ],
)
@pytest.mark.parametrize(
    "compose",
    [
        lambda part: Joint([sb.KRR(3, 1.0), part]),
        lambda part: Parallel([(0.5, sb.KRR(3, 1.0)), (0.5, part)]),
        lambda part: Subsampled(part, 0.5),
        lambda part: joint_of(part, 2),
    ],
)
def test_parts_of_which_nobody_knows_the_worst_pair_are_refused(compose, part, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        compose(part)


@dataclass(frozen=True)
class Homemade(Randomizer):
    """3-ary randomized response by somebody who says nothing of its symmetry."""

    eps0: float = 1.0

    def matrix(self):
        return sb.KRR(3, self.eps0).matrix()

    def blanket(self):
        return sb.KRR(3, self.eps0).blanket()

    def dataset_pairs(self):
        return sb.KRR(3, self.eps0).dataset_pairs()


@dataclass(frozen=True)
class Hidden(Randomizer):
    """The same without a matrix."""

    eps0: float = 1.0
    blanket, dataset_pairs = Homemade.blanket, Homemade.dataset_pairs


def test_a_matrix_may_show_that_inputs_are_alike():
    assert_same(
        joint_of(Homemade(), 2).blanket(),
        *(getattr(joint_of(sb.KRR(3, 1.0), 2).blanket(), name) for name in "abc"),
    )
    with pytest.raises(ValueError, match=r"composable = True"):
        joint_of(Hidden(), 2)

    class Sworn(Hidden):
        composable = True

    joint_of(Sworn(), 2).blanket()


@pytest.mark.parametrize("size", [3, 4, 5])
def test_a_blanket_that_rounding_has_tied_in_part_shows_it(size):
    """Entries taken as they are, of which the last digits differ from input to input."""

    class Rounded(Homemade):
        def matrix(self):
            bits = np.array(list(itertools.product((0, 1), repeat=size)))
            keep = math.exp(0.5) / (math.exp(0.5) + 1.0)
            same = bits == np.eye(size, dtype=int)[::-1][:, None]
            return np.array(
                [[*map(math.prod, row.tolist())] for row in np.where(same, keep, 1 - keep)]
            )

        def blanket(self):
            rows = self.matrix()
            return sb.Decomposition(rows[0], rows[1], rows.min(axis=0))

    blanket = Rounded().blanket()
    assert np.isclose(blanket.a, blanket.b, rtol=1e-12).sum() > blanket.ties.sum() > 0
    assert inputs_are_alike(Rounded())


@pytest.mark.parametrize("kind", [sb.BLH, sb.RAPPOR, sb.OUE, sb.HadamardResponse])
@pytest.mark.parametrize("size", [2, 3, 4, 6, 7])
def test_mechanisms_over_a_domain_show_it(kind, size):
    assert inputs_are_alike(kind(1.5, size))
    assert inputs_are_alike(sb.KRR(size, 1.5))


# Orders that theory demands, and two that it does not.


LEAVES = [
    *(sb.KRR(k, eps0) for k in (2, 3, 10) for eps0 in (0.1, 2.0)),
    *(kind(1.0, size) for kind in (sb.RAPPOR, sb.BLH, sb.OUE) for size in (2, 3, None)),
    sb.HadamardResponse(3.0, 3),
    sb.Laplace(1.0, cells=2),
]
compositions = st.recursive(
    st.sampled_from(LEAVES),
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=2).map(Joint),
        st.tuples(st.sampled_from([0.0, 1e-9, 0.01, 0.5]), parts, parts).map(
            lambda x: Parallel([(x[0], x[1]), (1.0 - x[0], x[2])])
        ),
        st.builds(Subsampled, parts, st.sampled_from([0.01, 0.5, 1.0])),
    ),
    max_leaves=3,
)


@given(compositions, st.sampled_from([1, 2, 300]), st.floats(0.0, 1.0))
@examples(30)
def test_no_lower_bound_is_above_the_upper_bound(randomizer, n, share):
    eps = share * randomizer.eps0
    above = enclosure(randomizer.blanket(), eps, n).upper
    assert enclosure(randomizer.blanket(), randomizer.eps0, n).upper <= 1e-10
    for pair in randomizer.dataset_pairs().values():
        assert enclosure(pair, eps, n).lower <= above


# ε₀, names and refusals.


@given(st.lists(st.floats(1e-6, 2.0), min_size=1, max_size=12))
@examples(100)
def test_eps0_of_a_joint_is_no_less_than_the_exact_sum(budgets):
    found = Joint([sb.KRR(2, eps0) for eps0 in budgets]).eps0
    assert Fraction(found) >= sum(map(Fraction, budgets))
    assert found <= math.fsum(budgets) * (1.0 + 2.0**-51)


def test_distances_of_many_different_parts_do_not_take_forever():
    joint = Joint([sb.KRR(3 + i, 0.1) for i in range(60)])
    joint.check_distance(1)
    joint.check_distance(59)
    with pytest.raises(ValueError, match=r"^distance must leave at most 2000 .* got 30 of 60 par"):
        joint.check_distance(30)


@pytest.mark.parametrize("distance", [0, 3, -1, 1.0, True, "1", math.nan])
def test_bad_distances(distance):
    with pytest.raises(ValueError, match=r"^distance must be an integer from 1 to 2, got "):
        joint_of(sb.KRR(3, 1.0), 2).blankets(distance)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Joint([]), "parts must hold at least one randomizer"),
        (lambda: Joint(sb.KRR(3, 1.0)), "parts must be a list of randomizers, got KRR"),
        (lambda: Joint([sb.KRR]), "parts must be randomizers"),
        (lambda: Parallel(5), r"parts must be pairs \(weight, randomizer\), got 5"),
        (lambda: Parallel([(0.5, sb.KRR(3, 1.0))]), "weights must sum to 1, got 0.5"),
        (lambda: Parallel([(math.nan, sb.KRR(3, 1.0))]), "weight must be .* got nan"),
        (lambda: Subsampled(sb.KRR(3, 1.0), 1.5), "rate must be .* got 1.5"),
        (lambda: Subsampled(sb.KRR(3, 1.0), -1e-300), "rate must be .* got -1e-300"),
        (lambda: joint_of(sb.KRR(3, 1.0), 0), "k_joint must be an integer >= 1, got 0"),
        (lambda: sb.parallel(5), r"parts must be pairs \(weight, decomposition\), got 5"),
        (
            lambda: Subsampled(sb.KRR(3, 1.0), 1e-300).blanket(),
            "a of the composition would hold a mass below 1e-300",
        ),
    ],
)
def test_bad_compositions(make, message):
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        make()
    assert "\n" not in str(caught.value)


# Rounding.


def test_weights_that_miss_1_by_rounding_add_up_over_levels():
    """Σc stays at most 1, and the enclosure covers the weights as given and as shares of 1."""
    given, part = (0.5, 0.5 + 0.9e-12), sb.KRR(2, 0.5)
    tree = part
    for _ in range(4):
        tree = Parallel([(weight, tree) for weight in given])
    for pair in (tree.blanket(), tree.dataset_pair()):
        assert math.fsum(pair.c) <= 1.0 + 1e-15
    assert overlap(sb.delta(tree.blanket(), 0.1, 100), sb.delta(part.blanket(), 0.1, 100))


def test_a_hundred_reports():
    """Chances of a hundred 2-RR reports by binomials: all the ratios merge."""
    eps0 = 0.04
    joint = joint_of(sb.KRR(2, eps0), 100)
    blanket = joint.blanket()
    assert len(blanket) == 101
    p = 1.0 / (1.0 + math.exp(-eps0))
    chances = [math.comb(100, k) * p**k * (1.0 - p) ** (100 - k) for k in range(101)]
    np.testing.assert_allclose(np.sort(blanket.a), np.sort(chances), rtol=1e-12)
    assert blanket.is_symmetric()
    assert blanket.rel_err < 1e-11
    assert sb.epsilon(blanket, 10_000, 1e-6).relative_width <= 1e-4


# Sizes.


def largest_step(factors):
    most, product = 0, factors[0]
    for factor in factors[1:]:
        most = max(most, len(product) * len(factor))
        product = product.joint(factor)
    return most


FACTORS = {
    "10 KRR": [sb.KRR(10, 0.4).blanket()] * 10,
    "8 KRR pairs": [sb.KRR(10, 0.4).dataset_pair()] * 8,
    "6 Laplace": [sb.Laplace(0.5, cells=6).blanket()] * 6,
    "6 Laplace pairs": [sb.Laplace(1.0, cells=6).dataset_pair()] * 6,
    "4 Laplace of large eps0": [sb.Laplace(60.0, cells=6).blanket()] * 4,
    "one component last": [sb.Laplace(1.0, cells=9).blanket()] * 2
    + [Subsampled(sb.KRR(3, 1.0), 0.0).blanket()],
    "some do not differ": [sb.KRR(10, 0.4).blanket()] * 4
    + [sb.KRR(10, 0.4).blanket().same_input()] * 4,
    "mixed": [
        part.blanket()
        for part in (sb.RAPPOR(0.4, 5), sb.KRR(10, 0.7), sb.BLH(0.3), sb.Laplace(0.4, cells=8))
    ],
    "zeros": [
        sb.Decomposition([0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.4, 0.0, 0.5]),
        sb.Decomposition([0.1, 0.9], [0.9, 0.1], [0.0, 0.3]),
        sb.Decomposition([0.2, 0.8, 0.0], [0.0, 0.8, 0.2], [0.0, 0.9, 0.0]),
    ],
}


def ends_of(factors):
    """What is multiplied: the arrays, and inner and outer ends where there are any."""
    factors = [factor.merge() for factor in factors]
    return [
        [getattr(factor, end) or factor for factor in factors]
        for end in ("inner", "outer")
        if any(getattr(factor, end) is not None for factor in factors)
    ] + [factors]


@pytest.mark.parametrize("factors", FACTORS.values(), ids=FACTORS)
def test_sizes_are_refused_before_any_work(factors, monkeypatch):
    truth = max(map(largest_step, ends_of(factors)))
    with monkeypatch.context() as patch:
        patch.setattr(joint_size, "LARGEST_JOINT", int(1.5 * truth))
        joint_size.check_joint(factors)
    for module in (joint_size, decomposition):
        monkeypatch.setattr(module, "LARGEST_JOINT", int(0.9 * truth))
    monkeypatch.setattr(sb.Decomposition, "joint", None)
    with pytest.raises(ValueError, match=rf"^a joint of {len(factors)} reports .* too large for m"):
        joint_size.check_joint(factors)


def test_masses_too_small_for_floats_are_refused_before_any_work(monkeypatch):
    joint = joint_of(sb.KRR(10, 10.0), 100)
    monkeypatch.setattr(sb.Decomposition, "joint", None)
    message = r"^a joint of 100 reports would have a component with a = 1e-434, too small for "
    for refused in (joint.check_size, joint.blanket, joint.dataset_pairs):
        with pytest.raises(ValueError, match=message):
            refused()
