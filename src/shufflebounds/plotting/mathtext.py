"""Texts as figures print them: symbols in italics, numbers as powers of ten, lines that fit.

Configurations and labels of mechanisms hold plain Unicode, which tables and the report show as it
is. Matplotlib's own notation for formulas, between dollar signs, is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from shufflebounds.setting import OverN, Setting

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
# A blank between words, but not beside a relation.
_BREAK = re.compile(r"(?<![=→≤≥<>×]) (?![=→≤≥<>×] )")
_PLAIN_DIGITS = 4


def typeset(text: str) -> str:
    """The text with ε₀, ε, δ and letters such as the D of ``D = 3`` in italics."""
    parts = _FORMULA.split(text)
    parts[::2] = (_SYMBOL.sub(_italic, part) for part in parts[::2])
    return "".join(parts)


def number(value: float) -> str:
    """A number as people write it: 4, 0.01, 1500, then 10⁵ or 2 · 10⁶."""
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


def equations(setting: Mapping[str, float | OverN]) -> Iterator[str]:
    """Such as ε₀ = 0.1 and δ = 0.01/n, of values by the names of `Setting`."""
    for key, value in setting.items():
        shown = f"${value.share:g}/n$" if isinstance(value, OverN) else number(value)
        yield f"{SYMBOLS[key]} = {shown}"


def setting_text(setting: Setting) -> str:
    """What is fixed, such as ε₀ = 4, δ = 10⁻⁶, with formulas between dollar signs."""
    return ", ".join(equations(setting.given()))


def wrapped(text: str, width: float, measure: Callable[[str], float]) -> str:
    """The text in lines no wider than `width`, as `measure` finds them.

    Lines are broken between words, or within a word that is too wide for a line; no formula is
    broken.
    """
    lines: list[str] = []
    for word in _words(text):
        if lines and measure(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines += _pieces(word, width, measure)
    return "\n".join(lines)


def _italic(match: re.Match[str]) -> str:
    return _GREEK.get(match[0], f"${match[0]}$")


def _words(text: str) -> list[str]:
    """The text at its blanks, apart from those in formulas and beside relations."""
    formulas = _FORMULA.findall(text)
    # A placeholder that is neither blank nor a relation.
    hidden = _FORMULA.sub("\0", text)
    restored = iter(formulas)
    return [re.sub("\0", lambda _: next(restored), word) for word in _BREAK.split(hidden) if word]


def _pieces(word: str, width: float, measure: Callable[[str], float]) -> list[str]:
    if "$" in word or measure(word) <= width:
        return [word]
    pieces = [""]
    for character in word:
        if pieces[-1] and measure(pieces[-1] + character) > width:
            pieces.append("")
        pieces[-1] += character
    return pieces
