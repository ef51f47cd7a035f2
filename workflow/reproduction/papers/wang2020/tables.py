"""SOLH and randomized response (GRR): the authors' calibration, and the certified one.

The theorem behind the authors' ε₀ is that of Balle, Bell, Gascón and Nissim (CRYPTO 2019, Theorem
3.1): a share γ = l/(e^{ε₀} + l − 1) of the reports is uniform over l values, and

    γ ≥ max(14 l log(2/δ)/((n − 1) ε²), 27 l/((n − 1) ε))

makes them (ε, δ)-DP for ε ≤ 1. So e^{ε₀} + l − 1 may be as large as `room`, whatever l is.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from reproduction.papers.pages import Page, Row
from reproduction.papers.tables import Context, TableCode
from reproduction.papers.wang2020 import Calibrations
from shufflebounds.core.enclosure import outward
from shufflebounds.curves.plotting.layout import Line
from shufflebounds.curves.plotting.looks import line_look
from shufflebounds.curves.plotting.sheets import Drawn, PanelView, Sheet
from shufflebounds.curves.plotting.texts import number, three_digits
from shufflebounds.estimation.accuracy import curator_mse
from shufflebounds.protocols.base import Calibrated
from shufflebounds.questions.answers import epsilon
from shufflebounds.questions.ranking import calibrated
from shufflebounds.randomizers.bit_vectors import LocalHash
from shufflebounds.randomizers.discrete import KRR

# The lines of the figure by mechanism and column: label, bound, type of the mechanism.
LINES = {
    ("SOLH", "error"): ("SOLH, the authors' calibration", "original", "local_hash"),
    ("GRR", "error"): ("GRR, the authors' calibration", "original", "krr"),
    ("SOLH", "best_error"): ("local hashing, certified", "estimate_error", "local_hash"),
    ("GRR", "best_error"): ("randomized response, certified", "estimate_error", "krr"),
}


def room(eps: float, n: int, delta: float) -> float:
    """Return how large e^{ε₀} + l − 1 may be for (ε, δ), ε ≤ 1."""
    return min(eps * eps * (n - 1) / (14.0 * math.log(2.0 / delta)), (n - 1) * eps / 27.0)


def hash_values(room: float) -> int:
    """Return the l with the least variance m²/(n (l − 1)(m − l)²), m the `room`: (m + 2)/3."""
    return max(2, round((room + 2.0) / 3.0))


def solh(values: int, eps: float, n: int, delta: float) -> LocalHash | None:
    """Return the authors' local hashing; None where they leave it no ε₀ above 0."""
    m = room(eps, n, delta)
    l = hash_values(m)  # noqa: E741
    return LocalHash(math.log(m - l + 1.0), hash_values=l, domain_size=values) if m > l else None


def grr(values: int, eps: float, n: int, delta: float) -> KRR | None:
    """Return the authors' randomized response; None where they leave it no ε₀ above 0."""
    m = room(eps, n, delta)
    return KRR(values, math.log(m - values + 1.0)) if m > values else None


def calibrations_table(parameters: Calibrations, _: Context | None = None) -> pd.DataFrame:
    """Return a row for each ε and mechanism; errors are total, over the curator's.

    ``l``, ``eps0``, ``certified`` (ε) and ``error`` are those of the authors' calibration, empty
    where they leave no ε₀; ``best_l``, ``best_eps0`` and ``best_error`` are the best ones.
    """
    values, n, delta = parameters.values, parameters.n, parameters.delta
    rows = []
    for eps in parameters.eps:
        curator = curator_mse(values, n, eps, delta)
        for name, label, theirs in (
            ("local_hash", "SOLH", solh(values, eps, n, delta)),
            ("krr", "GRR", grr(values, eps, n, delta)),
        ):
            best = calibrated(Calibrated(eps, n, delta, name, values))
            rows.append(
                {
                    "eps": eps,
                    "values": values,
                    "n": n,
                    "delta": delta,
                    "mechanism": label,
                    "l": getattr(theirs, "hash_values", values) if theirs else math.nan,
                    "eps0": theirs.eps0 if theirs else math.nan,
                    "certified": epsilon(theirs, n=n, delta=delta).upper if theirs else math.nan,
                    "error": theirs.error(n).mse / curator if theirs else math.nan,
                    "best_l": best.parameters.get("hash_values", values),
                    "best_eps0": best.eps0.lower,
                    "best_error": best.error.mse / curator,
                }
            )
    return pd.DataFrame(rows)


def calibrations_page(frame: pd.DataFrame) -> Page:
    first = frame.iloc[0]
    return Page.of(
        frame,
        [
            (r"target $\varepsilon$", "{eps:g}"),
            ("", "{mechanism}"),
            ("$l$", _if_calibrated("{l:g}".format_map)),
            (r"$\varepsilon_0$", _if_calibrated("{eps0:.5g}".format_map)),
            (
                r"certified $\varepsilon$",
                _if_calibrated(lambda row: outward(row["certified"], up=True)),
            ),
            ("error", _if_calibrated(lambda row: three_digits(row["error"]))),
            ("best $l$", "{best_l:g}"),
            (r"its $\varepsilon_0$", lambda row: outward(row["best_eps0"], up=False)),
            ("error", lambda row: three_digits(row["best_error"])),
        ],
        title="SOLH and randomized response: by the authors' theorem, and certified",
        above=f"{first['values']} values, $n$ = {first['n']}, $\\delta$ = {first['delta']:g}. On "
        "the left the authors' number $l$ of hash values and $\\varepsilon_0$, the "
        "$\\varepsilon$ that is certified for them, and their total squared error over that of a "
        "trusted curator, who adds geometric or Gaussian noise to every count, whichever is "
        "better; on the right the best $l$, and the largest $\\varepsilon_0$ that is "
        "certified.",
    )


def _if_calibrated(cell: Callable[[Row], str]) -> Callable[[Row], str]:
    """Return the cell of a row in which the authors have an ε₀."""
    return lambda row: "none" if math.isnan(row["error"]) else cell(row)


def calibrations_sheet(frame: pd.DataFrame, title: str) -> Sheet:
    lines = []
    for (mechanism, column), (label, bound, name) in LINES.items():
        rows = frame[frame["mechanism"] == mechanism]
        # A file has no number where the authors have no ε₀.
        x, y = (pd.to_numeric(rows[key], errors="coerce").to_numpy() for key in ("eps", column))
        lines.append((Line(label, line_look(bound, name)), Drawn.line(x, y)))
    first = frame.iloc[0]
    view = PanelView(
        title=[
            f"$k$ = {first['values']}",
            f"$n$ = {number(first['n'])}",
            f"δ = {number(first['delta'])}",
        ],
        lines=lines,
        y_label="squared error / curator's",
        y_log=True,
    )
    return Sheet(title, [[view]], r"target $\varepsilon$", "ε", "error over a curator's")


CODE = {Calibrations: TableCode(calibrations_table, calibrations_page, calibrations_sheet)}
