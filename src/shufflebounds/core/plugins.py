"""What other packages add to this one, by entry points."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points


@cache
def plugins(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by their names."""
    return {entry.name: entry for entry in entry_points(group=group)}


def load_plugin(what: str, entry: EntryPoint) -> object:
    """Return what an entry point names, such as a bound.

    Raises ValueError if it cannot be loaded.
    """
    try:
        return entry.load()
    except Exception as error:
        # The code of another package may raise any error.
        raise ValueError(
            f"the {what} {entry.name} cannot be loaded from {entry.value}: {error}"
        ) from error
