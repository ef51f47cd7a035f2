"""Curves: the values of a specification, and the tables that hold them."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from shufflebounds._version import __version__
from shufflebounds.bounds.base import QUANTITIES, Answer, Numerics
from shufflebounds.core.enclosure import Enclosure, Enclosures
from shufflebounds.core.setting import NAMES, OverN, Setting
from shufflebounds.core.words import counted
from shufflebounds.curves import storage
from shufflebounds.curves.storage import CurveName
from shufflebounds.subjects.base import InfeasibleError

if TYPE_CHECKING:
    import pandas as pd

    from shufflebounds.curves.specification import Specification

# Columns of a curve's table before and behind its settings and enclosures. All of them are text,
# which may look like a number, but `_NUMBERS`; of these some may have empty cells.
_WHAT = ("experiment", "regime", "curve", "quantity", "bound", "kind", "x", "mechanism", "k_joint")
_PAIR = ("distance", "differing", "inputs", "others")
_HOW = ("rtol", "version", "digest")
_NUMBERS = ("k_joint", "distance", "rtol")
_MAY_BE_EMPTY = (
    *("rtol", "distance", *NAMES),
    *(f"{quantity}_{end}" for quantity in QUANTITIES for end in ("lower", "upper")),
)


@dataclass(frozen=True)
class Point:
    """The answer at one setting of a curve."""

    setting: Setting
    answer: Answer


@dataclass(frozen=True)
class Curve:
    """A specification, its name, and a point for every value of its axis."""

    name: CurveName
    specification: Specification
    points: tuple[Point, ...]

    def __repr__(self) -> str:
        specification = self.specification
        return (
            f"Curve({specification.bound.name} {specification.quantity} of {self.name.curve} at "
            f"{counted(len(self.points), 'value')} of {specification.axis.name})"
        )

    @property
    def enclosures(self) -> Enclosures:
        """The enclosures of its points, along the axis."""
        enclosures = [point.answer.enclosure for point in self.points]
        lower, upper = np.array([(ends.lower, ends.upper) for ends in enclosures]).T
        return Enclosures(lower, upper)

    def frame(self) -> pd.DataFrame:
        """Return the curve's table as a data frame."""
        import pandas as pd

        return pd.DataFrame(rows(self), columns=list(columns(self.specification.quantity)))


def compute(name: CurveName, specification: Specification) -> Curve:
    """Return the curve of a specification.

    A point whose relative width cannot be reached does not take the others with it: its answer has
    a ``shortfall`` (see `shortfalls`), and its cells stay empty. Raises ValueError for what cannot
    be computed; a note on the exception names the curve.
    """
    return Curve(name, specification, tuple(_points(name, specification)))


def columns(quantity: str) -> tuple[str, ...]:
    """Return the names of the columns of a curve's table.

    ``x`` names the axis. ``distance`` and ``differing`` say in how many and in which coordinates
    the inputs of the attaining pair differ (empty where a bound looks at no pair), ``inputs`` which
    they are, where not any two are alike, ``others`` what all other users hold in a lower bound;
    ``rtol`` is empty where nothing was asked for.
    """
    return (*_WHAT, *_PAIR, *NAMES, f"{quantity}_lower", f"{quantity}_upper", *_HOW)


def rows(curve: Curve) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of its table, with cells as in `columns`."""
    quantity = curve.specification.quantity
    constant = _constant_cells(curve.name, curve.specification)
    for point in curve.points:
        answer = point.answer
        cells = {
            **constant,
            **_setting_cells(point.setting),
            "distance": len(answer.differing.split()) or curve.specification.distance,
            "differing": answer.differing,
            "inputs": answer.inputs,
            "others": answer.others,
            f"{quantity}_lower": None if answer.shortfall else answer.enclosure.lower,
            f"{quantity}_upper": None if answer.shortfall else answer.enclosure.upper,
        }
        yield tuple(cells[column] for column in columns(quantity))


def write_all(curves: Sequence[Curve], path: str | os.PathLike[str]) -> None:
    """Write the tables of curves of one quantity one below the other, as `write` does."""
    names = columns(curves[0].specification.quantity)
    storage.write_table(names, [row for curve in curves for row in rows(curve)], path)


def write(curve: Curve, path: str | os.PathLike[str]) -> None:
    """Write its table as CSV with a checksum (see `storage`), at once or not at all."""
    storage.write_table(columns(curve.specification.quantity), rows(curve), path)


def read(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table back, float for float. Only an empty cell is missing: a name may be ``NA``.

    Raises ValueError, naming the file, where it is not as `write` wrote it.
    """
    # Here, since importing it takes longer than many a curve.
    import pandas as pd

    table = pd.read_csv(
        io.StringIO(storage.read_table(path)),
        keep_default_na=False,
        na_values={name: [""] for name in _MAY_BE_EMPTY},
        dtype={"distance": "Int64"}
        | {name: str for name in (*_WHAT, *_PAIR, *_HOW) if name not in _NUMBERS},
    )
    _require_columns(path, table.columns)
    return table


def verify(path: str | os.PathLike[str], name: CurveName, specification: Specification) -> None:
    """Raise ValueError, in one sentence, where a file is not the curve of a specification.

    The sentence names the file, the column, the value found and the one wanted. Looks at every
    row, without computing any; costs about half a millisecond.
    """
    cells = storage.table_columns(path)
    _require_columns(path, cells)
    settings = list(specification.settings)
    storage.require_columns(path, cells, _constant_cells(name, specification), but="digest")
    storage.require_rows(path, cells, [_setting_cells(setting) for setting in settings])
    if specification.distance is not None:
        storage.require_columns(path, cells, {"distance": specification.distance})
    storage.require_columns(path, cells, {"digest": specification.digest})
    quantity = specification.quantity
    ends = zip(cells[f"{quantity}_lower"], cells[f"{quantity}_upper"], strict=True)
    for setting, pair in zip(settings, ends, strict=True):
        if not any(pair):
            continue  # left empty for want of precision
        lower, upper = (float(end or math.nan) for end in pair)
        # Both ends are infinite if no finite ε suffices.
        if not (0.0 <= lower <= upper and (upper < math.inf or lower == upper)):
            where = f"{specification.axis.name} = {getattr(setting, specification.axis.name)}"
            raise ValueError(f"{path} has no enclosure of {quantity} but {list(pair)} at {where}")


def shortfalls(curve: Curve) -> list[str]:
    """Return a sentence for every point that is left empty: what was found, and what helps."""
    axis = curve.specification.axis.name
    return [
        f"{curve.name} at {axis} = {getattr(point.setting, axis)} is left empty: "
        f"{point.answer.shortfall}"
        for point in curve.points
        if point.answer.shortfall
    ]


def _points(name: CurveName, specification: Specification) -> Iterator[Point]:
    """Yield the points of a curve, along the axis."""
    bound = specification.bound
    # Compositions have a width of their own.
    numerics = Numerics() if specification.has_rounds else specification.numerics
    # A protocol for every setting that decides it, and all of its points together.
    for _, group in groupby(specification.settings, key=specification.decisive):
        settings = list(group)
        try:
            protocol = specification.protocol(settings[0])
            answers = bound.answers(protocol, specification.quantity, settings, numerics)
        except InfeasibleError as error:
            answers = [Answer(Enclosure(0.0, math.inf), shortfall=str(error))] * len(settings)
        except (ValueError, ArithmeticError) as error:
            error.add_note(f"in curve {name}")
            raise
        yield from map(Point, settings, answers)


def _constant_cells(name: CurveName, specification: Specification) -> dict[str, Any]:
    """Return the cells that are the same in all rows, by column."""
    bound, numerics = specification.bound, specification.numerics
    # Compositions have a width of their own.
    promised = bound.is_divergence and numerics.rtol is not None and not specification.has_rounds
    return {
        "experiment": name.experiment,
        "regime": name.regime,
        "curve": name.curve,
        "quantity": specification.quantity,
        "bound": bound.name,
        "kind": bound.kind.value,
        "x": specification.axis.name,
        "mechanism": str(specification.reports.mechanism),
        "k_joint": specification.reports.k_joint,
        "rtol": numerics.rtol if promised else None,
        "version": __version__,
        "digest": specification.digest,
    }


def _setting_cells(setting: Setting) -> dict[str, Any]:
    """Return the cells of a setting by column; δ in terms of n has none."""
    cells = dict.fromkeys(NAMES) | setting.given()
    return {key: None if isinstance(value, OverN) else value for key, value in cells.items()}


def _require_columns(path: str | os.PathLike[str], headings: Iterable[str]) -> None:
    names = tuple(headings)
    if not any(names == columns(quantity) for quantity in QUANTITIES):
        raise ValueError(f"{path} is not a curve file")
