"""Gaussian reports against 50-digit masses, closed forms for one user and quadrature for two."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr

import shufflebounds as sb
from shufflebounds.divergence.engine import divergence
from shufflebounds.estimation.accuracy import WORD

DIGITS = 50


def phi(x):
    """Return Φ(x) with relative precision in both tails."""
    return mp.erfc(-x / mp.sqrt(2)) / 2


def gaussian_delta(sigma, eps):
    """Return δ(ε) of the Gaussian mechanism of sensitivity 1 (Balle and Wang 2018)."""
    tau, eps = 1 / mp.mpf(sigma), mp.mpf(eps)
    return phi(tau / 2 - eps / tau) - mp.exp(eps) * phi(-tau / 2 - eps / tau)


def exact_matrix(sigma, clamp, steps, inputs=(0, 1)):
    """Return R(x)(y) for reports y = −clamp, −clamp + 1/steps, …, 1 + clamp in 50 digits."""
    low, count = -round(clamp * steps), round((1 + 2 * clamp) * steps)
    inner = [mp.mpf(2 * (low + i) + 1) / (2 * steps) for i in range(count)]
    edges = [-mp.inf, *inner, mp.inf]

    def mass(x, start, end):
        z = [(y - mp.mpf(x)) / mp.mpf(sigma) for y in (start, end)]
        return phi(-z[0]) - phi(-z[1]) if z[0] > 0 else phi(z[1]) - phi(z[0])

    pairs = list(itertools.pairwise(edges))
    return [[mass(x, *pair) for pair in pairs] for x in inputs]


@settings(deadline=None, max_examples=15)
@given(st.floats(0.3, 5.0), st.integers(1, 5), st.integers(0, 8))
# Rounded ends of narrow cells are the largest errors here.
@example(1.7, 997, 1994)
def test_masses_on_a_grid(sigma, steps, clamp_steps):
    clamp = clamp_steps / steps
    R = sb.Gaussian(sigma, clamp=clamp, grid=1 / steps)
    blanket = R.blanket()
    assert blanket.rel_err < 2e-11
    with mp.workdps(DIGITS):
        rows = exact_matrix(sigma, clamp, steps)
        for row, exact in zip([blanket.a, blanket.b], rows, strict=True):
            for mass, value in zip(row.tolist(), exact, strict=True):
                assert abs(mp.mpf(mass) - value) <= blanket.rel_err * value
        loss = mp.log(rows[0][0] / rows[1][0])
        assert loss <= R.eps0 <= loss + mp.mpf(1e-10)
    np.testing.assert_array_equal(blanket.c, np.minimum(blanket.a, blanket.b))
    assert R.bits == math.log2(len(rows[0]))


@settings(deadline=None, max_examples=10)
@given(st.floats(0.1, 100.0), st.sampled_from([None, 0.0, 1.0]), st.integers(1, 40))
def test_sums_and_tails_of_cells(sigma, clamp, cells):
    """Laws sum to 1, inner and outer ones, and the blanket has mass 2Φ(−1/(2σ)) between them."""
    clamp = None if clamp is None else clamp * sigma
    R = sb.Gaussian(sigma, clamp=clamp, cells=cells)
    inner, outer = R.blanket().bounds()
    gamma = 2 * ndtr(-0.5 / sigma)
    assert inner.c.sum() == pytest.approx(gamma, rel=1e-10)
    assert outer.c.sum() <= gamma * (1 + 1e-10)
    # The excess over 1 is what the visible tails were rounded up by.
    assert max(abs(x.sum() - 1) for x in (inner.a, inner.b, outer.a, outer.b)) < 1e-10


@pytest.mark.parametrize("cells", [1, 2, 7, 40, 300])
@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0, 50.0])
def test_a_lone_user_has_the_analytic_gaussian_mechanism(sigma, cells):
    """With a clamp, δ is the same below ε₀ and 0 from there on, whatever the cells are."""
    exact = {eps: gaussian_delta(sigma, eps) for eps in (0.0, 0.3 / sigma, 2.0 / sigma)}
    plain = sb.Gaussian(sigma, cells=cells)
    clamped = sb.Gaussian(sigma, clamp=3.0 * sigma, cells=cells)
    for R in (plain, clamped):
        for end in (R.blanket(), R.dataset_pair()):
            for eps, delta in exact.items():
                lower, upper = (divergence(x, eps, 1) for x in end.bounds())
                assert lower.lower <= delta <= upper.upper
                if cells == 300 and eps < (R.eps0 or math.inf):
                    assert upper.upper - lower.lower < 5e-3 * delta
    assert sb.delta(clamped.blanket(), eps=clamped.eps0, n=1).upper < 1e-12


def two_users_delta(sigma, eps, others):
    """Return D(ε) of two users, for the blanket or for another user who holds 1, by quadrature.

    G falls in y, so E(g + G)₊ is a closed form: all y up to a point count.
    """
    growth, s = math.exp(eps), sigma

    def sure(y):  # c up to y
        if others == "1" or y <= 0.5:
            return ndtr((y - 1) / s)
        return ndtr(-0.5 / s) + ndtr(y / s) - ndtr(0.5 / s)

    def value(y):  # G at y
        if others == "1" or y <= 0.5:
            return math.exp((0.5 - y) / s**2) - growth
        return 1 - growth * math.exp((y - 0.5) / s**2)

    def last(g):  # the largest y with G ≥ −g
        if others == "1" or growth - g > 1:
            return 0.5 - s * s * math.log(growth - g) if growth > g else math.inf
        return 0.5 + s * s * math.log((1 + g) / growth)

    residual = 1 - sure(math.inf)

    def mean(g):  # E(g + G)₊
        y = last(g)
        above = 1 - growth if math.isinf(y) else ndtr(y / s) - growth * ndtr((y - 1) / s)
        return g * sure(y) + above + residual * max(g, 0.0)

    def density(y):
        x = y if others != "1" and y > 0.5 else y - 1
        return math.exp(-0.5 * (x / s) ** 2) / (s * math.sqrt(2 * math.pi))

    # Kinks: at y = 1/2, and where the largest y of the other report is 1/2 or infinite.
    kinks = [0.5, 0.5 - s * s * math.log(2 * growth), 0.5 + s * s * math.log(2 - 1 / growth)]
    kinks.append(0.5 - s * s * math.log(max(2 * growth - 1, 1e-9)))
    ends = sorted({1 - 14 * s, *kinks, 14 * s})
    integrand = lambda y: density(y) * mean(value(y))  # noqa: E731
    total = math.fsum(
        quad(integrand, *pair, epsabs=0, epsrel=1e-11, limit=200)[0]
        for pair in itertools.pairwise(ends)
    )
    return (total + residual * mean(0.0)) / 2


@pytest.mark.parametrize("sigma", [0.6, 1.0, 2.5])
@pytest.mark.parametrize("others", ["inf", "1"])
def test_two_users_by_quadrature(sigma, others):
    for cells in (5, 60, 400):
        R = sb.Gaussian(sigma, cells=cells)
        pair = R.blanket() if others == "inf" else R.dataset_pair()
        for eps in (0.0, 0.2 / sigma, 1.0 / sigma):
            exact = two_users_delta(sigma, eps, others)
            lower, upper = (divergence(x, eps, 2) for x in pair.bounds())
            assert lower.lower <= exact * (1 + 1e-9)
            assert upper.upper >= exact * (1 - 1e-9)
            if cells == 400:
                assert upper.upper - lower.lower < 5e-3 * exact


def test_the_named_mechanism_is_its_matrix():
    """The interval of the matrix for a clamp of 4σ is that of the issue, others are within 1 %."""
    with mp.workdps(DIGITS):
        for k in (4, 6, 8):
            R = sb.Gaussian(2.0, clamp=2.0 * k, grid=0.25)
            rows = [[float(x) for x in row] for row in exact_matrix(2, 2 * k, 4)]
            eps, other = (
                sb.epsilon(x, n=10_000, delta=1e-6) for x in (R, sb.MatrixRandomizer(rows))
            )
            assert eps.lower == pytest.approx(other.lower, rel=1e-7)
            assert eps.upper == pytest.approx(other.upper, rel=1e-7)
            assert eps.lower <= 0.0170537
            assert eps.upper >= 0.0170486
            assert eps.upper / eps.lower < 1.001
            assert eps.upper == pytest.approx(0.01705, rel=1e-2)


@pytest.mark.parametrize(("sigma", "grid"), [(0.5, 1.0), (1.5, 0.25)])
def test_0_and_1_are_the_worst_numbers(sigma, grid):
    """They are of all pairs of 0, 1/8, …, 1; the blanket of these is that of [0, 1]."""
    inputs = [i / 8 for i in range(9)]
    rows = [[float(x) for x in row] for row in exact_matrix(sigma, 2, round(1 / grid), inputs)]
    matrix = sb.MatrixRandomizer(rows)
    assert list(matrix.blankets()) == ["0 against 8"]
    R = sb.Gaussian(sigma, domain="interval", clamp=2.0, grid=grid)
    for n, delta in ((1, 1e-2), (10, 1e-3), (1000, 1e-6)):
        _, worst = sb.worst_epsilon(matrix.blankets(), n=n, delta=delta)
        own = sb.epsilon(R.blanket(), n=n, delta=delta)
        assert own.lower == pytest.approx(worst.lower, rel=1e-7)
        for v, w in ((0, 4), (1, 7), (3, 8), (6, 0)):
            pair = sb.Decomposition(rows[v], rows[w], np.min(rows, axis=0), rel_err=1e-12)
            for eps in (0.0, 0.1, 1.0):
                assert sb.delta(pair, eps=eps, n=n).lower <= sb.delta(R.blanket(), eps, n).upper


def test_rounding_and_cutting_off_never_cost_privacy():
    asked = {"n": 1000, "delta": 1e-6}
    for sigma in (1.0, 3.0):
        plain = sb.epsilon(sb.Gaussian(sigma).blanket(), **asked)
        clamped = sb.epsilon(sb.Gaussian(sigma, clamp=3 * sigma).blanket(), **asked)
        rounded = sb.epsilon(sb.Gaussian(sigma, clamp=3 * sigma, grid=0.5).blanket(), **asked)
        assert rounded.lower <= clamped.upper
        assert clamped.lower <= plain.upper


@settings(deadline=None, max_examples=12)
@given(
    st.floats(0.5, 20.0),
    st.sampled_from(["binary", "interval"]),
    st.sampled_from([(None, None), (2.0, None), (2.0, 0.5), (1.0, 1.0)]),
    st.integers(1, 5000),
    st.floats(1e-8, 1e-3),
)
def test_answers_are_in_order(sigma, domain, shape, n, delta):
    clamp, grid = shape
    R = sb.Gaussian(sigma, domain, clamp, grid, cells=60).for_delta(delta)
    bounds = sb.mechanism_epsilon(R, n=n, delta=delta)
    blanket = sb.epsilon(R.blanket(), n=n, delta=delta)
    pair = sb.epsilon(R.dataset_pair(), n=n, delta=delta)
    assert pair.lower <= bounds.enclosure.upper
    assert bounds.enclosure.upper <= blanket.upper * (1 + 1e-9)
    assert blanket.lower <= R.local_epsilon(delta) + 1e-12


def test_the_last_cell_is_made_for_delta():
    """The bound is close at a δ far below 10⁻¹³, and smaller where users are few."""
    for delta in (1e-30, 1e-9):
        R = sb.Gaussian(3.0, domain="interval")
        assert R.for_delta(delta).tail == pytest.approx(1e-4 * delta)
        eps, own = (sb.epsilon(x, n=10, delta=delta).upper for x in (R, R.for_delta(delta)))
        assert eps == own <= R.local_epsilon(delta)
    asked = {"n": 10_000, "delta": 1e-6}
    default = sb.epsilon(sb.Gaussian(1.0), **asked).upper
    assert default < 0.99 * sb.epsilon(sb.Gaussian(1.0, tail=1e-13), **asked).upper
    for kept in (sb.Gaussian(1.0, tail=1e-9), sb.Gaussian(1.0, clamp=2.0)):
        assert kept.for_delta(1e-6) is kept
    joint = sb.Joint([sb.Gaussian(1.0), sb.KRR(3, 1.0)])
    assert joint.for_delta(1e-6).parts[0].tail == pytest.approx(5e-11)
    assert sb.Subsampled(joint, 0.5).for_delta(1e-6).randomizer == joint.for_delta(1e-6)
    plain = sb.Subsampled(sb.Joint([sb.KRR(3, 1.0)] * 2), 0.5)
    assert plain.for_delta(1e-6) is plain
    # A curve over users knows δ, and one over δ does not.
    curve = sb.curve(sb.Gaussian(1.0), n=[10_000], delta=1e-6)
    assert curve.enclosures.upper[0] == pytest.approx(default, rel=1e-3)


@settings(deadline=None, max_examples=30)
@given(st.floats(0.1, 1e4), st.floats(1e-200, 0.3), st.integers(1, 1000))
def test_local_epsilon(sigma, delta, reports):
    """It is rounded up from that of the analytic Gaussian mechanism with noise σ/√reports."""
    eps = sb.Gaussian(sigma).local_epsilon(delta, reports=reports)
    with mp.workdps(DIGITS):
        noise = mp.mpf(sigma) / mp.sqrt(reports)
        assert gaussian_delta(noise, eps) <= delta
        if gaussian_delta(noise, 0) > delta:
            assert gaussian_delta(noise, eps * (1 - mp.mpf(1e-9)) - mp.mpf(1e-12)) > delta


def test_local_epsilon_of_dp_accounting():
    dp_accounting = pytest.importorskip("dp_accounting")
    for sigma, delta in ((0.7, 1e-5), (2.0, 1e-6), (30.0, 1e-9)):
        theirs = dp_accounting.get_epsilon_gaussian(sigma, delta)
        assert sb.Gaussian(sigma).local_epsilon(delta) == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize(
    "R",
    [
        sb.Gaussian(2.0),
        sb.Gaussian(1.0, domain="interval"),
        sb.Gaussian(1.5, clamp=0.75),
        sb.Gaussian(1.5, clamp=0.5, grid=0.25),
        sb.Gaussian(0.8, clamp=2.0, grid=1.0),
    ],
    ids=lambda R: R.label,
)
def test_simulated_means_have_the_error(R):
    rng, n, repeats = np.random.default_rng(7), 400, 2000
    inputs = np.repeat([0.0, 1.0], [100, 300])
    estimates = [R.estimate(R.sample(inputs, rng))[0] for _ in range(repeats)]
    error = R.error(n)
    spread = error.standard_error / math.sqrt(repeats)
    assert np.mean(estimates) == pytest.approx(0.75, abs=5 * spread)
    assert np.var(estimates) == pytest.approx(error.mse, rel=0.15)


def test_moments_of_reports_that_are_cut_off():
    sigma, clamp = 1.3, 0.7
    R = sb.Gaussian(sigma, clamp=clamp)
    density = lambda y: math.exp(-0.5 * (y / sigma) ** 2) / sigma / math.sqrt(2 * math.pi)  # noqa: E731
    ends = {-clamp: ndtr(-clamp / sigma), 1 + clamp: ndtr(-(1 + clamp) / sigma)}
    moments = [
        quad(lambda y, p=p: y**p * density(y), -clamp, 1 + clamp)[0]
        + sum(mass * y**p for y, mass in ends.items())
        for p in (1, 2)
    ]
    variance = moments[1] - moments[0] ** 2
    assert R.error(1).mse == pytest.approx(variance / (1 - 2 * moments[0]) ** 2, rel=1e-9)
    # On a fine grid, it is about the same.
    fine = sb.Gaussian(sigma, clamp=clamp, grid=0.01)
    assert fine.error(1).mse == pytest.approx(R.error(1).mse, rel=1e-3)


def test_reports_are_those_of_a_device():
    R, rng = sb.Gaussian(1.0, domain="interval", clamp=1.0, grid=0.25), np.random.default_rng(3)
    reports = R.sample(rng.random(20_000), rng)
    assert {*reports.tolist()} == {i / 4 for i in range(-4, 9)}
    law = np.bincount(np.rint(4 * R.sample(np.zeros(50_000), rng) + 4).astype(int), minlength=13)
    exact = [float(x) for x in exact_matrix(1, 1, 4)[0]]
    np.testing.assert_allclose(law / 50_000, exact, atol=0.01)
    assert sb.Gaussian(1.0).bits == WORD


def test_coarser_cells_bound_from_above():
    asked = {"n": 200, "delta": 1e-5}
    for R in (sb.Gaussian(1.5), sb.Gaussian(1.5, clamp=6.0), sb.Gaussian(1.5, clamp=6.0, grid=0.1)):
        coarse = R.coarser(41)
        assert len(coarse.crowds()[0].a) <= 41
        assert R.coarser(10_000) is R
        assert sb.epsilon(coarse.blanket(), **asked).upper >= sb.epsilon(R.blanket(), **asked).lower


def test_compositions_use_the_blanket():
    grid = sb.Gaussian(2.0, clamp=4.0, grid=0.5)
    matrix = sb.MatrixRandomizer([[float(x) for x in row] for row in exact_matrix(2, 4, 2)])
    own, other = (sb.epsilon(sb.Joint([R, R]), n=1000, delta=1e-6) for R in (grid, matrix))
    assert own.lower <= other.upper
    assert other.lower <= own.upper


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sigma": 0.0}, "sigma must be a finite number with 0.1 <= sigma <= 10000, got 0.0"),
        ({"sigma": True}, "sigma must be a finite number with 0.1 <= sigma <= 10000, got True"),
        ({"domain": "rounded"}, "domain must be one of binary, interval, got 'rounded'"),
        ({"clamp": -1.0}, "clamp must be a finite number with 0 <= clamp <= 71, got -1.0"),
        ({"clamp": 72.0}, "clamp must be a finite number with 0 <= clamp <= 71, got 72.0"),
        ({"grid": 0.25}, r"clamp must be given with grid: .* \(clamp = 8\)"),
        ({"clamp": 8.0, "grid": 0.3}, "grid must be 1/k for an integer k, got 0.3"),
        ({"clamp": 8.1, "grid": 0.25}, "clamp must be a multiple of 0.25, got 8.1"),
        (
            {"clamp": 8.0, "grid": 1.5},
            "grid must be a finite number with 0.0001 <= grid <= 1, got 1.5",
        ),
        ({"clamp": 8.0, "grid": 5e-4}, "grid must be at least 0.00085 with clamp = 8, got 0.0005"),
        ({"cells": 0}, "cells must be an integer from 1 to 10000, got 0"),
        ({"tail": 0.0}, "tail must be a finite number with 1e-150 <= tail <= 0.001, got 0.0"),
    ],
)
def test_mistakes_are_named(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        sb.Gaussian(**{"sigma": 2.0, **arguments})


def test_what_a_mechanism_does_not_have():
    interval = sb.Gaussian(2.0, domain="interval", clamp=8.0, grid=0.25)
    for ask in (lambda: interval.error(10), lambda: interval.estimate([0.0])):
        with pytest.raises(ValueError, match="no unbiased estimator on the interval"):
            ask()
    assert interval.crowds() == ()
    # Entries of a matrix would have to be closer than these are.
    with pytest.raises(ValueError, match="randomizer must have finitely many outputs and a matrix"):
        sb.KFold(sb.Gaussian(2.0, clamp=1.0, grid=1.0), 2)
    assert sb.Gaussian(2.0).eps0 is None
    with pytest.raises(ValueError, match="inputs must be 0 or 1 on the binary domain"):
        sb.Gaussian(2.0).sample([0.5], np.random.default_rng(1))
    with pytest.raises(ValueError, match=r"reports must be .* from -8 to 9"):
        sb.Gaussian(2.0, clamp=8.0).estimate([10.0])
    with pytest.raises(ValueError, match="frequencies must be left out of Gaussian, sigma = 2,"):
        sb.Gaussian(2.0).error(10, [1.0])


@pytest.mark.parametrize(("sigma", "steps"), [(0.7, 1), (1.5, 2)])
def test_all_datasets_of_three_users(sigma, steps):
    """Histograms are enumerated for all inputs of two other users."""
    R = sb.Gaussian(sigma, clamp=1.0, grid=1 / steps)
    rows = [[float(x) for x in row] for row in exact_matrix(sigma, R.clamp, steps)]

    def law(inputs):
        masses = {}
        for reports in itertools.product(range(len(rows[0])), repeat=3):
            key = tuple(sorted(reports))
            mass = math.prod(rows[x][y] for x, y in zip(inputs, reports, strict=True))
            masses[key] = masses.get(key, 0.0) + mass
        return masses

    for eps in (0.0, 0.2, 0.6):
        deltas = []
        for others in itertools.product((0, 1), repeat=2):
            one, other = law((0, *others)), law((1, *others))
            for a, b in ((one, other), (other, one)):
                deltas.append(sum(max(a[key] - math.exp(eps) * b[key], 0.0) for key in a))
        enclosure = sb.delta(R, eps=eps, n=3)
        assert enclosure.lower <= max(deltas) * (1 + 1e-9)
        assert enclosure.upper >= max(deltas) * (1 - 1e-9)
