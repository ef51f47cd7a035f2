"""Numbers that axes name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shufflebounds.curves.plotting.ticks import LABELS, ticks

LARGER = st.floats(1.0, 1e8)


@given(below=LARGER, above=LARGER)
def test_an_axis_of_ratios_names_1_and_at_most_five_numbers(below, above):
    values = np.array([1.0 / below, 1.0, above])
    places = ticks("y", values, is_log=True, is_ratio=True)
    assert 1.0 in places
    assert len(places) <= LABELS["y"] + 1
    assert all(values[0] <= place * (1.0 + 1e-9) for place in places)
    assert all(place <= values[2] * (1.0 + 1e-9) for place in places)


@pytest.mark.parametrize(
    ("axis", "ends", "is_log", "places"),
    [
        ("y", (0.44, 8.2), True, [0.5, 1, 2, 5]),
        ("y", (0.99, 1.02), True, [0.99, 1.0, 1.01, 1.02]),
        ("y", (1e-3, 0.9), True, [1e-3, 0.01, 0.1]),
        ("y", (1e-20, 1.0), True, [1e-20, 1e-15, 1e-10, 1e-5, 1.0]),
        ("x", (1000, 100_000), True, [1000, 10_000, 100_000]),
        ("x", (0.05, 4.0), True, [0.1, 0.3, 1, 3]),
        ("x", (0.5, 12.0), False, [2, 4, 6, 8, 10, 12]),
        ("x", (1000, 1001), True, [1000, 1001]),
        ("x", (1000, 1000), True, [1000]),
        ("x", (0.99e-304, 1.01e-304), True, [1e-304]),
    ],
)
def test_labels_are_few_round_numbers(axis, ends, is_log, places):
    assert ticks(axis, np.array(ends), is_log=is_log, is_ratio=axis == "y") == places


def test_what_cannot_be_shown_does_not_count():
    values = np.array([np.nan, 0.0, -1.0, 1.0, 100.0, np.inf])
    assert ticks("y", values, is_log=True)[0] >= 1.0
    assert ticks("y", np.array([np.nan, 0.0]), is_log=True) == []
