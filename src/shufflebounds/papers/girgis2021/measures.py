"""What the claims of this paper speak of, enclosed at every point of the curves.

A table of points has the columns ``mechanism``, ``eps0``, ``n``, ``detail`` and ``low``, ``high``,
which enclose the quantity; it is empty where nothing can be compared.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shufflebounds.papers.claims import Evidence

_GRID = ["mechanism", "eps0", "n", "order", "rounds"]


def first_below_second(evidence: Evidence) -> pd.DataFrame:
    """1 − Theorem 3.1 / Theorem 3.3, where not both say nothing, that is, stand at ε₀."""
    one, two = (_ends(evidence, "renyi", name) for name in ("girgis_upper", "girgis_simple"))
    ratio = _ratio(one, two)
    eps0 = ratio.index.get_level_values("eps0")
    idle = (one["low"].reindex(ratio.index) >= eps0) & (two["low"].reindex(ratio.index) >= eps0)
    return _points(_one_minus(ratio[~idle]))


def upper_above_lower(evidence: Evidence) -> pd.DataFrame:
    """Theorem 3.1 / (2e^{ε₀} · Theorem 3.4) − 1, where λ ≥ 2 and λ⁴e^{5ε₀} ≤ n/10."""
    ratio = _ratio(
        _ends(evidence, "renyi", "girgis_upper"), _ends(evidence, "renyi", "girgis_lower")
    )
    eps0, order, n = (ratio.index.get_level_values(name) for name in ("eps0", "order", "n"))
    ratio = ratio.div(2.0 * np.exp(eps0), axis=0) - 1.0
    return _points(ratio[(order >= 2.0) & (order**4 * np.exp(5.0 * eps0) <= 0.1 * n)])


def exact_below_first(evidence: Evidence) -> pd.DataFrame:
    """1 − exact divergence of the clone / Theorem 3.1."""
    return _points(
        _one_minus(
            _ratio(_ends(evidence, "renyi", "clone"), _ends(evidence, "renyi", "girgis_upper"))
        )
    )


def below_advanced(evidence: Evidence) -> pd.DataFrame:
    """1 − ε by Theorem 3.1 / ε by advanced composition of the clone, of several rounds."""
    names = ("girgis_upper", "clone_advanced")
    ratio = _ratio(*(_ends(evidence, "epsilon", name) for name in names))
    return _points(_one_minus(ratio[ratio.index.get_level_values("rounds") > 1]))


def accounting_above_profile(evidence: Evidence) -> pd.DataFrame:
    """ε by exact Rényi accounting / ε of the composed profile − 1, of the same decomposition."""
    pairs = (("clone_renyi", "clone"), ("upper_renyi", "upper"))
    ratios = [_ratio(*(_ends(evidence, "epsilon", name) for name in pair)) for pair in pairs]
    return _points(pd.concat(ratios) - 1.0)


def _ends(evidence: Evidence, quantity: str, bound: str) -> pd.DataFrame:
    """Enclosures of a bound, (low, high) by `_GRID`; what is left open counts as 0."""
    curves = evidence.curves
    chosen = curves[(curves["bound"] == bound) & (curves["quantity"] == quantity)]
    if chosen.empty:
        index = pd.MultiIndex.from_arrays([[]] * len(_GRID), names=_GRID)
        return pd.DataFrame({"low": [], "high": []}, index=index, dtype=float)
    chosen = chosen.fillna({"order": 0.0, "rounds": 0})
    ends = {f"{quantity}_lower": "low", f"{quantity}_upper": "high"}
    return chosen.drop_duplicates(_GRID).set_index(_GRID)[[*ends]].rename(columns=ends)


def _ratio(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Where both have a row."""
    one, other = one.align(other, join="inner", axis=0)
    low, high = one["low"] / other["high"], one["high"] / other["low"]
    return pd.DataFrame({"low": low.fillna(-np.inf), "high": high.fillna(np.inf)})


def _one_minus(ratio: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"low": 1.0 - ratio["high"], "high": 1.0 - ratio["low"]})


def _points(ends: pd.DataFrame) -> pd.DataFrame:
    points = ends.reset_index()
    orders = [f"λ = {order:.4g}" if order else "" for order in points["order"]]
    rounds = [f"T = {count:g}" if count else "" for count in points["rounds"]]
    points["detail"] = [one or other for one, other in zip(orders, rounds, strict=True)]
    return points[["mechanism", "eps0", "n", "detail", "low", "high"]]
