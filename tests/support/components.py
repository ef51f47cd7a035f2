"""Decompositions by their ratios a : b : c, to compare them with what definitions say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from shufflebounds import Decomposition

Masses = dict[tuple[float, ...], list[Any]]


def by_ratio(a: Iterable[Any], b: Iterable[Any], c: Iterable[Any], least: float = 0.0) -> Masses:
    """Sums by log a/c and log b/c to nine digits; where a and b are at most `least` is left out."""
    found: Masses = {}
    for masses, count in Counter(zip(a, b, c, strict=True)).items():
        if max(masses[:2]) > least:
            logs = [math.log(x) if x > 0 else -math.inf for x in map(float, masses)]
            sure = max(logs[2], -1e9)
            key = tuple(round(x - sure, 9) + 0.0 for x in logs[:2])
            known = found.get(key, [0, 0, 0])
            found[key] = [x + count * y for x, y in zip(known, masses, strict=True)]
    return found


def assert_same(
    decomposition: Decomposition,
    a: Iterable[Any],
    b: Iterable[Any],
    c: Iterable[Any],
    err: float = 1e-12,
    least: float = 0.0,
) -> None:
    """Whether all is within `err`, relatively, of these numbers of any type, by ratios."""
    mine = by_ratio(*(getattr(decomposition, name).tolist() for name in "abc"), least)
    its = by_ratio(a, b, c, least)
    assert mine.keys() == its.keys()
    for key, masses in its.items():
        for got, want in zip(mine[key], masses, strict=True):
            assert abs(type(want)(got) - want) <= err * abs(want)
