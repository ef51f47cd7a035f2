"""Texts that go with a figure: its caption as Markdown and LaTeX, and what it shows in words.

All of them are made of the configuration's values and of what is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from shufflebounds.curves.plotting.layout import USUAL_PRINT, Line, Print
from shufflebounds.curves.plotting.sheets import Drawn, PanelView, Sheet
from shufflebounds.curves.plotting.texts import plain, three_digits

# What LaTeX takes for a command.
_COMMANDS = {
    **{sign: f"\\{sign}" for sign in "#$%&_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}
# Symbols that LaTeX sets in formulas, and their commands.
_SYMBOLS = "ε δ γ λ ω β × · − ∞ → ≤ ≥ … ⌈ ⌉ ⌊ ⌋"
_NAMES = (
    r"\varepsilon \delta \gamma \lambda \omega \beta \times \cdot - \infty \to \leq \geq \ldots "
    r"\lceil \rceil \lfloor \rfloor"
)
_FORMULAS = dict(zip(_SYMBOLS.split(), _NAMES.split(), strict=True))
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵋ", [*"0123456789+-n", r"\varepsilon"], strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ₙ", "0123456789+-n", strict=True))
_SCRIPT = re.compile(rf"[{''.join(_RAISED)}]+|[{''.join(_LOWERED)}]+|′")
_SYMBOL = f"[{''.join(_FORMULAS)}]"
# What LaTeX sets as one formula: a rounded number in its brackets; e^ε₀; a number, a letter or a
# symbol with its indices and powers, which may stand behind a word alone; and products such as
# 2 · 10⁶.
_FORMULA = re.compile(
    rf"(?:\b\d[\d.]* [·×] )?(?:⌈[\w/^+ ]*⌉|⌊[\w/^+ ]*⌋|\be\^ε₀?"
    rf"|(?:\b\d+|(?<![^\W_])[A-Za-z]|{_SYMBOL})?(?:{_SCRIPT.pattern})+|{_SYMBOL})+"
)


def latex_text(text: str) -> str:
    """Return a plain text as LaTeX sets it."""
    parts, end = [], 0
    for match in _FORMULA.finditer(text):
        parts += [_escaped(text[end : match.start()]), f"${_latex_formula(match[0])}$"]
        end = match.end()
    return "".join([*parts, _escaped(text[end:])])


def _escaped(text: str) -> str:
    return "".join(_COMMANDS.get(sign, sign) for sign in text)


def _latex_formula(text: str) -> str:
    """Return a formula, such as ``10^{-20}`` for 10⁻²⁰, without its dollar signs."""
    raised = _SCRIPT.sub(_latex_script, re.sub(r"\^(ε₀?)", r"^{\1}", text))
    # A letter behind a command would become a part of its name.
    spaced = re.sub(rf"({_SYMBOL})(?=[A-Za-z])", r"\1 ", raised)
    return "".join(_FORMULAS.get(sign, sign) for sign in spaced)


def _latex_script(match: re.Match[str]) -> str:
    """Return an index or a power, in braces if it is longer than one character."""
    if match[0] == "′":
        return "'"
    is_raised = match[0][0] in _RAISED
    inside = "".join((_RAISED if is_raised else _LOWERED)[sign] for sign in match[0])
    return f"{'^' if is_raised else '_'}{inside if len(inside) == 1 else f'{{{inside}}}'}"


def alternative_text(sheet: Sheet) -> str:
    """Return what a figure shows, for those who do not see it: its panels, lines and their ends."""
    panels = " ".join(panel_text(view, sheet.title_of(view)) for view in sheet.views)
    what = "A diagram" if sheet.is_diagram else "Along the x axis"
    cells = f"{sheet.numbers}. " if sheet.is_map else ""
    common = f"All panels: {', '.join(sheet.common)}. " if sheet.common else ""
    text = f"{sheet.title}. {what}: {sheet.x_label}. {common}{cells}{panels}"
    return plain(text).replace("\n", " ")


def lines_with_names(view: PanelView) -> Iterator[tuple[Line, Drawn, str]]:
    """Yield each line with its label, or with its own name if the label is empty or repeats."""
    labels = [line.label for line, _ in view.lines]
    for line, curve in view.lines:
        is_vague = not line.label or labels.count(line.label) > 1
        yield line, curve, plain(line.name if line.name and is_vague else line.label)


def panel_text(view: PanelView, title: str) -> str:
    """Return what a panel of some title shows, in words."""
    title = title or "The panel"
    if view.boxes:
        texts = {(box.x, box.y): box.text for box in view.boxes}
        arrows = []
        for line, curve in view.lines:
            start, end = zip(curve.x.tolist(), curve.y.tolist(), strict=True)
            arrows.append(f"from {texts[start]} to {texts[end]} ({line.name})")
        return f"Arrows lead {'; '.join(arrows)}."
    if view.y_ticks:
        cells = np.concatenate([curve.upper for _, curve in view.lines])
        smallest, largest = float(np.nanmin(cells)), float(np.nanmax(cells))
        return f"{title}: a map of {three_digits(smallest)} to {three_digits(largest)}."
    ends = []
    for _, curve, name in lines_with_names(view):
        y = curve.y[np.isfinite(curve.y)]
        ends.append(f"{name} {three_digits(float(y[-1])) if y.size else 'nowhere'}")
    return f"{title}, {view.y_label} at the right end: {'; '.join(ends)}."


def markdown(sheet: Sheet, caption: str, checks: Sequence[str] = ()) -> str:
    """Return the title, the caption, the alternative text, and the checks of the title."""
    checked = f"\n\nThe title was checked: {'; '.join(checks)}." if checks else ""
    source = f"{plain(sheet.source)}\n\n" if sheet.source else ""
    text = f"{source}**{plain(sheet.title)}.** {caption}\n\nAlt text: {alternative_text(sheet)}"
    return f"{text}{checked}\n"


def latex(sheet: Sheet, caption: str, style: Print = USUAL_PRINT) -> str:
    r"""Return title, caption and alt text as ``\caption`` and as ACM's command ``\Description``.

    A comment says how wide the figure is, and whether it is for one column or for two.
    """
    title = latex_text(plain(sheet.title))
    alternative = latex_text(alternative_text(sheet))
    is_wide = len(sheet.rows[0]) > 1
    width = style.page_width if is_wide else style.column_width
    place = "two columns, as figure*" if is_wide else "one column"
    return (
        f"\\caption{{{title}. {latex_text(caption)}}}\n\\Description{{{alternative}}}\n"
        f"% {width:g} in wide, for {place}\n"
    )
