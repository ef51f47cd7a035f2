"""What a figure shows: rows of panels of curves. Plain data, without Matplotlib."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shufflebounds.experiments.specification import Name

DEFAULT_WIDTH = 1.2  # of a line, in points


@dataclass(frozen=True)
class Line:
    """A curve, and how it is drawn: ``style`` as Matplotlib names it, ``width`` in points."""

    curve: Name
    label: str
    color: str
    style: str = "solid"
    marker: str = ""
    width: float = DEFAULT_WIDTH

    @property
    def look(self) -> tuple[str, str, str, float]:
        """What makes it look different from other lines."""
        return self.color, self.style, self.marker, self.width


@dataclass(frozen=True)
class Panel:
    """Lines in drawing order; ``subject`` names the mechanism, ``setting`` what is fixed.

    ``subject`` is empty where the lines name their mechanisms.
    """

    subject: str
    setting: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Ratio:
    """A second row of panels, in which all curves are divided by one curve for each column.

    ``label`` is how the figure calls the divisor, and ``limits`` are the ends of the y axis, if
    they are not to follow from the data: what lies beyond is cut off.
    """

    curves: tuple[Name, ...]
    label: str
    limits: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Layout:
    """A figure. All its texts may hold mathtext, and plain symbols such as ε₀.

    Parameters
    ----------
    title
        Above all panels.
    panels
        Rows of panels.
    quantity
        What the curves hold: ``epsilon`` or ``delta``.
    x
        Name of their axis.
    transform
        What is drawn of ε: ``none``, ``expm1`` (e^ε − 1), ``log2_ratio`` (log₂(ε₀/ε)) or
        ``log2_gain`` (log₂(ε′/ε), ε′ the target of a protocol's authors).
    ratio
        For one row of panels: what a second row shows.

    Raises
    ------
    ValueError
        Where rows differ in their number of panels, a panel has no lines, or lines with the same
        label look different.

    """

    title: str
    panels: tuple[tuple[Panel, ...], ...]
    quantity: str = "epsilon"
    x: str = "n"
    transform: str = "none"
    ratio: Ratio | None = None

    def __post_init__(self) -> None:
        sizes = [len(row) for row in self.panels]
        if len(set(sizes)) != 1 or 0 in sizes:
            raise ValueError(
                f"rows of panels must be equally long, and not empty, got {sizes} panels"
            )
        if self.ratio and sizes != [len(self.ratio.curves)]:
            raise ValueError(
                "ratio must have one curve for each panel of a single row, "
                f"got {len(self.ratio.curves)} for {sizes} panels"
            )
        for row in self.panels:
            for panel in row:
                if not panel.lines:
                    raise ValueError(
                        f"panel {panel.subject!r} must have at least one line, got none"
                    )
        _check_looks(tuple(self.lines))

    @property
    def lines(self) -> Iterator[Line]:
        """Every line of every panel, row by row."""
        return (line for row in self.panels for panel in row for line in panel.lines)

    @property
    def curves(self) -> tuple[Name, ...]:
        """Every curve that is needed, once."""
        divisors = self.ratio.curves if self.ratio else ()
        return tuple(dict.fromkeys([*(line.curve for line in self.lines), *divisors]))

    def plain(self) -> dict[str, Any]:
        """All of it as numbers, texts, lists and mappings."""
        return asdict(self)

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that stand for all of it."""
        return hashlib.sha256(json.dumps(self.plain()).encode()).hexdigest()[:16]


def _check_looks(lines: Sequence[Line]) -> None:
    looks: dict[str, tuple] = {}
    for line in lines:
        if looks.setdefault(line.label, line.look) != line.look:
            raise ValueError(
                f"lines with the label {line.label!r} must look alike, "
                f"got {looks[line.label]} and {line.look}"
            )
