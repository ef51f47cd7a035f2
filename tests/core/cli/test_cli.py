"""The console command: its numbers, how they are rounded, and one sentence for every mistake."""

import csv
import hashlib
import html
import io
import itertools
import json
import math
import os
import pty
import re
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import click
import numpy as np
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from repository import ROOT

import shufflebounds as sb
from shufflebounds import Enclosure, Enclosures, PrecisionError, __version__, cli
from shufflebounds.bounds.base import Answer, Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli import answers, deployment
from shufflebounds.cli.answers import distance, width
from shufflebounds.cli.errors import PrecisionNotReached
from shufflebounds.cli.options import REAL, flag, question
from shufflebounds.core.enclosure import outward
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.registry import Reports
from shufflebounds.randomizers import registry
from shufflebounds.randomizers.description import Mechanism
from shufflebounds.randomizers.discrete import KRR
from shufflebounds.reproduce import curve as curves
from shufflebounds.reproduce.plotting import layout as styles
from shufflebounds.reproduce.specification import Axis, Grid, Specification
from shufflebounds.reproduce.storage import CurveName

KRR10 = ("--mechanism", "krr", "--k", "10")
BINARY = ("--mechanism", "krr", "--k", "2")
# Its divergence at ε = 0.4 and n = 10⁴ by another program, to the digits given.
AT_4 = (*KRR10, "--eps0", "4", "--n", "10000")
DIVERGENCE = 4.15804652e-7


def run(*args: str) -> Result:
    return CliRunner().invoke(cli.main, args)


def succeed(*args: str) -> Result:
    result = run(*args)
    assert result.exit_code == 0, result.output
    return result


def answer(*args: str) -> dict:
    return json.loads(succeed(*args, "--json").stdout)


def value(text: str, label: str) -> Decimal:
    """The number printed in the row of a label."""
    (row,) = (line for line in text.splitlines() if line.startswith(f"  {label}"))
    return Decimal(row.strip().removeprefix(label).split()[0])


def holds(enclosure: dict, truth: float, tolerance: float = 1e-8) -> bool:
    lower, upper = enclosure["lower"], enclosure["upper"]
    return lower * (1 - tolerance) <= truth <= upper * (1 + tolerance)


def shuffled(rows: np.ndarray, others: int, eps: float, n: int) -> float:
    """D(ε) of the histograms of n reports, by enumeration; `rows` are the inputs of a channel.

    The victim holds 0 or 1, everyone else the input `others`.
    """
    masses = Counter()
    for outputs in itertools.product(range(rows.shape[1]), repeat=n):
        rest = math.prod(rows[others, output] for output in outputs[1:])
        for victim in (0, 1):
            masses[tuple(sorted(outputs)), victim] += rows[victim, outputs[0]] * rest
    histograms = {histogram for histogram, _ in masses}
    return max(
        sum(max(0.0, masses[h, x] - math.exp(eps) * masses[h, 1 - x]) for h in histograms)
        for x in (0, 1)
    )


# Answers.


def test_epsilon_inverts_a_known_divergence():
    found = answer("epsilon", *AT_4, "--delta", repr(DIVERGENCE), "--rtol", "1e-7")
    assert holds(found["upper"], 0.4)
    assert found["upper"]["upper"] <= 0.4 * (1 + 1.2e-7)
    assert found["lower"]["lower"] < found["upper"]["lower"]
    assert found["precise"] is True


def test_the_clone_is_binary_randomized_response_for_one_user():
    found = answer("delta", *KRR10, "--eps0", "2", "--n", "1", "--eps", "0.5")
    clone = (math.exp(2.0) - math.exp(0.5)) / (math.exp(2.0) + 1.0)
    blanket = (math.exp(2.0) - math.exp(0.5)) / (math.exp(2.0) + 9.0)
    assert holds(found["stronger_clone"], clone, 1e-12)
    assert holds(found["upper"], blanket, 1e-12)
    assert holds(found["lower"], blanket, 1e-12)


def test_eps0_inverts_a_known_divergence():
    target = ("--n", "1e4", "--eps", "0.4", "--delta", repr(DIVERGENCE))
    found = answer("eps0", *KRR10, *target)
    assert holds(found["upper"], 4.0)
    assert found["stronger_clone"]["lower"] < found["upper"]["lower"] < found["lower"]["upper"]
    confirmed = answer(
        "epsilon", *KRR10, "--eps0", repr(found["upper"]["lower"]), *target[:2], *target[4:]
    )
    assert confirmed["upper"]["upper"] <= 0.4


def test_no_epsilon_is_above_eps0():
    """What is published as it is sent is (ε₀, 0)-DP; the engine's own width would exceed it."""
    options = ("--eps0", "16", "--n", "1e5", "--delta", "1e-6")
    found = answer("epsilon", *KRR10, *options)
    for key in ("upper", "lower", "stronger_clone"):
        assert found[key]["lower"] <= found[key]["upper"] <= 16.0
    assert found["upper"]["upper"] == 16.0
    assert found["notes"][-1].startswith("A bound that comes out above eps0 is replaced by eps0")
    text = succeed("epsilon", *KRR10, *options).stdout
    assert value(text, "upper bound") == value(text, "stronger clone") == 16
    small = answer("epsilon", *AT_4, "--delta", "1e-6")
    assert small["notes"] == []


def test_times_eps0_is_rounded_up():
    cap = answers.within_eps0({"": found(1.0, 9.0)}, 0.1, 3)[0][""].enclosure.upper
    assert Fraction(cap) >= 3 * Fraction(0.1)
    assert cap <= 0.1 * 3 * (1 + 1e-15)


def test_a_joint_has_the_eps0_of_all_its_reports_together():
    options = ("--eps0", "16", "--k-joint", "2", "--n", "1e3", "--delta", "1e-12")
    found = answer("epsilon", *KRR10, *options)
    assert found["stronger_clone"]["upper"] == 16.0
    assert found["upper"]["upper"] <= 16.0


def test_no_curve_is_above_eps0():
    options = ("--delta", "1e-6", "--n", "1e5", "--x", "eps0", "--start", "1", "--stop", "16")
    bounds = ("--bound", "clone", "--bound", "erlingsson", "--bound", "lower")
    result = succeed("curve", *KRR10, *options, "--points", "3", *bounds)
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert all(float(row["epsilon_upper"]) <= float(row["eps0"]) for row in rows)
    assert result.stderr.count("(eps0, 0)-DP before they are shuffled") == 1


@pytest.mark.parametrize(("eps", "rounds"), [("4", 1), ("5", 1), ("12", 3)])
def test_delta_is_zero_from_eps0_on(eps, rounds):
    found = answer("delta", *AT_4, "--eps", eps, "--rounds", str(rounds))
    for key in ("upper", "lower", "stronger_clone"):
        assert found[key]["lower"] == found[key]["upper"] == 0.0


def test_users_invert_a_known_divergence():
    options = (*KRR10, "--eps0", "4", "--eps", "0.4", "--delta")
    assert answer("users", *options, repr(DIVERGENCE * (1 + 1e-8)))["upper"] == {
        "lower": 10_000,
        "upper": 10_000,
    }
    assert answer("users", *options, repr(DIVERGENCE * (1 - 1e-8)))["upper"] == {
        "lower": 10_001,
        "upper": 10_001,
    }


@pytest.mark.parametrize(("eps", "others"), [("0.1", "third"), ("0.3", "x1")])
def test_the_lower_bound_is_the_best_of_its_kind(eps, others):
    rows = KRR(k=4, eps0=0.5).matrix()
    truth = {name: shuffled(rows, x2, float(eps), 2) for name, x2 in (("third", 2), ("x1", 1))}
    assert others == max(truth, key=truth.get)
    arguments = ("delta", "--mechanism", "krr", "--k", "4", "--eps0", "0.5", "--eps", eps)
    found = answer(*arguments, "--n", "2")["lower"]
    assert holds(found, truth[others], 1e-12)
    assert found["others"] == others
    (row,) = (
        line
        for line in succeed(*arguments, "--n", "2").stdout.splitlines()
        if line.startswith("  lower bound")
    )
    assert row.split()[-1] == others


def test_a_target_is_missed_by_the_best_of_all_others():
    """The eps0 and the users that one choice of x2 rules out, the other may not."""
    target = ("--mechanism", "krr", "--k", "4", "--eps", "0.3")
    rows = KRR(k=4, eps0=0.5).matrix()
    least, most = sorted(shuffled(rows, x2, 0.3, 2) for x2 in (1, 2))
    delta = repr(float(least + most) / 2)
    found = answer("eps0", *target, "--n", "2", "--delta", delta)["lower"]
    assert found["upper"] < 0.5
    assert found["others"] == "x1"
    found = answer("users", *target, "--eps0", "0.5", "--delta", delta)["lower"]
    assert found["lower"] >= 3
    assert found["others"] == "x1"


def found(lower: float, upper: float, shortfall: str = "", others: str = "") -> Answer:
    return Answer(Enclosure(lower, upper), others=others, shortfall=shortfall)


def test_each_report_of_a_joint_is_sampled_on_its_own():
    rows = np.hstack([0.25 * KRR(k=4, eps0=1.0).matrix(), np.full((4, 1), 0.75)])
    both = np.array([np.outer(row, row).ravel() for row in rows])
    options = ("--mechanism", "krr", "--k", "4", "--eps0", "2", "--rate", "0.25", "--k-joint", "2")
    found = answer("delta", *options, "--eps", "0.2", "--n", "1")
    assert holds(found["upper"], shuffled(both, 2, 0.2, 1), 1e-12)
    assert "2 reports together, each at eps0/2" in found["notes"][0]
    assert [note.split(" with ")[0] for note in found["notes"][1:]] == [
        "Each of these reports is sent"
    ]
    text = succeed("delta", *options, "--eps", "0.2", "--n", "1").stdout
    assert text.startswith("2 x KRR(k=4, eps0=1.0) at rate 0.25,")


def test_the_eps0_of_a_continuous_joint_is_found_in_few_cells():
    options = ("--mechanism", "laplace", "--k-joint", "2", "--n", "1e4", "--delta", "1e-6")
    found = answer("eps0", *options, "--eps", "0.3")["upper"]
    assert found["upper"] - found["lower"] <= 1e-3 * found["upper"]
    at = {end: ("--eps0", repr(value)) for end, value in found.items()}
    # In as many cells as there are by default.
    assert answer("epsilon", *options, *at["lower"])["upper"]["upper"] <= 0.3 * 1.001
    assert answer("epsilon", *options, *at["upper"])["upper"]["lower"] >= 0.3 * 0.999


def test_colluding_users_hide_nobody():
    options = ("epsilon", *KRR10, "--eps0", "4", "--delta", "1e-6")
    found = answer(*options, "--n", "10000", "--colluding", "3000")
    assert (found["n"], found["colluding"], found["n_honest"]) == (10_000, 3000, 7000)
    assert found["upper"] == answer(*options, "--n", "7000")["upper"]
    target = ("users", *KRR10, "--eps0", "4", "--eps", "0.3", "--delta", "1e-6")
    needed = answer(*target)["upper"]
    more = {end: value + 500 for end, value in needed.items()}
    assert answer(*target, "--colluding", "500")["upper"] == more
    text = succeed(*options, "--n", "10000", "--colluding", "1").stdout.replace("\n", " ")
    assert "n = 10000 users (1 of them colluding)" in text
    assert "Users who collude, 1 here, work with the observer, drop out" in text


@pytest.mark.parametrize("colluding", ["10000", "20000", "-1"])
def test_somebody_must_be_left_to_hide(colluding):
    result = run("epsilon", *AT_4, "--delta", "1e-6", "--colluding", colluding)
    assert result.exit_code == 2
    said = f"Error: colluding must be an integer from 0 to 9999, got {colluding}\n"
    assert result.stderr == said


def test_json_has_these_keys():
    found = answer("epsilon", *AT_4, "--delta", "1e-6")
    former = ("tight_bound", "upper_bound", "lower_bound")
    assert list(found) == [
        *("version", "mechanism", "parameters", "k_joint", "rate", "eps0", "n", "colluding"),
        *("n_honest", "delta", "rounds", "tight", "upper", "lower", "stronger_clone"),
        *(*former, "precise", "notes"),
    ]
    assert all(found[name] == found[name.removesuffix("_bound")] for name in former)
    assert found["version"] == __version__
    assert found["parameters"] == {"k": 10}
    assert list(found["upper"]) == list(found["stronger_clone"]) == ["lower", "upper"]
    assert list(found["lower"]) == ["lower", "upper", "others"]
    assert list(found["tight"]) == ["lower", "upper", "others"]
    assert (found["mechanism"], found["eps0"], found["n"]) == ("krr", 4.0, 10_000)


def test_rounds_are_composed():
    """Binary randomized response of one user is its own composition in closed form."""
    eps0, rounds, eps = 0.5, 10, 0.3
    options = ("--mechanism", "krr", "--k", "2", "--eps0", repr(eps0), "--n", "1")
    found = answer("delta", *options, "--eps", repr(eps), "--rounds", str(rounds))
    truth = composed_binary(eps0, rounds, eps)
    assert holds(found["upper"], truth)
    assert holds(found["lower"], truth)
    assert found["rounds"] == rounds
    (note,) = found["notes"]
    assert "shuffled separately" in note
    text = succeed("delta", *options, "--eps", repr(eps), "--rounds", str(rounds)).stdout
    assert text.startswith("KRR(k=2, eps0=0.5), n = 1 user, 10 rounds, epsilon = 0.3")


def test_rounds_have_the_tight_bound_of_the_library(tmp_path):
    report = tmp_path / "report.md"
    options = ("--mechanism", "blh", "--eps0", "4", "--n", "1e3", "--rounds", "2")
    found = answer("epsilon", *options, "--delta", "1e-6", "--report", str(report))
    together = sb.epsilon(sb.BLH(4.0), 1000, 1e-6, rounds=2)
    assert found["tight"] == {"lower": together.lower, "upper": together.upper}
    assert found["lower"]["lower"] <= found["tight"]["upper"]
    assert found["tight"]["upper"] < 0.8 * found["upper"]["upper"]
    [row] = re.findall(r"^\| best proven bound \| (\S+)", report.read_text("utf-8"), re.M)
    assert Decimal(row) >= Decimal(together.upper)
    assert "Best proven bound: you can claim it." in report.read_text("utf-8")


@pytest.mark.parametrize(
    ("command", "at", "rtol"), [("epsilon", "1e-6", "1e-4"), ("delta", "0.3", "1e-2")]
)
def test_the_least_is_the_least_to_whatever_width(command, at, rtol):
    given = "--delta" if command == "epsilon" else "--eps"
    options = ("--mechanism", "krr", "--k", "3", "--eps0", "2", "--n", "1e4", "--rounds", "9")
    # A width that theory alone may keep the ends of the tight bound from.
    found = json.loads(run(command, *options, given, at, "--rtol", rtol, "--json").stdout)
    least, blanket = (found[key]["upper"] for key in ("tight", "upper"))
    assert blanket * (1 - 10 * float(rtol)) <= least <= blanket


def composed_binary(eps0: float, rounds: int, eps: float) -> float:
    """δ(ε) of that many reports of binary randomized response, in closed form."""
    p, q = (math.exp(x) / (1.0 + math.exp(x)) for x in (eps0, -eps0))
    return sum(
        math.comb(rounds, k)
        * max(0.0, p**k * q ** (rounds - k) - math.exp(eps) * q**k * p ** (rounds - k))
        for k in range(rounds + 1)
    )


def test_rounds_are_as_many_as_a_closed_form_allows():
    found = answer(
        "rounds", *BINARY, "--eps0", "0.5", "--n", "1", "--eps", "1.5", "--delta", "1e-2"
    )
    most = max(t for t in range(1, 50) if composed_binary(0.5, t, 1.5) <= 1e-2)
    assert found["upper"] == found["stronger_clone"] == {"lower": most, "upper": most}
    assert found["lower"]["upper"] == most
    text = succeed("rounds", *AT_4, "--eps", "2", "--delta", "1e-6", "--explain").stdout
    assert text.startswith("KRR(k=10, eps0=4.0), n = 10000 users, target epsilon = 2.0")
    assert (
        1
        <= value(text, "stronger clone")
        < value(text, "upper bound")
        <= value(text, "lower bound")
    )
    assert "--k-joint" in text


@pytest.mark.parametrize(
    ("asked", "key", "ends", "said"),
    [
        (
            (*("rounds", *KRR10, "--eps0", "0.1"), *("--n", "1e12", "--eps", "1")),
            "upper",
            (10**6, None),
            "Lower bound: not even 1000000 rounds are ruled out.",
        ),
        (
            (*("rounds", *KRR10, "--eps0", "1"), *("--n", "10", "--eps", "0.1")),
            "upper",
            (0, 0),
            "Lower bound: not even one round meets the target",
        ),
        (
            (*("eps0", *BINARY, "--n", "1e3"), *("--eps", "300")),
            "lower",
            (300.0, None),
            "Lower bound: not even 300, the largest eps0 that is looked at, is ruled out.",
        ),
        (
            ("users", *KRR10, "--eps0", "4", "--eps", "0"),
            "upper",
            (10**15 + 1, None),
            "Upper bound: not even 10^15 users are known to be enough.",
        ),
    ],
)
def test_infinity_is_null_in_json_and_explained_to_people(asked, key, ends, said):
    found = answer(*asked, "--delta", "1e-9")[key]
    assert (found["lower"], found["upper"]) == ends
    assert said in succeed(*asked, "--delta", "1e-9").stdout


def test_eps0_of_many_rounds_inverts_a_closed_form():
    delta = repr(composed_binary(0.5, 3, 0.7))
    target = ("--n", "1", "--eps", "0.7", "--delta", delta, "--rounds", "3")
    found = answer("eps0", *BINARY, *target)
    for name in ("tight", "upper", "stronger_clone"):
        assert found[name]["lower"] <= 0.5 <= found[name]["upper"]
        assert found[name]["upper"] - found[name]["lower"] <= 5e-3
    assert found["rounds"] == 3
    assert "3 rounds" in succeed("eps0", *BINARY, *target).stdout.splitlines()[0]


BLH4 = sb.BLH(4.0)


def test_the_fewest_users_by_the_tight_bound_meet_the_target_there():
    """A third of what the blanket asks for is enough; the point itself is what was proven."""
    options = ("--mechanism", "blh", "--eps0", "4", "--eps", "0.3", "--delta", "1e-6")
    found = answer("users", *options)
    tight, blanket, lower = (found[key] for key in ("tight", "upper", "lower"))
    assert lower["lower"] == tight["lower"] <= tight["upper"] < 0.6 * blanket["upper"]
    assert sb.mechanism_delta(BLH4, 0.3, tight["upper"]).enclosure.upper <= 1e-6
    assert tight["upper"] <= 1.002 * lower["lower"]
    missed = max(
        sb.delta(pair, 0.3, lower["lower"] - 1).lower for pair in BLH4.dataset_pairs().values()
    )
    assert missed > 1e-6
    more = answer("users", *options, "--colluding", "10")["tight"]
    assert more["upper"] == tight["upper"] + 10
    text = succeed("users", *options).stdout
    assert value(text, "best proven bound") == tight["upper"]
    assert "to be enough, by the bound for all datasets." in text


def test_the_largest_eps0_by_the_tight_bound_meets_the_target_there():
    options = ("--mechanism", "blh", "--n", "1e4", "--eps", "0.3", "--delta", "1e-6")
    found = answer("eps0", *options)
    tight, blanket, lower = (found[key] for key in ("tight", "upper", "lower"))
    assert 1.1 * blanket["lower"] < tight["lower"] <= tight["upper"] == lower["upper"]
    assert sb.mechanism_delta(sb.BLH(tight["lower"]), 0.3, 10_000).enclosure.upper <= 1e-6
    assert tight["lower"] >= 0.998 * lower["lower"]
    text = succeed("eps0", *options).stdout
    assert value(text, "best proven bound") <= Decimal(tight["lower"])
    assert "by the bound for all datasets; you can deploy it." in text


def test_users_of_many_rounds_meet_their_target():
    target = ("--eps", "0.5", "--delta", "1e-6", "--rounds", "2")
    found = answer("users", *KRR10, "--eps0", "2", *target)
    assert found["tight"]["upper"] <= found["upper"]["upper"]
    enough = found["tight"]["upper"]
    confirmed = answer("delta", *KRR10, "--eps0", "2", "--n", str(enough), *target[:2], *target[4:])
    assert confirmed["upper"]["lower"] <= 1e-6
    fewer = str(found["lower"]["lower"] - 1)
    missed = answer("delta", *KRR10, "--eps0", "2", "--n", fewer, *target[:2], *target[4:])
    assert missed["lower"]["upper"] >= 1e-6


@pytest.mark.parametrize("command", ["epsilon", "delta", "eps0", "users", "risk"])
def test_linked_reports_and_rounds_point_to_each_other(command):
    text = " ".join(succeed(command, "--help").stdout.split())
    assert "(Reports on separate days are --rounds.)" in text
    assert "linked to each other, are --k-joint.)" in text


def test_printed_bounds_are_bounds_in_columns_with_units():
    """Of ε the upper end is claimed, of ε₀ the lower one; both are rounded to the safe side."""
    asked = ("epsilon", *AT_4, "--delta", "1e-6")
    text, exact = succeed(*asked).stdout, answer(*asked)
    claimed = value(text, "upper bound")
    assert Decimal(exact["upper"]["upper"]) <= claimed
    assert claimed <= Decimal(exact["upper"]["upper"]) * Decimal("1.00001")
    assert Decimal(exact["lower"]["lower"]) >= value(text, "lower bound")
    assert re.search(r"epsilon \(natural log\) +numerical error +from lower bound", text)
    rows = [line for line in text.splitlines() if line.startswith("  ")]
    assert len({re.search(r"\S {2,}\S", row.rstrip()).end() for row in rows[1:]}) == 1
    assert not any("%" in row for row in rows if row.startswith("  lower bound"))
    asked = ("eps0", *KRR10, "--n", "1e4", "--eps", "0.4", "--delta", "1e-6")
    text, exact = succeed(*asked).stdout, answer(*asked)
    assert value(text, "upper bound") <= Decimal(exact["upper"]["lower"])
    assert value(text, "lower bound") >= Decimal(exact["lower"]["upper"])


def test_laplace_says_for_which_inputs_a_bound_holds():
    options = ("--mechanism", "laplace", "--eps0", "1", "--n", "1e4", "--delta", "1e-6")
    said = "The best proven bound of laplace is for its inputs 0 and 1 only"
    assert said in " ".join(answer("epsilon", *options)["notes"])
    assert said in succeed("epsilon", *options, "--explain").stdout.replace("\n", " ")
    assert said not in " ".join(answer("epsilon", *options, "--domain", "interval")["notes"])
    mixed = ("--mechanism", "parallel", "--part", "0.5 laplace", "--part", "0.5 krr k=4")
    assert said in " ".join(answer("epsilon", *mixed, *options[2:])["notes"])


JOINT = ("--mechanism", "hadamard", "--k-joint", "8", "--eps0", "16", "--n", "1e5")


def test_a_row_says_that_no_tight_bound_is_known(monkeypatch):
    monkeypatch.setattr(sb.Joint, "crowds", lambda self: ())
    text = succeed("epsilon", *JOINT, "--delta", "1e-6").stdout
    assert value(text, "best proven bound") == value(text, "upper bound")
    assert "by the blanket, which may be far above the truth; you can claim it." in text


@pytest.mark.parametrize(
    ("number", "lower", "shown"),
    [(1.5, 1.0, "50 %"), (0.75, 1.0, "25 %"), (1.00301, 1.0, "0.31 %"), (1.0, 1.0, "0 %")],
)
def test_the_distance_from_the_lower_bound_is_rounded_up(number, lower, shown):
    assert distance(number, lower) == shown
    assert distance(math.inf, lower) == distance(number, 0.0) == ""


def test_an_explanation_is_longer_than_the_first_sentences():
    options = ("epsilon", *AT_4, "--delta", "1e-6", "--rounds", "2")
    short, long = (succeed(*options, *more).stdout for more in ((), ("--explain",)))
    assert "with fresh randomness.\n\nUse --explain" in short
    assert "a user spends eps0 in each round" in " ".join(long.split())


def test_printed_digits_follow_the_width_that_is_asked_for():
    options = ("epsilon", *AT_4, "--delta", "1e-6")
    exact = answer(*options, "--rtol", "1e-8")["upper"]["upper"]
    shown = value(succeed(*options, "--rtol", "1e-8").stdout, "upper bound")
    assert 0 <= shown - Decimal(exact) <= Decimal(exact) * Decimal("1e-9")
    assert len(str(value(succeed(*options, "--rtol", "1e-2").stdout, "upper bound"))) == 6


@pytest.mark.parametrize("suffix", [".md", ".html"])
def test_a_report_states_question_answer_theorems_and_how_to_verify(tmp_path, suffix):
    path = tmp_path / f"report{suffix}"
    options = ("epsilon", *AT_4, "--delta", "1e-6")
    succeed(*options, "--report", str(path))
    page = html.unescape(path.read_text(encoding="utf-8"))
    for part in (
        "KRR(k=10, eps0=4.0)",
        "Theorems 5-8 and 13",
        "replacement of one user",
        "--claim",
    ):
        assert part in page
    printed = succeed(*options, "--json").stdout
    assert hashlib.sha256(printed.encode()).hexdigest() in page
    assert printed.strip() in page
    (again,) = re.findall("shufflebounds (epsilon .*) --json [|] sha256sum", page)
    assert succeed(*again.split(), "--json").stdout == printed


# Rounding.


@settings(deadline=None)
@given(st.floats(min_value=0.0, allow_nan=False, allow_infinity=False))
def test_what_is_printed_is_on_the_safe_side_and_close(number):
    up, down = (Decimal(outward(number, up=up)) for up in (True, False))
    assert down <= Decimal(number) <= up
    assert up - down <= Decimal(number) * Decimal("1.0001e-5")


@settings(deadline=None)
@given(st.floats(0.0, 1e300), st.floats(0.0, 1.0))
def test_a_width_is_rounded_up(upper, ratio):
    found = Enclosure(upper * ratio, upper)
    printed = width(found).removesuffix(" (exact)")
    assert Decimal(printed) >= Decimal(found.relative_width)


# Precision.


@pytest.fixture
def vague(monkeypatch):
    def fails(*_, **given):
        points = [size for size in map(np.size, given.values()) if size > 1]
        found = Enclosure(0.25, 0.5) if not points else Enclosures([0.25] * 50, [0.5] * 50)
        raise PrecisionError("known only roughly", found)

    for name in ("epsilon", "delta"):
        monkeypatch.setattr(f"shufflebounds.accounting.single_shuffle.{name}", fails)


@pytest.mark.parametrize(
    ("command", "target"), [("epsilon", ("--delta", "0.1")), ("delta", ("--eps", "1"))]
)
@pytest.mark.usefixtures("vague")
def test_a_wide_enclosure_is_printed_and_reported(command, target):
    text = run(command, *AT_4, *target)
    assert text.exit_code == PrecisionNotReached.exit_code
    assert value(text.stdout, "upper bound") == Decimal("0.5")
    assert text.stderr.startswith("Error: ")
    assert "known only roughly" in text.stderr
    found = json.loads(run(command, *AT_4, *target, "--json").stdout)
    assert found["upper"] == {"lower": 0.25, "upper": 0.5}
    assert found["precise"] is False


@pytest.mark.usefixtures("vague")
def test_a_curve_that_is_not_precise_says_where(tmp_path):
    path = tmp_path / "curve.csv"
    result = run("curve", *KRR10, "--eps0", "4", "--delta", "1e-6", "-o", str(path))
    assert result.exit_code == PrecisionNotReached.exit_code
    assert re.fullmatch(
        r"Error: krr/.*/upper at n = 1000 is left empty: known only roughly "
        r"\(and 149 more points\)\n",
        result.stderr,
    )
    assert curves.read(path)[["epsilon_lower", "epsilon_upper"]].isna().all(axis=None)


@pytest.mark.parametrize("command", ["eps0", "users"])
def test_a_search_that_ends_wide_is_not_precise(command, monkeypatch):
    """As where the engine cannot tell D from δ over a range of the answer."""
    name = {"eps0": "largest_eps0", "users": "fewest_users"}[command]
    monkeypatch.setattr(
        f"shufflebounds.accounting.calibration.{name}", lambda *_, **__: Enclosure(100.0, 108.0)
    )
    options = {
        "eps0": (*KRR10, "--n", "1e4", "--eps", "0.4", "--delta", "1e-6"),
        "users": (*KRR10, "--eps0", "4", "--eps", "0.4", "--delta", "1e-6"),
    }[command]
    result = run(command, *options, "--json")
    assert result.exit_code == PrecisionNotReached.exit_code
    found = json.loads(result.stdout)
    assert found["precise"] is False
    assert found["upper"] == {"lower": 100.0, "upper": 108.0}
    assert "wider than the relative" in result.stderr


def test_searches_are_held_to_the_width_that_is_asked_for(monkeypatch):
    """As wide as here, the default lets pass what a narrower one does not."""
    found = Enclosure(1000, 1005)
    monkeypatch.setattr("shufflebounds.accounting.calibration.most_rounds", lambda *_, **__: found)
    options = ("rounds", *AT_4, "--eps", "2", "--delta", "1e-6", "--json")
    assert run(*options).exit_code == 0
    assert run(*options, "--rtol", "1e-3").exit_code == PrecisionNotReached.exit_code


def test_days_may_have_other_numbers_of_users():
    days = ("--rounds", "3", "--also", "5e3:2", "--colluding", "10", "--delta", "1e-6")
    options = ("--mechanism", "krr", "--k", "10", "--eps0", "2", "--n", "1e4")
    found = answer("epsilon", *options, *days)
    R = sb.KRR(10, 2.0)
    both = sb.compose([(R.blanket(), 9990, 3), (R.blanket(), 4990, 2)]).epsilon(1e-6)
    assert found["upper"] == {"lower": both.lower, "upper": both.upper}
    assert found["lower"]["lower"] <= found["tight"]["upper"] <= found["upper"]["upper"]
    assert found["also"] == [[5000, 2]]
    text = succeed("epsilon", *options, *days).stdout
    assert "3 rounds, and 2 rounds of 5000 users" in text.splitlines()[0]
    assert "The 5 rounds are shuffled separately" in text
    assert (
        "colluding must be an integer from 0 to 4"
        in run("epsilon", *options, *days, "--also", "5:1").stderr
    )


def test_a_mix_of_mechanisms_is_a_mechanism():
    parts = ("--part", "0.25 krr k=10", "--part", "0.75 blh")
    asked = ("--mechanism", "parallel", "--eps0", "4", "--n", "1e3", "--delta", "1e-6")
    found = answer("epsilon", *asked, *parts)
    mixed = sb.Parallel([(0.25, sb.KRR(10, 4.0)), (0.75, sb.BLH(4.0))])
    assert found["upper"]["upper"] == sb.epsilon(mixed.blanket(), 1000, 1e-6).upper
    assert found["parameters"]["parts"][0]["mechanism"] == {"type": "krr", "k": 10}
    title = succeed("epsilon", *asked, *parts).stdout.splitlines()[0]
    assert title.startswith("parallel(0.25 krr(k=10), 0.75 blh) at eps0 = 4.0, n = 1000 users")


def test_the_number_of_values_has_two_names():
    for mechanism, k in (("krr", 10), ("rappor", 20)):
        asked = ("--mechanism", mechanism, "--eps0", "1", "--n", "100", "--eps", "0.1")
        one, two = (answer("delta", *asked, name, str(k)) for name in ("--k", "--domain-size"))
        assert one == two


@pytest.mark.parametrize("x", ["n", "eps0", "eps", "delta", "rounds", "order"])
def test_every_axis_has_a_range_of_its_own(x):
    quantity = {"eps": "delta", "order": "renyi"}.get(x, "epsilon")
    given = {"n": "1e4", "eps0": "1", "delta": "1e-6", "eps": "0.1", "order": "2"}
    names = {"epsilon": ("n", "eps0", "delta"), "delta": ("n", "eps0", "eps")}
    wanted = names.get(quantity, ("n", "eps0", "order"))
    fixed = [part for name in wanted if name != x for part in (f"--{name}", given[name])]
    asked = ("--x", x, "--quantity", quantity, "--points", "2", "--bound", "upper")
    result = succeed("curve", *KRR10, *fixed, *asked)
    assert len(list(csv.DictReader(io.StringIO(result.stdout)))) == 2


@pytest.mark.parametrize("name", registry.mechanism_names())
def test_a_mechanism_is_explained(name):
    text = succeed("mechanisms", name).stdout
    assert f"shufflebounds epsilon --mechanism {name}" in text
    assert ("--eps0 …" in text) == (name != "matrix")
    assert "Parameters" not in text


# Curves.

CURVE = ("curve", *KRR10, "--eps0", "4", "--delta", "1e-6", "--start", "1e3", "--stop", "1e4")


def test_a_curve_is_the_table_of_the_library():
    result = succeed(*CURVE, "--points", "11", "--bound", "lower", "--bound", "blanket_bennett")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert tuple(rows[0]) == (*curves.columns("epsilon"), "checksum")
    assert [row["bound"] for row in rows] == ["lower"] * 11 + ["blanket_bennett"] * 11
    for bound in ("lower", "blanket_bennett"):
        specification = Specification(
            BOUNDS[bound],
            Reports(Mechanism("krr", (("k", 10),))),
            Setting(eps0=4.0, delta=1e-6),
            Axis("n", Grid(1000, 10_000, 11)),
            numerics=Numerics(rtol=1e-4),
        )
        mine = [row for row in rows if row["bound"] == bound]
        theirs = curves.compute(CurveName("any", "any", "any"), specification).points
        assert [int(row["n"]) for row in mine] == [point.setting.n for point in theirs]
        for end in ("lower", "upper"):
            ends = [getattr(point.answer.enclosure, end) for point in theirs]
            assert [float(row[f"epsilon_{end}"]) for row in mine] == ends
        assert {row["digest"] for row in mine} == {specification.digest}


def test_a_curve_of_sampled_joints_is_the_table_of_their_answers():
    sampled = (*KRR10, "--k-joint", "2", "--rate", "0.5", "--eps0", "4", "--delta", "1e-6")
    grid = ("--start", "1e4", "--stop", "1e4", "--points", "1")
    result = succeed("curve", *sampled, *grid)
    rows = {row["bound"]: row for row in csv.DictReader(io.StringIO(result.stdout))}
    found = answer("epsilon", *sampled, "--n", "1e4", "--rtol", "1e-4")
    for name, row in rows.items():
        assert float(row["epsilon_upper"]) == found[name]["upper"]
    assert rows["upper"]["mechanism"] == "subsample(0.5 krr(k=10))"
    assert rows["lower"]["others"] == found["lower"]["others"]
    assert result.stderr.splitlines() == found["notes"]


def test_a_curve_on_standard_output_is_the_file(tmp_path):
    table, redirected = tmp_path / "curve.csv", tmp_path / "redirected.csv"
    succeed(*CURVE, "--points", "2", "-o", str(table))
    redirected.write_text(succeed(*CURVE, "--points", "2").stdout, encoding="utf-8")
    assert redirected.read_bytes() == table.read_bytes()
    assert len(curves.read(redirected)) == 6


def test_a_plot_is_of_what_was_asked_for(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "shufflebounds.reproduce.plotting.figures.draw", lambda *args, **_: drawn.extend(args)
    )
    path = tmp_path / "curve.png"
    succeed(*CURVE, "--points", "2", "--bound", "lower", "--rate", "0.5", "--plot", str(path))
    sheet, paths = drawn
    [view] = sheet.views
    assert sheet.title == "KRR(k=10) at rate 0.5"
    assert view.title == [r"$\varepsilon_0$ = 4, $\delta$ = $10^{-6}$"]
    assert [line.label for line, _ in view.lines] == ["lower bound"]
    assert paths == [path]


def test_every_bound_can_be_asked_for_and_drawn(tmp_path):
    assert tuple(styles.STYLES) == tuple(BOUNDS)
    # That of a protocol's authors says nothing of a mechanism; datasets of many are not enumerated.
    known = [
        name
        for name, bound in BOUNDS.items()
        if name not in ("original", "enumerated") and "epsilon" in bound.quantities
    ]
    # One of them knows nothing but randomized bits.
    bits = ("curve", *BINARY, *CURVE[5:])
    bounds = [part for bound in known for part in ("--bound", bound)]
    plot = tmp_path / "curve.pdf"
    result = succeed(*bits, "--stop", "1e3", "--points", "1", *bounds, "--plot", str(plot))
    assert len(result.stdout.splitlines()) == 1 + len(known)
    result = run(*CURVE, "--points", "2", "--bound", "original")
    assert result.exit_code == 2
    assert "SingleMessage has no analysis of its authors" in result.stderr
    assert plot.read_bytes().startswith(b"%PDF")


def test_a_claim_file_has_all_ends_and_what_it_cannot_hold_is_refused(tmp_path):
    file = tmp_path / "claim.json"
    asked = ("epsilon", "--eps0", "4", "--delta", "1e-6", "--n", "1e5", "--claim", str(file))
    shown = json.loads(succeed(*asked, "--mechanism", "blh", "--json").stdout)
    blanket, every, pair = json.loads(file.read_text(encoding="utf-8"))
    assert (blanket["bound"], blanket["eps"]) == ("blanket", shown["upper"]["upper"])
    assert (every["bound"], every["eps"]) == ("all", shown["tight"]["upper"])
    assert (pair["eps"], pair["datasets"]) == (shown["lower"]["lower"], [0, 1, 1])
    succeed(*asked, "--mechanism", "krr", "--k", "2", "--k-joint", "2")
    claim = json.loads(file.read_text(encoding="utf-8"))[0]
    assert (claim["eps0"], claim["reports"]) == (2.0, 2)
    result = run(*asked, "--mechanism", "collision", "--items", "2", "--hash-values", "9")
    assert result.exit_code == 2
    assert "--claim needs reports that verify/verify.py defines" in result.stderr


# Mechanisms.


def test_mechanisms_are_listed_with_their_parameters():
    listed = {entry["name"]: entry for entry in json.loads(succeed("mechanisms", "--json").stdout)}
    assert list(listed) == registry.mechanism_names()
    told = "number of values, at least 2"
    assert listed["krr"]["parameters"] == {
        "k": {"type": "int", "required": True, "default": None, "help": told}
    }
    assert listed["rappor"]["parameters"]["domain_size"]["required"] is False
    text = succeed("mechanisms").stdout
    for name, entry in listed.items():
        assert re.search(rf"^{name} +{re.escape(entry['description'])}$", text, re.MULTILINE)
    assert re.search(rf"^ +--k INT, required: {told}$", text, re.MULTILINE)
    assert f"krr: {told}." in succeed("epsilon", "--help").output


# That of a matrix is tested in test_matrix_cli.py.
@pytest.mark.parametrize("name", sorted({*registry.mechanism_names()} - {"matrix"}))
def test_every_parameter_of_a_mechanism_is_an_option(name):
    values = {"domain": "rounded", "others": 1.0, "cap": 0.25, "subset_size": 2, "items": 2}
    values |= {"x0": 0.25, "x1": 0.75, "noise": 0.25}
    own = {parameter: values.get(parameter, 5) for parameter in deployment.parameters(name)}
    given = [part for name in own for part in (flag(name), str(own[name]))]
    options = ("--mechanism", name, *given, "--eps0", "1", "--n", "100", "--delta", "1e-3")
    assert answer("epsilon", *options)["parameters"] == own


def test_a_parameter_may_be_a_name_or_a_fraction():
    options = ("epsilon", "--mechanism", "laplace", "--domain", "interval", "--others", "0.5")
    found = answer(*options, "--eps0", "1", "--n", "1e4", "--delta", "1e-6")
    laplace = sb.Laplace(eps0=1.0, domain="interval", others=0.5)
    half = sb.epsilon(laplace.dataset_pair(), n=10_000, delta=1e-6)
    assert found["lower"] == {"lower": half.lower, "upper": half.upper, "others": "1/2"}
    free = answer(*options[:-2], "--eps0", "1", "--n", "1e4", "--delta", "1e-6")
    assert free["lower"]["lower"] > half.lower


@dataclass(frozen=True)
class Coin(KRR):
    """A mechanism that the command has never heard of."""

    bias: float | None = None


def test_a_new_mechanism_needs_no_edit_of_the_command(monkeypatch):
    monkeypatch.setattr(registry, "mechanism_names", lambda: ["coin"])
    monkeypatch.setattr("shufflebounds.randomizers.description.mechanism", lambda _: Coin)
    monkeypatch.setattr(registry, "mechanism", lambda _: Coin)
    command = question("eps0")(lambda asked: click.echo(asked.protocol.randomizer))
    options = ["--mechanism", "coin", "--k", "2", "--bias", "0.25", "--eps0", "1"]
    result = CliRunner().invoke(command, options)
    assert result.stdout == "Coin(k=2, eps0=1.0, bias=0.25)\n"


def test_bounds_are_listed_with_what_they_are():
    listed = {entry["name"]: entry for entry in json.loads(succeed("bounds", "--json").stdout)}
    assert list(listed) == list(BOUNDS)
    assert listed["lower"]["kind"] == "lower"
    assert listed["stronger_clone"]["needs"] == "eps0 alone"
    assert listed["erlingsson"]["quantities"] == ["epsilon"]
    text = succeed("bounds").stdout
    for name, entry in listed.items():
        assert re.search(rf"^{name} .*\({entry['kind']}\)$", text, re.MULTILINE)
        assert entry["source"] in text


def test_a_plot_without_its_libraries_is_refused_before_any_work(tmp_path, monkeypatch):
    missing = {"matplotlib", "pandas"}
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name in missing else "there"
    )
    monkeypatch.setattr(curves, "compute", lambda *_: pytest.fail("worked"))
    result = run(*CURVE, "--plot", str(tmp_path / "curve.png"))
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: --plot needs matplotlib, pandas, which are not installed: "
        "pip install matplotlib pandas\n"
    )


# Mistakes.

GOOD = {"--mechanism": "krr", "--k": "10", "--eps0": "4", "--n": "100", "--delta": "1e-6"}


def options(**changes: str | None) -> list[str]:
    """Good options of `epsilon` with some changed, or left out (None)."""
    changed = GOOD | {f"--{name.replace('_', '-')}": value for name, value in changes.items()}
    return [part for pair in changed.items() if pair[1] is not None for part in pair]


@pytest.mark.parametrize("text", ["100000", "100_000", "1e5", "1E5", "1.0e+5", "100000.0"])
def test_ways_to_write_a_number_of_users(text):
    assert answer("epsilon", *options(n=text))["n"] == 100_000


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_read_as_python_prints_them_or_in_full(number):
    for text in (repr(number), str(Decimal(number))):
        assert REAL.convert(text, None, None) == number
    assert repr(REAL.convert("-0.0", None, None)) == "0.0"


@given(st.decimals(allow_nan=False, allow_infinity=False, places=14, min_value=-9, max_value=9))
def test_fifteen_digits_are_never_too_many(number):
    assert REAL.convert(str(number.normalize()), None, None) == float(number)


@pytest.mark.parametrize(
    ("name", "found"),
    [("KRR", "krr"), ("Krr", "krr"), ("Hadamard-Blocks", "hadamard_blocks"), ("RAPPOR", "rappor")],
)
def test_ways_to_write_a_mechanism(name, found):
    blocks = ("--blocks", "3") if found == "hadamard_blocks" else ()
    k = "10" if found == "krr" else None
    asked = answer("epsilon", *options(mechanism=name, k=k), *blocks)
    assert asked["mechanism"] == found


@pytest.mark.parametrize(
    ("words", "begun", "found"),
    [
        (["epsilon", "--mechanism"], "KR", ["krr"]),
        (["epsilon", "--mechanism"], "Hadamard-B", ["hadamard_blocks"]),
        (["epsilon"], "--mech", ["--mechanism"]),
        (["curve", "--bound"], "low", ["lower"]),
    ],
)
def test_the_shell_completes_names_however_they_are_written(words, begun, found):
    complete = ShellComplete(cli.main, {}, "shufflebounds", "_SHUFFLEBOUNDS_COMPLETE")
    items = complete.get_completions(words, begun)
    assert [item.value for item in items] == found


# Commands with some of the good options changed or left out, and what is said of it.
MISTAKES = """\
epsilom: did you mean 'epsilon'
epsilon --size 3: no such option '--size'
epsilon krr: unexpected extra argument (krr); every option has a name, such as --mechanism
epsilon no-mechanism: missing option '--mechanism'
epsilon no-eps0: missing option '--eps0'
epsilon --mechanism rapor: did you mean rappor
epsilon --mechanism RAPOR: did you mean rappor
epsilon --mechanism x: is not one of blh, collision
epsilon no-k: Missing option '--k' of krr.
epsilon --domain-size 5: --k and --domain-size mean the same: give one of them
epsilon --mechanism laplace:
    --k is not a parameter of laplace, which has only --cells, --domain, --others, --steps
epsilon --also 5: '5' is not N:T
epsilon --also 5:0: rounds must be an integer from 1 to 1000000
epsilon --part 1: --part is only valid for the mechanism parallel
epsilon no-k --mechanism parallel: Missing option '--part' of parallel
epsilon no-k --mechanism parallel --part x: --part must be a weight, a mechanism
epsilon no-k --mechanism parallel --part .5: --part must be a weight, a mechanism
epsilon --round 3: did you mean --rounds?
epsilon no-eps0 --epsilon0 4: No such option '--epsilon0'; did you mean --eps0?
epsilon no-n --users 9: did you mean --n?
epsilon --days 9: did you mean --rounds?
epsilon --mechanism olh: did you mean local_hash?
delta no-delta --epsilon 0.4: No such option '--epsilon'; did you mean --eps?
delta: --delta is what delta computes; it needs --eps
epsilon no-delta --epsilon 0.4: --epsilon is what epsilon computes; it needs --delta
users --eps 0.4: --n is what users computes; it needs --eps and --delta
eps0 --eps 0.4: --eps0 is what eps0 computes; it needs --eps and --delta
epsilon --k 1: k must be an integer from 2 to 9007199254740992, got 1
epsilon --k 2.5: '2.5' is not a whole number
epsilon no-k --mechanism laplace --domain cube:
    domain must be one of binary, interval, rounded, got 'cube'
epsilon no-k --mechanism laplace --others half: 'half' is not a number such as 0.5
epsilon no-k --mechanism laplace --others 0.5: others must be 1 on the binary domain, got 0.5
epsilon no-k --mechanism laplace --others nan: others must be a finite number, got nan
epsilon --rate 1.5: 0 <= rate <= 1, got 1.5
curve no-n --rate -1: 0 <= rate <= 1, got -1.0
epsilon --n 1000.5: '1000.5' is not a whole number
epsilon --n many: 'many' is not a whole number
epsilon --n inf: 'inf' is not a whole number
epsilon --n 0: n must be an integer from 1 to 1e15, got 0
epsilon --n 1e16: n must be an integer from 1 to 1e15
epsilon --n 1e999999999: too large
epsilon --eps0 four: 'four' is not a number such as 0.5
epsilon --eps0 301: 0 < eps0 <= 300, got 301.0
epsilon --eps0 301 --k-joint 2: 0 < eps0 <= 300, got 301.0
epsilon --delta 1e-301: 1e-300 <= delta < 1, got 1e-301
epsilon --delta 1e-400: '--delta': '1e-400' is closer to 0 than any floating-point number
epsilon --delta 1e-99999999999999999999: closer to 0 than any floating-point number
delta no-delta --eps 1e400: '1e400' is larger than any floating-point number
epsilon no-k --mechanism laplace --others 1e-400: '--others': '1e-400' is closer to 0
curve no-delta --n 9 --x delta --start 1e-400 --stop 0.1: '--start': '1e-400' is closer to 0
epsilon --delta 1e-6%: '1e-6%' is not a number such as 0.5 or 1e-6 without a percent sign.
epsilon --delta 1: 1e-300 <= delta < 1, got 1.0
delta no-delta --eps -1: eps >= 0, got -1.0
eps0 no-eps0 --eps 301: 0 <= eps <= 300, got 301.0
eps0 no-eps0 --delta 1e-20 --eps 0: delta must be larger for eps = 0.0
epsilon --rounds 0: rounds must be an integer from 1 to 1000000, got 0
curve no-n --rounds 3 --bound erlingsson: rounds must be left out for the bound erlingsson
curve --x rounds --start 0.5 --stop 3: start must be an integer from 1 to 1000000, got 0.5
rounds --eps 1 --rounds 3: no such option '--rounds'
epsilon --k-joint 0: k_joint must be an integer from 1 to 100, got 0
epsilon no-k --mechanism laplace --cells 5000 --k-joint 4: a joint of 4 reports
curve no-n --k 1 --bound clone: k must be
epsilon --rtol 1e-12: rtol
curve no-n --start 10 --stop 9: stop must be
curve no-n --stop 1e16: stop must be an integer from 1 to 1e15
curve no-n --stop 1001: points must be at most 2
curve no-n --bound uper: 'uper' is not known; did you mean upper?
curve no-n --output /nowhere/x.csv: '/nowhere'
curve no-n --output /: is a directory
curve no-eps0 no-n --x eps0 --start 1 --stop 2:
    Missing option '--n' of a curve of epsilon along eps0.
curve no-n --x eps --start 1 --stop 2:
    x must be one of delta, eps0, n, rounds for the quantity epsilon, got eps
curve no-n no-delta --eps 1 --quantity delta --bound erlingsson:
    quantity must be one of epsilon for the bound erlingsson, got 'delta'
curve: --n must be left out: the curve runs along n, from --start to --stop
curve no-n --eps 1: --eps must be left out: a curve of epsilon does not depend on it
curve no-n --order 8: --order must be left out: a curve of epsilon does not depend on it
curve no-n no-delta --quantity renyi: Missing option '--order' of a curve of renyi along n.
check --n 1 --eps 3.99999999999999999999:
    '3.99999999999999999999' has more digits than a floating-point number keeps; the nearest one is
epsilon --eps0 4.00000000000000000001: '--eps0': '4.00000000000000000001' has more digits than
curve no-delta --n 9 --x delta --start 0.01000000000000000001:
    '--start': '0.01000000000000000001' has more digits than
curve no-n --output x.pdf --plot x.pdf: --output and --plot must be two files, got 'x.pdf' twice
curve no-n --plot x.gif: must end in .pdf or .png or .svg
check --eps -1: eps must be a finite number with eps >= 0, got -1.0
check: Missing option '--eps'
risk no-delta --false-positives 1.5: 0 <= false_positives <= 1, got 1.5
renyi no-delta --order 1: order must be a finite number with 1 < order <= 1000000, got 1.0
renyi no-delta: Missing option '--order'
renyi no-delta no-eps0 --order 2: missing option '--eps0'
renyi no-delta --order 2 --rtol 1: rtol must be
"""


@pytest.mark.parametrize("mistake", re.split(r"\n(?! )", MISTAKES.strip()))
def test_a_mistake_ends_in_one_sentence(mistake):
    asked, message = re.split(r":\s+", mistake, maxsplit=1)
    command, *changes = asked.split()
    left_out = {change.removeprefix("no") for change in changes if change.startswith("no-")}
    changes = [change for change in changes if not change.startswith("no-")]
    kept = [
        part for name, value in GOOD.items() if name[1:] not in left_out for part in (name, value)
    ]
    result = run(command, *kept, *changes)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert message.lower() in result.stderr.lower()


def test_a_failed_write_is_a_mistake(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(curves, "write_all", full)
    result = run(*CURVE, "--points", "2", "-o", str(tmp_path / "curve.csv"))
    assert result.exit_code == 2
    assert re.fullmatch(r"Error: cannot write '.*': No space left on device\n", result.stderr)


def test_the_version_and_the_help():
    assert succeed("--version").stdout.strip() == f"shufflebounds, version {__version__}"
    assert succeed("-h").stdout == succeed("--help").stdout
    for command in cli.main.commands:
        assert "Usage:" in succeed(command, "-h").stdout


def test_the_list_of_commands_cuts_no_summary():
    text = " ".join(succeed("-h").stdout.split())
    for name, command in cli.main.commands.items():
        summary = " ".join(command.help.split("\n\n")[0].split())
        assert f"{name} {summary}" in text


# As a program.


def program(*args: str, **settings) -> subprocess.CompletedProcess:
    """The console script, made from its entry in pyproject.toml as an installer would."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, name = project["scripts"]["shufflebounds"].split(":")
    script = f"import sys; from {module} import {name}; sys.exit({name}())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([sys.executable, "-c", script, *args], env=environment, **settings)


def test_the_installed_command_runs():
    done = program("epsilon", *options(), capture_output=True, text=True, check=True)
    assert done.stdout == succeed("epsilon", *options()).stdout
    assert done.stderr == ""


def test_a_single_answer_loads_neither_pandas_nor_matplotlib():
    risk = options(delta=None, n="10")
    script = (
        "import sys; from shufflebounds.cli import main\n"
        f"main(['epsilon', *{options()}], standalone_mode=False)\n"
        "assert not {'pandas', 'matplotlib', 'scipy'} & set(sys.modules)\n"
        f"main(['risk', *{risk}], standalone_mode=False)\n"
        "assert not {'pandas', 'matplotlib'} & set(sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", script]
    subprocess.run(command, env=environment, check=True, capture_output=True)


def test_progress_shows_on_a_terminal_only(tmp_path):
    args = (*CURVE, "--points", "2", "-o", str(tmp_path / "curve.csv"))
    assert program(*args, capture_output=True, check=True).stderr == b""
    ours, theirs = pty.openpty()
    try:
        program(*args, stdout=subprocess.PIPE, stderr=theirs, check=True)
        assert b"computing" in os.read(ours, 4096)
    finally:
        os.close(ours)
        os.close(theirs)
