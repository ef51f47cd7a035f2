"""What a question is about: who sends what, and how often."""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from shufflebounds._version import __version__
from shufflebounds.core import validation
from shufflebounds.core.enclosure import outward
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import REPORTS, Observation, Protocol, Shuffles, SingleMessage
from shufflebounds.protocols.registry import PROTOCOLS, Messages, Reports
from shufflebounds.randomizers import registry
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.description import CompositionOf, Description, Mechanism, Part

# Properties that do not depend on ε₀ are looked up at this value.
SOME_EPS0 = 1.0
# Numbers of cells that a search for ε₀ tries before all cells of a continuous mechanism.
COARSE_CELLS = (8, 16, 32)
# Help for the parameters of protocols. Mechanisms have that of their parameters in their fields.
PROTOCOL_PARAMETERS = {
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
    """The protocols that the command line offers: those whose parameters follow from no target."""
    return [name for name, entry in PROTOCOLS.items() if not {"target", "delta"} & {*entry.needs}]


def parameters(name: str) -> dict[str, Parameter]:
    """The parameters of a mechanism or a protocol, by name; a composition has none."""
    if name in registry.COMPOSITIONS:
        return {}
    make: Callable[..., object]
    metadata: Mapping[str, Mapping[str, Any]]
    if name in PROTOCOLS:
        make = PROTOCOLS[name].make
        metadata = {key: {"help": text} for key, text in PROTOCOL_PARAMETERS.items()}
    else:
        make = registry.mechanism(name)
        # Mechanisms are dataclasses, which their base class is not.
        metadata = {field.name: field.metadata for field in dataclasses.fields(make)}  # type: ignore[arg-type]
    options = {}
    for key, argument in inspect.signature(make, eval_str=True).parameters.items():
        if key != "eps0" and metadata[key].get("is_option", True):
            hints = typing.get_args(argument.annotation) or (argument.annotation,)
            type_ = next(hint for hint in hints if hint is not types.NoneType)
            is_required = argument.default is inspect.Parameter.empty
            default = None if is_required else argument.default
            options[key] = Parameter(type_, is_required, default, metadata[key].get("help", ""))
    return options


def missing(option: str, owner: str = "") -> ValueError:
    """Such as "Missing option '--k' of krr.", in the words of click."""
    return ValueError(f"Missing option {option!r}{f' of {owner}' if owner else ''}.")


def honest_users(n: int, colluding: int) -> int:
    """The users who hide each other; ValueError where nobody would be left as victim."""
    most = validation.users(n) - 1
    return n - validation.whole("colluding", colluding, minimum=0, maximum=most)


def reports(mechanism: Description, k_joint: int, rate: float) -> Reports:
    """Reports of a mechanism, each sent with probability ``rate`` (Poisson subsampling)."""
    sampled = CompositionOf("subsample", (Part(mechanism, weight=rate),))
    return Reports(mechanism if rate == 1.0 else sampled, k_joint)


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """Users who send reports of a mechanism or messages of a protocol, in some number of rounds.

    ``eps0`` is that of all that a user sends in a round; it is None where what is sent fixes it.
    ``eps0``, ``n`` and ``rounds`` are None where a question asks for them or an axis runs along
    them. ``colluding`` of the users provide no cover for others. ``also`` lists further rounds as
    (number of users, number of rounds). ``messages`` is a setting of some protocols.

    Raises ValueError for a number out of its range, for an ε₀ where none is wanted, and where no
    user would be left as victim.
    """

    sent: Reports | Messages
    eps0: float | None = None
    n: int | None = None
    colluding: int = 0
    rounds: int | None = 1
    also: tuple[tuple[int, int], ...] = ()
    messages: int | None = None

    def __post_init__(self) -> None:
        n = validation.MAX_USERS if self.n is None else self.n
        for users in (n, *(users for users, _ in self.also)):
            honest_users(users, self.colluding)
        for rounds in (*([] if self.rounds is None else [self.rounds]), *(t for _, t in self.also)):
            validation.rounds(rounds)
        if self.has_own_eps0 and self.eps0 is not None:
            raise ValueError(f"--eps0 must be left out: {self._fixed_eps0}")
        if not self.sends_reports:
            if self.eps0 is None and not self.has_own_eps0:
                raise missing("--eps0")
            self.protocol  # noqa: B018 - checks its parameters

    @property
    def sends_reports(self) -> bool:
        """Whether users send reports of a mechanism to a shuffler, not messages of a protocol."""
        return isinstance(self.sent, Reports)

    @cached_property
    def protocol(self) -> Protocol:
        """The protocol of all that a user sends, at its ε₀."""
        return self.sent.protocol(Setting(eps0=self.eps0, messages=self.messages))

    @property
    def randomizer(self) -> Randomizer:
        """The randomizer of all that a user reports, at its ε₀."""
        assert isinstance(self.protocol, SingleMessage)
        return self.protocol.randomizer

    @property
    def mechanism(self) -> Description:
        """The mechanism of the reports, without subsampling."""
        description = self._sampled.mechanism if self._sampled else self.sent.mechanism
        assert isinstance(description, Mechanism | CompositionOf)
        return description

    @property
    def rate(self) -> float:
        """The probability that a report is sent."""
        return self._sampled.weight if self._sampled else 1.0

    @property
    def _sampled(self) -> Part | None:
        """The part of a subsampled mechanism."""
        description = self.sent.mechanism
        if isinstance(description, CompositionOf) and description.type == "subsample":
            return description.parts[0]
        return None

    @property
    def seen(self) -> Observation:
        """What is published of all that users send."""
        return REPORTS if self.sends_reports else self.protocol.seen

    @property
    def covered(self) -> str:
        """The users whom the answers cover; empty for all users."""
        return "" if self.sends_reports else self.protocol.covered

    @property
    def has_own_eps0(self) -> bool:
        """Whether what is sent fixes ε₀, or has none."""
        return "eps0" not in self.sent.needs

    @property
    def has_informative_eps0(self) -> bool:
        """Whether ε₀ is finite and positive, so that a bound of ε₀ alone says something."""
        return self.protocol.eps0 is not None and 0.0 < self.protocol.eps0 < math.inf

    @property
    def has_local_privacy(self) -> bool:
        """Whether what a user sends has a finite ε₀ by itself. A chosen ε₀ is finite."""
        return not self.has_own_eps0 or self.has_informative_eps0

    @property
    def has_all_datasets_bound(self) -> bool:
        """Whether a bound for all datasets is known, which may be tight."""
        if not self.sends_reports:
            return all(isinstance(part.protocol, SingleMessage) for part in self._parts)
        eps0 = None if self.has_own_eps0 else SOME_EPS0
        crowds = replace(self, eps0=eps0).randomizer.crowds()
        # Rounds of too many patterns are not composed.
        is_single = self.rounds == 1 and not self.also
        return bool(crowds) and (is_single or all(math.isfinite(crowd.size) for crowd in crowds))

    @property
    def bounds(self) -> Sequence[str]:
        """Names of the bounds that `epsilon` and `delta` print."""
        if self.sends_reports:
            return ("tight", "upper", "lower", "stronger_clone")
        lower_protocols = (part.protocol.of_lower_bounds() for part in self._parts)
        has_lower = all(protocol.lower_candidates() for protocol in lower_protocols)
        tight = ["tight"] if self.has_all_datasets_bound else []
        clone = ["stronger_clone"] if len(self._parts) == 1 else []
        return [*tight, "upper", *(["lower"] if has_lower else []), *clone]

    @property
    def _parts(self) -> Sequence[Shuffles]:
        """The shuffles that a protocol consists of."""
        return self.protocol.parts(self.honest)

    @property
    def honest(self) -> int:
        """The users who hide each other; the n of every bound."""
        assert self.n is not None
        return self.n - self.colluding

    @property
    def every_round(self) -> list[tuple[int, int]]:
        """Pairs of honest users and rounds, of a question that fixes both."""
        assert self.rounds is not None
        more = [(users - self.colluding, rounds) for users, rounds in self.also]
        return [(self.honest, self.rounds), *more]

    @property
    def times(self) -> int:
        """The number of all rounds, of a question that does not ask for it."""
        assert self.rounds is not None
        return self.rounds + sum(rounds for _, rounds in self.also)

    def setting(self, **target: Any) -> Setting:
        """The setting of bounds: the users, ε₀, and the target."""
        return Setting(n=self.honest, eps0=self.eps0, **target)

    def refuse_own_eps0(self) -> None:
        """Raise ValueError where no ε₀ can be chosen."""
        if self.has_own_eps0:
            raise ValueError(f"eps0 cannot be chosen: {self._fixed_eps0}")

    def coarse_to_fine(self) -> Iterator[Deployment]:
        """The same deployment, after versions in few cells if its reports are continuous.

        The bounds of fewer cells are valid too, only wider, and a joint of them is far smaller.
        """
        mechanism = self.mechanism
        if isinstance(mechanism, Mechanism) and "cells" in parameters(mechanism.type):
            given = mechanism.parameters
            for cells in () if "cells" in dict(given) else COARSE_CELLS:
                coarse = Mechanism(mechanism.type, (*given, ("cells", cells)))
                yield replace(self, sent=reports(coarse, self.sent.k_joint, self.rate))
        yield self

    def facts(self, **target: Any) -> dict[str, Any]:
        """The first keys of an answer in JSON; an infinite ε₀ is null."""
        facts: dict[str, Any] = {"version": __version__}
        if isinstance(self.sent, Messages):
            facts |= {"protocol": self.sent.type, "parameters": self._parameters}
        else:
            facts |= {"mechanism": self.mechanism.type, "parameters": self._parameters}
            facts |= {"k_joint": self.sent.k_joint, "rate": self.rate}
        if self.eps0 is not None:
            facts["eps0"] = self.eps0
        elif self.sends_reports and self.has_own_eps0:
            eps0 = self.protocol.eps0
            facts["eps0"] = None if eps0 is None or math.isinf(eps0) else eps0
        facts |= {"seen": self.seen.name, "covered": self.covered or "all users"}
        if self.n is not None:
            facts |= {"n": self.n, "colluding": self.colluding, "n_honest": self.honest}
        facts |= target
        if self.rounds:
            facts["rounds"] = self.rounds
        if self.also:
            facts["also"] = [list(rounds) for rounds in self.also]
        return facts

    @property
    def _parameters(self) -> dict[str, Any]:
        """The parameters that are options."""
        if isinstance(self.sent, Messages):
            messages = {} if self.messages is None else {"messages": self.messages}
            return {**dict(self.sent.parameters), **messages}
        mechanism = self.mechanism
        if isinstance(mechanism, CompositionOf):
            return {key: value for key, value in mechanism.plain().items() if key != "type"}
        options = parameters(mechanism.type)
        return {name: value for name, value in mechanism.parameters if name in options}

    @property
    def name(self) -> str:
        """What a user sends, such as ``2 x KRR(k=10, eps0=4.0) at rate 0.1``."""
        shown = dict(self._parameters)
        if isinstance(self.sent, Messages):
            shown |= {} if self.eps0 is None else {"eps0": self.eps0}
            listed = ", ".join(f"{name} = {value}" for name, value in shown.items())
            return f"{PROTOCOLS[self.sent.type].label}{f' ({listed})' if listed else ''}"
        k = self.sent.k_joint
        several = "" if k == 1 else f"{k} x "
        rate = "" if self.rate == 1.0 else f" at rate {self.rate!r}"
        if self.has_own_eps0:
            fixed, each = self.mechanism.randomizer(None), "" if k == 1 else " each"
            return f"{several}{fixed.label} (eps0 = {_shown(fixed.eps0)}{each}){rate}"
        if isinstance(self.mechanism, CompositionOf):
            eps0 = "" if self.eps0 is None else f" at eps0 = {self.eps0 / k!r}"
            return f"{several}{self.mechanism}{eps0}{rate}"
        if self.eps0 is not None:
            shown["eps0"] = validation.eps0(self.eps0) / k
        listed = ", ".join(f"{name}={value}" for name, value in shown.items())
        type_ = registry.mechanism(self.mechanism.type).__name__
        return f"{several}{type_}{f'({listed})' if listed else ''}{rate}"

    def title(self, *target: str) -> str:
        """The first line of an answer: what is sent, the users, the rounds and the target."""
        users = []
        if self.n is not None:
            colluding = f" ({self.colluding} of them colluding)" if self.colluding else ""
            users = [f"n = {self.n} {'user' if self.n == 1 else 'users'}{colluding}"]
        rounds = [f"{self.rounds} rounds"] if self.rounds and self.times > 1 else []
        rounds += [f"and {times} rounds of {n} users" for n, times in self.also]
        return ", ".join([self.name, *users, *rounds, *target])

    @property
    def _fixed_eps0(self) -> str:
        if isinstance(self.sent, Messages):
            return f"{self.sent.type} has none"
        fixed = self.mechanism.randomizer(None)
        return f"{self.mechanism.type} {fixed.label} fixes it, {_shown(fixed.eps0)}"

    @property
    def warnings(self) -> list[str]:
        """The notes that restrict what may be claimed, which no answer leaves out."""
        source = self.mechanism.randomizer(SOME_EPS0) if self.sends_reports else self.protocol
        return [source.caveat] if source.caveat else []

    def notes(self) -> list[str]:
        """What the answers rest on, a sentence or a few each, the warnings among them."""
        if not self.sends_reports:
            return self._notes_on_messages()
        return self._notes_on_reports() + self._notes_on_users() + self._notes_on_rounds()

    def _notes_on_messages(self) -> list[str]:
        notes = [
            *self.warnings,
            "Neighbouring datasets differ in the input of one user. "
            f"{self.seen.page} states what is assumed of the protocol, and what its "
            "bounds give away.",
            *self._notes_on_users(),
        ]
        if "lower" not in self.bounds:
            notes.append("No pair of datasets is known, so that there is no lower bound.")
        if self.times > 1:
            notes.append(
                f"The {self.times} rounds are separate, with fresh randomness, and the upper bound "
                "holds for everything published together."
            )
        return notes

    def _notes_on_reports(self) -> list[str]:
        notes, k = [], self.sent.k_joint
        if self.has_own_eps0:
            label = self.mechanism.randomizer(None).label
            together = "" if k == 1 else "of all coordinates together "
            notes.append(
                f"Inputs are the rows of {label}, counted from 0. All pairs of them {together}are "
                "tried, and the worst is named (over several rounds none is, since another may be "
                "the worst in each)."
            )
        if k > 1 and self.has_own_eps0:
            notes.append(
                f"A user sends {k} reports together, one of every coordinate of the "
                f"input; each of them has the eps0 of the matrix, all of them together "
                f"{_shown(self.protocol.eps0)}."
            )
        elif k > 1:
            notes.append(
                f"A user sends {k} reports together, each at eps0/{k}, one "
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
            sender = "A user takes part" if k == 1 else "Each of these reports is sent"
            notes.append(
                f"{sender} with probability {self.rate!r}, decided at random, independently and in "
                "secret. n counts all users, whether they take part or not. The stronger clone "
                "ignores this: it is that of reports that are always sent."
            )
        return [*notes, *self.warnings]

    def _notes_on_users(self) -> list[str]:
        if not self.colluding:
            return []
        # Where the answer is a number of users.
        counted = "" if self.n is not None else " and counted in the answers"
        return [
            f"Users who collude, {self.colluding} here{counted}, work with the observer, drop out "
            "or break the protocol. They hide nobody: the answers are those of the others alone, "
            "whoever they are."
        ]

    def _notes_on_rounds(self) -> list[str]:
        if self.rounds is not None and self.times == 1:
            return []
        rounds = "Rounds" if self.rounds is None else f"The {self.times} rounds"
        return [
            f"{rounds} are shuffled separately, with fresh randomness. The upper bound "
            "holds for everything published together, whatever the others report, and however "
            "values are chosen from round to round; a user spends eps0 in each round. The "
            "lower bound is that of the same two datasets in every round. Reports that are "
            "sent together, linked to each other, are no rounds: use --k-joint or joint."
        ]


def _shown(eps0: float | None) -> str:
    return "none" if eps0 is None else outward(eps0, up=True)
