"""Curves: one bound of one mechanism over a grid of numbers of users, as a tidy table."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from shufflebounds import amplification, baselines, building, descriptions, sealed, validation
from shufflebounds._version import __version__
from shufflebounds.clone import standard_clone
from shufflebounds.composition import Composition, Joint, repeated
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure
from shufflebounds.randomizers.base import Randomizer

# Bounds that are the divergence of a decomposition; any other name is a baseline's.
CERTIFIED = ("upper", "lower", "clone")
BOUNDS = (*CERTIFIED, *baselines.BASELINES)

MAX_JOINT = 100

COLUMNS = (
    "experiment",
    "regime",
    "curve",
    "mechanism",
    "k_joint",
    "distance",
    "differing",
    "others",
    "bound",
    "n",
    "eps0",
    "delta",
    "epsilon_lower",
    "epsilon_upper",
    "engine",
    "rtol",
    "version",
)
# Columns of text, which may look like a number.
_TEXT = (
    "experiment",
    "regime",
    "curve",
    "mechanism",
    "differing",
    "others",
    "bound",
    "engine",
    "version",
)


def geometric_grid(start: int, stop: int, points: int) -> list[int]:
    """`points` distinct integers from `start` to `stop`, both included, in geometric progression.

    Where the progression is denser than the integers, neighbours move up just enough to differ.
    Raises ValueError for an empty grid, or one with fewer integers than points.
    """
    start = validation.whole("start", start, minimum=1)
    stop = validation.whole("stop", stop, minimum=start)
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
    if isinstance(n, Mapping):
        return geometric_grid(**n)
    if not n:
        raise ValueError(f"n must hold at least one number of users, got {n!r}")
    return [validation.users(value) for value in n]


def modules(spec: Mapping) -> list[str]:
    """Modules of this library that decide the values of a curve, without what they import.

    `spec` is what `compute` takes. This module dispatches by name, so its import statements say
    nothing of what one curve uses; this list does.
    """
    if spec["bound"] == "clone":
        chosen = ["shufflebounds.clone"]
    else:
        used = descriptions.mechanisms(spec["mechanism"])
        chosen = [building.__name__, *(f"shufflebounds.randomizers.{name}" for name in used)]
    if spec["bound"] in CERTIFIED:
        engines = {"saddle", "exact"} if spec["engine"] == "saddle" else {spec["engine"]}
        chosen += [amplification.__name__, *(f"shufflebounds.divergence.{e}" for e in engines)]
    else:
        chosen += [baselines.__name__, baselines.module_of(spec["bound"])]
    return [__name__, descriptions.__name__, "shufflebounds._version", *chosen]


def compute(spec: Mapping) -> pd.DataFrame:
    """One row per number of users, with the columns `COLUMNS`.

    Parameters
    ----------
    spec
        ``experiment``, ``regime``, ``curve``: names, copied into the table. ``mechanism``: what
        `building.randomizer` takes. ``eps0``: ε₀ of a whole report, natural log. ``bound``: one
        of `BOUNDS`. ``k_joint``: how many independent reports at ε₀/k a user sends together (1 if
        absent). ``distance``: the upper bound for inputs that differ in so many coordinates of a
        joint composition (if absent: in any number, of which all is the worst). ``delta``: δ.
        ``n``: see `users`. ``engine`` and ``rtol``: for the bounds in `CERTIFIED`, which engine and
        the relative width of its enclosures.

    The columns ``distance`` and ``differing`` say in how many and in which coordinates the inputs
    of the attaining pair differ (missing where a bound looks at no pair), ``others`` what all other
    users hold in a lower bound.

    Raises ValueError for a bad argument and PrecisionError where ``rtol`` cannot be reached; a
    note on the exception names the curve and the number of users.

    """
    check(spec)
    grid = users(spec["n"])
    found = _enclosures(spec, _candidates(spec), grid)
    table = {
        **_parameters(spec),
        "distance": pd.array([len(pair.differing.split()) or pd.NA for pair, _ in found], "Int64"),
        "differing": [pair.differing for pair, _ in found],
        "others": [pair.others for pair, _ in found],
        "n": grid,
        "epsilon_lower": [enclosure.lower for _, enclosure in found],
        "epsilon_upper": [enclosure.upper for _, enclosure in found],
    }
    return pd.DataFrame(table, columns=list(COLUMNS))


def check(spec: Mapping) -> None:
    """Raise ValueError for what `compute` would refuse, joints too large for memory included."""
    bound = validation.choice("bound", spec["bound"], BOUNDS)
    validation.eps0(spec["eps0"])
    validation.delta(spec["delta"])
    users(spec["n"])
    randomizer = None if bound == "clone" else _randomizer(spec)
    if isinstance(randomizer, Composition):
        randomizer.check_size()
    if "distance" in spec:
        if bound != "upper" or not isinstance(randomizer, Joint):
            raise ValueError(
                "distance must be left out but for the upper bound of a joint composition, "
                f"got {spec['distance']!r}"
            )
        randomizer.check_distance(spec["distance"])


def write(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a curve as CSV with a checksum (see `sealed`), at once or not at all."""
    sealed.write(frame, path)


def read(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a curve back, float for float. Only an empty cell is missing: a name may be ``NA``.

    Raises ValueError, naming the file, where it is not as `write` wrote it.
    """
    frame = pd.read_csv(
        io.StringIO(sealed.read(path)),
        keep_default_na=False,
        na_values={"rtol": [""], "distance": [""]},
        dtype={"distance": "Int64"} | dict.fromkeys(_TEXT, str),
    )
    _require_columns(path, frame.columns)
    return frame


def verify(path: str | os.PathLike[str], spec: Mapping) -> None:
    """Raise ValueError, in one sentence, where a file is not the curve that `spec` asks for.

    `spec` is what `compute` takes. The sentence names the file, the column, the value found and
    the one wanted. Looks at every row, without computing any; costs about half a millisecond.
    """
    found = sealed.columns(path)
    _require_columns(path, found)
    grid = [str(n) for n in users(spec["n"])]
    if len(found["n"]) != len(grid):
        raise ValueError(f"{path} has {len(found['n'])} rows where {len(grid)} are wanted")
    for i, pair in enumerate(zip(found["n"], grid, strict=True)):
        if pair[0] != pair[1]:
            raise ValueError(f"{path} has n = {pair[0]} in row {i + 1} where {pair[1]} is wanted")
    sealed.require(path, found, _parameters(spec) | _pair_columns(spec))
    for n, *ends in zip(grid, found["epsilon_lower"], found["epsilon_upper"], strict=True):
        lower, upper = (float(end or math.nan) for end in ends)
        if not 0.0 <= lower <= upper < math.inf:
            raise ValueError(f"{path} has no enclosure of epsilon but {ends} at n = {n}")


def _parameters(spec: Mapping) -> dict[str, Any]:
    """Columns that are the same in all rows, but for those about the attaining pair."""
    certified = spec["bound"] in CERTIFIED
    return {
        "experiment": spec["experiment"],
        "regime": spec["regime"],
        "curve": spec["curve"],
        "mechanism": descriptions.text(spec["mechanism"]),
        "k_joint": spec.get("k_joint", 1),
        "bound": spec["bound"],
        "eps0": validation.eps0(spec["eps0"]),
        "delta": validation.delta(spec["delta"]),
        "engine": spec["engine"] if certified else "closed_form",
        # The other engines are as wide as they are.
        "rtol": spec["rtol"] if certified and spec["engine"] == "saddle" else math.nan,
        "version": __version__,
    }


def _pair_columns(spec: Mapping) -> dict[str, Any]:
    """What the columns about the attaining pair must hold, as far as `spec` decides it."""
    if "distance" in spec:
        return {"distance": spec["distance"], "others": ""}
    differing = _differing(spec)
    wanted = {"distance": len(differing.split()) or "", "differing": differing, "others": ""}
    if spec["bound"] == "lower":
        del wanted["others"]
    return wanted


def _require_columns(path: str | os.PathLike[str], found: Iterable[str]) -> None:
    if tuple(found) != COLUMNS:
        raise ValueError(f"{path} is not a curve file")


@dataclass(frozen=True)
class _Candidate:
    """A pair of datasets whose divergence a bound has to consider, and what it is called."""

    decomposition: Decomposition
    differing: str = ""
    others: str = ""


def _randomizer(spec: Mapping) -> Randomizer:
    k = validation.whole("k_joint", spec.get("k_joint", 1), minimum=1, maximum=MAX_JOINT)
    eps0 = validation.eps0(spec["eps0"])
    return repeated(building.randomizer(spec["mechanism"], eps0 / k), k)


def _candidates(spec: Mapping) -> list[_Candidate]:
    """Of an upper bound every pair that may be the worst, of a lower bound every one to try."""
    if spec["bound"] == "clone":
        return [_Candidate(standard_clone(spec["eps0"]))]
    randomizer = _randomizer(spec)
    if "distance" in spec:
        blankets = randomizer.blankets(spec["distance"])
        return [_Candidate(blanket, differing) for differing, blanket in blankets.items()]
    differing = _differing(spec)
    if spec["bound"] == "lower":
        pairs = randomizer.dataset_pairs()
        return [_Candidate(pair, differing, others) for others, pair in pairs.items()]
    return [_Candidate(randomizer.blanket(), differing)]


def _differing(spec: Mapping) -> str:
    """All coordinates, in which inputs differ unless a spec says otherwise; none without inputs."""
    if spec["bound"] not in ("upper", "lower", *baselines.SPECIFIC):
        return ""
    mechanism, coordinates = spec["mechanism"], spec.get("k_joint", 1)
    if coordinates == 1 and mechanism["type"] == "joint":
        coordinates = len(mechanism["parts"])
    return " ".join(str(i + 1) for i in range(coordinates))


def _enclosures(
    spec: Mapping, candidates: list[_Candidate], grid: list[int]
) -> list[tuple[_Candidate, Enclosure]]:
    """For each n the largest ε of all candidates, and the candidate that has it."""
    functions = [(candidate, _epsilon(spec, candidate)) for candidate in candidates]
    found = []
    for n in grid:
        try:
            all_pairs = [(candidate, epsilon(n=n)) for candidate, epsilon in functions]
        except (ValueError, ArithmeticError) as error:
            curve = f"{spec['experiment']}/{spec['regime']}/{spec['curve']}"
            error.add_note(f"in curve {curve} at n = {n}")
            raise
        worst, largest = max(all_pairs, key=lambda pair: (pair[1].lower, pair[1].upper))
        upper = max(enclosure.upper for _, enclosure in all_pairs)
        found.append((worst, Enclosure(largest.lower, upper)))
    return found


def _epsilon(spec: Mapping, candidate: _Candidate) -> Callable[..., Enclosure]:
    bound, delta = spec["bound"], spec["delta"]
    if bound in CERTIFIED:
        return partial(
            amplification.epsilon,
            candidate.decomposition,
            delta=delta,
            rtol=spec["rtol"],
            engine=spec["engine"],
        )
    # The parts' ε₀ may add up to a rounding more.
    eps0 = max(spec["eps0"], _randomizer(spec).eps0)
    return partial(
        baselines.epsilon, bound, blanket=candidate.decomposition, eps0=eps0, delta=delta
    )
