"""Phases of training one after the other, as a file lists them, and the ε of all together.

docs/random-allocation.md explains the keys. Phases are composed as docs/proofs/composition.md
proves; each has its own noise, batches and number of steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, reached
from shufflebounds.core.relation import Relation, common_relation
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.registry import PROTOCOLS, ProtocolDescription
from shufflebounds.questions.composed import compose
from shufflebounds.subjects.base import Subject

# The key of a file that lists phases of training.
PHASES = "phases"
# Keys of a phase besides the parameters of its scheme.
PHASE_KEYS = ("type", "noise_multiplier", "steps", "epochs")


class TrainingPhase(NamedTuple):
    """Epochs of one scheme; ``text`` is how the file describes them."""

    text: str
    subject: Subject
    steps: int
    epochs: int

    @property
    def round_(self) -> tuple[Subject, int, int]:
        """The epochs for `compose`."""
        return self.subject, self.steps, self.epochs


class TrainingPhases:
    """Phases of training in their order.

    Parameters
    ----------
    content
        The file: a mapping with the key ``phases``, a list of mappings with ``type``,
        ``noise_multiplier``, ``steps``, ``epochs`` (1 if left out) and parameters of the scheme.

    Raises
    ------
    ValueError
        For a key that is missing, unknown or out of range, and for phases about different
        neighbouring relations.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        further = [key for key in content if key != PHASES]
        if further:
            raise ValueError(f"unknown key '{further[0]}'; a file of training has the key {PHASES}")
        entries = content[PHASES]
        if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
            raise ValueError(f"{PHASES} must be a list of one or more phases, got {entries!r}")
        self.content = dict(content)
        self.phases = [_phase(f"{PHASES}[{i}]", entry) for i, entry in enumerate(entries)]
        self.relation: Relation = common_relation(PHASES, (x.subject.relation for x in self.phases))

    def epsilon(self, delta: float, phases: Sequence[TrainingPhase]) -> Enclosure:
        """Return the ε at δ of some of the phases together, as wide as it may be."""
        composed = compose([phase.round_ for phase in phases])
        return reached(partial(composed.epsilon, delta))

    def rows(self, delta: float) -> list[dict[str, Any]]:
        """Return a row for each phase, as a dictionary.

        Parameters
        ----------
        delta
            Target δ, 10⁻²⁰⁰ ≤ δ < 1, of all phases together.

        Returns
        -------
        list of dict
            ``alone`` is ε of the phase, and ``so_far`` that of all phases up to it.
        """
        rows: list[dict[str, Any]] = []
        for place, phase in enumerate(self.phases, start=1):
            alone = self.epsilon(delta, [phase])
            so_far = alone if place == 1 else self.epsilon(delta, self.phases[:place])
            rows.append({"phase": phase, "alone": alone, "so_far": so_far})
        return rows

    @cached_property
    def caveats(self) -> list[str]:
        """What is assumed of each scheme."""
        return [*dict.fromkeys(phase.subject.caveat for phase in self.phases)]


def _phase(place: str, entry: Any) -> TrainingPhase:
    """Return a phase; ValueError, which names the key, for its mistakes."""
    if not isinstance(entry, Mapping):
        raise ValueError(
            f"{place} must be a mapping such as {{type: poisson_sampling}}, got {entry!r}"
        )
    schemes = [name for name, x in PROTOCOLS.items() if "noise_multiplier" in x.needs]
    for key in PHASE_KEYS[:-1]:
        if key not in entry:
            raise ValueError(f"{place}.{key} is missing")
    name = validation.choice(f"{place}.type", entry["type"], schemes)
    parameters = {key: value for key, value in entry.items() if key not in PHASE_KEYS}
    try:
        described = ProtocolDescription(name, tuple(parameters.items()))
        subject = described.protocol(Setting(noise_multiplier=entry["noise_multiplier"]))
        steps = validation.users(entry["steps"], "steps")
        epochs = validation.rounds(entry.get("epochs", 1), "epochs")
        subject.shuffles_of(steps, epochs)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    settings = {"noise_multiplier": entry["noise_multiplier"], **parameters}
    listed = ", ".join(f"{key} = {value}" for key, value in settings.items())
    return TrainingPhase(f"{PROTOCOLS[name].label} ({listed})", subject, steps, epochs)
