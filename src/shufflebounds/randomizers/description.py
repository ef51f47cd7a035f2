"""Descriptions of randomizers in configurations and on the command line.

In YAML a description is a mapping with a ``type``. It is the name of a mechanism, with its
parameters beside it, or one of the compositions below. A mechanism may have an ``eps0`` of its own
beside them, or the probabilities that ``from_probabilities`` of its class takes.

* ``joint``: ``parts``, each with a ``mechanism`` (a description) and its ``share`` of ε₀; the
  shares sum to 1, or are left out and equal;
* ``k_fold``: ``k`` reports of one value by a ``mechanism``, each at ε₀/k;
* ``parallel``: ``parts``, each with a ``mechanism``, a ``weight`` and a ``share`` (1 if left out);
  the largest share must be 1;
* ``subsample``: a ``mechanism`` and a ``rate``.

`parse` turns it into a frozen object, which builds the randomizer at any ε₀. Tables print its
``str``, such as ``parallel(0.5 krr(k=10), 0.5 blh)``; its ``plain()`` is the mapping again.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeAlias

from shufflebounds.core import validation
from shufflebounds.randomizers.base import Randomizer, require_private
from shufflebounds.randomizers.joint import Joint
from shufflebounds.randomizers.matrix import KFold
from shufflebounds.randomizers.mixed import Parallel, Subsampled
from shufflebounds.randomizers.registry import COMPOSITIONS, mechanism, mechanism_names

# Largest number of levels of a description.
MAX_DEPTH = 20
# Keys of the compositions.
_KEYS = {
    "joint": ["parts"],
    "k_fold": ["mechanism", "k"],
    "parallel": ["parts"],
    "subsample": ["mechanism", "rate"],
}
# Keys of the parts of a composition.
_PART_KEYS = {"joint": ["mechanism", "share"], "parallel": ["mechanism", "weight", "share"]}
# Two names of the number of values that a user may hold; k is the one of k-RR.
SYNONYMS = {"k": "domain_size", "domain_size": "k"}


@dataclass(frozen=True)
class NamedDescription:
    """The name of a mechanism or protocol, and its parameters as (name, value)."""

    type: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the mapping that `parse` takes."""
        return {"type": self.type, **dict(self.parameters)}

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.type}({parameters})" if parameters else self.type


@dataclass(frozen=True)
class MechanismDescription(NamedDescription):
    """The name of a mechanism and its parameters; ε₀ is one of them if it is its own."""

    @property
    def has_own_eps0(self) -> bool:
        """Whether ε₀ is among the parameters or follows from them, so that it is no argument."""
        names = [name for name, _ in self.parameters]
        return "eps0" in names or "eps0" not in _parameters(randomizer_maker(self.type, names))

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of the files that it names."""
        return tuple(dict(self.parameters)[name] for name in mechanism(self.type).FILES)

    def randomizer(self, eps0: float | None) -> Randomizer:
        """Return the mechanism at ε₀ (natural log); None stands for the mechanism's own ε₀.

        Raises ValueError for a bad ε₀ or parameter, and if the blankets are not those of an ε₀-LDP
        randomizer.
        """
        if self.has_own_eps0:
            return _with_own_eps0(self.type, self.parameters)
        make: Callable[..., Randomizer] = mechanism(self.type)
        randomizer = make(eps0=validation.eps0(eps0), **dict(self.parameters))
        require_private(self.type, randomizer)
        return randomizer


@dataclass(frozen=True)
class Part:
    """A part of a composition, its share of ε₀, and its weight in a parallel composition.

    The weight of a subsample is the rate.
    """

    mechanism: Description
    share: float = 1.0
    weight: float = 1.0


@dataclass(frozen=True)
class CompositionDescription:
    """A composition of mechanisms; ``type`` is one of `registry.COMPOSITIONS`.

    A subsample has one part, a k-fold composition k equal parts.
    """

    type: str
    parts: tuple[Part, ...]

    @property
    def has_own_eps0(self) -> bool:
        """See `MechanismDescription`; either all parts have their own ε₀, or no part has."""
        return self.parts[0].mechanism.has_own_eps0

    @property
    def files(self) -> tuple[str, ...]:
        """See `MechanismDescription`."""
        return tuple(file for part in self.parts for file in part.mechanism.files)

    def randomizer(self, eps0: float | None) -> Randomizer:
        """See `MechanismDescription`; ε₀ is that of the whole report."""
        report_eps0 = None if self.has_own_eps0 else validation.eps0(eps0)
        randomizers = []
        for i, part in enumerate(self.parts):
            try:
                part_eps0 = None if report_eps0 is None else part.share * report_eps0
                randomizers.append(part.mechanism.randomizer(part_eps0))
            except ValueError as error:
                has_one_key = self.type in ("subsample", "k_fold")
                place = "mechanism" if has_one_key else f"parts[{i}].mechanism"
                raise ValueError(f"{place}: {error}") from None
        weights = [part.weight for part in self.parts]
        if self.type == "joint":
            return Joint(randomizers)
        if self.type == "k_fold":
            return KFold(randomizers[0], len(randomizers))
        if self.type == "parallel":
            return Parallel(list(zip(weights, randomizers, strict=True)))
        return Subsampled(randomizers[0], weights[0])

    def plain(self) -> dict[str, Any]:
        """Return the mapping that `parse` takes."""
        if self.type == "subsample":
            [part] = self.parts
            return {"type": self.type, "mechanism": part.mechanism.plain(), "rate": part.weight}
        if self.type == "k_fold":
            inner = self.parts[0].mechanism.plain()
            return {"type": self.type, "mechanism": inner, "k": len(self.parts)}
        parts = []
        for part in self.parts:
            weight = {"weight": part.weight} if self.type == "parallel" else {}
            share = {} if self.has_own_eps0 else {"share": part.share}
            parts.append({"mechanism": part.mechanism.plain(), **weight, **share})
        return {"type": self.type, "parts": parts}

    def __str__(self) -> str:
        if self.type == "k_fold":
            return f"k_fold({self.parts[0].mechanism}, {len(self.parts)})"
        # Equal shares of a joint are left out, as they may be in a mapping.
        shares = {part.share for part in self.parts}
        default = shares.pop() if self.type == "joint" and len(shares) == 1 else 1.0
        parts = []
        for part in self.parts:
            weight = "" if self.type == "joint" else f"{part.weight} "
            share = "" if part.share == default else f" at {part.share} eps0"
            parts.append(f"{weight}{part.mechanism}{share}")
        return f"{self.type}({', '.join(parts)})"


Description: TypeAlias = MechanismDescription | CompositionDescription


def randomizer_maker(kind: str, names: Collection[str]) -> Callable[..., Randomizer]:
    """Return the class of a mechanism, or its ``from_probabilities`` if one of the names asks so.

    Parameters
    ----------
    kind
        The name of the mechanism.
    names
        Names of parameters that are given.
    """
    class_: Any = mechanism(kind)
    return class_.from_probabilities if {*class_.PROBABILITIES} & {*names} else class_


def types() -> list[str]:
    """Return the types that a description may have."""
    return [*mechanism_names(), *COMPOSITIONS]


def parse(description: Mapping[str, Any]) -> Description:
    """Return the description in a mapping.

    Raises ValueError, which names the key, for any other mapping. Values of parameters are checked
    when a randomizer is built, since their ranges may depend on ε₀.
    """
    return _parse_nested("description", description, MAX_DEPTH)


def described(randomizer: Randomizer) -> dict[str, Any] | None:
    """Return the mapping that describes a mechanism, without ε₀; None if it has no name."""
    for name in mechanism_names():
        if type(randomizer) is mechanism(name):
            parameters = {key: getattr(randomizer, key) for key in _parameters(type(randomizer))}
            used = {key: x for key, x in parameters.items() if x is not None and key != "eps0"}
            return {"type": name, **used}
    return None


def _parse_nested(name: str, description: object, levels: int) -> Description:
    """Return the description under the key `name`, which may have at most so many levels."""
    if not isinstance(description, Mapping):
        raise ValueError(
            f"{name} must be a mapping, such as {{'type': 'blh'}}, got {description!r}"
        )
    if levels == 0:
        raise ValueError(f"{name} must be nested at most {MAX_DEPTH} levels deep, got more")
    kind = validation.choice("type", description.get("type"), types())
    arguments = {key: value for key, value in description.items() if key != "type"}
    if kind not in COMPOSITIONS:
        return _parse_mechanism(kind, arguments)
    require_keys("", kind, arguments, _KEYS[kind])
    if kind in ("joint", "parallel"):
        return _parse_composition(kind, arguments["parts"], levels)
    mechanism_ = _parse_nested("mechanism", arguments["mechanism"], levels - 1)
    if kind == "k_fold":
        k = validation.K_JOINT.check(arguments["k"], "k")
        return CompositionDescription(kind, (Part(mechanism_, share=1.0 / k),) * k)
    rate = validation.probability("rate", arguments["rate"])
    return CompositionDescription(kind, (Part(mechanism_, weight=rate),))


def _parse_mechanism(kind: str, arguments: dict[str, Any]) -> MechanismDescription:
    """Return the description of a mechanism with these arguments."""
    class_, make = mechanism(kind), randomizer_maker(kind, arguments)
    replaced = _parameters(class_).keys() - _parameters(make).keys()
    for name in replaced & arguments.keys():
        given = [key for key in arguments if key in class_.PROBABILITIES]
        raise ValueError(
            f"{name} must be left out of {kind} with {' and '.join(given)}, which "
            f"{'determine' if len(given) > 1 else 'determines'} it"
        )
    own_eps0 = {}
    if "eps0" in arguments and "eps0" in _parameters(class_):
        own_eps0 = {"eps0": validation.eps0(arguments.pop("eps0"))}
    further_names = () if make is not class_ else class_.PROBABILITIES
    require_arguments(kind, make, arguments, ["eps0"], further_names)
    if class_.FILES:
        arguments = class_.completed(arguments)
    return MechanismDescription(kind, tuple((arguments | own_eps0).items()))


def _parse_composition(kind: str, parts: object, levels: int) -> CompositionDescription:
    """Return the description of a joint or parallel composition of these parts."""
    if not isinstance(parts, Sequence) or isinstance(parts, str) or not parts:
        raise ValueError(f"parts must be a list of parts that is not empty, got {parts!r}")
    for i, part in enumerate(parts):
        if not isinstance(part, Mapping):
            raise ValueError(f"parts[{i}] must be a mapping, got {part!r}")
        require_keys(f"parts[{i}].", f"a part of {kind}", part, _PART_KEYS[kind], ["share"])
    described_parts = []
    for i, (part, share) in enumerate(zip(parts, _part_shares(kind, parts), strict=True)):
        mechanism_ = _parse_nested(f"parts[{i}].mechanism", part["mechanism"], levels - 1)
        weight = validation.probability(f"parts[{i}].weight", part.get("weight", 1.0))
        described_parts.append(Part(mechanism_, share, weight))
    with_own_eps0 = [i for i, x in enumerate(described_parts) if x.mechanism.has_own_eps0]
    are_mixed = 0 < len(with_own_eps0) < len(described_parts)
    if are_mixed or (with_own_eps0 and any("share" in part for part in parts)):
        raise ValueError(
            f"parts[{with_own_eps0[0]}].mechanism has an eps0 of its own; then every part must, "
            "and none of them a share"
        )
    return CompositionDescription(kind, tuple(described_parts))


def _part_shares(kind: str, parts: Sequence[Mapping]) -> list[float]:
    """Return the parts' shares of ε₀, with defaults; raise ValueError for bad shares."""
    is_joint = kind == "joint"
    missing = [i for i, part in enumerate(parts) if "share" not in part]
    if is_joint and missing and len(missing) < len(parts):
        raise ValueError(
            f"parts[{missing[0]}].share is missing; the parts of a joint must have shares that "
            "sum to 1, or none of them a share (which makes them equal)"
        )
    default, shares = 1.0 / len(parts) if is_joint else 1.0, []
    for i, part in enumerate(parts):
        share = validation.probability(f"parts[{i}].share", part.get("share", default))
        if share == 0.0:
            raise ValueError(f"parts[{i}].share must be more than 0, got {part['share']!r}")
        shares.append(share)
    if is_joint and abs(math.fsum(shares) - 1.0) > validation.SUM_TOLERANCE:
        raise ValueError(f"parts must have shares that sum to 1, got {math.fsum(shares):.13g}")
    if not is_joint and max(shares) != 1.0:
        raise ValueError(f"parts must have 1 for their largest share, got {max(shares)!r}")
    return shares


def require_arguments(
    kind: str,
    make: Callable,
    arguments: Mapping[str, Any],
    excluded_names: Collection[str],
    further_names: Collection[str] = (),
) -> None:
    """Raise ValueError unless `make` takes these arguments by name, without the excluded names.

    A message about an unknown name lists the further names, too.
    """
    parameters = _parameters(make)
    names = [name for name in parameters if name not in excluded_names]
    optional = [name for name in names if parameters[name].default is not inspect.Parameter.empty]
    more = [name for name in further_names if name not in names]
    require_keys("", kind, arguments, [*names, *more], [*optional, *more])


def require_keys(
    place: str,
    kind: str,
    mapping: Mapping,
    keys: Sequence[str],
    optional: Collection[str] = (),
) -> None:
    """Raise ValueError unless the mapping has exactly these keys; optional keys may be left out."""
    for key in mapping:
        if key not in keys:
            similar = similar_parameter(str(key), keys)
            hint = f" (did you mean {similar}?)" if similar else ""
            raise ValueError(
                f"{place}{key} is not a parameter of {kind}{hint}; its parameters are: "
                f"{', '.join(keys) or 'none'}"
            )
    required_keys = [key for key in keys if key not in optional]
    for key in required_keys:
        if key not in mapping:
            raise ValueError(f"{place}{key} is missing; {kind} needs: {', '.join(required_keys)}")


def similar_parameter(name: str, names: Collection[str]) -> str | None:
    """Return the one of `names` that a wrong name probably means; None if all differ too much."""
    return SYNONYMS[name] if SYNONYMS.get(name) in names else validation.likely(name, names)


@cache
def _parameters(make: Callable) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a constructor. Python computes them each time, which is slow."""
    return inspect.signature(make).parameters


@lru_cache(maxsize=16)
def _with_own_eps0(kind: str, parameters: tuple[tuple[str, Any], ...]) -> Randomizer:
    """Return a mechanism with its own ε₀. All curves share it, since its arrays may be large."""
    arguments = dict(parameters)
    randomizer = randomizer_maker(kind, arguments)(**arguments)
    require_private(kind, randomizer)
    return randomizer


# Deprecated name of `MechanismDescription`.
Mechanism = MechanismDescription
# Deprecated name of `CompositionDescription`.
CompositionOf = CompositionDescription
