"""Su, Cheng and Wang, "Decomposition-Based Optimal Bounds for Privacy Amplification via Shuffling".

arXiv 2504.07414, IEEE S&P 2026: its Tables 1 to 3, its Figure 1 as a measurement, the law of
Figure 8, and its claims. Everything else of the paper is in the library and in config/su2026.yaml.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, Strict, model_validator
from pydantic_core import PydanticCustomError

from reproduction.configuration.models import Delta, Eps, Eps0, Finite, Listed, Users
from reproduction.papers.base import TableKind
from shufflebounds.core.setting import Setting

Size = Annotated[int, Ge(2), Le(1_000_000)]
# The largest weight, number of inputs or outputs, and number of other users whose laws are computed
# exactly: five inputs and outputs and four other users take 6 s.
Weight = Annotated[int, Ge(1), Le(1_000)]
Weights = Annotated[tuple[Weight, ...], Strict(False), MinLen(2), MaxLen(5)]
Rows = Annotated[tuple[Weights, ...], Strict(False), MinLen(2), MaxLen(5)]
Others = Annotated[tuple[Annotated[int, Ge(0)], ...], Strict(False), MinLen(1), MaxLen(4)]


class Gparv(TableKind):
    """Table 1."""

    title = "Table 1: the law of the GPARV, regenerated from the mechanisms"

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

    eps0: Listed[Eps0]
    """Values of ε₀, natural logarithms."""
    k: Size
    """Number of values of k-RR."""
    domain_size: Size
    """Size D of the domain of the others."""


class LargeDomains(TableKind):
    """Table 3."""

    title = "Table 3: optimal decompositions in the limit of large domains"

    eps0: Listed[Eps0]
    """Values of ε₀, natural logarithms."""


class Hierarchy(TableKind):
    """Figure 1, measured."""

    title = (
        "Figure 1 as a measurement: the clone, the stronger clone, the clone that knows which "
        "randomizer, the blanket, the lower bound"
    )
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


class Arrow(BaseModel):
    """An arrow of the diagram of methods."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    start: str
    """The name of the box with the larger bound."""
    end: str
    """The name of the box with the bound that is no larger."""
    why: str
    """Where that is shown."""
    is_ours: bool = False
    """Whether it is shown here, and not in the paper."""


class Methods(TableKind):
    """Figure 1, the diagram of methods."""

    title = "Figure 1 as a diagram: which bound is no larger than which"
    is_drawn = True

    rows: Annotated[tuple[dict[str, str], ...], Strict(False), MinLen(1)]
    """Rows of boxes from above: the texts of methods by name."""
    arrows: Annotated[tuple[Arrow, ...], Strict(False), MinLen(1)]
    """Arrows from box to box."""

    @model_validator(mode="after")
    def _boxes_are_there(self) -> Methods:
        names = {name for row in self.rows for name in row}
        for arrow in self.arrows:
            for name in (arrow.start, arrow.end):
                if name not in names:
                    raise PydanticCustomError(
                        "sentence",
                        "{place}.arrows names {name}; it must be one of {names}",
                        {"name": name, "names": ", ".join(sorted(names))},
                    )
        return self


class AmplificationVariable(TableKind):
    """The law of the privacy amplification random variable."""

    title = "The law of the privacy amplification random variable"
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
    is_drawn = True

    mechanisms: Listed[str]
    """Names from `mechanisms`."""
    eps0: Listed[Eps0]
    """Values of ε₀, natural logarithms."""
    n: Listed[Users]
    """Numbers of users."""
    delta: Annotated[Finite, Gt(0), Lt(1)]
    """δ."""


class PostProcessing(TableKind):
    """Algorithms 1 to 6, checked exactly."""

    title = "Algorithms 1 to 6: the post-processing maps, checked exactly"

    randomizers: dict[str, Rows]
    """Small randomizers by name: a row of whole numbers for each input, which the masses of its
    outputs are proportional to."""
    others: Others
    """The inputs x₂, …, x_n, counted from 0; the victim's are 0 and 1."""

    @model_validator(mode="after")
    def _rows_fit_together(self) -> PostProcessing:
        for name, rows in self.randomizers.items():
            if len({len(row) for row in rows}) > 1:
                problem = "must have as many outputs in every row"
            elif max(self.others) >= len(rows):
                problem = f"has no row for the input {max(self.others)} of its others"
            elif len({tuple(Fraction(w, sum(row)) for w in row) for row in rows}) == 1:
                problem = "must have two inputs that differ"
            else:
                continue
            raise PydanticCustomError(
                "sentence",
                "{place}.randomizers.{name} {problem}",
                {"name": name, "problem": problem},
            )
        return self


TABLES = {
    "gparv": Gparv,
    "finite_domains": FiniteDomains,
    "large_domains": LargeDomains,
    "hierarchy": Hierarchy,
    "methods": Methods,
    "amplification_variable": AmplificationVariable,
    "algorithm_seven": AlgorithmSeven,
    "post_processing": PostProcessing,
}
