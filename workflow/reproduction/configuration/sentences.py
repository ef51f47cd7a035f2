"""A mistake of a configuration in one sentence: the place, the value, what is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pydantic import ValidationError

from shufflebounds.core import validation

# Most characters of a value that a sentence repeats.
LONGEST_VALUE = 80
# Most characters of a sentence, which may repeat several values.
LONGEST_SENTENCE = 1000
# What is allowed, by the type of pydantic's error. The names in braces are those of its context.
ALLOWED = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "> {gt:g}",
    "greater_than_equal": ">= {ge:g}",
    "int_type": "an integer",
    "less_than": "< {lt:g}",
    "less_than_equal": "<= {le:g}",
    "model_type": "a mapping",
    "string_pattern_mismatch": "a letter, then at most 63 letters, digits, _ or -",
    "string_too_long": "at most {max_length} characters long",
    "string_type": "text",
    "too_long": "a list of at most {max_length} entries",
    "too_short": "a list or mapping that is not empty",
    "tuple_type": "a list that is not empty",
}
# A number such as 1e-6, which YAML 1.1 reads as text, where a sentence repeats it.
NUMBER_AS_TEXT = re.compile(r"'([-+]?[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?)'")


class ConfigError(ValueError):
    """A mistake in a configuration, in one sentence that names the file, the key and the value."""


def first_sentence(error: ValidationError, place: str = "") -> str:
    """Return the sentence for the first mistake that pydantic found in the content of a place."""
    mistake = error.errors(include_url=False)[0]
    kind, value = mistake["type"], mistake["input"]
    place = _join(place, (step for step in mistake["loc"] if step != "[key]"))
    if kind == "value_error":
        return locate(place, str(mistake["ctx"]["error"]))
    # The sentences of tables say where their place belongs.
    if kind == "sentence":
        return mistake["msg"].replace("{place}", place)
    place = place or "the file"
    if kind == "missing":
        return f"{place} is missing"
    if "[key]" in mistake["loc"]:
        return f"{place} is not a valid name; it must be {ALLOWED['string_pattern_mismatch']}"
    if kind == "literal_error":
        names = re.findall("'(.*?)'", mistake["ctx"]["expected"])
        allowed = f"one of {', '.join(names)}"
        return f"{place} is {quote(value)}{suggestion(value, names)}; it must be {allowed}"
    if kind in ALLOWED:
        allowed = ALLOWED[kind].format(**mistake.get("ctx", {}))
        return f"{place} is {quote(value)}; it must be {allowed}"
    return f"{place} is {quote(value)}: {mistake['msg']}"


def locate(place: str, sentence: str) -> str:
    """Put the place of a mistake before a sentence, once if the sentence begins with its key."""
    *parents, key = place.split(".")
    if sentence.startswith(f"{key} "):
        return ".".join([*parents, sentence])
    return f"{place}: {sentence}" if place else sentence


def one_line(source: str, sentence: str) -> str:
    """Return the sentence behind its source, on one line, with a hint if a number became text."""
    if text := NUMBER_AS_TEXT.search(sentence):
        number = re.sub(r"^(-?[0-9]+)e", r"\1.0e", repr(float(text[1])))
        sentence += f" (YAML reads {text[1]} as text; write {number})"
        if "command line" in source:
            sentence += "; --config gives texts only, so use --configfile"
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in f"{source}: {sentence}")
    return line if len(line) <= LONGEST_SENTENCE else f"{line[:LONGEST_SENTENCE]}…"


def quote(value: object) -> str:
    """Return a value as a sentence repeats it."""
    if value is None:
        return "empty"
    text = repr(value)
    if len(text) <= LONGEST_VALUE:
        return text
    if isinstance(value, Mapping | list):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    return f"{text[:LONGEST_VALUE]}… ({len(text)} characters)"


def suggestion(value: object, allowed: Iterable[str]) -> str:
    """Return a guess at what an unknown name was meant to be; empty if no name is close."""
    likely = validation.likely(value, allowed)
    return f" (did you mean {likely}?)" if likely else ""


def _join(place: str, steps: Iterable[str | int]) -> str:
    """Return a place and the steps from it to a value, such as figures.fig.lines[0]."""
    names = (f"[{step}]" if isinstance(step, int) else f".{step[:LONGEST_VALUE]}" for step in steps)
    return f"{place}{''.join(names)}".removeprefix(".")
