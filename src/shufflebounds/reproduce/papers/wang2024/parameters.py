"""Parameters of the tables of this paper."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le

from shufflebounds.reproduce.configuration.models import Delta, Eps0, Listed, Users
from shufflebounds.reproduce.papers.base import Parameters


class Asymptotics(Parameters):
    """Table 1."""

    eps0: Listed[Eps0]
    """Values of ε₀, natural logarithms."""
    n: Listed[Users]
    """Numbers of users."""
    delta: Delta
    """δ: a number, or {over_n: c} for c/n."""


class Mechanisms(Parameters):
    """Tables 2 and 3."""

    eps0: Eps0
    """ε₀, or the distance of two inputs under metric privacy."""


class Protocols(Parameters):
    """Table 4; its protocols have no parameters in common."""


class Timed(Parameters):
    """Table 5."""

    eps0: Listed[Eps0]
    """Values of ε₀, natural logarithms."""
    n: Listed[Users]
    """Numbers of users."""
    delta: Delta
    """δ: a number, or {over_n: c} for c/n."""
    iterations: Annotated[int, Ge(1), Le(60)]
    """Bisections of the paper's own algorithm."""
