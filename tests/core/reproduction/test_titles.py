"""Titles that are checked: conditions against enumerations by hand, and what is refused."""

import math
import operator

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction import titles
from reproduction.titles import Ends
from shufflebounds.curves.storage import CurveName

ENDS = st.tuples(st.floats(-5, 5), st.floats(0, 2)).map(lambda ends: (ends[0], ends[0] + ends[1]))
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def ends(*pairs):
    low, high = np.array(pairs, dtype=float).T
    return Ends(low, high)


def judged(text, **values):
    [check] = titles.check([text], [values])
    return check.points, check.holding, check.failing


@given(ENDS, ENDS, st.sampled_from([*COMPARISONS]))
def test_a_comparison_holds_for_whole_enclosures_or_is_undecided(a, b, sign):
    """Of an order it is enough to look at the corners."""
    corners = {COMPARISONS[sign](x, y) for x in a for y in b}
    expected = (1, int(corners == {True}), int(corners == {False}))
    assert judged(f"a {sign} b", a=ends(a), b=ends(b)) == expected


@given(ENDS, ENDS, st.sampled_from("+-*/"))
def test_arithmetic_encloses_what_any_values_give(a, b, sign):
    if sign == "/" and b[0] <= 0.0 <= b[1]:
        return
    compute = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
    values = [compute[sign](x, y) for x in a for y in b]
    text = f"{min(values)!r} <= a {sign} b <= {max(values)!r}".replace("inf", "1e999")
    assert judged(text, a=ends(a), b=ends(b)) == (1, 1, 0)


SERIES = {"a": ends((1, 1.1), (2, 2.1), (4, 4.5)), "n": ends((10, 10), (20, 20), (30, 30))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < 3", (3, 2, 1)),
        ("a < 4.2", (3, 2, 0)),
        ("a < 3 where n <= 20", (2, 2, 0)),
        ("1 <= a < 3", (3, 2, 1)),
        ("a < 3 and n < 20", (3, 1, 2)),
        ("lower(a) == 2 where n == 20", (1, 1, 0)),
        ("upper(a) > 4.4 where n > 20 and n < 40", (1, 1, 0)),
        ("first(a) < last(a)", (1, 1, 0)),
        ("largest(a) < 4", (1, 0, 1)),
        ("smallest(a) >= 1", (1, 1, 0)),
        ("rises(a)", (2, 2, 0)),
        ("falls(a)", (2, 0, 2)),
        ("rises(a / n)", (2, 1, 0)),
        ("a / (n - 10) > 0", (3, 2, 0)),
        ("a - a == 0", (3, 0, 0)),
        ("-a < -1.5", (3, 2, 1)),
    ],
)
def test_conditions_hold_where_they_should(text, expected):
    assert judged(text, **SERIES) == expected


def test_somewhere_is_enough_for_what_says_so():
    for text, is_true in (("a < 2", False), ("somewhere a < 2", True), ("somewhere a < 1", False)):
        [check] = titles.check([text], [SERIES])
        assert check.is_true == is_true


def test_points_without_numbers_do_not_count_and_none_is_a_mistake():
    empty = ends((1, 1.1), (math.nan, math.nan), (4, 4.5))
    assert judged("b < 2", b=empty) == (2, 1, 1)
    for text in ("c < 1", "b < 2 where n > 99", "b < 2 where m == 1", "b < word", "b == word"):
        with pytest.raises(ValueError, match=r"^holds: '.*' compares nothing that the figure"):
            titles.check([text], [{"b": empty, **SERIES}])


@pytest.mark.parametrize(
    "text",
    ["", "a", "a <", "a + b", "1 < f(a)", "a if b else c", "a < b or b < a", "a in b", "a(b) < 1",
     "not a < b", "a < [1]", "__import__('os') < 1", "a.b.c < 1", "a < b where b", "a = b"],
)  # fmt: skip
def test_what_is_not_a_condition_is_refused(text):
    with pytest.raises(ValueError, match="is not a condition"):
        titles.parse(text)


def curve_frame(values, n=(10, 20, 30)):
    low, high = np.array(values, dtype=float).T
    return pd.DataFrame(
        {"quantity": "epsilon", "n": n, "eps0": 2.0, "epsilon_lower": low, "epsilon_upper": high}
    )


CURVES = {
    CurveName("krr", "low", "best"): curve_frame([(1, 1), (2, 2), (3, 3)]),
    CurveName("krr", "low", "lower"): curve_frame([(1, 1), (1, 1), (1, 1)]),
    CurveName("blh", "low", "best"): curve_frame([(5, 5), (6, 6)], n=(20, 30)),
    CurveName("krr", "large", "best"): curve_frame([(9, 9), (9, 9), (9, 9)]),
}


@pytest.mark.parametrize(
    ("text", "points", "holding"),
    [
        ("best >= 1", 8, 8),
        ("best < 9", 8, 5),
        ("best < 9 where regime == low", 5, 5),
        ("best > 4 where experiment == blh", 2, 2),
        ("lower <= best", 3, 3),
        ("krr.best < blh.best", 2, 2),
        ("krr.best < 9", 6, 3),
        ("best < 9 where eps0 > 2", 0, 0),
    ],
)
def test_a_name_stands_for_the_curves_of_every_panel_or_of_one_experiment(text, points, holding):
    panels = titles.panels_of_curves(CURVES, "n")
    if not points:
        with pytest.raises(ValueError, match="compares nothing"):
            titles.check([text], panels)
        return
    [check] = titles.check([text], panels)
    assert (check.points, check.holding) == (points, holding)


def test_columns_of_tables_are_numbers_or_words_and_split_a_table():
    frame = pd.DataFrame(
        {"best": ["krr", "krr", "oue", "krr"], "k": [4, 4, 9, 9], "error": ["1", "2", "", "3"]}
    )
    panel = titles.panel_of_table(frame)
    for text, points, holding in (
        ("best == krr", 4, 3),
        ("best == krr where k == 4", 2, 2),
        ("best != 'oue'", 4, 3),
        ("error < 3", 3, 2),
        ("rises(error) for each k", 1, 1),
        ("last(k) == k for each k", 4, 4),
    ):
        [check] = titles.check([text], [panel])
        assert (check.points, check.holding) == (points, holding), text


def test_a_title_that_is_not_true_says_so():
    for text, title in (
        ("a < 5", "A rises"),
        ("a < 4.2", "Not decided by these numbers: A rises"),
        ("a < 3", "Not true by these numbers: A rises"),
    ):
        assert titles.checked_title("A rises", titles.check([text], [SERIES])) == title
