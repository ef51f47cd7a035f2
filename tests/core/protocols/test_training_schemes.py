"""Schemes of training against closed forms, quadrature, 40-digit masses and simulated attacks."""

import math
from fractions import Fraction
from functools import partial

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shufflebounds as sb
from shufflebounds.core.relation import Relation
from shufflebounds.protocols.training import cells
from shufflebounds.randomizers.gaussian_cells import mixed, opposite_pair, shifted_laws

# Relative error of quadrature on a grid, where the integrand all but has a kink.
GRID_ERR = 1e-4
# A grid of standard normal outputs and its masses.
GRID, STEP = np.linspace(-9.0, 9.0, 601, retstep=True)
WEIGHTS = STEP * np.exp(-0.5 * GRID * GRID) / math.sqrt(2.0 * math.pi)


def gaussian_delta(shift, eps):
    """Return δ(ε) of N(shift, 1) against N(0, 1) (Balle and Wang 2018)."""
    with mp.workdps(40):
        shift, eps = mp.mpf(shift), mp.mpf(eps)
        phi = lambda x: mp.erfc(-x / mp.sqrt(2)) / 2  # noqa: E731
        return phi(shift / 2 - eps / shift) - mp.exp(eps) * phi(-shift / 2 - eps / shift)


def grid_delta(sigma, eps, means, steps, run=None):
    """Return δ(ε) of an epoch of two or three steps, of which the first ``run`` are published.

    It is the mean of (p − e^ε q)₊ over outputs on a grid, p and q from the definition: the example
    adds one of ``means``, in units of the clipping norm, to a step that is uniform.
    """
    run = run or steps
    ratios = [np.exp(x / sigma * GRID - 0.5 * (x / sigma) ** 2) for x in means]
    shape = [-1] + [1] * (run - 1)
    p, q = (
        (steps - run) / steps + sum(r.reshape(np.roll(shape, i)) for i in range(run)) / steps
        for r in ratios
    )
    weights = 1.0
    for i in range(run):
        weights = weights * WEIGHTS.reshape(np.roll(shape, i))
    growth = math.exp(eps)
    return max(
        float((weights * np.maximum(x - growth * y, 0.0)).sum()) for x, y in ((p, q), (q, p))
    )


@settings(deadline=None, max_examples=12)
@given(st.floats(0.2, 6.0), st.integers(3, 40), st.floats(2.0, 9.0))
def test_masses_of_opposite_laws(sigma, count, reach):
    """Both ends have the masses of 40 digits, and spreading keeps those of each cell."""
    z = np.linspace(-reach - 1.0 / sigma, reach + 1.0 / sigma, 2 * count + 1)
    z = np.unique(np.append(-z, z))
    pair = opposite_pair(sigma, z, Relation.REPLACE)
    assert pair.is_symmetric()
    inner, outer = pair.bounds()
    nodes = len(inner) - 1
    with mp.workdps(40):
        phi = lambda x: mp.erfc(-x / mp.sqrt(2)) / 2  # noqa: E731
        for name, sign in (("a", 1), ("b", -1), ("c", 0)):
            shift, masses = sign / mp.mpf(sigma), getattr(inner, name)
            spread = getattr(outer, name)
            # With as many nodes as given, no cell was divided.
            if nodes == z.size:
                for i in range(nodes - 1):
                    low, high = (mp.mpf(float(x)) - shift for x in z[i : i + 2])
                    exact = phi(high) - phi(low) if high < 0 else phi(-low) - phi(-high)
                    assert abs(mp.mpf(float(masses[i + 1])) - exact) <= pair.rel_err * exact
            assert math.fsum(spread) == pytest.approx(math.fsum(masses), abs=1e-9)
        # Every node of the outer end lies on the curve of likelihood ratios, or on two tangents.
        d = 1 / mp.mpf(sigma)
        product = mp.exp(-d * d)
        for a, b, c in zip(outer.a[:nodes], outer.b[:nodes], outer.c[:nodes], strict=True):
            assert (
                abs(mp.mpf(float(a)) * mp.mpf(float(b)) / mp.mpf(float(c)) ** 2 / product - 1)
                < 1e-10
            )
        middles = slice(nodes, 2 * nodes - 1)
        below = outer.a[middles] * outer.b[middles] / outer.c[middles] ** 2
        assert (below <= float(product) * (1.0 + 1e-10)).all()


def test_spreading_keeps_each_law():
    """The masses that go to the three points of a cell sum to those of the cell, in all laws."""
    for left, right in ((-3.0, -2.9), (0.0, 0.5), (1.0, 3.0), (7.0, 7.02)):
        # Two cells that are mirror images: their nodes are four, and the gap is a cell, too.
        z = np.unique([-right, -left, left, right])
        pair = opposite_pair(0.7, z, Relation.REPLACE)
        inner, outer = pair.bounds()
        for name in "abc":
            cell = math.fsum(getattr(inner, name)[1:-1])
            points = getattr(outer, name)[: 2 * len(inner) - 3]
            assert math.fsum(points) == pytest.approx(cell, rel=1e-12)


@settings(deadline=None, max_examples=20)
@given(st.floats(0.3, 4.0), st.floats(0.05, 2.0), st.fractions(0, 1), st.integers(2, 30))
def test_the_outer_end_is_above_the_inner_one(sigma, eps, share, count):
    """With one draw, D is a sum; the truth by quadrature lies between both ends."""
    reach = 9.0 + 1.0 / sigma
    pair = opposite_pair(sigma, np.linspace(-reach, reach, 2 * count + 1), Relation.REPLACE)
    pair = mixed(pair, share or Fraction(1, 2))
    part, growth = float(share or Fraction(1, 2)), math.exp(eps)
    y = np.linspace(-reach - 3.0, reach + 3.0, 60_001)
    weights = (y[1] - y[0]) * np.exp(-0.5 * y * y) / math.sqrt(2.0 * math.pi)
    p, q = (1.0 - part + part * np.exp(x * y / sigma - 0.5 / sigma**2) for x in (1.0, -1.0))
    exact = float((weights * np.maximum(p - growth * q, 0.0)).sum())
    low, high = (float(np.maximum(x.a - growth * x.b, 0.0).sum()) for x in pair.bounds())
    assert low <= exact * (1.0 + 1e-6) + 1e-12
    assert exact <= high * (1.0 + 1e-6) + 1e-12


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.0])
def test_cells_cover_all_laws(sigma):
    for means in ((1.0, 0.0), (1.0, -1.0), (2.0, 0.0), (2.0, 1.0)):
        z = cells(sigma, means)
        assert (np.diff(z) > 0.0).all()
        for mean in (*means, 0.0):
            assert np.abs(z - mean / sigma).max() <= 36.0 + 1e-12
        laws = shifted_laws(sigma, z, means, Relation.REPLACE)
        assert math.fsum(laws.c) == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize(("sigma", "eps"), [(1.0, 1.0), (2.0, 0.5), (3.0, 2.0)])
def test_one_step(sigma, eps):
    """One step among one is the Gaussian mechanism with the distance of both gradients."""
    for subject, distance in [
        (sb.RandomAllocation(sigma, neighbours="replace"), 2),
        (sb.RandomAllocation(sigma, neighbours="zero-out"), 1),
        (sb.PoissonSampling(sigma, 1.0, neighbours="replace"), 2),
        (sb.PoissonSampling(sigma, 1.0), 1),
        (sb.ShuffledBatches(sigma), 2),
        (sb.ShuffledBatches(sigma, neighbours="zero-out"), 1),
    ]:
        exact = gaussian_delta(distance / sigma, eps)
        enclosure = sb.delta(subject, eps=eps, n=1)
        assert enclosure.lower <= exact <= enclosure.upper
        assert enclosure.relative_width < 0.02


@pytest.mark.parametrize(("sigma", "steps"), [(4.0, 9), (20.0, 400)])
def test_full_batches(sigma, steps):
    """Steps that all examples join are one Gaussian mechanism with noise σ/√steps."""
    for neighbours, distance in (("add or remove", 1.0), ("replace", 2.0)):
        batches = sb.PoissonSampling(sigma, 1.0, neighbours=neighbours)
        enclosure = sb.epsilon(batches, n=steps, delta=1e-5)
        shift = distance * math.sqrt(steps) / sigma
        assert gaussian_delta(shift, enclosure.upper) <= 1e-5
        assert gaussian_delta(shift, enclosure.lower) >= 1e-5
        assert enclosure.relative_width < 0.01


@pytest.mark.parametrize(
    ("sigma", "epochs", "delta"), [(1.0, 1, 1e-3), (2.0, 1, 1e-5), (3.0, 4, 1e-4)]
)
def test_two_steps_of_a_replacement(sigma, epochs, delta):
    """With two steps P′/P is a constant over L₁L₂, so E epochs are Gaussian with shift √(2E)/σ."""
    epoch = sb.RandomAllocation(sigma, neighbours="replace")
    enclosure = sb.epsilon(epoch, n=2, delta=delta, rounds=epochs)
    shift = math.sqrt(2.0 * epochs) / sigma
    assert gaussian_delta(shift, enclosure.upper) <= delta <= gaussian_delta(shift, enclosure.lower)
    kept = sb.epsilon(
        sb.RandomAllocation(sigma, neighbours="replace", bins="kept"), 2, delta, rounds=epochs
    )
    assert gaussian_delta(shift, kept.upper) <= delta <= gaussian_delta(shift, kept.lower)


@pytest.mark.parametrize(("sigma", "eps"), [(0.8, 1.0), (1.5, 0.3)])
@pytest.mark.parametrize(
    ("neighbours", "means"), [("replace", (1.0, -1.0)), ("add or remove", (1.0, 0.0))]
)
def test_epochs_and_partial_epochs_by_quadrature(sigma, eps, neighbours, means):
    for steps, run in ((2, 1), (3, 2), (3, 3), (5, 3)):
        epoch = sb.RandomAllocation(sigma, neighbours=neighbours, first_steps=run)
        exact = grid_delta(sigma, eps, means, steps, run) if run > 1 else None
        enclosure = sb.delta(epoch, eps=eps, n=steps)
        if exact is None:
            # One step that an example joins with probability 1/2 is a step of Poisson sampling.
            other = sb.delta(sb.PoissonSampling(sigma, 0.5, neighbours=neighbours), eps=eps, n=1)
            assert max(enclosure.lower, other.lower) <= min(enclosure.upper, other.upper)
            continue
        assert enclosure.lower * (1.0 - GRID_ERR) <= exact <= enclosure.upper * (1.0 + GRID_ERR)
        assert enclosure.relative_width <= 0.02


@pytest.mark.parametrize("rate", [0.01, 0.3])
@pytest.mark.parametrize(
    ("neighbours", "means"), [("replace", (1.0, -1.0)), ("add or remove", (1.0, 0.0))]
)
def test_poisson_sampling_by_quadrature(rate, neighbours, means):
    """Two steps on a grid: the ratios of both are those of the definition, multiplied."""
    sigma, eps = 0.9, 0.2
    ratios = [1.0 - rate + rate * np.exp(x / sigma * GRID - 0.5 * (x / sigma) ** 2) for x in means]
    p, q = (np.multiply.outer(r, r) for r in ratios)
    weights, growth = np.multiply.outer(WEIGHTS, WEIGHTS), math.exp(eps)
    exact = max(
        float((weights * np.maximum(x - growth * y, 0.0)).sum()) for x, y in ((p, q), (q, p))
    )
    steps = sb.PoissonSampling(sigma, rate, neighbours=neighbours)
    enclosure = sb.delta(steps, eps=eps, n=2, rtol=0.05)
    assert enclosure.lower * (1.0 - GRID_ERR) <= exact <= enclosure.upper * (1.0 + GRID_ERR)


@pytest.mark.parametrize(
    ("neighbours", "means"), [("replace", (2.0, 0.0)), ("zero-out", (2.0, 1.0))]
)
@pytest.mark.parametrize("steps", [2, 3])
def test_shuffled_batches_by_quadrature(neighbours, means, steps):
    """All other examples have the gradient −1; the victim has 1, and else −1 or 0."""
    exact = grid_delta(1.3, 0.8, means, steps)
    enclosure = sb.delta(sb.ShuffledBatches(1.3, neighbours=neighbours), eps=0.8, n=steps)
    assert enclosure.lower <= exact * (1.0 + GRID_ERR)
    assert enclosure.lower >= exact * (1.0 - 1e-2)
    assert enclosure.upper >= gaussian_delta((means[0] - means[1]) / 1.3, 0.8)


def test_shuffled_batches_by_simulation():
    """Two datasets of 40 examples in batches of four, shuffled: sums and noise as they are run."""
    sigma, steps, size, eps, count = 1.0, 10, 4, 1.0, 200_000
    rng = np.random.default_rng(5)
    gradients = np.full(steps * size, -1.0)
    gradients[0] = 1.0
    places = np.argsort(rng.random((count, steps * size)), axis=1)[:, 0]
    y = -size + sigma * rng.standard_normal((count, steps))
    y[np.arange(count), places // size] += gradients[0] - gradients[1]
    # Log-likelihoods of one step with the victim, against none.
    ratio = np.exp(((y + size) * 2.0 - 2.0) / sigma**2).mean(axis=1)
    values = np.maximum(1.0 - math.exp(eps) / ratio, 0.0)
    mean, error = values.mean(), values.std() / math.sqrt(count)
    lower = sb.delta(sb.ShuffledBatches(sigma), eps=eps, n=steps).lower
    assert abs(mean - lower) < 5.0 * error + 0.01 * lower


# Means of a Monte Carlo test are known to a few standard errors.
CONFIDENCE = 5.0


def attack_delta(rng, sigma, steps, epochs, eps, kept, count, is_replacement):
    """Estimate δ(ε) if gradients in the plane are chosen by what was published before.

    A strategy is a random linear map of all earlier outputs to two angles and two norms.
    """
    earlier = np.zeros((count, 2 * steps * epochs))
    maps = rng.normal(size=(4, 2 * steps * epochs)) * rng.choice([0.0, 0.3, 2.0])
    offsets = np.array([0.0, math.pi, 3.0, 3.0]) + rng.normal(size=4) * rng.choice([0.0, 0.3, 3.0])
    ratios = np.ones((2, count, epochs, steps))
    for epoch in range(epochs):
        for step in range(steps):
            angle, other_angle, norm, other_norm = (earlier @ maps.T + offsets).T
            y = rng.normal(0.0, sigma, (2, count))
            place = 2 * (epoch * steps + step)
            earlier[:, place : place + 2] = y.T
            for k, (x, size) in enumerate(((angle, norm), (other_angle, other_norm))):
                length = (k == 0 or is_replacement) / (1.0 + np.exp(-size))
                u = length * np.array([np.cos(x), np.sin(x)])
                ratios[k, :, epoch, step] = np.exp(
                    ((u * y).sum(axis=0) - 0.5 * length**2) / sigma**2
                )
    if kept:
        p, q = ratios.prod(axis=2).mean(axis=2)
    else:
        p, q = ratios.mean(axis=3).prod(axis=2)
    values = np.maximum(p - math.exp(eps) * q, 0.0)
    return float(values.mean()), float(values.std()) / math.sqrt(count)


@pytest.mark.parametrize("neighbours", ["replace", "add or remove"])
@pytest.mark.parametrize(
    ("steps", "epochs", "bins"), [(3, 1, "redrawn"), (2, 2, "kept"), (2, 2, "redrawn")]
)
def test_no_adaptive_gradients_beat_the_bound(neighbours, steps, epochs, bins):
    rng = np.random.default_rng(11)
    sigma, eps = 1.2, 0.7
    epoch = sb.RandomAllocation(sigma, neighbours=neighbours, bins=bins)
    upper = sb.delta(epoch, eps=eps, n=steps, rounds=epochs).upper
    for _ in range(20):
        mean, error = attack_delta(
            rng, sigma, steps, epochs, eps, bins == "kept", 20_000, neighbours == "replace"
        )
        assert mean - CONFIDENCE * error <= upper


def test_numbers_of_independent_programs():
    """Those of an FFT program, and of dp_accounting for Poisson sampling: σ = 1, 100 steps."""
    for subject, low, high in [
        (sb.RandomAllocation(1.0), 0.6209, 0.62099),
        (sb.RandomAllocation(1.0, neighbours="replace"), 0.82535, 0.82539),
        (sb.RandomAllocation(1.0, first_steps=50), 0.53486, 0.5349),
        (sb.RandomAllocation(2.0, neighbours="replace"), 0.34253, 0.34257),
        (sb.PoissonSampling(1.0, 0.01), 0.7130, 0.7180),
        (sb.PoissonSampling(1.0, 0.01, neighbours="replace"), 0.8901, 0.8951),
    ]:
        enclosure = sb.epsilon(subject, n=100, delta=1e-5)
        assert enclosure.lower <= high
        assert low <= enclosure.upper
        assert enclosure.relative_width < 2e-3
    for neighbours, least, known in (("replace", 5.3966, 9.9973), ("zero-out", 4.0660, 4.3772)):
        batches = sb.epsilon(sb.ShuffledBatches(1.0, neighbours=neighbours), n=100, delta=1e-5)
        assert least * (1.0 - 1e-3) < batches.lower < least + 1e-4
        assert known - 1e-4 < batches.upper < known * (1.0 + 1e-3)


def test_kept_bins():
    """The lower and the upper end are those of one epoch with noise σ/√epochs."""
    kept = sb.RandomAllocation(1.0, bins="kept")
    enclosure = sb.epsilon(kept, n=1000, delta=1e-6, rounds=10)
    one = sb.epsilon(sb.RandomAllocation(1.0 / math.sqrt(10.0)), n=1000, delta=1e-6)
    assert max(enclosure.lower, one.lower) <= min(enclosure.upper, one.upper)
    assert enclosure.lower < 12.5172 < enclosure.upper
    composed = sb.compose([(kept, 1000, 10)]).epsilon(1e-6)
    assert max(enclosure.lower, composed.lower) <= min(enclosure.upper, composed.upper)


def test_several_phases():
    """Phases of full batches with different noise are one Gaussian mechanism."""
    phases = [(sb.PoissonSampling(8.0, 1.0), 10, 1), (sb.PoissonSampling(5.0, 1.0), 4, 2)]
    composed = sb.compose([*phases, (sb.RandomAllocation(3.0), 1, 2)])
    shift = math.sqrt(10 / 64 + 8 / 25 + 2 / 9)
    enclosure = composed.epsilon(1e-5)
    assert gaussian_delta(shift, enclosure.upper) <= 1e-5 <= gaussian_delta(shift, enclosure.lower)


def test_several_steps_of_an_epoch_have_no_lower_end():
    enclosure = sb.epsilon(sb.RandomAllocation(2.0, selected=2), n=21, delta=1e-4)
    blocks = sb.RandomAllocation(2.0)
    separate = sb.compose([(blocks, 10, 1), (blocks, 11, 1)]).epsilon(1e-4)
    assert enclosure.lower == 0.0
    assert enclosure.upper == pytest.approx(separate.upper, rel=0.02)
    every = sb.epsilon(sb.RandomAllocation(6.0, selected=4), n=4, delta=1e-4)
    assert gaussian_delta(2.0 / 6.0, every.upper) <= 1e-4


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: sb.PoissonSampling(0.0, 0.1), "noise_multiplier must be a finite number with 0.2"),
        (
            lambda: sb.PoissonSampling(1.0, 0.0),
            "rate must be a finite number with 0 < rate <= 1, got 0.0",
        ),
        (lambda: sb.PoissonSampling(1.0, 1.5), "rate must be"),
        (lambda: sb.ShuffledBatches(1.0, neighbours="add or remove"), "neighbours must be one of"),
        (lambda: sb.RandomAllocation(1.0, bins="keep"), "bins must be one of kept, redrawn"),
        (lambda: sb.RandomAllocation(1.0, bins="kept", first_steps=3), "first_steps must be left"),
        (
            lambda: sb.epsilon(sb.RandomAllocation(1.0, first_steps=11), n=10, delta=1e-5),
            "first_steps must be at most the number of steps of an epoch, 10, got 11",
        ),
        (
            lambda: sb.epsilon(sb.RandomAllocation(1.0, selected=11), n=10, delta=1e-5),
            "selected must be at most the number of steps of an epoch, 10, got 11",
        ),
        (
            lambda: sb.epsilon(sb.RandomAllocation(1.0, bins="kept"), n=9, delta=0.1, rounds=99),
            "noise_multiplier must be at least 0.2 times the root",
        ),
        (
            lambda: sb.epsilon(sb.PoissonSampling(1.0, 0.1), n=10**5, delta=0.1, rounds=99),
            "steps of all epochs must be at most 1000000",
        ),
        (
            lambda: sb.compose(
                [(sb.PoissonSampling(1.0, 0.1), 5, 1), (sb.ShuffledBatches(1.0), 5, 1)]
            ),
            "must have one neighbouring relation",
        ),
    ],
)
def test_bad_values_are_named(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_noise_of_kept_bins_and_of_full_batches():
    """Kept bins need √epochs times the noise of one epoch; full batches have a closed form."""
    kept = partial(sb.RandomAllocation, bins="kept")
    ten = sb.smallest_noise_multiplier(1.0, 1e-2, steps=10, epochs=10, scheme=kept)
    assert ten.lower < 2.7385 < ten.upper
    both = partial(kept, neighbours="replace")
    ten = sb.smallest_noise_multiplier(1.0, 1e-2, steps=10, epochs=10, scheme=both)
    assert ten.lower < 3.8428 < ten.upper
    full = lambda noise: sb.PoissonSampling(noise, 1.0)  # noqa: E731
    noise = sb.smallest_noise_multiplier(2.0, 1e-5, steps=4, scheme=full)
    assert gaussian_delta(2.0 / noise.upper, 2.0) <= 1e-5 <= gaussian_delta(2.0 / noise.lower, 2.0)


@pytest.mark.parametrize("subject", [sb.PoissonSampling(3.0, 0.1), sb.RandomAllocation(3.0)])
def test_known_steps(subject):
    """ε of known steps is that of a Gaussian mechanism with as many steps as are joined."""
    eps, joined = subject.epsilon_of_known_steps(20, 2, 1e-5), subject.steps_joined(20, 2, 1e-5)
    assert gaussian_delta(math.sqrt(joined) / 3.0, eps) <= 1e-5
    law = [math.comb(40, k) * 0.1**k * 0.9 ** (40 - k) for k in range(41)]
    if joined > 2:
        assert sum(law[joined + 1 :]) <= 1e-7
        delta = sum(p * gaussian_delta(math.sqrt(k) / 3.0, eps) for k, p in enumerate(law) if k)
        assert delta <= 1e-5


def test_the_curve_of_an_epoch_agrees_with_its_epsilon():
    """The curve of one epoch was once that of two, so that its lower end was false."""
    for subject in (sb.RandomAllocation(1.0), sb.RandomAllocation(1.0, bins="kept")):
        curve = sb.profile(subject, n=100)
        eps, delta = curve.epsilon(1e-5), curve.delta(0.5)
        exact = sb.epsilon(subject, n=100, delta=1e-5), sb.delta(subject, eps=0.5, n=100)
        for first, second in ((eps, exact[0]), (delta, exact[1])):
            assert max(first.lower, second.lower) <= min(first.upper, second.upper)


def test_more_steps_do_not_hide_an_example_of_poisson_sampling():
    with pytest.raises(ValueError, match="more steps cost more"):
        sb.fewest_users(sb.PoissonSampling(1.0, 0.01), eps=1.0, delta=1e-5)
