"""Results that are not what config.yaml asks for: noticed before they are used, and named.

Snakemake reruns what an edit of config.yaml touches as long as it has a record of how the results
were made. Of files that were copied or committed it has none and takes them as they are; but these
carry their parameters and a checksum.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def read(kind: ModuleType, path: str, spec: Mapping) -> pd.DataFrame:
    """The table in a file: a curve or a distribution, as `kind` says.

    Raises ValueError, which tells how to make the file anew, where it is not that of `spec`.
    """
    try:
        kind.verify(path, spec)
    except ValueError as mistake:
        raise ValueError(f"{mistake}; {_remedy([path])}") from None
    return kind.read(path)


def fault(
    kind: ModuleType, path: str, spec: Mapping, recorded: Callable[[str], bool]
) -> str | None:
    """What is wrong with a file that is there without a record, if anything."""
    if os.path.exists(path) and not recorded(path):
        try:
            kind.verify(path, spec)
        except ValueError as mistake:
            return str(mistake)
    return None


def refusal(paths: Sequence[str], first: str) -> str:
    """Why files without a record are refused; `first` is what is wrong with one of them."""
    more = f" ({len(paths) - 1} more files are not what is wanted either)" if paths[1:] else ""
    return f"{first}{more}, and Snakemake has no record of how it was made; {_remedy(paths)}"


def _remedy(paths: Sequence[str]) -> str:
    forced = "--forceall" if paths[1:] else f"--forcerun {paths[0]}"
    return f"to have what config.yaml asks for, run snakemake --cores all {forced}"
