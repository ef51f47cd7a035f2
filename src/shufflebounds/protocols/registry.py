"""What users send, as configurations describe it: protocols by name, and reports of mechanisms.

A new protocol is its module, and a line here. Its parameters are those of what makes it. Where some
of them are settings, such as a number of messages that is an axis of curves, its entry names them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

from shufflebounds.core import validation
from shufflebounds.core.setting import Setting
from shufflebounds.protocols import messages
from shufflebounds.protocols.base import Calibrated, Protocol, SingleMessage
from shufflebounds.protocols.histograms import (
    DecisionTrees,
    HierarchicalHistogram,
    SeparateHistograms,
    coordinate_sums,
)
from shufflebounds.protocols.messages import BallsIntoBins, BinarySum, CheuZhilyaev, Dump
from shufflebounds.randomizers import description
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.description import Description, Named, require_arguments
from shufflebounds.randomizers.joint import repeated


@dataclass(frozen=True)
class Entry:
    """A protocol by name.

    Parameters
    ----------
    make
        The protocol of its parameters and of the settings that `needs` names, all by keyword.
    needs
        Names of settings (fields of `Setting`) among its arguments. A ``delta`` that is a share
        of 1/n comes as `OverN` where n is not among them.
    label
        As figures call it.
    users
        Where n follows from the rest: n of the same arguments.

    """

    make: Callable[..., Protocol]
    label: str
    needs: tuple[str, ...] = ()
    users: Callable[..., int] | None = None


PROTOCOLS: Mapping[str, Entry] = MappingProxyType(
    {
        "balls_into_bins": Entry(BallsIntoBins, "balls into bins"),
        "balls_into_bins_designed": Entry(
            messages.designed_balls_into_bins,
            "balls into bins",
            needs=("target", "delta"),
            users=messages.designed_balls_into_bins_users,
        ),
        "binary_sum": Entry(BinarySum, "binary sum"),
        "calibrated": Entry(Calibrated, "calibrated", needs=("target", "n", "delta")),
        "cheu_zhilyaev": Entry(CheuZhilyaev, "Cheu and Zhilyaev"),
        "cheu_zhilyaev_designed": Entry(
            messages.designed_cheu_zhilyaev, "Cheu and Zhilyaev", needs=("target", "n", "delta")
        ),
        "coordinate_sums": Entry(coordinate_sums, "sums of noisy bits", needs=("eps0",)),
        "decision_trees": Entry(DecisionTrees, "decision trees", needs=("messages",)),
        "dump": Entry(Dump, "dummy points"),
        "hierarchical_histogram": Entry(
            HierarchicalHistogram, "hierarchical histogram", needs=("eps0",)
        ),
        "separate_histograms": Entry(SeparateHistograms, "separate histograms", needs=("eps0",)),
    }
)


# What a user sends: reports of a local randomizer, or the messages of a protocol.


@dataclass(frozen=True, eq=False)
class AsGiven:
    """A mechanism that Python holds and no name describes, such as a matrix, at the ε₀ it has."""

    made: Randomizer
    has_own_eps0: ClassVar = True
    files: ClassVar = ()

    @property
    def type(self) -> str:
        """The name of its class."""
        return type(self.made).__name__

    def randomizer(self, _: float | None) -> Randomizer:
        """The mechanism."""
        return self.made

    def plain(self) -> dict[str, Any]:
        """What tells it from others, if not how to make it: its matrix, or what Python prints."""
        rows = getattr(self.made, "matrix", None)
        return {"type": self.type, "is": repr(self.made) if rows is None else rows().tolist()}

    def __str__(self) -> str:
        return self.made.label


@dataclass(frozen=True)
class Reports:
    """``k_joint`` independent reports of a mechanism, each at ε₀/k_joint or at an ε₀ of its own.

    Raises ValueError unless 1 ≤ ``k_joint`` ≤ 100.
    """

    mechanism: Description | AsGiven
    k_joint: int = 1
    # Settings that follow from others.
    gives: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        validation.whole("k_joint", self.k_joint, minimum=1, maximum=validation.MAX_JOINT)

    @property
    def needs(self) -> tuple[str, ...]:
        """Settings that decide what is sent."""
        return () if self.mechanism.has_own_eps0 else ("eps0",)

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of the files that the mechanism is read from."""
        return self.mechanism.files

    def protocol(self, setting: Setting, distance: int | None = None) -> SingleMessage:
        """The protocol at ε₀ of all that a user sends (natural log)."""
        if self.mechanism.has_own_eps0:
            return SingleMessage(self._own, None, distance)
        eps0 = setting.require("eps0")
        one = self.mechanism.randomizer(eps0 / self.k_joint)
        return SingleMessage(repeated(one, self.k_joint), eps0, distance)

    @cached_property
    def _own(self) -> Randomizer:
        """All that is sent, where ε₀ is no setting."""
        return repeated(self.mechanism.randomizer(None), self.k_joint)

    def require_own_eps0(self, eps0: float | None) -> None:
        """Raise ValueError for an ε₀ (natural log) other than that of all that is sent."""
        if eps0 is None or not self.mechanism.has_own_eps0:
            return
        own = self._own.eps0
        # A decimal of the configuration has fewer digits.
        if own is None or not math.isclose(eps0, own, rel_tol=1e-5):
            raise ValueError(
                f"eps0 must be left out: {self._own.label} has its own, "
                f"{'none' if own is None else f'{own:.6g}'}, got {eps0!r}"
            )

    def completed(self, setting: Setting) -> Setting:
        """The setting, with ε₀ where the mechanism has its own and that is one to be told."""
        if not self.mechanism.has_own_eps0:
            return setting
        own = self._own.eps0
        return setting.at(eps0=own if own and own <= validation.MAX_EPS0 else None)

    def label(self, setting: Setting) -> str:
        """How figures call the mechanism, with its parameters."""
        return self.mechanism.randomizer(setting.eps0 or 1.0).label


@dataclass(frozen=True)
class Messages(Named):
    """The messages of one of the `PROTOCOLS`, and its parameters.

    Raises ValueError for an unknown protocol, and for a parameter that it does not have or lacks.
    """

    # They are read from no files, and not repeated.
    files: ClassVar[tuple[str, ...]] = ()
    k_joint: ClassVar[int] = 1

    def __post_init__(self) -> None:
        require_arguments(self.type, self._entry.make, dict(self.parameters), self.needs)

    @property
    def _entry(self) -> Entry:
        return PROTOCOLS[validation.choice("protocol", self.type, PROTOCOLS)]

    @property
    def needs(self) -> tuple[str, ...]:
        """Settings that decide what is sent."""
        return self._entry.needs

    @property
    def gives(self) -> frozenset[str]:
        """Settings that follow from others."""
        return frozenset() if self._entry.users is None else frozenset({"n"})

    @property
    def mechanism(self) -> Messages:
        """What tables call the mechanism: itself."""
        return self

    def protocol(self, setting: Setting, distance: int | None = None) -> Protocol:
        """The protocol at a setting; ValueError for a distance, which is one of reports."""
        if distance is not None:
            raise ValueError(
                "distance is only valid for the upper bound of a joint composition, "
                f"got {distance!r}"
            )
        return self._entry.make(**self._arguments(setting))

    def completed(self, setting: Setting) -> Setting:
        """The setting with n, where that follows from what the protocol was designed for."""
        if self._entry.users is None:
            return setting
        return setting.at(n=self._entry.users(**self._arguments(setting)))

    def label(self, setting: Setting) -> str:
        """How figures call the protocol, with its parameters."""
        listed = ", ".join(f"{name} = {value}" for name, value in self.parameters)
        return f"{self._entry.label} ({listed})" if listed else self._entry.label

    def _arguments(self, setting: Setting) -> dict[str, Any]:
        return dict(self.parameters) | {name: setting.require(name) for name in self.needs}


Sent: TypeAlias = Reports | Messages


def parse(content: Mapping[str, Any], k_joint: int = 1) -> Sent:
    """What a mapping with a ``type`` describes: a mechanism, a composition or a protocol.

    Raises ValueError, naming the key, for anything else, and for several reports of a protocol.
    """
    if isinstance(content, Mapping) and content.get("type") in PROTOCOLS:
        if k_joint != 1:
            raise ValueError(f"k_joint must be 1 for the protocol {content['type']}, got {k_joint}")
        given = {key: value for key, value in content.items() if key != "type"}
        return Messages(content["type"], tuple(given.items()))
    return Reports(description.parse(content), k_joint)


def types() -> list[str]:
    """What the type of a mapping may be."""
    return [*description.types(), *PROTOCOLS]
