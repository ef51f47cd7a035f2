"""Is this configuration right? If not, one sentence: the file, the key, the value, what is allowed.

The models say what each value may be. What they cannot say is checked here: names that must exist,
parameters that the library must accept, and combinations that make no sense.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.experiments import axis as axes
from shufflebounds.experiments import plan, sent
from shufflebounds.experiments.configuration import texts
from shufflebounds.experiments.configuration.errors import ConfigError
from shufflebounds.experiments.configuration.figure_checks import figure_faults, style_faults
from shufflebounds.experiments.configuration.mechanism_checks import mechanism_faults
from shufflebounds.experiments.configuration.models import (
    PaperEntry,
    RootEntry,
)
from shufflebounds.experiments.configuration.sentences import (
    COMMAND_LINE_HINT,
    number_hint,
    sentences,
    shown,
    suggestion,
)
from shufflebounds.experiments.configuration.unknown_names import unknown, unknown_in
from shufflebounds.experiments.specification import needed
from shufflebounds.papers.registry import research
from shufflebounds.randomizers import description

# Characters of a sentence.
_LONGEST_SENTENCE = 1000
# Within --config, Snakemake takes every value for text.
_NUMBER_AS_TEXT = re.compile(r"YAML reads this as text|got '[-+.0-9e]+'$")


def root(content: Mapping[str, Any], source: str = "config.yaml") -> RootEntry:
    """The model of config.yaml; ConfigError for the first mistake."""
    try:
        return RootEntry.model_validate(dict(content))
    except ValidationError as error:
        raise ConfigError(_line(source, next(sentences(error, RootEntry, content)))) from None


def paper(name: str, content: object, numerics: Numerics, source: str) -> PaperEntry:
    """The model of a paper's file, checked throughout; ConfigError for the first mistake."""
    if not isinstance(content, Mapping):
        sentence = "the file must be a mapping that is not empty"
        if isinstance(content, str) and "--config" in source.split():
            sentence += f", got {shown(content)}{COMMAND_LINE_HINT}"
        raise ConfigError(_line(source, sentence))
    try:
        entry = PaperEntry.model_validate(dict(content))
    except ValidationError as error:
        raise ConfigError(_line(source, next(sentences(error, PaperEntry, content)))) from None
    for sentence in _faults(name, entry, numerics):
        raise ConfigError(_line(source, sentence))
    return entry


def _line(source: str, sentence: str) -> str:
    """A sentence on one line, whatever texts of the file it repeats."""
    if "--config" in source.split() and _NUMBER_AS_TEXT.search(sentence):
        sentence += "; within --config every value is text, so put it into a file for --configfile"
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in f"{source}: {sentence}")
    return line if len(line) <= _LONGEST_SENTENCE else f"{line[:_LONGEST_SENTENCE]}…"


def _faults(name: str, entry: PaperEntry, numerics: Numerics) -> Iterator[str]:
    # Lazily and in this order: each check relies on the ones before.
    yield from _name_faults(entry)
    yield from _axis_faults(entry)
    yield from _curve_faults(entry)
    yield from mechanism_faults(entry)
    yield from _experiment_faults(entry, numerics)
    yield from _table_faults(name, entry)
    yield from figure_faults(name, entry)
    yield from _claim_faults(name, entry)
    yield from style_faults(entry)
    yield from texts.faults(entry)


def _name_faults(entry: PaperEntry) -> Iterator[str]:
    for section in ("experiments", "regimes", "curves", "figures", "tables"):
        spellings: dict[str, str] = {}
        for name in getattr(entry, section):
            other = spellings.setdefault(name.lower(), name)
            if other != name:
                yield (
                    f"{section}: {other} and {name} differ in case alone; on many disks they would "
                    "be the same file"
                )


def _axis_faults(entry: PaperEntry) -> Iterator[str]:
    given = {"": entry.x} | {
        f"experiments.{name}.": experiment.x
        for name, experiment in entry.experiments.items()
        if experiment.x is not None
    }
    for place, x in given.items():
        try:
            axes.parse(x)
        except ValueError as error:
            yield _axis_sentence(place, x, str(error))


def _axis_sentence(place: str, x: Mapping[str, Any], sentence: str) -> str:
    """A sentence of `axes.parse` with its place in the file before it."""
    axis, values = next(iter(x.items()), ("", None))
    subject, _, index = sentence.partition(" ")[0].removesuffix("]").partition("[")
    if isinstance(values, Mapping) and subject in values:
        hint = number_hint(values[subject], "integer" if "integer" in sentence else "number")
        return f"{place}x.{axis}.{sentence}{hint}"
    if isinstance(values, list) and index:
        hint = number_hint(values[int(index)], "integer" if "integer" in sentence else "number")
        return f"{place}x.{sentence}{hint}"
    return f"{place}x.{sentence}" if subject == axis else f"{place}{sentence}"


def _curve_faults(entry: PaperEntry) -> Iterator[str]:
    for name, curve in entry.curves.items():
        place = f"curves.{name}"
        yield from unknown(f"{place}.bound", curve.bound, BOUNDS)
        allowed = BOUNDS[curve.bound].quantities
        if curve.quantity not in allowed:
            yield (
                f"{place}.quantity is {curve.quantity!r}; for the bound {curve.bound} it must be "
                f"one of {', '.join(allowed)}"
            )


def _experiment_faults(entry: PaperEntry, numerics: Numerics) -> Iterator[str]:
    for name, experiment in entry.experiments.items():
        place = f"experiments.{name}"
        yield from unknown(f"{place}.mechanism", experiment.mechanism, entry.mechanisms)
        yield from unknown_in(f"{place}.regimes", experiment.regimes, entry.regimes)
        yield from unknown_in(f"{place}.curves", experiment.curves, entry.curves)
    yield from _missing_settings(entry)
    seen: set[object] = set()
    for name, experiment in entry.experiments.items():
        axis = plan.axis_of(entry, experiment)
        mechanism = plan.written_out(entry, experiment.mechanism)
        for regime in experiment.regimes:
            for curve in experiment.curves:
                try:
                    wanted = plan.specification(
                        entry, mechanism, axis, experiment, regime, curve, numerics
                    )
                    # What decides whether it can be computed; most curves share it with others.
                    points = wanted.setting, wanted.axis
                    key = wanted.reports, *points, wanted.distance
                    if key not in seen and wanted.bound.knows_mechanism:
                        seen |= {key, points}
                        wanted.check()
                    if points not in seen:
                        seen.add(points)
                        list(wanted.settings)
                except ValueError as error:
                    yield f"experiments.{name}: curve {curve} in regime {regime}: {error}"


def _missing_settings(entry: PaperEntry) -> Iterator[str]:
    """What a curve needs and neither its axis nor any setting gives."""
    for name, experiment in entry.experiments.items():
        given = {*(experiment.x or entry.x)}
        mechanism = plan.written_out(entry, experiment.mechanism)
        for regime in experiment.regimes:
            known = given | plan.setting_of(entry, experiment, regime).given().keys()
            for curve in experiment.curves:
                drawn = entry.curves[curve]
                try:
                    reports = sent.parse(mechanism, drawn.k_joint)
                except ValueError as error:
                    yield f"experiments.{name}: curve {curve}: {error}"
                    continue
                for missing in sorted(needed(drawn.quantity, reports) - known):
                    yield (
                        f"experiments.{name}: curve {curve} in regime {regime} needs {missing}, "
                        f"which must be in regimes.{regime}, experiments.{name}.setting or setting"
                    )


def _table_faults(paper: str, entry: PaperEntry) -> Iterator[str]:
    kinds = research(paper).tables
    for name, given in entry.tables.items():
        place = f"tables.{name}"
        if "kind" not in given:
            yield f"{place}.kind is missing; it must be one of {', '.join(kinds) or 'none'}"
        yield from unknown(f"{place}.kind", given["kind"], kinds)
        kind = kinds[given["kind"]]
        content = {key: value for key, value in given.items() if key != "kind"}
        try:
            parameters = plan.table_parameters(paper, given)
        except ValidationError as error:
            yield from sentences(error, kind.parameters, content, place)
            continue
        for mechanism in kind.mechanisms(parameters):
            yield from unknown(
                f"{place}.{_key_of(mechanism, content)}", mechanism, entry.mechanisms
            )
            yield from _unbuilt(place, entry, mechanism, content)


def _key_of(value: str, content: Mapping[str, Any]) -> str:
    """Where a value stands in a table's entry."""
    for key, found in content.items():
        if found == value:
            return key
        if isinstance(found, list) and value in found:
            return f"{key}[{found.index(value)}]"
    raise KeyError(value)


def _unbuilt(
    place: str, entry: PaperEntry, mechanism: str, parameters: Mapping[str, Any]
) -> Iterator[str]:
    given = parameters.get("eps0", 1.0)
    parsed = description.parse(plan.written_out(entry, mechanism))
    for eps0 in given if isinstance(given, list) else [given]:
        try:
            parsed.randomizer(eps0)
        except ValueError as error:
            yield f"{place}: mechanism {mechanism} at eps0 = {eps0}: {error}"


def _claim_faults(paper: str, entry: PaperEntry) -> Iterator[str]:
    known = research(paper).claims
    for claim, figures in entry.claims.items():
        if claim not in known:
            yield (
                f"claims.{claim} is not a claim of this paper{suggestion(claim, known)}; "
                f"its claims are {', '.join(known) or 'none'}"
            )
        drawn = [name for name, figure in entry.figures.items() if figure.table is None]
        yield from unknown_in(f"claims.{claim}", figures, drawn)
