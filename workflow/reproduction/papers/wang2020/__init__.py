"""Wang et al., "Improving Utility and Security of the Shuffler-based Differential Privacy".

PVLDB 13, 2020 (arXiv 1908.11515): local hashing whose values are as many as shuffling wants (SOLH),
beside randomized response (GRR). Errors at certified ε are in config/wang2020.yaml.
"""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt

from reproduction.configuration.models import Finite, Listed, Users
from reproduction.papers.base import TableKind


class Calibrations(TableKind):
    """Errors at the authors' ε₀ and at the largest one that meets the target."""

    title = "SOLH and randomized response, calibrated by their authors' theorem and certified"
    is_drawn = True

    values: Annotated[int, Ge(2), Le(2**53)]
    """Number of values, of which a user holds one."""
    n: Users
    """Number of users."""
    eps: Listed[Annotated[Finite, Gt(0), Le(1)]]
    """Target ε, natural logarithms, up to 1."""
    delta: Annotated[Finite, Gt(0), Lt(1)]
    """Target δ."""


TABLES = {"calibrations": Calibrations}
