"""What the claims of this paper speak of, enclosed at every point of its curves.

A table of points has the columns ``mechanism``, ``regime``, ``eps0`` (empty for protocols without),
``n``, ``detail`` and ``low``, ``high``, which enclose the quantity. Two curves are compared where
both have a point, so the table is empty where nothing can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from shufflebounds.papers.claims import Evidence

# What was known of one message before, as the paper draws it.
BASELINES = ("erlingsson", "blanket_best_generic", "blanket_best", "clone", "stronger_clone")

POINT = ["mechanism", "regime", "eps0", "target", "n"]


def saved(evidence: Evidence, bound: str, *others: str, detail: str = "") -> pd.DataFrame:
    """By how much a bound's ε is below the least of others' on the same mechanism: 1 − ε/least."""
    curves = evidence.curves
    least = _least([_ends(curves, other) for other in others])
    return _points(_ends(curves, bound), least, detail)


def saved_of_target(evidence: Evidence, bound: str) -> pd.DataFrame:
    """By how much a bound's ε is below what the protocol was designed for: 1 − ε/ε′.

    Where no bound at all has an enclosure there is no protocol that was designed for so little.
    """
    curves = evidence.curves[evidence.curves["target"].notna()]
    known = curves.groupby(POINT, dropna=False)["epsilon_upper"].transform("count") > 0
    ends = _ends(curves[known], bound)
    target = ends.index.get_level_values("target").to_numpy(dtype=float)
    designed = pd.DataFrame({"low": target, "high": target}, index=ends.index)
    return _points(ends, designed, "")


def apart(evidence: Evidence, bound: str, other: str) -> pd.DataFrame:
    """How far a bound's ε is from another's: |ε/other − 1|."""
    one, two = _ends(evidence.curves, bound), _ends(evidence.curves, other)
    excess, lack = _points(one, two, ""), _points(two, one, "")
    joined = excess.merge(lack, on=[*POINT[:3], "n", "detail"], suffixes=("", "_other"))
    low = joined[["low", "low_other"]].max(axis="columns")
    high = joined[["high", "high_other"]].max(axis="columns")
    # Of two enclosures that overlap the distance may be 0.
    return joined[[*POINT[:3], "n", "detail"]].assign(low=low.clip(lower=0.0), high=high)


def saved_of_separate(evidence: Evidence) -> pd.DataFrame:
    """By how much sampled levels are below separate ones: 1 − ε/ε(separate), best and worst."""
    curves = evidence.curves
    found = []
    sampled = [m for m in evidence.mechanisms if _type(evidence, m) == "hierarchical_histogram"]
    for mine in sampled:
        size = _parameter(evidence, mine, "domain_size")
        for theirs in evidence.mechanisms:
            if _type(evidence, theirs) != "separate_histograms":
                continue
            if _parameter(evidence, theirs, "domain_size") == size:
                nodes = _parameter(evidence, theirs, "nodes")
                separate = curves[curves["mechanism"] == theirs].assign(mechanism=mine)
                own = curves[curves["mechanism"] == mine]
                detail = f"against the level of {nodes} nodes"
                ours = _ends(own, "variation_ratio")
                found.append(_points(ours, _ends(separate, "upper"), detail))
    return pd.concat(found) if found else _points(_ends(curves, ""), _ends(curves, ""), "")


def extremal(evidence: Evidence) -> Evidence:
    """The points that the paper calls exactly tight: local hash with l ≥ 3, k-subset with k ≤ 2."""
    curves = evidence.curves
    values = np.floor(np.exp(curves["eps0"].to_numpy(dtype=float))) + 1.0
    keep = np.zeros(len(curves), dtype=bool)
    for name in evidence.mechanisms:
        mine = (curves["mechanism"] == name).to_numpy()
        if _type(evidence, name) == "local_hash":
            keep |= mine & (values >= 3.0)
        elif _type(evidence, name) == "subset":
            size = _parameter(evidence, name, "domain_size")
            keep |= mine & (np.ceil(size / np.exp(curves["eps0"].to_numpy(dtype=float))) <= 2.0)
    return Evidence(curves[keep], evidence.mechanisms)


def _type(evidence: Evidence, name: str) -> Any:
    return evidence.mechanisms[name].plain().get("type")


def _parameter(evidence: Evidence, name: str, parameter: str) -> Any:
    return evidence.mechanisms[name].plain()[parameter]


def _ends(curves: pd.DataFrame, bound: str) -> pd.DataFrame:
    """`low` and `high` of ε of one bound, indexed by `POINT`."""
    rows = curves[curves["bound"] == bound].drop_duplicates(POINT)
    ends = rows.set_index(POINT)[["epsilon_lower", "epsilon_upper"]]
    return ends.set_axis(["low", "high"], axis="columns")


def _least(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables).groupby(level=POINT, dropna=False).min()


def _points(ours: pd.DataFrame, theirs: pd.DataFrame, detail: str) -> pd.DataFrame:
    """1 − ours/theirs at the points of both; nothing is known where either is empty."""
    pairs = ours.reset_index().merge(theirs.reset_index(), on=POINT, suffixes=("", "_theirs"))
    pairs = pairs[pairs["low_theirs"] > 0.0]
    low = 1.0 - pairs["high"] / pairs["low_theirs"]
    high = 1.0 - pairs["low"] / pairs["high_theirs"]
    target = pairs["target"].map(lambda value: "" if np.isnan(value) else f"ε′ = {value:.3g}")
    told = target.map(lambda text: ", ".join(filter(None, (text, detail))))
    found = pairs[["mechanism", "regime", "eps0", "n"]].assign(detail=told, low=low, high=high)
    return found.fillna({"low": -np.inf, "high": np.inf})
