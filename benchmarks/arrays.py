"""What a curve costs: one call with an array of n against a loop of single calls.

Both run in turn, in one thread; times are medians of CPU time, and the ratio is what to look at.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

os.environ["OMP_NUM_THREADS"] = "1"  # NumPy reads it once, when it is imported.

import numpy as np

import shufflebounds as sb

DELTA = 1e-6
MECHANISMS: dict[str, Callable[[float], sb.Decomposition]] = {
    "10-RR": lambda eps0: sb.KRR(k=10, eps0=eps0).blanket(),
    "10-RR, pair": lambda eps0: sb.KRR(k=10, eps0=eps0).dataset_pair(),
    "10-RR, 4-joint": lambda eps0: sb.Joint([sb.KRR(k=10, eps0=eps0 / 4)] * 4).blanket(),
    "BLH": lambda eps0: sb.BLH(eps0).blanket(),
    "RAPPOR, pair": lambda eps0: sb.RAPPOR(eps0).dataset_pair(),
    "Laplace": lambda eps0: sb.Laplace(eps0).blanket(),
    "Laplace, pair": lambda eps0: sb.Laplace(eps0).dataset_pair(),
    "clone": sb.standard_clone,
}


@dataclass(frozen=True)
class Row:
    """Seconds for all points of one curve; `apart` counts points where the two do not overlap."""

    mechanism: str
    eps0: float
    loop: float
    array: float
    widest: float
    apart: int

    @property
    def ratio(self) -> float:
        return self.loop / self.array


def measure(
    mechanisms: Sequence[str], eps0s: Sequence[float], users: Sequence[int], rounds: int
) -> list[Row]:
    """One row a curve; the median of `rounds` runs of both."""
    rows = []
    for name in mechanisms:
        for eps0 in eps0s:
            decomposition = MECHANISMS[name](eps0)
            sb.epsilon(decomposition, users[0], DELTA)  # What it computes once is not timed.
            loops, arrays = [], []
            for _ in range(rounds):
                start = time.process_time()
                single = [sb.epsilon(decomposition, n, DELTA) for n in users]
                middle = time.process_time()
                curve = sb.epsilon(decomposition, users, DELTA)
                arrays.append(time.process_time() - middle)
                loops.append(middle - start)
            apart = sum(
                x.upper < y.lower or y.upper < x.lower for x, y in zip(single, curve, strict=True)
            )
            times = statistics.median(loops), statistics.median(arrays)
            rows.append(Row(name, eps0, *times, float(curve.relative_width.max()), apart))
    return rows


def report(rows: Sequence[Row], points: int) -> str:
    """Ratios, and milliseconds."""
    lines = [f"{points} points of a curve at δ = {DELTA:g}: a loop of single calls, and one call"]
    lines += [
        f"{row.mechanism:15} ε₀ = {row.eps0:<4g} {1e3 * row.loop:8.1f} ms "
        f"{1e3 * row.array:8.1f} ms {row.ratio:6.1f} times, "
        f"relative width {row.widest:.1e}, {row.apart} apart"
        for row in rows
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--points", type=int, default=100, help="of each curve")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each, for the median")
    options = parser.parse_args(arguments)
    users = [round(n) for n in np.geomspace(1000, 100_000, options.points)]
    print(report(measure(list(MECHANISMS), (0.5, 4.0), users, options.rounds), options.points))


if __name__ == "__main__":
    main()
