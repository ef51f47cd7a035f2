"""The command that computes curves, writes them as a table, and draws them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from shufflebounds.bounds.base import DIVERGENCES, OPTIONAL, QUANTITIES, Bound, Kind, Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import PAIR_BOUNDS, between_bounds, within_eps0
from shufflebounds.cli.notes import notes_on
from shufflebounds.cli.options import (
    OUTPUT,
    REQUIRED,
    SENT,
    eps0_option,
    number_option,
    option,
    optional,
    rtol_option,
)
from shufflebounds.cli.progress import by_step
from shufflebounds.cli.reply import Reply, or_value_error
from shufflebounds.cli.scenario import Scenario
from shufflebounds.cli.sent import further_mechanism, question
from shufflebounds.cli.tables import Table
from shufflebounds.cli.values import FIGURE, BoundName, Name, OutputFile
from shufflebounds.core.enclosure import PrecisionError, outward
from shufflebounds.core.number import Whole
from shufflebounds.core.relation import common_relation
from shufflebounds.core.setting import MAX_POINTS, NUMBERS, Axis, Grid, Setting
from shufflebounds.core.words import counted
from shufflebounds.curves import curve as curves
from shufflebounds.curves import storage
from shufflebounds.curves.curve import Curve
from shufflebounds.curves.specification import Specification
from shufflebounds.curves.storage import CurveName
from shufflebounds.notebook import title

# First and last value of each axis, unless the options give others.
AXIS_ENDS: dict[str, tuple[float, float]] = {
    "n": (1000, 100_000),
    "eps0": (0.1, 8.0),
    "eps": (0.01, 1.0),
    "delta": (1e-12, 1e-3),
    "rounds": (1, 365),
    "order": (2, 256),
    "noise_multiplier": (0.5, 5.0),
}
# Relative width without --rtol.
USUAL_RTOL = 1e-4
# Points of the table that a terminal shows.
MAX_ROWS = 11


@question(
    # It is that of all mechanisms that have none of their own.
    eps0_option("--eps0 shared_eps0"),
    *optional("delta", section=REQUIRED),
    *optional("n", "eps", "order"),
    *optional("rounds", section=SENT),
    option(
        "--x",
        Name(tuple(AXIS_ENDS)),
        "n, eps0, eps, delta, rounds, order or noise_multiplier.",
        default="n",
    ),
    option("--start", str, "Where it begins.  [default: by the axis, n = 1000]", metavar="X"),
    option("--stop", str, "Where it ends.  [default: by the axis, n = 100000]", metavar="X"),
    number_option(Whole("points", "points along it", ge=1, le=MAX_POINTS, symbol="P", default=50)),
    option("--linear", bool, "Space them evenly, not geometrically."),
    option(
        "--quantity",
        Name(DIVERGENCES),
        "epsilon (at delta), delta (at eps) or renyi (at order).",
        default="epsilon",
    ),
    option(
        "--bound",
        BoundName(tuple(BOUNDS)),
        "May be repeated; `shufflebounds bounds` lists them.  [default: best, blanket, lower, "
        "stronger_clone]",
        multiple=True,
    ),
    rtol_option("1e-4"),
    option(
        "--versus",
        str,
        "A further mechanism, such as 'krr k=20'; may be repeated.",
        multiple=True,
        metavar="TEXT",
        section=SENT,
    ),
    option(
        "-o --output",
        OutputFile(),
        "CSV file to write.  [default: standard output]",
        section=OUTPUT,
    ),
    option("--plot", FIGURE, "Figure to draw: PDF, PNG or SVG.", section=OUTPUT),
)
def curve(
    deployment: Scenario,
    shared_eps0: float | None,
    x: str,
    start: str | None,
    stop: str | None,
    points: int,
    linear: bool,
    quantity: str,
    bound: tuple[str, ...],
    rtol: float | None,
    versus: tuple[str, ...],
    output: Path | None,
    plot: Path | None,
    **fixed: float | None,
) -> Reply:
    """How do bounds change along an axis, such as the users?

    Prints CSV (in a terminal, a table of some points), and plots it. Over several rounds the
    relative width is 1e-3 for epsilon and 0.05 for delta, whatever --rtol says.

    Example: shufflebounds curve krr --k 10 --eps0 4 --delta 1e-6 -o krr.csv
    """
    if plot is not None and plot == output:
        raise ValueError(f"--output and --plot must be two files, got {str(plot)!r} twice")
    axis = _axis(x, start, stop, points, "linear" if linear else "geometric")
    further = [_with_mechanism(deployment, text) for text in versus]
    compared = _at_eps0([deployment, *further], shared_eps0, is_axis=x == "eps0")
    computed, notes = _compared_curves(
        compared, axis, quantity, bound, USUAL_RTOL if rtol is None else rtol, fixed
    )
    if output is not None:
        or_value_error(output, lambda: curves.write_all(computed, output))
    failure = None if plot is None else _drawing_error(computed, plot)
    written = _written_files(output, None if failure else plot)
    shortfall = failure or _empty_points_error(computed)
    reply = Reply(remarks=[*notes, *written], shortfall=shortfall)
    common_relation("curves", (each.sample.relation for each in compared))
    return reply if output is not None else _printed_curves(reply, computed, compared[0])


def _compared_curves(
    compared: Sequence[Scenario],
    axis: Axis,
    quantity: str,
    names: Sequence[str],
    rtol: float,
    fixed: Mapping[str, float | None],
) -> tuple[list[Curve], list[str]]:
    """Return the curves of all mechanisms, and what they rest on.

    Without ``names`` of bounds, only the best bounds of several mechanisms are compared.
    """
    if len(compared) > 1 and not names:
        names = ("blanket",) if quantity == "renyi" else ("best",)
    computed: list[Curve] = []
    notes: dict[str, None] = {}
    for deployment, experiment in zip(compared, _experiments(compared), strict=True):
        rounds = None if axis.name == "rounds" else deployment.rounds or 1
        settled, capped = _settled_curves(
            _computed_curves(deployment, axis, quantity, names, rtol, fixed, experiment)
        )
        computed += settled
        notes |= dict.fromkeys([*notes_on(replace(deployment, rounds=rounds)), *capped])
    return computed, [*notes]


def _with_mechanism(deployment: Scenario, text: str) -> Scenario:
    """Return the same users with another mechanism, such as ``krr k=20``."""
    return replace(deployment, mechanism=further_mechanism(text), messages=None)


def _at_eps0(compared: Sequence[Scenario], eps0: float | None, *, is_axis: bool) -> list[Scenario]:
    """Return the mechanisms at an ε₀, except those that have their own.

    Raises ValueError if one of them lacks an ε₀, if none takes it, and if one has its own where ε₀
    is the axis.
    """
    for each in compared:
        if each.has_own_eps0 and (is_axis or (eps0 is not None and len(compared) == 1)):
            each.require_open_eps0("--x must not be eps0" if is_axis else "--eps0 must be left out")
        if not (each.has_own_eps0 or is_axis or eps0 is not None):
            raise ValueError(f"Missing option '--eps0', which {each.name} needs.")
    return [each if each.has_own_eps0 else replace(each, eps0=eps0) for each in compared]


def _experiments(compared: Sequence[Scenario]) -> list[str]:
    """Return what the curves of each mechanism are called; ValueError if two are the same."""
    if len(compared) == 1:
        return [compared[0].mechanism.type]
    names = [replace(each, eps0=None).name for each in compared]
    if len({*names}) < len(names):
        raise ValueError(f"--versus must name other mechanisms, got {names[0]} among {names}")
    return names


def _axis(name: str, start: str | None, stop: str | None, points: int, spacing: str) -> Axis:
    """Return the axis, with usual ends where none are given."""
    first, last = AXIS_ENDS[name]
    parse = NUMBERS[name].parse
    ends = parse(start or first, "--start"), parse(stop or last, "--stop")
    return Axis(name, Grid(*ends, points, spacing))


def _computed_curves(
    deployment: Scenario,
    axis: Axis,
    quantity: str,
    names: Sequence[str],
    rtol: float,
    fixed: Mapping[str, float | None],
    experiment: str,
) -> list[Curve]:
    """Return the curves of the bounds by these names, or of the usual ones."""
    usual = deployment.bounds(("best", *PAIR_BOUNDS), quantity)
    bounds = {name: BOUNDS[name] for name in names} or usual
    bounds = {name: replace(bound, label=deployment.label(name)) for name, bound in bounds.items()}
    for name, bound in bounds.items():
        if not (bound.knows_mechanism or deployment.has_eps0):
            raise ValueError(f"--bound {name} needs an eps0, and {deployment.name} has none")
    is_scaled = axis.name == "n" and deployment.fixes_users
    given = Setting(
        n=None if is_scaled else deployment.n,
        eps0=deployment.eps0,
        rounds=deployment.rounds,
        messages=deployment.messages,
        noise_multiplier=deployment.noise_multiplier,
    ).at(**fixed)
    specifications = _specifications(bounds, deployment, given, axis, quantity, rtol)
    return [
        curves.compute(CurveName(experiment, "command line", name), specifications[name])
        for name, _ in by_step(bounds)
    ]


def _written_files(*paths: Path | None) -> list[str]:
    """Return a sentence that names the files, if somebody reads it."""
    written = [str(path) for path in paths if path is not None]
    return [f"Wrote {' and '.join(written)}."] if written and sys.stderr.isatty() else []


def _printed_curves(reply: Reply, computed: Sequence[Curve], deployment: Scenario) -> Reply:
    """Return the reply with the CSV or, in a terminal, with a table of some points."""
    if not sys.stdout.isatty():
        return replace(reply, document=_csv(computed))
    points = len(computed[0].points)
    rows = sorted({round(i * (points - 1) / (MAX_ROWS - 1)) for i in range(MAX_ROWS)})
    return replace(
        reply,
        title=f"{len(rows)} of {points} points, {deployment.relation_text}; -o FILE writes all, "
        "both ends.",
        table=_curves_table(computed, rows),
    )


def _drawing_error(computed: Sequence[Curve], plot: Path) -> ValueError | None:
    """Draw the figure; return what prevents it, which is raised once the curves are printed."""
    try:
        or_value_error(plot, lambda: _draw_curves(computed, plot))
    except ValueError as error:
        return error
    return None


def _curves_table(computed: Sequence[Curve], rows: Sequence[int]) -> Table:
    """Return the safe ends of the bounds at some of the points; empty where one is imprecise."""
    axis = computed[0].specification.axis.name
    values = [getattr(computed[0].points[row].setting, axis) for row in rows]
    columns = {axis: [f"{value:.6g}" for value in values]}
    are_several = len({curve.name.experiment for curve in computed}) > 1
    for curve in computed:
        bound = curve.specification.bound
        is_lower = bound.kind in (Kind.LOWER, Kind.CLASS_LOWER)
        answers = [curve.points[row].answer for row in rows]
        columns[f"{curve.name.experiment}: {bound.label}" if are_several else bound.label] = [
            ""
            if answer.shortfall
            else outward(
                answer.enclosure.lower if is_lower else answer.enclosure.upper, up=not is_lower
            )
            for answer in answers
        ]
    return columns


def _csv(computed: Sequence[Curve]) -> str:
    """Return the curves as the text of a CSV file."""
    rows = [row for curve in computed for row in curves.rows(curve)]
    return storage.sealed(curves.columns(computed[0].specification.quantity), rows)


def _specifications(
    bounds: Mapping[str, Bound],
    deployment: Scenario,
    setting: Setting,
    axis: Axis,
    quantity: str,
    rtol: float,
) -> dict[str, Specification]:
    """Return the specification of each curve; ValueError for an option that it would ignore."""
    for name in setting.given():
        if name == axis.name:
            raise ValueError(
                f"--{name} must be left out: the curve runs along {name}, from --start to --stop"
            )
        if name not in (*QUANTITIES[quantity], *OPTIONAL, *deployment.sent.needs, "eps0"):
            raise ValueError(
                f"--{name} must be left out: a curve of {quantity} does not depend on it"
            )
    reports, numerics = deployment.sent, Numerics(rtol=rtol)
    specifications = {
        name: Specification(bound, reports, setting, axis, quantity, None, numerics)
        for name, bound in bounds.items()
    }
    for specification in specifications.values():
        specification.check()
    return specifications


def _settled_curves(computed: Sequence[Curve]) -> tuple[list[Curve], list[str]]:
    """Return the curves with answers `between_bounds` and, of ε, `within_eps0`; and notes."""
    reports, notes = computed[0].specification.reports, dict[str, None]()
    # Composed reports may have an ε₀ that is larger than the setting's by a rounding.
    sent_at = cache(reports.protocol)
    names = [curve.specification.bound.name for curve in computed]
    columns = []
    for points in zip(*(curve.points for curve in computed), strict=True):
        by_name = dict(zip(names, points, strict=True))
        answers = between_bounds({name: point.answer for name, point in by_name.items()})
        if computed[0].specification.quantity == "epsilon":
            setting = points[0].setting
            rounds = setting.rounds or 1
            noise = Setting(eps0=setting.eps0, noise_multiplier=setting.noise_multiplier)
            limit = sent_at(noise).pure_eps(rounds)
            answers, capped = within_eps0(answers, limit, rounds)
            notes.update(dict.fromkeys(capped))
        columns.append([replace(point, answer=answers[name]) for name, point in by_name.items()])
    rows = zip(*columns, strict=True)
    return [replace(curve, points=row) for curve, row in zip(computed, rows, strict=True)], [*notes]


def _empty_points_error(computed: Sequence[Curve]) -> PrecisionError | None:
    """Return the error that names the first point that is left empty; None if there is none."""
    missed = [(text, curve) for curve in computed for text in curves.shortfalls(curve)]
    if not missed:
        return None
    more = f" (and {counted(len(missed) - 1, 'more point')})" if missed[1:] else ""
    return PrecisionError(f"{missed[0][0]}{more}", missed[0][1].enclosures)


def _draw_curves(computed: Sequence[Curve], path: Path) -> None:
    from shufflebounds.curves.plotting import figures, sheets

    names = sheets.figure_names(computed)
    heading = ", ".join(names.values()) if len(names) > 1 else title(computed[0])
    figures.draw(sheets.of_computed(computed, heading), [path], titled=True)
