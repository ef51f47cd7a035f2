"""The doubling against enumeration in rationals, binomial sums and the other engines."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import decompositions, epsilons, examples

from shufflebounds import BLH, KRR, Decomposition, Joint, subsample
from shufflebounds.divergence import doubling as measures
from shufflebounds.divergence.chernoff import ceiling
from shufflebounds.divergence.doubling import (
    Bins,
    Measure,
    Steps,
    edges,
    log_bounds,
    mean_positive_part,
    rough,
    split,
    united,
    vertices,
)
from shufflebounds.divergence.enclosing import enclose
from shufflebounds.divergence.exact import exact
from shufflebounds.divergence.fourier import saddle
from shufflebounds.divergence.law import law
from shufflebounds.divergence.tree import sweep


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


@pytest.mark.parametrize("rel_err", [1e-9, 1e-6, 1e-4])
@pytest.mark.parametrize("n", [10**6, 10**9, 10**12])
def test_errors_of_masses_that_n_multiplies_beyond_all_bounds(rel_err, n):
    """(1 + rel_err)^n may exceed the floats, and (1 − rel_err)^n vanish."""
    exact_entries = KRR(k=3, eps0=2.0).blanket()
    a, b, c = exact_entries.a, exact_entries.b, exact_entries.c * (1.0 - 1e-3)
    found = doubling(Decomposition(a, b, c, rel_err=rel_err), 0.5, n)
    assert overlap(found, saddle(Decomposition(a, b, c), 0.5, n))


def fractions(measure):
    """The atoms of a measure as pairs of rationals."""
    pairs = zip(measure.values.tolist(), measure.masses.tolist(), strict=True)
    return [(Fraction(value), Fraction(mass)) for value, mass in pairs]


def stop_loss(atoms, t):
    """∫(x + t)₊ of a list of atoms."""
    return sum(mass * max(value + t, Fraction(0)) for value, mass in atoms)


def assert_ordered(truth, bounds, up):
    """In rationals, at all t where ∫(x + t)₊ bends on either side: in between it is linear."""
    for t in {-value for value, _ in truth + bounds} | {Fraction(10)}:
        low, high = stop_loss(truth, t), stop_loss(bounds, t)
        assert (low <= high) if up else (high <= low)


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.booleans())
@examples(150)
def test_sums_in_cells_keep_the_order(seed, size, up):
    """With edges on atoms, on sums of them, next to them, and far from all."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=size) * 10.0 ** rng.uniform(-rng.choice([1.0, 9.0, 40.0]), 0.0, size)
    if size > 3:
        values[1] = values[0]
        values[2] = 0.0
    x = Measure(values, 10.0 ** -rng.uniform(0.0, rng.choice([2.0, 20.0, 300.0]), size))
    y = Measure(np.array([-0.3, 0.0, 0.1]), np.array([0.9, 1.0, 0.1]))
    two = [(v + w, p * q) for v, p in fractions(x) for w, q in fractions(x)]
    both = [(v + w, p * q) for v, p in fractions(x) for w, q in fractions(y)]
    for truth, sums in (
        (two, measures.doubled(x)),
        (both, measures.added(x, y)),
        (fractions(x), x),
    ):
        places = rng.choice(sums.values, rng.integers(1, 6))
        places = np.concatenate([places, np.nextafter(places[:2], 9.0), rng.normal(size=2)])
        if up:
            places = np.append(places, sums.values.max())
        bins = Bins.of(sums, np.unique(places))
        assert_ordered(truth, fractions(split(bins) if up else united(bins)[0]), up)


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize("rate", [1e-6, 1.0])
def test_the_law_of_one_draw_is_bounded_at_every_place(rate, up):
    """Also where the residual is known no better than by a relative error of the other masses."""
    decomposition = subsample(KRR(k=4, eps0=1.0).blanket(), rate)
    exact_entries = Decomposition(decomposition.a, decomposition.b, decomposition.c)
    one, other = (
        measures.jumps(law(x, 0.1), way)
        for x, way in ((decomposition, up), (exact_entries, not up))
    )
    bounds, truth = (
        [(Fraction(x.base), Fraction(x.idle))]
        + [(Fraction(x.base) + value, mass) for value, mass in fractions(x.others)]
        for x in (one, other)
    )
    assert 0.0 < decomposition.rel_err < 1e-13
    assert_ordered(truth, bounds, up)
    assert abs(float(sum(mass for _, mass in bounds)) - 1.0) < 1e-13


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(-40, 40), st.booleans())
@examples(60)
def test_the_last_sum_is_rounded_to_its_side(seed, size, exponent, up):
    rng = np.random.default_rng(seed)
    x, y = (
        Measure(
            rng.normal(size=size) * 10.0 ** rng.uniform(-9.0, 0.0, size), rng.uniform(size=size)
        )
        for _ in "xy"
    )
    shift = float(rng.choice([-1.0, 1.0])) * 10.0 ** (exponent / 20.0)
    pairs = [(v + w, p * q) for v, p in fractions(x) for w, q in fractions(y)]
    truth = stop_loss(pairs, Fraction(shift))
    found = mean_positive_part(x, y, shift, up)
    assert (found >= truth) if up else (found <= truth)
    assert found == pytest.approx(float(truth), rel=1e-12, abs=1e-270)


@given(st.integers(2, 10**15))
@examples(200)
def test_steps_lead_to_half_of_all_draws(n):
    steps = Steps(n)
    draws = 1
    for doubles in steps.doubles:
        draws = 2 * draws if doubles else draws + 1
    assert 2 * draws + steps.odd == n
    assert steps.draws[-1] == draws


@given(st.integers(0, 2**32 - 1), st.sampled_from([20, 601, 10**5]))
@examples(40)
def test_cells_hold_zero_and_the_threshold_and_follow_the_estimate(seed, n):
    rng = np.random.default_rng(seed)
    c = 10.0 ** -rng.uniform(0.0, 6.0, 30)
    c *= 0.01 / c.sum()
    others = Measure(rng.normal(size=30) * 10.0 ** rng.uniform(-6.0, 0.0, 30), c)
    one = measures.Jumps(others, -1e-3, 0.99)
    steps = Steps(n)
    estimate = rough(one, steps, 10.0)
    coarse, fine = (edges(estimate, steps, cells) for cells in (20.0, 80.0))
    for step, (few, many) in enumerate(zip(coarse, fine, strict=True)):
        assert {0.0, n * 1e-3} <= set(few) & set(many)
        assert few.size < many.size
        bins = Bins.of(others, few)
        lower, cells = united(bins)
        places = vertices(bins, lower, cells, estimate, step)
        assert (np.diff(places) > 0.0).all()
        assert {0.0, n * 1e-3} <= set(places)
        assert places[-1] >= lower.values.max()
    # All of the probability is there, but for draws of the base alone.
    idle = 0.99 ** np.array(steps.draws, dtype=float)
    assert estimate.found.sum(axis=1) + idle == pytest.approx(np.ones(idle.size), abs=0.01)


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


@pytest.mark.parametrize("rare", [1e-145, 1e-206])
def test_values_that_may_be_huge_for_all_that_is_known_are_left_to_others(rare):
    """At ε = 0, rel_err of a = b makes a value of 0 one of up to rel_err a/c."""
    masses = [1.0, 1e-38, 1e-205], [1.0, 1e-132, 1e-48], [rare, 0.99, 1e-96]
    found = doubling(Decomposition(*masses, rel_err=1e-6), 0.0, 6, 0.1)
    assert overlap(found, exact(Decomposition(*masses), 0.0, 6))
    assert overlap(found, exact(Decomposition(*masses, rel_err=1e-6), 0.0, 6))
