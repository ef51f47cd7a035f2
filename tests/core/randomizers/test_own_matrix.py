"""Mechanisms of one's own: where there is a matrix, it decides which pairs of inputs count."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
import shuffles

import shufflebounds as sb
from shufflebounds.core.datasets import Crowd, both_directions
from shufflebounds.divergence.supremum import supremum
from shufflebounds.questions.intervals import has_affordable_suprema
from shufflebounds.randomizers.base import Randomizer, from_channel, pairs_of_channel
from shufflebounds.randomizers.matrix import KFold, MatrixRandomizer
from shufflebounds.randomizers.registry import _BUILT_IN
from shufflebounds.subjects.base import Shuffle
from shufflebounds.subjects.reports import source_of


@dataclass(frozen=True)
class Ring(Randomizer):
    """Three levels on a ring of five inputs. `blanket` has neighbours, not the farthest inputs."""

    eps0: float

    def matrix(self):
        levels = np.array([2, 1, 0, 0, 1])
        weights = np.array([np.roll(levels, x) for x in range(5)])
        rows = np.exp(self.eps0 * weights / 2.0)
        return rows / rows.sum(axis=1, keepdims=True)

    def blanket(self):
        rows = self.matrix()
        return from_channel(np.stack([rows[0], rows[1], rows.min(axis=0)]))

    def dataset_pairs(self):
        return pairs_of_channel(self.matrix()[[0, 1, 4]])


class DeclaredRing(Ring):
    """The same with a declaration that is false."""

    composable = True


@dataclass(frozen=True)
class Subset(Ring):
    """Subset selection, which says nothing of other users' inputs."""

    def matrix(self):
        return sb.Subset(self.eps0, 6, 2).matrix()


def test_a_mechanism_with_a_matrix_has_the_bound_for_all_datasets():
    """The built-in mechanism lists its inputs itself."""
    own, known = Subset(2.0), sb.Subset(2.0, 6, 2)
    upper, expected = (sb.epsilon(R, n=1000, delta=1e-6).upper for R in (own, known))
    assert upper == pytest.approx(expected, rel=1e-6)
    assert sb.mechanism_epsilon(own, 1000, 1e-6).upper_bound == "all datasets"
    joint, expected = (sb.epsilon(sb.Joint([R, R]), n=1000, delta=1e-6).upper for R in (own, known))
    assert joint == pytest.approx(expected, rel=1e-6)


def largest_delta(pairs, eps):
    """The largest δ of pairs of laws, shape (pairs, 2, outcomes)."""
    return float(np.maximum(pairs[:, 0] - math.exp(eps) * pairs[:, 1], 0.0).sum(axis=1).max())


@pytest.mark.parametrize("kind", [Ring, DeclaredRing])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_no_pair_is_believed_that_the_matrix_contradicts(kind, n):
    """The witness enumerates all datasets, for one round and for two equal ones."""
    ring, eps = kind(2.0), 0.5
    pairs = shuffles.in_floats(ring.matrix(), n)
    truth = largest_delta(pairs, eps)
    assert sb.delta(ring.blanket(), eps, n).upper < truth
    assert truth <= sb.delta(ring, eps, n).upper * (1.0 + 1e-12)
    assert sb.delta(ring, eps, n).lower <= truth * (1.0 + 1e-12)
    twice = np.einsum("dsi,dsj->dsij", pairs, pairs).reshape(len(pairs), 2, -1)
    assert largest_delta(twice, eps) <= sb.delta(ring, eps, n, rounds=2).upper * (1.0 + 1e-12)


@pytest.mark.parametrize("kind", [Ring, DeclaredRing])
def test_compositions_do_not_believe_it_either(kind):
    """The witness for one user: the largest divergence of two rows."""
    ring, bit, eps = kind(2.0), sb.KRR(2, 1.0), 0.5
    twice = np.einsum("xi,xj->xij", ring.matrix(), ring.matrix()).reshape(5, -1)
    for composition, rows in (
        (sb.Joint([ring, bit]), np.kron(ring.matrix(), bit.matrix())),
        (sb.Subsampled(ring, 0.5), np.hstack([0.5 * ring.matrix(), np.full((5, 1), 0.5)])),
        (KFold(ring, 2), twice),
    ):
        truth = largest_delta(np.array([*itertools.permutations(rows, 2)]), eps)
        enclosure = sb.delta(composition, eps, 1)
        assert enclosure.lower <= truth * (1.0 + 1e-9)
        assert truth <= enclosure.upper * (1.0 + 1e-9)
    with pytest.raises(ValueError, match=r"^parts must have inputs any two of which are alike"):
        sb.Parallel([(0.5, ring), (0.5, bit)])


@dataclass(frozen=True)
class Boaster(Ring):
    """The ring, whose ε₀ is too small by half."""

    def matrix(self):
        return Ring(2.0 * self.eps0).matrix()


def test_no_eps0_is_believed_that_the_matrix_contradicts():
    truth = largest_delta(shuffles.in_floats(Boaster(1.0).matrix(), 1), 1.0)
    assert 0.0 < truth <= sb.delta(Boaster(1.0), 1.0, 1).upper * (1.0 + 1e-12)


class Broken(Ring):
    def matrix(self):
        return super().matrix()[:, :-1]


class Believed(Ring):
    def blanket(self):
        return Ring(self.eps0).blanket()

    def dataset_pairs(self):
        return Ring(self.eps0).dataset_pairs()


class Unlisted(Believed):
    def matrix(self):
        raise ValueError("the inputs are not finite")


class Huge(Believed):
    def matrix(self):
        return np.broadcast_to(0.001, (1000, 1000))


class Tiny(Believed):
    def matrix(self):
        return np.array([[1.0, 1e-310], [1e-310, 1.0]])


def test_a_matrix_that_is_not_one_is_refused():
    with pytest.raises(ValueError, match=r"^matrix\(\) of Broken\(eps0=1.0\) is not valid: P must"):
        sb.epsilon(Broken(1.0), n=10, delta=0.1)


@pytest.mark.parametrize("kind", [Unlisted, Huge, Tiny])
def test_without_a_matrix_of_some_size_its_blanket_is_believed(kind):
    assert kind(1.0).by_matrix is None
    expected = sb.delta(Ring(1.0).blanket(), 0.1, 100).upper
    assert sb.delta(kind(1.0), 0.1, 100).upper == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("name", sorted(set(_BUILT_IN) - {"matrix"}))
def test_no_mechanism_that_has_crowds_examines_its_matrix(name):
    """Their pairs are proven, and the matrix may be large."""
    kind = _BUILT_IN[name]
    if kind.crowds is not Randomizer.crowds and hasattr(kind, "matrix"):
        assert (
            vars(kind).get("pairs_are_proven", False) or kind.by_matrix is not Randomizer.by_matrix
        )


def test_a_derived_class_does_not_inherit_the_proof():
    class Other(sb.KRR):
        def matrix(self):
            return Ring(self.eps0).matrix()

    assert Other(5, 1.0).by_matrix is not None


@pytest.mark.parametrize(
    "rows",
    [
        sb.KRR(5, 1.0).matrix(),
        Ring(2.0).matrix(),
        sb.OUE(1.0, 4).matrix(),
        np.random.default_rng(5).dirichlet(np.ones(4), 4),
        np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.1, 0.1, 0.8]]),
        np.array([[0.75, 0.25, 0.0], [0.25, 0.75, 0.0], [0.25, 0.25, 0.5]]),
    ],
)
def test_crowds_of_a_matrix_stand_for_all_pairs(rows):
    """The witness: crowds of every ordered pair, with every row among the others."""
    crowds, n = both_directions(MatrixRandomizer(rows).crowds()), 500
    for eps in (0.05, 0.3):
        listed = max(supremum(crowd, eps, n) for crowd in crowds)
        names = [str(x) for x in range(len(rows))]
        every = max(
            supremum(crowd, eps, n)
            for crowd in (
                Crowd.of_rows(rows, x0, x1, names, 1e-15)
                for x0, x1 in itertools.permutations(range(len(rows)), 2)
            )
        )
        assert listed == pytest.approx(every, rel=1e-6)


def test_alike_inputs_have_one_crowd():
    (crowd,) = Subset(2.0).crowds()
    assert crowd.symmetric
    assert len(crowd.others) == 3
    assert has_affordable_suprema(Shuffle(source_of(Subset(2.0)), 1000))
    # Neighbours and inputs that are two places apart.
    assert len(Ring(1.0).crowds()) == 2
