"""Texts of a configuration that people read: whether figures and the report can show them.

A text that cannot be drawn must be found before the curves are computed, and no text may become a
part of the report's own page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from shufflebounds.experiments.configuration.models import PaperEntry
from shufflebounds.plotting.plain_text import plain

# Characters that figures can show for sure, among those of our own texts.
_COMMON = frozenset("ε₀δγω∞→×·−–—…≤≥⁻⁶⁸äöüéÄÖÜ“”‘’")
# What a browser takes for a tag, wherever in the report's page the text ends up.
_TAG = re.compile(r"<[A-Za-z/!?]")


def faults(entry: PaperEntry) -> Iterator[str]:
    """What is wrong with the texts of a paper's configuration."""
    for place, text in [*_plain(entry), *_drawn(entry)]:
        if not text.isprintable():
            yield f"{place} is {text!r}; it must be a single line of printable characters"
        if tag := _TAG.search(text):
            yield f"{place} holds {tag[0]!r}, which begins an HTML tag; put a blank after the <"
    for place, text in _drawn(entry):
        yield from _formula_faults(place, text)
    for place, text in _titles(entry):
        if set("{}") & set(plain(text)):
            yield (
                f"{place} is {text!r}; outside formulas it must have no braces, which the report "
                "of Snakemake takes for a wildcard"
            )
    for place, text in _labels(entry):
        if text.startswith("_"):
            yield f"{place} is {text!r}; it must not begin with _, which hides it from the legend"


def _titles(entry: PaperEntry) -> Iterator[tuple[str, str]]:
    yield "title", entry.title
    for name, figure in entry.figures.items():
        yield f"figures.{name}.title", figure.title


def _plain(entry: PaperEntry) -> Iterator[tuple[str, str]]:
    yield "title", entry.title
    for name, figure in entry.figures.items():
        yield f"figures.{name}.caption", figure.caption


def _drawn(entry: PaperEntry) -> Iterator[tuple[str, str]]:
    for name, regime in entry.regimes.items():
        if regime.label is not None:
            yield f"regimes.{name}.label", regime.label
    for name, figure in entry.figures.items():
        yield f"figures.{name}.title", figure.title
    for name, text in entry.style.experiments.items():
        yield f"style.experiments.{name}", text
    yield from _labels(entry)


def _labels(entry: PaperEntry) -> Iterator[tuple[str, str]]:
    for name, look in entry.style.curves.items():
        if look.label is not None:
            yield f"style.curves.{name}.label", look.label
    for name, figure in entry.figures.items():
        for i, line in enumerate(figure.lines or ()):
            if line.label is not None:
                yield f"figures.{name}.lines[{i}].label", line.label


@cache
def _has_glyph(character: str) -> bool:
    """Whether figures can show a character: DejaVu Sans, which Matplotlib brings along."""
    if character.isascii() or character in _COMMON:
        return True
    # Only here, since it takes a second to load.
    from matplotlib import get_data_path
    from matplotlib.ft2font import FT2Font

    font = FT2Font(f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf")
    return bool(font.get_char_index(ord(character)))


def _formula_faults(place: str, text: str) -> Iterator[str]:
    if not text.isascii() and (absent := [c for c in text if not _has_glyph(c)]):
        yield f"{place} is {text!r}; the font of the figures has no character {absent[0]!r}"
    signs = text.count("$") - text.count(r"\$")
    if signs % 2:
        yield rf"{place} is {text!r}, with a $ too few or too many; for the sign itself write \$"
    elif signs:
        # Only here, since it takes a second to load.
        from matplotlib.mathtext import MathTextParser

        try:
            MathTextParser("path").parse(text)
        except (ValueError, RecursionError):
            yield f"{place} is {text!r}, with a formula that Matplotlib cannot draw"
