"""Where names stand beside panels."""

import numpy as np
import pytest

from shufflebounds.curves.plotting.names import MARGIN, place_of_end, spread, with_arrow


@pytest.mark.parametrize(
    ("y", "is_log", "place"),
    [
        ([1.0, 10.0], True, 0.5),
        ([1.0, 75.25], False, 0.75),
        ([1.0, 100.0, np.nan], True, 1.0),
        ([], True, 0.5),
        ([0.0, -1.0], True, 0.5),
    ],
)
def test_a_name_stands_where_its_line_ends(y, is_log, place):
    assert place_of_end(np.array(y), (1.0, 100.0), is_log=is_log) == pytest.approx(place)
    assert with_arrow("a", place) == "a"


def test_lines_that_leave_a_panel_say_where_and_the_first_stands_outermost():
    leaving = {
        "late": [2.0, 3.0, 4.0, 200.0],
        "early": [2.0, 200.0, 300.0, 150.0],
        "inside": [2.0, 3.0, 4.0, 99.0],
        "down": [2.0, 0.5, 0.1, 0.1],
    }
    ends = {
        name: place_of_end(np.array(y), (1.0, 100.0), is_log=True) for name, y in leaving.items()
    }
    names = [with_arrow(name, place) for name, place in ends.items()]
    assert names == ["late\xa0↑", "early\xa0↑", "inside", "down\xa0↓"]
    places = spread(np.array(list(ends.values())), np.full(4, 0.1))
    order = [name for _, name in sorted(zip(places.tolist(), ends, strict=True))]
    assert order == ["down", "inside", "late", "early"]
    assert places.max() <= 1.0 + MARGIN
    assert np.diff(np.sort(places)).min() >= 0.1 - 1e-12
