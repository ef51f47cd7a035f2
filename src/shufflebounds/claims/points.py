"""From curves to points: what a claim speaks of, enclosed at every point of the grid.

A table of points has the columns ``mechanism``, ``eps0``, ``n``, ``detail`` (which comparison,
where a grid point has several, else "") and ``low``, ``high``, which enclose the quantity. Two
curves are compared where both have a row, so the table is empty where nothing can be compared.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

# The baselines that the paper draws.
BASELINES = ("blanket_hoeffding", "blanket_bennett", "clone")

GRID = ["mechanism", "eps0", "delta", "n"]

PARALLEL, SUBSAMPLE = "parallel(", "subsample("
RAPPOR = re.compile(r"rappor\(domain_size=(\d+)\)")
UNBOUNDED_RAPPOR = ("rappor", "rappor(domain_size=None)")


def below_baselines(curves: pd.DataFrame) -> pd.DataFrame:
    """By how much the upper bound's ε is below the least baseline's: 1 − upper / least.

    A baseline that proves nothing counts as it is, at ε₀.
    """
    single = _single(curves)
    least = _extreme([_enclosures(single, bound) for bound in BASELINES], "min")
    return _points(_deficit(_enclosures(single, "upper"), least))


def above_lower(curves: pd.DataFrame) -> pd.DataFrame:
    """By how much the upper bound's ε exceeds the lower bound's: upper / lower − 1."""
    single = _single(curves)
    ratio = _ratio(_enclosures(single, "upper"), _enclosures(single, "lower"))
    return _points(ratio - 1.0)


def subsampled_above_lower(curves: pd.DataFrame) -> pd.DataFrame:
    """`above_lower` of the mechanisms whose users are sampled first."""
    return above_lower(curves[curves["mechanism"].str.startswith(SUBSAMPLE)])


def bennett_below_clone(curves: pd.DataFrame) -> pd.DataFrame:
    """By how much Bennett's ε for the mechanism is below the clone's: 1 − Bennett / clone."""
    single = _single(curves)
    bennett, clone = (_enclosures(single, bound) for bound in ("blanket_bennett", "clone"))
    return _points(_deficit(bennett, clone))


def fall_with_k(curves: pd.DataFrame) -> pd.DataFrame:
    """By how much ε falls from one number k of joint reports to the next: 1 − next / previous.

    Where there are curves for several Hamming distances the largest counts.
    """
    now = _enclosures(curves, "upper", "k_joint").reset_index("k_joint")
    before = now.groupby(level=GRID).shift()
    steps = zip(before["k_joint"], now["k_joint"], strict=True)
    detail = [f"from k = {old:.0f} to {new:.0f}" for old, new in steps]
    now, before = (
        ends.assign(detail=detail).set_index("detail", append=True)[["low", "high"]]
        for ends in (now, before)
    )
    return _points(_deficit(now, before.dropna()))


def between_parts(curves: pd.DataFrame) -> pd.DataFrame:
    """How far inside its parts a parallel mix is: the less of 1 − mix/largest, 1 − least/mix.

    Negative where the mix is outside. Parts are found by their descriptions within the mix's own.
    """
    upper = _enclosures(_single(curves), "upper")
    tables = []
    for mechanism in upper.index.unique("mechanism"):
        if mechanism.startswith(PARALLEL):
            mix = _of(upper, mechanism, mechanism)
            parts = [_of(upper, part, mechanism) for part in _parts(mechanism)]
            below = _deficit(mix, _extreme(parts, "max"))
            above = _deficit(_extreme(parts, "min"), mix)
            tables.append(_extreme([below, above], "min"))
    return _points(pd.concat([upper.iloc[:0], *tables]))


def domain_matters(curves: pd.DataFrame) -> pd.DataFrame:
    """How far RAPPOR's ε for a domain of D ≥ 5 values is from that for D = ∞: |ε_D / ε_∞ − 1|."""
    upper = _enclosures(_single(curves), "upper")
    mechanisms = upper.index.unique("mechanism")
    tables = []
    for mechanism in mechanisms:
        size = RAPPOR.fullmatch(mechanism)
        if size and int(size[1]) >= 5:
            for unbounded in mechanisms.intersection(UNBOUNDED_RAPPOR):
                finite, infinite = (_of(upper, m, mechanism) for m in (mechanism, unbounded))
                ratio = _ratio(finite, infinite)
                tables.append(_extreme([ratio - 1.0, _one_minus(ratio)], "max"))
    return _points(pd.concat([upper.iloc[:0], *tables]))


def below_full_distance(curves: pd.DataFrame) -> pd.DataFrame:
    """By how much ε for inputs at Hamming distance d < k is below that at k: 1 − ε_d / ε_k."""
    several = curves[curves["k_joint"] > 1]
    full = _enclosures(several[several["distance"] == several["k_joint"]], "upper", "k_joint")
    fewer = several[several["distance"] < several["k_joint"]]
    detail = [
        f"distance {d:.0f} of {k}" for d, k in zip(fewer.distance, fewer.k_joint, strict=True)
    ]
    partial = _enclosures(fewer.assign(detail=detail), "upper", "k_joint", "detail")
    return _points(_deficit(partial, full))


def _single(curves: pd.DataFrame) -> pd.DataFrame:
    return curves[curves["k_joint"] == 1]


def _enclosures(curves: pd.DataFrame, bound: str, *also: str) -> pd.DataFrame:
    """`low` and `high` of ε of one bound, indexed by `GRID` and the columns `also`.

    Of several rows the largest counts: upper bounds must cover every pair of inputs, and of lower
    bounds the best is wanted.
    """
    rows = curves[curves["bound"] == bound].groupby([*GRID, *also])
    ends = rows[["epsilon_lower", "epsilon_upper"]].max()
    return ends.set_axis(["low", "high"], axis="columns")


def _of(ends: pd.DataFrame, mechanism: str, name: str) -> pd.DataFrame:
    """The rows of one mechanism, under another's name, so that the two can be compared."""
    rows = ends[ends.index.get_level_values("mechanism") == mechanism]
    return rows.rename(index={mechanism: name}, level="mechanism")


def _extreme(tables: list[pd.DataFrame], which: str) -> pd.DataFrame:
    """Enclosure of the least ("min") or largest ("max") of several, where all have a row."""
    ends = {
        end: pd.concat([table[end] for table in tables], axis="columns", join="inner")
        for end in ("low", "high")
    }
    return pd.DataFrame({end: columns.agg(which, axis="columns") for end, columns in ends.items()})


def _ratio(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Enclosure of ours / theirs where both have a row; a divisor of 0 leaves that end open."""
    pairs = ours.join(theirs.add_suffix("_theirs"), how="inner")
    low, high, low_theirs, high_theirs = (
        pairs[end].to_numpy(dtype=float) for end in ("low", "high", "low_theirs", "high_theirs")
    )
    return pd.DataFrame(
        {
            "low": np.divide(low, high_theirs, out=np.zeros_like(low), where=high_theirs > 0.0),
            "high": np.divide(
                high, low_theirs, out=np.full_like(high, np.inf), where=low_theirs > 0.0
            ),
        },
        index=pairs.index,
    )


def _one_minus(ends: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"low": 1.0 - ends["high"], "high": 1.0 - ends["low"]})


def _deficit(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    return _one_minus(_ratio(ours, theirs))


def _parts(mechanism: str) -> list[str]:
    """``parallel(0.5 krr(k=10), 0.5 blh)`` has the parts ``krr(k=10)`` and ``blh``."""
    parts, depth = [""], 0
    for character in mechanism[len(PARALLEL) : -1]:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip().partition(" ")[2] for part in parts]


def _points(ends: pd.DataFrame) -> pd.DataFrame:
    points = ends.sort_index().reset_index()
    if "detail" not in points:
        points["detail"] = ""
    return points[["mechanism", "eps0", "n", "detail", "low", "high"]]
