"""Pages that are made before Sphinx looks for pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path


def replace(folder: Path, pages: Mapping[str, str]) -> None:
    """Make a folder hold just these pages, by name. One that is there already is left alone."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def plain(text: str) -> str:
    """Text as Markdown that shows just that."""
    return re.sub(r"([\\`*_{}\[\]<>#$|~])", r"\\\1", text)
