"""What composed rounds cost: the whole answer, and again once the profile is known.

Prints one line a case: both ends of ε, their relative width, and CPU seconds of a first answer and
of the next (the median of some), in one thread.
"""

from __future__ import annotations

import os
import statistics
import time

os.environ["OMP_NUM_THREADS"] = "1"  # NumPy reads it once, when it is imported.

import shufflebounds as sb
from shufflebounds.questions.composed import Composed, compose

REPEATS = 5

# Eight attributes of one report: losses that are rare in one round decide.
LINKED = sb.Joint([sb.KRR(k=256, eps0=2.0)] * 8).dataset_pair()

CASES = [
    ("256-RR", sb.KRR(k=256, eps0=2.0).blanket(), 2 * 10**6, 1e-8, (2, 30, 365, 10**5, 10**6)),
    ("256-RR", sb.KRR(k=256, eps0=2.0).blanket(), 2 * 10**6, 1e-100, (30, 10**6)),
    ("10-RR", sb.KRR(k=10, eps0=4.0).blanket(), 10**12, 1e-8, (30, 10**6)),
    ("10-RR", sb.KRR(k=10, eps0=4.0).blanket(), 10**4, 1e-6, (30, 10**6)),
    ("10-RR", sb.KRR(k=10, eps0=2.0).blanket(), 50, 1e-6, (30, 10**4)),
    ("8 x 256-RR, pair", LINKED, 2 * 10**6, 1e-8, (30, 365)),
    ("BLH", sb.BLH(4.0).blanket(), 10**5, 1e-6, (30,)),
    ("RAPPOR", sb.RAPPOR(4.0).blanket(), 10**5, 1e-6, (30,)),
    ("OUE", sb.OUE(4.0).blanket(), 10**5, 1e-6, (30,)),
    ("Hadamard response", sb.HadamardResponse(4.0).blanket(), 10**5, 1e-6, (30,)),
    ("clone", sb.standard_clone(4.0), 10**5, 1e-6, (30,)),
    ("Laplace", sb.Laplace(1.0).blanket(), 10**5, 1e-6, (30,)),
]


def main() -> None:
    """Print the table."""
    print(f"{'what':18} {'n':>8} {'delta':>7} {'rounds':>7} {'rtol':>6}  epsilon")
    for name, decomposition, n, delta, many in CASES:
        for rtol in (1e-3, 1e-4) if name == "256-RR" else (1e-3,):
            for times in many:
                composed = compose([(decomposition, n, times)])
                seconds = []
                for _ in range(1 + REPEATS):
                    start = time.process_time()
                    found = _epsilon(composed, delta, rtol)
                    seconds.append(time.process_time() - start)
                print(
                    f"{name:18} {n:8.0e} {delta:7.0e} {times:7d} {rtol:6.0e}  "
                    f"[{found.lower:.6g}, {found.upper:.6g}] width {found.relative_width:.1e}  "
                    f"{seconds[0]:.2f} s, then {1e3 * statistics.median(seconds[1:]):.0f} ms",
                    flush=True,
                )


def _epsilon(composed: Composed, delta: float, rtol: float) -> sb.Enclosure:
    try:
        return composed.epsilon(delta, rtol=rtol)
    except sb.PrecisionError as shortfall:
        return shortfall.enclosure


if __name__ == "__main__":
    main()
