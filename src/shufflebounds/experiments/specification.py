"""The specification of a curve: one quantity of one bound of one protocol along one axis.

Made once, from a configuration or from the options of the command line, and passed on: nobody
behind it reads YAML, names of bounds or descriptions of mechanisms again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shufflebounds.bounds.base import OPTIONAL, QUANTITIES, Bound, Numerics
from shufflebounds.bounds.registry import bound
from shufflebounds.experiments import axis as axes
from shufflebounds.experiments import sent
from shufflebounds.experiments.axis import Axis
from shufflebounds.experiments.sent import Sent
from shufflebounds.protocols.base import InfeasibleError, Protocol
from shufflebounds.protocols.single_message import SingleMessage
from shufflebounds.setting import NAMES, OverN, Setting


@dataclass(frozen=True)
class Name:
    """Which curve of a paper this is; only names, no values depend on it."""

    experiment: str
    regime: str
    curve: str

    def __str__(self) -> str:
        return f"{self.experiment}/{self.regime}/{self.curve}"


@dataclass(frozen=True)
class Specification:
    """A curve.

    Parameters
    ----------
    bound
        From `bounds.registry`.
    quantity
        One of the bound's quantities.
    reports
        What a user sends.
    setting
        What is the same all along the curve; its value of the axis's own name does not count.
    axis
        What varies, and its values.
    distance
        The upper bound for inputs that differ in so many coordinates of a joint composition (None:
        in any number, of which all is the worst).
    numerics
        Relative width of a divergence; other bounds have none.

    Raises
    ------
    ValueError
        Where the bound does not give the quantity, a setting that it needs is missing, or a
        distance is given to anything but an upper bound.

    """

    bound: Bound
    reports: Sent
    setting: Setting
    axis: Axis
    quantity: str = "epsilon"
    distance: int | None = None
    numerics: Numerics = field(default_factory=Numerics)

    def __post_init__(self) -> None:
        if self.quantity not in self.bound.quantities:
            raise ValueError(
                f"quantity must be one of {', '.join(self.bound.quantities)} for the bound "
                f"{self.bound.name}, got {self.quantity!r}"
            )
        # What the quantity does not depend on, or the axis gives, is no part of it.
        wanted = needed(self.quantity, self.reports)
        known = wanted | OPTIONAL
        left_open = {name: None for name in NAMES if name not in known - {self.axis.name}}
        object.__setattr__(self, "setting", self.setting.at(**left_open))
        if self.axis.name not in known:
            raise ValueError(
                f"x must be one of {', '.join(sorted(known))} for the quantity {self.quantity}, "
                f"got {self.axis.name}"
            )
        if self.has_rounds and not self.bound.composes:
            raise ValueError(f"rounds must be left out for the bound {self.bound.name}")
        if not self.bound.is_divergence:
            object.__setattr__(self, "numerics", Numerics())
        if self.distance is not None and self.bound.name != "upper":
            raise ValueError(
                "distance is only valid for the upper bound of a joint composition, "
                f"got {self.distance!r} for the bound {self.bound.name}"
            )
        for name in sorted(wanted - {self.axis.name}):
            if getattr(self.setting, name) is None:
                raise ValueError(
                    f"{name} is missing; a curve of {self.quantity} along {self.axis.name} needs "
                    f"{', '.join(sorted(wanted - {self.axis.name}))}"
                )

    @property
    def has_rounds(self) -> bool:
        """Whether it is about several rounds."""
        return self.axis.name == "rounds" or self.setting.rounds is not None

    @property
    def settings(self) -> Iterator[Setting]:
        """The setting at every point of the axis; ValueError where δ leaves its range."""
        for value in self.axis.values:
            yield self.reports.completed(self.setting.at(**{self.axis.name: value}))

    def decisive(self, setting: Setting) -> tuple[Any, ...]:
        """What of a setting decides the protocol: equal where settings share one."""
        return tuple(getattr(setting, name) for name in self.reports.needs)

    def protocol(self, setting: Setting) -> Protocol:
        """What the bound looks at, at one setting."""
        if self.bound.knows_mechanism:
            return self.reports.protocol(setting, self.distance)
        return self.reports.generic(setting)

    def check(self) -> None:
        """Raise ValueError for what cannot be computed, whatever is too large included.

        There may be settings that no protocol fits, which leave a point empty, but not everywhere.
        """
        settings = list(self.settings)
        distinct = {self.decisive(setting): setting for setting in settings}
        impossible = 0
        for setting in distinct.values():
            try:
                protocol = self.protocol(setting)
            except InfeasibleError:
                impossible += 1
                if impossible == len(distinct):
                    raise
                continue
            if isinstance(protocol, SingleMessage):
                protocol.check_size()

    def plain(self) -> dict[str, Any]:
        """Everything that decides its values, as numbers, texts, lists and mappings."""
        setting = self.setting.given()
        if isinstance(self.setting.delta, OverN):
            setting["delta"] = {"over_n": self.setting.delta.share}
        content = {
            "quantity": self.quantity,
            "bound": self.bound.name,
            "mechanism": self.reports.mechanism.plain(),
            "k_joint": self.reports.k_joint,
            **({"distance": self.distance} if self.distance is not None else {}),
            **setting,
            "x": self.axis.plain(),
        }
        if self.bound.is_divergence:
            content["rtol"] = self.numerics.rtol
        return content

    def text(self) -> str:
        """`plain` on one line, as `read` takes it."""
        return json.dumps(self.plain())

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that stand for `plain`."""
        return hashlib.sha256(self.text().encode()).hexdigest()[:16]


def needed(quantity: str, reports: Sent) -> set[str]:
    """Names of what the axis and the setting of a curve must give together."""
    return {*QUANTITIES[quantity], *reports.needs} - reports.gives


def read(text: str) -> Specification:
    """The specification of a `Specification.text`."""
    content = json.loads(text)
    given = {name: content[name] for name in NAMES if name in content}
    if isinstance(given.get("delta"), dict):
        given["delta"] = OverN(given["delta"]["over_n"])
    return Specification(
        bound=bound(content["bound"]),
        reports=sent.parse(content["mechanism"], content["k_joint"]),
        setting=Setting(**given),
        axis=axes.parse(content["x"]),
        quantity=content["quantity"],
        distance=content.get("distance"),
        numerics=Numerics(content.get("rtol")),
    )
