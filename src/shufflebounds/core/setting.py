"""Where a question is asked: numbers of users, privacy parameters, and δ as a share of 1/n."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
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
