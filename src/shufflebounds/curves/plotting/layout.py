"""What a figure shows: rows of panels of curves. Plain data, which planning a run makes.

What is drawn of it is in `sheets`; here is nothing that loads pandas or Matplotlib.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from shufflebounds.curves.plotting.looks import Look
from shufflebounds.curves.storage import CurveName

_NAMELESS = CurveName("", "", "")


@dataclass(frozen=True)
class Print:
    """How figures fit the paper around them.

    A figure is ``column_width`` inches wide, or ``page_width`` if it has panels side by side. Its
    texts have the first of the ``fonts`` that has a letter, before the usual ones.
    """

    column_width: float = 3.5
    page_width: float = 7.16
    fonts: tuple[str, ...] = ()


# How figures look that are for no particular paper.
USUAL_PRINT = Print()


@dataclass(frozen=True)
class Line:
    """A line, and how it is drawn.

    ``curve`` is what it shows; nameless where that is in a table. ``name`` is how tooltips and
    tables call it where its label is empty, as that of a line that is alone, or shared by several
    lines of a panel; empty if they use the label.
    """

    label: str
    look: Look
    curve: CurveName = _NAMELESS
    name: str = ""


@dataclass(frozen=True)
class Panel:
    """Lines; ``subject`` names the mechanism, ``setting`` says what is fixed, one by one.

    Where the lines name their mechanisms, ``subject`` is empty, or the bound of all of them.
    ``divisor`` is the curve that all others are divided by, if any; without an experiment, each is
    divided by that curve of its own.
    """

    subject: str
    setting: tuple[str, ...]
    lines: tuple[Line, ...]
    divisor: CurveName | None = None

    def divisor_of(self, line: Line) -> CurveName | None:
        """Return the curve that a line is divided by, if any."""
        if self.divisor is None or self.divisor.experiment:
            return self.divisor
        return replace(self.divisor, experiment=line.curve.experiment)


@dataclass(frozen=True)
class Layout:
    """A figure. All its texts may hold mathtext, and plain symbols such as ε₀.

    Parameters
    ----------
    title
        What the figure shows, as a sentence.
    panels
        Rows of panels, equally many in each.
    source
        Which figure of which paper it is; empty if it is none.
    quantity
        What the curves hold: ``epsilon`` or ``delta``.
    x
        Name of their axis.
    transform
        What is drawn of ε: ``none``, ``expm1`` (e^ε − 1), ``log2_ratio`` (log₂(ε₀/ε)) or
        ``log2_gain`` (log₂(ε′/ε), ε′ the target of a protocol's authors).
    divisor
        How the figure calls what curves are divided by.
    limits
        Ends of the y axis of ratios, if they are not to follow from the data.
    has_shared_rows
        Whether the panels of a row share their y axis.
    goal
        What a horizontal line marks in panels without a divisor, if anything.
    is_map
        Whether a panel is a map, with a row for each line and a column for each point.

    Raises
    ------
    ValueError
        Where lines with the same label look different.

    """

    title: str
    panels: tuple[tuple[Panel, ...], ...]
    source: str = ""
    quantity: str = "epsilon"
    x: str = "n"
    transform: str = "none"
    divisor: str = ""
    limits: tuple[float, float] | None = None
    has_shared_rows: bool = False
    goal: float | None = None
    is_map: bool = False

    def __post_init__(self) -> None:
        looks: dict[str, Look] = {}
        for line in self.lines:
            if looks.setdefault(line.label, line.look) != line.look:
                raise ValueError(
                    f"lines with the label {line.label!r} must look alike: give lines of several "
                    "bounds or mechanisms labels of their own"
                )

    @property
    def lines(self) -> Iterator[Line]:
        """Every line of every panel, row by row."""
        return (line for row in self.panels for panel in row for line in panel.lines)

    @property
    def curves(self) -> tuple[CurveName, ...]:
        """Every curve that is needed, once."""
        divisors = (
            panel.divisor_of(line) for row in self.panels for panel in row for line in panel.lines
        )
        needed = [*(line.curve for line in self.lines), *filter(None, divisors)]
        return tuple(dict.fromkeys(needed))

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that stand for all of it."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:16]
