"""What is wrong with a file of the configuration, in one sentence.

First: may it be loaded at all? What YAML hides, and what would run.
Of a key given twice YAML silently takes the last; tags make Python objects; and Snakemake runs
the Python that a file holds if its key ``__use_yte__`` says so. What may be loaded of the
papers' files is joined to the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from shufflebounds.core import validation

# Whatever libyaml can do, and in an installation without it the same, slowly.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_PLAIN = "tag:yaml.org,2002:"
_TAGS = {
    yaml.MappingNode: {_PLAIN + "map"},
    yaml.SequenceNode: {_PLAIN + "seq"},
    yaml.ScalarNode: {_PLAIN + name for name in ("str", "int", "float", "bool", "null", "merge")},
}
_BOOLEANS = {"yes", "no", "true", "false", "on", "off"}
_NUMBERS = {_PLAIN + "int", _PLAIN + "float"}
# YAML also has 1:30 for 90, 010 for 8 and integers too long for Python to print.
_DECIMAL = re.compile(
    r"[-+]?(0|[1-9][0-9_]{0,99}|(0|[1-9][0-9_]*)?\.[0-9_]*(e[-+][0-9]+)?|\.(inf|nan))",
    re.IGNORECASE,
)
_DEEPEST = 100
_TOO_DEEP = f"is nested too deep: at most {_DEEPEST} levels are allowed"
# Keys and values, aliases written out: each of a few may stand for many of the next.
_MOST = 100_000


def check(path: Path, shown: str = "") -> dict[str, Any]:
    """The content of a file; ConfigError for the first such thing or if it is not YAML at all.

    `shown` is what the sentence calls the file; if left out, its name.
    """
    name = shown or path.name
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} must be text in UTF-8, got {error.reason}") from None
    try:
        if _is_too_deep(text):
            raise ConfigError(f"{name} {_TOO_DEEP}")
        root = yaml.compose(text, _LOADER)
    except yaml.YAMLError as error:
        raise ConfigError(f"{name} is not valid YAML: {_of_yaml(error, text)}") from None
    if not isinstance(root, yaml.MappingNode | None):
        raise ConfigError(f"{name} must be a mapping, such as papers: [su2026]")
    for fault in _faults(root, set(), ()) if root else ():
        raise ConfigError(f"{name}: {fault}")
    # Now that nothing contains itself.
    size, depth = _written_out(root, {}) if root else (0, 0)
    if depth > _DEEPEST:
        raise ConfigError(f"{name} {_TOO_DEEP}")
    if size > _MOST:
        raise ConfigError(
            f"{name} is too long: with its aliases written out, at most {_MOST} keys and values "
            "are allowed"
        )
    content: dict[str, Any] = _LOADER("").construct_document(root) if root else {}
    return content


def join(config: dict[str, Any], folder: Path, *, override: bool) -> None:
    """Put the content of config/<paper>.yaml under the paper's name in `config`.

    What is there already, from another file or from the command line, is merged into it and wins
    (`override`), or takes its place. Raises ConfigError for a file that may not be loaded.
    """
    papers = config.get("papers")
    for name in papers if isinstance(papers, list) else []:
        file = folder / f"{name}.yaml"
        # Whatever is not the name of a file in this folder is refused when it is checked.
        if file.parent != folder or not file.is_file() or (name in config and not override):
            continue
        config[name] = _merged(check(file, f"config/{file.name}"), config.get(name, {}))


def _merged(below: Any, above: Any) -> Any:
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    return {**below, **{key: _merged(below.get(key), value) for key, value in above.items()}}


def _is_too_deep(text: str) -> bool:
    """Whether lists and mappings are nested deeper than anyone means; Python could not follow."""
    depth = 0
    for event in yaml.parse(text, _LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            return True
    return False


def _written_out(node: yaml.Node, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """How many keys and values a node has, and how many levels, with aliases written out.

    No larger numbers than it takes to tell that there are too many.
    """
    if isinstance(node, yaml.ScalarNode):
        return 1, 0
    if id(node) not in known:
        is_mapping = isinstance(node, yaml.MappingNode)
        parts = [part for pair in node.value for part in pair] if is_mapping else node.value
        inner = [_written_out(part, known) for part in parts]
        size = 1 + sum(size for size, _ in inner)
        depth = 1 + max((depth for _, depth in inner), default=0)
        known[id(node)] = min(size, _MOST + 1), min(depth, _DEEPEST + 1)
    return known[id(node)]


def _of_yaml(error: yaml.YAMLError, text: str) -> str:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark and "undefined alias" in str(problem):
        (alias,) = text[mark.index :].split(maxsplit=1)[:1]
        return f"{alias.rstrip(',]}')} on line {mark.line + 1} has no anchor & above it"
    place = f" on line {mark.line + 1}" if mark else ""
    # A list or mapping that goes on, for YAML, behind what was to be a colour.
    near = text.splitlines()[max(mark.line - 1, 0) : mark.line + 1] if mark else []
    commented = any(re.search(r"[{\[][^}\]]*\s#", line) for line in near)
    hint = "; an unquoted # begins a comment, so quote colours" if commented else ""
    return f"{problem or error}{place}{hint}".replace("\n", " ")


def _faults(node: yaml.Node, seen: set[int], around: tuple[int, ...]) -> Iterator[str]:
    if id(node) in around:
        yield f"what begins on line {_line(node)} contains itself, by an alias"
    if id(node) in seen:  # what an alias stands for
        return
    seen.add(id(node))
    if node.tag == _PLAIN + "timestamp":
        yield f"{node.value} on line {_line(node)} is a date for YAML; in quotes it is text"
    elif node.tag not in _TAGS[type(node)]:
        tag = node.tag.replace(_PLAIN, "!!")
        yield f"the tag {tag} on line {_line(node)} is not allowed; write plain values"
    around = (*around, id(node))
    if isinstance(node, yaml.MappingNode):
        yield from _key_faults(node)
        for key, value in node.value:
            yield from _faults(key, seen, around)
            yield from _faults(value, seen, around)
    elif isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            yield from _faults(entry, seen, around)
    elif node.tag in _NUMBERS and not _DECIMAL.fullmatch(node.value):
        shown = node.value if len(node.value) <= 20 else f"{node.value[:20]}…"
        yield (
            f"{shown} on line {_line(node)} is a number, but not a plain decimal one such as 1.0e-6"
        )
    elif node.tag == _PLAIN + "bool" and node.value.lower() not in _BOOLEANS:
        yield f"{node.value} on line {_line(node)} is neither true nor false"


def _key_faults(node: yaml.MappingNode) -> Iterator[str]:
    lines: dict[str, int] = {}
    for key, value in node.value:
        name, line = key.value, _line(key)
        if not isinstance(key, yaml.ScalarNode):
            yield f"the key on line {line} is a list or a mapping; keys must be text"
            continue
        if key.tag == _PLAIN + "merge" and not _is_mergeable(value):
            yield f"<< on line {line} must have an alias of a mapping, or a list of such aliases"
        if name == "__use_yte__":
            yield f"__use_yte__ on line {line} is not allowed: it makes text run as Python"
        if name in lines:
            places = {lines[name], line}
            where = " and ".join(map(str, sorted(places)))
            yield f"{name!r} is given twice, on line{'s'[: len(places) - 1]} {where}; give it once"
        lines[name] = line


def _is_mergeable(value: yaml.Node) -> bool:
    entries = value.value if isinstance(value, yaml.SequenceNode) else [value]
    return all(isinstance(entry, yaml.MappingNode) for entry in entries)


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


# What the models have against its content.


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
        return _NAME_RULE
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
