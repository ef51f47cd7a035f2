"""Users who send the messages of a protocol, by the options that `epsilon` and `delta` have for it.

Protocols whose parameters follow from a target are for the figures of papers: on the command line
one names the parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shufflebounds._version import __version__
from shufflebounds.cli.deployment import Users
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import Protocol
from shufflebounds.protocols.registry import PROTOCOLS
from shufflebounds.reproduce.sent import Messages

_MEANINGS = {
    "attributes": "binary attributes, no fewer than the height",
    "bins": "number of bins, at least 2",
    "bits": "how vectors are made, rappor or oue",
    "blankets": "messages of no input that each user sends besides its own; 1 if left out",
    "coin": "chance of a 1 among blankets; 0.5 if left out",
    "domain_size": "number of values",
    "flip": "chance that a bit, or a value, is replaced",
    "height": "levels of a tree, 1 to 40",
    "messages": "messages of a user in each query, at least 2",
    "nodes": "nodes of the level that is asked about; 2, the worst, if left out",
    "special": "bins of a value; 1 if left out",
    "trees": "trees, one after the other; 1 if left out",
}


def names() -> list[str]:
    """The protocols that can be asked for."""
    return [name for name, one in PROTOCOLS.items() if not {"target", "delta"} & set(one.needs)]


def parameters(name: str) -> dict[str, inspect.Parameter]:
    """Parameters of a protocol other than ε₀, by name; their annotations are types."""
    found = inspect.signature(PROTOCOLS[name].make, eval_str=True).parameters
    return {key: one for key, one in found.items() if key != "eps0"}


def kind(name: str, parameter: str) -> type:
    """The type of a parameter, leaving None aside."""
    hint = parameters(name)[parameter].annotation
    return hint if isinstance(hint, type) else hint.__args__[0]


def meaning(parameter: str) -> str:
    """What a parameter is, for people."""
    return _MEANINGS.get(parameter, "a parameter")


@dataclass(frozen=True)
class MessageDeployment(Users):
    """Users who send the messages of a protocol, in so many rounds.

    ``sent`` lacks the ``messages`` of protocols that need them. Raises ValueError for numbers out
    of range, and for an ε₀ that the protocol does not have.
    """

    sent: Messages
    messages: int | None = None
    eps0: float | None = None
    n: int | None = None
    colluding: int = 0
    rounds: int | None = 1
    also: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        self.check_users()
        needs = "eps0" in self.sent.needs
        if self.eps0 is not None and not needs:
            raise ValueError(f"--eps0 must be left out: {self.sent.type} has none")
        if self.eps0 is None and needs:
            raise ValueError("missing option '--eps0'")
        self.protocol  # noqa: B018 - checks its parameters

    @cached_property
    def protocol(self) -> Protocol:
        """Of all messages."""
        return self.sent.protocol(Setting(eps0=self.eps0, messages=self.messages))

    @property
    def known(self) -> list[str]:
        """Names of the bounds that it has.

        A lower bound where a pair of datasets is known of every shuffle that it takes, the clone
        where it takes one.
        """
        parts = self.protocol.parts(self.honest)
        pairs = (part.protocol.of_lower_bounds().lower_candidates() for part in parts)
        lower = ["lower"] if all(pairs) else []
        return ["upper", *lower, *(["stronger_clone"] if len(parts) == 1 else [])]

    @property
    def name(self) -> str:
        """Such as ``balls into bins (bins = 16)``."""
        shown = dict(self._parameters)
        if self.eps0 is not None:
            shown["eps0"] = self.eps0
        listed = ", ".join(f"{name} = {value}" for name, value in shown.items())
        return f"{PROTOCOLS[self.sent.type].label}{f' ({listed})' if listed else ''}"

    @property
    def _parameters(self) -> Mapping[str, Any]:
        several = {} if self.messages is None else {"messages": self.messages}
        return {**dict(self.sent.parameters), **several}

    def facts(self, **asked: Any) -> dict[str, Any]:
        """See `Users`."""
        facts: dict[str, Any] = {
            "version": __version__,
            "protocol": self.sent.type,
            "parameters": dict(self._parameters),
        }
        if self.eps0 is not None:
            facts["eps0"] = self.eps0
        return {**facts, **self.facts_of_users(**asked)}

    def notes(self) -> list[str]:
        """See `Users`."""
        notes = [
            "Neighbouring datasets differ in the input of one user. What is seen and assumed of "
            "each protocol, and what its bound gives away, is in docs/variation-ratio.md and, for "
            "sums of noisy bits, in docs/aggregation.md.",
            *self.notes_on_users(),
        ]
        if "lower" not in self.known:
            notes.append("No pair of datasets is known, so that there is no lower bound.")
        if self.times > 1:
            notes.append(
                f"The {self.times} rounds are shuffled separately, with fresh randomness, and the "
                "upper bound holds for all that is published together."
            )
        return notes
