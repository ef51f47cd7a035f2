"""Checks of the mechanisms of a paper: their parameters, and what they are composed of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from shufflebounds.experiments import plan, sent
from shufflebounds.experiments.configuration.models import PaperEntry
from shufflebounds.experiments.configuration.sentences import shown
from shufflebounds.experiments.configuration.unknown_names import unknown
from shufflebounds.randomizers.registry import COMPOSITIONS
from shufflebounds.setting import Setting

# In one composition, however deep.
_MOST_MECHANISMS = 1000


def mechanism_faults(entry: PaperEntry) -> Iterator[str]:
    """What is wrong with the mechanisms of a paper."""
    mechanisms = entry.mechanisms
    for name, mechanism in mechanisms.items():
        place = f"mechanisms.{name}"
        if "type" not in mechanism:
            yield f"{place}.type is missing; it must be text"
        yield from unknown(f"{place}.type", mechanism["type"], sent.types())
        yield from _shape_faults(place, mechanism)
        for key, part in _named_parts(mechanism):
            yield from unknown(f"{place}.{key}", part, mechanisms)
    for name in mechanisms:
        yield from _circle(entry, name, [name], set())
    # Now that there is no circle: counting does not write them out.
    size = cache(lambda name: 1 + sum(size(part) for _, part in _named_parts(mechanisms[name])))
    for name in mechanisms:
        if size(name) > _MOST_MECHANISMS:
            yield (
                f"mechanisms.{name} is made of {size(name) - 1} mechanisms, counting repetitions; "
                f"it must be at most {_MOST_MECHANISMS - 1}"
            )
    # A mistake of a part is told where it is, not where the part is used.
    for name in sorted(mechanisms, key=lambda name: mechanisms[name]["type"] in COMPOSITIONS):
        written_out = plan.written_out(entry, name)
        levels = [regime.eps0 for regime in entry.regimes.values() if regime.eps0 is not None]
        try:
            parsed = sent.parse(written_out)
            # Those of protocols may depend on more, and are checked where curves use them.
            for eps0 in (levels or [1.0]) if parsed.needs == ("eps0",) else []:
                parsed.protocol(Setting(eps0=eps0))
        except ValueError as error:
            yield _about(f"mechanisms.{name}", written_out, error)
            continue
        for file in parsed.files:
            if set("{}") & set(file):
                yield (
                    f"mechanisms.{name}.file is {file!r}; it must have no braces, which Snakemake "
                    "takes for a wildcard"
                )


def _shape_faults(place: str, mechanism: Mapping[str, Any]) -> Iterator[str]:
    """Of a composition whose parts are not even listed as they should be."""
    if mechanism["type"] not in COMPOSITIONS:
        return
    parts = mechanism.get("parts", [])
    if not isinstance(parts, list):
        yield f"{place}.parts is {shown(parts)}; it must be a list that is not empty"
    for i, part in enumerate(parts):
        if not isinstance(part, Mapping):
            yield f"{place}.parts[{i}] is {shown(part)}; it must be a mapping"
        if "mechanism" not in part:
            yield f"{place}.parts[{i}].mechanism is missing; it must be text"


def _named_parts(mechanism: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names that a composition refers to, with their places in it."""
    if mechanism["type"] in COMPOSITIONS:
        if "mechanism" in mechanism:
            yield "mechanism", mechanism["mechanism"]
        for i, part in enumerate(mechanism.get("parts", [])):
            yield f"parts[{i}].mechanism", part["mechanism"]


def _circle(entry: PaperEntry, name: str, path: list[str], done: set[str]) -> Iterator[str]:
    """Circles that `name`, at the end of a path, leads to; those that are `done` lead to none."""
    for _, part in _named_parts(entry.mechanisms[name]):
        if part in path:
            circle = " > ".join([*path[path.index(part) :], part])
            yield f"mechanisms.{part} contains itself ({circle}); a composition must not"
        elif part not in done:
            yield from _circle(entry, part, [*path, part], done)
    done.add(name)


def _about(place: str, described: Mapping[str, Any], error: ValueError) -> str:
    """A sentence of the library with its place in the file before it."""
    subject = str(error).partition(" ")[0]
    sentence = str(error)
    of_it = subject.partition("[")[0] in described or " is not a parameter " in sentence
    return f"{place}{'.' if of_it or ' is missing' in sentence else ': '}{sentence}"
