"""The engines against 80-digit sums where large values are rare, for n up to 10¹⁵.

Laws of up to four components, with jumps of nine decades, rates of 10⁻²⁰, components that tell and
others that are nearly alike, c = 0, residuals of 0 or next to it, and ε at and beside the largest
loss. Where entries are uncertain the sums are those of decompositions that ``rel_err`` admits.
"""

import math

import mpmath as mp
import numpy as np
import pytest
from engines import by_tree, fourier, overlap, tree_bounds
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import examples

import shufflebounds as sb
from shufflebounds import Decomposition
from shufflebounds.core.enclosure import reached
from shufflebounds.divergence import engine as certified
from shufflebounds.divergence import tree
from shufflebounds.divergence.elementary import combine_bounds
from shufflebounds.divergence.law import law_at
from shufflebounds.divergence.series import ModeSums, mean_bounds
from shufflebounds.divergence.window import Window

SEEDS = st.integers(0, 2**63 - 1)
# Terms of a sum that a test can afford.
MOST_TERMS = 12_000


def at_most_one(c):
    """Masses next to `c` whose exact sum is at most 1."""
    while math.fsum([-1.0, *c.tolist()]) > 0.0:
        largest = int(np.argmax(c))
        c[largest] = np.nextafter(c[largest], 0.0)
    return c


def masses_of_few_users(rng):
    """Masses over many decades, of few enough components to enumerate histograms."""
    size = int(rng.integers(1, 5))
    n = int(rng.integers(1, (600, 33, 14, 9)[size - 1]))
    c = 10.0 ** -rng.uniform(0.0, rng.choice([0.5, 8.0, 60.0]), size)
    a, b = (10.0 ** -rng.uniform(0.0, rng.choice([0.5, 3.0, 20.0]), size) for _ in "ab")
    return a, b, c, n


def masses_of_rare_values(rng):
    """One or two rare components, drawn some times among all users, beside a likely one."""
    size = int(rng.integers(2, 4))
    n = int(10.0 ** rng.uniform(0.7, rng.choice([3.0, 6.0, 15.0])))
    draws = 10.0 ** rng.uniform(rng.choice([-20.0, -3.0]), rng.choice([0.0, 1.2]), size)
    c = np.minimum(draws / n, 0.3)
    c[-1] = 1.0
    a = c * 10.0 ** rng.uniform(0.0, rng.choice([0.3, 3.0, 9.0]), size)
    a[:-1] *= min(1.0, 0.9 / a[:-1].sum())
    a[-1] = max(1.0 - a[:-1].sum(), 0.05)
    b = a * np.exp(-rng.uniform(0.0, rng.choice([1e-3, 1.0, 12.0])) * rng.random(size))
    return a, b, c, n


def nasty_law(rng):
    """Arrays (a, b, c) and n."""
    a, b, c, n = (masses_of_few_users, masses_of_rare_values)[int(rng.random() < 0.7)](rng)
    size = a.size
    if rng.random() < 0.15:  # nearly alike
        b = a * (1.0 + 10.0 ** -rng.uniform(1.0, 16.0) * rng.choice([-1.0, 0.0, 1.0], size))
    for x in (a, b, c):
        if size > 1 and rng.random() < 0.1:
            x[rng.integers(size)] = 0.0
    a, b = a / a.sum(), b / b.sum()
    if rng.random() < 0.15:
        c = np.minimum(a, b)
    if rng.random() < 0.2:
        a, b = b, a
    if c.any():
        c = c / c.sum()
        style = rng.integers(4)
        if style == 0:
            c *= rng.uniform(0.01, 1.0)
        elif style == 1:
            c *= 1.0 - 10.0 ** -rng.uniform(1.0, 16.0)
        elif style == 2:
            c *= 10.0 ** -rng.uniform(0.0, 8.0)
        else:  # a residual of 0
            c = np.floor(c * 2.0**50) * 2.0**-50
            c[np.argmax(c)] += 1.0 - c.sum()
    return a, b, at_most_one(c), n


def losses(rng, a, b):
    """ε at 0, at a component's loss, beside the largest or anywhere below."""
    both = (a > 0.0) & (b > 0.0)
    logs = np.maximum(np.log(a[both] / b[both]), 0.0)
    largest = float(logs.max(initial=0.0))
    style = rng.integers(4)
    if style == 0:
        return 0.0
    if style == 1 and logs.size:
        return float(rng.choice(logs)) * (1.0 + rng.choice([-1, 1]) * 10.0 ** -rng.uniform(2, 17))
    if style == 2:
        return largest * (1.0 - 10.0 ** -rng.uniform(0.0, 16.0))
    return largest * rng.random() ** 3


def admitted(rng, decomposition):
    """Exact entries that the decomposition's floats may stand for; None if they sum to above 1."""
    kind, rel_err = rng.integers(3), mp.mpf(decomposition.rel_err)
    rows = []
    for x in (decomposition.a, decomposition.b, decomposition.c):
        share = (rng.choice([-1.0, 1.0], x.size), rng.uniform(-1.0, 1.0, x.size), 0.0 * x)[kind]
        rows.append([mp.mpf(v) * (1 + rel_err * s) for v, s in zip(x, share, strict=True)])
    c = rows[2]
    over, largest = mp.fsum(c) - 1, int(np.argmax(decomposition.c))
    if over > 0 or rng.random() < 0.3:  # a residual of exactly 0, if that may be
        filled = c[largest] - over
        if abs(filled - decomposition.c[largest]) <= rel_err * decomposition.c[largest]:
            c[largest] = filled
    return rows if mp.fsum(c) <= 1 else None


def multinomial_sum(values, masses, n, most):
    """Σ Pr (Σ h·value)₊, and the part with `most` draws of an atom that may have more of them.

    The likeliest atom has what the others leave of n.
    """
    base, *others = sorted(zip(masses, values, strict=True), key=lambda atom: -atom[0])
    total = edge = mp.mpf(0)
    layers = [(n, base[0] ** n, n * base[1], False)]
    for (mass, value), limit in zip(others, most, strict=True):
        grown = []
        for left, weight, start, at_edge in layers:
            for k in range(min(limit, left) + 1):
                last = at_edge or (k == limit < left)
                grown.append((left - k, weight, start + k * (value - base[1]), last))
                weight *= mass / base[0] * (left - k) / (k + 1)
        layers = grown
    for _, weight, start, at_edge in layers:
        if start > 0:
            total += weight * start
            edge += weight * start if at_edge else 0
    return total, edge


def divergence_between(a, b, c, eps, n):
    """Bounds of D(ε) a hair apart, the upper one infinite where a tail is not small; or None."""
    growth = mp.exp(mp.mpf(eps))
    excess = [x - growth * y for x, y in zip(a, b, strict=True)]
    alone = mp.fsum(max(x, 0) for x, z in zip(excess, c, strict=True) if z == 0)
    values = [x / z for x, z in zip(excess, c, strict=True) if z > 0]
    masses = [z for z in c if z > 0]
    if sum(masses) < 1:
        values, masses = [*values, mp.mpf(0)], [*masses, 1 - mp.fsum(masses)]
    if max(values) <= 0:
        return alone, alone
    means = [float(n * mass) for mass in sorted(masses, reverse=True)[1:]]
    most = [min(n, int(mean + 26 + 9.0 * math.sqrt(mean))) for mean in means]
    found = before = None
    while math.prod(k + 1 for k in most) <= MOST_TERMS:
        total, edge = multinomial_sum(values, masses, n, most)
        found, hair = alone + total / n, mp.mpf(10) ** -30
        if all(k == n for k in most):
            return found * (1 - hair), found * (1 + hair)
        # Few gains may do where there are more draws of a small loss: not told by the edge.
        missed = mp.inf if before is None else 3 * edge + total - before
        if 0 < total >= mp.mpf(10) ** 12 * missed:
            return found * (1 - hair), found * (1 + hair) + missed / n
        before, more = total, 1.5 if total > mp.mpf(10) ** 12 * edge else 4
        most = [min(n, math.ceil(more * k)) for k in most]
    return (found * (1 - mp.mpf(10) ** -30), mp.inf) if found else None


@pytest.mark.parametrize("engine", [fourier, by_tree, certified.divergence])
@given(
    SEEDS, st.sampled_from([0.0, 0.0, 2.0**-53, 1e-13, 1e-6]), st.sampled_from([0.1, 1e-4, 1e-9])
)
@examples(60)
def test_rare_values_against_eighty_digits(engine, seed, rel_err, rtol):
    rng = np.random.default_rng(seed)
    a, b, c, n = nasty_law(rng)
    decomposition = Decomposition(a, b, c, rel_err=rel_err)
    eps = losses(rng, a, b)
    with mp.workdps(80):
        rows = admitted(rng, decomposition)
        truth = rows and divergence_between(*rows, eps, n)
        assume(truth)
        found = engine(decomposition, eps, n, rtol)
        assert found.lower <= truth[1]
        assert found.upper >= truth[0]


# Extreme values of what steers the tree.
CHOICES = {
    "MAX_TAME_DEVIATIONS": (0.0, 1e9),
    "BLOCK_ATOMS": (1, 64),
    "MAX_DRAWS": (1, 2**12),
    "STEP_SHARE": (0.0, 0.9),
    "LEAF_WORK": (0, 10**9),
}


@given(
    SEEDS,
    st.sampled_from(sorted(CHOICES)),
)
@examples(40)
def test_no_choice_of_the_tree_affects_validity(seed, name):
    """No leaves or only leaves, no atoms or all left out at once."""
    rng = np.random.default_rng(seed)
    a, b, c, n = nasty_law(rng)
    decomposition, eps = Decomposition(a, b, c), losses(rng, a, b)
    with mp.workdps(80), pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, name, CHOICES[name][rng.integers(2)])
        truth = divergence_between(*([mp.mpf(v) for v in x] for x in (a, b, c)), eps, n)
        assume(truth)
        found = by_tree(decomposition, eps, n, 1e-4)
        assert found.lower <= truth[1]
        assert found.upper >= truth[0]


@given(SEEDS)
@examples(4)
def test_arrays_and_single_points_against_eighty_digits(seed):
    rng = np.random.default_rng(seed)
    a, b, c, n = nasty_law(rng)
    decomposition = Decomposition(a, b, c)
    eps = [losses(rng, a, b) for _ in range(3)]
    found = [*reached(lambda: sb.delta(decomposition, eps, n))]
    found += [reached(lambda one=one: sb.delta(decomposition, one, n)) for one in eps]
    with mp.workdps(80):
        rows = [[mp.mpf(v) for v in x] for x in (a, b, c)]
        for i, one in enumerate(eps):
            sides = [divergence_between(*pair, rows[2], one, n) for pair in (rows[:2], rows[1::-1])]
            assume(all(sides))
            for enclosure in found[i::3]:
                assert enclosure.lower <= max(side[1] for side in sides)
                assert enclosure.upper >= max(side[0] for side in sides)


@given(SEEDS, st.floats(-12.0, -1.0))
@examples(4)
def test_losses_against_eighty_digits(seed, log_delta):
    """D is at most δ at the upper end and at least δ at the lower one, for an array and alone."""
    rng = np.random.default_rng(seed)
    a, b, c, n = nasty_law(rng)
    decomposition, deltas = Decomposition(a, b, c), [10.0**log_delta, 10.0 ** (0.5 * log_delta)]
    found = [*reached(lambda: sb.epsilon(decomposition, n, deltas))]
    found += [reached(lambda one=one: sb.epsilon(decomposition, n, one)) for one in deltas]
    with mp.workdps(80):
        rows = [[mp.mpf(v) for v in x] for x in (a, b, c)]

        def largest(eps, end):
            sides = [divergence_between(*p, rows[2], eps, n) for p in (rows[:2], rows[1::-1])]
            assume(all(sides))
            return max(side[end] for side in sides)

        for i, enclosure in enumerate(found):
            if enclosure.upper < math.inf:
                assert largest(enclosure.upper, 0) <= deltas[i % 2]
            if 0.0 < enclosure.lower < math.inf:
                assert largest(enclosure.lower, 1) >= deltas[i % 2]


@pytest.mark.parametrize(
    ("a", "b", "c", "eps", "n", "rel_err"),
    [
        ([5.1e-6], [3.5e-7], [1.4e-9, 0.275], 0.0, 5_811_598, 1e-6),
        ([0.00605869911636639], [0.00603635732634238], [5.6e-6, 0.744], 0.0037, 140, 1e-9),
        ([1e-22], [0.0], [3.2e-27, 0.656], 0.0, 1_433_235_285_235, 1e-13),
    ],
)
def test_wide_first_bounds_do_not_stop_the_fourier_engine(a, b, c, eps, n, rel_err):
    """What a first pass knew only an absurd upper bound of once left no window at all."""
    a, b = ([*x, 1.0 - x[0]] for x in (a, b))
    decomposition = Decomposition(a, b, c, rel_err=rel_err)
    one, two = fourier(decomposition, eps, n), by_tree(decomposition, eps, n)
    assert overlap(one, two)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("place", range(4))
def test_what_is_no_number_bounds_nothing(bad, place):
    """max(0, NaN) is 0 in Python, and an upper end of 0 the worst that could come of it."""
    window = Window(1.0, 1.0, 1.0, 8, 0.0, 0.0, 0.0, 1e-9)
    sums = ModeSums(*(bad if i == place else 1.0 for i in range(4)))
    assert mean_bounds(sums, window)[:2] == (-math.inf, math.inf)
    ends = [math.nan if i == place else 0.5 for i in range(4)]
    assert combine_bounds(ends[:2], ends[2:], (-math.inf, math.inf), 7) == (0.0, math.inf)
    assert combine_bounds((0.0, 0.0), (0.0, 0.5), (math.nan, math.nan), 7) == pytest.approx(
        (0.0, 0.5)
    )


def test_nothing_is_attempted_where_what_is_left_is_hardly_known():
    """A thousand components as likely as a residual that may be anything from 0 to twice itself."""
    rng = np.random.default_rng(0)
    c = np.full(1000, 0.999e-3)
    a, b = (c * np.exp(2.0 * rng.random(c.size)) for _ in "ab")
    decomposition = Decomposition(a / a.sum(), b / b.sum(), c, rel_err=9.9e-4)
    assert tree_bounds(law_at(decomposition, 0.1), 50, 0.01, 2000) == (-math.inf, math.inf)
