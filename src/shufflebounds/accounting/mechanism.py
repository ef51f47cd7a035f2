"""The ε and δ of a mechanism itself: between its worst known dataset and its best proven bound."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from shufflebounds.accounting import single_shuffle
from shufflebounds.accounting import single_shuffle as grid
from shufflebounds.accounting.root_search import LARGEST_EPS
from shufflebounds.accounting.single_shuffle import Several
from shufflebounds.accounting.single_shuffle import delta as delta_at
from shufflebounds.accounting.single_shuffle import epsilon as epsilon_at
from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures, reached
from shufflebounds.divergence.estimates import log_estimate
from shufflebounds.divergence.worst_dataset import supremum
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.matrix import MatrixRandomizer

# What holds for all datasets, by the suprema of crowds: δ, ε, the fewest users, the largest ε₀.
#
# Each search returns a point at which the suprema themselves were found to be at most δ, or the
# one it was given. That they grow or fall along the axis steers it, and no more rests on that.

# The search ends where the bound cannot be lowered by more than about this share, or with so many
# probes. Speed and width only (no benchmark asks for mechanisms so far).
_WITHIN = 1e-4
_PROBES = 40
# So few pairs of inputs are all looked at; others only if a coarse bound does not settle them.
_FEW_CROWDS, _COARSE_SUPREMUM = 4, 0.05
# What a supremum of 0 counts for where the secant takes its logarithm.
_SMALLEST = 1e-304

# Whether the suprema at a point are at most δ, and log of the largest over δ.
_Excess = Callable[[float], tuple[bool, float]]


def unsettled(crowds: Sequence[Crowd], eps: float, delta: float, n: int) -> list[Crowd]:
    """Those of many whose blankets leave it open whether D(ε) is above δ, in both directions.

    The others' datasets have at most δ at `eps` and beyond, whatever a finer bound would say. Of
    extremes the blanket is not that of all their pairs. One is kept, so that there is an answer.
    """
    if len(crowds) <= _FEW_CROWDS:
        return list(crowds)
    open_ = [one for one in crowds if one.extremes or not _is_settled(one.blanket(), eps, delta, n)]
    return open_ or [crowds[0]]


def _is_settled(blanket: Decomposition, eps: float, delta: float, n: int) -> bool:
    found = reached(partial(single_shuffle.delta, blanket, eps, n, rtol=_COARSE_SUPREMUM))
    return bool(found.upper <= delta)


def all_datasets_delta(crowds: Sequence[Crowd], eps: float, n: int, high: float) -> float:
    """The largest supremum of all crowds and both directions, if it is below the bound `high`."""
    found = (supremum(crowd, eps, n) for crowd in directions(crowds))
    return min(high, max(found, default=math.inf))


def all_datasets_epsilon(
    crowds: Sequence[Crowd], n: int, delta: float, low: float, high: float
) -> float:
    """The least ε found in [low, high] with a supremum of at most δ in all crowds; else `high`.

    The lower end of what it searches need not be certain.
    """
    if not crowds or not low < high < math.inf:
        return high
    both = directions(crowds)
    return _least(lambda eps: _excess(both, eps, n, delta), low, high)


def all_datasets_users(
    crowds: Sequence[Crowd], eps: float, delta: float, low: int, high: float
) -> float:
    """The least n found in [low, high] with a supremum of at most δ in all crowds; else `high`.

    As D does not grow with n, more users do as well. `high` is inf where no n is known to do.
    """
    if not crowds or not low < high < math.inf:
        return high
    both = directions(crowds)

    @cache
    def at(n: int) -> tuple[bool, float]:
        return _excess(both, eps, n, delta)

    return math.ceil(_least(lambda n: at(math.ceil(n)), low, high))


def all_datasets_eps0(
    crowds: Callable[[float], Sequence[Crowd]],
    eps: float,
    delta: float,
    n: int,
    low: float,
    high: float,
) -> float:
    """The largest ε₀ found in [low, high] with a supremum of at most δ; else `low`.

    `crowds` are those of the randomizer at an ε₀.
    """
    if not low < high or not crowds(low):
        return low

    def eps0(inverse: float) -> float:
        # What is returned is the very number that was asked about.
        return min(max(1.0 / inverse, low), high)

    def at(inverse: float) -> tuple[bool, float]:
        some = unsettled(crowds(eps0(inverse)), eps, delta, n)
        return _excess(directions(some), eps, n, delta)

    found = _least(at, 1.0 / high, 1.0 / low)
    return eps0(found) if found < 1.0 / low else low


def directions(crowds: Sequence[Crowd]) -> list[Crowd]:
    """Each, and the same with the victim's inputs exchanged."""
    return [one for crowd in crowds for one in (crowd, crowd.swap())]


def _excess(both: list[Crowd], eps: float, n: int, delta: float) -> tuple[bool, float]:
    """See `_Excess`; of the first that is above δ, which is put where it is looked at first.

    Of no crowds nothing is known.
    """
    if not both:
        return False, 1.0
    largest = _SMALLEST
    for place, crowd in enumerate(both):
        found = supremum(crowd, eps, n)
        largest = max(largest, found)
        if not found <= delta:  # or NaN
            both.insert(0, both.pop(place))
            return False, math.log(largest) - math.log(delta)
    return True, math.log(largest) - math.log(delta)


def _least(excess: _Excess, low: float, high: float) -> float:
    """The least point found in [low, high) at which the excess holds; else `high`.

    Secants of the logarithm. It holds from some point on.
    """
    left, right = low, high
    points: list[tuple[float, float]] = []
    probe = low
    for _ in range(_PROBES):
        holds, found = excess(probe)
        points.append((probe, found))
        left, right = (left, min(right, probe)) if holds else (max(left, probe), right)
        if right - left <= _WITHIN * right:
            break
        root = _secant(points, left, right)
        if right < high and right - root <= _WITHIN * right:
            break
        # Just beyond the root, where the supremum should be small enough.
        probe = min(max(root * (1.0 + 0.4 * _WITHIN), left + 0.01 * (right - left)), right)
        if probe >= right:
            # The blanket's end was not looked at: a little below it decides who wins.
            probe = max(0.5 * (left + right), right * (1.0 - _WITHIN))
    return right


def _secant(points: list[tuple[float, float]], left: float, right: float) -> float:
    """Where the line through the last two points vanishes; the middle where that says nothing."""
    middle = 0.5 * (left + right)
    if len(points) < 2:
        return middle
    (x, f), (y, g) = points[-2:]
    if f == g:
        return middle
    root = y - g * (y - x) / (g - f)
    return root if left < root < right else middle


# The largest ε or δ among several decompositions: of all pairs of inputs, or of datasets tried.

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

    @abstractmethod
    def answer(self, decomposition: Decomposition) -> Enclosure:
        """Of one decomposition; raises PrecisionError where it is too wide."""

    @abstractmethod
    def point(self, found: float) -> tuple[float, float, int] | None:
        """ε, δ and n where an answer `found` has D(ε) = δ; None where nothing exceeds it."""

    def may_exceed(self, decomposition: Decomposition, found: float) -> bool:
        """Whether the answer is not known to be at most `found`."""
        point = self.point(found)
        return point is not None and _upper_delta(decomposition, point[0], point[2]) > point[1]

    def seems_to_exceed(self, decomposition: Decomposition, found: float) -> bool:
        """Whether an estimate says that the answer is more than `found`."""
        point = self.point(found)
        if point is None:
            return False
        eps, delta, n = min(point[0], LARGEST_EPS), *point[1:]
        estimates = (log_estimate(inner, eps, n)[0] for inner, _ in decomposition.directions)
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


def worst_epsilon(
    candidates: Mapping[str, Decomposition], n: int, delta: float, *, rtol: float | None = None
) -> tuple[str, Enclosure]:
    """Enclose the largest ε among decompositions any of which may be the worst.

    For ``R.blankets()`` that is what may be claimed of one round of R. Which pair is the worst
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

    What it may be claimed of is as for `worst_epsilon`.

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
    for i, candidate in enumerate(candidates):
        if i == 0 or len(candidates) <= _FEW or question.may_exceed(candidate, so_far().upper):
            yield i


def worth_trying(
    pairs: Sequence[Decomposition], question: Question, so_far: SoFar
) -> Iterator[int]:
    """Which dataset pairs seem to have the largest answer, one by one."""
    if len(pairs) <= _FEW:
        yield from range(len(pairs))
        return
    yield 0
    point = question.point(so_far().lower)
    eps = point[0] if point is not None else 0.0
    others = sorted(range(1, len(pairs)), key=lambda i: -_variance(pairs[i], eps))
    for i in others[:_TRIES]:
        if question.seems_to_exceed(pairs[i], so_far().lower):
            yield i


def largest_answer(
    candidates: Mapping[str, Decomposition],
    question: Question,
    worth: Callable[[Sequence[Decomposition], Question, SoFar], Iterator[int]],
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


def _upper_delta(decomposition: Decomposition, eps: float, n: int) -> float:
    return reached(partial(delta_at, decomposition, eps, n, rtol=_COARSE)).upper


@dataclass(frozen=True)
class _Reached(Divergence):
    """What was found counts, however wide: one decomposition must not hide the others."""

    def answer(self, decomposition: Decomposition) -> Enclosure:
        """See `Question`."""
        return reached(partial(super().answer, decomposition))


@dataclass(frozen=True)
class MechanismBounds:
    """What is known of a mechanism's own ε or δ, and what shows it.

    Parameters
    ----------
    enclosure
        Two datasets attain ``lower``; ``upper`` is proven for all (docs/closing-the-gap.md).
    upper_bound
        The bound that is the smallest: ``blanket`` or ``all datasets``.
    others
        What all other users hold at ``lower``, such as ``third`` or ``x1``; of compositions also
        the coordinates in which the victim's inputs differ there, if not in all.

    Examples
    --------
    >>> found = sb.mechanism_delta(sb.KRR(k=2, eps0=1.0), eps=0.0, n=1)
    >>> found.upper_bound, found.others
    ('blanket', 'x1')
    """

    enclosure: Enclosure
    upper_bound: str
    others: str


def mechanism_epsilon(
    randomizer: Randomizer, n: int, delta: float, *, rtol: float | None = None
) -> MechanismBounds:
    """Enclose a mechanism's own smallest ε at which n shuffled reports are (ε, δ)-DP, and say why.

    For two datasets that differ by the replacement of one user's input, whatever the others hold.
    Assumed: reports are independent given the inputs.

    Parameters
    ----------
    randomizer
        That all users share.
    n
        Number of users, 1 to 10¹⁵, without those who drop out or collude.
    delta
        Target δ, 10⁻³⁰⁰ ≤ δ < 1, a float.
    rtol
        The relative width to which decompositions are evaluated, 10⁻⁹ to 0.1; None stands for 10⁻⁴.
        No promise of how far the ends lie apart.

    Returns
    -------
    MechanismBounds
        Its ``enclosure`` is of ε (natural log): ``lower`` is that of the worst known dataset in
        which all other users hold one input, ``upper`` the least of the proven bounds. What lies
        between them is not known.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Notes
    -----
    The bound for all datasets is proven in docs/closing-the-gap.md.

    Examples
    --------
    >>> found = sb.mechanism_epsilon(sb.BLH(4.0), n=10_000, delta=1e-6)
    >>> found.upper_bound, f"{found.enclosure.upper:.2f}"
    ('all datasets', '0.20')
    """
    delta, n = validation.delta(delta), validation.users(n)
    question = _Reached("epsilon", n, delta, rtol)
    others, low = largest_answer(datasets(randomizer), question, worth_trying)
    blanket = largest_answer(randomizer.blankets(), question, worth_asking)[1].upper
    lower = min(low.lower, blanket)
    crowds = unsettled(randomizer.crowds(), lower, delta, n) if lower < blanket else []
    upper = all_datasets_epsilon(crowds, n, delta, lower, blanket)
    name = "all datasets" if upper < blanket else "blanket"
    return MechanismBounds(Enclosure(lower, upper), name, others)


def mechanism_delta(
    randomizer: Randomizer, eps: float, n: int, *, rtol: float | None = None
) -> MechanismBounds:
    """Enclose a mechanism's own smallest δ at which n shuffled reports are (ε, δ)-DP, and say why.

    What is assumed, and the proof, are as for `mechanism_epsilon`.

    Parameters
    ----------
    randomizer
        That all users share.
    eps
        ε ≥ 0 (natural log), a float.
    n
        Number of users, 1 to 10¹⁵, without those who drop out or collude.
    rtol
        The relative width to which decompositions are evaluated, 10⁻⁹ to 0.1; None stands for 10⁻⁴.

    Returns
    -------
    MechanismBounds
        Its ``enclosure`` is of δ: two datasets attain ``lower``, ``upper`` is proven for all.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Examples
    --------
    >>> found = sb.mechanism_delta(sb.KRR(k=2, eps0=np.log(3.0)), eps=0.0, n=1)
    >>> f"{found.enclosure.upper:.2f}"
    '0.50'
    """
    eps, n = validation.eps(eps), validation.users(n)

    def largest(candidates: Mapping[str, Decomposition]) -> tuple[str, Enclosure]:
        found = {
            name: reached(partial(single_shuffle.delta, one, eps, n, rtol=rtol))
            for name, one in candidates.items()
        }
        worst = max(found, key=lambda name: found[name].lower)
        return worst, Enclosure(found[worst].lower, max(one.upper for one in found.values()))

    others, low = largest(datasets(randomizer))
    blanket = largest(randomizer.blankets())[1].upper
    lower = min(low.lower, blanket)
    crowds = unsettled(randomizer.crowds(), eps, lower, n)
    upper = max(lower, all_datasets_delta(crowds, eps, n, blanket))
    return MechanismBounds(
        Enclosure(lower, upper), "all datasets" if upper < blanket else "blanket", others
    )


def epsilons(
    randomizer: Randomizer,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """The enclosures of `mechanism_epsilon`; either `n` or `delta` may be an array."""
    return _each(
        lambda users, target: mechanism_epsilon(randomizer, users, target, rtol=rtol),
        ("n", n, validation.users),
        ("delta", delta, validation.delta),
    )


def deltas(
    randomizer: Randomizer,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """The enclosures of `mechanism_delta`; either `eps` or `n` may be an array."""
    return _each(
        lambda loss, users: mechanism_delta(randomizer, loss, users, rtol=rtol),
        ("eps", eps, validation.eps),
        ("n", n, validation.users),
    )


def _each(
    ask: Callable[[Any, Any], MechanismBounds],
    first: tuple[str, Any, Callable[[object], Any]],
    second: tuple[str, Any, Callable[[object], Any]],
) -> Enclosure | Enclosures:
    """What is found at the point, or at each, of two arguments given as (name, value, check)."""
    if not (grid.is_several(first[1]) or grid.is_several(second[1])):
        return ask(first[1], second[1]).enclosure
    found = [ask(*point).enclosure for point in zip(*grid.paired(first, second), strict=True)]
    return Enclosures(np.array([x.lower for x in found]), np.array([x.upper for x in found]))


def datasets(randomizer: Randomizer) -> dict[str, Decomposition]:
    """Pairs of datasets in which all others hold one input, of the mechanism's list and ours.

    Raises ValueError for what is no randomizer.
    """
    if not isinstance(randomizer, Randomizer):
        raise ValueError(f"randomizer must be a Randomizer, such as KRR, got {randomizer!r}")
    found = dict(randomizer.dataset_pairs())
    if not isinstance(randomizer, MatrixRandomizer):  # which lists them all
        for crowd in randomizer.crowds():
            if crowd.attained:
                found = {**found, **crowd.datasets(), **found}
    return found
