"""Schedules of training as other libraries write them: events of dp_accounting, Opacus' history.

Both become rounds that `compose` takes. Events are recognized by their names and fields, so that
reading them does not need dp_accounting.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from shufflebounds.core import validation
from shufflebounds.core.relation import Relation
from shufflebounds.protocols.allocation import REDRAWN, RandomAllocation
from shufflebounds.protocols.training import (
    GAUSSIAN,
    LAPLACE,
    PoissonSampling,
    RandomSteps,
    Training,
)

# Rounds of `compose`: a scheme, the number of steps of an epoch, and the number of epochs.
TrainingRounds = list[tuple[Training, int, int]]


@dataclass(frozen=True)
class RandomAllocationDpEvent:
    """The event of dp_accounting of this name, for releases that lack it: its fields are equal.

    The ``event`` is applied to ``num_selected`` of ``num_steps`` steps, drawn for each example.
    """

    event: Any
    num_selected: int
    num_steps: int


def from_opacus(
    history: Iterable[tuple[float, float, int]], neighbours: str = Relation.ADD_OR_REMOVE.value
) -> TrainingRounds:
    """Return the rounds of the ``history`` of an accountant of Opacus.

    Parameters
    ----------
    history
        Triples (noise multiplier, sampling rate, number of steps), as ``accountant.history`` has.
    neighbours
        How neighbouring datasets differ; Opacus reports ``add or remove``.

    Returns
    -------
    list
        Rounds of Poisson sampling for `compose`. They hold for training with Opacus' Poisson
        sampling only: for its other data loaders, take `ShuffledBatches`.

    Raises
    ------
    ValueError
        For entries that are no such triples, and numbers out of range.

    Examples
    --------
    >>> from shufflebounds.questions.training_exchange import from_opacus
    >>> f"{sb.compose(from_opacus([(1.0, 0.01, 100)])).epsilon(delta=1e-5).upper:.2f}"
    '0.72'
    """
    rounds: TrainingRounds = []
    for entry in history:
        if not isinstance(entry, tuple | list) or len(entry) != 3:
            raise ValueError(
                f"history must hold triples (noise multiplier, sampling rate, steps), got {entry!r}"
            )
        noise, rate, steps = entry
        count = validation.rounds(steps, "steps")
        rounds.append((PoissonSampling(noise, rate, neighbours=neighbours), 1, count))
    return rounds


def from_dp_event(event: Any, neighbours: str = Relation.ADD_OR_REMOVE.value) -> TrainingRounds:
    """Return the rounds that an event of dp_accounting describes.

    Parameters
    ----------
    event
        A ``GaussianDpEvent`` or ``LaplaceDpEvent``, a ``PoissonSampledDpEvent`` or
        `RandomAllocationDpEvent` of one, or a ``SelfComposedDpEvent`` or ``ComposedDpEvent`` of
        such events.
    neighbours
        How neighbouring datasets differ: ``add or remove``, ``replace`` or ``zero-out``.

    Returns
    -------
    list
        Rounds for `compose`.

    Raises
    ------
    ValueError
        For any other event, and numbers out of range.
    """
    match type(event).__name__:
        case "ComposedDpEvent":
            return [x for part in event.events for x in from_dp_event(part, neighbours)]
        case "SelfComposedDpEvent":
            times = validation.rounds(event.count, "count")
            rounds = from_dp_event(event.event, neighbours)
            return [(subject, n, count * times) for subject, n, count in rounds]
        case "GaussianDpEvent" | "LaplaceDpEvent":
            return [(PoissonSampling(rate=1.0, neighbours=neighbours, **_noise(event)), 1, 1)]
        case "PoissonSampledDpEvent":
            settings: Any = {"rate": event.sampling_probability, **_noise(event.event)}
            return [(PoissonSampling(neighbours=neighbours, **settings), 1, 1)]
        case "RandomAllocationDpEvent":
            settings = {"selected": event.num_selected, **_noise(event.event)}
            subject = RandomAllocation(neighbours=neighbours, **settings)
            return [(subject, validation.users(event.num_steps, "num_steps"), 1)]
    raise ValueError(
        "event must consist of steps with Gaussian or Laplace noise, Poisson sampled or randomly "
        f"allocated, got {event!r}"
    )


def to_dp_event(rounds: TrainingRounds) -> Any:
    """Return rounds of Poisson sampling or random allocation as an event of dp_accounting.

    The event does not say how neighbouring datasets differ: ask an accountant of the same relation.

    Raises
    ------
    ValueError
        For schemes that dp_accounting has no event for.
    """
    import dp_accounting

    allocation_event = getattr(dp_accounting, "RandomAllocationDpEvent", RandomAllocationDpEvent)
    events = []
    for subject, n, times in rounds:
        is_laplace = isinstance(subject, RandomSteps) and subject.noise == LAPLACE
        noise = dp_accounting.LaplaceDpEvent if is_laplace else dp_accounting.GaussianDpEvent
        match subject:
            case PoissonSampling(noise_multiplier=scale, rate=rate, step=None):
                event = noise(scale)
                if rate != 1.0:
                    event = dp_accounting.PoissonSampledDpEvent(rate, event)
                events.append(dp_accounting.SelfComposedDpEvent(event, n * times))
            case RandomAllocation(
                noise_multiplier=scale, bins=bins, step=None, first_steps=None, selected=k
            ) if bins == REDRAWN:
                epoch = allocation_event(noise(scale), k, n)
                events.append(dp_accounting.SelfComposedDpEvent(epoch, times))
            case _:
                raise ValueError(f"rounds must have an event of dp_accounting, got {subject!r}")
    return events[0] if len(events) == 1 else dp_accounting.ComposedDpEvent(events)


def _noise(event: Any) -> dict[str, Any]:
    """Return the noise of a step as arguments of a scheme; raise ValueError for another event."""
    laws = {"GaussianDpEvent": GAUSSIAN, "LaplaceDpEvent": LAPLACE}
    if type(event).__name__ not in laws:
        raise ValueError(
            f"event of a step must be a GaussianDpEvent or a LaplaceDpEvent, got {event!r}"
        )
    return {"noise_multiplier": event.noise_multiplier, "noise": laws[type(event).__name__]}
