"""Quantities that claims are about, enclosed at every point of computed curves.

A table of points has the columns `COLUMNS`. A quantity compares curves at the points that all of
them have, so that a table without common points is empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

# Texts and numbers that together tell a point from all others. A curve has 0 for a number that it
# does not set.
TEXTS = ("mechanism", "regime")
NUMBERS = ("k_joint", "eps0", "delta", "n", "target", "order", "rounds", "messages")
POINT = (*TEXTS, *NUMBERS)

# The columns of a table of points: where a point lies, with ``eps0`` empty for protocols without ε₀
# and ``detail`` for all other settings in words, and the two ends that enclose its quantity.
COLUMNS = ("mechanism", "regime", "eps0", "n", "detail", "low", "high")

# How ``detail`` words the settings that a curve may have.
DETAILS = {
    "target": "ε′ = {:.3g}",
    "order": "λ = {:.4g}",
    "rounds": "T = {:.0f}",
    "messages": "m = {:.0f}",
}


@dataclass(frozen=True)
class Evidence:
    """Tables of curves below each other, and the mechanisms that their ``mechanism`` names."""

    curves: pd.DataFrame
    mechanisms: Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """A bound beside the least of others, at every point where all of them have a value.

    ``saves`` says which share is measured: 1 − bound / least, or bound / least − 1. ``others`` may
    name ``target``, the ε′ that a protocol is designed for. ``where`` is a query of pandas that
    selects rows of curves.
    """

    bound: str
    others: tuple[str, ...]
    saves: bool
    quantity: str = "epsilon"
    where: str = ""

    @property
    def words(self) -> str:
        """The formula, as Markdown."""
        symbol = {"epsilon": "ε", "renyi": "D_λ", "mse": "error"}[self.quantity]
        ours, *others = (
            "ε′" if name == "target" else f"{symbol}(`{name}`)"
            for name in (self.bound, *self.others)
        )
        least = others[0] if len(others) == 1 else f"the least of {', '.join(others)}"
        formula = f"1 − {ours} / {least}" if self.saves else f"{ours} / {least} − 1"
        return f"{formula}, where `{self.where}`" if self.where else formula

    def points(self, evidence: Evidence) -> pd.DataFrame:
        """Return the share at every common point."""
        curves = _of_protocols(evidence.curves)
        curves = curves.query(self.where) if self.where else curves
        ours = enclosures(curves, self.bound, quantity=self.quantity)
        theirs = smallest(
            [enclosures(curves, name, quantity=self.quantity) for name in self.others]
        )
        return point_table(saving(ours, theirs) if self.saves else excess(ours, theirs))


def enclosures(
    curves: pd.DataFrame, bound: str, detail: str = "", quantity: str = "epsilon"
) -> pd.DataFrame:
    """Return ``low`` and ``high`` of a bound, indexed by `POINT` and a column of details, if named.

    The largest of several rows counts: an upper bound must cover every pair of inputs, and the
    best lower bound is wanted. It is unknown if one of them is.
    """
    rows = curves[curves["bound"] == bound] if bound != "target" else _targets(curves)
    if "quantity" in rows:
        rows = rows[rows["quantity"] == quantity]
    index = [*POINT, *filter(None, [detail])]
    ends = [f"{quantity}_lower", f"{quantity}_upper"]
    rows = rows.reindex(columns=[*index, *ends]).rename(
        columns=dict(zip(ends, ["low", "high"], strict=True))
    )
    rows = rows.astype({"regime": object}).fillna({"regime": ""})
    numbers = rows[list(NUMBERS)].apply(pd.to_numeric, errors="coerce").fillna(0.0)
    rows = rows.assign(**numbers)
    return rows.groupby(index)[["low", "high"]].max(skipna=False).astype(float)


def _of_protocols(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the curves without the targets ε′ that no protocol meets.

    There, no bound has a value.
    """
    if "target" not in curves or "epsilon_upper" not in curves:
        return curves
    points = [name for name in POINT if name in curves]
    values = curves.groupby(points, dropna=False)["epsilon_upper"].transform("count")
    return curves[curves["target"].isna() | (values > 0)]


def _targets(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have a target ε′, which is their ε."""
    rows = curves[curves["target"].notna()]
    return rows.assign(epsilon_lower=rows["target"], epsilon_upper=rows["target"])


def ratio(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return ours / theirs where both have a row; a divisor of 0 leaves that end open."""
    pairs = ours.join(theirs.add_suffix("_theirs"), how="inner")
    divisors = pairs[["high_theirs", "low_theirs"]].where(lambda ends: ends != 0.0)
    # An unknown divisor leaves an unknown ratio.
    low = (pairs["low"] / divisors["high_theirs"]).where(pairs["high_theirs"] != 0.0, 0.0)
    high = (pairs["high"] / divisors["low_theirs"]).where(pairs["low_theirs"] != 0.0, np.inf)
    return pd.DataFrame({"low": low, "high": high})


def one_minus(ends: pd.DataFrame) -> pd.DataFrame:
    """Return 1 − a quantity."""
    return pd.DataFrame({"low": 1.0 - ends["high"], "high": 1.0 - ends["low"]})


def saving(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return the share by which ours is below theirs: 1 − ours / theirs."""
    return one_minus(ratio(ours, theirs))


def excess(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return the share by which ours is above theirs: ours / theirs − 1."""
    return ratio(ours, theirs) - 1.0


def smallest(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the least of several enclosed quantities where all have a row; unknown if one is."""
    return _extreme(tables, "min")


def largest(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the largest of several enclosed quantities where all have a row; unknown if one is."""
    return _extreme(tables, "max")


def _extreme(tables: Sequence[pd.DataFrame], which: str) -> pd.DataFrame:
    ends = {
        end: pd.concat([table[end] for table in tables], axis="columns", join="inner")
        for end in ("low", "high")
    }
    return pd.DataFrame(
        {end: columns.agg(which, axis="columns", skipna=False) for end, columns in ends.items()}
    )


def renamed(ends: pd.DataFrame, mechanism: str, name: str) -> pd.DataFrame:
    """Return the rows of one mechanism under another's name, so that the two can be compared."""
    rows = ends[ends.index.get_level_values("mechanism") == mechanism]
    return rows.rename(index={mechanism: name}, level="mechanism")


def point_table(ends: pd.DataFrame) -> pd.DataFrame:
    """Return points, in the order of their index, with open ends where nothing is known."""
    points = ends.sort_index().reset_index()
    points = points.fillna({"low": -np.inf, "high": np.inf})
    points["eps0"] = points["eps0"].where(points["eps0"] > 0.0)
    points["n"] = points["n"].astype(int)
    if "detail" not in points:
        points["detail"] = [_detail(point) for point in points.to_dict("records")]
    return points[list(COLUMNS)]


def _detail(point: Mapping[str, Any]) -> str:
    return ", ".join(text.format(point[key]) for key, text in DETAILS.items() if point.get(key))
