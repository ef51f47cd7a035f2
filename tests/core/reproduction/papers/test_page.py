"""Pages of one table: Markdown and LaTeX."""

import pytest

from reproduction.papers.pages import Page, markdown_table


def test_a_table_in_markdown():
    assert markdown_table(["x", "$y$"], [["1", "2"]]) == "| x | $y$ |\n| --- | --- |\n| 1 | 2 |\n"


def test_a_page_in_markdown():
    page = Page("Title", "Above $x$.\n", ("a", "b"), (("1", "2"),), "Below.")
    assert page.markdown() == (
        "# Title\n\nAbove $x$.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nBelow.\n"
    )
    assert Page("T", "", ("a",), ()).markdown() == "# T\n\n| a |\n| --- |\n"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("1",), r"^rows must have 2 cells, got \('1',\)$"),
        (("1", "2", "3"), "^rows must have 2 cells"),
        (("a | b", "1"), r"^cells must hold neither \| nor a line break"),
        (("a\nb", "1"), r"^cells must hold neither \| nor a line break"),
    ],
)
def test_rows_that_would_break_the_table_are_refused(row, message):
    with pytest.raises(ValueError, match=message):
        Page("T", "", ("a", "b"), (row,))


@pytest.mark.parametrize(
    ("cell", "latex"),
    [
        ("50 % & more", r"50 \% \& more"),
        (r"$\frac{a_1}{b}$ and a_b", r"$\frac{a_1}{b}$ and a\_b"),
        ("**bold** and *slanted*", r"\textbf{bold} and \emph{slanted}"),
        ("`code`", r"\texttt{code}"),
        ("[text](#anchor)", "text"),
        ("one <br> two", r"\makecell[l]{one \\ two}"),
    ],
)
def test_cells_in_latex(cell, latex):
    text = Page("T", "", ("a", "b"), ((cell, "x"),)).latex()
    (line,) = (line for line in text.splitlines() if line.endswith(r"& x \\"))
    assert line == rf"{latex} & x \\"


def test_a_title_does_not_end_its_comment():
    assert Page("T", "", ("a",), (("1",),)).latex().startswith("% T\n\\begin{tabular}")
