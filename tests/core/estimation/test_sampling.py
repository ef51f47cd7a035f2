"""Samples follow the mechanisms' laws, and estimates from them lie off as errors say."""

import math

import numpy as np
import pytest

import shufflebounds as sb
from shufflebounds.estimation import sampling

# Mechanisms of values, at a report each of which several values and users may have.
MECHANISMS = {
    "krr": sb.KRR(k=6, eps0=1.5),
    "subset": sb.Subset(1.5, domain_size=6, subset_size=2),
    "oue": sb.OUE(1.5, domain_size=6),
    "rappor": sb.RAPPOR(1.5, domain_size=6),
    "blh": sb.BLH(1.5, domain_size=6),
    "local_hash": sb.LocalHash(1.5, domain_size=6),
    "cms": sb.CMS(1.5, width=8, domain_size=6),
    "hcms": sb.HCMS(1.5, width=4, domain_size=6),
    "dbitflip": sb.DBitFlip(1.5, domain_size=6, d=2),
    "hadamard": sb.HadamardResponse(1.5, domain_size=6),
    "hadamard_blocks": sb.HadamardBlocks(1.5, blocks=3, domain_size=6),
    "matrix": sb.MatrixRandomizer(sb.KRR(6, 1.5).matrix() @ sb.KRR(6, 2.0).matrix()),
}
SHARES = np.array([0.4, 0.3, 0.2, 0.1, 0.0, 0.0])
USERS, REPEATS = 200, 400


def squares(errors, variance):
    """The mean square in units of `variance`, and how far from 1 chance takes it."""
    return np.mean(errors**2, axis=0) / variance, 5.0 * math.sqrt(2.0 / len(errors))


@pytest.mark.parametrize("name", MECHANISMS)
def test_estimates_of_shares(name):
    randomizer, rng = MECHANISMS[name], np.random.default_rng(5)
    inputs = np.repeat(np.arange(6), (USERS * SHARES).astype(int))
    reports = randomizer.sample(np.tile(inputs, REPEATS), rng)
    estimates = [randomizer.estimate(some) for some in np.split(reports, REPEATS)]
    errors, found = np.array(estimates) - SHARES, randomizer.error(USERS, SHARES)
    if name == "matrix":  # the estimator for equal shares
        found = randomizer.error(USERS)
        assert np.mean(errors**2, axis=0).sum() < 1.1 * found.mse
    else:
        ratios, noise = squares(errors, found.variances)
        np.testing.assert_allclose(ratios, 1.0, atol=noise)
    bias = np.abs(errors.mean(axis=0)) / np.sqrt(found.largest / REPEATS)
    assert bias.max() < 4.5


@pytest.mark.parametrize(
    "randomizer",
    [
        sb.PrivSet(1.0, domain_size=7, items=3, subset_size=2),
        sb.Collision(1.0, items=3, hash_values=5, domain_size=7),
    ],
)
def test_items_of_sets(randomizer):
    """All users hold the same items: nobody holds the others."""
    rng, n = np.random.default_rng(2), 200_000
    reports = randomizer.sample(np.tile([5, 1, 2], (n, 1)), rng)
    if isinstance(randomizer, sb.Collision):
        counts = sampling.hash_supporters(reports, 7, 5)
    else:
        assert np.all(np.diff(np.sort(reports), axis=1) > 0)
        counts = np.bincount(reports.ravel(), minlength=7)
        shares = randomizer.estimate(reports)
        assert np.abs(shares - [0, 1, 1, 0, 0, 1, 0]).max() < 5 * randomizer.error(n).largest ** 0.5
    supports = randomizer._supports()
    expected = np.where(np.isin(np.arange(7), [1, 2, 5]), supports.p, supports.q)
    assert np.abs(counts / n - expected).max() < 5.0 * math.sqrt(0.25 / n)


@pytest.mark.parametrize(
    ("randomizer", "held"),
    [
        (sb.Duchi(1.0), 0.0),
        (sb.Piecewise(2.0), 1.0),
        (sb.Hybrid(2.0), 0.5),
        (sb.Hybrid(2.0, share=0.2), 0.0),
        (sb.Laplace(2.0), 1.0),
        (sb.Laplace(2.0, domain="interval"), 0.3),
        (sb.Laplace(2.0, domain="rounded", steps=2), 0.25),
    ],
)
def test_means_of_numbers(randomizer, held):
    """Of the number at which the variance is the largest."""
    reports = randomizer.sample(np.full(USERS * REPEATS, held), np.random.default_rng(3))
    errors = np.array([randomizer.estimate(some)[0] - held for some in np.split(reports, REPEATS)])
    variance = randomizer.error(USERS).mse
    ratio, noise = squares(errors, variance)
    assert abs(ratio - 1.0) < noise
    assert abs(errors.mean()) < 4.5 * math.sqrt(variance / REPEATS)


RESPONSE, DUCHI = sb.KRR(k=4, eps0=1.5), sb.Duchi(1.0)


@pytest.mark.parametrize(
    ("composition", "rates"),
    [
        (sb.Joint([RESPONSE, DUCHI]), (1.0, 1.0)),
        (sb.Parallel([(0.3, RESPONSE), (0.7, DUCHI)]), (0.3, 0.7)),
    ],
)
def test_estimates_of_compositions(composition, rates):
    """Every part is asked about an attribute of its own, half of the users hold each of its ends.

    Those who are asked are a sample of all users.
    """
    rng, found = np.random.default_rng(6), []
    inputs = [np.repeat([0, 1], USERS // 2), np.repeat([-1.0, 1.0], USERS // 2)]
    for _ in range(3 * REPEATS):
        estimates = composition.estimate(composition.sample(inputs, rng))
        found.append([*(estimates[0] - [0.5, 0.5, 0.0, 0.0]), *estimates[1]])
    squares = np.square(found).mean(axis=0)
    assert np.abs(np.mean(found, axis=0) / np.sqrt(squares / len(found))).max() < 4.5
    variances = [USERS * RESPONSE.error(USERS).mse, math.tanh(0.5) ** -2 - 1.0]
    # What users hold has the variance 2 · 1/4 of shares, 1 of numbers.
    for rate, variance, spread, square, most in zip(
        rates,
        variances,
        (0.5, 1.0),
        (squares[:4].sum(), squares[4]),
        composition.errors(USERS),
        strict=True,
    ):
        expected = (variance + (1.0 - rate) * spread) / rate / USERS
        assert square == pytest.approx(expected, rel=0.15)
        assert most.mse >= expected * (1 - 1e-12)


def test_a_sample_of_the_users():
    """Drawn anew each time; half of them hold each of two values."""
    rng, asked = np.random.default_rng(4), sb.Subsampled(sb.KRR(2, 2.0), rate=0.3)
    users = np.repeat([0, 1], 200)
    found = [asked.estimate(asked.sample(users, rng))[0] - 0.5 for _ in range(2000)]
    assert np.mean(np.square(found)) * 2 == pytest.approx(asked.error(400).mse, rel=0.1)
    assert asked.error(400) == asked.errors(400)[0]


def test_a_sample_of_nobody():
    """Estimates are not known; the types of the reports are those of other reports."""
    rng = np.random.default_rng(1)
    for randomizer, inputs, values in (
        (sb.KRR(4, 1.0), [0, 3], 4),
        (sb.OUE(1.0, domain_size=3), [0, 2], 3),
        (sb.MatrixRandomizer(np.eye(2)), [0, 1], 2),
        (sb.Duchi(1.0), [0.5, 0.1], 1),
    ):
        asked = sb.Subsampled(randomizer, 1e-12)
        reports = asked.sample(inputs, rng)
        shape = randomizer.sample(inputs, rng).shape
        assert reports.shape == (0, *shape[1:])
        np.testing.assert_array_equal(asked.estimate(reports), np.full(values, np.nan))
    mixture = sb.Parallel([(1e-12, RESPONSE), (1 - 1e-12, DUCHI)])
    shares, mean = mixture.estimate(mixture.sample([[0, 1], [0.5, 0.5]], rng))
    assert np.isnan(shares).all()
    assert np.isfinite(mean).all()


def test_sets_are_equally_likely():
    found = sampling.sets(60_000, 4, 2, np.random.default_rng(1))
    _, counts = np.unique(found, axis=0, return_counts=True)
    assert counts.size == 12  # pairs in either order
    assert np.abs(counts - 5000).max() < 5.0 * math.sqrt(5000)


def test_hashes_are_uniform_and_pairwise_independent():
    own = sampling.seeds(100_000, np.random.default_rng(1))
    pairs = 3 * sampling.hashed(own, np.array([0]), 3) + sampling.hashed(own, np.array([1]), 3)
    assert np.abs(np.bincount(pairs, minlength=9) / 100_000 - 1 / 9).max() < 0.005


def test_mistakes_are_told():
    rng = np.random.default_rng(1)
    for ask, told in (
        (lambda: sb.KRR(4, 1.0).sample([0, 4], rng), "integers from 0 to 3, got 4"),
        (lambda: sb.KRR(4, 1.0).sample([0.5], rng), "integers"),
        (lambda: sb.KRR(4, 1.0).sample([0], 1), "rng must be a numpy.random.Generator"),
        (lambda: sb.KRR(4, 1.0).estimate([]), "reports must be a 1-d array"),
        (lambda: sb.OUE(1.0).sample([0], rng), "domain_size must be given"),
        (lambda: sb.OUE(1.0).estimate([[0]]), "at most 16777216 values"),
        (lambda: sb.OUE(1.0, domain_size=2).estimate([[0, 2]]), "rows of 2 bits"),
        (lambda: sb.Duchi(1.0).sample([2.0], rng), "numbers from -1 to 1"),
        (lambda: sb.PrivSet(1.0, 7, 2, 2).sample([[1, 1]], rng), "two equal ones"),
        (lambda: sb.MetricLaplace(1.0).sample([2.0], rng), "numbers from 0 to 1"),
        (lambda: sb.Laplace(1.0).sample([0.5], rng), "inputs must be 0 or 1 on the binary domain"),
        (lambda: sb.Joint([sb.KRR(4, 1.0)]).sample([0], rng), "inputs must be 1 arrays"),
        (lambda: sb.Joint([sb.KRR(4, 1.0)]).error(10), "ask errors"),
        (lambda: sb.Subsampled(sb.Joint([sb.KRR(4, 1.0)]), 0.5).sample([0], rng), "compositions"),
        (lambda: sb.PrivUnit(1.0, cap=0.5).sample([0], rng), "dimension"),
    ):
        with pytest.raises(ValueError, match=told):
            ask()
