"""What training costs by three programs: both ends of ε, and CPU seconds, in one thread.

Beside shufflebounds stand dp_accounting, whose ends are its optimistic and pessimistic estimates,
and, if it is installed (``pip install PLD_accounting``), the program of Feldman and Shenfeld. Each
question is asked once, all programs in turn.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

os.environ["OMP_NUM_THREADS"] = "1"  # NumPy reads it once, when it is imported.

import dp_accounting
from dp_accounting.pld import privacy_loss_distribution as pld

import shufflebounds as sb
from shufflebounds.core.enclosure import reached

DELTA = 1e-6
# Width of the cells of dp_accounting: its default.
INTERVAL = 1e-4

Ends = tuple[float, float]


@dataclass(frozen=True)
class Case:
    """A question, and how each program answers it."""

    name: str
    programs: dict[str, Callable[[], Ends]]
    # CPU seconds that we aim at, if any.
    aim: float = math.inf


def ours(subject: object, n: int, rounds: int = 1, rtol: float | None = None) -> Ends:
    """Return ε of epochs of n steps."""
    eps = reached(partial(sb.epsilon, subject, n, DELTA, rounds=rounds, rtol=rtol))
    return eps.lower, eps.upper


def smallest_noise(epochs: int) -> Ends:
    """Return the noise multiplier for ε = 1 and epochs of 1000 steps."""
    noise = sb.smallest_noise_multiplier(1.0, DELTA, steps=1000, epochs=epochs)
    return noise.lower, noise.upper


def google_poisson(sigma: float, rate: float, steps: int, relation: str) -> Ends:
    """Return ε of Poisson sampling by dp_accounting, its optimistic and pessimistic estimates."""

    def estimate(*, is_upper: bool) -> float:
        step = pld.from_gaussian_mechanism(
            sigma,
            pessimistic_estimate=is_upper,
            value_discretization_interval=INTERVAL,
            sampling_prob=rate,
            neighboring_relation=getattr(pld.NeighborRel, relation),
        )
        return float(step.self_compose(steps).get_epsilon_for_delta(DELTA))

    return estimate(is_upper=False), estimate(is_upper=True)


def google_noise(steps: int, rate: float) -> Ends:
    """Return the noise for ε = 1 of Poisson sampling by dp_accounting, within its tolerance."""

    def event(noise: float) -> dp_accounting.DpEvent:
        step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
        return dp_accounting.SelfComposedDpEvent(step, steps)

    noise = dp_accounting.calibrate_dp_mechanism(
        dp_accounting.pld.PLDAccountant, event, 1.0, DELTA, tol=1e-3
    )
    return math.nan, noise


def feldman_shenfeld(sigma: float, steps: int, epochs: int) -> Ends:
    """Return ε of random allocation by PLD_accounting, both ends."""
    from PLD_accounting import gaussian_allocation_epsilon_range

    ends = gaussian_allocation_epsilon_range(
        delta=DELTA, sigma=sigma, num_steps=steps, num_epochs=epochs
    )
    upper, lower = (float(x) for x in ends[:2])
    return min(lower, upper), max(lower, upper)


def cases() -> list[Case]:
    """Return the questions."""
    return [
        *(
            Case(
                f"random allocation, {epochs} of {steps} steps, σ = {sigma:g}",
                {
                    "shufflebounds": partial(ours, sb.RandomAllocation(sigma), steps, epochs),
                    "PLD_accounting": partial(feldman_shenfeld, sigma, steps, epochs),
                },
                0.3 if epochs == 1 else 3.0,
            )
            for epochs, steps, sigma in ((1, 100, 1.0), (1, 1000, 1.0), (10, 1000, 1.0))
        ),
        Case(
            "random allocation, replace, 1000 steps, σ = 1",
            {"shufflebounds": partial(ours, sb.RandomAllocation(1.0, neighbours="replace"), 1000)},
            0.3,
        ),
        *(
            Case(
                f"Poisson, {relation}, rate 0.001, {steps} steps, σ = 1",
                {
                    "shufflebounds": partial(
                        ours, sb.PoissonSampling(1.0, 1e-3, neighbours=relation), steps
                    ),
                    "dp_accounting": partial(google_poisson, 1.0, 1e-3, steps, name),
                },
                2.0,
            )
            for relation, name in (
                ("add or remove", "ADD_OR_REMOVE_ONE"),
                ("replace", "REPLACE_ONE"),
            )
            for steps in (1000, 100_000)
        ),
        *(
            Case(
                f"shuffled batches, replace, {epochs} of 100 steps, σ = 1",
                {"shufflebounds": partial(ours, sb.ShuffledBatches(1.0), 100, epochs)},
            )
            for epochs in (1, 10)
        ),
        Case("noise for ε = 1, 10 epochs", {"shufflebounds": partial(smallest_noise, 10)}, 20.0),
        Case(
            "noise for ε = 1, Poisson, 10 000 steps",
            {"dp_accounting": partial(google_noise, 10_000, 1e-3)},
        ),
    ]


def main() -> None:
    """Print a line for each question and program."""
    ours(sb.RandomAllocation(2.0), 10)  # What is imported once is not timed.
    print(f"δ = {DELTA:g}; times over ours, and the aim")
    for case in cases():
        seconds = {}
        for program, answer in case.programs.items():
            if find_spec(program) is None:
                continue
            start = time.process_time()
            low, high = answer()
            seconds[program] = time.process_time() - start
            ratio = seconds[program] / seconds.get("shufflebounds", math.nan)
            width = (high - low) / low if low > 0.0 else math.inf
            missed = program == "shufflebounds" and seconds[program] > case.aim
            print(
                f"{case.name:52} {program:14} [{low:.5f}, {high:.5f}] {1e2 * width:6.2f} % "
                f"{seconds[program]:7.2f} s {ratio:6.1f}"
                + (f"  above the aim of {case.aim:g} s" if missed else ""),
                flush=True,
            )


if __name__ == "__main__":
    main()
