"""Which mechanism to deploy (docs/accuracy.md): maps of the one with the least error.

Everything else is in the library and in config/accuracy.yaml.
"""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt

from reproduction.configuration.models import Eps0, Finite, Listed, Users
from reproduction.papers.base import TableKind


class BestMechanisms(TableKind):
    """The first of every ranking."""

    title = "The mechanism with the least error"
    is_drawn = True

    values: Listed[Annotated[int, Ge(2), Le(2**53)]]
    """Numbers of values, of which a user holds one: the rows of a map."""
    n: Listed[Users]
    """Numbers of users: its columns."""
    eps: Listed[Annotated[Finite, Gt(0), Le(300)]]
    """Target ε, natural logarithms: a map for each."""
    delta: Annotated[Finite, Gt(0), Lt(1)]
    """Target δ."""
    most_eps0: Eps0 = 300.0
    """The largest ε₀ of a report, a natural logarithm."""
    most_messages: Annotated[int, Ge(1), Le(1_000_000)] = 1
    """The most messages of a user."""


TABLES = {"best_mechanisms": BestMechanisms}
