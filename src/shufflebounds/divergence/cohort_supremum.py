"""`cohort_supremum`: an upper bound of D over all datasets if s of n users are drawn and report.

The victim takes the place of one of s other users, all of whose reports may be labelled. So no user
has to toss a coin as in `supremum`, and d = 0. With R(x) in place of c in the decomposition
(a', b', c') of `core.cohorts`,

    D(ε) ≤ max_x {Σ_{R(x)=0} (a' − e^ε b')₊ + (h/2πs) Σ_j e^{η²(θ²−t_j²)/2} |z_j|⁻² |M_x(z_j)|ˢ},

where M_x(z) is the mean of e^{z (a' − e^ε b')/R(x)} under R(x), and z_j are as in `supremum`. The
proof is in docs/proofs/cohorts.md. The bound holds for all θ, η > 0 and h > 0, the same for all x.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence

import numpy as np

from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.engine import LARGEST_EPS
from shufflebounds.divergence.supremum import (
    InputBound,
    aim_on_line,
    cap_at_one,
    pad_rows,
    shortened,
)


def laws_of_others(crowd: Crowd) -> list[Decomposition]:
    """Return the decompositions (a, b, R(x)) of all inputs x of a crowd and its extremes."""
    family = (crowd, *crowd.extremes)
    return [member.dataset(name) for member in family for name in member.others]


def cohort_supremum(
    laws: Sequence[Decomposition], eps: float, size: int, hopeless: float = 1.0
) -> float:
    """Return an upper bound of D(ε) over all datasets, with the victim's inputs in one order.

    Parameters
    ----------
    laws
        The decompositions (a', b', R(x)) of all inputs x of another user.
    eps
        ε ≥ 0 (natural log).
    size
        The number s of users who are drawn.
    hopeless
        A value above which the bound need not be known.

    Returns
    -------
    float
        1 if nothing better can be claimed, or if the estimate is above `hopeless`.
    """
    eps = min(eps, LARGEST_EPS)
    spend(2e6 + 2e3 * sum(len(law) for law in laws))
    # Values too far apart for floats raise errors. The bound is then 1.
    with np.errstate(all="ignore"), contextlib.suppress(OverflowError, ZeroDivisionError):
        rows = [shortened(law.c, _values(law, eps)) for law in laws]
        masses, values = (pad_rows([row[k] for row in rows]) for k in range(2))
        aim = aim_on_line(np.zeros(0), values, masses, size, -math.inf)
        if aim is None or not aim.goal() < math.log(hopeless):
            return 1.0
        # Inputs whose sum varies most come first.
        order = np.argsort(-np.sum(masses * np.clip(values, -1e100, 1e100) ** 2, axis=1))
        largest = 0.0
        for place in order.tolist():
            bound = InputBound.of_remaining(laws[place], 0.0, eps, aim)
            for is_rough in (True, False):
                value = bound.at(size, is_rough)
                if value <= largest:
                    break
            if not value < 1.0:
                return 1.0
            largest = max(largest, value)
        return cap_at_one(largest)
    return 1.0


def _values(law: Decomposition, eps: float) -> FloatArray:
    """Return the values of (a' − e^ε b')/R(x), 0 where R(x) is 0."""
    is_sent = law.c > 0.0
    excesses = (law.a - law.b) - math.expm1(eps) * law.b
    return np.asarray(np.where(is_sent, excesses / np.where(is_sent, law.c, 1.0), 0.0))
