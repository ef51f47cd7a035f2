"""May this file be loaded as the configuration? Before it is: what YAML hides, and what would run.

Of a key given twice YAML silently takes the last; tags make Python objects; and Snakemake runs
the Python that a file holds if its key ``__use_yte__`` says so. What may be loaded of the
papers' files is joined to the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from shufflebounds.reproduce.configuration.sentences import ConfigError

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


def check(path: Path, shown: str = "") -> None:
    """Raise ConfigError, in one sentence, for the first such thing or if it is not YAML at all.

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
        raise ConfigError(f"{name} is not valid YAML: {_sentence(error, text)}") from None
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
        check(file, f"config/{file.name}")
        content = _LOADER(file.read_text(encoding="utf-8")).get_single_data()
        config[name] = _merged(content, config.get(name, {}))


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


def _sentence(error: yaml.YAMLError, text: str) -> str:
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
