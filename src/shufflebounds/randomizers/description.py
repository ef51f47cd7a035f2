"""Randomizers as configurations and the command line describe them: parsed once, built at any ε₀.

In YAML a description is a mapping with a ``type``: the name of a mechanism, with its parameters
other than ε₀ beside it, or one of the compositions

* ``joint``: ``parts``, each with a ``mechanism`` (a description) and its ``share`` of ε₀; these
  sum to 1, or are all absent and equal;
* ``k_fold``: ``k`` reports of one value by a ``mechanism``, each at ε₀/k;
* ``parallel``: ``parts``, each with a ``mechanism``, a ``weight`` and a ``share`` (1 if absent), of
  which the largest must be 1;
* ``subsample``: a ``mechanism`` and a ``rate``.

`parse` makes one of the frozen objects below of it. Their ``str`` is what tables print, such as
``parallel(0.5 krr(k=10), 0.5 blh)``; `plain` gives the mapping back.
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

MAX_DEPTH = 20
_MOST_REPORTS = 100
# Keys of the compositions, and of their parts, with the key that may be absent last.
_KEYS = {
    "joint": ["parts"],
    "k_fold": ["mechanism", "k"],
    "parallel": ["parts"],
    "subsample": ["mechanism", "rate"],
}
_PART_KEYS = {"joint": ["mechanism", "share"], "parallel": ["mechanism", "weight", "share"]}
# Both are the number of values that a user may hold; k is what k-RR is named after.
SAME = {"k": "domain_size", "domain_size": "k"}


@dataclass(frozen=True)
class Named:
    """Something known by a name, and its parameters as (name, value)."""

    type: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def plain(self) -> dict[str, Any]:
        """The mapping that `parse` takes."""
        return {"type": self.type, **dict(self.parameters)}

    def __str__(self) -> str:
        listed = ", ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.type}({listed})" if listed else self.type


@dataclass(frozen=True)
class Mechanism(Named):
    """One mechanism and its parameters other than ε₀."""

    @property
    def has_own_eps0(self) -> bool:
        """Whether ε₀ follows from the rest; what is asked for does not matter then."""
        return "eps0" not in _parameters(mechanism(self.type))

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of the files that it names."""
        return tuple(dict(self.parameters)[name] for name in mechanism(self.type).FILES)

    def randomizer(self, eps0: float | None) -> Randomizer:
        """The mechanism at ε₀ (natural log; None where it has its own).

        Raises ValueError where there is none; its blankets must be those of an ε₀-LDP randomizer.
        """
        if self.has_own_eps0:
            return _with_own_eps0(self.type, self.parameters)
        make: Callable[..., Randomizer] = mechanism(self.type)
        made = make(eps0=validation.eps0(eps0), **dict(self.parameters))
        require_private(self.type, made)
        return made


@dataclass(frozen=True)
class Part:
    """A part of a composition, its share of ε₀, and its weight in a parallel one.

    Of a subsample the weight is the rate.
    """

    mechanism: Description
    share: float = 1.0
    weight: float = 1.0


@dataclass(frozen=True)
class CompositionOf:
    """Mechanisms that are composed: ``type`` is one of `registry.COMPOSITIONS`.

    A subsample has one part, a k-fold composition k equal ones.
    """

    type: str
    parts: tuple[Part, ...]

    @property
    def has_own_eps0(self) -> bool:
        """See `Mechanism`; either all parts have their own, or none."""
        return self.parts[0].mechanism.has_own_eps0

    @property
    def files(self) -> tuple[str, ...]:
        """See `Mechanism`."""
        return tuple(file for part in self.parts for file in part.mechanism.files)

    def randomizer(self, eps0: float | None) -> Randomizer:
        """See `Mechanism`; ε₀ is that of the whole report."""
        whole = None if self.has_own_eps0 else validation.eps0(eps0)
        made = []
        for i, part in enumerate(self.parts):
            try:
                own = None if whole is None else part.share * whole
                made.append(part.mechanism.randomizer(own))
            except ValueError as error:
                alone = self.type in ("subsample", "k_fold")
                place = "mechanism" if alone else f"parts[{i}].mechanism"
                raise ValueError(f"{place}: {error}") from None
        weights = [part.weight for part in self.parts]
        if self.type == "joint":
            return Joint(made)
        if self.type == "k_fold":
            return KFold(made[0], len(made))
        if self.type == "parallel":
            return Parallel(list(zip(weights, made, strict=True)))
        return Subsampled(made[0], weights[0])

    def plain(self) -> dict[str, Any]:
        """The mapping that `parse` takes."""
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
        # Equal shares of a joint go without saying, as they do in `parse`.
        shares = {part.share for part in self.parts}
        usual = shares.pop() if self.type == "joint" and len(shares) == 1 else 1.0
        listed = []
        for part in self.parts:
            weight = "" if self.type == "joint" else f"{part.weight} "
            share = "" if part.share == usual else f" at {part.share} eps0"
            listed.append(f"{weight}{part.mechanism}{share}")
        return f"{self.type}({', '.join(listed)})"


Description: TypeAlias = Mechanism | CompositionOf


def types() -> list[str]:
    """What the type of a description may be."""
    return [*mechanism_names(), *COMPOSITIONS]


def parse(description: Mapping[str, Any]) -> Description:
    """The description that a mapping holds.

    Raises ValueError, naming the key, for anything else. Values of parameters are checked when a
    randomizer is built, since what is allowed may depend on ε₀.
    """
    return _parsed("description", description, MAX_DEPTH)


def described(randomizer: Randomizer) -> dict[str, Any] | None:
    """The mapping that describes a mechanism, without ε₀; None for one without a name."""
    for name in mechanism_names():
        if type(randomizer) is mechanism(name):
            parameters = {key: getattr(randomizer, key) for key in _parameters(type(randomizer))}
            given = {key: value for key, value in parameters.items() if value is not None}
            return {"type": name, **{key: given[key] for key in given if key != "eps0"}}
    return None


def _parsed(name: str, description: object, levels: int) -> Description:
    """`parse` of what stands under the key `name`, which may have so many levels."""
    if not isinstance(description, Mapping):
        raise ValueError(
            f"{name} must be a mapping, such as {{'type': 'blh'}}, got {description!r}"
        )
    if levels == 0:
        raise ValueError(f"{name} must be nested at most {MAX_DEPTH} levels deep, got more")
    kind = validation.choice("type", description.get("type"), types())
    given = {key: value for key, value in description.items() if key != "type"}
    if kind not in COMPOSITIONS:
        require_arguments(kind, mechanism(kind), given, ["eps0"])
        found = mechanism(kind).completed(given) if mechanism(kind).FILES else given
        return Mechanism(kind, tuple(found.items()))
    require_keys("", kind, given, _KEYS[kind])
    if kind == "k_fold":
        inner = _parsed("mechanism", given["mechanism"], levels - 1)
        k = validation.whole("k", given["k"], minimum=1, maximum=_MOST_REPORTS)
        return CompositionOf(kind, (Part(inner, share=1.0 / k),) * k)
    if kind == "subsample":
        inner = _parsed("mechanism", given["mechanism"], levels - 1)
        return CompositionOf(
            kind, (Part(inner, weight=validation.probability("rate", given["rate"])),)
        )
    parts = given["parts"]
    if not isinstance(parts, Sequence) or isinstance(parts, str) or not parts:
        raise ValueError(f"parts must be a list of parts that is not empty, got {parts!r}")
    for i, part in enumerate(parts):
        if not isinstance(part, Mapping):
            raise ValueError(f"parts[{i}] must be a mapping, got {part!r}")
        require_keys(f"parts[{i}].", f"a part of {kind}", part, _PART_KEYS[kind], ["share"])
    made = []
    for i, (part, share) in enumerate(zip(parts, _shares(kind, parts), strict=True)):
        inner = _parsed(f"parts[{i}].mechanism", part["mechanism"], levels - 1)
        weight = validation.probability(f"parts[{i}].weight", part.get("weight", 1.0))
        made.append(Part(inner, share, weight))
    own = [i for i, part in enumerate(made) if part.mechanism.has_own_eps0]
    if own and (len(own) < len(made) or any("share" in part for part in parts)):
        raise ValueError(
            f"parts[{own[0]}].mechanism has an eps0 of its own; then every part must, and none of "
            "them a share"
        )
    return CompositionOf(kind, tuple(made))


def _shares(kind: str, parts: Sequence[Mapping]) -> list[float]:
    """The parts' shares of ε₀, those that are left out written in; ValueError for bad ones."""
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
    if is_joint and abs(math.fsum(shares) - 1.0) > 1e-12:
        raise ValueError(f"parts must have shares that sum to 1, got {math.fsum(shares):.13g}")
    if not is_joint and max(shares) != 1.0:
        raise ValueError(f"parts must have 1 for their largest share, got {max(shares)!r}")
    return shares


def require_arguments(
    kind: str, make: Callable, given: Mapping[str, Any], others: Collection[str]
) -> None:
    """ValueError unless `given` is what `make` takes by name beside the `others`."""
    accepted = _parameters(make)
    known = [name for name in accepted if name not in others]
    optional = [name for name in known if accepted[name].default is not inspect.Parameter.empty]
    require_keys("", kind, given, known, optional)


def require_keys(
    place: str,
    kind: str,
    given: Mapping,
    known: Sequence[str],
    optional: Collection[str] = (),
) -> None:
    """ValueError unless `given` has the `known` keys, perhaps without `optional` ones."""
    listed = ", ".join(known) or "none"
    for key in given:
        if key not in known:
            meant = likely(str(key), known)
            guess = f" (did you mean {meant}?)" if meant else ""
            raise ValueError(
                f"{place}{key} is not a parameter of {kind}{guess}; its parameters are: {listed}"
            )
    needed = [key for key in known if key not in optional]
    for key in needed:
        if key not in given:
            raise ValueError(f"{place}{key} is missing; {kind} needs: {', '.join(needed)}")


def likely(name: str, known: Collection[str]) -> str | None:
    """Which of the `known` names a wrong one was meant to be; None if none of them comes close."""
    return SAME[name] if SAME.get(name) in known else validation.likely(name, known)


@cache
def _parameters(make: Callable) -> Mapping[str, inspect.Parameter]:
    """Those of a constructor; Python works them out anew each time, and curves ask often."""
    return inspect.signature(make).parameters


@lru_cache(maxsize=16)
def _with_own_eps0(kind: str, parameters: tuple[tuple[str, Any], ...]) -> Randomizer:
    """What it is made of may be large, and is asked for again by every curve."""
    made = mechanism(kind)(**dict(parameters))
    require_private(kind, made)
    return made
