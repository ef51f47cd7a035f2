import math

import numpy as np
import pytest
from drawn_data import laplace, step_function

from reproduction.papers.su2026.amplification_law import law_sheet
from shufflebounds.curves.plotting import figures


def figure(frame):
    return figures.figure(law_sheet(frame, "A law"))


def laplace_cdf(t):
    """Appendix B of the paper, for ε₀ = 1 and ε = 0.1."""
    gamma, e = math.exp(-0.5), math.exp(0.1)
    if t < gamma * (1.0 - math.e * e):
        return 0.0
    if t < gamma * (1.0 - e):
        return 0.5 * math.sqrt(e / (1.0 - t / gamma))
    if t < gamma * (math.e - e):
        return 1.0 - 0.5 / math.sqrt(t / gamma + e)
    return 1.0


def vertices(frame):
    """The corners of the line that is drawn."""
    (drawn,) = figure(frame).axes[0].get_lines()
    return drawn.get_path().vertices


def test_a_distribution_function_is_drawn_as_steps():
    frame = step_function([-1.0, 0.5, 3.0], [0.25, 0.5, 1.0])
    np.testing.assert_array_equal(
        vertices(frame)[1:-1],
        [[-1, 0], [-1, 0.25], [0.5, 0.25], [0.5, 0.5], [3, 0.5], [3, 1]],
    )
    np.testing.assert_array_equal(vertices(frame.sample(frac=1.0, random_state=3)), vertices(frame))


def test_beyond_the_steps_it_is_seen_to_be_0_and_1():
    for value in ([-1.0, 0.5, 3.0], [2.0, 2.0, 2.0]):
        frame = step_function(value, [0.25, 0.5, 1.0])
        ax = figure(frame).axes[0]
        (left, zero), *_, (right, one) = vertices(frame)
        assert (zero, one) == (0.0, 1.0)
        assert left < value[0] - 0.01
        assert right > value[-1] + 0.01
        low, high = ax.get_ylim()
        assert -0.1 < low < 0.0
        assert 1.0 < high < 1.1


def test_the_laplace_distribution_is_drawn_with_its_atoms():
    corners = vertices(laplace())
    ends = np.array([corners[0, 0] + 1e-9, corners[-1, 0] - 1e-9])
    for t in [*ends, *np.linspace(-1.2, 0.95, 100)]:
        height = corners[corners[:, 0] <= t][-1, 1]
        assert height == pytest.approx(laplace_cdf(t), abs=1e-3)
    # Upright stretches are as high as the atoms are heavy, e^{−1/2}/2.
    for place in (
        math.exp(-0.5) * (1.0 - math.exp(1.1)),
        math.exp(-0.5) * (math.e - math.exp(0.1)),
    ):
        heights = corners[abs(corners[:, 0] - place) < 1e-12, 1]
        assert np.ptp(heights) == pytest.approx(0.5 * math.exp(-0.5), abs=1e-3)
