"""Every answer on reports says which ε₀ remains if the shuffler fails."""

import math
import shlex

import pytest
from commands import answer, succeed
from scipy.special import ndtr

KRR = "--mechanism krr --k 4"
TARGET = "--eps 0.5 --delta 1e-6"


@pytest.mark.parametrize(
    ("asked", "remains"),
    [
        (f"epsilon {KRR} --eps0 2 --n 1000 --delta 1e-6", "eps0 = 2 remains."),
        (
            f"epsilon {KRR} --eps0 0.3 --n 1000 --delta 1e-6 --rounds 2 --also 500:3",
            "eps0 = 0.3 per round, 1.5 over all 5 rounds.",
        ),
        (f"delta {KRR} --eps0 2 --n 1000 --eps 0.5 --k-joint 2", "eps0 = 2 remains."),
        (
            "epsilon --mechanism joint --part 'krr k=3' --eps0 2 --n 1000 --delta 1e-6",
            "eps0 = 2 remains.",
        ),
        (f"users {KRR} --eps0 2 {TARGET}", "eps0 = 2 remains."),
        # Of one round at ε₀ = 2; two are not enough for the target.
        (f"rounds {KRR} --eps0 2 --n 100 {TARGET}", "eps0 = 2 per round."),
    ],
)
def test_what_remains_without_the_shuffler(asked, remains):
    text = succeed(*shlex.split(asked)).stdout
    assert f"If the shuffler fails, {remains} " in f"{' '.join(text.split())} "


@pytest.mark.parametrize(
    ("asked", "reports", "delta", "over"),
    [
        ("epsilon --n 1000 --delta 1e-6", 1, "1e-06", ""),
        ("epsilon --n 1000 --delta 1e-6 --rate 0.5", 1, "1e-06", ""),
        ("epsilon --n 1000 --delta 1e-5 --rounds 3", 3, "1e-05", " over all 3 rounds"),
        ("users --eps 0.1 --delta 1e-6", 1, "1e-06", ""),
        ("delta --n 1000 --eps 0.07", 1, None, ""),
    ],
)
def test_gaussian_reports_are_private_at_the_same_delta(asked, reports, delta, over):
    """They have no ε₀; what remains is that of the analytic Gaussian mechanism, rounded up."""
    name, *options = asked.split()
    mechanism = ("--mechanism", "gaussian", "--sigma", "3", "--cells", "60")
    (line,) = lines(succeed(name, *mechanism, *options).stdout)
    words = line.split()
    shown = delta or words[6]
    assert line == f"epsilon = {words[2]} at delta = {shown} remains{over}."
    eps, tau = float(words[2]), math.sqrt(reports) / 3
    for x, sign in ((eps, -1), (0.999 * eps, 1)):
        exact = ndtr(tau / 2 - x / tau) - math.exp(x) * ndtr(-tau / 2 - x / tau)
        assert sign * exact > sign * float(shown)


def test_the_answer_is_what_remains():
    """Of the largest ε₀, rounded up, and of the most rounds."""
    asked = (*KRR.split(), "--n", "1000", *TARGET.split())
    largest = answer("eps0", *asked)["best"]["lower"]
    (line,) = lines(succeed("eps0", *asked).stdout)
    shown = float(line.split()[2])
    assert largest <= shown <= 1.001 * largest
    most = answer("rounds", *asked, "--eps0", "0.3")["best"]["lower"]
    (line,) = lines(succeed("rounds", *asked, "--eps0", "0.3").stdout)
    assert line.endswith(f"over all {most} rounds.")


def test_nothing_remains_of_messages_of_protocols():
    """Most of them have no ε₀."""
    asked = ("--protocol", "balls_into_bins", "--bins", "16", "--n", "1000", "--delta", "1e-6")
    assert lines(succeed("epsilon", *asked).stdout) == ["nothing protects a user's value."]


def lines(text):
    """The ends of the paragraphs that say what remains."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    return [end for p in paragraphs for end in p.split("If the shuffler fails, ")[1:]]
