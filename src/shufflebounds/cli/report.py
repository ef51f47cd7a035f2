"""What a user sends, as the options say it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from shufflebounds import validation
from shufflebounds.cli.parameters import fields, flag, is_required
from shufflebounds.cli.rounding import outward
from shufflebounds.experiments.sent import Reports
from shufflebounds.protocols.single_message import GenericReports, SingleMessage
from shufflebounds.randomizers import registry
from shufflebounds.randomizers.description import Description, Mechanism, SubsampleOf
from shufflebounds.randomizers.parameter_names import likely
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
                meant = likely(name, own)
                guess = f"; did you mean {flag(meant)}?" if meant else ""
                raise ValueError(
                    f"{flag(name)} is not a parameter of {self.mechanism}, which {has}{guess}"
                )
        for name, field in own.items():
            if is_required(field) and name not in self.parameters:
                raise ValueError(f"{self.mechanism} needs {flag(name)}")
        self.reports  # noqa: B018 - checks k_joint

    @cached_property
    def _one(self) -> Mechanism:
        """The mechanism of one report; reads the files that it names."""
        found = registry.mechanism(self.mechanism).completed(self.parameters)
        return Mechanism(self.mechanism, tuple(found.items()))

    @cached_property
    def reports(self) -> Reports:
        """All that a user sends."""
        one: Description = self._one
        return Reports(one if self.rate == 1.0 else SubsampleOf(one, self.rate), self.k_joint)

    @property
    def has_own_eps0(self) -> bool:
        """Whether the mechanism fixes ε₀."""
        return self._one.has_own_eps0

    def require_eps0(self, eps0: float | None) -> float | None:
        """`eps0` of all that a user sends; ValueError where it must be given, or must not be."""
        if self.has_own_eps0:
            if eps0 is not None:
                raise ValueError(f"--eps0 must be left out: {self._fixes_eps0}")
        elif eps0 is None:
            raise ValueError("missing option '--eps0'")
        return eps0

    def refuse_own_eps0(self) -> None:
        """Raise ValueError where no ε₀ can be looked for."""
        if self.has_own_eps0:
            raise ValueError(f"eps0 cannot be chosen: {self._fixes_eps0}")

    def told_eps0(self, eps0: float | None) -> float | None:
        """ε₀ of all that a user sends as answers tell it; None where it is infinite, as there."""
        whole = self.protocol(None).eps0 if eps0 is None else eps0
        return None if whole is None or math.isinf(whole) else whole

    @property
    def _fixes_eps0(self) -> str:
        one = self._one.randomizer(None)
        return f"{self.mechanism} {one.label} fixes it, {_shown(one.eps0)}"

    def protocol(self, eps0: float | None) -> SingleMessage:
        """Of all that a user sends, at ε₀ of the whole (natural log) or, for None, at its own."""
        return self.reports.protocol(Setting(eps0=eps0))

    def generic(self, eps0: float | None) -> GenericReports:
        """What is known of it by a bound that looks at nothing but ε₀."""
        return self.reports.generic(Setting(eps0=eps0))

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
        if self.has_own_eps0:
            own = self._one.randomizer(None)
            each = "" if self.k_joint == 1 else " each"
            one = f"{own.label} (eps0 = {_shown(own.eps0)}{each})"
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
        if self.has_own_eps0:
            label = self._one.randomizer(None).label
            together = "" if self.k_joint == 1 else "of all coordinates together "
            notes.append(
                f"All pairs of inputs {together}are looked at, and the worst that was found is "
                "named (of several rounds none is, since it may be another in each). Inputs are "
                f"the rows of {label}, counted from 0."
            )
        if self.k_joint > 1 and self.has_own_eps0:
            notes.append(
                f"A user sends {self.k_joint} reports together, one of every coordinate of the "
                "input; each of them has the eps0 of the matrix."
            )
        elif self.k_joint > 1:
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
        caveat = self._one.randomizer(_SOME_EPS0).caveat
        return [*notes, caveat] if caveat else notes


def _shown(eps0: float | None) -> str:
    return "none" if eps0 is None else outward(eps0, up=True)
