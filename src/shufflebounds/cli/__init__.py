"""The console command ``shufflebounds``.

Numbers meant for people are rounded outward, so that a printed bound is a bound; ``--json`` keeps
every digit. Exit codes: 0; 2 and one sentence on standard error for a mistake; 3 where the engine
could not reach the precision asked for, after whatever answers were found; 130 where it was
stopped, 141 where nobody reads on, 70 for a mistake of ours. `check` alone has 1, for a claim that
is refuted, and 4 for an open one.
"""

from __future__ import annotations

import click

from shufflebounds._version import __version__
from shufflebounds.cli.catalog import bounds, mechanisms
from shufflebounds.cli.check import check
from shufflebounds.cli.choose import choose
from shufflebounds.cli.curves import curve
from shufflebounds.cli.errors import Group
from shufflebounds.cli.questions import delta, epsilon, renyi
from shufflebounds.cli.risk import risk
from shufflebounds.cli.targets import eps0, rounds, users

__all__ = ["main"]


main = Group(
    commands=[
        *(epsilon, delta, renyi, check, choose, eps0, users, rounds, risk, curve),
        *(mechanisms, bounds),
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Certified differential privacy of shuffled reports.

    n users each send one report through the same local randomizer, and a shuffler hides who sent
    what. These commands bound the (epsilon, delta) that results, from above and from below.

    All epsilons are natural logarithms. Printed bounds are rounded outward. Exit codes: 0; 2 for
    a mistake; 3 if the precision you asked for was out of reach (answers are still printed, and
    points of a table that miss it are left empty). `check` has its own.
    """,
)
click.version_option(__version__, prog_name="shufflebounds")(main)
