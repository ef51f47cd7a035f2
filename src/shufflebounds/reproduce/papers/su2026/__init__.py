"""Su, Cheng and Wang, "Decomposition-Based Optimal Bounds for Privacy Amplification via Shuffling".

arXiv 2504.07414, IEEE S&P 2026: its Tables 1 to 3, its Figure 1 as a measurement, the law of
Figure 8, and its claims. Everything else of the paper is in the library and in config/su2026.yaml.
"""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt
from pydantic import model_validator
from pydantic_core import PydanticCustomError

from shufflebounds.core.setting import Setting
from shufflebounds.reproduce.configuration.models import Delta, Eps, Eps0, Finite, Listed, Users
from shufflebounds.reproduce.papers.base import TableKind

Size = Annotated[int, Ge(2), Le(1_000_000)]


class Gparv(TableKind):
    """Table 1."""

    title = "Table 1: the law of the GPARV, regenerated from the mechanisms"
    code = f"{__name__}.tables:GPARV"

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


class FiniteDomains(TableKind):
    """Table 2."""

    title = "Table 2: optimal decompositions at a finite size of the domain"
    code = f"{__name__}.tables:FINITE"

    eps0: Listed[Eps0]
    """Values of ε₀, natural logarithms."""
    k: Size
    """Number of values of k-RR."""
    domain_size: Size
    """Size D of the domain of the others."""


class LargeDomains(TableKind):
    """Table 3."""

    title = "Table 3: optimal decompositions in the limit of large domains"
    code = f"{__name__}.tables:LIMIT"

    eps0: Listed[Eps0]
    """Values of ε₀, natural logarithms."""


class Hierarchy(TableKind):
    """Figure 1, measured."""

    title = (
        "Figure 1 as a measurement: the clone, the stronger clone, the clone that knows which "
        "randomizer, the blanket, the lower bound"
    )
    code = f"{__name__}.tables:HIERARCHY"
    uses_numerics = True
    is_drawn = True

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


class AmplificationVariable(TableKind):
    """The law of the privacy amplification random variable."""

    title = "The law of the privacy amplification random variable"
    code = f"{__name__}.tables:LAW"
    is_drawn = True

    mechanism: str
    """A name from `mechanisms`."""
    eps0: Eps0
    """ε₀ of a user's whole report, a natural logarithm."""
    eps: Eps
    """ε, a natural logarithm."""


class AlgorithmSeven(TableKind):
    """Algorithm 7 at the printed step, against the certified bounds."""

    title = "Algorithm 7 at the printed step: ε, certified and by the paper's algorithm"
    code = f"{__name__}.algorithm7:TABLE"
    is_drawn = True

    mechanisms: Listed[str]
    """Names from `mechanisms`."""
    eps0: Listed[Eps0]
    """Values of ε₀, natural logarithms."""
    n: Listed[Users]
    """Numbers of users."""
    delta: Annotated[Finite, Gt(0), Lt(1)]
    """δ."""
