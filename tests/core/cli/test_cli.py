"""The console command: its numbers, how they are rounded, and one sentence for every mistake."""

import csv
import dataclasses
import html
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from commands import answer, run, succeed
from hypothesis import given, settings
from hypothesis import strategies as st
from printed import agrees
from repository import ROOT

import shufflebounds as sb
from shufflebounds import Enclosure, __version__, cli
from shufflebounds.bounds.base import Answer, Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.bounds.renyi_closed_forms import theorem_3_1
from shufflebounds.cli import answers
from shufflebounds.cli.answers import distance, width
from shufflebounds.cli.parameters import flag, parameters, protocols
from shufflebounds.core.enclosure import outward
from shufflebounds.core.number import Real
from shufflebounds.core.setting import Axis, Grid, Setting
from shufflebounds.curves import curve as curves
from shufflebounds.curves.specification import Specification
from shufflebounds.curves.storage import CurveName
from shufflebounds.profiles.axis_search import CountAxis, SearchAxis
from shufflebounds.profiles.direction import Direction
from shufflebounds.profiles.profile import Ends
from shufflebounds.protocols.any_mechanism import AnyMechanism
from shufflebounds.protocols.registry import ReportDescription
from shufflebounds.randomizers import registry
from shufflebounds.randomizers.description import Mechanism
from shufflebounds.subjects.base import PairName

KRR10 = ("--mechanism", "krr", "--k", "10")
BINARY = ("--mechanism", "krr", "--k", "2")
AT_4 = (*KRR10, "--eps0", "4", "--n", "10000")


def value(text: str, label: str) -> Decimal:
    """The number printed in the row of a label."""
    (row,) = (line for line in text.splitlines() if line.startswith(f"  {label}"))
    return Decimal(row.strip().removeprefix(label).split()[0])


# Answers.

ANSWERED = {
    "krr": (KRR10, lambda eps0: sb.KRR(10, eps0)),
    "blh": (("--mechanism", "blh"), sb.BLH),
    "interval": (
        ("--mechanism", "laplace", "--domain", "interval", "--others", "0.5"),
        lambda eps0: sb.Laplace(eps0, domain="interval", others=0.5),
    ),
    "joint": (
        ("--mechanism", "krr", "--k", "4", "--k-joint", "2", "--rate", "0.25"),
        lambda eps0: sb.Joint([sb.Subsampled(sb.KRR(4, eps0 / 2), 0.25)] * 2),
    ),
    "attributes": (
        ("--mechanism", "joint", "--part", "0.25 krr k=10", "--part", "0.75 blh"),
        lambda eps0: sb.Joint([sb.KRR(10, 0.25 * eps0), sb.BLH(0.75 * eps0)]),
    ),
    "parallel": (
        ("--mechanism", "parallel", "--part", "0.25 krr k=10", "--part", "0.75 blh"),
        lambda eps0: sb.Parallel([(0.25, sb.KRR(10, eps0)), (0.75, sb.BLH(eps0))]),
    ),
}


def assert_answers(found: dict, ask: Callable, randomizer: sb.Randomizer, bounds_users: bool):
    """Of the blanket, of all datasets, and the best of those whose others hold one value."""
    blanket, every = ask(randomizer.blanket()), ask(randomizer)
    pairs = {name: ask(pair) for name, pair in randomizer.dataset_pairs().items()}
    lower = max(pairs, key=lambda name: pairs[name].lower)
    assert found["blanket"] == {"lower": blanket.lower, "upper": blanket.upper}
    assert found["best"]["upper"] == min(every.upper, blanket.upper)
    if not bounds_users:
        clone = ask(sb.stronger_clone(randomizer.eps0))
        assert found["stronger_clone"] == {"lower": clone.lower, "upper": clone.upper}
    assert found["lower"]["lower"] == pairs[lower].lower
    assert found["lower"]["others"] == lower


@pytest.mark.parametrize("name", ANSWERED)
def test_answers_are_those_of_the_library(name):
    options, make = ANSWERED[name]
    n, delta, sent = 10_000, 1e-6, ("--eps0", "2", "--n", "10000")
    found = answer("epsilon", *options, *sent, "--delta", repr(delta))
    assert_answers(found, lambda of: sb.epsilon(of, n, delta), make(2.0), False)
    found = answer("delta", *options, *sent, "--eps", "0.03")
    assert_answers(found, lambda of: sb.delta(of, 0.03, n), make(2.0), False)


@pytest.mark.parametrize("name", ["krr", "blh"])
def test_targets_are_met_as_in_the_library(name):
    options, make = ANSWERED[name]
    target, n, delta = ("--eps", "0.5", "--delta", "1e-6"), 10_000, 1e-6
    found = answer("users", *options, "--eps0", "2", *target)
    assert_answers(found, lambda of: sb.fewest_users(of, 0.5, delta), make(2.0), True)
    found = answer("rounds", *options, "--eps0", "2", "--n", "10000", *target)["blanket"]
    most = sb.most_rounds(make(2.0).blanket(), 0.5, delta, n)
    assert found == {"lower": most.lower, "upper": most.upper}
    found = answer("eps0", *options, "--n", "10000", *target)
    for key, end in (("best", "lower"), ("lower", "upper")):
        eps0 = found[key][end]
        least = max(sb.delta(pair, 0.5, n).lower for pair in make(eps0).dataset_pairs().values())
        upper = sb.delta(make(eps0), 0.5, n, rtol=1e-3).upper
        assert upper <= delta * (1 + 1e-9) if end == "lower" else least > delta


def test_rounds_are_composed_as_in_the_library():
    options = ("--eps0", "2", "--n", "1e4", "--rounds", "3")
    found = answer("epsilon", *KRR10, *options, "--delta", "1e-6")
    ask = partial(sb.epsilon, n=10_000, delta=1e-6, rounds=3)
    assert_answers(found, ask, sb.KRR(10, 2.0), False)
    assert found["rounds"] == 3
    assert "shuffled separately" in found["notes"][0]
    text = succeed("epsilon", *KRR10, *options, "--delta", "1e-6").stdout
    assert text.startswith(
        "KRR(k=10, eps0=2.0), n = 10000 users, 3 rounds, one user replaced, delta = 1e-06"
    )


def test_no_epsilon_is_above_eps0():
    """What is published as it is sent is (ε₀, 0)-DP; the engine's own width would exceed it."""
    options = ("--eps0", "16", "--n", "1e5", "--delta", "1e-6")
    found = answer("epsilon", *KRR10, *options)
    for key in ("blanket", "lower", "stronger_clone"):
        assert found[key]["lower"] <= found[key]["upper"] <= 16.0
    assert found["blanket"]["upper"] == 16.0
    assert found["notes"][-1].startswith("A bound that comes out above eps0 is replaced by eps0")
    text = succeed("epsilon", *KRR10, *options).stdout
    assert value(text, "blanket") == value(text, "stronger clone") == 16
    small = answer("epsilon", *AT_4, "--delta", "1e-6")
    assert small["notes"] == []


def test_times_eps0_is_rounded_up():
    limit = AnyMechanism(0.1).pure_eps(3)
    cap = answers.within_eps0({"": found(1.0, 9.0)}, limit, 3)[0][""].enclosure.upper
    assert Fraction(cap) >= 3 * Fraction(0.1)
    assert cap <= 0.1 * 3 * (1 + 1e-15)


def test_no_curve_is_above_eps0():
    options = ("--delta", "1e-6", "--n", "1e5", "--x", "eps0", "--start", "1", "--stop", "16")
    bounds = ("--bound", "clone", "--bound", "erlingsson", "--bound", "lower")
    result = succeed("curve", *KRR10, *options, "--points", "3", *bounds)
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert all(float(row["epsilon_upper"]) <= float(row["eps0"]) for row in rows)
    said = " ".join(result.stderr.split())
    assert said.count("what a user sends is (eps0, 0)-DP by itself") == 1


@pytest.mark.parametrize(("eps", "rounds"), [("4", 1), ("5", 1), ("12", 3)])
def test_delta_is_zero_from_eps0_on(eps, rounds):
    found = answer("delta", *AT_4, "--eps", eps, "--rounds", str(rounds))
    for key in ("blanket", "lower", "stronger_clone"):
        assert found[key]["lower"] == found[key]["upper"] == 0.0


def found(lower: float, upper: float, shortfall: str = "", others: str = "") -> Answer:
    return Answer(Enclosure(lower, upper), PairName(others=others), shortfall)


def test_colluding_users_provide_no_cover():
    options = ("epsilon", *KRR10, "--eps0", "4", "--delta", "1e-6")
    found = answer(*options, "--n", "10000", "--colluding", "3000")
    assert (found["n"], found["colluding"], found["n_honest"]) == (10_000, 3000, 7000)
    assert found["blanket"] == answer(*options, "--n", "7000")["blanket"]
    target = ("users", *KRR10, "--eps0", "4", "--eps", "0.3", "--delta", "1e-6")
    needed = answer(*target)["blanket"]
    more = {end: value + 500 for end, value in needed.items()}
    assert answer(*target, "--colluding", "500")["blanket"] == more
    asked = (*options, "--n", "10000", "--colluding", "1", "--explain")
    text = succeed(*asked).stdout.replace("\n", " ")
    assert "n = 10000 users (1 of them colluding)" in text
    assert "Users who collude, 1 here, work with the observer, drop out" in text


def test_json_has_these_keys():
    found = answer("epsilon", *AT_4, "--delta", "1e-6")
    assert list(found) == [
        *("version", "mechanism", "parameters", "k_joint", "rate", "eps0", "seen", "covered"),
        *("relation", "n", "colluding", "n_honest", "delta", "rounds", "best", "blanket", "lower"),
        *("stronger_clone", "precise", "notes"),
    ]
    assert found["version"] == __version__
    assert found["parameters"] == {"k": 10}
    assert list(found["blanket"]) == list(found["stronger_clone"]) == ["lower", "upper"]
    assert list(found["lower"]) == ["lower", "upper", "others"]
    assert list(found["best"]) == ["lower", "upper", "others"]
    assert (found["mechanism"], found["eps0"], found["n"]) == ("krr", 4.0, 10_000)


@pytest.mark.parametrize(
    ("command", "at", "rtol"), [("epsilon", "1e-6", "1e-4"), ("delta", "0.3", "1e-2")]
)
def test_the_least_is_the_least_to_whatever_width(command, at, rtol):
    given = "--delta" if command == "epsilon" else "--eps"
    options = ("--mechanism", "krr", "--k", "3", "--eps0", "2", "--n", "1e4", "--rounds", "9")
    # A width that theory alone may keep the ends of the tight bound from.
    found = json.loads(run(command, *options, given, at, "--rtol", rtol, "--json").stdout)
    least, blanket = (found[key]["upper"] for key in ("best", "blanket"))
    assert blanket * (1 - 10 * float(rtol)) <= least <= blanket


@pytest.mark.parametrize(
    ("asked", "key", "ends", "said"),
    [
        (
            (*("rounds", *KRR10, "--eps0", "0.1"), *("--n", "1e12", "--eps", "1")),
            "blanket",
            (10**6, None),
            "Not even 1000000 rounds are ruled out.",
        ),
        (
            (*("rounds", *KRR10, "--eps0", "1"), *("--n", "10", "--eps", "0.1")),
            "blanket",
            (0, 0),
            "No round fits: a single round already exceeds the target.",
        ),
        (
            (*("eps0", *BINARY, "--n", "1e3"), *("--eps", "300")),
            "lower",
            (300.0, None),
            "Not even eps0 = 300, the largest that is allowed, is ruled out.",
        ),
        (
            ("users", *KRR10, "--eps0", "4", "--eps", "0"),
            "blanket",
            (10**15 + 1, None),
            "Not even 10^15 users are known to be enough.",
        ),
    ],
)
def test_infinity_is_null_in_json_and_explained_to_people(asked, key, ends, said):
    found = answer(*asked, "--delta", "1e-9")[key]
    assert (found["lower"], found["upper"]) == ends
    assert said in " ".join(succeed(*asked, "--delta", "1e-9").stdout.split())


def test_printed_bounds_are_bounds_in_columns_with_units():
    """Of ε the upper end is claimed, of ε₀ the lower one; both are rounded to the safe side."""
    asked = ("epsilon", *AT_4, "--delta", "1e-6")
    text, exact = succeed(*asked).stdout, answer(*asked)
    claimed = value(text, "blanket")
    assert Decimal(exact["blanket"]["upper"]) <= claimed
    assert claimed <= Decimal(exact["blanket"]["upper"]) * Decimal("1.00001")
    assert Decimal(exact["lower"]["lower"]) >= value(text, "lower bound")
    rows = [line for line in text.splitlines() if line.startswith("  ")]
    headings, rows = " ".join(rows[:-4]).split(), rows[-4:]
    assert {"epsilon", "(natural", "log)", "numerical", "error", "gap", "to"} <= set(headings)
    assert len({row.index(".") for row in rows}) == 1
    assert not any("%" in row for row in rows if row.startswith("  lower bound"))
    asked = ("eps0", *KRR10, "--n", "1e4", "--eps", "0.4", "--delta", "1e-6")
    text, exact = succeed(*asked).stdout, answer(*asked)
    assert value(text, "blanket") <= Decimal(exact["blanket"]["lower"])
    assert value(text, "lower bound") >= Decimal(exact["lower"]["upper"])


def test_delta_is_0_from_the_sum_of_all_rounds_eps0_on():
    """Two rounds of 10 000 users and one of 5000, each at ε₀ = 1: all reports are (3, 0)-DP."""
    asked = ("--mechanism", "krr", "--k", "10", "--eps0", "1", "--n", "1e4", "--rounds", "2")
    found = answer("delta", *asked, "--also", "5e3:1", "--eps", "3")
    for bound in ("best", "blanket", "lower", "stronger_clone"):
        assert (found[bound]["lower"], found[bound]["upper"]) == (0.0, 0.0)


def test_laplace_says_for_which_inputs_a_bound_holds():
    options = ("--mechanism", "laplace", "--eps0", "1", "--n", "1e4", "--delta", "1e-6")
    said = "The best proven bound of laplace is for its inputs 0 and 1 only"
    assert said in " ".join(answer("epsilon", *options)["notes"])
    assert said in succeed("epsilon", *options, "--explain").stdout.replace("\n", " ")
    assert said not in " ".join(answer("epsilon", *options, "--domain", "interval")["notes"])
    mixed = ("--mechanism", "parallel", "--part", "0.5 laplace", "--part", "0.5 krr k=4")
    assert said in " ".join(answer("epsilon", *mixed, *options[2:])["notes"])


def test_a_report_of_several_attributes_says_that_they_are_linked():
    parts = ("--mechanism", "joint", "--part", "krr k=4", "--part", "blh")
    (note,) = answer("epsilon", *parts, "--eps0", "1", "--n", "1e4", "--delta", "1e-6")["notes"]
    assert "linked as one" in note
    assert "an equal one if none is given" in note


def test_names_of_the_others_inputs_are_explained(tmp_path):
    asked = ("epsilon", *KRR10, "--eps0", "4", "--n", "1e4", "--delta", "1e-6")
    said = "third is any other value"
    assert said not in succeed(*asked).stdout
    assert said in succeed(*asked, "--explain").stdout
    succeed(*asked, "--report", str(tmp_path / "page.md"))
    assert said in (tmp_path / "page.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("number", "lower", "shown"),
    [(1.5, 1.0, "50 %"), (0.75, 1.0, "25 %"), (1.00301, 1.0, "0.31 %"), (1.0, 1.0, "0 %")],
)
def test_the_distance_from_the_lower_bound_is_rounded_up(number, lower, shown):
    assert distance(number, lower) == shown
    assert distance(math.inf, lower) == distance(number, 0.0) == ""


@pytest.mark.parametrize("suffix", [".md", ".html"])
def test_a_report_states_question_answer_theorems_and_how_to_verify(tmp_path, suffix):
    path = tmp_path / f"report{suffix}"
    options = ("epsilon", *AT_4, "--delta", "1e-6")
    succeed(*options, "--report", str(path))
    page = html.unescape(path.read_text(encoding="utf-8"))
    for part in (
        "Privacy of shuffled reports: KRR(k=10, eps0=4.0)",
        "Theorems 5-8 and 13",
        "replacement of one user",
        "--claim",
    ):
        assert part in page
    title = {".md": "^# (.*)", ".html": "<h1>(.*)</h1>"}[suffix]
    (claim,) = re.findall(title, page, re.MULTILINE)
    assert agrees(claim, "You can claim epsilon = 0.380506 (delta = 1e-06)")
    printed = succeed(*options, "--json").stdout
    assert printed.strip() in page
    text = re.sub("</?code>", "", page)
    (again,) = re.findall("shufflebounds (epsilon .*) --json(?=[\n<])", text)
    assert succeed(*again.split(), "--json").stdout == printed


def test_the_claims_of_several_rounds_are_the_printed_ends_and_are_named(tmp_path):
    path, page = tmp_path / "claims.json", tmp_path / "page.md"
    asked = ("epsilon", *AT_4, "--delta", "1e-6", "--rounds", "30", "--claim", str(path))
    text = succeed(*asked, "--report", str(page)).stdout
    (claim,) = json.loads(path.read_text("utf-8"))
    printed = value(text, "blanket")
    assert printed == Decimal(outward(claim["eps"], up=True))
    said = f"claims epsilon = {printed} (blanket)"
    assert said in " ".join(text.split())
    assert said in page.read_text("utf-8")


@pytest.mark.parametrize(("delta", "is_noted"), [("1e-4", False), ("1.1e-4", True)])
def test_a_delta_above_one_in_n_is_noted(delta, is_noted, tmp_path):
    page = tmp_path / "page.md"
    asked = (*KRR10, "--eps0", "4", "--n", "10000", "--delta", delta)
    text = succeed("epsilon", *asked, "--report", str(page)).stdout
    assert ("is above 1/n and protects nobody" in " ".join(text.split())) == is_noted
    assert ("is above 1/n and protects nobody" in page.read_text("utf-8")) == is_noted


# Rounding.


@settings(deadline=None)
@given(st.floats(0.0, 1e300), st.floats(0.0, 1.0))
def test_a_width_is_rounded_up(upper, ratio):
    found = Enclosure(upper * ratio, upper)
    printed = width(found).removesuffix(" (exact)")
    assert Decimal(printed) >= Decimal(found.relative_width)


# Precision.


@pytest.fixture
def vague(monkeypatch):
    def fails(self, query):
        ends = (np.full(query.at.shape, end) for end in (0.25, 0.5))
        return Ends.of(*ends, self.name)

    for name in ("root_ends", "delta_ends"):
        monkeypatch.setattr(Direction, name, fails)


@pytest.mark.parametrize(
    ("command", "target"), [("epsilon", ("--delta", "0.1")), ("delta", ("--eps", "1"))]
)
@pytest.mark.usefixtures("vague")
def test_a_wide_enclosure_is_printed_and_reported(command, target):
    text = run(command, *AT_4, *target)
    assert text.exit_code == 3
    assert value(text.stdout, "blanket") == Decimal("0.5")
    assert text.stderr.startswith("Error: ")
    assert "known only to lie in [0.25, 0.5]" in text.stderr
    found = json.loads(run(command, *AT_4, *target, "--json").stdout)
    assert found["blanket"] == {"lower": 0.25, "upper": 0.5}
    assert found["precise"] is False


@pytest.mark.usefixtures("vague")
def test_a_curve_that_is_not_precise_says_where(tmp_path):
    path = tmp_path / "curve.csv"
    asked = ("curve", *KRR10, "--eps0", "4", "--delta", "1e-6", "--bound", "blanket")
    result = run(*asked, "-o", str(path))
    assert result.exit_code == 3
    assert re.fullmatch(
        r"Error: krr/.*/blanket at n = 1000 is left empty: epsilon at .* is known only to lie in "
        r"\[0.25, 0.5\].*\(and 49 more points\)\n",
        result.stderr,
    )
    frame = curves.read(path)
    assert set(frame["bound"]) == {"blanket"}
    assert frame[["epsilon_lower", "epsilon_upper"]].isna().all(axis=None)


def test_a_curve_of_renyi_divergences_has_no_best_proven_bound():
    result = run(
        "curve", *KRR10, "--eps0", "1", "--order", "4", "--quantity", "renyi", "--points", "2"
    )
    assert result.exit_code == 0
    assert ",tight," not in result.stdout
    assert ",stronger_clone," in result.stdout


@pytest.mark.parametrize("command", ["eps0", "users"])
def test_a_search_that_ends_wide_is_not_precise(command, monkeypatch):
    """As where the engine cannot tell D from δ over a range of the answer."""
    monkeypatch.setattr(SearchAxis, "enclosure", lambda *_: Enclosure(100.0, 108.0))
    monkeypatch.setattr(CountAxis, "enclosure", lambda *_: Enclosure(100.0, 108.0))
    options = {
        "eps0": (*KRR10, "--n", "1e4", "--eps", "0.4", "--delta", "1e-6"),
        "users": (*KRR10, "--eps0", "4", "--eps", "0.4", "--delta", "1e-6"),
    }[command]
    result = run(command, *options, "--json")
    assert result.exit_code == 3
    found = json.loads(result.stdout)
    assert found["precise"] is False
    assert found["blanket"] == {"lower": 100.0, "upper": 108.0}
    assert "where rtol = " in result.stderr


def test_searches_are_held_to_the_width_that_is_asked_for(monkeypatch):
    """As wide as here, the default lets pass what a narrower one does not."""
    found = Enclosure(1000, 1005)
    monkeypatch.setattr(CountAxis, "enclosure", lambda *_: found)
    options = ("rounds", *AT_4, "--eps", "2", "--delta", "1e-6", "--json")
    assert run(*options).exit_code == 0
    assert run(*options, "--rtol", "1e-3").exit_code == 3


def test_days_may_have_other_numbers_of_users():
    days = ("--rounds", "3", "--also", "5e3:2", "--colluding", "10", "--delta", "1e-6")
    options = ("--mechanism", "krr", "--k", "10", "--eps0", "2", "--n", "1e4")
    found = answer("epsilon", *options, *days)
    R = sb.KRR(10, 2.0)
    both = sb.compose([(R.blanket(), 9990, 3), (R.blanket(), 4990, 2)]).epsilon(1e-6)
    assert found["blanket"] == {"lower": both.lower, "upper": both.upper}
    assert found["lower"]["lower"] <= found["best"]["upper"] <= found["blanket"]["upper"]
    assert found["also"] == [[5000, 2]]
    text = succeed("epsilon", *options, *days).stdout
    assert "3 rounds, and 2 rounds of 5000 users" in " ".join(text.split())
    said = "The 5 rounds are shuffled separately"
    assert said in succeed("epsilon", *options, *days, "--explain").stdout
    assert (
        "colluding must be an integer from 0 to 4"
        in run("epsilon", *options, *days, "--also", "5:1").stderr
    )


@pytest.mark.parametrize("x", ["n", "eps0", "eps", "delta", "rounds", "order"])
def test_every_axis_has_a_range_of_its_own(x):
    quantity = {"eps": "delta", "order": "renyi"}.get(x, "epsilon")
    given = {"n": "1e4", "eps0": "1", "delta": "1e-6", "eps": "0.1", "order": "2"}
    names = {"epsilon": ("n", "eps0", "delta"), "delta": ("n", "eps0", "eps")}
    wanted = names.get(quantity, ("n", "eps0", "order"))
    fixed = [part for name in wanted if name != x for part in (f"--{name}", given[name])]
    asked = ("--x", x, "--quantity", quantity, "--points", "2", "--bound", "blanket")
    result = succeed("curve", *KRR10, *fixed, *asked)
    assert len(list(csv.DictReader(io.StringIO(result.stdout)))) == 2


# Rényi divergences.

RENYI = ("renyi", *KRR10, "--eps0", "4", "--n", "1e5")


def test_divergences_are_those_of_the_library():
    found = answer(*RENYI, "--order", "16", "--rounds", "3")
    R = sb.KRR(10, 4.0)
    lower = max(sb.renyi(pair, 10**5, 16.0, rounds=3).lower for pair in R.dataset_pairs().values())
    upper = sb.renyi(R.blanket(), 10**5, 16.0).times(3)
    assert found["blanket"]["lower"] == pytest.approx(upper.lower, rel=1e-12)
    assert found["blanket"]["upper"] == pytest.approx(upper.upper, rel=1e-12)
    assert found["lower"]["lower"] == pytest.approx(lower, rel=2e-3)
    mechanism = sb.renyi(R, 10**5, 16.0, rounds=3)
    assert found["blanket"]["upper"] == pytest.approx(mechanism.upper, rel=1e-12)
    assert found["lower"]["lower"] == pytest.approx(mechanism.lower, rel=2e-3)
    assert found["girgis_upper"]["upper"] == 3 * theorem_3_1(4.0, 10**5, 16.0)
    assert (found["order"], found["rounds"], found["n"], found["precise"]) == (16.0, 3, 10**5, True)


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
            ReportDescription(Mechanism("krr", (("k", 10),))),
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


def test_every_bound_can_be_asked_for_and_drawn(tmp_path):
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
    assert "no analysis of its authors is known of " in result.stderr
    assert plot.read_bytes().startswith(b"%PDF")


def test_a_claim_file_has_all_ends_and_what_it_cannot_hold_is_refused(tmp_path):
    file = tmp_path / "claim.json"
    asked = ("epsilon", "--eps0", "4", "--delta", "1e-6", "--n", "1e5", "--claim", str(file))
    shown = json.loads(succeed(*asked, "--mechanism", "blh", "--json").stdout)
    blanket, every, pair = json.loads(file.read_text(encoding="utf-8"))
    # A room of 0.02 % on the true side.
    assert blanket["eps"] == pytest.approx(1.0002 * shown["blanket"]["upper"], rel=1e-12)
    assert every["eps"] == pytest.approx(1.0002 * shown["best"]["upper"], rel=1e-12)
    assert pair["eps"] == pytest.approx(0.9998 * shown["lower"]["lower"], rel=1e-12)
    assert (blanket["bound"], every["bound"], pair["datasets"]) == ("blanket", "all", [0, 1, 1])
    succeed(*asked, "--mechanism", "krr", "--k", "2", "--k-joint", "2")
    claim = json.loads(file.read_text(encoding="utf-8"))[0]
    assert (claim["eps0"], claim["reports"]) == (2.0, 2)
    # One claim of all rounds, for the honest users of each, and one of reports of different parts.
    asked_of_krr = ("--mechanism", "krr", "--k", "4")
    succeed(*asked, *asked_of_krr, "--colluding", "10", "--rounds", "2", "--also", "2e5:3")
    (claim,) = json.loads(file.read_text(encoding="utf-8"))
    assert (claim["n"], claim["rounds"], claim["also"]) == (99_990, 2, [[199_990, 3]])
    succeed(*asked, "--mechanism", "joint", "--part", "krr k=4", "--part", "duchi")
    (claim,) = json.loads(file.read_text(encoding="utf-8"))
    assert [part["mechanism"] for part in claim["parts"]] == ["krr", "duchi"]
    result = run(*asked, "--mechanism", "collision", "--items", "2", "--hash-values", "9")
    assert result.exit_code == 2
    assert "--claim needs reports that verify/verify.py defines" in result.stderr


# Mechanisms.


def test_mechanisms_are_listed_with_their_parameters():
    listed = {entry["name"]: entry for entry in json.loads(succeed("mechanisms", "--json").stdout)}
    assert list(listed) == [*registry.mechanism_names(), "any"]
    told = "number of values, at least 2"
    assert listed["krr"]["parameters"] == {
        "k": {"type": "int", "required": True, "default": None, "help": told}
    } | {
        name: {
            "type": "Fraction",
            "required": False,
            "default": None,
            "help": sb.KRR.PROBABILITIES[name],
        }
        for name in ("random", "p")
    }
    assert listed["rappor"]["parameters"]["domain_size"]["required"] is False
    # One row each, with the names of its parameters; those that are optional in brackets. Names
    # that do not fit into a line follow below the others.
    text = re.sub(r"\n {20,}", " ", succeed("mechanisms").stdout)
    rows = [line.split() for line in text.splitlines()]
    for name, entry in listed.items():
        (row,) = (row for row in rows if row[:1] == [name])
        own = [
            parameter.replace("_", "-") if about["required"] else f"[{parameter}]".replace("_", "-")
            for parameter, about in entry["parameters"].items()
        ]
        assert sorted(row[-len(own) :] if own else []) == sorted(own)
        text = " ".join(succeed("mechanisms", name).stdout.split())
        assert f"{name} {entry['description']} " in text
        assert all(about["help"] in text for about in entry["parameters"].values())
    text = succeed("mechanisms", "krr").stdout
    assert re.search(rf"^ +--k INT, required: {told}$", text, re.MULTILINE)


def test_protocols_are_explained_like_mechanisms():
    assert " ".join(protocols()[1:4]).replace(" ", ", ") in succeed("mechanisms").stdout
    for name in protocols():
        text = " ".join(succeed("mechanisms", name).stdout.split())
        assert f"shufflebounds epsilon {name}" in text
        assert all(flag(parameter) in text for parameter in parameters(name))
        assert "Raises" not in text
        assert "``" not in text


# That of a matrix is tested in test_matrix_cli.py.
@pytest.mark.parametrize("name", sorted({*registry.mechanism_names()} - {"matrix"}))
def test_every_parameter_of_a_mechanism_is_an_option(name):
    """Values are the examples of the fields or, if a field has none, fit its type."""
    fields = {field.name: field.metadata for field in dataclasses.fields(registry.mechanism(name))}
    values = {int: 5, float: 0.25, Fraction: 0.25}
    own = {
        parameter: fields[parameter].get("example", values.get(entry.type))
        for parameter, entry in parameters(name).items()
        if parameter in fields  # others take the place of ε₀
    }
    given = [part for name in own for part in (flag(name), str(own[name]))]
    # The noise of a Gaussian report fixes ε₀, and so do the probabilities of a survey.
    eps0 = () if name in ("gaussian", "survey") else ("--eps0", "1")
    options = ("--mechanism", name, *given, *eps0, "--n", "100", "--delta", "1e-3")
    assert answer("epsilon", *options)["parameters"] == own


def test_an_answer_says_where_the_bound_for_all_datasets_was_not_tried():
    note = "The bound for all datasets was not tried"
    asked = ("--eps0", "2", "--n", "1000", "--delta", "1e-6")
    collision = ("--mechanism", "collision", "--items", "2", "--hash-values", "8", *asked)
    for question in (
        ("epsilon", *collision),
        ("epsilon", *collision, "--rounds", "2"),
        ("epsilon", "--protocol", "dump", "--domain-size", "5", "--flip", "0.2", *asked[2:]),
        ("epsilon", "--mechanism", "krr", "--k", "3", *asked),
    ):
        assert (note in succeed(*question).stdout) == ("collision" in question)
    result = run("check", *collision, "--eps", "0.27")
    assert result.exit_code == 4
    assert note in result.stdout


def test_bounds_are_listed_with_what_they_are():
    listed = {entry["name"]: entry for entry in json.loads(succeed("bounds", "--json").stdout)}
    assert list(listed) == list(BOUNDS)
    assert listed["lower"]["kind"] == "lower"
    assert listed["stronger_clone"]["needs"] == "eps0 alone"
    assert listed["erlingsson"]["quantities"] == ["epsilon"]
    rows = [line.split() for line in succeed("bounds").stdout.splitlines()]
    for name, entry in listed.items():
        (row,) = (row for row in rows if row[:1] == [name])
        needs = entry["needs"].removeprefix("the ")
        written = f"{name} {entry['kind']} {needs} {', '.join(entry['quantities'])}"
        assert " ".join(row) == written
        text = " ".join(succeed("bounds", name).stdout.split())
        assert f"{name} {entry['description']} ({entry['kind']}) for " in text
        assert entry["source"] in text
    assert json.loads(succeed("bounds", "lower", "--json").stdout) == [listed["lower"]]
    assert "did you mean blanket?" in run("bounds", "blankett").stderr


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
        assert Real().parse(text, "eps") == number
    assert repr(Real().parse("-0.0", "eps")) == "0.0"


@given(st.decimals(allow_nan=False, allow_infinity=False, places=14, min_value=-9, max_value=9))
def test_fifteen_digits_are_never_too_many(number):
    assert Real().parse(str(number.normalize()), "eps") == float(number)


@pytest.mark.parametrize(
    ("name", "found"),
    [("KRR", "krr"), ("Krr", "krr"), ("Hadamard-Blocks", "hadamard_blocks"), ("RAPPOR", "rappor")],
)
def test_ways_to_write_a_mechanism(name, found):
    blocks = ("--blocks", "3") if found == "hadamard_blocks" else ()
    k = "10" if found == "krr" else None
    asked = answer("epsilon", *options(mechanism=name, k=k), *blocks)
    assert asked["mechanism"] == found


# Commands with some of the good options changed or left out, and what is said of it.
MISTAKES = """\
epsilom: did you mean 'epsilon'
epsilon --size 3: no such option '--size'; `
epsilon krr: give one mechanism or protocol, got krr and krr
epsilon no-mechanism krr blh: unexpected extra argument (blh); every option has a name
epsilon no-mechanism: missing argument 'MECHANISM', such as krr
epsilon no-eps0: missing option '--eps0', which KRR(k=10) needs.
epsilon --mechanism rapor: did you mean rappor
epsilon --mechanism x: 'x' is not known; is its package installed here?
epsilon no-mechanism --size=3 krr: no such option '--size'; `
epsilon no-mechanism krr --values 3: no such option '--values'; did you mean --k?
epsilon --dropout 10:
    --dropout must be a finite number with 0 <= dropout < 1, got 10; for 10 % write 0.1
epsilon --dropout 10%: --dropout must be a finite number with 0 <= dropout < 1, got '10%'; for 10 %
risk no-delta --delta 0.1: no such option '--delta'; risk needs no delta;
epsilon --mechanism from_elsewhere --radius 3: is its package installed here?
epsilon --radius=3 --mechanism=krrr: 'krrr' is not known; did you mean krr?
epsilon ALONE --protocol dum --radius 3: 'dum' is not known; did you mean dump?
epsilon no-k: Missing option '--k' of krr: number of values, at least 2.
epsilon --domain-size 5: --k of krr is given twice; --k and --domain-size mean the same
epsilon --mechanism laplace:
    --k is not an option of laplace; its own options: --cells, --domain, --others, --steps
epsilon --also 5: '5' is not N:T
epsilon --part 1: --part must be left out: joint and parallel have parts, not krr
epsilon no-k --mechanism joint: Missing option '--part' of joint
epsilon no-k --mechanism joint --part x: --part 'x': mechanism must be one of NAMES
epsilon no-k --mechanism joint --part 0.5: --part must be a share, a mechanism
epsilon no-k --mechanism joint --part krr: --part 'krr': k is missing; krr needs: k
epsilon no-k --mechanism joint --part "krr k=3 k=4": --k of krr is given twice
epsilon no-k --mechanism joint --part "-0.5 blh" --part "1.5 blh": parts[0].share must be
epsilon no-k --mechanism joint --part "matrix file=nowhere.csv": 'nowhere.csv' cannot be read
epsilon no-k --mechanism parallel: Missing option '--part' of parallel
epsilon no-k --mechanism parallel --part x: --part must be a weight, a mechanism
epsilon --round 3: did you mean --rounds?
epsilon no-eps0 --epsilon0 4: No such option '--epsilon0'; did you mean --eps0?
epsilon no-n --users 9: did you mean --n?
epsilon --days 9: did you mean --rounds?
epsilon --epsilon 4:
    No such option '--epsilon'; this command takes no epsilon, and --eps0 is that of one report;
risk no-delta --eps 4: this command takes no epsilon
choose ALONE --eps 1 --values 4 --k-joint 2: no such option '--k-joint'; `
mechanisms no-mechanism no-k no-eps0 no-n no-delta grr: Error: 'grr' is not known; did you mean krr?
frobnicate no-mechanism no-k no-eps0 no-n no-delta:
    No such command 'frobnicate'. `shufflebounds -h` lists the commands.
epsilon --mechanism olh: did you mean local_hash?
delta no-delta --epsilon 0.4: No such option '--epsilon'; did you mean --eps?
delta: No such option '--delta'; that is what this command finds;
epsilon --k 1: k must be an integer from 2 to 9007199254740992, got 1
epsilon --k 2.5: --k must be an integer, got 2.5
epsilon no-k --mechanism laplace --others half: --others must be a finite number, got 'half'
epsilon no-k --mechanism laplace --others 0.5: others must be 1 on the binary domain, got 0.5
epsilon --rate 1.5: --rate must be a finite number with 0 <= rate <= 1, got 1.5
epsilon --colluding 100: colluding must be an integer from 0 to 99, got 100
epsilon --n many: --n must be an integer from 1 to 1e15, got 'many'
epsilon --n 0: --n must be an integer from 1 to 1e15, got 0
epsilon --n 1e999999999: --n must be an integer from 1 to 1e15, got '1e999999999'
epsilon --eps0 301 --k-joint 2: --eps0 must be a finite number with 0 < eps0 <= 300, got 301
epsilon --delta 1e-400: --delta must be a finite number with 1e-300 <= delta < 1, got 1e-400
epsilon --delta 1e-99999999999999999999: <= delta < 1, got '1e-99999999999999999999'
delta no-delta --eps 1e400: --eps must be a finite number with eps >= 0, got 1e400
epsilon --delta 1e-6%: got '1e-6%'; for 0.000001 % write 0.00000001
epsilon --delta 1: --delta must be a finite number with 1e-300 <= delta < 1, got 1
eps0 no-eps0 --eps 301: 0 <= eps <= 300, got 301.0
eps0 no-eps0 --delta 1e-20 --eps 0: delta must be larger for eps = 0.0
epsilon --rounds 0: --rounds must be an integer from 1 to 1000000, got 0
curve no-n --rounds 3 --bound erlingsson: rounds must be left out for the bound erlingsson
curve --x rounds --start 0.5 --stop 3: --start must be an integer from 1 to 1000000, got 0.5
rounds --eps 1 --rounds 3: no such option '--rounds'; that is what this command finds;
epsilon --k-joint 0: --k-joint must be an integer from 1 to 100, got 0
epsilon no-k --mechanism laplace --cells 5000 --k-joint 4: a joint of 4 reports
curve no-n --start 10 --stop 9: stop must be
curve no-n --stop 1001: points must be at most 2
curve no-n --bound lowr: 'lowr' is not known; did you mean lower?
curve no-n --output /nowhere/x.csv: '/nowhere'
curve no-n --output /: is a directory
curve no-eps0 no-n --x eps0 --start 1 --stop 2:
    n is missing; a curve of epsilon along eps0 needs delta, n
curve no-n --x eps --start 1 --stop 2:
    x must be one of delta, eps0, n, rounds for the quantity epsilon, got eps
curve no-n no-delta --eps 1 --quantity delta --bound erlingsson:
    quantity must be one of epsilon for the bound erlingsson, got 'delta'
curve: --n must be left out: the curve runs along n, from --start to --stop
curve no-n --eps 1: --eps must be left out: a curve of epsilon does not depend on it
curve no-n no-delta --quantity renyi: order is missing; a curve of renyi along n needs eps0, order
check --n 1 --eps 3.99999999999999999999:
    --eps must be a number that a float holds exactly, got 3.99999999999999999999; the nearest one
curve no-n --output x.pdf --plot x.pdf: --output and --plot must be two files, got 'x.pdf' twice
curve no-n --plot x.gif: must end in .pdf or .png or .svg
check: Missing option '--eps'
risk no-delta --false-positives 1.5:
    --false-positives must be a finite number with 0 <= false_positives <= 1, got 1.5
renyi no-delta: Missing option '--order'
choose ALONE --eps 1: give either --values or --numbers
choose ALONE --eps 1 --values 4 --numbers: give either --values or --numbers
choose ALONE --eps 1 --values 4 --dropout 1:
    --dropout must be a finite number with 0 <= dropout < 1, got 1
choose ALONE --eps 1 --values 4 --colluding 100: must be an integer from 0 to 99, got 100
choose ALONE --eps 1 --values 4 --n 1 --dropout 0.5: dropout must leave a user who reports
choose ALONE --eps 1 --values 4 --rounds 0: --rounds must be an integer from 1 to 1000000
epsilon ALONE --protocol dump --flip 0.2: Missing option '--domain-size' of dump
epsilon ALONE --protocol dump --domain-size 5 --k 3:
    --domain-size of dump is given twice; --k and --domain-size mean the same
epsilon ALONE --protocol binary_sum --eps0 1:
    --eps0 must be left out: --coin, --blankets set the noise of binary_sum
epsilon ALONE --protocol hierarchical_histogram --domain-size 8: missing option '--eps0'
epsilon ALONE --protocol binary_sum --mechanism krr --k 3:
    give one mechanism or protocol, got krr and binary_sum
epsilon ALONE --protocol binary_sum --k-joint 2: --k-joint must be left out: it needs a named
epsilon ALONE --protocol cheu_zhilyaev --flip 0.7:
    flip must be a finite number with 1e-100 <= flip < 0.5, got 0.7
epsilon ALONE --protocol binary_sum --claim x.json:
    --claim needs reports that verify/verify.py defines
epsilon ALONE --protocol binary_sun: 'binary_sun' is not known; did you mean binary_sum?
"""
MISTAKES = MISTAKES.replace("ALONE", "no-mechanism no-k no-eps0")
MISTAKES = MISTAKES.replace("NAMES", ", ".join(registry.mechanism_names()[:2]))


@pytest.mark.parametrize("mistake", re.split(r"\n(?! )", MISTAKES.strip()))
def test_a_mistake_ends_in_one_sentence(mistake):
    asked, message = re.split(r":\s+", mistake, maxsplit=1)
    command, *changes = shlex.split(asked)
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


def test_an_unknown_mechanism_is_the_mistake_not_its_options():
    result = run("epsilon", "subset_selection", "--k", 6, "--size", 2, *options(mechanism=None))
    assert result.exit_code == 2
    assert "'subset_selection' is not known; is its package installed here?" in result.stderr


def test_a_mechanism_is_an_argument_or_an_option():
    rest = ("--k", 10, "--eps0", 4, "--n", 1000, "--delta", 1e-3)
    expected = answer("epsilon", "--mechanism", "krr", *rest)
    for named in (("krr",), ("KRR",), ("-m", "krr"), ("--protocol", "krr")):
        assert answer("epsilon", *named, *rest) == expected
    assert answer("epsilon", *rest[:4], "krr", "-n", 1000, "--delta", 1e-3) == expected
    dump = ("--domain-size", 4, "-n", 1000, "--delta", 0.1)
    protocol = answer("epsilon", "--protocol", "dump", *dump)
    assert answer("epsilon", "dump", *dump) == answer("epsilon", "-m", "dump", *dump) == protocol
    assert protocol["protocol"] == "dump"
    assert "Usage: " in run("epsilon").stderr


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
