"""How many certified ε a second, per mechanism, and how that compares with the FFT engine.

Ratios are the point: both engines run here, side by side, on the same machine and the same
decomposition. Seconds depend on the machine.
"""

import statistics
import time

import shufflebounds as sb

DELTA = 1e-6
USERS = (1_000, 10_000, 100_000)
REPEATS = 7


def mechanisms(eps0: float) -> dict[str, sb.Decomposition]:
    """Blankets of the mechanisms of Figures 2 and 3 and of Hadamard response."""
    quarter = sb.KRR(k=10, eps0=eps0 / 4).blanket()
    half = quarter.joint(quarter)
    return {
        "10-RR": sb.KRR(k=10, eps0=eps0).blanket(),
        "10-RR, 4-joint": half.joint(half),
        "BLH": sb.BLH(eps0).blanket(),
        "RAPPOR": sb.RAPPOR(eps0).blanket(),
        "OUE": sb.OUE(eps0).blanket(),
        "Hadamard response": sb.HadamardResponse(eps0).blanket(),
        "Laplace": sb.Laplace(eps0).blanket(),
        "clone": sb.standard_clone(eps0),
    }


def seconds(decomposition: sb.Decomposition, n: int, engine: str, repeats: int) -> float:
    """Median time of one ε."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        sb.epsilon(decomposition, n, DELTA, engine=engine)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print the two tables."""
    print(f"evaluations of epsilon per second, delta = {DELTA:g}, relative width 1e-4")
    print(f"{'':20}{'eps0':>6}" + "".join(f"{f'n = {n:,}':>14}" for n in USERS))
    for eps0 in (0.1, 4.0):
        for name, blanket in mechanisms(eps0).items():
            rates = [1.0 / seconds(blanket, n, "saddle", REPEATS) for n in USERS]
            print(f"{name:20}{eps0:6g}" + "".join(f"{rate:14.0f}" for rate in rates))

    print("\n10-RR: time of the FFT engine (the paper's Algorithm 7) over that of the default one")
    for eps0 in (0.1, 4.0):
        blanket = sb.KRR(k=10, eps0=eps0).blanket()
        for n in USERS:
            slow = seconds(blanket, n, "fft", 1)
            ratio = slow / seconds(blanket, n, "saddle", REPEATS)
            widths = [
                sb.epsilon(blanket, n, DELTA, engine=engine).relative_width
                for engine in ("fft", "saddle")
            ]
            print(
                f"eps0 = {eps0:<4g} n = {n:<8,} {ratio:8.0f} times, "
                f"width {widths[0]:.1e} against {widths[1]:.1e}"
            )


if __name__ == "__main__":
    main()
