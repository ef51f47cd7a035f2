"""What a question is about: who sends what, and how often."""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from shufflebounds._version import __version__
from shufflebounds.core import validation
from shufflebounds.core.enclosure import outward
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import REPORTS, Observation, Protocol, SingleMessage
from shufflebounds.protocols.registry import PROTOCOLS, Messages, Reports
from shufflebounds.randomizers import registry
from shufflebounds.randomizers.description import CompositionOf, Description, Mechanism, Part

# What does not depend on ε₀ is looked up at this one.
_SOME_EPS0 = 1.0
_COARSE_CELLS = (8, 16, 32)


# What is said of a protocol's parameters; a mechanism says it itself.
_MEANINGS = {
    "attributes": "binary attributes, no fewer than the height",
    "bins": "number of bins, at least 2",
    "bits": "how vectors are made, rappor or oue",
    "blankets": "noise messages that each user sends besides its own; 1 if left out",
    "coin": "chance of a 1 among blankets; 0.5 if left out",
    "domain_size": "number of values",
    "flip": "chance that a bit, or a value, is replaced",
    "height": "levels of a tree, 1 to 40",
    "messages": "messages of a user in each query, at least 2",
    "nodes": "nodes of the level whose users are asked about; 2 if left out, which covers all",
    "special": "bins of a value; 1 if left out",
    "trees": "trees, one after the other; 1 if left out",
}


@dataclass(frozen=True)
class Parameter:
    """What a mechanism or a protocol is made with, other than ε₀: its type, None aside."""

    type: type
    is_required: bool
    default: Any
    help: str


def protocols() -> list[str]:
    """The protocols that can be asked for: what parameters follow from a target, figures draw."""
    return [name for name, one in PROTOCOLS.items() if not {"target", "delta"} & set(one.needs)]


def parameters(name: str) -> dict[str, Parameter]:
    """The parameters of a mechanism or a protocol, by name."""
    if name in registry.COMPOSITIONS:
        return {}
    make: Callable[..., object]
    metadata: Mapping[str, Mapping[str, Any]]
    if name in PROTOCOLS:
        make, metadata = (
            PROTOCOLS[name].make,
            {key: {"help": text} for key, text in _MEANINGS.items()},
        )
    else:
        make = registry.mechanism(name)
        # Mechanisms are dataclasses, which their base class is not.
        metadata = {one.name: one.metadata for one in dataclasses.fields(make)}  # type: ignore[arg-type]
    found = {}
    for key, one in inspect.signature(make, eval_str=True).parameters.items():
        if key != "eps0" and metadata[key].get("is_option", True):
            hints = typing.get_args(one.annotation) or (one.annotation,)
            type_ = next(hint for hint in hints if hint is not types.NoneType)
            is_required = one.default is inspect.Parameter.empty
            default = None if is_required else one.default
            found[key] = Parameter(type_, is_required, default, metadata[key].get("help", ""))
    return found


def missing(option: str, of: str = "") -> ValueError:
    """Such as "Missing option '--k' of krr.", as click says where it knows."""
    return ValueError(f"Missing option {option!r}{f' of {of}' if of else ''}.")


def hiding(n: int, colluding: int) -> int:
    """The users who hide each other; ValueError where nobody would be left as victim."""
    most = validation.users(n) - 1
    return n - validation.whole("colluding", colluding, minimum=0, maximum=most)


@dataclass(frozen=True, kw_only=True)
class Users(ABC):
    """Those whom a question is about: how many hide each other, and how often they send something.

    ``eps0``, ``n`` and ``rounds`` are None where they are asked for or run along an axis; ``also``
    are more rounds, of other numbers of users: pairs of these and of how many rounds;
    ``colluding`` of the users hide nobody.

    Raises ValueError for a number out of its range, and where no user would be left as victim.
    """

    eps0: float | None = None
    n: int | None = None
    colluding: int = 0
    rounds: int | None = 1
    also: tuple[tuple[int, int], ...] = ()
    # Whether users send reports to a shuffler, so that only ε₀ remains if it fails.
    sends_reports: ClassVar[bool] = False

    def __post_init__(self) -> None:
        own = validation.MAX_USERS if self.n is None else self.n
        for n in (own, *(users for users, _ in self.also)):
            hiding(n, self.colluding)
        for _, rounds in self.also:
            validation.rounds(rounds)
        if self.rounds is not None:
            validation.rounds(self.rounds)

    @property
    @abstractmethod
    def protocol(self) -> Protocol:
        """Of all that a user sends."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What a user sends, in words."""

    @property
    @abstractmethod
    def sent_facts(self) -> dict[str, Any]:
        """What answers in JSON say of it."""

    @property
    def known(self) -> Sequence[str]:
        """Names of the bounds that it has in `epsilon` and `delta`."""
        return ("tight", "upper", "lower", "stronger_clone")

    @abstractmethod
    def notes(self) -> list[str]:
        """What the answers rest on, a sentence or a few each."""

    @property
    def has_telling_eps0(self) -> bool:
        """Whether there is an ε₀ that says something, for bounds that know nothing else."""
        whole = self.protocol.eps0
        return whole is not None and 0.0 < whole < math.inf

    @property
    def seen(self) -> Observation:
        """What is published of all that users send."""
        return REPORTS

    @property
    def covered(self) -> str:
        """The users whom the answers cover; empty for all users."""
        return ""

    @property
    def has_local_privacy(self) -> bool:
        """Whether what a user sends has a finite ε₀ by itself."""
        return self.has_telling_eps0

    @property
    def has_crowds(self) -> bool:
        """Whether a bound for all datasets is known, which may be tight."""
        return False

    @property
    def honest(self) -> int:
        """The users who hide each other; the n of every bound."""
        assert self.n is not None
        return self.n - self.colluding

    @property
    def every_round(self) -> list[tuple[int, int]]:
        """How many users hide each other in how many rounds, of a question that fixes both."""
        assert self.rounds is not None
        more = [(users - self.colluding, rounds) for users, rounds in self.also]
        return [(self.honest, self.rounds), *more]

    @property
    def times(self) -> int:
        """All rounds, of a question that does not ask for them."""
        assert self.rounds is not None
        return self.rounds + sum(rounds for _, rounds in self.also)

    def setting(self, **asked: Any) -> Setting:
        """What bounds are asked at: the users, ε₀, and what is asked for."""
        return Setting(n=self.honest, eps0=self.eps0, **asked)

    def facts(self, **asked: Any) -> dict[str, Any]:
        """What answers in JSON begin with."""
        facts = {"version": __version__, **self.sent_facts, "seen": self.seen.name}
        facts["covered"] = self.covered or "all users"
        if self.n is not None:
            facts |= {"n": self.n, "colluding": self.colluding, "n_honest": self.honest}
        also = {"also": [list(one) for one in self.also]} if self.also else {}
        return {**facts, **asked, **({"rounds": self.rounds} if self.rounds else {}), **also}

    def title(self, *asked: str) -> str:
        """What answers to people begin with."""
        users = []
        if self.n is not None:
            some = f" ({self.colluding} of them colluding)" if self.colluding else ""
            users = [f"n = {self.n} {'user' if self.n == 1 else 'users'}{some}"]
        rounds = [f"{self.rounds} rounds"] if self.rounds and self.times > 1 else []
        rounds += [f"and {times} rounds of {n} users" for n, times in self.also]
        return ", ".join([self.name, *users, *rounds, *asked])

    def notes_on_users(self) -> list[str]:
        """What is to be said of the users who hide nobody."""
        if not self.colluding:
            return []
        # Where the answer is a number of users.
        counted = "" if self.n is not None else " and counted in the answers"
        return [
            f"Users who collude, {self.colluding} here{counted}, work with the observer, drop out "
            "or break the protocol. They hide nobody: the answers are those of the others alone, "
            "whoever they are."
        ]


@dataclass(frozen=True)
class Deployment(Users):
    """Users who send reports of a mechanism, in so many rounds.

    Each of ``n`` users sends ``k_joint`` independent reports together, which share ``eps0``
    equally, and each of them with probability ``rate`` only (Poisson subsampling). ``eps0`` is
    None as well where the mechanism fixes it.
    """

    mechanism: Description
    k_joint: int = 1
    rate: float = 1.0
    sends_reports = True

    def __post_init__(self) -> None:
        validation.probability("rate", self.rate)
        self.reports  # noqa: B018 - checks k_joint
        super().__post_init__()
        if self.has_own_eps0 and self.eps0 is not None:
            raise ValueError(f"--eps0 must be left out: {self._fixed_eps0}")

    @cached_property
    def reports(self) -> Reports:
        """All that a user sends, at any ε₀."""
        sampled = CompositionOf("subsample", (Part(self.mechanism, weight=self.rate),))
        return Reports(self.mechanism if self.rate == 1.0 else sampled, self.k_joint)

    @cached_property
    def protocol(self) -> SingleMessage:
        """Of all that a user sends, at its ε₀."""
        return self.reports.protocol(Setting(eps0=self.eps0))

    @property
    def has_crowds(self) -> bool:
        """Whether a bound for all datasets is known, which may be tight."""
        some = None if self.has_own_eps0 else _SOME_EPS0
        crowds = replace(self, eps0=some).protocol.randomizer.crowds()
        # Too many patterns are not composed.
        is_single = self.rounds == 1 and not self.also
        return bool(crowds) and (is_single or all(math.isfinite(x.size) for x in crowds))

    @property
    def has_local_privacy(self) -> bool:
        """See `Users`: an ε₀ that is chosen is finite."""
        return not self.has_own_eps0 or self.has_telling_eps0

    @property
    def has_own_eps0(self) -> bool:
        """Whether the mechanism fixes ε₀."""
        return self.mechanism.has_own_eps0

    def refuse_own_eps0(self) -> None:
        """Raise ValueError where no ε₀ can be looked for."""
        if self.has_own_eps0:
            raise ValueError(f"eps0 cannot be chosen: {self._fixed_eps0}")

    def coarse_to_fine(self) -> Iterator[Deployment]:
        """The same; before it, if its reports are continuous, those in few cells.

        The bounds of fewer cells are valid too, only wider, and a joint of them is far smaller.
        """
        type_ = self.mechanism.type
        if isinstance(self.mechanism, Mechanism) and "cells" in parameters(type_):
            given = self.mechanism.parameters
            for cells in () if "cells" in dict(given) else _COARSE_CELLS:
                yield replace(self, mechanism=Mechanism(type_, (*given, ("cells", cells))))
        yield self

    # What answers say of it.

    @property
    def sent_facts(self) -> dict[str, Any]:
        """See `Users`; an infinite ε₀ is null."""
        facts = {
            "mechanism": self.mechanism.type,
            "parameters": self._parameters,
            "k_joint": self.k_joint,
            "rate": self.rate,
        }
        if self.eps0 is not None or self.has_own_eps0:
            eps0 = self.protocol.eps0 if self.eps0 is None else self.eps0
            facts["eps0"] = None if eps0 is None or math.isinf(eps0) else eps0
        return facts

    @property
    def name(self) -> str:
        """What a user sends, such as ``2 x KRR(k=10, eps0=4.0) at rate 0.1``, or without ε₀."""
        several = "" if self.k_joint == 1 else f"{self.k_joint} x "
        rate = "" if self.rate == 1.0 else f" at rate {self.rate!r}"
        if self.has_own_eps0:
            own, each = self.mechanism.randomizer(None), "" if self.k_joint == 1 else " each"
            return f"{several}{own.label} (eps0 = {_shown(own.eps0)}{each}){rate}"
        if isinstance(self.mechanism, CompositionOf):
            eps0 = "" if self.eps0 is None else f" at eps0 = {self.eps0 / self.k_joint!r}"
            return f"{several}{self.mechanism}{eps0}{rate}"
        shown = dict(self._parameters)
        if self.eps0 is not None:
            shown["eps0"] = validation.eps0(self.eps0) / self.k_joint
        listed = ", ".join(f"{name}={value}" for name, value in shown.items())
        type_ = registry.mechanism(self.mechanism.type).__name__
        return f"{several}{type_}{f'({listed})' if listed else ''}{rate}"

    @property
    def _parameters(self) -> dict[str, Any]:
        """Those that are options."""
        if isinstance(self.mechanism, CompositionOf):
            return {key: value for key, value in self.mechanism.plain().items() if key != "type"}
        own = parameters(self.mechanism.type)
        return {name: value for name, value in self.mechanism.parameters if name in own}

    @property
    def _fixed_eps0(self) -> str:
        one = self.mechanism.randomizer(None)
        return f"{self.mechanism.type} {one.label} fixes it, {_shown(one.eps0)}"

    def notes(self) -> list[str]:
        """See `Users`."""
        notes = []
        if self.has_own_eps0:
            label = self.mechanism.randomizer(None).label
            together = "" if self.k_joint == 1 else "of all coordinates together "
            notes.append(
                f"Inputs are the rows of {label}, counted from 0. All pairs of them {together}are "
                "tried, and the worst is named (over several rounds none is, since another may be "
                "the worst in each)."
            )
        if self.k_joint > 1 and self.has_own_eps0:
            notes.append(
                f"A user sends {self.k_joint} reports together, one of every coordinate of the "
                f"input; each of them has the eps0 of the matrix, all of them together "
                f"{_shown(self.protocol.eps0)}."
            )
        elif self.k_joint > 1:
            notes.append(
                f"A user sends {self.k_joint} reports together, each at eps0/{self.k_joint}, one "
                "of every coordinate of the input. The bound covers inputs that differ in any "
                "number of the coordinates: all of them is the worst. Reports of separate days, "
                "shuffled separately, are --rounds instead."
            )
        if self.mechanism.type == "joint":
            notes.append(
                "A user sends the reports of all parts together, linked as one: each is of an "
                "attribute of its own and spends its share of eps0, an equal one if none is "
                "given. The bounds cover inputs that differ in any number of attributes."
            )
        if self.rate < 1.0:
            what = "A user takes part" if self.k_joint == 1 else "Each of these reports is sent"
            notes.append(
                f"{what} with probability {self.rate!r}, decided at random, independently and in "
                "secret. n counts all users, whether they take part or not. The stronger clone "
                "ignores this: it is that of reports that are always sent."
            )
        if caveat := self.mechanism.randomizer(_SOME_EPS0).caveat:
            notes.append(caveat)
        notes += self.notes_on_users()
        if self.rounds is None or self.times > 1:
            which = "Rounds" if self.rounds is None else f"The {self.times} rounds"
            notes.append(
                f"{which} are shuffled separately, with fresh randomness. The upper bound "
                "holds for everything published together, whatever the others report, and however "
                "values are chosen from round to round; a user spends eps0 in each round. The "
                "lower bound is that of the same two datasets in every round. Reports that are "
                "sent together, linked to each other, are no rounds: use --k-joint or joint."
            )
        return notes


@dataclass(frozen=True)
class MessageDeployment(Users):
    """Users who send the messages of a protocol, in so many rounds.

    ``sent`` lacks the ``messages`` of protocols that need them. Raises ValueError for an ε₀ that
    the protocol does not have.
    """

    sent: Messages
    messages: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        needs = "eps0" in self.sent.needs
        if self.eps0 is not None and not needs:
            raise ValueError(f"--eps0 must be left out: {self.sent.type} has none")
        if self.eps0 is None and needs:
            raise missing("--eps0")
        self.protocol  # noqa: B018 - checks its parameters

    @cached_property
    def protocol(self) -> Protocol:
        """Of all messages."""
        return self.sent.protocol(Setting(eps0=self.eps0, messages=self.messages))

    @property
    def known(self) -> Sequence[str]:
        """The best proven bound of reports, a lower bound of known datasets, the clone of one."""
        parts = self.protocol.parts(self.honest)
        pairs = (part.protocol.of_lower_bounds().lower_candidates() for part in parts)
        tight = ["tight"] if self.has_crowds else []
        lower = ["lower"] if all(pairs) else []
        return [*tight, "upper", *lower, *(["stronger_clone"] if len(parts) == 1 else [])]

    @property
    def has_crowds(self) -> bool:
        """See `Users`: of shuffled reports of a randomizer there is one."""
        parts = self.protocol.parts(self.honest)
        return all(isinstance(part.protocol, SingleMessage) for part in parts)

    @property
    def seen(self) -> Observation:
        """See `Users`."""
        return self.protocol.seen

    @property
    def covered(self) -> str:
        """See `Users`."""
        return self.protocol.covered

    @property
    def name(self) -> str:
        """Such as ``balls into bins (bins = 16)``."""
        shown = self._parameters | ({} if self.eps0 is None else {"eps0": self.eps0})
        listed = ", ".join(f"{name} = {value}" for name, value in shown.items())
        return f"{PROTOCOLS[self.sent.type].label}{f' ({listed})' if listed else ''}"

    @property
    def _parameters(self) -> dict[str, Any]:
        several = {} if self.messages is None else {"messages": self.messages}
        return {**dict(self.sent.parameters), **several}

    @property
    def sent_facts(self) -> dict[str, Any]:
        """See `Users`."""
        eps0 = {} if self.eps0 is None else {"eps0": self.eps0}
        return {"protocol": self.sent.type, "parameters": self._parameters, **eps0}

    def notes(self) -> list[str]:
        """See `Users`."""
        notes = [
            f"Neighbouring datasets differ in the input of one user. {self.seen.page} states what "
            "is assumed of the protocol, and what its bounds give away.",
            *self.notes_on_users(),
        ]
        if caveat := self.protocol.caveat:
            notes.insert(0, caveat)
        if "lower" not in self.known:
            notes.append("No pair of datasets is known, so that there is no lower bound.")
        if self.times > 1:
            notes.append(
                f"The {self.times} rounds are separate, with fresh randomness, and the upper bound "
                "holds for everything published together."
            )
        return notes


def _shown(eps0: float | None) -> str:
    return "none" if eps0 is None else outward(eps0, up=True)
