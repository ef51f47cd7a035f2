"""Searches for one end of ε after the other, each of which starts from what is known."""

from __future__ import annotations

from shufflebounds.accounting.crossing import Trial
from shufflebounds.accounting.inversion import (
    COARSEST,
    LARGEST_EPS,
    NEARLY,
    Evaluate,
    Plan,
    Search,
)
from shufflebounds.accounting.trials import Trials

# D drops where log D falls by more than this, so many times as steeply as before.
_DROP, _STEEPER = 1.5, 3.0
# How far beyond the straight line of D before a drop the next probe goes, in terms of the width.
_BEYOND = 0.5
# Trials of one end that this many noises tell from δ say where the other end is, to this share.
_TOLD, _SHIFTED = 3.0, 0.1


class EndSearch(Search):
    """A search that can go on with D of another decomposition, which is nearly the same."""

    def __init__(
        self, evaluate: Evaluate, delta: float, end: float, rtol: float, trials: Trials
    ) -> None:
        super().__init__(evaluate, delta, end, rtol, trials)
        self._centred = False

    def resumed(self, evaluate: Evaluate, rtol: float) -> EndSearch:
        """The same upper end, closer, from another D that is not below the one in question.

        The lower end is none of either then.
        """
        other = EndSearch(evaluate, self.delta, self.end, rtol, self.trials)
        other.root = self.root
        return other

    def shifted(self, evaluate: Evaluate, gap: float) -> EndSearch:
        """A search in a D below, whose root seems to be closer to 0 by `gap`, relatively."""
        trials = Trials(self.trials.slope, 0.0)
        other = EndSearch(evaluate, self.delta, self.end, self.rtol, trials)
        other.root = self.root.from_above()
        for trial in self.trials.made:
            if abs(trial.excess) > _TOLD * trial.noise:
                noise = max(_SHIFTED * abs(trial.excess), trial.noise)
                trials.add(Trial(trial.eps * (1.0 - gap), trial.excess, noise))
        return other

    def inside(self, guess: float) -> float:
        """Where D drops from a straight line at once, the end of that line."""
        if self._drops() and self.root.low > 0.0:
            return min(self.root.low * (1.0 + _BEYOND * self.rtol), LARGEST_EPS)
        return super().inside(guess)

    def support(self, near: Trial, guess: float) -> Plan | None:
        """A probe as fine as the last one, where the root is now known to be, comes first."""
        if self.is_narrow(NEARLY) and not self._centred:
            self._centred = True
            middle = 0.5 * (self.root.low + self.root.high)
            return Plan(middle, min(self.need(middle), COARSEST))
        return super().support(near, guess)

    def _drops(self) -> bool:
        """Whether D fell far more steeply after its last trial above δ than before."""
        made = self.trials.made
        left = sorted(x for x in made if x.excess > 0.0)[-2:]
        right = min((x for x in made if x.excess < -_DROP), default=None)
        if len(left) < 2 or right is None or not left[0].eps < left[1].eps < right.eps:
            return False
        before = (left[0].excess - left[1].excess) / (left[1].eps - left[0].eps)
        after = (left[1].excess - right.excess) / (right.eps - left[1].eps)
        return after > _STEEPER * before
