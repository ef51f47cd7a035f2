"""The command `risk`, against attacks on enumerated shuffles."""

import itertools
import math
import re
import sys

import numpy as np
import pytest
import shuffles
from commands import answer, run

import shufflebounds as sb
from shufflebounds.randomizers.discrete import KRR

EPS0 = 1.0
TERNARY = ("risk", "--mechanism", "krr", "--k", "3", "--eps0", "1")


def corners(pair: shuffles.Pair) -> tuple[list[float], list[float]]:
    """Both error rates of the likelihood-ratio tests of a pair, by their thresholds."""
    found = sorted(pair, key=lambda x: x[0] / x[1] if x[1] else math.inf)
    positives = itertools.accumulate((float(p) for p, _ in found), initial=0.0)
    return list(positives), [
        1.0 - float(sum(q for _, q in found[:i])) for i in range(len(pair) + 1)
    ]


@pytest.mark.parametrize("rounds", [1, 2])
def test_error_rates_are_those_of_the_best_attack(rounds):
    """Three users, the others holding the third value; the tests of Neyman and Pearson."""
    one = shuffles.shuffled(KRR(k=3, eps0=EPS0).matrix().tolist(), 0, 1, [2, 2])
    pair = shuffles.product([one] * rounds)
    rates = (0.0, 0.01, 0.2, 0.5, 1.0)
    asked = [part for rate in rates for part in ("--false-positives", repr(rate))]
    found = answer(*TERNARY, "--n", "3", "--rounds", str(rounds), *asked)
    advantage = float(sum(max(p - q, 0) for p, q in pair))
    lower = found["advantage"]["lower"]
    assert lower["lower"] <= advantage * (1 + 1e-12)
    assert advantage <= lower["upper"] * (1 + 1e-12)
    assert lower["upper"] - lower["lower"] < 0.03
    assert found["advantage"]["blanket"]["upper"] >= lower["lower"]
    for entry, rate in zip(found["false_negatives"], rates, strict=True):
        truth = np.interp(rate, *corners(pair))
        assert entry["false_positives"] == rate
        assert entry["lower"]["lower"] <= truth + 1e-12
        assert truth <= entry["lower"]["upper"] + 1e-12
        assert entry["blanket"]["lower"] <= truth + 1e-12
        assert entry["stronger_clone"]["lower"] <= truth + 1e-12


def test_what_is_printed_is_on_the_safe_side():
    args = (*TERNARY, "--n", "1000", "--rounds", "30")
    text, exact = run(*args).stdout, answer(*args)
    assert text.startswith("KRR(k=3, eps0=1.0), n = 1000 users, 30 rounds, one user replaced\n")
    table = [line for line in text.splitlines() if line.startswith("  ")]
    cells = [re.split(r"\s{2,}", line.strip()) for line in table]
    rows = {name: values for name, *values in cells}
    assert list(rows)[-4:] == ["best proven bound", "blanket", "lower bound", "stronger clone"]
    best, blanket, lower_bound = (list(map(float, rows[name])) for name in list(rows)[-4:-1])
    # The advantage of all datasets is close to an attack's, so that the blanket is the best.
    assert best == blanket
    upper, lower = blanket[0], lower_bound[0]
    assert exact["advantage"]["blanket"]["upper"] <= upper
    assert lower <= exact["advantage"]["lower"]["lower"]
    guess = blanket[1]
    assert 0.5 + 0.5 * exact["advantage"]["blanket"]["upper"] <= guess < 0.51 + 0.5 * upper
    upper, lower = blanket[3], lower_bound[3]
    (entry,) = (e for e in exact["false_negatives"] if e["false_positives"] == 0.01)
    assert upper <= entry["blanket"]["lower"]
    assert upper < lower
    assert entry["lower"]["upper"] <= lower
    explained = " ".join(run(*args, "--explain").stdout.split())
    assert "an upper bound has the smaller number" in explained
    assert "The 30 rounds are shuffled separately" in explained


def test_the_advantage_is_as_narrow_as_one_asks_for(monkeypatch):
    exact = math.tanh(0.5)
    alone = ("risk", "--mechanism", "krr", "--k", "2", "--eps0", "1", "--n", "1")
    for rtol in ("1e-2", "1e-7"):
        shown = run(*alone, "--rtol", rtol).stdout
        (row,) = (line for line in shown.splitlines() if line.startswith("  blanket "))
        assert 0.0 <= float(row.split()[1]) - exact <= float(rtol) * exact
        ends = answer(*TERNARY, "--n", "100", "--rtol", rtol)["advantage"]
        assert all(
            one["upper"] - one["lower"] <= float(rtol) * one["upper"] for one in ends.values()
        )
    monkeypatch.setattr(sys.modules["shufflebounds.cli.risk"], "MAX_DENSITY", 24.0)
    result = run(*TERNARY, "--n", "100000", "--rtol", "1e-8")
    assert result.exit_code == 3
    assert "blanket: the advantage is known only to a relative width of" in result.stderr


BLH = ("risk", "--mechanism", "blh", "--eps0", "4", "--n", "10000")


@pytest.mark.parametrize(
    ("options", "randomizer", "n"),
    [
        (("--colluding", "4000"), sb.BLH(4.0), 6000),
        (("--rate", "0.5"), sb.Subsampled(sb.BLH(4.0), 0.5), 10_000),
    ],
)
def test_the_tight_bound_is_that_of_the_randomizer(options, randomizer, n):
    found = answer(*BLH, *options)
    assert list(found["advantage"]) == ["best", "blanket", "lower", "stronger_clone"]
    expected = sb.profile(randomizer, n)
    ends = found["advantage"]["best"]
    assert ends["upper"] == pytest.approx(expected.advantage().upper, rel=2e-3)
    assert ends["upper"] < 0.9 * found["advantage"]["blanket"]["upper"]
    assert ends["upper"] >= expected.advantage().lower
    for entry in found["false_negatives"]:
        curve = expected.false_negatives(entry["false_positives"])
        assert entry["best"]["lower"] == pytest.approx(curve.lower, rel=1e-3)
        assert entry["best"]["lower"] <= curve.upper
        assert entry["best"]["lower"] > entry["blanket"]["lower"]
        assert entry["best"]["lower"] <= entry["lower"]["upper"]
