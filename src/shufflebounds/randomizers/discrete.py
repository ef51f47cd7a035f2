"""Finitely many reports: randomized response, Hadamard response, Duchi and Collision."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.documentation import shares_documentation
from shufflebounds.core.products import FloatArray
from shufflebounds.core.validation import MAX_ENTRIES
from shufflebounds.estimation import sampling
from shufflebounds.estimation.accuracy import (
    WORD,
    Spread,
    Supports,
    of_numbers,
)
from shufflebounds.estimation.reporter import refuse_frequencies
from shufflebounds.estimation.sampling import mean_of, required
from shufflebounds.randomizers.base import (
    CLOSED_FORM_ERR,
    PRODUCT_ERR,
    DomainRandomizer,
    Randomizer,
    crowd_of_rows,
    five_point,
    from_channel,
    pairs_of_channel,
    pairs_of_disjoint_inputs,
)
from shufflebounds.randomizers.probabilities import (
    Probability,
    eps0_of_ratio,
    exact_probability,
)


@dataclass(frozen=True)
class KRR(Randomizer):
    """k-RR: report the true one of k values with probability e^{ε₀}/(e^{ε₀} + k − 1), else another.

    Parameters
    ----------
    k
        Number of values, 2 to 2⁵³.
    eps0
        Local privacy ε₀ (natural log), 0 < ε₀ ≤ 300.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Notes
    -----
    Warner (JASA 1965) for k = 2. Blanket: Su, Cheng and Wang 2025 (arXiv 2504.07414), Table 2.

    Examples
    --------
    >>> sb.KRR(k=4, eps0=np.log(3.0)).matrix()[0].round(4).tolist()
    [0.5, 0.1667, 0.1667, 0.1667]
    """

    # The values may change places.
    composable = True
    pairs_are_proven = True
    PROBABILITIES = MappingProxyType(
        {
            "random": "chance of a uniformly random report, the true value included; fixes eps0",
            "p": "chance that the report is the true value, in place of random",
        }
    )

    k: int = field(metadata={"help": "number of values, at least 2"})
    eps0: float

    def __post_init__(self) -> None:
        # Not every integer above 2⁵³ is a float.
        validation.values("k", self.k)
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))

    @classmethod
    def from_probabilities(
        cls, k: int, random: Probability | None = None, p: Probability | None = None
    ) -> KRR:
        """Return the mechanism by the chance of a random report, or of the true value.

        Parameters
        ----------
        k
            Number of values.
        random
            Probability, such as 0.05 or ``"1/6"``, that the report is any of the k values with
            equal chances, the true one included. Otherwise it is the true one.
        p
            Probability that the report is the true value, above 1/k. It is 1 − random + random/k.

        Returns
        -------
        KRR
            Its ε₀ is log(p (k − 1)/(1 − p)), rounded up.

        Raises
        ------
        ValueError
            Unless one of ``random`` and ``p`` is given, in its range.

        Examples
        --------
        >>> f"{sb.KRR.from_probabilities(k=469, random=0.05).eps0:.4f}"
        '9.0952'
        >>> f"{sb.KRR.from_probabilities(k=2, p=0.75).eps0:.4f}"
        '1.0986'
        """
        values = validation.values("k", k)
        if (random is None) == (p is None):
            raise ValueError(f"either random or p must be given, got random = {random}, p = {p}")
        if random is not None:
            exact = exact_probability("random", random)
            return cls(k, eps0_of_ratio(1 + values * (1 - exact) / exact, "random"))
        assert p is not None
        exact = exact_probability("p", p)
        if exact * values <= 1:
            raise ValueError(f"p must be above 1/k, the chance of each value, got p = {p}, k = {k}")
        return cls(k, eps0_of_ratio(exact * (values - 1) / (1 - exact), "p"))

    @property
    def label(self) -> str:
        """A label such as 10-RR."""
        return f"{self.k}-RR"

    def blanket(self) -> Decomposition:
        """Return the blanket of Table 2: p = 1/(e^{ε₀} + k − 1), q = 0, r = (k − 2)p."""
        p = 1.0 / (math.exp(self.eps0) + self.k - 1)
        return five_point(self.eps0, p, 0.0, (self.k - 2) * p)

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the pairs in which all others hold a third input, if k > 2, or x₁¹."""
        return pairs_of_channel(self._rows(), self.eps0)

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowd of any two values among these and a third value."""
        rows = self._rows()
        return crowd_of_rows(rows, rows.min(axis=0))

    @property
    def report_form(self) -> Hashable:
        """See `Randomizer`: one of k values."""
        return "value", self.k

    def value_laws(self, count: int) -> tuple[FloatArray, FloatArray]:
        """See `Randomizer`."""
        rows = self._rows(count)
        return rows, rows.min(axis=0)

    def _rows(self, count: int = 3) -> NDArray[np.float64]:
        """Return the rows of at most `count` inputs; the last column is all other values."""
        p = 1.0 / (math.exp(self.eps0) + self.k - 1)
        inputs = min(self.k, count)
        outputs = np.full((inputs, inputs), p)
        np.fill_diagonal(outputs, math.exp(self.eps0) * p)
        other_outputs = np.full((inputs, 1), (self.k - inputs) * p)
        return np.hstack([outputs, other_outputs])

    @property
    def bits(self) -> float:
        """The number of bits of one of k values."""
        return math.log2(self.k)

    def _supports(self) -> Supports:
        """Return the supports: a report supports the value that it names."""
        total = math.exp(self.eps0) + self.k - 1
        miss, gap = (self.k - 1) / total, math.expm1(self.eps0) / total
        return Supports(math.exp(self.eps0) / total, miss, 1.0 / total, gap, self.k)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return the values that users report."""
        values = sampling.checked_values("inputs", inputs, self.k)
        return sampling.truthful(values, self.k, self._supports().gap, rng)

    def _supporters(self, reports: NDArray) -> NDArray:
        """Return the number of reports that name each value."""
        return np.bincount(sampling.checked_values("reports", reports, self.k), minlength=self.k)

    def matrix(self) -> NDArray[np.float64]:
        """Return the probabilities R(x)(y), shape (k, k): rows are inputs, columns outputs.

        Raises ValueError if k is more than 4096.
        """
        validation.whole("k", self.k, minimum=2, maximum=math.isqrt(MAX_ENTRIES))
        e = math.exp(self.eps0)
        return np.where(np.eye(self.k, dtype=bool), e, 1.0) / (e + self.k - 1)


@shares_documentation("eps0", "domain_size")
@dataclass(frozen=True)
class HadamardResponse(DomainRandomizer):
    """HR, not HCMS: a column of a Hadamard matrix, those with +1 in its row e^{ε₀} times as likely.

    Value x has row x + 1 of the Sylvester matrix of order K, the smallest power of 2 above the size
    of the domain; row 0, which has only ones, is not used. Two distinct rows agree in half of the
    columns, with either sign in a quarter. Apple's Hadamard sketch is `HCMS`, with the bounds of
    `BLH`.

    Notes
    -----
    Acharya, Sun and Zhang (AISTATS 2019), one block; `HadamardBlocks` has more. Blanket: Su, Cheng
    and Wang 2025 (arXiv 2504.07414), Table 2.

    Examples
    --------
    >>> sb.HadamardResponse(np.log(3.0), domain_size=2).matrix().round(4).tolist()
    [[0.375, 0.125, 0.375, 0.125], [0.375, 0.375, 0.125, 0.125]]
    """

    LARGEST_MATRIX = 1024
    NAME = "Hadamard response"
    pairs_are_proven = True

    def blanket(self) -> Decomposition:
        """Return the blanket for K columns; Table 2 of the paper has its limit for K → ∞.

        Both rows hold +1 in a quarter of the columns. In one column of this quarter, which has 4/K
        of its mass, all other rows hold +1, too.
        """
        e, size = math.exp(self.eps0), self.domain_size
        p = 1.0 / (2.0 * (e + 1.0))
        all_plus = 0.0 if size is None else 2.0 ** (2 - _log_order(size))
        return five_point(self.eps0, p, p * (1.0 - all_plus), p * (1.0 + all_plus * e))

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowd of rows 1 and 2 among these, their product and another row.

        With another row, all eight triples of signs are equally frequent. If a domain does not
        contain the products of all pairs, the crowd is that of a larger domain, which bounds it.
        """
        e, size = math.exp(self.eps0), self.domain_size
        row1, row2, row3 = (np.arange(8) >> np.arange(3)[:, np.newaxis]) & 1 == 0
        plus = np.stack([row1, row2, row1 == row2, row3])
        share = 0.0 if size is None else 2.0 ** -_log_order(size)
        if share > 1.0 / 8.0:
            plus, share = plus[:3, :4], 0.25
        if size == 2:
            plus = plus[:2]
        # In the first column of the matrix every row holds +1; it gets a component of its own.
        columns = np.full(plus.shape[1], 1.0 / plus.shape[1])
        columns[0] -= share
        rows = np.where(plus, e, 1.0)
        masses = np.append(columns, share) * 2.0 / (e + 1.0)
        rows = np.hstack([rows, np.full((len(rows), 1), e)]) * masses
        sure = np.append(np.ones(columns.size), e) * masses
        used = masses > 0.0
        names = ("x0", "x1", "product", "other")
        laws_by_name = dict(zip(names, rows[:, used], strict=False))
        laws = rows[0][used], rows[1][used], sure[used]
        err = CLOSED_FORM_ERR
        return (Crowd.of_laws(*laws, laws_by_name, err, attained=False, symmetric=True),)

    @property
    def bits(self) -> float:
        """The number of bits of one of K columns."""
        return math.inf if self.domain_size is None else float(_log_order(self.domain_size))

    def _supports(self) -> Supports:
        """Return the supports: a column supports the values whose rows hold +1 there."""
        e, gap = math.exp(self.eps0), math.tanh(self.eps0 / 2.0) / 2.0
        return Supports(e / (e + 1.0), 1.0 / (e + 1.0), 0.5, gap, self.domain_size or math.inf)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return the numbers of the reported columns."""
        size = required("domain_size", self.domain_size)
        rows = sampling.checked_values("inputs", inputs, size) + 1
        plus = rng.random(rows.size) < self._supports().p
        return sampling.hadamard_columns(rows, 2 ** _log_order(size), plus, rng)

    def _supporters(self, reports: NDArray) -> NDArray:
        """Return the number of reported columns in which the row of each value holds +1."""
        size = required("domain_size", self.domain_size)
        order = 2 ** _log_order(size)
        columns = sampling.checked_values("reports", reports, order)
        sums = sampling.walsh(np.bincount(columns, minlength=order))
        return (columns.size + sums[1 : size + 1]) // 2

    def _channel(self, size: int) -> NDArray[np.float64]:
        """Return R(x)(y); the outputs are the columns of the Hadamard matrix."""
        e, order = math.exp(self.eps0), 2 ** _log_order(size)
        rows, columns = np.arange(1, size + 1)[:, np.newaxis], np.arange(order)
        plus = np.bitwise_count(rows & columns) % 2 == 0
        return np.where(plus, e, 1.0) * (2.0 / (order * (e + 1.0)))


def _log_order(size: int) -> int:
    """Return log₂ of the smallest power of 2 that is above `size`."""
    return size.bit_length()


@shares_documentation("eps0")
@dataclass(frozen=True)
class Duchi(Randomizer):
    """Duchi: for x in [−1, 1] one of two reports, 1 with chance (1 + x tanh(ε₀/2))/2, or −1.

    This is the mechanism of Duchi, Jordan and Wainwright for numbers. The inputs −1 and 1 are the
    worst pair, and for them it is 2-RR: the law of a report is linear in x, so that the laws of any
    pair are mixtures of those of −1 and 1, and D is convex in either law. Harmony (Nguyên, Xiao,
    Yang, Hui, Shin and Shin 2016) draws a coordinate of a vector at random and reports on it. It
    has the same bounds: opposite corners are the worst pair (docs/proofs/engine.md, section 10),
    and uniting the coordinates changes nothing.

    Examples
    --------
    >>> sb.Duchi(np.log(3.0)).matrix().round(4).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """

    pairs_are_proven = True

    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))

    def blanket(self) -> Decomposition:
        """Return the blanket of 2-RR."""
        return five_point(self.eps0, 1.0 / (math.exp(self.eps0) + 1.0), 0.0, 0.0)

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the pairs of a victim with −1 or 1 among others with 0, or with 1."""
        ends = self.matrix()
        middle = np.full(2, 0.5)
        return {"third": from_channel([*ends, middle]), "x1": from_channel([*ends, ends[1]])}

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowd of the inputs −1 and 1; all laws are mixtures of theirs."""
        ends = self.matrix()
        return crowd_of_rows(ends, ends.min(axis=0))

    bits = 1.0

    def _variances(self, frequencies: ArrayLike | None = None) -> Spread:
        """Return the variance of the mean of numbers x in [−1, 1]: coth²(ε₀/2) − x²."""
        refuse_frequencies(self, frequencies)
        return of_numbers(math.tanh(self.eps0 / 2.0) ** -2, -1.0)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return reports −1 or 1."""
        numbers = sampling.checked_numbers(inputs, -1.0, 1.0)
        chances = (1.0 + numbers * math.tanh(self.eps0 / 2.0)) / 2.0
        return np.where(rng.random(numbers.size) < chances, 1, -1)

    def _estimate(self, reports: NDArray) -> FloatArray:
        """Return the mean of all reports, scaled to the numbers."""
        return mean_of(reports, -1.0, 1.0) / math.tanh(self.eps0 / 2.0)

    def matrix(self) -> NDArray[np.float64]:
        """Return the probabilities of reports −1 and 1 for inputs −1 and 1, shape (2, 2)."""
        e = math.exp(self.eps0)
        return np.array([[e, 1.0], [1.0, e]]) / (e + 1.0)


@shares_documentation("eps0")
@dataclass(frozen=True)
class Collision(Randomizer):
    """Collision: one of l hash values, those of the user's s items e^{ε₀} times as likely or less.

    A report is a uniformly random hash h of the items to l values, and z among these: with
    probability e/Ω each for the k values of the user's own items, e = e^{ε₀} and
    Ω = se + l − s, and the rest evenly. For s = 1 it is `LocalHash`.

    Parameters
    ----------
    items
        s, items of a user, 1 to 20.
    hash_values
        l, number of hash values, s + 1 to 2⁵³.
    domain_size
        Number of items in the domain, at least s; None stands for many. Estimates of them all
        depend on it, and lower ends if there are no three disjoint inputs.

    Notes
    -----
    Wang et al. (IEEE TMC 2023). Worst pair: docs/proofs/variation-ratio.md, section 9.

    Examples
    --------
    >>> R = sb.Collision(1.0, items=2, hash_values=8)
    >>> f"{sb.epsilon(R.blanket(), n=10_000, delta=1e-6).upper:.3f}"
    '0.028'
    """

    eps0: float
    items: int = field(metadata={"help": "items of a user, at least 1", "example": 2})
    hash_values: int = field(metadata={"help": "number of hash values, more than items"})
    domain_size: int | None = field(
        default=None, metadata={"help": "number of items, many if left out"}
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        validation.whole("items", self.items, minimum=1, maximum=20)
        validation.values("hash_values", self.hash_values, minimum=self.items + 1)
        if self.domain_size is not None:
            validation.domain_size(self.domain_size, minimum=self.items)

    def blanket(self) -> Decomposition:
        """Return the blanket of disjoint inputs in a large domain.

        There, every report has the probability 1/Ω (times its base) under some input. In a small
        domain it is an upper bound.
        """
        a, b = self._rows(2)
        return Decomposition(a, b, self._base(2) / self._total, PRODUCT_ERR).merge()

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the pairs in which all others hold a third disjoint input, if any, or x₁¹.

        There are no pairs if no inputs are disjoint.
        """
        inputs = 3 if self.domain_size is None else min(3, self.domain_size // self.items)
        return pairs_of_disjoint_inputs(self._rows(inputs), PRODUCT_ERR)

    @property
    def bits(self) -> float:
        """The number of bits of a hash value and of the seed of its hash."""
        return math.log2(self.hash_values) + WORD

    def _supports(self) -> Supports:
        """Return the supports: a report (h, z) supports the items that hash to z."""
        s, l = self.items, self.hash_values  # noqa: E741
        total = self._total * l
        gap = math.expm1(self.eps0) * (l - s) / (l * total)
        p = math.exp(self.eps0) / total
        return Supports(p, 1.0 - p, 1.0 / l, gap, self.domain_size or math.inf, s)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return rows of a seed and a hash value."""
        sampling.require_hashes(self.hash_values)
        items = sampling.checked_values("inputs", inputs, self.domain_size or math.inf, self.items)
        seeds = sampling.seeds(len(items), rng)
        hashes = np.sort(sampling.hashed(seeds[:, np.newaxis], items, self.hash_values), axis=1)
        # The distinct hash values of a user's items come first in the row; `count` says how many.
        is_new = np.hstack([np.ones((len(hashes), 1), dtype=bool), hashes[:, 1:] != hashes[:, :-1]])
        hashes = np.take_along_axis(hashes, np.argsort(~is_new, axis=1, kind="stable"), axis=1)
        count = is_new.sum(axis=1)
        chances = count * math.exp(self.eps0) / (self._total * self.hash_values)
        own_hash = hashes[np.arange(len(hashes)), rng.integers(count)]
        # A number among the hash values of no item, which the loop turns into the hash value.
        other_hash = rng.integers(self.hash_values - count)
        for i in range(self.items):
            other_hash += (i < count) & (other_hash >= hashes[:, i])
        reported = np.where(rng.random(len(hashes)) < chances, own_hash, other_hash)
        return np.stack([seeds, reported.astype(np.uint64)], axis=1)

    def _supporters(self, reports: NDArray) -> NDArray:
        """Return the number of reports to whose hash value each item hashes."""
        size = required("domain_size", self.domain_size)
        return sampling.hash_supporters(reports, size, self.hash_values)

    @cached_property
    def _total(self) -> float:
        """Ω over the number of hash values."""
        return self.items * math.exp(self.eps0) / self.hash_values + (
            1.0 - self.items / self.hash_values
        )

    @cached_property
    def _factors(self) -> tuple[tuple[float, float], ...]:
        """Pairs: a factor of R(x), e or u_k, and its probability for random hashes and even z."""
        s, l, e = self.items, self.hash_values, math.exp(self.eps0)  # noqa: E741
        # This is the law of the number of different hash values of the items so far.
        used = {0: Fraction(1)}
        for _ in range(s):
            grown = dict.fromkeys(range(1, s + 1), Fraction(0))
            for k, chance in used.items():
                if k:
                    grown[k] += chance * Fraction(k, l)
                if k < s:
                    grown[k + 1] += chance * Fraction(l - k, l)
            used = grown
        hit = sum(chance * Fraction(k, l) for k, chance in used.items())
        missed = [
            (((s - k) * e + (l - s)) / (l - k), float(chance * Fraction(l - k, l)))
            for k, chance in used.items()
            if chance
        ]
        return (e, float(hit)), *missed

    def _base(self, inputs: int) -> np.ndarray:
        """Return the probabilities of all combinations of factors of disjoint inputs."""
        chances = [chance for _, chance in self._factors]
        return np.array([math.prod(x) for x in itertools.product(chances, repeat=inputs)])

    def _rows(self, inputs: int) -> np.ndarray:
        """Return the laws of disjoint inputs on all combinations of factors, a row for each."""
        factors = [factor for factor, _ in self._factors]
        combined = np.array(list(itertools.product(factors, repeat=inputs))).T
        return combined * (self._base(inputs) / self._total)
