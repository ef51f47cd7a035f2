"""The Laplace mechanism's two decompositions against its densities."""

import itertools
import math

import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from mpmath import mpf
from scipy.stats import laplace

import shufflebounds as sb
from shufflebounds.questions.intervals import has_affordable_suprema
from shufflebounds.subjects.base import Shuffle
from shufflebounds.subjects.reports import source_of

EPS0 = [0.1, 1.0, 4.0]


def density(eps0, x):
    return lambda y: eps0 / 2.0 * math.exp(-eps0 * abs(y - x))


def cell_borders(eps0, cells):
    """The reports y where log R(0)/R(1) = ε₀(1 − 2y) is a multiple of ε₀/cells, descending."""
    return [(1 - mpf(i) / cells) / 2 for i in range(-cells, cells + 1)]


def exact_bins(eps0, cells):
    """Masses of the atoms y ≥ 1, y ≤ 0 and the cells between under R(0), R(1) and their minimum.

    From the distribution functions at the working precision. Either density is the smaller one on
    the other's half.
    """
    e0 = mpf(eps0)

    def below(y, x):
        return mpmath.exp(e0 * (y - x)) / 2 if y <= x else 1 - mpmath.exp(-e0 * (y - x)) / 2

    borders = [mpf("inf"), *cell_borders(eps0, cells), mpf("-inf")]
    bins = []
    for right, left in itertools.pairwise(borders):
        zero, one = (below(right, x) - below(left, x) for x in (0, 1))
        bins.append((zero, one, one if right <= 0.5 else zero))
    return bins


def exact_spread(eps0, cells):
    """Every bin (but the atoms) split between the ratios at its ends, sums of a and b kept."""
    first, *bins, last = exact_bins(eps0, cells)
    ends = [list(first), *([mpf(0)] * 3 for _ in range(2 * cells - 1)), list(last)]
    ratios = [mpmath.exp(mpf(eps0) * i / cells) for i in range(-cells, cells + 1)]
    for i, (a, b, _) in enumerate(bins):
        lower, upper = ratios[i], ratios[i + 1]
        at_upper = (a - lower * b) / (upper - lower)
        for end, ratio, share in ((i, lower, b - at_upper), (i + 1, upper, at_upper)):
            for k, mass in enumerate((ratio * share, share, min(ratio, 1) * share)):
                ends[end][k] += mass
    return ends


def assert_accurate(decomposition, exact):
    assert len(decomposition) == len(exact)
    entries = zip(decomposition.a, decomposition.b, decomposition.c, strict=True)
    worst = max(
        abs(mpf(float(got)) / want - 1)
        for component, expected in zip(entries, exact, strict=True)
        for got, want in zip(component, expected, strict=True)
    )
    assert worst <= decomposition.rel_err


@pytest.mark.parametrize(
    ("eps0", "cells"),
    [*itertools.product([1e-6, 0.1, 1.0, 4.0, 50.0, 300.0], [1, 2, 13, 50]), (4.0, 1000)],
)
def test_masses_keep_their_promise_of_accuracy(eps0, cells):
    """Reports on 1/2 are e^{ε₀/2} times as likely as the less likely of those on 0 and 1."""
    laplace = sb.Laplace(eps0, cells)
    blanket, pair = laplace.blanket(), laplace.dataset_pair()
    middle = interval(eps0, cells).dataset_pair()
    # Differences of distribution functions cancel down to e^{−ε₀}.
    with mpmath.workdps(50 + int(eps0)):
        bins, spread = exact_bins(eps0, cells), exact_spread(eps0, cells)
        assert_accurate(blanket.inner, bins)
        assert_accurate(blanket, spread)
        assert_accurate(pair, [(a, b, b) for a, b, _ in bins])
        assert_accurate(pair.outer, [(a, b, b) for a, b, _ in spread])
        grown = mpmath.exp(mpf(eps0) / 2)
        assert_accurate(middle, [(a, b, c * grown) for a, b, c in bins])
        assert_accurate(middle.outer, [(a, b, c * grown) for a, b, c in spread])


def sublinear_sum(forms, a, b, c):
    """Σ max over the rows (α, β, γ) of `forms` of αa + βb + γc: convex, homogeneous."""
    return float(np.max(forms @ np.stack([a, b, c]), axis=0).sum())


def true_law(eps0, points=20_000):
    """The report's masses a and b: its two atoms and a midpoint rule so fine that it is the law."""
    y = (np.arange(points) + 0.5) / points
    atoms = np.array([0.5, 0.5 * math.exp(-eps0)])
    return (
        np.append(eps0 / 2.0 * np.exp(-eps0 * y) / points, atoms),
        np.append(eps0 / 2.0 * np.exp(-eps0 * (1.0 - y)) / points, atoms[::-1]),
    )


TRUE_LAW = {eps0: true_law(eps0) for eps0 in EPS0}


@settings(deadline=None, max_examples=150)
@example(eps0=4.0, cells=1, forms=[(1.0, -1.0, 0.0), (0.0, 0.0, 0.0)])
@given(
    eps0=st.sampled_from(EPS0),
    cells=st.integers(1, 12),
    forms=st.lists(st.tuples(*[st.floats(-1.0, 1.0)] * 3), min_size=1, max_size=6),
)
def test_binning_is_below_and_spreading_above_the_truth(eps0, cells, forms):
    """As a function of one user's component, the divergence for n users is such a sum (or a limit
    of such): convex and homogeneous in (a, b, c).
    """
    forms = np.array(forms)
    a, b = TRUE_LAW[eps0]
    laplace = sb.Laplace(eps0, cells)
    for decomposition, c in ((laplace.blanket(), np.minimum(a, b)), (laplace.dataset_pair(), b)):
        below, above = decomposition.bounds()
        truth = sublinear_sum(forms, a, b, c)
        # The midpoint rule is good to (ε₀/20 000)².
        assert sublinear_sum(forms, below.a, below.b, below.c) <= truth + 1e-7
        assert sublinear_sum(forms, above.a, above.b, above.c) >= truth - 1e-7


# The domain [0, 1], where all others may hold 1/2.


def interval(eps0, cells=None, others=0.5):
    return sb.Laplace(eps0, cells, domain="interval", others=others)


def excess(eps0, p, v, q, w, t):
    """∫ (pR(v) − qR(w) − tc)₊: both ends are atoms of the ratios, the middle is summed finely."""
    y = np.concatenate([[0.0], (np.arange(20_000) + 0.5) / 20_000, [1.0]])
    width = np.full(y.size, eps0 / 40_000)
    width[[0, -1]] = 0.5
    a, b, zero, one = (width * np.exp(-eps0 * np.abs(y - x)) for x in (v, w, 0.0, 1.0))
    return float(np.maximum(p * a - q * b - t * np.minimum(zero, one), 0.0).sum())


@given(
    st.floats(0.2, 5.0),
    *[st.floats(0.0, 1.0)] * 2,
    st.floats(0.0, 3.0),
    st.floats(0.0, 3.0),
    st.floats(-1.0, 1.0),
)
def test_0_and_1_are_the_worst_inputs_of_the_interval(eps0, v, w, p, q, t):
    """docs/proofs/engine.md, section 10: pR(v)/c − qR(w)/c grows in the convex order."""
    t *= max(p, q) * math.exp(eps0)
    assert excess(eps0, p, v, q, w, t) <= excess(eps0, p, 0.0, q, 1.0, t) + 1e-6


def test_either_choice_of_others_is_a_lower_bound():
    for eps0 in EPS0:
        pairs = sb.Laplace(eps0, domain="interval").dataset_pairs()
        assert list(pairs) == ["1", "1/2"]
        blanket = sb.epsilon(sb.Laplace(eps0, domain="interval").blanket(), 1000, 1e-6)
        for others, name in ((1, "1"), (0.5, "1/2")):
            (pair,) = interval(eps0, None, others).dataset_pairs().items()
            assert pair[0] == name
            found = sb.epsilon(pair[1], 1000, 1e-6)
            assert found == sb.epsilon(pairs[name], 1000, 1e-6)
            assert found.upper < blanket.lower


# Numbers that are rounded at random. Witnesses are SciPy's distribution functions.


def bins(eps0, x, borders):
    """Masses of a report on x between borders, and beyond the first and the last."""
    return np.diff(laplace.cdf([-np.inf, *borders, np.inf], loc=x, scale=1.0 / eps0))


@pytest.mark.parametrize("steps", [2, 3, 8])
def test_rounded_numbers_are_post_processed_ends_of_cells(steps):
    """Half of what lies at an end of a cell goes to either side, whatever the input is."""
    randomizer = sb.Laplace(3.0, 5, domain="rounded", steps=steps)
    (widest, *_) = randomizer.crowds()
    cells = widest.a.size - 1
    half = math.tanh(3.0 / (2 * cells)) / (1.0 + math.tanh(3.0 / (2 * cells)))
    assert cells % steps == 0
    assert list(widest.others) == [f"{i / steps:g}" for i in range(steps + 1)]
    for i, held in enumerate(widest.others.values()):
        inside = 0.5 * held.law
        inside[[0, -1]] = half * held.law[[0, -1]]
        found = [held.law[-1] - inside[-1], *(inside[:-1] + inside[1:])[::-1], 0.0]
        found[-1] = held.law[0] - inside[0]
        expected = bins(3.0, i / steps, np.linspace(0.0, 1.0, cells + 1))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("eps0", "n"), [(1.0, 10**4), (4.0, 10**3), (6.0, 10**5)])
def test_rounded_numbers_are_bounded_whatever_pair_and_others_hold(eps0, n):
    best = sb.epsilon(sb.Laplace(eps0, domain="rounded", steps=4), n=n, delta=1e-6)
    laws = [bins(eps0, i / 4, np.linspace(0.0, 1.0, 65)) for i in range(5)]
    attained = [
        sb.epsilon(sb.Decomposition(laws[x], laws[y], laws[z]), n=n, delta=1e-6).lower
        for x, y, z in itertools.product(range(5), repeat=3)
        if x < y
    ]
    assert 0.99 * best.upper < max(attained) <= best.upper
    assert best.upper < sb.epsilon(sb.Laplace(eps0).blanket(), n=n, delta=1e-6).lower


def test_no_dataset_of_few_users_exceeds_the_bound_for_rounded_numbers():
    matrix = [bins(2.0, x, [0.0, 0.5, 1.0]) for x in (0.0, 0.5, 1.0)]
    randomizer = sb.Laplace(2.0, domain="rounded", steps=2)
    for n, eps in ((2, 0.5), (5, 0.2), (12, 1.0)):
        worst = sb.worst_dataset(sb.MatrixRandomizer(matrix), n, eps=eps)
        assert worst.enclosure.lower <= sb.delta(randomizer, eps=eps, n=n).upper


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"eps0": 301.0}, "eps0 must be a finite number with 0 < eps0 <= 300, got 301.0"),
        ({"cells": 2.0}, "cells must be an integer from 1 to .*, got 2.0"),
        ({"domain": "real"}, "domain must be one of binary, interval, rounded, got 'real'"),
        ({"steps": 4}, "steps is only valid for the rounded domain, got 4 on binary"),
        ({"steps": 33, "domain": "rounded"}, "steps must be an integer from 1 to 32, got 33"),
        ({"domain": ["binary"]}, "domain must be one of binary, interval, rounded, got "),
        ({"others": 0.5}, "others must be 1 on the binary domain, got 0.5"),
        ({"others": 0.25, "domain": "interval"}, "others must be 1 or 0.5 on the interval domain"),
        ({"others": "1/2", "domain": "interval"}, "others must be a finite number, got '1/2'"),
        ({"others": math.nan, "domain": "interval"}, "others must be a finite number, got nan"),
    ],
)
def test_mistakes_are_told_in_a_sentence(given, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        sb.Laplace(**{"eps0": 1.0} | given)


@pytest.mark.parametrize(
    ("steps", "note"),
    [
        (1, ""),
        (2, "For six or more linked reports"),
        (3, "Over several rounds"),
        (None, "Over several"),
    ],
)
def test_a_caveat_is_about_the_steps_that_are_asked_for(steps, note):
    """The bound for all datasets is tried in the questions that the caveat leaves out."""
    R = sb.Laplace(1.0, domain="rounded", steps=steps)
    assert R.caveat.startswith(note)
    assert bool(R.caveat) == bool(note)
    assert f"with steps {R.steps}; steps 1 " in R.caveat or not note
    assert is_tried(R) == (R.steps <= 3)
    assert is_tried(sb.Joint([R] * 6)) == (R.steps == 1)


def is_tried(randomizer):
    return has_affordable_suprema(Shuffle(source_of(randomizer), 10_000))
