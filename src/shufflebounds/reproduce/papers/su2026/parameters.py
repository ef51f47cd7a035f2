"""Parameters of the tables of this paper."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Le
from pydantic import model_validator
from pydantic_core import PydanticCustomError

from shufflebounds.core.setting import Setting
from shufflebounds.reproduce.configuration.models import Delta, Eps, Eps0, Finite, Listed, Users
from shufflebounds.reproduce.papers.base import Parameters

Size = Annotated[int, Ge(2), Le(1_000_000)]


class Gparv(Parameters):
    """Table 1."""

    eps0: Listed[Eps0]
    """Values of ε₀, natural logarithms."""
    eps: Annotated[Finite, Gt(0), Le(300)]
    """ε, a natural logarithm, below every ε₀."""
    k: Size
    """Number of values of k-RR."""

    @model_validator(mode="after")
    def _eps_is_below(self) -> Gparv:
        if self.eps >= min(self.eps0):
            raise PydanticCustomError(
                "sentence",
                "{place}.eps is {eps}; it must be a number < {least}, the least of its eps0",
                {"eps": self.eps, "least": min(self.eps0)},
            )
        return self


class FiniteDomains(Parameters):
    """Table 2."""

    eps0: Listed[Eps0]
    """Values of ε₀, natural logarithms."""
    k: Size
    """Number of values of k-RR."""
    domain_size: Size
    """Size D of the domain of the others."""


class LargeDomains(Parameters):
    """Table 3."""

    eps0: Listed[Eps0]
    """Values of ε₀, natural logarithms."""


class Hierarchy(Parameters):
    """Figure 1, measured."""

    mechanisms: Listed[str]
    """Names from `mechanisms`."""
    eps0: Listed[Eps0]
    """Values of ε₀, natural logarithms."""
    n: Listed[Users]
    """Numbers of users."""
    delta: Delta
    """δ: a number, or {over_n: c} for c/n."""

    @model_validator(mode="after")
    def _delta_is_a_probability(self) -> Hierarchy:
        try:
            for n in self.n:
                Setting(delta=self.delta).at(n=n)
        except ValueError as error:
            raise PydanticCustomError(
                "sentence", "{place}: {error}", {"error": str(error)}
            ) from None
        return self


class AmplificationVariable(Parameters):
    """The law of the privacy amplification random variable."""

    mechanism: str
    """A name from `mechanisms`."""
    eps0: Eps0
    """ε₀ of a user's whole report, a natural logarithm."""
    eps: Eps
    """ε, a natural logarithm."""
