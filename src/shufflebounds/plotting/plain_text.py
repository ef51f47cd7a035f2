"""Matplotlib's formulas as plain Unicode, for where none can be set: ``$10^{-6}$`` is 10⁻⁶."""

from __future__ import annotations

import re
import unicodedata

_FORMULA = re.compile(r"(?<!\\)\$(.*?)(?<!\\)\$")
_SCRIPT = re.compile(r"([_^])(?:\{([^{}]*)\}|(.))")
_COMMAND = re.compile(r"\\([A-Za-z]+)|\\(.)")
_NAMES = {
    "varepsilon": "ε",
    "epsilon": "ε",
    "cdot": "·",
    "times": "×",
    "to": "→",
    "infty": "∞",
    "leq": "≤",
    "le": "≤",
    "geq": "≥",
    "ge": "≥",
    "prime": "′",
    "quad": " ",
}
_UPPER = str.maketrans("0123456789+−nε", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵋ")
_LOWER = str.maketrans("0123456789+−n", "₀₁₂₃₄₅₆₇₈₉₊₋ₙ")


def plain(text: str) -> str:
    """The text with its formulas in Unicode; what has no such character stays as it is written.

    Powers are raised and indices lowered where Unicode has the characters, else they keep their
    ^ or _.
    """
    return _FORMULA.sub(lambda match: _formula(match[1]), text).replace(r"\$", "$")


def _formula(tex: str) -> str:
    shown = _COMMAND.sub(_character, tex).replace("'", "′").replace("-", "−")
    return _SCRIPT.sub(_script, shown).replace("{", "").replace("}", "")


def _character(command: re.Match[str]) -> str:
    name = command[1]
    if name is None:
        # A space such as \, or a character that would mean something else.
        return "" if command[2] in ",;:!" else command[2]
    if name in _NAMES:
        return _NAMES[name]
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    letter = "LAMDA" if name.lower() == "lambda" else name.upper()
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {letter}")
    except KeyError:
        return name


def _script(match: re.Match[str]) -> str:
    inside = match[2] if match[2] is not None else match[3]
    moved = inside.translate(_UPPER if match[1] == "^" else _LOWER)
    if not set(inside) & set(moved):
        return moved
    return f"{match[1]}{inside}" if len(inside) == 1 else f"{match[1]}({inside})"
