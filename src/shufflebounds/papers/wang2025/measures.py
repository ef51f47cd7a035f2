"""What the claims of this paper speak of, enclosed at every point of the curves.

A table of points has the columns ``mechanism``, ``eps0``, ``n``, ``detail`` (the number of rounds
or messages) and ``low``, ``high``, which enclose the quantity, as `judging` wants them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shufflebounds.papers.claims import Evidence

_GRID = ["mechanism", "eps0", "n", "rounds", "messages"]


def below(evidence: Evidence, bound: str, others: tuple[str, ...]) -> pd.DataFrame:
    """By how much the ε of a bound is below the least of `others`: 1 − ours / least."""
    ours = _enclosures(evidence.curves, bound)
    least: pd.DataFrame | None = None
    for other in others:
        found = _enclosures(evidence.curves, other)
        if least is not None:
            pairs = least.join(found.add_suffix("_other"), how="inner")
            found = pd.DataFrame(
                {end: np.minimum(pairs[end], pairs[f"{end}_other"]) for end in ("low", "high")}
            )
        least = found
    assert least is not None
    both = ours.join(least.add_suffix("_least"), how="inner").dropna()
    saved = pd.DataFrame(
        {
            "low": 1.0 - both["high"] / both["low_least"],
            "high": 1.0 - both["low"] / both["high_least"],
        }
    ).reset_index()
    saved["eps0"] = saved["eps0"].where(saved["eps0"] > 0.0)
    saved["n"] = saved["n"].astype(int)
    saved["detail"] = [_detail(point) for _, point in saved.iterrows()]
    return saved[["mechanism", "eps0", "n", "detail", "low", "high"]]


def _enclosures(curves: pd.DataFrame, bound: str) -> pd.DataFrame:
    """`low` and `high` of ε of one bound; what a curve leaves open is 0."""
    rows = curves[curves["bound"] == bound]
    index = [
        pd.to_numeric(rows[name], errors="coerce").fillna(0.0)
        if name != "mechanism"
        else rows[name]
        for name in _GRID
    ]
    ends = pd.DataFrame(
        {
            "low": rows["epsilon_lower"].to_numpy(float),
            "high": rows["epsilon_upper"].to_numpy(float),
        },
        index=pd.MultiIndex.from_arrays(index, names=_GRID),
    )
    return ends


def _detail(point: pd.Series) -> str:
    if point["rounds"]:
        return f"T = {point['rounds']:.0f}"
    return f"m = {point['messages']:.0f}"
