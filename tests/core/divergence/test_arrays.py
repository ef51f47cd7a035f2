"""Several points at once: against enumeration, binomial sums, 50 digits, and single calls."""

import copy
import math
import pickle

import mpmath as mp
import numpy as np
import pytest
from engines import overlap
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact
from strategies import decompositions, examples
from test_fourier import exact_law

import shufflebounds as sb
from shufflebounds.core.enclosure import reached
from shufflebounds.divergence.characteristic import TiltedLaws, characteristic
from shufflebounds.divergence.engine import divergences
from shufflebounds.divergence.law import law_at
from shufflebounds.divergence.saddlepoint import tilting_point
from shufflebounds.divergence.series import mode_sums
from shufflebounds.divergence.window import Window


def test_a_value_whose_fourth_power_overflows_counts_for_nothing():
    """A draw that makes S₊ zero however low it is, but hardly ever happens."""
    third, eleventh = 1.0 / 3.0, 1.0 / 11.0
    decomposition = sb.Decomposition(
        [third] * 3, [4 * eleventh, 4 * eleventh, 3 * eleventh], [0.125, 1.25e-147, 0.125]
    )
    points = np.zeros(1), np.array([5.0]), np.array([0.01])
    lower, upper = divergences(decomposition, *points, one_try=True)
    assert overlap(sb.Enclosure(lower[0], upper[0]), exact(decomposition, 0.0, 5))
    assert upper[0] - lower[0] <= 0.01 * upper[0]


@given(
    st.integers(2, 5),
    st.floats(-6.0, 1.2).map(lambda x: 10.0**x),
    st.lists(
        st.tuples(st.floats(0.0, 0.999), st.floats(0.5, 12.0).map(lambda x: int(10.0**x))),
        min_size=2,
        max_size=2,
    ),
    st.randoms(use_true_random=False),
)
@examples(60)
def test_rounding_against_fifty_digits(size, eps0, points, random):
    """K, φ and the sums over modes stay within the errors that the engine claims for them."""
    c = np.array([random.random() ** 3 + 1e-6 for _ in range(size)])
    a, b = (c * np.exp([eps0 * random.choice([0.0, 0.5, 1.0]) for _ in c]) for _ in "ab")
    sure = 1.0 - 0.99 * random.random()
    decomposition = sb.Decomposition(a / a.sum(), b / b.sum(), sure * c / c.sum())
    largest = max(0.0, float(np.log(decomposition.a / decomposition.b).max()))
    laws = law_at(decomposition, np.array([share * largest for share, _ in points]))
    if not (laws.values.max(axis=-1) > 0.0).all():
        return
    users = np.array([float(n) for _, n in points])
    rows = TiltedLaws.of(laws, users, tilting_point([(laws, users)]))
    if not rows.usable().all():
        return
    for i, (_, n) in enumerate(points):
        point, theta = rows.at(i), float(rows.theta[i])
        # Powers of two, so that products with the numbers of modes are exact.
        step = 2.0 ** round(math.log2(theta * (1e-3 + random.random())))
        eta, negligible = 0.01 / theta, random.choice([1e-9, 0.5])
        sums = mode_sums([point], Window(0.0, eta, step, 40, 0.0, 0.0, 0.0, negligible))
        away, err = characteristic(point, step, 0, 41)
        with mp.workdps(50):
            values, masses = exact_law(laws.at(i))
            theta = mp.mpf(theta)
            moment = mp.fsum(p * mp.exp(theta * x) for p, x in zip(masses, values, strict=True))
            assert abs(mp.log(moment) - rows.log_mgf[i]) <= rows.log_mgf_err[i]
            value = density = mp.mpf(0)
            for m, (found, slip) in enumerate(zip(away.tolist(), err.tolist(), strict=True)):
                frequency = m * step
                z = mp.mpc(theta, mp.mpf(frequency))
                terms = zip(masses, values, strict=True)
                phi = mp.fsum(p * mp.exp(z * x) for p, x in terms) / moment
                assert abs(phi - 1 - mp.mpmathify(found)) <= slip
                shift, damping = theta * mp.mpf(eta) ** 2, (mp.mpf(eta) * frequency) ** 2 / 2
                term = (1 if m == 0 else 2) * phi**n * mp.exp(1j * frequency * shift - damping)
                value, density = value + mp.re(term / z**2), density + mp.re(term)
            assert abs(value - sums.value) <= sums.value_err
            assert abs(density - sums.density) <= sums.density_err


MECHANISMS = [sb.KRR(k=10, eps0=4.0), sb.RAPPOR(eps0=0.5), sb.BLH(eps0=4.0), sb.Laplace(eps0=1.0)]


@pytest.mark.parametrize(
    ("decomposition", "arguments"),
    [
        (sb.KRR(k=10, eps0=4.0).blanket(), {"n": 20_000, "delta": np.geomspace(1e-300, 0.5, 12)}),
        # Where enumeration, ε = 0 and many users come together, in no order and twice.
        (sb.KRR(k=2, eps0=0.5).blanket(), {"n": (10**9, 1, 40, 3000, 10**15, 3000), "delta": 1e-5}),
        (
            sb.subsample(sb.KRR(k=4, eps0=2.0).blanket(), 0.05),
            {"n": range(500, 900, 100), "delta": 1e-7},
        ),
        # Two directions that differ.
        (
            sb.Decomposition([0.7, 0.2, 0.1], [0.25, 0.25, 0.5], [0.2, 0.2, 0.1]),
            {"n": [9000, 500, 2000], "delta": 1e-4},
        ),
        # Outputs that tell, and count for most with few users.
        (
            sb.Decomposition([0.5, 0.5], [0.0, 1.0], [0.25, 0.25]),
            {"n": [5, 10, 500], "delta": 0.03},
        ),
    ],
)
def test_any_axis(decomposition, arguments):
    curve = sb.epsilon(decomposition, **arguments)
    axis = "n" if not isinstance(arguments["n"], int) else "delta"
    assert len(curve) == len(arguments[axis])
    for value, found in zip(arguments[axis], curve, strict=True):
        single = sb.epsilon(decomposition, **arguments | {axis: value})
        assert found == single or overlap(found, single)
        assert found.relative_width <= 1e-4


@given(
    st.data(),
    st.lists(st.floats(2.0, 6.0).map(lambda x: int(10.0**x)), min_size=2, max_size=5),
    st.floats(-12.0, -1.0).map(lambda x: 10.0**x),
)
@examples(25)
def test_nasty_curves_meet_their_points(data, n, delta):
    decomposition = data.draw(decompositions())
    curve = reached(lambda: sb.epsilon(decomposition, n, delta, rtol=1e-2))
    for users, found in zip(n, curve, strict=True):
        single = reached(lambda users=users: sb.epsilon(decomposition, users, delta, rtol=1e-2))
        assert found == single or overlap(found, single)
        # Where the goal is out of reach, both fall short of it alike.
        assert found.relative_width <= max(1e-2, 1.01 * single.relative_width)


@given(st.data(), st.lists(st.integers(1, 4), min_size=2, max_size=4), st.floats(-8.0, -0.3))
@examples(60)
def test_epsilons_are_roots(data, n, log_delta):
    decomposition, delta = data.draw(decompositions(max_components=3)), 10.0**log_delta
    both = decomposition, decomposition.swap()
    curve = reached(lambda: sb.epsilon(decomposition, n, delta))
    for users, found in zip(n, curve, strict=True):
        if found.upper < math.inf:
            assert max(exact(d, found.upper, users).lower for d in both) <= delta
        if 0.0 < found.lower < math.inf:
            assert max(exact(d, found.lower, users).upper for d in both) >= delta


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda x: type(x).__name__)
def test_deltas_of_many_losses_and_of_many_users(mechanism):
    decomposition = mechanism.blanket()
    losses = [0.0, 0.3, 0.01, 0.1, 2.0, 800.0]
    found = reached(lambda: sb.delta(decomposition, eps=losses, n=2000))
    for eps, one in zip(losses, found, strict=True):
        assert overlap(one, reached(lambda eps=eps: sb.delta(decomposition, eps, 2000)))
    users = np.array([3, 400, 10**4, 10**7])
    found = sb.delta(decomposition, 0.001, users, rtol=1e-3)
    for n, one in zip(users.tolist(), found, strict=True):
        assert one.relative_width <= 1e-3
        assert overlap(one, sb.delta(decomposition, 0.001, n))


def test_a_point_that_falls_short_does_not_take_the_others():
    coarse = sb.Laplace(4.0, cells=20).blanket()
    n = [1000, 30_000, 10**6]
    single = [reached(lambda one=one: sb.epsilon(coarse, one, 1e-6, rtol=1.85e-3)) for one in n]
    assert {one.relative_width <= 1.85e-3 for one in single} == {False, True}
    with pytest.raises(sb.PrecisionError, match=r"rtol = 0\.00185 .* 1 of 3 points") as caught:
        sb.epsilon(coarse, n, 1e-6, rtol=1.85e-3)
    found = caught.value.enclosure
    assert [one.relative_width <= 1.85e-3 for one in found] == [
        one.relative_width <= 1.85e-3 for one in single
    ]
    assert all(map(overlap, found, single))


KRR = sb.KRR(k=10, eps0=4.0).blanket()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: sb.delta(KRR, [0.1, 0.2], [100, 200, 300]),
            "only one of eps and n may be an array, got 2 and 3 values",
        ),
        (
            lambda: sb.epsilon(KRR, np.array([100]), np.array([1e-6])),
            "only one of n and delta may be an array, got 1 and 1 values",
        ),
        (
            lambda: sb.delta(KRR, [], 100),
            r"eps must be a number or a one-dimensional, non-empty array, got shape \(0,\)",
        ),
        (
            lambda: sb.epsilon(KRR, np.ones((2, 3), dtype=int), 1e-6),
            r"n must be a number or a one-dimensional, non-empty array, got shape \(2, 3\)",
        ),
        (lambda: sb.epsilon(KRR, 1000, [1e-6, math.nan]), "delta must be .*, got nan"),
        (
            lambda: sb.epsilon(KRR, np.array([1e3, 1e4 + 0.5]), 1e-6),
            "n must be an integer .*, got 10000.5",
        ),
        (lambda: sb.delta(KRR, [0.1, "0.2"], 100), "eps must be .*, got '0.2'"),
        (lambda: sb.Enclosures([0.0, 2.0], [1.0, 1.0]), r"lower <= upper, got \[2.0, 1.0\]"),
        (lambda: sb.Enclosures([0.0, math.nan], [1.0, 1.0]), "lower <= upper, got"),
        (lambda: sb.Enclosures([0.0], [1.0, 1.0]), "one entry per number, got 1 and 2"),
        (lambda: sb.Enclosures(0.0, 1.0), "lower must be a one-dimensional array"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_enclosures_behave_like_a_sequence_that_cannot_change():
    three = sb.Enclosures([0.0, 1.0, math.inf], [0.5, 1.0, math.inf])
    assert len(three) == 3
    assert three[0] == sb.Enclosure(0.0, 0.5)
    assert three[-1] == sb.Enclosure(math.inf, math.inf)
    assert list(three[1:]) == list(three)[1:]
    assert three.relative_width.tolist() == [1.0, 0.0, 0.0]
    for one in (three, three[1:], copy.deepcopy(three), pickle.loads(pickle.dumps(three))):
        assert not one.lower.flags.writeable
        assert not one.upper.flags.writeable
    with pytest.raises(AttributeError):
        three.lower = np.zeros(3)
