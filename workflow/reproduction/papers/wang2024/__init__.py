"""Wang et al., "Privacy Amplification via Shuffling: Unified, Simplified, and Tightened".

PVLDB 17(8), 2024: its Tables 1 to 5 and its claims. Everything else of the paper is in the library
and in config/wang2024.yaml.
"""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le

from reproduction.configuration.models import Delta, Eps0, Listed, Users
from reproduction.papers.base import TableKind


class Asymptotics(TableKind):
    """Table 1."""

    title = "Table 1: asymptotic forms, measured"

    eps0: Listed[Eps0]
    """Values of ε₀, natural logarithms."""
    n: Listed[Users]
    """Numbers of users."""
    delta: Delta
    """δ: a number, or {over_n: c} for c/n."""


class Mechanisms(TableKind):
    """Tables 2 and 3."""

    title = "Table 2: variations of mechanisms, measured on their matrices"

    eps0: Eps0
    """ε₀, or the distance of two inputs under metric privacy."""


class Metric(Mechanisms):
    """Table 3."""

    title = "Table 3: variations under metric privacy, measured"


class Protocols(TableKind):
    """Table 4; its protocols have no parameters in common."""

    title = "Table 4: parameters of protocols, measured on their messages"


class Timed(TableKind):
    """Table 5."""

    title = "Table 5: the general pair, certified and timed"
    uses_numerics = True

    eps0: Listed[Eps0]
    """Values of ε₀, natural logarithms."""
    n: Listed[Users]
    """Numbers of users."""
    delta: Delta
    """δ: a number, or {over_n: c} for c/n."""
    iterations: Listed[Annotated[int, Ge(1), Le(60)]]
    """Numbers of bisections of the paper's own algorithm."""


TABLES = {
    "asymptotics": Asymptotics,
    "mechanisms": Mechanisms,
    "metric": Metric,
    "protocols": Protocols,
    "timed": Timed,
}
