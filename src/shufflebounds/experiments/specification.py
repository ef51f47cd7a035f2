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

from shufflebounds import validation
from shufflebounds.bounds.base import QUANTITIES, Bound, Numerics
from shufflebounds.bounds.registry import bound
from shufflebounds.divergence.exact import check_size
from shufflebounds.experiments import axis as axes
from shufflebounds.experiments.axis import Axis
from shufflebounds.protocols.base import Protocol
from shufflebounds.protocols.single_message import GenericReports, SingleMessage
from shufflebounds.randomizers import description
from shufflebounds.randomizers.composed import repeated
from shufflebounds.randomizers.description import Description, Mechanism
from shufflebounds.setting import NAMES, OverN, Setting

MAX_JOINT = 100


@dataclass(frozen=True)
class Reports:
    """What a user sends: ``k_joint`` independent reports of a mechanism, each at ε₀/k_joint.

    Raises ValueError unless 1 ≤ ``k_joint`` ≤ 100.
    """

    mechanism: Description
    k_joint: int = 1

    def __post_init__(self) -> None:
        validation.whole("k_joint", self.k_joint, minimum=1, maximum=MAX_JOINT)

    @property
    def is_composed(self) -> bool:
        """Whether a user sends more than one plain report of one mechanism."""
        return self.k_joint != 1 or not isinstance(self.mechanism, Mechanism)

    def protocol(self, eps0: float, distance: int | None = None) -> SingleMessage:
        """The protocol at ε₀ of all that a user sends (natural log)."""
        eps0 = validation.eps0(eps0)
        one = self.mechanism.randomizer(eps0 / self.k_joint)
        return SingleMessage(repeated(one, self.k_joint), eps0, distance)

    def generic(self, eps0: float) -> GenericReports:
        """What is known of them by a bound that does not look at the mechanism.

        The parts of a composition may have a rounding more than ε₀ together.
        """
        whole = self.protocol(eps0).eps0 if self.is_composed else eps0
        return GenericReports(validation.eps0(whole))


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
        Engine and relative width of a divergence; other bounds have neither.

    Raises
    ------
    ValueError
        Where the bound does not give the quantity, a setting that it needs is missing, or a
        distance is given to anything but an upper bound.

    """

    bound: Bound
    reports: Reports
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
        wanted = needed(self.quantity)
        left_open = {name: None for name in NAMES if name not in wanted - {self.axis.name}}
        object.__setattr__(self, "setting", self.setting.at(**left_open))
        if self.axis.name not in wanted:
            raise ValueError(
                f"x must be one of {', '.join(sorted(wanted))} for the quantity {self.quantity}, "
                f"got {self.axis.name}"
            )
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
    def settings(self) -> Iterator[Setting]:
        """The setting at every point of the axis; ValueError where δ leaves its range."""
        for value in self.axis.values:
            yield self.setting.at(**{self.axis.name: value})

    def protocol(self, eps0: float) -> Protocol:
        """What the bound looks at, at one ε₀ (natural log)."""
        if self.bound.knows_mechanism:
            return self.reports.protocol(eps0, self.distance)
        return self.reports.generic(eps0)

    def check(self) -> None:
        """Raise ValueError for what cannot be computed, whatever is too large included."""
        settings = list(self.settings)
        for eps0 in dict.fromkeys(setting.require("eps0") for setting in settings):
            protocol = self.protocol(eps0)
            if isinstance(protocol, SingleMessage):
                protocol.check_size()
            if self.numerics.engine == "exact" and self.bound.candidates is not None:
                largest = max(setting.require("n") for setting in settings)
                for candidate in self.bound.candidates(protocol):
                    for ends in candidate.decomposition.directions:
                        for end in ends:
                            check_size(end, protocol.draws(largest))

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
            content |= {"engine": self.numerics.engine, "rtol": self.numerics.rtol}
        return content

    def text(self) -> str:
        """`plain` on one line, as `read` takes it."""
        return json.dumps(self.plain())

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that stand for `plain`."""
        return hashlib.sha256(self.text().encode()).hexdigest()[:16]


def needed(quantity: str) -> set[str]:
    """Names of what the axis and the setting of a curve must give together."""
    return {*QUANTITIES[quantity], "eps0"}


def read(text: str) -> Specification:
    """The specification of a `Specification.text`."""
    content = json.loads(text)
    over_n = isinstance(content.get("delta"), dict)
    delta = OverN(content["delta"]["over_n"]) if over_n else content.get("delta")
    return Specification(
        bound=bound(content["bound"]),
        reports=Reports(description.parse(content["mechanism"]), content["k_joint"]),
        setting=Setting(content.get("n"), content.get("eps0"), delta, content.get("eps")),
        axis=axes.parse(content["x"]),
        quantity=content["quantity"],
        distance=content.get("distance"),
        numerics=Numerics(content["engine"], content["rtol"])
        if "engine" in content
        else Numerics(),
    )
