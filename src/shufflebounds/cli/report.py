"""What a user sends, as the options say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shufflebounds import randomizers, specs, validation
from shufflebounds.cli.parameters import fields, flag, is_required
from shufflebounds.clone import standard_clone
from shufflebounds.decomposition import Decomposition
from shufflebounds.randomizers.base import Randomizer

# What does not depend on ε₀ is looked up at this one.
_SOME_EPS0 = 1.0
_COARSE_CELLS = (8, 16, 32)


@dataclass(frozen=True)
class Report:
    """``k_joint`` independent reports of a mechanism that share ε₀ equally.

    Each of them is sent with probability ``rate`` only (Poisson subsampling).
    """

    mechanism: str
    parameters: Mapping[str, Any]
    k_joint: int = 1
    rate: float = 1.0

    def __post_init__(self) -> None:
        validation.whole("k_joint", self.k_joint, minimum=1, maximum=specs.MAX_JOINT)
        validation.probability("rate", self.rate)
        own = fields(self.mechanism)
        for name in self.parameters:
            if name not in own:
                has = f"has only {', '.join(map(flag, own))}" if own else "has none"
                raise ValueError(f"{flag(name)} is no parameter of {self.mechanism}, which {has}")
        for name, field in own.items():
            if is_required(field) and name not in self.parameters:
                raise ValueError(f"{self.mechanism} needs {flag(name)}")

    def description(self) -> dict[str, Any]:
        """One of the reports, as `building` and `curves` take it."""
        plain = {"type": self.mechanism, **self.parameters}
        if self.rate == 1.0:
            return plain
        return {"type": "subsample", "mechanism": plain, "rate": self.rate}

    def spec(self, eps0: float) -> dict[str, Any]:
        """The entries about it of a specification of a curve; see `specs`."""
        return {"mechanism": self.description(), "k_joint": self.k_joint, "eps0": eps0}

    def randomizer(self, eps0: float) -> Randomizer:
        """Of all that a user sends."""
        return specs.randomizer_of(self.spec(eps0))

    def upper(self, eps0: float) -> Decomposition:
        """That of the worst pair of inputs."""
        return self.randomizer(eps0).blanket()

    def lower(self, eps0: float) -> dict[str, Decomposition]:
        """A lower bound apiece, by what all others hold."""
        return self.randomizer(eps0).dataset_pairs()

    def clone(self, eps0: float) -> Decomposition:
        """That of any report at the ε₀ of all that is sent."""
        return standard_clone(specs.budget(self.spec(eps0)))

    def others(self) -> list[str]:
        """The names in `lower`; equal parts have those of one."""
        return list(replace(self, k_joint=1).lower(_SOME_EPS0))

    def coarse_to_fine(self) -> Iterator[Report]:
        """The report itself; before it, if it is continuous, the same in few cells.

        The bounds of fewer cells are valid too, only wider, and a joint of them is far smaller.
        """
        if "cells" in fields(self.mechanism) and "cells" not in self.parameters:
            for cells in _COARSE_CELLS:
                yield replace(self, parameters={**self.parameters, "cells": cells})
        yield self

    def name(self, eps0: float | None = None) -> str:
        """Such as ``2 x KRR(k=10, eps0=4.0) at rate 0.1``, or without ε₀."""
        shown = dict(self.parameters)
        if eps0 is not None:
            shown["eps0"] = validation.eps0(eps0) / self.k_joint
        listed = ", ".join(f"{name}={value}" for name, value in shown.items())
        one = randomizers.mechanism(self.mechanism).__name__ + (f"({listed})" if listed else "")
        several = "" if self.k_joint == 1 else f"{self.k_joint} x "
        return several + one + ("" if self.rate == 1.0 else f" at rate {self.rate!r}")

    def notes(self) -> list[str]:
        """What the bounds rest on, a sentence or a few each."""
        notes = []
        if self.k_joint > 1:
            notes.append(
                f"A user sends {self.k_joint} reports together, each at eps0/{self.k_joint}, one "
                "of every coordinate of the input. The bound covers inputs that differ in any "
                "number of the coordinates: all of them is the worst."
            )
        if self.rate < 1.0:
            what = "A user takes part" if self.k_joint == 1 else "Each of these reports is sent"
            notes.append(
                f"{what} with probability {self.rate!r}, decided at random, independently and in "
                "secret. n counts all users, whether they take part or not. The clone knows "
                "nothing of that: it is the one of reports that are always sent."
            )
        caveat = self._mechanism(_SOME_EPS0).caveat
        return [*notes, caveat] if caveat else notes

    def _mechanism(self, eps0: float) -> Randomizer:
        return randomizers.mechanism(self.mechanism)(eps0=eps0, **self.parameters)
