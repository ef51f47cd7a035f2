"""The public questions: ε and δ of a shuffle, for one round or for repeated rounds.

The answer for a mechanism lies between its worst known dataset and its best proven bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from shufflebounds.accounting.arguments import ArrayOf, is_array_like, paired
from shufflebounds.accounting.composition import Composed, compose
from shufflebounds.accounting.one_shuffle import (
    Quantity,
    bounds_of,
    enclosures_of,
    require_width,
)
from shufflebounds.accounting.training import training_delta, training_epsilon
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError
from shufflebounds.core.validation import Count
from shufflebounds.core.work import limited
from shufflebounds.profiles.mechanism import interval_of
from shufflebounds.protocols.allocation import RandomAllocation
from shufflebounds.randomizers.base import Randomizer, made_for_delta, require_mechanism

ENDS = ("lower", "upper")


# Scalars match both overloads; the first is the more specific.
@overload
def epsilon(  # type: ignore[overload-overlap]
    decomposition: Decomposition | Randomizer | RandomAllocation,
    n: Count,
    delta: float,
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosure: ...


@overload
def epsilon(
    decomposition: Decomposition | Randomizer | RandomAllocation,
    n: Count | ArrayOf[Count],
    delta: float | ArrayOf[float],
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosures: ...


@limited
def epsilon(
    decomposition: Decomposition | Randomizer | RandomAllocation,
    n: Count | ArrayOf[Count],
    delta: float | ArrayOf[float],
    *,
    rounds: int = 1,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """Enclose the smallest ε at which n shuffled reports, or several rounds of them, are (ε, δ)-DP.

    Neighbouring datasets differ by the replacement of one user's input. For a `RandomAllocation`
    they differ by adding or removing one example, and the ε of a replacement is larger (see
    docs/random-allocation.md).

    Assumed: all users share the randomizer; reports are independent given the inputs; rounds have
    randomness of their own, and may be adaptive as docs/proofs/composition.md, section 1, says. A
    decomposition covers the two inputs of the victim that it is made of. A blanket covers them
    whatever the others hold, and covers all datasets if that pair of inputs is the worst.

    Parameters
    ----------
    decomposition
        What one report tells: a `Decomposition` such as ``R.blanket()``, or a `Randomizer` R. Or a
        `RandomAllocation`, for which ``n`` is the number of steps of an epoch and ``rounds`` is the
        number of epochs, in each of which the steps of examples are redrawn.
    n
        Number of users who report and do not collude, 1 to 10¹⁵; or a 1-d array of such.
    delta
        Target δ, 10⁻³⁰⁰ ≤ δ < 1; or a 1-d array of such. One of `n` and `delta` may be an array. A
        Fraction is not rounded if the question is about one round of a decomposition.
    rounds
        Number of rounds of n users, 1 to 10⁶, which count together.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 10⁻⁴, and for 10⁻³ over
        several rounds (10⁻³ and 10⁻² for a `RandomAllocation`). With None, the gap between
        ``inner`` and ``outer`` does not count towards the width. For a randomizer, it is the width
        to which its decompositions are evaluated.

    Returns
    -------
    Enclosure
        The enclosure of ε (natural log); `Enclosures` if an argument is an array. For a
        decomposition both ends are about its own divergence D(ε), in both directions: D ≤ δ was
        found at ``upper``, and D ≥ δ at ``lower``. For a randomizer they are about the mechanism's
        own ε: ``upper`` is proven for all datasets, and two datasets attain ``lower`` (see
        `mechanism_epsilon`). Both are inf if no ε will do.

    Raises
    ------
    ValueError
        For an argument outside these ranges.
    PrecisionError
        If the width stays above `rtol` (for a randomizer only over several rounds, and only if
        `rtol` was given), or if the answer would cost too much work. It holds the enclosure that
        was reached.

    Notes
    -----
    Su, Cheng and Wang 2025 (arXiv 2504.07414), Theorem 12. Proofs: docs/proofs/engine.md, for
    rounds docs/proofs/composition.md, for randomizers docs/proofs/closing-the-gap.md.

    Examples
    --------
    >>> R = sb.KRR(k=10, eps0=4.0)
    >>> f"{sb.epsilon(R.blanket(), n=100_000, delta=1e-6).upper:.3f}"
    '0.110'
    """
    if isinstance(decomposition, RandomAllocation):
        return _of_training(
            decomposition, Quantity.EPSILON, ("n", n), ("delta", delta), rounds, rtol
        )
    subject = require_mechanism(decomposition)
    if validation.rounds(rounds) > 1:
        return _of_rounds(
            subject, Quantity.EPSILON, n, ("delta", delta, validation.delta), rounds, rtol
        )
    is_exact = isinstance(subject, Decomposition) and not is_array_like(delta)
    check = validation.delta_between if is_exact else _twice(validation.delta)
    counts, deltas = paired(("n", n, validation.users), ("delta", delta, check))
    subject = made_for_delta(subject, min(low for low, _ in deltas))
    enclosures = _enclosures(subject, Quantity.EPSILON, counts, deltas, rtol)
    return enclosures if is_array_like(n) or is_array_like(delta) else enclosures[0]


# Scalars match both overloads; the first is the more specific.
@overload
def delta(  # type: ignore[overload-overlap]
    decomposition: Decomposition | Randomizer | RandomAllocation,
    eps: float,
    n: Count,
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosure: ...


@overload
def delta(
    decomposition: Decomposition | Randomizer | RandomAllocation,
    eps: float | ArrayOf[float],
    n: Count | ArrayOf[Count],
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosures: ...


@limited
def delta(
    decomposition: Decomposition | Randomizer | RandomAllocation,
    eps: float | ArrayOf[float],
    n: Count | ArrayOf[Count],
    *,
    rounds: int = 1,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """Enclose the smallest δ at which n shuffled reports, or several rounds of them, are (ε, δ)-DP.

    What is assumed, which neighbouring datasets are meant, and the sources, are as for `epsilon`.

    Parameters
    ----------
    decomposition
        What one report tells: a `Decomposition` such as ``R.blanket()``, or a `Randomizer` R, or a
        `RandomAllocation`, as for `epsilon`.
    eps
        ε ≥ 0 (natural log); or a 1-d array of such. One of `eps` and `n` may be an array. A
        Fraction is not rounded if the question is about one round of a decomposition.
    n
        Number of users who report and do not collude, 1 to 10¹⁵; or a 1-d array of such.
    rounds
        Number of rounds of n users, 1 to 10⁶, which count together.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 10⁻⁴, and over several
        rounds for 0.05, or for 10⁻³ at ε = 0. With None, the gap between ``inner`` and ``outer``
        does not count towards the width. For a randomizer, it is the width to which its
        decompositions are evaluated.

    Returns
    -------
    Enclosure
        The enclosure of δ, a probability; `Enclosures` if an argument is an array. For a
        decomposition both ends are about the larger of its two divergences D(ε). For a randomizer
        they are about the mechanism's own δ: ``upper`` is proven for all datasets, and two datasets
        attain ``lower``.

    Raises
    ------
    ValueError
        For an argument outside these ranges.
    PrecisionError
        If the width stays above `rtol`, as for `epsilon`. Any width is accepted for a δ below
        10⁻³⁰⁰, or so small that the rounding of the decomposition's entries may hide it.

    Examples
    --------
    Without others to hide among, δ at ε = 0 is tanh(ε₀/2), which is 1/2 for ε₀ = log 3.

    >>> R = sb.KRR(k=2, eps0=np.log(3.0))
    >>> f"{sb.delta(R, eps=0.0, n=1).upper:.2f}"
    '0.50'
    """
    if isinstance(decomposition, RandomAllocation):
        return _of_training(decomposition, Quantity.DELTA, ("n", n), ("eps", eps), rounds, rtol)
    subject = require_mechanism(decomposition)
    if validation.rounds(rounds) > 1:
        return _of_rounds(subject, Quantity.DELTA, n, ("eps", eps, validation.eps), rounds, rtol)
    is_exact = isinstance(subject, Decomposition) and not is_array_like(eps)
    check = validation.eps_between if is_exact else _twice(validation.eps)
    losses, counts = paired(("eps", eps, check), ("n", n, validation.users))
    enclosures = _enclosures(subject, Quantity.DELTA, counts, losses, rtol)
    return enclosures if is_array_like(n) or is_array_like(eps) else enclosures[0]


def _of_rounds(
    subject: Decomposition | Randomizer,
    quantity: Quantity,
    n: object,
    at: tuple[str, object, Callable[[object], float]],
    rounds: int,
    rtol: float | None,
) -> Enclosure | Enclosures:
    """Return ε or δ of several rounds; `at` has the other argument's name, value and check.

    If some of several points are too wide, the error holds the enclosures of all points.
    """
    counts, points = paired(("n", n, validation.users), at)
    ask = Composed.epsilon if quantity is Quantity.EPSILON else Composed.delta
    enclosures, errors = [], []
    for count, point in zip(counts, points, strict=True):
        try:
            made = subject
            if quantity is Quantity.EPSILON:
                made = made_for_delta(subject, point / rounds)
            enclosures.append(ask(compose([(made, count, rounds)]), point, rtol=rtol))
        except PrecisionError as error:
            errors.append(error)
            enclosures.append(error.enclosure)
    if not (is_array_like(n) or is_array_like(at[1])):
        if errors:
            raise errors[0]
        return enclosures[0]
    every = Enclosures(*(np.array([getattr(x, end) for x in enclosures]) for end in ENDS))
    if errors:
        raise PrecisionError(str(errors[0]), every) from errors[0]
    return every


def _of_training(
    allocation: RandomAllocation,
    quantity: Quantity,
    steps: tuple[str, object],
    at: tuple[str, object],
    epochs: int,
    rtol: float | None,
) -> Enclosure | Enclosures:
    """Return ε or δ of epochs of training, for names and values of the other arguments."""
    validation.rounds(epochs)
    is_epsilon = quantity is Quantity.EPSILON
    check = validation.delta if is_epsilon else validation.eps
    counts, points = paired((*steps, validation.users), (*at, check))
    enclosures = [
        training_epsilon(allocation, count, point, epochs, rtol)
        if is_epsilon
        else training_delta(allocation, count, point, epochs, rtol)
        for count, point in zip(counts, points, strict=True)
    ]
    if not any(is_array_like(value) for _, value in (steps, at)):
        return enclosures[0]
    return Enclosures(*(np.array([getattr(x, end) for x in enclosures]) for end in ENDS))


def _twice(check: Callable[[object], float]) -> Callable[[object], tuple[float, float]]:
    """Return a check of floats that gives the same float as both neighbours of the argument."""
    return lambda value: (check(value),) * 2


def _enclosures(
    subject: Decomposition | Randomizer,
    quantity: Quantity,
    counts: Sequence[int],
    points: Sequence[tuple[float, float]],
    rtol: float | None,
) -> Enclosures:
    """Return enclosures at all points; raise `PrecisionError` if a decomposition's is too wide."""
    interval = interval_of(subject, np.array([float(count) for count in counts]))
    enclosures, _ = enclosures_of(interval, quantity, points, rtol)
    if isinstance(subject, Decomposition):
        at = [left for left, _ in points]
        require_width(enclosures, [subject], quantity, counts, at, rtol)
    return enclosures


@dataclass(frozen=True)
class MechanismBounds:
    """What is known of a mechanism's own ε or δ, and what shows it.

    Parameters
    ----------
    enclosure
        Two datasets attain ``lower``; ``upper`` is proven for all (docs/proofs/closing-the-gap.md).
    upper_bound
        The bound that is the smallest: ``blanket``, ``all datasets`` or ``stronger clone``, which
        is that of ε₀.
    others
        What all other users hold at ``lower``, such as ``third``; for compositions also the
        coordinates in which the victim's inputs differ there, unless they differ in all.

    Examples
    --------
    >>> bounds = sb.mechanism_delta(sb.KRR(k=2, eps0=1.0), eps=0.0, n=1)
    >>> bounds.upper_bound, bounds.others
    ('blanket', 'x1')
    """

    enclosure: Enclosure
    upper_bound: str
    others: str


@limited
def mechanism_epsilon(
    randomizer: Randomizer, n: Count, delta: float, *, rtol: float | None = None
) -> MechanismBounds:
    """Enclose a mechanism's own smallest ε at which n shuffled reports are (ε, δ)-DP, and say why.

    It is about every two datasets that differ by the replacement of one user's input, whatever the
    others hold. Assumed: reports are independent given the inputs.

    Parameters
    ----------
    randomizer
        The randomizer that all users share.
    n
        Number of users, 1 to 10¹⁵, without those who drop out or collude.
    delta
        Target δ, 10⁻³⁰⁰ ≤ δ < 1, a float.
    rtol
        The relative width to which decompositions are evaluated, 10⁻⁹ to 0.1; None stands for 10⁻⁴.
        It does not limit how far apart the ends are.

    Returns
    -------
    MechanismBounds
        Its ``enclosure`` is of ε (natural log): ``lower`` is that of the worst known dataset, in
        which all other users hold one input; ``upper`` is the smallest of the proven bounds. The
        mechanism's own ε is somewhere between them.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Notes
    -----
    The bound for all datasets is proven in docs/proofs/closing-the-gap.md.

    Examples
    --------
    >>> bounds = sb.mechanism_epsilon(sb.BLH(4.0), n=10_000, delta=1e-6)
    >>> bounds.upper_bound, f"{bounds.enclosure.upper:.2f}"
    ('all datasets', '0.20')
    """
    delta, n = validation.delta(delta), validation.users(n)
    if isinstance(randomizer, Randomizer):
        randomizer = randomizer.for_delta(delta)
    return _mechanism_bounds(randomizer, Quantity.EPSILON, n, delta, rtol)


@limited
def mechanism_delta(
    randomizer: Randomizer, eps: float, n: Count, *, rtol: float | None = None
) -> MechanismBounds:
    """Enclose a mechanism's own smallest δ at which n shuffled reports are (ε, δ)-DP, and say why.

    What is assumed, and the proof, are as for `mechanism_epsilon`.

    Parameters
    ----------
    randomizer
        The randomizer that all users share.
    eps
        ε ≥ 0 (natural log), a float.
    n
        Number of users, 1 to 10¹⁵, without those who drop out or collude.
    rtol
        The relative width to which decompositions are evaluated, 10⁻⁹ to 0.1; None stands for 10⁻⁴.

    Returns
    -------
    MechanismBounds
        Its ``enclosure`` is of δ: two datasets attain ``lower``; ``upper`` is proven for all.

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
    return _mechanism_bounds(randomizer, Quantity.DELTA, n, eps, rtol)


def _mechanism_bounds(
    randomizer: Randomizer, quantity: Quantity, n: int, at: float, rtol: float | None
) -> MechanismBounds:
    """Return the bounds of a mechanism at one point; raise ValueError for other types."""
    if not isinstance(randomizer, Randomizer):
        raise ValueError(f"randomizer must be a Randomizer, such as KRR, got {randomizer!r}")
    interval = interval_of(randomizer, np.array([float(n)]))
    bounds = bounds_of(interval, quantity, np.array([at]), rtol)
    [enclosure] = bounds.enclosures()
    return MechanismBounds(enclosure, str(bounds.upper_names[0]), str(bounds.lower_names[0]))
