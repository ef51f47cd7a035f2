"""Tables 1 to 3 of Su, Cheng, Wang, arXiv 2504.07414, Figure 1 as a measurement, and Figure 8."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reproduction.papers.su2026 import AmplificationVariable, Hierarchy
from reproduction.papers.tables import Context, Page, TableCode, grouped, safe
from shufflebounds.accounting import single_shuffle
from shufflebounds.bounds.clones import coarsened_clone
from shufflebounds.core.clones import standard_clone, stronger_clone
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.setting import Setting
from shufflebounds.curves.plotting.layout import Line
from shufflebounds.curves.plotting.looks import line_look
from shufflebounds.curves.plotting.sheets import Drawn, Sheet, View, with_letters
from shufflebounds.curves.plotting.texts import number
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.registry import mechanism

# Tables 1 to 3: symbolic forms (Appendix A) beside the values that the mechanisms themselves give.
#
# A mechanism with the extreme property (Section 4.4) has a
# blanket of masses p, p, q, r on the components where R(x₁⁰) : R(x₁¹) : inf_x R(x) is e : 1 : 1, 1
# : e : 1, e : e : 1 and 1 : 1 : 1, e = e^{ε₀}. Tables 2 and 3 list p, q and r for domains of
# finite size and in the limit of large ones, Table 1 the law of the GPARV that follows.
#
# The forms are LaTeX and are printed only. Values are read off ``R.blanket()`` of the mechanism.

NAMES = {"krr": "k-RR", "blh": "BLH", "rappor": "RAPPOR", "oue": "OUE", "hadamard": "HR"}

# How the paper writes p in most rows, and all three of p, q and r for Hadamard response.
COMMON = r"\frac{1}{2(e^{\varepsilon_0}+1)}"

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

# What the blanket leaves over, 1 − 2p − q − r: the mass of the GPARV at 0.
RESIDUAL = {
    "krr": r"\frac{e^{\varepsilon_0}-1}{e^{\varepsilon_0}+k-1}",
    "blh": r"\frac{e^{\varepsilon_0}-1}{e^{\varepsilon_0}+1}",
    "rappor": r"1-e^{-\varepsilon_0/2}",
    "oue": r"\frac{1}{2}(1-e^{-\varepsilon_0})",
    "hadamard": r"\frac{e^{\varepsilon_0}-1}{e^{\varepsilon_0}+1}",
}

POINTS = (
    r"1-e^{\varepsilon_0+\varepsilon}",
    r"e^{\varepsilon_0}-e^{\varepsilon_0+\varepsilon}",
    r"1-e^{\varepsilon}",
    "0",
    r"e^{\varepsilon_0}-e^{\varepsilon}",
)

FloatArray = NDArray[np.float64]

_TITLES = {
    1: "Table 1: distribution of the GPARV",
    2: "Table 2: optimal decompositions",
    3: "Table 3: optimal decompositions, large domains",
}
_DECOMPOSITION = (
    r"The blanket $\omega$ is the infimum of $R(x)$ over all inputs $x$. Its mass is $p$ where "
    r"only $R(x_1^0)$ is $e^{\varepsilon_0}\omega$, and again where only $R(x_1^1)$ is, $q$ where "
    r"both are, $r$ where neither is."
)
_LEGENDS = {
    1: (
        r"The GPARV is $(R(x_1^0)-e^{\varepsilon}R(x_1^1))/\omega$ at a report that is drawn from "
        r"the blanket $\omega$, the infimum of $R(x)$ over all inputs $x$, and 0 with the "
        "probability that the blanket lacks to 1."
    ),
    2: _DECOMPOSITION,
    3: _DECOMPOSITION,
}

_UNMARKED_LIMIT = "the limit of many columns, K → ∞. The paper does not mark this row as asymptotic"
_OTHER_TABLE = "not in the paper's Table 3: this limit is what its Table 2 prints"


def gparv(eps0: Sequence[float], eps: float, k: int) -> pd.DataFrame:
    """Table 1: masses of the GPARV at its five values, over large domains (k-RR: over k inputs).

    A row for each mechanism, value of the GPARV and ε₀ (natural log). ``quantity`` is that value in
    LaTeX and ``point`` the number, ``symbolic`` its probability in LaTeX and ``value`` the number;
    ``note`` says where the paper's print differs. ε is below every ε₀.
    """
    rows = []
    for kind in NAMES:
        p, q, r = SYMBOLIC_FINITE[kind] if kind == "krr" else SYMBOLIC_LIMIT[kind]
        forms = (p, q, r, RESIDUAL[kind], p)
        row = {
            "table": 1,
            "mechanism": NAMES[kind],
            "parameters": f"k = {k}" if kind == "krr" else "D → ∞",
            "eps": eps,
            "note": _UNMARKED_LIMIT if kind == "hadamard" else "",
        }
        for level in eps0:
            points = _points(level, eps)
            masses = _gparv_masses(_randomizer(kind, level, k, None), eps, points)
            rows += [
                row
                | {"quantity": name, "symbolic": form, "eps0": level, "point": at, "value": mass}
                for name, form, at, mass in zip(POINTS, forms, points, masses, strict=True)
            ]
    return _frame(rows, "eps", "point")


def finite(eps0: Sequence[float], k: int, domain_size: int) -> pd.DataFrame:
    """Table 2: p, q and r over domains of finite size.

    `k` is the number of inputs of k-RR, `domain_size` that of the others; `eps0` and the columns
    are those of `gparv`, without ``eps`` and ``point``.
    """
    columns = 2 ** domain_size.bit_length()
    parameters = dict.fromkeys(NAMES, f"D = {domain_size}")
    parameters |= {"krr": f"k = {k}", "hadamard": f"D = {domain_size}, K = {columns}"}
    printed = (
        f"the paper prints ${COMMON}$ for any D, the limit K → ∞. "
        "K is the number of columns, the least power of 2 above D"
    )
    notes = {("hadamard", quantity): printed for quantity in "qr"}
    return _decompositions(2, SYMBOLIC_FINITE, eps0, k, domain_size, parameters, notes)


def limit(eps0: Sequence[float]) -> pd.DataFrame:
    """Table 3: p, q and r in the limit of large domains.

    With a row for Hadamard response, whose limit the paper prints in Table 2. `eps0` and the
    columns are those of `gparv`, without ``eps`` and ``point``.
    """
    notes = {("hadamard", quantity): _OTHER_TABLE for quantity in "pqr"}
    parameters = dict.fromkeys(SYMBOLIC_LIMIT, "D → ∞")
    return _decompositions(3, SYMBOLIC_LIMIT, eps0, None, None, parameters, notes)


def page(frame: pd.DataFrame) -> Page:
    """The page of one of the tables, in the paper's layout.

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
        title=_TITLES[number],
        above=f"{_LEGENDS[number]}\n\nBelow each form its values at $\\varepsilon_0$ = {levels}, "
        "in this order.",
        header=("", *(f"${quantity}$" for quantity in quantities)),
        rows=tuple(rows),
        below=_notes(frame, len(quantities)),
    )


def _notes(frame: pd.DataFrame, quantities: int) -> str:
    """Where the paper's print differs, as a list."""
    noted = frame[frame["note"].fillna("") != ""]
    notes = []
    for (name, note), entries in noted.groupby(["mechanism", "note"], sort=False)["quantity"]:
        where = list(entries.unique())
        of = "" if len(where) == quantities else ", " + ", ".join(f"${q}$" for q in where)
        notes.append(f"- {name}{of}: {note}.\n")
    return "".join(notes)


def _decompositions(
    number: int,
    forms: Mapping[str, tuple[str, str, str]],
    eps0: Sequence[float],
    k: int | None,
    domain_size: int | None,
    parameters: Mapping[str, str],
    notes: Mapping[tuple[str, str], str],
) -> pd.DataFrame:
    rows = [
        {
            "table": number,
            "mechanism": NAMES[kind],
            "parameters": parameters[kind],
            "quantity": quantity,
            "symbolic": form,
            "eps0": level,
            "value": mass,
            "note": notes.get((kind, quantity), ""),
        }
        for kind in forms
        for level in eps0
        for quantity, form, mass in zip(
            "pqr",
            forms[kind],
            _blanket_masses(_randomizer(kind, level, k, domain_size), level),
            strict=True,
        )
    ]
    return _frame(rows)


def _randomizer(kind: str, eps0: float, k: int | None, domain_size: int | None) -> Randomizer:
    size = {"k": k} if kind == "krr" else {"domain_size": domain_size}
    make: Callable[..., Randomizer] = mechanism(kind)
    return make(eps0=eps0, **size)


def _blanket_masses(randomizer: Randomizer, eps0: float) -> list[float]:
    """Blanket mass where only R(x₁⁰), both or neither of R(x₁⁰), R(x₁¹) exceed the blanket."""
    blanket = randomizer.blanket()
    # The ratios to c are 1 or e^{ε₀}.
    middle = math.exp(eps0 / 2.0) * blanket.c
    first, second = blanket.a > middle, blanket.b > middle
    return [
        float(blanket.c[chosen].sum())
        for chosen in (first & ~second, first & second, ~first & ~second)
    ]


def _points(eps0: float, eps: float) -> FloatArray:
    """The five values of the GPARV, in the order of `tables.POINTS`."""
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


def _frame(rows: Sequence[Mapping], *located: str) -> pd.DataFrame:
    columns = ["table", "mechanism", "parameters", "quantity", "symbolic", "eps0", *located]
    return pd.DataFrame(rows, columns=[*columns, "value", "note"])


def _lines(values: pd.Series) -> str:
    return " <br> ".join(f"{value:.6g}" for value in values)


GPARV = TableCode(lambda given, _: gparv(given.eps0, given.eps, given.k), page)
FINITE = TableCode(lambda given, _: finite(given.eps0, given.k, given.domain_size), page)
LIMIT = TableCode(lambda given, _: limit(given.eps0), page)


# The hierarchy of Figure 1, measured: clones, blanket, lower bound.
#
# All upper bounds are decompositions in the sense of the paper's general clone (Definition 7) and
# differ in what they know: the standard clone knows ε₀, the coarsened one also R(x₁⁰) and R(x₁¹) of
# the randomizer at hand, the blanket all of it. The more is known, the smaller is D, and none of
# them is below the lower bound of a concrete dataset pair. The stronger clone
# (docs/variation-ratio.md) knows ε₀ alone and makes the best of it; it lies between the standard
# clone and the blanket, and on either side of the coarsened one.


BOUNDS = ("clone", "stronger", "coarsened", "blanket", "lower")
# From the largest ε to the smallest, as far as theory goes.
CHAINS = (("clone", "stronger", "blanket", "lower"), ("clone", "coarsened", "blanket", "lower"))

CERTIFIED, CONSISTENT, VIOLATED = "certified", "consistent", "violated"


def measure(given: Hierarchy, context: Context) -> pd.DataFrame:
    """Enclosures of the five ε of every mechanism at every ε₀ and n, one row each.

    ``order`` says what the enclosures tell of clone ≥ stronger ≥ blanket ≥ lower and clone ≥
    coarsened ≥ blanket: ``certified`` where each lies above the next, touching at most,
    ``consistent`` where some overlap, ``violated`` where one lies below the next. Raises
    PrecisionError where the width cannot be reached, with a note that names the row.
    """
    rows = []
    for name, eps0, n in itertools.product(given.mechanisms, given.eps0, given.n):
        setting, randomizer = (
            Setting(delta=given.delta).at(n=n),
            context.mechanisms[name].randomizer(eps0),
        )
        blanket, delta = randomizer.blanket(), setting.require("delta")
        bounds = (
            standard_clone(eps0),
            stronger_clone(eps0),
            coarsened_clone(blanket, eps0),
            blanket,
            randomizer.dataset_pair(),
        )
        try:
            found = {
                bound: single_shuffle.epsilon(pair, n, delta, rtol=context.numerics.rtol)
                for bound, pair in zip(BOUNDS, bounds, strict=True)
            }
        except ArithmeticError as error:
            error.add_note(f"for {name} at eps0 = {eps0}, n = {n}")
            raise
        row: dict[str, Any] = {
            "name": name,
            "mechanism": str(context.mechanisms[name]),
            "label": randomizer.label,
            "eps0": eps0,
            "n": n,
            "delta": delta,
        }
        for bound, enclosure in found.items():
            row |= {f"{bound}_lower": enclosure.lower, f"{bound}_upper": enclosure.upper}
        row["order"] = order([[found[bound] for bound in chain] for chain in CHAINS])
        rows.append({**row, "rtol": context.numerics.rtol})
    return pd.DataFrame(rows)


def order(chains: Sequence[Sequence[Enclosure]]) -> str:
    """What enclosures tell of sequences that should not rise: see `measure`."""
    pairs = [pair for falling in chains for pair in itertools.pairwise(falling)]
    if all(one.lower >= two.upper for one, two in pairs):
        return CERTIFIED
    return CONSISTENT if all(one.upper >= two.lower for one, two in pairs) else VIOLATED


def hierarchy_page(frame: pd.DataFrame) -> Page:
    """The page of a measurement.

    It shows the end of each enclosure that is a bound, rounded to the safe side.
    """
    deltas = ", ".join(f"{delta:g}" for delta in frame["delta"].unique())
    return Page.of(
        frame,
        [
            ("mechanism", "{mechanism}"),
            (r"$\varepsilon_0$", "{eps0:g}"),
            ("n", lambda row: grouped(row["n"])),
            *(
                (bound, lambda row, bound=bound: safe(_end(row, bound), up=bound != "lower"))
                for bound in BOUNDS
            ),
            ("order", "{order}"),
        ],
        title="The hierarchy of upper bounds",
        above=f"$\\varepsilon$ at $\\delta$ = {deltas}, from the standard clone, from the stronger "
        "clone (the best bound that knows $\\varepsilon_0$ alone), from the standard clone that "
        "knows the two distributions of the victim's report, from the blanket, and the "
        "lower bound of a concrete dataset pair. Upper bounds are rounded up and the lower bound "
        "down; the enclosures have a relative width of at most "
        f"{frame['rtol'].iloc[0]:g}. The orders clone ≥ stronger ≥ blanket ≥ lower and clone ≥ "
        "coarsened ≥ blanket are *certified* where enclosures do not overlap, and where some do, "
        "they are *consistent* with them.",
    )


# How the figure calls what rises with what is known.
_CHAIN = {
    "stronger": "stronger clone",
    "coarsened": "knows two laws",
    "blanket": "blanket",
    "lower": "lower bound",
}


def sheet(frame: pd.DataFrame, title: str) -> Sheet:
    """Maps of each ε divided by the standard clone's: a row for every n, a column for every ε₀."""
    rows = [
        [_view(panel, n, eps0) for eps0, panel in row.groupby("eps0")]
        for n, row in frame.groupby("n")
    ]
    return Sheet(title, with_letters(rows), "bound", "bound", "ε over that of the clone")


def _view(panel: pd.DataFrame, n: int, eps0: float) -> View:
    """The end of each enclosure that is a bound, a row of cells for each mechanism."""
    rows = panel.to_dict("records")
    shares = np.array([[_end(row, bound) / row["clone_upper"] for bound in _CHAIN] for row in rows])
    y, x = np.indices(shares.shape, dtype=float)
    return View(
        title=[f"$n$ = {number(n)}", f"ε₀ = {number(eps0)}"],
        lines=[
            (
                Line("", line_look("upper")),
                Drawn(x.ravel(), y.ravel(), shares.ravel(), shares.ravel()),
            )
        ],
        y_label="",
        x_ticks=tuple(name.replace(" ", "\n") for name in _CHAIN.values()),
        y_ticks=tuple(row["label"] for row in rows),
    )


def _end(row: Mapping[str, Any], bound: str) -> Any:
    """The end of an enclosure that is a bound."""
    return row[f"{bound}_{'lower' if bound == 'lower' else 'upper'}"]


HIERARCHY = TableCode(measure, hierarchy_page, sheet)


# The law of the privacy amplification random variable of a randomizer (Figure 8).
#
# L = γ (a_j − e^ε b_j)/c_j with probability c_j/γ, γ = Σc: the GPARV given that the report comes
# from the blanket, times γ (Balle, Bell, Gascón and Nissim, CRYPTO 2019; the paper's Definition
# 9).

# Room on either side of the distribution function, as a share of its length.
LAW_MARGIN = 0.05
_SHARES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def law(given: AmplificationVariable, context: Context) -> pd.DataFrame:
    """The cumulative distribution of L, one row per value, ascending; it ends at 1.

    ``value`` and ``cdf`` make a right-continuous step function. A continuous randomizer is binned:
    the masses of its cells are right, and ``value`` is the mean of L over the cell.
    """
    mechanism = context.mechanisms[given.mechanism]
    blanket = mechanism.randomizer(given.eps0).blanket().bounds()[0].merge()
    values, masses = blanket.gparv(given.eps)
    size = np.count_nonzero(blanket.c)
    order = np.argsort(values[:size], kind="stable")
    gamma = masses[:size].sum()
    cdf = np.cumsum(masses[order]) / gamma
    cdf[-1] = 1.0
    return pd.DataFrame(
        {
            "mechanism": str(mechanism),
            "eps0": given.eps0,
            "eps": given.eps,
            "value": gamma * values[order],
            "cdf": np.minimum(cdf, 1.0),
        }
    )


def law_page(frame: pd.DataFrame) -> Page:
    """Some quantiles of the law."""
    quantiles = [float(frame.loc[frame["cdf"] >= share, "value"].iloc[0]) for share in _SHARES]
    first = frame.iloc[0]
    return Page(
        title="The law of the privacy amplification random variable",
        above=r"Quantiles of $L=\gamma(R(x_1^0)-e^{\varepsilon}R(x_1^1))/\omega$ of "
        rf"{first['mechanism']} at $\varepsilon_0$ = {first['eps0']:g} and $\varepsilon$ = "
        rf"{first['eps']:g}: $\omega$ is the blanket, $\gamma$ its mass, and the report is drawn "
        r"from $\omega/\gamma$.",
        header=("share at or below", *(f"{share:g}" for share in _SHARES)),
        rows=(("$L$", *(f"{value:.6g}" for value in quantiles)),),
    )


def law_sheet(frame: pd.DataFrame, title: str) -> Sheet:
    """The distribution function, a line that rises upright where there is an atom."""
    first, steps = frame.iloc[0], frame.sort_values("value")
    value, cdf = (steps[name].to_numpy(float) for name in ("value", "cdf"))
    # Below all steps it is seen to be 0, and above them 1.
    beyond = LAW_MARGIN * (float(np.ptp(value)) or 1.0)
    t = np.repeat([value[0] - beyond, *value, value[-1] + beyond], 2)[1:-1]
    curve = Drawn.line(t, np.repeat([0.0, *cdf], 2))
    view = View(
        title=[f"ε₀ = {number(first['eps0'])}, ε = {number(first['eps'])}"],
        lines=[(Line("", line_look("upper"), name="distribution function"), curve)],
        y_label=r"$\Pr\,[L \leq t]$",
    )
    x_label = "value $t$ of the privacy amplification random variable $L$"
    return Sheet(title, [[view]], x_label, "t", view.y_label)


LAW = TableCode(law, law_page, law_sheet)
