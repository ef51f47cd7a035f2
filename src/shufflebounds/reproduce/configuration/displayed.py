"""Texts of a configuration that people read: can figures and the report show them?

A text that cannot be drawn must be found before the curves are computed, and no text may become
a part of the report's own page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from shufflebounds.reproduce.configuration.models import PaperEntry
from shufflebounds.reproduce.plotting.texts import plain

# Characters that figures can show for sure, among those of our own texts.
_COMMON = frozenset("ε₀δγωβλ∞→×·−–—…≤≥⌈⌉⌊⌋′⁰²³⁴⁵⁶⁸⁹⁻äöüéõÄÖÜÕ“”‘’")
# What a browser takes for a tag, wherever in the report's page the text ends up.
_TAG = re.compile(r"<[A-Za-z/!?]")


def faults(entry: PaperEntry) -> Iterator[str]:
    """What is wrong with the texts of a paper's configuration."""
    for place, text, uses in _texts(entry):
        if not text.isprintable():
            yield f"{place} is {text!r}; it must be a single line of printable characters"
        if tag := _TAG.search(text):
            yield f"{place} holds {tag[0]!r}, which begins an HTML tag; put a blank after the <"
        if uses & {"drawn", "label"}:
            yield from _formula_faults(place, text)
        if "title" in uses and set("{}") & set(plain(text)):
            yield (
                f"{place} is {text!r}; outside formulas it must have no braces, which the report "
                "of Snakemake takes for a wildcard"
            )
        if "label" in uses and text.startswith("_"):
            yield f"{place} is {text!r}; it must not begin with _, which hides it from the legend"


def _texts(entry: PaperEntry) -> Iterator[tuple[str, str, set[str]]]:
    """Every text, where it stands, and its uses: a title of the report, drawn, in a legend."""
    style = entry.style
    yield "title", entry.title, {"title"}
    labels = [(f"regimes.{name}", one.label, "drawn") for name, one in entry.regimes.items()]
    labels += [(f"style.curves.{name}", look.label, "label") for name, look in style.curves.items()]
    for name, figure in entry.figures.items():
        yield f"figures.{name}.title", figure.title, {"title", "drawn"}
        yield f"figures.{name}.caption", figure.caption, set()
        for i, line in enumerate(figure.lines or ()):
            labels.append((f"figures.{name}.lines[{i}]", line.label, "label"))
    for name, text in style.experiments.items():
        yield f"style.experiments.{name}", text, {"drawn"}
    for place, label, use in labels:
        if label is not None:
            yield f"{place}.label", label, {use}


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
