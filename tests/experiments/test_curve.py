"""Curves: the grid, the wiring of a spec to the library, and the files."""

import itertools
import math
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shufflebounds import KRR, Enclosure, PrecisionError, __version__, amplification, curves, specs

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
    (row,) = curves.compute({**SPEC, **changes})
    return row.epsilon_lower, row.epsilon_upper


def hockey_stick(p, q, eps: float) -> float:
    return float(np.maximum(p - math.exp(eps) * q, 0.0).sum())


# The grid.


@settings(deadline=None)
@given(st.integers(1, 10**12), st.integers(0, 10**12), st.integers(2, 300))
def test_a_grid_is_distinct_integers_with_both_ends(start, extent, points):
    assume(points <= extent + 1)
    grid = specs.geometric_grid(start, start + extent, points)
    assert grid[0] == start
    assert grid[-1] == start + extent
    assert len(grid) == points
    assert all(low < high for low, high in itertools.pairwise(grid))


def test_a_grid_is_geometric_where_integers_allow():
    assert specs.geometric_grid(1, 1000, 4) == [1, 10, 100, 1000]
    grid = np.array(specs.geometric_grid(1000, 100_000, 100))
    assert np.abs(grid - 1000 * 100.0 ** (np.arange(100) / 99)).max() <= 0.5 + 1e-6


def test_a_dense_grid_is_every_integer():
    assert specs.geometric_grid(1, 10, 10) == list(range(1, 11))
    assert specs.geometric_grid(7, 7, 1) == [7]


@pytest.mark.parametrize(
    ("start", "stop", "points", "message"),
    [
        (0, 10, 2, "start must be an integer >= 1, got 0"),
        (1.0, 10, 2, "start must be an integer >= 1, got 1.0"),
        (10, 9, 2, "stop must be at least start, which is 10, got 9"),
        (1, 10, 0, "points must be an integer >= 2, got 0"),
        (1, 10, 1, "points must be an integer >= 2, got 1"),
        (1, 10, 11, "points must be at most 10"),
        (1, 10, True, "points must be an integer"),
    ],
)
def test_an_impossible_grid_is_refused(start, stop, points, message):
    with pytest.raises(ValueError, match=message):
        specs.geometric_grid(start, stop, points)


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
    table = pd.DataFrame(curves.compute(spec))
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
    (row,) = curves.compute({**spec, "bound": "blanket_bennett"})
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
        ({"n": 5}, "n must be a list of numbers of users, or start, stop and points, got 5"),
        ({"n": {"start": 1}}, "n must be a list of numbers of users, or start, stop and points"),
        ({"n": {"start": 1, "stop": 10**400, "points": 5}}, "stop must be an integer <= 10000"),
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
    curves.write(table.itertuples(index=False), path)
    assert curves.read(path).to_dict("list") == table.to_dict("list")


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"n,eps0\n1,2\n", b"\xff\xfe,\n", b'"a\n1,2,3']
)
def test_what_is_no_curve_file_is_named(tmp_path, content):
    path = tmp_path / "curve.csv"
    path.write_bytes(content)
    for look in (curves.read, lambda path: curves.verify(path, SPEC)):
        with pytest.raises(ValueError, match=r"curve\.csv is no table with a checksum$"):
            look(path)


def test_equal_curves_are_equal_files(tmp_path):
    for name in ("one", "two"):
        curves.write(curves.compute(SPEC), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "curve.csv"
    path.write_text("old", encoding="utf-8")

    def fails(_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="disk full"):
        curves.write(curves.compute(SPEC), path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["curve.csv"]


def test_what_a_killed_process_left_is_no_obstacle(written, tmp_path):
    """Not even that of a process with the same number."""
    path = tmp_path / "upper.csv"
    (tmp_path / f".upper.csv.{os.getpid()}.part").write_text("half a line", encoding="utf-8")
    curves.write(curves.read(written / "upper.csv").itertuples(index=False), path)
    assert path.read_bytes() == (written / "upper.csv").read_bytes()
    assert [entry.name for entry in tmp_path.iterdir()] == ["upper.csv"]


def test_what_is_written_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """First the content, then the name, then the folder that holds the name."""
    path, steps = tmp_path / "curve.csv", []
    sync, rename = os.fsync, Path.replace

    def synced(descriptor):
        steps.append(("sync", Path(f"/proc/self/fd/{descriptor}").resolve(), path.exists()))
        sync(descriptor)

    def renamed(part, target):
        steps.append(("rename", part, path.exists()))
        return rename(part, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    curves.write(curves.compute(SPEC), path)
    (_, part, _), *_ = steps
    assert steps == [("sync", part, False), ("rename", part, False), ("sync", tmp_path, True)]
    assert part.parent == tmp_path


# Files that are not the curve that is asked for.

GRID = {"start": 100, "stop": 10_000, "points": 4}
SPECS = {
    "upper": {**SPEC, "n": GRID},
    "joint": {**SPEC, "n": GRID, "k_joint": 3},
    "distance": {**SPEC, "n": GRID, "k_joint": 3, "distance": 2},
    "parts": {
        **SPEC,
        "n": [40],
        "mechanism": {
            "type": "joint",
            "parts": [{"mechanism": {"type": "krr", "k": 3}}, {"mechanism": {"type": "blh"}}],
        },
        "eps0": 1,
    },
    "lower": {**SPEC, "n": GRID, "bound": "lower"},
    "clone": {**SPEC, "n": GRID, "bound": "clone"},
    "exact": {**SPEC, "n": [5, 6], "engine": "exact"},
    "bennett": {**SPEC, "n": GRID, "bound": "blanket_bennett"},
    "generic": {**SPEC, "n": GRID, "bound": "blanket_bennett_generic"},
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A file of each spec, and nothing else the matter with it."""
    folder = tmp_path_factory.mktemp("curves")
    for name, spec in SPECS.items():
        curves.write(curves.compute(spec), folder / f"{name}.csv")
    return folder


@pytest.mark.parametrize("name", SPECS)
def test_a_curve_passes_for_what_it_was_computed_from(written, name):
    curves.verify(written / f"{name}.csv", SPECS[name])


def nearest(value: float) -> float:
    """The next float towards the middle of what is allowed."""
    return math.nextafter(value, 0.05 if value != 0.05 else 0.06)


@settings(deadline=None)
@given(
    st.floats(1e-300, 300.0), st.floats(1e-300, 0.9), st.floats(1e-9, 0.1), st.integers(1, 10**15)
)
def test_parameters_are_found_again_however_they_are_written(written, eps0, delta, rtol, n):
    path = written / "written.csv"
    (row, *_) = curves.compute(SPECS["clone"])
    curves.write([row._replace(eps0=eps0, delta=delta, rtol=rtol, n=n)], path)
    spec = {**SPECS["clone"], "eps0": eps0, "delta": delta, "rtol": rtol, "n": [n]}
    curves.verify(path, spec)
    for name in ("eps0", "delta", "rtol"):
        with pytest.raises(ValueError, match=f"has {name} = .* where .* is wanted"):
            curves.verify(path, spec | {name: nearest(spec[name])})


@pytest.mark.parametrize(
    ("name", "changes", "field", "found", "wanted"),
    [
        ("upper", {"experiment": "krr11"}, "experiment", "krr10", "krr11"),
        ("upper", {"regime": "low"}, "regime", "large", "low"),
        ("upper", {"curve": "best"}, "curve", "upper", "best"),
        ("upper", {"mechanism": {"type": "krr", "k": 9}}, "mechanism", "krr(k=10)", "krr(k=9)"),
        ("upper", {"mechanism": {"type": "blh"}}, "mechanism", "krr(k=10)", "blh"),
        ("upper", {"k_joint": 3}, "k_joint", "1", "3"),
        ("upper", {"bound": "lower"}, "bound", "upper", "lower"),
        ("upper", {"eps0": 4.000000000000001}, "eps0", "4.0", "4.000000000000001"),
        ("upper", {"delta": 1e-5}, "delta", "1e-06", "1e-05"),
        ("upper", {"engine": "fft"}, "engine", "saddle", "fft"),
        ("upper", {"rtol": 1e-3}, "rtol", "0.0001", "0.001"),
        ("joint", {"distance": 2}, "distance", "3", "2"),
        ("distance", {"distance": 1}, "distance", "2", "1"),
        ("distance", {"distance": 3}, "distance", "2", "3"),
        ("lower", {"bound": "blanket_bennett"}, "bound", "lower", "blanket_bennett"),
        ("bennett", {"bound": "blanket_hoeffding"}, "bound", "blanket_bennett", None),
        ("exact", {"engine": "fft"}, "engine", "exact", "fft"),
    ],
)
def test_a_curve_of_something_else_is_named(written, name, changes, field, found, wanted):
    spec = {**SPECS[name], **changes}
    path = written / f"{name}.csv"
    wanted = spec[field] if wanted is None else wanted
    sentence = f"{path} has {field} = {found} where {wanted} is wanted"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        curves.verify(path, spec)


def test_a_curve_of_another_version_is_named(written, monkeypatch):
    monkeypatch.setattr(curves, "__version__", "0.0.9")
    sentence = f"has version = {__version__} where 0.0.9 is wanted"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        curves.verify(written / "upper.csv", SPECS["upper"])


@pytest.mark.parametrize(
    ("n", "message"),
    [
        ({**GRID, "points": 3}, "has 4 rows where 3 are wanted"),
        ({**GRID, "points": 5}, "has 4 rows where 5 are wanted"),
        ({**GRID, "stop": 20_000}, "has n = 464 in row 2 where 585 is wanted"),
        ([100, 464, 2154, 10_001], "has n = 10000 in row 4 where 10001 is wanted"),
    ],
)
def test_a_curve_on_another_grid_is_named(written, n, message):
    with pytest.raises(ValueError, match=message):
        curves.verify(written / "upper.csv", {**SPECS["upper"], "n": n})


@pytest.mark.parametrize(
    ("lower", "upper"), [(0.2, 0.1), (-0.1, 0.1), (math.nan, 0.1), (0.1, math.inf), (0.1, math.nan)]
)
def test_what_encloses_nothing_is_named(tmp_path, lower, upper):
    path = tmp_path / "curve.csv"
    (row,) = curves.compute(SPEC)
    curves.write([row._replace(epsilon_lower=lower, epsilon_upper=upper)], path)
    with pytest.raises(ValueError, match=r"curve\.csv has no enclosure of epsilon .* at n = 1000"):
        curves.verify(path, SPEC)


@pytest.mark.parametrize("look", [curves.read, lambda path: curves.verify(path, SPECS["upper"])])
def test_every_edit_of_a_file_is_noticed(written, tmp_path, look):
    """Any byte changed or lost, any line lost or doubled, any end cut off."""
    content = (written / "upper.csv").read_bytes()
    lines = content.splitlines(keepends=True)
    edited = {
        *(
            content[:i] + (b"2" if byte != ord("2") else b"3") + content[i + 1 :]
            for i, byte in enumerate(content)
        ),
        *(content[:i] + content[i + 1 :] for i in range(len(content))),
        *(content[:i] for i in range(len(content))),
        *(b"".join(lines[:i] + lines[i + 1 :]) for i in range(len(lines))),
        *(b"".join(lines[:i] + lines[i:][:1] + lines[i:]) for i in range(len(lines))),
    }
    path = tmp_path / "curve.csv"
    for text in edited - {content}:
        path.write_bytes(text)
        with pytest.raises(ValueError, match=r"^[^\n]*curve\.csv (is no|has changed)[^\n]*$"):
            look(path)


def test_line_ends_of_another_system_are_no_edit(written, tmp_path):
    path = tmp_path / "curve.csv"
    path.write_bytes((written / "upper.csv").read_bytes().replace(b"\n", b"\r\n"))
    curves.verify(path, SPECS["upper"])


def test_other_programs_read_a_curve_as_it_is(written):
    table = pd.read_csv(written / "lower.csv")
    assert tuple(table.columns) == (*curves.COLUMNS, "checksum")
    assert table["checksum"].str.fullmatch("sha256:[0-9a-f]{16}").all()
    assert table["epsilon_upper"].dtype == float
