"""Randomizers that are made of others, and what they require of their parts.

A blanket of a composition covers all pairs of inputs only if any two inputs of every part are
alike, or if all pairs of a part are examined (docs/proofs/engine.md, section 10).
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import (
    NEARLY_EQUAL,
    FloatArray,
    component_gap,
    merge_rows,
)
from shufflebounds.core.validation import MAX_ENTRIES, Count
from shufflebounds.estimation import sampling
from shufflebounds.estimation.accuracy import Error, Spread
from shufflebounds.randomizers.base import Randomizer


class Composition(Randomizer):
    """A randomizer that is made of others, and may be a part of a composition itself."""

    @abstractmethod
    def lacking(self) -> str:
        """Return what it lacks for other compositions to use its blanket; empty if nothing."""

    @abstractmethod
    def check_size(self) -> None:
        """Raise ValueError for joints in it that are too large for memory."""

    @abstractmethod
    def _reported(self) -> Sequence[tuple[float, Randomizer]]:
        """Return pairs: the probability that a user reports on a part, and the part."""

    @abstractmethod
    def _reporting_users(self, users: int, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
        """Return for each part an array that says which of the users report on it."""

    @property
    def caveat(self) -> str | None:
        """The caveats of its parts; None if they have none."""
        caveats = dict.fromkeys(part.caveat for _, part in self._reported() if part.caveat)
        return " ".join(caveats) or None

    def errors(self, n: Count) -> tuple[Error, ...]:
        """Return the error of every part, each of which estimates a coordinate of its own.

        If only a random sample of the users reports on a part, its error includes the error of
        sampling, and holds if at least one user reports on it. Parts that are joint or parallel
        compositions have no error.

        Parameters
        ----------
        n
            Number of all users, 1 to 10¹⁵.

        Returns
        -------
        tuple of Error
            See `Randomizer.error`, which raises what this raises.
        """
        n = validation.users(n)
        return tuple(
            part._variances().sampled(rate).error(n, None) for rate, part in self._reported()
        )

    def sample(  # type: ignore[override]
        self, inputs: Sequence[ArrayLike], rng: np.random.Generator
    ) -> list[NDArray]:
        """Draw the reports of users on every part.

        Parameters
        ----------
        inputs
            For every part an array of all users' inputs: a coordinate of its own, or the same for
            all parts.
        rng
            See `Randomizer`.

        Returns
        -------
        list of ndarray
            For every part the reports of the users who run it.
        """
        sampling.require_generator(rng)
        parts = [part for _, part in self._reported()]
        if any(isinstance(part, Composition) for part in parts):
            raise ValueError(f"parts must not be compositions to draw reports, got {self.label}")
        arrays = [np.asarray(values) for values in inputs]
        if len(arrays) != len(parts) or len({len(x) for x in arrays if x.ndim}) != 1:
            raise ValueError(
                f"inputs must be {len(parts)} arrays, one for every part, with a row for every "
                f"user, got shapes {', '.join(str(x.shape) for x in arrays)}"
            )
        reporting = self._reporting_users(len(arrays[0]), rng)
        return [
            # If nobody reports, one report is drawn and dropped, for the type and shape of reports.
            part.sample(inputs[users], rng) if users.any() else part.sample(inputs[:1], rng)[:0]
            for part, inputs, users in zip(parts, arrays, reporting, strict=True)
        ]

    def estimate(self, reports: Sequence[ArrayLike]) -> list[FloatArray]:  # type: ignore[override]
        """Estimate the shares or the mean of every part's coordinate, each from its own reports.

        Parameters
        ----------
        reports
            The reports of `sample`.

        Returns
        -------
        list of ndarray
            See `Randomizer`; `errors` returns their errors. If nobody reports on a part, all of its
            estimates are nan.
        """
        parts = self._reported()
        return [
            part.estimate(part_reports) if len(np.asarray(part_reports)) else _no_estimate(part)
            for (_, part), part_reports in zip(parts, reports, strict=True)
        ]

    def _variances(self, frequencies: ArrayLike | None = None) -> Spread:
        """Raise ValueError: every part has variances of its own."""
        raise ValueError(f"{self.label} has an error for every part: ask errors(n) of it")


def _no_estimate(part: Randomizer) -> FloatArray:
    """Return nan for every value whose share the part estimates."""
    return np.full(int(part._variances().values), np.nan)


def check_parts(
    parts: Iterable[Randomizer], *, several: bool = False
) -> tuple[tuple[Randomizer, ...], tuple[bool, ...]]:
    """Return the parts, and for each whether any two of its inputs are alike.

    Raises ValueError unless all are, or if `several` is true, unless the others have `choices`.
    """
    if not isinstance(parts, Iterable):
        raise ValueError(f"parts must be a list of randomizers, got {parts!r}")
    parts = tuple(parts)
    if not parts:
        raise ValueError("parts must hold at least one randomizer, got none")
    alike: dict[Randomizer, bool] = {}
    for part in dict.fromkeys(parts):
        if not isinstance(part, Randomizer):
            raise ValueError(
                f"parts must be randomizers, such as KRR(k=10, eps0=1.0), got {part!r}"
            )
        why = missing_property(part)
        if why and not (several and part.choices()):
            raise ValueError(f"parts must {why}, got {part!r}")
        alike[part] = not why
    return parts, tuple(alike[part] for part in parts)


def has_proven_pairs(part: object) -> bool:
    """Return whether docs/ proves that the blankets of a randomizer have the largest E φ(G).

    This is for all convex φ and all ε, so that it holds for a sample of the reports, too.
    """
    is_proven = vars(type(part)).get("pairs_are_proven", False)
    return isinstance(part, Randomizer) and bool(is_proven)


def missing_property(part: Randomizer) -> str:
    """Return the property that the part must have for compositions to use its blanket alone.

    The result is empty if it has this property, else the end of a sentence "parts must …".
    """
    if isinstance(part, Composition):  # Its own parts were checked when it was constructed.
        return part.lacking()
    blankets = list(part.blankets().values())
    if len(blankets) == 1 and not blankets[0].is_symmetric():
        return (
            "have blankets that are their own mirror images, for nobody knows the worst pair of "
            "other ones"
        )
    known = part.by_matrix
    is_declared = part.composable if known is None else known.are_alike
    if len(blankets) > 1 or not (is_declared or inputs_are_alike(part)):
        return (
            "have inputs any two of which are alike, by a matrix() that shows it or an attribute "
            "composable = True that says so"
        )
    return ""


def inputs_are_alike(part: Randomizer) -> bool:
    """Return whether the matrix R(x)(y) gives any two inputs the same `blanket`, up to rounding."""
    try:
        # A part without a matrix raises AttributeError.
        rows = np.asarray(part.matrix())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return False
    if rows.size * len(rows) > MAX_ENTRIES:
        return False
    blanket, sure = part.blanket(), rows.min(axis=0)
    # `Decomposition.merge` would not unite tied components with others of the same ratio.
    expected = merge_rows(np.stack([blanket.a, blanket.b, blanket.c]))[0]
    gaps = (
        component_gap(expected, merge_rows(np.stack([x, y, sure]))[0])
        for x, y in itertools.combinations(rows, 2)
    )
    return all(gap <= NEARLY_EQUAL for gap in gaps)


def check_sizes(parts: Iterable[Randomizer]) -> None:
    """Raise ValueError for joints among the parts that are too large for memory."""
    for part in parts:
        if isinstance(part, Composition):
            part.check_size()


def combine_dataset_pairs(
    pairs: Iterable[Mapping[str, Decomposition]],
) -> dict[str, list[Decomposition]]:
    """Return lists of the parts' dataset pairs, for every name of x₂ that a part has.

    A part without the name uses its first pair. The names of the parts' x₂ make the name of a list,
    such as ``third third 1``, or ``x1`` if they are all the same.
    """
    pairs = list(pairs)
    names = dict.fromkeys(name for part in pairs for name in part)
    choices = [[name if name in part else next(iter(part)) for part in pairs] for name in names]
    return {
        " ".join(choice if len(set(choice)) > 1 else choice[:1]): [
            part[name] for part, name in zip(pairs, choice, strict=True)
        ]
        for choice in choices
    }
