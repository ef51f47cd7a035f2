"""The public questions: ε and δ of a shuffle, for one round or for repeated rounds.

The answer for a mechanism lies between its worst known dataset and its best proven bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import overload

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition, require
from shufflebounds.core.enclosure import Enclosure, Enclosures
from shufflebounds.core.relation import common_relation
from shufflebounds.core.validation import Count
from shufflebounds.core.work import limited
from shufflebounds.profiles.profile import Quantity
from shufflebounds.questions.arguments import ArrayOf, is_array_like, paired
from shufflebounds.questions.intervals import View, interval_of
from shufflebounds.questions.plan import Plan
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.subjects.base import Subject
from shufflebounds.subjects.reports import Decompositions, subject_of

# What a public question takes: what one report tells, or all that users send.
Sent = Decomposition | Randomizer | Subject


# Scalars match both overloads; the first is the more specific.
@overload
def epsilon(  # type: ignore[overload-overlap]
    decomposition: Sent,
    n: Count,
    delta: float,
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosure: ...


@overload
def epsilon(
    decomposition: Sent,
    n: Count | ArrayOf[Count],
    delta: float | ArrayOf[float],
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosures: ...


@limited
def epsilon(
    decomposition: Sent,
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
        several rounds (2·10⁻³ for `Groups`, 10⁻³ and 10⁻² for a `RandomAllocation`). With None, the
        gap between ``inner`` and ``outer`` does not count towards the width. For a randomizer, it
        is the width to which its decompositions are evaluated.

    Returns
    -------
    Enclosure
        The enclosure of ε (natural log); `Enclosures` if an argument is an array. For a
        decomposition both ends are about its own divergence D(ε), in both directions: D ≤ δ was
        found at ``upper``, and D ≥ δ at ``lower``. For a randomizer they are about the mechanism's
        own ε: ``upper`` is proven for all datasets, and two datasets attain ``lower`` (see
        `mechanism_epsilon`). Both are inf if no finite ε suffices.

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
    return _answer(
        decomposition,
        Quantity.EPSILON,
        ("n", n, validation.users),
        ("delta", delta, validation.delta_between),
        rounds,
        rtol,
    )


# Scalars match both overloads; the first is the more specific.
@overload
def delta(  # type: ignore[overload-overlap]
    decomposition: Sent,
    eps: float,
    n: Count,
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosure: ...


@overload
def delta(
    decomposition: Sent,
    eps: float | ArrayOf[float],
    n: Count | ArrayOf[Count],
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosures: ...


@limited
def delta(
    decomposition: Sent,
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
    return _answer(
        decomposition,
        Quantity.DELTA,
        ("n", n, validation.users),
        ("eps", eps, validation.eps_between),
        rounds,
        rtol,
    )


def _answer(
    sent: Sent,
    quantity: Quantity,
    users: tuple[str, object, Callable[[object], int]],
    at: tuple[str, object, Callable[[object], tuple[float, float]]],
    rounds: int,
    rtol: float | None,
) -> Enclosure | Enclosures:
    """Return ε or δ at one point or at several, given names, values and checks of arguments."""
    plan = Plan(subject_of(sent), validation.rounds(rounds))
    arguments = (at, users) if quantity is Quantity.DELTA else (users, at)
    first, second = paired(*arguments)
    counts, points = (second, first) if quantity is Quantity.DELTA else (first, second)
    enclosures = plan.answer(quantity, points, counts, rtol).required()
    return enclosures if is_array_like(users[1]) or is_array_like(at[1]) else enclosures[0]


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
    return _mechanism_bounds(
        randomizer, Quantity.EPSILON, validation.users(n), validation.delta(delta), rtol
    )


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
    return _mechanism_bounds(
        randomizer, Quantity.DELTA, validation.users(n), validation.eps(eps), rtol
    )


def _mechanism_bounds(
    randomizer: Randomizer, quantity: Quantity, n: int, at: float, rtol: float | None
) -> MechanismBounds:
    """Return the bounds of a mechanism at one point; raise ValueError for other types."""
    if not isinstance(randomizer, Randomizer):
        raise ValueError(f"randomizer must be a Randomizer, such as KRR, got {randomizer!r}")
    ends = Plan(subject_of(randomizer)).answer(quantity, [(at, at)], [n], rtol)
    [enclosure] = ends.enclosures()
    return MechanismBounds(enclosure, str(ends.upper_names[0]), str(ends.lower_names[0]))


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
    return _worst_of("candidates", candidates, Quantity.EPSILON, n, validation.delta(delta), rtol)


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
    return _worst_of("pairs", pairs, Quantity.EPSILON, n, validation.delta(delta), rtol)


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
    return _worst_of("candidates", candidates, Quantity.DELTA, n, validation.eps(eps), rtol)


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
    return _worst_of("pairs", pairs, Quantity.DELTA, n, validation.eps(eps), rtol)


def _worst_of(
    argument: str,
    pairs: Mapping[str, Decomposition],
    quantity: Quantity,
    n: int,
    at: float,
    rtol: float | None,
) -> tuple[str, Enclosure]:
    """Return the name and the enclosure of the largest answer, given the name of the argument.

    For ``pairs`` of datasets, those that seem to be smaller than others are left out.
    """
    if not isinstance(pairs, Mapping) or not pairs:
        example = "R.blankets()" if argument == "candidates" else "R.dataset_pairs()"
        raise ValueError(
            f"{argument} must be decompositions by name, such as {example}, got {pairs!r}"
        )
    common_relation(argument, (require(argument, x).relation for x in pairs.values()))
    view = View.LOWER if argument == "pairs" else View.BLANKET
    plan = Plan(Decompositions(pairs), make=partial(interval_of, view=view))
    ends = plan.answer(quantity, [(at, at)], [validation.users(n)], rtol)
    return str(ends.upper_names[0]), ends.required()[0]
