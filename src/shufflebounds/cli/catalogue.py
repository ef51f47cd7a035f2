"""The commands that list the available mechanisms and bounds."""

from __future__ import annotations

import inspect
import re
from typing import Any

import click

from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.options import command
from shufflebounds.cli.parameters import flag, parameters, usages
from shufflebounds.cli.reply import Reply
from shufflebounds.cli.values import Name
from shufflebounds.randomizers import registry

# Symbols that some terminals do not show, and what is printed in their place.
PLAIN_SYMBOLS = {"ε₀": "eps0", "≥": ">=", "−": "-", "``": ""}

NAME = click.Argument(["name"], required=False, type=Name(registry.mechanism_names()))


@command(NAME, "json")
def mechanisms(name: str | None) -> Reply:
    """List the available mechanisms; with a NAME, explain one.

    Example: shufflebounds mechanisms krr
    """
    names = [name] if name else registry.mechanism_names()
    return Reply(
        facts=[_mechanism_facts(each) for each in names],
        sections={
            each: [
                _mechanism_description(each),
                *(": ".join(filter(None, usage)) for usage in usages(each)),
                *(_mechanism_explanation(each) if name else []),
            ]
            for each in names
        },
    )


@command("json")
def bounds() -> Reply:
    """List the available bounds, and who proved them."""
    facts: list[dict[str, Any]] = [
        {
            "name": bound.name,
            "kind": bound.kind.value,
            "description": bound.label,
            "needs": "the mechanism" if bound.knows_mechanism else "eps0 alone",
            "quantities": list(bound.quantities),
            "source": bound.source,
        }
        for bound in BOUNDS.values()
    ]
    sections = {
        bound["name"]: [
            f"{bound['description']} ({bound['kind']})",
            f"of {' and '.join(bound['quantities'])}, knows {bound['needs']}: {bound['source']}",
        ]
        for bound in facts
    }
    return Reply(facts=facts, sections=sections)


def _mechanism_explanation(name: str) -> list[str]:
    """What the class of a mechanism says of it after its first paragraph, and how to ask about it.

    Left out are the exceptions that it raises, and the sections of numpydoc.
    """
    about = inspect.getdoc(registry.mechanism(name)) or ""
    text = re.split(r"\n\n\w+\n-{3,}\n|\n\nRaises ", about, maxsplit=1)[0].strip()
    required = [key for key, parameter in parameters(name).items() if parameter.is_required]
    own = "".join(f" {flag(key)} …" for key in required)
    takes_eps0 = "eps0" in inspect.signature(registry.mechanism(name)).parameters
    eps0 = " --eps0 …" if takes_eps0 else ""
    usage = f"shufflebounds epsilon --mechanism {name}{own}{eps0} --n … --delta …"
    return [*text.split("\n\n")[1:], usage]


def _mechanism_description(name: str) -> str:
    description = (registry.mechanism(name).__doc__ or name).strip().splitlines()[0]
    for symbol, plain in PLAIN_SYMBOLS.items():
        description = description.replace(symbol, plain)
    return description


def _mechanism_facts(name: str) -> dict[str, Any]:
    options = {
        key: {
            "type": parameter.type.__name__,
            "required": parameter.is_required,
            "default": parameter.default,
            "help": parameter.help,
        }
        for key, parameter in parameters(name).items()
    }
    return {"name": name, "description": _mechanism_description(name), "parameters": options}
