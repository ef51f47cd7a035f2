"""Tables 1 to 3: symbolic forms (Appendix A) beside the values that the mechanisms themselves give.

A mechanism with the extreme property (Section 4.4) has a blanket of masses p, p, q, r on the
components where R(x₁⁰) : R(x₁¹) : inf_x R(x) is e : 1 : 1, 1 : e : 1, e : e : 1 and 1 : 1 : 1, e =
e^{ε₀}. Tables 2 and 3 list p, q and r for domains of finite size and in the limit of large ones,
Table 1 the law of the GPARV that follows.

The forms are LaTeX and are printed only. Values are read off ``R.blanket()`` of the mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.papers.pages import Page
from reproduction.papers.su2026 import FiniteDomains, Gparv, LargeDomains
from reproduction.papers.tables import Context
from shufflebounds.core.products import FloatArray
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.registry import mechanism

# The paper's names of mechanisms by their types.
NAMES = {"krr": "k-RR", "blh": "BLH", "rappor": "RAPPOR", "oue": "OUE", "hadamard": "HR"}

# How the paper writes p in most rows, and all three of p, q and r for Hadamard response.
COMMON = r"\frac{1}{2(e^{\varepsilon_0}+1)}"

# p, q and r over domains of finite size.
SYMBOLIC_FINITE = {
    "krr": (
        r"\frac{1}{e^{\varepsilon_0}+k-1}",
        "0",
        r"\frac{k-2}{e^{\varepsilon_0}+k-1}",
    ),
    "blh": (
        COMMON,
        COMMON + r"-\frac{1}{2^{D-1}(e^{\varepsilon_0}+1)}",
        COMMON + r"+\frac{e^{\varepsilon_0}}{2^{D-1}(e^{\varepsilon_0}+1)}",
    ),
    "rappor": (
        r"\frac{1}{(e^{\varepsilon_0/2}+1)^{2}}",
        r"\frac{e^{-\varepsilon_0/2}}{(e^{\varepsilon_0/2}+1)^{2}}"
        r"-\frac{e^{-\varepsilon_0/2}}{(e^{\varepsilon_0/2}+1)^{D}}",
        r"\frac{e^{\varepsilon_0/2}}{(e^{\varepsilon_0/2}+1)^{2}}"
        r"+\frac{e^{\varepsilon_0/2}}{(e^{\varepsilon_0/2}+1)^{D}}",
    ),
    "oue": (
        COMMON,
        r"\frac{e^{-\varepsilon_0}}{2(e^{\varepsilon_0}+1)}"
        r"-\frac{e^{-\varepsilon_0}}{2(e^{\varepsilon_0}+1)^{D-1}}",
        r"\frac{e^{\varepsilon_0}}{2(e^{\varepsilon_0}+1)}+\frac{1}{2(e^{\varepsilon_0}+1)^{D-1}}",
    ),
    "hadamard": (
        COMMON,
        COMMON + r"-\frac{2}{K(e^{\varepsilon_0}+1)}",
        COMMON + r"+\frac{2e^{\varepsilon_0}}{K(e^{\varepsilon_0}+1)}",
    ),
}

# p, q and r in the limit of large domains.
SYMBOLIC_LIMIT = {
    "blh": (COMMON, COMMON, COMMON),
    "rappor": (
        r"\frac{1}{(e^{\varepsilon_0/2}+1)^{2}}",
        r"\frac{1}{e^{\varepsilon_0/2}(e^{\varepsilon_0/2}+1)^{2}}",
        r"\frac{e^{\varepsilon_0/2}}{(e^{\varepsilon_0/2}+1)^{2}}",
    ),
    "oue": (
        COMMON,
        r"\frac{1}{2e^{\varepsilon_0}(e^{\varepsilon_0}+1)}",
        r"\frac{e^{\varepsilon_0}}{2(e^{\varepsilon_0}+1)}",
    ),
    "hadamard": (COMMON, COMMON, COMMON),
}

# The mass that the blanket lacks to 1, 1 − 2p − q − r: the mass of the GPARV at 0.
RESIDUAL = {
    "krr": r"\frac{e^{\varepsilon_0}-1}{e^{\varepsilon_0}+k-1}",
    "blh": r"\frac{e^{\varepsilon_0}-1}{e^{\varepsilon_0}+1}",
    "rappor": r"1-e^{-\varepsilon_0/2}",
    "oue": r"\frac{1}{2}(1-e^{-\varepsilon_0})",
    "hadamard": r"\frac{e^{\varepsilon_0}-1}{e^{\varepsilon_0}+1}",
}

# The values of the GPARV.
POINTS = (
    r"1-e^{\varepsilon_0+\varepsilon}",
    r"e^{\varepsilon_0}-e^{\varepsilon_0+\varepsilon}",
    r"1-e^{\varepsilon}",
    "0",
    r"e^{\varepsilon_0}-e^{\varepsilon}",
)

# Titles of the tables, and what is to be read above them.
TITLES = {
    1: "Table 1: distribution of the GPARV",
    2: "Table 2: optimal decompositions",
    3: "Table 3: optimal decompositions, large domains",
}
DECOMPOSITION = (
    r"The blanket $\omega$ is the infimum of $R(x)$ over all inputs $x$. Its mass is $p$ where "
    r"only $R(x_1^0)$ is $e^{\varepsilon_0}\omega$, and again where only $R(x_1^1)$ is, $q$ where "
    r"both are, $r$ where neither is."
)
LEGENDS = {
    1: (
        r"The GPARV is $(R(x_1^0)-e^{\varepsilon}R(x_1^1))/\omega$ at a report that is drawn from "
        r"the blanket $\omega$, the infimum of $R(x)$ over all inputs $x$, and 0 with the "
        "probability that the blanket lacks to 1."
    ),
    2: DECOMPOSITION,
    3: DECOMPOSITION,
}

# Notes on the row of Hadamard response in Tables 1 and 3.
UNMARKED_LIMIT = "the limit of many columns, K → ∞. The paper does not mark this row as asymptotic"
OTHER_TABLE = "not in the paper's Table 3: this limit is what its Table 2 prints"


def gparv_table(parameters: Gparv, _: Context) -> pd.DataFrame:
    """Return Table 1: masses of the GPARV at its five values, over large domains (k-RR: k inputs).

    A row for each mechanism, value of the GPARV and ε₀. ``quantity`` is that value in LaTeX and
    ``point`` the number, ``symbolic`` its probability in LaTeX and ``value`` the number; ``note``
    says where the paper's print differs.
    """
    rows = []
    for kind in NAMES:
        p, q, r = SYMBOLIC_FINITE[kind] if kind == "krr" else SYMBOLIC_LIMIT[kind]
        forms = (p, q, r, RESIDUAL[kind], p)
        row = {
            "table": 1,
            "mechanism": NAMES[kind],
            "parameters": f"k = {parameters.k}" if kind == "krr" else "D → ∞",
            "eps": parameters.eps,
            "note": UNMARKED_LIMIT if kind == "hadamard" else "",
        }
        for eps0 in parameters.eps0:
            points = _points(eps0, parameters.eps)
            masses = _gparv_masses(
                _randomizer(kind, eps0, parameters.k, None), parameters.eps, points
            )
            rows += [
                row | {"quantity": name, "symbolic": form, "eps0": eps0, "point": at, "value": mass}
                for name, form, at, mass in zip(POINTS, forms, points, masses, strict=True)
            ]
    return _decomposition_frame(rows, "eps", "point")


def finite_table(parameters: FiniteDomains, _: Context) -> pd.DataFrame:
    """Return Table 2: p, q and r over domains of finite size.

    The columns are those of `gparv_table`, without ``eps`` and ``point``.
    """
    size, columns = parameters.domain_size, 2 ** parameters.domain_size.bit_length()
    sizes = dict.fromkeys(NAMES, f"D = {size}")
    sizes |= {"krr": f"k = {parameters.k}", "hadamard": f"D = {size}, K = {columns}"}
    printed = (
        f"the paper prints ${COMMON}$ for any D, the limit K → ∞. "
        "K is the number of columns, the least power of 2 above D. Row 0 of the D × D matrix in "
        "the paper's appendix is all ones: it has a normalization of its own, and with it the "
        "blanket is not uniform, as the paper says it is"
    )
    notes = {("hadamard", quantity): printed for quantity in "qr"}
    return _decomposition_frame(
        {
            "table": 2,
            "mechanism": NAMES[kind],
            "parameters": sizes[kind],
            "note": notes.get((kind, entry["quantity"]), ""),
            **entry,
        }
        for kind, forms in SYMBOLIC_FINITE.items()
        for entry in _entries(kind, forms, parameters.eps0, parameters.k, size)
    )


def limit_table(parameters: LargeDomains, _: Context) -> pd.DataFrame:
    """Return Table 3: p, q and r in the limit of large domains, in columns as of `finite_table`.

    It has a row for Hadamard response, whose limit the paper prints in Table 2.
    """
    return _decomposition_frame(
        {
            "table": 3,
            "mechanism": NAMES[kind],
            "parameters": "D → ∞",
            "note": OTHER_TABLE if kind == "hadamard" else "",
            **entry,
        }
        for kind, forms in SYMBOLIC_LIMIT.items()
        for entry in _entries(kind, forms, parameters.eps0, None, None)
    )


def _entries(
    kind: str, forms: Sequence[str], levels: Sequence[float], k: int | None, size: int | None
) -> list[dict[str, Any]]:
    """Return p, q and r of a mechanism at every ε₀, in LaTeX and as numbers."""
    return [
        {"quantity": quantity, "symbolic": form, "eps0": eps0, "value": mass}
        for eps0 in levels
        for quantity, form, mass in zip(
            "pqr", forms, _blanket_masses(_randomizer(kind, eps0, k, size), eps0), strict=True
        )
    ]


def decomposition_page(frame: pd.DataFrame) -> Page:
    """Return the page of one of the tables, in the paper's layout.

    One row per mechanism, and in each cell the form with its values below.
    """
    number = int(frame["table"].iloc[0])
    levels = ", ".join(f"{level:g}" for level in frame["eps0"].unique())
    quantities = list(frame["quantity"].unique())
    rows = []
    if "point" in frame:
        first = frame[frame["mechanism"] == frame["mechanism"].iloc[0]]
        points = [_lines(first.loc[first["quantity"] == q, "point"]) for q in quantities]
        rows.append((f"value at $\\varepsilon={frame['eps'].iloc[0]:g}$", *points))
    for (name, parameters), group in frame.groupby(["mechanism", "parameters"], sort=False):
        cells = [
            f"${entry['symbolic'].iloc[0]}$ <br> {_lines(entry['value'])}"
            for _, entry in group.groupby("quantity", sort=False)
        ]
        rows.append((f"{name} <br> {parameters}", *cells))
    return Page(
        title=TITLES[number],
        above=f"{LEGENDS[number]}\n\nBelow each form its values at $\\varepsilon_0$ = {levels}, "
        "in this order.",
        header=("", *(f"${quantity}$" for quantity in quantities)),
        rows=tuple(rows),
        below=_notes(frame, len(quantities)),
    )


def _notes(frame: pd.DataFrame, quantities: int) -> str:
    """Return where the paper's print differs, as a list."""
    rows = frame[frame["note"].fillna("") != ""]
    notes = []
    for (name, note), entries in rows.groupby(["mechanism", "note"], sort=False)["quantity"]:
        where = [f"${quantity}$" for quantity in entries.unique()]
        subject = name if len(where) == quantities else ", ".join([name, *where])
        notes.append(f"- {subject}: {note}.\n")
    return "".join(notes)


def _randomizer(kind: str, eps0: float, k: int | None, domain_size: int | None) -> Randomizer:
    size = {"k": k} if kind == "krr" else {"domain_size": domain_size}
    make: Callable[..., Randomizer] = mechanism(kind)
    return make(eps0=eps0, **size)


def _blanket_masses(randomizer: Randomizer, eps0: float) -> list[float]:
    """Return the blanket's mass where only R(x₁⁰), both or neither of R(x₁⁰), R(x₁¹) exceed it."""
    blanket = randomizer.blanket()
    # The ratios to c are 1 or e^{ε₀}.
    middle = math.exp(eps0 / 2.0) * blanket.c
    first, second = blanket.a > middle, blanket.b > middle
    return [
        float(blanket.c[chosen].sum())
        for chosen in (first & ~second, first & second, ~first & ~second)
    ]


def _points(eps0: float, eps: float) -> FloatArray:
    """Return the five values of the GPARV, in the order of `POINTS`."""
    fall = -math.expm1(eps)
    return np.array(
        [
            -math.expm1(eps0 + eps),
            math.exp(eps0) * fall,
            fall,
            0.0,
            math.exp(eps) * math.expm1(eps0 - eps),
        ]
    )


def _gparv_masses(randomizer: Randomizer, eps: float, points: FloatArray) -> FloatArray:
    values, masses = randomizer.blanket().gparv(eps)
    nearest = np.abs(values[:, np.newaxis] - points).argmin(axis=1)
    summed = np.bincount(nearest, weights=masses, minlength=points.size)
    return summed.astype(np.float64, copy=False)


def _decomposition_frame(rows: Iterable[Mapping], *located: str) -> pd.DataFrame:
    columns = ["table", "mechanism", "parameters", "quantity", "symbolic", "eps0", *located]
    return pd.DataFrame(rows, columns=[*columns, "value", "note"])


def _lines(values: pd.Series) -> str:
    return " <br> ".join(f"{value:.6g}" for value in values)
