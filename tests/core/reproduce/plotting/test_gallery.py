"""The gallery: every figure of a paper, and the program that draws them only once."""

import base64
import gzip
import io
import json
import re

from drawn_data import data, line, panel, row
from PIL import Image

from shufflebounds.reproduce.plotting import interactive
from shufflebounds.reproduce.plotting.sheets import of_curves

PROGRAM = "window.vega = {};"


def unpacked(text, name):
    packed = re.search(rf'id="{name}">(.*?)</script>', text)[1]
    return gzip.decompress(base64.b64decode(packed)).decode()


def test_it_holds_every_page_and_one_program():
    layout = row(panel(line("upper")))
    page = interactive.page(of_curves(data(layout), layout), PROGRAM)
    picture = io.BytesIO()
    Image.new("RGB", (1400, 700), "white").save(picture, format="png")
    papers = {
        "Paper & title": [interactive.Thumbnail("A < B", page, picture.getvalue())],
        "Without figures": [],
        "Another": [interactive.Thumbnail("Bare", page)],
    }
    text = interactive.gallery(papers, PROGRAM)
    assert unpacked(text, "program") == PROGRAM
    pages = json.loads(unpacked(text, "pages"))
    assert [one + interactive.packed(PROGRAM) + pages["below"] for one in pages["above"]] == [
        page
    ] * 2
    assert interactive.packed(PROGRAM) not in unpacked(text, "pages")
    assert text.count("<button") == 3
    assert text.count("<img") == 1
    assert re.findall("<h2>(.*?)</h2>", text) == ["Paper &amp; title", "Another"]
    assert "A &lt; B" in text
    assert text == interactive.gallery(papers, PROGRAM)
    assert not re.search(r"<(?:link|script[^>]* src)", text)


def test_thumbnails_shrink_until_a_report_can_show_the_page():
    """Chromium opens no data URL of more than 2 MiB, in which a report holds a page."""
    layout = row(panel(line("upper")))
    page = interactive.page(of_curves(data(layout), layout), PROGRAM)
    picture = io.BytesIO()
    Image.effect_noise((640, 400), 100.0).save(picture, format="png")
    entry = interactive.Thumbnail("Noise", page, picture.getvalue())
    text = interactive.gallery({"Many": [entry] * 60}, PROGRAM)
    assert 4 * len(text.encode()) / 3 < 2**21 - 100
    assert text.count("<img") == 60
