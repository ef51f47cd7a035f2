def layout(wildcards):
    return part(wildcards, "layouts", "figure", wildcards.figure)


def figure_curves(wildcards):
    return files(CURVE, wildcards.paper, layout(wildcards).curves)


def drawn_table(wildcards):
    return part(wildcards, "drawn_tables", "figure", wildcards.figure)


# Snakemake takes the name itself, at the beginning of a line, for the directive.
in_report = report


def figure_files(kinds):
    """The files of a figure as results of the report, named for people."""
    shown = {"pdf": "PDF, for print", "png": "PNG", "svg": "SVG, for the web"}
    return [
        in_report(
            f"{FIGURE}.{kind}",
            caption="../report/figure.rst",
            category="{paper}",
            subcategory="Figures",
            labels=functools.partial(figure_labels, kind=shown[kind]),
        )
        for kind in kinds
    ]


def figure_labels(wildcards, kind):
    return {"figure": PLAN.papers[wildcards.paper].titles[wildcards.figure], "format": kind}


def figures_of(part):
    return in_any_paper(lambda paper: getattr(paper, part))


rule figure:
    """Draw one figure of a paper from its curves."""
    input:
        sources=relative(sources.of_figures()),
        curves=figure_curves,
    output:
        figure_files(PLAN.formats),
    log:
        "results/{paper}/logs/figures/{figure}.log",
    benchmark:
        "results/{paper}/benchmarks/figures/{figure}.tsv"
    wildcard_constraints:
        figure=figures_of("layouts"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest=lambda wildcards: layout(wildcards).digest,
    message:
        "figure {wildcards.figure} ({wildcards.paper})"
    script:
        "../scripts/figure.py"


rule table_figure:
    """Draw one figure of a paper from a table."""
    input:
        sources=relative(sources.closure(["shufflebounds.plotting.step_function"])),
        csv=lambda wildcards: f"results/{wildcards.paper}/tables/{drawn_table(wildcards)}.csv",
    output:
        figure_files(PLAN.formats),
    log:
        "results/{paper}/logs/figures/{figure}.log",
    benchmark:
        "results/{paper}/benchmarks/figures/{figure}.tsv"
    wildcard_constraints:
        figure=figures_of("drawn_tables"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        title=lambda wildcards: PLAN.papers[wildcards.paper].titles[wildcards.figure],
    message:
        "figure {wildcards.figure} ({wildcards.paper})"
    script:
        "../scripts/table_figure.py"
