"""The parameters of mechanisms and protocols, each of which is an option of the commands."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shufflebounds.protocols.registry import PROTOCOLS
from shufflebounds.randomizers import registry
from shufflebounds.subjects.observation import Words

# Help texts for the parameters of protocols. Mechanisms have theirs in the metadata of the fields.
PROTOCOL_PARAMETERS = {
    "attributes": "number of binary attributes, at least height",
    "bins": "number of bins, at least 2",
    "bits": "encoding of a value as a bit vector, rappor or oue",
    "blankets": "noise messages per user; 1 if left out",
    "coin": "probability of a 1 in a noise message; 0.5 if left out",
    "domain_size": "number of values",
    "flip": "probability that a bit or a value is replaced",
    "height": "number of levels of a tree, 1 to 40",
    "messages": "messages per user and query, at least 2",
    "nodes": "nodes of the level whose users the bounds cover; 2 if left out, which covers all",
    "special": "number of bins per value; 1 if left out",
    "trees": "number of trees, built one after the other; 1 if left out",
}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a mechanism or a protocol, other than ε₀; ``type`` leaves out a None."""

    type: type
    is_required: bool
    default: Any
    help: str


def protocols() -> list[str]:
    """Return the protocols to choose from: those that are not made for a target or for n users."""
    designed = {"target", "delta", "n"}
    return [name for name, entry in PROTOCOLS.items() if not designed & {*entry.needs}]


def maker(owner: str) -> Callable[..., Any]:
    """Return the class or function that makes a mechanism or a protocol."""
    entry = PROTOCOLS.get(owner)
    return entry.make if entry else registry.mechanism(owner)


def words_of(owner: str) -> Words:
    """Return how answers about a mechanism or a protocol call what is counted."""
    entry = PROTOCOLS.get(owner)
    return Words() if entry is None else entry.words


def own_counts(owner: str) -> dict[str, str]:
    """Return the names of counts of an owner that has its own, by those of settings."""
    counts = words_of(owner).counts
    return {} if counts == Words().counts else counts


def count_parameters(owner: str) -> dict[str, Parameter]:
    """Return the counts for which an owner has names of its own, as parameters."""
    words, counts = words_of(owner), own_counts(owner)
    helps = {
        "n": f"number of {words.unit}s of each {words.period}",
        "rounds": f"number of {words.period}s; 1 if left out",
    }
    return {name: Parameter(int, key == "n", None, helps[key]) for key, name in counts.items()}


def parameters(owner: str) -> dict[str, Parameter]:
    """Return the parameters of a mechanism or a protocol, by name; a composition has none."""
    if owner in registry.COMPOSITIONS:
        return {}
    make: Any = maker(owner)
    probabilities = getattr(make, "PROBABILITIES", {})
    listed = _parameters_of(make, probabilities)
    if probabilities:
        others = _parameters_of(make.from_probabilities, probabilities)
        for name, parameter in {**others, **listed}.items():
            is_required = parameter.is_required and name in listed and name in others
            listed[name] = dataclasses.replace(parameter, is_required=is_required)
    return listed


def _parameters_of(make: Callable[..., Any], helps: Mapping[str, str]) -> dict[str, Parameter]:
    """Return the parameters of a class or function, with help texts for those without fields."""
    fields = dataclasses.fields(make) if dataclasses.is_dataclass(make) else ()
    metadata_by_name = {field.name: field.metadata for field in fields}
    result = {}
    for name, argument in inspect.signature(make, eval_str=True).parameters.items():
        metadata: Mapping[str, Any] = metadata_by_name.get(name, {})
        if name != "eps0" and metadata.get("is_option", True):
            hints = typing.get_args(argument.annotation) or (argument.annotation,)
            result[name] = Parameter(
                type=next(hint for hint in hints if hint is not types.NoneType),
                is_required=metadata.get(
                    "is_required", argument.default is inspect.Parameter.empty
                ),
                default=None if argument.default is inspect.Parameter.empty else argument.default,
                help=metadata.get("help") or {**PROTOCOL_PARAMETERS, **helps}.get(name, ""),
            )
    return result


def usages(owner: str) -> list[tuple[str, str]]:
    """Return pairs such as ``--k INT, required`` and ``number of values, at least 2``."""
    listed = {**parameters(owner), **count_parameters(owner)}
    return [
        (
            f"{flag(name)} {parameter.type.__name__.upper()}, "
            f"{'required' if parameter.is_required else 'optional'}",
            parameter.help,
        )
        for name, parameter in listed.items()
    ]


def flag(parameter: str) -> str:
    """Return the option of a parameter, such as ``--domain-size`` for ``domain_size``."""
    return f"--{parameter.replace('_', '-')}"
