"""Training by three kinds of sampling: Poisson sampling against another program, and the figure."""

import math

import mpmath as mp
import numpy as np
import pandas as pd
import pytest

import shufflebounds as sb
from reproduction.papers.allocation import Allocations, BatchSchemes, tables


def gaussian_delta(sigma, eps):
    """Return δ(ε) of the Gaussian mechanism of sensitivity 1 (Balle and Wang 2018)."""
    with mp.workdps(40):
        tau, eps = 1 / mp.mpf(sigma), mp.mpf(eps)
        return mp.ncdf(tau / 2 - eps / tau) - mp.exp(eps) * mp.ncdf(-tau / 2 - eps / tau)


@pytest.mark.parametrize(
    ("sigma", "steps", "epochs"), [(1.0, 20, 1), (0.7, 10, 3), (1.4, 1000, 1), (1.0, 10_000, 1)]
)
def test_poisson_sampling_agrees_with_dp_accounting(sigma, steps, epochs):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    ends = [
        pld.from_gaussian_mechanism(
            sigma,
            pessimistic_estimate=is_upper,
            value_discretization_interval=1e-3 if steps < 1000 else 1e-4,
            sampling_prob=1.0 / steps,
        )
        .self_compose(steps * epochs)
        .get_epsilon_for_delta(1e-5)
        for is_upper in (False, True)
    ]
    sampling = sb.PoissonSampling(sigma, 1.0 / steps)
    eps = sb.epsilon(sampling, steps, 1e-5, rounds=epochs, rtol=0.01)
    assert eps.lower <= ends[1]
    assert eps.upper >= ends[0]
    assert eps.relative_width <= 0.01


def test_a_row_has_the_answers_of_the_library():
    parameters = {"noise_multiplier": [2.0], "steps": [10], "epochs": [1], "delta": 1e-5}
    [row] = tables.allocations_table(Allocations.model_validate(parameters)).to_dict("records")
    eps = sb.epsilon(sb.RandomAllocation(2.0), n=10, delta=1e-5)
    assert (row["lower"], row["upper"]) == (eps.lower, eps.upper)
    assert gaussian_delta(2.0, row["known"]) <= 1e-5
    assert math.isclose(gaussian_delta(2.0, row["known"]), 1e-5, rel_tol=1e-6)
    assert row["upper"] < row["poisson_lower"] < row["poisson_upper"] < row["known"]


def test_a_row_of_schemes_has_the_answers_of_the_library():
    parameters = {"noise_multiplier": [2.0], "steps": 10, "neighbours": ["replace"], "delta": 1e-3}
    [row] = tables.schemes_table(BatchSchemes.model_validate(parameters)).to_dict("records")
    subjects = {
        "shuffled": sb.ShuffledBatches(2.0),
        "poisson": sb.PoissonSampling(2.0, 0.1, neighbours="replace"),
        "allocation": sb.RandomAllocation(2.0, neighbours="replace"),
    }
    for name, subject in subjects.items():
        eps = sb.epsilon(subject, n=10, delta=1e-3)
        assert (row[f"{name}_lower"], row[f"{name}_upper"]) == (eps.lower, eps.upper)
    # Shift 2 is one Gaussian mechanism with half the noise.
    assert math.isclose(gaussian_delta(1.0, row["shuffled_upper"]), 1e-3, rel_tol=1e-3)


def test_the_figure_of_schemes_shades_what_is_proven_of_shuffled_batches():
    columns = {"lower": 1.0, "upper": 1.1}
    frame = pd.DataFrame(
        [
            {"neighbours": neighbours, "noise_multiplier": sigma, "steps": 100, "delta": 1e-5}
            | {
                f"{name}_{end}": eps * factor / sigma
                for factor, name in ((1, "allocation"), (2, "poisson"), (9, "shuffled"))
                for end, eps in columns.items()
            }
            for neighbours in ("zero-out", "replace")
            for sigma in (1.0, 2.0)
        ]
    )
    sheet = tables.schemes_sheet(frame, "title")
    [first], [second] = sheet.rows
    assert [view.title[0] for view in (first, second)] == [
        "one example's gradients set to 0",
        "one example replaced",
    ]
    (_, shuffled), (_, poisson) = first.lines[0], first.lines[2]
    assert np.allclose([shuffled.y, shuffled.opposite], [[9.9, 4.95], [9.0, 4.5]])
    assert first.wide_ends(shuffled)
    assert first.wide_ends(poisson) is None
    assert "from | Poisson sampling, to" in tables.schemes_page(frame).markdown()


def test_the_figure_has_panels_of_epochs_and_their_ratios():
    columns = {"lower": 1.0, "upper": 1.1, "poisson_lower": 1.5, "poisson_upper": 1.6, "known": 9.0}
    frame = pd.DataFrame(
        [
            {"noise_multiplier": sigma, "steps": 100, "epochs": epochs, "delta": 1e-6}
            | {name: eps * epochs / sigma for name, eps in columns.items()}
            for sigma in (1.0, 2.0)
            for epochs in (1, 10)
        ]
    )
    sheet = tables.allocations_sheet(frame, "title")
    assert sheet.x == "σ"
    (first, second), (ratio, _) = sheet.rows
    assert [view.title[0] for view in (first, second)] == ["1 epoch", "10 epochs"]
    assert [line.label for line, _ in first.lines][-1] == "random allocation, lower bound"
    # Poisson sampling is shaded between its bounds.
    (_, above), (_, below) = second.lines[1], ratio.lines[0]
    assert np.allclose([above.y, above.opposite], [[16.0, 8.0], [15.0, 7.5]])
    assert np.allclose([below.y, below.opposite], [[1.6, 1.6], [1.5, 1.5]])
    assert second.wide_ends(above)
    assert sheet.common == ["$t$ = 100 steps", "δ = $10^{-6}$"]
    by_steps = frame.assign(noise_multiplier=1.0, steps=[10, 10, 100, 100])
    assert tables.allocations_sheet(by_steps, "title").x == "t"
