"""Files that are written as a whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text in UTF-8, as `write_bytes` does."""
    write_bytes(text.encode(), path)


def write_bytes(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write a file at once or not at all, or write to a device or a pipe.

    What a link points to is replaced, not the link. A file that is replaced keeps its permissions.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        Path(path).write_bytes(content)
        return
    file = Path(os.path.realpath(path))
    # A process that is killed leaves this behind, hidden; nothing reads it or writes to it again.
    # Nobody can guess its name, and the mode "x" never opens a file or a link that exists.
    part = file.with_name(f".{secrets.token_hex(16)}.part")
    try:
        with part.open("xb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        with suppress(FileNotFoundError):
            shutil.copymode(file, part)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    _sync_folder(file.parent)


def _sync_folder(folder: Path) -> None:
    """Put the new name on the disk too, as far as the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
