"""The fewest users of a batch of a DAP task, whose clients add noise: the table of a page.

    python benchmarks/batch_sizes.py

prints the table of docs/deployed-systems.md. Only sums leave the aggregators. A task is a count of
noisy yes/no answers (Prio3Count) or a histogram of noisy bits (Prio3SumVec).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import shufflebounds as sb
from shufflebounds.protocols import CoordinateSums

# What clients send at an ε₀, and what is summed.
TASKS: dict[str, Callable[[float], sb.Randomizer | CoordinateSums]] = {
    "count, `krr` with k = 2": lambda eps0: sb.KRR(2, eps0),
    "histogram, bits of `rappor`": lambda eps0: CoordinateSums(sb.RAPPOR(eps0)),
}
EPS0 = (1.0, 2.0, 4.0)
# Targets (ε, δ).
TARGETS = ((0.5, 1e-6), (0.1, 1e-9))


def rows() -> Iterator[list[str]]:
    """Yield the rows of the table, its head first."""
    targets = [f"ε = {eps:g}, δ = {delta:.0e}".replace("e-0", "e-") for eps, delta in TARGETS]
    yield ["what is summed", "ε₀", *targets]
    yield ["---"] * (2 + len(TARGETS))
    for name, task in TASKS.items():
        for eps0 in EPS0:
            users = (sb.fewest_users(task(eps0), eps, delta).upper for eps, delta in TARGETS)
            yield [name, f"{eps0:g}", *map(rounded_up, users)]


def rounded_up(users: float) -> str:
    """Return a number of users, rounded up to three digits."""
    unit = 10 ** max(0, len(f"{users:.0f}") - 3)
    return str(-(-int(users) // unit) * unit)


def table() -> str:
    """Return the table in Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in rows())


if __name__ == "__main__":
    print(table(), end="")
