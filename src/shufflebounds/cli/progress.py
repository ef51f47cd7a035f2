"""The bounds of a command as steps, each shown on one line of a terminal while it is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shufflebounds.bounds.base import Bound
from shufflebounds.core.progress import show_step


def by_step(bounds: Mapping[str, Bound]) -> Iterator[tuple[str, Bound]]:
    """Yield the items of ``bounds``, each of them shown as the step that is computed."""
    for place, (name, bound) in enumerate(bounds.items(), start=1):
        show_step(place, len(bounds), bound.label)
        yield name, bound
