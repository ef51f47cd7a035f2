"""The one object every bound is made of: a decomposition of a randomizer's outputs.

A decomposition (Su, Cheng, Wang, arXiv 2504.07414, Definition 7) lists components j with

* ``a[j]``: mass of the victim's report on j when the input is x₁⁰,
* ``b[j]``: the same for x₁¹,
* ``c[j]``: mass that every other user is sure to put on j.

The hockey-stick divergence of the histogram pair it induces is what `divergence.engine` encloses.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.masses import read_masses
from shufflebounds.core.products import (
    NEARLY_EQUAL,
    SMALLEST_MASS,
    SUM_TOLERANCE,
    BoolArray,
    FloatArray,
    U,
    component_gap,
    compounded,
    merge_rows,
    united_products,
)
from shufflebounds.core.relation import Relation, common_relation, read_relation

# Largest number of pairs of components in one step of a joint composition: 300 MB and some seconds.
LARGEST_JOINT = 25_000_000
# Smallest positive relative uncertainty of entries: products of smaller ones with masses might
# underflow.
_SMALLEST_ENTRY_ERROR = 2.0**-60


@dataclass(frozen=True, eq=False)
class Decomposition:
    """What one report tells: three aligned arrays of component masses, and how exact they are.

    For component j, ``a[j]`` and ``b[j]`` are the probabilities of the victim's report under the
    inputs x₁⁰ and x₁¹, and ``c[j]`` is what every other user is sure to put there (Su, Cheng and
    Wang 2025, arXiv 2504.07414, Definition 7).

    Parameters
    ----------
    a, b, c
        Probabilities, shape (J,), 0 or at least 10⁻³⁰⁰; ``a`` and ``b`` sum to 1, ``c`` to at most
        1. Numbers that are not floats (Fractions, Decimals) are rounded, and ``rel_err`` grows
        accordingly.
    rel_err
        The real number that an entry x stands for lies within ``rel_err`` x of it, 0 to below
        0.001. 0 means that the entries are exact. Enclosures are widened by it. Sums may be off by
        at most 10⁻⁹; ``rel_err`` becomes at least twice that error.
    inner, outer
        For a continuous randomizer: decompositions whose divergence is never above (``inner``) or
        never below (``outer``) its own. Where one is absent, the arrays serve as that end.
    tied
        Truth values, shape (J,): whether a and b stand for the same real number, however it is
        rounded, so that a report on this component tells nothing. By default it is true where
        a = b if no ``rel_err`` is given and both sums are equal, and false everywhere otherwise.
        If you raise ``rel_err`` to cover other numbers, set it to None: these need not be tied.
    relation
        How the two datasets differ that a and b are about: ``replace``, or ``add or remove`` or
        ``zero-out`` as for training.

    Raises
    ------
    ValueError
        For arrays that are not probability masses, a ``rel_err`` outside its range, ends that are
        not decompositions, components that are tied though a ≠ b, and an unknown relation. The
        message names the field.

    Examples
    --------
    The blanket of 2-RR at ε₀ = log 3, of which a lone user has δ = (3 − e^ε)/4:

    >>> U = sb.Decomposition([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
    >>> f"{sb.delta(U, eps=np.log(2.0), n=1).upper:.2f}"
    '0.25'
    """

    a: FloatArray
    b: FloatArray
    c: FloatArray
    rel_err: float = 0.0
    inner: Decomposition | None = field(default=None, repr=False)
    outer: Decomposition | None = field(default=None, repr=False)
    tied: BoolArray | None = field(default=None, repr=False)
    relation: Relation = field(default=Relation.REPLACE, repr=False)
    # Truth values, shape (J,), read-only: ``tied`` if it is given, else its default.
    ties: BoolArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        are_rounded = False
        for name in "abc":
            masses, is_inexact = read_masses(name, getattr(self, name))
            object.__setattr__(self, name, masses)
            are_rounded = are_rounded or is_inexact
        if not self.a.shape == self.b.shape == self.c.shape:
            raise ValueError(
                "a, b and c must have one entry per component, got "
                f"{self.a.size}, {self.b.size} and {self.c.size} entries"
            )
        a, b, c = (math.fsum([-1.0, *getattr(self, name).tolist()]) for name in "abc")
        for name, excess in (("a", a), ("b", b)):
            if abs(excess) > SUM_TOLERANCE:
                raise ValueError(f"{name} must sum to 1, got {1.0 + excess!r}")
        if c > SUM_TOLERANCE:
            raise ValueError(f"c must sum to at most 1, got {1.0 + c!r}")
        given_error = self.rel_err
        object.__setattr__(
            self, "rel_err", _entry_error(given_error, are_rounded, max(abs(a), abs(b), c))
        )
        object.__setattr__(self, "relation", read_relation(self.relation))
        for name in ("inner", "outer"):
            end = getattr(self, name)
            if end is not None and require(name, end).relation != self.relation:
                raise ValueError(
                    f"{name} must have the relation {self.relation.value!r} of the decomposition, "
                    f"got {end.relation.value!r}"
                )
        # If the sums of a and b differ, equal masses become unequal when divided by these sums.
        sum_gap = math.fsum([*self.a.tolist(), *(-self.b).tolist()])
        are_exact = given_error == 0.0 and not are_rounded and sum_gap == 0.0
        is_equal = self.a == self.b
        if self.tied is not None:
            object.__setattr__(self, "tied", _read_ties(self.tied, is_equal))
        ties = self.tied if self.tied is not None else _read_ties(is_equal & are_exact, is_equal)
        object.__setattr__(self, "ties", ties)

    def __reduce__(self) -> tuple[object, ...]:
        """Return the constructor and its arguments: copied arrays would be writable."""
        ends = self.inner, self.outer
        # The constructor adds the error of the sums to `rel_err`. A copy made with that `rel_err`
        # would have no ties by default, so its ties are passed explicitly.
        tied = self.ties if self.rel_err > 0.0 else self.tied
        return type(self), (self.a, self.b, self.c, self.rel_err, *ends, tied, self.relation)

    def __len__(self) -> int:
        return self.a.size

    @cached_property
    def residual(self) -> float:
        """The mass 1 − Σc of another user's report that is not fixed by the components."""
        return max(0.0, math.fsum([1.0, *(-self.c).tolist()]))

    def bounds(self) -> tuple[Decomposition, Decomposition]:
        """Return the decompositions whose divergences bound the truth from below and from above."""
        return self.inner or self, self.outer or self

    def is_symmetric(self) -> bool:
        """Return whether `swap` only permutes the components, up to rounding."""
        return self.asymmetry <= NEARLY_EQUAL

    def is_finite(self) -> bool:
        """Return whether the arrays alone describe the randomizer: no ``inner``, no ``outer``."""
        return self.inner is None and self.outer is None

    def gparv(self, eps: float) -> tuple[FloatArray, FloatArray]:
        """List the values and masses of the generalized privacy amplification random variable G.

        Definition 9: (a − e^ε b)/c with probability c on components with c > 0, and 0 with the
        residual probability.

        Parameters
        ----------
        eps
            0 ≤ ε ≤ 700 (natural log).

        Returns
        -------
        tuple of two arrays
            Values (infinite beyond the range of floats) and masses, both of shape (J,), or (J + 1,)
            if there is a residual.

        Raises
        ------
        ValueError
            For an ε outside this range.

        Examples
        --------
        >>> U = sb.Decomposition([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
        >>> values, masses = U.gparv(0.0)
        >>> values.tolist(), masses.tolist()
        ([2.0, -2.0, 0.0], [0.25, 0.25, 0.5])
        """
        eps = validation.eps(eps)
        if eps > validation.MAX_EXPONENT:
            raise ValueError(
                f"eps must be at most {validation.MAX_EXPONENT:g} for values in floats, got {eps!r}"
            )
        positive = self.c > 0.0
        a, b, c = self.a[positive], self.b[positive], self.c[positive]
        # The form a − e^ε b would cancel at small ε₀.
        with np.errstate(over="ignore"):
            values = ((a - b) - math.expm1(eps) * b) / c
        if self.residual == 0.0:
            return values, c
        return np.append(values, 0.0), np.append(c, self.residual)

    def swap(self) -> Decomposition:
        """Return the same components with the roles of x₁⁰ and x₁¹ exchanged: (b, a, c)."""
        return Decomposition(
            self.b,
            self.a,
            self.c,
            self.rel_err,
            self.inner and self.inner.swap(),
            self.outer and self.outer.swap(),
            self.ties,
            self.relation,
        )

    def same_input(self) -> Decomposition:
        """Return the merged decomposition (a, a, c): the victim's input is x₁⁰ in both cases."""
        return replace(
            self,
            b=self.a,
            inner=self.inner and self.inner.same_input(),
            outer=self.outer and self.outer.same_input(),
            tied=np.ones_like(self.ties),
        ).merge()

    @cached_property
    def asymmetry(self) -> float:
        """Largest relative difference between a merged component and its mirror image under `swap`.

        It is 0 for an exactly symmetric decomposition, a few roundings for one that is symmetric in
        exact arithmetic, and inf if a component has no counterpart at all.
        """
        merged = self.merge()
        ends = [end.asymmetry for end in (self.inner, self.outer) if end is not None]
        # A tied component is its own mirror image.
        untied = merged._rows[:3, ~merged.ties]
        return max([component_gap(untied, untied[[1, 0, 2]]), *ends])

    @cached_property
    def directions(self) -> tuple[tuple[Decomposition, Decomposition], ...]:
        """The merged pairs (inner, outer) whose divergences enclose D of (a, b, c) and (b, a, c).

        There is one pair if the decomposition is symmetric, and two otherwise. `inner` and `outer`
        of a pair are the same object if the decomposition is finite (`is_finite`).
        """
        merged = self.merge()
        if not self.is_symmetric():
            return merged.bounds(), merged.swap().bounds()
        # The asymmetry is relative to the larger of two entries; twice it covers the smaller one.
        inner, outer = (
            replace(
                end,
                rel_err=compounded(end.rel_err, 2.0 * self.asymmetry),
                inner=None,
                outer=None,
                tied=end.ties,
            )
            for end in merged.bounds()
        )
        return ((inner, inner if merged.is_finite() else outer),)

    def merge(self) -> Decomposition:
        """Unite components with equal a : b : c, which leaves the divergence as it is (Theorem 7).

        Ratios that differ only by rounding count as equal, and their difference is added to
        ``rel_err``. A component that the victim never uses (a = b = 0) joins the residual. A tied
        component is never united with one that is not tied.
        """
        return self._merged

    @cached_property
    def _merged(self) -> Decomposition:
        """The result of `merge`."""
        (a, b, c, tied), error = merge_rows(self._rows)
        return Decomposition(
            a,
            b,
            c,
            compounded(self.rel_err, error),
            self.inner and self.inner.merge(),
            self.outer and self.outer.merge(),
            tied == 1.0,
            self.relation,
        )

    @property
    def _rows(self) -> FloatArray:
        """The rows a, b, c and a row of 1 for tied components, 0 for others, shape (4, J)."""
        return np.stack([self.a, self.b, self.c, self.ties])

    def joint(self, other: Decomposition) -> Decomposition:
        """Return the joint composition: the user sends both reports together (Theorem 9).

        Parameters
        ----------
        other
            The decomposition of the other report, which has randomness of its own.

        Returns
        -------
        Decomposition
            Products over all pairs of components, merged.

        Raises
        ------
        ValueError
            If a product of masses would be too small for a float, if the pairs are too many for
            memory, or for another neighbouring relation.

        Examples
        --------
        >>> U = sb.Decomposition([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
        >>> sorted(U.joint(U).a.tolist())
        [0.0625, 0.375, 0.5625]
        """
        require("other", other)
        relation = common_relation("both reports", [self.relation, other.relation])
        if len(self) * len(other) > LARGEST_JOINT:
            raise ValueError(
                f"a joint of {len(self)} by {len(other)} components is too large; "
                f"at most {LARGEST_JOINT} pairs are allowed"
            )
        for name in "abc":
            check_product(name, getattr(self, name), getattr(other, name))
        (a, b, c, tied), errors = united_products(self._rows, other._rows)
        rel_err = compounded(self.rel_err, other.rel_err, U, *errors)
        product = Decomposition(a, b, c, rel_err, tied=tied == 1.0, relation=relation).merge()
        return replace(
            product,
            inner=_bound_product(self, other, "inner"),
            outer=_bound_product(self, other, "outer"),
        )


def require(name: str, value: object) -> Decomposition:
    """Return `value` if it is a decomposition; raise ValueError otherwise.

    For a randomizer the message says which of its methods return a decomposition.
    """
    if isinstance(value, Decomposition):
        return value
    sentence = f"{name} must be a Decomposition, such as R.blanket(), got {value!r}"
    if hasattr(value, "blankets") and not isinstance(value, type):
        sentence += (
            ", a randomizer: take its blanket() for what you can claim, its dataset_pair() for "
            "what two datasets attain"
        )
    raise ValueError(sentence)


def check_product(name: str, x: FloatArray, y: FloatArray) -> None:
    """Raise ValueError where a product of masses would be too small for a float."""
    smallest = x[x > 0.0].min(initial=np.inf), y[y > 0.0].min(initial=np.inf)
    if smallest[0] * smallest[1] < SMALLEST_MASS:
        raise ValueError(
            f"{name} of the composition would hold a mass below {SMALLEST_MASS:g}, "
            "too small for floating point"
        )


def _bound_product(left: Decomposition, right: Decomposition, end: str) -> Decomposition | None:
    """Return the joint of the ends (``inner`` or ``outer``), or None if neither factor has one."""
    left_end, right_end = getattr(left, end), getattr(right, end)
    if left_end is None and right_end is None:
        return None
    return (left_end or left).joint(right_end or right)


def parallel(parts: Iterable[tuple[float | Fraction, Decomposition]]) -> Decomposition:
    """Return the parallel composition: each user runs one randomizer, drawn by weight.

    Parameters
    ----------
    parts
        Pairs (weight, decomposition); the weights are probabilities that sum to 1. All must bound
        the same two inputs of the victim.

    Returns
    -------
    Decomposition
        The parts' components side by side, scaled by the weights and merged.

    Raises
    ------
    ValueError
        If the weights do not sum to 1 within 10⁻¹², if a mass would be too small for a float, or
        for parts of different neighbouring relations.

    Notes
    -----
    Su, Cheng and Wang 2025 (arXiv 2504.07414), Theorem 11. `Parallel` composes randomizers.

    Examples
    --------
    >>> first, second = sb.KRR(k=10, eps0=2.0).blanket(), sb.BLH(2.0).blanket()
    >>> f"{sb.epsilon(sb.parallel([(0.5, first), (0.5, second)]), n=10_000, delta=1e-6).upper:.3f}"
    '0.079'
    """
    parts = validation.pairs("parts", parts, "(weight, decomposition)")
    total = validation.weights([weight for weight, _ in parts])
    parts = [(float(weight), require("part", part)) for weight, part in parts]
    relation = common_relation("parts", (part.relation for _, part in parts))
    # The weights are divided by their sum, so that Σc exceeds 1 by rounding errors at most.
    shares = [(float(weight) / total, part) for weight, part in parts if weight > 0.0]

    # There are at most five roundings: three of the product and the weight, one of the total, and
    # one of the weight as it was given.
    errors = 6.0 * U, 1.001 * abs(total - 1.0)

    def mixture(end: str) -> Decomposition | None:
        """Return the mixture of the parts' ends; None if no part has one."""
        if all(getattr(part, end) is None for _, part in shares):
            return None
        ends = [(weight, getattr(part, end) or part) for weight, part in shares]
        return _mixture(ends, errors, relation)

    return replace(
        _mixture(shares, errors, relation), inner=mixture("inner"), outer=mixture("outer")
    )


def _mixture(
    parts: Sequence[tuple[float, Decomposition]], errors: tuple[float, float], relation: Relation
) -> Decomposition:
    """Return the parts' components side by side, scaled by weights with these relative errors."""
    a, b, c = (
        np.concatenate([_scaled(name, weight, getattr(part, name)) for weight, part in parts])
        for name in "abc"
    )
    rel_err = compounded(max(part.rel_err for _, part in parts), *errors)
    tied = np.concatenate([part.ties for _, part in parts])
    return Decomposition(a, b, c, rel_err, tied=tied, relation=relation).merge()


def subsample(decomposition: Decomposition, rate: float) -> Decomposition:
    """Return a Poisson subsample: each user takes part with probability `rate`, else reports ⊥.

    Parameters
    ----------
    decomposition
        The decomposition for a user who takes part.
    rate
        Probability of taking part, 0 to 1, independently of all else, and again in every round.

    Returns
    -------
    Decomposition
        The decomposition with one more component, for ⊥. n still counts all users, absent ones
        included.

    Raises
    ------
    ValueError
        For a rate outside this range, or a mass that would be too small for a float.

    Notes
    -----
    Su, Cheng and Wang 2025 (arXiv 2504.07414), Example 4.4. `Subsampled` does it for a randomizer.

    Examples
    --------
    >>> U = sb.Decomposition([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
    >>> sorted(sb.subsample(U, 0.5).a.tolist())
    [0.125, 0.375, 0.5]
    """
    validation.probability("rate", rate)
    relation = require("decomposition", decomposition).relation
    absent_user = Decomposition(np.ones(1), np.ones(1), np.ones(1), relation=relation)
    return parallel([(rate, decomposition), (1 - validation.fraction(rate), absent_user)])


def _scaled(name: str, weight: float, masses: FloatArray) -> FloatArray:
    """Return `weight` times the masses; raise ValueError if a product is too small for a float."""
    check_product(name, np.array([weight]), masses)
    return weight * masses


def _read_ties(tied: object, is_equal: BoolArray) -> BoolArray:
    """Return a read-only copy of truth values, shape (J,), that are true only where `is_equal` is.

    Raises ValueError if `tied` is not such an array.
    """
    with contextlib.suppress(ValueError):  # NumPy raises it for rows of different lengths.
        array = np.array(tied)
        if (
            not isinstance(tied, np.ma.MaskedArray)
            and array.dtype == np.bool_
            and array.shape == is_equal.shape
            and is_equal[array].all()
        ):
            array.flags.writeable = False
            return array
    raise ValueError(
        f"tied must hold a truth value per component, true only where a = b, got {tied!r}"
    )


def _entry_error(rel_err: object, are_rounded: bool, sum_error: float) -> float:
    """Return the relative uncertainty of entries that the user declared good to `rel_err`.

    It includes one rounding if the entries were rounded to floats, and is at least twice
    `sum_error`, the largest distance of a sum from its value: masses x that sum to 1 + s stand for
    x/(1 + s), or other masses as close to x as these. Raises ValueError unless `rel_err` and the
    result are in [0, 0.001).
    """
    given_error = validation.finite("rel_err", rel_err)
    total = max(compounded(given_error, U) if are_rounded else given_error, 2.0 * sum_error)
    if given_error < 0.0 or total >= 1e-3:
        raise ValueError(f"rel_err must be a number in [0, 0.001), got {rel_err!r}")
    return max(total, _SMALLEST_ENTRY_ERROR) if total > 0.0 else 0.0
