"""Many rounds: certified (ε, δ) of sequential composition.

Upper ends hold for rounds that are chosen adaptively, each dominated by the larger of both
directions of its decomposition as a curve (Zhu, Dong, Wang, AISTATS 2022, Theorem 10). Lower ends
are those of independent rounds on one fixed pair of datasets. docs/composition.md proves both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from shufflebounds import validation
from shufflebounds.accounting import amplification
from shufflebounds.accounting.mechanism_rounds import round_of
from shufflebounds.accounting.problem import Problem, never_below
from shufflebounds.accounting.roots import delta_at, largest_eps, smallest_eps
from shufflebounds.accounting.round_laws import Round, compositions
from shufflebounds.decomposition import Decomposition
from shufflebounds.divergence.law import U
from shufflebounds.enclosure import Enclosure, PrecisionError, reached
from shufflebounds.randomizers.base import Randomizer

DEFAULT_RTOL = 1e-3
# δ is that much less certain than ε.
DEFAULT_DELTA_RTOL = 0.05

# ε is wide by about this over the square of the lattice points per standard deviation.
_WIDTH = 0.6
_REFINEMENTS, _GAIN = 3, 0.9


@dataclass(frozen=True, eq=False)
class Composed:
    """Rounds of shuffling, one after the other, as `compose` makes them."""

    rounds: tuple[Round, ...]

    def epsilon(self, delta: float, *, rtol: float | None = None) -> Enclosure:
        """Enclosure of the smallest ε at which all rounds together are (ε, δ)-DP.

        Of two datasets that differ by the replacement of one user's input; n counts users who
        follow the protocol and do not collude. The decomposition must bound the victim's inputs in
        every round: docs/composition.md, section 1.

        Parameters
        ----------
        delta
            10⁻³⁰⁰ ≤ δ < 1.
        rtol
            The largest relative width to accept, 10⁻⁹ to 0.1. None stands for 10⁻³, and leaves out
            of account what separates the ends in theory: a decomposition whose two directions
            differ, several of them in a round, and ``inner`` from ``outer``.

        Returns
        -------
        Enclosure
            At ``upper``, δ(ε) was found to be at most `delta` for rounds chosen adaptively. At
            ``lower``, it was found to be at least `delta` for independent rounds on one pair of
            datasets (or it is 0). Both are inf where no ε will do.

        Raises
        ------
        ValueError
            For arguments outside these ranges.
        PrecisionError
            Where the width stays above `rtol`.

        """
        delta = validation.delta(delta)
        goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
        if self.never_below() > delta:
            return Enclosure(math.inf, math.inf)
        end = self._largest_loss()
        depth = max(1.0, -2.0 * math.log(delta))

        def enclose(density: float) -> Enclosure:
            level = delta * min(0.05, 0.02 * goal * depth)
            above, below = compositions(self.rounds, density, level)
            upper = min(smallest_eps(above, delta), end)
            lower = max((largest_eps(law, delta) for law in below), default=0.0)
            if lower < 0.5 * upper:  # more rounds tell no less than one
                lower = max(lower, *(_once(one, delta) for one in self.rounds))
            return Enclosure(min(lower, upper), upper)

        return self._refined(enclose, goal, rtol, f"epsilon at delta = {delta!r}", depth=1.0)

    def delta(self, eps: float, *, rtol: float | None = None) -> Enclosure:
        """Enclosure of the smallest δ at which all rounds together are (ε, δ)-DP.

        `eps` is ε ≥ 0 (natural log). `rtol` is the largest relative width of δ to accept, where
        None stands for 0.05; all else is as for `epsilon`.
        """
        eps = validation.eps(eps)
        goal = DEFAULT_DELTA_RTOL if rtol is None else validation.rtol(rtol)
        if eps >= self._largest_loss():
            return Enclosure(0.0, 0.0)
        guess = self._guess(eps)

        def enclose(density: float) -> Enclosure:
            level, found = min(guess, 0.1), Enclosure(0.0, 1.0)
            for _ in range(8):
                above, below = compositions(self.rounds, density, 0.05 * goal * level)
                found = Enclosure(
                    min(max((delta_at(law, eps).lower for law in below), default=0.0), 1.0),
                    min(delta_at(above, eps).upper, 1.0),
                )
                if level <= max(found.lower, validation.MIN_DELTA):
                    break
                level = max(found.lower, 1e-3 * level, validation.MIN_DELTA)
            return Enclosure(min(found.lower, found.upper), found.upper)

        depth = max(1.0, -2.0 * math.log(max(guess, validation.MIN_DELTA)))
        return self._refined(enclose, goal, rtol, f"delta at eps = {eps!r}", depth)

    def _refined(
        self,
        enclose: Callable[[float], Enclosure],
        goal: float,
        rtol: float | None,
        what: str,
        depth: float,
    ) -> Enclosure:
        """The first enclosure narrow enough, of ever more lattice points."""
        density = math.sqrt(_WIDTH * depth / goal)
        best = enclose(density)
        for _ in range(_REFINEMENTS if self._promises() else 0):
            if best.relative_width <= goal or best.upper <= validation.MIN_DELTA:
                return best
            density *= min(4.0, max(1.4, 1.2 * math.sqrt(best.relative_width / goal)))
            found = enclose(density)
            upper = min(best.upper, found.upper)
            if found.lower == best.lower == 0.0 and upper > _GAIN * best.upper:
                break  # it is not the lattice that keeps the ends apart
            best = Enclosure(min(max(best.lower, found.lower), upper), upper)
        if best.relative_width > goal and (rtol is not None or self._promises()):
            raise PrecisionError(
                f"{what}, {sum(one.times for one in self.rounds)} rounds is known only to lie in "
                f"[{best.lower!r}, {best.upper!r}]: relative width {best.relative_width:.1e} where "
                f"rtol = {goal:g} was asked for",
                best,
            )
        return best

    def _promises(self) -> bool:
        """Whether the two ends mean the same, so that a wide enclosure is a failure."""
        return all(one.is_symmetric for one in self.rounds) and all(
            one.attained is None
            and len(one.decompositions) == 1
            and one.decompositions[0].is_finite()
            for one in self.rounds
        )

    def _largest_loss(self) -> float:
        """An ε at which δ is certainly 0: that of the rounds add up."""
        losses = [
            one.times * max(Problem.of(each, one.n).largest_loss() for each in one.decompositions)
            for one in self.rounds
        ]
        return math.fsum(losses) * (1.0 + 8.0 * U)

    def never_below(self) -> float:
        """A lower bound of δ at every ε."""
        return max(self._told(order) for order in (0, -1))

    def _told(self, order: int) -> float:
        """From outputs that the other input never gives, of the first or the last direction."""
        spared = 0.0
        for one in self.rounds:
            known = (never_below(each.directions[order][0], one.n) for each in one.lowest)
            told = max(known, default=0.0)
            spared += one.times * math.log1p(-told) if told < 1.0 else -math.inf
        return -math.expm1(spared) * (1.0 - 1e-12)

    def _guess(self, eps: float) -> float:
        """A rough δ(ε), from a normal loss."""
        variance = sum(one.times * one.size**2 for one in self.rounds)
        if variance == 0.0:
            return validation.MIN_DELTA
        excess = max(0.0, eps - 0.5 * variance)
        return math.exp(max(-0.5 * excess**2 / variance, math.log(validation.MIN_DELTA)))


def compose(
    rounds: Iterable[tuple[Decomposition | Randomizer | Iterable[Decomposition], int, int]],
) -> Composed:
    """Rounds (decomposition, n, times), in any order: n users, 1 to 10¹⁵; at most 10⁶ times in all.

    Where any of several pairs of inputs may be the worst, such as `MatrixRandomizer.blankets`, a
    round has all of their decompositions: the worst may be another in every round. Lower ends are
    then those of one of them, the same in all rounds of a kind.

    Of a randomizer in place of a decomposition, the enclosure is of the mechanism's own ε and δ:
    upper ends are proven for all datasets (docs/closing-the-gap.md) and lower ones are those of
    pairs of datasets.

    Ask the result for its `Composed.epsilon` or `Composed.delta`, each an `Enclosure`. Raises
    ValueError for an empty list, and for entries outside these ranges.
    """
    listed = list(rounds) if isinstance(rounds, Iterable) else [rounds]
    if not listed or not all(isinstance(one, tuple) and len(one) == 3 for one in listed):
        raise ValueError(
            f"rounds must be one or more triples (decomposition, n, times), got {rounds!r}"
        )
    found = tuple(
        round_of(given, n, times)
        if isinstance(given, Randomizer)
        else Round(tuple(given) if isinstance(given, Iterable) else (given,), n, times)
        for given, n, times in listed
    )
    # More losses on a lattice would not add up exactly (docs/composition.md, section 2).
    total = sum(one.times for one in found)
    validation.whole("rounds, all added up,", total, minimum=1, maximum=validation.MAX_ROUNDS)
    return Composed(found)


def _once(one: Round, delta: float) -> float:
    """A lower bound of ε of a single round."""
    found = (reached(partial(amplification.epsilon, each, one.n, delta)) for each in one.lowest)
    return max((ends.lower for ends in found), default=0.0)
