"""The parts of a composition as a description lists them: their keys, weights and shares of ε₀.

All functions raise ValueError, naming the key, for what a description may not hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from shufflebounds import validation
from shufflebounds.randomizers.parameter_names import require_keys

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
