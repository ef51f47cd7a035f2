"""What a figure shows: rows of panels of curves. Plain data, without Matplotlib."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shufflebounds.experiments.curve import Name
from shufflebounds.setting import OverN, Setting


@dataclass(frozen=True)
class Line:
    """A curve, and how it is drawn: ``style`` as Matplotlib names it, ``width`` in points."""

    curve: Name
    label: str
    color: str
    style: str = "solid"
    marker: str = ""
    width: float = 1.2


@dataclass(frozen=True)
class Panel:
    """Lines in drawing order; ``subject`` names the mechanism, ``setting`` what is fixed (mathtext).

    ``subject`` is empty where the lines name their mechanisms.
    """

    subject: str
    setting: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Layout:
    """A figure.

    Parameters
    ----------
    title
        Above all panels.
    panels
        Rows of panels; those of a column share their axes.
    quantity
        What the curves hold: ``epsilon`` or ``delta``.
    x
        Name of their axis.
    transform
        What is drawn of ε: ``none``, ``expm1`` (e^ε − 1) or ``log2_ratio`` (log₂(ε₀/ε)).
    ratio_to
        For each column, a curve that all curves of a second row of panels are divided by.

    """

    title: str
    panels: tuple[tuple[Panel, ...], ...]
    quantity: str = "epsilon"
    x: str = "n"
    transform: str = "none"
    ratio_to: tuple[Name, ...] = ()

    @property
    def curves(self) -> tuple[Name, ...]:
        """Every curve that is needed, once."""
        lines = (line.curve for row in self.panels for panel in row for line in panel.lines)
        return tuple(dict.fromkeys([*lines, *self.ratio_to]))

    def plain(self) -> dict[str, Any]:
        """All of it as numbers, texts, lists and mappings."""
        return asdict(self)

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that stand for all of it."""
        return hashlib.sha256(json.dumps(self.plain()).encode()).hexdigest()[:16]


_SYMBOLS = {"eps0": r"$\varepsilon_0$", "eps": r"$\varepsilon$", "n": "$n$", "delta": r"$\delta$"}


def setting_text(settings: Sequence[Setting]) -> str:
    """What some settings have in common, such as ε₀ = 0.1, δ = 10⁻⁶, as mathtext."""
    given = [setting.given() for setting in settings]
    return ", ".join(
        f"{symbol} = {_number_text(given[0][key])}"
        for key, symbol in _SYMBOLS.items()
        if key in given[0] and all(other.get(key) == given[0][key] for other in given)
    )


def _number_text(value: float | OverN) -> str:
    if isinstance(value, OverN):
        return f"${value.share:g}/n$"
    digits, _, exponent = f"{value:g}".partition("e")
    if not exponent:
        return digits
    factor = "" if digits == "1" else rf"{digits} \cdot "
    return f"${factor}10^{{{int(exponent)}}}$"
