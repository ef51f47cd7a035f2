"""The divergence by discretisation and FFT, Algorithm 7 of arXiv 2504.07414, at the printed step.

D(ε) = Σ_{c_j=0} (a_j − e^ε b_j)₊ + E[S₊]/n with S the sum of n copies of the GPARV. Its values are
rounded to multiples of a step, up for an upper bound and down for a lower one, and the sum in units
of the step is convolved by FFT. The step limits the accuracy: the error is of first order.

In floats, for comparison: the round-off of the FFT, some 10⁻¹⁵ times the window's length in units
of G, is not charged, nor are the tails beyond the window, of mass e⁻⁴⁰. Nothing here is certified.

The table has the algorithm at the step that the paper prints, beside the certified ε (Sections 5.2
and 6): l = (e^{ε₀} − 1)/d with d = 1200 at ε₀ = 0.1 and d = 1000 at ε₀ = 4.
"""

from __future__ import annotations

import itertools
import math
import time
from functools import cache

import numpy as np
import pandas as pd
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import brentq
from scipy.special import logsumexp

from reproduction.papers.pages import Page, grouped, safe
from reproduction.papers.su2026 import AlgorithmSeven
from reproduction.papers.tables import Context
from shufflebounds.bounds.base import Numerics
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.curves.plotting.layout import Line
from shufflebounds.curves.plotting.looks import line_look
from shufflebounds.curves.plotting.sheets import Drawn, PanelView, Sheet, with_letters
from shufflebounds.curves.plotting.texts import number
from shufflebounds.questions import answers as questions
from shufflebounds.randomizers.description import parse

# λ of the window: the mass beyond it is at most e^{−λ}.
LAMBDA = 40.0

# Number of tilts at which Chernoff's bound is tried.
TILTS = 200

# Relative accuracy of the algorithm's ε, below the hundredths of a per cent that the page shows.
# Where a rounded value jumps at the root, each further digit costs three or four evaluations.
RTOL = 1e-5

# How far from the certified ε the algorithm's is searched, as factors.
FACTORS = (1.02, 1.2, 2.0, 8.0)

# The lines of the figure: column, label and bound.
LINES = (
    ("upper", "blanket", "blanket"),
    ("algorithm_upper", "Algorithm 7, rounded up", "program_upper"),
    ("lower", "lower bound", "lower"),
    ("algorithm_lower", "Algorithm 7, rounded down", "program_lower"),
)


def divergence(decomposition: Decomposition, eps: float, n: int, step: float, *, up: bool) -> float:
    """Return D(ε) of `n` reports, the GPARV rounded up or down to multiples of `step`."""
    exposed = decomposition.c == 0.0
    excess = decomposition.a[exposed] - math.exp(eps) * decomposition.b[exposed]
    values, masses = decomposition.gparv(eps)
    cells = (np.ceil if up else np.floor)(values / step)
    hidden = _mean_positive_part(cells, masses, n) * step / n
    return float(excess[excess > 0.0].sum()) + hidden


def epsilon(decomposition: Decomposition, n: int, delta: float, rtol: float = 1e-4) -> Enclosure:
    """Return ε at δ of a symmetric pair, rounded down and up, by a step of (e^{ε₀} − 1)/1000.

    e^{ε₀} is the largest ratio of a to b. Each end has the relative accuracy `rtol`.
    """
    certified = questions.epsilon(decomposition, n, delta)
    step = float(np.max(decomposition.a / decomposition.b) - 1.0) / 1000.0
    low, high = (
        _solve(decomposition, n, step, delta, near=near, up=up, rtol=rtol)
        for near, up in ((certified.lower, False), (certified.upper, True))
    )
    return Enclosure(min(low, high), high)


def _mean_positive_part(cells: FloatArray, masses: FloatArray, n: int) -> float:
    """Return E[T₊] for the sum T of n draws of whole numbers `cells`."""
    above, below = _window(cells, masses, n)
    size = next_fast_len(above + below, real=True)
    law = np.bincount(np.mod(cells, size).astype(np.int64), weights=masses, minlength=size)
    wrapped = irfft(rfft(law) ** n, size)
    return float(np.arange(above) @ wrapped[:above])


def window_length(decomposition: Decomposition, eps: float, n: int, step: float) -> int:
    """Return how many multiples of `step` the FFT of the sum of `n` rounded GPARVs is over."""
    values, masses = decomposition.gparv(eps)
    return sum(_window(np.ceil(values / step), masses, n))


def _window(cells: FloatArray, masses: FloatArray, n: int) -> tuple[int, int]:
    """Return how far the sum of `n` draws of whole numbers `cells` reaches above and below 0."""
    return _window_end(cells, masses, n), _window_end(-cells, masses, n)


def _window_end(cells: FloatArray, masses: FloatArray, n: int) -> int:
    """Return a value that the sum exceeds with probability at most e^{−λ}, by Chernoff's bound."""
    largest = float(cells.max())
    if largest <= 0.0:
        return 0
    # From a normal sum of the largest spread to the end of the range of floats.
    tilts = np.geomspace(1.0 / (math.sqrt(n) * float(np.abs(cells).max())), 700.0 / largest, TILTS)
    log_mgf = n * logsumexp(tilts[:, None] * cells, b=masses, axis=1)
    reach = float(np.min(np.maximum(log_mgf + LAMBDA, 1.0) / tilts))
    return math.ceil(min(reach, n * largest + 1.0))


def printed_divisor(eps0: float) -> int:
    """Return the d of l = (e^{ε₀} − 1)/d that Section 6 prints for ε₀ = 0.1 and for ε₀ = 4."""
    return 1200 if eps0 < 1.0 else 1000


def algorithm7_table(parameters: AlgorithmSeven, context: Context) -> pd.DataFrame:
    """Return ε of mechanisms' blankets and dataset pairs, certified and by the algorithm.

    A row for each mechanism, ε₀ and number of users. ``upper`` and ``lower`` are the certified
    ends, ``algorithm_upper`` and ``algorithm_lower`` those of the algorithm, ``seconds`` the CPU
    seconds of its upper one, ``step`` is l, and ``largest_step`` the 2a²/b² that l must stay below
    for the error bound of Section 5.2 to fall with n, at the certified ε. A continuous report is
    rounded in cells first, to the same side as the GPARV.
    """
    rows, delta = [], parameters.delta
    for name, eps0, n in itertools.product(parameters.mechanisms, parameters.eps0, parameters.n):
        randomizer = context.mechanisms[name].randomizer(eps0)
        step = math.expm1(eps0) / printed_divisor(eps0)
        blanket, pair = randomizer.blanket(), randomizer.dataset_pair()
        upper = questions.epsilon(blanket, n, delta).upper
        lower = questions.epsilon(pair, n, delta).lower
        start = time.process_time()
        above = _solve(blanket, n, step, delta, near=upper, up=True)
        seconds = time.process_time() - start
        below = _solve(pair, n, step, delta, near=lower, up=False)
        a, b = math.expm1(upper), math.expm1(eps0) * (math.exp(upper) + 1.0)
        rows.append(
            {
                "mechanism": randomizer.label,
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
    decomposition: Decomposition,
    n: int,
    step: float,
    delta: float,
    *,
    near: float,
    up: bool,
    rtol: float = RTOL,
) -> float:
    """Return the algorithm's ε, the GPARV rounded up or down; `near` is the certified one."""

    @cache
    def excess(log_eps: float) -> float:
        value = divergence(decomposition, math.exp(log_eps), n, step, up=up)
        return math.log(max(value, 1e-300) / delta)

    side = 1 if up else -1
    start = math.log(near) - side * 1e-3
    for factor in FACTORS:
        end = math.log(near) + side * math.log(factor)
        if side * excess(end) <= 0.0:
            return math.exp(brentq(excess, start, end, xtol=rtol))
        start = end
    raise ArithmeticError(f"no epsilon within a factor of {FACTORS[-1]:g} of {near!r}")


def algorithm7_page(frame: pd.DataFrame) -> Page:
    """Return the page of a measurement: ε, how far the algorithm is off, and what it took."""
    off = {
        end: frame[f"algorithm_{end}"] / frame[end] * 100.0 - 100.0 for end in ("upper", "lower")
    }
    return Page.of(
        frame.assign(off_upper=off["upper"], off_lower=off["lower"]),
        [
            ("mechanism", "{mechanism}"),
            (r"$\varepsilon_0$", "{eps0:g}"),
            ("n", lambda row: grouped(row["n"])),
            ("blanket", lambda row: safe(row["upper"], up=True)),
            ("Algorithm 7", "{algorithm_upper:.5g}"),
            ("off by", "{off_upper:+.2f} %"),
            ("lower bound", lambda row: safe(row["lower"], up=False)),
            ("Algorithm 7", "{algorithm_lower:.5g}"),
            ("off by", "{off_lower:+.2f} %"),
            ("$l$", "{step:.2g}"),
            ("$2a^2/b^2$", "{largest_step:.2g}"),
            ("seconds", "{seconds:.2g}"),
        ],
        title="Algorithm 7 at the printed step",
        above=f"$\\varepsilon$ at $\\delta$ = {frame['delta'].iloc[0]:g}: the certified upper and "
        "lower bound, and what Algorithm 7 makes of them with the step $l$ of Section 6, "
        "rounding the GPARV up for the upper bound and down for the lower one. The error bound of "
        "Section 5.2 falls with n only where $l$ is at most $2a^2/b^2$. The last column is in CPU "
        "seconds, for the upper bound.",
    )


def algorithm7_sheet(frame: pd.DataFrame, title: str) -> Sheet:
    """Return ε against n, a column for each mechanism and ε₀; below, all over the upper bound."""
    groups = frame.groupby(["mechanism", "eps0"], sort=False)
    panels = [rows.sort_values("n") for _, rows in groups]
    views = [[_panel_view(rows, ratio=ratio) for rows in panels] for ratio in (False, True)]
    return Sheet(title, with_letters(views), "number of users $n$", "n", "ε")


def _panel_view(rows: pd.DataFrame, *, ratio: bool) -> PanelView:
    n = rows["n"].to_numpy(dtype=float)
    unit = rows["upper"].to_numpy(dtype=float) if ratio else np.ones(len(rows))
    return PanelView(
        title=[
            rows["mechanism"].iloc[0],
            f"ε₀ = {number(rows['eps0'].iloc[0])}",
            f"δ = {number(rows['delta'].iloc[0])}",
        ],
        lines=[
            (Line(label, line_look(bound)), Drawn.line(n, rows[column].to_numpy() / unit))
            for column, label, bound in LINES
        ],
        y_label=r"$\varepsilon$ / blanket" if ratio else r"$\varepsilon$",
        x_log=True,
        y_log=True,
        is_ratio=ratio,
    )


@cache
def as_printed() -> pd.DataFrame:
    """Return `algorithm7_table` of the paper's 10-RR, from end to end of its figures."""
    parameters = AlgorithmSeven(
        mechanisms=("krr10",), eps0=(0.1, 4.0), n=(1_000, 10_000, 100_000), delta=1e-6
    )
    return algorithm7_table(
        parameters, Context({"krr10": parse({"type": "krr", "k": 10})}, Numerics())
    )
