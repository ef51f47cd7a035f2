"""`exact` against brute force over ordered outputs, and against sums written down elsewhere."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from enumeration import brute_force, precise_exp, rationals
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact, histogram_count
from scipy import stats
from strategies import decompositions, epsilons, examples

from shufflebounds import KRR, Decomposition


def next_float(x, steps):
    for _ in range(steps):
        x = math.nextafter(x, math.inf)
    return x


@examples(250)
@given(st.data(), st.sampled_from([(4, 12.0, 4), (4, 12.0, 4), (3, 290.0, 3)]))
def test_brute_force(data, shape):
    """Uncertain entries are in core/test_uncertain_entries.py."""
    *masses, most = shape
    decomposition = data.draw(decompositions(*masses))
    n = data.draw(st.integers(1, most))
    eps = data.draw(epsilons(decomposition))
    truth = brute_force(*rationals(decomposition), precise_exp(eps), n)
    found = exact(decomposition, eps, n)
    assert Fraction(found.lower) <= truth <= Fraction(found.upper)
    if decomposition.rel_err == 0.0:  # where sums are exact
        assert found.upper <= next_float(found.lower, 2)


def test_rel_err_covers_a_residual_that_the_floats_do_not_show():
    """A report on the rare component is hidden by any on the other, but not by one elsewhere."""
    a, b, c, rel_err = [0.01, 0.99], [0.0, 1.0], np.array([0.01, 0.99]), 1e-4
    found = exact(Decomposition(a, b, c, rel_err=rel_err), 1.0, 2)
    truth = exact(Decomposition(a, b, c * (1.0 - 0.99 * rel_err)), 1.0, 2)
    assert 1.009 * exact(Decomposition(a, b, c), 1.0, 2).upper < truth.lower
    assert truth.upper <= found.upper


def test_an_excess_of_the_sure_masses_is_uncertainty():
    c = np.array([0.5, 0.5 + 2.0**-52])
    decomposition = Decomposition([0.75, 0.25], [0.25, 0.75], c)
    found = exact(decomposition, 0.1, 3)
    for true_c in (["1/2", "1/2"], [0.5 - 2.0**-52, 0.5]):
        truth = brute_force(
            *rationals(decomposition)[:2], [Fraction(x) for x in true_c], precise_exp(0.1), 3
        )
        assert Fraction(found.lower) <= truth <= Fraction(found.upper)
    assert found.relative_width < 1e-13


@pytest.mark.parametrize(("eps0", "eps", "n"), [(4.0, 1.0, 40), (4.0, 3.0, 20), (0.1, 0.01, 30)])
def test_krr_by_multinomials(eps0, eps, n):
    """All histograms of n − 1 others, by scipy, with the victim's report put on top of each."""
    k = 10
    e = math.exp(eps0)
    p = 1.0 / (e + k - 1)
    a, b, c = (
        p * np.array([e, 1.0, k - 2]),
        p * np.array([1.0, e, k - 2]),
        p * np.array([1, 1, k - 2]),
    )
    x, y, z = np.meshgrid(*[np.arange(n)] * 3, indexing="ij")
    inside = x + y + z <= n - 1
    others = np.stack([x, y, z, n - 1 - x - y - z], axis=-1)[inside]
    weights = stats.multinomial.pmf(others, n - 1, [*c, 1.0 - c.sum()])
    pair = np.zeros((2, n + 1, n + 1, n + 1))
    for j, step in enumerate(np.eye(3, dtype=int)):
        cells = tuple((others[:, :3] + step).T)
        pair[0][cells] += weights * a[j]
        pair[1][cells] += weights * b[j]
    expected = np.maximum(pair[0] - math.exp(eps) * pair[1], 0.0).sum()
    found = exact(KRR(k=k, eps0=eps0).blanket(), eps, n)
    assert found.lower == pytest.approx(expected, rel=1e-10)
    assert found.upper == pytest.approx(expected, rel=1e-10)


def test_large_eps_leaves_what_the_other_input_never_gives():
    decomposition = Decomposition([0.5, 0.5], [0.0, 1.0], [0.25, 0.5])
    # Seen where no other report is on the second component, nor the victim's: (1 − 1/2)^(n − 1)/2.
    for eps in (600.0, 5000.0, 1e300):
        assert 0.5 * 0.5**3 in exact(decomposition, eps, 4)


def test_tiny_eps_keeps_its_digits():
    """At a = b but for the last bit, D(ε) hangs on e^ε − 1, not on e^ε."""
    tilt = 2.0**-52
    decomposition = Decomposition([0.5 + tilt, 0.5 - tilt], [0.5, 0.5], [0.5, 0.5])
    for eps in (1e-17, 1e-30, 1e-300):
        truth = brute_force(*rationals(decomposition), precise_exp(eps), 2)
        found = exact(decomposition, eps, 2)
        assert Fraction(found.lower) <= truth <= Fraction(found.upper)
        assert found.upper <= next_float(found.lower, 2)


@pytest.mark.parametrize("n", [2, 25])
@pytest.mark.parametrize("eps", [0.1, 0.4])
def test_masses_of_very_different_size_for_many_users(n, eps):
    """The residual then has nearly a thousand bits; sums over all histograms by mpmath."""
    a, b, c = [0.5, 0.375, 0.125], [0.375, 0.5, 0.125], [1e-250, 0.4, 1e-30]
    found = exact(Decomposition(a, b, c), eps, n)
    with mpmath.workdps(600):
        masses = [mpmath.mpf(x) for x in c]
        values = [
            (mpmath.mpf(x) - mpmath.exp(eps) * mpmath.mpf(y)) / z
            for x, y, z in zip(a, b, masses, strict=True)
        ]
        rest, total = 1 - sum(masses), mpmath.mpf(0)
        for h in itertools.product(range(n + 1), repeat=3):
            if sum(h) <= n:
                ways = math.factorial(n)
                for count in (*h, n - sum(h)):
                    ways //= math.factorial(count)
                weight = (
                    ways
                    * rest ** (n - sum(h))
                    * mpmath.fprod(z**k for z, k in zip(masses, h, strict=True))
                )
                total += weight * max(0, mpmath.fdot(h, values))
        truth = total / n
        assert mpmath.mpf(found.lower) <= truth <= mpmath.mpf(found.upper)
    assert found.upper <= next_float(found.lower, 2)


def test_histogram_count():
    decomposition = Decomposition([0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.25, 0.25, 0.0])
    # Counts on the two components and elsewhere that sum to 4.
    assert histogram_count(decomposition, 4) == 15


def test_more_components_than_calls_may_be_nested():
    rng = np.random.default_rng(1)
    a, b = rng.dirichlet(np.ones(1100), 2)
    many = Decomposition(a / a.sum(), b / b.sum(), 0.9 * np.minimum(a, b))
    found = exact(many, 0.1, 1)
    with mpmath.workdps(50):
        pairs = zip(many.a.tolist(), many.b.tolist(), strict=True)
        truth = mpmath.fsum(max(p - mpmath.exp(0.1) * q, 0) for p, q in pairs)
        assert found.lower <= truth <= found.upper
    assert found.relative_width < 1e-9
