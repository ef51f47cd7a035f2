"""Training with random allocation against closed forms, quadrature and 40-digit masses."""

import math
from fractions import Fraction
from itertools import combinations, product

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import shufflebounds as sb
from shufflebounds.divergence.engine import divergence
from shufflebounds.profiles.one_order import losses_above_order
from shufflebounds.questions.accountant import (
    from_profile,
    to_dp_accounting,
    to_renyi_accounting,
)
from shufflebounds.randomizers.gaussian_cells import (
    NDTR_ERR,
    gaussian_pair,
    loss_beyond,
    tail_delta,
)
from shufflebounds.subjects.base import Aim

DIGITS = 40
# Relative error of quadrature on a grid, where the integrand all but has a kink.
GRID_ERR = 1e-4


def phi(x):
    """Return Φ(x) with relative precision in both tails."""
    return mp.erfc(-x / mp.sqrt(2)) / 2


def gaussian_delta(sigma, eps):
    """Return δ(ε) of the Gaussian mechanism of sensitivity 1 (Balle and Wang 2018)."""
    tau = 1 / mp.mpf(sigma)
    eps = mp.mpf(eps)
    return phi(tau / 2 - eps / tau) - mp.exp(eps) * phi(-tau / 2 - eps / tau)


def two_step_deltas(sigma, eps):
    """Return δ(ε) of both orders of two steps, by quadrature over the first step.

    The first order is that of removing the example.

    With L = e^v, v normal, E(L − x)₊ and E(x − L)₊ are closed forms for the second step.
    """
    tau = 1 / mp.mpf(sigma)

    def above(x):
        if x <= 0:
            return 1 - x
        z = mp.log(x) / tau
        return phi(tau / 2 - z) - x * phi(-tau / 2 - z)

    def mean(f, middle):
        ends = [-12 * tau, middle - tau, middle, middle + tau, 12 * tau]
        density = lambda v: mp.npdf(v, -tau * tau / 2, tau)  # noqa: E731
        return mp.quad(lambda v: density(v) * f(mp.exp(v)), sorted(ends))

    growth = mp.exp(mp.mpf(eps))
    forward = mean(lambda first: above(2 * growth - first), mp.log(2 * growth)) / 2
    rest = 2 / growth

    def below(first):
        x = rest - first
        return above(x) + x - 1 if x > 0 else mp.mpf(0)

    backward = growth * mean(below, mp.log(rest)) / 2
    return forward, backward


def two_step_delta(sigma, eps):
    """Return the larger δ(ε) of both orders of two steps."""
    return max(two_step_deltas(sigma, eps))


def grid_deltas(sigma, eps, steps):
    """Return δ(ε) of both orders of two or three steps, by the trapezoidal rule in floats.

    The last step has a closed form. The relative error is below `GRID_ERR`, as that of two steps.
    """
    tau, growth = 1.0 / sigma, math.exp(eps)
    z, h = np.linspace(-9.0, 9.0, 721, retstep=True)
    weights, ratios = (
        h * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi),
        np.exp(tau * z - tau**2 / 2),
    )
    for _ in range(steps - 2):
        weights = np.multiply.outer(weights, weights[:721]).ravel()
        ratios = np.add.outer(ratios, ratios[:721]).ravel()

    def above(x):
        """Return E(L − x)₊."""
        d = np.log(np.maximum(x, 1e-300)) / tau
        tail = ndtr(tau / 2 - d) - x * ndtr(-tau / 2 - d)
        return np.where(x > 0.0, tail, 1.0 - x)

    def below(x):
        """Return E(x − L)₊."""
        d = np.log(np.maximum(x, 1e-300)) / tau
        return np.where(x > 0.0, x * ndtr(d + tau / 2) - ndtr(d - tau / 2), 0.0)

    forward = weights @ above(steps * growth - ratios) / steps
    return forward, growth / steps * (weights @ below(steps / growth - ratios))


def test_error_of_ndtr():
    with mp.workdps(DIGITS):
        points = -np.linspace(0.0, 37.0, 400)
        for x, value in zip(points.tolist(), ndtr(points).tolist(), strict=True):
            assert abs(mp.mpf(value) / phi(mp.mpf(x)) - 1) < NDTR_ERR


@settings(deadline=None, max_examples=15)
@given(st.floats(0.2, 6.0), st.floats(1e-12, 1e-3), st.integers(5, 40))
def test_masses_of_cells(sigma, delta, count):
    """Both ends have the masses that 40 digits give, within their `rel_err`."""
    last = loss_beyond(sigma, delta)
    ends = np.linspace(-0.5 / sigma**2 - 7.0 / sigma, last, count + 1)
    pair = gaussian_pair(sigma, ends)
    assert pair.rel_err < 1e-11
    with mp.workdps(DIGITS):
        s = mp.mpf(sigma)
        inner, outer = pair.bounds()
        # The ends of cells, of which some were divided, are the likelihood ratios of the outer end.
        nodes = np.log(outer.a[1:-1] / outer.b[1:-1]).tolist()
        assert nodes[-1] == pytest.approx(last)
        assert len(inner) == len(nodes) + 1 > count
        halves = _halves(ends)
        every = [mp.mpf(min(halves, key=lambda y, x=x: abs(y - x))) for x in nodes]
        ratios = [mp.exp(v) for v in every]
        below = {name: [phi(v * s + shift / s) for v in every] for name, shift in _SHIFTS.items()}
        above = {name: [phi(-v * s - shift / s) for v in every] for name, shift in _SHIFTS.items()}
        a, b = (
            [
                up - low if up < 0.5 else above[name][i] - above[name][i + 1]
                for i, (low, up) in enumerate(zip(below[name], below[name][1:], strict=False))
            ]
            for name in ("a", "b")
        )
        ups = [
            (x - ratio * y) / (following - ratio)
            for x, y, ratio, following in zip(a, b, ratios, ratios[1:], strict=False)
        ]
        masses = [y - up for y, up in zip(b, ups, strict=True)] + [above["b"][-1]]
        masses = [x + up for x, up in zip(masses, [mp.mpf(0), *ups], strict=True)]
        for mass, exact in [
            *zip(inner.a, [below["a"][0], *a, above["a"][-1]], strict=True),
            *zip(inner.b, [below["b"][0], *b, above["b"][-1]], strict=True),
            *zip(outer.b, [below["b"][0], *masses, 0], strict=True),
        ]:
            assert abs(mp.mpf(float(mass)) - exact) <= pair.rel_err * exact
        visible = below["a"][0] + above["a"][-1] - ratios[-1] * above["b"][-1]
        assert visible <= mp.mpf(float(outer.a[-1])) * (1 + mp.mpf(pair.rel_err))


_SHIFTS = {"a": mp.mpf(-0.5), "b": mp.mpf(0.5)}


def _halves(ends):
    """Return the ends of cells that are divided up to four times."""
    points = ends
    for _ in range(4):
        points = np.sort(np.append(points, 0.5 * (points[1:] + points[:-1])))
    return points.tolist()


@settings(deadline=None, max_examples=30)
@given(st.floats(0.2, 10.0), st.floats(0.0, 30.0))
def test_tail_is_rounded_up(sigma, deviations):
    loss = deviations / sigma
    with mp.workdps(DIGITS):
        exact = gaussian_delta(sigma, loss)
        value = tail_delta(sigma, loss)
        assert exact <= value <= exact * (1 + mp.mpf(1e-6))


@settings(deadline=None, max_examples=10)
@given(st.floats(0.3, 5.0), st.floats(0.1, 3.0))
def test_single_step_is_the_gaussian_mechanism(sigma, eps):
    with mp.workdps(DIGITS):
        exact = gaussian_delta(sigma, eps)
        if exact > 1e-30:
            enclosure = sb.delta(sb.RandomAllocation(sigma), eps=eps, n=1)
            assert mp.mpf(enclosure.lower) <= exact <= mp.mpf(enclosure.upper)
            assert enclosure.relative_width <= 0.02


@pytest.mark.parametrize(("sigma", "eps"), [(0.5, 1.0), (1.0, 1.0), (1.0, 2.0), (2.0, 0.5)])
def test_two_steps_by_quadrature(sigma, eps):
    with mp.workdps(25):
        exact = two_step_delta(sigma, eps)
    enclosure = sb.delta(sb.RandomAllocation(sigma), eps=eps, n=2)
    assert enclosure.lower <= exact <= enclosure.upper
    assert enclosure.relative_width <= 0.02


@pytest.mark.parametrize(("sigma", "eps"), [(0.5, 1.0), (0.8, 3.0), (1.5, 0.4)])
def test_three_steps_by_quadrature(sigma, eps):
    with mp.workdps(20):
        for known, value in zip(
            two_step_deltas(sigma, eps), grid_deltas(sigma, eps, 2), strict=True
        ):
            assert value == pytest.approx(float(known), rel=GRID_ERR)
    exact = max(grid_deltas(sigma, eps, 3))
    enclosure = sb.delta(sb.RandomAllocation(sigma), eps=eps, n=3)
    assert enclosure.lower * (1.0 - GRID_ERR) <= exact <= enclosure.upper * (1.0 + GRID_ERR)
    assert enclosure.relative_width <= 0.02


@pytest.mark.parametrize("steps", [2, 3])
@pytest.mark.parametrize("cells", [20, 33, 60, 110])
def test_each_order_at_several_numbers_of_cells(steps, cells):
    """In each order the inner end is at most the quadrature, and the outer end at least."""
    pair = sb.RandomAllocation(1.2).decomposition(steps, 1e-4, cells=cells)
    exact = grid_deltas(1.2, 0.7, steps)
    for (inner, outer), delta in zip(pair.directions, exact, strict=True):
        assert divergence(inner, 0.7, steps, 1e-9).lower <= delta * (1.0 + GRID_ERR)
        assert divergence(outer, 0.7, steps, 1e-9).upper >= delta * (1.0 - GRID_ERR)


@pytest.mark.parametrize("cells", [20, 45, 200])
def test_ends_at_every_number_of_cells(cells):
    """The inner end is never above the quadrature of two steps, and the outer never below."""
    pair = sb.RandomAllocation(0.8).decomposition(2, 1e-4, cells=cells)
    with mp.workdps(25):
        exact = two_step_delta(0.8, 1.5)
    inner, outer = (
        [divergence(order[end], 1.5, 2, 1e-9) for order in pair.directions] for end in (0, 1)
    )
    assert max(x.lower for x in inner) <= exact <= max(x.upper for x in outer)
    assert max(x.upper for x in inner) <= max(x.lower for x in outer)


@pytest.mark.parametrize(("sigma", "epochs"), [(2.0, 4), (5.0, 50)])
def test_epochs_of_a_single_step(sigma, epochs):
    """Epochs of one step are one Gaussian mechanism with noise σ/√epochs."""
    enclosure = sb.epsilon(sb.RandomAllocation(sigma), n=1, delta=1e-5, rounds=epochs)
    with mp.workdps(DIGITS):
        noise = mp.mpf(sigma) / mp.sqrt(epochs)
        assert gaussian_delta(noise, enclosure.lower) >= 1e-5
        assert gaussian_delta(noise, enclosure.upper) <= 1e-5
    assert enclosure.relative_width <= 0.01
    delta = sb.delta(sb.RandomAllocation(sigma), eps=1.0, n=1, rounds=epochs)
    with mp.workdps(DIGITS):
        exact = gaussian_delta(noise, 1.0)
        assert delta.lower <= exact <= delta.upper


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=8),
    st.lists(st.floats(0.05, 1.5), min_size=1, max_size=6),
    st.integers(0, 20),
)
def test_losses_above_one_order(masses, steps, slack):
    """The curve of the losses is above that of a finite pair at every x, below 1 too."""
    p, q = (np.array(x, float) for x in zip(*masses, strict=True))
    if not (p.any() and q.any()):
        return
    p, q = ([Fraction(int(x)) / int(sum(y)) for x in y] for y in (p, q))
    nodes = np.append(0.0, np.cumsum(steps))

    def curve(first, second, x):
        return sum((max(a - x * b, 0) for a, b in zip(first, second, strict=True)), Fraction(0))

    def bounds(first, second):
        points = [Fraction(math.exp(x)) for x in nodes.tolist()]
        values = [float(curve(first, second, x * (1 - Fraction(1, 10**12)))) for x in points]
        return np.array(values) * (1.0 + 1e-3 * slack) + 1e-15

    losses = losses_above_order(nodes, bounds(p, q), bounds(q, p))
    assert losses.total + losses.infinite >= 1.0 - 1e-15
    for x in [*np.linspace(0.05, 1.0, 15), *np.exp(np.linspace(0.0, 8.0, 30))]:
        above = float(
            np.maximum(losses.masses * (1.0 - x * np.exp(-losses.values)), 0.0).sum()
            + losses.infinite
        )
        assert float(curve(p, q, Fraction(float(x)))) <= above * (1.0 + 1e-12)


@pytest.mark.parametrize(
    ("sigma", "steps", "delta", "epochs"),
    [
        (36.64735698519312, 1849, 1.4267233049147054e-07, 98),
        (45.910682961272016, 738, 7.359282449438914e-07, 805),
        (119.34366464788629, 338, 5.744810513698794e-08, 8),
    ],
)
def test_estimates_that_overflow(sigma, steps, delta, epochs):
    """Negative masses of an estimated law made its powers infinite, and the ends not a number."""
    with np.errstate(all="raise", under="ignore"):
        pair = sb.RandomAllocation(sigma).decomposition(steps, delta, epochs=epochs)
    assert sb.epsilon(pair, n=steps, delta=delta).relative_width < 0.01


@pytest.mark.parametrize("sigma", [0.4, 1.0, 4.0])
def test_advantage_against_one_step(sigma):
    enclosure = sb.advantage(sb.RandomAllocation(sigma), n=1)
    assert enclosure.lower <= math.erf(0.5 / sigma / math.sqrt(2.0)) <= enclosure.upper


@pytest.mark.parametrize("rtol", [0.03, 0.01, 0.005])
@pytest.mark.parametrize(("sigma", "steps", "eps"), [(0.3, 12_500, 2.0), (0.4, 1000, 3.0)])
def test_every_width_of_delta_is_answered(sigma, steps, eps, rtol):
    """More cells may lie worse, which was the end of the search once; both widths must agree."""
    epoch = sb.RandomAllocation(sigma)
    found = sb.delta(epoch, eps=eps, n=steps, rtol=rtol)
    finer = sb.delta(epoch, eps=eps, n=steps, rtol=0.003)
    assert found.relative_width <= rtol
    assert max(found.lower, finer.lower) <= min(found.upper, finer.upper)


def test_noise_multiplier_meets_its_target():
    enclosure = sb.smallest_noise_multiplier(1.0, 1e-5, steps=50)
    assert enclosure.relative_width <= 0.01
    at_upper, at_lower = (
        sb.epsilon(sb.RandomAllocation(x), n=50, delta=1e-5)
        for x in (enclosure.upper, enclosure.lower)
    )
    assert at_upper.lower <= 1.0 <= at_lower.upper


def test_noise_multiplier_of_one_step():
    """Of one step, the analytic Gaussian mechanism gives the answer."""
    enclosure = sb.smallest_noise_multiplier(2.0, 1e-6, steps=1)
    with mp.workdps(DIGITS):
        assert gaussian_delta(enclosure.upper, 2.0) <= 1e-6 <= gaussian_delta(enclosure.lower, 2.0)


def test_noise_multipliers_beyond_the_range():
    assert sb.smallest_noise_multiplier(40.0, 1e-2, steps=1000).lower == 0.0
    with pytest.raises(ValueError, match="target must be larger"):
        sb.smallest_noise_multiplier(1e-5, 1e-6, steps=1)


def test_arrays_and_different_epochs():
    epoch = sb.RandomAllocation(2.0)
    several = sb.epsilon(epoch, n=[10, 100], delta=1e-6)
    single = sb.epsilon(epoch, n=100, delta=1e-6)
    assert single == several[1]
    other = sb.RandomAllocation(4.0)
    both = sb.compose([(epoch, 100, 1), (other, 10, 1)]).epsilon(delta=1e-6)
    alone = sb.epsilon(other, n=10, delta=1e-6)
    assert max(single.lower, alone.lower) < both.upper < 1.01 * (single.upper + alone.upper)


def test_epochs_and_another_mechanism_that_adds_or_removes_an_example():
    """Epochs of one step and a Gaussian release are one Gaussian mechanism."""

    def release(eps, mu=0.5):
        return np.maximum(ndtr(mu / 2 - eps / mu) - np.exp(eps) * ndtr(-mu / 2 - eps / mu), 0.0)

    other = from_profile(release, relation="add or remove")
    both = sb.compose([(sb.RandomAllocation(4.0), 1, 8), (other, 1, 1)])
    assert both.relation == other.relation == "add or remove"
    upper = both.epsilon(1e-6).upper
    with mp.workdps(DIGITS):
        sigma = 1.0 / math.sqrt(8 / 4.0**2 + 0.5**2)
        assert gaussian_delta(sigma, upper) <= 1e-6 <= gaussian_delta(sigma, 0.97 * upper)


def least_replacement_delta(eps, steps, *, step=2e-3, size=2**22, lowest=-60.0):
    """Return a lower bound of δ(ε) of an epoch with σ = 1 for two datasets that replace an example.

    The clipped gradient of one example is u, |u| = 1, in every step, that of the other is −u. So
    δ is the mean of (Σ W_i)₊/t, W_i = exp(y_i − 1/2) − e^ε exp(−y_i − 1/2), y_i standard normal.
    W is rounded down, steps with W below ``lowest`` are dropped, and sums beyond the lattice wrap
    to smaller ones, all of which lowers the mean.
    """
    y = np.linspace(-8.0, 6.0, 60_001)
    masses, y = np.diff(ndtr(y)), y[:-1]
    w = np.exp(y - 0.5) - math.exp(eps) * np.exp(-y - 0.5)
    kept = w >= lowest
    places = np.floor((w[kept] - lowest) / step).astype(np.int64)
    law = np.bincount(places, masses[kept], size)
    sums = np.maximum(np.fft.irfft(np.fft.rfft(law) ** steps, size), 0.0)
    values = steps * lowest + step * np.arange(size)
    return float(np.maximum(values, 0.0) @ sums) / steps


def test_a_replacement_has_a_larger_delta():
    """A sum of an epoch and of reports says nothing about a replacement: the epoch alone has more.

    At ε = 0.6298 the sum of this epoch and of a shuffle of reports had δ = 10⁻⁵.
    """
    claimed = sb.delta(sb.RandomAllocation(1.0), eps=0.6298, n=100).upper
    assert claimed < 1e-5
    assert 1.7e-4 < least_replacement_delta(0.6298, 100) < 1.75e-4
    assert least_replacement_delta(0.823, 100) > 1e-5
    # A removal and an addition are a replacement.
    eps = sb.epsilon(sb.RandomAllocation(1.0), n=100, delta=1e-5).upper
    assert least_replacement_delta(2.0 * eps, 100) < (1.0 + math.exp(eps)) * 1e-5


def test_kept_bins_are_one_epoch():
    """If examples keep their steps over ten epochs, these are one epoch with noise σ/√10.

    The noise of all epochs is drawn, and the likelihood ratio is that of the definition.
    """
    sigma, steps, epochs, eps = 2.00102, 10, 10, 1.0
    rng = np.random.default_rng(1)
    samples = []
    for _ in range(20):
        y = rng.normal(0.0, sigma, (10_000, epochs, steps))
        y[:, :, 0] += 1.0  # the example's step, the same in every epoch
        ratio = np.exp(((y - 0.5) / sigma**2).sum(axis=1)).mean(axis=1)
        samples.append(np.maximum(1.0 - math.exp(eps) / ratio, 0.0).mean())
    mean, error = np.mean(samples), np.std(samples) / math.sqrt(len(samples))
    kept = sb.delta(sb.RandomAllocation(sigma / math.sqrt(epochs)), eps=eps, n=steps)
    assert kept.lower - 4.0 * error < mean < kept.upper + 4.0 * error
    assert 0.07 < kept.lower < kept.upper < 0.071
    # With bins that are redrawn, this noise is enough for δ = 0.01.
    redrawn = sb.epsilon(sb.RandomAllocation(sigma), n=steps, delta=1e-2, rounds=epochs)
    assert 0.98 < redrawn.lower < redrawn.upper < 1.01
    assert sb.epsilon(sb.RandomAllocation(sigma / epochs**0.5), steps, 1e-2).lower > 1.3


@pytest.mark.parametrize("sigma", [1.0, 2.0])
def test_kept_bins_with_gradients_that_depend_on_the_past(sigma):
    """Gradients that follow earlier outputs reveal no more than constant ones."""
    steps, epochs, eps = 2, 2, 0.5
    rng = np.random.default_rng(2)
    limit = sb.delta(sb.RandomAllocation(sigma / math.sqrt(epochs)), eps=eps, n=steps).upper
    for strategy in (
        lambda logs: np.where(logs[:, :1] > logs[:, 1:], 1.0, 0.5),
        lambda logs: np.where(logs.sum(axis=1, keepdims=True) > 0.0, 0.2, 1.0),
    ):
        logs = np.zeros((400_000, steps))
        for _ in range(epochs):
            for step in range(steps):
                g = strategy(logs)[:, 0]
                y = rng.normal(0.0, sigma, len(logs)) + (g if step == 0 else 0.0)
                logs[:, step] += (y * g - 0.5 * g**2) / sigma**2
        losses = np.maximum(1.0 - math.exp(eps) / np.exp(logs).mean(axis=1), 0.0)
        assert losses.mean() < limit + 4.0 * losses.std() / math.sqrt(losses.size)


@pytest.mark.parametrize("sigma", [0.1, -1.0, math.nan, "1"])
def test_bad_noise_multipliers(sigma):
    with pytest.raises(ValueError, match="noise_multiplier"):
        sb.RandomAllocation(sigma)


def test_two_epochs_of_two_steps_on_a_grid(monkeypatch):
    """The losses of two steps on a grid of both reports, convolved; not certified."""
    monkeypatch.setattr(Aim.__new__, "__defaults__", (1e-6, 1, 40, False))
    sigma, step = 0.9, 4e-3
    v = np.linspace(-9.0, 9.0, 501)
    weights = np.exp(-0.5 * (v * sigma + 0.5 / sigma) ** 2)
    weights /= weights.sum()
    ratio = 0.5 * np.add.outer(np.exp(v), np.exp(v))
    losses = np.log(ratio).ravel() / step
    masses = (np.multiply.outer(weights, weights) * ratio).ravel()
    index = np.floor(losses).astype(int)
    first, share = index.min(), losses - index
    law = np.bincount(index - first, masses * (1.0 - share), index.max() - first + 2)
    law += np.bincount(index - first + 1, masses * share, index.max() - first + 2)
    both = np.convolve(law, law)
    sums = step * (2.0 * first + np.arange(both.size))
    delta = float(both @ np.maximum(-np.expm1(2.5 - sums), 0.0))
    enclosure = sb.delta(sb.RandomAllocation(sigma), eps=2.5, n=2, rounds=2)
    assert enclosure.lower * (1.0 - 2e-3) <= delta <= enclosure.upper * (1.0 + 2e-3)


def test_many_steps_by_simulation():
    rng, sigma, steps, eps = np.random.default_rng(1), 1.0, 100, 0.5
    values = []
    for _ in range(20):
        y = sigma * rng.standard_normal((5000, steps))
        # Under P one step, here the first, has the example.
        y[:, 0] += 1.0
        ratio = np.exp((y - 0.5) / sigma**2).mean(axis=1)
        values.append(np.maximum(1.0 - math.exp(eps) / ratio, 0.0))
    sample = np.concatenate(values)
    error = 5.0 * sample.std() / math.sqrt(sample.size)
    enclosure = sb.delta(sb.RandomAllocation(sigma), eps=eps, n=steps)
    assert enclosure.lower - error <= sample.mean() <= enclosure.upper + error


def test_a_thousand_steps_by_importance_sampling():
    """A rare event is drawn often: all reports have a slightly larger mean than without example."""
    rng, sigma, steps, eps, mean = np.random.default_rng(2), 1.5, 1000, 0.06, 0.09
    values = []
    for _ in range(10):
        y = mean + sigma * rng.standard_normal((1500, steps))
        weights = np.exp(mean * (0.5 * mean - y).sum(axis=1) / sigma**2)
        ratio = np.exp((y - 0.5) / sigma**2).mean(axis=1)
        values.append(weights * np.maximum(ratio - math.exp(eps), 0.0))
    sample = np.concatenate(values)
    error = 4.0 * sample.std() / math.sqrt(sample.size)
    assert error < 0.25 * sample.mean()
    enclosure = sb.delta(sb.RandomAllocation(sigma), eps=eps, n=steps)
    assert enclosure.lower - error <= sample.mean() <= enclosure.upper + error


@pytest.mark.parametrize(("steps", "selected"), [(4, 2), (5, 2), (6, 3)])
def test_several_steps_of_an_epoch_by_enumeration(steps, selected):
    """Blocks of steps dominate k of t steps in both orders, for a pair with two reports."""
    a, b = (Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))
    sets = list(combinations(range(steps), selected))
    pairs = []
    for reports in product((0, 1), repeat=steps):
        absent = math.prod(b[report] for report in reports)
        present = sum(
            absent * math.prod(a[reports[i]] / b[reports[i]] for i in chosen) for chosen in sets
        )
        pairs.append((present / len(sets), absent))
    pair = sb.Decomposition(*(np.array([float(x) for x in law]) for law in (a, b, b)))
    size, more = divmod(steps, selected)
    rounds = [(pair, size, selected - more), (pair, size + 1, more)]
    blocks = sb.compose([round_ for round_ in rounds if round_[2]])
    for eps in (0.0, 0.4, 0.9):
        x = Fraction(math.exp(eps))
        forward = sum(max(p - x * q, 0) for p, q in pairs)
        backward = sum(max(q - x * p, 0) for p, q in pairs)
        assert max(forward, backward) <= blocks.delta(eps).upper <= 1.6 * max(forward, backward)


@pytest.mark.parametrize("sigma", [0.2, 1.0, 20.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-10, 1e-30])
def test_epsilon_of_a_single_step_at_extremes(sigma, delta):
    enclosure = sb.epsilon(sb.RandomAllocation(sigma), n=1, delta=delta)
    with mp.workdps(DIGITS):
        lower, upper = (gaussian_delta(sigma, x) for x in (enclosure.lower, enclosure.upper))
    assert upper <= delta <= lower
    assert enclosure.relative_width <= 1e-3


def test_profile_of_epochs():
    """The curve encloses the closed form between its points, also at negative ε."""
    curve = sb.profile(sb.RandomAllocation(3.0), n=1, rounds=9, smallest=1e-5, density=8.0)
    for eps in (0.1, 1.0, 2.5):
        with mp.workdps(DIGITS):
            exact = gaussian_delta(1.0, eps)
        enclosure = curve.delta(eps)
        assert enclosure.lower <= exact <= enclosure.upper
        assert enclosure.relative_width < 0.12
        assert 1.0 - math.exp(-eps) + math.exp(-eps) * float(exact) in curve.delta(-eps)


def test_orders_of_an_exported_epoch(monkeypatch):
    """dp_accounting keeps removing and adding an example apart, as its own events do."""
    pytest.importorskip("dp_accounting")
    monkeypatch.setattr(Aim.__new__, "__defaults__", (1e-6, 1, 30, False))
    epoch = sb.compose([(sb.RandomAllocation(1.0), 2, 1)])
    exported = to_dp_accounting(epoch, interval=1e-2, smallest=1e-4)
    with mp.workdps(20):
        exact = two_step_deltas(1.0, 1.7)
    removing, adding = exported._pmf_remove, exported._pmf_add
    assert exact[0] > 1.5 * exact[1]
    for law, delta in zip((removing, adding), exact, strict=True):
        assert delta <= law.get_delta_for_epsilon(1.7) <= 1.2 * delta


def test_exported_epochs_compose_with_other_events():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    epochs = sb.compose([(sb.RandomAllocation(4.0), 1, 8)])
    exported = to_dp_accounting(epochs, interval=1e-2, smallest=1e-8)
    release = pld.from_gaussian_mechanism(2.0, value_discretization_interval=1e-2)
    delta = exported.compose(release).get_delta_for_epsilon(1.0)
    with mp.workdps(DIGITS):
        # 8/4² + 1/2² = 3/4.
        exact = gaussian_delta(1.0 / math.sqrt(0.75), 1.0)
    # Losses are rounded up twice, by up to 1e-2, and δ falls by 1.9 % of itself along 1e-2.
    assert exact <= delta <= 1.04 * exact
    with pytest.raises(ValueError, match="pessimistic must be True"):
        to_dp_accounting(epochs, pessimistic=False)


@pytest.mark.parametrize(
    "ask",
    [
        lambda epoch: sb.renyi(epoch, 10, 2.0),
        lambda epoch: sb.renyi_epsilon(epoch, 10, 1e-6),
        lambda epoch: to_renyi_accounting(sb.compose([(epoch, 10, 1)]), [2.0]),
    ],
)
def test_renyi_divergences_are_refused(ask):
    with pytest.raises(ValueError, match=r"infinite|made for one delta"):
        ask(sb.RandomAllocation(1.0))


@pytest.mark.parametrize("sigma", [2.0, 3.0])
def test_ten_epochs_of_two_steps_with_a_replacement(sigma):
    # The ratio of the densities is a constant over a product of two independent factors.
    scheme = sb.RandomAllocation(sigma, neighbours="replace")
    enclosure = sb.epsilon(scheme, n=2, delta=1e-6, rounds=10)
    noise = sigma / math.sqrt(20.0)
    assert gaussian_delta(noise, enclosure.upper) <= 1e-6 <= gaussian_delta(noise, enclosure.lower)
    assert enclosure.relative_width <= 0.01


def test_ten_epochs_with_a_replacement_by_simulation():
    rng, steps, epochs, size = np.random.default_rng(3), 100, 10, 50_000
    scheme = sb.RandomAllocation(1.0, neighbours="replace")
    assert sb.epsilon(scheme, n=steps, delta=1e-6, rounds=epochs).relative_width <= 0.01
    losses = np.zeros((epochs, size))
    for epoch, block in np.ndindex(epochs, 5):
        z = rng.standard_normal((steps, size // 5))
        z[0] += 1.0
        part = slice(block * size // 5, (block + 1) * size // 5)
        losses[epoch, part] = np.log(np.exp(z).sum(axis=0) / np.exp(-z).sum(axis=0))
    eps = 1.5
    samples = np.maximum(-np.expm1(eps - losses.sum(axis=0)), 0.0)
    delta = sb.delta(scheme, eps=eps, n=steps, rounds=epochs)
    err = 5.0 * float(samples.std()) / math.sqrt(size)
    assert delta.lower - err <= float(samples.mean()) <= delta.upper + err
