"""Which parameters are given by name, and what a wrong name was probably meant to be."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches

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
