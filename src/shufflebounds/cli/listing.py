"""The commands that list what there is: mechanisms and bounds."""

from __future__ import annotations

import importlib
import json
from typing import Any

import click

from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.deployment import fields, is_required, kind
from shufflebounds.cli.options import JSON, flag
from shufflebounds.randomizers import registry


@click.command()
@JSON
def mechanisms(as_json: bool) -> None:
    """The mechanisms and their parameters."""
    listed = [_mechanism(name) for name in registry.mechanism_names()]
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


@click.command()
@JSON
def bounds(as_json: bool) -> None:
    """The bounds, what they are, and who proved them."""
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


def _mechanism(name: str) -> dict[str, Any]:
    found = registry.mechanism(name)
    parameters = {
        parameter: {
            "type": kind(name, parameter).__name__,
            "required": is_required(field),
            "default": None if is_required(field) else field.default,
            "help": field.metadata.get("help", ""),
        }
        for parameter, field in fields(name).items()
    }
    module = importlib.import_module(found.__module__)
    description = (module.__doc__ or name).strip().splitlines()[0]
    return {"name": name, "description": description, "parameters": parameters}
