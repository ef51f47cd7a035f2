"""Training with random allocation as the command line describes it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.relation import Relation
from shufflebounds.divergence.law import U
from shufflebounds.protocols.allocation import RandomAllocation
from shufflebounds.questions.answers import delta as delta_of
from shufflebounds.questions.answers import epsilon
from shufflebounds.randomizers.gaussian_cells import loss_beyond, tail_delta


@dataclass(frozen=True)
class Training:
    """DP-SGD in which every example joins one random step of each epoch (balls and bins).

    In every epoch the step of each example is redrawn, as in step = rng.integers(steps, size=N),
    and batch i has the examples with step == i. To the sum of their gradients, clipped to norm C, a
    step adds normal noise with a standard deviation of C times the noise multiplier. Neighbouring
    datasets differ by one example that is added or removed.

    Fixed-size batches of a shuffled dataset are another mechanism, and so is Poisson sampling. So
    are bins that are kept: if examples have the same step in all epochs, as in BallsInBinsSampling
    of JAX Privacy, all epochs are one, with the noise multiplier divided by sqrt(epochs).

    Raises ValueError for a number out of its range.
    """

    noise_multiplier: float = field(
        metadata={"help": "noise of a step, in units of the clipping norm, 0.2 to 1000"}
    )
    steps: int = field(metadata={"help": "number of steps of an epoch, 1 to 1e15"})
    epochs: int = field(
        default=1,
        metadata={"help": "number of epochs, in each of which steps are redrawn; 1 if left out"},
    )

    def __post_init__(self) -> None:
        RandomAllocation(self.noise_multiplier)
        validation.users(self.steps, "steps")
        validation.rounds(self.epochs, "epochs")

    @property
    def relation(self) -> Relation:
        """How neighbouring datasets differ."""
        return self.allocation.relation

    @property
    def allocation(self) -> RandomAllocation:
        """The sampling and the noise of a step."""
        return RandomAllocation(self.noise_multiplier)

    def epsilon(self, delta: float, rtol: float | None) -> Enclosure:
        """Return ε at δ."""
        return epsilon(self.allocation, self.steps, delta, rounds=self.epochs, rtol=rtol)

    def delta(self, eps: float, rtol: float | None) -> Enclosure:
        """Return δ at ε."""
        return delta_of(self.allocation, eps, self.steps, rounds=self.epochs, rtol=rtol)

    @property
    def noise_of_kept_steps(self) -> float:
        """The noise multiplier of one epoch that is all epochs if examples keep their steps.

        It is also that of one step that is all epochs if the steps are known. It is rounded down.
        """
        return self.noise_multiplier / math.sqrt(self.epochs) * (1.0 - 4.0 * U)

    def epsilon_without_secret(self, delta: float) -> float:
        """Return an ε at δ that holds even if the steps of all examples are known."""
        return loss_beyond(self.noise_of_kept_steps, delta)

    def delta_without_secret(self, eps: float) -> float:
        """Return a δ at ε that holds even if the steps of all examples are known."""
        return min(tail_delta(self.noise_of_kept_steps, eps), 1.0)
