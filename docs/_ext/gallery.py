"""A page for each paper of the configuration: its figures, and the entry behind each.

The page of the gallery gets a small picture of every figure, in the order of the papers.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from typing import Any

import pages
import yaml
from sphinx.application import Sphinx

from reproduction import plan
from reproduction.configuration import checks

ROOT = Path(__file__).parents[2]
# What a run may leave beside the picture.
_VERSIONS = {"pdf": "print (PDF)", "svg": "web (SVG)"}
INTERACTIVE = "results/gallery.html"
# Figures for two columns of a paper are wider than this, in inches.
MIN_WIDE = 5.0


def of_paper(paper: plan.Paper) -> str:
    """The page of one paper."""
    config = ROOT / "config" / f"{paper.name}.yaml"
    entries = entries_of_figures(config.read_text(encoding="utf-8"))
    lines = [
        f"# {pages.plain(paper.title)}",
        "",
        f"`snakemake {paper.name}` makes all of it, from "
        f"[`config/{paper.name}.yaml`](../../config/{paper.name}.yaml).",
        "",
    ]
    headings = _headings(paper)
    for figure, title in paper.titles.items():
        lines += [f"({_label(paper, figure)})=", f"## {headings[figure]}", ""]
        lines += _shown(paper, figure, title)
        lines += [
            f"<details><summary>Its entry under <code>figures</code>: {figure}</summary>",
            "",
            "```yaml",
            entries[figure],
            "```",
            "",
            "</details>",
            "",
        ]
    return "\n".join([*lines, *_pages_of(paper)])


def _headings(paper: plan.Paper) -> dict[str, str]:
    """Return the heading of each figure: its place in the paper, or its name.

    What it shows is written in the picture. Figures from one place are told apart by their names.
    """
    places = [*paper.sources.values()]
    return {
        figure: f"`{figure}`"
        if not place
        else pages.plain(place) + (f" (`{figure}`)" if places.count(place) > 1 else "")
        for figure, place in paper.sources.items()
    }


def _label(paper: plan.Paper, figure: str) -> str:
    """The name by which other pages link to a figure."""
    return f"{paper.name}-{figure}".replace("_", "-")


def overview(papers: Iterable[plan.Paper]) -> str:
    """A small picture of every figure that is drawn, its title for the others, and all pages."""
    lines = []
    pages_of = []
    for paper in papers:
        pages_of.append(f"gallery/{paper.name}")
        lines += ["", f"## {pages.plain(paper.title)}", "", "````{container} thumbnails"]
        for figure, title in paper.titles.items():
            link = f"gallery/{paper.name}.html#{_label(paper, figure)}"
            picture = f"figures/{paper.name}/{figure}.png"
            if (ROOT / picture).exists():
                lines += [f"```{{figure}} ../{picture}", f":alt: {title}", f":target: {link}"]
                lines += [":loading: lazy", "", pages.plain(title), "```"]
            else:
                lines.append(f"[{pages.plain(title)}](#{_label(paper, figure)})\n")
        lines += ["````"]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *pages_of, "```", ""])


def _add_overview(_: Sphinx, page: str, source: list[str]) -> None:
    if page == "gallery":
        above, heading, below = source[0].partition("## In the repository\n")
        source[0] = f"{above}{overview(planned().papers.values())}\n{heading}{below}"


def _pages_of(paper: plan.Paper) -> list[str]:
    """Links to the tables and claims that a run has left."""
    results = f"results/{paper.name}"
    stems = {f"tables/{name}": table.kind.title for name, table in paper.tables.items()}
    if paper.claims:
        stems["claims"] = "Its claims, measured"
    # Tables of one kind are told apart by their names.
    titles = list(stems.values())
    names = {
        stem: f"{title} ({Path(stem).name})" if titles.count(title) > 1 else title
        for stem, title in stems.items()
    }
    links = [
        f"- [{pages.plain(name)}](../../{results}/{stem}.html)"
        for stem, name in names.items()
        if (ROOT / results / f"{stem}.html").exists()
    ]
    return ["## Tables and claims", "", *links, ""] if links else []


def _shown(paper: plan.Paper, figure: str, title: str) -> list[str]:
    stem = f"figures/{paper.name}/{figure}"
    command = f"`snakemake {stem}.pdf`"
    caption = " ".join(pages.plain(paper.captions[figure]).split())
    if not (ROOT / f"{stem}.png").exists():
        missing = f"*Not drawn where this page was made.* Draw it with {command}."
        return [f"**{pages.plain(title)}.** {caption}", "", missing, ""]
    others = [
        f"[{version}](../../{stem}.{kind})"
        for kind, version in _VERSIONS.items()
        if (ROOT / f"{stem}.{kind}").exists()
    ]
    if (ROOT / INTERACTIVE).exists():
        others.append(f"[interactive](../../{INTERACTIVE}#{paper.name}/{figure})")
    return [
        f"```{{figure}} ../../{stem}.png",
        f":alt: {title}",
        ":loading: lazy",
        *([":class: narrow"] if _is_narrow(f"{stem}.png") else []),
        "",
        caption,
        "```",
        "",
        ", ".join([*others, command]),
        "",
    ]


def _is_narrow(picture: str) -> bool:
    """Whether a figure is for one column of a paper: its PNG has 200 dots an inch."""
    # The width is behind the signature and the head of the first chunk.
    header = (ROOT / picture).read_bytes()[:24]
    return int.from_bytes(header[16:20], "big") < 200 * MIN_WIDE


def entries_of_figures(text: str) -> dict[str, str]:
    """The lines of each entry under ``figures`` in a paper's file, as they stand there."""
    root = yaml.compose(text)
    entries = [
        key for section, value in root.value if section.value == "figures" for key, _ in value.value
    ]
    lines = text.splitlines()
    found = {}
    for key in entries:
        start, depth = key.start_mark.line, key.start_mark.column
        # To the next line that is not further in.
        inside = takewhile(
            lambda line, depth=depth: not line.strip() or len(line) - len(line.lstrip()) > depth,
            lines[start + 1 :],
        )
        entry = [lines[start], *inside]
        found[key.value] = "\n".join(line[depth:] for line in entry).rstrip()
    return found


def planned() -> plan.Plan:
    """What config.yaml and config/ of the checkout ask for."""
    content = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    checks.join_papers(content, [ROOT / "config"])
    return checks.make_plan(content)


def _write(app: Sphinx) -> None:
    made = {name: of_paper(paper) for name, paper in planned().papers.items()}
    pages.replace(Path(app.srcdir) / "gallery", made)


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the pages before Sphinx looks for them."""
    app.connect("builder-inited", _write)
    app.connect("source-read", _add_overview)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
