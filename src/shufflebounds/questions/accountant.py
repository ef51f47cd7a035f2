"""A ledger of rounds with the interface of dp_accounting, and conversions from and to it.

Conversions to dp_accounting need its package (extra ``accounting``).
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import reached
from shufflebounds.core.number import Real
from shufflebounds.core.products import FloatArray
from shufflebounds.core.relation import Relation, common_relation, read_relation
from shufflebounds.core.validation import Count
from shufflebounds.divergence.law import U
from shufflebounds.profiles.losses import Losses, losses_above
from shufflebounds.questions.answers import Sent
from shufflebounds.questions.composed import ANY_N, Composed, compose
from shufflebounds.questions.plan import BLANKETS, Plan
from shufflebounds.questions.renyi import RoundDivergences
from shufflebounds.subjects.reports import subject_of_round

# Relative width of ε of the losses that are converted to dp_accounting.
_CONVERTED_RTOL = 1e-3
# The same for epochs of training. The export is within a percent, and takes four times as long
# with 0.01.
_EPOCHS_RTOL = 0.05
# Relative width of Rényi divergences that are exported.
_RENYI_RTOL = 1e-3
# `from_profile` stops enlarging its grid of ε once the grid has more points than this.
_MAX_GRID_POINTS = 200_000
# Distance of losses on a grid.
INTERVAL = Real("interval", ge=1e-9, le=1)


class ShuffleAccountant:
    """A ledger of shuffles that returns the privacy loss so far.

    ``compose``, ``get_epsilon`` and ``get_delta`` have the signatures of a ``PrivacyAccountant`` of
    dp_accounting, and neighbours are datasets in which one user's value is replaced
    (``REPLACE_ONE``). Epochs of a `RandomAllocation`, which are about adding or removing an
    example, are refused. Unlike the values of dp_accounting, those of this ledger are certified.
    Section 1 of docs/proofs/composition.md says for which rounds. ``composed`` also has lower
    bounds.

    Examples
    --------
    >>> ledger = sb.ShuffleAccountant()
    >>> ledger = ledger.compose(sb.KRR(k=10, eps0=2.0).blanket(), n=10_000, rounds=5)
    >>> f"{ledger.get_epsilon(1e-6):.2f}"
    '0.19'
    """

    def __init__(self) -> None:
        self._rounds: dict[tuple, tuple[Sent | tuple[Decomposition, ...], int, int]] = {}

    def __repr__(self) -> str:
        kinds = ", ".join(f"{times} × n = {n}" for _, n, times in self._rounds.values())
        return f"<ShuffleAccountant: {kinds or 'no rounds yet'}>"

    def compose(
        self,
        decomposition: Sent | Iterable[Decomposition],
        n: Count,
        rounds: int = 1,
    ) -> Self:
        """Add rounds of n users to the ledger.

        Parameters
        ----------
        decomposition
            The mechanism of one round, as for `shufflebounds.compose`: a `Decomposition`, a
            `Randomizer`, or several decompositions if any of them may be the worst.
        n
            Number of users, 1 to 10¹⁵.
        rounds
            Number of such rounds, at least 1; all rounds together are at most 10⁶.

        Returns
        -------
        ShuffleAccountant
            The ledger itself.

        Raises
        ------
        ValueError
            For an argument outside these ranges, and for another neighbouring relation; the ledger
            does not change.
        """
        mechanism = tuple(decomposition) if isinstance(decomposition, Iterable) else decomposition
        n = validation.users(n)
        rounds = validation.rounds(rounds)
        common_relation("the ledger", [Relation.REPLACE, subject_of_round(mechanism).relation])
        keys = (shuffle.source.key for shuffle in subject_of_round(mechanism).shuffles(n))
        key = (*keys, n)
        earlier_rounds = self._rounds[key][2] if key in self._rounds else 0
        new_ledger = {**self._rounds, key: (mechanism, n, earlier_rounds + rounds)}
        compose(new_ledger.values())
        self._rounds = new_ledger
        return self

    @property
    def rounds(
        self,
    ) -> list[tuple[Sent | tuple[Decomposition, ...], int, int]]:
        """The rounds as `shufflebounds.compose` takes them: mechanism, n and number of rounds."""
        return list(self._rounds.values())

    @property
    def composed(self) -> Composed:
        """The composition of all rounds so far; ValueError if there are none."""
        if not self._rounds:
            raise ValueError("composed must have rounds, got none yet: compose adds them")
        return compose(self._rounds.values())

    def get_epsilon(self, target_delta: float) -> float:
        """Return the smallest ε that you can claim at δ; 0 before the first round.

        Parameters
        ----------
        target_delta
            δ, 10⁻³⁰⁰ ≤ δ < 1.

        Returns
        -------
        float
            ε ≥ 0 (natural log), rounded up. It is inf if δ is below the probability of outputs that
            give the victim's value away.

        Raises
        ------
        ValueError
            For a δ outside this range.
        """
        target_delta = validation.delta(target_delta)
        if not self._rounds:
            return 0.0
        # The upper end holds however wide the enclosure is.
        return reached(partial(self.composed.epsilon, target_delta)).upper

    def get_delta(self, target_epsilon: float) -> float:
        """Return the smallest δ that you can claim at ε; 0 before the first round.

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


def from_profile(
    delta: Callable[[FloatArray], ArrayLike],
    *,
    interval: float = 1e-3,
    smallest: float = 1e-12,
    relation: str = Relation.REPLACE,
) -> Decomposition:
    """Return a decomposition with the privacy profile of another mechanism, for `compose`.

    If `delta` bounds the mechanism's profile from above, the decomposition dominates the mechanism,
    and you can claim the upper ends of its compositions. Ignore the lower ends. Compose it as a
    round of one user: ``(from_profile(…), 1, rounds)``.

    Parameters
    ----------
    delta
        Upper bounds of δ at an array of ε ≥ 0 (natural log), for neighbouring datasets in either
        order, such as ``pld.get_delta_for_epsilon`` of a privacy loss distribution of
        dp_accounting.
    interval
        The step of the grid of ε on which `delta` is called (natural log), 10⁻⁹ to 1.
    smallest
        A value of δ at which the grid may end. The remaining δ counts as the probability of an
        infinite loss. The grid ends after 2¹⁸ steps at the latest. Rounding errors of `delta` may
        be as large: the most negative value, made positive, is the least δ at any ε.
    relation
        How the neighbouring datasets of the profile differ: ``replace`` (``REPLACE_ONE`` in
        dp_accounting), for rounds of reports; or ``add or remove`` (``ADD_OR_REMOVE_ONE``), for
        epochs of a `RandomAllocation`.

    Returns
    -------
    Decomposition
        A pair that dominates the mechanism.

    Raises
    ------
    ValueError
        For a bad argument, and if `delta` returns anything but probabilities.
    """
    interval, smallest = INTERVAL.check(interval), validation.delta(smallest)
    neighbours = read_relation(relation)
    points = 64
    while True:
        points *= 4
        grid: FloatArray = np.asarray(interval * np.arange(points + 1), dtype=np.float64)
        deltas = np.asarray(delta(grid), dtype=np.float64)
        error = smallest  # Rounding may leave a probability this far outside of [0, 1].
        if deltas.shape != (points + 1,) or not np.all((deltas >= -error) & (deltas <= 1 + error)):
            raise ValueError("delta must return a probability for each epsilon of an array")
        # The other values err at least as much as the most negative one.
        deltas = np.clip(deltas, max(0.0, -deltas.min()), 1.0)
        if deltas[-1] <= smallest or points > _MAX_GRID_POINTS:
            break
    last = int(np.argmax(deltas <= smallest)) or points
    upper = np.maximum(deltas[: max(last, 1) + 1], 1e-290)
    law = losses_above(grid[: upper.size], upper)
    infinite = max(law.infinite, 1e-290)
    a = np.append(law.masses, [infinite, 0.0])
    b = np.append(law.masses[::-1], [0.0, infinite])
    # The masses are slightly above those of P, and in reverse order slightly above those of Q.
    return Decomposition(a, b, np.zeros(a.size), rel_err=2.0**-40, relation=neighbours)


def to_dp_accounting(
    composed: Composed, *, interval: float = 1e-4, smallest: float = 1e-12, pessimistic: bool = True
) -> Any:
    """Return a ``PrivacyLossDistribution`` of dp_accounting, to compose with other mechanisms.

    Parameters
    ----------
    composed
        Rounds of shuffling, from `compose`. The distribution is for their ``relation``: that of
        replacing one user's value (``REPLACE_ONE``) or, for epochs of a `RandomAllocation`, that of
        adding or removing one example (``ADD_OR_REMOVE_ONE``). A distribution of dp_accounting does
        not know its relation, so compose it only with others of the same one.
    interval
        The distribution's ``value_discretization_interval`` (natural log). All distributions that
        you compose must have the same one. The precision is good if the interval is far below the
        standard deviation of a round's loss.
    smallest
        Losses that are rarer than this, over all rounds, count as infinite.
    pessimistic
        If True, δ is never below the truth. If False, δ is never above that of the two datasets
        that give the lower bound; if their order matters, it is (a, b).

    Returns
    -------
    PrivacyLossDistribution
        The distribution of the sum of all losses. The distribution of each round is proven. The
        convolutions of dp_accounting are not, and lose relative precision below about 10⁻¹⁴.

    Raises
    ------
    ValueError
        For a bad argument.
    ImportError
        If dp_accounting is not installed.
    ArithmeticError
        If `pessimistic` is False and no optimistic pair was found.
    """
    interval, smallest = INTERVAL.check(interval), validation.delta(smallest)
    is_ordered = composed.is_ordered
    if is_ordered and not pessimistic:
        raise ValueError("pessimistic must be True for epochs of training, got False")
    sums = composed.losses(smallest, _EPOCHS_RTOL if is_ordered else _CONVERTED_RTOL)
    loss_sums = sums.upper() if pessimistic else sums.lower()
    if not loss_sums:
        raise ArithmeticError("no optimistic pair was found for these rounds")
    pmf, pld = (
        _dp_accounting_module(f"dp_accounting.pld.{name}")
        for name in ("pld_pmf", "privacy_loss_distribution")
    )
    discretize = _split_losses if pessimistic else _round_losses_down

    def lattice_law(law: Losses) -> Any:
        return pmf.DensePLDPmf(interval, *discretize(law, interval), law.infinite, pessimistic)

    total = None
    # The first sum is enough, unless there are epochs: it serves both orders, or it is that of the
    # order (a, b). With epochs, the first one is that of removing an example.
    orders = [loss_sum.rounds for loss_sum in loss_sums[: 2 if is_ordered else 1]]
    for laws in zip(*orders, strict=True):
        distribution = pld.PrivacyLossDistribution(*(lattice_law(law) for law, _ in laws))
        times = laws[0][1]
        distribution = distribution.self_compose(times) if times > 1 else distribution
        total = distribution if total is None else total.compose(distribution)
    return total


def to_renyi_accounting(
    composed: Composed, orders: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return orders, and upper bounds of the Rényi divergences of all rounds at these orders.

    The Rényi accountant of dp_accounting accepts no divergences from elsewhere. Add these to its
    ``rdp`` at the same ``orders``, for the ``relation`` of the rounds, and convert the sum with its
    public function ``rdp.compute_epsilon(orders, rdp, delta)``. Version 0.6 counts a
    ``GaussianDpEvent`` for addition or removal even if the relation is ``REPLACE_ONE``: halve its
    noise multiplier.

    Parameters
    ----------
    composed
        Rounds of shuffling, from `compose`.
    orders
        1 < α ≤ 10⁶, shape (O,), such as ``accountant.orders``. The default is the orders of
        dp_accounting.

    Returns
    -------
    tuple of two arrays
        Orders and divergences (natural log), shape (O,).

    Raises
    ------
    ValueError
        For a bad argument.
    ImportError
        If the default orders are requested and dp_accounting is not installed.
    """
    if orders is None:
        orders = _dp_accounting_module("dp_accounting.rdp").RdpAccountant().orders
    alpha = np.array([validation.order(order) for order in np.atleast_1d(orders).tolist()])
    if not alpha.size:
        raise ValueError("orders must be one or more, got none")
    divergences = RoundDivergences.of(Plan(composed.schedule, make=BLANKETS), ANY_N)
    return alpha, divergences.bounds(alpha, _RENYI_RTOL).upper


def _split_losses(law: Losses, interval: float) -> tuple[int, FloatArray]:
    """Return a law on the lattice that dominates `law`: its first point, and its masses.

    Each atom is split between the two neighbouring points in such a way that its mass under P and
    its mass under Q do not change.
    """
    cells, offset = _lattice_cells(law, interval, up=True)
    # The parts have p₁ + p₂ = p and p₁ e^{−L₁} + p₂ e^{−L₂} = p e^{−L}. Rounding p₂ up is safe, and
    # so is rounding all masses up.
    share = -np.expm1(-offset) / -math.expm1(-interval) * (1.0 + 16.0 * U)
    upper_share = np.clip(share, 0.0, 1.0)
    first = int(cells.min())
    masses = np.zeros(int(cells.max()) - first + 2)
    np.add.at(masses, cells - first, law.masses * (1.0 - upper_share))
    np.add.at(masses, cells - first + 1, law.masses * upper_share)
    return first, masses * (1.0 + (16.0 + 2.0 * cells.size) * U)


def _round_losses_down(law: Losses, interval: float) -> tuple[int, FloatArray]:
    """Return a law on the lattice that `law` dominates: its first point, and its masses."""
    cells, _ = _lattice_cells(law, interval, up=False)
    first = int(cells.min())
    masses = np.bincount(cells - first, weights=law.masses).astype(np.float64)
    return first, masses * (1.0 - 2.0 * cells.size * U)


def _lattice_cells(
    law: Losses, interval: float, *, up: bool
) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the lattice point at or below each loss, and the distance of the loss from it.

    Before that, each loss moves to the safe side, `up` or down, by more than the rounding errors of
    the quotient and the remainder.
    """
    losses = law.values
    margin = 16.0 * U * (np.abs(losses) + interval)
    safe_losses = losses + margin if up else losses - margin
    cells = np.floor(safe_losses / interval).astype(np.int64)
    offset = safe_losses - cells * interval
    if not up:
        return cells - (offset < 0.0), np.maximum(offset, 0.0)
    is_over = offset > interval
    return cells + is_over, np.maximum(np.where(is_over, offset - interval, offset), 0.0)


def _dp_accounting_module(name: str) -> ModuleType:
    """Return a module of dp_accounting; raise ImportError with advice if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            "dp_accounting is needed for this: pip install 'dp-accounting>=0.6'"
        ) from error
