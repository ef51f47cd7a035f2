"""Hypothesis strategies: decompositions, nasty ones included, and privacy losses to match."""

from __future__ import annotations

import math
import os

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from shufflebounds import Decomposition

# How many times more examples than usual; `make fuzz` sets it.
FUZZ = int(os.environ.get("FUZZ", "1"))


def examples(count: int) -> settings:
    """Settings of a property test with about so many examples in an ordinary run."""
    return settings(max_examples=FUZZ * count, deadline=None)


@st.composite
def decompositions(
    draw: st.DrawFn, max_components: int = 4, decades: float = 12.0
) -> Decomposition:
    """Decompositions with masses as small as 10^−decades (at most 290), and no given ``rel_err``.

    Among them: one component, equal components, a = b or nearly so, zeros in a, b and c, blanket
    masses c = min(a, b), Σc = 1 exactly, Σc within 10⁻¹² of 1, and Σc = 0.
    """
    size = draw(st.integers(1, max_components))
    split = 2 * size <= max_components and draw(st.booleans())
    a = draw(_laws(size, decades))
    b = draw(
        st.one_of(
            _laws(size, decades),
            st.just(a[::-1].copy()),
            st.just(a),
            st.floats(1.0, 15.0).map(lambda x: _nudged(a, 10.0**-x)),
        )
    )
    c = draw(st.one_of(_laws(size, decades), st.just(np.minimum(a, b))))
    sure = draw(
        st.one_of(
            st.sampled_from([0.0, 1.0]),
            st.floats(0.01, 1.0),
            st.floats(12.0, 15.0).map(lambda x: 1.0 - 10.0**-x),
        )
    )
    if c.any():
        c = _filled_up(c / c.sum()) if sure == 1.0 else _at_most_one(sure * c / c.sum())
    if split:
        a, b, c = (np.repeat(0.5 * x, 2) for x in (a, b, c))
    return Decomposition(a, b, c)


def epsilons(decomposition: Decomposition) -> st.SearchStrategy[float]:
    """ε of any size: 0, some, and at, just beside or above the largest log a/b."""
    a, b = decomposition.a, decomposition.b
    both = (a > 0.0) & (b > 0.0)
    largest = float(np.max(np.log(a[both] / b[both]), initial=0.0))
    beside = st.floats(-1e-12, 1e-12).map(lambda x: max(0.0, largest + x))
    return st.one_of(
        st.just(0.0),
        st.floats(0.0, 1.0).map(lambda x: x * largest),
        beside,
        st.floats(1e-3, 5.0),
        st.just(largest + 1.0),
    )


@st.composite
def _laws(draw: st.DrawFn, size: int, decades: float) -> np.ndarray:
    """Probability vectors: flat, skewed over many decades, or with zeros."""
    weight = draw(
        st.sampled_from(
            [
                st.floats(0.05, 1.0),
                st.floats(0.0, decades).map(lambda x: 10.0**-x),
                st.one_of(st.just(0.0), st.floats(0.05, 1.0)),
            ]
        )
    )
    weights = np.array(draw(st.lists(weight, min_size=size, max_size=size).filter(any)))
    return weights / weights.sum()


def _nudged(law: np.ndarray, tilt: float) -> np.ndarray:
    """A law next to `law`, its ratios to it 1 to 1 + tilt apart."""
    nudged = law * (1.0 + tilt * np.linspace(0.0, 1.0, law.size))
    return nudged / nudged.sum()


def _filled_up(c: np.ndarray) -> np.ndarray:
    """Masses near `c`, multiples of 2⁻⁵⁰ that sum to 1 exactly."""
    c = np.floor(c * 2.0**50) * 2.0**-50
    c[np.argmax(c)] += 1.0 - c.sum()
    return c


def _at_most_one(c: np.ndarray) -> np.ndarray:
    """Masses next to `c` whose exact sum is at most 1."""
    while math.fsum([-1.0, *c.tolist()]) > 0.0:
        c = np.nextafter(c, 0.0)
    return c
