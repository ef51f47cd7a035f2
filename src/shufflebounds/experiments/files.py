"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place once the block has ended well.

    What has taken its place is on the disk, not only on its way there. A process that is killed
    leaves its temporary file behind, hidden; nothing reads it or writes to it again.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    _sync_folder(path.parent)


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text as UTF-8, at once or not at all."""
    with written_whole(Path(path)) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def _sync_folder(folder: Path) -> None:
    """Put the new name on the disk too, as far as the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
