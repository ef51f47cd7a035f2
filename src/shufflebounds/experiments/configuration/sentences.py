"""What a configuration has against its models, in words."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from shufflebounds.experiments.configuration.models import NAME_RULE

_KINDS = {
    "number": "a number",
    "integer": "an integer",
    "string": "text",
    "array": "a list",
    "object": "a mapping",
}
_LIMITS = {
    "exclusiveMinimum": "> {:g}",
    "minimum": ">= {:.15g}",
    "exclusiveMaximum": "< {:g}",
    "maximum": "<= {:.16g}",
    "maxLength": "of at most {} characters",
}
_NOT_EMPTY = ("minItems", "minProperties", "minLength")

# Characters of a value that a sentence repeats.
_LONGEST_SHOWN = 80


def sentences(
    error: ValidationError, model: type[BaseModel], content: Mapping[str, Any], place: str = ""
) -> Iterator[str]:
    """A sentence for everything that a model has against some content, which stands at `place`."""
    for mistake in error.errors(include_url=False):
        yield _sentence(mistake, model, content, place)


def _sentence(
    mistake: Mapping[str, Any], model: type[BaseModel], content: Mapping[str, Any], place: str
) -> str:
    steps = [step for step in mistake["loc"] if step != "[key]"]
    where, kind, value = _dotted(place, steps), mistake["type"], mistake["input"]
    if kind == "sentence":
        return mistake["msg"].replace("{place}", where)
    parent = _dotted(place, steps[:-1])
    if kind == "missing":
        return f"{where} is missing; it must be {_allowed(_fragment(model, steps))}"
    if kind == "extra_forbidden":
        known = list(_properties(_fragment(model, steps[:-1])))
        return (
            f"{_within(parent, steps[-1])} is not a known key{suggestion(steps[-1], known)}; "
            f"the keys here are {', '.join(known)}"
        )
    if "[key]" in mistake["loc"]:
        return f"{_within(parent, steps[-1])} is not a valid name; it must be {NAME_RULE}"
    fragment = _fragment(model, steps)
    return (
        f"{where} is {_shown(value)}; it must be {_allowed(fragment)}"
        f"{_number_hint(value, fragment)}{_mapping_hint(value, fragment)}"
    )


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _fragment(model: type[BaseModel], steps: Iterable[str | int]) -> Mapping[str, Any]:
    """The part of a model's JSON schema that speaks of a place."""
    schema = _schema(model)
    here = schema
    for step in steps:
        if isinstance(step, int):
            here = here["items"]
        elif step in _properties(here):
            here = _properties(here)[step]
        else:
            here = here.get("additionalProperties", {})
        here = _resolved(schema, here if isinstance(here, Mapping) else {})
    return here


def _resolved(schema: Mapping[str, Any], fragment: Mapping[str, Any]) -> Mapping[str, Any]:
    """A fragment with what it refers to in place of the reference, and without null."""
    if "anyOf" in fragment and "x-allowed" not in fragment:
        real = [one for one in fragment["anyOf"] if one.get("type") != "null"]
        if len(real) == 1:
            return _resolved(schema, real[0])
    while "$ref" in fragment:
        fragment = schema["$defs"][fragment["$ref"].rpartition("/")[2]]
    return fragment


def _properties(fragment: Mapping[str, Any]) -> Mapping[str, Any]:
    return fragment.get("properties", {})


def _dotted(place: str, path: Iterable[str | int]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{_brief(step)}" for step in path)
    return f"{place}{''.join(steps)}".lstrip(".") or "the file"


def _within(place: str, key: object) -> str:
    name = _brief(str(key))
    return name if place == "the file" else f"{place}.{name}"


def _shown(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, Mapping) and value:
        return "a mapping"
    if isinstance(value, list) and value:
        return "a list"
    return _brief(repr(value))


def _brief(text: str) -> str:
    if len(text) <= _LONGEST_SHOWN:
        return text
    return f"{text[:_LONGEST_SHOWN]}… ({len(text)} characters)"


def _allowed(fragment: Mapping) -> str:
    """What a fragment of the schema asks for."""
    if "x-allowed" in fragment:
        return fragment["x-allowed"]
    if "enum" in fragment:
        return f"one of {', '.join(map(str, fragment['enum']))}"
    if "const" in fragment:
        return str(fragment["const"])
    if "pattern" in fragment:
        return NAME_RULE if "{0,63}" in fragment["pattern"] else 'a colour such as "#0072b2"'
    if "type" not in fragment:
        return "given"
    limits = [text.format(fragment[key]) for key, text in _LIMITS.items() if key in fragment]
    if any(key in fragment for key in _NOT_EMPTY):
        limits.append("that is not empty")
    return " ".join([_KINDS[fragment["type"]], " and ".join(limits)]).rstrip()


def _number_hint(value: object, fragment: Mapping) -> str:
    """How to write a number that YAML reads as text, such as 1e-6 without a point."""
    wanted = fragment.get("type")
    if not isinstance(value, str) or wanted not in ("number", "integer"):
        return ""
    try:
        number = float(value)
    except ValueError:
        return ""
    if not math.isfinite(number) or (wanted == "integer" and not number.is_integer()):
        return ""
    mantissa, _, exponent = repr(number).partition("e")
    if exponent:
        mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
        mantissa = f"{mantissa}e{exponent}"
    written = str(int(number)) if wanted == "integer" else mantissa
    return f" (YAML reads this as text: write {written})"


def _mapping_hint(value: object, fragment: Mapping) -> str:
    """Where a mapping on the command line has become text."""
    wanted = fragment.get("type") in ("object", "array")
    if wanted and isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        return (
            " (on the command line this is text: YAML wants a blank after each colon, "
            "or use --configfile)"
        )
    return ""


def suggestion(value: object, allowed: Iterable[str]) -> str:
    """A guess at what an unknown name was meant to be, if there is a likely one."""
    close = difflib.get_close_matches(str(value), list(allowed), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
