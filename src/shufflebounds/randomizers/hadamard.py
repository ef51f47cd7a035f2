"""Hadamard response (Acharya, Sun and Zhang, AISTATS 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition
from shufflebounds.randomizers.base import CLOSED_FORM_ERR, DomainRandomizer, five_point


@dataclass(frozen=True)
class HadamardResponse(DomainRandomizer):
    """HR: a column of a Hadamard matrix, those with +1 in the input's row e^{ε₀} times as likely.

    Value x has row x + 1 of the Sylvester matrix of order K, the least power of 2 above the size of
    the domain; the row of ones says nothing and is not used. Two distinct rows agree in half of
    the columns, with either sign in a quarter. That row 3 is the product of rows 1 and 2 makes
    `dataset_pair` strong: where R(x₁⁰) and R(x₁¹) differ, R(x₂) is as small as the blanket.
    """

    LARGEST_MATRIX = 1024
    NAME = "Hadamard response"

    def blanket(self) -> Decomposition:
        """Table 2 of the paper at K columns; its entries are those for K → ∞.

        Of the quarter of the columns where both rows hold +1, in one (of mass 4/K of the quarter)
        all the others do so too.
        """
        e, size = math.exp(self.eps0), self.domain_size
        p = 1.0 / (2.0 * (e + 1.0))
        all_plus = 0.0 if size is None else 2.0 ** (2 - _log_order(size))
        return five_point(self.eps0, p, p * (1.0 - all_plus), p * (1.0 + all_plus * e))

    def crowds(self) -> tuple[Crowd, ...]:
        """The victim holds rows 1 and 2, another user one of these, their product or another row.

        Of such a row all eight triples of signs are equally frequent. Where some pairs of a domain
        have no product in it, what is bounded is a larger one.
        """
        e, size = math.exp(self.eps0), self.domain_size
        one, two, three = (np.arange(8) >> np.arange(3)[:, np.newaxis]) & 1 == 0
        plus = np.stack([one, two, one == two, three])
        share = 0.0 if size is None else 2.0 ** -_log_order(size)
        if share > 1.0 / 8.0:
            plus, share = plus[:3, :4], 0.25
        if size == 2:
            plus = plus[:2]
        # The first column of all, where every row holds +1.
        columns = np.full(plus.shape[1], 1.0 / plus.shape[1])
        columns[0] -= share
        rows = np.where(plus, e, 1.0)
        masses = np.append(columns, share) * 2.0 / (e + 1.0)
        rows = np.hstack([rows, np.full((len(rows), 1), e)]) * masses
        sure = np.append(np.ones(columns.size), e) * masses
        used = masses > 0.0
        names = ("x0", "x1", "product", "other")
        others = dict(zip(names, rows[:, used], strict=False))
        crowd = Crowd(rows[0][used], rows[1][used], sure[used], others, CLOSED_FORM_ERR)
        return (replace(crowd, attained=False),)

    def _channel(self, size: int) -> NDArray[np.float64]:
        e, order = math.exp(self.eps0), 2 ** _log_order(size)
        rows, columns = np.arange(1, size + 1)[:, np.newaxis], np.arange(order)
        plus = np.bitwise_count(rows & columns) % 2 == 0
        return np.where(plus, e, 1.0) * (2.0 / (order * (e + 1.0)))


def _log_order(size: int) -> int:
    """log₂ of the least power of 2 strictly above `size`."""
    return size.bit_length()
