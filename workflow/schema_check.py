"""What config.yaml has against its schema, in words."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from numbers import Real
from pathlib import Path

import jsonschema
import yaml

SCHEMA = Path(__file__).parent / "schemas" / "config.schema.yaml"

_KINDS = {
    "number": "a number",
    "integer": "an integer",
    "string": "text",
    "array": "a list",
    "object": "a mapping",
}
_LIMITS = {
    "exclusiveMinimum": "> {}",
    "minimum": ">= {}",
    "exclusiveMaximum": "< {}",
    "maximum": "<= {}",
    "maxLength": "of at most {} characters",
}
_NOT_EMPTY = ("minItems", "minProperties", "minLength")

# Characters of a value that a sentence repeats.
_LONGEST_SHOWN = 80


def mistakes(config: Mapping) -> Iterator[str]:
    """A sentence for everything that the schema does not allow."""
    for error in _validator().iter_errors(config):
        yield _sentence(error)


@cache
def _validator() -> jsonschema.protocols.Validator:
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    base = jsonschema.Draft202012Validator
    # JSON has no NaN and takes 10.0 for an integer; YAML and Python see that otherwise.
    checker = base.TYPE_CHECKER.redefine_many({"number": _is_number, "integer": _is_integer})
    return jsonschema.validators.extend(base, type_checker=checker)(schema)


def _is_number(_: object, value: object) -> bool:
    # An integer may be too large for the float that isfinite makes of it.
    return (
        isinstance(value, Real)
        and not isinstance(value, bool)
        and (isinstance(value, int) or math.isfinite(value))
    )


def _is_integer(_: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _sentence(error: jsonschema.ValidationError) -> str:
    place = _dotted(error.absolute_path)
    fragment = error.schema
    if "propertyNames" in error.absolute_schema_path:
        return f"{_within(place, error.instance)} is no valid name; it must be {_allowed(fragment)}"
    if error.validator == "additionalProperties":
        known = list(fragment["properties"])
        key = next(key for key in error.instance if key not in known)
        return (
            f"{_within(place, key)} is no known key{suggestion(key, known)}; "
            f"the keys here are {', '.join(known)}"
        )
    if error.validator == "required":
        key = next(key for key in fragment["required"] if key not in error.instance)
        return (
            f"{_within(place, key)} is missing; it must be {_allowed(fragment['properties'][key])}"
        )
    if error.validator == "uniqueItems":
        twice = next(x for i, x in enumerate(error.instance) if x in error.instance[:i])
        return f"{place} lists {twice!r} twice; its entries must be distinct"
    return (
        f"{place} is {_shown(error.instance)}; it must be {_allowed(fragment)}"
        f"{_number_hint(error.instance, fragment)}"
    )


def _dotted(path: Iterable[str | int]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).lstrip(".") or "the file"


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
    if "enum" in fragment:
        return f"one of {', '.join(fragment['enum'])}"
    if "pattern" in fragment:
        return fragment["description"][0].lower() + fragment["description"][1:]
    types = fragment["type"] if isinstance(fragment["type"], list) else [fragment["type"]]
    kind = " or ".join(_KINDS[name] for name in types)
    limits = [text.format(fragment[key]) for key, text in _LIMITS.items() if key in fragment]
    if any(key in fragment for key in _NOT_EMPTY):
        limits.append("that is not empty")
    return " ".join([kind, " and ".join(limits)]).rstrip()


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


def suggestion(value: object, allowed: Iterable[str]) -> str:
    """A guess at what an unknown name was meant to be, if there is a likely one."""
    close = difflib.get_close_matches(str(value), list(allowed), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
