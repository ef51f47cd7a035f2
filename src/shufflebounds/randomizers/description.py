"""Randomizers as configurations and the command line describe them: parsed once, built at any ε₀.

In YAML a description is a mapping with a ``type``: the name of a mechanism, with its parameters
other than ε₀ beside it, or one of the compositions

* ``joint``: ``parts``, each with a ``mechanism`` (a description) and its ``share`` of ε₀; these
  sum to 1, or are all absent and equal;
* ``parallel``: ``parts``, each with a ``mechanism``, a ``weight`` and a ``share`` (1 if absent), of
  which the largest must be 1;
* ``subsample``: a ``mechanism`` and a ``rate``.

`parse` makes one of the frozen objects below of it. Their ``str`` is what tables print, such as
``parallel(0.5 krr(k=10), 0.5 blh)``; `plain` gives the mapping back.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Any, ClassVar, Protocol

from shufflebounds.core import validation
from shufflebounds.randomizers.base import Randomizer, require_private
from shufflebounds.randomizers.joint import Joint
from shufflebounds.randomizers.mixed import Parallel, Subsampled
from shufflebounds.randomizers.registry import COMPOSITIONS, mechanism, mechanism_names

# Which parameters are given by name, and what a wrong name was probably meant to be.

# Both are the number of values that a user may hold; k is what k-RR is named after.
_SAME = {"k": "domain_size", "domain_size": "k"}


def likely(name: str, known: Collection[str]) -> str | None:
    """One of the `known` names, None if none of them comes close."""
    if _SAME.get(name) in known:
        return _SAME[name]
    near = get_close_matches(name, known, n=1)
    return near[0] if near else None


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


# The parts of a composition as a description lists them: their keys, weights and shares of ε₀.
#
# All functions raise ValueError, naming the key, for what a description may not hold.

# With the key that may be absent last.
_PART_KEYS = {"joint": ["mechanism", "share"], "parallel": ["mechanism", "weight", "share"]}


def checked_parts(kind: str, parts: object) -> Sequence[Mapping]:
    """The parts, if they are a list of mappings with the keys of such a part."""
    if not isinstance(parts, Sequence) or isinstance(parts, str) or not parts:
        raise ValueError(f"parts must be a list of parts that is not empty, got {parts!r}")
    for i, part in enumerate(parts):
        if not isinstance(part, Mapping):
            raise ValueError(f"parts[{i}] must be a mapping, got {part!r}")
        require_keys(f"parts[{i}].", f"a part of {kind}", part, _PART_KEYS[kind], ["share"])
    return parts


def weight(i: int, part: Mapping) -> float:
    """The weight of the i-th part of a parallel composition."""
    return validation.probability(f"parts[{i}].weight", part["weight"])


def shares_of(kind: str, parts: Sequence[Mapping]) -> list[float]:
    """The parts' shares of ε₀, those that are left out written in."""
    return _joint_shares(parts) if kind == "joint" else _parallel_shares(parts)


def _joint_shares(parts: Sequence[Mapping]) -> list[float]:
    missing = [i for i, part in enumerate(parts) if "share" not in part]
    if missing and len(missing) < len(parts):
        raise ValueError(
            f"parts[{missing[0]}].share is missing; the parts of a joint must have shares that "
            "sum to 1, or none of them a share (which makes them equal)"
        )
    shares = [_share(i, part, 1.0 / len(parts)) for i, part in enumerate(parts)]
    if abs(math.fsum(shares) - 1.0) > 1e-12:
        raise ValueError(f"parts must have shares that sum to 1, got {math.fsum(shares):.13g}")
    return shares


def _parallel_shares(parts: Sequence[Mapping]) -> list[float]:
    shares = [_share(i, part, 1.0) for i, part in enumerate(parts)]
    if max(shares) != 1.0:
        raise ValueError(f"parts must have 1 for their largest share, got {max(shares)!r}")
    return shares


def _share(i: int, part: Mapping, default: float) -> float:
    share = validation.probability(f"parts[{i}].share", part.get("share", default))
    if share == 0.0:
        raise ValueError(f"parts[{i}].share must be more than 0, got {part['share']!r}")
    return share


MAX_DEPTH = 20
# Keys of the compositions.
_KEYS = {"joint": ["parts"], "parallel": ["parts"], "subsample": ["mechanism", "rate"]}


class Description(Protocol):
    """What all descriptions offer."""

    @property
    def has_own_eps0(self) -> bool:
        """Whether ε₀ follows from the rest; what is asked for does not matter then."""
        ...

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of the files that it names."""
        ...

    def randomizer(self, eps0: float | None) -> Randomizer:
        """The randomizer at ε₀ of its whole report (natural log); ValueError if there is none.

        None is for one that has its own.
        """
        ...

    def plain(self) -> dict[str, Any]:
        """The mapping that `parse` takes, of numbers, texts, lists and mappings."""
        ...

    def mechanisms(self) -> Iterator[str]:
        """Names of the mechanisms that occur."""
        ...


@dataclass(frozen=True)
class Mechanism:
    """One mechanism and its parameters other than ε₀, as (name, value)."""

    type: str
    parameters: tuple[tuple[str, Any], ...] = ()

    @property
    def has_own_eps0(self) -> bool:
        """See `Description`."""
        return "eps0" not in _parameters(mechanism(self.type))

    @property
    def files(self) -> tuple[str, ...]:
        """See `Description`."""
        return tuple(dict(self.parameters)[name] for name in mechanism(self.type).FILES)

    def randomizer(self, eps0: float | None) -> Randomizer:
        """The mechanism at ε₀; its blankets must be those of an ε₀-LDP randomizer."""
        if self.has_own_eps0:
            return _with_own_eps0(self.type, self.parameters)
        make: Callable[..., Randomizer] = mechanism(self.type)
        made = make(eps0=validation.eps0(eps0), **dict(self.parameters))
        require_private(self.type, made)
        return made

    def plain(self) -> dict[str, Any]:
        """See `Description`."""
        return {"type": self.type, **dict(self.parameters)}

    def mechanisms(self) -> Iterator[str]:
        """See `Description`."""
        yield self.type

    def __str__(self) -> str:
        listed = ", ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.type}({listed})" if listed else self.type


@dataclass(frozen=True)
class Part:
    """A part of a composition, its share of ε₀ and, in a parallel one, its weight."""

    mechanism: Description
    share: float = 1.0
    weight: float | None = None

    def plain(self) -> dict[str, Any]:
        """The mapping that stands for it in a composition."""
        weight = {} if self.weight is None else {"weight": self.weight}
        share = {} if self.mechanism.has_own_eps0 else {"share": self.share}
        return {"mechanism": self.mechanism.plain(), **weight, **share}

    def text(self, usual_share: float) -> str:
        """How a composition lists it; its share is told where it is not the usual one."""
        weight = "" if self.weight is None else f"{self.weight} "
        share = "" if self.share == usual_share else f" at {self.share} eps0"
        return f"{weight}{self.mechanism}{share}"


@dataclass(frozen=True)
class _OfParts:
    TYPE: ClassVar[str]

    parts: tuple[Part, ...]

    @property
    def has_own_eps0(self) -> bool:
        """See `Description`; either all parts have their own, or none."""
        return self.parts[0].mechanism.has_own_eps0

    @property
    def files(self) -> tuple[str, ...]:
        """See `Description`."""
        return tuple(file for part in self.parts for file in part.mechanism.files)

    def mechanisms(self) -> Iterator[str]:
        """See `Description`."""
        for part in self.parts:
            yield from part.mechanism.mechanisms()

    def plain(self) -> dict[str, Any]:
        """See `Description`."""
        return {"type": self.TYPE, "parts": [part.plain() for part in self.parts]}

    def _made(self, eps0: float | None) -> list[Randomizer]:
        whole = 0.0 if self.has_own_eps0 else validation.eps0(eps0)
        return [
            _told(f"parts[{i}].mechanism", part.mechanism, part.share * whole)
            for i, part in enumerate(self.parts)
        ]

    def _listed(self, usual_share: float) -> str:
        return ", ".join(part.text(usual_share) for part in self.parts)


@dataclass(frozen=True)
class JointOf(_OfParts):
    """All parts reported together; their shares of ε₀ sum to 1."""

    TYPE = "joint"

    def randomizer(self, eps0: float | None) -> Joint:
        """See `Description`."""
        return Joint(self._made(eps0))

    def __str__(self) -> str:
        # Equal shares go without saying, as they do in `parse`.
        shares = {part.share for part in self.parts}
        return f"joint({self._listed(shares.pop() if len(shares) == 1 else 1.0)})"


@dataclass(frozen=True)
class ParallelOf(_OfParts):
    """One part drawn by weight; the largest share of ε₀ is 1."""

    TYPE = "parallel"

    def randomizer(self, eps0: float | None) -> Parallel:
        """See `Description`."""
        made = self._made(eps0)
        weights = [part.weight for part in self.parts if part.weight is not None]
        return Parallel(list(zip(weights, made, strict=True)))

    def __str__(self) -> str:
        return f"parallel({self._listed(1.0)})"


@dataclass(frozen=True)
class SubsampleOf:
    """A mechanism whose user takes part with probability ``rate``."""

    mechanism: Description
    rate: float

    @property
    def has_own_eps0(self) -> bool:
        """See `Description`."""
        return self.mechanism.has_own_eps0

    @property
    def files(self) -> tuple[str, ...]:
        """See `Description`."""
        return self.mechanism.files

    def randomizer(self, eps0: float | None) -> Subsampled:
        """See `Description`."""
        return Subsampled(_told("mechanism", self.mechanism, eps0), self.rate)

    def plain(self) -> dict[str, Any]:
        """See `Description`."""
        return {"type": "subsample", "mechanism": self.mechanism.plain(), "rate": self.rate}

    def mechanisms(self) -> Iterator[str]:
        """See `Description`."""
        return self.mechanism.mechanisms()

    def __str__(self) -> str:
        return f"subsample({self.rate} {self.mechanism})"


def parse(description: Mapping[str, Any]) -> Description:
    """The description that a mapping holds.

    Raises ValueError, naming the key, for anything else. Values of parameters are checked when a
    randomizer is built, since what is allowed may depend on ε₀.
    """
    return _parsed("description", description, MAX_DEPTH)


def types() -> list[str]:
    """What the type of a description may be."""
    return [*mechanism_names(), *COMPOSITIONS]


def _parsed(name: str, description: object, levels: int) -> Description:
    """`parse` of what stands under the key `name`, which may have so many levels."""
    if not isinstance(description, Mapping):
        raise ValueError(
            f"{name} must be a mapping, such as {{'type': 'blh'}}, got {description!r}"
        )
    if levels == 0:
        raise ValueError(f"{name} must be nested at most {MAX_DEPTH} levels deep, got more")
    kind = validation.choice("type", description.get("type"), types())
    parameters = {key: value for key, value in description.items() if key != "type"}
    if kind in COMPOSITIONS:
        require_keys("", kind, parameters, _KEYS[kind])
        if kind == "subsample":
            part = _parsed("mechanism", parameters["mechanism"], levels - 1)
            return SubsampleOf(part, validation.probability("rate", parameters["rate"]))
        parts = checked_parts(kind, parameters["parts"])
        made = tuple(
            Part(
                _parsed(f"parts[{i}].mechanism", part["mechanism"], levels - 1),
                share,
                weight(i, part) if kind == "parallel" else None,
            )
            for i, (part, share) in enumerate(zip(parts, shares_of(kind, parts), strict=True))
        )
        _require_same_eps0(made, parts)
        return JointOf(made) if kind == "joint" else ParallelOf(made)
    accepted = _parameters(mechanism(kind))
    keys = [key for key in accepted if key != "eps0"]
    optional = [key for key in keys if accepted[key].default is not inspect.Parameter.empty]
    require_keys("", kind, parameters, keys, optional)
    if mechanism(kind).FILES:
        parameters = mechanism(kind).completed(parameters)
    return Mechanism(kind, tuple(parameters.items()))


def _require_same_eps0(made: Sequence[Part], parts: Sequence[Mapping]) -> None:
    """ValueError where ε₀ cannot be shared, since a part has its own."""
    own = [i for i, part in enumerate(made) if part.mechanism.has_own_eps0]
    if own and (len(own) < len(made) or any("share" in part for part in parts)):
        raise ValueError(
            f"parts[{own[0]}].mechanism has an eps0 of its own; then every part must, and none of "
            "them a share"
        )


@cache
def _parameters(kind: type[Randomizer]) -> Mapping[str, inspect.Parameter]:
    """Those of its constructor; Python works them out anew each time, and curves ask often."""
    return inspect.signature(kind).parameters


@lru_cache(maxsize=16)
def _with_own_eps0(kind: str, parameters: tuple[tuple[str, Any], ...]) -> Randomizer:
    """What it is made of may be large, and is asked for again by every curve."""
    made = mechanism(kind)(**dict(parameters))
    require_private(kind, made)
    return made


def _told(place: str, description: Description, eps0: float | None) -> Randomizer:
    """The randomizer of a part; of a mistake it is told where it is."""
    try:
        return description.randomizer(eps0)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
