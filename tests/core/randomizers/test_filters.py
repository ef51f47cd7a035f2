"""Bloom filters and Apple's sketches: against matrices of hash functions, and all few datasets."""

import itertools
import math

import numpy as np
import pytest
import shuffles
from hypothesis import given, settings
from hypothesis import strategies as st

import shufflebounds as sb
from shufflebounds.divergence.supremum import supremum


def filter_matrix(positions, width, r, q):
    """R(x)(cohort, bits): positions[x][j] are the bits that value x sets in cohort j."""
    own = r * q / (1.0 - q + r * q)
    vectors = np.array(list(itertools.product((0, 1), repeat=width)))
    rows = []
    for cohorts in positions:
        laws = []
        for hashes in cohorts:
            ones = np.where(np.isin(np.arange(width), list(hashes)), own, q)
            laws.append(np.where(vectors == 1, ones, 1.0 - ones).prod(axis=1) / len(cohorts))
        rows.append(np.concatenate(laws))
    return np.array(rows)


def made(h, r, q):
    return sb.BloomRAPPOR(h * math.log(r), h, q)


@pytest.mark.parametrize(("h", "width"), [(1, 3), (1, 5), (2, 6)])
@pytest.mark.parametrize(("r", "q"), [(9.0, 0.25), (3.0, 0.5)])
def test_all_sets_of_bits_have_the_same_epsilon(h, width, r, q):
    """One cohort, and every set of h bits is that of a value."""
    sets = [(x,) for x in itertools.combinations(range(width), h)]
    matrix = sb.MatrixRandomizer(filter_matrix(sets, width, r, q))
    for n in (1000, 10_000):
        found = sb.epsilon(made(h, r, q), n=n, delta=1e-6)
        expected = sb.epsilon(matrix, n=n, delta=1e-6)
        assert found.lower <= expected.upper
        assert expected.lower <= found.upper
        assert found.upper == pytest.approx(expected.upper, rel=1e-2 if n == 1000 else 2e-3)


POSITIONS = st.lists(
    st.tuples(*[st.sets(st.integers(0, 3), min_size=1, max_size=2)] * 2), min_size=2, max_size=4
)


@settings(max_examples=15, deadline=None)
@given(POSITIONS, st.sampled_from([(9.0, 0.25), (2.0, 0.5)]), st.sampled_from([0.05, 0.3]))
def test_any_hashes_of_two_cohorts_are_covered(positions, odds, eps):
    """Values may share hashes in one cohort only, and set one bit by two hashes."""
    rows = filter_matrix(positions, 4, *odds)
    randomizer = made(2, *odds)
    datasets = [
        pair
        for name, pair in sb.MatrixRandomizer(rows).dataset_pairs().items()
        if name.split(" among ")[0] and not np.allclose(pair.a, pair.b)
    ]
    (crowd,) = randomizer.crowds()
    for n in (30, 3000):
        bound = supremum(crowd, eps, n)
        blanket = sb.delta(randomizer.blanket(), eps=eps, n=n).upper
        for pair in datasets[:10]:
            attained = sb.delta(pair, eps=eps, n=n).lower
            assert attained <= bound
            assert attained <= blanket


@pytest.mark.parametrize("eps", [0.1, 0.7])
def test_all_datasets_of_three_users(eps):
    """In rationals: three values of two cohorts that share a hash in one of them."""
    rows = filter_matrix([({0}, {0}), ({0}, {1}), ({1}, {0})], 2, 3.0, 0.25)
    datasets = shuffles.all_datasets(rows, 3)
    _, exact = shuffles.largest(datasets.values(), eps)
    assert float(exact) <= sb.delta(made(1, 3.0, 0.25), eps=eps, n=3).upper * (1.0 + 1e-12)


@pytest.mark.parametrize("n", [1000, 10_000, 10**6])
@pytest.mark.parametrize("eps0", [1.0, 2.0])
def test_sketches_have_the_bounds_of_bit_vectors(eps0, n):
    """CMS those of RAPPOR and HCMS those of BLH, which other code computes."""
    for sketch, known in (
        (sb.CMS(eps0), sb.RAPPOR(eps0)),
        (sb.HCMS(eps0), sb.BLH(eps0)),
        (made(1, math.exp(eps0), 0.2), sb.UnaryEncoding(eps0, noise=0.2)),
    ):
        found, expected = (sb.epsilon(x, n=n, delta=1e-6) for x in (sketch, known))
        assert found.lower == pytest.approx(expected.lower, rel=1e-9)
        assert found.upper == pytest.approx(expected.upper, rel=1e-3)
        same = sb.epsilon(sketch.blanket(), n=n, delta=1e-6)
        assert same.upper == pytest.approx(sb.epsilon(known.blanket(), n, 1e-6).upper, rel=1e-3)


@pytest.mark.parametrize("h", [2, 3, 4])
def test_the_blanket_of_many_hashes_is_that_of_its_law(h):
    """Disjoint values by the product of their bits, without uniting equal numbers of ones."""
    r, q = 2.0, 0.25
    sets = [(range(h),), (range(h, 2 * h),)]
    rows = filter_matrix(sets, 2 * h, r, q)
    own = r * q / (1.0 - q + r * q)
    vectors = np.array(list(itertools.product((0, 1), repeat=2 * h)))
    noise = np.where(vectors == 1, q, 1.0 - q).prod(axis=1)
    sure = noise * ((1.0 - own) / (1.0 - q)) ** h
    expected = sb.epsilon(sb.Decomposition(*rows, sure), n=5000, delta=1e-6)
    found = sb.epsilon(made(h, r, q).blanket(), n=5000, delta=1e-6)
    assert found.lower == pytest.approx(expected.lower, rel=1e-6)


def test_chromium():
    """f = 1/2, p = 1/2, q = 3/4, two hashes: ε₀ by the paper's formula for one report."""
    found = sb.RAPPOR.from_probabilities(f=0.5, p=0.5, q=0.75, h=2, bits=128, cohorts=64)
    one, zero = 0.75 * 0.75 + 0.25 * 0.5, 0.75 * 0.5 + 0.25 * 0.75
    expected = 2 * math.log(one * (1 - zero) / (zero * (1 - one)))
    assert found.eps0 == pytest.approx(expected, rel=1e-14)
    assert found == sb.BloomRAPPOR.from_probabilities(0.5, 0.5, 0.75, h=2, bits=128, cohorts=64)
    assert found.bits == 134
    assert "smallest cohort" in found.caveat
    assert sb.BloomRAPPOR(1.0).caveat is None


def test_more_hashes_than_a_crowd_lists():
    assert sb.BloomRAPPOR(2.0, h=6).crowds() == ()
    found = sb.epsilon(sb.BloomRAPPOR(2.0, h=6), n=10_000, delta=1e-6)
    assert found.upper == sb.epsilon(sb.BloomRAPPOR(2.0, h=6).blanket(), 10_000, 1e-6).upper


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.BloomRAPPOR(1.0, h=0), "h must be an integer from 1 to 16, got 0"),
        (lambda: sb.BloomRAPPOR(1.0, noise=1.0), "noise must be a finite number"),
        (lambda: sb.BloomRAPPOR(1.0, h=4, width=4), "width must be an integer from 5"),
        (lambda: sb.HCMS(1.0, width=10), "width must be a power of 2, got 10"),
        (
            lambda: sb.CMS(1.0).estimate(sb.CMS(1.0, 4).sample([1], np.random.default_rng(1))),
            "CMS must",
        ),
        (lambda: sb.BloomRAPPOR(1.0).error(10), "Bloom-filter RAPPOR, h = 2 has no estimator"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


@pytest.mark.parametrize("rate", [0.1, 0.7])
def test_samples_cover_every_hash_function(rate):
    """Pairs of values that share hashes have no larger ε if reports are sampled."""
    mechanism = sb.BloomRAPPOR(2.0, h=2, noise=0.25)
    r = math.exp(mechanism.eps0 / 2)
    sampled = sb.epsilon(sb.Subsampled(mechanism, rate), n=200, delta=1e-4)
    for positions in ([({0, 1},), ({1, 2},), ({0},)], [({0, 1},), ({2, 3},), ({0, 2},)]):
        matrix = sb.MatrixRandomizer(filter_matrix(positions, 4, r, 0.25))
        exact = sb.epsilon(sb.Subsampled(matrix, rate), n=200, delta=1e-4)
        assert exact.lower <= sampled.upper
    assert sampled.relative_width < 0.05
    with pytest.raises(ValueError, match="parts must have inputs any two of which are alike"):
        sb.Joint([sb.Subsampled(mechanism, rate)] * 2)


def sketch_matrix(width, eps0):
    """Rows of HCMS for one hash function that sends each value to its own number."""
    numbers = np.arange(width)
    signs = 1 - 2 * (np.bitwise_count(numbers[:, np.newaxis] & numbers) % 2).astype(int)
    likely = np.concatenate([signs == 1, signs == -1], axis=1)
    return np.where(likely, math.exp(eps0), 1.0) / (width * (math.exp(eps0) + 1.0))


@pytest.mark.parametrize(
    ("mechanism", "rows"),
    [
        (sb.CMS(2.0, 2), filter_matrix([({0},), ({1},)], 2, math.exp(2.0), 1 / (math.e + 1))),
        (
            sb.CMS(2.0, 64, domain_size=2),
            filter_matrix([({0},), ({1},)], 2, math.exp(2.0), 1 / (math.e + 1)),
        ),
        (sb.HCMS(1.0, 2), sketch_matrix(2, 1.0)),
        (
            sb.BloomRAPPOR(2.0, h=1, noise=0.25, width=2),
            filter_matrix([({0},), ({1},)], 2, math.exp(2.0), 0.25),
        ),
        (
            sb.BloomRAPPOR(2.0, h=2, noise=0.25, width=3),
            filter_matrix([({0, 1},), ({1, 2},)], 3, math.e, 0.25),
        ),
    ],
)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_two_hash_values_have_no_third(mechanism, rows, n):
    """In rationals: a lower end is that of inputs that exist."""
    datasets = shuffles.all_datasets(rows, n)
    for eps in (0.3, 0.5):
        _, exact = shuffles.largest(datasets.values(), eps)
        assert sb.delta(mechanism, eps, n).lower <= float(exact) * (1.0 + 1e-12)


def test_a_single_input_has_no_lower_end():
    mechanism = sb.Collision(2.0, 2, 4, domain_size=2)
    for question in (
        lambda: sb.epsilon(mechanism, n=5, delta=1e-3),
        lambda: sb.delta(mechanism, eps=0.5, n=5),
        lambda: sb.renyi(mechanism, n=5, order=2.0),
        lambda: sb.epsilon(mechanism, n=5, delta=1e-3, rounds=2),
    ):
        assert question().lower == 0.0
    with pytest.raises(ValueError, match=r"^no pair of datasets is known of"):
        mechanism.dataset_pair()


def test_few_items_have_no_third_disjoint_input():
    two_inputs = sb.Collision(1.0, items=1, hash_values=3, domain_size=2)
    rows = sb.LocalHash(1.0, domain_size=2, hash_values=3).matrix()
    _, exact = shuffles.largest(shuffles.all_datasets(rows, 3).values(), 0.5)
    assert sb.delta(two_inputs, eps=0.5, n=3).lower <= float(exact) * (1.0 + 1e-12)
