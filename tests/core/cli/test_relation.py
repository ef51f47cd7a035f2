"""Every answer names its neighbouring relation, and no command mixes two."""

import json

import pytest
from commands import answer, run, run_in_terminal, succeed

import shufflebounds as sb
from shufflebounds.cli import main

KRR = ("--mechanism", "krr", "--k", 4)
USERS = ("--n", 10_000)
TARGET = ("--eps", 0.5, "--delta", 1e-6)
TRAINING = ("--protocol", "random_allocation", "--noise-multiplier", 2, "--steps", 10)
SUMS = ("--protocol", "coordinate_sums", "--bits", "rappor", "--domain-size", 4)
REPLACE = ("replace", "one user replaced")
ADD_OR_REMOVE = ("add or remove", "one example added or removed")
ANSWERS = [
    (REPLACE, ["epsilon", *KRR, "--eps0", 2, *USERS, "--delta", 1e-6]),
    (REPLACE, ["epsilon", *KRR, "--eps0", 2, *USERS, "--delta", 1e-6, "--also", "20000:2"]),
    (REPLACE, ["epsilon", "--mechanism", "any", "--eps0", 2, *USERS, "--delta", 1e-6]),
    (REPLACE, ["epsilon", *SUMS, "--eps0", 2, *USERS, "--delta", 1e-6]),
    (REPLACE, ["delta", *KRR, "--eps0", 2, *USERS, "--eps", 0.2]),
    (REPLACE, ["renyi", *KRR, "--eps0", 2, *USERS, "--order", 4]),
    (REPLACE, ["check", *KRR, "--eps0", 2, *USERS, *TARGET]),
    (REPLACE, ["risk", *KRR, "--eps0", 2, *USERS]),
    (REPLACE, ["eps0", *KRR, *USERS, *TARGET]),
    (REPLACE, ["users", *KRR, "--eps0", 2, *TARGET]),
    (REPLACE, ["rounds", *KRR, "--eps0", 2, *USERS, *TARGET]),
    (REPLACE, ["choose", "--values", 4, *USERS, *TARGET]),
    (ADD_OR_REMOVE, ["epsilon", *TRAINING, "--delta", 1e-5]),
    (ADD_OR_REMOVE, ["epsilon", *TRAINING, "--epochs", 2, "--delta", 1e-3, "--rtol", 0.1]),
    (ADD_OR_REMOVE, ["delta", *TRAINING, "--eps", 0.5]),
    (ADD_OR_REMOVE, ["noise", "--steps", 1, "--eps", 2, "--delta", 1e-4]),
]
DEPLOYMENT = {
    "users": 1000,
    "days": 2,
    "reports": {
        "color": {"mechanism": {"type": "krr", "k": 4}, "eps0": 1.0, "answers": "fresh"},
    },
}


def test_every_command_with_an_answer_is_here():
    lists = {"mechanisms", "bounds"}
    tried = {words[0] for _, words in ANSWERS} | {"account", "curve"}
    assert set(main.list_commands(None)) == tried | lists


@pytest.mark.parametrize(("relation", "words"), ANSWERS)
def test_answers_name_their_relation(relation, words):
    name, phrase = relation
    assert answer(*words)["relation"] == name
    title = " ".join(succeed(*words).stdout.split("\n\n")[0].split())
    assert title.count(phrase) == 1


def test_a_deployment_and_curves_name_their_relation(tmp_path):
    path = tmp_path / "deployment.json"
    path.write_text(json.dumps(DEPLOYMENT))
    assert answer("account", path, "--delta", 1e-6)["relation"] == "replace"
    assert "one user replaced" in succeed("account", path, "--delta", 1e-6).stdout
    assert sb.Deployment(DEPLOYMENT).relation == "replace"
    words = ("curve", *KRR, "--eps0", 2, "--delta", 1e-6, "--points", 2, "--bound", "blanket")
    assert "one user replaced" in run_in_terminal(*words)


@pytest.mark.parametrize("place", [0, 6, 11])
def test_reports_state_it(place, tmp_path):
    words, page = ANSWERS[place][1], tmp_path / "page.md"
    succeed(*words, "--report", page)
    text = " ".join(page.read_text().split())
    assert "Neighbouring datasets differ by the replacement of one user's input." in text
    assert '"relation": "replace"' in text


def test_a_deployment_has_no_epochs(tmp_path):
    training = {"mechanism": {"type": "random_allocation"}, "answers": "fresh"}
    path = tmp_path / "deployment.json"
    content = {**DEPLOYMENT, "reports": {**DEPLOYMENT["reports"], "training": training}}
    path.write_text(json.dumps(content))
    result = run("account", path, "--delta", 1e-6)
    assert result.exit_code == 2
    assert "reports.training.mechanism: " in result.stderr
    assert "state two guarantees, each with its relation" in result.stderr
    assert result.stderr.count("\n") == 1
