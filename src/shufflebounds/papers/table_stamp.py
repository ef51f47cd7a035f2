"""Is a file the table that is wanted? Found out without pandas, since planning a run asks it."""

from __future__ import annotations

import os

from shufflebounds.experiments import storage


def verify(path: str | os.PathLike[str], digest: str) -> None:
    """Raise ValueError, in one sentence, where a file is not the table of a digest."""
    found = storage.columns(path)
    if "digest" not in found:
        raise ValueError(f"{path} is not a table with a digest")
    storage.require(path, found, {"digest": digest})
