"""The public questions: ε and δ of a shuffle, for one round or for repeated rounds.

The answer for a mechanism lies between its worst known dataset and its best proven bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import overload

import numpy as np

from shufflebounds.accounting import single_shuffle
from shufflebounds.accounting.composition import Composed, compose
from shufflebounds.accounting.many_pairs import (
    BestEffort,
    candidates_to_ask,
    largest_answer,
    pairs_to_try,
)
from shufflebounds.accounting.simple_bounds import no_worse_than_simple_bound
from shufflebounds.accounting.single_shuffle import ArrayOf, enclosures_of
from shufflebounds.accounting.worst_dataset import (
    SUFFICIENT_GAP,
    all_datasets_delta,
    all_datasets_epsilon,
    unsettled_crowds,
)
from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures, reached
from shufflebounds.core.work import enclosed_so_far, limited
from shufflebounds.randomizers.base import Randomizer, require_mechanism

# Finer blankets are asked for only if the all-datasets bound exceeds this share of the coarse
# blanket's bound. Speed and width only (benchmarks/mechanisms.py).
GAIN_SHARE = 0.9
# Finer blankets are asked for only if the upper end exceeds the lower one by more than this
# relative gap. Speed and width only (benchmarks/mechanisms.py).
GAP_TO_REFINE = 1e-3
# Up to this number of decompositions, each is evaluated at all points in one call. Speed only.
MAX_DECOMPOSITIONS_TOGETHER = 4


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
    n: int | ArrayOf[int],
    delta: float | ArrayOf[float],
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosures: ...


@no_worse_than_simple_bound()
@limited
def epsilon(
    decomposition: Decomposition | Randomizer,
    n: int | ArrayOf[int],
    delta: float | ArrayOf[float],
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
            return _mechanism_enclosures("epsilon", decomposition, n, delta, rtol)
        return single_shuffle.epsilon(decomposition, n, delta, rtol=rtol)
    _require_numbers(n=n, delta=delta)
    return _compose_without_simple_bounds(decomposition, n, rounds).epsilon(
        validation.delta(delta), rtol=rtol
    )


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
    eps: float | ArrayOf[float],
    n: int | ArrayOf[int],
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosures: ...


@no_worse_than_simple_bound()
@limited
def delta(
    decomposition: Decomposition | Randomizer,
    eps: float | ArrayOf[float],
    n: int | ArrayOf[int],
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
            return _mechanism_enclosures("delta", decomposition, n, eps, rtol)
        return single_shuffle.delta(decomposition, eps, n, rtol=rtol)
    _require_numbers(eps=eps, n=n)
    return _compose_without_simple_bounds(decomposition, n, rounds).delta(
        validation.eps(eps), rtol=rtol
    )


def _compose_without_simple_bounds(
    decomposition: Decomposition | Randomizer, n: int | ArrayOf[int], rounds: int
) -> Composed:
    """Return the rounds without their simple bounds, which the public questions ask themselves."""
    composed = compose([(decomposition, validation.users(n), rounds)])
    return Composed(tuple(replace(round_, simple=None) for round_ in composed.rounds))


def _require_numbers(**arguments: object) -> None:
    """Raise ValueError for an argument that is an array."""
    for name, value in arguments.items():
        if np.ndim(value) > 0:  # type: ignore[arg-type]
            raise ValueError(
                f"{name} must be one number for more rounds than one, got {value!r}: "
                "ask for each by itself"
            )


@dataclass(frozen=True)
class MechanismBounds:
    """What is known of a mechanism's own ε or δ, and what shows it.

    Parameters
    ----------
    enclosure
        Two datasets attain ``lower``; ``upper`` is proven for all (docs/closing-the-gap.md).
    upper_bound
        The bound that is the smallest: ``blanket``, ``all datasets`` or ``simple bound``, which is
        the stronger clone of ε₀.
    others
        What all other users hold at ``lower``, such as ``third``; of compositions also the
        coordinates in which the victim's inputs differ there, if not in all.

    Examples
    --------
    >>> bounds = sb.mechanism_delta(sb.KRR(k=2, eps0=1.0), eps=0.0, n=1)
    >>> bounds.upper_bound, bounds.others
    ('blanket', 'x1')
    """

    enclosure: Enclosure
    upper_bound: str
    others: str

    def capped(self, bound: Enclosure) -> MechanismBounds:
        """Return the same with an upper end that is at most that of the simple bound.

        Parameters
        ----------
        bound
            Of the same quantity, of which ``upper`` counts.

        Returns
        -------
        MechanismBounds
            Its ``upper_bound`` is ``simple bound`` if that is smaller by more than 10⁻⁴.
        """
        upper = min(self.enclosure.upper, bound.upper)
        ends = Enclosure(min(self.enclosure.lower, upper), upper)
        is_larger = self.enclosure.upper * (1.0 - single_shuffle.DEFAULT_RTOL) > bound.upper
        name = "simple bound" if is_larger else self.upper_bound
        return replace(self, enclosure=ends, upper_bound=name)


@no_worse_than_simple_bound(epsilon)
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
        which all other users hold one input; ``upper`` is the least of the proven bounds. What lies
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
    >>> bounds = sb.mechanism_epsilon(sb.BLH(4.0), n=10_000, delta=1e-6)
    >>> bounds.upper_bound, f"{bounds.enclosure.upper:.2f}"
    ('all datasets', '0.20')
    """
    delta, n = validation.delta(delta), validation.users(n)
    mechanism, question = _Mechanism.of(randomizer), BestEffort("epsilon", n, delta, rtol)
    return mechanism.bounds(question, *mechanism.ends(question))


@no_worse_than_simple_bound(delta)
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
    >>> bounds = sb.mechanism_delta(sb.KRR(k=2, eps0=np.log(3.0)), eps=0.0, n=1)
    >>> f"{bounds.enclosure.upper:.2f}"
    '0.50'
    """
    eps, n = validation.eps(eps), validation.users(n)
    mechanism, question = _Mechanism.of(randomizer), BestEffort("delta", n, eps, rtol)
    return mechanism.bounds(question, *mechanism.ends(question))


def _mechanism_enclosures(
    quantity: str,
    randomizer: Randomizer,
    n: int | ArrayOf[int],
    at: float | ArrayOf[float],
    rtol: float | None,
) -> Enclosure | Enclosures:
    """Return the enclosures of `mechanism_epsilon` or `mechanism_delta`.

    `quantity` is "epsilon" or "delta". One of `n` and `at`, the other quantity, may be an array.
    """
    users: tuple[str, object, Callable[[object], int]] = ("n", n, validation.users)
    if quantity == "epsilon":
        counts, points = single_shuffle.paired(users, ("delta", at, validation.delta))
    else:
        points, counts = single_shuffle.paired(("eps", at, validation.eps), users)
    questions = [BestEffort(quantity, *pair, rtol) for pair in zip(counts, points, strict=True)]
    mechanism = _Mechanism.of(randomizer)
    if not (single_shuffle.is_array_like(n) or single_shuffle.is_array_like(at)):
        return mechanism.bounds(questions[0], *mechanism.ends(questions[0])).enclosure

    def ask(part: Decomposition) -> Enclosures:
        if quantity == "epsilon":
            return single_shuffle.epsilon(part, n, at, rtol=rtol)
        return single_shuffle.delta(part, at, n, rtol=rtol)

    return mechanism.enclosures(questions, ask)


@dataclass(frozen=True, eq=False)
class _Mechanism:
    """A mechanism and the decompositions that bound it.

    ``below`` holds those of dataset pairs by name, ``above`` holds blankets.
    """

    randomizer: Randomizer
    crowds: tuple[Crowd, ...]
    below: Mapping[str, Decomposition]
    above: Mapping[str, Decomposition]

    @staticmethod
    def of(randomizer: Randomizer) -> _Mechanism:
        """Return a randomizer's crowds and decompositions; raise ValueError for other types."""
        if not isinstance(randomizer, Randomizer):
            raise ValueError(f"randomizer must be a Randomizer, such as KRR, got {randomizer!r}")
        crowds = randomizer.crowds()
        if crowds and all(crowd.tried for crowd in crowds):
            # The list of a composition's blankets may be long.
            above = {str(i): crowd.blanket() for i, crowd in enumerate(crowds)}
        else:
            above = randomizer.blankets()
        return _Mechanism(randomizer, crowds, randomizer.known_datasets(), above)

    def ends(self, question: BestEffort) -> tuple[str, float, float]:
        """Return the other users' inputs at the worst dataset, its lower end, and the upper end.

        The upper end is that of the blankets.
        """
        # The ends of a single part would be no ends of the mechanism.
        with enclosed_so_far(lambda: Enclosure(0.0, math.inf)):
            others, low = largest_answer(self.below, question, pairs_to_try)
        with enclosed_so_far(lambda: Enclosure(low.lower, math.inf)):
            _, blanket = largest_answer(self.above, question, candidates_to_ask)
        return others, low.lower, blanket.upper

    def enclosures(
        self, questions: Sequence[BestEffort], ask: Callable[[Decomposition], Enclosures]
    ) -> Enclosures:
        """Return the answers to all questions.

        `ask` answers all of them for one decomposition. It is used if there are few decompositions.
        """
        if max(len(self.below), len(self.above)) <= MAX_DECOMPOSITIONS_TOGETHER:
            size = len(questions)
            # The ends of a single part would be no ends of the mechanism.
            unknown = Enclosures(np.zeros(size), np.full(size, math.inf))
            with enclosed_so_far(lambda: unknown):
                below, above = (
                    [reached(partial(ask, part)) for part in parts.values()]
                    for parts in (self.below, self.above)
                )
            low = np.max([enclosure.lower for enclosure in below], axis=0).tolist()
            high = np.max([enclosure.upper for enclosure in above], axis=0).tolist()
            ends = [("", *pair) for pair in zip(low, high, strict=True)]
        else:
            ends = [self.ends(question) for question in questions]
        answers = [Enclosure(min(low, high), high) for _, low, high in ends]
        with enclosed_so_far(lambda: enclosures_of(answers)):
            for i, (question, row) in enumerate(zip(questions, ends, strict=True)):
                answers[i] = self.bounds(question, *row).enclosure
        return enclosures_of(answers)

    def bounds(
        self, question: BestEffort, others: str, low: float, blanket: float
    ) -> MechanismBounds:
        """Return the bounds of the mechanism, given the ends of `ends`.

        The bound for all datasets is computed only if the blanket is not as close already.
        """
        lower = min(low, blanket)
        with enclosed_so_far(lambda: Enclosure(lower, blanket)):
            upper = self._all_datasets_bound(question, lower, blanket)
            if self.crowds and upper > max(lower * (1.0 + GAP_TO_REFINE), GAIN_SHARE * blanket):
                _, finer = largest_answer(self.randomizer.blankets(), question, candidates_to_ask)
                blanket = min(blanket, finer.upper)
        name = "all datasets" if upper < blanket else "blanket"
        upper = max(lower, min(upper, blanket))
        return MechanismBounds(Enclosure(min(lower, upper), upper), name, others)

    def _all_datasets_bound(self, question: BestEffort, lower: float, blanket: float) -> float:
        """Return the upper end by the bound for all datasets, or `blanket` if that is close."""
        if blanket <= lower * (1.0 + SUFFICIENT_GAP):
            return blanket
        n, at = question.n, question.at
        if question.quantity == "epsilon":
            crowds = unsettled_crowds(self.crowds, lower, at, n)
            return all_datasets_epsilon(crowds, n, at, lower, blanket)
        crowds = unsettled_crowds(self.crowds, at, lower, n)
        return max(lower, all_datasets_delta(crowds, at, n, blanket))
