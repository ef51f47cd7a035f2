"""The certified engine against enumeration, binomial sums and 50-digit arithmetic."""

import math
from functools import partial

import mpmath as mp
import numpy as np
import pytest
from engines import by_engine, fourier, overlap
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact
from strategies import decompositions, examples

from shufflebounds import KRR, RAPPOR, Decomposition, Joint, epsilon, standard_clone, subsample
from shufflebounds.divergence import characteristic as characteristic_module
from shufflebounds.divergence.characteristic import TiltedLaws, characteristic
from shufflebounds.divergence.convex_order import compress
from shufflebounds.divergence.fourier import fourier_bounds, single_bounds
from shufflebounds.divergence.law import Law, law_at, log_mgf, tilt
from shufflebounds.divergence.saddlepoint import tilting_point
from shufflebounds.divergence.series import log_sizes, series_terms


@pytest.mark.parametrize("n", [20, 60])
@pytest.mark.parametrize("eps0", [0.01, 1.0, 5.0])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0 - 1e-12])
def test_dozens_of_users_against_enumeration(n, eps0, share):
    clone = standard_clone(eps0)
    clone = Decomposition(clone.a, clone.b, clone.c)
    found = fourier(clone, share * eps0, n, 1e-3)
    oracle = exact(clone, share * eps0, n)
    assert overlap(found, oracle)
    assert found.relative_width <= 1e-3 or share > 0.999


def exact_law(g):
    """A law as 50-digit numbers, the residual atom last.

    Masses that sum to more than 1 by rounding stand for others that do not, within `mass_err`.
    """
    values = [mp.mpf(x) for x in g.values.tolist()] + [mp.mpf(0)]
    masses = [mp.mpf(x) for x in g.masses.tolist()]
    total = max(mp.mpf(1), mp.fsum(masses))
    masses = [x / total for x in masses]
    return values, [*masses, max(mp.mpf(0), 1 - mp.fsum(masses))]


@given(st.floats(-30.0, 30.0), st.floats(-9.0, 2.0).map(lambda x: 10.0**x), st.integers(0, 999))
@examples(100)
def test_cumulant_errors_for_any_tilt(theta, eps0, seed):
    rng = np.random.default_rng(seed)
    c = 10.0 ** -rng.uniform(0.0, 40.0, 3)
    c /= c.sum()
    a, b = c * np.exp(eps0 * rng.random(3)), c[::-1] * np.exp(eps0 * rng.random(3))
    c *= 0.999 * rng.choice([0.3, 1.0])
    g = law_at(Decomposition(a / a.sum(), b / b.sum(), c), 0.5 * eps0)
    (found,), (err,) = log_mgf(g, np.array([theta]))
    with mp.workdps(400):
        values, masses = exact_law(g)
        truth = mp.log(mp.fsum(p * mp.exp(theta * x) for p, x in zip(masses, values, strict=True)))
    assert math.isinf(err) or abs(truth - found) <= err


@pytest.mark.parametrize("cells", [10, 40])
@pytest.mark.parametrize("seed", range(4))
def test_compression_bounds_from_both_sides(cells, seed):
    """Fewer values, but a law that is never above or never below; against the law itself."""
    rng = np.random.default_rng(seed)
    c = rng.dirichlet(np.ones(400))
    a, b = (c * np.exp(rng.uniform(0.0, 2.0, 400)) for _ in "ab")
    decomposition = Decomposition(a / a.sum(), b / b.sum(), 0.7 * c)
    g = law_at(decomposition, 0.2)
    below, above = compress(g, tilt(g, tilting_point([(g, 1000)])).weights, cells)
    assert max(below.values.size, above.values.size) <= cells + 1

    def tail_means(one):
        levels = np.linspace(-3.0, 1.0, 200)
        return np.maximum(one.values - levels[:, None], 0.0) @ one.masses

    # Increasing convex order, which is what n-fold sums inherit.
    slack = 1e-12
    assert np.all(tail_means(below) <= tail_means(g) + slack)
    assert np.all(tail_means(g) <= tail_means(above) + slack)
    assert np.max(tail_means(above) - tail_means(below)) < 0.5 / cells


def all_draws(decomposition, eps, n):
    """D(ε) over all ordered draws of n values, in plain floats."""
    values, masses = decomposition.gparv(eps)
    sums, weights = np.zeros(1), np.ones(1)
    for _ in range(n):
        sums = np.add.outer(sums, values).ravel()
        weights = np.multiply.outer(weights, masses).ravel()
    return float(np.maximum(sums, 0.0) @ weights) / n


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(400, 2), (70, 3), (25, 4)]),
    st.floats(-3.0, 1.0).map(lambda x: 10.0**x),
    st.floats(0.0, 0.99),
    st.sampled_from([0.1, 1e-2, 1e-3]),
    st.sampled_from([0.3, 1.0 - 1e-9]),
)
@examples(60)
def test_compression_for_few_users_against_all_draws(seed, size, spread, share, rtol, sure):
    """Where few values make up S, compression gains least, and more cells have to be tried."""
    components, n = size
    rng = np.random.default_rng(seed)
    c = rng.dirichlet(np.full(components, 0.3)) + 1e-12
    a, b = (c * np.exp(spread * rng.uniform(0.0, 1.0, components) ** 3) for _ in "ab")
    decomposition = Decomposition(a / a.sum(), b / b.sum(), sure * c / c.sum())
    eps = max(0.0, share * float(np.log(decomposition.a / decomposition.b).max()))
    found, truth = fourier(decomposition, eps, n, rtol), all_draws(decomposition, eps, n)
    assert found.lower <= truth * (1.0 + 1e-10)
    assert found.upper >= truth * (1.0 - 1e-10)


def test_a_law_whose_tilt_is_out_of_range_is_bounded_all_the_same():
    """Masses of 1e-136 beside others of 1, and more components than cells."""
    rare, common = KRR(k=3, eps0=2.0).blanket(), KRR(k=2, eps0=0.1).blanket()
    weight = 3.1407658633824305e-136
    arrays = (np.append(weight * getattr(rare, x), getattr(common, x)) for x in "abc")
    decomposition = Decomposition(*arrays, rel_err=1e-15)
    found = fourier(decomposition, 1.0, 300, 1e-4)
    assert 0.0 <= found.lower <= found.upper
    assert found.upper <= fourier(decomposition, 1.0, 1, 1e-4).upper < 1e-135


def test_smallest_divergences_keep_their_precision():
    found = fourier(KRR(k=10, eps0=4.0).blanket(), 2.9, 10_000, 1e-4)
    assert 0.0 < found.upper < 1e-100
    assert found.relative_width <= 1e-4


@pytest.mark.parametrize(
    ("a", "b", "c", "eps", "n"),
    [
        # Values far below 0 that their uncertainty may lift above it.
        ([0.5366878012588852], [0.04261852815296795], [1e-130, 1e-130], 2.533127457875143, 3),
        # A tilted mean that no other draw balances.
        ([1e-20], [1e-30], [1e-17, 1.0], 1.0, 4),
        # Values beyond the fourth root of the largest float.
        ([0.5], [1.0 - 1e-80], [0.1, 0.8], 183.33, 5),
        # One mode more than the stretches cover.
        ([1e-90], [0.5], [0.9, 0.1], 0.0, 6),
    ],
)
def test_extreme_values(a, b, c, eps, n):
    a, b = ([x[0], 1.0 - x[0]] for x in (a, b))
    decomposition = Decomposition(a, b, c)
    assert overlap(fourier(decomposition, eps, n, 1e-3), exact(decomposition, eps, n))
    assert (
        fourier(decomposition, eps, 10**6, 1e-3).upper <= exact(decomposition, eps, n).upper + 1e-14
    )


def test_every_decomposition_within_the_uncertainty_is_covered():
    """A residual that may be 0 or not, and ratios that may lie on either side of e^ε."""
    given = ([0.00447342159195143, 0.9955265784080485], [0.001, 0.999], [0.02, 0.98])
    uncertain = Decomposition(*given, rel_err=1e-4)
    a, b, c = given
    possible = Decomposition(a, b, [x * (1.0 - 0.99e-4) for x in c])
    assert overlap(fourier(uncertain, 1.0, 50, 0.1), exact(possible, 1.0, 50))

    r = 9.9e-4
    ratio = 1.0 + 2.0 * r + 0.02 * r * r + 4e-9
    a, b, c = [0.499, 1e-5, 0.50099], [0.499 / ratio, 0.0, 1.0 - 0.499 / ratio], [0.9, 0.05, 0.0]
    uncertain = Decomposition(a, b, c, rel_err=r)
    f = (1.0 - 1e-7) * r
    first, second = a[0] * (1.0 - f), b[0] * (1.0 + f)
    possible = Decomposition([first, a[1], 1.0 - first - a[1]], [second, 0.0, 1.0 - second], c)
    assert overlap(fourier(uncertain, 0.0, 50, 0.1), exact(possible, 0.0, 50))


def test_a_window_with_one_last_mode():
    blanket = RAPPOR(eps0=0.20615992898587865, domain_size=5).blanket()
    coarse = fourier(blanket, 1.179397945549451e-08, 1152, 0.02276075879927849)
    assert overlap(coarse, fourier(blanket, 1.179397945549451e-08, 1152, 1e-5))


def test_a_power_that_is_all_error_counts_as_nothing():
    """A modulus above 1 by less than its error, so often multiplied that the bound overflows."""
    off, t, n = np.array([1e-3]), np.zeros(1), 400_000.0
    parts = [(off + 0j, off)]
    log_bound = log_sizes(parts, [n], t)
    _, _, density, density_err = series_terms(parts, [n], log_bound, t, 1.0, 1e-6)
    # The truth is at most 1 in modulus.
    assert abs(density[0]) + 1.0 <= density_err[0] * (1.0 + 1e-9) <= 2.0 * (1.0 + 1e-8)


@given(
    st.integers(2, 5),
    st.floats(-6.0, 1.2).map(lambda x: 10.0**x),
    st.integers(0, 10**6),
    st.integers(1, 30),
    st.floats(-9.0, 2.0).map(lambda x: 10.0**x),
    st.randoms(use_true_random=False),
)
@examples(100)
def test_characteristic_functions_against_fifty_digits(size, eps0, first, count, scale, random):
    """φ − 1 from products of matrices stays within the errors that are claimed for it."""
    c = np.array([random.random() ** 3 + 1e-6 for _ in range(size)])
    a, b = (c * np.exp([eps0 * random.choice([0.0, 0.5, 1.0]) for _ in c]) for _ in "ab")
    decomposition = Decomposition(a / a.sum(), b / b.sum(), 0.9 * c / c.sum())
    g = law_at(decomposition, 0.3 * eps0)
    if not g.values.max() > 0.0:
        return
    users = np.array(1e6)
    point = TiltedLaws.of(g, users, tilting_point([(g, users)]))
    step = float(np.float32(scale))  # so few digits that all multiples are exact
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(characteristic_module, "BLOCK", random.choice([16, 2**16]))
        away, err = characteristic(point, step, first, count)
    with mp.workdps(50):
        values, masses = exact_law(g)
        theta = mp.mpf(float(point.theta))
        weights = [p * mp.exp(theta * x) for p, x in zip(masses, values, strict=True)]
        moment = mp.fsum(weights)
        for k, (found, slip) in enumerate(zip(away.tolist(), err.tolist(), strict=True)):
            # cos − 1 would lose the digits at small angles.
            terms = [
                w * mp.expm1(mp.mpc(0, mp.mpf((first + k) * step) * x))
                for w, x in zip(weights, values, strict=True)
            ]
            assert abs(mp.fsum(terms) / moment - mp.mpmathify(found)) <= slip


def test_a_value_of_nearly_all_mass_keeps_its_place_in_compressed_laws():
    """Were it moved by the width of a cell, n draws would move S by far more than its deviation."""
    pair = Joint([RAPPOR(eps0=0.1)] * 16).dataset_pair()
    g, n, rtol = law_at(subsample(pair, 1e-4), 2.592e-7), 10**9, 0.04
    weights = tilt(g, tilting_point([(g, n)])).weights
    below, above = (single_bounds(law, n, 0.25 * rtol) for law in compress(g, weights, 120))
    assert above[1] - below[0] <= rtol
    low, high = single_bounds(g, n, rtol)
    assert below[0] <= high
    assert low <= above[1]


def test_a_power_that_underflows_says_nothing_of_its_error():
    """Its size would be 0, times any factor, while the truth may be as large as e^{−40}."""
    away, off, t, n = np.array([math.expm1(-746e-6)]), np.array([706e-6]), np.zeros(1), 1e6
    parts = [(away + 0j, off)]
    log_bound = log_sizes(parts, [n], t)
    value, _, _, density_err = series_terms(parts, [n], log_bound, t, 1.0, 0.0)
    assert value[0] == 0.0
    assert density_err[0] >= math.exp(log_bound[0]) > 1e-18


def test_a_target_close_to_what_nobody_hides_is_reached():
    """An output that only one input has adds its mass to every D, and δ may be just above it."""
    blanket, shown = KRR(k=3, eps0=2.0).blanket(), 2.0**-20
    a, b, c = (x * (1.0 - shown) for x in (blanket.a, blanket.b, blanket.c))
    both = Decomposition([*a, shown, 0.0], [*b, 0.0, shown], [*c, 0.0, 0.0], 1e-15)
    found = epsilon(both, 10_000, shown * (1.0 + 1e-4))
    assert found.relative_width <= 1e-4
    # It is the ε of what others hide, at what is left of δ.
    hidden = epsilon(blanket, 10_000, 1e-4 * shown / (1.0 - shown))
    assert overlap(found, hidden)


@given(st.data(), st.integers(1, 6), st.floats(0.0, 1.0))
@examples(60)
def test_where_an_upper_bound_is_enough_it_holds(data, n, eps):
    """Chernoff's bound is all there is if every E[S₊] is small enough."""
    decomposition = data.draw(decompositions())
    small_enough = partial(fourier_bounds, enough=np.array([np.inf]))
    assert (
        exact(decomposition, eps, n).lower <= by_engine(small_enough, decomposition, eps, n).upper
    )


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("far", [1e-9, 1e-3, 0.5])
def test_masses_of_which_only_a_bound_is_known(share, far):
    """The characteristic function of laws that have any share of it, against 50 digits."""
    values, masses = np.array([0.7, -0.2, far]), np.array([0.3, 0.2, 1e-6])
    vague = Law(
        values, masses, np.array(0), np.zeros(3), np.array([0.0, 0.0, 1.02]), 0.499999, 1.1e-6
    )
    point = TiltedLaws.of(vague, np.array(1.0), np.array(1.5))
    assert (point.weights > 0.0).all()
    t = 2.0 ** np.arange(-20.0, 17.0, 3.0)
    pairs = [characteristic(point, step, 1, 1) for step in t.tolist()]
    away, err = (np.concatenate(x) for x in zip(*pairs, strict=True))
    with mp.workdps(50):
        p = [mp.mpf(x) for x in masses.tolist()]
        p[2] *= 2 * mp.mpf(share)
        parts = [x * mp.exp(mp.mpf(1.5) * g) for x, g in zip(p, values.tolist(), strict=True)]
        total = sum(parts) + 1 - sum(p)
        for at, real, imag, slip in zip(t, away.real, away.imag, err, strict=True):
            exact = sum(
                x * (mp.expj(mp.mpf(float(at)) * g) - 1)
                for x, g in zip(parts, values.tolist(), strict=True)
            )
            assert abs(mp.mpc(float(real), float(imag)) - exact / total) <= slip
    # Far below what it could add were its value not as close to 0.
    assert err[0] <= 1e-6 * min(1.0, 3.0 * far)
