"""The console command ``shufflebounds``.

Numbers meant for people are rounded outward, so that a printed bound is a bound; ``--json`` keeps
every digit. Exit codes: 0; 2 and one sentence on standard error for a mistake; 3, after whatever
was found, where the engine could not reach the precision asked for.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import math
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from shufflebounds import amplification, planning, randomizers, validation
from shufflebounds._version import __version__
from shufflebounds.baselines import BASELINES
from shufflebounds.clone import standard_clone
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure, PrecisionError
from shufflebounds.randomizers.base import Randomizer

# As `curves.BOUNDS`, whose module takes pandas to import.
BOUNDS = ("upper", "lower", "clone", *BASELINES)
IMPRECISE = 3

_DIGITS = 6
_CAVEATS = {
    "laplace": "Laplace is on the domain {0, 1}. On [0, 1] the same pair and blanket hold for the "
    "inputs 0 and 1, but nobody has proved that this pair is the worst of that domain.",
}
_LOOKS = {
    "upper": {"label": "upper bound", "color": "#8ecae6", "line": "solid", "width": 3.5},
    "lower": {"label": "lower bound", "color": "#000000", "line": "solid", "width": 0.9},
    "clone": {"label": "clone", "color": "#cc7a00", "line": "dashed", "marker": "o"},
    "blanket_hoeffding": {
        "label": "blanket, Hoeffding",
        "color": "#a0a0a0",
        "line": "dashed",
        "marker": "s",
    },
    "blanket_hoeffding_generic": {
        "label": "blanket, Hoeffding, generic",
        "color": "#a0a0a0",
        "line": "dotted",
        "marker": "s",
    },
    "blanket_bennett": {
        "label": "blanket, Bennett",
        "color": "#0072b2",
        "line": "dashed",
        "marker": "^",
    },
    "blanket_bennett_generic": {
        "label": "blanket, Bennett, generic",
        "color": "#0072b2",
        "line": "dotted",
        "marker": "^",
    },
    "clone_closed_form": {
        "label": "clone, closed form",
        "color": "#cc7a00",
        "line": "dotted",
        "marker": "o",
    },
    "erlingsson": {
        "label": "Erlingsson et al.",
        "color": "#aa3377",
        "line": "dotted",
        "marker": "D",
    },
}


# Parsing: values, names, and the one sentence for what is wrong with them.


class _Name(click.Choice):
    """One of a few names, with a guess at what a wrong one was meant to be."""

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "NAME"

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        return f"It is one of {', '.join(self.choices)}."

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        near = get_close_matches(str(value), self.choices, n=1)
        guess = f"; did you mean {near[0]}?" if near else "."
        return f"{value!r} is not one of {', '.join(self.choices)}{guess}"


class _Whole(click.ParamType):
    """A whole number, written as 100000, 100_000 or 1e5."""

    name = "integer"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        if isinstance(value, int):
            return value
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            number = Decimal("nan")
        # Written out, larger ones would only fill the memory.
        if number.is_finite() and number.adjusted() > 30:
            self.fail(f"{value!r} is too large.", param, ctx)
        if not number.is_finite() or number != int(number):
            example = "100000, 100_000 or 1e5"
            self.fail(f"{value!r} is not a whole number such as {example}.", param, ctx)
        return int(number)


class _Target(click.Path):
    """A file to write, in a directory that exists."""

    def __init__(self, suffixes: tuple[str, ...] = ()) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)
        self._suffixes = suffixes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(super().convert(value, param, ctx))
        if self._suffixes and path.suffix not in self._suffixes:
            self.fail(f"{str(path)!r} must end in {' or '.join(self._suffixes)}.", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"Directory {str(path.parent)!r} does not exist.", param, ctx)
        return path


_WHOLE = _Whole()


class _Mistake(click.ClickException):
    """Something to be told in one sentence."""

    exit_code = 2


class _Imprecise(click.ClickException):
    exit_code = IMPRECISE


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        # Without its context, and so without lines on usage.
        raise _Mistake(error.format_message()) from None
    except PrecisionError as error:
        raise _Imprecise(_noted(error)) from None
    except (ValueError, OverflowError) as error:
        raise _Mistake(_noted(error)) from None


def _noted(error: Exception) -> str:
    return ", ".join([str(error), *getattr(error, "__notes__", [])])


class _Group(click.Group):
    """Commands whose mistakes end in one sentence."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _in_one_sentence():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_one_sentence():
            return super().invoke(ctx)


# Mechanisms: their parameters are the fields of their dataclasses.


def _fields(mechanism: str) -> dict[str, dataclasses.Field]:
    """Parameters of a mechanism other than ε₀, by name."""
    fields = dataclasses.fields(randomizers.mechanism(mechanism))
    return {field.name: field for field in fields if field.init and field.name != "eps0"}


def _kind(mechanism: str, parameter: str) -> type:
    """The type of a parameter, leaving None aside."""
    hint = typing.get_type_hints(randomizers.mechanism(mechanism))[parameter]
    return next(kind for kind in typing.get_args(hint) or (hint,) if kind is not types.NoneType)


def _is_required(field: dataclasses.Field) -> bool:
    return field.default is field.default_factory is dataclasses.MISSING


def _flag(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


def _takers() -> dict[str, list[str]]:
    """Every parameter of some mechanism, and the mechanisms that have it."""
    takers: dict[str, list[str]] = {}
    for mechanism in randomizers.mechanism_names():
        for parameter in _fields(mechanism):
            takers.setdefault(parameter, []).append(mechanism)
    return takers


@dataclass(frozen=True)
class _Report:
    """What a user sends: ``k_joint`` independent reports of a mechanism that share ε₀ equally."""

    mechanism: str
    parameters: Mapping[str, Any]
    k_joint: int

    def __post_init__(self) -> None:
        validation.whole("k_joint", self.k_joint, minimum=1)
        own = _fields(self.mechanism)
        for name in self.parameters:
            if name not in own:
                has = f"has only {', '.join(map(_flag, own))}" if own else "has none"
                raise ValueError(f"{_flag(name)} is no parameter of {self.mechanism}, which {has}")
        for name, field in own.items():
            if _is_required(field) and name not in self.parameters:
                raise ValueError(f"{self.mechanism} needs {_flag(name)}")

    def part(self, eps0: float) -> Randomizer:
        """One of the reports, if ε₀ is that of all."""
        validation.eps0(eps0)
        return randomizers.mechanism(self.mechanism)(eps0=eps0 / self.k_joint, **self.parameters)

    def upper(self, eps0: float) -> Decomposition:
        return functools.reduce(Decomposition.joint, [self.part(eps0).blanket()] * self.k_joint)

    def lower(self, eps0: float) -> Decomposition:
        parts = [self.part(eps0).dataset_pair()] * self.k_joint
        return functools.reduce(Decomposition.joint, parts)

    def name(self, eps0: float | None = None) -> str:
        """Such as ``KRR(k=10, eps0=4.0)``, or without ε₀."""
        if eps0 is not None:
            one = repr(self.part(eps0))
        else:
            listed = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
            one = randomizers.mechanism(self.mechanism).__name__ + (f"({listed})" if listed else "")
        return one if self.k_joint == 1 else f"{self.k_joint} x {one}"

    def notes(self) -> list[str]:
        joint = (
            f"A user sends {self.k_joint} reports together, each at eps0/{self.k_joint}, "
            "and may differ in all of them."
        )
        caveat = _CAVEATS.get(self.mechanism)
        return ([joint] if self.k_joint > 1 else []) + ([caveat] if caveat else [])


def _of_a_mechanism(command: Callable) -> Callable:
    """Options that choose a mechanism; the command receives them as ``report``."""
    takers = _takers()

    @functools.wraps(command)
    def wrapped(mechanism: str, k_joint: int, **options: Any) -> None:
        chosen = {name: options.pop(name) for name in takers}
        given = {name: value for name, value in chosen.items() if value is not None}
        command(report=_Report(mechanism, given, k_joint), **options)

    joint = click.option(
        "--k-joint",
        type=_WHOLE,
        default=1,
        show_default=True,
        help="How many independent reports at eps0/K a user sends together.",
        metavar="K",
    )
    wrapped = joint(wrapped)
    for parameter, mechanisms in reversed(takers.items()):
        kind = _kind(mechanisms[0], parameter)
        add = click.option(
            _flag(parameter),
            type=_WHOLE if kind is int else kind,
            help=f"Parameter of {', '.join(mechanisms)}.",
        )
        wrapped = add(wrapped)
    choose = click.option(
        "--mechanism",
        type=_Name(randomizers.mechanism_names()),
        required=True,
        help="The local randomizer; `shufflebounds mechanisms` lists them.",
    )
    return choose(wrapped)


_eps0 = click.option(
    "--eps0",
    type=float,
    required=True,
    help="Local privacy parameter of all that a user sends: natural logarithm, up to 300.",
)
_eps = click.option(
    "--eps", type=float, required=True, help="Privacy loss: natural logarithm, at least 0."
)
_delta = click.option(
    "--delta", type=float, required=True, help="A probability, 1e-300 to below 1."
)
_users = click.option(
    "--n",
    type=_WHOLE,
    required=True,
    help="Number of users, 1 to 1e15, written as 100000, 100_000 or 1e5.",
)
_rtol = click.option(
    "--rtol",
    type=float,
    help="Largest relative width of the enclosures, 1e-9 to 0.1; 1e-4 unless given.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, all digits.")


# Commands.


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shufflebounds")
def main() -> None:
    """Certified differential privacy of shuffled reports.

    n users each send one report through the same local randomizer, and a shuffler hides who sent
    what. These commands bound the (epsilon, delta) that results, from above and from below.

    All epsilons are natural logarithms. Printed bounds are rounded outward. Exit codes: 0; 2 for
    a mistake; 3 where the precision asked for was out of reach (what was found is still printed).
    """


@main.command()
@_of_a_mechanism
@_eps0
@_users
@_delta
@_rtol
@_json
def epsilon(
    report: _Report, eps0: float, n: int, delta: float, rtol: float | None, as_json: bool
) -> None:
    """The epsilon one may claim at a given delta.

    Example: shufflebounds epsilon --mechanism krr --k 10 --eps0 4 --n 100000 --delta 1e-6
    """
    found = _Findings()
    for name, decomposition in _decompositions(report, eps0):
        found.add(name, amplification.epsilon, decomposition, n, delta, rtol=rtol)
    found.show(
        as_json,
        facts={**_facts(report, eps0), "n": n, "delta": delta},
        title=f"{report.name(eps0)}, n = {n} users, delta = {delta!r}",
        column="epsilon (natural log)",
        rows={
            "upper_bound": ("may be claimed", "upper"),
            "lower_bound": ("no analysis can claim less", "lower"),
            "clone": ("clone, for comparison", "upper"),
        },
        notes=report.notes(),
    )


@main.command()
@_of_a_mechanism
@_eps0
@_users
@_eps
@_rtol
@_json
def delta(
    report: _Report, eps0: float, n: int, eps: float, rtol: float | None, as_json: bool
) -> None:
    """The delta one may claim at a given epsilon.

    Example: shufflebounds delta --mechanism krr --k 10 --eps0 4 --n 10000 --eps 0.4
    """
    found = _Findings()
    for name, decomposition in _decompositions(report, eps0):
        found.add(name, amplification.delta, decomposition, eps, n, rtol=rtol)
    found.show(
        as_json,
        facts={**_facts(report, eps0), "n": n, "eps": eps},
        title=f"{report.name(eps0)}, n = {n} users, epsilon = {eps!r} (natural log)",
        column="delta (probability)",
        rows={
            "upper_bound": ("may be claimed", "upper"),
            "lower_bound": ("no analysis can claim less", "lower"),
            "clone": ("clone, for comparison", "upper"),
        },
        notes=report.notes(),
    )


@main.command()
@_of_a_mechanism
@_users
@_eps
@_delta
@_json
def eps0(report: _Report, n: int, eps: float, delta: float, as_json: bool) -> None:
    """The largest eps0 that meets a target (epsilon, delta).

    Example: shufflebounds eps0 --mechanism krr --k 10 --n 100000 --eps 0.5 --delta 1e-6
    """
    found = _Findings()
    for name, decomposition in (
        ("upper_bound", report.upper),
        ("lower_bound", report.lower),
        ("clone", standard_clone),
    ):
        found.add(name, planning.largest_eps0, decomposition, eps, delta, n)
    found.show(
        as_json,
        facts={**_facts(report), "n": n, "eps": eps, "delta": delta},
        title=f"{report.name()}, n = {n} users, target epsilon = {eps!r}, delta = {delta!r}",
        column="eps0 (natural log)",
        rows={
            "upper_bound": ("may be deployed", "lower"),
            "lower_bound": ("misses the target for certain", "upper"),
            "clone": ("clone, for comparison", "lower"),
        },
        notes=report.notes(),
    )


@main.command()
@_of_a_mechanism
@_eps0
@_eps
@_delta
@_json
def users(report: _Report, eps0: float, eps: float, delta: float, as_json: bool) -> None:
    """The fewest users that meet a target (epsilon, delta).

    Example: shufflebounds users --mechanism krr --k 10 --eps0 4 --eps 0.5 --delta 1e-6
    """
    found = _Findings()
    for name, decomposition in _decompositions(report, eps0):
        found.add(name, planning.fewest_users, decomposition, eps, delta)
    unknown = ["inf: not even 10^15 users are known to be enough."]
    found.show(
        as_json,
        facts={**_facts(report, eps0), "eps": eps, "delta": delta},
        title=f"{report.name(eps0)}, target epsilon = {eps!r}, delta = {delta!r}",
        column="users",
        rows={
            "upper_bound": ("enough", "upper"),
            "lower_bound": ("no analysis can do with fewer", "lower"),
            "clone": ("clone, for comparison", "upper"),
        },
        notes=report.notes() + (unknown if found.has_infinity() else []),
    )


@main.command()
@_of_a_mechanism
@_eps0
@_delta
@click.option("--start", type=_WHOLE, default=1000, show_default=True, help="Fewest users.")
@click.option(
    "--stop", type=_WHOLE, default=100_000, show_default=True, help="Most users, to 1e15."
)
@click.option("--points", type=_WHOLE, default=50, show_default=True, help="Numbers of users.")
@click.option(
    "--bound",
    "bounds",
    type=_Name(BOUNDS),
    multiple=True,
    default=BOUNDS[:3],
    show_default=True,
    help=f"May be repeated; one of {', '.join(BOUNDS)}.",
)
@click.option(
    "--rtol", type=float, default=1e-4, show_default=True, help="Relative width, at most."
)
@click.option(
    "-o", "--output", type=_Target(), help="CSV file to write.  [default: standard output]"
)
@click.option("--plot", type=_Target((".pdf", ".png")), help="Figure to draw, PDF or PNG.")
def curve(
    report: _Report,
    eps0: float,
    delta: float,
    start: int,
    stop: int,
    points: int,
    bounds: tuple[str, ...],
    rtol: float,
    output: Path | None,
    plot: Path | None,
) -> None:
    """Epsilon over a geometric grid of numbers of users, as CSV and as a plot.

    Of an upper bound, epsilon_upper may be claimed; of a lower one, epsilon_lower is certain.

    Example: shufflebounds curve --mechanism krr --k 10 --eps0 4 --delta 1e-6 -o krr.csv
    """
    import pandas as pd

    from shufflebounds import curves

    if stop > validation.MAX_USERS:
        raise ValueError(f"stop must be at most {validation.MAX_USERS:.0e}, got {stop}")
    grid = curves.geometric_grid(start, stop, points)
    validation.rtol(rtol)
    report.part(eps0)
    spec = {
        "experiment": report.mechanism,
        "regime": f"eps0={eps0:g}",
        "mechanism": {"type": report.mechanism, **report.parameters},
        "k_joint": report.k_joint,
        "eps0": eps0,
        "delta": delta,
        "engine": "saddle",
        "rtol": rtol,
    }
    # Pieces large enough that preparing a curve again for each costs little.
    piece = math.ceil(points / 10)
    pieces = [
        {**spec, "curve": bound, "bound": bound, "n": grid[i : i + piece]}
        for bound in dict.fromkeys(bounds)
        for i in range(0, points, piece)
    ]
    hidden = not sys.stderr.isatty()
    with click.progressbar(pieces, label="computing", file=sys.stderr, hidden=hidden) as shown:
        table = pd.concat([curves.compute(piece) for piece in shown], ignore_index=True)
    if output is None:
        table.to_csv(sys.stdout, index=False, lineterminator="\n")
    else:
        _written(output, lambda: curves.write(table, output))
    if plot is not None:
        _written(plot, lambda: _draw(table, report, spec, plot))
    for note in report.notes():
        click.echo(note, err=True)


@main.command()
@_json
def mechanisms(as_json: bool) -> None:
    """The mechanisms and their parameters."""
    listed = []
    for name in randomizers.mechanism_names():
        module = importlib.import_module(randomizers.mechanism(name).__module__)
        parameters = {
            parameter: {
                "type": _kind(name, parameter).__name__,
                "required": _is_required(field),
                "default": None if _is_required(field) else field.default,
            }
            for parameter, field in _fields(name).items()
        }
        description = (module.__doc__ or name).strip().splitlines()[0]
        listed.append({"name": name, "description": description, "parameters": parameters})
    if as_json:
        click.echo(json.dumps(listed, indent=2, allow_nan=False))
        return
    width = max(len(mechanism["name"]) for mechanism in listed)
    for mechanism in listed:
        click.echo(f"{mechanism['name']:{width}}  {mechanism['description']}")
        for parameter, facts in mechanism["parameters"].items():
            usage = "required" if facts["required"] else "optional"
            click.echo(f"{'':{width}}    {_flag(parameter)} {facts['type'].upper()}, {usage}")


# What the commands share.


def _decompositions(report: _Report, eps0: float) -> list[tuple[str, Decomposition]]:
    return [
        ("upper_bound", report.upper(eps0)),
        ("lower_bound", report.lower(eps0)),
        ("clone", standard_clone(eps0)),
    ]


def _facts(report: _Report, eps0: float | None = None) -> dict[str, Any]:
    facts = {
        "version": __version__,
        "mechanism": report.mechanism,
        "parameters": dict(report.parameters),
        "k_joint": report.k_joint,
    }
    return facts if eps0 is None else {**facts, "eps0": eps0}


class _Findings:
    """Enclosures by name, and sentences on those that are wider than they should be."""

    def __init__(self) -> None:
        self.enclosures: dict[str, Enclosure] = {}
        self.shortfalls: list[str] = []

    def add(self, name: str, evaluate: Callable[..., Enclosure], *args: Any, **kwargs: Any) -> None:
        try:
            self.enclosures[name] = evaluate(*args, **kwargs)
        except PrecisionError as error:
            self.enclosures[name] = error.enclosure
            self.shortfalls.append(f"{name}: {error}")

    def has_infinity(self) -> bool:
        return any(math.isinf(found.upper) for found in self.enclosures.values())

    def show(
        self,
        as_json: bool,
        facts: Mapping[str, Any],
        title: str,
        column: str,
        rows: Mapping[str, tuple[str, str]],
        notes: list[str],
    ) -> None:
        """Print everything; `rows` gives each enclosure its label and the end that counts."""
        if as_json:
            ends = {name: _finite_ends(found) for name, found in self.enclosures.items()}
            answer = {**facts, **ends, "precise": not self.shortfalls, "notes": notes}
            click.echo(json.dumps(answer, indent=2, allow_nan=False))
        else:
            click.echo(f"{title}\n")
            lines = [("", column, "relative width")]
            for name, (label, end) in rows.items():
                found = self.enclosures[name]
                value = _outward(getattr(found, end), up=end == "upper")
                lines.append((label, value, _width(found)))
            first, second = (max(len(line[i]) for line in lines) for i in (0, 1))
            for label, value, width in lines:
                click.echo(f"  {label:{first}}   {value:{second}}   {width}".rstrip())
            for note in notes:
                click.echo(f"\n{click.wrap_text(note, width=80)}")
        if self.shortfalls:
            raise _Imprecise("; ".join(self.shortfalls))


def _finite_ends(found: Enclosure) -> dict[str, float | None]:
    """JSON has no infinity; null stands for it."""
    return {
        end: value if math.isfinite(value) else None
        for end, value in dataclasses.asdict(found).items()
    }


def _outward(value: float, *, up: bool) -> str:
    """A few digits of a number ≥ 0, never below it (up) or never above it; integers in full."""
    if isinstance(value, int) or value == 0.0 or math.isinf(value):
        return f"{value:.0f}"
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    rounded = Context(prec=_DIGITS, rounding=rounding).plus(Decimal(value))
    if -5 <= rounded.adjusted() < _DIGITS:
        return f"{rounded:f}"
    return f"{rounded:.{_DIGITS - 1}e}"


def _width(found: Enclosure) -> str:
    """The relative width of an enclosure, in two digits, rounded up."""
    if found.lower == found.upper:
        return "0 (exact)"
    if math.isinf(found.upper):
        return "unbounded"
    rounded = Context(prec=2, rounding=ROUND_CEILING).plus(Decimal(found.relative_width))
    return f"{rounded:.1e}"


def _written(path: Path, write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as error:
        raise _Mistake(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def _draw(table: Any, report: _Report, spec: Mapping[str, Any], path: Path) -> None:
    from shufflebounds import figures

    bounds = list(dict.fromkeys(table["bound"]))
    layout = {
        "experiments": [spec["experiment"]],
        "regimes": {spec["regime"]: {"eps0": spec["eps0"], "label": "with"}},
        "curves": bounds,
    }
    style = {
        "experiments": {spec["experiment"]: report.name()},
        "curves": {bound: _LOOKS[bound] for bound in bounds},
    }
    figures.draw(table, layout, style, [path])


if __name__ == "__main__":
    main()
