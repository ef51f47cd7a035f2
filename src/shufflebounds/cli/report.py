"""What a user sends, as the options say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shufflebounds import validation
from shufflebounds.cli.parameters import fields, flag, is_required
from shufflebounds.experiments.sent import Reports
from shufflebounds.protocols.base import Protocol
from shufflebounds.randomizers import registry
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.description import Description, Mechanism, SubsampleOf
from shufflebounds.setting import Setting

# What does not depend on ε₀ is looked up at this one.
_SOME_EPS0 = 1.0
_COARSE_CELLS = (8, 16, 32)


@dataclass(frozen=True)
class Report:
    """``k_joint`` independent reports of a mechanism that share ε₀ equally.

    Each of them is sent with probability ``rate`` only (Poisson subsampling). Raises ValueError for
    a parameter that the mechanism does not have, or one that it needs and does not get.
    """

    mechanism: str
    parameters: Mapping[str, Any]
    k_joint: int = 1
    rate: float = 1.0

    def __post_init__(self) -> None:
        validation.probability("rate", self.rate)
        own = fields(self.mechanism)
        for name in self.parameters:
            if name not in own:
                has = f"has only {', '.join(map(flag, own))}" if own else "has none"
                raise ValueError(
                    f"{flag(name)} is not a parameter of {self.mechanism}, which {has}"
                )
        for name, field in own.items():
            if is_required(field) and name not in self.parameters:
                raise ValueError(f"{self.mechanism} needs {flag(name)}")
        self.reports  # noqa: B018 - checks k_joint

    @property
    def reports(self) -> Reports:
        """All that a user sends."""
        one: Description = Mechanism(self.mechanism, tuple(self.parameters.items()))
        return Reports(one if self.rate == 1.0 else SubsampleOf(one, self.rate), self.k_joint)

    def protocol(self, eps0: float) -> Protocol:
        """Of all that a user sends, at ε₀ of the whole (natural log)."""
        return self.reports.protocol(Setting(eps0=eps0))

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
        one = registry.mechanism(self.mechanism).__name__ + (f"({listed})" if listed else "")
        several = "" if self.k_joint == 1 else f"{self.k_joint} x "
        return several + one + ("" if self.rate == 1.0 else f" at rate {self.rate!r}")

    def facts(self) -> dict[str, Any]:
        """What answers in JSON say of it."""
        return {
            "mechanism": self.mechanism,
            "parameters": dict(self.parameters),
            "k_joint": self.k_joint,
            "rate": self.rate,
        }

    def notes(self) -> list[str]:
        """What the bounds rest on, a sentence or a few each."""
        notes = []
        if self.k_joint > 1:
            notes.append(
                f"A user sends {self.k_joint} reports together, each at eps0/{self.k_joint}, one "
                "of every coordinate of the input. The bound covers inputs that differ in any "
                "number of the coordinates: all of them is the worst. Reports of separate days, "
                "shuffled separately, are --rounds instead."
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
        return Mechanism(self.mechanism, tuple(self.parameters.items())).randomizer(eps0)
