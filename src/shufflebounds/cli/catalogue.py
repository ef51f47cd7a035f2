"""The commands that list the available mechanisms and bounds."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.options import Argument, command
from shufflebounds.cli.parameters import flag, maker, own_counts, parameters, protocols, usages
from shufflebounds.cli.reply import Reply
from shufflebounds.cli.sent import ANY, COMPOSITIONS_OF_PARTS
from shufflebounds.cli.values import Name
from shufflebounds.randomizers import registry

# Symbols that some terminals do not show, and what is printed in their place.
PLAIN_SYMBOLS = {"ε₀": "eps0", "ε": "epsilon", "δ": "delta", "≥": ">=", "−": "-", "``": ""}


def _name_argument(names: Sequence[str]) -> Argument:
    return Argument(["name"], required=False, type=Name(names), metavar="[NAME]")


@command(_name_argument([*registry.mechanism_names(), *protocols()]), "json")
def mechanisms(name: str | None) -> Reply:
    """List the mechanisms and protocols, or explain one.

    Example: shufflebounds mechanisms krr
    """
    if name:
        lines = [*(": ".join(filter(None, usage)) for usage in usages(name)), *_explanation(name)]
        return Reply(facts=[_owner_facts(name)], sections={name: [_description(name), *lines]})
    names = [*registry.mechanism_names(), ANY]
    senders = [each for each in protocols() if each != ANY]
    return Reply(
        title="Parameters in brackets are optional; `mechanisms NAME` explains them.",
        facts=[_owner_facts(each) for each in names],
        table={
            "name": names,
            "what it is": [re.split(r"[:,] (?![^\[]*\])", _description(each))[0] for each in names],
            "parameters": [_options_of_owner(each) for each in names],
        },
        sections={
            "Combinations (one --part per component):": [", ".join(COMPOSITIONS_OF_PARTS)],
            "Protocols:": [", ".join(senders)],
        },
    )


@command(_name_argument([*BOUNDS]), "json")
def bounds(name: str | None) -> Reply:
    """List the bounds, or say who proved one.

    Example: shufflebounds bounds blanket
    """
    names = [name] if name else [*BOUNDS]
    facts = [_bound_facts(each) for each in names]
    if name:
        (fact,) = facts
        told = [
            f"{fact['description']} ({fact['kind']})",
            f"for {', '.join(fact['quantities'])}; needs {fact['needs']}",
            fact["source"],
        ]
        return Reply(facts=facts, sections={name: told})
    return Reply(
        title="`bounds NAME` explains one, and says who proved it.",
        facts=facts,
        table={
            "name": names,
            "kind": [fact["kind"] for fact in facts],
            "needs": [fact["needs"].removeprefix("the ") for fact in facts],
            "for": [", ".join(fact["quantities"]) for fact in facts],
        },
    )


def _bound_facts(name: str) -> dict[str, Any]:
    bound = BOUNDS[name]
    return {
        "name": bound.name,
        "kind": bound.kind.value,
        "description": bound.label,
        "needs": "the mechanism" if bound.knows_mechanism else "eps0 alone",
        "quantities": list(bound.quantities),
        "source": bound.source,
    }


def _options_of_owner(owner: str) -> str:
    """Return the names of parameters, required ones first and the others in brackets."""
    entries = sorted(parameters(owner).items(), key=lambda item: not item[1].is_required)
    names = ((name.replace("_", "-"), entry.is_required) for name, entry in entries)
    return " ".join(name if is_required else f"[{name}]" for name, is_required in names)


def _explanation(owner: str) -> list[str]:
    """Return what the docstring says after its first paragraph, and how to ask about the owner.

    Left out are the exceptions that it raises, and the sections of numpydoc.
    """
    about = inspect.getdoc(maker(owner)) or ""
    text = re.split(r"\n\n\w+\n-{3,}\n|(?<=\.)\s+Raises\s", about, maxsplit=1)[0]
    required = [key for key, parameter in parameters(owner).items() if parameter.is_required]
    own = "".join(f" {flag(key)} …" for key in required)
    takes_eps0 = "eps0" in inspect.signature(maker(owner)).parameters
    eps0 = " --eps0 …" if takes_eps0 else ""
    users = f" {flag(own_counts(owner)['n'])} …" if own_counts(owner) else " -n …"
    usage = f"shufflebounds epsilon {owner}{own}{eps0}{users} --delta …"
    return [*_in_plain_symbols(text.strip()).split("\n\n")[1:], usage]


def _description(owner: str) -> str:
    """Return the first line of the docstring."""
    return _in_plain_symbols((maker(owner).__doc__ or owner).strip().splitlines()[0])


def _in_plain_symbols(text: str) -> str:
    for symbol, plain in PLAIN_SYMBOLS.items():
        text = text.replace(symbol, plain)
    return text


def _owner_facts(owner: str) -> dict[str, Any]:
    options = {
        key: {
            "type": parameter.type.__name__,
            "required": parameter.is_required,
            "default": parameter.default,
            "help": parameter.help,
        }
        for key, parameter in parameters(owner).items()
    }
    return {"name": owner, "description": _description(owner), "parameters": options}
