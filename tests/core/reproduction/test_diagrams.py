"""The diagram of methods: its boxes and arrows, printed, in words, and as a chart."""

import base64
import io

import pytest
import yaml
from PIL import Image
from pydantic import ValidationError
from repository import ROOT

from reproduction import charts, descriptions
from reproduction.papers.su2026 import Methods, methods
from shufflebounds.curves.plotting import figures
from shufflebounds.curves.plotting.layout import USUAL_PRINT

CONTENT = yaml.safe_load((ROOT / "config" / "su2026.yaml").read_text(encoding="utf-8"))
GIVEN = {key: value for key, value in CONTENT["tables"]["methods"].items() if key != "kind"}
TEXTS = [text for row in GIVEN["rows"] for text in row.values()]


@pytest.fixture(scope="module")
def sheet():
    frame = methods.methods_table(Methods.model_validate(GIVEN), None)
    return methods.methods_sheet(frame, "Methods")


def test_no_two_texts_overlap_at_the_width_of_a_column(sheet):
    figure = figures.figure(sheet)
    assert figure.get_figwidth() == pytest.approx(USUAL_PRINT.column_width)
    figure.draw_without_rendering()
    (ax,) = figure.axes
    drawn = [text for text in ax.texts if text.get_text()]
    assert {text.get_text().replace("\n", " ") for text in drawn} >= set(TEXTS)
    frames = [text.get_bbox_patch().get_window_extent() for text in drawn]
    for i, one in enumerate(frames):
        assert not any(one.overlaps(other) for other in frames[:i]), drawn[i].get_text()
        assert figure.bbox.x0 <= one.x0 <= one.x1 <= figure.bbox.x1


def test_words_name_every_arrow(sheet):
    text = descriptions.alternative_text(sheet)
    names = {name: text for row in GIVEN["rows"] for name, text in row.items()}
    for arrow in GIVEN["arrows"]:
        start, end = names[arrow["start"]], names[arrow["end"]]
        assert f"from {start} to {end} ({arrow['why']})" in text


def test_its_chart_is_the_picture_with_the_words_and_nothing_to_read_off(sheet):
    specification = charts.chart(sheet, "A caption.")
    assert specification == charts.chart(sheet, "A caption.")
    assert "Arrows lead from" in specification["description"]
    assert specification["usermeta"]["panels"] == []
    assert specification["usermeta"]["caption"] == "A caption."
    (values,) = specification["datasets"].values()
    picture = base64.b64decode(values[0]["url"].removeprefix("data:image/png;base64,"))
    with Image.open(io.BytesIO(picture)) as image:
        width, height = image.size
    (panel,) = specification["concat"]
    assert width / panel["width"] == pytest.approx(2.0, rel=0.01)
    assert height / panel["height"] == pytest.approx(2.0, rel=0.01)


def test_an_arrow_to_nowhere_is_refused():
    arrows = [{"start": "clone", "end": "blankt", "why": "x"}]
    with pytest.raises(ValidationError, match="names blankt; it must be one of blanket, clone"):
        Methods.model_validate({**GIVEN, "arrows": arrows})
