"""Is this configuration right? If not, one sentence: the file, the key, the value, what is allowed.

The models say what each value may be. What they cannot say is checked here: names that must exist,
parameters that the library must accept, and combinations that make no sense.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from pydantic import ValidationError

from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.experiments import axis as axes
from shufflebounds.experiments import plan
from shufflebounds.experiments.configuration import texts
from shufflebounds.experiments.configuration.errors import ConfigError
from shufflebounds.experiments.configuration.models import (
    Figure,
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
from shufflebounds.experiments.specification import needed
from shufflebounds.papers.registry import research
from shufflebounds.randomizers import description
from shufflebounds.randomizers.registry import COMPOSITIONS

# Characters of a sentence.
_LONGEST_SENTENCE = 1000
# In one composition, however deep.
_MOST_MECHANISMS = 1000
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
    yield from _mechanism_faults(entry)
    yield from _experiment_faults(entry, numerics)
    yield from _table_faults(name, entry)
    yield from _figure_faults(name, entry)
    yield from _claim_faults(name, entry)
    yield from _style_faults(entry)
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
        yield from _unknown(f"{place}.bound", curve.bound, BOUNDS)
        allowed = BOUNDS[curve.bound].quantities
        if curve.quantity not in allowed:
            yield (
                f"{place}.quantity is {curve.quantity!r}; for the bound {curve.bound} it must be "
                f"one of {', '.join(allowed)}"
            )


def _mechanism_faults(entry: PaperEntry) -> Iterator[str]:
    mechanisms = entry.mechanisms
    for name, mechanism in mechanisms.items():
        place = f"mechanisms.{name}"
        if "type" not in mechanism:
            yield f"{place}.type is missing; it must be text"
        yield from _unknown(f"{place}.type", mechanism["type"], description.types())
        yield from _shape_faults(place, mechanism)
        for key, part in _named_parts(mechanism):
            yield from _unknown(f"{place}.{key}", part, mechanisms)
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
            parsed = description.parse(written_out)
            for eps0 in levels or [1.0]:
                parsed.randomizer(eps0)
        except ValueError as error:
            yield _about(f"mechanisms.{name}", written_out, error)


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


def _experiment_faults(entry: PaperEntry, numerics: Numerics) -> Iterator[str]:
    for name, experiment in entry.experiments.items():
        place = f"experiments.{name}"
        yield from _unknown(f"{place}.mechanism", experiment.mechanism, entry.mechanisms)
        yield from _unknown_in(f"{place}.regimes", experiment.regimes, entry.regimes)
        yield from _unknown_in(f"{place}.curves", experiment.curves, entry.curves)
    yield from _missing_settings(entry)
    mechanisms = plan.mechanisms(entry)
    seen: set[object] = set()
    for name, experiment in entry.experiments.items():
        axis, mechanism = plan.axis_of(entry, experiment), mechanisms[experiment.mechanism]
        for regime in experiment.regimes:
            for curve in experiment.curves:
                try:
                    wanted = plan.specification(
                        entry, mechanism, axis, experiment, regime, curve, numerics
                    )
                    # What decides whether it can be computed; most curves share it with others.
                    bound = wanted.bound.name if numerics.engine == "exact" else ""
                    key = wanted.reports, wanted.setting, wanted.axis, wanted.distance, bound
                    looks_at_none = not wanted.bound.knows_mechanism and not bound
                    if key not in seen and not looks_at_none:
                        seen.add(key)
                        wanted.check()
                    if (points := (wanted.setting, wanted.axis)) not in seen:
                        seen.add(points)
                        list(wanted.settings)
                except ValueError as error:
                    yield f"experiments.{name}: curve {curve} in regime {regime}: {error}"


def _missing_settings(entry: PaperEntry) -> Iterator[str]:
    """What a curve needs and neither its axis nor any setting gives."""
    for name, experiment in entry.experiments.items():
        given = {*(experiment.x or entry.x)}
        for regime in experiment.regimes:
            known = given | plan.setting_of(entry, experiment, regime).given().keys()
            for curve in experiment.curves:
                for missing in sorted(needed(entry.curves[curve].quantity) - known):
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
        yield from _unknown(f"{place}.kind", given["kind"], kinds)
        kind = kinds[given["kind"]]
        content = {key: value for key, value in given.items() if key != "kind"}
        try:
            parameters = plan.table_parameters(paper, given)
        except ValidationError as error:
            yield from sentences(error, kind.parameters, content, place)
            continue
        for mechanism in kind.mechanisms(parameters):
            yield from _unknown(
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


def _figure_faults(paper: str, entry: PaperEntry) -> Iterator[str]:
    for name, figure in entry.figures.items():
        place = f"figures.{name}"
        yield from _shown_faults(place, figure)
        if figure.table is not None:
            yield from _unknown(f"{place}.table", figure.table, entry.tables)
            if research(paper).tables[entry.tables[figure.table]["kind"]].draw is None:
                yield f"{place}.table is {figure.table!r}, a table of a kind that cannot be drawn"
            continue
        yield from _look_faults(place, figure)
        regimes = figure.regimes or ()
        yield from _unknown_in(f"{place}.regimes", regimes, entry.regimes)
        quantities, xs = set(), set()
        for key, experiment, curve in _drawn(figure):
            yield from _unknown(f"{place}.{key('experiment')}", experiment, entry.experiments)
            yield from _unknown(f"{place}.{key('curve')}", curve, entry.curves)
            computed = entry.experiments[experiment]
            wanted = [(key("curve"), "curves", curve)]
            wanted += [(f"regimes[{i}]", "regimes", r) for i, r in enumerate(regimes)]
            for where, kind, value in wanted:
                if value not in getattr(computed, kind):
                    yield (
                        f"{place}.{where} is {value!r}, which experiments.{experiment} does "
                        f"not compute; it must be one of {', '.join(getattr(computed, kind))}"
                    )
            quantities.add(entry.curves[curve].quantity)
            xs.add(next(iter(computed.x or entry.x)))
        for what, found in (("quantities", quantities), ("axes", xs)):
            if len(found) > 1:
                yield f"{place} draws curves of several {what}: {', '.join(sorted(found))}"
        transform = figure.transform or entry.style.transform
        if transform != "none" and quantities == {"delta"}:
            yield f"{place}.transform is {transform!r}; for curves of delta it must be none"
        if figure.ratio is not None:
            yield from _ratio_faults(place, figure, transform)


def _shown_faults(place: str, figure: Figure) -> Iterator[str]:
    """A figure shows a grid, lines, or a table, and only one of them."""
    grid = [key for key in ("experiments", "curves") if getattr(figure, key) is not None]
    others = [key for key in ("lines", "table") if getattr(figure, key) is not None]
    if (len(grid), len(others)) not in ((2, 0), (0, 1)):
        has = ", ".join([*grid, *others]) or "none of them"
        yield f"{place} must have either experiments and curves, or lines, or a table, got {has}"
    if figure.table is None and figure.regimes is None:
        yield f"{place}.regimes is missing; it must be a list that is not empty"
    for key in ("regimes", "ratio", "transform"):
        if figure.table is not None and getattr(figure, key) is not None:
            yield f"{place}.{key} is only valid for a figure of curves, and this is one of a table"


def _look_faults(place: str, figure: Figure) -> Iterator[str]:
    looks: dict[str | None, dict[str, Any]] = {}
    for i, line in enumerate(figure.lines or ()):
        look = line.model_dump(exclude={"experiment", "curve"})
        if looks.setdefault(line.label, look) != look and line.label is not None:
            yield (
                f"{place}.lines[{i}] looks unlike another line with the label {line.label!r}; "
                "lines with the same label must look alike"
            )


def _ratio_faults(place: str, figure: Figure, transform: str) -> Iterator[str]:
    """Only a single row of panels has a row of ratios, and ratios of logarithms mean nothing."""
    if figure.lines is None and len(figure.experiments or ()) > 1:
        yield f"{place}.ratio must be left out where a figure has several experiments"
    if transform == "log2_ratio":
        yield f"{place}.transform is 'log2_ratio'; in a figure with ratio it must be none or expm1"


def _drawn(figure: Figure) -> Iterator[tuple[Callable[[str], str], str, str]]:
    """Experiment and curve of every line, and where either stands in the figure's entry."""
    for i, line in enumerate(figure.lines or ()):
        yield partial("lines[{}].{}".format, i), line.experiment, line.curve
    for i, experiment in enumerate(figure.experiments or ()):
        for j, curve in enumerate(figure.curves or ()):
            place = {"experiment": f"experiments[{i}]", "curve": f"curves[{j}]"}
            yield place.__getitem__, experiment, curve
    if figure.ratio is not None:
        yield "ratio.{}".format, figure.ratio.experiment, figure.ratio.curve


def _claim_faults(paper: str, entry: PaperEntry) -> Iterator[str]:
    known = research(paper).claims
    for claim, figures in entry.claims.items():
        if claim not in known:
            yield (
                f"claims.{claim} is not a claim of this paper{suggestion(claim, known)}; "
                f"its claims are {', '.join(known) or 'none'}"
            )
        drawn = [name for name, figure in entry.figures.items() if figure.table is None]
        yield from _unknown_in(f"claims.{claim}", figures, drawn)


def _style_faults(entry: PaperEntry) -> Iterator[str]:
    for key in ("experiments", "curves"):
        style, known = getattr(entry.style, key), getattr(entry, key)
        for name in style:
            # What has no name like it may be left from an entry that was taken out.
            if name not in known and (hint := suggestion(name, known)):
                yield (
                    f"style.{key}.{name} is the style of nothing{hint}; "
                    f"{key} are {', '.join(known)}"
                )
    for name, figure in entry.figures.items():
        for curve in figure.curves or ():
            if curve not in entry.style.curves:
                yield f"style.curves.{curve} is missing; figures.{name} draws it"


def _unknown_in(place: str, values: Iterable[str], allowed: Collection[str]) -> Iterator[str]:
    for i, value in enumerate(values):
        yield from _unknown(f"{place}[{i}]", value, allowed)


def _unknown(place: str, value: object, allowed: Collection[str]) -> Iterator[str]:
    if not isinstance(value, str) or value not in allowed:
        yield (
            f"{place} is {shown(value)}{suggestion(value, allowed)}; "
            f"it must be one of {', '.join(allowed) or 'none'}"
        )
