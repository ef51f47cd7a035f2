"""The ledger with the names of dp_accounting."""

import math

import pytest

import shufflebounds as sb
from shufflebounds.protocols.messages import BallsIntoBins
from shufflebounds.questions.composed import ANY_N

KRR = sb.KRR(10, 2.0).blanket()
OTHER = sb.RAPPOR(1.0).blanket()


def test_a_round_a_day_is_a_month():
    accountant = sb.ShuffleAccountant()
    for _ in range(30):
        assert accountant.compose(sb.KRR(10, 2.0).blanket(), 10**5) is accountant
    whole = sb.compose([(KRR, 10**5, 30)])
    assert accountant.get_epsilon(1e-6) == whole.epsilon(1e-6).upper
    assert accountant.get_epsilon(target_delta=1e-6) == accountant.get_epsilon(1e-6)
    alone = sb.compose([(KRR, 10**5, 30)]).delta(0.1)
    assert accountant.get_delta(target_epsilon=0.1) == alone.upper
    assert [one.times for one in accountant.composed.schedule.phases] == [30]


def test_rounds_differ_by_law_and_by_users():
    accountant = sb.ShuffleAccountant().compose(KRR, 10**4, 5).compose(OTHER, 10**4, rounds=2)
    accountant.compose(KRR, 10**5).compose(OTHER, 10**4)
    assert [one.times for one in accountant.composed.schedule.phases] == [5, 3, 1]
    expected = sb.compose([(KRR, 10**4, 5), (OTHER, 10**4, 3), (KRR, 10**5, 1)])
    assert accountant.get_epsilon(1e-6) == expected.epsilon(1e-6).upper


def test_nothing_is_spent_at_first():
    accountant = sb.ShuffleAccountant()
    assert accountant.get_epsilon(1e-6) == accountant.get_delta(0.0) == 0.0
    with pytest.raises(ValueError, match="composed must have rounds, got none yet: compose adds"):
        _ = accountant.composed


def test_a_randomizer_is_one_kind_of_rounds_however_often_it_comes():
    accountant = sb.ShuffleAccountant().compose(sb.KRR(3, 1.0), 100, 2)
    accountant.compose(sb.KRR(3, 1.0), 100).compose(sb.KRR(3, 0.5).blanket(), 100)
    whole = sb.compose([(sb.KRR(3, 1.0), 100, 3), (sb.KRR(3, 0.5).blanket(), 100, 1)])
    found, wanted = (
        [(x.draws, x.times, x.source.key) for x in composed.schedule.shuffles(ANY_N)]
        for composed in (accountant.composed, whole)
    )
    assert found == wanted


def test_no_epsilon_holds_below_the_probability_of_a_report_that_gives_a_value_away():
    """The victim's bins are missed by all n·m blankets with probability (1 − 1/4)^{nm}."""
    protocol = BallsIntoBins(bins=4)
    rounds = (protocol.decomposition(), protocol.draws(10), 2)
    accountant = sb.ShuffleAccountant().compose(*rounds)
    assert accountant.get_epsilon(1e-6) == sb.compose([rounds]).epsilon(1e-6).lower == math.inf
    assert accountant.get_epsilon(0.5) < math.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.compose(KRR, 0), "n must be an integer from 1 to 1e15, got 0"),
        (lambda one: one.compose(KRR, 10, 0), "rounds must be an integer from 1 to 1000000, got 0"),
        (lambda one: one.compose("krr", 10), "must be a Decomposition"),
        (
            lambda one: one.compose(KRR, 10, 10**6),
            "rounds must be an integer from 1 to 1000000, got 1000001",
        ),
        (lambda one: one.compose(OTHER, 10, 10**6), "rounds, all added up, must be an integer"),
        (lambda one: one.get_epsilon(1.0), "delta must be"),
        (lambda one: one.get_delta(-1.0), "eps must be"),
    ],
)
def test_bad_arguments_leave_the_ledger_alone(call, message):
    accountant = sb.ShuffleAccountant().compose(KRR, 10)
    with pytest.raises(ValueError, match=message):
        call(accountant)
    assert [one.times for one in accountant.composed.schedule.phases] == [1]
