"""Errors of estimates against the mechanisms' own matrices and densities, and against samples."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expi

import shufflebounds as sb
from shufflebounds.estimation import accuracy
from shufflebounds.questions import mechanism_families

EPS0 = [0.3, 2.0, 6.0]
# Mechanisms of which a report supports the values that make it likeliest.
PURE = {
    "krr": lambda e: sb.KRR(k=5, eps0=e),
    "subset": lambda e: sb.Subset(e, domain_size=6, subset_size=2),
    "oue": lambda e: sb.OUE(e, domain_size=4),
    "unary": lambda e: sb.UnaryEncoding(e, domain_size=4, noise=0.1),
    "rappor": lambda e: sb.RAPPOR(e, domain_size=4),
    "blh": lambda e: sb.BLH(e, domain_size=4),
    "local_hash": lambda e: sb.LocalHash(e, domain_size=4, hash_values=5),
    "hadamard": lambda e: sb.HadamardResponse(e, domain_size=6),
}


@pytest.mark.parametrize("error", [0.003, 0.01, 0.3, 5.0])
@pytest.mark.parametrize("k", [2, 5])
def test_users_for_an_error_follow_from_the_matrix(k, error):
    """The variance of a report is known of every value; it is summed over all of them."""
    eps0 = 1.0
    own, other = math.exp(eps0) / (math.exp(eps0) + k - 1), 1.0 / (math.exp(eps0) + k - 1)
    total = own * (1.0 - own) + (k - 1) * other * (1.0 - other)
    exact = total / (own - other) ** 2 / k / error**2
    assert sb.KRR(k, eps0).users_for_error(error) == max(1, math.ceil(exact))


def test_users_for_an_error_are_those_of_the_worst_part():
    R, S = sb.KRR(5, 1.0), sb.KRR(2, 0.3)
    alone = [x.users_for_error(0.01) for x in (R, S)]
    assert sb.Joint([R, S]).users_for_error(0.01) == max(alone)
    sampled = sb.Subsampled(R, 0.1)
    users = sampled.users_for_error(0.01)
    assert users > 9.9 * alone[0]
    assert sampled.error(users).standard_error <= 0.01 < sampled.error(users - 1).standard_error


@pytest.mark.parametrize("error", [0.0, -1.0, math.nan, math.inf, "1%", 1e-9])
def test_an_error_that_no_number_of_users_has_is_refused(error):
    with pytest.raises(ValueError, match=r"error must be"):
        sb.KRR(5, 1.0).users_for_error(error)


def variances(matrix, scores):
    """Of the mean score of value v where the user holds x, by the matrix; shape (v, x)."""
    return scores**2 @ matrix.T - (scores @ matrix.T) ** 2


def sets(size, items):
    """A column for every set."""
    members = itertools.combinations(range(size), items)
    return np.array([[v in one for v in range(size)] for one in members]).T


def statements(name, randomizer):
    """What each report says of each value, shape (values, outputs): 1 if it supports it, else 0.

    Of blocks 1 or −1 in the two halves of its block, 0 elsewhere.
    """
    matrix = randomizer.matrix()
    if name == "privset":
        return sets(randomizer.domain_size, randomizer.subset_size)
    if name == "blocks":
        count = randomizer.blocks
        owner = np.arange(matrix.shape[1]) * count // matrix.shape[1]
        is_own = np.arange(len(matrix))[:, np.newaxis] % count == owner
        return np.where(matrix > 1.001 * matrix.min(), 1.0, -1.0) * is_own
    if name in ("oue", "unary", "rappor", "blh", "local_hash"):
        # Columns of BLH are hashes, first those of reports (h, 1), then of (h, 0).
        columns = np.arange(matrix.shape[1])
        bits = (columns % 16) ^ np.where(columns < 16, 0, 15)
        return (bits >> np.arange(4)[:, np.newaxis]) & 1 == 1
    return matrix > 0.999 * matrix.max(axis=0)


BLOCKS, SETS = [(2, 5), (3, 9), (3, 10), (4, 4)], [(6, 2, 2), (5, 1, 2), (6, 3, 1)]


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize(
    ("name", "make"),
    [
        *PURE.items(),
        *(
            ("blocks", functools.partial(sb.HadamardBlocks, blocks=b, domain_size=d))
            for b, d in BLOCKS
        ),
        *(
            ("privset", functools.partial(sb.PrivSet, domain_size=d, items=s, subset_size=k))
            for d, s, k in SETS
        ),
    ],
)
def test_statements_of_reports_against_the_matrix(name, make, eps0):
    randomizer = make(eps0)
    matrix, says = randomizer.matrix(), statements(name, randomizer)
    held = (
        sets(randomizer.domain_size, randomizer.items) if name == "privset" else np.eye(len(says))
    )
    held = held.astype(bool)
    means = says @ matrix.T
    p, q = means[held].mean(), means[~held].mean()
    scores = (says - q) / (p - q)
    np.testing.assert_allclose(scores @ matrix.T, held, atol=1e-9)
    found, error = variances(matrix, scores), randomizer.error(1)
    assert error.rare == pytest.approx(found[~held].max(), rel=1e-9)
    assert error.largest == pytest.approx(found.max(), rel=1e-9)
    assert error.mse == pytest.approx(found.sum(axis=0).max(), rel=1e-9)
    if name != "privset":
        shares = np.arange(1.0, len(matrix) + 1.0)
        shares /= shares.sum()
        error = randomizer.error(100, shares)
        np.testing.assert_allclose(error.variances, found @ shares / 100, rtol=1e-9)


@pytest.mark.parametrize("eps0", EPS0)
def test_collision_against_all_hashes(eps0):
    """Every hash of three items to four values, with the probabilities of the definition."""
    items, size, values = 2, 3, 4
    e, found = math.exp(eps0), np.zeros(size)
    total = items * e + values - items
    for h in itertools.product(range(values), repeat=size):
        own = set(h[:items])
        rest = (1.0 - len(own) * e / total) / (values - len(own))
        for v in range(size):
            found[v] += (e / total if h[v] in own else rest) / values**size
    supports = sb.Collision(eps0, items=items, hash_values=values)._supports()
    np.testing.assert_allclose(found, [supports.p, supports.p, supports.q], rtol=1e-12)
    assert supports.gap == pytest.approx(found[0] - found[2], rel=1e-9)
    assert math.isinf(sb.Collision(eps0, items=items, hash_values=values).error(1).mse)


@pytest.mark.parametrize("eps0", EPS0)
def test_numbers_against_their_laws(eps0):
    piecewise, h = sb.Piecewise(eps0), math.exp(eps0 / 2.0)
    end = (h + 1.0) / (h - 1.0)
    edges = [(end + 1.0) / 2.0 - (end - 1.0) / 2.0, end]

    def moment(k):
        pieces = itertools.pairwise([-end, *edges])
        return sum(quad(lambda y: y**k * piecewise.density(1.0, y), *ends)[0] for ends in pieces)

    assert moment(1) == pytest.approx(1.0)
    assert piecewise.density(1.0, 1.01 * end) == 0.0
    assert piecewise.error(1).mse == pytest.approx(moment(2) - 1.0, rel=1e-6)
    own = sb.Duchi(eps0).matrix()[0]
    scale = 1.0 / (own[0] - own[1])
    assert sb.Duchi(eps0).error(7).mse == pytest.approx(scale**2 / 7, rel=1e-9)
    laplace = quad(lambda y: y**2 * eps0 * math.exp(-eps0 * y), 0.0, 100.0 / eps0)[0]
    for one in (sb.Laplace(eps0), sb.MetricLaplace(eps0)):
        assert one.error(1).mse == pytest.approx(laplace, rel=1e-6)


@pytest.mark.parametrize("k", [2, 3, 8])
def test_numbers_on_a_grid_against_their_law(k):
    """By the matrix of k-RR, for numbers all over the interval."""
    randomizer = sb.KRR(k, 2.0)
    matrix, grid = randomizer.matrix(), np.linspace(-1.0, 1.0, k)
    scores = grid / (matrix[0, 0] - matrix[0, 1])
    worst = 0.0
    for x in np.linspace(-1.0, 1.0, 7001):
        weights = np.maximum(1.0 - np.abs(grid - x) * (k - 1) / 2.0, 0.0)
        law = weights @ matrix
        assert law @ scores == pytest.approx(x, abs=1e-12)
        worst = max(worst, law @ scores**2 - x * x)
    error = accuracy.of_grid(randomizer._supports()).error(1, None)
    assert error.mse == pytest.approx(worst, rel=1e-6)


@pytest.mark.parametrize("name", ["krr", "subset"])
def test_the_best_linear_estimator_is_that_of_supports(name):
    randomizer = PURE[name](1.0)
    matrix = sb.MatrixRandomizer(randomizer.matrix())
    assert matrix.error(10).mse == pytest.approx(randomizer.error(10).mse, rel=1e-9)
    assert matrix.bits == pytest.approx(randomizer.bits)


def test_the_best_linear_estimator_is_unbiased_and_the_best():
    """No other unbiased one, a step into the null space away, has less variance."""
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.ones(6), size=3)
    weights = np.array([0.5, 0.3, 0.2])
    best = accuracy.best_linear(matrix, weights)
    np.testing.assert_allclose(best @ matrix.T, np.eye(3), atol=1e-12)
    null = np.linalg.svd(matrix)[2][3:]
    law = weights @ matrix
    for _ in range(20):
        other = best + 0.1 * rng.normal(size=(3, 3)) @ null
        np.testing.assert_allclose(other @ matrix.T, np.eye(3), atol=1e-12)
        assert np.all(other**2 @ law > best**2 @ law)
    np.testing.assert_allclose(
        sb.MatrixRandomizer(matrix).error(1, weights).variances,
        variances(matrix, best) @ weights,
        rtol=1e-9,
    )


def test_what_nobody_can_estimate_is_told():
    rows = [[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.4, 0.35, 0.25]]
    with pytest.raises(ValueError, match="3 inputs and only 2 independent rows"):
        sb.MatrixRandomizer(rows).error(100)
    with pytest.raises(ValueError, match="dimension"):
        sb.PrivUnit(1.0, cap=0.25).error(100)
    with pytest.raises(ValueError, match="frequencies must be 4 shares"):
        sb.KRR(4, 1.0).error(100, [0.5, 0.5])
    with pytest.raises(ValueError, match="frequencies must be left out"):
        sb.Duchi(1.0).error(100, [1.0])


def test_bits_of_a_report():
    assert sb.KRR(256, 1.0).bits == 8.0
    assert sb.OUE(1.0, domain_size=9).bits == 9.0
    assert sb.Subset(1.0, domain_size=6, subset_size=2).bits == pytest.approx(math.log2(15))
    many = sb.Subset(1.0, domain_size=2**53, subset_size=2).bits
    assert many == pytest.approx(math.log2(math.comb(2**53, 2)))
    for values, size in ((10_000, 4_000), (2**53, 5_000)):
        large = accuracy.bits_of_sets(values, size)
        assert large == pytest.approx(math.log2(math.comb(values, size)))
    assert sb.HadamardResponse(1.0, domain_size=6).bits == 3.0
    assert sb.HadamardBlocks(1.0, blocks=4, domain_size=8).bits == 4.0
    assert sb.LocalHash(1.0, hash_values=16).bits == 68.0


def test_errors_of_compositions():
    """Each part on an attribute of its own; not to be asked is to be left out of a sample."""
    krr, oue = sb.KRR(4, 1.0), sb.OUE(1.0, domain_size=6)
    assert sb.Joint([krr, oue]).errors(100) == (krr.error(100), oue.error(100))
    # The number of reports varies little: E 1/m is almost 1/E m.
    n = 10**6
    first, second = sb.Parallel([(0.25, krr), (0.75, oue)]).errors(n)
    assert first.mse == pytest.approx(4 * krr.error(n).mse + 3 * (1 - 1 / 4) / n, rel=1e-5)
    assert first.rare == pytest.approx(4 * krr.error(n).rare, rel=1e-5)
    assert second.mse == pytest.approx(oue.error(n).mse / 0.75 + (1 - 1 / 6) / 3 / n, rel=1e-5)
    (numbers,) = sb.Subsampled(sb.Laplace(1.0), rate=0.5).errors(n)
    assert numbers.mse == pytest.approx(4.0 / n + 0.25 / n, rel=1e-5)
    assert sb.Joint([krr, oue]).bits == 8.0
    assert 2.0 ** sb.Parallel([(0.5, krr), (0.5, oue)]).bits == pytest.approx(4 + 2**6)
    assert 2.0 ** sb.Subsampled(krr, rate=0.5).bits == pytest.approx(5)
    with pytest.raises(ValueError, match="rate must be more than 0"):
        sb.Subsampled(krr, rate=0.0).errors(10)


# A random sample of the users. Its number of reports is random, and at least one.


def test_mean_reciprocal_of_a_binomial_number():
    """By sums of fractions; by the exponential integral where m is a Poisson variable."""
    for n, rate in itertools.product((1, 2, 3, 17, 90), (1e-9, 0.01, 0.3, 0.5, 0.99)):
        r = Fraction(rate)
        masses = {m: math.comb(n, m) * r**m * (1 - r) ** (n - m) for m in range(1, n + 1)}
        exact = sum(mass / m for m, mass in masses.items()) / sum(masses.values())
        assert accuracy.mean_reciprocal(n, rate) == pytest.approx(float(exact), rel=1e-12)
    for mean in (1e-3, 1.0, 30.0, 39.0, 41.0, 300.0):
        poisson = (expi(mean) - np.euler_gamma - math.log(mean)) / math.expm1(mean)
        assert accuracy.mean_reciprocal(10**15, mean / 1e15) == pytest.approx(poisson, rel=1e-12)
    for n, rate in ((10**10, 0.25), (10**10, 1e-4), (10**15, 0.9)):
        # An asymptotic series: factorial moments of 1/m.
        x, q = 1.0 / (n * rate), 1.0 - rate
        series = x * (1.0 + q * x + q * (1.0 + q) * x * x)
        assert accuracy.mean_reciprocal(n, rate) == pytest.approx(series, rel=1e-12)
    assert accuracy.mean_reciprocal(7, 1e-300) == pytest.approx(1.0, rel=1e-12)


def sampled_variances(held, rate, scores, matrix):
    """Variance of the estimate of every value, by all samples of users of whom one reports.

    ``held`` are the users' values; the estimate is the mean of the reports' scores.
    """
    means = scores @ matrix.T
    squares = variances(matrix, scores)
    total, first, second = 0.0, 0.0, 0.0
    for asked in itertools.product([False, True], repeat=len(held)):
        m = sum(asked)
        if m:
            mass = rate**m * (1.0 - rate) ** (len(held) - m)
            some = [value for value, who in zip(held, asked, strict=True) if who]
            mean = means[:, some].mean(axis=1)
            total += mass
            first += mass * mean
            second += mass * (mean**2 + squares[:, some].sum(axis=1) / m**2)
    return second / total - (first / total) ** 2


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("name", ["krr", "blocks", "matrix", "other matrix"])
def test_errors_of_samples_against_all_samples_of_all_data(name, rate):
    """No data have more than the largest errors; shares like those of the users attain them."""
    if name == "krr":
        randomizer = sb.KRR(3, 6.0)
    elif name == "blocks":
        randomizer = sb.HadamardBlocks(5.0, blocks=2, domain_size=3)
    else:
        seed = 1 if name == "matrix" else 2
        rows = np.eye(3, 4) + 0.3 * np.random.default_rng(seed).dirichlet(np.ones(4), size=3)
        randomizer = sb.MatrixRandomizer(rows / rows.sum(axis=1, keepdims=True))
    matrix, n = randomizer.matrix(), 8
    if name in ("matrix", "other matrix"):
        scores = accuracy.best_linear(matrix, np.full(3, 1 / 3))
    else:
        says = statements(name, randomizer)
        means = says @ matrix.T
        held, other = means[0, 0], means[0, 1]
        scores = (says - other) / (held - other)
        np.testing.assert_allclose(scores @ matrix.T, np.eye(3), atol=1e-9)
    asked = randomizer._variances().sampled(rate)
    error, largest, total, rare = asked.error(n, None), 0.0, 0.0, 0.0
    for held in itertools.combinations_with_replacement(range(3), n):
        exact = sampled_variances(held, rate, scores, matrix)
        shares = np.bincount(held, minlength=3) / n
        largest, total = max(largest, exact.max()), max(total, exact.sum())
        rare = max([rare, *exact[shares == 0.0]])
        if "matrix" not in name:
            np.testing.assert_allclose(asked.error(n, shares).variances, exact, rtol=1e-9)
    assert error.rare == pytest.approx(rare, rel=1e-9)
    # Shares of eight users are multiples of 1/8.
    assert largest <= error.largest * (1 + 1e-12)
    assert largest == pytest.approx(error.largest, rel=0.02)
    assert total <= error.mse * (1 + 1e-12)
    assert total == pytest.approx(error.mse, rel=0.02)


@pytest.mark.parametrize("rate", [0.01, 0.5, 1.0])
@pytest.mark.parametrize("name", [*PURE, "privset", "collision"])
def test_the_largest_variance_over_all_shares(name, rate):
    """By a scan over the shares of users who hold a value, at many users."""
    sets_of = {
        "privset": lambda e: sb.PrivSet(e, domain_size=6, items=2, subset_size=2),
        "collision": lambda e: sb.Collision(e, items=2, hash_values=5, domain_size=6),
    }
    for eps0 in (0.3, 12.0):
        randomizer, n = (sets_of | PURE)[name](eps0), 10**9
        own, growth, odds = randomizer.error(1), 1.0 / rate, (1.0 - rate) / rate
        supports = randomizer._supports()
        f = np.linspace(0.0, 1.0, 100_001)
        held = supports.p * supports.miss / supports.gap**2
        scan = growth * (f * held + (1.0 - f) * own.rare) + odds * f * (1.0 - f)
        found = randomizer._variances().sampled(rate).error(n, None)
        assert found.largest * n == pytest.approx(scan.max(), rel=1e-6)


@pytest.mark.parametrize("rate", [0.05, 0.4])
@pytest.mark.parametrize(
    ("randomizer", "radius", "middle", "variance"),
    [
        (sb.Duchi(1.0), 1.0, 0.0, lambda x: math.tanh(0.5) ** -2 - x * x),
        (
            sb.Piecewise(2.0),
            1.0,
            0.0,
            lambda x: x * x / (math.e - 1) + (math.e + 3) / (3 * (math.e - 1) ** 2),
        ),
        (sb.Laplace(2.0, domain="interval"), 0.5, 0.5, lambda x: 0.5 + 0.0 * x),
        (
            sb.Laplace(9.0, domain="rounded", steps=3),
            0.5,
            0.5,
            lambda x: 2 / 81 + (3 * (x + 0.5) % 1) * (1 - 3 * (x + 0.5) % 1) / 9,
        ),
    ],
)
def test_samples_of_numbers(randomizer, radius, middle, variance, rate):
    """Over data of which any share of the users holds each of two numbers."""
    x = np.linspace(-radius, radius, 601)
    n = 10**9
    worst = 0.0
    for share in (0.0, 0.25, 0.5):
        mean = share * x[:, None] + (1 - share) * x
        square = share * x[:, None] ** 2 + (1 - share) * x**2
        noise = share * variance(x)[:, None] + (1 - share) * variance(x)
        worst = max(worst, np.max(noise / rate + (1 / rate - 1) * (square - mean**2)))
    found = randomizer._variances().sampled(rate).error(n, None)
    assert found.mse * n == pytest.approx(worst, rel=1e-4)
    assert found.mse == found.largest == found.rare


def test_sampled_sets_in_several_histograms():
    """Each item in a histogram of its own, of which some users are drawn independently."""
    items, k, rate, n = 3, 5, 0.1, 10**9
    supports = sb.KRR(k, 4.0)._supports()
    held = supports.p * supports.miss / supports.gap**2
    other = supports.q * (1 - supports.q) / supports.gap**2
    found = mechanism_families._all_items_spread(items, sb.KRR(k, 4.0)).sampled(rate).error(n, None)
    total = (held + (k - 1) * other) / rate + (1 - rate) / rate * (1 - 1 / k)
    assert found.mse * n == pytest.approx(items * total, rel=1e-6)
    shares = np.linspace(0.0, 1.0, 51)
    worst = max(
        sum((f * held + (1 - f) * other) / rate + (1 - rate) / rate * f * (1 - f) for f in each)
        for each in itertools.product(shares, repeat=items)
        if sum(each) <= 1.0 + 1e-9
    )
    assert found.largest * n == pytest.approx(worst, rel=1e-3)
