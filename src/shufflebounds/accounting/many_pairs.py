"""The largest ε or δ among several decompositions: of all pairs of inputs, or of datasets tried."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from shufflebounds.accounting.root_search import LARGEST_EPS
from shufflebounds.accounting.single_shuffle import delta as delta_at
from shufflebounds.accounting.single_shuffle import epsilon as epsilon_at
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, reached
from shufflebounds.divergence.saddlepoint import log_estimate

# Coarse, for what is far below δ at the ε in question; the rest is looked into anyway.
_COARSE = 0.05
# So many dataset pairs are looked at more closely than by the variance of G.
_TRIES = 300

# So few are all answered: that costs no more than to find out which to leave out.
_FEW = 4

# The largest enclosure so far.
SoFar = Callable[[], Enclosure]


class Question(ABC):
    """What is the larger, the larger D is: at most x where D(ε) ≤ δ at the point of x."""

    @property
    def few(self) -> int:
        """So few decompositions are all answered: 1 where answers are dear."""
        return _FEW

    @abstractmethod
    def answer(self, decomposition: Decomposition) -> Enclosure:
        """Of one decomposition; raises PrecisionError where it is too wide."""

    @abstractmethod
    def point(self, found: float) -> tuple[float, float, int] | None:
        """ε, δ and n where an answer `found` has D(ε) = δ; None where nothing exceeds it."""

    def may_exceed(self, decomposition: Decomposition, found: float) -> bool:
        """Whether the answer is not known to be at most `found`."""
        point = self.point(found)
        if point is None:
            return False
        eps, delta, n = point
        return reached(partial(delta_at, decomposition, eps, n, rtol=_COARSE)).upper > delta

    def seems_to_exceed(self, decomposition: Decomposition, found: float) -> bool:
        """Whether an estimate says that the answer is more than `found`."""
        point = self.point(found)
        if point is None:
            return False
        eps, delta, n = min(point[0], LARGEST_EPS), *point[1:]
        estimates = (
            float(log_estimate(inner, eps, n).log) for inner, _ in decomposition.directions
        )
        return max(estimates) > (math.log(delta) if delta > 0.0 else -math.inf)


@dataclass(frozen=True)
class Divergence(Question):
    """ε(δ), or δ(ε), of ``n`` users: ``quantity`` is epsilon or delta, ``at`` the other one."""

    quantity: str
    n: int
    at: float
    rtol: float | None = None

    def answer(self, decomposition: Decomposition) -> Enclosure:
        """See `Question`."""
        if self.quantity == "epsilon":
            return epsilon_at(decomposition, self.n, self.at, rtol=self.rtol)
        return delta_at(decomposition, self.at, self.n, rtol=self.rtol)

    def point(self, found: float) -> tuple[float, float, int] | None:
        """See `Question`; ε may be infinite."""
        if math.isinf(found):
            return None
        return (found, self.at, self.n) if self.quantity == "epsilon" else (self.at, found, self.n)


@dataclass(frozen=True)
class Reached(Divergence):
    """What was found counts, however wide: one decomposition must not hide the others."""

    def answer(self, decomposition: Decomposition) -> Enclosure:
        """See `Question`."""
        return reached(partial(super().answer, decomposition))


# Which of several are asked, one by one.
Worth = Callable[[Sequence[Decomposition], Question, SoFar], Iterator[int]]


def worst_epsilon(
    candidates: Mapping[str, Decomposition], n: int, delta: float, *, rtol: float | None = None
) -> tuple[str, Enclosure]:
    """Enclose the largest ε among decompositions any of which may be the worst.

    For ``R.blankets()`` that is what you can claim of one round of R. Which pair is the worst
    depends on n and δ: the one that is named need not be at others, nor of several rounds.

    Parameters
    ----------
    candidates
        Decompositions by name, such as ``R.blankets()``.
    n
        Number of users, 1 to 10¹⁵.
    delta
        Target δ, 10⁻³⁰⁰ ≤ δ < 1.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 10⁻⁴.

    Returns
    -------
    tuple of str and Enclosure
        The name of the worst, and its ε (natural log); at ``upper`` every candidate was found to
        have D(ε) ≤ δ.

    Raises
    ------
    ValueError
        For no candidates, and for an argument outside these ranges.
    PrecisionError
        Where the width stays above `rtol`.

    Examples
    --------
    >>> R = sb.MatrixRandomizer([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]])
    >>> name, found = sb.worst_epsilon(R.blankets(), n=10_000, delta=1e-6)
    >>> name, f"{found.upper:.4f}"
    ('0 against 2', '0.0649')
    """
    return largest_answer(candidates, Divergence("epsilon", n, delta, rtol), worth_asking)


def best_lower_epsilon(
    pairs: Mapping[str, Decomposition], n: int, delta: float, *, rtol: float | None = None
) -> tuple[str, Enclosure]:
    """Enclose the largest ε that was found among pairs of datasets.

    Each pair bounds the mechanism's ε from below, so that none has to be looked at. Of many, the
    promising ones are: by the variance of G, then by an estimate.

    Parameters
    ----------
    pairs
        Decompositions by name, such as ``R.dataset_pairs()``.
    n
        Number of users, 1 to 10¹⁵.
    delta
        Target δ, 10⁻³⁰⁰ ≤ δ < 1.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 10⁻⁴.

    Returns
    -------
    tuple of str and Enclosure
        The name of the best pair found, and its ε (natural log); two datasets attain ``lower``.

    Raises
    ------
    ValueError
        For no pairs, and for an argument outside these ranges.
    PrecisionError
        Where the width stays above `rtol`.

    Examples
    --------
    >>> pairs = sb.KRR(k=10, eps0=4.0).dataset_pairs()
    >>> name, found = sb.best_lower_epsilon(pairs, n=10_000, delta=1e-6)
    >>> name, f"{found.lower:.2f}"
    ('third', '0.38')
    """
    return largest_answer(pairs, Divergence("epsilon", n, delta, rtol), worth_trying)


def worst_delta(
    candidates: Mapping[str, Decomposition], eps: float, n: int, *, rtol: float | None = None
) -> tuple[str, Enclosure]:
    """Enclose the largest δ among decompositions any of which may be the worst.

    What you can claim it of is as for `worst_epsilon`.

    Parameters
    ----------
    candidates
        Decompositions by name, such as ``R.blankets()``.
    eps
        ε ≥ 0 (natural log).
    n
        Number of users, 1 to 10¹⁵.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 10⁻⁴.

    Returns
    -------
    tuple of str and Enclosure
        The name of the worst, and its δ; no candidate was found to have more than ``upper``.

    Raises
    ------
    ValueError
        For no candidates, and for an argument outside these ranges.
    PrecisionError
        Where the width stays above `rtol`.

    Examples
    --------
    >>> R = sb.MatrixRandomizer([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]])
    >>> name, found = sb.worst_delta(R.blankets(), eps=0.2, n=1000)
    >>> name, f"{found.upper:.1e}"
    ('0 against 2', '5.7e-06')
    """
    return largest_answer(candidates, Divergence("delta", n, eps, rtol), worth_asking)


def best_lower_delta(
    pairs: Mapping[str, Decomposition], eps: float, n: int, *, rtol: float | None = None
) -> tuple[str, Enclosure]:
    """Enclose the largest δ that was found among pairs of datasets.

    Which pairs are looked at is as for `best_lower_epsilon`.

    Parameters
    ----------
    pairs
        Decompositions by name, such as ``R.dataset_pairs()``.
    eps
        ε ≥ 0 (natural log).
    n
        Number of users, 1 to 10¹⁵.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 10⁻⁴.

    Returns
    -------
    tuple of str and Enclosure
        The name of the best pair found, and its δ; two datasets attain ``lower``.

    Raises
    ------
    ValueError
        For no pairs, and for an argument outside these ranges.
    PrecisionError
        Where the width stays above `rtol`.

    Examples
    --------
    >>> pairs = sb.KRR(k=2, eps0=np.log(3.0)).dataset_pairs()
    >>> name, found = sb.best_lower_delta(pairs, eps=0.0, n=1)
    >>> name, f"{found.lower:.2f}"
    ('x1', '0.50')
    """
    return largest_answer(pairs, Divergence("delta", n, eps, rtol), worth_trying)


def worth_asking(
    candidates: Sequence[Decomposition], question: Question, so_far: SoFar
) -> Iterator[int]:
    """Which candidates may have the largest answer, one by one; `so_far` tells of those answered.

    The others' answers are at most the upper end of what `so_far` tells in the end.
    """
    every = len(candidates) <= question.few
    for i, candidate in enumerate(candidates):
        if i == 0 or every or question.may_exceed(candidate, so_far().upper):
            yield i


def worth_trying(
    pairs: Sequence[Decomposition], question: Question, so_far: SoFar
) -> Iterator[int]:
    """Which dataset pairs seem to have the largest answer, one by one."""
    if len(pairs) <= question.few:
        yield from range(len(pairs))
        return
    yield 0
    point = question.point(so_far().lower)
    eps = point[0] if point is not None else 0.0
    others = sorted(range(1, len(pairs)), key=lambda i: -_variance(pairs[i], eps))
    for i in others[: _TRIES if question.few > 1 else _FEW]:
        if question.seems_to_exceed(pairs[i], so_far().lower):
            yield i


def largest_answer(
    candidates: Mapping[str, Decomposition],
    question: Question,
    worth: Worth,
) -> tuple[str, Enclosure]:
    """The largest answer, named after the candidate with the largest end that counts."""
    names = _names(candidates)
    listed = [candidates[name] for name in names]
    answers: dict[int, Enclosure] = {}

    def so_far() -> Enclosure:
        return Enclosure(
            max(one.lower for one in answers.values()), max(one.upper for one in answers.values())
        )

    for i in worth(listed, question, so_far):
        answers[i] = question.answer(listed[i])
    if worth is worth_trying:
        best = max(answers, key=lambda i: answers[i].lower)
        return names[best], answers[best]
    return names[max(answers, key=lambda i: answers[i].upper)], so_far()


def _variance(decomposition: Decomposition, eps: float) -> float:
    """E G² of the direction where it is larger."""
    values = []
    for one, other in itertools.permutations((decomposition.a, decomposition.b)):
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            terms = (one - math.exp(min(eps, 300.0)) * other) ** 2 / decomposition.c
        values.append(float(np.nansum(terms)))
    return max(values)


def _names(candidates: Mapping[str, Decomposition]) -> list[str]:
    if not isinstance(candidates, Mapping):
        raise ValueError(
            f"candidates must be decompositions by name, such as R.blankets(), got {candidates!r}"
        )
    if not candidates:
        raise ValueError("candidates must hold at least one decomposition, got none")
    return list(candidates)
