"""The largest ε or δ of several decompositions: of all pairs of inputs, or of dataset pairs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shufflebounds.accounting.one_shuffle import Quantity, enclosures_of, require_width
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition, require
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.relation import common_relation
from shufflebounds.core.validation import Count
from shufflebounds.profiles.direction import pair
from shufflebounds.profiles.profile import Interval, Max


def worst_epsilon(
    candidates: Mapping[str, Decomposition], n: Count, delta: float, *, rtol: float | None = None
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
    return _worst(candidates, Quantity.EPSILON, n, validation.delta(delta), rtol)


def best_lower_epsilon(
    pairs: Mapping[str, Decomposition], n: Count, delta: float, *, rtol: float | None = None
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
    return _worst(pairs, Quantity.EPSILON, n, validation.delta(delta), rtol, is_selective=True)


def worst_delta(
    candidates: Mapping[str, Decomposition], eps: float, n: Count, *, rtol: float | None = None
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
    return _worst(candidates, Quantity.DELTA, n, validation.eps(eps), rtol)


def best_lower_delta(
    pairs: Mapping[str, Decomposition], eps: float, n: Count, *, rtol: float | None = None
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
    return _worst(pairs, Quantity.DELTA, n, validation.eps(eps), rtol, is_selective=True)


def _worst(
    candidates: Mapping[str, Decomposition],
    quantity: Quantity,
    n: Count,
    at: float,
    rtol: float | None,
    *,
    is_selective: bool = False,
) -> tuple[str, Enclosure]:
    """Return the name and the enclosure of the largest answer.

    If it `is_selective`, candidates that seem to be smaller than others are left out.
    """
    argument = "pairs" if is_selective else "candidates"
    _require_several(argument, candidates)
    users = validation.users(n)
    common_relation(argument, (require(argument, x).relation for x in candidates.values()))
    parts = [pair(x, np.array([float(users)]), name) for name, x in candidates.items()]
    lower = Max([part.lower for part in parts], is_selective=is_selective)
    is_exact = all(part.is_exact for part in parts)
    upper = lower if is_exact else Max([part.upper for part in parts], is_selective=is_selective)
    enclosures, bounds = enclosures_of(Interval(lower, upper), quantity, [(at, at)], rtol)
    require_width(enclosures, candidates.values(), quantity, [users], [at], rtol)
    return str(bounds.upper_names[0]), enclosures[0]


def _require_several(argument: str, value: object) -> None:
    """Raise ValueError, which names the argument, unless its value is a nonempty mapping."""
    if not isinstance(value, Mapping):
        example = "R.dataset_pairs()" if argument == "pairs" else "R.blankets()"
        raise ValueError(
            f"{argument} must be decompositions by name, such as {example}, got {value!r}"
        )
    if not value:
        raise ValueError(f"{argument} must hold at least one decomposition, got none")
