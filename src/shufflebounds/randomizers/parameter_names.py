"""What a wrong name of a parameter was probably meant to be."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

# Both are the number of values that a user may hold; k is what k-RR is named after.
_SAME = {"k": "domain_size", "domain_size": "k"}


def likely(name: str, known: Collection[str]) -> str | None:
    """One of the `known` names, None if none of them comes close."""
    if _SAME.get(name) in known:
        return _SAME[name]
    near = get_close_matches(name, known, n=1)
    return near[0] if near else None
