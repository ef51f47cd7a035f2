"""How the report calls and sorts what it shows."""

from shufflebounds.curves.plotting.texts import plain

DATA = "data (CSV)"
CLAIMS_TITLE = "The paper's claims, measured"
PROOFS_TITLE = "Points of the curves, proven again"
# Pages that are not a table's: their titles, and what the report calls them together.
PAGES = {"claims": (CLAIMS_TITLE, "Claims"), "verified": (PROOFS_TITLE, "Proofs")}
# The one format of a figure that the report shows: others would double it.
SHOWN_FORMAT = next(kind for kind in ("png", "svg", "pdf") if kind in PLAN.formats)


def paper_title(wildcards):
    """The title behind its place in the configuration, since the report sorts by the alphabet."""
    names = list(PLAN.papers)
    place = 1 + names.index(wildcards.paper)
    return f"{place:0{len(str(len(names)))}}. {plain(paper_plan(wildcards).title)}"


def figure_labels(wildcards):
    """What the paper calls the figure; other figures come after those of the paper."""
    # The report sets no formulas.
    paper = paper_plan(wildcards)
    further = "Further: " if any(paper.sources.values()) else ""
    source = paper.sources[wildcards.figure]
    return {"figure": plain(source or f"{further}{paper.titles[wildcards.figure]}")}


def figure_caption(wildcards):
    paper, figure = paper_plan(wildcards), wildcards.figure
    return f"{plain(paper.titles[figure])}. {paper.captions[figure]}"


def gallery_titles():
    """Each paper's title by its name."""
    return {name: plain(paper.title) for name, paper in PLAN.papers.items()}


def table_labels(wildcards):
    return {"table": paper_plan(wildcards).tables[wildcards.table].kind.title, "format": DATA}


def page_labels(wildcards):
    name = wildcards.page.removeprefix("tables/")
    title = PAGES[name][0] if name in PAGES else paper_plan(wildcards).tables[name].kind.title
    return {"table": title, "format": "Page"}


def page_group(wildcards):
    return PAGES.get(wildcards.page, ("", "Tables"))[1]
