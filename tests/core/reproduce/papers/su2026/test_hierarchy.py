"""The measured hierarchy of bounds; its proof is tested in tests/core/bounds/test_clones.py."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import shufflebounds as sb
from shufflebounds.bounds.base import Numerics
from shufflebounds.core.enclosure import PrecisionError
from shufflebounds.core.setting import OverN
from shufflebounds.randomizers.description import parse
from shufflebounds.reproduce.papers import tables as table_files
from shufflebounds.reproduce.papers.su2026 import hierarchy
from shufflebounds.reproduce.papers.su2026.hierarchy import BOUNDS

MECHANISMS = {
    "10-RR": parse({"type": "krr", "k": 10}),
    "BLH": parse({"type": "blh"}),
    "RAPPOR": parse({"type": "rappor", "domain_size": 5}),
    "OUE": parse({"type": "oue"}),
    "HR": parse({"type": "hadamard"}),
    "Laplace": parse({"type": "laplace", "cells": 200}),
}


@pytest.fixture(scope="module")
def measured():
    return hierarchy.measure(MECHANISMS, [0.1, 4.0], [1000, 10_000], 1e-6, Numerics(rtol=1e-4))


def test_measurement_has_one_row_for_each(measured):
    assert tuple(measured.columns) == hierarchy.COLUMNS
    rows = measured[["name", "eps0", "n"]].itertuples(index=False, name=None)
    assert list(rows) == list(itertools.product(MECHANISMS, [0.1, 4.0], [1000, 10_000]))
    assert list(measured["mechanism"].unique()) == [
        "krr(k=10)",
        "blh",
        "rappor(domain_size=5)",
        "oue",
        "hadamard",
        "laplace(cells=200)",
    ]


def test_measurement_is_that_of_the_decompositions(measured):
    row = measured[(measured["name"] == "10-RR") & (measured["eps0"] == 4.0)].iloc[0]
    randomizer = sb.KRR(10, 4.0)
    blanket = randomizer.blanket()
    bounds = (
        sb.standard_clone(4.0),
        sb.stronger_clone(4.0),
        # By hand: the ratios (e, 1), (1, e) and (1, 1).
        sb.Decomposition(blanket.a, blanket.b, (blanket.a + blanket.b) * math.exp(-4.0) / 2.0),
        blanket,
        randomizer.dataset_pair(),
    )
    for name, bound in zip(BOUNDS, bounds, strict=True):
        expected = sb.epsilon(bound, 1000, 1e-6, rtol=1e-6)
        assert row[f"{name}_lower"] <= expected.upper
        assert row[f"{name}_upper"] >= expected.lower
        assert row[f"{name}_lower"] >= (1.0 - 1.1e-4) * row[f"{name}_upper"]


def test_order_is_certified_wherever_the_bounds_differ_enough(measured):
    assert hierarchy.VIOLATED not in set(measured["order"])
    for row in measured.to_dict("records"):
        clear = all(
            row[f"{above}_lower"] >= row[f"{below}_upper"]
            for chain in hierarchy.CHAINS
            for above, below in itertools.pairwise(chain)
        )
        assert row["order"] == (hierarchy.CERTIFIED if clear else hierarchy.CONSISTENT)
    assert set(measured.loc[measured["name"] == "BLH", "order"]) == {hierarchy.CERTIFIED}


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ([(3.0, 3.1), (2.0, 2.1), (1.0, 1.1)], "certified"),
        ([(3.0, 3.1), (2.0, 3.0), (1.0, 2.0)], "certified"),
        ([(3.0, 3.1), (2.0, 3.05), (1.0, 1.1)], "consistent"),
        ([(3.0, 3.1), (3.0, 3.1), (1.0, 1.1)], "consistent"),
        ([(3.0, 3.1), (3.1, 3.2), (1.0, 1.1)], "consistent"),
        ([(3.0, 3.1), (2.0, 2.1), (2.2, 2.3)], "violated"),
        ([(3.0, 3.1), (3.2, 3.3), (1.0, 1.1)], "violated"),
    ],
)
def test_verdicts(ends, verdict):
    chain = [sb.Enclosure(*pair) for pair in ends]
    certain = [sb.Enclosure(1.0, 1.0)]
    for chains in ([chain], [chain, certain], [certain, chain], [chain, chain[:2]]):
        assert hierarchy.order(chains) == verdict


def test_files(tmp_path, measured):
    for name in ("1.csv", "2.csv"):
        table_files.write(measured, "0123", tmp_path / name)
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2
    read = table_files.read(tmp_path / "1.csv")[list(measured.columns)]
    pd.testing.assert_frame_equal(read, measured, check_exact=True, check_dtype=False)
    lines = hierarchy.page(read).markdown().splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][2:]
    assert len(rows) == len(measured)
    for row, expected in zip(rows, measured.to_dict("records"), strict=True):
        assert row[0] == expected["mechanism"]
        assert float(row[1]) == expected["eps0"]
        assert int(row[2].replace("\N{NARROW NO-BREAK SPACE}", "")) == expected["n"]
        for cell, bound in zip(row[3:7], BOUNDS, strict=False):
            assert 1.0 <= float(cell) / expected[f"{bound}_upper"] < 1.0002
        assert 0.9998 < float(row[7]) / expected["lower_lower"] <= 1.0
        assert row[8] == expected["order"]


def test_the_figure_shows_every_mechanism_fall_from_the_clone_to_the_lower_bound(measured):
    sheet = hierarchy.sheet(measured, "Hierarchy")
    assert [len(row) for row in sheet.rows] == [2, 2]
    assert list(sheet.legend)[1:] == list(measured["label"].unique())
    for view in sheet.views:
        (_, stronger), *mechanisms = view.lines
        assert len(view.x_ticks) == stronger.x.size
        for _, curve in mechanisms:
            assert curve.y[0] == 1.0
            assert (np.diff(curve.y) <= measured["rtol"].iloc[0]).all()
            assert curve.y[2] <= stronger.y[0]


def test_delta_may_be_a_share_of_one_over_n(measured):
    one = {"BLH": MECHANISMS["BLH"]}
    numerics = Numerics(rtol=1e-4)
    shared = hierarchy.measure(one, [4.0], [1000, 10_000], OverN(1e-3), numerics)
    assert shared["delta"].tolist() == [1e-6, 1e-7]
    columns = ["clone_upper", "stronger_upper", "coarsened_upper", "blanket_upper", "lower_lower"]
    same = measured[(measured["name"] == "BLH") & (measured["eps0"] == 4.0)]
    assert (shared[columns].to_numpy()[0] == same[columns].to_numpy()[0]).all()
    assert (shared[columns].to_numpy()[1] > same[columns].to_numpy()[1]).all()
    assert "$\\delta$ = 1e-06, 1e-07" in hierarchy.page(shared).markdown()


def test_errors_name_the_row():
    rough = {"rough": parse({"type": "laplace", "cells": 1})}
    with pytest.raises(PrecisionError) as caught:
        hierarchy.measure(rough, [1.0], [1000], 1e-6, Numerics(rtol=1e-6))
    assert caught.value.__notes__ == ["for rough at eps0 = 1.0, n = 1000"]
