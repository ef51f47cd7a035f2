"""Texts of config.yaml that people read: whether figures and the report can show them as they are.

A text that cannot be drawn must be found before the curves are computed, and no text may become a
part of the report's own page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

# What a browser takes for a tag, wherever in the report's page the text ends up.
_TAG = re.compile(r"<[A-Za-z/!?]")


def mistakes(config: Mapping) -> Iterator[str]:
    """What is wrong with the texts of a configuration that has the right form."""
    for place, text in [*_captions(config), *_drawn(config)]:
        if not text.isprintable():
            yield f"{place} is {text!r}; it must be a single line of printable characters"
        if tag := _TAG.search(text):
            yield f"{place} holds {tag[0]!r}, which begins an HTML tag; put a blank after the <"
    for place, text in _drawn(config):
        yield from _formula_mistakes(place, text)
    for place, text in _labels(config):
        if text.startswith("_"):
            yield f"{place} is {text!r}; it must not begin with _, which hides it from the legend"


def _captions(config: Mapping) -> Iterator[tuple[str, str]]:
    for section in ("figures", "distributions"):
        for name, entry in config.get(section, {}).items():
            yield f"{section}.{name}.caption", entry["caption"]


def _drawn(config: Mapping) -> Iterator[tuple[str, str]]:
    for name, regime in config["regimes"].items():
        yield f"regimes.{name}.label", regime["label"]
    for name, entry in config.get("distributions", {}).items():
        yield f"distributions.{name}.title", entry["title"]
    for name, text in config["style"]["experiments"].items():
        yield f"style.experiments.{name}", text
    yield from _labels(config)


def _labels(config: Mapping) -> Iterator[tuple[str, str]]:
    for name, look in config["style"]["curves"].items():
        yield f"style.curves.{name}.label", look["label"]
    for name, figure in config["figures"].items():
        for i, line in enumerate(figure.get("lines", [])):
            yield f"figures.{name}.lines[{i}].label", line["label"]


def _formula_mistakes(place: str, text: str) -> Iterator[str]:
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
