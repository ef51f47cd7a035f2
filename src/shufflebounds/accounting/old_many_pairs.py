"""The largest ε or δ of several decompositions: of all pairs of inputs, or of dataset pairs."""

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

# Relative width of the coarse enclosure of D that excludes candidates far below δ. Speed only.
COARSE_RTOL = 0.05
# Largest number of dataset pairs that are estimated. They are those with the largest E G².
MAX_DATASET_PAIRS = 300
# Up to this number of candidates, all are answered, because excluding some would cost as much.
MAX_CANDIDATES_ALL_ASKED = 4

# A function that returns the largest enclosure so far.
LargestSoFar = Callable[[], Enclosure]


class Question(ABC):
    """A quantity of a decomposition that grows with its divergence D, such as ε at a given δ.

    For a value x of the quantity, `point` returns (ε, δ, n). The quantity is at most x if and only
    if D(ε) ≤ δ for n users.
    """

    @property
    def max_all_asked(self) -> int:
        """The largest number of decompositions that are all answered; 1 if answers are slow."""
        return MAX_CANDIDATES_ALL_ASKED

    @abstractmethod
    def answer(self, decomposition: Decomposition) -> Enclosure:
        """Return an enclosure for one decomposition; raise PrecisionError if it is too wide."""

    @abstractmethod
    def point(self, value: float) -> tuple[float, float, int] | None:
        """Return the (ε, δ, n) that belong to `value`; None if no answer exceeds it."""

    def may_exceed(self, decomposition: Decomposition, value: float) -> bool:
        """Return False only if a coarse enclosure proves that the answer is at most `value`."""
        point = self.point(value)
        if point is None:
            return False
        eps, delta, n = point
        return reached(partial(delta_at, decomposition, eps, n, rtol=COARSE_RTOL)).upper > delta

    def seems_to_exceed(self, decomposition: Decomposition, value: float) -> bool:
        """Return whether an estimate of the answer exceeds `value`."""
        point = self.point(value)
        if point is None:
            return False
        eps, delta, n = min(point[0], LARGEST_EPS), *point[1:]
        estimates = (
            float(log_estimate(inner, eps, n).log) for inner, _ in decomposition.directions
        )
        return max(estimates) > (math.log(delta) if delta > 0.0 else -math.inf)


@dataclass(frozen=True)
class Divergence(Question):
    """ε or δ of ``n`` users: ``quantity`` is "epsilon" or "delta", ``at`` is the other number."""

    quantity: str
    n: int
    at: float
    rtol: float | None = None

    def answer(self, decomposition: Decomposition) -> Enclosure:
        """See `Question`."""
        if self.quantity == "epsilon":
            return epsilon_at(decomposition, self.n, self.at, rtol=self.rtol)
        return delta_at(decomposition, self.at, self.n, rtol=self.rtol)

    def point(self, value: float) -> tuple[float, float, int] | None:
        """See `Question`; ε may be infinite."""
        if math.isinf(value):
            return None
        return (value, self.at, self.n) if self.quantity == "epsilon" else (self.at, value, self.n)


@dataclass(frozen=True)
class BestEffort(Divergence):
    """A divergence whose enclosures may have any width.

    A decomposition whose enclosure is too wide raises no PrecisionError, which would hide the
    answers of the other decompositions.
    """

    def answer(self, decomposition: Decomposition) -> Enclosure:
        """See `Question`."""
        return reached(partial(super().answer, decomposition))


# A function that yields the indices of the decompositions to answer, given the largest answer so
# far.
Selection = Callable[[Sequence[Decomposition], Question, LargestSoFar], Iterator[int]]


def worst_epsilon(
    candidates: Mapping[str, Decomposition], n: int, delta: float, *, rtol: float | None = None
) -> tuple[str, Enclosure]:
    """Enclose the largest ε of several decompositions.

    If these are ``R.blankets()``, you can claim the upper end for one round of R. The worst pair
    depends on n and δ: another pair may be the worst for other n or δ, or for several rounds.

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
        The name of the worst candidate, and its ε (natural log); every candidate has D(ε) ≤ δ at
        ``upper``.

    Raises
    ------
    ValueError
        For no candidates, and for an argument outside these ranges.
    PrecisionError
        If the width stays above `rtol`.

    Examples
    --------
    >>> R = sb.MatrixRandomizer([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]])
    >>> name, enclosure = sb.worst_epsilon(R.blankets(), n=10_000, delta=1e-6)
    >>> name, f"{enclosure.upper:.4f}"
    ('0 against 2', '0.0649')
    """
    return largest_answer(candidates, Divergence("epsilon", n, delta, rtol), candidates_to_ask)


def best_lower_epsilon(
    pairs: Mapping[str, Decomposition], n: int, delta: float, *, rtol: float | None = None
) -> tuple[str, Enclosure]:
    """Enclose the largest ε of the most promising pairs of datasets.

    Each pair bounds the mechanism's ε from below, so that every choice is valid. A few pairs are
    all tried. Of many pairs, E G² and then an estimate decide which are tried.

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
        The name of the best pair, and its ε (natural log); two datasets achieve ``lower``.

    Raises
    ------
    ValueError
        For no pairs, and for an argument outside these ranges.
    PrecisionError
        If the width stays above `rtol`.

    Examples
    --------
    >>> pairs = sb.KRR(k=10, eps0=4.0).dataset_pairs()
    >>> name, enclosure = sb.best_lower_epsilon(pairs, n=10_000, delta=1e-6)
    >>> name, f"{enclosure.lower:.2f}"
    ('third', '0.38')
    """
    return largest_answer(pairs, Divergence("epsilon", n, delta, rtol), pairs_to_try)


def worst_delta(
    candidates: Mapping[str, Decomposition], eps: float, n: int, *, rtol: float | None = None
) -> tuple[str, Enclosure]:
    """Enclose the largest δ of several decompositions.

    You can claim the upper end under the conditions of `worst_epsilon`.

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
        The name of the worst candidate, and its δ; no candidate has more than ``upper``.

    Raises
    ------
    ValueError
        For no candidates, and for an argument outside these ranges.
    PrecisionError
        If the width stays above `rtol`.

    Examples
    --------
    >>> R = sb.MatrixRandomizer([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]])
    >>> name, enclosure = sb.worst_delta(R.blankets(), eps=0.2, n=1000)
    >>> name, f"{enclosure.upper:.1e}"
    ('0 against 2', '5.7e-06')
    """
    return largest_answer(candidates, Divergence("delta", n, eps, rtol), candidates_to_ask)


def best_lower_delta(
    pairs: Mapping[str, Decomposition], eps: float, n: int, *, rtol: float | None = None
) -> tuple[str, Enclosure]:
    """Enclose the largest δ of the most promising pairs of datasets.

    It selects the pairs in the same way as `best_lower_epsilon`.

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
        The name of the best pair, and its δ; two datasets achieve ``lower``.

    Raises
    ------
    ValueError
        For no pairs, and for an argument outside these ranges.
    PrecisionError
        If the width stays above `rtol`.

    Examples
    --------
    >>> pairs = sb.KRR(k=2, eps0=np.log(3.0)).dataset_pairs()
    >>> name, enclosure = sb.best_lower_delta(pairs, eps=0.0, n=1)
    >>> name, f"{enclosure.lower:.2f}"
    ('x1', '0.50')
    """
    return largest_answer(pairs, Divergence("delta", n, eps, rtol), pairs_to_try)


def candidates_to_ask(
    candidates: Sequence[Decomposition], question: Question, largest_so_far: LargestSoFar
) -> Iterator[int]:
    """Yield the indices of the candidates that may have the largest answer.

    The caller must answer each candidate before it takes the next index. The other candidates have
    answers of at most the upper end of the final `largest_so_far`.
    """
    asks_all = len(candidates) <= question.max_all_asked
    for i, candidate in enumerate(candidates):
        if i == 0 or asks_all or question.may_exceed(candidate, largest_so_far().upper):
            yield i


def pairs_to_try(
    pairs: Sequence[Decomposition], question: Question, largest_so_far: LargestSoFar
) -> Iterator[int]:
    """Yield the indices of the dataset pairs that seem to have the largest answer."""
    if len(pairs) <= question.max_all_asked:
        yield from range(len(pairs))
        return
    yield 0
    point = question.point(largest_so_far().lower)
    eps = point[0] if point is not None else 0.0
    ranked = sorted(range(1, len(pairs)), key=lambda i: -_second_moment(pairs[i], eps))
    has_slow_answers = question.max_all_asked <= 1
    for i in ranked[: MAX_CANDIDATES_ALL_ASKED if has_slow_answers else MAX_DATASET_PAIRS]:
        if question.seems_to_exceed(pairs[i], largest_so_far().lower):
            yield i


def largest_answer(
    candidates: Mapping[str, Decomposition],
    question: Question,
    select: Selection,
) -> tuple[str, Enclosure]:
    """Return the name and the enclosure of the largest answer.

    If `select` is `pairs_to_try`, both are those of the pair with the largest lower end. Otherwise
    the name is that of the candidate with the largest upper end, and each end of the enclosure is
    the largest one of all answers.
    """
    names = _candidate_names(candidates)
    decompositions = [candidates[name] for name in names]
    answers: dict[int, Enclosure] = {}

    def largest_so_far() -> Enclosure:
        return Enclosure(
            max(answer.lower for answer in answers.values()),
            max(answer.upper for answer in answers.values()),
        )

    for i in select(decompositions, question, largest_so_far):
        answers[i] = question.answer(decompositions[i])
    if select is pairs_to_try:
        best = max(answers, key=lambda i: answers[i].lower)
        return names[best], answers[best]
    return names[max(answers, key=lambda i: answers[i].upper)], largest_so_far()


def _second_moment(decomposition: Decomposition, eps: float) -> float:
    """Return E G² at ε, the larger one of both directions."""
    moments = []
    for first, second in itertools.permutations((decomposition.a, decomposition.b)):
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            terms = (first - math.exp(min(eps, 300.0)) * second) ** 2 / decomposition.c
        moments.append(float(np.nansum(terms)))
    return max(moments)


def _candidate_names(candidates: Mapping[str, Decomposition]) -> list[str]:
    """Return the names of the candidates; raise ValueError unless they are a nonempty mapping."""
    if not isinstance(candidates, Mapping):
        raise ValueError(
            f"candidates must be decompositions by name, such as R.blankets(), got {candidates!r}"
        )
    if not candidates:
        raise ValueError("candidates must hold at least one decomposition, got none")
    return list(candidates)
