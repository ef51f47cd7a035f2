"""Axes: grids, lists, and that every bad one is refused in one sentence."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shufflebounds.core import setting as axis
from shufflebounds.core.setting import Grid

NAMED = "delta, eps, eps0, messages, n, noise_multiplier, order, rounds, target"


def integers(start, stop, points, **spacing):
    return list(Grid(start, stop, points, **spacing).values("n"))


@settings(deadline=None)
@given(
    st.integers(1, 10**12),
    st.integers(0, 10**12),
    st.integers(2, 300),
    st.sampled_from(axis.SPACINGS),
)
def test_a_grid_is_distinct_integers_with_both_ends(start, extent, points, spacing):
    assume(points <= extent + 1)
    grid = integers(start, start + extent, points, spacing=spacing)
    assert grid[0] == start
    assert grid[-1] == start + extent
    assert len(grid) == points
    assert all(isinstance(value, int) for value in grid)
    assert all(low < high for low, high in itertools.pairwise(grid))


@settings(deadline=None)
@given(
    st.floats(1e-6, 299.0),
    st.floats(1e-3, 1.0),
    st.integers(2, 300),
    st.sampled_from(axis.SPACINGS),
)
def test_a_grid_of_numbers_rises_from_end_to_end(start, extent, points, spacing):
    grid = Grid(start, start + extent, points, spacing).values("eps0")
    assert (grid[0], grid[-1], len(grid)) == (start, start + extent, points)
    assert all(low <= high for low, high in itertools.pairwise(grid))
    steps = np.diff(grid if spacing == "linear" else np.log(grid))
    np.testing.assert_allclose(steps, steps.mean(), rtol=1e-3)


def test_a_grid_is_geometric_where_integers_allow():
    assert integers(1, 1000, 4) == [1, 10, 100, 1000]
    grid = np.array(integers(1000, 100_000, 100))
    assert np.abs(grid - 1000 * 100.0 ** (np.arange(100) / 99)).max() <= 0.5 + 1e-6


@pytest.mark.parametrize(
    ("start", "stop", "points", "message"),
    [
        (0, 10, 2, "start must be an integer >= 1, got 0"),
        (10, 9, 2, "stop must be at least start, which is 10, got 9"),
        (1, 10, 0, "points must be an integer from 2 to 100000, got 0"),
        (1, 10, 11, "points must be at most 10"),
        (1, 10, True, "points must be an integer"),
        (1, 10**400, 5, "stop must be an integer from 1 to 1e15, got 1000"),
        (1, 10**15, 10**6, "points must be an integer from 2 to 100000, got 1000000"),
        (math.nan, 10, 2, "start must be an integer >= 1, got nan"),
    ],
)
def test_an_impossible_grid_is_refused(start, stop, points, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        integers(start, stop, points)


@pytest.mark.parametrize(
    ("x", "name", "values"),
    [
        ({"n": [100, 1000]}, "n", (100, 1000)),
        ({"n": [1000, 100]}, "n", (1000, 100)),
        ({"n": {"start": 1, "stop": 100, "points": 3}}, "n", (1, 10, 100)),
        ({"eps0": [1, 2.5]}, "eps0", (1, 2.5)),
        ({"eps": {"start": 0, "stop": 1, "points": 3, "spacing": "linear"}}, "eps", (0, 0.5, 1)),
        ({"delta": [1e-8, 1e-6]}, "delta", (1e-8, 1e-6)),
    ],
)
def test_axes_are_found_again_from_their_mapping(x, name, values):
    parsed = axis.parse_axis(x)
    assert (parsed.name, parsed.values) == (name, values)
    assert parsed.plain() == x
    assert axis.parse_axis(parsed.plain()) == parsed


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (None, r"x must be a mapping of one name to its values, such as .*, got None$"),
        ({}, r"x must be a mapping of one name to its values.*, got \{\}$"),
        (
            {"m": [1]},
            f"x must be one of {NAMED}, got 'm'$",
        ),
        ({"n": 5}, "n must be a list of values, or start, stop and points, got 5$"),
        ({"n": []}, "n must hold at least one value, got none$"),
        ({"n": [10, 0]}, r"n\[1\] must be an integer from 1 to 1e15, got 0$"),
        ({"n": [7, 8, 7]}, "n must hold distinct values, got 7 twice$"),
        ({"eps0": [1, 1.0]}, "eps0 must hold distinct values, got 1.0 twice$"),
        ({"eps": [math.nan]}, r"eps\[0\] must be a finite number with eps >= 0, got nan$"),
        ({"n": {"start": 1}}, "n must have start, stop, points and, if .*, spacing, got start$"),
        ({"n": {}}, "n must have start, stop, points and, if .*, got none of them$"),
        (
            {"eps": {"start": 0, "stop": 1, "points": 3}},
            "start must be a number > 0 on a geometric grid, got 0.0; spacing: linear allows",
        ),
        (
            {"eps0": {"start": 0, "stop": 1, "points": 3, "spacing": "linear"}},
            "start must be a finite number with 0 < start <= 300, got 0$",
        ),
    ],
)
def test_a_bad_axis_is_refused_in_one_sentence(x, message):
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        axis.parse_axis(x)
    assert "\n" not in str(caught.value)
