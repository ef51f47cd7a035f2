"""Randomizers written down as plain mappings, the way a configuration holds them.

A description has a ``type``: the name of a mechanism, with its parameters other than ε₀ beside it,
or one of the compositions

* ``joint``: ``parts``, each with a ``mechanism`` (a description) and its ``share`` of ε₀; these
  sum to 1, or are all absent and equal;
* ``parallel``: ``parts``, each with a ``mechanism``, a ``weight`` and a ``share`` (1 if absent), of
  which the largest must be 1;
* ``subsample``: a ``mechanism`` and a ``rate``.

`building` makes randomizers of them.
"""

from __future__ import annotations

from collections.abc import Mapping

COMPOSITIONS = ("joint", "parallel", "subsample")


def text(description: Mapping) -> str:
    """A description in one cell of a table, such as ``parallel(0.5 krr(k=10), 0.5 blh)``."""
    kind = description["type"]
    if kind == "subsample":
        return f"subsample({description['rate']} {text(description['mechanism'])})"
    if kind == "parallel":
        parts = (
            f"{part['weight']} {text(part['mechanism'])}{_at(part.get('share', 1))}"
            for part in description["parts"]
        )
    elif kind == "joint":
        parts = (
            f"{text(part['mechanism'])}{_at(part.get('share', 1))}" for part in description["parts"]
        )
    else:
        parts = (f"{key}={value}" for key, value in description.items() if key != "type")
    listed = ", ".join(parts)
    return f"{kind}({listed})" if listed else kind


def mechanisms(description: Mapping) -> set[str]:
    """Names of the mechanisms that occur in a description."""
    if description["type"] == "subsample":
        return mechanisms(description["mechanism"])
    if description["type"] in COMPOSITIONS:
        return set().union(*(mechanisms(part["mechanism"]) for part in description["parts"]))
    return {description["type"]}


def _at(share: float) -> str:
    return "" if share == 1 else f" at {share} eps0"
