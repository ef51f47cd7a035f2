"""The texts beside a figure: its caption, its alternative text, and both for LaTeX."""

import pytest
from drawn_data import data, grid, line, panel, row, with_ratio

from reproduction import descriptions
from shufflebounds.curves.plotting.sheets import of_curves


def test_texts_beside_a_figure_say_what_it_shows():
    layout = with_ratio()
    sheet = of_curves(data(layout), layout)
    text = descriptions.markdown(sheet, "At 5 % of δ = 10⁻⁶.")
    assert text.startswith("**A figure.** At 5 % of δ = 10⁻⁶.\n\nAlt text: A figure. ")
    assert "number of users n" in text
    # The wording of the configuration, as in the legend, and not the name that it replaces.
    worded = row(panel(line(label="my words", name="10-RR: blanket"), line("clone")))
    text = descriptions.alternative_text(of_curves(data(worded), worded))
    assert "my words " in text
    assert "10-RR: blanket" not in text
    assert descriptions.latex(sheet, "At 5 % of δ = 10⁻⁶.").startswith(
        r"\caption{A figure. At 5 \% of $\delta$ = $10^{-6}$.}"
    )
    lone = of_curves(data(grid()), grid())
    assert descriptions.latex(lone, "").endswith("\n% 3.5 in wide, for one column\n")
    wide = of_curves(data(with_ratio()), with_ratio())
    words = "\n% 7.16 in wide, for two columns, as figure*\n"
    assert descriptions.latex(wide, "").endswith(words)
    text = descriptions.markdown(sheet, "", ["`a < b` holds at 2 of 2 points"])
    assert text.endswith("\n\nThe title was checked: `a < b` holds at 2 of 2 points.\n")


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("ε₀ = 4, n = 10⁵", r"$\varepsilon_0$ = 4, n = $10^5$"),
        ("δ = 10⁻²⁰; 2 · 10⁶", r"$\delta$ = $10^{-20}$; $2 \cdot 10^6$"),
        ("x₁⁰, ε₀′, eᵋ, 10ⁿ", r"$x_1^0$, $\varepsilon_0'$, $e^{\varepsilon}$, $10^n$"),
        ("log₂(ε′/ε), 3×", r"log$_2$($\varepsilon'$/$\varepsilon$), 3$\times$"),
        ("⌈d/e^ε₀⌉ of 1_000 $", r"$\lceil d/e^{\varepsilon_0}\rceil$ of 1\_000 \$"),
    ],
)
def test_latex_is_as_an_author_writes_it(text, latex):
    assert descriptions.latex_text(text) == latex
