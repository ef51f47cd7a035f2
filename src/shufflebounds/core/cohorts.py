"""Decompositions of a cohort: exactly s of n users are drawn and report.

A shuffle of the reports of a cohort tells no more than one of s users of the decomposition

    a' = f a + (1 − f) c,   b' = f b + (1 − f) c,   c' = c,   f = s/n,

with one more component a' = b' = (1 − f)(1 − Σc), c' = 1 − Σc. It tells as much if all others hold
the input x with R(x) = c. The proof is in docs/proofs/cohorts.md.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from shufflebounds.core.decomposition import Decomposition, check_product
from shufflebounds.core.products import U, compounded

# Smallest residual 1 − Σc that becomes a component. The relative error of smaller ones would count
# for all components.
SMALLEST_RESIDUAL = 2.0**-20


def in_cohort(decomposition: Decomposition, share: Fraction, *, is_upper: bool) -> Decomposition:
    """Return the decomposition of a user among as many as a cohort has.

    Parameters
    ----------
    decomposition
        The decomposition of a user who reports.
    share
        s/n, the share of the users who are drawn, above 0 and at most 1.
    is_upper
        Whether the divergence must not be below that of the cohort. Otherwise, it must not be above
        it. It is the same unless Σc is so close to 1 that floats cannot tell it from 1.

    Returns
    -------
    Decomposition
        The decomposition, merged, whose number of draws is s.

    Raises
    ------
    ValueError
        If a product of masses would be too small for a float.
    """
    inner, outer = (
        end and in_cohort(end, share, is_upper=is_outer)
        for end, is_outer in ((decomposition.inner, False), (decomposition.outer, True))
    )
    finite = replace(decomposition, inner=None, outer=None, tied=decomposition.ties)
    cohort = _in_cohort_of_law(_with_clear_residual(finite, is_upper=is_upper), share)
    return replace(cohort, inner=inner, outer=outer).merge()


def _with_clear_residual(decomposition: Decomposition, *, is_upper: bool) -> Decomposition:
    """Return a decomposition whose residual is 0 or at least `SMALLEST_RESIDUAL`.

    Less mass in c raises D. Uniting the residual with another component lowers it.
    """
    residual, c = decomposition.residual, decomposition.c
    if residual >= SMALLEST_RESIDUAL or not c.any():
        return decomposition
    if is_upper:
        rel_err = compounded(decomposition.rel_err, U)
        return replace(decomposition, c=c * (1.0 - 2.0 * SMALLEST_RESIDUAL), rel_err=rel_err)
    masses = c.copy()
    largest = int(np.argmax(masses))
    masses[largest] += residual
    doubt = 1.01 * (decomposition.rel_err + 4.0 * U) / float(masses[largest])
    return replace(decomposition, c=masses, rel_err=compounded(decomposition.rel_err, doubt))


def _in_cohort_of_law(decomposition: Decomposition, share: Fraction) -> Decomposition:
    """Return the decomposition of a cohort, given one whose residual is 0 or not too small."""
    present, absent = float(share), float(1 - share)
    residual, err = decomposition.residual, decomposition.rel_err
    laws = decomposition.a, decomposition.b
    for name, law in zip("ab", laws, strict=True):
        check_product(name, np.array([present]), law)
    check_product("c", np.array([absent]), decomposition.c)
    a, b = (present * law + absent * decomposition.c for law in laws)
    c, tied = decomposition.c, decomposition.ties
    if residual >= SMALLEST_RESIDUAL:
        a, b = (np.append(law, absent * residual) for law in (a, b))
        c, tied = np.append(c, residual), np.append(tied, True)
        # The error of the residual is that of Σc.
        err = max(err, 1.01 * (err + 2.0 * U) / residual)
    # Two roundings of the shares, two of the products and one of the sum.
    rel_err = compounded(err, 6.0 * U)
    return Decomposition(a, b, c, rel_err, tied=tied, relation=decomposition.relation)
