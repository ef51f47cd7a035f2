"""Curves: the grid, the wiring of a spec to the library, and the files."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shufflebounds import KRR, Enclosure, PrecisionError, __version__, amplification, curves

SPEC = {
    "experiment": "krr10",
    "regime": "large",
    "curve": "upper",
    "mechanism": {"type": "krr", "k": 10},
    "eps0": 4.0,
    "k_joint": 1,
    "bound": "upper",
    "delta": 1e-6,
    "n": [1000],
    "engine": "saddle",
    "rtol": 1e-4,
}


def ends(**changes) -> tuple[float, float]:
    (row,) = curves.compute({**SPEC, **changes}).itertuples()
    return row.epsilon_lower, row.epsilon_upper


def hockey_stick(p, q, eps: float) -> float:
    return float(np.maximum(p - math.exp(eps) * q, 0.0).sum())


# The grid.


@settings(deadline=None)
@given(st.integers(1, 10**12), st.integers(0, 10**12), st.integers(2, 300))
def test_a_grid_is_distinct_integers_with_both_ends(start, extent, points):
    assume(points <= extent + 1)
    grid = curves.geometric_grid(start, start + extent, points)
    assert grid[0] == start
    assert grid[-1] == start + extent
    assert len(grid) == points
    assert all(low < high for low, high in itertools.pairwise(grid))


def test_a_grid_is_geometric_where_integers_allow():
    assert curves.geometric_grid(1, 1000, 4) == [1, 10, 100, 1000]
    grid = np.array(curves.geometric_grid(1000, 100_000, 100))
    assert np.abs(grid - 1000 * 100.0 ** (np.arange(100) / 99)).max() <= 0.5 + 1e-6


def test_a_dense_grid_is_every_integer():
    assert curves.geometric_grid(1, 10, 10) == list(range(1, 11))
    assert curves.geometric_grid(7, 7, 1) == [7]


@pytest.mark.parametrize(
    ("start", "stop", "points", "message"),
    [
        (0, 10, 2, "start must be an integer >= 1, got 0"),
        (1.0, 10, 2, "start must be an integer >= 1, got 1.0"),
        (10, 9, 2, "stop must be an integer >= 10, got 9"),
        (1, 10, 0, "points must be an integer >= 2, got 0"),
        (1, 10, 1, "points must be an integer >= 2, got 1"),
        (1, 10, 11, "points must be at most 10"),
        (1, 10, True, "points must be an integer"),
    ],
)
def test_an_impossible_grid_is_refused(start, stop, points, message):
    with pytest.raises(ValueError, match=message):
        curves.geometric_grid(start, stop, points)


# What a spec asks for.


@pytest.mark.parametrize(
    ("eps0", "n", "eps", "delta"),
    # Sums by another program over 10-RR's blanket, to the digits given.
    [
        (4.0, 1000, 1.0, 1.47266946608e-4),
        (4.0, 10_000, 0.4, 4.15804652e-7),
        (0.1, 10_000, 0.001, 2.73015541e-6),
    ],
)
def test_an_upper_curve_inverts_the_divergence_of_the_blanket(eps0, n, eps, delta):
    lower, upper = ends(eps0=eps0, n=[n], delta=delta, rtol=1e-6)
    assert lower * (1 - 1e-8) <= eps <= upper * (1 + 1e-8)
    assert upper - lower <= 1e-6 * upper


@pytest.mark.parametrize("k_joint", [1, 2, 3])
@pytest.mark.parametrize("bound", ["upper", "lower"])
def test_the_parts_of_a_joint_share_eps0(bound, k_joint):
    """One user's reports hide nothing: D(ε) is that of the channel's own rows."""
    rows = KRR(k=3, eps0=2.0 / k_joint).matrix()[:2]
    first, second = rows
    for _ in range(k_joint - 1):
        first, second = np.outer(first, rows[0]).ravel(), np.outer(second, rows[1]).ravel()
    delta = hockey_stick(first, second, 1.2)
    changes = {"mechanism": {"type": "krr", "k": 3}, "eps0": 2.0, "k_joint": k_joint}
    lower, upper = ends(**changes, bound=bound, n=[1], delta=delta, engine="exact")
    assert lower * (1 - 1e-9) <= 1.2 <= upper * (1 + 1e-9)


def test_upper_and_lower_curves_are_of_different_decompositions():
    assert ends(bound="lower")[1] < ends(bound="upper")[0]


@pytest.mark.parametrize("mechanism", [{"type": "krr", "k": 10}, {"type": "blh"}])
def test_the_clone_is_binary_randomized_response_for_one_user(mechanism):
    """(e^ε₀ − e^ε)/(e^ε₀ + 1) = δ, whatever the mechanism."""
    eps = math.log(math.exp(4.0) - 0.01 * (math.exp(4.0) + 1.0))
    lower, upper = ends(mechanism=mechanism, bound="clone", n=[1], delta=0.01, engine="exact")
    assert lower * (1 - 1e-9) <= eps <= upper * (1 + 1e-9)


def test_a_baseline_without_an_answer_is_eps0():
    assert ends(bound="blanket_hoeffding", n=[2])[1] == 4.0


def test_a_table_carries_its_parameters():
    spec = {**SPEC, "n": {"start": 100, "stop": 400, "points": 3}, "k_joint": 2}
    table = curves.compute(spec)
    assert tuple(table.columns) == curves.COLUMNS
    assert table["n"].tolist() == [100, 200, 400]
    constant = table.drop(columns=["n", "epsilon_lower", "epsilon_upper"]).drop_duplicates()
    assert constant.to_dict("records") == [
        {
            "experiment": "krr10",
            "regime": "large",
            "curve": "upper",
            "mechanism": "krr(k=10)",
            "k_joint": 2,
            "distance": 2,
            "differing": "1 2",
            "others": "",
            "bound": "upper",
            "eps0": 4.0,
            "delta": 1e-6,
            "engine": "saddle",
            "rtol": 1e-4,
            "version": __version__,
        }
    ]


def test_a_baseline_needs_neither_engine_nor_tolerance():
    spec = {key: value for key, value in SPEC.items() if key not in ("engine", "rtol")}
    (row,) = curves.compute({**spec, "bound": "blanket_bennett"}).itertuples()
    assert row.engine == "closed_form"
    assert math.isnan(row.rtol)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bound": "best"}, "bound must be one of .*, got 'best'"),
        ({"eps0": -1.0}, "eps0 .*got -1.0"),
        ({"delta": 1.5}, "delta .*got 1.5"),
        ({"k_joint": 0}, "k_joint must be an integer >= 1, got 0"),
        ({"n": []}, "n must hold at least one number of users"),
        ({"n": [10, 0]}, "n must be an integer >= 1, got 0"),
        ({"engine": "magic"}, "engine must be one of .*, got 'magic'"),
        ({"mechanism": {"type": "krr", "k": 1}}, "k must be an integer >= 2, got 1"),
        ({"mechanism": {"type": "kr"}}, "type must be one of .*, got 'kr'"),
        ({"bound": "blanket_bennett", "delta": 1.5}, "delta .*got 1.5"),
        ({"bound": "blanket_bennett", "n": [10, 0]}, "n must be an integer >= 1, got 0"),
    ],
)
def test_bad_specs_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        curves.compute({**SPEC, **changes})


def test_a_failure_says_where(monkeypatch):
    def fails(decomposition, *, n, **_):
        raise PrecisionError("too wide", Enclosure(0.0, 1.0))

    monkeypatch.setattr(amplification, "epsilon", fails)
    with pytest.raises(PrecisionError) as caught:
        curves.compute(SPEC)
    assert caught.value.__notes__ == ["in curve krr10/large/upper at n = 1000"]


# Files.

floats = st.floats(min_value=0.0, allow_nan=False)


@settings(deadline=None)
@given(st.lists(st.tuples(floats, floats, floats), min_size=1, max_size=20))
def test_a_file_keeps_every_float(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("curve") / "curve.csv"
    table = pd.DataFrame(values, columns=["epsilon_lower", "epsilon_upper", "rtol"])
    # Names may look like no value or like a number.
    table["experiment"], table["regime"] = "1e3", "NA"
    for name in ("curve", "mechanism", "differing", "others", "bound", "engine", "version"):
        table[name] = "1"
    table = table.reindex(columns=curves.COLUMNS, fill_value=1)
    curves.write(table, path)
    assert curves.read(path).to_dict("list") == table.to_dict("list")


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"n,eps0\n1,2\n", b"\xff\xfe,\n", b'"a\n1,2,3']
)
def test_what_is_no_curve_file_is_named(tmp_path, content):
    path = tmp_path / "curve.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"curve\.csv is not a curve file"):
        curves.read(path)


def test_equal_curves_are_equal_files(tmp_path):
    for name in ("one", "two"):
        curves.write(curves.compute(SPEC), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "curve.csv"
    path.write_text("old", encoding="utf-8")

    def fails(part, **_):
        part.write_text("half a li", encoding="utf-8")
        raise OSError("disk full")

    table = curves.compute(SPEC)
    monkeypatch.setattr(table, "to_csv", fails)
    with pytest.raises(OSError, match="disk full"):
        curves.write(table, path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["curve.csv"]
