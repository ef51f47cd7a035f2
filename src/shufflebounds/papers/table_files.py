"""Tables of papers as CSV files that carry the digest of what they were made from."""

from __future__ import annotations

import io
import os

import pandas as pd

from shufflebounds._version import __version__
from shufflebounds.experiments import storage


def write(table: pd.DataFrame, digest: str, path: str | os.PathLike[str]) -> None:
    """Write a table with its digest and a checksum (see `storage`), at once or not at all."""
    stamped = table.assign(version=__version__, digest=digest)
    storage.write(list(stamped.columns), stamped.itertuples(index=False, name=None), path)


def read(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table back; ValueError, naming the file, where it is not as `write` wrote it."""
    return pd.read_csv(io.StringIO(storage.read(path)), keep_default_na=False)
