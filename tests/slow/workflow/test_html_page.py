"""Markdown pages as HTML: what is marked up, and that all else is text."""

import re
import xml.etree.ElementTree as ET

import pytest

from reproduction import html_page


def body(markdown: str) -> str:
    text = html_page.page(markdown).partition("<body>\n")[2]
    return text.removesuffix("\n</body>\n</html>\n")


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# A *title*", '<h1 id="A title">A <em>title</em></h1>'),
        ("one\ntwo", "<p>one\ntwo</p>"),
        (
            "- one\n  more\n- **two**",
            "<ul>\n<li>one\nmore</li>\n<li><strong>two</strong></li>\n</ul>",
        ),
        (
            "| a |  |\n| --- | --- |\n| `x` | 1 <br> 2 |",
            "<table>\n<thead>\n<tr>\n<th>a</th>\n<th></th>\n</tr>\n</thead>\n<tbody>\n"
            '<tr>\n<td data-heading="a"><code>x</code></td>\n<td>1 <br> 2</td>\n</tr>\n'
            "</tbody>\n</table>",
        ),
        (
            "## seconds_a_curve\n\n[a_b_c](#seconds_a_curve)",
            '<h2 id="seconds_a_curve">seconds_a_curve</h2>\n'
            '<p><a href="#seconds_a_curve">a_b_c</a></p>',
        ),
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
        "<script>\nalert(1)\n</script>",
        "<div>\n\n<b>",
        "`<b>`",
        "**<img src=x onerror=alert(1)>**",
        "![x](https://example.org/x.png)",
        "# <title>",
        "| <i> |\n| --- |\n| <u> |",
        "[<s>](#<q>)",
        '[x](https://a"onclick="alert(1))',
        "<br onclick=alert(1)>",
        "<!-- <i> --> <?php <b> ?> <![CDATA[<u>]]>",
        '$<b>$ and $"$',
        "```\n<b>\n```",
    ],
)
def test_tags_are_text(text):
    ours = "p|h1|code|pre|strong|em|table|thead|tbody|tr|th|td|a|span|math|mrow|mo|mi|mtext"
    html = body(text)
    assert set(re.findall(r"</?(\w+)", html)) <= set(ours.split("|"))
    assert not re.search(r"<[^>]*\son\w+=", html)


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))",
        "[x](data:text/html,x)",
        "[x](//example.org)",
        "<javascript:alert(1)>",
        "[x][y]\n\n[y]: javascript:alert(1)",
    ],
)
def test_other_links_are_text(text):
    assert "<a" not in body(text)


def test_a_formula_is_mathml():
    html = body(r"$\frac{1}{2}$ of $\varepsilon_0$")
    first, second = (ET.fromstring(one) for one in re.findall(r"<math.*?</math>", html))
    space = {"m": "http://www.w3.org/1998/Math/MathML"}
    assert [one.text for one in first.findall(".//m:mfrac//m:mn", space)] == ["1", "2"]
    assert [one.text for one in second.findall(".//m:msub/*", space)] == ["ε", "0"]


@pytest.mark.parametrize(
    "formula",
    [
        r"\nonsense",
        r"\frac{1}{",
        "x_",
        r"\left(",
        r"\text{a < b}",
        r"\text{<b>a</b>}",
        r"\text{<mi onclick='alert(1)'>a</mi>}",
        r"\href{javascript:alert(1)}{x}",
        r"\style{position: fixed}{x}",
    ],
)
def test_a_formula_that_cannot_be_set_is_a_mistake(formula):
    with pytest.raises(ValueError, match="cannot be set") as caught:
        html_page.page(f"# A\n\n| ${formula}$ |\n| --- |\n| b |\n")
    assert repr(formula) in str(caught.value)
