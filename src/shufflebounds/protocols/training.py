"""Training with noisy gradients (DP-SGD), by how the examples of a step are chosen.

Every scheme is a line of a table: the means of the normal laws a and b, in units of the clipping
norm, against c = N(0, σ²); the share ρ of the draws in which the example takes part; and the number
of steps among which it hides. Laplace noise, or any pair of masses, may stand in place of normal
laws. Proofs: docs/proofs/random-allocation.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.number import Real
from shufflebounds.core.products import FloatArray, U
from shufflebounds.core.relation import Relation
from shufflebounds.randomizers.gaussian_cells import (
    gaussian_pair,
    loss_beyond,
    mixed,
    opposite_pair,
    shifted_laws,
)
from shufflebounds.randomizers.laplace_cells import laplace_pair
from shufflebounds.subjects.base import ANY_AIM, Aim, GivenSource, Shuffle, Subject
from shufflebounds.subjects.observation import Observation, Words

JOIN_RATE = Real(
    "rate", "probability of joining a step, above 0 and at most 1 (full batches)", gt=0, le=1
)
# Largest distance of outputs from the mean of a law, in standard deviations: masses there are above
# 1e-290.
MAX_REACH = 36.0
# Width of cells in standard deviations. The ends of ε differ by about 1e-4. Speed and width only.
CELL_WIDTH = 0.02
# The same for lower ends of one epoch alone.
WIDE_CELLS = 0.05
# The same for lower ends of several epochs, whose curve is evaluated at many ε. Half of this width
# takes three times as long, and the work budget ends before some answers.
WIDEST_CELLS = 0.1
# Distance from all means beyond which cells grow. Speed and width only.
DENSE_REACH = 8.0
# Number of these cells at either side. Speed and width only.
FAR_CELLS = 60
# The same for lower ends of several epochs.
FEWEST_FAR_CELLS = 20
# Share of δ by which an example of Poisson sampling may join more steps than are counted.
RARE_SHARE = 0.01

# Names of the laws of noise.
GAUSSIAN, LAPLACE = "gaussian", "laplace"
# The means of a and b by relation, if an example joins random steps.
RANDOM_STEPS: Mapping[Relation, tuple[float, float]] = MappingProxyType(
    {
        Relation.ADD_OR_REMOVE: (1.0, 0.0),
        Relation.REPLACE: (1.0, -1.0),
        Relation.ZERO_OUT: (1.0, 0.0),
    }
)
# The same if batches keep their size, and the gradients of all other examples are opposite.
FIXED_SIZES: Mapping[Relation, tuple[float, float]] = MappingProxyType(
    {Relation.REPLACE: (2.0, 0.0), Relation.ZERO_OUT: (2.0, 1.0)}
)

STEPS = Observation(
    "noisy sums of gradients",
    "The observer sees the noisy sum of clipped gradients of every step and may know all other "
    "examples and the steps that they join. Only the steps of the victim are secret.",
    "the secrecy of the steps",
    "docs/random-allocation.md",
    MappingProxyType(
        {
            "best": "docs/proofs/random-allocation.md",
            "blanket": "docs/proofs/random-allocation.md",
            "lower": "docs/proofs/random-allocation.md: gradients that are the same in every step",
        }
    ),
    upper="best",
    words=Words(
        person="example",
        unit="step",
        period="epoch",
        certainty="an attacker may be certain whether an example was used",
        attack="The attacker sees the noisy sums of all steps, knows all other examples and the "
        "steps that they join, and tells which of two neighbouring datasets was used. A false "
        "positive takes the first dataset for the second, a false negative the second for the "
        "first.",
        conditions="Training chooses steps, clips gradients and adds noise as is stated below. The "
        "numbers of steps and epochs are fixed in advance; if training may stop early, they are "
        "those of the plan.",
        not_covered="Not covered: what is published besides the sums of steps, such as losses or "
        "the best of several runs, and errors of the software that trains.",
        rounds="{rounds} are covered together by the {upper}. Gradients may depend on everything "
        "published before.",
        no_cover="other examples provide no cover, so all of them may be known",
    ),
)


@dataclass(frozen=True)
class Training(Subject):
    """Steps of DP-SGD: each adds normal noise to a sum of clipped gradients and publishes it.

    ``n`` is the number of steps of an epoch, and rounds are epochs. ``means`` are those of the
    table, by relation. ``assumed`` says how steps are chosen.
    """

    noise_multiplier: float = field(metadata={"help": validation.NOISE_MULTIPLIER.meaning})
    neighbours: str = field(
        default=Relation.ADD_OR_REMOVE.value,
        kw_only=True,
        metadata={"help": "add or remove (the default), replace, or zero-out"},
    )
    means: ClassVar[Mapping[Relation, tuple[float, float]]] = RANDOM_STEPS
    assumed: ClassVar[str] = ""
    # Share of δ by which an example may join more steps than `steps_joined` says.
    rare_share: ClassVar[float] = 0.0
    eps0: ClassVar[None] = None  # type: ignore[misc]
    has_costly_rounds: ClassVar[bool] = True
    seen: ClassVar[Observation] = STEPS

    def __post_init__(self) -> None:
        sigma = validation.NOISE_MULTIPLIER.check(self.noise_multiplier)
        object.__setattr__(self, "noise_multiplier", sigma)
        validation.choice("neighbours", self.neighbours, [x.value for x in self.means])

    @property
    def relation(self) -> Relation:  # type: ignore[override]
        """See `Subject`."""
        return Relation(self.neighbours)

    @property
    def is_ordered(self) -> bool:
        """Whether both datasets keep an order that matters: they are no mirror images."""
        first, second = self.means[self.relation]
        return first != -second

    @property
    def caveat(self) -> str:
        """See `Subject`."""
        return (
            f"Assumed: {self.assumed} {self.published} The sum is not divided by the size of the "
            "batch, which is not published. An example's gradient does not depend on other "
            "examples of its batch. docs/random-allocation.md lists all conditions."
        )

    @property
    def published(self) -> str:
        """A sentence on what a step publishes."""
        return (
            "A step publishes the sum of gradients, clipped to norm C, with normal noise of "
            "standard deviation C times the noise multiplier."
        )

    def least_noise(self, rounds: int) -> float:
        """Return the smallest noise multiplier of so many epochs.

        Parameters
        ----------
        rounds
            The number of epochs.

        Returns
        -------
        float
            The noise multiplier.
        """
        return validation.MIN_NOISE

    def steps_joined(self, n: int, rounds: int, delta: float) -> int:
        """Return the number of steps that an example joins, but for a small share of δ.

        Parameters
        ----------
        n
            The number of steps of an epoch.
        rounds
            The number of epochs.
        delta
            δ.

        Returns
        -------
        int
            The number of steps.
        """
        return rounds

    def epsilon_of_known_steps(self, n: int, rounds: int, delta: float) -> float:
        """Return an ε at δ that holds even if the steps of all examples are known, rounded up.

        Parameters
        ----------
        n
            The number of steps of an epoch.
        rounds
            The number of epochs.
        delta
            δ.

        Returns
        -------
        float
            ε (natural log).
        """
        steps, share = self.steps_joined(n, rounds, delta), delta * (1.0 - self.rare_share)
        return self._epsilon_of_steps(steps, share)

    def _epsilon_of_steps(self, steps: int, delta: float) -> float:
        """Return an ε at δ of so many known steps, which are one Gaussian mechanism, rounded up."""
        first, second = self.means[self.relation]
        noise = self.noise_multiplier / ((first - second) * math.sqrt(steps)) * (1.0 - 4.0 * U)
        return loss_beyond(noise, delta)


@dataclass(frozen=True)
class RandomSteps(Training):
    """Training in which an example joins random steps, with noise of any law.

    ``step`` replaces the noise: what a step tells of an example that joins it, as masses.
    """

    noise_multiplier: float = field(
        default=None,  # type: ignore[assignment]
        metadata={"help": validation.NOISE_MULTIPLIER.meaning, "is_required": True},
    )
    noise: str = field(
        default=GAUSSIAN,
        kw_only=True,
        metadata={"help": "law of the noise: gaussian (the default) or laplace"},
    )
    step: Decomposition | tuple | None = field(
        default=None, kw_only=True, repr=False, metadata={"is_option": False}
    )

    def __post_init__(self) -> None:
        validation.choice("noise", self.noise, (GAUSSIAN, LAPLACE))
        if self.step is None:
            super().__post_init__()
            return
        if self.noise_multiplier is not None or self.noise != GAUSSIAN:
            raise ValueError("noise and noise_multiplier must be left out if step is given")
        proven = [Relation.ADD_OR_REMOVE.value, Relation.ZERO_OUT.value]
        validation.choice("neighbours of a given step", self.neighbours, proven)
        object.__setattr__(self, "step", _given_step(self.step, self.relation))

    @property
    def published(self) -> str:
        """See `Training`."""
        if self.step is not None:
            return (
                "Whatever was published before, what a step publishes with the example and without "
                "it is dominated by the given masses."
            )
        if self.noise == LAPLACE:
            return (
                "A step publishes the sum of gradients, clipped to an L1 norm of C, with Laplace "
                "noise in each coordinate, of a scale of C times the noise multiplier."
            )
        return super().published

    @cached_property
    def step_pair(self) -> Decomposition | None:
        """What the example's step tells if it is known; None for normal noise."""
        if isinstance(self.step, Decomposition):
            return self.step
        return (
            None if self.noise == GAUSSIAN else laplace_pair(self.noise_multiplier, self.relation)
        )

    def _epsilon_of_steps(self, steps: int, delta: float) -> float:
        """See `Training`: other noise than normal has a largest loss, which may be infinite."""
        if self.step_pair is None:
            return super()._epsilon_of_steps(steps, delta)
        _, outer = self.step_pair.bounds()
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log([outer.a, outer.b])
            # Logarithms of tiny masses are large, and so are their roundings.
            losses = np.abs(logs[0] - logs[1]) + 4.0 * U * np.abs(logs).sum(axis=0)
        largest = float(np.nanmax(losses)) + 4.0 * outer.rel_err
        return largest * steps * (1.0 + 8.0 * U)


def _given_step(step: object, relation: Relation) -> Decomposition:
    """Return the decomposition (a, b, b) that a pair of masses, or a decomposition, stands for."""
    if isinstance(step, tuple) and len(step) == 2:
        return Decomposition(step[0], step[1], step[1], relation=relation)
    if isinstance(step, Decomposition) and all(
        np.array_equal(x.b, x.c) for x in (step, *step.bounds())
    ):
        inner, outer = (x and _given_step(x, relation) for x in (step.inner, step.outer))
        return replace(step, inner=inner, outer=outer, relation=relation)
    raise ValueError(
        "step must be a pair (masses with the example, masses without it), or a Decomposition with "
        f"c = b, got {step!r}"
    )


@dataclass(frozen=True)
class PoissonSampling(RandomSteps):
    """Training in which every example joins every step with the same probability.

    Each example is drawn independently of all others, and again in every step. With ``rate`` 1,
    every step is about all examples.

    Parameters
    ----------
    noise_multiplier
        The standard deviation of the noise of a step, in units of the clipping norm, 0.2 to 1000.
    rate
        The probability of joining a step, above 0 and at most 1.
    neighbours
        How neighbouring datasets differ by one example: ``add or remove``, ``replace``, or
        ``zero-out``, which sets its gradients to 0.
    noise, step
        The law of the noise, or the masses of a step, as for `RandomAllocation`.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Notes
    -----
    ``n`` is the number of steps of an epoch, and ``rounds`` is that of epochs; at most 10⁶ steps.

    Examples
    --------
    >>> steps = sb.PoissonSampling(noise_multiplier=1.0, rate=0.01)
    >>> f"{sb.epsilon(steps, n=100, delta=1e-5).upper:.2f}"
    '0.72'
    """

    rate: float = field(
        default=None,  # type: ignore[assignment]
        metadata={"help": JOIN_RATE.meaning, "is_required": True},
    )
    is_hidden_by_number: ClassVar[bool] = False
    has_costly_rounds: ClassVar[bool] = False
    rare_share: ClassVar[float] = RARE_SHARE
    assumed: ClassVar[str] = (
        "every example joins every step with the given probability, independently of all others "
        "and in secret."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rate", JOIN_RATE.check(self.rate))

    @cached_property
    def _source(self) -> GivenSource:
        """What one step tells."""
        pair = self.step_pair
        if pair is None:
            z = cells(self.noise_multiplier, self.means[self.relation])
            pair = secret_step(self.noise_multiplier, z, self.relation)
        return GivenSource({"": mixed(pair, validation.fraction(self.rate))}, key=self)

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """Return the steps of an epoch, each of which is one draw."""
        steps = validation.rounds(n, "steps")
        return [Shuffle(self._source, 1, steps, is_ordered=self.is_ordered)]

    def shuffles_of(self, n: int, rounds: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`; raise ValueError for more than 10⁶ steps."""
        most = f"at most {validation.MAX_ROUNDS}"
        if n * rounds > validation.MAX_ROUNDS:
            raise ValueError(f"steps of all epochs must be {most}, got {n} times {rounds}")
        return [x._replace(times=x.times * rounds) for x in self.shuffles(n, aim)]

    def steps_joined(self, n: int, rounds: int, delta: float) -> int:
        """Return a number that the example's steps exceed with a small share of δ at most."""
        from scipy.stats import binom  # takes longer to load than most answers

        # Half of the share is left to the rounding of the binomial law.
        return max(1, int(binom.isf(0.5 * RARE_SHARE * delta, n * rounds, self.rate)))


@dataclass(frozen=True)
class ShuffledBatches(Training):
    """Training with batches of a fixed size, from a dataset that is shuffled in every epoch.

    Nothing better than the guarantee of known steps is proven for it. So ``upper`` is that of an
    observer who knows the order of the examples. ``lower`` is achieved if the gradients of all
    other examples are the same, and opposite to that of the example.

    Parameters
    ----------
    noise_multiplier
        The standard deviation of the noise of a step, in units of the clipping norm, 0.2 to 1000.
    neighbours
        How neighbouring datasets differ by one example: ``replace``, or ``zero-out``, which sets
        its gradients to 0.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Notes
    -----
    ``n`` is the number of steps of an epoch, and ``rounds`` is that of epochs. Chua et al.,
    "Scalable DP-SGD: Shuffling vs. Poisson Subsampling", NeurIPS 2024 (arXiv 2411.04205), have the
    lower end for ``zero-out``.

    Examples
    --------
    >>> batches = sb.ShuffledBatches(noise_multiplier=1.0)
    >>> f"{sb.epsilon(batches, n=100, delta=1e-5):.1f}"
    '[5.3, 10.0]'
    """

    neighbours: str = field(
        default=Relation.REPLACE.value,
        kw_only=True,
        metadata={"help": "replace (the default) or zero-out"},
    )
    means: ClassVar[Mapping[Relation, tuple[float, float]]] = FIXED_SIZES
    assumed: ClassVar[str] = (
        "every epoch shuffles the dataset anew and cuts it into batches of one size; what you can "
        "claim is what holds if the order is known, since nothing better is proven."
    )

    def _source(self, width: float, far_cells: int) -> GivenSource:
        """Return what a step of the example tells if it is known, and those of an epoch if not."""
        means, sigma = self.means[self.relation], self.noise_multiplier
        z = cells(sigma, means, width, far_cells)
        shift = (means[0] - means[1]) / sigma
        known = gaussian_pair(1.0 / shift, known_losses(shift), self.relation)
        pair = shifted_laws(sigma, z, means, self.relation)
        return GivenSource({"": known}, {"": pair}, key=(self, width))

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """Return an epoch: the step of the example if it is known, else one among all steps."""
        steps, is_one_epoch = validation.users(n, "steps"), aim.rounds == 1
        source = self._one_epoch if is_one_epoch else self._several_epochs
        return [Shuffle(source, 1, lower_draws=steps)]

    def shuffles_of(self, n: int, rounds: int, aim: Aim = ANY_AIM) -> Sequence[Shuffle]:
        """See `Subject`."""
        return super().shuffles_of(n, rounds, aim._replace(rounds=max(aim.rounds, rounds)))

    @cached_property
    def _one_epoch(self) -> GivenSource:
        return self._source(WIDE_CELLS, FAR_CELLS)

    @cached_property
    def _several_epochs(self) -> GivenSource:
        return self._source(WIDEST_CELLS, FEWEST_FAR_CELLS)


def secret_step(sigma: float, z: FloatArray, relation: Relation) -> Decomposition:
    """Return what the output of the example's step tells, with cells between `z` as its ends.

    Parameters
    ----------
    sigma
        The noise multiplier.
    z
        The ends of cells, in units of σ, shape (N + 1,), ascending; symmetric about 0 for the
        replacement of an example.
    relation
        The neighbouring relation.
    """
    if RANDOM_STEPS[relation][1] != 0.0:
        return opposite_pair(sigma, z, relation)
    return gaussian_pair(sigma, z / sigma - 0.5 / sigma**2, relation)


def cells(
    sigma: float,
    means: tuple[float, float],
    width: float = CELL_WIDTH,
    far_cells: int = FAR_CELLS,
) -> FloatArray:
    """Return ends of cells for all δ, in units of σ, shape (N + 1,), ascending.

    They cover outputs up to `MAX_REACH` standard deviations from the means, and are symmetric about
    0 if the means are.
    """
    low, high = min(0.0, *means) / sigma, max(0.0, *means) / sigma
    dense = 0.5 * (high - low) + DENSE_REACH
    last = MAX_REACH - 0.5 * (high - low)
    near = np.linspace(0.0, dense, math.ceil(dense / width) + 1)
    ends = np.append(near, np.geomspace(dense, max(last, dense), far_cells + 1)[1:])
    return 0.5 * (low + high) + np.unique(np.append(-ends, ends))


def known_losses(shift: float) -> FloatArray:
    """Return losses between which cells of a normal law and the same one, shifted, lie."""
    return shift * (cells(1.0, (shift, 0.0)) - 0.5 * shift)
