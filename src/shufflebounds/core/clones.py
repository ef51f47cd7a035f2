"""Clones: decompositions that hold for every randomizer of an ε₀.

Proof: docs/proofs/variation-ratio.md, section 5.
"""

from __future__ import annotations

import math

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import MASSES_ERR

# Largest ε₀ whose clone has masses that floating point represents, 10⁻³⁰⁰ and more.
LARGEST_CLONE_EPS0 = 690.0
# Name of the stronger clone of ε₀ among blankets if it stands for all of them.
STRONGER_CLONE = "stronger clone"


def standard_clone(eps0: float) -> Decomposition:
    """Return the clone: others send one of the victim's two reports with probability e^{−ε₀}.

    What is assumed of users is as for `stronger_clone`, which is never larger.

    Parameters
    ----------
    eps0
        ε₀ of every user's randomizer (natural log), 0 < ε₀ ≤ 300.

    Returns
    -------
    Decomposition
        Of any ε₀-LDP randomizer, two components.

    Raises
    ------
    ValueError
        For an ε₀ outside this range.

    Notes
    -----
    Feldman, McMillan and Talwar (FOCS 2021); Theorem 1 of Su, Cheng and Wang 2025 (arXiv
    2504.07414).

    Examples
    --------
    >>> f"{sb.epsilon(sb.standard_clone(1.0), n=1000, delta=1e-6).upper:.3f}"
    '0.182'
    """
    eps0 = validation.eps0(eps0)
    return _two_components(eps0, math.exp(-eps0) / 2.0)


def stronger_clone(eps0: float) -> Decomposition:
    """Return the best decomposition that knows ε₀ alone: other users' clones are as many as can be.

    Every other user sends one of two reports with probability 1/(e^{ε₀} + 1) each, the victim one
    of them e^{ε₀} times as likely as the other: the blanket of 2-RR.

    Assumed: all users share the randomizer, the victim's input is replaced by another, reports are
    independent given the inputs, and n counts users who follow the protocol and do not collude.

    Parameters
    ----------
    eps0
        ε₀ of the users' randomizer (natural log), 0 < ε₀ ≤ 300.

    Returns
    -------
    Decomposition
        Of any ε₀-LDP randomizer, two components.

    Raises
    ------
    ValueError
        For an ε₀ outside this range.

    Notes
    -----
    Feldman, McMillan and Talwar proposed it (SODA 2023) and restricted its proof in an erratum;
    docs/proofs/variation-ratio.md, section 5, proves it. Users with randomizers of their own, or
    reports that depend on those of known users, may exceed it, each of them ε₀-LDP or not.

    Examples
    --------
    >>> f"{sb.epsilon(sb.stronger_clone(1.0), n=1000, delta=1e-6).upper:.3f}"
    '0.149'
    """
    eps0 = validation.eps0(eps0)
    return _two_components(eps0, math.exp(-eps0) / (1.0 + math.exp(-eps0)))


def _two_components(eps0: float, sure: float) -> Decomposition:
    """Return two reports: the victim's is e^{ε₀} times as likely as the other one.

    Other users send either of them with probability `sure` at least.
    """
    rare, common = math.exp(-eps0) / (1.0 + math.exp(-eps0)), 1.0 / (1.0 + math.exp(-eps0))
    law = np.array([common, rare])
    return Decomposition(law, law[::-1], np.full(2, sure), rel_err=MASSES_ERR)


def clone_of_mechanism(eps0: float | None) -> Decomposition | None:
    """Return the stronger clone of a mechanism's own ε₀, which may have been rounded.

    None if the mechanism has no ε₀ of at most `LARGEST_CLONE_EPS0`.
    """
    if eps0 is None or not 0.0 < eps0 <= LARGEST_CLONE_EPS0:
        return None
    # An ε₀ such as log 3 is a rounded number. Its clone is that of a slightly larger ε₀.
    eps0 *= 1.0 + MASSES_ERR
    return _two_components(eps0, math.exp(-eps0) / (1.0 + math.exp(-eps0)))
