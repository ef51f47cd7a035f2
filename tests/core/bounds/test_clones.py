"""The coarsened clone: its proof step by step, on random randomizers."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact_delta
from shuffles import of_two_inputs
from strategies import examples

import shufflebounds as sb
from shufflebounds.bounds.clones import coarsened_clone


@st.composite
def randomizers(draw):
    """A random probability matrix, rows inputs, and the ε₀ at which it is exactly ε₀-LDP."""
    shape = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    # Coarse steps make equal ratios, and components at the extreme ones, likely.
    steps = draw(st.lists(st.integers(-4, 4), min_size=math.prod(shape), max_size=math.prod(shape)))
    matrix = np.exp(draw(st.floats(0.02, 0.7)) * np.reshape(steps, shape))
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix, math.log(np.max(matrix.max(axis=0) / matrix.min(axis=0)))


def upper_bounds(matrix, eps0):
    """Clone, coarsened clone and blanket of the first two inputs, largest divergence first."""
    blanket = sb.Decomposition(matrix[0], matrix[1], matrix.min(axis=0))
    return sb.standard_clone(eps0), coarsened_clone(blanket, eps0), blanket


@examples(200)
@given(randomizers())
def test_coarsened_is_a_post_processing_of_the_clone(randomizer):
    matrix, eps0 = randomizer
    if eps0 > 1e-3:
        clone, coarse, _ = upper_bounds(matrix, eps0)
        e = math.exp(eps0)
        kernel = np.array([e * coarse.a - coarse.b, e * coarse.b - coarse.a]) / (e - 1.0)
        assert kernel.min() >= -1e-12
        np.testing.assert_allclose(kernel.sum(axis=1), 1.0, rtol=1e-10)
        for name in "abc":
            there = getattr(clone, name) @ kernel
            np.testing.assert_allclose(there, getattr(coarse, name), rtol=1e-9)


@examples(40)
@given(randomizers(), st.data())
def test_coarsened_bounds_every_shuffled_dataset(randomizer, data):
    matrix, eps0 = randomizer
    if eps0 > 0.0:
        _, coarse, _ = upper_bounds(matrix, eps0)
        eps = data.draw(st.floats(0.0, eps0))
        n = data.draw(st.integers(2, 4))
        assert of_two_inputs(matrix, n, eps).max() <= exact_delta(coarse, eps, n).upper + 1e-14


@pytest.mark.parametrize("eps0", [1e-3, 0.1, 1.0, 4.0, 50.0, 300.0])
def test_binary_randomized_response_coarsened_is_the_clone(eps0):
    coarse, clone = coarsened_clone(sb.KRR(2, eps0).blanket(), eps0), sb.standard_clone(eps0)
    for name in "abc":
        np.testing.assert_allclose(getattr(coarse, name), getattr(clone, name), rtol=1e-14)


@pytest.mark.parametrize("eps0", [1e-6, 0.1, 1.0, 4.0, 50.0, 300.0])
def test_coarsened_keeps_its_promise_of_accuracy(eps0):
    coarse = coarsened_clone(sb.KRR(3, eps0).blanket(), eps0)
    with mpmath.workdps(50):
        e = mpmath.exp(mpmath.mpf(eps0))
        p = 1 / (e + 2)
        exact = [(e * p, p), (p, e * p), (p, p)]
        for a, b, c, (first, second) in zip(coarse.a, coarse.b, coarse.c, exact, strict=True):
            for got, want in zip(
                (a, b, c), (first, second, (first + second) / (2 * e)), strict=True
            ):
                assert abs(mpmath.mpf(float(got)) / want - 1) <= coarse.rel_err < 1e-14


def test_uncertainty_is_carried():
    blanket = sb.KRR(3, 1.0).blanket()
    vague = sb.Decomposition(blanket.a, blanket.b, blanket.c, rel_err=1e-6)
    assert coarsened_clone(vague, 1.0).rel_err >= 1e-6


def laplace_of_two_users(eps0, eps, cells=3000):
    """D(ε) of coarsened Laplace for n = 2, by a sum over pairs of points of the report's axis.

    From the densities (ε₀/2)e^{−ε₀|y − x|}; reports below 0, and above 1, are all alike.
    """
    y = (np.arange(cells) + 0.5) / cells
    a, b = (
        np.concatenate([[tail], 0.5 * eps0 / cells * np.exp(-eps0 * np.abs(y - x)), [other]])
        for x, tail, other in ((0, 0.5, 0.5 * math.exp(-eps0)), (1, 0.5 * math.exp(-eps0), 0.5))
    )
    c = (a + b) / (2.0 * math.exp(eps0))
    g = np.append((a - math.exp(eps) * b) / c, 0.0)
    c = np.append(c, 1.0 - c.sum())
    return float(c @ np.maximum(g[:, np.newaxis] + g, 0.0) @ c) / 2.0


@pytest.mark.parametrize(("eps0", "eps"), [(0.5, 0.1), (1.0, 0.3), (4.0, 1.0)])
def test_laplace_against_a_sum_over_its_densities(eps0, eps):
    fine, rough = (
        sb.delta(coarsened_clone(sb.Laplace(eps0, cells).blanket(), eps0), eps, 2)
        for cells in (400, 3)
    )
    truth = laplace_of_two_users(eps0, eps)
    assert fine.relative_width < 1e-3
    assert fine.lower * (1.0 - 1e-6) <= truth <= fine.upper * (1.0 + 1e-6)
    # More cells can only bring the ends closer; both hold the truth.
    assert rough.lower * (1.0 - 1e-9) <= fine.lower <= fine.upper <= rough.upper * (1.0 + 1e-9)
    assert rough.relative_width > fine.relative_width


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"^eps0 must be"):
        coarsened_clone(sb.KRR(2, 1.0).blanket(), 0.0)
    with pytest.raises(ValueError, match=r"^decomposition must be a Decomposition"):
        coarsened_clone(None, 1.0)
