"""The ε and δ of a mechanism itself: between its worst known dataset and its best proven bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from shufflebounds.accounting import single_shuffle
from shufflebounds.accounting.every_dataset import few_switched
from shufflebounds.accounting.many_pairs import (
    Divergence,
    largest_answer,
    worth_asking,
    worth_trying,
)
from shufflebounds.accounting.single_shuffle import Several
from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd, both_directions
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures, reached
from shufflebounds.core.work import limited
from shufflebounds.divergence.worst_dataset import supremum
from shufflebounds.randomizers.base import Randomizer

# The blankets of crowds are of coarser parts; finer ones may matter where they came so close, and
# the lower end did not. Speed and width only.
_NEARLY, _CLOSE = 0.9, 1e-3
# A blanket that is so close to the lower end is as good as the bound for all datasets.
_AS_CLOSE = 3e-4
# So few decompositions are asked at all points together.
_FEW_TOGETHER = 4


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
        What all other users hold at ``lower``, such as ``third`` or ``x1, 3 of them x0``; of
        compositions also the coordinates in which the victim's inputs differ there, if not in all.

    Examples
    --------
    >>> found = sb.mechanism_delta(sb.KRR(k=2, eps0=1.0), eps=0.0, n=1)
    >>> found.upper_bound, found.others
    ('blanket', 'x1')
    """

    enclosure: Enclosure
    upper_bound: str
    others: str


@limited
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
        Its ``enclosure`` is of ε (natural log): ``lower`` is that of the worst known dataset, in
        which all other users hold one input or, where few users leave a gap, up to four of them
        another one; ``upper`` is the least of the proven bounds. What lies between them is not
        known.

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
    asked, question = _Asked.of(randomizer), _Reached("epsilon", n, delta, rtol)
    return asked.bounds(question, *asked.ends(question))


@limited
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
    asked, question = _Asked.of(randomizer), _Reached("delta", n, eps, rtol)
    return asked.bounds(question, *asked.ends(question))


def epsilons(
    randomizer: Randomizer,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """The enclosures of `mechanism_epsilon`; either `n` or `delta` may be an array."""
    if not (single_shuffle.is_several(n) or single_shuffle.is_several(delta)):
        return mechanism_epsilon(randomizer, n, delta, rtol=rtol).enclosure  # type: ignore[arg-type]
    users, targets = single_shuffle.paired(
        ("n", n, validation.users), ("delta", delta, validation.delta)
    )
    return _Asked.of(randomizer).several(
        [_Reached("epsilon", *one, rtol) for one in zip(users, targets, strict=True)],
        lambda one: single_shuffle.epsilon(one, n, delta, rtol=rtol),
    )


def deltas(
    randomizer: Randomizer,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """The enclosures of `mechanism_delta`; either `eps` or `n` may be an array."""
    if not (single_shuffle.is_several(eps) or single_shuffle.is_several(n)):
        return mechanism_delta(randomizer, eps, n, rtol=rtol).enclosure  # type: ignore[arg-type]
    losses, users = single_shuffle.paired(("eps", eps, validation.eps), ("n", n, validation.users))
    return _Asked.of(randomizer).several(
        [_Reached("delta", *one, rtol) for one in zip(users, losses, strict=True)],
        lambda one: single_shuffle.delta(one, eps, n, rtol=rtol),
    )


@dataclass(frozen=True)
class _Reached(Divergence):
    """What was found counts, however wide: one decomposition must not hide the others."""

    def answer(self, decomposition: Decomposition) -> Enclosure:
        """See `Question`."""
        return reached(partial(super().answer, decomposition))


@dataclass(frozen=True, eq=False)
class _Asked:
    """A mechanism, by decompositions ``below`` it (of datasets) and ``above`` it (blankets)."""

    randomizer: Randomizer
    crowds: tuple[Crowd, ...]
    below: Mapping[str, Decomposition]
    above: Mapping[str, Decomposition]

    @staticmethod
    def of(randomizer: Randomizer) -> _Asked:
        if not isinstance(randomizer, Randomizer):
            raise ValueError(f"randomizer must be a Randomizer, such as KRR, got {randomizer!r}")
        crowds = randomizer.crowds()
        if crowds and all(one.tried for one in crowds):
            # A composition's own may be long.
            above = {str(i): one.blanket() for i, one in enumerate(crowds)}
        else:
            above = randomizer.blankets()
        return _Asked(randomizer, crowds, randomizer.known_datasets(), above)

    def ends(self, question: _Reached) -> tuple[str, float, float]:
        """What all others hold in the worst known dataset, its lower end, the blankets' upper."""
        others, low = largest_answer(self.below, question, worth_trying)
        return others, low.lower, largest_answer(self.above, question, worth_asking)[1].upper

    def several(
        self, questions: Sequence[_Reached], ask: Callable[[Decomposition], Enclosures]
    ) -> Enclosures:
        """Answers to all questions, those of a decomposition together if there are few of them."""
        if max(len(self.below), len(self.above)) <= _FEW_TOGETHER:
            below, above = (
                [reached(partial(ask, one)) for one in some.values()]
                for some in (self.below, self.above)
            )
            low = np.max([one.lower for one in below], axis=0).tolist()
            high = np.max([one.upper for one in above], axis=0).tolist()
            ends = [("", *one) for one in zip(low, high, strict=True)]
        else:
            ends = [self.ends(question) for question in questions]
        pairs = zip(questions, ends, strict=True)
        found = [self.bounds(question, *one).enclosure for question, one in pairs]
        return Enclosures(np.array([x.lower for x in found]), np.array([x.upper for x in found]))

    def bounds(
        self, question: _Reached, others: str, low: float, blanket: float
    ) -> MechanismBounds:
        """With the bound for all datasets, unless the blanket is as close as that would be."""
        lower, n = min(low, blanket), question.n
        upper = blanket
        if blanket > lower * (1.0 + _AS_CLOSE):
            if question.quantity == "epsilon":
                some = unsettled(self.crowds, lower, question.at, n)
                upper = all_datasets_epsilon(some, n, question.at, lower, blanket)
            else:
                some = unsettled(self.crowds, question.at, lower, n)
                upper = max(lower, all_datasets_delta(some, question.at, n, blanket))
        if self.crowds and upper > max(lower * (1.0 + _CLOSE), _NEARLY * blanket):
            finer = largest_answer(self.randomizer.blankets(), question, worth_asking)[1].upper
            blanket = min(blanket, finer)
        name = "all datasets" if upper < blanket else "blanket"
        upper = max(lower, min(upper, blanket))
        if upper > lower * (1.0 + _CLOSE):
            more = few_switched(self.crowds, n, question.quantity, question.at, lower)
            others, lower = more or (others, lower)
        return MechanismBounds(Enclosure(min(lower, upper), upper), name, others)


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
# About by which power of ε, n or 1/ε₀ suprema fall, before it is known.
_STEEP = 20.0
# Suprema so many times as large as δ need not be known.
_HOPELESS = 1e3
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
    found = (supremum(crowd, eps, n) for crowd in both_directions(crowds))
    return min(high, max(found, default=math.inf))


def all_datasets_epsilon(
    crowds: Sequence[Crowd], n: int, delta: float, low: float, high: float
) -> float:
    """The least ε found in [low, high] with a supremum of at most δ in all crowds; else `high`.

    The lower end of what it searches need not be certain.
    """
    if not crowds or not low < high < math.inf:
        return high
    both = both_directions(crowds)
    return _least(lambda eps: _excess(both, eps, n, delta), low, high)


def all_datasets_users(
    crowds: Sequence[Crowd], eps: float, delta: float, low: int, high: float
) -> float:
    """The least n found in [low, high] with a supremum of at most δ in all crowds; else `high`.

    As D does not grow with n, more users do as well. `high` is inf where no n is known to do.
    """
    if not crowds or not low < high < math.inf:
        return high
    both = both_directions(crowds)

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
        return _excess(both_directions(some), eps, n, delta)

    found = _least(at, 1.0 / high, 1.0 / low)
    return eps0(found) if found < 1.0 / low else low


def _excess(both: list[Crowd], eps: float, n: int, delta: float) -> tuple[bool, float]:
    """See `_Excess`. Where it does not hold, crowds whose suprema are at most δ are dropped.

    Beyond that point, where D is no larger, they are settled. Of no crowds nothing is known.
    """
    if not both:
        return False, 1.0
    found = [supremum(crowd, eps, n, _HOPELESS * delta) for crowd in both]
    open_ = [crowd for crowd, one in zip(both, found, strict=True) if not one <= delta]  # or NaN
    both[:] = open_ or both
    return not open_, math.log(max(*found, _SMALLEST)) - math.log(delta)


def _least(excess: _Excess, low: float, high: float) -> float:
    """The least point found in [low, high) at which the excess holds; else `high`.

    Secants of the logarithm. It holds from some point on.
    """
    left, right = low, high
    points: list[tuple[float, float]] = []
    # That close to a lower end which two datasets attain the bound mostly is.
    probe = min(low * (1.0 + _AS_CLOSE), high)
    for _ in range(_PROBES):
        holds, found = excess(probe)
        points.append((probe, found))
        left, right = (left, min(right, probe)) if holds else (max(left, probe), right)
        if right - left <= max(_WITHIN, (1.01 * _AS_CLOSE) * (len(points) == 1)) * right:
            break
        root = _secant(points, left, right) if len(points) > 1 else probe * math.exp(found / _STEEP)
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
    (x, f), (y, g) = points[-2:]
    root = y - g * (y - x) / (g - f) if f != g else left
    return root if left < root < right else 0.5 * (left + right)
