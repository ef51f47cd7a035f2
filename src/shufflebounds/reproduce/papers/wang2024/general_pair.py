"""Tables 1 and 5: the general pair, against the printed forms and against the printed numbers."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from shufflebounds.accounting import single_shuffle
from shufflebounds.bounds.base import Bound, Numerics
from shufflebounds.bounds.blanket_inequalities import BLANKET_BEST_GENERIC
from shufflebounds.bounds.clones import CLONE, ERLINGSSON, STRONGER_CLONE, stronger_clone
from shufflebounds.bounds.variation_ratio import VARIATION_RATIO
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import GenericReports, SingleMessage
from shufflebounds.randomizers.discrete import KRR
from shufflebounds.reproduce.papers.tables import Column, Page, Row, TableCode, safe

# The paper's own algorithm (its Algorithm 1 on Theorem 4.8), as a witness that shares no code.
#
# In double precision and without error bounds: what it returns is not certified. Of the counts C
# of clones it sums those that are likely, which is what makes the printed times possible.

# Bernstein's inequality leaves e^−40 outside on either side, which counts as if all were told.
_DECAY = 40.0
_CHUNK = 1_000_000


def delta(p: float, beta: float, q: float, eps: float, n: int) -> float:
    """δ of the published pair at ε (natural log) for n users.

    Finite p > 1 and 0 < β ≤ (p − 1)/(p + 1), 2r < 1. Sums over the likely counts of clones, and
    adds the probability of the others.
    """
    alpha = beta / (p - 1.0)
    r = alpha * p / q
    rest = max(0.0, 1.0 - alpha - p * alpha)
    clones = stats.binom(n - 1, 2.0 * r)
    spread = math.sqrt(2.0 * _DECAY * clones.var()) + _DECAY
    first = max(0, math.floor(clones.mean() - spread))
    last = min(n - 1, math.ceil(clones.mean() + spread))
    scale = math.exp(eps)

    def low(c: NDArray) -> NDArray:
        apart = alpha * (scale + 1.0) * (p - 1.0)
        hidden = math.expm1(eps) * rest * r / (1.0 - 2.0 * r)
        return ((scale * p - 1.0) * alpha * c + hidden * (n - c)) / apart

    total = 2.0 * math.exp(-_DECAY)
    for start in range(first, last + 1, _CHUNK):
        c = np.arange(start, min(start + _CHUNK, last + 1), dtype=np.float64)
        threshold = np.ceil(low(c + 1.0))
        seen = (p - scale) * alpha * _at_least(threshold - 1.0, c)
        seen += (1.0 - p * scale) * alpha * _at_least(threshold, c)
        if rest > 0.0:
            seen += (1.0 - scale) * rest * _at_least(np.ceil(low(c)), c)
        total += float(clones.pmf(c) @ seen)
    return total


def epsilon(p: float, beta: float, q: float, n: int, target: float, iterations: int) -> float:
    """The upper end of the ε that so many bisections leave, from [0, log p] on; δ is `target`."""
    low, high = 0.0, math.log(p)
    for _ in range(iterations):
        middle = (low + high) / 2.0
        if delta(p, beta, q, middle, n) > target:
            low = middle
        else:
            high = middle
    return high


def _at_least(k: NDArray, c: NDArray) -> NDArray:
    """Pr[Bin(c, 1/2) ≥ k] for whole numbers k."""
    inside = (k >= 1.0) & (k <= c)
    # An order of magnitude faster than `betainc`, and right to some seven digits at c = 10⁸.
    tail = special.bdtrc(np.where(inside, k, 1.0) - 1.0, c.astype(np.int64), 0.5)
    return np.where(inside, tail, (k < 1.0).astype(np.float64))


DEFAULT = Numerics(rtol=1e-4)

# What the paper prints in Table 5 for 20 and for 10 bisections: ε and seconds.
PRINTED: Mapping[tuple[float, int], tuple[float, float, float, float]] = MappingProxyType(
    {
        (1.0, 10**4): (0.0433, 0.45, 0.0440, 2.3),
        (1.0, 10**6): (0.00503, 16.7, 0.00586, 4.7),
        (1.0, 10**8): (0.000566, 106.2, 0.000977, 0.43),
        (3.0, 10**4): (0.227, 3.8, 0.229, 1.5),
        (3.0, 10**6): (0.0255, 13.9, 0.0264, 2.8),
        (3.0, 10**8): (0.00283, 117.5, 0.00293, 5.2),
        (5.0, 10**4): (0.743, 2.4, 0.743, 0.9),
        (5.0, 10**6): (0.0778, 9.3, 0.0782, 3.1),
        (5.0, 10**8): (0.00853, 44.6, 0.00977, 7.9),
        (7.0, 10**4): (6.99, 0.24, 6.99, 0.31),
        (7.0, 10**6): (0.224, 2.8, 0.225, 1.2),
        (7.0, 10**8): (0.0242, 17.9, 0.0273, 5.1),
    }
)

# Of Table 1: method, the bound that is its best here, and the printed form without its constant,
# of e^ε₀, β and log(1/δ)/n. The last row is of 10-RR.
_KRR = 10
_FORMS: tuple[tuple[str, Bound, str, Callable[[float, float, float], float]], ...] = (
    (
        "EFMRTT19",
        ERLINGSSON,
        r"\sqrt{e^{3\varepsilon_0}\log(1/\delta)/n}",
        lambda e, beta, x: math.sqrt(e**3 * x),
    ),
    (
        "privacy blanket",
        BLANKET_BEST_GENERIC,
        r"\sqrt{e^{2\varepsilon_0}\log(1/\delta)/n}",
        lambda e, beta, x: math.sqrt(e**2 * x),
    ),
    (
        "clone",
        CLONE,
        r"\frac{e^{\varepsilon_0}-1}{e^{\varepsilon_0}+1}"
        r"\sqrt{e^{\varepsilon_0}\log(1/\delta)/n}",
        lambda e, beta, x: (e - 1) / (e + 1) * math.sqrt(e * x),
    ),
    (
        "stronger clone",
        STRONGER_CLONE,
        r"\sqrt{(e^{\varepsilon_0}-1)^2\log(1/\delta)/(n(e^{\varepsilon_0}+1))}",
        lambda e, beta, x: math.sqrt((e - 1) ** 2 / (e + 1) * x),
    ),
    (
        f"variation ratio, {_KRR}-RR",
        VARIATION_RATIO,
        r"\sqrt{\beta(e^{\varepsilon_0}-1)\log(1/\delta)/n}",
        lambda e, beta, x: math.sqrt(beta * (e - 1) * x),
    ),
)


def asymptotics(eps0: Sequence[float], n: Sequence[int], delta: Any) -> pd.DataFrame:
    """ε of the methods of Table 1 and their printed forms: a row for each method, ε₀ and n.

    ``eps0`` are natural logs; ``delta`` is δ or an `OverN`. Columns: ``method``, ``form``,
    ``eps0``, ``n``, ``delta``, ``epsilon`` (what you can claim) and ``quotient`` (by the form).
    """
    rows = []
    for name, known, form, value in _FORMS:
        for level in eps0:
            report = KRR(_KRR, level)
            protocol = SingleMessage(report) if known.knows_mechanism else GenericReports(level)
            evaluate = known.prepare(protocol, "epsilon", Numerics())
            settings = [Setting(delta=delta).at(n=users) for users in n]
            beta = SingleMessage(report).ratios().beta
            for at, answer in zip(settings, evaluate(settings), strict=True):
                eps = answer.enclosure.upper
                share = -math.log(at.require("delta")) / at.require("n")
                rows.append(
                    {
                        "method": name,
                        "form": form,
                        "eps0": level,
                        "n": at.n,
                        "delta": at.delta,
                        "epsilon": eps,
                        "quotient": eps / value(math.exp(level), beta, share),
                    }
                )
    return pd.DataFrame(rows)


def asymptotics_page(frame: pd.DataFrame) -> Page:
    """The page of `asymptotics`."""
    return Page.of(
        frame,
        [
            ("method", "{method}"),
            ("printed form", "${form}$"),
            (r"$\varepsilon_0$", "{eps0:g}"),
            ("n", "{n:.0e}"),
            (r"$\varepsilon$", lambda row: safe(row["epsilon"], up=True)),
            ("quotient", "{quotient:.4g}"),
        ],
        title="Table 1: asymptotic forms",
        above=r"What you can claim, $\varepsilon$, and what that is divided by the printed form "
        "without its constant. A quotient that settles as $n$ grows confirms the form; where "
        r"$\varepsilon$ stands at $\varepsilon_0$ nothing is proved at that $n$ (EFMRTT19 asks for "
        r"$\varepsilon_0<1/2$ in the form that is drawn).",
    )


def timed(
    eps0: Sequence[float],
    n: Sequence[int],
    delta: Any,
    iterations: Sequence[int],
    numerics: Numerics,
) -> pd.DataFrame:
    """ε of the general pair, certified and by the paper's algorithm, with CPU seconds of both.

    ``eps0`` are natural logs; ``delta`` is δ or an `OverN`. One row for each ε₀ and n, with the
    columns ``eps0``, ``n``, ``delta``, ``epsilon_lower``, ``epsilon_upper``, ``seconds``; for each
    number T of `iterations` ``bisected_T`` and ``bisected_T_seconds``, of the algorithm, and
    ``printed_T`` and ``printed_T_seconds``, what the paper prints, if it does.
    """
    # The first answer of a process loads modules.
    single_shuffle.epsilon(stronger_clone(1.0), 100, 1e-3)
    rows = []
    for level in eps0:
        pair, p, beta = stronger_clone(level), math.exp(level), math.tanh(level / 2.0)
        for users in n:
            target = Setting(delta=delta).at(n=users).require("delta")
            start = time.process_time()
            found = single_shuffle.epsilon(pair, users, target, rtol=numerics.rtol)
            row = {
                "eps0": level,
                "n": users,
                "delta": target,
                "epsilon_lower": found.lower,
                "epsilon_upper": found.upper,
                "seconds": time.process_time() - start,
            }
            printed = PRINTED.get((level, users), (math.nan,) * 4)
            places = {20: printed[:2], 10: printed[2:]}
            for count in iterations:
                start = time.process_time()
                row[f"bisected_{count}"] = epsilon(p, beta, p, users, target, count)
                row[f"bisected_{count}_seconds"] = time.process_time() - start
                known = places.get(count, (math.nan, math.nan))
                row[f"printed_{count}"], row[f"printed_{count}_seconds"] = known
            rows.append(row)
    return pd.DataFrame(rows)


def timed_page(frame: pd.DataFrame) -> Page:
    """The page of `timed`."""
    named = (re.fullmatch(r"bisected_(\d+)", column) for column in frame.columns)
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
    for count in [match[1] for match in named if match]:
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
    """A printed number, if there is one."""
    return lambda row: "" if math.isnan(row[name]) else f"{row[name]:.3g}{unit}"


ASYMPTOTICS = TableCode(
    lambda given, _: asymptotics(given.eps0, given.n, given.delta), asymptotics_page
)
TIMED = TableCode(
    lambda given, context: timed(
        given.eps0, given.n, given.delta, given.iterations, context.numerics
    ),
    timed_page,
)
