"""Tables 2 to 4: the printed p, β and q of mechanisms and protocols, confirmed or not.

β is measured on the rows of a probability matrix, or by integration; p and q follow from its
columns. Rows that are not confirmed say what is the case.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import integrate

from reproduction.papers.pages import Page
from shufflebounds.bounds.variation_ratio import metric_variation_ratio
from shufflebounds.protocols.base import MultiMessage
from shufflebounds.protocols.messages import BallsIntoBins, BinarySum, CheuZhilyaev, Dump
from shufflebounds.randomizers.bit_vectors import RAPPOR, LocalHash
from shufflebounds.randomizers.discrete import KRR, Duchi, HadamardResponse
from shufflebounds.randomizers.matching import HadamardBlocks, Subset
from shufflebounds.randomizers.windows import PrivUnit
from shufflebounds.subjects.ratios import total_variation

# The columns of the tables.
COLUMNS = ("table", "name", "form", "printed", "measured", "verdict", "note")

# The verdict on a printed number that is right.
CONFIRMED = "confirmed"

# The relative difference below which a measured number is the printed one; integrals have 1e-8.
SAME = 1e-7

# A row of the paper's text that its table does not have.
ABSENT = (
    "- PCKV-GRR, for which Section 5 calls the bound tight, is not in the table, and the paper "
    "has no parameters of it: not shipped.\n"
)


def sampled_rappor(eps0: float, domain_size: int, sample: int) -> NDArray[np.float64]:
    """Return RAPPOR of `sample` random bits as a matrix: inputs by (bits, values)."""
    keep = 1.0 / (1.0 + math.exp(-eps0 / 2.0))
    rows: list[list[float]] = [[] for _ in range(domain_size)]
    samples = list(itertools.combinations(range(domain_size), sample))
    for bits in samples:
        for values in itertools.product((0, 1), repeat=sample):
            for x, row in enumerate(rows):
                chances = (
                    keep if (bit == x) == value else 1.0 - keep
                    for bit, value in zip(bits, values, strict=True)
                )
                row.append(math.prod(chances) / len(samples))
    return np.array(rows)


def wheel(eps0: float, length: float) -> float:
    """Return β of Wheel with one item: arcs of two inputs begin anywhere, share a random part."""
    # Directions are uniform: the shared length, averaged over the distance u of the arcs' ends.
    shared = 2.0 * integrate.quad(lambda u: max(length - u, 0.0), 0.0, 0.5, points=[length])[0]
    e = math.exp(eps0)
    return (length - shared) * (e - 1.0) / (length * e + 1.0 - length)


def laplace(eps0: float) -> float:
    """Return β of Laplace noise on [0, 1]: the integral of the densities' positive difference."""
    whole = integrate.quad(
        lambda y: max(math.exp(-eps0 * abs(y)) - math.exp(-eps0 * abs(y - 1.0)), 0.0),
        -60.0 / eps0,
        0.5,
        points=[0.0],
        limit=200,
    )[0]
    return float(whole) * eps0 / 2.0


def widest(matrix: NDArray[np.float64]) -> float:
    """Return β of a randomizer: the largest total variation distance of two rows."""
    return max(
        float(np.maximum(row - other, 0.0).sum())
        for row, other in itertools.permutations(matrix, 2)
    )


@dataclass(frozen=True)
class PrintedNumber:
    """A printed number, what it should be, and what to say where they differ."""

    name: str
    form: str
    printed: float
    measured: float
    note: str = ""

    @property
    def verdict(self) -> str:
        """Whether the printed number is confirmed, or the factor that it lacks."""
        quotient = self.measured / self.printed
        if self.printed == self.measured or abs(quotient - 1.0) <= SAME:
            return CONFIRMED
        return f"{quotient:.6g} times the printed"


def mechanisms_table(eps0: float) -> pd.DataFrame:
    """Return β of Table 2 at ε₀ (natural log): one row a mechanism, columns `COLUMNS`."""
    e, h = math.exp(eps0), math.exp(eps0 / 2.0)
    t = (h - 1.0) / (h + 1.0)
    rows = [
        PrintedNumber(
            "general mechanism",
            r"(e^{\varepsilon_0}-1)/(e^{\varepsilon_0}+1)",
            (e - 1) / (e + 1),
            widest(Duchi(eps0).matrix()),
            "Attained by 2-RR.",
        ),
        PrintedNumber(
            "Laplace on [0, 1]",
            r"1-e^{-\varepsilon_0/2}",
            -math.expm1(-eps0 / 2.0),
            laplace(eps0),
        ),
        PrintedNumber(
            "PrivUnit, cap 0.3",
            r"c(e^{\varepsilon_0}-1)/(ce^{\varepsilon_0}+1-c)",
            0.3 * (e - 1) / (0.3 * e + 0.7),
            widest(PrivUnit(eps0, 0.3).matrix()),
            "For caps of at most half the sphere; larger ones overlap.",
        ),
        PrintedNumber(
            "GRR, d = 5",
            r"(e^{\varepsilon_0}-1)/(e^{\varepsilon_0}+d-1)",
            (e - 1) / (e + 4),
            widest(KRR(5, eps0).matrix()),
        ),
        PrintedNumber(
            "binary RR, d = 5",
            r"(e^{\varepsilon_0/2}-1)/(e^{\varepsilon_0/2}+1)",
            t,
            widest(RAPPOR(eps0, 5).matrix()),
        ),
        PrintedNumber(
            "3-subset, d = 7",
            r"(e^{\varepsilon_0}-1)\big({d-1 \choose k-1}-{d-2 \choose k-2}\big)"
            r"/\big(e^{\varepsilon_0}{d-1 \choose k-1}+{d-1 \choose k}\big)",
            (e - 1) * (math.comb(6, 2) - math.comb(5, 1)) / (e * math.comb(6, 2) + math.comb(6, 3)),
            widest(Subset(eps0, 7, 3).matrix()),
        ),
        PrintedNumber(
            "local hash, l = 4",
            r"(e^{\varepsilon_0}-1)/(e^{\varepsilon_0}+l-1)",
            (e - 1) / (e + 3),
            widest(LocalHash(eps0, 4, 4).matrix()),
            "Printed for the worst hash function; a uniformly random one has $1-1/l$ times that, "
            "which the library uses.",
        ),
        PrintedNumber(
            "Hadamard response, B = 1, K = 4",
            r"(s(e^{\varepsilon_0}-1)/2)/(se^{\varepsilon_0}+K-s)",
            (e - 1) / (2 * e + 2),
            widest(HadamardResponse(eps0, 3).matrix()),
        ),
        PrintedNumber(
            "Hadamard response, B = 2, K = 8",
            r"s(e^{\varepsilon_0}-1)/(se^{\varepsilon_0}+K-s)",
            2 * (e - 1) / (2 * e + 6),
            widest(HadamardBlocks(eps0, 2, 4).matrix()),
            "Of inputs in different blocks.",
        ),
        PrintedNumber(
            "sampling RAPPOR, s = 2 of d = 5",
            r"s(e^{\varepsilon_0/2}-1)/(d(e^{\varepsilon_0/2}+1))",
            2 * t / 5,
            widest(sampled_rappor(eps0, 5, 2)),
            "Bits chosen at random tell two inputs apart if either input's is among them. Not "
            "shipped: the paper states $\\beta$ alone, and not whether the bits' places are sent; "
            "`sb.MatrixRandomizer` takes the matrix of either reading.",
        ),
        PrintedNumber(
            "Wheel, s = 1, length 0.3",
            r"s\ell(e^{\varepsilon_0}-1)/(s\ell e^{\varepsilon_0}+1-s\ell)",
            0.3 * (e - 1) / (0.3 * e + 0.7),
            wheel(eps0, 0.3),
            "Printed for arcs that do not overlap; random ones do. An upper bound, for "
            "$2s\\ell\\le1$. Not shipped: how arcs of several items meet is not stated.",
        ),
    ]
    return _parameters_frame(2, rows)


def metric_table(distance: float) -> pd.DataFrame:
    """Return β of Table 3 at a distance d₀₁ of two inputs: one row a noise, columns `COLUMNS`."""

    def variation(noise: str) -> float:
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
        PrintedNumber(
            "general",
            r"(e^{d_{01}}-1)/(e^{d_{01}}+1)",
            math.tanh(distance / 2),
            variation("general"),
        ),
        PrintedNumber(
            "Laplace on a line",
            r"1-e^{-d_{01}/2}",
            -math.expm1(-distance / 2),
            variation("laplace"),
        ),
        PrintedNumber(
            "planar Laplace",
            r"2\int_0^{d_{01}/2}\int e^{-\sqrt{(x-d_{01}/2)^2+y^2}}/(2\pi)\,dy\,dx",
            planar,
            variation("planar"),
            r"$(2/\pi)\int_0^{d_{01}/2}tK_1(t)\,dt$. A pair of two inputs "
            '(`sb.metric_variation_ratio(…, noise="planar")`) and no mechanism: what others are '
            "sure of is an infimum over a region of the plane without a closed form.",
        ),
    ]
    return _parameters_frame(3, rows)


def protocols_table() -> pd.DataFrame:
    """Return p, β and q of Table 4 on examples: a row for each number, columns `COLUMNS`."""
    rows = [
        *_message_rows(
            BinarySum(coin=0.2),
            "Balcer and Cheu, coin 0.2",
            (r"\infty", "1", r"\max(1/p,1/(1-p))"),
            (math.inf, 1.0, 5.0),
            q="For one bit; the other has $1/(1-p)$, and using both is exact.",
        ),
        *_message_rows(
            BinarySum(),
            "Balcer et al.",
            (r"\infty", "1", "2"),
            (math.inf, 1.0, 2.0),
        ),
        *_message_rows(
            CheuZhilyaev(0.25),
            "Cheu and Zhilyaev, f = 0.25",
            ("(1-f)^2/f^2", "1-2f", "(1-f)/f"),
            (9.0, 0.5, 3.0),
            β="The published pair lies *below* the reduction: leftovers differ.",
        ),
        *_message_rows(
            BallsIntoBins(8, 2),
            "balls into bins, d = 8, s = 2",
            (r"\infty", "1", "d/s"),
            (math.inf, 1.0, 4.0),
        ),
        *_message_rows(
            Dump(5, 0.2),
            "mixDUMP, d = 5, f = 0.2",
            ("(1-f)(d-1)/f", "((1-f)(d-1)-f)/(d-1)", "(1-f)d"),
            (16.0, 0.75, 4.0),
        ),
    ]
    return _parameters_frame(4, rows)


def parameters_page(frame: pd.DataFrame) -> Page:
    """Return the page of one of these tables."""
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
        + (ABSENT if number == 2 else ""),
    )


def _message_rows(
    protocol: MultiMessage,
    name: str,
    forms: Sequence[str],
    printed: Sequence[float],
    **notes: str,
) -> list[PrintedNumber]:
    """Return the rows of p, β and q, measured on the victim's message and a blanket."""
    messages = protocol.decomposition()
    with np.errstate(divide="ignore"):
        p = float(np.max(messages.a[messages.a > 0] / messages.b[messages.a > 0]))
        q = float(np.max(np.maximum(messages.a, messages.b) / messages.c))
    measured = {"p": p, "β": total_variation(messages), "q": q}
    return [
        PrintedNumber(f"{name}: {symbol}", form, number, measured[symbol], notes.get(symbol, ""))
        for symbol, form, number in zip(measured, forms, printed, strict=True)
    ]


def _parameters_frame(table: int, rows: Sequence[PrintedNumber]) -> pd.DataFrame:
    cells = [{"table": table, **vars(row), "verdict": row.verdict} for row in rows]
    return pd.DataFrame(cells, columns=list(COLUMNS))


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.6g}"
