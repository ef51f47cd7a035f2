"""One ε of the general pair: this package beside the algorithm of Wang et al. (PVLDB 2024).

Prints one line for every ε₀ and n: both ends of the certified ε and its CPU seconds, what 20
bisections leave and their CPU seconds, and, where n is small enough, those of a sum over all counts
of clones. All in one run and one thread: seconds depend on the machine, their ratios hardly.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

os.environ["OMP_NUM_THREADS"] = "1"  # NumPy reads it once, when it is imported.

import shufflebounds as sb
from shufflebounds.reproduce.papers.wang2024 import general_pair

ITERATIONS = 20
SMALL = 10**4
RTOL = 1e-5  # about what 20 bisections leave of ε where it is large

T = TypeVar("T")


def main() -> None:
    """Print the table."""
    print(f"{'eps0':>4} {'n':>6}  {'certified epsilon':24} {'ms':>5}  {'bisection':>10} {'ms':>7}")
    for eps0 in (1.0, 3.0, 5.0, 7.0):
        p, beta = math.exp(eps0), math.tanh(eps0 / 2.0)
        pair = sb.stronger_clone(eps0)
        for n in (10**4, 10**6, 10**8):
            target = 0.01 / n
            ours, ms = timed(partial(sb.epsilon, pair, n=n, delta=target, rtol=RTOL))
            bisected = partial(general_pair.epsilon, p, beta, p, n, target, ITERATIONS)
            theirs, their_ms = timed(bisected)
            line = (
                f"{eps0:4g} {n:6.0e}  [{ours.lower:.8f}, {ours.upper:.8f}] {ms:5.1f}  "
                f"{theirs:10.8f} {their_ms:7.1f}"
            )
            if n <= SMALL:
                full, full_ms = timed(partial(bisected, everything=True))
                line += f"  all counts: {full:.8f} {full_ms:.0f} ms"
            print(line, flush=True)


def timed(function: Callable[[], T]) -> tuple[T, float]:
    """What it returns, and how many milliseconds that took."""
    start = time.process_time()
    found = function()
    return found, 1e3 * (time.process_time() - start)


if __name__ == "__main__":
    main()
