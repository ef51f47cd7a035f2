"""A mechanism's answer is never worse than its blanket's, and the command line says the same."""

import math
from fractions import Fraction

import numpy as np
import pytest
from commands import answer

import shufflebounds as sb

RARE = [[1.0 - 1e-6, 1e-6], [1e-6, 1.0 - 1e-6]]
MECHANISMS = {
    "rare bit": (sb.Subsampled(sb.KRR(2, 2.5), 1e-5), ("--eps0", 2.5, "--k", 2, "--rate", 1e-5)),
    "rare value": (sb.Subsampled(sb.KRR(10, 5.0), 1e-2), ("--eps0", 5, "--k", 10, "--rate", 1e-2)),
    "bit": (sb.KRR(2, 1.0), ("--eps0", 1, "--k", 2)),
    "matrix": (sb.MatrixRandomizer(RARE), None),
}
# Relative widths that are promised: of ε and δ for one round, and for several.
WIDTHS = {("epsilon", True): 1e-4, ("delta", True): 1e-4, ("epsilon", False): 1e-3}
WIDTHS["delta", False] = 0.05


@pytest.mark.parametrize(("quantity", "at"), [("epsilon", 1e-4), ("delta", 0.5)])
@pytest.mark.parametrize(("n", "rounds"), [(1, 1), (1, 5), (1, 100), (2, 1), (2, 5)])
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_is_no_worse_than_its_blanket(name, n, rounds, quantity, at):
    mechanism, options = MECHANISMS[name]

    def ask(subject):
        try:
            if quantity == "epsilon":
                return sb.epsilon(subject, n, at, rounds=rounds)
            return sb.delta(subject, at, n, rounds=rounds)
        except sb.PrecisionError as error:
            return error.enclosure

    best, blanket = ask(mechanism), ask(mechanism.blanket())
    room = 1.0 + WIDTHS[quantity, rounds == 1]
    assert best.lower <= blanket.upper
    assert best.upper <= blanket.upper * room
    ledger = sb.ShuffleAccountant().compose(mechanism, n, rounds)
    assert getattr(ledger, f"get_{quantity}")(at) <= blanket.upper * room
    # The command line asks for all bounds, which takes longer.
    if options and rounds != 5:
        target = "--delta" if quantity == "epsilon" else "--eps"
        common = ("--mechanism", "krr", *options, "--n", n, "--rounds", rounds, target, at)
        reply = answer(quantity, *common)
        printed = reply.get("best") or reply["blanket"]
        assert printed["upper"] == pytest.approx(best.upper, rel=room - 1.0, abs=1e-290)


@pytest.mark.parametrize("rounds", [5, 20, 100])
def test_rare_losses_of_a_lone_user_add_up_as_by_hand(rounds):
    """The number of rounds with a report is binomial, and a bit that was sent tells at most ε₀."""
    eps0, rate, eps = 2.5, 1e-5, 1.0
    truth = math.exp(eps0) / (1.0 + math.exp(eps0)), 1.0 / (1.0 + math.exp(eps0))
    delta = 0.0
    for sent in range(8):
        mass = math.comb(rounds, sent) * rate**sent * (1.0 - rate) ** (rounds - sent)
        for right in range(sent + 1):
            ways, wrong = math.comb(sent, right), sent - right
            p = truth[0] ** right * truth[1] ** wrong
            q = truth[1] ** right * truth[0] ** wrong
            delta += mass * ways * max(p - math.exp(eps) * q, 0.0)
    found = sb.delta(sb.Subsampled(sb.KRR(2, eps0), rate), eps, 1, rounds=rounds)
    assert found.lower <= delta * (1.0 + 1e-9)
    assert delta * (1.0 - 1e-9) <= found.upper <= delta * 1.05


def test_rare_losses_of_few_users_have_a_lattice_that_reaches_them():
    """Their standard deviation is hundreds of times that of the normal losses with the same D."""
    blanket = sb.Subsampled(sb.OUE(2.5), 1e-5).blanket()
    assert sb.epsilon(blanket, 10, 1e-4, rounds=100).relative_width <= 1e-3


def test_epsilon_of_a_lone_user_is_the_root_of_a_finite_sum():
    """D(ε) = (e^ε₀ − e^ε)/(e^ε₀ + k − 1) of k-ary randomized response, with e^ε₀ a fraction."""
    odds, k = Fraction(10001, 10000), 4
    mechanism = sb.KRR(k, math.log(odds))
    largest = (odds - 1) / (odds + k - 1)
    for share in (1e-9, 1e-6, 0.1, 0.9):
        delta = float(largest * (1 - Fraction(share)))
        root = math.log1p(float(odds - 1 - Fraction(delta) * (odds + k - 1)))
        found = sb.epsilon(mechanism, 1, delta)
        # The masses are known to some 10⁻¹⁶, and with them the root.
        assert found.lower - 4e-15 <= root <= found.upper + 4e-15
        assert found.upper - found.lower <= 1e-4 * root + 1e-13
    many = sb.epsilon(mechanism, 1, np.array([float(largest) * (1 - 1e-9), float(largest) / 2]))
    assert many.upper[0] < 1e-12
