"""Neighbouring relations: how two datasets differ that an observer has to tell apart.

An (ε, δ) holds for one relation, so answers about different relations are not composed or compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Relation(StrEnum):
    """How neighbouring datasets differ; the values are those of the key ``relation`` in JSON."""

    REPLACE = "replace"
    ADD_OR_REMOVE = "add or remove"
    ZERO_OUT = "zero-out"

    @property
    def short(self) -> str:
        """The relation of users in a few words, for the first line of an answer."""
        return self.short_of("user")

    def short_of(self, person: str) -> str:
        """Return the relation in a few words, of datasets of users or of examples."""
        return {
            Relation.REPLACE: f"one {person} replaced",
            Relation.ADD_OR_REMOVE: "one example added or removed",
            Relation.ZERO_OUT: "one example's gradients set to 0",
        }[self]

    def sentence_of(self, person: str) -> str:
        """Return the relation as a sentence, of datasets of users or of examples."""
        replaced = "one user's input" if person == "user" else f"one {person}"
        return {
            Relation.REPLACE: f"Neighbouring datasets differ by the replacement of {replaced}.",
            Relation.ADD_OR_REMOVE: "Neighbouring datasets differ by one example that is added or "
            "removed.",
            Relation.ZERO_OUT: "Neighbouring datasets differ by one example whose gradients are "
            "set to 0.",
        }[self]


def read_relation(value: str) -> Relation:
    """Return the relation of that name; raise ValueError if there is none."""
    try:
        return Relation(value)
    except ValueError:
        names = [repr(relation.value) for relation in Relation]
        listed = f"{', '.join(names[:-1])} or {names[-1]}"
        raise ValueError(f"relation must be {listed}, got {value!r}") from None


def common_relation(name: str, relations: Iterable[Relation]) -> Relation:
    """Return the relation that several answers share, `Relation.REPLACE` if there are none.

    Raises ValueError if they differ. ``name`` says what must share it.
    """
    several = list(dict.fromkeys(relations)) or [Relation.REPLACE]
    if len(several) > 1:
        listed = " and ".join(repr(relation.value) for relation in several)
        raise ValueError(
            f"{name} must have one neighbouring relation, got {listed}: compose the epochs of "
            "training alone and the reports alone, and state two guarantees, each with its relation"
        )
    return several[0]
