"""Curves: one bound of one mechanism over a grid of numbers of users, as a tidy table."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from pathlib import Path

import pandas as pd

from shufflebounds import amplification, baselines, randomizers, validation
from shufflebounds._version import __version__
from shufflebounds.clone import standard_clone
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure
from shufflebounds.files import written_whole

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
    mechanism = f"{randomizers.__name__}.{spec['mechanism']['type']}"
    if spec["bound"] == "clone":
        chosen = ["shufflebounds.clone"]
    else:
        chosen = [randomizers.__name__, mechanism]
    if spec["bound"] in CERTIFIED:
        engines = {"saddle", "exact"} if spec["engine"] == "saddle" else {spec["engine"]}
        chosen += [amplification.__name__, *(f"shufflebounds.divergence.{e}" for e in engines)]
    else:
        chosen += [baselines.__name__, baselines.module_of(spec["bound"])]
    return [__name__, "shufflebounds._version", *chosen]


def compute(spec: Mapping) -> pd.DataFrame:
    """One row per number of users, with the columns `COLUMNS`.

    Parameters
    ----------
    spec
        ``experiment``, ``regime``, ``curve``: names, copied into the table. ``mechanism``: a
        mapping with the mechanism's ``type`` and parameters other than ε₀. ``eps0``: ε₀ of a whole
        report, natural log. ``bound``: one of `BOUNDS`. ``k_joint``: how many independent reports
        at ε₀/k a user sends together (1 if absent). ``delta``: δ. ``n``: see `users`. ``engine``
        and ``rtol``: for the bounds in `CERTIFIED`, which engine and the relative width of its
        enclosures.

    Raises ValueError for a bad argument and PrecisionError where ``rtol`` cannot be reached; a
    note on the exception names the curve and the number of users.

    """
    bound = validation.choice("bound", spec["bound"], BOUNDS)
    eps0 = validation.eps0(spec["eps0"])
    k_joint = validation.whole("k_joint", spec.get("k_joint", 1), minimum=1, maximum=MAX_JOINT)
    grid = users(spec["n"])
    enclosures = _enclosures(spec, k_joint, grid)
    table = {
        "experiment": spec["experiment"],
        "regime": spec["regime"],
        "curve": spec["curve"],
        "mechanism": _description(**spec["mechanism"]),
        "k_joint": k_joint,
        "bound": bound,
        "n": grid,
        "eps0": eps0,
        "delta": validation.delta(spec["delta"]),
        "epsilon_lower": [enclosure.lower for enclosure in enclosures],
        "epsilon_upper": [enclosure.upper for enclosure in enclosures],
        "engine": spec["engine"] if bound in CERTIFIED else "closed_form",
        # The other engines are as wide as they are.
        "rtol": spec["rtol"] if bound in CERTIFIED and spec["engine"] == "saddle" else math.nan,
        "version": __version__,
    }
    return pd.DataFrame(table, columns=list(COLUMNS))


def write(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a curve as CSV, at once or not at all.

    Floats are written as the shortest decimals that read back as the same floats, so equal curves
    are equal files.
    """
    with written_whole(Path(path)) as part:
        frame.to_csv(part, index=False, lineterminator="\n", encoding="utf-8")


def read(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a curve back, float for float. Only an empty cell is missing: a name may be ``NA``.

    Raises ValueError, naming the file, where it is none that `write` wrote.
    """
    try:
        frame = pd.read_csv(path, keep_default_na=False, na_values={"rtol": [""]})
        found = tuple(frame.columns)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError):
        found = ()
    if found != COLUMNS:
        raise ValueError(f"{path} is not a curve file; delete it and it will be computed again")
    return frame


def _enclosures(spec: Mapping, k_joint: int, grid: list[int]) -> list[Enclosure]:
    bound, eps0, delta = spec["bound"], spec["eps0"], spec["delta"]
    decomposition = _decomposition(spec, k_joint)
    if bound in CERTIFIED:
        certified = {"rtol": spec["rtol"], "engine": spec["engine"]}
        epsilon = partial(amplification.epsilon, decomposition, delta=delta, **certified)
    else:
        epsilon = partial(baselines.epsilon, bound, blanket=decomposition, eps0=eps0, delta=delta)
    found = []
    for n in grid:
        try:
            found.append(epsilon(n=n))
        except (ValueError, ArithmeticError) as error:
            curve = f"{spec['experiment']}/{spec['regime']}/{spec['curve']}"
            error.add_note(f"in curve {curve} at n = {n}")
            raise
    return found


def _decomposition(spec: Mapping, k_joint: int) -> Decomposition:
    """The clone, or `k_joint` reports of the mechanism that share ε₀ equally."""
    if spec["bound"] == "clone":
        return standard_clone(spec["eps0"])
    parameters = dict(spec["mechanism"])
    mechanism = randomizers.mechanism(parameters.pop("type"))
    part = mechanism(eps0=spec["eps0"] / k_joint, **parameters)
    one = part.dataset_pair() if spec["bound"] == "lower" else part.blanket()
    return reduce(Decomposition.joint, [one] * k_joint)


def _description(type: str, **parameters: object) -> str:
    """A mechanism in one cell, such as ``krr(k=10)``."""
    listed = ", ".join(f"{name}={value}" for name, value in parameters.items())
    return f"{type}({listed})" if listed else type
