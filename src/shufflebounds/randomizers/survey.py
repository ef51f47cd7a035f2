"""Surveys with a forced response: yes/no questions that a die or a spinner answers for some."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from shufflebounds.randomizers.matrix import MatrixRandomizer
from shufflebounds.randomizers.probabilities import Probability, exact_probability


@dataclass(frozen=True, eq=False)
class Survey(MatrixRandomizer):
    """Survey with a forced response: yes and no by chance for some users, the truth otherwise.

    Inputs and reports are 0 (no) and 1 (yes). If both are forced with the same probability r, it is
    randomized response that is random with probability 2r. ε₀ follows from the probabilities.

    Parameters
    ----------
    forced_yes
        Probability, such as 0.1 or ``"1/6"``, that a user has to say yes.
    forced_no
        Probability that a user has to say no; None stands for that of yes.

    Raises
    ------
    ValueError
        For probabilities that are not above 0 or sum to 1 or more.

    Notes
    -----
    Boruch (The American Sociologist 1971); Blair, Imai and Zhou (JASA 2015).

    Examples
    --------
    A die: 6 forces a yes, 1 forces a no.

    >>> f"{sb.Survey(forced_yes='1/6').eps0:.4f}"
    '1.6094'
    """

    P: ArrayLike = field(init=False, repr=False, compare=False)
    forced_yes: Probability = field(
        metadata={"help": "chance that a user has to say yes, such as 1/6", "example": 0.25}
    )
    forced_no: Probability | None = field(
        default=None,
        metadata={"help": "chance that a user has to say no; if left out, that of yes"},
    )

    def __post_init__(self) -> None:
        yes = exact_probability("forced_yes", self.forced_yes)
        no = yes if self.forced_no is None else exact_probability("forced_no", self.forced_no)
        if yes + no >= 1:
            raise ValueError(
                "forced_yes and forced_no must sum to less than 1, got "
                f"{self.forced_yes} and {self.forced_no or self.forced_yes}"
            )
        rows: list[list[Fraction]] = [[1 - yes, yes], [no, 1 - no]]
        object.__setattr__(self, "P", np.array(rows, dtype=np.float64))
        super().__post_init__()

    @property
    def label(self) -> str:
        """The name of the survey."""
        return "survey with a forced response"
