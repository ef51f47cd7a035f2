"""Curves: the wiring of a specification to the library, how much is built for it, and its file."""

import copy
import dataclasses
import itertools
import math
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from engines import overlap
from hypothesis import given, settings
from hypothesis import strategies as st
from specifications import NAME, joint, part, specification

import shufflebounds as sb
from shufflebounds import KRR, Enclosure, __version__
from shufflebounds.bounds.base import Answer
from shufflebounds.core.setting import OverN
from shufflebounds.curves import curve as curves
from shufflebounds.curves import storage
from shufflebounds.curves.storage import CurveName
from shufflebounds.profiles.direction import Direction
from shufflebounds.profiles.profile import Ends
from shufflebounds.randomizers.joint import Joint

BLH = {"type": "blh"}
INTERVAL = {"type": "laplace", "cells": 12, "domain": "interval"}


def compute(**changes) -> curves.Curve:
    return curves.compute(NAME, specification(**changes))


def enclosures(**changes) -> list[Enclosure]:
    return [point.answer.enclosure for point in compute(**changes).points]


def ends(**changes) -> tuple[float, float]:
    (found,) = enclosures(**changes)
    return found.lower, found.upper


def hockey_stick(p, q, eps: float) -> float:
    return float(np.maximum(p - math.exp(eps) * q, 0.0).sum())


@pytest.mark.parametrize("bound", ["best", "blanket", "lower", "stronger_clone"])
@pytest.mark.parametrize("mechanism", [{"type": "krr", "k": 10}, BLH])
def test_delta_falls_along_epsilon_and_is_0_from_eps0_on(mechanism, bound):
    x = {"eps": [0.02, 0.8, 0.999, 1.0, 1.2]}
    falling = compute(
        mechanism=mechanism, bound=bound, quantity="delta", delta=None, n=10_000, eps0=1.0, x=x
    ).enclosures
    assert falling.upper[0] > 1e-6
    assert (np.diff(falling.upper) <= 0.0).all()
    assert (np.diff(falling.lower) <= 0.0).all()
    # What a user sends is (1, 0)-DP by itself.
    assert falling.upper[3:].tolist() == [0.0, 0.0]


def test_delta_of_rounds_is_0_from_the_sum_of_their_eps0_on():
    x = {"eps": [3.0, 3.1]}
    changes = {"quantity": "delta", "delta": None, "n": 10_000, "eps0": 1.0, "rounds": 3, "x": x}
    for bound in ("best", "blanket", "lower"):
        assert compute(bound=bound, **changes).enclosures.upper.tolist() == [0.0, 0.0]


# What a specification asks for.


@pytest.mark.parametrize("k_joint", [1, 2, 3])
@pytest.mark.parametrize("bound", ["blanket", "lower"])
def test_the_parts_of_a_joint_share_eps0(bound, k_joint):
    """One user's reports hide nothing: D(ε) is that of the channel's own rows."""
    rows = KRR(k=3, eps0=2.0 / k_joint).matrix()[:2]
    first, second = rows
    for _ in range(k_joint - 1):
        first, second = np.outer(first, rows[0]).ravel(), np.outer(second, rows[1]).ravel()
    delta = hockey_stick(first, second, 1.2)
    changes = {"mechanism": {"type": "krr", "k": 3}, "eps0": 2.0, "k_joint": k_joint}
    lower, upper = ends(**changes, bound=bound, x={"n": [1]}, delta=delta)
    assert lower * (1 - 1e-9) <= 1.2 <= upper * (1 + 1e-9)


def meet(one: Enclosure, other: Enclosure) -> bool:
    """Whether two narrow enclosures may be of the same number.

    Points that are asked for together steer each other, so that ends are not the same floats.
    """
    narrow = max(one.relative_width, other.relative_width) <= 1e-4
    return narrow and one.lower <= other.upper and other.lower <= one.upper


@pytest.mark.parametrize(
    "bound", ["blanket", "lower", "clone", "blanket_bennett", "blanket_hoeffding_generic"]
)
def test_along_every_axis_stand_the_same_answers(bound):
    """A point does not depend on which of its values is the axis."""
    values = {"n": [500, 4000], "eps0": [1.0, 2.0], "delta": [1e-8, 1e-5]}
    fixed = {"n": 500, "eps0": 1.0, "delta": 1e-8}
    for name, listed in values.items():
        along = enclosures(**{**fixed, "bound": bound, "x": {name: listed}})
        single = [
            enclosures(**{**fixed, name: value, "bound": bound, "x": {"n": [n]}})[0]
            for value in listed
            for n in [value if name == "n" else fixed["n"]]
        ]
        assert all(map(meet, along, single))
    profile = enclosures(bound=bound, quantity="delta", eps=0.3, eps0=1.0, x={"n": [500, 4000]})
    by_eps = enclosures(bound=bound, quantity="delta", n=4000, eps0=1.0, x={"eps": [0.2, 0.3]})
    assert meet(profile[1], by_eps[1])
    assert profile[0].upper > profile[1].upper


# How much is built.


# Tables.


def test_a_failure_says_where(monkeypatch):
    def fails(self, query):
        return Ends.of(np.zeros(query.at.shape), np.ones(query.at.shape), self.name)

    monkeypatch.setattr(Direction, "root_ends", fails)
    made = compute(n=1000, x={"eps0": [0.5]})
    (sentence,) = curves.shortfalls(made)
    assert sentence.startswith("krr10/large/upper at eps0 = 0.5 is left empty: epsilon at delta = ")
    assert "known only to lie in [0.0, 0.5]" in sentence


def test_a_point_that_falls_short_takes_no_others_with_it(monkeypatch, tmp_path):
    """As where the engine cannot reach the width at one n among many."""
    whole = Direction.root_ends

    def fails_in_the_middle(self, query):
        ends = whole(self, query)
        is_middle = self.n == 1000.0
        lower, upper = np.where(is_middle, 0.0, ends.lower), np.where(is_middle, 1.0, ends.upper)
        return Ends(lower, upper, ends.names, ends.is_short)

    monkeypatch.setattr(Direction, "root_ends", fails_in_the_middle)
    made = compute(x={"n": [100, 1000, 10_000]})
    (sentence,) = curves.shortfalls(made)
    assert sentence.startswith("krr10/large/upper at n = 1000 is left empty: epsilon at delta")
    path = tmp_path / "curve.csv"
    curves.write(made, path)
    curves.verify(path, made.name, made.specification)
    table = curves.read(path)
    assert table["epsilon_upper"].isna().tolist() == [False, True, False]
    assert table["epsilon_lower"].isna().tolist() == [False, True, False]


def answers(**changes) -> list[Answer]:
    return [point.answer for point in compute(**changes).points]


@pytest.mark.parametrize(
    ("changes", "distance", "differing", "others"),
    [
        ({}, 1, "1", ""),
        ({"k_joint": 3}, 3, "1 2 3", ""),
        ({"k_joint": 3, "distance": 2}, 2, "1 2", ""),
        ({"k_joint": 3, "bound": "lower"}, 3, "1 2 3", None),
        ({"bound": "lower", "mechanism": INTERVAL, "rtol": 0.05}, 1, "1", None),
        ({"mechanism": joint(part(), part(BLH)), "distance": 1, "eps0": 1.0}, 1, "1", ""),
        (
            {"mechanism": {"type": "parallel", "parts": [part(weight=1.0)]}},
            1,
            "1",
            "",
        ),
        ({"bound": "clone"}, None, "", ""),
        ({"bound": "blanket_bennett"}, 1, "1", ""),
        ({"bound": "blanket_bennett_generic"}, None, "", ""),
    ],
)
def test_columns_of_a_curve_and_its_file(changes, distance, differing, others, tmp_path):
    # Names may look like no value or like a number.
    name = CurveName("1", "2e5", "NA")
    made = curves.compute(name, specification(**{"x": {"n": [20, 1000]}, **changes}))
    table = made.frame().astype(
        {"distance": "Int64", **dict.fromkeys(["n", "eps0", "delta", "eps", "rtol"], float)}
    )
    assert table["distance"].tolist() == [distance or pd.NA] * 2
    assert table["differing"].tolist() == [differing] * 2
    if others is not None:
        assert table["others"].tolist() == [others] * 2
    curves.write(made, tmp_path / "curve.csv")
    back = curves.read(tmp_path / "curve.csv")
    assert list(back.columns) == list(curves.columns("epsilon"))
    assert back["distance"].dtype == "Int64"
    pd.testing.assert_frame_equal(back, table, check_exact=True, check_dtype=False)


def test_the_pair_of_a_lower_bound_is_the_best_one():
    """By every other one alone; 1/2 makes Laplace reports easier to tell apart."""
    changes = {"bound": "lower", "rtol": 0.05, "x": {"n": [20, 1000]}}
    best = answers(**changes, mechanism=INTERVAL)
    alone = {
        name: answers(**changes, mechanism={**INTERVAL, "others": others})
        for name, others in (("1", 1), ("1/2", 0.5))
    }
    for others, found in alone.items():
        assert [answer.others for answer in found] == [others] * 2
    for i, answer in enumerate(best):
        ends = {others: found[i].enclosure for others, found in alone.items()}
        largest = max(end.lower for end in ends.values())
        assert largest <= min(answer.enclosure.upper, ends[answer.others].upper)
        assert overlap(answer.enclosure, ends[answer.others])


def test_the_kind_of_pair_at_a_distance_is_the_worst_one():
    mechanism = joint(part(share=0.75), part(BLH, share=0.25))
    x = {"n": [20, 1000]}
    one = answers(mechanism=mechanism, distance=1, x=x)
    blankets = Joint([sb.KRR(3, 3.0), sb.BLH(1.0)]).blankets(1)
    for n, answer in zip(x["n"], one, strict=True):
        found = {name: sb.epsilon(b, n, 1e-6, rtol=1e-4) for name, b in blankets.items()}
        assert answer.differing == max(found, key=lambda name: found[name].lower)
        assert meet(answer.enclosure, max(found.values(), key=lambda each: each.lower))
    both = answers(mechanism=mechanism, x=x)
    for less, more in zip(one, both, strict=True):
        assert more.enclosure.upper > less.enclosure.upper


# Files.


def altered(made: curves.Curve, lower: float, upper: float) -> curves.Curve:
    """The same with other ends, which need not enclose anything."""
    found = object.__new__(Enclosure)
    object.__setattr__(found, "lower", lower)
    object.__setattr__(found, "upper", upper)
    points = [
        dataclasses.replace(point, answer=dataclasses.replace(point.answer, enclosure=found))
        for point in made.points
    ]
    return dataclasses.replace(made, points=tuple(points))


@pytest.mark.parametrize("columns", [["a"], [f"c{i}" for i in range(30)]])
def test_another_table_is_not_a_curve_file(tmp_path, columns):
    path = tmp_path / "curve.csv"
    storage.write_table(columns, [range(len(columns))], path)
    for look in (curves.read, lambda path: curves.verify(path, NAME, specification())):
        with pytest.raises(ValueError, match=r"curve\.csv is not a curve file$"):
            look(path)


# Files that are not the curve that is asked for.

GRID = {"start": 100, "stop": 10_000, "points": 4}
CHANGES = {
    "upper": {"x": {"n": GRID}},
    "joint": {"x": {"n": GRID}, "k_joint": 3},
    "distance": {"x": {"n": GRID}, "k_joint": 3, "distance": 2},
    "parts": {"x": {"n": [40]}, "mechanism": joint(part(), part(BLH)), "eps0": 1},
    "lower": {"x": {"n": GRID}, "bound": "lower"},
    "clone": {"x": {"n": GRID}, "bound": "clone"},
    "bennett": {"x": {"n": GRID}, "bound": "blanket_bennett"},
    "generic": {"x": {"n": GRID}, "bound": "blanket_bennett_generic"},
    "shared": {"x": {"n": GRID}, "bound": "clone", "delta": OverN(0.01)},
    "eps0": {"n": 500, "x": {"eps0": [0.5, 1.0]}},
    "delta": {"n": 500, "x": {"delta": [1e-8, 1e-6]}},
    "profile": {"n": 500, "quantity": "delta", "x": {"eps": [0.1, 0.2]}},
    "profile_n": {"quantity": "delta", "bound": "clone", "eps": 0.1, "x": {"n": GRID}},
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A file of each specification, and nothing else the matter with it."""
    folder = tmp_path_factory.mktemp("curves")
    for name, changes in CHANGES.items():
        curves.write(compute(**changes), folder / f"{name}.csv")
    return folder


@pytest.mark.parametrize("name", CHANGES)
def test_a_curve_passes_for_what_it_was_computed_from(written, name):
    curves.verify(written / f"{name}.csv", NAME, specification(**CHANGES[name]))


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(CHANGES, 2)))
def test_no_curve_passes_for_another(written, one, other):
    path = written / f"{one}.csv"
    with pytest.raises(ValueError, match=f"{one}\\.csv (has|is not) ") as caught:
        curves.verify(path, NAME, specification(**CHANGES[other]))
    assert "\n" not in str(caught.value)


def nearest(value: float) -> float:
    """The next float towards the middle of what is allowed."""
    return math.nextafter(value, 0.05 if value != 0.05 else 0.06)


@settings(deadline=None)
@given(st.floats(1e-300, 300.0), st.floats(1e-300, 0.9), st.integers(1, 10**15))
def test_settings_are_found_again_however_they_are_written(written, eps0, delta, n):
    path = written / "written.csv"
    made = {"bound": "erlingsson", "eps0": eps0, "delta": delta, "x": {"n": [n]}}
    curves.write(compute(**made), path)
    curves.verify(path, NAME, specification(**made))
    for name in ("eps0", "delta"):
        with pytest.raises(ValueError, match=f"has {name} = .* where .* is wanted"):
            curves.verify(path, NAME, specification(**made | {name: nearest(made[name])}))


@pytest.mark.parametrize(
    ("name", "changes", "sentence"),
    [
        (
            "upper",
            {"mechanism": {"type": "krr", "k": 9}},
            "has mechanism = krr(k=10) where krr(k=9) is wanted",
        ),
        (
            "upper",
            {"eps0": 4.000000000000001},
            "has eps0 = 4.0 in row 1 where 4.000000000000001 is wanted",
        ),
        ("shared", {"delta": OverN(0.02)}, "has delta = 0.0001 in row 1 where 0.0002 is wanted"),
        ("upper", {"x": {"n": {**GRID, "points": 3}}}, "has 4 rows where 3 are wanted"),
        (
            "upper",
            {"x": {"n": [100, 464, 2154, 10_001]}},
            "has n = 10000 in row 4 where 10001 is wanted",
        ),
        # What has no column of its own is told by the digest.
        ("joint", {"distance": 2}, "has distance = 3 where 2 is wanted"),
        ("distance", {"distance": None}, None),
        ("upper", {"x": {"n": [100, 464, 2154, 10_000]}}, None),
    ],
)
def test_a_curve_of_something_else_is_named(written, name, changes, sentence):
    made = specification(**CHANGES[name] | changes)
    path = written / f"{name}.csv"
    if sentence is None:
        before = specification(**CHANGES[name]).digest
        sentence = f"has digest = {before} where {made.digest} is wanted"
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path} {sentence}')}$"):
        curves.verify(path, NAME, made)


def test_a_curve_of_another_version_is_named(written, monkeypatch):
    monkeypatch.setattr(curves, "__version__", "0.0.9")
    sentence = f"has version = {__version__} where 0.0.9 is wanted"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        curves.verify(written / "upper.csv", NAME, specification(**CHANGES["upper"]))


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(0.2, 0.1), (-0.1, 0.1), (math.nan, 0.1), (0.1, math.inf), (0.1, math.nan)],
)
@pytest.mark.parametrize("quantity", ["epsilon", "delta"])
def test_what_encloses_nothing_is_named(tmp_path, lower, upper, quantity):
    path = tmp_path / "curve.csv"
    made = altered(compute(bound="clone", quantity=quantity, eps=0.5), lower, upper)
    curves.write(made, path)
    message = rf"curve\.csv has no enclosure of {quantity} but .* at n = 1000"
    with pytest.raises(ValueError, match=message):
        curves.verify(path, NAME, made.specification)


def test_other_programs_read_a_curve_as_it_is(written):
    table = pd.read_csv(written / "lower.csv")
    assert tuple(table.columns) == (*curves.columns("epsilon"), "checksum")
    assert table["checksum"].str.fullmatch("sha256:[0-9a-f]{16}").all()
    assert table["epsilon_upper"].dtype == float
    profile = curves.read(written / "profile.csv")
    assert tuple(profile.columns) == curves.columns("delta")
    assert profile["eps"].tolist() == [0.1, 0.2]
    assert profile["delta_upper"].gt(0).all()


@pytest.mark.parametrize("bound", ["best", "blanket", "clone_closed_form", "basic_composition"])
def test_a_curve_can_be_pickled_and_copied(bound):
    """For a pool of processes, or a notebook that keeps its results."""
    n, rounds = (
        {"start": 10**5, "stop": 10**6, "points": 2},
        {"rounds": 2} if "basic" in bound else {},
    )
    curve = sb.curve(KRR(k=10, eps0=0.5), bound, n=n, delta=1e-6, **rounds)
    for copied in (pickle.loads(pickle.dumps(curve)), copy.deepcopy(curve)):
        assert copied == curve
        assert copied.specification.bound is curve.specification.bound
