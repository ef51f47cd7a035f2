"""What is drawn of curves, before anything draws it: values, limits, labels, refusals."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from drawn_data import BOUNDS, data, grid, rows_of, with_ratio
from specifications import specification

from shufflebounds.bounds.base import QUANTITIES
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.curves.curve import compute
from shufflebounds.curves.plotting.looks import line_look
from shufflebounds.curves.plotting.sheets import (
    TradeOffLine,
    of_computed,
    of_curves,
    of_trade_off,
    shown_names,
)
from shufflebounds.curves.storage import CurveName


def drawn(view):
    """The curves of a panel by their labels."""
    return {line.label: curve for line, curve in view.lines}


@pytest.mark.parametrize("transform", ["none", "expm1", "log2_ratio"])
def test_lines_show_each_curve_at_the_end_that_bounds_the_truth(transform):
    layout = grid(["krr10", "laplace"], ["low", "large"], transform=transform)
    frame = data(layout)
    sheet = of_curves(frame.sample(frac=1.0, random_state=1), layout)
    for view, shown in zip(sheet.views, itertools.chain(*layout.panels), strict=True):
        assert [one.label for one, _ in view.lines] == [one.label for one in shown.lines]
        for one in shown.lines:
            rows = rows_of(frame, one.curve)
            end = "epsilon_lower" if one.curve.curve == "lower" else "epsilon_upper"
            values = {
                "none": rows[end],
                "expm1": [math.expm1(eps) for eps in rows[end]],
                "log2_ratio": [
                    math.log2(a / b) for a, b in zip(rows["eps0"], rows[end], strict=True)
                ],
            }[transform]
            found = drawn(view)[one.label]
            np.testing.assert_array_equal(found.x, rows["n"])
            np.testing.assert_allclose(found.y, values, rtol=1e-14, atol=1e-14)
            np.testing.assert_array_equal(found.lower, rows["epsilon_lower"])


@pytest.mark.parametrize(
    ("axis", "label", "logarithmic"),
    [
        ("n", "number of users $n$", True),
        ("eps0", r"local privacy parameter $\varepsilon_0$", False),
        ("delta", r"$\delta$", True),
        ("target", r"central $\varepsilon$", True),
    ],
)
def test_the_axis_says_what_it_is(axis, label, logarithmic):
    layout = grid(x=axis, quantity="mse" if axis == "target" else "epsilon")
    sheet = of_curves(data(layout, (0.1, 0.2, 0.4), axis), layout)
    assert (sheet.x_label, sheet.views[0].x_log, sheet.views[0].y_log) == (label, logarithmic, True)


@pytest.mark.parametrize(
    ("changes", "label", "logarithmic"),
    [
        ({"transform": "none"}, r"$\varepsilon$", True),
        ({"transform": "expm1"}, r"$e^{\varepsilon} - 1$", True),
        (
            {"transform": "log2_ratio"},
            r"$\log_2(\varepsilon_0/\varepsilon)$, higher is better",
            False,
        ),
        ({"quantity": "delta"}, r"$\delta$", True),
    ],
)
def test_the_y_axis_says_what_is_drawn(changes, label, logarithmic):
    layout = grid(**changes)
    [view] = of_curves(data(layout), layout).views
    assert (view.y_label, view.y_log) == (label, logarithmic)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_every_quantity_has_its_symbol(quantity):
    layout = grid(curves=["upper"], quantity=quantity)
    assert of_curves(data(layout), layout).quantity


@pytest.mark.parametrize("transform", ["expm1", "log2_ratio"])
def test_no_privacy_loss_is_left_out_cleanly(transform):
    layout = grid(curves=["upper", "lower"], transform=transform)
    frame = data(layout)
    frame.loc[frame["n"] > 20_000, ["epsilon_lower", "epsilon_upper"]] = 0.0
    [view] = of_curves(frame, layout).views
    shown = [curve.y[:3] for _, curve in view.lines]
    assert np.isfinite(shown).all()


def test_panels_make_no_room_for_a_delta_that_nobody_asks_for():
    layout = grid(curves=["upper"], quantity="delta", x="eps")
    frame = data(layout, (0.1, 0.2, 0.4, 0.8), "eps")
    frame["delta_upper"] = [1e-3, 1e-9, 1e-25, 1e-240]
    [view] = of_curves(frame, layout).views
    np.testing.assert_array_equal(view.lines[0][1].y, frame["delta_upper"])
    assert (view.x_limits, view.y_limits) == ((0.1, 0.2), (1e-20, 1e-3 * 10.0**0.25))
    [[above]] = layout.panels
    divided = replace(above, divisor=above.lines[0].curve)
    [_, view] = of_curves(frame, replace(layout, panels=((above,), (divided,)))).views
    assert view.x_limits == (0.1, 0.2)
    frame["delta_upper"] = [1e-25, 1e-30, 1e-40, 1e-50]
    assert of_curves(frame, layout).views[0].y_limits is None


def test_a_bound_that_is_not_proven_is_dotted_and_says_so():
    layout = grid(curves=["clone", "upper"], regimes=["low", "large"])
    frame = data(layout)
    frame.loc[frame["curve"] == "clone", "kind"] = "unproven"
    for view in of_curves(frame, layout).views:
        (clone, _), (upper, _) = view.lines
        assert clone.label == "clone (not proven)"
        assert clone.look.is_hollow
        assert clone.look.color == line_look("variation_ratio_published").color
        assert not upper.look.is_hollow


def test_a_line_under_another_is_named_as_equal_to_it():
    layout = grid(curves=["upper", "lower", "clone"], regimes=["low", "large"])
    frame = data(layout)
    lower = frame["curve"] == "lower"
    frame.loc[lower, "epsilon_lower"] = frame.loc[frame["curve"] == "upper", "epsilon_upper"].array
    views = of_curves(frame, layout).views
    assert shown_names(views, is_log=True) == {
        "clone": "clone",
        "lower bound": "= lower bound",
        "upper bound": "upper bound",
    }
    # In one panel they differ: beside a row, both names stand for themselves.
    frame.loc[lower & (frame["regime"] == "large"), "epsilon_lower"] *= 0.9
    names = shown_names(of_curves(frame, layout).views, is_log=True)
    assert names["lower bound"] == "lower bound"


def test_a_name_of_a_line_that_is_higher_elsewhere_stands_above():
    layout = grid(curves=["lower", "clone", "upper"])
    frame = data(layout)
    last = frame["n"] == frame["n"].max()
    frame.loc[last, ["epsilon_lower", "epsilon_upper"]] = 0.01
    names = shown_names(of_curves(frame, layout).views, is_log=True)
    assert [*names] == ["upper bound", "clone", "lower bound"]


def test_a_goal_is_a_level_line_of_its_own():
    layout = grid(curves=["upper"], goal=0.25)
    [view] = of_curves(data(layout), layout).views
    goal, level = view.lines[-1]
    assert goal.label == r"target $\varepsilon$ = 0.25"
    assert set(level.y) == {0.25}
    above, below = of_curves(data(with_ratio()), replace(with_ratio(), goal=0.25)).rows
    assert [len(view.lines) for view in (above[0], below[0])] == [4, 3]


@pytest.mark.parametrize(("share", "transform"), [(1.0, "none"), (0.995, "expm1")])
def test_a_line_at_eps0_says_that_it_is_no_amplification(share, transform):
    layout = grid(curves=["clone", "lower"], transform=transform)
    frame = data(layout)
    [[eps0]] = [set(frame["eps0"])]
    [view] = of_curves(frame, layout).views
    assert not [line for line, _ in view.lines if "no amplification" in line.label]
    is_first = (frame["curve"] == "clone") & (frame["n"] == frame["n"].min())
    frame.loc[is_first, "epsilon_upper"] = share * eps0
    [view] = of_curves(frame, layout).views
    line, level = view.lines[-1]
    assert line.label.endswith("no amplification")
    assert set(level.y) == {eps0 if transform == "none" else math.expm1(eps0)}
    # Bounds of rounds may be above it.
    [view] = of_curves(frame.assign(rounds=2), layout).views
    assert len(view.lines) == 2


def test_a_curve_of_one_point_has_a_marker():
    layout = grid()
    [view] = of_curves(data(layout, x=[1000]), layout).views
    assert len(view.lines) == len(BOUNDS)
    assert all(one.look.marker for one, _ in view.lines)


def test_computed_curves_are_divided_by_the_lower_bound_among_them():
    curves = [
        compute(CurveName("krr", "", name), specification(bound=name))
        for name in ("blanket", "lower")
    ]
    above, below = (row[0] for row in of_computed(curves, "3-RR").rows)
    assert (above.is_ratio, below.is_ratio) == (False, True)
    assert set(drawn(below)["lower bound"].y) == {1.0}
    assert len(of_computed(curves[:1], "3-RR").rows) == 1


@pytest.mark.parametrize("delta", [1e-9, 1e-304])
def test_computed_curves_of_delta_are_drawn_as_they_are(delta):
    asked = {"quantity": "delta", "delta": None, "x": {"eps": [1.0, 1.1]}, "n": 1000}
    curves = [
        replace(curve, points=[replace(point, answer=answer) for point in curve.points])
        for name in ("blanket", "lower")
        for curve in [compute(CurveName("krr", "", name), specification(bound=name, **asked))]
        for answer in [replace(curve.points[0].answer, enclosure=Enclosure(delta, delta))]
    ]
    [view] = of_computed(curves, "10-RR").views
    low, high = view.least_y()
    assert 0.0 < low < delta < high


def test_two_bounds_of_each_mechanism_are_told_apart_by_more_than_a_width():
    curves = [
        compute(
            CurveName(f"{k}-RR", "", name),
            specification(mechanism={"type": "krr", "k": k}, bound=name),
        )
        for k in (3, 4)
        for name in ("best", "blanket")
    ]
    [view, *_] = of_computed(curves, "both").views
    looks = {(line.look.color, line.look.dashes, line.look.marker) for line, _ in view.lines}
    assert len(looks) == 4


def test_a_trade_off_is_drawn_against_a_guess():
    def half(rate):
        """Of an attack that is right in half of all cases and guesses otherwise."""
        return Enclosure(0.5 - 0.5 * rate, 0.5 - 0.5 * rate)

    [[gain, ratio]] = of_trade_off([TradeOffLine("attack", "lower", half, "upper")], "Risk").rows
    np.testing.assert_allclose(drawn(gain)["attack"].y, 0.5 - 0.5 * drawn(gain)["attack"].x)
    np.testing.assert_allclose(drawn(ratio)["attack"].y, 0.5 + 0.5 / drawn(ratio)["attack"].x)
    assert set(drawn(gain)["a guess"].y) == {0.0}
    assert set(drawn(ratio)["a guess"].y) == {1.0}
    assert drawn(gain)["attack"].kind == "lower"


# Ratios.


@pytest.mark.parametrize("transform", ["none", "expm1"])
def test_a_second_row_shows_what_curves_are_to_one_of_them(transform):
    layout = replace(with_ratio(), transform=transform)
    sheet = of_curves(data(layout), layout)
    for above, below in zip(*sheet.rows, strict=True):
        divisor = drawn(above)["upper bound"].end
        for label, curve in drawn(below).items():
            whole = drawn(above)[label]
            np.testing.assert_array_equal(curve.x, whole.x)
            np.testing.assert_allclose(curve.y, whole.end / divisor, rtol=1e-15)
        assert (below.x_log, below.y_log, below.is_ratio) == (True, True, True)
        assert below.y_label == r"$\varepsilon$ / D → ∞"


def test_curves_with_another_axis_have_no_ratio():
    layout = with_ratio()
    frame = data(layout)
    frame.loc[frame["curve"] == "clone", "n"] += 1
    words = "^curves that are divided by krr10/low/upper must have the same axis$"
    with pytest.raises(ValueError, match=words):
        of_curves(frame, layout)


@pytest.mark.parametrize("curve", ["clone", "upper"])
def test_a_point_that_is_left_empty_takes_no_other_with_it(curve):
    layout = with_ratio()
    frame = data(layout)
    is_empty = (frame["curve"] == curve) & (frame["n"] == 1000)
    frame.loc[is_empty, ["epsilon_lower", "epsilon_upper"]] = math.nan
    whole, cut = (of_curves(table, layout).views[2:] for table in (data(layout), frame))
    for before, after in zip(whole, cut, strict=True):
        np.testing.assert_array_equal(drawn(before)["clone"].y[1:], drawn(after)["clone"].y[-4:])
    frame.loc[frame["curve"] == curve, ["epsilon_lower", "epsilon_upper"]] = math.nan
    for view in of_curves(frame, layout).views[2:]:
        assert not np.isfinite(drawn(view)["clone"].y).any()
        assert view.shown_y().size


def test_an_axis_of_ratios_shows_no_numerical_error_as_a_gap():
    """Two bounds that differ by a millionth of a millionth are one."""
    layout = replace(with_ratio(), limits=None)
    frame = data(layout).assign(rtol=1e-4, epsilon_lower=2.0, epsilon_upper=2.0)
    frame.loc[frame["curve"] == "clone", ["epsilon_lower", "epsilon_upper"]] = 2.0 + 1e-6
    for view in of_curves(frame, layout).views[2:]:
        assert view.shown_y().min() == pytest.approx(1.0 - 1e-3, rel=1e-9)
        assert view.shown_y().max() == pytest.approx(1.0 + 1e-3, rel=1e-9)
        assert view.band is None


def test_only_wide_enclosures_are_shaded():
    layout = grid(curves=["clone", "upper"])
    frame = data(layout)
    frame["epsilon_upper"] *= 1.1
    narrow = frame.assign(epsilon_lower=frame["epsilon_upper"] * (1.0 - 1e-6))
    for table, is_wide in ((frame, True), (narrow, False)):
        [view] = of_curves(table, layout).views
        for _, curve in view.lines:
            ends = view.wide_ends(curve)
            assert (ends is not None) == is_wide
            if ends is not None:
                np.testing.assert_array_equal(ends, [curve.lower, curve.upper])


def test_nothing_is_divided_by_0():
    layout = with_ratio()
    frame = data(layout)
    frame.loc[frame["n"] == 1000, ["epsilon_lower", "epsilon_upper"]] = 0.0
    _, below = of_curves(frame, layout).rows
    for view in below:
        assert all(np.isfinite(curve.y[1:]).all() for _, curve in view.lines)


@pytest.mark.parametrize("absent", ["experiment", "regime", "curve"])
def test_a_missing_curve_is_no_silent_hole(absent):
    layout = grid(["krr10", "blh"], ["low", "large"], ["upper", "joint4"])
    names = {"experiment": "blh", "regime": "large", "curve": "joint4"}
    frame = data(layout)
    frame = frame[frame[absent] != names[absent]]
    words = rf"^curve \S*\b{names[absent]}\b\S* must be among the data, got none of its rows$"
    with pytest.raises(ValueError, match=words):
        of_curves(frame, layout)
