"""The command that computes curves, writes them as a table, and draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from shufflebounds.bounds.base import DIVERGENCES, OPTIONAL, QUANTITIES, Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import (
    OF_PAIRS,
    least,
    one_by_one,
    or_value_error,
    progress,
    within_eps0,
)
from shufflebounds.cli.deployment import Deployment, missing
from shufflebounds.cli.options import (
    FIGURE,
    NUMBER,
    REAL,
    WHOLE,
    Name,
    Target,
    flag,
    option,
    question,
)
from shufflebounds.core.enclosure import PrecisionError
from shufflebounds.core.setting import Axis, Grid, Setting
from shufflebounds.reproduce import curve as curves
from shufflebounds.reproduce import storage
from shufflebounds.reproduce.curve import Curve
from shufflebounds.reproduce.specification import Specification, needed
from shufflebounds.reproduce.storage import CurveName

# Where an axis begins and ends unless the options say otherwise.
_RANGES: dict[str, tuple[float, float]] = {
    "n": (1000, 100_000),
    "eps0": (0.1, 8.0),
    "eps": (0.01, 1.0),
    "delta": (1e-12, 1e-3),
    "rounds": (1, 365),
    "order": (2, 256),
}


@question(
    option("--eps0", REAL, "Local privacy parameter of all that a user sends."),
    option("--delta", REAL, "A probability, 1e-300 to below 1."),
    option("--eps", REAL, "Privacy loss of curves of delta: natural logarithm."),
    option("--order", REAL, "Order of curves of the Renyi divergence, above 1."),
    option(
        "--n",
        WHOLE,
        "Number of users, unless that is the axis; without those who collude or drop out.",
    ),
    option(
        "--rounds",
        WHOLE,
        "In how many separate shuffles the same users report. (Reports that are sent together, "
        "linked to each other, are --k-joint.)  [default: 1]",
        metavar="T",
    ),
    option(
        "--x",
        Name(("n", "eps0", "eps", "delta", "rounds", "order")),
        "The axis: n, eps0, eps, delta, rounds or order.",
        default="n",
    ),
    option("--start", NUMBER, "Where it begins.  [default: depends on the axis, such as n = 1000]"),
    option("--stop", NUMBER, "Where it ends.  [default: depends on the axis, such as n = 100000]"),
    option("--points", WHOLE, "Points along it.", default=50),
    click.option("--linear", is_flag=True, help="Space them evenly, not geometrically."),
    option(
        "--quantity",
        Name(DIVERGENCES),
        "The quantity: epsilon (at delta), delta (at eps) or renyi (at order).",
        default="epsilon",
    ),
    option(
        "--bound",
        Name(tuple(BOUNDS)),
        "May be repeated; `shufflebounds bounds` lists them.  [default: tight, upper, lower, "
        "stronger_clone]",
        multiple=True,
    ),
    option("--rtol", REAL, "Relative width, at most.", default=1e-4),
    click.option(
        "-o", "--output", type=Target(), help="CSV file to write.  [default: standard output]"
    ),
    option("--plot", FIGURE, "Figure to draw: PDF, PNG or SVG."),
)
def curve(
    asked: Deployment,
    x: str,
    start: float | None,
    stop: float | None,
    points: int,
    linear: bool,
    quantity: str,
    bound: tuple[str, ...],
    rtol: float,
    output: Path | None,
    plot: Path | None,
    **fixed: float | None,
) -> None:
    """How do bounds change along an axis, such as the number of users? As CSV and as a plot.

    You can claim the upper end of an upper bound; no valid claim is below the lower end of a lower
    bound. Over several rounds, epsilon is enclosed to a relative width of 1e-3 and delta to 0.05,
    whatever --rtol says.

    Example: shufflebounds curve --mechanism krr --k 10 --eps0 4 --delta 1e-6 -o krr.csv
    """
    if plot is not None and plot == output:
        raise ValueError(f"--output and --plot must be two files, got {str(plot)!r} twice")
    first, last = _RANGES[x]
    start, stop = first if start is None else start, last if stop is None else stop
    axis = Axis(x, Grid(start, stop, points, "linear" if linear else "geometric"))
    setting = Setting(n=asked.n, eps0=asked.eps0, rounds=asked.rounds).at(**fixed)
    _require_what_is_used(quantity, x, setting, needed(quantity, asked.reports))
    # The best proven bound says nothing of Rényi divergences.
    usual = [name for name in ("tight", *OF_PAIRS) if quantity in BOUNDS[name].quantities]
    bounds, numerics = {name: BOUNDS[name] for name in bound or usual}, Numerics(rtol=rtol)
    specifications = {
        name: Specification(one, asked.reports, setting, axis, quantity, None, numerics)
        for name, one in bounds.items()
    }
    for specification in specifications.values():
        specification.check()
    with progress(hidden=False):
        found = [
            curves.compute(
                CurveName(asked.mechanism.type, "command line", name), specifications[name]
            )
            for name, _ in one_by_one(bounds)
        ]
    computed, capped = _settled(found)
    if output is None:
        rows = [row for one in computed for row in curves.rows(one)]
        click.echo(storage.sealed(curves.columns(quantity), rows), nl=False)
    else:
        or_value_error(output, lambda: curves.write_all(computed, output))
    if plot is not None:
        or_value_error(plot, lambda: _draw(computed, asked, plot))
    rounds = 1 if asked.rounds in (None, 1) and x != "rounds" else None
    for note in replace(asked, rounds=rounds).notes() + capped:
        click.echo(note, err=True)
    if missed := [(said, one) for one in computed for said in curves.shortfalls(one)]:
        more = f" (and {len(missed) - 1} more points)" if missed[1:] else ""
        sentence, where = missed[0]
        raise PrecisionError(f"{sentence}{more}", where.enclosures)


def _require_what_is_used(quantity: str, x: str, setting: Setting, wanted: set[str]) -> None:
    """Refuse an option that the curve would ignore, and a setting without one that it needs."""
    for name in setting.given():
        if name == x:
            raise ValueError(
                f"--{name} must be left out: the curve runs along {name}, from --start to --stop"
            )
        if name not in (*QUANTITIES[quantity], *OPTIONAL, "eps0"):
            raise ValueError(
                f"--{name} must be left out: a curve of {quantity} does not depend on it"
            )
    for name in sorted(wanted - {x, *setting.given()}) if x in wanted | OPTIONAL else ():
        raise missing(flag(name), f"a curve of {quantity} along {x}")


def _settled(computed: Sequence[Curve]) -> tuple[list[Curve], list[str]]:
    """The curves as `least` and, of ε, `within_eps0` have them, point by point; and their notes."""
    notes: dict[str, None] = {}
    names = [one.specification.bound.name for one in computed]
    is_eps = computed[0].specification.quantity == "epsilon"
    columns = []
    for points in zip(*(one.points for one in computed), strict=True):
        setting, rounds = points[0].setting, points[0].setting.rounds or 1
        answers = least({key: one.answer for key, one in zip(names, points, strict=True)})
        highest = max(one.enclosure.upper for one in answers.values())
        if is_eps and highest > rounds * (setting.eps0 or math.inf):
            # Reports that are composed may have a rounding more than the setting's.
            eps0 = computed[0].specification.reports.protocol(setting).eps0
            answers, capped = within_eps0(answers, eps0, rounds)
            notes.update(dict.fromkeys(capped))
        columns.append(
            [replace(one, answer=answers[key]) for key, one in zip(names, points, strict=True)]
        )
    rows = zip(*columns, strict=True)
    return [replace(one, points=row) for one, row in zip(computed, rows, strict=True)], [*notes]


def _draw(computed: Sequence[Curve], asked: Deployment, path: Path) -> None:
    from shufflebounds.reproduce.plotting import figures, sheets

    sheet = sheets.of_computed(computed, replace(asked, eps0=None).name)
    figures.draw(sheet, [path], titled=True)
