"""Settings of questions: users and privacy parameters, and axes along which one of them varies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from shufflebounds.core import validation
from shufflebounds.core.number import Number, Real, Whole

# Largest number of points of a grid: larger numbers are mistakes.
MAX_POINTS = 100_000


OVER_N = Real("over_n", "delta times the number of users", gt=0)


@dataclass(frozen=True)
class OverN:
    """δ = ``share``/n. Raises ValueError unless ``share`` is a finite number above 0."""

    share: float

    def __post_init__(self) -> None:
        OVER_N.check(self.share)

    def at(self, n: int) -> float:
        """Return δ for n users; raise ValueError if it is not a probability below 1."""
        try:
            return validation.delta(self.share / n)
        except ValueError as error:
            raise ValueError(f"{error}, which is {self.share!r}/n at n = {n}") from None


@dataclass(frozen=True)
class Setting:
    """The numbers that a question fixes; None for those that it leaves open.

    ``n`` is the number of users. ``eps0`` is ε₀ of everything a user sends, ``eps`` is ε (natural
    logs), and ``delta`` is δ. ``rounds`` counts shuffles of the same users; if it is open, there is
    one. ``order`` is that of a Rényi divergence. In protocols of several messages, a user sends
    ``messages``, and ``target`` is the ε for which the authors chose the other parameters. Training
    adds noise with a ``noise_multiplier``; there, ``n`` counts steps, and ``rounds`` epochs.

    Raises ValueError for values out of range.
    """

    n: int | None = None
    eps0: float | None = None
    delta: float | OverN | None = None
    eps: float | None = None
    rounds: int | None = None
    order: float | None = None
    target: float | None = None
    messages: int | None = None
    noise_multiplier: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.given().items():
            if name != "delta" or not isinstance(value, OverN):
                object.__setattr__(self, name, NUMBERS[name].check(value))

    def given(self) -> dict[str, Any]:
        """Return the values that are not open, by name."""
        values = {name: getattr(self, name) for name in NAMES}
        return {name: value for name, value in values.items() if value is not None}

    def at(self, **values: Any) -> Setting:
        """Return the setting with other values; if n is known, δ = share/n becomes a number."""
        changed = replace(self, **values)
        if isinstance(changed.delta, OverN) and changed.n is not None:
            return replace(changed, delta=changed.delta.at(changed.n))
        return changed

    def require(self, name: str) -> Any:
        """Return the value with this name; raise ValueError if it is open."""
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"{name} is missing")
        return value


# Names of the settings.
NAMES = tuple(field.name for field in fields(Setting))
# What the settings are, by name.
NUMBERS: Mapping[str, Number[Any]] = {
    number.name: number
    for number in (
        *(validation.N, validation.EPS0, validation.DELTA, validation.EPS, validation.ROUNDS),
        *(validation.ORDER, validation.TARGET, validation.MESSAGES, validation.NOISE_MULTIPLIER),
    )
}
# How a grid spaces its points.
SPACINGS = ("geometric", "linear")


@dataclass(frozen=True)
class Grid:
    """``points`` values from ``start`` to ``stop``, both included.

    On an axis of integers all values are distinct integers: if a progression is denser than the
    integers, neighbours move up just enough to differ.
    """

    start: float
    stop: float
    points: int
    spacing: str = "geometric"

    def values(self, name: str) -> tuple[float, ...]:
        """Return the values on the axis `name`; raise ValueError if the grid does not fit it."""
        validation.choice("spacing", self.spacing, SPACINGS)
        if isinstance(NUMBERS[name], Whole):
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
        """Return the values on an axis of integers."""
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
        """Return the number at this share of the way from start to stop."""
        if self.spacing == "linear":
            # The ends are read as decimals, so that 0.15 is halfway between 0.1 and 0.2.
            first, last = Fraction(repr(start)), Fraction(repr(stop))
            return float(first + (last - first) * share)
        return start * (stop / start) ** float(share)

    def _check_order(self, start: float, stop: float) -> None:
        """Raise ValueError if the stop is below the start."""
        if stop < start:
            raise ValueError(f"stop must be at least start, which is {start}, got {stop}")

    def _checked_points(self, start: float, stop: float) -> int:
        """Return the number of points; raise ValueError for a number out of range."""
        return validation.whole(
            "points", self.points, minimum=1 if start == stop else 2, maximum=MAX_POINTS
        )

    def plain(self) -> dict[str, Any]:
        """Return the form that configurations have."""
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
        number = NUMBERS[self.name]  # It makes floats of reals: 1 and 1.0 are one axis.
        if isinstance(self.grid, Grid):
            # The ends are checked first, so that an error names a number that the user wrote.
            start, stop = (number.check(getattr(self.grid, end), end) for end in ("start", "stop"))
            object.__setattr__(self, "grid", replace(self.grid, start=start, stop=stop))
            listed = [number.check(value) for value in self.values]
        else:
            listed = [number.check(x, f"{self.name}[{i}]") for i, x in enumerate(self.grid)]
            object.__setattr__(self, "grid", tuple(listed))
        if not listed:
            raise ValueError(f"{self.name} must hold at least one value, got none")
        if repeated := [value for value, count in Counter(listed).items() if count > 1]:
            raise ValueError(f"{self.name} must hold distinct values, got {repeated[0]!r} twice")

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The values, in the order of the curve."""
        return self.grid.values(self.name) if isinstance(self.grid, Grid) else self.grid

    def plain(self) -> dict[str, Any]:
        """Return the form that configurations have."""
        grid = self.grid.plain() if isinstance(self.grid, Grid) else list(self.grid)
        return {self.name: grid}


def parse_axis(axis: Mapping[str, Any]) -> Axis:
    """Return the axis of a mapping such as ``{"n": [100, 1000]}``.

    The values are a list, or a mapping with ``start``, ``stop``, ``points`` and, unless the grid is
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
