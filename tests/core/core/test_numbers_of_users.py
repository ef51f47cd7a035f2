"""Numbers of users that are whole, whatever their type."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import shufflebounds as sb
from shufflebounds.core import validation
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.messages import BinarySum

KRR = sb.KRR(4, 1.0).blanket()
QUESTIONS = [
    lambda n: sb.epsilon(KRR, n, 1e-3),
    lambda n: sb.delta(KRR, 0.5, n),
    lambda n: sb.epsilon(KRR, n, 1e-3, rounds=2),
    lambda n: sb.compose([(KRR, n, 2)]).epsilon(1e-3),
    lambda n: sb.advantage(KRR, n),
    lambda n: sb.largest_eps0(lambda eps0: sb.KRR(4, eps0).blanket(), eps=0.5, delta=1e-3, n=n),
    lambda n: sb.most_rounds(KRR, eps=5.0, delta=1e-3, n=n),
    lambda n: sb.worst_epsilon({"all": KRR}, n, 1e-3),
    lambda n: Setting(n=n).n,
    lambda n: BinarySum(0.25).draws(n),
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_whole_float_is_a_number_of_users(question):
    assert question(1e2) == question(100)


@pytest.mark.parametrize(
    "n", [1e5, np.float64(1e5), np.float32(1e5), np.int64(10**5), np.uint32(10**5), Fraction(10**5)]
)
def test_every_type_of_number_that_is_whole_will_do(n):
    found = validation.users(n)
    assert found == 100_000
    assert type(found) is int


def test_several_numbers_of_users_may_be_floats():
    found = sb.epsilon(KRR, np.array([1e2, 1e3]), 1e-3)
    alone = sb.epsilon(KRR, [100, 1000], 1e-3)
    np.testing.assert_array_equal(found.upper, alone.upper)
