"""Is this config.yaml right? If not, one plain sentence: the place, the value, what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial

import matrix
import schema_check
import texts
from schema_check import suggestion
from shufflebounds import building, specs
from shufflebounds.descriptions import COMPOSITIONS

# Characters of a sentence.
_LONGEST_SENTENCE = 1000
# In one composition, however deep.
_MOST_MECHANISMS = 1000


class ConfigError(ValueError):
    """A mistake in config.yaml, told in one sentence."""


def check(config: Mapping, source: str = "config.yaml") -> None:
    """Raise ConfigError for the first mistake in the configuration, if there is one."""
    for mistake in _mistakes(config):
        raise ConfigError(f"{source}: {_line(mistake)}")


def _line(sentence: str) -> str:
    """A sentence on one line, whatever texts of the file it repeats."""
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in sentence)
    return line if len(line) <= _LONGEST_SENTENCE else f"{line[:_LONGEST_SENTENCE]}…"


def _mistakes(config: Mapping) -> Iterator[str]:
    # Lazily and in this order: each check relies on the ones before.
    yield from schema_check.mistakes(config)
    yield from _name_mistakes(config)
    yield from _grid_mistakes(config)
    yield from _curve_mistakes(config)
    yield from _mechanism_mistakes(config)
    yield from _experiment_mistakes(config)
    yield from _figure_mistakes(config)
    yield from _distribution_mistakes(config)
    yield from _table_mistakes(config)
    yield from _claim_mistakes(config)
    yield from _style_mistakes(config)
    yield from texts.mistakes(config)


# What the schema cannot say: names that must exist, parameters that the library must accept.


def _name_mistakes(config: Mapping) -> Iterator[str]:
    figures = [*config["figures"], *config.get("distributions", [])]
    sections = {key: list(config[key]) for key in ("experiments", "regimes", "curves")}
    for section, found in {**sections, "figures and distributions": figures}.items():
        spellings: dict[str, str] = {}
        for name in found:
            other = spellings.setdefault(name.lower(), name)
            if other != name:
                yield (
                    f"{section}: {other} and {name} differ in case alone; on many disks they would "
                    "be the same file"
                )


def _grid_mistakes(config: Mapping) -> Iterator[str]:
    try:
        specs.users(config["n"])
    except ValueError as error:
        yield f"n.{error}"


def _curve_mistakes(config: Mapping) -> Iterator[str]:
    for name, curve in config["curves"].items():
        yield from _unknown(f"curves.{name}.bound", curve["bound"], specs.BOUNDS)


def _mechanism_mistakes(config: Mapping) -> Iterator[str]:
    mechanisms = config["mechanisms"]
    for name, mechanism in mechanisms.items():
        place = f"mechanisms.{name}"
        yield from _unknown(f"{place}.type", mechanism["type"], building.types())
        for key, part in _named_parts(mechanism):
            yield from _unknown(f"{place}.{key}", part, mechanisms)
    for name in mechanisms:
        yield from _circle(config, name, [name], set())
    # Now that there is no circle: counting does not write them out.
    size = cache(lambda name: 1 + sum(size(part) for _, part in _named_parts(mechanisms[name])))
    for name in mechanisms:
        if size(name) > _MOST_MECHANISMS:
            yield (
                f"mechanisms.{name} is made of {size(name) - 1} mechanisms, counting repetitions; "
                f"it must be at most {_MOST_MECHANISMS - 1}"
            )
    # A mistake of a part is told where it is, not where the part is used.
    for name in sorted(mechanisms, key=lambda name: _is_composed(config, name)):
        for regime in config["regimes"].values():
            description = matrix.description(config, name)
            try:
                building.randomizer(description, regime["eps0"])
            except ValueError as error:
                yield _about(f"mechanisms.{name}", description, error)


def _is_composed(config: Mapping, name: str) -> bool:
    return config["mechanisms"][name]["type"] in COMPOSITIONS


def _named_parts(mechanism: Mapping) -> Iterator[tuple[str, str]]:
    """Names that a composition refers to, with their places in it."""
    if mechanism["type"] in COMPOSITIONS:
        if "mechanism" in mechanism:
            yield "mechanism", mechanism["mechanism"]
        for i, part in enumerate(mechanism.get("parts", [])):
            yield f"parts[{i}].mechanism", part["mechanism"]


def _circle(config: Mapping, name: str, path: list[str], done: set[str]) -> Iterator[str]:
    """Circles that `name`, at the end of a path, leads to; those that are `done` lead to none."""
    for _, part in _named_parts(config["mechanisms"][name]):
        if part in path:
            circle = " > ".join([*path[path.index(part) :], part])
            yield f"mechanisms.{part} contains itself ({circle}); a composition must not"
        elif part not in done:
            yield from _circle(config, part, [*path, part], done)
    done.add(name)


def _about(place: str, description: Mapping, error: ValueError) -> str:
    """A sentence of the library with its place in the file before it."""
    subject = str(error).partition(" ")[0]
    of_it = subject.partition("[")[0] in description or " is no parameter " in str(error)
    return f"{place}{'.' if of_it or ' is missing' in str(error) else ': '}{error}"


def _experiment_mistakes(config: Mapping) -> Iterator[str]:
    for name, experiment in config["experiments"].items():
        place = f"experiments.{name}"
        yield from _unknown(f"{place}.mechanism", experiment["mechanism"], config["mechanisms"])
        yield from _unknown_in(f"{place}.regimes", experiment["regimes"], config["regimes"])
        yield from _unknown_in(f"{place}.curves", experiment["curves"], config["curves"])
    seen = set()
    for wanted in matrix.curves(config):
        curve = config["curves"][wanted.curve]
        mechanism = config["experiments"][wanted.experiment]["mechanism"]
        # What decides whether a randomizer can be made and composed.
        key = mechanism, wanted.regime, curve.get("k_joint"), curve.get("distance")
        if config["engine"] == "exact" or "distance" in curve:
            key += (curve["bound"],)
        elif curve["bound"] == "clone":
            continue
        if key in seen:
            continue
        seen.add(key)
        try:
            specs.check(matrix.curve_spec(config, wanted))
        except ValueError as error:
            yield (
                f"experiments.{wanted.experiment}: curve {wanted.curve} in regime "
                f"{wanted.regime}: {error}"
            )


def _figure_mistakes(config: Mapping) -> Iterator[str]:
    for name, figure in config["figures"].items():
        place = f"figures.{name}"
        grid = [key for key in ("experiments", "curves") if key in figure]
        if len(grid) != (0 if "lines" in figure else 2):
            has = ", ".join([*grid, *(["lines"] if "lines" in figure else [])]) or "neither"
            yield f"{place} must have either experiments and curves, or lines, got {has}"
        yield from _look_mistakes(place, figure)
        yield from _unknown_in(f"{place}.regimes", figure["regimes"], config["regimes"])
        for key, experiment, curve in _drawn(figure):
            yield from _unknown(f"{place}.{key('experiment')}", experiment, config["experiments"])
            yield from _unknown(f"{place}.{key('curve')}", curve, config["curves"])
            entry = config["experiments"][experiment]
            wanted = [(key("curve"), "curves", curve)]
            wanted += [(f"regimes[{i}]", "regimes", r) for i, r in enumerate(figure["regimes"])]
            for where, kind, value in wanted:
                if value not in entry[kind]:
                    yield (
                        f"{place}.{where} is {value!r}, which experiments.{experiment} does "
                        f"not compute; it must be one of {', '.join(entry[kind])}"
                    )


def _look_mistakes(place: str, figure: Mapping) -> Iterator[str]:
    looks: dict[str, Mapping] = {}
    for i, line in enumerate(figure.get("lines", [])):
        look = {key: value for key, value in line.items() if key not in ("experiment", "curve")}
        if looks.setdefault(line["label"], look) != look:
            yield (
                f"{place}.lines[{i}] looks unlike another line with the label {line['label']!r}; "
                "lines with the same label must look alike"
            )


def _drawn(figure: Mapping) -> Iterator[tuple[Callable[[str], str], str, str]]:
    """Experiment and curve of every line, and where either stands in the figure's entry."""
    for i, line in enumerate(figure.get("lines", [])):
        yield partial("lines[{}].{}".format, i), line["experiment"], line["curve"]
    for i, experiment in enumerate(figure.get("experiments", [])):
        for j, curve in enumerate(figure["curves"]):
            place = {"experiment": f"experiments[{i}]", "curve": f"curves[{j}]"}
            yield place.__getitem__, experiment, curve


def _distribution_mistakes(config: Mapping) -> Iterator[str]:
    for name, entry in config.get("distributions", {}).items():
        place = f"distributions.{name}"
        if name in config["figures"]:
            yield f"{place} has the name of a figure; names of figures must be distinct"
        yield from _unknown(f"{place}.mechanism", entry["mechanism"], config["mechanisms"])
        description = matrix.description(config, entry["mechanism"])
        try:
            building.randomizer(description, entry["eps0"])
        except ValueError as error:
            yield f"{place}: {error}"


def _table_mistakes(config: Mapping) -> Iterator[str]:
    tables = config.get("tables")
    if tables and tables["eps"] >= min(tables["eps0"]):
        yield (
            f"tables.eps is {tables['eps']}; it must be a number < {min(tables['eps0'])}, "
            "the least of tables.eps0"
        )
    hierarchy = config.get("hierarchy", {"mechanisms": [], "eps0": []})
    yield from _unknown_in("hierarchy.mechanisms", hierarchy["mechanisms"], config["mechanisms"])
    for name in hierarchy["mechanisms"]:
        for eps0 in hierarchy["eps0"]:
            try:
                building.randomizer(matrix.description(config, name), eps0)
            except ValueError as error:
                yield f"hierarchy: mechanism {name} at eps0 = {eps0}: {error}"


def _claim_mistakes(config: Mapping) -> Iterator[str]:
    for claim, shown in config.get("claims", {}).items():
        yield from _unknown_in(f"claims.{claim}", shown, config["figures"])


def _style_mistakes(config: Mapping) -> Iterator[str]:
    for key in ("experiments", "curves"):
        style = config["style"][key]
        for entry in style:
            # What has no name like it may be left from an entry that was taken out.
            if entry not in config[key] and (hint := suggestion(entry, config[key])):
                yield (
                    f"style.{key}.{entry} is the style of nothing{hint}; "
                    f"{key} are {', '.join(config[key])}"
                )
        for name, figure in config["figures"].items():
            for entry in figure.get(key, []):
                if entry not in style:
                    yield f"style.{key}.{entry} is missing; figures.{name} draws it"


def _unknown_in(place: str, values: Iterable[str], allowed: Collection[str]) -> Iterator[str]:
    for i, value in enumerate(values):
        yield from _unknown(f"{place}[{i}]", value, allowed)


def _unknown(place: str, value: str, allowed: Collection[str]) -> Iterator[str]:
    if value not in allowed:
        yield (
            f"{place} is {value!r}{suggestion(value, allowed)}; "
            f"it must be one of {', '.join(allowed)}"
        )
