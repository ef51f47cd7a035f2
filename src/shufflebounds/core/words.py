"""Numbers in sentences."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number with a noun, whose plural has an s, such as ``1 round`` and ``2 rounds``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
