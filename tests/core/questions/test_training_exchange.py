"""Schedules of training that other libraries write, against the events and the rounds they mean."""

from types import SimpleNamespace

import pytest

import shufflebounds as sb
from shufflebounds.questions.training_exchange import (
    RandomAllocationDpEvent,
    from_dp_event,
    from_opacus,
    to_dp_event,
)

dp_accounting = pytest.importorskip("dp_accounting")
STEP = dp_accounting.GaussianDpEvent(2.0)
ROUNDS = [
    (sb.PoissonSampling(2.0, 0.01), 1, 300),
    (sb.PoissonSampling(2.0, 1.0), 1, 3),
    (sb.RandomAllocation(2.0, selected=2), 50, 4),
]


def test_events_are_read_and_written():
    event = to_dp_event(ROUNDS)
    sampled, full, allocated = event.events
    assert sampled == dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(0.01, STEP), 300
    )
    assert full == dp_accounting.SelfComposedDpEvent(STEP, 3)
    assert allocated.count == 4
    assert (allocated.event.num_selected, allocated.event.num_steps) == (2, 50)
    assert from_dp_event(event) == ROUNDS
    assert from_dp_event(dp_accounting.SelfComposedDpEvent(full, 5)) == [(*ROUNDS[1][:2], 15)]
    replaced = from_dp_event(RandomAllocationDpEvent(STEP, 1, 10), "replace")
    assert replaced == [(sb.RandomAllocation(2.0, neighbours="replace"), 10, 1)]


def test_events_with_laplace_noise():
    rounds = [
        (sb.PoissonSampling(2.0, 0.01, noise="laplace"), 1, 3),
        (sb.PoissonSampling(2.0, 1.0, noise="laplace"), 1, 3),
        (sb.RandomAllocation(2.0, noise="laplace"), 50, 4),
    ]
    event = to_dp_event(rounds)
    assert event.events[1].event == dp_accounting.LaplaceDpEvent(2.0)
    assert from_dp_event(event) == rounds
    given = sb.RandomAllocation(step=([0.75, 0.25], [0.25, 0.75]))
    with pytest.raises(ValueError, match="rounds must have an event"):
        to_dp_event([(given, 5, 1)])


def test_a_history_of_opacus():
    assert from_opacus([(2.0, 0.01, 300), (2.0, 1.0, 3)]) == ROUNDS[:2]
    assert from_opacus([[2.0, 0.01, 300]], "zero-out")[0][0].relation == "zero-out"


@pytest.mark.parametrize(
    ("read", "sentence"),
    [
        (lambda: from_opacus([(1.0, 0.1)]), "history must hold triples"),
        (lambda: from_opacus([(1.0, 0.0, 5)]), "rate must be a finite number with 0 < rate <= 1"),
        (lambda: from_opacus([(1.0, 0.1, 0)]), "steps must be an integer"),
        (lambda: from_dp_event(dp_accounting.NoOpDpEvent()), "event must consist of"),
        (
            lambda: from_dp_event(dp_accounting.PoissonSampledDpEvent(0.1, SimpleNamespace())),
            "event of a step must be a GaussianDpEvent",
        ),
        (lambda: to_dp_event([(sb.ShuffledBatches(1.0), 5, 1)]), "rounds must have an event"),
    ],
)
def test_bad_values_are_named(read, sentence):
    with pytest.raises(ValueError, match=sentence):
        read()
