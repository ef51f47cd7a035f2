"""The benchmark's own parts: its O(n) baseline, a witness of the engines, and what it writes.

No test looks at a time: they depend on the machine.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repository import ROOT

import shufflebounds as sb

sys.path.insert(0, str(ROOT / "benchmarks"))

import arrays
import bench
import conditional_binomial

TINY = bench.Plan(
    users=(10, 100, bench.REFERENCE, bench.FAR),
    mechanisms=("10-RR", "clone"),
    eps0s=(1.0,),
    deltas=(1e-6,),
    rounds=2,
    seconds=0.0,
    # No sum over clones at bench.FAR.
    patience=0.5,
)


def enumerated(eps0: float, eps: float, n: int) -> Fraction:
    """The clone's divergence at the floats e^ε₀ and e^ε by enumeration, straight from Theorem 1.

    Histograms are (i, j): reports on the victim's two values, out of n; all others are elsewhere.
    """
    p, exp_eps = Fraction(math.exp(eps0)), Fraction(math.exp(eps))
    likely, unlikely, clone = p / (p + 1), 1 / (p + 1), 1 / (2 * p)

    def crowd(i, j):
        if i < 0 or j < 0 or i + j > n - 1:
            return Fraction(0)
        rest = n - 1 - i - j
        ways = math.comb(n - 1, i) * math.comb(n - 1 - i, j)
        return ways * clone ** (i + j) * (1 - 2 * clone) ** rest

    total = Fraction(0)
    for i in range(n + 1):
        for j in range(n + 1 - i):
            here, there = crowd(i - 1, j), crowd(i, j - 1)
            under_0 = likely * here + unlikely * there
            under_1 = unlikely * here + likely * there
            total += max(under_0 - exp_eps * under_1, Fraction(0))
    return total


@settings(max_examples=60, deadline=None)
@given(eps0=st.floats(0.01, 8.0), share=st.floats(0.0, 0.95), n=st.integers(1, 9))
def test_baseline_against_enumeration(eps0, share, n):
    found = conditional_binomial.delta(eps0, share * eps0, n)
    # The truth may be as small as the product of n probabilities; e^ε₀ and e^ε are rounded here.
    truth = float(enumerated(eps0, share * eps0, n))
    assert found == pytest.approx(truth, rel=1e-10, abs=1e-15)


def narrowest(eps0: float, eps: float, n: int) -> sb.Enclosure:
    try:
        return sb.delta(sb.standard_clone(eps0), eps, n, rtol=1e-9)
    except sb.PrecisionError as error:
        return error.enclosure


@pytest.mark.parametrize("eps0", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("n", [1, 2, 30, 1_000, 20_000, 100_000])
def test_baseline_lies_in_the_certified_enclosure_of_delta(eps0, n):
    deviations = 2.0 * math.exp(eps0 / 2.0) * math.tanh(eps0 / 2.0) / math.sqrt(n)
    for eps in (0.0, min(0.3 * eps0, deviations), min(0.6 * eps0, 5.0 * deviations)):
        enclosure = narrowest(eps0, eps, n)
        assert enclosure.relative_width < 1e-5
        found = conditional_binomial.delta(eps0, eps, n)
        # The sum is not certified: its own round-off is about n·10⁻¹⁶, and a little.
        slack = 1e-11 + 1e-15 * n
        assert enclosure.lower * (1.0 - slack) <= found <= enclosure.upper * (1.0 + slack)


@pytest.mark.parametrize("eps0", [0.1, 4.0])
@pytest.mark.parametrize("n", [1, 100, 10_000])
def test_the_shorter_sum_bounds_the_whole_one_from_above(eps0, n):
    eps = min(0.5 * eps0, 3.0 * math.sqrt(math.exp(eps0) / n))
    whole = conditional_binomial.delta(eps0, eps, n)
    for tail in (1e-3, 1e-6, 1e-18):
        shorter = conditional_binomial.delta(eps0, eps, n, tail)
        assert whole * (1.0 - 1e-12) <= shorter <= whole * (1.0 + 1e-12) + tail


@pytest.fixture(scope="module")
def tiny():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "FFT_USERS", {"10-RR": (100,)})
        return bench.measure(TINY)


def test_rows_are_complete(tiny):
    assert tuple(tiny.columns) == bench.COLUMNS
    assert not tiny.isna().any().any()
    assert np.isfinite(tiny.select_dtypes("number")).all().all()
    assert (tiny["epsilon_lower"] <= tiny["epsilon_upper"]).all()
    growth = tiny[tiny["what"] == "growth"]
    assert len(growth) == len(TINY.mechanisms) * len(TINY.users)
    assert (growth.loc[growth["n"] == bench.REFERENCE, "ratio"] == 1.0).all()
    rivals = tiny[tiny["what"] == "rival"].groupby(["mechanism", "engine"])["n"]
    assert set(rivals.groups) == {
        ("10-RR", "fft"),
        ("clone", "O(n) sum"),
        ("clone", "O(√n) sum"),
    }
    assert rivals.get_group(("10-RR", "fft")).tolist() == [100]
    assert bench.REFERENCE in rivals.get_group(("clone", "O(n) sum")).tolist()


def test_ratios_of_rivals_are_of_equal_n(tiny):
    keys = ["mechanism", "eps0", "delta", "n"]
    default = tiny[tiny["what"] == "growth"].set_index(keys)["seconds"]
    rivals = tiny[tiny["what"] == "rival"].set_index(keys)
    expected = rivals["seconds"] / default.reindex(rivals.index)
    np.testing.assert_allclose(rivals["ratio"], expected, rtol=1e-12)


def test_all_engines_agree_on_epsilon(tiny):
    for _, rows in tiny.groupby(["mechanism", "eps0", "delta", "n"]):
        # The sums are bisected to 10⁻⁴ and hold the root up to round-off and their tail.
        assert rows["epsilon_lower"].max() <= rows["epsilon_upper"].min() * (1.0 + 1e-6)


def test_files_and_report(tiny, tmp_path):
    bench.write(tiny, tmp_path / "results")
    names = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert names == ["benchmark.csv", "benchmark.pdf", "benchmark.png"]
    table = pd.read_csv(tmp_path / "results" / "benchmark.csv")
    assert tuple(table.columns) == bench.COLUMNS
    pd.testing.assert_frame_equal(table, tiny, check_dtype=False)
    text = bench.report(tiny)
    assert text.index("over that at n") < text.index("Milliseconds")
    assert "nan" not in text.lower()


def test_curves_by_array_and_by_loop_agree():
    rows = arrays.measure(["10-RR", "clone"], (1.0,), [1000, 3000, 10_000], rounds=1)
    assert [row.mechanism for row in rows] == ["10-RR", "clone"]
    assert all(row.apart == 0 and row.widest <= 1e-4 for row in rows)
    assert "10-RR" in arrays.report(rows, 3)
