"""A budget of work: what is refused says what holds, and nothing of it is remembered."""

import math
import os
import pickle

import numpy as np
import pytest
from engines import overlap

import shufflebounds as sb
from shufflebounds import Enclosure, PrecisionError
from shufflebounds.core import work
from shufflebounds.core.enclosure import WorkError, reached

# Of each kind of question; `make fuzz` asks many.
CASES = 1 + int(os.environ.get("FUZZ", "1"))


@pytest.fixture
def little(monkeypatch):
    """So little that most questions are refused."""
    monkeypatch.setattr(work, "BUDGET", 2e7)
    monkeypatch.setattr(work, "RESERVE", 1e6)


def test_questions_within_a_question_share_its_budget():
    work.spend(1e30)  # nobody asked

    @work.limited
    def inner():
        work.spend(0.6 * work.BUDGET)

    @work.limited
    def outer():
        inner()
        with work.budget(work.RESERVE):
            work.spend(0.5 * work.RESERVE)
        with work.enclosed_so_far(lambda: Enclosure(1, 2)):
            inner()

    with pytest.raises(PrecisionError, match=r"outer is known only to lie in \[1, 2\].*would help"):
        outer()
    inner()


def test_only_the_public_question_takes_what_a_refused_step_knows():
    """A step between it and the engines would take a value for an answer that depends on others."""

    def step():
        raise WorkError("too much", Enclosure(0, 1))

    with pytest.raises(WorkError):
        reached(step)
    with pytest.raises(PrecisionError) as raised:
        work.limited(lambda: reached(step))()
    assert not isinstance(raised.value, WorkError)
    assert raised.value.enclosure == Enclosure(0, 1)
    copy = pickle.loads(pickle.dumps(WorkError("too much", Enclosure(0, 1))))
    assert (str(copy), copy.enclosure) == ("too much", Enclosure(0, 1))


def test_arrays_have_a_budget_for_every_point(little):
    blanket = sb.KRR(10, 4.0).blanket()
    found = sb.epsilon(blanket, np.geomspace(1e3, 1e6, 40).astype(int), 1e-6)
    assert found.relative_width.max() <= 1e-4


def test_what_is_refused_has_ends_of_all_points(little):
    """Two nearly equal laws, at a δ that the rounding of their masses cannot tell from D(0)."""
    a, b = [0.7056932884988718, 0.29430671150112814], [0.7056932904542464, 0.2943067095457535]
    alike = sb.Decomposition(a, b, [0.0007056932884988718, 0.0002943067095457535])
    with pytest.raises(PrecisionError) as raised:
        sb.epsilon(alike, 2, np.array([1.9547991581526095e-9, 1.954799160107408e-9]))
    ends, loss = raised.value.enclosure, math.log(a[1] / b[1])
    assert (ends.lower.tolist(), ends.upper.tolist()) == ([0.0] * 2, pytest.approx([loss] * 2))
    with pytest.raises(PrecisionError) as raised:
        sb.delta(alike, np.array([1e-12, 2e-12]), 2, rtol=1e-9)
    ends, largest = raised.value.enclosure, 1.9548e-9  # D(0), rounded up
    assert len(ends) == 2
    assert all(0.0 <= x.lower <= min(x.upper, largest) <= x.upper <= 1.0 for x in ends)


QUESTIONS = {
    "rounds": lambda R, n: sb.epsilon(R, n, 1e-6, rounds=7),
    "delta of rounds": lambda R, n: sb.delta(R, 0.4, n, rounds=3),
    "blanket": lambda R, n: sb.epsilon(next(iter(R.blankets().values())), n, 1e-8, rounds=50),
    "mechanism": lambda R, n: sb.epsilon(R, n, 1e-6),
    "renyi": lambda R, n: sb.renyi(R, n, 6.0),
    "fewest": lambda R, n: sb.fewest_users(R, 0.5, 1e-6),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("seed", range(CASES))
def test_what_is_refused_holds_and_is_forgotten(question, seed, monkeypatch):
    rng = np.random.default_rng([seed, len(question)])
    rows = rng.dirichlet(np.full(3, rng.choice([0.1, 1.0, 10.0])), size=2 + seed % 2)
    rows = np.where(rows < 1e-12, 0.0, rows)
    randomizer = sb.MatrixRandomizer(rows / rows.sum(axis=1, keepdims=True))
    n = int(rng.choice([1, 30, 1000, 10**6]))

    def ask(budget: float) -> tuple[Enclosure, bool]:
        with monkeypatch.context() as patch:
            patch.setattr(work, "BUDGET", budget)
            try:
                return QUESTIONS[question](randomizer, n), True
            except PrecisionError as error:
                return error.enclosure, False

    hasty, _ = ask(10.0 ** rng.uniform(6.0, 8.0))
    whole, answered = ask(1e8)
    assert not answered or ask(1e8) == (whole, True)
    assert overlap(hasty, whole)
    assert not math.isnan(hasty.lower + hasty.upper)


def test_a_month_of_eight_attributes_ends_within_the_budget():
    """Its rare losses decide, and lie where nodes for normal ones are few.

    δ so far out is that of one of them, where normal losses would have 10⁻²⁶⁴.
    """
    pair = sb.Joint([sb.KRR(k=256, eps0=2.0)] * 8).dataset_pair()
    with work.budget(work.BUDGET) as purse:
        found = reached(lambda: sb.epsilon(pair, n=2 * 10**6, delta=1e-8, rounds=30))
    assert found.relative_width <= 3e-3
    assert purse.remaining > 0.0
    with work.budget(work.BUDGET) as purse:
        far = reached(lambda: sb.delta(pair, eps=0.3, n=2 * 10**6, rounds=30))
    # More rounds tell no less than one.
    assert far.upper >= sb.delta(pair, eps=0.3, n=2 * 10**6).lower > 0.0
    assert far.relative_width <= 0.1
    assert purse.remaining > 0.0


def test_the_largest_loss_of_one_dataset_pair_is_no_end_of_the_mechanism(monkeypatch):
    """The pair that is tried first never has a loss above log 6; another one has log 1000."""
    third = 1e-8
    rows = [[0.6, 0.4 - 1e-5, 1e-5], [0.1, 0.9 - 1e-5, 1e-5], [0.6, 0.4 - third, third]]
    R = sb.MatrixRandomizer(rows)
    truth = sb.epsilon(R, n=3, delta=1e-9)
    monkeypatch.setattr(work, "BUDGET", 1.0)
    for ask in (sb.epsilon, sb.mechanism_epsilon):
        with pytest.raises(PrecisionError) as raised:
            ask(R, n=3, delta=1e-9)
        assert overlap(raised.value.enclosure, truth)
