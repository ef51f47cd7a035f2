"""The tree against enumeration in rationals, 50-digit sums and the Fourier engine."""

import math
from fractions import Fraction
from functools import partial

import mpmath as mp
import numpy as np
import pytest
from engines import by_engine, by_tree, overlap, tree_bounds, tree_rows
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact
from strategies import decompositions, epsilons, examples

import shufflebounds as sb
from shufflebounds import KRR, RAPPOR, Decomposition, HadamardResponse, Joint, subsample
from shufflebounds.divergence.atoms import atom_moments, recentred_atoms, tilts
from shufflebounds.divergence.fourier import single_bounds
from shufflebounds.divergence.law import law_at
from shufflebounds.divergence.nodes import (
    Nodes,
    after_draws,
    after_one_draw,
    log_bounds_of_draws,
    log_draw_of_first,
    positive_parts,
    root,
)


@given(st.data(), st.integers(1, 6), st.integers(0, 60))
@examples(60)
def test_whatever_may_be_spent_the_bounds_hold(data, n, most_work):
    """Nodes that were left open when the limit was met count as well."""
    decomposition = data.draw(decompositions())
    eps = data.draw(epsilons(decomposition))
    found = by_engine(partial(tree_rows, most_work=most_work), decomposition, eps, n)
    assert overlap(found, exact(decomposition, eps, n))


@given(st.integers(0, 2**32 - 1), st.integers(1, 10**6))
@examples(30)
def test_moments_of_every_tail_against_fifty_digits(seed, n):
    """log E e^{θH} of law j, its mean and R_j stay within what is claimed of them."""
    rng = np.random.default_rng(seed)
    c = 10.0 ** -rng.uniform(0.0, 9.0, 4)
    c *= rng.choice([0.5, 1.0 - 1e-12]) / c.sum()
    a, b = (c * np.exp(3.0 * rng.random(4)) for _ in "ab")
    g = law_at(Decomposition(a / a.sum(), b / b.sum(), c), 0.1)
    if not g.values.max() > 0.0:
        return
    atoms = recentred_atoms(g)
    if not atoms.values.max() > 0.0:
        return
    table = atom_moments(atoms, tilts(atoms, n))
    with mp.workdps(50):
        h = [mp.mpf(x) for x in atoms.values.tolist()]
        p = [mp.mpf(x) for x in atoms.masses.tolist()]
        for j in range(len(h) + 1):
            rest = 1 - mp.fsum(p[:j])
            centre = mp.fsum(q * x for q, x in zip(p[j:], h[j:], strict=True)) / rest
            assert abs(atoms.remaining[j] - rest) <= rest * atoms.remaining_err[j]
            assert abs(atoms.mean[j] - centre) <= atoms.mean_err[j]
            for t in range(0, table.theta.size, 5):
                for side, sign in enumerate((1, -1)):
                    z = sign * mp.mpf(float(table.theta[t]))
                    pairs = zip(p[j:], h[j:], strict=True)
                    k = mp.log1p(mp.fsum(q * mp.expm1(z * x) for q, x in pairs) / rest)
                    assert k <= table.upper[side, j, t]


def laid_out(seed, n):
    """A random law as the tree starts from it."""
    rng = np.random.default_rng(seed)
    atoms = recentred_atoms(a_law(rng))
    return rng, atoms, atom_moments(atoms, tilts(atoms, n)), root(atoms, n)


def within_errors(nodes, truths):
    """Whether each node has one of the given weights, by the number of draws and the value."""
    assert nodes.size == len(truths)
    for i in range(nodes.size):
        truth = truths[int(nodes.draws[i]), float(nodes.value[i])]
        assert abs(mp.log(truth) - nodes.log_weight[i]) <= nodes.weight_err[i]


@given(st.integers(0, 2**32 - 1), st.integers(2, 200))
@examples(40)
def test_nodes_have_the_weights_of_their_draws(seed, n):
    """After one draw of some atoms and several of another, in exact arithmetic."""
    rng, atoms, _, parents = laid_out(seed, n)
    end = int(rng.integers(1, atoms.size))
    is_drawn = rng.random((1, end)) < 0.7
    first = after_one_draw(parents, atoms, 0, end, is_drawn)
    limits = rng.integers(1, 5, first.size)
    second = after_draws(first, atoms, end, limits)
    with mp.workdps(50):
        p = [mp.mpf(x) for x in atoms.masses.tolist()]
        left = [1 - mp.fsum(p[:j]) for j in range(atoms.size + 1)]
        base = float(parents.value[0])
        once = {(n, base): left[end] ** n}
        for i in np.flatnonzero(is_drawn[0]):
            once[n - 1, base + float(atoms.values[i])] = n * p[i] * left[end] ** (n - 1)
        within_errors(first, once)
        truths = {}
        for i, limit in enumerate(limits.tolist()):
            draws, value = int(first.draws[i]), float(first.value[i])
            for k in range(min(limit - 1, draws) + 1):
                factor = mp.binomial(draws, k) * p[end] ** k * left[end + 1] ** (draws - k)
                key = draws - k, value + k * float(atoms.values[end])
                truths[key] = once[draws, value] * factor / left[end] ** draws
        within_errors(second, truths)


def a_law(rng):
    """The GPARV of four components of masses over some decades; it has a positive value."""
    while True:
        c = 10.0 ** -rng.uniform(0.0, 5.0, 4)
        c *= rng.choice([0.5, 1.0 - 1e-12]) / c.sum()
        a, b = (c * np.exp(3.0 * rng.random(4)) for _ in "ab")
        g = law_at(Decomposition(a / a.sum(), b / b.sum(), c), 0.1)
        if g.values.max() > 0.0 and recentred_atoms(g).values.max() > 0.0:
            return g


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
@examples(40)
def test_bounds_of_what_is_left_out_against_enumeration(seed, n):
    """What so many draws of an atom, or of the first atoms together, add; all in rationals."""
    _, atoms, table, parents = laid_out(seed, n)
    size = atoms.size
    p = [Fraction(x) for x in atoms.masses.tolist()]
    p.append(1 - sum(p))
    h = [*(Fraction(x) for x in atoms.values.tolist()), Fraction(0)]
    of_one, of_first = ([[Fraction(0)] * (n + 1) for _ in range(size)] for _ in range(2))
    for counts in histograms(n, size + 1):
        weight = Fraction(math.factorial(n))
        for x, k in zip(p, counts, strict=True):
            weight *= x**k / Fraction(math.factorial(k))
        total = n * Fraction(atoms.base) + sum(x * k for x, k in zip(h, counts, strict=True))
        worth = weight * max(total, Fraction(0))
        for i in range(size):
            for sums, count in ((of_one, counts[i]), (of_first, sum(counts[: i + 1]))):
                for k in range(count + 1):
                    sums[i][k] += worth
    for log_draw, sums in (
        (table.one_draw, of_one),
        (log_draw_of_first(table, slice(0, size)), of_first),
    ):
        for k in range(1, n + 1):
            bounds = log_bounds_of_draws(parents, atoms, table, 0, log_draw, k)[0]
            for i in range(size):
                assert math.isinf(bounds[i]) or sums[i][k] <= Fraction(math.exp(bounds[i]))
        none = log_bounds_of_draws(parents, atoms, table, 0, log_draw, n + 1)
        assert np.all(none == -np.inf)


def histograms(n, size):
    """All ways to distribute n draws over so many atoms."""
    if size == 1:
        yield (n,)
        return
    for k in range(n + 1):
        for others in histograms(n - k, size - 1):
            yield (k, *others)


@pytest.mark.parametrize(
    ("decomposition", "n", "delta"),
    [
        (subsample(KRR(10, 4.0).blanket(), 1e-6), 51, 1e-12),
        (subsample(RAPPOR(4.0).blanket(), 1e-5), 1025, 1e-12),
        (subsample(HadamardResponse(8.0).blanket(), 1e-5), 295, 1e-12),
        (Joint([KRR(256, 8.0)] * 4).blanket(), 10_000, 1e-8),
        (Joint([RAPPOR(6.0)] * 8).blanket(), 10**9, 1e-8),
        (Joint([KRR(10, 1.0)] * 16).blanket(), 10**5, 1e-8),
    ],
)
def test_what_used_to_fail_has_answers(decomposition, n, delta):
    assert sb.epsilon(decomposition, n=n, delta=delta).relative_width <= 1e-4


def test_weights_that_may_be_anything_claim_nothing():
    """Neither do they of a mean of 0, which no weight makes any larger."""
    one = np.ones(1)
    node = Nodes(one, one, 0.0 * one, -one, 1e4 * one)
    with np.errstate(all="raise", under="ignore"):
        assert positive_parts(node, one, 0.0 * one) == (0.0, np.inf)
        assert positive_parts(node, -one, 0.0 * one) == (0.0, 0.0)


@pytest.mark.parametrize("eps", [17.0, 32.6, 43.08, 52.5])
def test_one_draw_in_a_hundred_against_conditioning_on_their_number(eps):
    """What one draw makes up for lies many decades above what it misses by without one."""
    decomposition = subsample(Joint([sb.BLH(8.0)] * 8).dataset_pair(), 1e-4)
    n = 100
    g = law_at(decomposition, eps)
    values, masses = np.append(g.values, 0.0), np.append(g.masses, g.residual)
    base = int(np.argmax(masses))
    with mp.workdps(50):
        start, quiet = n * mp.mpf(values[base]), mp.mpf(masses[base])
        one = two = more = mp.mpf(0)
        others = [
            (mp.mpf(x) - mp.mpf(values[base]), mp.mpf(p))
            for i, (x, p) in enumerate(zip(values, masses, strict=True))
            if i != base
        ]
        moved = mp.fsum(p for _, p in others)
        for jump, p in others:
            one += n * quiet ** (n - 1) * p * max(start + jump, 0)
            # With a second one, and with more: at most what this one adds, for each of them.
            two += n * (n - 1) * quiet ** (n - 2) * moved * p * max(jump, 0)
            more += 3 * math.comb(n, 3) * moved**2 * p * max(jump, 0)
        scale = mp.mpf(2) ** g.exponent / n
        found = by_tree(decomposition, eps, n, 1e-3)
        assert found.upper >= scale * one * (1 - mp.mpf("1e-9"))
        assert found.lower <= scale * (one + two + more) * (1 + mp.mpf("1e-9"))
    assert found.relative_width <= 1e-3


@pytest.mark.parametrize("rtol", [1e-2, 1e-3])
def test_many_values_that_are_rare_one_by_one(rtol):
    """Ten draws of 153 values: some are drawn every time, none of them more often than not."""
    decomposition = subsample(Joint([KRR(k=10, eps0=0.5)] * 16).blanket(), 1e-4)
    eps, n = 1.509e-4, 100_000
    g = law_at(decomposition, eps)
    low, high = tree_bounds(g, n, rtol, 2000)
    assert high - low <= rtol
    assert overlap(sb.Enclosure(low, high), sb.Enclosure(*single_bounds(g, n, rtol)))


def test_values_of_zero_count_as_large_as_they_may_be():
    """At ε = 0 many components have a = b but for rounding, at c that are decades apart."""
    few = subsample(Joint([sb.BLH(8.0)] * 5).dataset_pair(), 1e-2)
    assert overlap(by_tree(few, 0.0, 2, 1e-3), exact(few, 0.0, 2))
    many = subsample(Joint([sb.BLH(8.0)] * 8).dataset_pair(), 1e-4)
    found = by_tree(many, 0.0, 100_000, 1e-3)
    assert found.relative_width <= 1e-3
    # D falls with n, and the distance of a and b is that of one user.
    assert found.lower <= float(np.maximum(many.a - many.b, 0.0).sum()) * (1.0 + 1e-9)
