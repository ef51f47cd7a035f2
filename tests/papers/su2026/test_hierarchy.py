"""The hierarchy of bounds: its proof step by step, on random randomizers, and its measurement."""

import itertools
import math
from collections import defaultdict

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

import shufflebounds as sb
from shufflebounds import hierarchy
from shufflebounds.enclosure import PrecisionError
from shufflebounds.hierarchy import BOUNDS, coarsened

MECHANISMS = {
    "10-RR": {"type": "krr", "k": 10},
    "BLH": {"type": "blh"},
    "RAPPOR": {"type": "rappor", "domain_size": 5},
    "OUE": {"type": "oue"},
    "HR": {"type": "hadamard"},
    "Laplace": {"type": "laplace", "cells": 200},
}


@st.composite
def randomizers(draw):
    """A random probability matrix, rows inputs, and the ε₀ at which it is exactly ε₀-LDP."""
    shape = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    # Coarse steps make equal ratios, and components at the extreme ones, likely.
    steps = draw(st.lists(st.integers(-4, 4), min_size=math.prod(shape), max_size=math.prod(shape)))
    matrix = np.exp(draw(st.floats(0.02, 0.7)) * np.reshape(steps, shape))
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix, math.log(np.max(matrix.max(axis=0) / matrix.min(axis=0)))


def upper_bounds(matrix, eps0):
    """Clone, coarsened clone and blanket of the first two inputs, largest divergence first."""
    blanket = sb.Decomposition(matrix[0], matrix[1], matrix.min(axis=0))
    return sb.standard_clone(eps0), coarsened(blanket, eps0), blanket


def shuffled_divergence(matrix, others, eps):
    """D(ε) between all reports' multisets where the victim holds 0 or 1, by enumeration."""
    difference = defaultdict(float)
    for reports in itertools.product(range(matrix.shape[1]), repeat=1 + len(others)):
        rest = math.prod(matrix[x, y] for x, y in zip(others, reports[1:], strict=True))
        own = matrix[0, reports[0]] - math.exp(eps) * matrix[1, reports[0]]
        difference[tuple(sorted(reports))] += own * rest
    return sum(max(x, 0.0) for x in difference.values())


@examples(200)
@given(randomizers())
def test_every_input_is_sure_of_the_coarsened_components(randomizer):
    matrix, eps0 = randomizer
    if eps0 > 0.0:
        _, coarse, _ = upper_bounds(matrix, eps0)
        assert np.all(coarse.c <= matrix * (1.0 + 1e-14))


@examples(200)
@given(randomizers())
def test_coarsened_is_a_post_processing_of_the_clone(randomizer):
    matrix, eps0 = randomizer
    if eps0 > 1e-3:
        clone, coarse, _ = upper_bounds(matrix, eps0)
        e = math.exp(eps0)
        kernel = np.array([e * coarse.a - coarse.b, e * coarse.b - coarse.a]) / (e - 1.0)
        assert kernel.min() >= -1e-12
        np.testing.assert_allclose(kernel.sum(axis=1), 1.0, rtol=1e-10)
        for name in "abc":
            there = getattr(clone, name) @ kernel
            np.testing.assert_allclose(there, getattr(coarse, name), rtol=1e-9)


@examples(60)
@given(randomizers(), st.integers(2, 6), st.floats(0.0, 1.0))
def test_order_of_divergences(randomizer, n, share):
    matrix, eps0 = randomizer
    if eps0 > 0.0:
        eps = share * eps0
        clone, coarse, blanket = (
            sb.delta(bound, eps, n, engine="exact") for bound in upper_bounds(matrix, eps0)
        )
        assert clone.upper >= coarse.lower
        assert coarse.upper >= blanket.lower


@examples(40)
@given(randomizers(), st.data())
def test_coarsened_bounds_every_shuffled_dataset(randomizer, data):
    matrix, eps0 = randomizer
    if eps0 > 0.0:
        _, coarse, _ = upper_bounds(matrix, eps0)
        eps = data.draw(st.floats(0.0, eps0))
        others = data.draw(st.lists(st.sampled_from(range(len(matrix))), min_size=1, max_size=3))
        bound = sb.delta(coarse, eps, 1 + len(others), engine="exact")
        assert shuffled_divergence(matrix, others, eps) <= bound.upper + 1e-15


@pytest.mark.parametrize("eps0", [1e-3, 0.1, 1.0, 4.0, 50.0, 300.0])
def test_binary_randomized_response_coarsened_is_the_clone(eps0):
    coarse, clone = coarsened(sb.KRR(2, eps0).blanket(), eps0), sb.standard_clone(eps0)
    for name in "abc":
        np.testing.assert_allclose(getattr(coarse, name), getattr(clone, name), rtol=1e-14)


@pytest.mark.parametrize(
    "randomizer", [sb.KRR(3, 1.0), sb.BLH(1.0), sb.OUE(1.0, 4), sb.Laplace(1.0)]
)
def test_all_others_lie_strictly_between(randomizer):
    blanket = randomizer.blanket()
    bounds = (sb.standard_clone(1.0), coarsened(blanket, 1.0), blanket)
    clone, coarse, best = (sb.epsilon(bound, 1000, 1e-6) for bound in bounds)
    assert clone.lower > 1.05 * coarse.upper
    assert coarse.lower > 1.05 * best.upper


@pytest.mark.parametrize("eps0", [1e-6, 0.1, 1.0, 4.0, 50.0, 300.0])
def test_coarsened_keeps_its_promise_of_accuracy(eps0):
    coarse = coarsened(sb.KRR(3, eps0).blanket(), eps0)
    with mpmath.workdps(50):
        e = mpmath.exp(mpmath.mpf(eps0))
        p = 1 / (e + 2)
        exact = [(e * p, p), (p, e * p), (p, p)]
        for a, b, c, (first, second) in zip(coarse.a, coarse.b, coarse.c, exact, strict=True):
            for got, want in zip(
                (a, b, c), (first, second, (first + second) / (2 * e)), strict=True
            ):
                assert abs(mpmath.mpf(float(got)) / want - 1) <= coarse.rel_err < 1e-14


@examples(100)
@given(randomizers(), st.floats(1e-6, 300.0))
def test_masses_taken_at_face_value_keep_that_promise(randomizer, eps0):
    a, b = randomizer[0][:2]
    coarse = coarsened(sb.Decomposition(a, b, np.minimum(a, b) / 2.0), eps0)
    with mpmath.workdps(50):
        half = mpmath.exp(-mpmath.mpf(eps0)) / 2
        for x, y, got in zip(a, b, coarse.c, strict=True):
            want = (mpmath.mpf(float(x)) + mpmath.mpf(float(y))) * half
            assert abs(mpmath.mpf(float(got)) / want - 1) <= coarse.rel_err < 1e-15


def test_uncertainty_is_carried():
    blanket = sb.KRR(3, 1.0).blanket()
    vague = sb.Decomposition(blanket.a, blanket.b, blanket.c, rel_err=1e-6)
    assert coarsened(vague, 1.0).rel_err >= 1e-6


def laplace_of_two_users(eps0, eps, cells=3000):
    """D(ε) of coarsened Laplace for n = 2, by a sum over pairs of points of the report's axis.

    From the densities (ε₀/2)e^{−ε₀|y − x|}; reports below 0, and above 1, are all alike.
    """
    y = (np.arange(cells) + 0.5) / cells
    a, b = (
        np.concatenate(
            [[tail], 0.5 * eps0 / cells * np.exp(-eps0 * np.abs(y - x)), [other]],
        )
        for x, tail, other in (
            (0, 0.5, 0.5 * math.exp(-eps0)),
            (1, 0.5 * math.exp(-eps0), 0.5),
        )
    )
    c = (a + b) / (2.0 * math.exp(eps0))
    g = np.append((a - math.exp(eps) * b) / c, 0.0)
    c = np.append(c, 1.0 - c.sum())
    return float(c @ np.maximum(g[:, np.newaxis] + g, 0.0) @ c) / 2.0


@pytest.mark.parametrize(("eps0", "eps"), [(0.5, 0.1), (1.0, 0.3), (4.0, 1.0)])
def test_laplace_against_a_sum_over_its_densities(eps0, eps):
    fine, rough = (
        sb.delta(coarsened(sb.Laplace(eps0, cells).blanket(), eps0), eps, 2) for cells in (400, 3)
    )
    truth = laplace_of_two_users(eps0, eps)
    assert fine.relative_width < 1e-3
    assert fine.lower * (1.0 - 1e-6) <= truth <= fine.upper * (1.0 + 1e-6)
    # More cells can only bring the ends closer; both hold the truth.
    assert rough.lower * (1.0 - 1e-9) <= fine.lower <= fine.upper <= rough.upper * (1.0 + 1e-9)
    assert rough.relative_width > fine.relative_width


@pytest.fixture(scope="module")
def measured():
    return hierarchy.measure(MECHANISMS, [0.1, 4.0], [1000, 10_000], 1e-6, 1e-4)


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
            for above, below in itertools.pairwise(BOUNDS)
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
    assert hierarchy.order([sb.Enclosure(*pair) for pair in ends]) == verdict


def test_files(tmp_path, measured):
    paths = [(tmp_path / f"{i}.csv", tmp_path / f"{i}.md") for i in (1, 2)]
    for csv, page in paths:
        hierarchy.write(measured, csv, page)
    for one, two in zip(*paths, strict=True):
        assert one.read_bytes() == two.read_bytes()
    assert len(list(tmp_path.iterdir())) == 4
    read = pd.read_csv(paths[0][0])
    pd.testing.assert_frame_equal(read, measured, check_exact=True, check_dtype=False)
    lines = paths[0][1].read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][2:]
    assert len(rows) == len(measured)
    for row, expected in zip(rows, measured.to_dict("records"), strict=True):
        assert row[0] == expected["mechanism"]
        assert float(row[1]) == expected["eps0"]
        assert int(row[2].replace(" ", "")) == expected["n"]
        for cell, bound in zip(row[3:6], BOUNDS, strict=False):
            assert 1.0 <= float(cell) / expected[f"{bound}_upper"] < 1.0002
        assert 0.9998 < float(row[6]) / expected["lower_lower"] <= 1.0
        assert row[7] == expected["order"]


def test_bad_arguments():
    one = {"2-RR": {"type": "krr", "k": 2}}
    for arguments, message in [
        (({}, [1.0], [10], 1e-6, 1e-4), r"^mechanisms must not be empty$"),
        ((one, [], [10], 1e-6, 1e-4), r"^eps0 must not be empty$"),
        ((one, [1.0], [], 1e-6, 1e-4), r"^n must hold at least one"),
        ((one, [0.0], [10], 1e-6, 1e-4), r"^eps0 must be .*0 < eps0"),
        ((one, [1.0], [0], 1e-6, 1e-4), r"^n must be an integer >= 1, got 0$"),
        ((one, [1.0], [10], 2.0, 1e-4), r"^delta must be .*got 2.0$"),
        ((one, [1.0], [10], 1e-6, 1.0), r"^rtol must be .*got 1.0$"),
        (
            ({"x": {"type": "none"}}, [1.0], [10], 1e-6, 1e-4),
            r"^type must be one of .*'none'$",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            hierarchy.measure(*arguments)
    with pytest.raises(ValueError, match=r"^eps0 must be"):
        coarsened(sb.KRR(2, 1.0).blanket(), 0.0)
    with pytest.raises(ValueError, match=r"^decomposition must be a Decomposition"):
        coarsened(None, 1.0)


def test_errors_name_the_row():
    rough = {"rough": {"type": "laplace", "cells": 1}}
    with pytest.raises(PrecisionError) as caught:
        hierarchy.measure(rough, [1.0], [1000], 1e-6, 1e-6)
    assert caught.value.__notes__ == ["for rough at eps0 = 1.0, n = 1000"]
