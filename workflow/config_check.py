"""Is this config.yaml right? If not, one plain sentence: the place, the value, what is allowed."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from numbers import Real
from pathlib import Path

import jsonschema
import yaml

from shufflebounds import curves, randomizers

SCHEMA = Path(__file__).parent / "schemas" / "config.schema.yaml"

_KINDS = {
    "number": "a number",
    "integer": "an integer",
    "string": "text",
    "array": "a list",
    "object": "a mapping",
}
_LIMITS = {
    "exclusiveMinimum": "> {}",
    "minimum": ">= {}",
    "exclusiveMaximum": "< {}",
    "maximum": "<= {}",
}
_NOT_EMPTY = ("minItems", "minProperties", "minLength")


class ConfigError(ValueError):
    """A mistake in config.yaml, told in one sentence."""


def check(config: Mapping) -> None:
    """Raise ConfigError for the first mistake in the configuration, if there is one."""
    for mistake in _mistakes(config):
        raise ConfigError(f"config.yaml: {mistake}")


def _mistakes(config: Mapping) -> Iterator[str]:
    # Lazily and in this order: each check relies on the ones before.
    yield from _schema_mistakes(config)
    yield from _grid_mistakes(config)
    yield from _curve_mistakes(config)
    yield from _mechanism_mistakes(config)
    yield from _experiment_mistakes(config)
    yield from _figure_mistakes(config)
    yield from _style_mistakes(config)


# The schema: its errors, in words.


def _schema_mistakes(config: Mapping) -> Iterator[str]:
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    base = jsonschema.Draft202012Validator
    # JSON has no NaN and takes 10.0 for an integer; YAML and Python see that otherwise.
    checker = base.TYPE_CHECKER.redefine_many({"number": _is_number, "integer": _is_integer})
    validator = jsonschema.validators.extend(base, type_checker=checker)(schema)
    for error in validator.iter_errors(config):
        yield _sentence(error)


def _is_number(_: object, value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_integer(_: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _sentence(error: jsonschema.ValidationError) -> str:
    place = _dotted(error.absolute_path)
    fragment = error.schema
    if "propertyNames" in error.absolute_schema_path:
        return f"{_within(place, error.instance)} is no valid name; it must be {_allowed(fragment)}"
    if error.validator == "additionalProperties":
        known = list(fragment["properties"])
        key = next(key for key in error.instance if key not in known)
        return (
            f"{_within(place, key)} is no known key{_suggestion(key, known)}; "
            f"the keys here are {', '.join(known)}"
        )
    if error.validator == "required":
        key = next(key for key in fragment["required"] if key not in error.instance)
        return (
            f"{_within(place, key)} is missing; it must be {_allowed(fragment['properties'][key])}"
        )
    if error.validator == "uniqueItems":
        twice = next(x for i, x in enumerate(error.instance) if x in error.instance[:i])
        return f"{place} lists {twice!r} twice; its entries must be distinct"
    return (
        f"{place} is {_shown(error.instance)}; it must be {_allowed(fragment)}"
        f"{_number_hint(error.instance, fragment)}"
    )


def _dotted(path: Iterable[str | int]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).lstrip(".") or "the file"


def _within(place: str, key: object) -> str:
    return str(key) if place == "the file" else f"{place}.{key}"


def _shown(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, Mapping) and value:
        return "a mapping"
    if isinstance(value, list) and value:
        return "a list"
    return repr(value)


def _allowed(fragment: Mapping) -> str:
    """What a fragment of the schema asks for."""
    if "enum" in fragment:
        return f"one of {', '.join(fragment['enum'])}"
    if "pattern" in fragment:
        return fragment["description"][0].lower() + fragment["description"][1:]
    types = fragment["type"] if isinstance(fragment["type"], list) else [fragment["type"]]
    kind = " or ".join(_KINDS[name] for name in types)
    limits = [text.format(fragment[key]) for key, text in _LIMITS.items() if key in fragment]
    if any(key in fragment for key in _NOT_EMPTY):
        limits.append("that is not empty")
    return " ".join([kind, " and ".join(limits)]).rstrip()


def _number_hint(value: object, fragment: Mapping) -> str:
    """How to write a number that YAML reads as text, such as 1e-6 without a point."""
    wanted = fragment.get("type")
    if not isinstance(value, str) or wanted not in ("number", "integer"):
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
    return f" (YAML reads this as text: write {written})"


# What the schema cannot say: names that must exist, parameters that the library must accept.


def _grid_mistakes(config: Mapping) -> Iterator[str]:
    try:
        curves.users(config["n"])
    except ValueError as error:
        yield f"n.{error}"


def _curve_mistakes(config: Mapping) -> Iterator[str]:
    for name, curve in config["curves"].items():
        yield from _unknown(f"curves.{name}.bound", curve["bound"], curves.BOUNDS)


def _mechanism_mistakes(config: Mapping) -> Iterator[str]:
    levels = {curve.get("k_joint", 1) for curve in config["curves"].values()}
    budgets = {regime["eps0"] / k for regime in config["regimes"].values() for k in levels}
    for name, mechanism in config["mechanisms"].items():
        place = f"mechanisms.{name}"
        parameters = {key: value for key, value in mechanism.items() if key != "type"}
        yield from _unknown(f"{place}.type", mechanism["type"], randomizers.mechanism_names())
        kind = randomizers.mechanism(mechanism["type"])
        yield from _parameter_mistakes(place, mechanism["type"], kind, parameters)
        for eps0 in sorted(budgets):
            try:
                kind(eps0=eps0, **parameters)
            except ValueError as error:
                subject = str(error).partition(" ")[0]
                yield f"{place}{'.' if subject in parameters else f' at eps0 = {eps0}: '}{error}"


def _parameter_mistakes(
    place: str, name: str, kind: type, parameters: Collection[str]
) -> Iterator[str]:
    known = dict(inspect.signature(kind).parameters)
    del known["eps0"]
    listed = ", ".join(known) or "none"
    for key in parameters:
        if key not in known:
            yield (
                f"{place}.{key} is no parameter of {name}{_suggestion(key, known)}; "
                f"its parameters are: {listed}"
            )
    for key, parameter in known.items():
        if key not in parameters and parameter.default is parameter.empty:
            yield f"{place}.{key} is missing; {name} needs: {listed}"


def _experiment_mistakes(config: Mapping) -> Iterator[str]:
    for name, experiment in config["experiments"].items():
        place = f"experiments.{name}"
        yield from _unknown(f"{place}.mechanism", experiment["mechanism"], config["mechanisms"])
        yield from _unknown_in(f"{place}.regimes", experiment["regimes"], config["regimes"])
        yield from _unknown_in(f"{place}.curves", experiment["curves"], config["curves"])


def _figure_mistakes(config: Mapping) -> Iterator[str]:
    for name, figure in config["figures"].items():
        place = f"figures.{name}"
        yield from _unknown_in(f"{place}.experiments", figure["experiments"], config["experiments"])
        for key in ("regimes", "curves"):
            yield from _unknown_in(f"{place}.{key}", figure[key], config[key])
            for experiment in figure["experiments"]:
                computed = config["experiments"][experiment][key]
                for i, entry in enumerate(figure[key]):
                    if entry not in computed:
                        yield (
                            f"{place}.{key}[{i}] is {entry!r}, which experiments.{experiment} does "
                            f"not compute; it must be one of {', '.join(computed)}"
                        )


def _style_mistakes(config: Mapping) -> Iterator[str]:
    for key in ("experiments", "curves"):
        style = config["style"][key]
        for entry in style:
            if entry not in config[key]:
                hint = _suggestion(entry, config[key])
                yield (
                    f"style.{key}.{entry} is the style of nothing{hint}; "
                    f"{key} are {', '.join(config[key])}"
                )
        for name, figure in config["figures"].items():
            for entry in figure[key]:
                if entry not in style:
                    yield f"style.{key}.{entry} is missing; figures.{name} draws it"


def _unknown_in(place: str, values: Iterable[str], allowed: Collection[str]) -> Iterator[str]:
    for i, value in enumerate(values):
        yield from _unknown(f"{place}[{i}]", value, allowed)


def _unknown(place: str, value: str, allowed: Collection[str]) -> Iterator[str]:
    if value not in allowed:
        yield (
            f"{place} is {value!r}{_suggestion(value, allowed)}; "
            f"it must be one of {', '.join(allowed)}"
        )


def _suggestion(value: object, allowed: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(value), list(allowed), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
