"""From a description to the randomizer it describes; see `descriptions`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches

import numpy as np

from shufflebounds import randomizers, validation
from shufflebounds.composition import Joint, Parallel, Subsampled
from shufflebounds.descriptions import COMPOSITIONS
from shufflebounds.randomizers.base import Randomizer

_DEEPEST = 20
# Keys of a composition and of its parts, with those that may be absent last.
_KEYS = {"joint": ["parts"], "parallel": ["parts"], "subsample": ["mechanism", "rate"]}
_PART_KEYS = {"joint": ["mechanism", "share"], "parallel": ["mechanism", "weight", "share"]}


def randomizer(description: Mapping, eps0: float) -> Randomizer:
    """The randomizer of a description at ε₀ of its whole report (natural log).

    Raises ValueError, naming the key, for anything that is no description.
    """
    return _made("description", description, validation.eps0(eps0), _DEEPEST)


def types() -> list[str]:
    """What the type of a description may be."""
    return [*randomizers.mechanism_names(), *COMPOSITIONS]


def _made(name: str, description: object, eps0: float, levels: int) -> Randomizer:
    """`randomizer` of the description under the key `name`, which may have so many levels."""
    if not isinstance(description, Mapping):
        raise ValueError(
            f"{name} must be a mapping, such as {{'type': 'blh'}}, got {description!r}"
        )
    if levels == 0:
        raise ValueError(f"{name} must be nested at most {_DEEPEST} levels deep, got more")
    kind = validation.choice("type", description.get("type"), types())
    parameters = {key: value for key, value in description.items() if key != "type"}
    if kind == "subsample":
        _require_keys("", kind, parameters, _KEYS[kind])
        made = _made("mechanism", parameters["mechanism"], eps0, levels - 1)
        return Subsampled(made, parameters["rate"])
    if kind in COMPOSITIONS:
        _require_keys("", kind, parameters, _KEYS[kind])
        parts = _parts(kind, parameters["parts"])
        shares = _joint_shares(parts) if kind == "joint" else _parallel_shares(parts)
        made = [
            _made(f"parts[{i}].mechanism", part["mechanism"], share * eps0, levels - 1)
            for i, (part, share) in enumerate(zip(parts, shares, strict=True))
        ]
        if kind == "joint":
            return Joint(made)
        return Parallel(list(zip((part["weight"] for part in parts), made, strict=True)))
    mechanism = randomizers.mechanism(kind)
    accepted = inspect.signature(mechanism).parameters
    keys = [key for key in accepted if key != "eps0"]
    optional = [key for key in keys if accepted[key].default is not inspect.Parameter.empty]
    _require_keys("", kind, parameters, keys, optional)
    made = mechanism(eps0=eps0, **parameters)
    _require_private(kind, made)
    return made


def _require_private(kind: str, made: Randomizer) -> None:
    """ValueError for a mistake in a mechanism that its blanket betrays; baselines rely on ε₀."""
    try:
        blanket = made.blanket()
    except ValueError as error:
        raise ValueError(f"the blanket of {kind} is no decomposition: {error}") from None
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.abs(np.log(blanket.a) - np.log(blanket.b))
    largest = np.max(losses, where=~np.isnan(losses), initial=0.0)
    # The entries' own rounding, and that of their logarithms.
    if largest > made.eps0 + 2.1 * blanket.rel_err + 1e-12 * (1.0 + made.eps0):
        raise ValueError(
            f"the blanket of {kind} must be that of an eps0-LDP randomizer, got a component with a "
            f"loss |log a/b| of {largest:.6g} at eps0 = {made.eps0!r}"
        )


def _parts(kind: str, parts: object) -> Sequence[Mapping]:
    if not isinstance(parts, Sequence) or isinstance(parts, str) or not parts:
        raise ValueError(f"parts must be a list of parts that is not empty, got {parts!r}")
    for i, part in enumerate(parts):
        if not isinstance(part, Mapping):
            raise ValueError(f"parts[{i}] must be a mapping, got {part!r}")
        _require_keys(f"parts[{i}].", f"a part of {kind}", part, _PART_KEYS[kind], ["share"])
    return parts


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


def _require_keys(
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
            near = get_close_matches(str(key), known, n=1)
            guess = f" (did you mean {near[0]}?)" if near else ""
            raise ValueError(
                f"{place}{key} is no parameter of {kind}{guess}; its parameters are: {listed}"
            )
    needed = [key for key in known if key not in optional]
    for key in needed:
        if key not in given:
            raise ValueError(f"{place}{key} is missing; {kind} needs: {', '.join(needed)}")
