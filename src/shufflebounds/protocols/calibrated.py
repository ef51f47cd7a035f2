"""Histograms by a mechanism at the largest ε₀ that meets a target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from shufflebounds.accounting.accuracy import curator_mse
from shufflebounds.accounting.choosing import Choice, calibrated
from shufflebounds.protocols.base import Candidate, Protocol, SingleMessage


@dataclass(frozen=True)
class Calibrated(Protocol):
    """A mechanism of `values` values at its best parameters, as `accounting.choosing` ranks it.

    ``mechanism`` is its name. It is (``target``, ``delta``)-DP for ``n`` users, who report
    ``attributes`` attributes in one of the ways of `choose`; ``by`` says what ε₀ rests on,
    ``mechanism`` or ``clone``. What decides that is checked when it is asked for, by ValueError.
    """

    target: float
    n: int
    delta: float
    mechanism: str
    values: int
    attributes: int = 1
    way: str = "separate"
    by: str = "mechanism"

    @cached_property
    def choice(self) -> Choice:
        """Parameters, ε₀ and error."""
        return calibrated(
            self.mechanism,
            self.values,
            n=self.n,
            eps=self.target,
            delta=self.delta,
            way=self.way,
            attributes=self.attributes,
            by=self.by,
        )

    @property
    def curator_mse(self) -> float:
        """Of the same histogram by a trusted curator."""
        return curator_mse(self.values, self.n, self.target, self.delta, sums=self.attributes)

    @property
    def eps0(self) -> float | None:  # type: ignore[override]
        """Of one attribute's report."""
        return self.choice.randomizer.eps0

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Of one attribute."""
        return SingleMessage(self.choice.randomizer).upper_candidates()
