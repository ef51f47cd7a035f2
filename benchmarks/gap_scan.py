"""How far is the proven ε above the lower bound, at random parameters of every mechanism?

README and docs/proofs/closing-the-gap.md say how tight the bound is for ranges of parameters. This
program draws questions from such ranges, independently and log-uniformly, and prints the largest
ratio of each mechanism and every question above the limit. Without options it scans what README
says:

    python benchmarks/gap_scan.py --questions 500 --seed 1
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import shufflebounds as sb

# The ranges of README's sentence: ε₀, number of users, δ.
EPS0_RANGE = (0.1, 4.0)
USERS_RANGE = (1e4, 1e6)
DELTA_RANGE = (1e-6, 1e-6)

# README's limit on the proven ε divided by the lower bound.
LIMIT = 1.002

# The largest domain that is drawn. Beyond it the mechanisms hardly differ from an infinite domain.
LARGEST_DOMAIN = 10**6
# The largest domain of subset selection that is drawn, of which half may be in a subset.
LARGEST_SUBSET_DOMAIN = 10**4


@dataclass(frozen=True)
class Question:
    """Which ε do n users of a mechanism have at δ?"""

    mechanism: str
    randomizer: sb.Randomizer
    n: int
    delta: float

    def ratio(self) -> float:
        """Return the upper end of ε divided by the lower end; inf if the lower end alone is 0."""
        try:
            enclosure = sb.epsilon(self.randomizer, n=self.n, delta=self.delta)
        except sb.PrecisionError as error:
            enclosure = error.enclosure
        if enclosure.upper == 0.0:
            return 1.0
        return enclosure.upper / enclosure.lower if enclosure.lower > 0.0 else math.inf


def log_uniform(source: random.Random, low: float, high: float) -> float:
    """Return a number between low and high whose logarithm is uniform."""
    return low * (high / low) ** source.random()


def whole(source: random.Random, low: int, high: int) -> int:
    """Return a whole number between low and high, roughly log-uniform."""
    return min(high, int(log_uniform(source, low, high + 1)))


def domain(source: random.Random) -> int | None:
    """Return a finite domain's size, or None for an infinite domain."""
    return None if source.random() < 0.3 else whole(source, 2, LARGEST_DOMAIN)


def local_hash(source: random.Random, eps0: float) -> sb.Randomizer:
    """Local hashing with the default number of hash values or another one."""
    hash_values = None if source.random() < 0.3 else whole(source, 2, 1000)
    return sb.LocalHash(eps0, hash_values=hash_values, domain_size=domain(source))


def subset(source: random.Random, eps0: float) -> sb.Randomizer:
    """Subset selection with the default size of a subset or any other up to half of the domain."""
    values = whole(source, 2, LARGEST_SUBSET_DOMAIN)
    size = None if source.random() < 0.5 else whole(source, 1, values // 2)
    return sb.Subset(eps0, domain_size=values, subset_size=size)


MECHANISMS: dict[str, Callable[[random.Random, float], sb.Randomizer]] = {
    "randomized response": lambda source, eps0: sb.KRR(whole(source, 2, LARGEST_DOMAIN), eps0),
    "RAPPOR": lambda source, eps0: sb.RAPPOR(eps0, domain_size=domain(source)),
    "OUE": lambda source, eps0: sb.OUE(eps0, domain_size=domain(source)),
    "BLH": lambda source, eps0: sb.BLH(eps0, domain_size=domain(source)),
    "local hashing": local_hash,
    "subset selection": subset,
    "Hadamard response": lambda source, eps0: sb.HadamardResponse(eps0, domain_size=domain(source)),
    "Laplace on {0, 1}": lambda source, eps0: sb.Laplace(eps0),
}


def questions(
    seed: int,
    eps0: tuple[float, float] = EPS0_RANGE,
    n: tuple[float, float] = USERS_RANGE,
    delta: tuple[float, float] = DELTA_RANGE,
) -> Iterator[Question]:
    """Yield random questions without end, of every mechanism in turn."""
    source = random.Random(seed)
    while True:
        for name, randomizer in MECHANISMS.items():
            drawn = randomizer(source, log_uniform(source, *eps0))
            users = round(log_uniform(source, *n))
            yield Question(name, drawn, users, log_uniform(source, *delta))


def main() -> None:
    """Print the largest ratio of every mechanism, and the questions above the limit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--eps0", type=float, nargs=2, default=EPS0_RANGE)
    parser.add_argument("--n", type=float, nargs=2, default=USERS_RANGE)
    parser.add_argument("--delta", type=float, nargs=2, default=DELTA_RANGE)
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    largest: dict[str, tuple[float, Question]] = {}
    drawn = questions(args.seed, args.eps0, args.n, args.delta)
    for question in itertools.islice(drawn, args.questions):
        ratio = question.ratio()
        if ratio > args.limit:
            print(f"above the limit: {ratio:.5f}  {question.randomizer} n={question.n}")
        if ratio > largest.get(question.mechanism, (0.0,))[0]:
            largest[question.mechanism] = ratio, question
    for name, (ratio, question) in largest.items():
        print(f"{name:20} {ratio:.5f}  {question.randomizer} n={question.n}")


if __name__ == "__main__":
    main()
