"""The bound for joints of different reports: against enumerated outputs, datasets and 50 digits."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from shuffles import channel, in_floats
from strategies import FUZZ

import shufflebounds as sb
from shufflebounds.divergence import coordinates as module
from shufflebounds.divergence.supremum import supremum
from shufflebounds.randomizers.crowds import linked_crowd, single_crowds

DIFFERENT = [sb.KRR(2, 0.5), sb.KRR(5, 0.6), sb.BLH(0.4, domain_size=3), sb.KRR(4, 0.3)]


def kinds_of(parts):
    crowds = single_crowds(parts)
    return linked_crowd(crowds, parts, crowds).kinds


def patterns(parts):
    """a, b, R(x) and c of all outputs, for the inputs of every pattern of coordinates."""
    options = []
    for part in parts:
        rows = part.matrix()
        held = range(len(rows))
        pairs = itertools.product(itertools.product(held, held), held)
        options.append([(*rows[list(pair)], rows[x], rows.min(axis=0)) for pair, x in pairs])
    for chosen in itertools.product(*options):
        laws = [np.ones(1)] * 4
        for one in chosen:
            pairs = zip(laws, one, strict=True)
            laws = [np.multiply.outer(x, y).ravel() for x, y in pairs]
        if not np.array_equal(laws[0], laws[1]):
            columns = np.stack(laws)
            yield columns[:, np.lexsort(np.round(columns, 12))]


def some_line(rng, sigma):
    theta = float(rng.uniform(1.5, 5.0)) / sigma
    return module._Line.of(
        float(rng.uniform(0.01, 0.4)), theta, float(rng.uniform(0.05, 0.5)), sigma
    )


@pytest.mark.parametrize(
    "parts",
    [DIFFERENT[:2], DIFFERENT[1:3], DIFFERENT[2:], [DIFFERENT[0], DIFFERENT[2], DIFFERENT[3]]],
    ids=lambda parts: " ".join(one.label for one in parts),
)
@pytest.mark.parametrize("rate", [1.0, 0.2])
def test_all_patterns_are_bounded_closely(parts, rate):
    """By Theorem 1 as it stands, of every triple of inputs with all its outputs, ⊥ included."""
    rng, kinds = np.random.default_rng(97), kinds_of(parts)
    laws = list({np.round(x, 12).tobytes(): x for x in patterns(parts)}.values())
    if rate < 1.0:
        laws = [np.column_stack([rate * x, np.full(4, 1.0 - rate)]) for x in laws]
    for n, eps in ((10**3, 0.0), (10**4, 0.03), (10**6, 0.002)):
        spread = n * max(float(np.sum((a - b) ** 2 / r)) for a, b, r, _ in laws)
        for _ in range(FUZZ):
            line = some_line(rng, math.sqrt(spread))
            j = np.arange(-line.modes, line.modes + 1)
            # Of sums with weights for z in units that 1 − τ changes.
            z = line.theta + 1j * line.step * j
            weights = np.exp(0.5 * line.eta**2 * (line.theta**2 - z.imag**2)) / np.abs(z) ** 2
            z = z * (1.0 - line.tau)
            truth = []
            for a, b, r, c in laws:
                rho = r - line.tau * c
                moved = np.exp(np.multiply.outer(z, (a - math.exp(eps) * b) / rho)) @ rho
                q = line.tau * c.sum() + np.abs(moved)
                truth.append(float(weights @ q**n))
            most = max(truth) * line.step / (2.0 * math.pi * n * (1.0 - line.tau))
            found = module._JointQuestion(kinds, rate, eps, n).largest(line, [(0, 0)])[0]
            assert most <= found * (1.0 + 1e-9)
            # What the share of heads costs, and bounds of characteristic functions. More than 1
            # is as good as infinite.
            dearer = math.exp(0.5 * spread * line.theta**2 * line.tau * 1.5)
            assert min(found, 1.0) <= 1.1 * dearer * most


@pytest.mark.parametrize(
    ("parts", "n"),
    [
        ((sb.KRR(2, math.log(3.0)), sb.KRR(2, math.log(2.0))), 4),
        ((sb.KRR(3, math.log(2.0)), sb.KRR(2, math.log(3.0))), 3),
        ((sb.BLH(math.log(3.0), domain_size=2), sb.KRR(2, 0.5)), 3),
        ((sb.RAPPOR(math.log(4.0), domain_size=2), sb.KRR(2, 0.5)), 3),
    ],
    ids=lambda given: given if isinstance(given, int) else " ".join(one.label for one in given),
)
def test_no_dataset_of_a_joint_exceeds_its_bound(parts, n):
    rng, kinds = np.random.default_rng(98), kinds_of(parts)
    p, q = in_floats(channel(parts), n).swapaxes(0, 1)
    sure = module._JointQuestion(kinds, 1.0, 0.0, n).sure
    for eps in (0.0, 0.5):
        truth = float(np.maximum(p - math.exp(eps) * q, 0.0).sum(axis=-1).max())
        for _ in range(10 * FUZZ):
            line = some_line(rng, math.sqrt(n))
            chance = (1.0 - line.tau * sure) ** (n - 1)
            found = module._JointQuestion(kinds, 1.0, eps, n).largest(line, [(0, 0)])[0] + chance
            assert truth <= found


@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_series_are_those_of_50_digits(rate):
    """Of E e^{zG}, G = (a − e^ε b)/R(x), and of derivatives, within the errors that are charged."""
    parts, eps = DIFFERENT[:3], 0.4
    kinds = kinds_of(parts)
    rows = [part.matrix() for part in parts]
    # All differ, and the others hold the first value in the first and a third one in the others.
    inputs = (0, 0, 0), (1, 1, 1), (0, 2, 2)
    with mpmath.workdps(50):
        a, b, r = (
            [
                math.prod(y)
                for y in itertools.product(
                    *([mpmath.mpf(y) for y in x[k]] for x, k in zip(rows, held, strict=True))
                )
            ]
            for held in inputs
        )
        values = [(x - mpmath.exp(eps) * y) / w for x, y, w in zip(a, b, r, strict=True)]
        values, r = [*values, 1 - mpmath.exp(eps)], [*(rate * w for w in r), 1 - mpmath.mpf(rate)]
        for degree, z in ((24, 0.05 + 0.3j), (24, 1.0), (40, 0.6 + 0.9j), (64, 1.5 + 1.0j)):
            series = module.coordinate_moments(kinds, degree).series(eps, rate)
            some, powers = series.moments, series.powers(np.array([z]))
            products = (some.left[:, None] * some.right).reshape(-1, some.p.size)
            found = products @ series.terms
            off = series.errors(some.most, np.array([abs(z)]))[0]
            exact = mpmath.fsum(w * mpmath.exp(z * v) for v, w in zip(values, r, strict=True))
            assert np.abs(1.0 + found @ powers - complex(exact)).min() <= off + 4e-16
            assert off < 1e-3
            for order in (0, 1, 2, 4):
                weights, off = series.derivative(0.7, order)
                exact = mpmath.fsum(
                    w * v**order * mpmath.exp(0.7 * v) for v, w in zip(values, r, strict=True)
                )
                exact = float(exact - (order == 0))
                assert np.abs(products @ weights - exact).min() <= off + 4e-16 * abs(exact)
                assert off < 1e-3 * abs(exact)


@pytest.mark.parametrize("n", [30, 10**3, 10**4, 10**7])
def test_modes_are_below_what_variances_say(n):
    """Mode by mode, and in all, of every pattern of three parts."""
    kinds, rng = kinds_of(DIFFERENT[:3]), np.random.default_rng(99)
    for eps in (0.0, 0.2):
        asked = module._JointQuestion(kinds, 0.7, eps, n)
        line = some_line(rng, math.sqrt(n) * float(rng.uniform(0.5, 3.0)))
        series = asked.series(line, line.modes)
        some = series.moments
        products = (some.left[:, None] * some.right).reshape(-1, some.p.size)
        shape = module._Shape.of(series, line, products.__matmul__)
        modes = line.smooth(shape, shape.variances, n)
        sizes = asked._sizes(series, products, line)
        sizes = np.minimum(sizes, sizes[:, :1])
        q = 1.0 + (1.0 - line.tau) * sizes
        truth = (q / q[:, :1]) ** n * line.weights()
        assert (truth <= modes * (1.0 + 1e-7)).all()
        assert np.allclose(truth.sum(axis=1), line.sums(sizes, n), rtol=1e-6)
        tops = asked._tops(shape, line)
        logs = asked.log_bounds(*np.indices((len(some.left), len(some.right))).reshape(2, -1), line)
        assert (logs <= tops + 1e-3).all()


def test_ends_of_the_series_are_charged():
    """Where the least degree leaves out most of the sum, of every pattern."""
    kinds, size = kinds_of(DIFFERENT), np.array([2.0])
    found, errors = [], []
    for degree in (24, 64):
        series = module.coordinate_moments(kinds, degree).series(0.1, 1.0)
        some = series.moments
        products = (some.left[:, None] * some.right).reshape(-1, some.p.size)
        found.append((products @ series.terms @ series.powers(size))[:, 0])
        errors.append(series.errors(products, size)[:, 0])
    gap = np.abs(found[0] - found[1])
    assert (gap <= errors[0] + errors[1]).all()
    assert (gap > 1e3 * errors[1]).any()


def test_eight_different_attributes_are_tight():
    kinds = ((2, 0.5), (5, 0.5), (10, 0.4), (16, 0.6), (3, 0.3), (7, 0.7), (20, 0.45), (32, 0.8))
    joint = sb.Joint([sb.KRR(k, eps0) for k, eps0 in kinds])
    found = sb.mechanism_epsilon(joint, 10**4, 1e-6)
    assert found.upper_bound == "all datasets"
    assert found.enclosure.relative_width < 6e-3


@pytest.mark.parametrize("n", [2000, 3000, 5000, 20_000])
def test_what_underflows_is_not_nothing(n):
    """That all send the most telling output is unlikely, but has a loss of the sum of all ε₀."""
    parts = [sb.KRR(k, 0.05 + 0.01 * k) for k in range(2, 9)]
    eps = 0.5 * math.fsum(part.eps0 for part in parts)
    assert sb.mechanism_delta(sb.Joint(parts), eps, n).enclosure.upper >= 1e-304
    assert supremum(linked_crowd(single_crowds(parts), parts, single_crowds(parts)), eps, n) > 0.0


def test_reports_that_rule_inputs_out_are_not_claimed():
    certain = sb.MatrixRandomizer([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    parts = [sb.KRR(2, 0.5), certain]
    crowds = [(one, one.same_input()) for one in (part.crowds()[0] for part in parts)]
    kinds = tuple((1, some) for some in crowds)
    assert module.joint_supremum(kinds, 1.0, 0.1, 10**4) == 1.0


def test_far_apart_probabilities_are_not_claimed():
    parts = [sb.KRR(2, 8.0), sb.KRR(3, 9.0)]
    crowds = single_crowds(parts)
    assert supremum(linked_crowd(crowds, parts, crowds), 0.1, 10**4) == 1.0


def test_too_many_patterns_are_refused_at_once():
    for parts in ([sb.KRR(4, 0.1)] * 50 + [sb.KRR(9, 0.1)], [sb.KRR(k, 0.1) for k in range(3, 14)]):
        assert sb.Joint(parts).crowds() == ()


def test_samples_of_written_out_products_agree():
    """Five parts, whose 31 crowds are written out, against their moments, at a rate."""
    parts = [*DIFFERENT, sb.KRR(3, 0.45)]
    written, crowds = sb.Joint(parts).crowds(), single_crowds(parts)
    sample = linked_crowd(crowds, parts, crowds).subsample(0.4).subsample(0.5)
    truth = max(supremum(one.subsample(0.2), 0.01, 10**4) for one in written)
    assert truth * 0.999 <= supremum(sample, 0.01, 10**4) <= 1.1 * truth


def test_samples_of_many_attributes_are_tight():
    joint = sb.Subsampled(sb.Joint([sb.KRR(k, 0.3) for k in range(2, 9)]), 0.1)
    found = sb.epsilon(joint, 10**5, 1e-6)
    assert found.upper <= 1.02 * found.lower < sb.epsilon(joint.blanket(), 10**5, 1e-6).lower
