"""Where a question is asked: users and privacy parameters, and axes along which one varies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

from shufflebounds.core import validation


@dataclass(frozen=True)
class OverN:
    """δ = ``share``/n. Raises ValueError unless ``share`` is a finite number above 0."""

    share: float

    def __post_init__(self) -> None:
        if validation.finite("over_n", self.share) <= 0.0:
            raise ValueError(f"over_n must be a number > 0, got {self.share!r}")

    def at(self, n: int) -> float:
        """δ for n users; ValueError where it is not a probability below 1."""
        try:
            return validation.delta(self.share / n)
        except ValueError as error:
            raise ValueError(f"{error}, which is {self.share!r}/n at n = {n}") from None


@dataclass(frozen=True)
class Setting:
    """What a question fixes; None where it leaves something open.

    ``eps0`` is ε₀ of all that a user sends and ``eps`` is ε, natural logs; ``n`` is the number of
    users, ``delta`` δ. ``rounds`` counts shuffles of the same users, one if left open; ``order`` is
    that of a Rényi divergence. Of protocols with several messages, ``messages`` is how many a user
    sends, and ``target`` the ε that their authors chose the other parameters for. Raises ValueError
    for values out of range.
    """

    n: int | None = None
    eps0: float | None = None
    delta: float | OverN | None = None
    eps: float | None = None
    rounds: int | None = None
    order: float | None = None
    target: float | None = None
    messages: int | None = None

    def __post_init__(self) -> None:
        for name, checked in _CHECKED.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, checked(value))

    def given(self) -> dict[str, Any]:
        """What is not left open, by name."""
        values = {name: getattr(self, name) for name in NAMES}
        return {name: value for name, value in values.items() if value is not None}

    def at(self, **values: Any) -> Setting:
        """The same with other values; a δ that depends on n is worked out as soon as n is known."""
        changed = replace(self, **values)
        if isinstance(changed.delta, OverN) and changed.n is not None:
            return replace(changed, delta=changed.delta.at(changed.n))
        return changed

    def require(self, name: str) -> Any:
        """A value that must not be left open; ValueError where it is."""
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"{name} is missing")
        return value


NAMES = tuple(field.name for field in fields(Setting))
_CHECKED: Mapping[str, Callable[[Any], Any]] = {
    "n": validation.users,
    "eps0": validation.eps0,
    "eps": validation.eps,
    "delta": lambda at: at if isinstance(at, OverN) else validation.delta(at),
    "rounds": validation.rounds,
    "order": validation.order,
    "target": partial(validation.eps0, name="target"),
    "messages": validation.messages,
}


# The axis: what varies along a curve, and at which values.

# Axes of whole numbers.
WHOLE = ("n", "rounds", "messages")
SPACINGS = ("geometric", "linear")
MAX_POINTS = 100_000


@dataclass(frozen=True)
class Grid:
    """``points`` values from ``start`` to ``stop``, both included.

    On an axis of whole numbers all values are distinct integers: where a progression is denser than
    the integers, neighbours move up just enough to differ.
    """

    start: float
    stop: float
    points: int
    spacing: str = "geometric"

    def values(self, name: str) -> tuple[float, ...]:
        """The values on the axis `name`; ValueError for an empty grid or one too dense for it."""
        validation.choice("spacing", self.spacing, SPACINGS)
        if name in WHOLE:
            return self._integers()
        start, stop = (validation.finite(end, getattr(self, end)) for end in ("start", "stop"))
        self._check_order(start, stop)
        points = self._checked_points(start, stop)
        if self.spacing == "geometric" and start <= 0.0:
            raise ValueError(
                f"start must be a number > 0 on a geometric grid, got {self.start!r}; "
                "spacing: linear allows others"
            )
        inner = (self._ideal(start, stop, Fraction(i, points - 1)) for i in range(1, points - 1))
        return (start, *inner, stop) if points > 1 else (start,)

    def _integers(self) -> tuple[int, ...]:
        start = validation.whole("start", self.start, minimum=1)
        stop = validation.whole("stop", self.stop, minimum=1, maximum=validation.MAX_USERS)
        self._check_order(start, stop)
        points = self._checked_points(start, stop)
        if points > stop - start + 1:
            raise ValueError(
                f"points must be at most {stop - start + 1}, the number of integers "
                f"from {start} to {stop}, got {points}"
            )
        grid = [start]
        for i in range(1, points):
            ideal = round(self._ideal(start, stop, Fraction(i, points - 1)))
            grid.append(min(max(ideal, grid[-1] + 1), stop - (points - 1 - i)))
        return tuple(grid)

    def _ideal(self, start: float, stop: float, share: Fraction) -> float:
        if self.spacing == "linear":
            # Of the decimals that are written: from 0.1 to 0.2 it is halfway 0.15.
            first, last = Fraction(repr(start)), Fraction(repr(stop))
            return float(first + (last - first) * share)
        return start * (stop / start) ** float(share)

    def _check_order(self, start: float, stop: float) -> None:
        if stop < start:
            raise ValueError(f"stop must be at least start, which is {start}, got {stop}")

    def _checked_points(self, start: float, stop: float) -> int:
        return validation.whole(
            "points", self.points, minimum=1 if start == stop else 2, maximum=MAX_POINTS
        )

    def plain(self) -> dict[str, Any]:
        """As configurations write it."""
        ends = {"start": self.start, "stop": self.stop, "points": self.points}
        return ends if self.spacing == "geometric" else {**ends, "spacing": self.spacing}


@dataclass(frozen=True)
class Axis:
    """``name``, one of the fields of `Setting`, and its values: a list, or a grid.

    Raises ValueError for an unknown name, no values, equal values, or values out of range.
    """

    name: str
    grid: tuple[float, ...] | Grid

    def __post_init__(self) -> None:
        validation.choice("x", self.name, NAMES)
        # As floats where they are not whole numbers: 1 and 1.0 are the same axis.
        if isinstance(self.grid, Grid):
            # Ends first: a mistake is told of what was written, not of what lies between.
            start, stop = (self._checked(getattr(self.grid, end), end) for end in ("start", "stop"))
            object.__setattr__(self, "grid", replace(self.grid, start=start, stop=stop))
            listed = [self._checked(value, self.name) for value in self.values]
        else:
            listed = [self._checked(x, f"{self.name}[{i}]") for i, x in enumerate(self.grid)]
            object.__setattr__(self, "grid", tuple(listed))
        if not listed:
            raise ValueError(f"{self.name} must hold at least one value, got none")
        if twice := [value for value, count in Counter(listed).items() if count > 1]:
            raise ValueError(f"{self.name} must hold distinct values, got {twice[0]!r} twice")

    def _checked(self, value: float, called: str) -> float:
        """A value as `Setting` holds it."""
        try:
            given: dict[str, Any] = {self.name: value}
            return Setting(**given).require(self.name)
        except ValueError as error:
            raise ValueError(f"{called}{str(error).removeprefix(self.name)}") from None

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The values, in the order of the curve."""
        return self.grid.values(self.name) if isinstance(self.grid, Grid) else self.grid

    def plain(self) -> dict[str, Any]:
        """As configurations write it."""
        grid = self.grid.plain() if isinstance(self.grid, Grid) else list(self.grid)
        return {self.name: grid}


def parse_axis(axis: Mapping[str, Any]) -> Axis:
    """The axis that a mapping such as ``{"n": [100, 1000]}`` holds.

    The values are a list, or a mapping with ``start``, ``stop``, ``points`` and, if it is not to be
    geometric, ``spacing``. Raises ValueError for anything else.
    """
    if not isinstance(axis, Mapping) or len(axis) != 1:
        raise ValueError(
            "x must be a mapping of one name to its values, such as {n: [100, 1000]}, "
            f"got {axis!r}"
        )
    [(name, values)] = axis.items()
    if isinstance(values, Mapping):
        keys = {"start", "stop", "points"}
        if not keys <= set(values) <= keys | {"spacing"}:
            raise ValueError(
                f"{name} must have start, stop, points and, if it is not geometric, spacing, "
                f"got {', '.join(map(str, values)) or 'none of them'}"
            )
        return Axis(name, Grid(**values))
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise ValueError(
            f"{name} must be a list of values, or start, stop and points, got {values!r}"
        )
    return Axis(name, tuple(values))
