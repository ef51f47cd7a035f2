"""The command that asks for users: enough for a target, for an error, or for both."""

import json
import math

import pytest
from commands import run, succeed

KRR = ("users", "--mechanism", "krr", "--k", "2", "--eps0", "1")
# One bit by randomized response: the variance is e/(e − 1)² over n.
ENOUGH = math.ceil(math.e / (math.e - 1) ** 2 / 0.01**2)


def test_an_error_alone_is_a_question():
    text = " ".join(succeed(*KRR, "--error", "0.01").stdout.split())
    assert f"A standard error of 0.01 needs {ENOUGH} users." in text
    assert "If the shuffler fails, eps0 = 1 remains." in text
    found = json.loads(succeed(*KRR, "--error", "0.01", "--json").stdout)
    assert (found["standard_error"], found["users_for_error"]) == (0.01, ENOUGH)
    assert "A standard error of 5.0 needs 1 user." in succeed(*KRR, "--error", "5").stdout


def test_a_target_and_an_error_are_answered_together():
    target = ("--eps", "0.5", "--delta", "1e-6")
    alone = json.loads(succeed(*KRR, *target, "--json").stdout)
    found = json.loads(succeed(*KRR, *target, "--error", "0.01", "--json").stdout)
    assert found["blanket"] == alone["blanket"]
    assert found["users_for_error"] == ENOUGH
    text = " ".join(succeed(*KRR, *target, "--error", "0.01").stdout.split())
    assert f"users are enough. A standard error of 0.01 needs {ENOUGH} users." in text


def test_users_who_do_not_report_are_added():
    """⌊0.9 n⌋ − 100 of n users report."""
    options = ("--error", "0.01", "--dropout", "0.1", "--colluding", "100", "--json")
    users = json.loads(succeed(*KRR, *options).stdout)["users_for_error"]
    assert users * 9 // 10 - 100 == ENOUGH > (users - 1) * 9 // 10 - 100


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((), "Missing option '--eps'."),
        (("--eps", "1"), "Missing option '--delta'."),
        (("--eps", "1", "--error", "0.01"), "Missing option '--delta'."),
        (("--error", "0"), "--error must be a finite number with error > 0, got 0"),
        (("--error", "1e-9"), "error must be larger: 10^15 users do not reach 1e-09"),
    ],
)
def test_a_mistake_ends_in_one_sentence(given, message):
    result = run(*KRR, *given)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: {message}\n"


def test_a_protocol_has_no_error():
    result = run("users", "--mechanism", "any", "--eps0", "1", "--error", "0.01")
    assert result.exit_code == 2
    assert "--error needs a mechanism" in result.stderr
