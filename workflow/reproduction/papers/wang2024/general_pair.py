"""Table 5: ε of the general pair, certified, by the paper's algorithm and as the paper prints it.

The paper's Algorithm 1, on Theorem 4.8, is a witness that shares no code with the library. It is in
double precision and without error bounds: nothing of it is certified. It sums over the likely
counts C of clones only, which is what makes the printed times possible.
"""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from reproduction.papers.pages import Column, Page, Row, safe
from reproduction.papers.tables import Context
from reproduction.papers.wang2024 import Timed
from shufflebounds.core.clones import stronger_clone
from shufflebounds.core.setting import Setting
from shufflebounds.questions import answers as questions

# λ of Bernstein's inequality, which leaves a mass of e^−λ outside on either side. It counts as if
# such counts told everything.
DECAY = 40.0

# The number of counts that are summed together: 8 MB an array.
CHUNK = 1_000_000


class Printed(NamedTuple):
    """ε and seconds that Table 5 prints for one number of bisections."""

    eps: float
    seconds: float


# The printed numbers by ε₀ and n, and by the number of bisections.
PRINTED: Mapping[tuple[float, int], Mapping[int, Printed]] = MappingProxyType(
    {
        (1.0, 10**4): {20: Printed(0.0433, 0.45), 10: Printed(0.0440, 2.3)},
        (1.0, 10**6): {20: Printed(0.00503, 16.7), 10: Printed(0.00586, 4.7)},
        (1.0, 10**8): {20: Printed(0.000566, 106.2), 10: Printed(0.000977, 0.43)},
        (3.0, 10**4): {20: Printed(0.227, 3.8), 10: Printed(0.229, 1.5)},
        (3.0, 10**6): {20: Printed(0.0255, 13.9), 10: Printed(0.0264, 2.8)},
        (3.0, 10**8): {20: Printed(0.00283, 117.5), 10: Printed(0.00293, 5.2)},
        (5.0, 10**4): {20: Printed(0.743, 2.4), 10: Printed(0.743, 0.9)},
        (5.0, 10**6): {20: Printed(0.0778, 9.3), 10: Printed(0.0782, 3.1)},
        (5.0, 10**8): {20: Printed(0.00853, 44.6), 10: Printed(0.00977, 7.9)},
        (7.0, 10**4): {20: Printed(6.99, 0.24), 10: Printed(6.99, 0.31)},
        (7.0, 10**6): {20: Printed(0.224, 2.8), 10: Printed(0.225, 1.2)},
        (7.0, 10**8): {20: Printed(0.0242, 17.9), 10: Printed(0.0273, 5.1)},
    }
)


def summed_delta(p: float, beta: float, q: float, eps: float, n: int) -> float:
    """Return δ of the published pair at ε (natural log) for n users.

    Finite p > 1 and 0 < β ≤ (p − 1)/(p + 1), 2r < 1. Sums over the likely counts of clones, and
    adds the probability of the others.
    """
    clones = stats.binom(n - 1, 2.0 * beta * p / ((p - 1.0) * q))
    spread = math.sqrt(2.0 * DECAY * clones.var()) + DECAY
    first = max(0, math.floor(clones.mean() - spread))
    last = min(n - 1, math.ceil(clones.mean() + spread))
    total = 2.0 * math.exp(-DECAY)
    for start in range(first, last + 1, CHUNK):
        c = np.arange(start, min(start + CHUNK, last + 1), dtype=np.float64)
        total += float(clones.pmf(c) @ summands(p, beta, q, eps, n, c))
    return total


def summands(p: float, beta: float, q: float, eps: float, n: int, c: NDArray) -> NDArray:
    """Return what Theorem 4.8 averages over counts `c` of clones, below n; see `summed_delta`."""
    alpha = beta / (p - 1.0)
    r = alpha * p / q
    rest = max(0.0, 1.0 - alpha - p * alpha)
    scale = math.exp(eps)

    def low(c: NDArray) -> NDArray:
        unit = alpha * (scale + 1.0) * (p - 1.0)
        leftover = math.expm1(eps) * rest * r / (1.0 - 2.0 * r)
        return ((scale * p - 1.0) * alpha * c + leftover * (n - c)) / unit

    threshold = np.ceil(low(c + 1.0))
    excess = (p - scale) * alpha * _at_least(threshold - 1.0, c)
    excess += (1.0 - p * scale) * alpha * _at_least(threshold, c)
    if rest > 0.0:
        excess += (1.0 - scale) * rest * _at_least(np.ceil(low(c)), c)
    return excess


def bisected_epsilon(
    p: float, beta: float, q: float, n: int, target: float, iterations: int
) -> float:
    """Return the upper end of ε after so many bisections of [0, log p]; δ is `target`."""
    low, high = 0.0, math.log(p)
    for _ in range(iterations):
        middle = (low + high) / 2.0
        if summed_delta(p, beta, q, middle, n) > target:
            low = middle
        else:
            high = middle
    return high


def _at_least(k: NDArray, c: NDArray) -> NDArray:
    """Return Pr[Bin(c, 1/2) ≥ k] for whole numbers k."""
    inside = (k >= 1.0) & (k <= c)
    # An order of magnitude faster than `betainc`, and right to some seven digits at c = 10⁸.
    tail = special.bdtrc(np.where(inside, k, 1.0) - 1.0, c.astype(np.int64), 0.5)
    return np.where(inside, tail, (k < 1.0).astype(np.float64))


def timed_table(parameters: Timed, context: Context) -> pd.DataFrame:
    """Return ε of the general pair, certified and by the paper's algorithm, with CPU seconds.

    One row for each ε₀ and n, with the columns ``eps0``, ``n``, ``delta``, ``epsilon_lower``,
    ``epsilon_upper``, ``seconds``; for each number T of iterations ``bisected_T`` and
    ``bisected_T_seconds``, of the algorithm, and ``printed_T`` and ``printed_T_seconds``, what the
    paper prints, if it does.
    """
    # The first answer of a process loads modules.
    questions.epsilon(stronger_clone(1.0), 100, 1e-3)
    return pd.DataFrame(
        _timed_row(parameters, context.numerics.rtol, eps0, n)
        for eps0, n in itertools.product(parameters.eps0, parameters.n)
    )


def _timed_row(parameters: Timed, rtol: float | None, eps0: float, n: int) -> dict[str, float]:
    pair, p, beta = stronger_clone(eps0), math.exp(eps0), math.tanh(eps0 / 2.0)
    target = Setting(delta=parameters.delta).at(n=n).require("delta")
    start = time.process_time()
    certified = questions.epsilon(pair, n, target, rtol=rtol)
    row = {
        "eps0": eps0,
        "n": n,
        "delta": target,
        "epsilon_lower": certified.lower,
        "epsilon_upper": certified.upper,
        "seconds": time.process_time() - start,
    }
    for count in parameters.iterations:
        start = time.process_time()
        row[f"bisected_{count}"] = bisected_epsilon(p, beta, p, n, target, count)
        row[f"bisected_{count}_seconds"] = time.process_time() - start
        printed = PRINTED.get((eps0, n), {}).get(count, Printed(math.nan, math.nan))
        row[f"printed_{count}"], row[f"printed_{count}_seconds"] = printed
    return row


def timed_page(frame: pd.DataFrame) -> Page:
    """Return the page of `timed_table`."""
    matches = (re.fullmatch(r"bisected_(\d+)", column) for column in frame.columns)
    columns: list[Column] = [
        (r"$\varepsilon_0$", "{eps0:g}"),
        ("n", "{n:.0e}"),
        (
            r"certified $\varepsilon$",
            lambda row: (
                f"{safe(row['epsilon_lower'], up=False)} to {safe(row['epsilon_upper'], up=True)}"
            ),
        ),
        ("time", _seconds("seconds")),
    ]
    for count in [match[1] for match in matches if match]:
        ours, theirs = f"bisected_{count}", f"printed_{count}"
        columns += [
            (f"algorithm, $T$ = {count}", f"{{{ours}:.6g}}"),
            ("time", _seconds(f"{ours}_seconds")),
            (f"printed, $T$ = {count}", _printed(theirs, "")),
            ("time", _printed(f"{theirs}_seconds", " s")),
        ]
    return Page.of(
        frame,
        columns,
        title="Table 5: the general pair",
        above=r"$\varepsilon$ of any $\varepsilon_0$-LDP randomizer: certified (rounded outward), "
        "by the paper's algorithm rewritten here ($T$ bisections, not certified), and "
        "as the paper prints it. Times are CPU seconds of this run, and the paper's of its own "
        "machine.",
    )


def _seconds(name: str) -> Callable[[Row], str]:
    return lambda row: f"{row[name]:.2g} s" if row[name] >= 1.0 else f"{1e3 * row[name]:.2g} ms"


def _printed(name: str, unit: str) -> Callable[[Row], str]:
    """Return a printed number, if there is one."""
    return lambda row: "" if math.isnan(row[name]) else f"{row[name]:.3g}{unit}"
