"""Questions about training with random allocation: ε, δ, and the noise multiplier for a target."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from shufflebounds.accounting.cells import at_its_delta, with_enough_cells
from shufflebounds.accounting.composition import compose
from shufflebounds.accounting.one_shuffle import Quantity, enclosures_of
from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, PrecisionError
from shufflebounds.core.relation import Relation
from shufflebounds.core.work import limited
from shufflebounds.divergence.law import U, log
from shufflebounds.profiles.direction import pair
from shufflebounds.protocols.allocation import MAX_CELLS, MAX_NOISE, MIN_NOISE, RandomAllocation
from shufflebounds.randomizers.gaussian_cells import loss_beyond, tail_delta

# Relative width of ε of one epoch where the caller gives no `rtol`.
DEFAULT_RTOL = 1e-3
# Relative width of δ of one epoch where the caller gives no `rtol`.
DEFAULT_DELTA_RTOL = 2e-2
# Relative width of a noise multiplier for one epoch where the caller gives no `rtol`.
DEFAULT_NOISE_RTOL = 1e-2
# Relative width of a noise multiplier for several epochs where the caller gives no `rtol`.
DEFAULT_NOISE_RTOL_OF_EPOCHS = 2e-2
# A δ for which a decomposition is made that shows about how large δ is.
SMALL_DELTA = 1e-30
# Relative width of ε at the first noise multipliers that are tried.
FIRST_WIDTH = 0.1
# Smallest relative width of ε of one epoch in a search.
FINEST_WIDTH = 1e-4
# Smallest relative width of ε of several epochs in a search. A smaller one takes minutes.
FINEST_WIDTH_OF_EPOCHS = 8e-3
# Largest step of log σ while one end is unknown.
LARGEST_STEP = 1.5
# Most noise multipliers that are tried.
MAX_TRIALS = 40


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
        return training_epsilon(self.allocation, self.steps, delta, self.epochs, rtol)

    def delta(self, eps: float, rtol: float | None) -> Enclosure:
        """Return δ at ε."""
        return training_delta(self.allocation, self.steps, eps, self.epochs, rtol)

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


def training_epsilon(
    allocation: RandomAllocation, steps: int, delta: float, epochs: int, rtol: float | None
) -> Enclosure:
    """Return ε at δ of epochs of so many steps, to a relative width of `rtol`."""
    if epochs > 1:
        return compose([(allocation, steps, epochs)]).epsilon(delta, rtol=rtol)
    ask = partial(_single_epoch, allocation, steps, Quantity.EPSILON, delta, delta)
    return with_enough_cells(ask, rtol, DEFAULT_RTOL, most_cells=MAX_CELLS)


def training_delta(
    allocation: RandomAllocation, steps: int, eps: float, epochs: int, rtol: float | None
) -> Enclosure:
    """Return δ at ε of epochs of so many steps, to a relative width of `rtol`."""
    if epochs > 1:
        return compose([(allocation, steps, epochs)]).delta(eps, rtol=rtol)
    ask = partial(_single_epoch, allocation, steps, Quantity.DELTA, eps)
    upper = pair(allocation.decomposition(steps, SMALL_DELTA), np.array([float(steps)])).upper
    guess = math.exp(min(float(upper.estimates(np.array([eps]))[0]), 0.0))
    return at_its_delta(ask, rtol, DEFAULT_DELTA_RTOL, guess, most_cells=MAX_CELLS)


def _single_epoch(
    allocation: RandomAllocation,
    steps: int,
    quantity: Quantity,
    at: float,
    delta: float,
    cells: int,
    rtol: float,
) -> Enclosure:
    """Return ε or δ of one epoch, with cells that are made for a δ, however wide it is."""
    decomposition = allocation.decomposition(steps, delta, cells=cells)
    interval = pair(decomposition, np.array([float(steps)]))
    return enclosures_of(interval, quantity, [(at, at)], min(rtol, validation.MAX_RTOL))[0][0]


@limited
def smallest_noise_multiplier(
    target: float, delta: float, *, steps: int, epochs: int = 1, rtol: float | None = None
) -> Enclosure:
    """Enclose the smallest noise multiplier at which random allocation is (ε, δ)-DP.

    What is assumed is said at `RandomAllocation`: neighbouring datasets differ by adding or
    removing one example, and the steps of examples are redrawn in every epoch.

    Parameters
    ----------
    target
        ε > 0 (natural log).
    delta
        δ, 10⁻²⁰⁰ ≤ δ < 1.
    steps
        Number of steps of an epoch, 1 to 10¹⁵.
    epochs
        Number of epochs, 1 to 10⁶.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 0.01, and for 0.02 of
        several epochs.

    Returns
    -------
    Enclosure
        At ``upper``, ε was found to be at most `target`. No noise multiplier below ``lower`` meets
        the target. It is 0 if the smallest one that is tried, 0.2, is large enough.

    Raises
    ------
    ValueError
        For an argument outside these ranges, and if no noise multiplier up to 1000 is large enough.
    PrecisionError
        If ε is not known well enough at some noise multiplier.

    Examples
    --------
    >>> sigma = sb.smallest_noise_multiplier(1.0, 1e-6, steps=1000)
    >>> 0.68 < sigma.lower < sigma.upper < 0.70
    True
    """
    target, delta = validation.eps(target), validation.delta(delta)
    steps, epochs = validation.users(steps, "steps"), validation.rounds(epochs, "epochs")
    default = DEFAULT_NOISE_RTOL if epochs == 1 else DEFAULT_NOISE_RTOL_OF_EPOCHS
    goal = default if rtol is None else validation.rtol(rtol)
    if target == 0.0:
        raise ValueError("target must be an epsilon above 0, got 0")
    search, width = _NoiseSearch(math.log(target), goal), FIRST_WIDTH
    while not search.is_done() and search.trials < MAX_TRIALS:
        sigma = math.exp(search.trial)
        try:
            eps = training_epsilon(RandomAllocation(sigma), steps, delta, epochs, width)
        except PrecisionError as error:
            if not isinstance(error.enclosure, Enclosure):
                raise
            eps = error.enclosure
        finest = FINEST_WIDTH if epochs == 1 else FINEST_WIDTH_OF_EPOCHS
        if search.add(eps):
            continue
        if width > finest:
            width = max(0.25 * width, finest)
        else:
            search.avoid()
    enclosure = Enclosure(math.exp(search.low), math.exp(search.high))
    if search.high <= search.range[0]:
        return Enclosure(0.0, MIN_NOISE)
    if search.low >= search.range[1]:
        raise ValueError(
            f"target must be larger, got {target!r}: a noise multiplier of {MAX_NOISE:g} is too "
            "small"
        )
    if not search.is_done():
        raise PrecisionError(
            f"the noise multiplier is known only to lie in [{enclosure.lower!r}, "
            f"{enclosure.upper!r}]: relative width {enclosure.relative_width:.1e} where rtol = "
            f"{goal:g} was asked for{validation.rtol_advice(enclosure.relative_width)}",
            enclosure,
        )
    return enclosure


@dataclass
class _NoiseSearch:
    """A search for log σ at which log ε is ``log_target``, to a distance of ``goal``.

    The target is missed at ``low`` and met at ``high``, or these are the ends of ``range``.
    """

    log_target: float
    goal: float
    range: tuple[float, float] = (math.log(MIN_NOISE), math.log(MAX_NOISE))
    trial: float = 0.0
    trials: int = 0

    def __post_init__(self) -> None:
        self.low, self.high = -math.inf, math.inf
        self.excess: dict[float, float] = {}

    def is_done(self) -> bool:
        """Return whether the ends are close enough, or at an end of the range."""
        is_outside = self.high <= self.range[0] or self.low >= self.range[1]
        return is_outside or self.high - self.low <= math.log1p(0.9 * self.goal)

    def avoid(self) -> None:
        """Move the trial away from where ε cannot be told from the target."""
        distance = 0.42 * self.goal
        self.trial += distance if self.high - self.trial > 1.1 * distance else -distance

    def add(self, eps: Enclosure) -> bool:
        """Use the ε of the trial and choose another; return whether it showed on which side it is.

        If it did not, the trial stays.
        """
        self.trials += 1
        logs = [log(x) - self.log_target for x in (eps.lower, eps.upper)]
        if logs[0] <= 0.0 < logs[1]:
            return False
        if logs[1] <= 0.0:
            self.high = self.trial
        else:
            self.low = self.trial
        middle = max(0.5 * (logs[0] + logs[1]), -LARGEST_STEP)
        self.excess[self.trial] = middle
        if math.isinf(self.high - self.low):
            # ε falls at least like 1/σ in most settings. A step goes a little further than that.
            step = min(max(0.6 * middle, -LARGEST_STEP), LARGEST_STEP)
            step += math.copysign(0.5 * self.goal, step)
            self.trial = min(max(self.trial + step, self.range[0]), self.range[1])
            return True
        low, high = self.excess[self.low], self.excess[self.high]
        width = self.high - self.low
        root = self.low + width * low / (low - high) if low > high else self.low + 0.5 * width
        side = -1.0 if root - self.low > self.high - root else 1.0
        aim = root + side * 0.35 * self.goal
        self.trial = min(max(aim, self.low + 0.05 * width), self.high - 0.05 * width)
        return True
