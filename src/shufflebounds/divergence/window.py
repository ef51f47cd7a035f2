"""How much of the frequency axis the Fourier engine samples, and what the rest can amount to.

Notation as in `fourier`: X = S + (θ + κ/2)η² + ηZ − shift under the tilted law, g(x) = e^{−θx}f(x),
g^P its repetition with period P. Proofs: docs/proofs/engine.md, sections 2 to 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import U

# Share of the relative width that may be lost by each of: mass outside the window, modes beyond the
# last one, modes left out. Speed only (benchmarks/deployer_grid.py).
LOSS_SHARE = 0.04


# Largest κη of a window: the charge for smoothing grows like e^{κ²η²/8}.
LARGEST_SMOOTHING = 20.0


@dataclass(frozen=True)
class Kernel:
    """What is averaged over a sum S: f(S − ``shift``), f(x) = (1 − e^{−κx})₊/κ, and x₊ for κ = 0.

    The transform of f is 1/(z(z + κ)). A shuffle has κ = 0 and no shift, the δ of many rounds κ = 1
    and the shift ε.
    """

    kappa: float = 0.0
    shift: float = 0.0


# The kernel of a single shuffle.
SHUFFLE = Kernel()


@dataclass(frozen=True)
class Chernoff:
    """Pr[Y ≥ end] ≤ e^{log_moment − u·end} for Y = S or Y = −S and one u > 0."""

    u: float
    log_moment: float

    def shifted(self, shift: float, eta: float) -> Chernoff:
        """Return the bound for Y + shift + ηZ, Z an independent standard normal."""
        x, y = self.u * shift, 0.5 * (self.u * eta) ** 2
        return Chernoff(self.u, self.log_moment + x + y + 8.0 * U * (abs(x) + y))

    def reach(self, log_tail: float) -> float:
        """Return the end beyond which the probability is at most e^{log_tail}."""
        return (self.log_moment - log_tail) / self.u

    def tail(self, end: float, size: float = 0.0) -> float:
        """Bound the probability beyond `end`, which was rounded from numbers of that `size`."""
        rounding = 16.0 * U * (abs(self.log_moment) + self.u * (abs(end) + size))
        return math.exp(min(0.0, self.log_moment - self.u * end + rounding))

    @staticmethod
    def best(u: FloatArray, log_moment: FloatArray, log_tail: float) -> Chernoff | None:
        """Return the bound that reaches least far for e^{log_tail}; None if no bound holds."""
        usable = np.isfinite(log_moment) & (u > 0.0)
        if not usable.any():
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            reach = np.where(usable, (log_moment - log_tail) / u, np.inf)
        where = int(np.argmin(reach))
        return Chernoff(float(u[where]), float(log_moment[where]))


@dataclass(frozen=True)
class Window:
    """The grid of frequencies mh, 0 ≤ m ≤ modes, and what it costs to stop there.

    ``size`` is the estimate of E g(X) for which its losses are small: should E g(X) turn out to be
    much less, another window is needed. ``wrap`` bounds E[g^P(X) − g(X)]; ``cut_value``
    and ``cut_density`` the modes beyond the grid in the sums for E g and for the density at 0.
    ``negligible`` is a size of |φ_X| that matters to neither.
    """

    size: float
    eta: float
    step: float
    modes: int
    wrap: float
    cut_value: float
    cut_density: float
    negligible: float
    kernel: Kernel = SHUFFLE

    @staticmethod
    def fitted(
        theta: float,
        spread: float,
        eta: float,
        tails: tuple[Chernoff, Chernoff],
        rtol: float,
        size: float,
        kernel: Kernel = SHUFFLE,
    ) -> Window | None:
        """Return the window for a relative width of E g(X); None if it needs numbers out of range.

        `spread` is the tilted variance of S, `tails` are bounds of S and −S, and `size` estimates
        E g(X), if it is not 0.
        """
        if kernel.kappa * eta > LARGEST_SMOOTHING:
            return None
        # For a normal X it is about 1/(θ(θ + κ)σ√2π), and g is at most 1/(eθ) whatever X is.
        pole = theta + kernel.kappa
        normal_size = 1.0 / (2.5 * (theta * pole) * math.sqrt(spread + theta**-2.0))
        size = min(size, 1.0 / (math.e * theta)) or normal_size
        allowed = LOSS_SHARE * rtol * size
        log_tail = math.log(allowed * math.e * theta)
        drift = (theta + 0.5 * kernel.kappa) * eta**2
        above, below = (
            tail.shifted(side * drift, eta).shifted(-side * kernel.shift, 0.0)
            for side, tail in zip((1.0, -1.0), tails, strict=True)
        )
        if not all(side.u > 0.0 and math.isfinite(side.log_moment) for side in (above, below)):
            return None
        decay = 4.0 - math.log(allowed * theta)
        right_end = max(above.reach(log_tail), (decay + math.log(decay)) / theta)
        left_end = max(below.reach(log_tail), 0.0)
        # A step of few digits makes every frequency mh exact; rounding it down widens the window.
        step = round_down(2.0 * math.pi / (right_end + left_end))
        period = 2.0 * math.pi / step
        right_end = (period * (1.0 - 4.0 * U) - left_end) * (1.0 - 4.0 * U)
        if not theta * right_end > 1.0:  # nearly all of the window lies below 0
            return None
        outside = min(1.0, above.tail(right_end) + below.tail(left_end))
        wrap = _wrap(theta, period, right_end, outside)
        # E g loses less than the density does, whose share is η² of it.
        cut = math.sqrt(2.0 * max(1.0, math.log(eta / (3.0 * allowed))))
        # Fewer than 2³³ modes keep every mh exact.
        if not cut / step < 1e9 * eta:
            return None
        modes = max(1, math.ceil(cut / (eta * step)))
        last = modes * step
        beyond = math.exp(-0.5 * (eta * last) ** 2) / (math.pi * eta**2 * last) * (1.0 + 1e-9)
        negligible = allowed / (0.5 / math.sqrt(theta * pole) + eta * cut / math.pi)
        return Window(size, eta, step, modes, wrap, beyond / last**2, beyond, negligible, kernel)


def _wrap(theta: float, period: float, right_end: float, outside: float) -> float:
    """Bound E g^P(X) − E g(X) if X is in [right_end − period, right_end] but for `outside`.

    It needs 1/θ ≤ right_end ≤ period.
    """
    q = math.exp(-theta * period)
    copies = period * q / (1.0 - q) ** 2
    # g is at most x e^{−θx}, which falls beyond 1/θ, and right_end lies there.
    inside = math.exp(-theta * right_end) * (right_end / (1.0 - q) + copies)
    return (inside + outside * (1.0 / (math.e * theta) + copies)) * (1.0 + 1e-9)


def round_down(x: float) -> float:
    """Return the largest float of 20 significant bits that is not above x > 0."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(math.floor(mantissa * 2**20), exponent - 20)
