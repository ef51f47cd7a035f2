"""The protocols by name, and the descriptions of reports and messages in configurations.

A new protocol takes a module and a line here. Its parameters are those of the function that makes
it. If some of them are settings, such as a number of messages that is an axis of curves, its entry
names them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

from shufflebounds.core import validation
from shufflebounds.core.setting import Setting
from shufflebounds.protocols import messages
from shufflebounds.protocols.allocation import RandomAllocation
from shufflebounds.protocols.any_mechanism import AnyMechanism
from shufflebounds.protocols.base import Calibrated
from shufflebounds.protocols.histograms import (
    DecisionTrees,
    HierarchicalHistogram,
    SeparateHistograms,
    coordinate_sums,
)
from shufflebounds.protocols.messages import BallsIntoBins, BinarySum, CheuZhilyaev, Dump
from shufflebounds.protocols.training import PoissonSampling, ShuffledBatches
from shufflebounds.randomizers import description
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.description import (
    Description,
    NamedDescription,
    require_arguments,
    require_keys,
)
from shufflebounds.randomizers.joint import joint_of
from shufflebounds.subjects.base import Subject
from shufflebounds.subjects.cohort import Cohort
from shufflebounds.subjects.groups import Groups
from shufflebounds.subjects.observation import Observation, Words
from shufflebounds.subjects.reports import Reports

# The type of reports of a cohort of fixed size.
COHORT = "cohort"


@dataclass(frozen=True)
class Entry:
    """A protocol by name.

    Parameters
    ----------
    make
        A function that returns the protocol. Its arguments are the parameters and the settings that
        `needs` names, all by keyword.
    label
        The name in figures.
    needs
        Names of settings (fields of `Setting`) among its arguments. A ``delta`` that is a share of
        1/n is passed as `OverN` if n is not among them.
    users
        A function of the same arguments that returns n, if n follows from them.
    """

    make: Callable[..., Subject]
    label: str
    needs: tuple[str, ...] = ()
    users: Callable[..., int] | None = None

    @property
    def words(self) -> Words:
        """How answers call what is counted."""
        seen: Observation = getattr(self.make, "seen", Subject.seen)
        return seen.words


def described_groups(
    groups: Sequence[tuple[int, Description]], victim: int | None = None, n: int | None = None
) -> Groups:
    """Return groups of users with mechanisms of their own.

    Parameters
    ----------
    groups
        Pairs of the number of users of a group and the description of their mechanism.
    victim
        The number of the group that the bounds are about, from 1; None stands for all of them.
    n
        The number of users of all groups, who keep their shares; by default the sum.
    """
    named = Groups([(size, mechanism.randomizer(None)) for size, mechanism in groups], victim)
    return named if n in (None, named.n) else named.scaled(n)


def users_of_groups(
    groups: Sequence[tuple[int, Description]], victim: int | None = None, n: int | None = None
) -> int:
    """Return the number of users of `described_groups`."""
    return sum(size for size, _ in groups) if n is None else n


PROTOCOLS: Mapping[str, Entry] = MappingProxyType(
    {
        "any": Entry(AnyMechanism, "any mechanism", needs=("eps0",)),
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
        "groups": Entry(described_groups, "groups", needs=("n",), users=users_of_groups),
        "hierarchical_histogram": Entry(
            HierarchicalHistogram, "hierarchical histogram", needs=("eps0",)
        ),
        "poisson_sampling": Entry(PoissonSampling, "Poisson sampling", needs=("noise_multiplier",)),
        "random_allocation": Entry(
            RandomAllocation, "random allocation", needs=("noise_multiplier",)
        ),
        "separate_histograms": Entry(SeparateHistograms, "separate histograms", needs=("eps0",)),
        "shuffled_batches": Entry(
            ShuffledBatches, "fixed-size shuffled batches", needs=("noise_multiplier",)
        ),
    }
)


@dataclass(frozen=True, eq=False)
class UnnamedRandomizer:
    """A randomizer without a name, such as a matrix in Python, at its own ε₀."""

    instance: Randomizer
    has_own_eps0: ClassVar = True
    files: ClassVar = ()

    @property
    def type(self) -> str:
        """The name of its class."""
        return type(self.instance).__name__

    def randomizer(self, _: float | None) -> Randomizer:
        """Return the mechanism."""
        return self.instance

    def plain(self) -> dict[str, Any]:
        """Return a mapping that identifies the mechanism: its matrix, or its ``repr``."""
        rows = getattr(self.instance, "matrix", None)
        return {"type": self.type, "is": repr(self.instance) if rows is None else rows().tolist()}

    def __str__(self) -> str:
        return self.instance.label


@dataclass(frozen=True)
class CohortDescription:
    """The mechanism of exactly `size` of the n users, who are drawn anew in every round.

    Raises ValueError for a size that is not a number of users.
    """

    mechanism: Description | UnnamedRandomizer
    size: int
    type: ClassVar[str] = COHORT

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", validation.users(self.size, "size"))

    @property
    def has_own_eps0(self) -> bool:
        """See `MechanismDescription`."""
        return self.mechanism.has_own_eps0

    @property
    def files(self) -> tuple[str, ...]:
        """See `MechanismDescription`."""
        return self.mechanism.files

    def randomizer(self, eps0: float | None) -> Randomizer:
        """Return the mechanism of a user who is drawn; see `MechanismDescription`."""
        try:
            return self.mechanism.randomizer(eps0)
        except ValueError as error:
            raise ValueError(f"mechanism: {error}") from None

    def plain(self) -> dict[str, Any]:
        """Return the mapping that `parse_sent` takes."""
        return {"type": COHORT, "mechanism": self.mechanism.plain(), "size": self.size}

    def __str__(self) -> str:
        return f"{COHORT}({self.mechanism}, {self.size})"


@dataclass(frozen=True)
class ReportDescription:
    """What a user reports: ``k_joint`` independent parts by one mechanism, sent together.

    Each part has ε₀/k_joint, or an ε₀ of its own.

    Raises ValueError unless 1 ≤ ``k_joint`` ≤ 100.
    """

    mechanism: Description | UnnamedRandomizer | CohortDescription
    k_joint: int = 1
    # Names of settings that follow from the others.
    gives: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        validation.K_JOINT.check(self.k_joint)

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the settings that determine the messages."""
        return () if self.mechanism.has_own_eps0 else ("eps0",)

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of the files that the mechanism is read from."""
        return self.mechanism.files

    def protocol(self, setting: Setting, distance: int | None = None) -> Subject:
        """Return the protocol at the setting's ε₀, which is that of everything a user sends."""
        return self._reports(setting, distance)

    def _reports(self, setting: Setting, distance: int | None) -> Reports:
        """Return the reports of users all of whom report, at the setting's ε₀."""
        if self.mechanism.has_own_eps0:
            own = self._repeated_at_own_eps0
            if isinstance(setting.delta, float):
                own = own.for_delta(setting.delta / (setting.rounds or 1))
            return Reports(own, None, distance)
        eps0 = setting.require("eps0")
        randomizer = self.mechanism.randomizer(eps0 / self.k_joint)
        return Reports(joint_of(randomizer, self.k_joint), eps0, distance)

    @cached_property
    def _repeated_at_own_eps0(self) -> Randomizer:
        """The randomizer of all that is sent, if the mechanism has its own ε₀."""
        return joint_of(self.mechanism.randomizer(None), self.k_joint)

    def require_own_eps0(self, eps0: float | None) -> None:
        """Raise ValueError if ε₀ (natural log) differs from the mechanism's own."""
        if eps0 is None or not self.mechanism.has_own_eps0:
            return
        randomizer = self._repeated_at_own_eps0
        own_eps0 = randomizer.eps0
        # A decimal of the configuration has fewer digits.
        if own_eps0 is None or not math.isclose(eps0, own_eps0, rel_tol=1e-5):
            raise ValueError(
                f"eps0 must be left out: {randomizer.label} has its own, "
                f"{'none' if own_eps0 is None else f'{own_eps0:.6g}'}, got {eps0!r}"
            )

    def completed(self, setting: Setting) -> Setting:
        """Return the setting, with the mechanism's own ε₀ if it has a valid one."""
        if not self.mechanism.has_own_eps0:
            return setting
        own_eps0 = self._repeated_at_own_eps0.eps0
        return setting.at(eps0=own_eps0 if own_eps0 and own_eps0 <= validation.MAX_EPS0 else None)

    def label(self, setting: Setting) -> str:
        """Return the name of the mechanism in figures, with its parameters."""
        return self.mechanism.randomizer(setting.eps0 or 1.0).label


@dataclass(frozen=True)
class CohortReports(ReportDescription):
    """What the users of a cohort report; its mechanism is a `CohortDescription`."""

    mechanism: CohortDescription

    @property
    def needs(self) -> tuple[str, ...]:
        """See `ReportDescription`; a cohort is not larger than n."""
        return (*super().needs, "n")

    def protocol(self, setting: Setting, distance: int | None = None) -> Subject:
        """See `ReportDescription`; raise InfeasibleError for an n below the size of the cohort."""
        if distance is not None:
            raise ValueError(f"distance must be left out for cohorts, got {distance!r}")
        reports = self._reports(setting, None)
        cohort = Cohort(reports.randomizer, self.mechanism.size, reports.eps0)
        if setting.n is not None:
            cohort.require_users(setting.n)
        return cohort

    def label(self, setting: Setting) -> str:
        """See `ReportDescription`."""
        return f"{super().label(setting)} by cohorts of {self.mechanism.size}"


@dataclass(frozen=True)
class ProtocolDescription(NamedDescription):
    """The name of one of the `PROTOCOLS`, and its parameters.

    Raises ValueError for an unknown protocol, and for a parameter that it does not have or lacks.
    """

    # Protocols are read from no files, and are not repeated.
    files: ClassVar[tuple[str, ...]] = ()
    k_joint: ClassVar[int] = 1

    def __post_init__(self) -> None:
        require_arguments(self.type, self._entry.make, dict(self.parameters), self.needs)

    @property
    def _entry(self) -> Entry:
        """The protocol in `PROTOCOLS`."""
        return PROTOCOLS[validation.choice("protocol", self.type, PROTOCOLS)]

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the settings that determine the messages."""
        return self._entry.needs

    @property
    def gives(self) -> frozenset[str]:
        """Names of the settings that follow from the others."""
        return frozenset() if self._entry.users is None else frozenset({"n"})

    @property
    def mechanism(self) -> ProtocolDescription:
        """Itself, whose ``str`` is the name in tables."""
        return self

    def protocol(self, setting: Setting, distance: int | None = None) -> Subject:
        """Return the protocol at a setting; raise ValueError for a distance."""
        if distance is not None:
            raise ValueError(
                f"distance is only valid for the blanket of a joint composition, got {distance!r}"
            )
        return self._entry.make(**self._arguments(setting))

    def completed(self, setting: Setting) -> Setting:
        """Return the setting, with n if it follows from the other settings."""
        if self._entry.users is None:
            return setting
        return setting.at(n=self._entry.users(**self._arguments(setting)))

    def label(self, setting: Setting) -> str:
        """Return the name of the protocol in figures, with its parameters."""
        parameters = ", ".join(f"{name} = {value}" for name, value in self.parameters)
        return f"{self._entry.label} ({parameters})" if parameters else self._entry.label

    @property
    def title(self) -> str:
        """What is sent, without the parameters; in titles."""
        return self._entry.label

    def _arguments(self, setting: Setting) -> dict[str, Any]:
        """Return the arguments of the function that makes the protocol."""
        settings = {
            name: getattr(setting, name) if name in self.gives else setting.require(name)
            for name in self.needs
        }
        return dict(self.parameters) | settings


@dataclass(frozen=True)
class GroupsDescription(ProtocolDescription):
    """Groups of users with mechanisms of their own, who share a shuffler.

    Its parameters are ``groups``, pairs of a number of users and a description, and ``victim``.
    """

    @staticmethod
    def parse(content: Mapping[str, Any]) -> GroupsDescription:
        """Return the description in a mapping with ``groups``, each with ``users`` and a mechanism.

        Raises ValueError, which names the key, for any other mapping.
        """
        arguments = {key: value for key, value in content.items() if key != "type"}
        require_keys("", "groups", arguments, ["groups", "victim"], ["victim"])
        listed = arguments["groups"]
        if not isinstance(listed, Sequence) or isinstance(listed, str) or not listed:
            raise ValueError(f"groups must be a list of groups that is not empty, got {listed!r}")
        groups = tuple(_parse_group(f"groups[{i}]", group) for i, group in enumerate(listed))
        return GroupsDescription("groups", tuple({**arguments, "groups": groups}.items()))

    @property
    def files(self) -> tuple[str, ...]:  # type: ignore[override]
        """Paths of the files that the mechanisms are read from."""
        return tuple(file for _, mechanism in self.groups for file in mechanism.files)

    @property
    def groups(self) -> tuple[tuple[int, Description], ...]:
        """The numbers of users and the mechanisms."""
        groups: tuple[tuple[int, Description], ...] = dict(self.parameters)["groups"]
        return groups

    def plain(self) -> dict[str, Any]:
        """See `NamedDescription`."""
        groups = [{"users": size, "mechanism": x.plain()} for size, x in self.groups]
        return {**super().plain(), "groups": groups}

    def label(self, setting: Setting) -> str:
        """See `ProtocolDescription`."""
        return self.protocol(setting).label

    @property
    def title(self) -> str:
        """See `ProtocolDescription`."""
        return self.label(Setting())

    def __str__(self) -> str:
        return ", ".join(f"{size} users of {mechanism}" for size, mechanism in self.groups)


def _parse_group(place: str, group: object) -> tuple[int, Description]:
    """Return the number of users and the mechanism of a group at a place of a description."""
    if not isinstance(group, Mapping):
        raise ValueError(f"{place} must be a mapping with users and mechanism, got {group!r}")
    require_keys(f"{place}.", "a group", group, ["users", "mechanism"])
    size = validation.N.check(group["users"], f"{place}.users")
    mechanism = description.parse(group["mechanism"])
    if not mechanism.has_own_eps0:
        raise ValueError(f"{place}.mechanism must have an eps0 of its own, got {mechanism}")
    return size, mechanism


@dataclass(frozen=True, eq=False)
class SubjectDescription:
    """What users send, given as an object of Python."""

    instance: Subject
    needs: ClassVar[tuple[str, ...]] = ()
    gives: ClassVar[frozenset[str]] = frozenset()
    files: ClassVar[tuple[str, ...]] = ()
    k_joint: ClassVar[int] = 1

    @property
    def type(self) -> str:
        """The name of its class."""
        return type(self.instance).__name__

    @property
    def mechanism(self) -> SubjectDescription:
        """Itself, whose ``str`` is the name in tables."""
        return self

    def protocol(self, setting: Setting, distance: int | None = None) -> Subject:
        """Return the subject."""
        return self.instance

    def completed(self, setting: Setting) -> Setting:
        """Return the setting."""
        return setting

    def plain(self) -> dict[str, Any]:
        """Return a mapping that identifies the subject: its ``repr``."""
        return {"type": self.type, "is": repr(self.instance)}

    def label(self, setting: Setting) -> str:
        """Return its name in figures."""
        return self.instance.label

    def __str__(self) -> str:
        return self.instance.label


SentDescription: TypeAlias = ReportDescription | ProtocolDescription | SubjectDescription


def parse_sent(content: Mapping[str, Any], k_joint: int = 1) -> SentDescription:
    """Return what a mapping with a ``type`` describes: a mechanism, a composition or a protocol.

    Raises ValueError, which names the key, for any other mapping, and for several reports of a
    protocol.
    """
    if isinstance(content, Mapping) and content.get("type") in PROTOCOLS:
        if k_joint != 1:
            raise ValueError(f"k_joint must be 1 for the protocol {content['type']}, got {k_joint}")
        if content["type"] == "groups":
            return GroupsDescription.parse(content)
        parameters = ((key, value) for key, value in content.items() if key != "type")
        return ProtocolDescription(content["type"], tuple(parameters))
    if isinstance(content, Mapping) and content.get("type") == COHORT:
        keys = [key for key in content if key != "type"]
        require_keys("", COHORT, {key: content[key] for key in keys}, ["mechanism", "size"])
        try:
            mechanism = description.parse(content["mechanism"])
        except ValueError as error:
            raise ValueError(f"mechanism: {error}") from None
        return CohortReports(CohortDescription(mechanism, content["size"]), k_joint)
    return ReportDescription(description.parse(content), k_joint)


def sent_types() -> list[str]:
    """Return the types that a mapping may have."""
    return [*description.types(), COHORT, *PROTOCOLS]
