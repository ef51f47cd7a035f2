"""Texts as figures print them: symbols in italics, numbers as powers of ten, lines that fit.

Configurations and labels of mechanisms hold plain Unicode, which tables and the report show as it
is. Matplotlib's own notation for formulas, between dollar signs, is left alone.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from shufflebounds.core.setting import OverN, Setting

SYMBOLS = {
    "eps0": r"$\varepsilon_0$",
    "target": r"$\varepsilon'$",
    "eps": r"$\varepsilon$",
    "n": "$n$",
    "messages": "$m$",
    "rounds": "$T$",
    "delta": r"$\delta$",
    "order": r"$\lambda$",
}

# A dollar sign behind a backslash is only a dollar sign.
_FORMULA = re.compile(r"((?<!\\)\$.*?(?<!\\)\$)")
_GREEK = {"ε₀": SYMBOLS["eps0"], "ε": SYMBOLS["eps"], "δ": SYMBOLS["delta"]}
# A letter of its own that is said to be equal to something, or to lie above or below it.
_SYMBOL = re.compile(r"ε₀|ε|δ|(?<![\w$\\'’-])[A-Za-z](?= [=→≤≥<>] )")
# A blank beside a relation.
_JOINT = re.compile(r"(?<=[=→≤≥<>×]) | (?=[=→≤≥<>×] )")
# Parts of a formula in Matplotlib's notation, which `plain` turns into Unicode.
_ONE_FORMULA = re.compile(r"(?<!\\)\$(.*?)(?<!\\)\$")
_SCRIPT = re.compile(r"([_^])(?:\{([^{}]*)\}|(.))")
_COMMAND = re.compile(r"\\([A-Za-z]+)|\\(.)")
_NAMES = {
    **{"varepsilon": "ε", "epsilon": "ε", "cdot": "·", "times": "×", "to": "→", "infty": "∞"},
    **{"leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "prime": "′", "quad": " "},
}
_UPPER = str.maketrans("0123456789+−nε", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵋ")
_LOWER = str.maketrans("0123456789+−n", "₀₁₂₃₄₅₆₇₈₉₊₋ₙ")
# Whole numbers of up to so many digits are written out.
_PLAIN_DIGITS = 4
# Numbers below it are powers of ten.
SMALLEST_PLAIN = 0.01


def typeset(text: str) -> str:
    """Return the text with ε₀, ε, δ and letters such as the D of ``D = 3`` in italics."""
    parts = _FORMULA.split(text)
    parts[::2] = (_SYMBOL.sub(_italic, part) for part in parts[::2])
    # The face of print has no thin space, its formulas have.
    return "".join(parts).replace("\N{THIN SPACE}", r"$\,$")


def number(value: float) -> str:
    """Return a number as people write it.

    4, 0.01, 1500, then 10⁵ or 2 · 10⁶; and 10⁻³ below 0.01.
    """
    if 0.0 < abs(value) < SMALLEST_PLAIN:
        digits, _, exponent = f"{value:.14e}".partition("e")
        factor = f"{float(digits):.15g}"
        power = f"10^{{{int(exponent)}}}"
        return f"${power}$" if factor == "1" else rf"${factor} \cdot {power}$"
    digits, _, exponent = f"{value:.15g}".partition("e")
    if not exponent and value == int(value) and abs(value) >= 10**_PLAIN_DIGITS:
        short = digits.rstrip("0")
        if len(short) > 2:
            return f"{int(value):,}".replace(",", "\N{THIN SPACE}")
        digits, exponent = ".".join(filter(None, [short[0], short[1:]])), str(len(digits) - 1)
    if not exponent:
        return digits
    factor = "" if digits == "1" else rf"{digits} \cdot "
    return f"${factor}10^{{{int(exponent)}}}$"


def three_digits(value: float) -> str:
    """Return a number of a table or a map that is to be compared: 0.890, 1.10, 152, 1440."""
    return f"{value:.0f}" if 99.5 <= value < 1e6 else f"{value:#.3g}"


def equations(setting: Mapping[str, float | OverN]) -> Iterator[str]:
    """Yield equations such as ε₀ = 0.1 and δ = 0.01/n, for values by the names of `Setting`."""
    for key, value in setting.items():
        text = f"${value.share:g}/n$" if isinstance(value, OverN) else number(value)
        yield f"{SYMBOLS[key]} = {text}"


def filled(text: str, values: Mapping[str, Any]) -> str:
    """Return the text with names in braces replaced by their values: {eps0} by 0.1 and 4.

    Raises ValueError for a name that has no value.
    """

    def value(match: re.Match[str]) -> str:
        content = values.get(match[1])
        if content is None:
            allowed = ", ".join(name for name in values if values[name] is not None)
            raise ValueError(f"{match[0]} stands for nothing; it must be one of {allowed}")
        contents = content if isinstance(content, list | tuple) else [content]
        texts = [_value_text(item) for item in contents]
        return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))

    return re.sub(r"\{(\w+)\}", value, text)


def _value_text(value: Any) -> str:
    if isinstance(value, OverN):
        return f"{value.share:g}/n"
    return value if isinstance(value, str) else plain(number(value))


def setting_text(setting: Setting) -> str:
    """Return what is fixed, such as ε₀ = 4, δ = 10⁻⁶, with formulas between dollar signs."""
    return ", ".join(equations(setting.given()))


def wrapped(text: str, width: int) -> str:
    """Return the text in lines of at most `width` characters, unless a word or a formula is longer.

    Formulas count as their plain text; no line is broken within one or beside a relation.
    """
    formulas = iter(_FORMULA.findall(text))
    # Placeholders that are as long as the formulas.
    hidden = _FORMULA.sub(lambda match: "\0" * len(plain(match[0])), text)
    lines = textwrap.wrap(join_relations(hidden), width, break_long_words=False)
    restored = re.sub("\0+", lambda _: next(formulas), "\n".join(lines))
    return restored.replace("\N{NO-BREAK SPACE}", " ")


def join_relations(text: str) -> str:
    """Return the text with blanks beside relations that no line is broken at."""
    return _JOINT.sub("\N{NO-BREAK SPACE}", text)


def _italic(match: re.Match[str]) -> str:
    return _GREEK.get(match[0], f"${match[0]}$")


def plain(text: str) -> str:
    """Return the text with its formulas in Unicode; what has no such character stays as it is.

    Powers are raised and indices lowered where Unicode has the characters, else they keep their
    ^ or _.
    """
    return _ONE_FORMULA.sub(lambda match: _formula(match[1]), text).replace(r"\$", "$")


def _formula(tex: str) -> str:
    text = _COMMAND.sub(_character, tex).replace("'", "′").replace("-", "−")
    return _SCRIPT.sub(_script, text).replace("{", "").replace("}", "")


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
