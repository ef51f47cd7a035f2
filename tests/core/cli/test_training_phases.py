"""Phases of training in a file of `account`, against `sb.compose` and dp_accounting."""

import csv
import json

import pytest
from commands import answer, run, succeed

import shufflebounds as sb
from shufflebounds.questions.training_phases import TrainingPhases

FIRST = {"type": "poisson_sampling", "noise_multiplier": 1.1, "rate": 0.01, "steps": 100}
SECOND = {"type": "poisson_sampling", "noise_multiplier": 0.9, "rate": 0.02, "steps": 50}
THIRD = {"type": "random_allocation", "noise_multiplier": 4.0, "steps": 10}
DELTA = 1e-5


@pytest.fixture
def file(tmp_path):
    def write(*phases, **more):
        path = tmp_path / "training.json"
        path.write_text(json.dumps({"phases": list(phases), **more}))
        return path

    return write


def test_phases_are_composed(file, tmp_path):
    path, running = file({**FIRST, "epochs": 2}, SECOND, THIRD), tmp_path / "running.csv"
    found = answer("account", path, "--delta", DELTA, "--running", running)
    rounds = [
        (sb.PoissonSampling(1.1, 0.01), 100, 2),
        (sb.PoissonSampling(0.9, 0.02), 50, 1),
        (sb.RandomAllocation(4.0), 10, 1),
    ]
    expected = [sb.compose(rounds[:i]).epsilon(DELTA) for i in (1, 2, 3)]
    assert [x["so_far"]["upper"] for x in found["phases"]] == [x.upper for x in expected]
    assert found["epsilon"] == {"lower": expected[2].lower, "upper": expected[2].upper}
    assert found["relation"] == "add or remove"
    with running.open() as lines:
        rows = list(csv.DictReader(lines))
    assert [float(row["epsilon_upper"]) for row in rows] == [x.upper for x in expected]
    assert [row["epochs"] for row in rows] == ["2", "1", "1"]


def test_two_phases_agree_with_dp_accounting():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    ends = []
    for is_upper in (False, True):
        settings = {"pessimistic_estimate": is_upper, "value_discretization_interval": 1e-3}
        parts = [
            pld.from_gaussian_mechanism(
                x["noise_multiplier"], sampling_prob=x["rate"], **settings
            ).self_compose(x["steps"])
            for x in (FIRST, SECOND)
        ]
        ends.append(parts[0].compose(parts[1]).get_epsilon_for_delta(DELTA))
    training = TrainingPhases({"phases": [FIRST, SECOND]})
    eps = training.epsilon(DELTA, training.phases)
    assert eps.lower <= ends[1]
    assert eps.upper >= ends[0]
    assert eps.relative_width < 0.01


def test_a_budget_is_judged(file, tmp_path):
    page = tmp_path / "page.md"
    path = file(SECOND)
    eps = sb.epsilon(sb.PoissonSampling(0.9, 0.02), 50, DELTA)
    within = run("account", path, "--delta", DELTA, "--budget", 1.01 * eps.upper, "--report", page)
    assert within.exit_code == 0
    assert "WITHIN the budget" in within.stdout
    assert "every example joins every step with the given probability" in " ".join(
        within.stdout.split()
    )
    text = page.read_text("utf-8")
    assert "Privacy of noisy sums of gradients" in text
    assert "If the secrecy of the steps fails, the noise of each step remains." in text
    beyond = run("account", path, "--delta", DELTA, "--budget", 0.5 * eps.lower)
    assert beyond.exit_code == 1
    assert "BEYOND the budget" in beyond.stdout
    assert "of training, one example added or removed" in " ".join(beyond.stdout.split())


@pytest.mark.parametrize(
    ("phase", "sentence"),
    [
        ({"rate": 0}, "phases[0]: rate must be a finite number with 0 < rate <= 1, got 0"),
        ({"rate": 1.5}, "phases[0]: rate must be a finite number with 0 < rate <= 1, got 1.5"),
        (
            {"noise_multiplier": 0},
            "phases[0]: noise_multiplier must be a finite number with 0.2 <=",
        ),
        ({"noise_multiplier": "a"}, "phases[0]: noise_multiplier must be a finite number"),
        ({"steps": 0}, "phases[0]: steps must be an integer from 1 to 1e15, got 0"),
        ({"epochs": 0.5}, "phases[0]: epochs must be an integer from 1 to 1000000, got 0.5"),
        ({"type": "krr"}, "phases[0].type must be one of poisson_sampling, random_allocation"),
        ({"neighbours": "swap"}, "phases[0]: neighbours must be one of add or remove, replace"),
        ({"sigma": 3}, "phases[0]: sigma is not a parameter of poisson_sampling"),
    ],
)
def test_mistakes_are_one_sentence(phase, sentence, file):
    path = file({**FIRST, **phase})
    result = run("account", path, "--delta", DELTA)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert str(path) in result.stderr
    assert result.stderr.count("\n") == 1


def test_mistakes_of_the_file(file, tmp_path):
    mixed = run("account", file(FIRST, {**THIRD, "neighbours": "replace"}), "--delta", DELTA)
    assert "phases must have one neighbouring relation" in mixed.stderr
    partial = run("account", file({**THIRD, "first_steps": 11}), "--delta", DELTA)
    assert "first_steps must be at most the number of steps of an epoch, 10" in partial.stderr
    missing = run("account", file({"type": "poisson_sampling"}), "--delta", DELTA)
    assert "phases[0].noise_multiplier is missing" in missing.stderr
    more = run("account", file(FIRST, users=7), "--delta", DELTA)
    assert "unknown key 'users'; a file of training has the key phases" in more.stderr
    for content in ({"phases": []}, {"phases": 3}, {"phases": [4]}):
        path = tmp_path / "other.json"
        path.write_text(json.dumps(content))
        assert run("account", path, "--delta", DELTA).exit_code == 2
    refused = run("account", file(FIRST), "--delta", DELTA, "--claim", tmp_path / "c.json")
    assert "--days, --claim and --format must be left out" in refused.stderr


def test_a_yaml_file_is_read(tmp_path):
    pytest.importorskip("yaml")
    path = tmp_path / "training.yaml"
    path.write_text("phases:\n  - {type: shuffled_batches, noise_multiplier: 2, steps: 10}\n")
    expected = sb.epsilon(sb.ShuffledBatches(2.0), 10, DELTA)
    found = json.loads(succeed("account", path, "--delta", DELTA, "--json").stdout)
    assert found["epsilon"]["upper"] == pytest.approx(expected.upper, rel=1e-3)
    assert found["relation"] == "replace"
