"""The command that writes curves as a table, and draws them."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shufflebounds import sealed, specs, validation
from shufflebounds.cli.looks import LOOKS
from shufflebounds.cli.mistakes import written
from shufflebounds.cli.options import delta_option, eps0_option, of_a_report
from shufflebounds.cli.report import Report
from shufflebounds.cli.values import WHOLE, Name, Target

if TYPE_CHECKING:
    from shufflebounds.curves import Row


@click.command()
@of_a_report
@eps0_option
@delta_option
@click.option("--start", type=WHOLE, default=1000, show_default=True, help="Fewest users.")
@click.option("--stop", type=WHOLE, default=100_000, show_default=True, help="Most users, to 1e15.")
@click.option("--points", type=WHOLE, default=50, show_default=True, help="Numbers of users.")
@click.option(
    "--bound",
    "bounds",
    type=Name(specs.BOUNDS),
    multiple=True,
    default=specs.BOUNDS[:3],
    show_default=True,
    help=f"May be repeated; one of {', '.join(specs.BOUNDS)}.",
)
@click.option(
    "--rtol", type=float, default=1e-4, show_default=True, help="Relative width, at most."
)
@click.option(
    "-o", "--output", type=Target(), help="CSV file to write.  [default: standard output]"
)
@click.option("--plot", type=Target((".pdf", ".png")), help="Figure to draw, PDF or PNG.")
def curve(
    report: Report,
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
    from shufflebounds import curves

    grid = specs.geometric_grid(start, stop, points)
    validation.rtol(rtol)
    report.randomizer(eps0)  # the clone alone would not check it
    spec = {
        "experiment": report.mechanism,
        "regime": f"eps0={eps0:g}",
        **report.spec(eps0),
        "delta": delta,
        "engine": "saddle",
        "rtol": rtol,
    }
    chosen = list(dict.fromkeys(bounds))
    rows = _computed([{**spec, "curve": bound, "bound": bound} for bound in chosen], grid)
    if output is None:
        click.echo(sealed.text(curves.COLUMNS, rows), nl=False)
    else:
        written(output, lambda: curves.write(rows, output))
    if plot is not None:
        written(plot, lambda: _draw(rows, report, spec, plot))
    for note in report.notes():
        click.echo(note, err=True)


def _computed(specs: list[dict[str, Any]], grid: list[int]) -> list[Row]:
    """The rows of all curves, their progress shown on a terminal."""
    from shufflebounds import curves

    # So large that preparing a curve again for every piece costs little.
    size = math.ceil(len(grid) / 10)
    pieces = [
        {**spec, "n": grid[i : i + size]} for spec in specs for i in range(0, len(grid), size)
    ]
    hidden = not sys.stderr.isatty()
    with click.progressbar(pieces, label="computing", file=sys.stderr, hidden=hidden) as shown:
        return [row for piece in shown for row in curves.compute(piece)]


def _draw(rows: list[Row], report: Report, spec: Mapping[str, Any], path: Path) -> None:
    import pandas as pd

    from shufflebounds import figures

    names = {"experiment": spec["experiment"], "regime": spec["regime"]}
    panel = {
        "title": f"{report.name()}, with $\\varepsilon_0$ = {spec['eps0']:g}",
        "lines": [
            {**names, "curve": bound, **LOOKS[bound]}
            for bound in dict.fromkeys(row.bound for row in rows)
        ],
    }
    figures.draw(pd.DataFrame(rows), [[panel]], [path])
