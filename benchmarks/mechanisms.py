"""What ε of mechanisms costs: of all datasets, in one round and several, and in Rényi.

Prints one line a case: both ends, the upper over the lower one, and CPU seconds of a first answer,
in one thread.
"""

from __future__ import annotations

import os
import time

os.environ["OMP_NUM_THREADS"] = "1"  # NumPy reads it once, when it is imported.

import numpy as np

import shufflebounds as sb

DIFFERENT = [(2, 0.5), (5, 0.5), (10, 0.4), (16, 0.6), (3, 0.3), (7, 0.7), (20, 0.45), (32, 0.8)]
MATRIX = sb.MatrixRandomizer(np.random.default_rng(7).dirichlet(np.full(6, 4.0), size=6))

# Mechanism, n, δ, rounds.
CASES = [
    ("10-RR", sb.KRR(10, 4.0), 10**4, 1e-6, (1, 30, 365)),
    ("BLH", sb.BLH(4.0), 10**4, 1e-6, (1, 30)),
    ("RAPPOR", sb.RAPPOR(2.0), 10**4, 1e-6, (1, 30)),
    ("Laplace", sb.Laplace(2.0), 10**4, 1e-6, (1, 30)),
    ("Laplace, [0, 1]", sb.Laplace(4.0, domain="interval"), 10**4, 1e-6, (1,)),
    ("Laplace, two of it", sb.MetricLaplace(4.0, 0.2, 0.7), 10**4, 1e-6, (1, 30)),
    ("matrix 6 x 6", MATRIX, 10**4, 1e-6, (1, 30)),
    ("10-RR, one in 100", sb.Subsampled(sb.KRR(10, 4.0), 0.01), 10**5, 1e-6, (1, 100)),
    ("4 x RAPPOR", sb.Joint([sb.RAPPOR(1.0)] * 4), 10**4, 1e-6, (1, 30)),
    ("8 x Laplace", sb.Joint([sb.Laplace(0.5)] * 8), 10**4, 1e-6, (1, 30)),
    ("8 x 256-RR", sb.Joint([sb.KRR(256, 2.0)] * 8), 2 * 10**6, 1e-8, (1, 30, 365)),
    ("8 different", sb.Joint([sb.KRR(*one) for one in DIFFERENT]), 10**4, 1e-6, (1, 365)),
]


def main() -> None:
    """Print the table."""
    print(f"{'what':18} {'n':>8} {'delta':>7} {'rounds':>7}  epsilon")
    for name, randomizer, n, delta, many in CASES:
        for rounds in many:
            start = time.process_time()
            try:
                found = sb.epsilon(randomizer, n, delta, rounds=rounds)
            except sb.PrecisionError as shortfall:
                found = shortfall.enclosure
            _line(f"{name:18} {n:8.0e} {delta:7.0e} {rounds:7d}", found, start)
    for name, randomizer, n, delta, _ in CASES[:4]:
        start = time.process_time()
        found = sb.renyi(randomizer, n, 16.0)
        _line(f"{name:18} {n:8.0e} {delta:7.0e}   Rényi", found, start)


def _line(what: str, found: sb.Enclosure, start: float) -> None:
    seconds = time.process_time() - start
    ratio = found.upper / found.lower if found.lower > 0.0 else float("inf")
    print(
        f"{what}  [{found.lower:.6g}, {found.upper:.6g}] {ratio:.4f}  {seconds:.2f} s", flush=True
    )


if __name__ == "__main__":
    main()
