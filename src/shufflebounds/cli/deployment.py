"""What a question is about: who sends what, and how often."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from shufflebounds._version import __version__
from shufflebounds.bounds.base import Answer
from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, outward
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import GenericReports, SingleMessage
from shufflebounds.randomizers import registry
from shufflebounds.randomizers.description import Description, Mechanism, SubsampleOf, likely
from shufflebounds.reproduce.sent import Reports

# Parameters of the mechanisms: the fields of their dataclasses other than ε₀, as options.


def fields(mechanism: str) -> dict[str, dataclasses.Field]:
    """Parameters of a mechanism, by name."""
    # Mechanisms are dataclasses, which their base class is not.
    found = dataclasses.fields(registry.mechanism(mechanism))  # type: ignore[arg-type]
    return {
        field.name: field
        for field in found
        if field.init and field.name != "eps0" and field.metadata.get("is_option", True)
    }


def kind(mechanism: str, parameter: str) -> type:
    """The type of a parameter, leaving None aside."""
    hint = typing.get_type_hints(registry.mechanism(mechanism))[parameter]
    return next(kind for kind in typing.get_args(hint) or (hint,) if kind is not types.NoneType)


def is_required(field: dataclasses.Field) -> bool:
    return field.default is field.default_factory is dataclasses.MISSING


def flag(parameter: str) -> str:
    """Such as ``--domain-size``."""
    return f"--{parameter.replace('_', '-')}"


def mechanisms_by_parameter() -> dict[str, list[str]]:
    """Every parameter of some mechanism, and the mechanisms that have it."""
    found: dict[str, list[str]] = {}
    for mechanism in registry.mechanism_names():
        for parameter in fields(mechanism):
            found.setdefault(parameter, []).append(mechanism)
    return found


# What a user sends, as the options say it.

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


# How many users there are, and how many of them hide nobody.


@dataclass(frozen=True)
class Users:
    """``n`` users, so many of whom collude, drop out or break the protocol.

    Raises ValueError where the victim would not be one of those who are left.
    """

    n: int
    colluding: int = 0

    def __post_init__(self) -> None:
        validation.users(self.n)
        if validation.whole("colluding", self.colluding, minimum=0) >= self.n:
            raise ValueError(
                f"colluding must be an integer below n = {self.n}, got {self.colluding}"
            )

    @property
    def honest(self) -> int:
        """Those who hide each other; the n of every bound."""
        return self.n - self.colluding

    def facts(self) -> dict[str, int]:
        """What answers in JSON say of them."""
        return {"n": self.n, "colluding": self.colluding, "n_honest": self.honest}

    def __str__(self) -> str:
        some = f" ({self.colluding} of them colluding)" if self.colluding else ""
        return f"n = {self.n} {'user' if self.n == 1 else 'users'}{some}"


def with_colluding(answer: Answer, colluding: int) -> Answer:
    """A number of users who hide each other, and so many more; ValueError for a negative one."""
    validation.whole("colluding", colluding, minimum=0)
    found = answer.enclosure
    return replace(answer, enclosure=Enclosure(found.lower + colluding, found.upper + colluding))


def crowd_notes(colluding: int) -> list[str]:
    """What bounds of fewer users rest on."""
    if not colluding:
        return []
    who = "users work with the observer, drop out or break the protocol. What they send hides"
    if colluding == 1:
        who = "user works with the observer, drops out or breaks the protocol. What it sends hides"
    return [
        f"{colluding} {who} nobody, and the answers are those of the others alone, whoever they "
        "are."
    ]


@dataclass(frozen=True)
class Deployment:
    """Users who send a report each, in so many rounds.

    ``eps0`` is that of all that a user sends, None where the mechanism fixes it or it is what is
    asked for. Where the number of users is, ``users`` is None and ``colluding`` tells how many of
    them hide nobody; ``rounds`` is None where the rounds are.
    """

    report: Report
    eps0: float | None = None
    users: Users | None = None
    rounds: int | None = 1
    colluding: int = 0

    def facts(self, **asked: Any) -> dict[str, Any]:
        """What answers in JSON begin with."""
        report, users = self.report, self.users
        is_known = self.eps0 is not None or report.has_own_eps0
        return {
            "version": __version__,
            **report.facts(),
            **({"eps0": report.told_eps0(self.eps0)} if is_known else {}),
            **(users.facts() if users else {}),
            **asked,
            **({"rounds": self.rounds} if self.rounds else {}),
        }

    def title(self, *asked: str) -> str:
        """What answers to people begin with."""
        several = [f"{self.rounds} rounds"] if self.rounds and self.rounds > 1 else []
        users = [str(self.users)] if self.users else []
        return ", ".join([self.report.name(self.eps0), *users, *several, *asked])

    def notes(self) -> list[str]:
        """What the answers rest on, a sentence or a few each."""
        colluding = self.users.colluding if self.users else self.colluding
        return self.report.notes() + crowd_notes(colluding) + round_notes(self.rounds)


def round_notes(rounds: int | None) -> list[str]:
    """What bounds of several rounds rest on; None stands for any number of them."""
    if rounds == 1:
        return []
    which = "Rounds" if rounds is None else f"The {rounds} rounds"
    return [
        f"{which} are shuffled separately, with fresh randomness. The upper bound "
        "holds for all that is published together, whatever the others report, and however the "
        "values are chosen from round to round; in each round a user spends eps0. The lower bound "
        "is that of the same two datasets in every round. Reports that are sent together, linked "
        "to each other, are not rounds: for them there is --k-joint."
    ]
