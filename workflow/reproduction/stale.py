"""Results that are not what the configuration asks for: noticed before they are used, and named.

Snakemake reruns what an edit of the configuration touches as long as it has a record of how the
results were made. Of files that were copied or committed it has none and takes them as they are;
but these carry their settings, a digest and a checksum.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

# Raises ValueError where a file is not what is wanted.
Verify = Callable[[str], None]


def require(verify: Verify, path: str) -> None:
    """Raise ValueError, which tells how to make the file anew, where it is not what is wanted."""
    try:
        verify(path)
    except ValueError as mistake:
        raise ValueError(f"{mistake}; {_remedy([path])}") from None


def fault(verify: Verify, path: str, recorded: Callable[[str], bool]) -> str | None:
    """What is wrong with a file that is there without a record, if anything."""
    if os.path.exists(path) and not recorded(path):
        try:
            verify(path)
        except ValueError as mistake:
            return str(mistake)
    return None


def refusal(paths: Sequence[str], first: str) -> str:
    """Why files without a record are refused; `first` is what is wrong with one of them."""
    more = f" ({len(paths) - 1} more files are not what is wanted either)" if paths[1:] else ""
    return f"{first}{more}, and Snakemake has no record of how it was made; {_remedy(paths)}"


def _remedy(paths: Sequence[str]) -> str:
    forced = "--forceall" if paths[1:] else f"--forcerun {paths[0]}"
    return f"to have what the configuration asks for, run snakemake --cores all {forced}"
