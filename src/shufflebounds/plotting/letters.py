"""The letters that tell panels apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from string import ascii_lowercase


def letters() -> Iterator[str]:
    """(a), (b), …, (z), (aa), (ab), …"""
    for length in itertools.count(1):
        for name in itertools.product(ascii_lowercase, repeat=length):
            yield f"({''.join(name)})"


def lettered(titles: Sequence[Sequence[str]]) -> list[list[str]]:
    """The parts of each panel's title, the first one behind its letter; empty parts are left out.

    A panel that is alone has no letter.
    """
    parts = [[text for text in texts if text] for texts in titles]
    if len(parts) == 1:
        return parts
    return [
        [" ".join([letter, *texts[:1]]), *texts[1:]]
        for letter, texts in zip(letters(), parts, strict=False)
    ]
