"""Markdown pages as HTML: what is marked up, and that all else is text."""

import re

import pytest

import html_page


def body(markdown: str) -> str:
    text = html_page.page(markdown).partition("<body>\n")[2]
    return text.removesuffix("\n</body>\n</html>\n")


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# A *title*", '<h1 id="A *title*">A <em>title</em></h1>'),
        ("one\ntwo", "<p>one\ntwo</p>"),
        ("- one\n  more\n- **two**", "<ul><li>one\n  more</li><li><strong>two</strong></li></ul>"),
        (
            "| a |  |\n| --- | --- |\n| `x` | 1 <br> 2 |",
            "<table>\n<tr><th>a</th><th></th></tr>\n"
            "<tr><td><code>x</code></td><td>1 <br> 2</td></tr>\n</table>",
        ),
        ("[below](#joint)", '<p><a href="#joint">below</a></p>'),
        (
            "[there](https://example.org/?a=1&b=2)",
            '<p><a href="https://example.org/?a=1&amp;b=2" target="_blank" rel="noopener">'
            "there</a></p>",
        ),
        ("5 % and 2 * 3 * 4", "<p>5\N{NO-BREAK SPACE}% and 2 * 3 * 4</p>"),
    ],
)
def test_what_our_pages_use_is_marked_up(markdown, expected):
    assert body(markdown) == expected


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "`<b>`",
        "**<img src=x onerror=alert(1)>**",
        "# <title>",
        "| <i> |\n| --- |\n| <u> |",
        "[<s>](#<q>)",
        '[x](https://a"onclick="alert(1))',
    ],
)
def test_tags_are_text(text):
    ours = "p|h1|code|strong|em|table|tr|th|td|a"
    html = body(text)
    assert set(re.findall(r"</?(\w+)", html)) <= set(ours.split("|"))
    assert not re.search(r"<[^>]*\son\w+=", html)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//example.org"])
def test_other_links_are_text(url):
    assert "<a" not in body(f"[x]({url})")


def test_a_formula_is_an_outline_with_its_source_as_label():
    html = body(r"$\frac{1}{2}$ of $n$")
    labels = re.findall(r'<svg role="img" aria-label="([^"]+)"', html)
    assert labels == [r"\frac{1}{2}", "n"]
    widths, heights = zip(*re.findall(r"width:([\d.]+)em;height:([\d.]+)em", html), strict=True)
    assert float(heights[0]) > 2 * float(heights[1])
    assert all(0.2 < float(width) < 2 for width in widths)
    assert html_page.page(r"$\frac{1}{2}$") == html_page.page(r"$\frac{1}{2}$")


def test_a_formula_that_cannot_be_set_is_a_mistake():
    with pytest.raises(ValueError, match="nonsense"):
        html_page.page(r"$\nonsense$")
