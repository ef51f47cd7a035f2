"""May this file be loaded as the configuration? Before it is: what YAML hides, and what would run.

Of a key given twice YAML silently takes the last; tags make Python objects; and Snakemake runs the
Python that a file holds if its key ``__use_yte__`` says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from config_check import ConfigError

# Whatever libyaml can do, and in an installation without it the same, slowly.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_PLAIN = "tag:yaml.org,2002:"
_TAGS = frozenset(
    _PLAIN + name
    for name in ("map", "seq", "str", "int", "float", "bool", "null", "merge", "timestamp")
)


def check(path: Path) -> None:
    """Raise ConfigError, in one sentence, for the first such thing or if it is no YAML at all."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path.name} must be text in UTF-8, got {error.reason}") from None
    try:
        root = yaml.compose(text, _LOADER)
    except yaml.YAMLError as error:
        raise ConfigError(f"{path.name} is no valid YAML: {_told(error, text)}") from None
    for mistake in _mistakes(root, set()) if root else ():
        raise ConfigError(f"{path.name}: {mistake}")


def _told(error: yaml.YAMLError, text: str) -> str:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark and "undefined alias" in str(problem):
        (alias,) = text[mark.index :].split(maxsplit=1)[:1]
        return f"{alias.rstrip(',]}')} on line {mark.line + 1} has no anchor & above it"
    place = f" on line {mark.line + 1}" if mark else ""
    return f"{problem or error}{place}".replace("\n", " ")


def _mistakes(node: yaml.Node, seen: set[int]) -> Iterator[str]:
    if id(node) in seen:  # what an alias stands for
        return
    seen.add(id(node))
    if node.tag not in _TAGS:
        tag = node.tag.replace(_PLAIN, "!!")
        yield f"the tag {tag} on line {_line(node)} is not allowed; write plain values"
    if isinstance(node, yaml.MappingNode):
        yield from _key_mistakes(node)
        for key, value in node.value:
            yield from _mistakes(key, seen)
            yield from _mistakes(value, seen)
    elif isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            yield from _mistakes(entry, seen)


def _key_mistakes(node: yaml.MappingNode) -> Iterator[str]:
    lines: dict[str, int] = {}
    for key, _ in node.value:
        name, line = key.value, _line(key)
        if not isinstance(key, yaml.ScalarNode):
            yield f"the key on line {line} is a list or a mapping; keys must be text"
            continue
        if name == "__use_yte__":
            yield f"__use_yte__ on line {line} is not allowed: it makes text run as Python"
        if name in lines:
            places = {lines[name], line}
            where = " and ".join(map(str, sorted(places)))
            yield f"{name!r} is given twice, on line{'s'[: len(places) - 1]} {where}; give it once"
        lines[name] = line


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1
