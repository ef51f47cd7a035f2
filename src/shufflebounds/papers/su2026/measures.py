"""What the claims of this paper speak of, enclosed at every point of the grid.

A table of points has the columns ``mechanism``, ``eps0``, ``n``, ``detail`` (which comparison,
where a grid point has several, else "") and ``low``, ``high``, which enclose the quantity. Two
curves are compared where both have a row, so the table is empty where nothing can be compared.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shufflebounds.papers.claims import Evidence
from shufflebounds.randomizers.description import Mechanism, ParallelOf, SubsampleOf

# The baselines that the paper draws.
BASELINES = ("blanket_hoeffding", "blanket_bennett", "clone")

GRID = ["mechanism", "eps0", "delta", "n"]

# Domains from this size on should hardly differ from the limit, says the paper.
LARGE_DOMAIN = 5


def below_baselines(evidence: Evidence) -> pd.DataFrame:
    """By how much the upper bound's ε is below the least baseline's: 1 − upper / least.

    A baseline that proves nothing counts as it is, at ε₀.
    """
    single = _single(evidence)
    least = _extreme([_enclosures(single, bound) for bound in BASELINES], "min")
    return _points(_deficit(_enclosures(single, "upper"), least))


def above_lower(evidence: Evidence) -> pd.DataFrame:
    """By how much the upper bound's ε exceeds the lower bound's: upper / lower − 1."""
    single = _single(evidence)
    ratio = _ratio(_enclosures(single, "upper"), _enclosures(single, "lower"))
    return _points(ratio - 1.0)


def subsampled_above_lower(evidence: Evidence) -> pd.DataFrame:
    """`above_lower` of the mechanisms whose users are sampled first."""
    sampled = [
        name
        for name, mechanism in evidence.mechanisms.items()
        if isinstance(mechanism, SubsampleOf)
    ]
    curves = evidence.curves
    return above_lower(Evidence(curves[curves["mechanism"].isin(sampled)], evidence.mechanisms))


def bennett_below_clone(evidence: Evidence) -> pd.DataFrame:
    """By how much Bennett's ε for the mechanism is below the clone's: 1 − Bennett / clone."""
    single = _single(evidence)
    bennett, clone = (_enclosures(single, bound) for bound in ("blanket_bennett", "clone"))
    return _points(_deficit(bennett, clone))


def fall_with_k(evidence: Evidence) -> pd.DataFrame:
    """By how much ε falls from one number k of joint reports to the next: 1 − next / previous.

    Where there are curves for several Hamming distances the largest counts.
    """
    now = _enclosures(evidence.curves, "upper", "k_joint").reset_index("k_joint")
    before = now.groupby(level=GRID).shift()
    steps = zip(before["k_joint"], now["k_joint"], strict=True)
    detail = [f"from k = {old:.0f} to {new:.0f}" for old, new in steps]
    now, before = (
        ends.assign(detail=detail).set_index("detail", append=True)[["low", "high"]]
        for ends in (now, before)
    )
    return _points(_deficit(now, before.dropna()))


def between_parts(evidence: Evidence) -> pd.DataFrame:
    """How far inside its parts a parallel mix is: the less of 1 − mix/largest, 1 − least/mix.

    Negative where the mix is outside.
    """
    upper = _enclosures(_single(evidence), "upper")
    tables = []
    for mix in upper.index.unique("mechanism"):
        mechanism = evidence.mechanisms[mix]
        if isinstance(mechanism, ParallelOf) and all(part.share == 1 for part in mechanism.parts):
            whole = _of(upper, mix, mix)
            parts = [_of(upper, str(part.mechanism), mix) for part in mechanism.parts]
            below = _deficit(whole, _extreme(parts, "max"))
            above = _deficit(_extreme(parts, "min"), whole)
            tables.append(_extreme([below, above], "min"))
    return _points(pd.concat([upper.iloc[:0], *tables]))


def domain_matters(evidence: Evidence) -> pd.DataFrame:
    """How far RAPPOR's ε for a domain of D ≥ 5 values is from that for D = ∞: |ε_D / ε_∞ − 1|."""
    upper = _enclosures(_single(evidence), "upper")
    sizes = {
        name: dict(mechanism.parameters).get("domain_size")
        for name in upper.index.unique("mechanism")
        if isinstance(mechanism := evidence.mechanisms[name], Mechanism)
        and mechanism.type == "rappor"
    }
    unbounded = [name for name, size in sizes.items() if size is None]
    tables = []
    for name, size in sizes.items():
        if size is not None and size >= LARGE_DOMAIN:
            for limit in unbounded:
                ratio = _ratio(_of(upper, name, name), _of(upper, limit, name))
                tables.append(_extreme([ratio - 1.0, _one_minus(ratio)], "max"))
    return _points(pd.concat([upper.iloc[:0], *tables]))


def below_full_distance(evidence: Evidence) -> pd.DataFrame:
    """By how much ε for inputs at Hamming distance d < k is below that at k: 1 − ε_d / ε_k."""
    curves = evidence.curves
    several = curves[curves["k_joint"] > 1]
    full = _enclosures(several[several["distance"] == several["k_joint"]], "upper", "k_joint")
    fewer = several[several["distance"] < several["k_joint"]]
    detail = [
        f"distance {d:.0f} of {k}" for d, k in zip(fewer.distance, fewer.k_joint, strict=True)
    ]
    partial = _enclosures(fewer.assign(detail=detail), "upper", "k_joint", "detail")
    return _points(_deficit(partial, full))


def _single(evidence: Evidence) -> pd.DataFrame:
    return evidence.curves[evidence.curves["k_joint"] == 1]


def _enclosures(curves: pd.DataFrame, bound: str, *also: str) -> pd.DataFrame:
    """`low` and `high` of ε of one bound, indexed by `GRID` and the columns `also`.

    Of several rows the largest counts: upper bounds must cover every pair of inputs, and of lower
    bounds the best is wanted.
    """
    rows = curves[curves["bound"] == bound].groupby([*GRID, *also])
    # Of rows one of which is empty the largest is not known.
    ends = rows[["epsilon_lower", "epsilon_upper"]].max(skipna=False)
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
    return pd.DataFrame(
        {end: columns.agg(which, axis="columns", skipna=False) for end, columns in ends.items()}
    )


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


def _points(ends: pd.DataFrame) -> pd.DataFrame:
    points = ends.sort_index().reset_index()
    # Of a point without an enclosure nothing is known.
    points["low"], points["high"] = points["low"].fillna(-np.inf), points["high"].fillna(np.inf)
    if "detail" not in points:
        points["detail"] = ""
    return points[["mechanism", "eps0", "n", "detail", "low", "high"]]
