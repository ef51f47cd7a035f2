"""The page for a review: what it says first, and how it looks on a phone and on paper."""

import re

import pytest
from browsers import chromium, opened
from commands import run

import shufflebounds as sb

CHECK = ("check", "--mechanism", "krr", "--k", 10, "--eps0", 8, "--n", 1000, "--delta", 1e-6)
KRR = ("--mechanism", "krr", "--k", 10, "--eps0", 4, "--n", 10_000)
PAGES = {
    "refuted": (*CHECK, "--eps", 0.94),
    "claim": ("epsilon", *KRR, "--delta", 1e-6, "--dropout", 0.1, "--rounds", 2),
    "ranking": ("choose", "--values", 64, "--n", 1e5, "--eps", 1, "--delta", 1e-8),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        # Without the bound for all datasets, which takes seconds in several rounds.
        patch.setattr(sb.KRR, "crowds", lambda self: ())
        for name, asked in PAGES.items():
            run(*asked, "--report", folder / f"{name}.html")
    return folder


def title(text: str) -> str:
    return re.sub("<[^>]*>", "", re.findall("<h1.*</h1>", text)[0])


@pytest.mark.parametrize(("eps", "verdict"), [(0.94, "refuted"), (8, "proven"), (7.99998, "open")])
def test_the_verdict_and_the_number_are_the_title(tmp_path, eps, verdict):
    page = tmp_path / "page.html"
    run(*CHECK, "--eps", eps, "--report", page)
    text = page.read_text("utf-8")
    assert f'<h1 class="{verdict}">' in text
    assert title(text) == f"{verdict.upper()}: epsilon = {float(eps)!r} at delta = 1e-06"
    # What is coloured is no other paragraph.
    assert text.count(f'class="{verdict}"') == 1


def test_the_title_of_an_answer_is_what_may_be_claimed(pages):
    text = (pages / "claim.html").read_text("utf-8")
    assert re.fullmatch(r"You can claim epsilon = [\d.]+ \(delta = 1e-06\)", title(text))
    assert title((pages / "ranking.html").read_text("utf-8")).startswith("Best: ")
    headings = re.findall("<h2>(.*)</h2>", text)
    assert headings == [
        *("Question and answer", "Assumptions", "Without the shuffler", "How to verify"),
        "Theorems",
    ]
    for part in (
        "<li>Mechanism: KRR(k=10, eps0=4.0)</li>",
        "<li>Users: n = 10000 users (10 % of them drop out)</li>",
        "<li>Who provides cover: 9000 users</li>",
        "<li>Rounds: 2 rounds</li>",
        "<p>If the shuffler fails, eps0 = 4 per round, 8 over all 2 rounds.</p>",
    ):
        assert part in text


@pytest.mark.parametrize("name", PAGES)
def test_ten_rows_are_open_and_the_rest_is_folded(pages, name):
    text = (pages / f"{name}.html").read_text("utf-8")
    open_part = re.sub("<details>.*?</details>", "", text, flags=re.DOTALL)
    assert open_part.count("<tr>") - 1 <= 10
    assert len(re.findall("<li>", open_part.split("<h2>Theorems")[1])) <= 10
    if name == "refuted":
        rows = re.findall(r"<summary>All (\d+) rows</summary>(.*?)</details>", text, re.DOTALL)
        assert rows[0][1].count("<tr>") == int(rows[0][0]) + 1
        assert re.search(r"<summary>\d+ more theorems</summary>", text)


def test_markdown_has_all_rows(tmp_path):
    page = tmp_path / "page.md"
    run(*PAGES["refuted"], "--report", page)
    text = page.read_text("utf-8")
    assert text.startswith("# REFUTED: epsilon = 0.94 at delta = 1e-06\n")
    (count,) = re.findall(r"^All (\d+) rows:$", text, re.MULTILINE)
    assert len(text.split("rows:\n\n")[1].split("\n\n")[0].splitlines()) == int(count) + 2


HYPHENS = """() => [...document.querySelectorAll('code')].filter(code => {
    const range = document.createRange(); range.selectNodeContents(code);
    return new Set([...range.getClientRects()].map(box => box.top)).size > 1;
}).map(code => code.textContent)"""


@pytest.mark.parametrize("width", [1440, 390])
def test_nothing_is_wider_than_the_window_and_no_option_breaks(pages, width):
    with chromium() as browser:
        for name in PAGES:
            url = (pages / f"{name}.html").as_uri()
            with opened(browser, url, {"width": width, "height": 900}) as page:
                for media in ("screen", "print"):
                    page.emulate_media(media=media)
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    assert wide <= width or media == "print"
                    broken = page.evaluate(HYPHENS)
                    assert not [word for word in broken if len(word) < 30]
