"""The bound for all datasets: against enumeration of datasets, 50-digit sums and closed forms."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from shuffles import of_two_inputs
from strategies import FUZZ

import shufflebounds as sb
from shufflebounds.core.datasets import Crowd
from shufflebounds.divergence import supremum as module
from shufflebounds.divergence.law import law_at
from shufflebounds.divergence.supremum import (
    AimedBound,
    Integral,
    SharedAims,
    SupremumAim,
    supremum,
)


def random_channel(rng):
    """2 to 4 inputs and 2 or 3 outputs: mild, extremal, nearly deterministic, with zeros."""
    inputs, outputs = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    kind, eps0 = rng.random(), rng.choice([0.3, 1.0, 2.0, 4.0, 8.0])
    if kind < 0.4:
        rows = np.exp(eps0 * rng.random((inputs, outputs)))
    elif kind < 0.7:
        rows = 1.0 + math.expm1(eps0) * (rng.random((inputs, outputs)) < 0.5)
    else:
        rows = rng.dirichlet(np.full(outputs, rng.choice([0.3, 1.0])), inputs) + 1e-9
    if rng.random() < 0.15:
        rows[rng.integers(inputs), rng.integers(outputs)] = 0.0
    rows[:, 0] += 1e-3 * (rows.sum(axis=1) == 0.0)
    return rows / rows.sum(axis=1, keepdims=True)


def some_eps(rng, rows):
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.log(rows[0] / rows[1])
    largest = max(0.0, float(np.max(losses[np.isfinite(losses)], initial=0.0)))
    return float(rng.choice([0.0, rng.random() * largest, largest * (1.0 - 1e-9), 0.1]))


def crowd_of(rows):
    return Crowd.of_rows(rows, 0, 1, map(str, range(len(rows))), 2.0**-50)


def some_aim(crowd, eps, n, tau, rng):
    """An aim that the bound would not choose itself."""
    values = [module._remaining_values(crowd, held, eps, tau)[1] for held in crowd.others.values()]
    low, high = min(x.min() for x in values), max(x.max() for x in values)
    if high <= 0.0:
        return SupremumAim(tau, 0.0, 0.0, 0.0, 0, 0.0, 0.0)
    theta = rng.choice([0.3, 1.0, 3.0]) / (high * math.sqrt(n))
    eta = rng.choice([0.05, 0.2]) / theta
    step = 2.0 * math.pi / (n * (high - low) + rng.choice([5.0, 40.0]) / theta)
    modes = math.ceil(6.0 / (eta * step))
    return SupremumAim(tau, theta, eta, step, min(modes, 3000), 0.0, 0.0)


def test_no_dataset_of_a_random_channel_exceeds_either_bound():
    rng = np.random.default_rng(41)
    tightest, cases = 0.0, 0
    for _ in range(190 * FUZZ):
        rows = random_channel(rng)
        eps, n = some_eps(rng, rows), int(rng.integers(2, 8 if rows.shape[1] == 2 else 6))
        fraction = 0.9 * rng.random(rows.shape[1])
        tau = np.where(rng.random() < 0.5, fraction, fraction[0]) * (rows.min(axis=0) > 0.0)
        if not 1e-6 < tau @ rows.min(axis=0) < 0.9:
            continue
        crowd = crowd_of(rows)
        aim = some_aim(crowd, eps, n, tau, rng)
        fewest = int(rng.integers(2, n + 1))
        bound = AimedBound(crowd, eps, fewest, aim).at(n)
        chosen = supremum(crowd, eps, n)
        shared = supremum(crowd, eps, n, 1.0, SharedAims(crowd, fewest))
        truths = of_two_inputs(rows, n, eps)
        cases, truth = cases + truths.size, truths.max()
        assert truth <= bound * (1.0 + 1e-10) + 1e-14
        assert truth <= chosen * (1.0 + 1e-10) + 1e-14
        assert truth <= shared * (1.0 + 1e-10) + 1e-14
        tightest = max(tightest, truth / bound if truth > 1e-5 else 0.0)
    assert tightest > 0.6
    assert cases > 1000 * FUZZ


@pytest.mark.parametrize(
    "mechanism", [sb.Laplace(2.0, domain="interval"), sb.PrivUnit(4.0, cap=0.05)]
)
def test_a_victim_alone_is_covered_at_every_extreme(mechanism):
    """The crowd stands for all of its extremes; once, the bound for one user was its own."""
    crowds = [crowd for crowd in mechanism.crowds() if crowd.extremes]
    assert crowds
    for crowd in crowds:
        for eps in (0.0, 0.1):
            alone = [np.maximum(x.a - math.exp(eps) * x.b, 0.0).sum() for x in crowd.extremes]
            assert max(alone) * (1.0 - 1e-14) <= supremum(crowd, eps, 1)


@pytest.mark.parametrize("part", ["InputBound", "NoHeads"])
def test_neither_part_of_the_bound_is_left_out(part, monkeypatch):
    """Where it is small at the aim that is chosen, no truth is close enough to tell."""
    crowd = sb.OUE(1.0, domain_size=6).crowds()[0]
    monkeypatch.setattr(getattr(module, part), "at", lambda *_: 0.25)
    assert supremum(crowd, 0.1, 1000) > 0.25


def mixed_sum(laws, counts):
    """E(S)₊ of counts of draws of laws with values that are multiples of 2⁻²⁰, exactly."""
    unit = 2.0**20
    sums = {0: 1.0}
    for (values, masses), count in zip(laws, counts, strict=True):
        for _ in range(count):
            found = {}
            for s, p in sums.items():
                for value, mass in zip(values, masses, strict=True):
                    key = s + round(value * unit)
                    found[key] = found.get(key, 0.0) + p * mass
            sums = found
    return sum(p * s / unit for s, p in sums.items() if s > 0)


def test_hoelder_bounds_sums_of_draws_of_several_laws():
    rng = np.random.default_rng(42)
    for _ in range(30 * FUZZ):
        laws, n = [], int(rng.integers(2, 30))
        for _ in range(int(rng.integers(1, 4))):
            values = rng.integers(-8, 5, 3) / 4.0
            laws.append((values, rng.dirichlet(np.ones(3))))
        theta = float(rng.choice([0.1, 0.5, 2.0]))
        eta, step = 0.1 / theta, 2.0 * math.pi / (7.0 * n + 30.0 / theta)
        t = np.arange(1 + math.ceil(9.0 / (eta * step))) * step
        weight = np.where(t == 0.0, 1.0, 2.0) * np.exp(0.5 * eta**2 * (theta**2 - t**2))
        weight /= theta**2 + t**2
        bounds = [
            step / (2.0 * math.pi) * weight @ abs(np.exp(np.outer(theta + 1j * t, g)) @ p) ** n
            for g, p in laws
        ]
        counts = rng.multinomial(n, rng.dirichlet(np.ones(len(laws))))
        assert mixed_sum(laws, counts) <= max(bounds) * (1.0 + 1e-9)


@pytest.mark.parametrize("n", [50, 10**4, 10**8, 10**12])
@pytest.mark.parametrize("eps0", [0.05, 1.0, 4.0])
def test_integral_is_above_its_50_digit_value_and_close(n, eps0):
    crowd = sb.OUE(eps0, domain_size=6).crowds()[0]
    eps = 0.3 * eps0 / math.sqrt(n)
    aim = SupremumAim.of(crowd, eps, n, 2.0) or SupremumAim.of(crowd, eps, n, 0.2)
    aim = SupremumAim(aim.tau, aim.theta, aim.eta, 8.0 * aim.step, 30, 0.0, 0.0)
    other = crowd.others["third"].law
    rest = other - aim.tau * crowd.c
    g = law_at(sb.Decomposition(crowd.a, crowd.b, rest), eps)
    heads = float(aim.tau @ crowd.c)
    found = Integral.of(g, aim, heads).log_bound(n)
    with mpmath.workdps(50):
        scale = mpmath.mpf(2) ** g.exponent
        values = [mpmath.mpf(x) * scale for x in g.values.tolist()]
        masses = [mpmath.mpf(x) for x in g.masses.tolist()]
        away = 1 - sum(masses) - heads  # by rounding only
        total = mpmath.mpf(0)
        for j in range(-aim.modes, aim.modes + 1):
            z = mpmath.mpc(aim.theta, j * mpmath.mpf(aim.step))
            inner = away + sum(p * mpmath.exp(z * x) for p, x in zip(masses, values, strict=True))
            damping = mpmath.mpf(aim.eta) ** 2 * (z**2).real / 2
            total += mpmath.exp(damping) / abs(z) ** 2 * (heads + abs(inner)) ** n
        total *= mpmath.mpf(aim.step) / (2 * mpmath.pi)
        exact_log = float(mpmath.log(total))
    assert found >= exact_log - 1e-15 * abs(exact_log)
    assert found <= exact_log + 1e-4 + 1e-13 * n


def test_nothing_that_is_no_number_is_claimed():
    rows = np.array([[1.0 - 1e-299, 1e-299], [1e-299, 1.0 - 1e-299], [0.5, 0.5]])
    crowd = Crowd.of_rows(rows, 0, 1, "abc", 0.0)
    for eps in (0.0, 1.0, 689.0, 1e6):
        for n in (1, 2, 10, 10**15):
            bound = supremum(crowd, eps, n)
            assert 0.0 <= bound <= 1.0
    assert supremum(crowd, 0.0, 2) >= of_two_inputs(rows, 2, 0.0).max()
    # Nobody else ever sends what the victim does.
    apart = Crowd.of_laws([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], {"z": [0.0, 0.0, 1.0]})
    assert supremum(apart, 0.5, 100) == 1.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"laws": {}},
        {"laws": {"x": [0.5, 0.4]}},
        {"laws": {"x": [0.05, 0.95]}},
        {"laws": {"x": [0.5, 0.25, 0.25]}},
        {"c": [0.1, math.nan]},
    ],
)
def test_crowds_that_are_none_are_refused(wrong):
    good = {"a": [0.7, 0.3], "b": [0.3, 0.7], "c": [0.1, 0.1], "laws": {"x": [0.5, 0.5]}}
    Crowd.of_laws(**good)
    with pytest.raises(ValueError, match=r"others|c must|as many|one entry"):
        Crowd.of_laws(**{**good, **wrong})


def test_laws_of_others_that_are_off_are_charged():
    law_of_others = [0.5, 0.5 - 9e-10]
    crowd = Crowd.of_laws([0.75, 0.25], [0.25, 0.75], [0.25, 0.25], {"x": law_of_others})
    assert crowd.rel_err >= 9e-10
