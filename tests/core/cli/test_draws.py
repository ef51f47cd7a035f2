"""What is drawn again for every report, which answers over samples and parts must say."""

import json

import pytest
from commands import run, succeed

from shufflebounds.cli.notes import warnings
from shufflebounds.cli.scenario import Scenario
from shufflebounds.randomizers.description import parse

SAMPLED = ("--mechanism", "krr", "--k", "2", "--rate", "0.1")
SETTING = {"eps0": "1", "n": "20", "delta": "0.01", "eps": "0.1", "order": "2"}
NEEDS = {
    "epsilon": ("eps0", "n", "delta"),
    "delta": ("eps0", "n", "eps"),
    "renyi": ("eps0", "n", "order"),
    "check": ("eps0", "n", "delta", "eps"),
    "risk": ("eps0", "n"),
    "rounds": ("eps0", "n", "delta", "eps"),
}
AGAIN = "The sample is drawn again in every round: this does not hold for a panel"
PARALLEL = ("--mechanism", "parallel", "--part", "0.5 krr k=4", "--part", "0.5 krr k=2")
PARTS = "Every user draws a part anew for each report"
PARTS_AGAIN = "Every user draws a part again in every round"


def asked(command):
    return [part for name in NEEDS[command] for part in (f"--{name}", SETTING[name])]


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize("command", NEEDS)
def test_a_sample_of_many_rounds_is_drawn_again(command):
    """Every command says so, without being asked to explain."""
    rounds = () if command == "rounds" else ("--rounds", "2")
    printed = words(run(command, *SAMPLED, *asked(command), *rounds, "--rtol", "0.1").stdout)
    assert AGAIN in printed
    assert "Ask about a panel by itself" not in printed


@pytest.mark.parametrize("sought", ["eps0", "n", "rounds"])
def test_searches_warn_as_well(sought):
    """They print the warnings on the deployment, whose number is left out."""
    given = {"eps0": 1.0, "n": 20, "rounds": 2, sought: None}
    deployment = Scenario(mechanism=parse({"type": "krr", "k": 2}), rate=0.1, **given)
    assert [AGAIN in note for note in warnings(deployment)] == [True]


def test_the_json_says_it_once():
    asked_ = (*SAMPLED, *asked("delta"), "--rounds", "2")
    notes = json.loads(succeed("delta", *asked_, "--json").stdout)["notes"]
    assert sum(AGAIN in note and "what-to-compose.md" in note for note in notes) == 1


def test_further_rounds_are_rounds():
    assert AGAIN in words(run("epsilon", *SAMPLED, *asked("epsilon"), "--also", "30:1").stdout)


@pytest.mark.parametrize("axis", [("--x", "rounds", "--stop", "3"), ("--rounds", "2")])
def test_a_curve_says_it_on_standard_error(axis):
    needs = ("eps0", "delta", *(["n"] if "--x" in axis else []))
    given = [part for name in needs for part in (f"--{name}", SETTING[name])]
    more = ("--points", "2", "--bound", "blanket")
    assert words(succeed("curve", *SAMPLED, *given, *axis, *more).stderr).count(AGAIN) == 1


def test_one_round_and_all_users_need_no_such_note():
    assert AGAIN not in words(succeed("epsilon", *SAMPLED, *asked("epsilon"), "--explain").stdout)
    everybody = (*SAMPLED[:4], *asked("epsilon"), "--rounds", "2", "--explain")
    assert AGAIN not in words(succeed("epsilon", *everybody).stdout)


def test_parts_of_a_parallel_are_drawn_for_each_report():
    explained = words(succeed("epsilon", *PARALLEL, *asked("epsilon"), "--explain").stdout)
    assert PARTS in explained
    assert "name each by --group in place of parallel" in explained
    assert PARTS_AGAIN not in explained
    printed = words(succeed("epsilon", *PARALLEL, *asked("epsilon"), "--rounds", "2").stdout)
    assert PARTS_AGAIN in printed


def test_the_help_says_it():
    text = words(succeed("epsilon", "-h").stdout)
    assert "is sent (Poisson subsampling), drawn anew in every round, in secret" in text
    assert (
        "A part of joint, which sends a report of each together, or of parallel, which draws one"
        in text
    )
