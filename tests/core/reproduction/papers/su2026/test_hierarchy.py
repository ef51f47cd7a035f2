"""The measured hierarchy of bounds; its proof is tested in tests/core/bounds/test_clones.py."""

import itertools
import math

import pytest

import shufflebounds as sb
from reproduction.papers.su2026 import Hierarchy, hierarchy
from reproduction.papers.su2026.hierarchy import BOUNDS
from reproduction.papers.tables import Context
from shufflebounds.bounds.base import Numerics
from shufflebounds.core.enclosure import PrecisionError
from shufflebounds.randomizers.description import parse

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
    given = Hierarchy(mechanisms=tuple(MECHANISMS), eps0=(0.1, 4.0), n=(1000, 10_000), delta=1e-6)
    return hierarchy.hierarchy_table(given, Context(MECHANISMS, Numerics(rtol=1e-4)))


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


def test_the_figure_has_a_true_title(measured):
    """No upper bound is below the blanket; two laws alone can be worse than ε₀ alone."""
    for bound in ("clone", "stronger", "coarsened"):
        assert (measured[f"{bound}_upper"] >= measured["blanket_lower"]).all()
    assert (measured["coarsened_lower"] > measured["stronger_upper"]).any()
    assert (measured["coarsened_upper"] < measured["stronger_lower"]).any()
    sheet = hierarchy.hierarchy_sheet(measured, "A title")
    assert sheet.numbers == "Numbers: ε over that of the clone"


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


def test_errors_name_the_row():
    rough = {"rough": parse({"type": "laplace", "cells": 1})}
    given = Hierarchy(mechanisms=("rough",), eps0=(1.0,), n=(1000,), delta=1e-6)
    with pytest.raises(PrecisionError) as caught:
        hierarchy.hierarchy_table(given, Context(rough, Numerics(rtol=1e-6)))
    assert caught.value.__notes__ == ["for rough at eps0 = 1.0, n = 1000"]
