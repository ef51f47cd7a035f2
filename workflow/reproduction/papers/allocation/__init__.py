"""DP-SGD by how batches are drawn (docs/random-allocation.md).

Random allocation is the sampling of Feldman and Shenfeld (arXiv 2502.08202), which Chua et al.
(arXiv 2412.16802) call balls and bins.
"""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt

from reproduction.configuration.models import Finite, Listed, Users
from reproduction.papers.base import TableKind


class Allocations(TableKind):
    """ε of all settings: random allocation, Poisson sampling, and steps that are known."""

    title = "DP-SGD with random allocation, beside Poisson sampling"
    is_drawn = True

    noise_multiplier: Listed[Annotated[Finite, Ge(0.2), Le(1000)]]
    """Noise multipliers, the axis of a figure if there are several."""
    steps: Listed[Users]
    """Numbers of steps of an epoch, the axis of a figure if there is one noise multiplier."""
    epochs: Listed[Annotated[int, Ge(1), Le(1_000_000)]]
    """Numbers of epochs: a panel for each."""
    delta: Annotated[Finite, Gt(0), Lt(1)]
    """Target δ."""


class BatchSchemes(TableKind):
    """ε of one epoch of the same number of steps and expected batch, by how batches are drawn."""

    title = "DP-SGD by how batches are drawn"
    is_drawn = True

    noise_multiplier: Listed[Annotated[Finite, Ge(0.2), Le(1000)]]
    """Noise multipliers, the axis of the figure."""
    steps: Users
    """Number of steps of an epoch."""
    neighbours: Listed[Literal["replace", "zero-out"]]
    """How neighbouring datasets differ by one example: a panel for each."""
    delta: Annotated[Finite, Gt(0), Lt(1)]
    """Target δ."""


TABLES = {"allocations": Allocations, "batch_schemes": BatchSchemes}
