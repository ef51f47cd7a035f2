"""ε and δ of a shuffle, once or the same round many times over: the public questions."""

from __future__ import annotations

from typing import overload

import numpy as np

from shufflebounds.accounting import mechanism, single_shuffle
from shufflebounds.accounting.composition import Composed, compose
from shufflebounds.accounting.single_shuffle import Several
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures
from shufflebounds.core.work import limited
from shufflebounds.randomizers.base import Randomizer, require_mechanism


# The numbers among the arguments of the second are those of the first.
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
        several rounds, and leaves out of account how far ``inner`` and ``outer`` lie apart. Of a
        randomizer, the width to which its decompositions are evaluated.

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
        Where the width stays above `rtol`; it holds the enclosure that was reached. Of a randomizer
        never in one round, and in several only for an `rtol` that was given.

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
    if validation.whole("rounds", rounds, minimum=1) == 1:
        if isinstance(decomposition, Randomizer):
            return mechanism.epsilons(decomposition, n, delta, rtol=rtol)
        return single_shuffle.epsilon(decomposition, n, delta, rtol=rtol)
    _require_single(n=n, delta=delta)
    return _composed(decomposition, n, rounds).epsilon(validation.delta(delta), rtol=rtol)


# The numbers among the arguments of the second are those of the first.
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
        several rounds, and leaves out of account how far ``inner`` and ``outer`` lie apart. Of a
        randomizer, the width to which its decompositions are evaluated.

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
    if validation.whole("rounds", rounds, minimum=1) == 1:
        if isinstance(decomposition, Randomizer):
            return mechanism.deltas(decomposition, eps, n, rtol=rtol)
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
