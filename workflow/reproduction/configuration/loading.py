"""The files of a configuration, and what YAML hides in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from reproduction.configuration.sentences import ConfigError

# libyaml reads the files of all papers in 0.02 s, the Python of PyYAML in 0.15 s.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Most keys and values of a file, aliases written out: ten lines of aliases of aliases would keep a
# run busy for hours. The longest file of a paper has 1 600.
MOST_VALUES = 100_000


def read(path: Path) -> dict[str, Any]:
    """Return the content of a file; ConfigError for what YAML refuses or takes silently."""
    try:
        text = path.read_text(encoding="utf-8")
        root = yaml.compose(text, LOADER)
        if not isinstance(root, yaml.MappingNode | None):
            raise ConfigError(f"{path} must be a mapping, such as papers: [su2026]")
        _require_plain(path, root)
        content: dict[str, Any] = LOADER("").construct_document(root) if root else {}
    except ConfigError:
        raise
    except RecursionError:
        raise ConfigError(f"{path} is nested too deep, or an alias contains itself") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {_problem(error)}") from None
    # Bytes that are not UTF-8, and values that PyYAML cannot make, such as 2020-13-45.
    except (ValueError, LookupError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    return content


def merge(below: Any, above: Any) -> Any:
    """Return two contents merged key by key; where both have a value, that of `above` counts."""
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    return {**below, **{key: merge(below.get(key), value) for key, value in above.items()}}


def _require_plain(path: Path, root: yaml.Node | None) -> None:
    """Raise ConfigError for a key given twice, for aliases of too much, and for expressions."""
    for count, node in enumerate(_nodes(root) if root else ()):
        if count > MOST_VALUES:
            raise ConfigError(
                f"{path} is too long: with its aliases written out, at most {MOST_VALUES} keys and "
                "values are allowed"
            )
        lines: dict[str, int] = {}
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            name, line = str(key.value), _line(key.start_mark)
            # Snakemake runs the expressions in a file with this key as Python.
            if name == "__use_yte__":
                raise ConfigError(f"{path}: __use_yte__ on line {line} is not allowed")
            if name in lines:
                raise ConfigError(
                    f"{path}: {name!r} is given twice, on lines {lines[name]} and {line}; "
                    "give it once"
                )
            lines[name] = line


def _nodes(node: yaml.Node) -> Iterator[yaml.Node]:
    """Yield a node and all below it, those of an alias each time that it occurs."""
    yield node
    if isinstance(node, yaml.MappingNode):
        for pair in node.value:
            for part in pair:
                yield from _nodes(part)
    elif isinstance(node, yaml.SequenceNode):
        for part in node.value:
            yield from _nodes(part)


def _problem(error: yaml.YAMLError) -> str:
    """Return what is wrong and on which line, as PyYAML says it, on one line."""
    mark = getattr(error, "problem_mark", None)
    place = f" on line {_line(mark)}" if mark else ""
    return f"{getattr(error, 'problem', None) or error}{place}".replace("\n", " ")


def _line(mark: yaml.Mark) -> int:
    return int(mark.line) + 1
