"""Training on the command line: every scheme, against the library, closed forms and the spec."""

import json
import math

import mpmath as mp
import pytest
from commands import answer, run, succeed

import shufflebounds as sb
from shufflebounds.core.enclosure import PrecisionError
from shufflebounds.protocols.allocation import RandomAllocation
from shufflebounds.questions.plan import Plan

EPOCH = ("random_allocation", "--noise-multiplier", 2, "--steps", 100)
# The options of each scheme, the same in Python, and words of what is assumed.
SCHEMES = {
    "allocation": (("random_allocation",), sb.RandomAllocation, {}, "drawn anew in every epoch"),
    "replacement": (
        ("random_allocation", "--neighbours", "replace"),
        sb.RandomAllocation,
        {"neighbours": "replace"},
        "one example replaced",
    ),
    "kept": (
        ("random_allocation", "--bins", "kept"),
        sb.RandomAllocation,
        {"bins": "kept"},
        "kept in all epochs",
    ),
    "partial": (
        ("random_allocation", "--first-steps", 5),
        sb.RandomAllocation,
        {"first_steps": 5},
        "one step of an epoch",
    ),
    "selected": (
        ("random_allocation", "--selected", 2),
        sb.RandomAllocation,
        {"selected": 2},
        "2 steps of an epoch",
    ),
    "Poisson": (
        ("poisson_sampling", "--rate", 0.1),
        sb.PoissonSampling,
        {"rate": 0.1},
        "joins every step with the given probability",
    ),
    "full": (
        ("poisson_sampling", "--rate", 1, "--neighbours", "replace"),
        sb.PoissonSampling,
        {"rate": 1.0, "neighbours": "replace"},
        "joins every step with the given probability",
    ),
    "batches": (("shuffled_batches",), sb.ShuffledBatches, {}, "batches of one size"),
    "zero-out": (
        ("shuffled_batches", "--neighbours", "zero-out"),
        sb.ShuffledBatches,
        {"neighbours": "zero-out"},
        "gradients set to 0",
    ),
}
STEPS = 10
SIGMA = 4.0
DELTA = 1e-4


def subject(name, sigma=SIGMA):
    _, make, settings, _ = SCHEMES[name]
    return make(sigma, **settings)


def ends(facts):
    return sb.Enclosure(*(math.inf if x is None else x for x in (facts["lower"], facts["upper"])))


# Several epochs of these take longer than all others together.
FAST = ("kept", "Poisson", "full", "batches")


@pytest.mark.parametrize(
    ("name", "epochs"), [*((name, 1) for name in SCHEMES), *((name, 3) for name in FAST)]
)
def test_answers_are_those_of_the_library(name, epochs):
    asked = (*SCHEMES[name][0], "--noise-multiplier", SIGMA, "--steps", STEPS, "--epochs", epochs)
    eps = sb.epsilon(subject(name), STEPS, DELTA, rounds=epochs)
    found = answer("epsilon", *asked, "--delta", DELTA)
    assert found["best"]["upper"] == eps.upper
    # To know the steps of examples can only help an attacker.
    assert eps.upper <= subject(name).epsilon_of_known_steps(STEPS, epochs, DELTA)
    # Fixed-size batches have a lower bound that is computed by itself.
    assert found["best"]["lower"] == pytest.approx(eps.lower, rel=1e-2)
    assert (found["n"], found["rounds"]) == (STEPS, epochs)
    assert found["relation"] == subject(name).relation
    assert "colluding" not in found
    if name == "selected":
        assert "lower" not in found
    else:
        assert found["lower"]["lower"] == pytest.approx(eps.lower, rel=1e-2)
    if epochs == 1:
        delta = sb.delta(subject(name), eps.upper, STEPS)
        assert answer("delta", *asked, "--eps", eps.upper)["best"]["upper"] == delta.upper
        assert delta.lower <= DELTA * (1.0 + 1e-9)


@pytest.mark.parametrize("name", SCHEMES)
def test_check_decides_as_the_ends_of_epsilon_do(name):
    asked = (*SCHEMES[name][0], "--noise-multiplier", SIGMA, "--steps", STEPS, "--delta", DELTA)
    eps = sb.epsilon(subject(name), STEPS, DELTA)
    proven = run("check", *asked, "--eps", eps.upper)
    assert proven.exit_code == 0, proven.output
    assert "the noisy sums of gradients" in " ".join(proven.output.split())
    below = run("check", *asked, "--eps", 0.99 * eps.lower if eps.lower else 0.5 * eps.upper)
    assert below.exit_code == (4 if name == "selected" else 1)


@pytest.mark.parametrize("name", ["replacement", "selected", "full", "zero-out"])
def test_the_risk_is_that_of_the_profile(name):
    asked = (*SCHEMES[name][0], "--noise-multiplier", SIGMA, "--steps", STEPS)
    found = answer("risk", *asked)
    advantage = sb.advantage(subject(name), STEPS)
    assert found["advantage"]["best"]["upper"] == pytest.approx(advantage.upper, rel=2e-2)
    assert found["advantage"]["best"]["upper"] >= advantage.lower
    assert ("lower" in found["advantage"]) == (name != "selected")
    assert "knows all other examples" in " ".join(found["notes"])


@pytest.mark.parametrize("name", SCHEMES)
def test_noise_is_that_of_the_library(name):
    found = answer("noise", *SCHEMES[name][0], "--steps", STEPS, "--eps", 1, "--delta", DELTA)
    try:
        expected = sb.smallest_noise_multiplier(
            1.0, DELTA, steps=STEPS, scheme=lambda sigma: subject(name, sigma)
        )
    except sb.PrecisionError as error:  # Nothing is proven, or known from below, of some schemes.
        expected = error.enclosure
    assert ends(found["best"]) == expected
    assert sb.epsilon(subject(name, expected.upper), STEPS, DELTA).upper <= 1.0


@pytest.mark.parametrize("name", ["kept", "batches"])
def test_epochs_are_those_of_the_library(name):
    asked = (*SCHEMES[name][0], "--noise-multiplier", 8, "--steps", STEPS)
    found = answer("rounds", *asked, "--eps", 0.9, "--delta", 1e-2)
    expected = sb.most_rounds(subject(name, 8.0), 0.9, 1e-2, STEPS)
    assert ends(found["best"]) == expected
    try:
        eps = sb.epsilon(subject(name, 8.0), STEPS, 1e-2, rounds=expected.lower)
    except sb.PrecisionError as error:  # The lower end of several epochs may cost too much.
        eps = error.enclosure
    assert eps.upper <= 0.9


def test_fewest_steps():
    target = ("--eps", 0.5, "--delta", DELTA)
    found = answer("users", "random_allocation", "--noise-multiplier", 2, *target)
    expected = sb.fewest_users(sb.RandomAllocation(2.0), 0.5, DELTA)
    assert ends(found["best"]) == expected
    said = succeed("users", "random_allocation", "--noise-multiplier", 2, *target).stdout
    assert f"{expected.upper} steps are enough." in said
    partial = sb.fewest_users(sb.RandomAllocation(2.0, first_steps=3), 0.5, DELTA)
    assert 3 <= partial.lower <= partial.upper < expected.upper
    refused = run("users", "poisson_sampling", "--rate", 0.1, "--noise-multiplier", 2, *target)
    assert "more steps cost more; ask for the most rounds" in refused.stderr
    batches = answer("users", "shuffled_batches", "--noise-multiplier", 2, *target)
    assert batches["best"]["upper"] is None


# (options, δ, σ, steps, epochs) and ends of the spec, which an independent program confirmed.
NUMBERS = [
    ((), 1e-5, 1, 100, 1, 0.62058, 0.62105, 0.62094),
    (("--neighbours", "replace"), 1e-5, 1, 100, 1, 0.82483, 0.82565, 0.82537),
    (("--first-steps", 50), 1e-5, 1, 100, 1, 0.53451, 0.53504, 0.53488),
    (("--neighbours", "replace"), 1e-5, 2, 100, 1, 0.34195, 0.34295, 0.34255),
    (("--bins", "kept"), 1e-6, 1, 1000, 10, 12.51, 12.52, 12.516),
    (("--neighbours", "replace"), 1e-3, 1, 2, 1, 4.84, 4.85, 4.8452519),
    ((), 1e-5, 2, 2, 1, 1.46, 1.463, 1.4619454),
]


@pytest.mark.parametrize("row", NUMBERS)
def test_numbers_of_the_spec(row):
    options, delta, sigma, steps, epochs, low, high, exact = row
    setting = ("--noise-multiplier", sigma, "--steps", steps, "--epochs", epochs)
    found = ends(
        answer("epsilon", "random_allocation", *options, *setting, "--delta", delta)["best"]
    )
    assert found.lower <= exact <= found.upper
    assert found.lower <= high
    assert found.upper >= low
    assert found.relative_width < 2e-3


def test_fixed_batches_cost_at_least_what_the_spec_says():
    asked = ("shuffled_batches", "--noise-multiplier", 1, "--steps", 100, "--delta", 1e-5)
    replaced = answer("epsilon", *asked)
    assert 5.39 <= replaced["lower"]["lower"] <= 5.3966
    assert 9.9972 <= replaced["best"]["upper"] <= 9.999
    assert replaced["best"]["lower"] == replaced["lower"]["lower"]
    zero = answer("epsilon", *asked, "--neighbours", "zero-out")
    assert 4.06 <= zero["lower"]["lower"] <= 4.0660
    assert 4.3771 <= zero["best"]["upper"] <= 4.378
    poisson = ("poisson_sampling", "--rate", 0.01, "--noise-multiplier", 1, "--steps", 100)
    reported = ends(answer("epsilon", *poisson, "--delta", 1e-5, "--neighbours", "replace")["best"])
    assert reported.lower <= 0.8951
    assert reported.upper >= 0.8901


def gaussian_delta(sigma, eps):
    """Return δ(ε) of the Gaussian mechanism of sensitivity 1 (Balle and Wang 2018)."""
    with mp.workdps(40):
        tau, eps = 1 / mp.mpf(sigma), mp.mpf(eps)
        return mp.ncdf(tau / 2 - eps / tau) - mp.exp(eps) * mp.ncdf(-tau / 2 - eps / tau)


def test_epochs_are_counted():
    """Epochs of a single step are a Gaussian mechanism, whether or not the steps are known."""
    one_step = ("--protocol", "random-allocation", "--noise-multiplier", 2, "--steps", 1)
    printed = " ".join(succeed("epsilon", *one_step, "--epochs", 4, "--delta", 1e-3).stdout.split())
    claimed, remains = (
        float(printed.partition(before)[2].split()[0].rstrip("."))
        for before in ("You can claim epsilon = ", "secrecy of the steps fails, epsilon = ")
    )
    for eps in (claimed, remains):
        assert gaussian_delta(1.0, eps) <= 1e-3 <= gaussian_delta(1.0, eps / 1.02)


@pytest.mark.parametrize("epochs", [1, 7, 1000])
def test_known_steps_leave_a_gaussian_mechanism(epochs):
    eps = sb.RandomAllocation(2.0).epsilon_of_known_steps(100, epochs, 1e-6)
    sigma = mp.mpf(2) / mp.sqrt(epochs)
    assert gaussian_delta(sigma, eps) <= 1e-6 <= gaussian_delta(sigma, eps * (1.0 - 2e-3))


@pytest.mark.parametrize("name", SCHEMES)
def test_answers_and_reports_say_what_is_assumed(name, tmp_path):
    options, _, _, words = SCHEMES[name]
    asked = (*options, "--noise-multiplier", SIGMA, "--steps", STEPS, "--delta", DELTA)
    page = tmp_path / "page.md"
    printed = " ".join(succeed("epsilon", *asked, "--report", page).stdout.split())
    assert words in printed
    assert "If the secrecy of the steps fails, epsilon = " in printed
    text = " ".join(page.read_text("utf-8").split())
    assert "Privacy of noisy sums of gradients: " in text
    assert f"Steps: {STEPS} steps" in text
    for word in ("user", "shuffler"):
        assert word not in text.partition("How to verify")[0], word
    explained = " ".join(succeed("epsilon", *asked, "--explain").stdout.split())
    assert "is not divided by the size of the batch" in explained
    assert "Neighbouring datasets differ by " in explained


def test_kept_bins_are_another_mechanism():
    printed = " ".join(succeed("epsilon", *EPOCH, "--delta", 1e-6).stdout.split())
    assert "step = rng.integers(steps, size=N)" in printed
    assert "fixed-size batches of a shuffled dataset are not covered" in printed
    assert "BallsInBinsSampling of JAX Privacy, are protected less (bins = kept)" in printed
    kept = " ".join(succeed("epsilon", *EPOCH, "--bins", "kept", "--delta", 1e-6).stdout.split())
    assert "BallsInBinsSampling" not in kept


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--n", 1], "--n must be left out: random_allocation has --steps; the number of examples"),
        (["--rounds", 2], "--rounds must be left out: random_allocation has --epochs"),
        (["--k-joint", 2], "it needs a named mechanism"),
        (["--rate", 0.5], "it needs a named mechanism"),
        (["--colluding", 3], "--colluding and --dropout must be left out: other examples provide"),
        (["--dropout", 0.1], "--colluding and --dropout must be left out: other examples provide"),
        (["--eps0", 1], "--noise-multiplier sets the noise of random_allocation"),
        (["--part", "krr k=2"], "joint and parallel have parts, not random_allocation"),
        (["--claim", "claim.json"], "--claim needs reports that verify/verify.py defines"),
        (["--steps", 0], "steps must be an integer from 1 to 1e15, got 0"),
        (["--epochs", 0], "epochs must be an integer from 1 to 1000000, got 0"),
        (["--noise-multiplier", 0], "0.2 <= noise_multiplier <= 1000, got 0"),
        (["--noise-multiplier", -1], "0.2 <= noise_multiplier <= 1000, got -1"),
        (["--neighbours", "swap"], "neighbours must be one of add or remove, replace, zero-out"),
        (["--bins", "keep"], "bins must be one of kept, redrawn, got 'keep'"),
        (["--first-steps", 101], "first_steps must be at most the number of steps of an epoch"),
        (["--selected", 101], "selected must be at most the number of steps of an epoch, 100"),
        (["--k", 3], "--k is not an option of random_allocation"),
        (["--delta", 1], "1e-300 <= delta < 1"),
    ],
)
def test_mistakes_are_one_sentence(options, sentence):
    result = run("epsilon", *EPOCH, "--delta", 1e-6, *options)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--rate", 0], "rate must be a finite number with 0 < rate <= 1, got 0.0"),
        (["--rate", 1.5], "--rate must be a finite number with 0 <= rate <= 1, got 1.5"),
        ([], "Missing option '--rate' of poisson_sampling"),
        (["--rate", 0.1, "--steps", 10**7], "steps must be an integer from 1 to 1000000"),
        (["--rate", 0.1, "--epochs", 10**5], "steps of all epochs must be at most 1000000"),
    ],
)
def test_mistakes_of_poisson_sampling(words, sentence):
    asked = ("poisson_sampling", "--noise-multiplier", 1, "--steps", 100, "--delta", 1e-6)
    result = run("epsilon", *asked, *words)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    for rate in (0.0, 1.5, math.nan):
        with pytest.raises(ValueError, match=r"rate must be a (finite )?number"):
            sb.PoissonSampling(1.0, rate)


def test_questions_that_training_has_no_answer_to():
    result = run("eps0", "random_allocation", "--noise-multiplier", 1, "--steps", 9, *TARGET)
    assert "There is no eps0 to choose: --noise-multiplier sets the noise" in result.stderr
    result = run("renyi", *EPOCH, "--order", 3)
    assert "every Renyi divergence would be; ask epsilon or delta" in result.stderr
    result = run("noise", "krr", "--k", 3, "--n", 9, *TARGET)
    assert "this command is about training" in result.stderr
    result = run("users", *EPOCH, *TARGET)
    assert "--steps must be left out: that is what this command finds" in result.stderr
    result = run("rounds", *EPOCH, "--epochs", 3, *TARGET)
    assert "--epochs must be left out: that is what this command finds" in result.stderr
    result = run("noise", "--steps", 10, "--noise-multiplier", 1, *TARGET)
    assert "that is what this command finds" in result.stderr


TARGET = ("--eps", 1, "--delta", 1e-5)


def test_noise_without_a_name_is_that_of_random_allocation():
    found = answer("noise", "--steps", 50, *TARGET)
    assert found["protocol"] == "random_allocation"
    assert found["parameters"] == {}
    assert ends(found["best"]) == sb.smallest_noise_multiplier(1.0, 1e-5, steps=50)
    printed = " ".join(succeed("noise", "--steps", 50, *TARGET).stdout.split())
    assert "You can train with noise multiplier " in printed
    assert "secrecy of the steps fails, epsilon = " in printed
    result = run("noise", "--steps", 0, *TARGET)
    assert "steps must be an integer" in result.stderr
    result = run("noise", "--steps", 10, "--eps", 0, "--delta", 1e-6)
    assert "--eps must be an epsilon above 0, got 0" in result.stderr


def test_ends_of_the_range_of_noise():
    """The smallest multiplier is enough for a large ε, and none for many steps of full batches."""
    found = answer("noise", "--steps", 10, "--eps", 40, "--delta", 1e-5)
    assert found["best"] == {"lower": 0.0, "upper": 0.2}
    full = ("poisson_sampling", "--rate", 1, "--steps", 10**6, "--eps", 0.1, "--delta", 1e-6)
    printed = " ".join(run("noise", *full).stdout.split())
    assert "Not even a noise multiplier of 1000 is known to be enough." in printed


def test_missing_options_are_named():
    named = ("random_allocation", "--steps", 10, "--delta", 1e-6)
    assert (
        "Missing option '--noise-multiplier' of random_allocation" in run("epsilon", *named).stderr
    )
    named = ("random_allocation", "--noise-multiplier", 1, "--delta", 1e-6)
    assert "Missing option '--steps'." in run("epsilon", *named).stderr
    unnamed = run("epsilon", "--delta", 1e-6, "--noise-multiplier", 1).stderr
    assert "to which --noise-multiplier belongs" in unnamed
    assert "'MECHANISM', such as krr" in run("epsilon", "--n", 9, "--delta", 1e-6).stderr
    assert "'--n'" in run("epsilon", "--mechanism", "blh", "--eps0", 1, "--delta", 1e-6).stderr
    assert "'--n'" in run("delta", "--protocol", "dump", "--domain-size", 5, "--eps", 1).stderr
    result = run("epsilon", "krr", "--k", 3, "--eps0", 1, "--n", 5, "--steps", 7, "--delta", 1e-6)
    assert "--steps is not an option of krr" in result.stderr


def test_an_epsilon_that_protects_no_example_is_called_so():
    weak = ("random_allocation", "--noise-multiplier", 0.2, "--steps", 2, "--delta", 1e-6)
    printed = " ".join(succeed("epsilon", *weak).stdout.split())
    assert "protects nobody: an attacker may be certain whether an example was used" in printed
    assert "protects nobody" not in succeed("epsilon", *EPOCH, "--delta", 1e-6).stdout


def test_an_answer_that_is_too_wide_is_printed_with_exit_code_3(monkeypatch):
    def too_wide(*_, **__):
        raise PrecisionError("known only to lie in [1, 2]", sb.Enclosure(1.0, 2.0))

    monkeypatch.setattr(Plan, "_in_cells", too_wide)
    monkeypatch.setattr("shufflebounds.bounds.divergences.WorkError", PrecisionError)
    result = run("epsilon", *EPOCH, "--delta", 1e-6)
    assert result.exit_code == 3
    assert "You can claim epsilon = 2. " in result.stdout
    assert "known only to lie in [1, 2]" in result.stderr
    assert not json.loads(run("epsilon", *EPOCH, "--delta", 1e-6, "--json").stdout)["precise"]


def test_training_is_explained_among_protocols():
    for name, steps in (("random_allocation", "--steps"), ("poisson_sampling", "--rate")):
        text = " ".join(succeed("mechanisms", name).stdout.split())
        assert "--steps … --delta …" in text
        assert "-n …" not in text
        assert steps in text
        assert name in succeed("mechanisms").stdout
        shown = " ".join(succeed("epsilon", name, "-h").stdout.split())
        assert f"Parameters of {name}:" in shown
        assert "--steps INT, required number of steps of each epoch" in shown
        assert "--epochs INT, optional" in shown
    assert RandomAllocation.NAME == "random_allocation"


def test_further_epochs_have_other_numbers_of_steps():
    asked = ("epsilon", "random_allocation", "--noise-multiplier", 4, "--steps", 10)
    found = answer(*asked, "--also", "20:2", "--delta", 1e-3)
    epoch = sb.RandomAllocation(4.0)
    expected = sb.compose([(epoch, 10, 1), (epoch, 20, 2)]).epsilon(1e-3)
    assert ends(found["best"]) == expected


def test_a_curve_along_the_noise(tmp_path):
    table = tmp_path / "curve.csv"
    grid = ("--x", "noise_multiplier", "--start", 1, "--stop", 2, "--points", 2)
    succeed("curve", "poisson_sampling", "--rate", 0.1, "--steps", 10, *grid, "--delta", DELTA)
    for name in ("allocation", "batches"):
        asked = (*SCHEMES[name][0], "--steps", STEPS, "--delta", DELTA, "-o", table)
        succeed("curve", *asked, *grid)
        from shufflebounds.curves import curve as curves

        frame = curves.read(table)
        rows = frame[frame["bound"] == "best"]
        assert list(rows["noise_multiplier"]) == [1.0, 2.0]
        for sigma, upper in zip(rows["noise_multiplier"], rows["epsilon_upper"], strict=True):
            eps = sb.epsilon(subject(name, sigma), STEPS, DELTA, rtol=1e-4)
            # Bounds in cells are as close as a curve needs them.
            assert eps.lower <= upper <= 1.002 * eps.upper
    missing = run("curve", "random_allocation", "--delta", DELTA)
    assert "noise_multiplier is missing" in missing.stderr
    axis = run("curve", *EPOCH, *grid, "--delta", DELTA)
    assert "must be left out: the curve runs along noise_multiplier" in axis.stderr
