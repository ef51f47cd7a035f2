"""What a configuration has against its models, in words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from shufflebounds.core import validation

# What the models of names and colours allow, in words.
_NAME_RULE = "a letter, then at most 63 letters, digits, _ or -"

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
}
_NOT_EMPTY = ("minItems", "minProperties", "minLength")

# Characters of a sentence.
_LONGEST_SENTENCE = 1000
# Within --config, Snakemake takes every value for text.
_NUMBER_AS_TEXT = re.compile(r"YAML reads this as text|got '[-+.0-9e]+'$")


COMMAND_LINE_HINT = (
    " (on the command line this is text: YAML wants a blank after each colon, or use --configfile)"
)

# Characters of a value that a sentence repeats.
_LONGEST_SHOWN = 80


class ConfigError(ValueError):
    """A mistake in a configuration, in one sentence that names the file, the key and the value."""


def sentences(
    error: ValidationError, model: type[BaseModel], content: Mapping[str, Any], place: str = ""
) -> Iterator[str]:
    """A sentence for everything that a model has against some content, which stands at `place`.

    Of a key that is misspelt it is told as it stands there, and not as the one that is missing.
    """
    mistakes = error.errors(include_url=False)
    meant = [_meant(mistake, model) for mistake in mistakes if mistake["type"] == "extra_forbidden"]
    for mistake in mistakes:
        if mistake["type"] != "missing" or mistake["loc"] not in meant:
            yield _sentence(mistake, model, content, place)


def _meant(mistake: Mapping[str, Any], model: type[BaseModel]) -> tuple[str | int, ...]:
    """The place of the key that an unknown one was probably meant to be."""
    *parent, key = mistake["loc"]
    return (*parent, validation.likely(key, _properties(_fragment(model, parent))) or "")


def _sentence(
    mistake: Mapping[str, Any], model: type[BaseModel], content: Mapping[str, Any], place: str
) -> str:
    steps = [step for step in mistake["loc"] if step != "[key]"]
    where, kind, value = _dotted(place, steps), mistake["type"], mistake["input"]
    if kind == "sentence":
        return mistake["msg"].replace("{place}", where)
    if kind == "axis":
        return _of_axis(where, value, mistake["msg"])
    parent = _dotted(place, steps[:-1])
    if kind == "missing":
        return f"{where} is missing; it must be {_allowed(_fragment(model, steps))}"
    if kind == "invalid_key":
        return f"{_within(parent, value)} is not a key; keys must be text"
    if kind == "extra_forbidden":
        known = list(_properties(_fragment(model, steps[:-1])))
        # As in {delta:0.1}, which is a key without a value.
        colon = " (YAML wants a blank after each colon)" if ":" in str(steps[-1]) else ""
        return (
            f"{_within(parent, steps[-1])} is not a known key"
            f"{colon or suggestion(steps[-1], known)}; "
            f"the keys here are {', '.join(known)}"
        )
    if "[key]" in mistake["loc"]:
        return f"{_within(parent, value)} is not a valid name; it must be {_NAME_RULE}"
    fragment = _fragment(model, steps)
    wanted = _kinds(fragment)
    # The number itself, or that in a mapping such as {over_n: c}.
    numbers = value.values() if isinstance(value, Mapping) else [value]
    kind = next((kind for kind in ("integer", "number") if kind in wanted), "")
    number = "".join(number_hint(one, kind) for one in numbers) if kind else ""
    return (
        f"{where} is {shown(value)}; it must be {_allowed(fragment)}"
        f"{number}{_mapping_hint(value, wanted)}"
    )


def _of_axis(place: str, x: Mapping[str, Any], sentence: str) -> str:
    """A sentence of `parse_axis` about the axis at a place, with what it is about before it."""
    axis, values = next(iter(x.items()), ("", None))
    subject, _, index = sentence.partition(" ")[0].removesuffix("]").partition("[")
    if isinstance(values, Mapping) and subject in values:
        place, value = f"{place}.{axis}.", values[subject]
    elif isinstance(values, list) and index:
        place, value = f"{place}.", values[int(index)]
    else:
        return f"{place}.{sentence}" if subject == axis else f"{place.removesuffix('x')}{sentence}"
    kind = "integer" if "integer" in sentence else "number"
    return f"{place}{sentence}{number_hint(value, kind)}"


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _fragment(model: type[BaseModel], steps: Iterable[str | int]) -> Mapping[str, Any]:
    """The part of a model's JSON schema that speaks of a place."""
    schema = _schema(model)
    here: Mapping[str, Any] = schema
    for step in steps:
        if isinstance(step, int) and "items" in here:  # else a key that is no text
            here = here["items"]
        elif isinstance(step, str) and step in _properties(here):
            here = _properties(here)[step]
        else:
            # Names that must look like names have their pattern for a key.
            [here] = here.get("patternProperties", {"": here.get("additionalProperties")}).values()
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


def _kinds(fragment: Mapping[str, Any]) -> set[str]:
    """The types that a fragment of the schema allows."""
    return {one["type"] for one in (fragment, *fragment.get("anyOf", ())) if "type" in one}


def _within(place: str, key: object) -> str:
    name = _brief(str(key))
    return name if place == "the file" else f"{place}.{name}"


def shown(value: object) -> str:
    """A value as a sentence repeats it."""
    if value is None:
        return "empty"
    text = repr(value)
    if isinstance(value, Mapping | list) and len(text) > _LONGEST_SHOWN:
        return "a mapping" if isinstance(value, Mapping) else "a list"
    return _brief(text)


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
        return _NAME_RULE if "{0,63}" in fragment["pattern"] else 'an RGB colour such as "#0072b2"'
    if "type" not in fragment:
        return "given"
    if fragment["type"] == "string" and "maxLength" in fragment:
        return f"text of {fragment.get('minLength', 0)} to {fragment['maxLength']} characters"
    limits = [text.format(fragment[key]) for key, text in _LIMITS.items() if key in fragment]
    if any(key in fragment for key in _NOT_EMPTY):
        limits.append("that is not empty")
    return " ".join([_KINDS[fragment["type"]], " and ".join(limits)]).rstrip()


def number_hint(value: object, wanted: str) -> str:
    """How to write a number ("integer" or "number") that YAML reads as text, such as 1e-6."""
    if not isinstance(value, str):
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
    return f" (YAML reads this as text: write {_brief(written)})"


def _mapping_hint(value: object, wanted: set[str]) -> str:
    """Where a mapping on the command line has become text."""
    brackets = isinstance(value, str) and value.lstrip()[:1] in ("{", "[")
    return COMMAND_LINE_HINT if brackets and wanted & {"object", "array"} else ""


def suggestion(value: object, allowed: Iterable[str]) -> str:
    """A guess at what an unknown name was meant to be, if there is a likely one."""
    likely = validation.likely(value, allowed)
    return f" (did you mean {likely}?)" if likely else ""


def one_line(source: str, sentence: str) -> str:
    """A sentence on one line, whatever texts of the file it repeats."""
    if "--config" in source.split() and _NUMBER_AS_TEXT.search(sentence):
        sentence += "; within --config every value is text, so put it into a file for --configfile"
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in f"{source}: {sentence}")
    return line if len(line) <= _LONGEST_SENTENCE else f"{line[:_LONGEST_SENTENCE]}…"
