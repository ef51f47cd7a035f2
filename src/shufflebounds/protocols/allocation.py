"""Random allocation: every example takes part in one random step of every epoch of training.

An epoch of t steps is the decomposition (A, B, B) with n = t (docs/proofs/random-allocation.md).
Where the cells of its ends lie affects the width of answers only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.core.relation import Relation
from shufflebounds.profiles.direction import Direction
from shufflebounds.randomizers.gaussian_cells import gaussian_pair, loss_beyond
from shufflebounds.subjects.base import ANY_AIM, DEFAULT_CELLS, Aim, GivenSource, Shuffle, Subject

# Smallest noise multiplier that tests cover.
MIN_NOISE = 0.2
# Largest noise multiplier that tests cover.
MAX_NOISE = 1000.0
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
class RandomAllocation(Subject):
    """Noisy steps of training of which every example joins one in each epoch, chosen at random.

    This is DP-SGD with the sampling that is also called balls and bins. A step adds N(0, σ²) to a
    sum of gradients that are clipped to norm 1 (or C, with noise σC). In every epoch, each example
    is put into one of the t steps, uniformly and independently of all others, and takes part in no
    other step. Its step is redrawn in every epoch. If it keeps its step over E epochs, as in
    ``BallsInBinsSampling`` of JAX Privacy, ask about one epoch with noise multiplier σ/√E instead.
    Fixed-size batches of a shuffled dataset are another mechanism (docs/random-allocation.md).

    Neighbouring datasets differ by adding or removing one example. The ε of a replacement is
    larger. So epochs cannot be composed with reports, whose users are replaced.

    `epsilon`, `delta`, `advantage`, `profile` and `compose` take it in place of a randomizer. Then
    ``n`` is the number t of steps of an epoch, and ``rounds`` is the number of epochs.

    Parameters
    ----------
    noise_multiplier
        σ, 0.2 to 1000.

    Raises
    ------
    ValueError
        For a noise multiplier out of this range.

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

    noise_multiplier: float
    eps0: ClassVar[None] = None  # type: ignore[misc]
    # Its name on the command line.
    NAME: ClassVar[str] = "random_allocation"
    relation: ClassVar[Relation] = Relation.ADD_OR_REMOVE

    def __post_init__(self) -> None:
        sigma = validation.finite("noise_multiplier", self.noise_multiplier)
        if not MIN_NOISE <= sigma <= MAX_NOISE:
            raise ValueError(
                f"noise_multiplier must be a number from {MIN_NOISE:g} to {MAX_NOISE:g}, "
                f"got {self.noise_multiplier!r}"
            )
        object.__setattr__(self, "noise_multiplier", sigma)

    @property
    def is_made_for_delta(self) -> bool:
        """The ends of its decomposition are made for one δ."""
        return True

    def most_cells(self, rounds: int) -> int:
        """Return the most cells that an answer about so many epochs may need."""
        return MAX_CELLS if rounds == 1 else MAX_CELLS_OF_EPOCHS

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """Return an epoch of n steps, which has one order of the two datasets."""
        made = self.decomposition(n, aim.delta, epochs=aim.rounds, cells=aim.cells)
        return [Shuffle(GivenSource({"": made}), n, is_ordered=True)]

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
            (A, B, B), of which ``n`` is the number of steps, with ``inner`` and ``outer``.

        Examples
        --------
        >>> U = sb.RandomAllocation(1.0).decomposition(steps=10, delta=1e-5)
        >>> f"{sb.epsilon(U, n=10, delta=1e-5).upper:.2f}"
        '2.19'
        """
        share = validation.delta(delta) / validation.rounds(epochs, "epochs")
        validation.whole("cells", cells, minimum=20, maximum=MAX_CELLS)
        n = np.array([float(validation.users(steps, "steps"))])
        sigma = self.noise_multiplier
        tail = max(TAIL_SHARE * share, SMALLEST_TAIL)
        last = loss_beyond(sigma, tail)
        # A normal variable is z standard deviations below its mean with at most e^{−z²/2}.
        first = -0.5 / sigma**2 - math.sqrt(-2.0 * math.log(LOW_TAIL_SHARE * tail)) / sigma
        scale = np.linspace(first, last, SCALE_CELLS + 1)
        coarse = gaussian_pair(sigma, np.linspace(scale[0], last, COARSE_CELLS + 1), self.relation)
        losses = _losses_that_matter(coarse, n, share, last, LOSSES if epochs > 1 else 1)
        density = np.zeros(SCALE_CELLS)
        for eps in losses.tolist():
            logs = _log_influence(sigma, scale, steps, eps)
            if np.isfinite(logs).any():
                roots = np.exp((logs - logs.max()) / 3.0)
                density += roots / roots.sum()
        gap = float(losses[1] - losses[0]) if epochs > 1 else GUESS_ERR * abs(float(losses[0]))
        radius = int(gap / (scale[1] - scale[0]))
        density = np.convolve(density, np.ones(2 * radius + 1), "same") + SMALLEST_TAIL
        density += EVEN_SHARE / (1.0 - EVEN_SHARE) * density.mean()
        places = np.append(0.0, np.cumsum(density))
        nodes = np.interp(np.linspace(0.0, places[-1], cells + 1), places, scale)
        return gaussian_pair(sigma, np.unique(nodes), self.relation)


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


def _log_influence(sigma: float, scale: FloatArray, steps: int, eps: float) -> FloatArray:
    """Return logs of the influence of cells on D(ε), up to a constant.

    With L = A/B, a cell of width w moves D(ε) by about w² f(L) p(k − L)/8 for each unit of L. Here
    f is the density of L under B, p that of the sum of L in all other steps, and k = t e^ε. So the
    best widths are in proportion to the inverse of the cube root. A negative ε stands for the
    reverse order. The estimate of p is made on a lattice. All logs are −inf if it fails.
    """
    middle = 0.5 * (scale[1:] + scale[:-1])
    ratio, z, k = np.exp(middle), middle * sigma + 0.5 / sigma, steps * math.exp(eps)
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
    # The factor L² stands for the cube of the width of a cell of the scale.
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
