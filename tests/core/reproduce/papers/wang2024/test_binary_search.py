"""The paper's own algorithm against exact sums, and against the engine."""

import math

import pytest
from oracles import exact

import shufflebounds as sb
from shufflebounds.reproduce.papers.wang2024 import tables

CASES = [(3.0, 0.5, 3.0), (3.0, 0.3, 2.5), (9.0, 0.4, 20.0), (1.2, 0.05, 1.1)]


@pytest.mark.parametrize(("p", "beta", "q"), CASES)
@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_theorem_4_8_is_the_published_pair(p, beta, q, n):
    pair = sb.variation_ratio(p, beta, q, published=True)
    for eps in (0.0, 0.1, 0.7, math.log(p)):
        expected = exact(pair, eps, n)
        found = tables.delta(p, beta, q, eps, n)
        assert expected.lower - 1e-12 <= found <= expected.upper + 1e-12


@pytest.mark.parametrize("n", [1000, 10**6])
def test_it_agrees_with_the_engine(n):
    p, beta, q = math.exp(2.0), 0.4, math.exp(2.0)
    pair = sb.variation_ratio(p, beta, q, published=True)
    expected = sb.epsilon(pair, n=n, delta=1e-7, rtol=1e-5)
    found = tables.epsilon(p, beta, q, n, 1e-7, 24)
    # The upper end of an interval of length 2/2²⁴.
    assert expected.lower * (1 - 1e-6) <= found <= expected.upper * (1 + 1e-6) + 2.0 / 2**24
