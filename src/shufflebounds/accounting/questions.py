"""ε and δ of a shuffle, once or the same round many times over: the public questions.

Of a mechanism the answer lies between its worst known dataset and its best proven bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import overload

import numpy as np

from shufflebounds.accounting import single_shuffle
from shufflebounds.accounting.composition import Composed, compose
from shufflebounds.accounting.many_pairs import (
    Reached,
    largest_answer,
    worth_asking,
    worth_trying,
)
from shufflebounds.accounting.single_shuffle import Several
from shufflebounds.accounting.worst_dataset import (
    AS_CLOSE,
    all_datasets_delta,
    all_datasets_epsilon,
    unsettled,
)
from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures, reached
from shufflebounds.core.work import limited
from shufflebounds.randomizers.base import Randomizer, require_mechanism


# Scalars match both overloads; the first is the more specific.
@overload
def epsilon(  # type: ignore[overload-overlap]
    decomposition: Decomposition | Randomizer,
    n: int,
    delta: float,
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosure: ...


@overload
def epsilon(
    decomposition: Decomposition | Randomizer,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosures: ...


@limited
def epsilon(
    decomposition: Decomposition | Randomizer,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rounds: int = 1,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """Enclose the smallest ε at which n shuffled reports, or several rounds of them, are (ε, δ)-DP.

    Neighbouring datasets differ by the replacement of one user's input. Assumed: all users share
    the randomizer; reports are independent given the inputs; rounds have randomness of their own,
    and may be adaptive as docs/composition.md, section 1, says. A decomposition covers the two
    inputs of the victim that it is made of, whatever the others hold if it is a blanket, and all
    datasets if that pair is the worst.

    Parameters
    ----------
    decomposition
        What one report tells: a `Decomposition` such as ``R.blanket()``, or a `Randomizer` R.
    n
        Number of users who report and do not collude, 1 to 10¹⁵; or a 1-d array of such.
    delta
        Target δ, 10⁻³⁰⁰ ≤ δ < 1; or a 1-d array of such. One of `n` and `delta` may be an array,
        neither for more rounds than one. A Fraction is not rounded (one round, a decomposition).
    rounds
        How many rounds of n users together, 1 to 10⁶.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 10⁻⁴, and for 10⁻³ of
        several rounds; with None the gap between ``inner`` and ``outer`` does not count towards
        the width. Of a randomizer, the width to which its decompositions are evaluated.

    Returns
    -------
    Enclosure
        Of ε (natural log); `Enclosures` where an argument is an array. Of a decomposition both ends
        are of its own divergence D(ε), in both directions: D ≤ δ was found at ``upper``, D ≥ δ at
        ``lower``. Of a randomizer they are of the mechanism's own ε: ``upper`` is proven for all
        datasets, two datasets attain ``lower`` (see `mechanism_epsilon`). Both are inf where no ε
        will do.

    Raises
    ------
    ValueError
        For an argument outside these ranges.
    PrecisionError
        Where the width stays above `rtol`, of a randomizer only in several rounds and of an `rtol`
        that was given; and where the answer would cost too much work. It holds the enclosure that
        was reached.

    Notes
    -----
    Su, Cheng and Wang 2025 (arXiv 2504.07414), Theorem 12. Proofs: docs/engine.md, for rounds
    docs/composition.md, for randomizers docs/closing-the-gap.md.

    Examples
    --------
    >>> R = sb.KRR(k=10, eps0=4.0)
    >>> f"{sb.epsilon(R.blanket(), n=100_000, delta=1e-6).upper:.3f}"
    '0.110'
    """
    require_mechanism(decomposition)
    if validation.rounds(rounds) == 1:
        if isinstance(decomposition, Randomizer):
            return _of_mechanism("epsilon", decomposition, n, delta, rtol)
        return single_shuffle.epsilon(decomposition, n, delta, rtol=rtol)
    _require_single(n=n, delta=delta)
    return _composed(decomposition, n, rounds).epsilon(validation.delta(delta), rtol=rtol)


# Scalars match both overloads; the first is the more specific.
@overload
def delta(  # type: ignore[overload-overlap]
    decomposition: Decomposition | Randomizer,
    eps: float,
    n: int,
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosure: ...


@overload
def delta(
    decomposition: Decomposition | Randomizer,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosures: ...


@limited
def delta(
    decomposition: Decomposition | Randomizer,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rounds: int = 1,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """Enclose the smallest δ at which n shuffled reports, or several rounds of them, are (ε, δ)-DP.

    What is assumed, and the sources, are those of `epsilon`.

    Parameters
    ----------
    decomposition
        What one report tells: a `Decomposition` such as ``R.blanket()``, or a `Randomizer` R.
    eps
        ε ≥ 0 (natural log); or a 1-d array of such. One of `eps` and `n` may be an array, neither
        for more rounds than one. A Fraction is not rounded (one round, a decomposition).
    n
        Number of users who report and do not collude, 1 to 10¹⁵; or a 1-d array of such.
    rounds
        How many rounds of n users together, 1 to 10⁶.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 10⁻⁴, and for 0.05 of
        several rounds; with None the gap between ``inner`` and ``outer`` does not count towards
        the width. Of a randomizer, the width to which its decompositions are evaluated.

    Returns
    -------
    Enclosure
        Of δ, a probability; `Enclosures` where an argument is an array. Of a decomposition both
        ends are of the larger of its two divergences D(ε). Of a randomizer they are of the
        mechanism's own δ: ``upper`` is proven for all datasets, two datasets attain ``lower``.

    Raises
    ------
    ValueError
        For an argument outside these ranges.
    PrecisionError
        Where the width stays above `rtol`, as for `epsilon`. A δ below 10⁻³⁰⁰ does not count, nor
        one that the rounding of the decomposition's entries cannot tell from 0.

    Examples
    --------
    Without others to hide among, δ at ε = 0 is tanh(ε₀/2), which is 1/2 for ε₀ = log 3.

    >>> R = sb.KRR(k=2, eps0=np.log(3.0))
    >>> f"{sb.delta(R, eps=0.0, n=1).upper:.2f}"
    '0.50'
    """
    require_mechanism(decomposition)
    if validation.rounds(rounds) == 1:
        if isinstance(decomposition, Randomizer):
            return _of_mechanism("delta", decomposition, n, eps, rtol)
        return single_shuffle.delta(decomposition, eps, n, rtol=rtol)
    _require_single(eps=eps, n=n)
    return _composed(decomposition, n, rounds).delta(validation.eps(eps), rtol=rtol)


def _composed(
    decomposition: Decomposition | Randomizer, n: int | Several[int], rounds: int
) -> Composed:
    return compose([(decomposition, validation.users(n), rounds)])


def _require_single(**given: object) -> None:
    for name, value in given.items():
        if np.ndim(value) > 0:  # type: ignore[arg-type]
            raise ValueError(
                f"{name} must be one number for more rounds than one, got {value!r}: "
                "ask for each by itself"
            )


# A mechanism's own ε and δ, and what shows them.

# The blankets of crowds are of coarser parts; finer ones may matter where they came so close, and
# the lower end did not. Speed and width only (benchmarks/mechanisms.py).
_NEARLY, _CLOSE = 0.9, 1e-3
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
    asked, question = _Mechanism.of(randomizer), Reached("epsilon", n, delta, rtol)
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
    asked, question = _Mechanism.of(randomizer), Reached("delta", n, eps, rtol)
    return asked.bounds(question, *asked.ends(question))


def _of_mechanism(
    quantity: str,
    randomizer: Randomizer,
    n: int | Several[int],
    at: float | Several[float],
    rtol: float | None,
) -> Enclosure | Enclosures:
    """The enclosures of `mechanism_epsilon` or `mechanism_delta`; one argument may be an array."""
    users: tuple[str, object, Callable[[object], int]] = ("n", n, validation.users)
    if quantity == "epsilon":
        counts, points = single_shuffle.paired(users, ("delta", at, validation.delta))
    else:
        points, counts = single_shuffle.paired(("eps", at, validation.eps), users)
    asked = [Reached(quantity, *one, rtol) for one in zip(counts, points, strict=True)]
    mechanism = _Mechanism.of(randomizer)
    if not (single_shuffle.is_several(n) or single_shuffle.is_several(at)):
        return mechanism.bounds(asked[0], *mechanism.ends(asked[0])).enclosure

    def ask(one: Decomposition) -> Enclosures:
        if quantity == "epsilon":
            return single_shuffle.epsilon(one, n, at, rtol=rtol)
        return single_shuffle.delta(one, at, n, rtol=rtol)

    return mechanism.several(asked, ask)


@dataclass(frozen=True, eq=False)
class _Mechanism:
    """A mechanism, by decompositions ``below`` it (of datasets) and ``above`` it (blankets)."""

    randomizer: Randomizer
    crowds: tuple[Crowd, ...]
    below: Mapping[str, Decomposition]
    above: Mapping[str, Decomposition]

    @staticmethod
    def of(randomizer: Randomizer) -> _Mechanism:
        if not isinstance(randomizer, Randomizer):
            raise ValueError(f"randomizer must be a Randomizer, such as KRR, got {randomizer!r}")
        crowds = randomizer.crowds()
        if crowds and all(one.tried for one in crowds):
            # A composition's own may be long.
            above = {str(i): one.blanket() for i, one in enumerate(crowds)}
        else:
            above = randomizer.blankets()
        return _Mechanism(randomizer, crowds, randomizer.known_datasets(), above)

    def ends(self, question: Reached) -> tuple[str, float, float]:
        """What all others hold in the worst known dataset, its lower end, the blankets' upper."""
        others, low = largest_answer(self.below, question, worth_trying)
        return others, low.lower, largest_answer(self.above, question, worth_asking)[1].upper

    def several(
        self, questions: Sequence[Reached], ask: Callable[[Decomposition], Enclosures]
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

    def bounds(self, question: Reached, others: str, low: float, blanket: float) -> MechanismBounds:
        """With the bound for all datasets, unless the blanket is as close as that would be."""
        lower, n = min(low, blanket), question.n
        upper = blanket
        if blanket > lower * (1.0 + AS_CLOSE):
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
        return MechanismBounds(Enclosure(min(lower, upper), upper), name, others)
