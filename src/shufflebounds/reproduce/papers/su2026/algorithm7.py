"""The divergence by discretisation and FFT: Algorithm 7 of arXiv 2504.07414, made sound.

D(ε) = Σ_{c_j=0} (a_j − e^ε b_j)₊ + E[S₊]/n with S the sum of n copies of the GPARV. Its values are
rounded to multiples of a step, up for the upper end and down for the lower one, and T, the sum in
units of the step, is convolved by FFT. The step limits the accuracy: the error is of first order.

Masses. Each end takes the largest (smallest) masses that the uncertainty of the entries allows:
E[S₊] is a polynomial in the masses without negative coefficients. Nothing is renormalised, so that
P below is a measure of total mass M close to 1; all that follows holds for measures.

Window. A cyclic convolution over N = A + B cells gives q_m = P(T ≡ m mod N), read as m in [−A, B).
As f(t) = (t wrapped into the window)₊ is t₊ inside, at most B below and at most t above,

    Σ_{0<m<B} m q_m − B P(T < −A)  ≤  E[T₊]  ≤  Σ_{0<m<B} m q_m + E[T; T ≥ B].

By Chernoff both corrections are at most B e^{−λ} if n log E e^{uX} − uB ≤ −λ for some u with uB ≥ 1
(t e^{−ut} falls from t = 1/u on), and likewise for −X and A. With λ = 40 they stay below the
round-off.

Round-off, with u = 2⁻⁵³. Every output of an FFT sums the inputs along paths of factors of modulus
1, with 7u a factor for radix 2 and less than 8u per doubling for radices 3, 4 and 5, so that
|Δφ| ≤ 8u log₂N M at every frequency. A power by squaring takes up to n − 1 products of relative
error 3u. Hence φⁿ is off by at most nΔ(|φ| + Δ)^{n−1}, Δ = (8 log₂N + 4) u M. The inverse FFT
divides the l² norm of that by √N and adds 8u log₂N ‖φⁿ‖/√N of its own. Cauchy-Schwarz against the
weights, ‖m‖² ≤ B³/3, bounds what reaches Σ m q_m. That puts a floor under D of some 10⁻¹⁵ times the
window's length in units of G (10⁻¹¹ for 10-RR at ε₀ = 4, n = 10⁴). Where D is below, the lower end
is 0 and the upper end Chernoff's.
"""

from __future__ import annotations

import itertools
import math
import time
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import brentq

from shufflebounds.accounting import single_shuffle
from shufflebounds.accounting.problem import Problem, start_of
from shufflebounds.accounting.root_search import LARGEST_EPS, smallest_eps
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.randomizers.discrete import KRR
from shufflebounds.reproduce.papers.tables import Page, TableCode, safe
from shufflebounds.reproduce.plotting.layout import Line
from shufflebounds.reproduce.plotting.sheets import Drawn, Sheet, View, with_letters
from shufflebounds.reproduce.plotting.texts import number
from shufflebounds.reproduce.storage import CurveName

MAX_CELLS = 2**24

_U = 2.0**-53
# What lies beyond the window has a mass of e^{−λ} at most, which is charged.
_LAMBDA = 40.0
# Chernoff's bound holds at every tilt; so many are tried.
_TILTS = 200
# Beyond, e^ε b overflows.
_LARGEST_EPS = 700.0
# Steps of the lattice whose products with values are floats.
_STEPS = (1e-200, 1e200)
# An upper end that is not 0 is at least this, lest it underflow.
_TINY = 1e-300


def fft(decomposition: Decomposition, eps: float, n: int, step: float | None = None) -> Enclosure:
    """Hockey-stick divergence D(ε) of `n` shuffled reports in the direction (a, b).

    Parameters
    ----------
    decomposition, eps, n
        As everywhere: ε ≥ 0 (natural log), n ≥ 1 reports. ``inner`` and ``outer`` are ignored.
    step
        Distance of the lattice points, in units of the GPARV. By default the paper's choice
        (e^{ε₀} − 1)/1000, e^{ε₀} being the largest ratio of a to b or b to a; where that is
        infinite, a 2000th of the range of the GPARV at ε = 0.

    Raises
    ------
    ValueError
        For eps < 0, n < 1, a step outside [10⁻²⁰⁰, 10²⁰⁰], and where the step is so fine that the
        sum needs a window of more than `MAX_CELLS` cells.

    """
    eps, n = validation.eps(eps), validation.whole("n", n, minimum=1)
    if eps > _LARGEST_EPS:
        return Enclosure(0.0, fft(decomposition, _LARGEST_EPS, n, step).upper)
    step = _default_step(decomposition) if step is None else _checked_step(step)
    low, high = _excess(decomposition, eps)
    # What no other user ever sends cannot hide; and one user alone hides nothing at all.
    exposed = decomposition.c == 0.0
    lower, upper, largest = _total(low[exposed], -1), _total(high[exposed], 1), _total(high, 1)
    if step == 0.0 or n * _mass_err(decomposition) > 1.0:
        return Enclosure(lower, largest)
    lower += _hidden(decomposition, low, n, step, -1).lower
    upper += _hidden(decomposition, high, n, step, 1).upper
    return Enclosure(lower * (1.0 - 8.0 * _U), min(upper * (1.0 + 8.0 * _U), largest))


def epsilon(decomposition: Decomposition, n: int, delta: float, rtol: float = 1e-4) -> Enclosure:
    """Enclosure of the smallest ε with D(ε) ≤ δ in both directions, as narrow as `fft` makes it.

    It aims at the relative width `rtol`; ``inner`` and ``outer`` are taken as they are.
    """
    problem = Problem.of(decomposition, n)
    end = problem.largest_loss()

    def evaluate(eps: float, _: float) -> Enclosure:
        above = below = [fft(inner, eps, n) for inner, _ in problem.directions]
        if not problem.is_finite():
            above = [fft(outer, eps, n) for _, outer in problem.directions]
        return Enclosure(max(x.lower for x in below), max(x.upper for x in above))

    start = start_of(problem, delta, min(end, LARGEST_EPS))
    return smallest_eps(evaluate, delta, start, end, rtol)


def _checked_step(step: float) -> float:
    step = validation.finite("step", step)
    if not _STEPS[0] <= step <= _STEPS[1]:
        raise ValueError(f"step must be a number in [{_STEPS[0]:g}, {_STEPS[1]:g}], got {step!r}")
    return step


def _default_step(decomposition: Decomposition) -> float:
    """The documented default; 0 where every component has a = b, or c = 0."""
    different = (decomposition.c > 0.0) & (decomposition.a != decomposition.b)
    if not different.any():
        return 0.0
    a, b, c = (x[different] for x in (decomposition.a, decomposition.b, decomposition.c))
    with np.errstate(divide="ignore"):
        spread = float(np.maximum(a / b, b / a).max()) - 1.0
    if math.isinf(spread):
        spread = 0.5 * float(np.ptp(np.append((a - b) / c, 0.0)))
    return min(max(spread / 1000.0, _STEPS[0]), _STEPS[1])


def _excess(decomposition: Decomposition, eps: float) -> tuple[FloatArray, FloatArray]:
    """Bounds of a − e^ε b, shape (J,), that still hold for the quotient after division by c."""
    a, b, rel_err = decomposition.a, decomposition.b, decomposition.rel_err
    growth = math.expm1(eps)
    excess = (a - b) - growth * b
    rounding = _U * (np.abs(a - b) + 3.0 * growth * b + 4.0 * np.abs(excess))
    # The entries' own uncertainty counts twice, once for c.
    doubt = 2.0 * rel_err * (a + (1.0 + growth) * b)
    underflow = np.where((growth > 0.0) & (b > 0.0), 2.0**-1070, 0.0)
    error = 1.01 * (rounding + doubt + underflow)
    return excess - error, excess + error


def _total(excess: FloatArray, sign: int) -> float:
    """Sum of the positive parts, rounded in the direction of `sign`."""
    total = math.fsum(excess[excess > 0.0].tolist())
    return math.nextafter(total, sign * math.inf) if total > 0.0 else 0.0


def _mass_err(decomposition: Decomposition) -> float:
    """Relative error of a mass: of the entry itself, and of adding up those that share a cell."""
    return decomposition.rel_err + (len(decomposition) + 8.0) * _U


def _hidden(
    decomposition: Decomposition, excess: FloatArray, n: int, step: float, sign: int
) -> Enclosure:
    """E[S₊]/n on the lattice, rounded up or down (`sign`) with masses to match."""
    hidden = decomposition.c > 0.0
    c, excess, residual = decomposition.c[hidden], excess[hidden], decomposition.residual
    with np.errstate(over="ignore"):
        scaled = np.nan_to_num(excess / c / step)
        scaled += sign * 6.0 * _U * np.abs(scaled)
    cells = np.ceil(scaled) if sign > 0 else np.floor(scaled)
    # However small an excess is, and whatever it underflows to, it is on its own side of 0.
    cells = np.where(sign * excess > 0.0, sign * np.maximum(sign * cells, 1.0), cells)
    err = _mass_err(decomposition)
    masses = c * (1.0 + sign * err)
    rest = residual + sign * err * (residual + float(c.sum()))
    if rest > 0.0:
        cells, masses = np.append(cells, 0.0), np.append(masses, rest)
    return _mean_positive_part(cells, masses, n, step)


def _mean_positive_part(cells: FloatArray, masses: FloatArray, n: int, step: float) -> Enclosure:
    """E[S₊]/n for the sum S of n draws of `step` times the integers `cells` (held as floats)."""
    largest = float(cells.max(initial=0.0))
    if largest <= 0.0:
        return Enclosure(0.0, 0.0)
    _check_window(largest, step)
    # One value this low makes T negative whatever the other n − 1 are; lower ones do the same.
    cells = np.maximum(cells, -n * largest)
    tilts, log_mgf = _chernoff(cells, masses, n)
    # E[T₊] ≤ E e^{uT}/(eu) for every u.
    smallest = float(np.min(log_mgf - 1.0 - np.log(tilts)))
    ceiling = max(math.exp(min(smallest, 700.0)), _TINY)
    if ceiling <= math.exp(-_LAMBDA):
        return Enclosure(0.0, max(ceiling * step / n, _TINY))
    ahead, behind = _reach(cells, masses, n), _reach(-cells, masses, n)
    _check_window(ahead + behind, step)
    wrapped, norm_err = _convolve(cells, masses, n, next_fast_len(ahead + behind, real=True))
    weights, positive = np.arange(1.0, ahead), wrapped[1:ahead]
    mean = float(weights @ positive)
    summation = ahead * _U * float(weights @ np.abs(positive))
    error = norm_err * math.sqrt(ahead**3 / 3.0) + summation + ahead * math.exp(-_LAMBDA)
    return Enclosure(max(0.0, mean - error) * step / n, min(mean + error, ceiling) * step / n)


def _check_window(cells: float, step: float) -> None:
    if cells > MAX_CELLS:
        raise ValueError(
            f"step must be large enough for a window of at most {MAX_CELLS} cells, "
            f"got {step!r}, which needs {cells:.4g}"
        )


def _chernoff(cells: FloatArray, masses: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Tilts u > 0, shape (_TILTS,), and upper bounds of n log E e^{uX} there.

    The tilts span all that can be optimal: from a normal sum of the largest spread to e^{uX} at the
    end of the double range. Terms stay below e^700 and masses above e^−700, which limits the
    round-off of the logarithm to some 4000 units besides one a term.
    """
    tilts = np.geomspace(
        1.0 / (math.sqrt(n) * float(np.abs(cells).max())), 700.0 / float(cells.max()), _TILTS
    )
    exponents = np.log(masses) + tilts[:, None] * cells
    top = exponents.max(axis=1)
    log_mgf = top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))
    return tilts, n * (log_mgf + 4.0 * _U * (4000.0 + cells.size))


def _reach(cells: FloatArray, masses: FloatArray, n: int) -> int:
    """A cell B so far up that P(T ≥ B) ≤ e^{−λ} and E[T; T ≥ B] ≤ B e^{−λ}."""
    largest = float(cells.max())
    if largest <= 0.0:
        return 0
    tilts, log_mgf = _chernoff(cells, masses, n)
    reach = float(np.min(np.maximum(log_mgf + _LAMBDA, 1.0) / tilts))
    return math.ceil(min(reach, n * largest + 1.0))


def _convolve(cells: FloatArray, masses: FloatArray, n: int, size: int) -> tuple[FloatArray, float]:
    """Masses of T modulo `size`, and a bound of the l² norm of their error."""
    where = np.mod(cells, size).astype(np.int64)
    spectrum = rfft(np.bincount(where, weights=masses, minlength=size))
    power = _power(spectrum, n)
    rounding = 8.0 * math.log2(size) * _U
    delta = (rounding + 4.0 * _U) * float(masses.sum())
    power_err = n * delta * (np.abs(spectrum) + delta) ** (n - 1)
    # Half a spectrum holds half of the squared norm, at least.
    norm_err = math.sqrt(2.0 / size) * (
        float(np.linalg.norm(power_err)) + rounding * float(np.linalg.norm(power))
    )
    return irfft(power, size), norm_err


def _power(base: NDArray[np.complex128], n: int) -> NDArray[np.complex128]:
    """baseⁿ, elementwise, by repeated squaring."""
    power: NDArray[np.complex128] | None = None
    while True:
        if n & 1:
            power = base if power is None else power * base
        n >>= 1
        if not n:
            assert power is not None  # n was 1 or more
            return power
        base = base * base


# The algorithm at the step that the paper prints, beside the certified ε (Sections 5.2 and 6).
#
# The paper takes l = (e^{ε₀} − 1)/d with d = 1200 at ε₀ = 0.1 and d = 1000 at ε₀ = 4. A program
# without the round-off that `fft` adds on the safe side, some 10⁻¹¹ in δ, would differ by that.

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
