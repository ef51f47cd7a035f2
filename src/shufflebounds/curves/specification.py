"""The specification of a curve: one quantity of one bound of one protocol along one axis.

Made once, from a configuration or from the options of the command line, and passed on: nobody
behind it reads YAML, names of bounds or descriptions of mechanisms again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shufflebounds.bounds.base import OPTIONAL, QUANTITIES, Bound, Numerics
from shufflebounds.bounds.registry import bound
from shufflebounds.core import validation
from shufflebounds.core.setting import NAMES, Axis, OverN, Setting, parse_axis
from shufflebounds.protocols import registry
from shufflebounds.protocols.registry import (
    CohortDescription,
    CohortReports,
    ReportDescription,
    SentDescription,
    SubjectDescription,
    UnnamedRandomizer,
)
from shufflebounds.randomizers import description
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.description import Description
from shufflebounds.subjects.base import InfeasibleError, Subject
from shufflebounds.subjects.cohort import Cohort


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
        The blanket for inputs that differ in so many coordinates of a joint composition (None:
        in any number, of which all is the worst).
    numerics
        Relative width of a divergence; other bounds have none.

    Raises
    ------
    ValueError
        Where the bound does not give the quantity, a setting that it needs is missing, or a
        distance is given to anything but the blanket.

    """

    bound: Bound
    reports: SentDescription
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
        required = needed(self.quantity, self.reports)
        allowed = required | OPTIONAL | {*self.reports.needs}
        unset = {name: None for name in NAMES if name not in allowed - {self.axis.name}}
        object.__setattr__(self, "setting", self.setting.at(**unset))
        if self.axis.name not in allowed:
            raise ValueError(
                f"x must be one of {', '.join(sorted(allowed))} for the quantity {self.quantity}, "
                f"got {self.axis.name}"
            )
        if self.has_rounds and not self.bound.composes:
            raise ValueError(f"rounds must be left out for the bound {self.bound.name}")
        if not self.bound.is_divergence:
            object.__setattr__(self, "numerics", Numerics())
        if self.distance is not None and self.bound.name != "blanket":
            raise ValueError(
                "distance is only valid for the blanket of a joint composition, "
                f"got {self.distance!r} for the bound {self.bound.name}"
            )
        for name in sorted(required - {self.axis.name}):
            if getattr(self.setting, name) is None:
                raise ValueError(
                    f"{name} is missing; a curve of {self.quantity} along {self.axis.name} needs "
                    f"{', '.join(sorted(required - {self.axis.name}))}"
                )

    @property
    def has_rounds(self) -> bool:
        """Whether it is about several rounds."""
        return self.axis.name == "rounds" or self.setting.rounds is not None

    @property
    def label(self) -> str:
        """How figures call what is sent, with its parameters."""
        return self.reports.label(self.setting)

    @property
    def settings(self) -> Iterator[Setting]:
        """The setting at every point of the axis; ValueError where δ leaves its range."""
        return self._at(self.axis.values)

    def _at(self, values: Iterable[float]) -> Iterator[Setting]:
        for value in values:
            yield self.reports.completed(self.setting.at(**{self.axis.name: value}))

    def decisive(self, setting: Setting) -> tuple[Any, ...]:
        """Return what of a setting decides the protocol: equal where settings share one."""
        return tuple(getattr(setting, name) for name in self.reports.needs)

    def protocol(self, setting: Setting) -> Subject:
        """Return what the bound looks at, at one setting.

        All points of an axis along δ or rounds share a protocol, which is made for no δ then.
        """
        if self.axis.name in ("delta", "rounds"):
            setting = replace(setting, delta=None)
        return self.reports.protocol(setting, self.distance)

    def check(self, misfits_by_key: dict[object, InfeasibleError | None] | None = None) -> None:
        """Raise ValueError for what cannot be computed, whatever is too large included.

        There may be settings that no protocol fits, which leave a point empty, but not everywhere.
        `misfits_by_key` holds what earlier calls found out about protocols, and is added to.
        """
        misfits_by_key = {} if misfits_by_key is None else misfits_by_key
        values = self.axis.values
        # What grows too large does so towards an end of the axis.
        misfits = self._misfits((min(values), max(values)), misfits_by_key)
        if all(misfits) and self.axis.name in self.reports.needs:
            misfits = self._misfits(values, misfits_by_key)
        if misfits[-1] and all(misfits):
            raise misfits[-1]

    def _misfits(
        self, values: Iterable[float], misfits_by_key: dict[object, InfeasibleError | None]
    ) -> list[InfeasibleError | None]:
        """Return why no protocol fits the setting at each value, None where one does."""
        misfits = []
        for setting in self._at(values):
            key = (self.reports, self.distance, self.decisive(setting))
            if key not in misfits_by_key:
                misfits_by_key[key] = self._misfit(setting, misfits_by_key)
            misfits.append(misfits_by_key[key])
        return misfits

    def _misfit(
        self, setting: Setting, misfits_by_key: dict[object, InfeasibleError | None]
    ) -> InfeasibleError | None:
        """Return why no protocol fits a setting, else None; raise ValueError if it is too large."""
        try:
            protocol = self.protocol(setting)
        except InfeasibleError as error:
            return error
        # How large it gets does not depend on the distance.
        key = (self.reports, self.decisive(setting))
        if key not in misfits_by_key:
            protocol.check_size()
            misfits_by_key[key] = None
        return None

    def plain(self) -> dict[str, Any]:
        """Return all that decides the curve's values, as numbers, texts, lists and mappings."""
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
        """Return `plain` on one line, as `read` takes it."""
        return json.dumps(self.plain())

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that stand for `plain`."""
        return hashlib.sha256(self.text().encode()).hexdigest()[:16]


def of_question(
    mechanism: Randomizer | Subject | Mapping[str, Any],
    name: str,
    quantity: str,
    rtol: float | None,
    settings: Mapping[str, Any],
) -> Specification:
    """Return what `shufflebounds.curve` computes, which documents the arguments."""
    validation.choice("quantity", quantity, QUANTITIES)
    for key in settings:
        validation.choice("settings", key, NAMES)
    fixed = dict(settings)
    reports: SentDescription
    if isinstance(mechanism, Mapping):
        reports = registry.parse_sent(mechanism)
    else:
        reports = _reports_of(mechanism)
        if "eps0" in reports.needs:
            fixed.setdefault("eps0", mechanism.eps0)
    if "eps0" in fixed and "eps0" not in reports.needs:
        raise ValueError(f"eps0 must be left out: {reports.mechanism} has its own")
    varied = [key for key, value in fixed.items() if isinstance(value, Mapping) or np.ndim(value)]
    if len(varied) != 1:
        listed = " and ".join(varied) or "none"
        raise ValueError(f"settings must hold one list, the axis of the curve, got {listed}")
    values = fixed.pop(varied[0])
    return Specification(
        bound=bound(name),
        reports=reports,
        setting=Setting(**fixed),
        axis=parse_axis(
            {varied[0]: values if isinstance(values, Mapping) else np.asarray(values).tolist()}
        ),
        quantity=quantity,
        numerics=Numerics(rtol),
    )


def _reports_of(sent: Randomizer | Subject) -> ReportDescription | SubjectDescription:
    """Return the description of a mechanism, or of all that users send."""
    if isinstance(sent, Cohort):
        return CohortReports(CohortDescription(_description_of(sent.randomizer), sent.size))
    if isinstance(sent, Randomizer):
        return ReportDescription(_description_of(sent))
    if isinstance(sent, Subject):
        return SubjectDescription(sent)
    raise ValueError(
        "mechanism must be a randomizer, a cohort or a mapping such as {'type': 'blh'}, "
        f"got {sent!r}"
    )


def _description_of(randomizer: Randomizer) -> Description | UnnamedRandomizer:
    """Return the description of a mechanism; one without a name stands for itself."""
    parameters = description.described(randomizer)
    return description.parse(parameters) if parameters else UnnamedRandomizer(randomizer)


def needed(quantity: str, reports: SentDescription) -> set[str]:
    """Return the names of what the axis and the setting of a curve must give together."""
    return {*QUANTITIES[quantity], *reports.needs} - reports.gives


def read(text: str) -> Specification:
    """Return the specification of a `Specification.text`."""
    content = json.loads(text)
    settings = {name: content[name] for name in NAMES if name in content}
    if isinstance(settings.get("delta"), dict):
        settings["delta"] = OverN(settings["delta"]["over_n"])
    return Specification(
        bound=bound(content["bound"]),
        reports=registry.parse_sent(content["mechanism"], content["k_joint"]),
        setting=Setting(**settings),
        axis=parse_axis(content["x"]),
        quantity=content["quantity"],
        distance=content.get("distance"),
        numerics=Numerics(content.get("rtol")),
    )
