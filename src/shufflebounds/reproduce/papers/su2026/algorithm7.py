"""Algorithm 7 at the step that the paper prints, beside the certified ε.

Su, Cheng, Wang, arXiv 2504.07414, Sections 5.2 and 6. The GPARV is rounded to multiples of
l = (e^{ε₀} − 1)/d, up for the upper bound and down for the lower one; the paper takes d = 1200 at
ε₀ = 0.1 and d = 1000 at ε₀ = 4. `fft` adds the round-off of its transforms on the safe side, some
10⁻¹¹ in δ, which is all that a program without it would differ by.
"""

from __future__ import annotations

import itertools
import math
import time
from functools import cache

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from shufflebounds.accounting import single_shuffle
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.randomizers.discrete import KRR
from shufflebounds.reproduce.papers.su2026.fft import fft
from shufflebounds.reproduce.papers.tables import Page, TableCode, safe
from shufflebounds.reproduce.plotting.layout import Line
from shufflebounds.reproduce.plotting.sheets import Drawn, Sheet, View, with_letters
from shufflebounds.reproduce.plotting.texts import number
from shufflebounds.reproduce.storage import CurveName

# Of ε by the algorithm, relative; its own error is larger wherever it shows.
_RTOL = 1e-4
# How far from the certified ε its own is looked for, as factors.
_FACTORS = (1.02, 1.2, 2.0, 8.0)


def printed_divisor(eps0: float) -> int:
    """The d of l = (e^{ε₀} − 1)/d that Section 6 prints for ε₀ = 0.1 and for ε₀ = 4."""
    return 1200 if eps0 < 1.0 else 1000


@cache
def measure(
    k: int, levels: tuple[float, ...], users: tuple[int, ...], delta: float
) -> pd.DataFrame:
    """ε of the blanket and of the dataset pair of k-RR, certified and by the algorithm.

    A row for each ε₀ (natural log) and number of users. ``upper`` and ``lower`` are the certified
    ends, ``algorithm_upper`` and ``algorithm_lower`` those of the algorithm, ``seconds`` the CPU
    seconds of its upper one, ``step`` is l, and ``largest_step`` the 2a²/b² that l must stay below
    for the error bound of Section 5.2 to fall with n, at the certified ε.
    """
    rows = []
    for eps0, n in itertools.product(levels, users):
        randomizer = KRR(k, eps0)
        step = math.expm1(eps0) / printed_divisor(eps0)
        blanket, pair = randomizer.blanket(), randomizer.dataset_pair()
        upper = single_shuffle.epsilon(blanket, n, delta).upper
        lower = single_shuffle.epsilon(pair, n, delta).lower
        start = time.process_time()
        above = _solve(blanket, n, step, delta, upper, 1)
        seconds = time.process_time() - start
        below = _solve(pair, n, step, delta, lower, -1)
        a, b = math.expm1(upper), math.expm1(eps0) * (math.exp(upper) + 1.0)
        rows.append(
            {
                "k": k,
                "eps0": eps0,
                "n": n,
                "delta": delta,
                "step": step,
                "upper": upper,
                "algorithm_upper": above,
                "lower": lower,
                "algorithm_lower": below,
                "largest_step": 2.0 * a * a / (b * b),
                "seconds": seconds,
            }
        )
    return pd.DataFrame(rows)


def _solve(
    decomposition: Decomposition, n: int, step: float, delta: float, near: float, side: int
) -> float:
    """The algorithm's ε, rounding up (side 1) or down (−1); `near` is the certified one."""

    def excess(log_eps: float) -> float:
        found = fft(decomposition, math.exp(log_eps), n, step)
        return math.log(max(found.upper if side > 0 else found.lower, 1e-300) / delta)

    known = math.log(near) - side * 1e-3
    for factor in _FACTORS:
        end = math.log(near) + side * math.log(factor)
        if side * excess(end) <= 0.0:
            return math.exp(brentq(excess, known, end, xtol=_RTOL))
        known = end
    raise ArithmeticError(f"no epsilon within a factor of {_FACTORS[-1]:g} of {near!r}")


def page(frame: pd.DataFrame) -> Page:
    """The page of a measurement: ε, how far the algorithm is off, and what it took."""
    rows = tuple(
        (
            f"{row['eps0']:g}",
            f"{row['n']:,}".replace(",", "\N{NARROW NO-BREAK SPACE}"),
            safe(row["upper"], up=True),
            f"{row['algorithm_upper']:.5g}",
            f"{row['algorithm_upper'] / row['upper'] - 1.0:+.2%}".replace("%", " %"),
            safe(row["lower"], up=False),
            f"{row['algorithm_lower']:.5g}",
            f"{row['algorithm_lower'] / row['lower'] - 1.0:+.2%}".replace("%", " %"),
            f"{row['step']:.2g}",
            f"{row['largest_step']:.2g}",
            f"{row['seconds']:.2g}",
        )
        for row in frame.to_dict("records")
    )
    return Page(
        title="Algorithm 7 at the printed step",
        above=f"$\\varepsilon$ of {frame['k'].iloc[0]}-RR at $\\delta$ = "
        f"{frame['delta'].iloc[0]:g}: the certified upper and lower bound, and "
        "what Algorithm 7 makes of them with the step $l$ of Section 6, "
        "rounding the GPARV up for the upper bound and down for the lower one. The error bound of "
        "Section 5.2 falls with n only where $l$ is at most $2a^2/b^2$. The last column is in CPU "
        "seconds, for the upper bound.",
        header=(
            r"$\varepsilon_0$",
            "n",
            "upper bound",
            "Algorithm 7",
            "off by",
            "lower bound",
            "Algorithm 7",
            "off by",
            "$l$",
            "$2a^2/b^2$",
            "seconds",
        ),
        rows=rows,
    )


# Column, label, look.
_LINES = (
    ("upper", "upper bound", {"color": "#8ecae6", "width": 3.5}),
    (
        "algorithm_upper",
        "Algorithm 7, rounded up",
        {"color": "#aa3377", "style": "dashed", "marker": "^"},
    ),
    ("lower", "lower bound", {"color": "#000000", "width": 0.9}),
    (
        "algorithm_lower",
        "Algorithm 7, rounded down",
        {"color": "#0072b2", "style": "dashed", "marker": "v"},
    ),
)
_RATIO_LIMITS = (0.5, 1.2)


def sheet(frame: pd.DataFrame, title: str) -> Sheet:
    """ε against n, a column for every ε₀; below, all lines divided by the upper bound."""
    panels = [rows.sort_values("n") for _, rows in frame.groupby("eps0")]
    return Sheet(
        title,
        with_letters(
            [
                [_view(rows, ratio=False) for rows in panels],
                [_view(rows, ratio=True) for rows in panels],
            ]
        ),
        "number of users $n$",
        "n",
        "ε",
        "ε, to six digits:",
    )


def _view(rows: pd.DataFrame, *, ratio: bool) -> View:
    n = rows["n"].to_numpy(dtype=float)
    unit = rows["upper"].to_numpy(dtype=float) if ratio else np.ones(len(rows))
    drawn = [
        (
            Line(CurveName("", "", column), label, **look),
            Drawn.line(n, rows[column].to_numpy() / unit),
        )
        for column, label, look in _LINES
    ]
    y = np.concatenate([curve.y for _, curve in drawn])
    return View(
        title=[
            f"{rows['k'].iloc[0]}-RR",
            f"ε₀ = {number(rows['eps0'].iloc[0])}",
            f"δ = {number(rows['delta'].iloc[0])}",
        ],
        lines=drawn,
        y_label=r"$\varepsilon$ / upper bound" if ratio else r"$\varepsilon$",
        x_log=True,
        y_log=not ratio,
        x_limits=(0.9 * float(n[0]), 1.1 * float(n[-1])),
        y_limits=_RATIO_LIMITS if ratio else (0.8 * float(y.min()), 1.25 * float(y.max())),
        is_ratio=ratio,
    )


TABLE = TableCode(lambda given, _: measure(given.k, given.eps0, given.n, given.delta), page, sheet)


def as_printed() -> pd.DataFrame:
    """`measure` of the paper's 10-RR, from end to end of its figures."""
    return measure(10, (0.1, 4.0), (1_000, 10_000, 100_000), 1e-6)
