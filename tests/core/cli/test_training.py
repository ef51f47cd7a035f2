"""Training with random allocation on the command line, against the library and closed forms."""

import json
import math

import mpmath as mp
import pytest
from commands import answer, run, succeed

import shufflebounds as sb
from shufflebounds.cli.parameters import TRAINING
from shufflebounds.core.enclosure import PrecisionError
from shufflebounds.questions.training import Training

EPOCH = ("--protocol", "random_allocation", "--noise-multiplier", 2, "--steps", 100)


def gaussian_delta(sigma, eps):
    """Return δ(ε) of the Gaussian mechanism of sensitivity 1 (Balle and Wang 2018)."""
    with mp.workdps(40):
        tau, eps = 1 / mp.mpf(sigma), mp.mpf(eps)
        return mp.ncdf(tau / 2 - eps / tau) - mp.exp(eps) * mp.ncdf(-tau / 2 - eps / tau)


def test_answers_are_those_of_the_library():
    epoch = sb.RandomAllocation(2.0)
    eps = sb.epsilon(epoch, n=100, delta=1e-6)
    for name in ("best", "lower"):
        ends = answer("epsilon", *EPOCH, "--delta", 1e-6)[name]
        assert ends == {"lower": eps.lower, "upper": eps.upper}
    delta = sb.delta(epoch, eps=0.1, n=100)
    ends = answer("delta", *EPOCH, "--eps", 0.1)["best"]
    assert ends == {"lower": delta.lower, "upper": delta.upper}
    noise = sb.smallest_noise_multiplier(1.0, 1e-5, steps=50)
    reply = answer("noise", "--steps", 50, "--eps", 1, "--delta", 1e-5)
    assert reply["best"] == {"lower": noise.lower, "upper": noise.upper}
    assert reply["parameters"] == {"steps": 50, "epochs": 1}


def test_epochs_are_counted():
    """Epochs of a single step are a Gaussian mechanism, whether or not the steps are known."""
    one_step = ("--protocol", "random-allocation", "--noise-multiplier", 2, "--steps", 1)
    printed = " ".join(succeed("epsilon", *one_step, "--epochs", 4, "--delta", 1e-3).stdout.split())
    claimed, remains = (
        float(printed.partition(before)[2].split()[0].rstrip("."))
        for before in ("You can claim epsilon = ", "would join, epsilon = ")
    )
    for eps in (claimed, remains):
        assert gaussian_delta(1.0, eps) <= 1e-3 <= gaussian_delta(1.0, eps / 1.02)


@pytest.mark.parametrize("epochs", [1, 7, 1000])
def test_known_steps_leave_a_gaussian_mechanism(epochs):
    training = Training(2.0, 100, epochs)
    sigma = mp.mpf(2) / mp.sqrt(epochs)
    eps = training.epsilon_without_secret(1e-6)
    assert gaussian_delta(sigma, eps) <= 1e-6 <= gaussian_delta(sigma, eps * (1.0 - 1e-6))
    delta = gaussian_delta(sigma, 3.0)
    assert delta <= training.delta_without_secret(3.0) <= delta * (1 + mp.mpf(1e-6))


def test_answers_say_what_is_assumed():
    for words in (
        ["epsilon", *EPOCH, "--delta", 1e-6],
        ["delta", *EPOCH, "--eps", 0.1],
        ["noise", "--steps", 100, "--eps", 2, "--delta", 1e-4],
    ):
        printed = " ".join(succeed(*words).stdout.split())
        assert "step = rng.integers(100, size=N)" in printed
        assert "fixed-size batches of a shuffled dataset are not covered" in printed
        assert "added or removed" in printed
        explained = " ".join(succeed(*words, "--explain").stdout.split())
        assert "Replacing an example is removing one and adding one" in explained
        assert "same unit vector" in explained or words[0] == "noise"
        assert len(answer(*words)["notes"]) == 3


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--n", 1], "--steps"),
        (["--k-joint", 2], "a single step"),
        (["--rate", 0.5], "Poisson subsampling"),
        (["--colluding", 3], "no cover"),
        (["--rounds", 2], "--epochs"),
        (["--eps0", 1], "no eps0"),
        (["--also", "3:4"], "sb.compose"),
        (["--part", "krr k=2"], "Gaussian noise"),
        (["--claim", "claim.json"], "verify/verify.py"),
        (["--report", "page.md"], "docs/random-allocation.md"),
    ],
)
def test_options_of_other_questions_are_refused(options, reason):
    result = run("epsilon", *EPOCH, "--delta", 1e-6, *options)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {options[0]} must be left out: ")
    assert reason in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--steps", 0], "steps must be an integer from 1 to 1e15, got 0"),
        (["--epochs", 0], "epochs must be an integer from 1 to 1000000, got 0"),
        (["--noise-multiplier", 0.1], "noise_multiplier must be a number from 0.2 to 1000"),
        (["--k", 3], "--k is not an option of random_allocation"),
        (["--delta", 1], "1e-300 <= delta < 1"),
    ],
)
def test_bad_values_are_named(words, sentence):
    result = run("epsilon", *EPOCH, "--delta", 1e-6, *words)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_bad_values_of_a_search_are_named():
    result = run("noise", "--steps", 0, "--eps", 1, "--delta", 1e-6)
    assert "steps must be an integer" in result.stderr
    result = run("noise", "--steps", 10, "--eps", 0, "--delta", 1e-6)
    assert "--eps must be an epsilon above 0, got 0" in result.stderr


def test_missing_options_are_named():
    named = ("--protocol", "random_allocation", "--steps", 10, "--delta", 1e-6)
    assert (
        "Missing option '--noise-multiplier' of random_allocation" in run("epsilon", *named).stderr
    )
    unnamed = run("epsilon", "--n", 9, "--delta", 1e-6, "--noise-multiplier", 1).stderr
    assert "'random_allocation', to which --noise-multiplier belongs" in unnamed
    assert "'MECHANISM', such as krr" in run("epsilon", "--n", 9, "--delta", 1e-6).stderr
    assert "'--n'" in run("epsilon", "--mechanism", "blh", "--eps0", 1, "--delta", 1e-6).stderr
    assert "'--n'" in run("delta", "--protocol", "dump", "--domain-size", 5, "--eps", 1).stderr


def test_an_epsilon_that_protects_no_example_is_called_so():
    weak = ("--protocol", TRAINING, "--noise-multiplier", 0.2, "--steps", 2, "--delta", 1e-6)
    assert "protects nobody" in succeed("epsilon", *weak).stdout
    assert "protects nobody" not in succeed("epsilon", *EPOCH, "--delta", 1e-6).stdout


def test_an_answer_that_is_too_wide_is_printed_with_exit_code_3(monkeypatch):
    def too_wide(*_):
        raise PrecisionError("known only to lie in [1, 2]", sb.Enclosure(1.0, 2.0))

    monkeypatch.setattr(Training, "epsilon", too_wide)
    result = run("epsilon", *EPOCH, "--delta", 1e-6)
    assert result.exit_code == 3
    assert "You can claim epsilon = 2. " in result.stdout
    assert "known only to lie in [1, 2]" in result.stderr
    reply = json.loads(run("epsilon", *EPOCH, "--delta", 1e-6, "--json").stdout)
    assert not reply["precise"]


def test_an_open_search_claims_nothing(monkeypatch):
    def unknown(*_, **__):
        raise PrecisionError("known only to lie in [1, inf]", sb.Enclosure(1.0, math.inf))

    monkeypatch.setattr("shufflebounds.cli.training.smallest_noise_multiplier", unknown)
    result = run("noise", "--steps", 100, "--eps", 1, "--delta", 1e-6)
    assert result.exit_code == 3
    assert "No noise multiplier is known to be enough." in result.stdout


def test_training_is_explained_beside_protocols():
    text = " ".join(succeed("mechanisms", TRAINING).stdout.split())
    assert "step = rng.integers(steps, size=N)" in text
    assert "--noise-multiplier … --steps … --delta …" in text
    assert "--n …" not in text
    assert TRAINING in succeed("mechanisms").stdout
    shown = succeed("epsilon", "--protocol", TRAINING, "-h").stdout
    assert f"Parameters of {TRAINING}:" in shown
    assert "--steps INT, required" in shown


@pytest.mark.parametrize("command", ["check", "risk", "users"])
def test_other_questions_say_which_commands_answer_about_training(command):
    result = run(command, "--protocol", TRAINING, "--noise-multiplier", 1, "--steps", 100)
    assert result.exit_code == 2
    assert f"only epsilon, delta and noise answer about {TRAINING}" in result.stderr
