"""Rounds added up as they come, under the names that accountants of dp_accounting have."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.accounting.composition import Composed, compose
from shufflebounds.accounting.renyi import bounds as renyi_bounds
from shufflebounds.accounting.round_laws import content_key, optimistic_sums, pessimistic_sum
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition, require
from shufflebounds.core.enclosure import reached
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import U
from shufflebounds.divergence.losses import LossLaw, pessimistic
from shufflebounds.randomizers.base import Randomizer


class ShuffleAccountant:
    """A ledger of shuffles that may be asked at any time what has been spent.

    ``compose``, ``get_epsilon`` and ``get_delta`` are called as those of a ``PrivacyAccountant`` of
    dp_accounting, and neighbours are datasets in which one user's value is replaced
    (``REPLACE_ONE``). Unlike there, what they return is certified (docs/composition.md, section 1,
    says of which rounds). ``composed`` tells the lower ends as well.

    Examples
    --------
    >>> ledger = sb.ShuffleAccountant()
    >>> ledger = ledger.compose(sb.KRR(k=10, eps0=2.0).blanket(), n=10_000, rounds=5)
    >>> f"{ledger.get_epsilon(1e-6):.2f}"
    '0.19'
    """

    def __init__(self) -> None:
        self._rounds: dict[
            tuple, tuple[Decomposition | Randomizer | tuple[Decomposition, ...], int, int]
        ] = {}

    def __repr__(self) -> str:
        kinds = ", ".join(f"{times} × n = {n}" for _, n, times in self._rounds.values())
        return f"<ShuffleAccountant: {kinds or 'no rounds yet'}>"

    def compose(
        self,
        decomposition: Decomposition | Randomizer | Iterable[Decomposition],
        n: int,
        rounds: int = 1,
    ) -> Self:
        """Add rounds of n users to the ledger.

        Parameters
        ----------
        decomposition
            What one report tells: a `Decomposition`, several any of which may be the worst, or a
            `Randomizer`, as for `shufflebounds.compose`.
        n
            Number of users, 1 to 10¹⁵.
        rounds
            How many such rounds, at least 1; 10⁶ fit in all.

        Returns
        -------
        ShuffleAccountant
            The ledger itself.

        Raises
        ------
        ValueError
            For an argument outside these ranges; the ledger is then as it was.
        """
        given = tuple(decomposition) if isinstance(decomposition, Iterable) else decomposition
        n = validation.users(n)
        rounds = validation.rounds(rounds)
        key = (*_identity(given), n)
        before = self._rounds[key][2] if key in self._rounds else 0
        every = {**self._rounds, key: (given, n, before + rounds)}
        compose(every.values())
        self._rounds = every
        return self

    @property
    def rounds(
        self,
    ) -> list[tuple[Decomposition | Randomizer | tuple[Decomposition, ...], int, int]]:
        """What `shufflebounds.compose` takes: what each report tells, n, and how many rounds."""
        return list(self._rounds.values())

    @property
    def composed(self) -> Composed:
        """All rounds so far; ValueError where there are none."""
        if not self._rounds:
            raise ValueError("composed must have rounds, got none yet: compose adds them")
        return compose(self._rounds.values())

    def get_epsilon(self, target_delta: float) -> float:
        """The smallest ε that you can claim at δ; 0 before the first round.

        Parameters
        ----------
        target_delta
            δ, 10⁻³⁰⁰ ≤ δ < 1.

        Returns
        -------
        float
            ε ≥ 0 (natural log), rounded up.

        Raises
        ------
        ValueError
            For a δ outside this range, and for one that is out of reach because some outputs give
            the victim's value away.
        """
        target_delta = validation.delta(target_delta)
        if not self._rounds:
            return 0.0
        composed = self.composed
        told = composed.delta_limit()
        if told > target_delta:
            raise ValueError(
                f"target_delta must be above {told:.6g}, the probability of outputs that give a "
                f"value away, got {target_delta!r}"
            )
        # An upper end holds however far the lower one is from it.
        return reached(partial(composed.epsilon, target_delta)).upper

    def get_delta(self, target_epsilon: float) -> float:
        """The smallest δ that you can claim at ε; 0 before the first round.

        Parameters
        ----------
        target_epsilon
            ε ≥ 0 (natural log).

        Returns
        -------
        float
            δ, a probability, rounded up.

        Raises
        ------
        ValueError
            For a negative or infinite ε.
        """
        target_epsilon = validation.eps(target_epsilon)
        if not self._rounds:
            return 0.0
        return reached(partial(self.composed.delta, target_epsilon)).upper


def _identity(given: Decomposition | Randomizer | tuple[Decomposition, ...]) -> tuple:
    """The same for what has the same rounds; ValueError for what has none."""
    if isinstance(given, Randomizer):
        return (given,)
    some = given if isinstance(given, tuple) else (given,)
    return tuple(content_key(require("decomposition", one)) for one in some)


# Rounds of others among ours.

_MOST_POINTS = 200_000


def from_profile(
    delta: Callable[[FloatArray], ArrayLike], *, interval: float = 1e-3, smallest: float = 1e-12
) -> Decomposition:
    """A round of another mechanism for `shufflebounds.compose`, from its privacy profile.

    It is above the mechanism if the profile is, so that the upper ends of what it is composed to
    can be claimed; the lower ends say nothing. Compose it as a round of one user,
    ``(from_profile(…), 1, rounds)``.

    Parameters
    ----------
    delta
        Upper bounds of δ at an array of ε ≥ 0 (natural log), for the replacement of one record in
        either order, such as ``pld.get_delta_for_epsilon`` of a privacy loss distribution of
        dp_accounting.
    interval
        At which multiples of ε it is asked (natural log), 10⁻⁹ to 1.
    smallest
        It is asked up to where δ is no more than this, which counts as an infinite loss.

    Returns
    -------
    Decomposition
        A pair that dominates the mechanism.

    Raises
    ------
    ValueError
        For bad arguments, and where δ is no probability.
    """
    interval, smallest = _interval(interval), validation.delta(smallest)
    points = 64
    while True:
        points *= 4
        grid: FloatArray = np.asarray(interval * np.arange(points + 1), dtype=np.float64)
        found = np.asarray(delta(grid), dtype=np.float64)
        if found.shape != (points + 1,) or not np.all((found >= 0.0) & (found <= 1.0)):
            raise ValueError("delta must return a probability for each epsilon of an array")
        if found[-1] <= smallest or points > _MOST_POINTS:
            break
    last = int(np.argmax(found <= smallest)) or points
    upper = np.maximum(found[: max(last, 1) + 1], 1e-290)
    law = pessimistic(np.arange(upper.size), upper, interval)
    lost = max(law.infinite, 1e-290)
    a = np.append(law.masses, [lost, 0.0])
    b = np.append(law.masses[::-1], [0.0, lost])
    # The law's masses are a little more than those of the pair; their mirror images are Q's.
    return Decomposition(a, b, np.zeros(a.size), rel_err=2.0**-40)


# Composed rounds for other accountants: dp_accounting (extra ``accounting``).


def to_dp_accounting(
    composed: Composed, *, interval: float = 1e-4, smallest: float = 1e-12, pessimistic: bool = True
) -> Any:
    """A ``PrivacyLossDistribution`` of dp_accounting, to compose with rounds of other mechanisms.

    Parameters
    ----------
    composed
        Rounds of shuffling, from `compose`.
    interval
        Its ``value_discretization_interval`` (natural log), that of what it is composed with.
        Small beside the standard deviation of a round's loss it costs little.
    smallest
        Losses that are rarer than this, over all rounds, count as infinite.
    pessimistic
        Whether δ is never below the truth, or never above that of the lower bound's dataset pair
        (of (a, b) for (b, a) if both orders differ).

    Returns
    -------
    PrivacyLossDistribution
        Proven as it leaves here; dp_accounting's own convolutions are not, and lose relative
        precision below some 10⁻¹⁴.

    Raises
    ------
    ValueError
        For a bad argument.
    ImportError
        Where dp_accounting is not installed.
    ArithmeticError
        Where no optimistic pair was found.
    """
    interval = _interval(interval)
    asked = composed.rounds, 24.0, validation.delta(smallest)
    found = [pessimistic_sum(*asked)] if pessimistic else optimistic_sums(*asked)
    if not found:
        raise ArithmeticError("no optimistic pair was found of these rounds")
    pmf, pld = (
        _module(f"dp_accounting.pld.{name}") for name in ("pld_pmf", "privacy_loss_distribution")
    )
    place = _split if pessimistic else _floored
    whole = None
    for law, times in found[0].rounds:
        first, masses = place(law, interval)
        one = pmf.DensePLDPmf(interval, first, masses, law.infinite, pessimistic)
        # It is the same in both orders, or taken in one.
        part = pld.PrivacyLossDistribution(one)
        part = part.self_compose(times) if times > 1 else part
        whole = part if whole is None else whole.compose(part)
    return whole


def to_renyi_accounting(
    composed: Composed, orders: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Orders, and upper bounds of the Rényi divergences of all rounds, for a Rényi accountant.

    That of dp_accounting takes no divergences of others. Its ``rdp``, of the same ``orders`` and
    for the replacement of one record, plus those returned here are what its public function
    ``rdp.compute_epsilon(orders, rdp, delta)`` converts. Version 0.6 counts a ``GaussianDpEvent``
    for addition or removal even where ``REPLACE_ONE`` is asked: halve its noise multiplier.

    Parameters
    ----------
    composed
        Rounds of shuffling, from `compose`.
    orders
        1 < α ≤ 10⁶, shape (O,), such as ``accountant.orders``; those of dp_accounting by default.

    Returns
    -------
    tuple of two arrays
        Orders and divergences (natural log), shape (O,).

    Raises
    ------
    ValueError
        For a bad argument.
    ImportError
        Where the orders of dp_accounting are wanted and it is not installed.
    """
    if orders is None:
        orders = _module("dp_accounting.rdp").RdpAccountant().orders
    alpha = np.array([validation.order(order) for order in np.atleast_1d(orders).tolist()])
    if not alpha.size:
        raise ValueError("orders must be one or more, got none")
    total = np.zeros(alpha.shape)
    for one in composed.rounds:
        ends = [renyi_bounds(part, one.n, alpha, 1e-3)[1] for part in one.decompositions]
        total += one.times * np.max(ends, axis=0)
    return alpha, total * (1.0 + 4.0 * U * (1 + len(composed.rounds)))


def _interval(value: float) -> float:
    interval = validation.finite("interval", value)
    if not 1e-9 <= interval <= 1.0:
        raise ValueError(f"interval must be a number from 1e-09 to 1, got {interval!r}")
    return interval


def _split(law: LossLaw, interval: float) -> tuple[int, FloatArray]:
    """Each atom split between its neighbours such that both its masses stay: a pair above."""
    cell, rest = _cells(law, interval, up=True)
    # p = p₁ + p₂ and p e^{−L} = p₁ e^{−L₁} + p₂ e^{−L₂}; more mass, and more above, is safe.
    share = -np.expm1(-rest) / -math.expm1(-interval) * (1.0 + 16.0 * U)
    upper = np.clip(share, 0.0, 1.0)
    first = int(cell.min())
    masses = np.zeros(int(cell.max()) - first + 2)
    np.add.at(masses, cell - first, law.masses * (1.0 - upper))
    np.add.at(masses, cell - first + 1, law.masses * upper)
    return first, masses * (1.0 + (16.0 + 2.0 * cell.size) * U)


def _floored(law: LossLaw, interval: float) -> tuple[int, FloatArray]:
    """Each loss rounded down: less P for the Q there is, a pair below."""
    cell, _ = _cells(law, interval, up=False)
    first = int(cell.min())
    masses = np.bincount(cell - first, weights=law.masses).astype(np.float64)
    return first, masses * (1.0 - 2.0 * cell.size * U)


def _cells(law: LossLaw, interval: float, *, up: bool) -> tuple[NDArray[np.int64], FloatArray]:
    """The lattice point at or below each loss, and how far the loss lies above it.

    Losses are moved to the safe side first, by more than the quotient and the remainder round.
    """
    losses = law.law.values
    slip = 16.0 * U * (np.abs(losses) + interval)
    moved = losses + slip if up else losses - slip
    cell = np.floor(moved / interval).astype(np.int64)
    rest = moved - cell * interval
    if not up:
        return cell - (rest < 0.0), np.maximum(rest, 0.0)
    over = rest > interval
    return cell + over, np.maximum(np.where(over, rest - interval, rest), 0.0)


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            "dp_accounting is needed for this: pip install 'dp-accounting>=0.6'"
        ) from error
