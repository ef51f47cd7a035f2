"""The command `choose` prints what `sb.choose` finds, and nothing that is not certified."""

import dataclasses
import math
import re

import pytest
from commands import answer, succeed

import shufflebounds as sb
from shufflebounds.cli.choose import _choice_facts, _ranking_claim, _remains_of

# Few bits, so that few mechanisms are left to certify.
ASKED = ("--values", "4", "--eps", "0.5", "--delta", "1e-6", "--most-bits", "3")


@pytest.fixture(scope="module")
def answers():
    users = ("--n", "10_000", "--colluding", "1000", "--dropout", "0.5")
    return answer("choose", *ASKED, *users), succeed("choose", *ASKED, *users).stdout


def test_answers_are_those_of_the_library(answers):
    plain, text = answers
    expected = sb.choose(4, n=4000, eps=0.5, delta=1e-6, most_bits=3)
    assert plain["n_reporting"] == 4000
    assert [one["mechanism"] for one in plain["choices"]] == [one.name for one in expected.choices]
    for given, one in zip(plain["choices"], expected.choices, strict=True):
        assert given["eps0"] == {"lower": one.eps0.lower, "upper": one.eps0.upper}
        assert given["mse"]["upper"] == one.error.mse
        assert given["parameters"] == one.parameters
    assert plain["curator"]["mse"] == expected.curator_mse
    best = expected.best
    assert f"Best: krr --k 4 at eps0 = {best.eps0.lower:.6g}"[:36] in text
    assert "Use --explain" in text
    assert "(4000 of them report and do not collude)" in text


def test_a_target_that_only_useless_answers_meet_is_told():
    few = ("--values", "2", "--most-bits", "1", "--n", "10", "--eps", "0.01", "--delta", "1e-6")
    assert "No mechanism here is of use" in succeed("choose", *few).stdout


def test_the_cap_and_the_total_are_those_of_a_round():
    """Two separate shuffles share the cap; what remains without the shuffler is their sum."""
    asked = ("--values", "4", "--attributes", "2", "--most-bits", "4", "--most-eps0", "1")
    asked += ("--n", "10_000", "--eps", "1", "--delta", "1e-8", "--rounds", "3")
    plain, text = answer("choose", *asked), succeed("choose", *asked).stdout
    for choice in plain["choices"]:
        shuffles = 2 if choice["way"] == "separate" else 1
        assert choice["shuffles"] == shuffles
        assert choice["eps0"]["lower"] == pytest.approx(1.0 / shuffles)
        assert choice["eps0_of_round"] == shuffles * choice["eps0"]["lower"] <= 1.0
    assert {choice["way"] for choice in plain["choices"]} == {"separate", "one", "linked"}
    best = plain["choices"][0]["eps0"]["lower"]
    line = f"eps0 = 1 per round, 3 over all 3 rounds; one report .* up to {math.exp(best):.2f}"
    assert re.search(f"If the shuffler fails, {line}", " ".join(text.split()))
    assert "separate (one shuffle for each" in succeed("choose", *asked, "--explain").stdout


def test_ten_mechanisms_are_printed_unless_all_are_wanted():
    asked = ("--values", "4", "--attributes", "2", "--n", "10_000", "--eps", "1", "--delta", "1e-8")
    known = len(answer("choose", *asked)["choices"])
    assert known > 10
    for more, shown in ((), 10), (("--all",), known):
        text = succeed("choose", *asked, *more).stdout
        assert (
            sum(
                bool(re.match(r"  [a-z_]+ .* (separate|one|linked) ", line))
                for line in text.splitlines()
            )
            == shown
        )
        assert (f"Use --all for {known - 10} more." in text) == (shown == 10)
        assert max(map(len, text.splitlines())) <= 80


def test_python_is_told_the_steps():
    steps = []
    sb.choose(2, n=1000, eps=1.0, delta=1e-6, progress=lambda *step: steps.append(step))
    search = [(step, total) for step, total, label in steps if label.startswith("parameters of")]
    proofs = [(step, total) for step, total, label in steps if label.startswith("eps0 of")]
    assert len(search) + len(proofs) == len(steps)
    for part in (search, proofs):
        assert part == [(i, len(part)) for i in range(1, len(part) + 1)]


def test_gaussian_noise_has_no_eps0():
    ranking = sb.choose(None, n=100_000, eps=0.01, delta=1e-6)
    noise = next(choice for choice in ranking.choices if choice.name == "gaussian")
    facts = _choice_facts(noise)
    assert facts["eps0"] is facts["eps0_of_report"] is facts["eps0_of_round"] is None
    task = {"delta": 1e-6, "rounds": 1, "attributes": 1}
    best = _ranking_claim(dataclasses.replace(ranking, choices=(noise,)), task)
    [remains] = _remains_of(noise, task)
    sigma = noise.randomizer.sigma
    assert best[0] == f"Best: gaussian --domain binary --sigma {sigma} after [1]."
    local = float(remains.split()[6])
    assert 0.0 <= local - sb.Gaussian(sigma).local_epsilon(1e-6) < 2e-3
    assert remains.endswith("at delta = 1e-06 remains.")
