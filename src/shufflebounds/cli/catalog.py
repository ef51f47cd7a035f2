"""The commands that list what there is: mechanisms and bounds."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

import click

from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.deployment import parameters
from shufflebounds.cli.options import JSON, Name, flag
from shufflebounds.randomizers import registry


@click.command()
@click.argument("name", required=False, type=Name(registry.mechanism_names()))
@JSON
def mechanisms(name: str | None, as_json: bool) -> None:
    """Which mechanisms are there? With a NAME, explain one.

    Example: shufflebounds mechanisms krr
    """
    listed = [_mechanism(one) for one in ([name] if name else registry.mechanism_names())]
    if as_json:
        click.echo(json.dumps(listed, indent=2, allow_nan=False))
        return
    width = max(len(mechanism["name"]) for mechanism in listed)
    for mechanism in listed:
        click.echo(f"{mechanism['name']:{width}}  {mechanism['description']}")
        for parameter, facts in mechanism["parameters"].items():
            usage = "required" if facts["required"] else "optional"
            named = f"{flag(parameter)} {facts['type'].upper()}, {usage}"
            click.echo(f"{'':{width}}    {named}: {facts['help']}".removesuffix(": "))
    if name:
        needed = [p for p, facts in listed[0]["parameters"].items() if facts["required"]]
        own = "".join(f" {flag(p)} …" for p in needed)
        takes_eps0 = "eps0" in inspect.signature(registry.mechanism(name)).parameters
        eps0 = " --eps0 …" if takes_eps0 else ""
        click.echo(f"\n{_explanation(name)}\n")
        click.echo(f"shufflebounds epsilon --mechanism {name}{own}{eps0} --n … --delta …")


@click.command()
@JSON
def bounds(as_json: bool) -> None:
    """Which bounds are there, and who proved them?"""
    listed = [
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
    if as_json:
        click.echo(json.dumps(listed, indent=2))
        return
    width = max(len(name) for name in BOUNDS)
    for bound in listed:
        click.echo(f"{bound['name']:{width}}  {bound['description']} ({bound['kind']})")
        quantities = " and ".join(bound["quantities"])
        click.echo(f"{'':{width}}    of {quantities}, knows {bound['needs']}: {bound['source']}")


# For terminals that show no other characters.
_PLAIN = {"ε₀": "eps0", "≥": ">=", "−": "-", "``": ""}


def _explanation(name: str) -> str:
    """What its class says of it, without what it raises and the sections of numpydoc."""
    about = inspect.getdoc(registry.mechanism(name)) or ""
    return re.split(r"\n\n\w+\n-{3,}\n|\n\nRaises ", about, maxsplit=1)[0].strip()


def _mechanism(name: str) -> dict[str, Any]:
    found = registry.mechanism(name)
    listed = {
        parameter: {
            "type": one.type.__name__,
            "required": one.is_required,
            "default": one.default,
            "help": one.help,
        }
        for parameter, one in parameters(name).items()
    }
    description = (found.__doc__ or name).strip().splitlines()[0]
    for symbol, plain in _PLAIN.items():
        description = description.replace(symbol, plain)
    return {"name": name, "description": description, "parameters": listed}
