"""The paper's Tables 1 to 5: what is printed, beside what is measured or certified."""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import integrate, special, stats

from reproduction.papers.tables import Column, Page, Row, TableCode, safe
from shufflebounds.accounting import single_shuffle
from shufflebounds.bounds.base import Bound, Numerics
from shufflebounds.bounds.blanket_inequalities import BLANKET_BEST_GENERIC
from shufflebounds.bounds.clones import CLONE, ERLINGSSON, STRONGER_CLONE
from shufflebounds.bounds.variation_ratio import VARIATION_RATIO, metric_variation_ratio
from shufflebounds.core.clones import stronger_clone
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import (
    GenericReports,
    MultiMessage,
    SingleMessage,
    total_variation,
)
from shufflebounds.protocols.messages import BallsIntoBins, BinarySum, CheuZhilyaev, Dump
from shufflebounds.randomizers.bit_vectors import RAPPOR, LocalHash
from shufflebounds.randomizers.discrete import KRR, Duchi, HadamardResponse
from shufflebounds.randomizers.matching import HadamardBlocks, Subset
from shufflebounds.randomizers.windows import PrivUnit

# Tables 2 to 4: the printed p, β and q of mechanisms and protocols, confirmed or not.
#
# β is measured on the rows of a probability matrix, or by integration; p and q follow from its
# columns. Rows that are not confirmed say what is the case.


def sampled_rappor(eps0: float, domain_size: int, sample: int) -> NDArray[np.float64]:
    """RAPPOR of `sample` bits that are chosen at random, as a matrix: inputs by (bits, values)."""
    keep = 1.0 / (1.0 + math.exp(-eps0 / 2.0))
    rows: list[list[float]] = [[] for _ in range(domain_size)]
    chosen = list(itertools.combinations(range(domain_size), sample))
    for bits in chosen:
        for values in itertools.product((0, 1), repeat=sample):
            for x, row in enumerate(rows):
                chances = (
                    keep if (bit == x) == value else 1.0 - keep
                    for bit, value in zip(bits, values, strict=True)
                )
                row.append(math.prod(chances) / len(chosen))
    return np.array(rows)


def wheel(eps0: float, length: float) -> float:
    """β of Wheel with one item: arcs of two inputs begin anywhere, and share a part at random."""
    # Directions are uniform: the shared length, averaged over the distance u of the arcs' ends.
    shared = 2.0 * integrate.quad(lambda u: max(length - u, 0.0), 0.0, 0.5, points=[length])[0]
    e = math.exp(eps0)
    return (length - shared) * (e - 1.0) / (length * e + 1.0 - length)


def laplace(eps0: float) -> float:
    """β of Laplace noise on [0, 1]: the integral of the densities' difference where positive."""
    whole = integrate.quad(
        lambda y: max(math.exp(-eps0 * abs(y)) - math.exp(-eps0 * abs(y - 1.0)), 0.0),
        -60.0 / eps0,
        0.5,
        points=[0.0],
        limit=200,
    )[0]
    return float(whole) * eps0 / 2.0


def widest(matrix: NDArray[np.float64]) -> float:
    """β of a randomizer: the largest total variation distance of two rows."""
    return max(
        float(np.maximum(one - other, 0.0).sum())
        for one, other in itertools.permutations(matrix, 2)
    )


CONFIRMED = "confirmed"
# A measured number this close to the printed one, relatively, is that.
_SAME = 1e-7

COLUMNS = ("table", "name", "form", "printed", "measured", "verdict", "note")


@dataclass(frozen=True)
class _Row:
    """A printed number, what it should be, and what to say where they differ."""

    name: str
    form: str
    printed: float
    measured: float
    note: str = ""

    @property
    def verdict(self) -> str:
        """That the printed number is confirmed, or what it must be multiplied by."""
        quotient = self.measured / self.printed
        if self.printed == self.measured or abs(quotient - 1.0) <= _SAME:
            return CONFIRMED
        return f"{quotient:.6g} times the printed"


def mechanisms(eps0: float) -> pd.DataFrame:
    """β of Table 2 at ε₀ (natural log): one row a mechanism, columns `COLUMNS`."""
    e, h = math.exp(eps0), math.exp(eps0 / 2.0)
    t = (h - 1.0) / (h + 1.0)
    # The blocks of Hadamard response: K columns, s of them e^ε₀ times as likely.
    rows = [
        _Row(
            "general mechanism",
            r"(e^{\varepsilon_0}-1)/(e^{\varepsilon_0}+1)",
            (e - 1) / (e + 1),
            widest(Duchi(eps0).matrix()),
            "Attained by 2-RR.",
        ),
        _Row(
            "Laplace on [0, 1]",
            r"1-e^{-\varepsilon_0/2}",
            -math.expm1(-eps0 / 2.0),
            laplace(eps0),
        ),
        _Row(
            "PrivUnit, cap 0.3",
            r"c(e^{\varepsilon_0}-1)/(ce^{\varepsilon_0}+1-c)",
            0.3 * (e - 1) / (0.3 * e + 0.7),
            widest(PrivUnit(eps0, 0.3).matrix()),
            "For caps of at most half the sphere; larger ones overlap.",
        ),
        _Row(
            "GRR, d = 5",
            r"(e^{\varepsilon_0}-1)/(e^{\varepsilon_0}+d-1)",
            (e - 1) / (e + 4),
            widest(KRR(5, eps0).matrix()),
        ),
        _Row(
            "binary RR, d = 5",
            r"(e^{\varepsilon_0/2}-1)/(e^{\varepsilon_0/2}+1)",
            t,
            widest(RAPPOR(eps0, 5).matrix()),
        ),
        _Row(
            "3-subset, d = 7",
            r"(e^{\varepsilon_0}-1)\big({d-1 \choose k-1}-{d-2 \choose k-2}\big)"
            r"/\big(e^{\varepsilon_0}{d-1 \choose k-1}+{d-1 \choose k}\big)",
            (e - 1) * (math.comb(6, 2) - math.comb(5, 1)) / (e * math.comb(6, 2) + math.comb(6, 3)),
            widest(Subset(eps0, 7, 3).matrix()),
        ),
        _Row(
            "local hash, l = 4",
            r"(e^{\varepsilon_0}-1)/(e^{\varepsilon_0}+l-1)",
            (e - 1) / (e + 3),
            widest(LocalHash(eps0, 4, 4).matrix()),
            "Printed for the worst hash function; a uniformly random one has $1-1/l$ times that, "
            "which the library uses.",
        ),
        _Row(
            "Hadamard response, B = 1, K = 4",
            r"(s(e^{\varepsilon_0}-1)/2)/(se^{\varepsilon_0}+K-s)",
            (e - 1) / (2 * e + 2),
            widest(HadamardResponse(eps0, 3).matrix()),
        ),
        _Row(
            "Hadamard response, B = 2, K = 8",
            r"s(e^{\varepsilon_0}-1)/(se^{\varepsilon_0}+K-s)",
            2 * (e - 1) / (2 * e + 6),
            widest(HadamardBlocks(eps0, 2, 4).matrix()),
            "Of inputs in different blocks.",
        ),
        _Row(
            "sampling RAPPOR, s = 2 of d = 5",
            r"s(e^{\varepsilon_0/2}-1)/(d(e^{\varepsilon_0/2}+1))",
            2 * t / 5,
            widest(sampled_rappor(eps0, 5, 2)),
            "Bits chosen at random tell two inputs apart if either input's is among them. Not "
            "shipped: the paper states $\\beta$ alone, and not whether the bits' places are sent; "
            "`sb.MatrixRandomizer` takes the matrix of either reading.",
        ),
        _Row(
            "Wheel, s = 1, length 0.3",
            r"s\ell(e^{\varepsilon_0}-1)/(s\ell e^{\varepsilon_0}+1-s\ell)",
            0.3 * (e - 1) / (0.3 * e + 0.7),
            wheel(eps0, 0.3),
            "Printed for arcs that do not overlap; random ones do. An upper bound, for "
            "$2s\\ell\\le1$. Not shipped: how arcs of several items meet is not stated.",
        ),
    ]
    return _frame(2, rows)


def metric(distance: float) -> pd.DataFrame:
    """β of Table 3 at a distance d₀₁ of two inputs: one row a noise, columns `COLUMNS`."""

    def found(noise: str) -> float:
        return total_variation(metric_variation_ratio(distance, distance, noise))

    # The printed double integral, by symmetry in y.
    planar, _ = integrate.dblquad(
        lambda y, x: 2.0 / math.pi * math.exp(-math.hypot(x - distance / 2.0, y)),
        0.0,
        distance / 2.0,
        0.0,
        40.0,
    )
    rows = [
        _Row(
            "general", r"(e^{d_{01}}-1)/(e^{d_{01}}+1)", math.tanh(distance / 2), found("general")
        ),
        _Row("Laplace on a line", r"1-e^{-d_{01}/2}", -math.expm1(-distance / 2), found("laplace")),
        _Row(
            "planar Laplace",
            r"2\int_0^{d_{01}/2}\int e^{-\sqrt{(x-d_{01}/2)^2+y^2}}/(2\pi)\,dy\,dx",
            planar,
            found("planar"),
            r"$(2/\pi)\int_0^{d_{01}/2}tK_1(t)\,dt$. A pair of two inputs "
            '(`sb.metric_variation_ratio(…, noise="planar")`) and no mechanism: what others are '
            "sure of is an infimum over a region of the plane without a closed form.",
        ),
    ]
    return _frame(3, rows)


def protocols() -> pd.DataFrame:
    """p, β and q of Table 4 on examples: a row for each number, columns `COLUMNS`."""
    rows = [
        *_of(
            BinarySum(coin=0.2),
            "Balcer and Cheu, coin 0.2",
            (r"\infty", "1", r"\max(1/p,1/(1-p))"),
            (math.inf, 1.0, 5.0),
            q="For one bit; the other has $1/(1-p)$, and using both is exact.",
        ),
        *_of(
            BinarySum(),
            "Balcer et al.",
            (r"\infty", "1", "2"),
            (math.inf, 1.0, 2.0),
        ),
        *_of(
            CheuZhilyaev(0.25),
            "Cheu and Zhilyaev, f = 0.25",
            ("(1-f)^2/f^2", "1-2f", "(1-f)/f"),
            (9.0, 0.5, 3.0),
            beta="The published pair lies *below* the reduction: leftovers differ.",
        ),
        *_of(
            BallsIntoBins(8, 2),
            "balls into bins, d = 8, s = 2",
            (r"\infty", "1", "d/s"),
            (math.inf, 1.0, 4.0),
        ),
        *_of(
            Dump(5, 0.2),
            "mixDUMP, d = 5, f = 0.2",
            ("(1-f)(d-1)/f", "((1-f)(d-1)-f)/(d-1)", "(1-f)d"),
            (16.0, 0.75, 4.0),
        ),
    ]
    return _frame(4, rows)


_ABSENT = (
    "- PCKV-GRR, for which Section 5 calls the bound tight, is not in the table, and the paper "
    "has no parameters of it: not shipped.\n"
)


def page(frame: pd.DataFrame) -> Page:
    """The page of one of these tables."""
    number = int(frame["table"].iloc[0])
    notes = frame[frame["note"] != ""]
    return Page.of(
        frame,
        [
            ("", "{name}"),
            ("printed", "${form}$"),
            ("is", lambda row: _number(row["printed"])),
            ("measured", lambda row: _number(row["measured"])),
            ("verdict", "{verdict}"),
        ],
        title=f"Table {number}: parameters, measured",
        above="The printed number and the one that the probabilities of reports have: of a "
        "matrix's rows, or by integration."
        + (r" $\varepsilon_0$ is that of the configuration." if number == 2 else ""),
        below="".join(f"- {row['name']}: {row['note']}\n" for row in notes.to_dict("records"))
        + (_ABSENT if number == 2 else ""),
    )


def _of(
    protocol: MultiMessage,
    name: str,
    forms: Sequence[str],
    printed: Sequence[float],
    **notes: str,
) -> list[_Row]:
    """p, β and q of the victim's message and a blanket."""
    messages = protocol.decomposition()
    with np.errstate(divide="ignore"):
        p = float(np.max(messages.a[messages.a > 0] / messages.b[messages.a > 0]))
        q = float(np.max(np.maximum(messages.a, messages.b) / messages.c))
    measured = {"p": p, "beta": total_variation(messages), "q": q}
    symbols = {"p": "p", "beta": "β", "q": "q"}
    return [
        _Row(f"{name}: {symbols[key]}", form, number, measured[key], notes.get(key, ""))
        for key, form, number in zip(measured, forms, printed, strict=True)
    ]


def _frame(table: int, rows: Sequence[_Row]) -> pd.DataFrame:
    cells = [{"table": table, **vars(row), "verdict": row.verdict} for row in rows]
    return pd.DataFrame(cells, columns=list(COLUMNS))


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.6g}"


MECHANISMS = TableCode(lambda given, _: mechanisms(given.eps0), page)
METRIC = TableCode(lambda given, _: metric(given.eps0), page)
PROTOCOLS = TableCode(lambda given, _: protocols(), page)


# Tables 1 and 5: the general pair, against the printed forms and against the printed numbers.
#
# First the paper's algorithm (its Algorithm 1 on Theorem 4.8), as a witness that shares no code.
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
