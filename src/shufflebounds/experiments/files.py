"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """`write_bytes` of a text in UTF-8."""
    write_bytes(text.encode(), path)


def write_bytes(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write a file at once or not at all, or to what is no regular file: a device or a pipe.

    What a link points to is replaced, not the link.
    """
    if _is_replaceable(path):
        _replace(content, Path(os.path.realpath(path)))
    else:
        Path(path).write_bytes(content)


def _is_replaceable(path: str | os.PathLike[str]) -> bool:
    """Whether another file may take the place of what is there, be it nothing."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True


def _replace(content: bytes, path: Path) -> None:
    """Write a temporary file beside `path` that takes its place once it is on the disk.

    A process that is killed leaves its temporary file behind, hidden; nothing reads it or writes to
    it again.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Put the new name on the disk too, as far as the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
