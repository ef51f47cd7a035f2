"""What a curve is to be: its specification, what it leads to, and whether it can be computed.

A specification is a mapping with the entries

* ``experiment``, ``regime``, ``curve``: names;
* ``mechanism``: what `building.randomizer` takes;
* ``eps0``: ε₀ of a whole report, natural log (see `budget`);
* ``bound``: one of `BOUNDS`;
* ``k_joint``: how many independent reports at ε₀/k a user sends together (1 if absent);
* ``distance``: the upper bound for inputs that differ in so many coordinates of a joint composition
  (if absent: in any number, of which all is the worst);
* ``delta``: δ;
* ``n``: see `users`;
* ``engine`` and ``rtol``: for the bounds in `CERTIFIED`, which engine and the relative width of its
  enclosures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shufflebounds import baselines, building, validation
from shufflebounds.clone import standard_clone
from shufflebounds.composition import Composition, Joint, repeated
from shufflebounds.decomposition import Decomposition
from shufflebounds.descriptions import COMPOSITIONS
from shufflebounds.divergence.exact import check_size
from shufflebounds.randomizers.base import Randomizer

# Bounds that are the divergence of a decomposition; any other name is a baseline's.
CERTIFIED = ("upper", "lower", "clone")
BOUNDS = (*CERTIFIED, *baselines.BASELINES)

MAX_JOINT = 100


def geometric_grid(start: int, stop: int, points: int) -> list[int]:
    """`points` distinct integers from `start` to `stop`, both included, in geometric progression.

    Where the progression is denser than the integers, neighbours move up just enough to differ.
    Raises ValueError for an empty grid, or one with fewer integers than points.
    """
    start = validation.whole("start", start, minimum=1)
    if validation.whole("stop", stop, minimum=1, maximum=validation.MAX_USERS) < start:
        raise ValueError(f"stop must be at least start, which is {start}, got {stop}")
    points = validation.whole("points", points, minimum=1 if start == stop else 2)
    if points > stop - start + 1:
        raise ValueError(
            f"points must be at most {stop - start + 1}, the number of integers "
            f"from {start} to {stop}, got {points}"
        )
    grid = [start]
    for i in range(1, points):
        ideal = round(start * (stop / start) ** (i / (points - 1)))
        grid.append(min(max(ideal, grid[-1] + 1), stop - (points - 1 - i)))
    return grid


def users(n: Sequence[int] | Mapping[str, int]) -> list[int]:
    """The numbers of users of a curve: a list as it is, or a mapping `geometric_grid` takes.

    Raises ValueError where there are none, or one is not an integer >= 1.
    """
    if isinstance(n, Mapping) and set(n) == {"start", "stop", "points"}:
        return geometric_grid(**n)
    if not isinstance(n, Sequence) or isinstance(n, str):
        raise ValueError(
            f"n must be a list of numbers of users, or start, stop and points, got {n!r}"
        )
    if not n:
        raise ValueError(f"n must hold at least one number of users, got {n!r}")
    return [validation.users(value) for value in n]


def check(spec: Mapping) -> None:
    """Raise ValueError for what cannot be computed, whatever is too large included."""
    bound = validation.choice("bound", spec["bound"], BOUNDS)
    validation.eps0(spec["eps0"])
    validation.delta(spec["delta"])
    largest = max(users(spec["n"]))
    randomizer = None if bound == "clone" else randomizer_of(spec)
    if isinstance(randomizer, Composition):
        randomizer.check_size()
    if "distance" in spec:
        if bound != "upper" or not isinstance(randomizer, Joint):
            raise ValueError(
                "distance must be left out but for the upper bound of a joint composition, "
                f"got {spec['distance']!r}"
            )
        randomizer.check_distance(spec["distance"])
    if bound in CERTIFIED and spec["engine"] == "exact":
        for candidate in candidates(spec):
            for ends in candidate.decomposition.directions:
                for end in ends:
                    check_size(end, largest)


@dataclass(frozen=True)
class Candidate:
    """A pair of datasets whose divergence a bound has to consider, and what it is called."""

    decomposition: Decomposition
    differing: str = ""
    others: str = ""


def candidates(spec: Mapping) -> list[Candidate]:
    """Of an upper bound every pair that may be the worst, of a lower bound every one to try."""
    if spec["bound"] == "clone":
        return [Candidate(standard_clone(budget(spec)))]
    randomizer = randomizer_of(spec)
    if "distance" in spec:
        blankets = randomizer.blankets(spec["distance"])
        return [Candidate(blanket, differing) for differing, blanket in blankets.items()]
    everywhere = differing(spec)
    if spec["bound"] == "lower":
        pairs = randomizer.dataset_pairs()
        return [Candidate(pair, everywhere, others) for others, pair in pairs.items()]
    return [Candidate(randomizer.blanket(), everywhere)]


def is_composed(spec: Mapping) -> bool:
    """Whether a user sends more than one plain report of one mechanism."""
    return spec["mechanism"]["type"] in COMPOSITIONS or spec.get("k_joint", 1) != 1


def budget(spec: Mapping) -> float:
    """ε₀ of all that a user sends: that of a composition's parts may be a rounding more."""
    if not is_composed(spec):
        return spec["eps0"]
    return max(spec["eps0"], randomizer_of(spec).eps0)


def differing(spec: Mapping) -> str:
    """All coordinates, in which inputs differ unless a spec says otherwise; none without inputs."""
    if spec["bound"] not in ("upper", "lower", *baselines.SPECIFIC):
        return ""
    mechanism, coordinates = spec["mechanism"], spec.get("k_joint", 1)
    if coordinates == 1 and mechanism["type"] == "joint":
        coordinates = len(mechanism["parts"])
    return " ".join(str(i + 1) for i in range(coordinates))


def randomizer_of(spec: Mapping) -> Randomizer:
    """Of all that a user sends; ValueError for a bad mechanism, ε₀ or number of reports."""
    k = validation.whole("k_joint", spec.get("k_joint", 1), minimum=1, maximum=MAX_JOINT)
    eps0 = validation.eps0(spec["eps0"])
    return repeated(building.randomizer(spec["mechanism"], eps0 / k), k)
