"""Cohorts of fixed size on the command line: --cohort of all commands about users."""

import pytest
from tests.support.commands import answer, run

import shufflebounds as sb

SENT = ("krr", "--k", 10, "--eps0", 4, "--cohort", 1000)
SIZED = (*SENT, "--n", 10_000)
COHORT = sb.Cohort(sb.KRR(10, 4.0), 1000)


def test_epsilon():
    content = answer("epsilon", *SIZED, "--delta", 1e-6)
    assert content["cohort"] == 1000
    truth = sb.epsilon(COHORT, 10_000, 1e-6)
    assert (content["best"]["lower"], content["best"]["upper"]) == (truth.lower, truth.upper)


@pytest.mark.parametrize(
    ("words", "upper"),
    [
        (("delta", *SIZED, "--eps", 0.1), sb.delta(COHORT, 0.1, 10_000).upper),
        (("renyi", *SIZED, "--order", 4), sb.renyi(COHORT, 10_000, 4.0).upper),
        (("users", *SENT, "--eps", 0.1, "--delta", 1e-6), 10_923),
        (("users", *SENT, "--eps", 5, "--delta", 1e-6), 1000),
        (("rounds", *SIZED, "--eps", 0.2, "--delta", 1e-6), None),
    ],
)
def test_questions(words, upper):
    best = answer(*words)["best"]
    assert upper is None or best["upper"] == pytest.approx(upper, rel=1e-9)
    assert best["lower"] <= best["upper"]


def test_conditions_are_part_of_every_answer():
    text = " ".join(run("epsilon", *SIZED, "--delta", 1e-6).output.split())
    assert "In every round exactly 1000 users are drawn anew, in secret" in text
    assert "KRR(k=10, eps0=4.0) by cohorts of 1000" in text
    several = " ".join(run("epsilon", *SIZED, "--delta", 1e-6, "--rounds", 2).output.split())
    assert "This does not hold for a cohort that is drawn once and kept" in several
    explained = run("epsilon", *SIZED, "--delta", 1e-6, "--explain").output
    assert "n is public and counts all users" in " ".join(explained.split())


def test_report_names_the_theorem(tmp_path):
    path = tmp_path / "report.md"
    assert run("epsilon", *SIZED, "--delta", 1e-6, "--report", path).exit_code == 0
    text = path.read_text(encoding="utf-8")
    assert "docs/proofs/cohorts.md, Theorem 2" in text
    assert "--cohort 1000" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--n", 50), "--cohort must be at most n, which is 50, got 1000"),
        (("--n", 5000, "--also", "50:2"), "--cohort must be at most n, which is 50, got 1000"),
        (("--n", 5000, "--rate", 0.5), "--rate must be left out with --cohort"),
        (("--n", 5000, "--colluding", 5), "--colluding must be left out with --cohort"),
        (("--n", 5000, "--dropout", 0.1), "--dropout must be left out with --cohort"),
        (("--n", 5000, "--claim", "claim.json"), "--claim needs reports that verify/verify.py"),
    ],
)
def test_refusals(words, message):
    result = run("epsilon", *SENT, "--delta", 1e-6, *words)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_other_refusals():
    assert "cohort must be an integer" in run("delta", *SIZED, "--eps", 1, "--cohort", 0).output
    assert "whose size decides" in run("users", *SENT, "--error", 0.01).output
    protocol = run("epsilon", "any", "--eps0", 4, "--n", 100, "--delta", 1e-6, "--cohort", 5)
    assert "--cohort must be left out: it needs a named mechanism" in " ".join(
        protocol.output.split()
    )


def test_check_and_curve():
    text = run("check", *SIZED, "--eps", 0.2, "--delta", 1e-6).output
    assert "PROVEN" in text
    rows = run("curve", *SENT, "--delta", 1e-6, "--start", 2000, "--stop", 9000, "--points", 2)
    assert rows.exit_code == 0
    assert "cohort(krr(k=10), 1000)" in rows.output
