"""The doubling against enumeration in rationals, binomial sums and the other engines."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import decompositions, epsilons, examples

from shufflebounds import BLH, KRR, Decomposition, Joint, subsample
from shufflebounds.divergence import measures
from shufflebounds.divergence.cells import Mirrored, by_cost, by_distance
from shufflebounds.divergence.chernoff import ceiling
from shufflebounds.divergence.doubling import log_bounds
from shufflebounds.divergence.exact import exact
from shufflebounds.divergence.law import law
from shufflebounds.divergence.measures import Measure
from shufflebounds.divergence.saddle import enclose, saddle
from shufflebounds.divergence.sweep import sweep


def doubling(decomposition, eps, n, rtol=1e-3):
    """D(ε) by means of the doubling alone."""
    return enclose(decomposition, eps, n, rtol, log_bounds)


def overlap(one, two):
    """Whether two enclosures can hold the same value."""
    return one.lower <= two.upper and two.lower <= one.upper


@given(st.data(), st.integers(1, 7), st.sampled_from([0.1, 1e-2, 1e-4]))
@examples(150)
def test_few_users_against_enumeration(data, n, rtol):
    decomposition = data.draw(decompositions())
    eps = data.draw(epsilons(decomposition))
    truth = exact(decomposition, eps, n)
    assert overlap(doubling(decomposition, eps, n, rtol), truth)
    assert ceiling(decomposition, eps, n) >= truth.lower


@given(st.data(), st.integers(2, 3))
@examples(40)
def test_masses_over_hundreds_of_decades(data, n):
    decomposition = data.draw(decompositions(max_components=3, decades=280.0))
    eps = data.draw(epsilons(decomposition))
    assert overlap(doubling(decomposition, eps, n, 0.01), exact(decomposition, eps, n))


@given(st.integers(0, 2**32 - 1), st.integers(9, 60), st.sampled_from([1.0, 0.5, 1e-3]))
@examples(60)
def test_dozens_of_users_against_enumeration(seed, n, sure):
    """So many that measures are coarsened; few components, so that rationals can tell."""
    rng = np.random.default_rng(seed)
    a, b, c = (10.0 ** -rng.uniform(0.0, rng.choice([1.0, 4.0, 9.0]), 2) for _ in "abc")
    decomposition = Decomposition(a / a.sum(), b / b.sum(), sure * 0.999 * c / c.sum())
    eps = rng.uniform() * max(0.0, float(np.log(decomposition.a / decomposition.b).max()))
    assert overlap(doubling(decomposition, eps, n, 0.1), exact(decomposition, eps, n))


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2.0**-53, 1e-13, 1e-9, 1e-5]),
    st.sampled_from([1.0, 1.0 - 1e-13, 0.5, 1e-4]),
)
@examples(80)
def test_every_decomposition_within_the_uncertainty_is_covered(seed, rel_err, sure):
    """The floats themselves are one of those that `rel_err` allows."""
    rng = np.random.default_rng(seed)
    size, n = int(rng.integers(1, 4)), int(rng.integers(2, 13))
    a, b, c = (10.0 ** -rng.uniform(0.0, rng.choice([1.0, 6.0, 14.0]), size) for _ in "abc")
    a, b, c = a / a.sum(), b / b.sum(), sure * c / c.sum()
    while math.fsum([-1.0, *c]) > 0.0:
        c = np.nextafter(c, 0.0)
    eps = rng.uniform() * max(0.0, float(np.log(a / b).max()))
    found = doubling(Decomposition(a, b, c, rel_err=rel_err), eps, n)
    assert overlap(found, exact(Decomposition(a, b, c), eps, n))


def fractions(measure):
    """The atoms of a measure as pairs of rationals."""
    pairs = zip(measure.values.tolist(), measure.masses.tolist(), strict=True)
    return [(Fraction(value), Fraction(mass)) for value, mass in pairs]


def stop_loss(atoms, t):
    """∫(x + t)₊ of a list of atoms."""
    return sum(mass * max(value + t, Fraction(0)) for value, mass in atoms)


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.booleans())
@examples(100)
def test_every_operation_keeps_the_order(seed, size, up):
    """In rationals, at all t where ∫(x + t)₊ bends on either side: in between it is linear."""
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(size=size) * 10.0 ** rng.uniform(-9.0, 0.0, size))
    if size > 3:
        values[1] = values[0]
    x = Measure(values, 10.0 ** -rng.uniform(0.0, rng.choice([2.0, 20.0, 200.0]), size))
    y = Measure(np.array([-0.3, 0.1]), np.array([0.9, 0.1]))
    inner = np.flatnonzero(rng.uniform(size=size) < 0.3)
    cells = np.unique(np.concatenate([[0], inner, [size - 1]]))
    two = [(v + w, p * q) for v, p in fractions(x) for w, q in fractions(x)]
    both = [(v + w, p * q) for v, p in fractions(x) for w, q in fractions(y)]
    coarsen = measures.raised if up else measures.lowered
    for truth, found in (
        (two, measures.doubled(x, up)),
        (both, measures.added(x, y, up)),
        (fractions(x), coarsen(x, cells)),
    ):
        bounds = fractions(found)
        for t in {-value for value, _ in truth + bounds} | {Fraction(10)}:
            low, high = stop_loss(truth, t), stop_loss(bounds, t)
            assert (low <= high) if up else (high <= low)


@pytest.mark.parametrize("up", [False, True])
def test_the_law_of_one_draw_is_bounded_at_every_place(up):
    """Also where the residual is known no better than by a relative error of the other masses."""
    decomposition = subsample(KRR(k=4, eps0=1.0).blanket(), 1e-6)
    exact_entries = Decomposition(decomposition.a, decomposition.b, decomposition.c)
    bounds = fractions(measures.of_law(law(decomposition, 0.1), up))
    truth = fractions(measures.of_law(law(exact_entries, 0.1), up=not up))
    assert 0.0 < decomposition.rel_err < 1e-13
    for t in {-value for value, _ in truth + bounds}:
        inside, outside = stop_loss(truth, t), stop_loss(bounds, t)
        assert (inside <= outside) if up else (outside <= inside)
    assert abs(float(sum(mass for _, mass in bounds)) - 1.0) < 1e-13


@given(st.integers(0, 2**32 - 1), st.booleans())
@examples(40)
def test_cells_cover_all_atoms_and_are_finer_for_less(seed, up):
    rng = np.random.default_rng(seed)
    x = Measure(np.sort(rng.normal(size=500)), rng.uniform(size=500) / 500.0)
    others = Mirrored.of(Measure(np.sort(rng.normal(size=40)), rng.uniform(size=40) / 40.0))
    sizes = []
    for each in (1.0, 1e-6, 1e-12):
        cells = by_cost(x, others, each, up)
        assert cells[0] == 0
        assert cells[-1] == 499
        assert set(by_distance(x)) <= set(cells)
        sizes.append(cells.size)
    assert sizes == sorted(sizes)
    assert sizes[-1] > 100


@pytest.mark.parametrize(
    ("decomposition", "eps", "n"),
    [
        (subsample(Joint([BLH(1.0)] * 16).dataset_pair(), 1e-4), 1.8, 100),
        (subsample(Joint([KRR(k=10, eps0=8.0)] * 4).blanket(), 1e-4), 6.0, 101),
        (Joint([KRR(k=10, eps0=6.0)] * 4).blanket(), 8.0, 5000),
    ],
    ids=["a hundredth of a draw", "an odd number", "common draws"],
)
def test_agrees_with_the_other_engines(decomposition, eps, n):
    found = doubling(decomposition, eps, n, 1e-2)
    assert 0.0 < found.relative_width <= 1e-2
    assert overlap(found, saddle(decomposition, eps, n, 1e-2))
    assert overlap(found, sweep(decomposition, eps, n, 1e-2))
    assert ceiling(decomposition, eps, n) >= found.lower


def test_a_hundredth_of_a_draw_against_conditioning_on_their_number():
    """At n·rate = 0.01 one or two users take part; three or more do with probability 2·10⁻⁷."""
    decomposition = subsample(Joint([BLH(1.0)] * 16).dataset_pair(), 1e-4)
    n, eps = 100, 1.8
    g = law(decomposition, eps)
    values = np.append(g.values, 0.0) * 2.0**g.exponent
    masses = np.append(g.masses, g.rest)
    base = int(np.argmax(masses))
    jumps, shares = np.delete(values, base) - values[base], np.delete(masses, base)
    start, quiet = n * values[base], masses[base]
    one = n * quiet ** (n - 1) * float(shares @ np.maximum(start + jumps, 0.0))
    pairs = np.maximum(start + np.add.outer(jumps, jumps), 0.0)
    two = 0.5 * n * (n - 1) * quiet ** (n - 2) * float(shares @ pairs @ shares)
    found = doubling(decomposition, eps, n, 1e-4)
    assert found.relative_width <= 1e-4
    assert found.upper >= (one + two) / n * (1.0 - 1e-9)
    # A third draw adds at most what the three do on average, whatever the others are.
    more = 3.0 * math.comb(n, 3) * shares.sum() ** 2 * float(shares @ np.maximum(jumps, 0.0))
    assert found.lower <= (one + two + more) / n * (1.0 + 1e-9)
