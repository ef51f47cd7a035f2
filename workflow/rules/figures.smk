rule figure:
    """Draw one figure of a paper from its curves."""
    input:
        sources=relative(sources.of_figures()),
        curves=figure_curves,
    output:
        figure_files(),
    log:
        "results/{paper}/logs/figures/{figure}.log",
    benchmark:
        "results/{paper}/benchmarks/figures/{figure}.tsv"
    wildcard_constraints:
        figure=in_any_paper(lambda paper: paper.layouts),
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
        sources=drawn_table_sources,
        csv=drawn_file,
    output:
        figure_files(),
    log:
        "results/{paper}/logs/figures/{figure}.log",
    benchmark:
        "results/{paper}/benchmarks/figures/{figure}.tsv"
    wildcard_constraints:
        figure=in_any_paper(lambda paper: paper.drawn_tables),
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
