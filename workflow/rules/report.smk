"""What a run says as it goes, and how its report calls and sorts what it shows."""

from snakemake.logging import logger


def tell_briefly(record):
    """Say why a job runs where an edit is the reason, and what may be asked for; no more."""
    exception = getattr(record, "exception", None)
    if exception == "MissingRuleException":
        record.msg = messages.unknown_target(
            record.msg, {name: outputs(name) for name in PLAN.papers}
        )
    elif exception == "WorkflowError":
        record.msg = messages.target_of_many_files(record.msg, PLAN.papers)
    if getattr(record, "rule_msg", None) and getattr(record, "reason", None):
        reason = messages.why(record.reason)
        record.rule_msg += f"\n    {reason}" if reason else ""
    return not messages.is_noise(record.msg)


# How an importing workflow's run looks is its own affair.
if not IS_MODULE:
    logger.addFilter(tell_briefly)


from shufflebounds.curves.plotting.texts import plain

# Snakemake takes the name itself, at the beginning of a line, for the directive.
in_report = report

PAGE = "Page"
DATA = "data (CSV)"
CLAIMS_TITLE = "The paper's claims, measured"
PROOFS_TITLE = "Points of the curves, proven again"
# Pages that are not a table's: their titles, and what the report calls them together.
PAGES = {"claims": (CLAIMS_TITLE, "Claims"), "verified": (PROOFS_TITLE, "Proofs")}


def paper_title(wildcards):
    """The title behind its place in the configuration, since the report sorts by the alphabet."""
    names = list(PLAN.papers)
    place = 1 + names.index(wildcards.paper)
    return f"{place:0{len(str(len(names)))}}. {plain(PLAN.papers[wildcards.paper].title)}"


def figure_title(wildcards):
    """What the paper calls the figure; others come after those of the paper."""
    # Snakemake would make wildcards of braces, and the report sets no formulas.
    paper = PLAN.papers[wildcards.paper]
    further = "Further: " if any(paper.sources.values()) else ""
    return plain(paper.sources[wildcards.figure] or f"{further}{paper.titles[wildcards.figure]}")


def gallery_titles():
    """Each paper's title by its name."""
    return {name: plain(paper.title) for name, paper in PLAN.papers.items()}


def figure_files():
    """The files of a figure; one of them is for the report: what is for print would double it."""
    shown = next(kind for kind in ("png", "svg", "pdf") if kind in PLAN.formats)
    return [
        (
            in_report(
                f"{FIGURE}.{kind}",
                caption="../report/figure.rst",
                category=paper_title,
                subcategory="Figures",
                labels=figure_labels,
            )
            if kind == shown
            else f"{FIGURE}.{kind}"
        )
        for kind in PLAN.formats
    ]


def figure_labels(wildcards):
    return {"figure": figure_title(wildcards)}


def table_labels(wildcards):
    return {"table": table(wildcards).kind.title, "format": DATA}


def page_labels(wildcards):
    if wildcards.page in PAGES:
        return {"table": PAGES[wildcards.page][0], "format": PAGE}
    name = wildcards.page.removeprefix("tables/")
    tables = PLAN.papers[wildcards.paper].tables
    return {"table": tables[name].kind.title if name in tables else CLAIMS_TITLE, "format": PAGE}


def page_group(wildcards):
    return PAGES.get(wildcards.page, ("", "Tables"))[1]
