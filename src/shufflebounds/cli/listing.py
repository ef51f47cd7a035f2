"""The command that lists the mechanisms."""

from __future__ import annotations

import importlib
import json

import click

from shufflebounds import randomizers
from shufflebounds.cli.options import json_option
from shufflebounds.cli.parameters import fields, flag, is_required, kind


@click.command()
@json_option
def mechanisms(as_json: bool) -> None:
    """The mechanisms and their parameters."""
    listed = []
    for name in randomizers.mechanism_names():
        module = importlib.import_module(randomizers.mechanism(name).__module__)
        parameters = {
            parameter: {
                "type": kind(name, parameter).__name__,
                "required": is_required(field),
                "default": None if is_required(field) else field.default,
                "help": field.metadata.get("help", ""),
            }
            for parameter, field in fields(name).items()
        }
        description = (module.__doc__ or name).strip().splitlines()[0]
        listed.append({"name": name, "description": description, "parameters": parameters})
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
