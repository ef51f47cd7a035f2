"""The questions of a deployer, sampled: how fast, how narrow and how often not at all.

Every point asks `sb.epsilon` one question: mechanism, upper or lower bound, ε₀ per report, reports
sent together, rate of participation, users and δ are drawn independently. Prints quantiles of CPU
time, the share of answers of relative width 10⁻⁴ and less, failures (PrecisionError), the largest
memory in use, and the slowest and the failed points. Points whose composition is too large for
memory or floats are no legal questions; they are drawn again.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

os.environ["OMP_NUM_THREADS"] = "1"  # NumPy reads it once, when it is imported.

import numpy as np

import shufflebounds as sb

MECHANISMS: dict[str, Callable[[float], sb.Randomizer]] = {
    "2-RR": lambda eps0: sb.KRR(k=2, eps0=eps0),
    "10-RR": lambda eps0: sb.KRR(k=10, eps0=eps0),
    "256-RR": lambda eps0: sb.KRR(k=256, eps0=eps0),
    "BLH": sb.BLH,
    "RAPPOR": sb.RAPPOR,
    "OUE": sb.OUE,
    "Hadamard response": sb.HadamardResponse,
    "Laplace": sb.Laplace,
}
EPS0S = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
REPORTS = (1, 2, 4, 8, 16)
RATES = (1.0, 1e-2, 1e-4)
USERS = tuple(10**k for k in range(2, 10))
DELTAS = (1e-5, 1e-6, 1e-8, 1e-10, 1e-12)
WIDTH = 1e-4


@dataclass(frozen=True)
class Point:
    """One question. ``side`` is ``blanket`` or ``pair``, ``reports`` are sent together."""

    mechanism: str
    side: str
    eps0: float
    reports: int
    rate: float
    users: int
    delta: float


@dataclass(frozen=True)
class Answer:
    """What became of a question: CPU seconds, relative width, and whether it was refused."""

    point: Point
    seconds: float
    width: float
    failed: bool


def points(seed: int) -> Iterator[Point]:
    """Points of the grid, each coordinate drawn independently and uniformly."""
    draw = random.Random(seed).choice
    while True:
        yield Point(
            draw(tuple(MECHANISMS)),
            draw(("blanket", "pair")),
            draw(EPS0S),
            draw(REPORTS),
            draw(RATES),
            draw(USERS),
            draw(DELTAS),
        )


@functools.lru_cache(maxsize=16)
def decomposition(
    mechanism: str, side: str, eps0: float, reports: int, rate: float
) -> sb.Decomposition | None:
    """What a point's question is about; None where it is too large."""
    try:
        one = MECHANISMS[mechanism](eps0)
        randomizer = one if reports == 1 else sb.Joint([one] * reports)
        found = randomizer.blanket() if side == "blanket" else randomizer.dataset_pair()
        return found if rate == 1.0 else sb.subsample(found, rate)
    except ValueError:
        return None


def answer(point: Point) -> Answer | None:
    """Ask one question; None where the point is no legal one. Building is not timed."""
    law = decomposition(point.mechanism, point.side, point.eps0, point.reports, point.rate)
    if law is None:
        return None
    law.directions  # noqa: B018 - computed once and kept
    start = time.process_time()
    failed = False
    try:
        found = sb.epsilon(law, n=point.users, delta=point.delta)
    except sb.PrecisionError as error:
        found, failed = error.enclosure, True
    return Answer(point, time.process_time() - start, found.relative_width, failed)


def report(answers: list[Answer], worst: int) -> str:
    """Quantiles and shares, then the points that took longest and those that failed."""
    ms = 1e3 * np.array([one.seconds for one in answers])
    width = np.array([one.width for one in answers])
    failures = [one for one in answers if one.failed]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = [
        f"{len(answers)} points: median {np.median(ms):.2f} ms, p90 {np.quantile(ms, 0.9):.1f} ms, "
        f"p99 {np.quantile(ms, 0.99):.1f} ms, max {ms.max():.0f} ms, total {ms.sum() / 1e3:.1f} s",
        f"width <= {WIDTH:g}: {np.mean(width <= WIDTH):.2%}; failures: {len(failures)} "
        f"({len(failures) / len(answers):.2%}); peak memory {peak:.0f} MB",
    ]
    slowest = sorted(answers, key=lambda one: -one.seconds)[:worst]
    lines += [f"slow   {1e3 * one.seconds:8.1f} ms  {_told(one)}" for one in slowest]
    lines += [f"failed {1e3 * one.seconds:8.1f} ms  {_told(one)}" for one in failures[:worst]]
    return "\n".join(lines)


def _told(one: Answer) -> str:
    return f"width {one.width:.1e}  {one.point}"


def main() -> None:
    """Sample the grid and print the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=1000, help="number of legal points")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--worst", type=int, default=10, help="how many of the worst to list")
    parser.add_argument("--joints-only", action="store_true", help="two reports or more")
    parser.add_argument("--without", nargs="*", default=[], help="mechanisms to leave out")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after so much CPU time")
    arguments = parser.parse_args()
    sb.epsilon(sb.KRR(k=2, eps0=1.0).blanket(), n=10, delta=0.1)  # loads what is loaded on demand
    answers: list[Answer] = []
    for point in points(arguments.seed):
        if len(answers) >= arguments.sample or time.process_time() > arguments.seconds:
            break
        if point.mechanism in arguments.without or (arguments.joints_only and point.reports == 1):
            continue
        found = answer(point)
        if found is not None:
            answers.append(found)
    print(report(answers, arguments.worst))


if __name__ == "__main__":
    main()
