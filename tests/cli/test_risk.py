"""The command `risk`, against attacks on enumerated shuffles."""

import itertools
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import shuffles
from click.testing import CliRunner, Result

from shufflebounds import cli
from shufflebounds.randomizers.krr import KRR

EPS0 = 1.0
TERNARY = ("risk", "--mechanism", "krr", "--k", "3", "--eps0", "1")


def run(*args: str) -> Result:
    return CliRunner().invoke(cli.main, args)


def answer(*args: str) -> dict:
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


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
    lower = found["advantage"]["lower_bound"]
    assert lower["lower"] <= advantage * (1 + 1e-12)
    assert advantage <= lower["upper"] * (1 + 1e-12)
    assert lower["upper"] - lower["lower"] < 0.03
    assert found["advantage"]["upper_bound"]["upper"] >= lower["lower"]
    for entry, rate in zip(found["false_negatives"], rates, strict=True):
        truth = np.interp(rate, *corners(pair))
        assert entry["false_positives"] == rate
        assert entry["lower_bound"]["lower"] <= truth + 1e-12
        assert truth <= entry["lower_bound"]["upper"] + 1e-12
        assert entry["upper_bound"]["lower"] <= truth + 1e-12
        assert entry["clone"]["lower"] <= truth + 1e-12


def test_one_user_is_a_local_report():
    """Its advantage is that of randomized response, whatever the bound."""
    found = answer("risk", "--mechanism", "krr", "--k", "2", "--eps0", "1", "--n", "1")
    truth = math.tanh(0.5)
    for ends in found["advantage"].values():
        assert ends["lower"] <= truth * (1 + 1e-12)
        assert truth <= ends["upper"] * (1 + 1e-12)


def test_what_is_printed_is_on_the_safe_side():
    args = (*TERNARY, "--n", "1000", "--rounds", "30")
    text, exact = run(*args).stdout, answer(*args)
    assert text.startswith("KRR(k=3, eps0=1.0), n = 1000 users, 30 rounds\n")
    table = [line for line in text.splitlines() if line.startswith("  ")]
    rows = {line[:45].strip(): line[45:].split() for line in table}
    upper, lower, _ = map(float, rows["advantage"])
    assert exact["advantage"]["upper_bound"]["upper"] <= upper
    assert lower <= exact["advantage"]["lower_bound"]["lower"]
    guess = float(rows["right guess, from even odds"][0])
    assert 0.5 + 0.5 * exact["advantage"]["upper_bound"]["upper"] <= guess < 0.51 + 0.5 * upper
    upper, lower, _ = map(float, rows["false negatives, at 0.01 false positives"])
    (entry,) = (e for e in exact["false_negatives"] if e["false_positives"] == 0.01)
    assert upper <= entry["upper_bound"]["lower"]
    assert upper < lower
    assert "fewer false negatives, so in those rows the upper bound" in text.replace("\n", " ")
    assert entry["lower_bound"]["upper"] <= lower
    assert "The 30 rounds are shuffled separately" in text


def test_datasets_that_are_no_mirror_images_are_told():
    note = "not mirror images"
    options = ("--eps0", "1", "--n", "10")
    binary = answer("risk", "--mechanism", "krr", "--k", "2", *options)
    assert any(note in one for one in binary["notes"])
    assert not any(note in one for one in answer(*TERNARY, "--n", "10")["notes"])


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_the_plot_is_written(tmp_path, suffix):
    path = tmp_path / f"risk.{suffix}"
    assert run(*TERNARY, "--n", "100", "--plot", str(path)).exit_code == 0
    assert path.stat().st_size > 1000


def test_the_plot_is_of_the_ends_that_count(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr("shufflebounds.plotting.trade_off.draw", lambda *args: drawn.extend(args))
    path = tmp_path / "risk.png"
    assert run(*TERNARY, "--n", "100", "--plot", str(path)).exit_code == 0
    lines, title, paths = drawn
    assert title == "KRR(k=3, eps0=1.0), n = 100 users"
    assert paths == [path]
    ends = {line.label: line.end for line in lines}
    assert ends == {"upper bound": "lower", "lower bound": "upper", "clone": "lower"}
    exact = answer(*TERNARY, "--n", "100", "--false-positives", "0.1")["false_negatives"][0]
    (upper,) = (line for line in lines if line.label == "upper bound")
    assert upper.at(np.array([0.1])).tolist() == [exact["upper_bound"]["lower"]]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (("--false-positives", "1.5"), "0 <= false_positives <= 1, got 1.5"),
        (("--false-positives", "nan"), "0 <= false_positives <= 1, got nan"),
        (("--rounds", "0"), "rounds must be an integer >= 1, got 0"),
        (("--n", "0"), "n must be an integer >= 1, got 0"),
        (("--plot", "x.gif"), "must end in .pdf or .png or .svg"),
    ],
)
def test_a_mistake_ends_in_one_sentence(extra, message):
    result = run(*TERNARY, "--n", "10", *extra)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_numbers_alone_load_no_plotting():
    script = (
        "import sys; from shufflebounds.cli import main\n"
        "main(sys.argv[1:], standalone_mode=False)\n"
        "assert not {'pandas', 'matplotlib'} & set(sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    command = [sys.executable, "-c", script, *TERNARY, "--n", "10"]
    subprocess.run(command, env=environment, check=True, capture_output=True)
