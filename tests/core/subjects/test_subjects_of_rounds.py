"""What subjects say of ε₀: never less than it is."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shufflebounds as sb
from shufflebounds.subjects.reports import Reports, source_of
from shufflebounds.subjects.schedule import Phase, Schedule

PHASES = st.lists(st.tuples(st.floats(0.01, 8.0), st.integers(1, 400)), min_size=1, max_size=6)


@given(PHASES, st.integers(1, 50))
def test_eps0_of_different_rounds_is_rounded_up(phases, rounds):
    schedule = Schedule([Phase(Reports(sb.KRR(3, eps0)), 10, times) for eps0, times in phases])
    exact = rounds * sum(Fraction(eps0) * times for eps0, times in phases)
    found = Fraction(schedule.pure_eps(rounds))
    assert exact <= found <= exact * (1 + Fraction(1, 10**14))
    assert Fraction(schedule.eps0) * rounds >= exact


def test_rounds_without_an_eps0_have_none_together():
    gaussian = Phase(Reports(sb.Gaussian(2.0)), 10, 3)
    schedule = Schedule([Phase(Reports(sb.KRR(3, 1.0)), 10, 2), gaussian])
    assert schedule.eps0 is None
    assert schedule.pure_eps(1) == np.inf


@pytest.mark.parametrize("excess", [0.0, 1e-12, 0.1])
def test_no_eps0_is_believed_that_the_matrix_contradicts(excess):
    """A report of k-RR at a larger ε₀ than it says has δ > 0 at the ε₀ that it says."""

    class Boastful(sb.KRR):
        def matrix(self):
            return sb.KRR(self.k, self.eps0 + excess).matrix()

        @property
        def by_matrix(self):
            return sb.MatrixRandomizer(self.matrix()).by_matrix

    randomizer = Boastful(3, 1.0)
    true = 1.0 + excess
    assert source_of(randomizer).eps0 >= true
    assert Reports(randomizer).eps0 >= true
    assert Reports(randomizer).eps0 == pytest.approx(true, rel=1e-13)
