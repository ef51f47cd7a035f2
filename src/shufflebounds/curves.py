"""Curves: one bound of one mechanism over a grid of numbers of users, as a tidy table."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

from shufflebounds import amplification, baselines, descriptions, sealed, specs, validation
from shufflebounds._version import __version__
from shufflebounds.enclosure import Enclosure
from shufflebounds.specs import Candidate

if TYPE_CHECKING:
    import pandas as pd


class Row(NamedTuple):
    """What a curve says of one number of users.

    ``distance`` and ``differing`` say in how many and in which coordinates the inputs of the
    attaining pair differ (None and empty where a bound looks at no pair), ``others`` what all other
    users hold in a lower bound, ``rtol`` is NaN where nothing was asked for.
    """

    experiment: str
    regime: str
    curve: str
    mechanism: str
    k_joint: int
    distance: int | None
    differing: str
    others: str
    bound: str
    n: int
    eps0: float
    delta: float
    epsilon_lower: float
    epsilon_upper: float
    engine: str
    rtol: float
    version: str


COLUMNS = Row._fields
# Columns of text, which may look like a number.
_TEXT = [name for name, kind in get_type_hints(Row).items() if kind is str]


def modules(spec: Mapping) -> list[str]:
    """Modules of this library that decide the values of a curve, without what they import.

    `spec` is a specification. This module dispatches by name, so its import statements say
    nothing of what one curve uses; this list does.
    """
    if spec["bound"] == "clone" and not specs.is_composed(spec):
        chosen = ["shufflebounds.clone"]
    else:
        used = descriptions.mechanisms(spec["mechanism"])
        chosen = ["shufflebounds.building", *(f"shufflebounds.randomizers.{name}" for name in used)]
    if spec["bound"] in specs.CERTIFIED:
        engines = {"saddle", "exact"} if spec["engine"] == "saddle" else {spec["engine"]}
        chosen += [amplification.__name__, *(f"shufflebounds.divergence.{e}" for e in engines)]
    else:
        chosen += [baselines.__name__, baselines.module_of(spec["bound"])]
    return [__name__, specs.__name__, descriptions.__name__, "shufflebounds._version", *chosen]


def compute(spec: Mapping) -> list[Row]:
    """One row per number of users; ``pandas.DataFrame`` makes a data frame of them.

    `spec` is a specification (see `specs`). Raises ValueError for a bad argument and PrecisionError
    where ``rtol`` cannot be reached; a note on the exception names the curve and the number of
    users.
    """
    specs.check(spec)
    parameters, grid = _parameters(spec), specs.users(spec["n"])
    return [
        Row(
            **parameters,
            distance=len(pair.differing.split()) or None,
            differing=pair.differing,
            others=pair.others,
            n=n,
            epsilon_lower=enclosure.lower,
            epsilon_upper=enclosure.upper,
        )
        for n, (pair, enclosure) in zip(
            grid, _enclosures(spec, specs.candidates(spec), grid), strict=True
        )
    ]


def write(rows: Iterable[Row], path: str | os.PathLike[str]) -> None:
    """Write a curve as CSV with a checksum (see `sealed`), at once or not at all."""
    sealed.write(COLUMNS, rows, path)


def read(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a curve back, float for float. Only an empty cell is missing: a name may be ``NA``.

    Raises ValueError, naming the file, where it is not as `write` wrote it.
    """
    # Here, since importing it takes longer than many a curve.
    import pandas as pd

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
    grid = [str(n) for n in specs.users(spec["n"])]
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
    certified = spec["bound"] in specs.CERTIFIED
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
    differing = specs.differing(spec)
    wanted = {"distance": len(differing.split()) or None, "differing": differing, "others": ""}
    if spec["bound"] == "lower":
        del wanted["others"]
    return wanted


def _require_columns(path: str | os.PathLike[str], found: Iterable[str]) -> None:
    if tuple(found) != COLUMNS:
        raise ValueError(f"{path} is not a curve file")


def _enclosures(
    spec: Mapping, candidates: list[Candidate], grid: list[int]
) -> list[tuple[Candidate, Enclosure]]:
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


def _epsilon(spec: Mapping, candidate: Candidate) -> Callable[..., Enclosure]:
    bound, delta = spec["bound"], spec["delta"]
    if bound in specs.CERTIFIED:
        return partial(
            amplification.epsilon,
            candidate.decomposition,
            delta=delta,
            rtol=spec["rtol"],
            engine=spec["engine"],
        )
    return partial(
        baselines.epsilon,
        bound,
        blanket=candidate.decomposition,
        eps0=specs.budget(spec),
        delta=delta,
    )
