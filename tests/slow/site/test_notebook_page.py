"""The page that is a notebook: its cells run, and the site shows what they show."""

import re
import sys

import pytest
from markdown_pages import ROOT, blocks

import shufflebounds as sb

pytest.importorskip("sphinx", reason="requirements-docs.txt is not installed")
sys.path.append(str(ROOT / "docs" / "_ext"))
import notebook_cells

PAGE = ROOT / "docs" / "notebook.md"


@pytest.fixture(scope="module")
def results():
    """What each cell shows; None where it shows nothing."""
    namespace = {"__name__": __name__}
    cells = [block.text for block in blocks(PAGE) if block.language == "{code-cell} python"]
    assert len(cells) == PAGE.read_text(encoding="utf-8").count("```") // 2
    values = [notebook_cells.evaluated(cell, namespace) for cell in cells]
    return [value if value is None else notebook_cells.shown(value) for value in values]


def test_every_cell_shows_what_it_is_about(results):
    one, several, decomposition, curve, figure, best, nothing, picture = results
    assert "Decomposition: 3 components" in decomposition
    lower, upper = map(float, re.findall(r"\d\.\d+", one))
    exact = sb.epsilon(sb.KRR(k=10, eps0=4.0).blanket(), n=100_000, delta=1e-6)
    assert lower <= exact.lower <= exact.upper <= upper
    assert several.count("<tr>") == 1 + 4
    assert "… and 1 more" in curve
    for drawn in (figure, picture):
        assert drawn.startswith('<img alt="the figure" src="data:image/svg+xml;base64,')
    assert "KRR" in best
    assert nothing is None


@pytest.mark.parametrize(
    ("cell", "value"),
    [("x = 2\nx + 1", 3), ("x = 2", None), ("", None), ("for i in range(2):\n    i", None)],
)
def test_a_cell_has_the_value_of_its_last_line(cell, value):
    assert notebook_cells.evaluated(cell, {}) == value


def test_what_has_no_account_of_itself_is_shown_as_text():
    assert notebook_cells.shown("<b>") == "<pre>&#x27;&lt;b&gt;&#x27;</pre>"
