"""Tables of papers: how they are computed, and CSV files that carry the digest of their input."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reproduction.papers.pages import Page
from shufflebounds._version import __version__
from shufflebounds.bounds.base import Numerics
from shufflebounds.curves import storage
from shufflebounds.randomizers.description import Description

if TYPE_CHECKING:
    import pandas as pd

    from shufflebounds.curves.plotting.sheets import Sheet


@dataclass(frozen=True)
class Context:
    """What a table may refer to: mechanisms by name, and how divergences are computed."""

    mechanisms: Mapping[str, Description]
    numerics: Numerics


@dataclass(frozen=True)
class TableCode:
    """How a kind of table is computed from its parameters, and the page that shows it.

    ``sheet`` makes the figure of a table, given its title, if there is one.
    """

    compute: Callable[[Any, Context], pd.DataFrame]
    page: Callable[[pd.DataFrame], Page]
    sheet: Callable[[pd.DataFrame, str], Sheet] | None = None


def write(table: pd.DataFrame, digest: str, path: str | os.PathLike[str]) -> None:
    """Write a table with its digest and a checksum (see `storage`), at once or not at all."""
    stamped = table.assign(version=__version__, digest=digest)
    storage.write_table(list(stamped.columns), stamped.itertuples(index=False, name=None), path)


def read(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table back; ValueError, naming the file, if it is not as `write` wrote it."""
    import pandas as pd

    return pd.read_csv(io.StringIO(storage.read_table(path)), keep_default_na=False)


def verify(path: str | os.PathLike[str], digest: str) -> None:
    """Raise ValueError, in one sentence, if a file is not the table of a digest."""
    columns = storage.table_columns(path)
    if "digest" not in columns:
        raise ValueError(f"{path} is not a table with a digest")
    storage.require_columns(path, columns, {"digest": digest})
