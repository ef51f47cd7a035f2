"""Random allocation: every example takes part in one random step of every epoch of training.

An epoch is a decomposition with as many draws as steps (docs/proofs/random-allocation.md). Where
the cells of its ends lie affects the width of answers only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray, U
from shufflebounds.profiles.direction import Direction
from shufflebounds.protocols.training import GAUSSIAN, RandomSteps
from shufflebounds.randomizers.gaussian_cells import (
    gaussian_pair,
    loss_beyond,
    mixed,
    opposite_pair,
)
from shufflebounds.subjects.base import (
    ANY_AIM,
    DEFAULT_CELLS,
    Aim,
    GivenSource,
    Shuffle,
)

# Names of both kinds of bins.
REDRAWN, KEPT = "redrawn", "kept"
# Share of δ that losses beyond the last cell may take, in all epochs together.
TAIL_SHARE = 1e-4
# Smallest mass beyond the last cell: Φ is then taken of −37 or more.
SMALLEST_TAIL = 1e-210
# Share of that mass which reports below the first cell may take.
LOW_TAIL_SHARE = 0.1
# Number of cells of the decomposition that the estimates of losses come from.
COARSE_CELLS = 150
# Number of cells of the scale on which the ends of cells are placed.
SCALE_CELLS = 1500
# Largest number of cells.
MAX_CELLS = 10_000
# Most cells of a decomposition whose curve is evaluated at many ε, as for several epochs.
MAX_CELLS_OF_EPOCHS = 500
# Share of the cells that are spread evenly. Without it, some answers are three times as wide.
EVEN_SHARE = 0.2
# Relative error of an estimated ε. Without it, some answers are four times as wide.
GUESS_ERR = 0.025
# Number of lattice points for the estimated law of a sum.
LATTICE_SIZE = 4096
# Smallest tilt of that law, in units of the inverse of the lattice's length.
LOWEST_TILT = -2e4
# Largest tilt of that law. With a larger one, negative masses would prevail.
LARGEST_TILT = 5e3
# Halvings in search of a tilt.
TILT_STEPS = 40
# Number of ε of one epoch that cells are made for if there are several epochs. With half of them,
# some answers are twice as wide.
LOSSES = 16
# Share of δ of the rarest loss among them.
RARE_SHARE = 1e-2


@dataclass(frozen=True)
class RandomAllocation(RandomSteps):
    """Training in which every example joins one random step of each epoch, or several.

    Each example is put into one of the t steps of an epoch, uniformly and independently of all
    others, and joins no other step. This is also called balls and bins. Fixed-size batches of a
    shuffled dataset are another mechanism (`ShuffledBatches`).

    `epsilon`, `delta`, `advantage`, `profile` and `compose` take it in place of a randomizer. Then
    ``n`` is the number t of steps of an epoch, and ``rounds`` is the number of epochs.

    Parameters
    ----------
    noise_multiplier
        The standard deviation σ of the noise of a step, in units of the clipping norm, 0.2 to 1000.
    neighbours
        How neighbouring datasets differ by one example: ``add or remove``, ``replace``, or
        ``zero-out``, which sets its gradients to 0.
    noise
        The law of the noise: ``gaussian``, or ``laplace``. Then the noise multiplier is its scale
        in units of the L1 clipping norm, and bins must be redrawn.
    step
        What a step tells of an example that joins it, in place of the noise: a pair of masses of
        its outputs, with the example and without it, or a `Decomposition` with c = b. It must
        dominate each step given all earlier outputs. An example may not be replaced, and bins must
        be redrawn.
    bins
        ``redrawn`` if the steps of an example are drawn anew in every epoch, ``kept`` if it joins
        the same ones in all of them. Kept bins need σ/√epochs ≥ 0.2.
    first_steps
        How many of the t steps are run, if an epoch ends early. None stands for all. Bins must be
        redrawn.
    selected
        Number of steps of an epoch that an example joins, a uniformly random set. For several,
        there is no lower end.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Notes
    -----
    Chua et al., "Balls-and-Bins Sampling for DP-SGD", AISTATS 2025 (arXiv 2412.16802); Feldman and
    Shenfeld, "Privacy amplification by random allocation", 2025 (arXiv 2502.08202).

    Examples
    --------
    >>> epoch = sb.RandomAllocation(noise_multiplier=1.0)
    >>> f"{sb.epsilon(epoch, n=1000, delta=1e-6).upper:.3f}"
    '0.172'
    """

    bins: str = field(
        default=REDRAWN,
        kw_only=True,
        metadata={"help": "redrawn in every epoch (the default), or kept"},
    )
    first_steps: int | None = field(
        default=None,
        kw_only=True,
        metadata={"help": "number of steps that are run, if an epoch ends early"},
    )
    selected: int = field(
        default=1,
        kw_only=True,
        metadata={"help": "steps of an epoch that an example joins; 1 if left out"},
    )
    # Its name on the command line.
    NAME: ClassVar[str] = "random_allocation"

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.choice("bins", self.bins, (REDRAWN, KEPT))
        if self.bins == KEPT and (self.noise != GAUSSIAN or self.step is not None):
            raise ValueError("bins must be redrawn unless noise is gaussian, got 'kept'")
        validation.rounds(self.selected, "selected")
        if self.first_steps is None:
            return
        validation.users(self.first_steps, "first_steps")
        if self.bins == KEPT or self.selected > 1:
            raise ValueError(
                "first_steps must be left out if bins are kept or an example joins several steps, "
                f"got {self.first_steps!r}: claim whole epochs"
            )

    @property
    def keeps_draws(self) -> bool:
        """See `Subject`."""
        return self.bins == KEPT

    @property
    def assumed(self) -> str:  # type: ignore[override]
        """See `Training`."""
        number = "one step" if self.selected == 1 else f"{self.selected} steps"
        draw = " (step = rng.integers(steps, size=N))" if self.selected == 1 else ""
        when, kept = "once, and kept in all epochs", ""
        if self.bins == REDRAWN:
            when = "anew in every epoch"
            kept = (
                ", and examples that keep their step over all epochs, as in BallsInBinsSampling of "
                "JAX Privacy, are protected less (bins = kept)"
            )
        return (
            f"every example joins {number} of an epoch, drawn {when}, in secret{draw}; fixed-size "
            f"batches of a shuffled dataset are not covered{kept}."
        )

    @property
    def fewest_users(self) -> int:  # type: ignore[override]
        """The fewest steps of an epoch."""
        return max(self.selected, self.first_steps or 1)

    @property
    def is_made_for_delta(self) -> bool:
        """See `Subject`: the ends of its decomposition are, for normal noise."""
        return self.step_pair is None

    def most_cells(self, rounds: int) -> int:
        """See `Subject`: how many cells of normal laws an answer may need."""
        if self.step_pair is not None:
            return 0
        return MAX_CELLS if self.total(rounds) == 1 else MAX_CELLS_OF_EPOCHS

    def total(self, rounds: int) -> int:
        """Return the number of epochs that are composed: kept bins make one of all of them."""
        return self.selected * (1 if self.bins == KEPT else rounds)

    def least_noise(self, rounds: int) -> float:
        """See `Training`."""
        return validation.MIN_NOISE * (
            math.sqrt(rounds) * (1.0 + 4.0 * U) if self.bins == KEPT else 1.0
        )

    def steps_joined(self, n: int, rounds: int, delta: float) -> int:
        """See `Training`."""
        return self.selected * rounds

    def shuffles_of(self, n: int, rounds: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`: kept bins make one epoch of all, with less noise."""
        if self.bins == REDRAWN:
            return [x._replace(times=x.times * rounds) for x in self.shuffles(n, aim)]
        sigma = self.noise_multiplier / math.sqrt(rounds)
        if sigma < validation.MIN_NOISE:
            raise ValueError(
                f"noise_multiplier must be at least {validation.MIN_NOISE:g} times the root of the "
                f"number of epochs if bins are kept, got {self.noise_multiplier!r} for {rounds} "
                "epochs"
            )
        return replace(self, noise_multiplier=sigma, bins=REDRAWN).shuffles(n, aim)

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """Return an epoch of n steps, or one for each step that an example joins."""
        validation.users(n, "steps")
        shortest, longer = divmod(n, self.selected)
        if shortest < 1:
            raise ValueError(
                f"selected must be at most the number of steps of an epoch, {n}, "
                f"got {self.selected}"
            )
        kinds = [(shortest, self.selected - longer), (shortest + 1, longer)]
        return [self._epoch(steps, times, aim) for steps, times in kinds if times]

    def _epoch(self, steps: int, times: int, aim: Aim) -> Shuffle:
        """Return epochs of so many steps of which an example joins one."""
        # The cells of several epochs serve many ε.
        epochs = max(self.total(aim.rounds), 2 if aim.for_curve else 1)
        pair = self.decomposition(steps, aim.delta, epochs=epochs, cells=aim.cells)
        # No pair of datasets is known for several steps of an epoch.
        source = GivenSource({"": pair}, None if self.selected == 1 else {})
        return Shuffle(source, self._steps_run(steps), times, is_ordered=self.is_ordered)

    def _steps_run(self, steps: int) -> int:
        """Return how many of the steps of an epoch are run."""
        if self.first_steps is not None and self.first_steps > steps:
            raise ValueError(
                f"first_steps must be at most the number of steps of an epoch, {steps}, got "
                f"{self.first_steps}"
            )
        return self.first_steps or steps

    def decomposition(
        self, steps: int, delta: float, *, epochs: int = 1, cells: int = DEFAULT_CELLS
    ) -> Decomposition:
        """Return the decomposition of an epoch, with ends that are made for one δ.

        Parameters
        ----------
        steps
            Number of steps of an epoch, 1 to 10¹⁵.
        delta
            δ of all epochs, 10⁻²⁰⁰ ≤ δ < 1. The ends hold for other δ too, and are wider there.
        epochs
            Number of epochs, 1 to 10⁶.
        cells
            Number of cells, 20 to 10 000. The distance of the ends falls like 1/cells².

        Returns
        -------
        Decomposition
            (a, b, c), of which ``n`` is the number of steps that are run, with ``inner`` and
            ``outer``.

        Examples
        --------
        >>> U = sb.RandomAllocation(1.0).decomposition(steps=10, delta=1e-5)
        >>> f"{sb.epsilon(U, n=10, delta=1e-5).upper:.2f}"
        '2.19'
        """
        share = validation.delta(delta) / validation.rounds(epochs, "epochs")
        validation.whole("cells", cells, minimum=20, maximum=MAX_CELLS)
        sigma, run = self.noise_multiplier, self._steps_run(validation.users(steps, "steps"))
        part = Fraction(run, steps)
        if self.step_pair is not None:
            return mixed(self.step_pair, part)
        count = LOSSES if epochs > 1 else 1
        if self.is_ordered:
            losses = _losses_for(sigma, run, part, share, cells, count)
            return mixed(gaussian_pair(sigma, losses, self.relation), part)
        losses = _losses_for(sigma, run, part, share, (cells + 1) // 2, count)
        z = losses * sigma + 0.5 / sigma
        return mixed(opposite_pair(sigma, np.unique(np.append(-z, z)), self.relation), part)


def _losses_for(
    sigma: float, steps: int, part: Fraction, delta: float, cells: int, count: int
) -> FloatArray:
    """Return the losses between which the cells of an epoch lie, ascending, shape (cells + 1,).

    They are made for δ of an epoch of which a part of so many steps is run, at ``count`` losses of
    the epoch, if an example is added or removed.
    """
    tail = max(TAIL_SHARE * delta, SMALLEST_TAIL)
    last = loss_beyond(sigma, tail)
    # A normal variable is z standard deviations below its mean with at most e^{−z²/2}.
    first = -0.5 / sigma**2 - math.sqrt(-2.0 * math.log(LOW_TAIL_SHARE * tail)) / sigma
    scale = np.linspace(first, last, SCALE_CELLS + 1)
    few = np.linspace(first, last, COARSE_CELLS + 1)
    coarse = mixed(gaussian_pair(sigma, few), part)
    losses = _losses_that_matter(coarse, np.array([float(steps)]), delta, last, count)
    density = np.zeros(SCALE_CELLS)
    for eps in losses.tolist():
        logs = _log_influence(sigma, scale, steps, float(part), eps)
        if np.isfinite(logs).any():
            roots = np.exp((logs - logs.max()) / 3.0)
            density += roots / roots.sum()
    gap = float(losses[1] - losses[0]) if count > 1 else GUESS_ERR * abs(float(losses[0]))
    radius = int(gap / (scale[1] - scale[0]))
    density = np.convolve(density, np.ones(2 * radius + 1), "same") + SMALLEST_TAIL
    density += EVEN_SHARE / (1.0 - EVEN_SHARE) * density.mean()
    places = np.append(0.0, np.cumsum(density))
    return np.unique(np.interp(np.linspace(0.0, places[-1], cells + 1), places, scale))


def _losses_that_matter(
    coarse: Decomposition, n: FloatArray, delta: float, end: float, count: int
) -> FloatArray:
    """Return ε up to `end` at which the divergence of an epoch matters, ascending, shape (count,).

    A negative ε stands for the reverse order. The single one is an estimate for δ of an epoch.
    Several epochs may need a loss that is rarer than that in one of them.
    """
    level = np.array([delta if count == 1 else RARE_SHARE * delta])
    last, first = (
        min(float(Direction(outer, n).guesses(level)[0]), end) for _, outer in coarse.directions
    )
    if count == 1:
        return np.array([last if last >= first else -first])
    return np.linspace(-first, last, count)


def _log_influence(
    sigma: float, scale: FloatArray, steps: int, part: float, eps: float
) -> FloatArray:
    """Return logs of the influence of cells on D(ε), up to a constant.

    With L = 1 − ρ + ρ A/B for a part ρ of an epoch, a cell of width w moves D(ε) by about
    w² f(L) p(k − L)/8 for each unit of L. Here f is the density of L under B, p that of the sum of
    L in all other steps, and k = t e^ε. So the best widths are in proportion to the inverse of the
    cube root. A negative ε stands for the reverse order. The estimate of p is made on a lattice.
    All logs are −inf if it fails.
    """
    middle = 0.5 * (scale[1:] + scale[:-1])
    ratio = 1.0 - part + part * np.exp(middle)
    z, k = middle * sigma + 0.5 / sigma, steps * math.exp(eps)
    step = 1.1 * k / LATTICE_SIZE
    masses = np.exp(-0.5 * z * z)
    inside = ratio < 1.1 * k - 2.0 * step
    law = _lattice_law(ratio[inside] / step, masses[inside] / masses.sum())
    lattice = np.arange(LATTICE_SIZE) / LATTICE_SIZE
    theta = _tilt(law, lattice, 1.0 / (1.1 * steps))
    shift = 1.0 if theta > 0.0 else 0.0
    tilted = law * np.exp(theta * (lattice - shift))
    total = float(tilted.sum())
    if not total > 0.0:
        return np.full(middle.shape, -np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        # Negative masses may make a power infinite.
        power = np.fft.rfft(tilted / total, 2 * LATTICE_SIZE) ** (steps - 1)
        others = np.maximum(np.fft.irfft(power, 2 * LATTICE_SIZE)[:LATTICE_SIZE], 0.0)
    if not np.isfinite(others).all():
        return np.full(middle.shape, -np.inf)
    rest = np.floor((k - ratio) / step)
    density = np.where(rest >= 0.0, others[np.maximum(rest, 0.0).astype(np.int64)], 0.0)
    with np.errstate(divide="ignore"):
        logs = np.log(density / step) + 2.0 * middle - 0.5 * z * z
    logs += (steps - 1) * (math.log(total) + theta * shift)
    # The factor e^{2v} stands for the cube of the width of a cell of the scale.
    return np.asarray(logs - theta * np.maximum(k - ratio, 0.0) / (1.1 * k))


def _lattice_law(places: FloatArray, masses: FloatArray) -> FloatArray:
    """Return masses on a lattice with the same mean and variance; some are negative."""
    index = np.maximum(np.rint(places).astype(np.int64), 1)
    f = places - index
    weights = (0.5 * f * (f - 1.0), 1.0 - f * f, 0.5 * f * (f + 1.0))
    law = sum(
        np.bincount(index + shift, masses * weight, LATTICE_SIZE)
        for shift, weight in zip((-1, 0, 1), weights, strict=True)
    )
    return np.asarray(law)


def _tilt(law: FloatArray, lattice: FloatArray, mean: float) -> float:
    """Return a tilt at which a law has about this mean, if there is one."""
    low, high = LOWEST_TILT, LARGEST_TILT
    for _ in range(TILT_STEPS):
        theta = 0.5 * (low + high)
        weights = law * np.exp(theta * (lattice - (theta > 0.0)))
        is_low = float(weights @ lattice) < mean * float(weights.sum())
        low, high = (theta, high) if is_low else (low, theta)
    return theta
