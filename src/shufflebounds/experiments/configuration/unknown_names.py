"""Names that must be declared elsewhere, and the sentence for one that is not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from shufflebounds.experiments.configuration.sentences import shown, suggestion


def unknown_in(place: str, values: Iterable[str], allowed: Collection[str]) -> Iterator[str]:
    """A sentence for each of some values at `place` that is not allowed."""
    for i, value in enumerate(values):
        yield from unknown(f"{place}[{i}]", value, allowed)


def unknown(place: str, value: object, allowed: Collection[str]) -> Iterator[str]:
    """A sentence if the value at `place` is not allowed."""
    if not isinstance(value, str) or value not in allowed:
        yield (
            f"{place} is {shown(value)}{suggestion(value, allowed)}; "
            f"it must be one of {', '.join(allowed) or 'none'}"
        )
