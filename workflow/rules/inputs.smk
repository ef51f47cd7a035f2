"""What the jobs of each rule are made from."""


def part(wildcards, parts, kind, name):
    """A part of a paper's plan; the run ends with a sentence where it has none of that name."""
    found = getattr(PLAN.papers[wildcards.paper], parts).get(name)
    if found is None:
        # The sentence alone: Snakemake would add places in this file to an exception.
        sys.exit(f"config/{wildcards.paper}.yaml asks for no {kind} {name}")
    return found


def specification(wildcards):
    name = Name(wildcards.experiment, wildcards.regime, wildcards.curve)
    return part(wildcards, "curves", "curve", name)


def layout(wildcards):
    return part(wildcards, "layouts", "figure", wildcards.figure)


def table(wildcards):
    return part(wildcards, "tables", "table", wildcards.table)


def drawn_table(wildcards):
    name = part(wildcards, "drawn_tables", "figure", wildcards.figure)
    return PLAN.papers[wildcards.paper].tables[name]


def drawn_file(wildcards):
    return f"{TABLE}.csv".format(paper=wildcards.paper, table=drawn_table(wildcards).name)


def curve_sources(wildcards):
    wanted = specification(wildcards)
    name = Name(wildcards.experiment, wildcards.regime, wildcards.curve)
    refuse_stale(verify_curve(name, wanted), made(CURVE, **wildcards))
    # What a mechanism reads lies where the project is, as its configuration says.
    own = [local(file) for file in wanted.reports.files]
    return relative(sources.of_curve(wanted)) + own


def table_sources(wildcards):
    wanted = table(wildcards)
    refuse_stale(verify_table(wanted), made(f"{TABLE}.csv", **wildcards))
    return relative(sources.of_table(wanted))


def drawn_table_sources(wildcards):
    return relative(sources.of_drawn_table(drawn_table(wildcards)))


def interactive_table_sources(wildcards):
    return relative(sources.of_interactive_table(drawn_table(wildcards)))


def claim_sources(wildcards):
    return relative(sources.of_claims(research(wildcards.paper).claims_module))


# Of the workflow itself, behind the HTML of a page.
PAGE_MODULES = ("html_page.py", "sortable.py")


def page_sources():
    return relative([*(ROOT / "workflow" / name for name in PAGE_MODULES), *sources.of_pages()])


def figure_curves(wildcards):
    return files(CURVE, wildcards.paper, layout(wildcards).curves)


def claimed(pattern):
    """Files of every curve that a claim of the paper is measured on."""

    def of_paper(wildcards):
        curves = PLAN.papers[wildcards.paper].claimed_curves
        return files(pattern, wildcards.paper, curves)

    return of_paper


def relative(paths):
    """As seen from the working directory: a checkout that moves must not rerun everything.

    Marked as local, since the prefix of a module is for what it makes, not for its own files.
    """
    return [local(from_here(path)) for path in paths]


# Every job lists some of the same files.
from_here = functools.cache(os.path.relpath)
