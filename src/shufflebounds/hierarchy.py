r"""The hierarchy of the paper's Figure 1, measured: clone, coarsened clone, blanket, lower bound.

Su, Cheng, Wang, arXiv 2504.07414. All three upper bounds are decompositions in the sense of their
general clone (Definition 7) and differ in what they know: the standard clone knows ε₀, the
coarsened one also R(x₁⁰) and R(x₁¹) of the randomizer at hand, the blanket all of it. The more is
known, the smaller is D, and none of them is below the lower bound of a concrete dataset pair.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from pathlib import Path

import pandas as pd

from shufflebounds import amplification, building, descriptions, markdown, specs, validation
from shufflebounds._version import __version__
from shufflebounds.clone import standard_clone
from shufflebounds.decomposition import Decomposition, require
from shufflebounds.enclosure import Enclosure
from shufflebounds.files import write_csv, written_whole

# From the largest ε to the smallest, as far as theory goes.
BOUNDS = ("clone", "coarsened", "blanket", "lower")

CERTIFIED, CONSISTENT, VIOLATED = "certified", "consistent", "violated"

COLUMNS = (
    "name",
    "mechanism",
    "eps0",
    "n",
    "delta",
    *(f"{bound}_{end}" for bound in BOUNDS for end in ("lower", "upper")),
    "order",
    "rtol",
    "version",
)


def coarsened(decomposition: Decomposition, eps0: float) -> Decomposition:
    """What the standard clone becomes once it is told R(x₁⁰) and R(x₁¹): c = (a + b)/(2e^{ε₀}).

    Parameters
    ----------
    decomposition
        Of an ε₀-LDP randomizer R, of which a and b are used: R(x₁⁰) and R(x₁¹). Where it has an
        ``inner`` (``outer``) end, the a and b of that end must be a post-processing of those of R
        (those of R one of the end's), as for every mechanism of this package.
    eps0
        ε₀ of the whole report, natural log.

    Raises ValueError for a bad argument.

    Notes
    -----
    Write e for e^{ε₀} and D(a, b, c) for the divergence.

    *It is a decomposition of R.* Every R(x)(y) is at least R(x₁⁰)(y)/e and at least R(x₁¹)(y)/e,
    hence at least their average (a + b)/(2e). So c ≤ inf_x R(x) everywhere.

    *It is no better than the blanket.* For any c ≤ c* of sums s ≤ s* ≤ 1, the histogram pair of
    (a, b, c*) can be made from that of (a, b, c): of the other users whose component is left open,
    each independently takes component j with probability (c*_j − c_j)/(1 − s). Post-processing
    never raises D, so with c* = inf_x R(x) D(blanket) ≤ D(coarsened).

    *The standard clone is no better than it.* The clone has two components, a = (e, 1)/(e + 1),
    b = (1, e)/(e + 1) and c = (1, 1)/(2e). Since every a_j/b_j lies in [1/e, e],

        u_j = (e a_j − b_j)/(e − 1),    v_j = (e b_j − a_j)/(e − 1)

    are nonnegative, and either sums to 1. Replace a report on the clone's first component by one
    on j with probability u_j, on its second with probability v_j. Then its a becomes
    (e u_j + v_j)/(e + 1) = a_j, its b likewise b_j, and its c (u_j + v_j)/(2e) = (a_j + b_j)/(2e):
    report by report, the coarsened decomposition is a post-processing of the clone, and
    D(coarsened) ≤ D(clone). The two are one where each a_j/b_j is e or 1/e, as for binary
    randomized response.

    *Ends.* c is the same linear function of a and b everywhere, so what takes a and b to those of
    another decomposition, report by report, takes c to its c: a post-processing of (a, b) is one of
    (a, b, c). The bins of Laplace's inner end are a post-processing of Laplace, and Laplace is one
    of its outer end, whose cell ends give each ratio between them back as their mean.

    """
    half = math.exp(-validation.eps0(eps0)) / 2.0
    decomposition = require("decomposition", decomposition)
    a, b = decomposition.a, decomposition.b
    return Decomposition(
        a,
        b,
        (a + b) * half,
        # The roundings of exp, the sum and the product.
        decomposition.rel_err + 2.0**-50,
        decomposition.inner and coarsened(decomposition.inner, eps0),
        decomposition.outer and coarsened(decomposition.outer, eps0),
    )


def measure(
    mechanisms: Mapping[str, Mapping],
    eps0: Sequence[float],
    n: Sequence[int],
    delta: float,
    rtol: float,
) -> pd.DataFrame:
    """Enclosures of the four ε of every mechanism at every ε₀ and n, one row each.

    Parameters
    ----------
    mechanisms
        A name for each, and its description, as `building.randomizer` takes it.
    eps0, n
        ε₀ of a report (natural log) and numbers of users.
    delta, rtol
        δ, and the relative width of the enclosures.

    Returns
    -------
    The columns `COLUMNS`. ``order`` says what the enclosures tell of clone ≥ coarsened ≥ blanket ≥
    lower: ``certified`` where each lies above the next, touching at most, ``consistent`` where some
    overlap, ``violated`` where one lies below the next.

    Raises ValueError for a bad argument, and PrecisionError where `rtol` cannot be reached, with a
    note that names the row.

    """
    for name, values in (("mechanisms", mechanisms), ("eps0", eps0)):
        if not values:
            raise ValueError(f"{name} must not be empty")
    levels = [validation.eps0(level) for level in eps0]
    grid = list(itertools.product(levels, specs.users(n)))
    settings = {"delta": validation.delta(delta), "rtol": validation.rtol(rtol)}
    # All of them before the first ε: a bad description should not cost minutes.
    specific = {
        (name, level): _specific(description, level)
        for name, description in mechanisms.items()
        for level in levels
    }
    clones = {
        (level, users): amplification.epsilon(standard_clone(level), users, **settings)
        for level, users in grid
    }
    rows = []
    for name, description in mechanisms.items():
        for level, users in grid:
            try:
                found = [
                    amplification.epsilon(bound, users, **settings)
                    for bound in specific[name, level]
                ]
            except ArithmeticError as error:
                error.add_note(f"for {name} at eps0 = {level}, n = {users}")
                raise
            enclosures = dict(zip(BOUNDS, [clones[level, users], *found], strict=True))
            rows.append(
                {
                    "name": name,
                    "mechanism": descriptions.text(description),
                    "eps0": level,
                    "n": users,
                    **_ends(enclosures),
                    "order": order(list(enclosures.values())),
                    **settings,
                    "version": __version__,
                }
            )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def order(falling: Sequence[Enclosure]) -> str:
    """What enclosures tell of a sequence that should not rise: see `measure`."""
    pairs = list(itertools.pairwise(falling))
    if all(one.lower >= two.upper for one, two in pairs):
        return CERTIFIED
    return CONSISTENT if all(one.upper >= two.lower for one, two in pairs) else VIOLATED


def write(frame: pd.DataFrame, csv: str | os.PathLike[str], page: str | os.PathLike[str]) -> None:
    """Write the measurement as CSV and as a Markdown page, each at once or not at all.

    The page shows the end of each enclosure that may be claimed, rounded to the safe side.
    """
    write_csv(frame, csv)
    with written_whole(Path(page)) as part:
        part.write_text(_page(frame), encoding="utf-8", newline="\n")


def _specific(description: Mapping, eps0: float) -> tuple[Decomposition, ...]:
    """The coarsened clone, the blanket and the lower bound of a mechanism."""
    randomizer = building.randomizer(description, eps0)
    blanket = randomizer.blanket()
    return coarsened(blanket, eps0), blanket, randomizer.dataset_pair()


def _ends(enclosures: Mapping[str, Enclosure]) -> dict[str, float]:
    return {
        f"{bound}_{end}": getattr(enclosure, end)
        for bound, enclosure in enclosures.items()
        for end in ("lower", "upper")
    }


def _page(frame: pd.DataFrame) -> str:
    header = ["mechanism", r"$\varepsilon_0$", "n", *BOUNDS, "order"]
    shown = [f"{bound}_{'lower' if bound == 'lower' else 'upper'}" for bound in BOUNDS]
    rows = [
        [
            row["mechanism"],
            f"{row['eps0']:g}",
            f"{row['n']:,}".replace(",", " "),
            *(_safe(row[column], up=column.endswith("upper")) for column in shown),
            row["order"],
        ]
        for row in frame.to_dict("records")
    ]
    delta, rtol = frame["delta"].iloc[0], frame["rtol"].iloc[0]
    return (
        "# The hierarchy of upper bounds\n\n"
        f"$\\varepsilon$ at $\\delta$ = {delta:g}, from the standard clone, from the clone that is "
        "told the two distributions of the victim's report, from the blanket, and the lower bound "
        "of a concrete dataset pair. Upper bounds are rounded up and the lower bound down; the "
        f"enclosures have a relative width of at most {rtol:g}. The order clone ≥ coarsened ≥ "
        "blanket ≥ lower is *certified* where they do not overlap, and where some do, they are "
        "*consistent* with it.\n\n" + markdown.table(header, rows)
    )


def _safe(value: float, *, up: bool) -> str:
    """Five digits of `value`, not below it (`up`) or not above it."""
    context = Context(prec=5, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return format(context.create_decimal_from_float(value), "f")
