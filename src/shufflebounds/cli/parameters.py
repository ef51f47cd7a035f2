"""Parameters of the mechanisms: the fields of their dataclasses other than ε₀, as options."""

from __future__ import annotations

import dataclasses
import types
import typing

from shufflebounds.randomizers import registry


def fields(mechanism: str) -> dict[str, dataclasses.Field]:
    """Parameters of a mechanism, by name."""
    # Mechanisms are dataclasses, which their base class is not.
    found = dataclasses.fields(registry.mechanism(mechanism))  # type: ignore[arg-type]
    return {
        field.name: field
        for field in found
        if field.init and field.name != "eps0" and field.metadata.get("is_option", True)
    }


def kind(mechanism: str, parameter: str) -> type:
    """The type of a parameter, leaving None aside."""
    hint = typing.get_type_hints(registry.mechanism(mechanism))[parameter]
    return next(kind for kind in typing.get_args(hint) or (hint,) if kind is not types.NoneType)


def is_required(field: dataclasses.Field) -> bool:
    return field.default is field.default_factory is dataclasses.MISSING


def flag(parameter: str) -> str:
    """Such as ``--domain-size``."""
    return f"--{parameter.replace('_', '-')}"


def mechanisms_by_parameter() -> dict[str, list[str]]:
    """Every parameter of some mechanism, and the mechanisms that have it."""
    found: dict[str, list[str]] = {}
    for mechanism in registry.mechanism_names():
        for parameter in fields(mechanism):
            found.setdefault(parameter, []).append(mechanism)
    return found
