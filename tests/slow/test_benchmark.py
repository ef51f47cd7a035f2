"""The benchmark's own parts: its O(n) baseline, a witness of the engines, and what it writes.

No test looks at a time: they depend on the machine.
"""

from __future__ import annotations

import math
import re
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import exact
from repository import ROOT

import shufflebounds as sb

sys.path.insert(0, str(ROOT / "benchmarks"))

import arrays
import bench
import conditional_binomial
import durations

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


@settings(max_examples=60, deadline=None)
@given(eps0=st.floats(0.01, 8.0), share=st.floats(0.0, 0.95), n=st.integers(1, 9))
def test_baseline_against_enumeration(eps0, share, n):
    found = conditional_binomial.delta(eps0, share * eps0, n)
    # The truth may be as small as the product of n probabilities.
    truth = exact(sb.standard_clone(eps0), share * eps0, n)
    assert truth.lower * (1.0 - 1e-10) - 1e-15 <= found <= truth.upper * (1.0 + 1e-10) + 1e-15


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
    assert set(rivals.groups) == {("10-RR", "fft"), ("clone", "O(n) sum"), ("clone", "O(√n) sum")}
    assert rivals.get_group(("10-RR", "fft")).tolist() == [100]
    assert bench.REFERENCE in rivals.get_group(("clone", "O(n) sum")).tolist()


def test_all_engines_agree_on_epsilon(tiny):
    for _, rows in tiny.groupby(["mechanism", "eps0", "delta", "n"]):
        # The sums are bisected to 10⁻⁴ and hold the root up to round-off and their tail.
        assert rows["epsilon_lower"].max() <= rows["epsilon_upper"].min() * (1.0 + 1e-6)


def test_curves_by_array_and_by_loop_agree():
    rows = arrays.measure(["10-RR", "clone"], (1.0,), [1000, 3000, 10_000], rounds=1)
    assert [row.mechanism for row in rows] == ["10-RR", "clone"]
    assert all(row.apart == 0 and row.widest <= 1e-4 for row in rows)
    assert "10-RR" in arrays.report(rows, 3)


def test_the_page_has_the_table_of_durations_that_the_program_writes():
    text = durations.PAGE.read_text(encoding="utf-8")
    assert text.count(durations.HEADING) == 1
    table = text.partition(durations.HEADING)[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (.*) \| [\d.]+(?: to [\d.]+)? \|$", table, re.MULTILINE)
    assert rows == list(durations.questions())
