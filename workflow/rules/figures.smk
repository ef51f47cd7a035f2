rule figure:
    """Draw one figure of a paper from its curves or its table."""
    input:
        shown=figure_inputs,
    output:
        figure_files(),
        caption=f"{FIGURE}.md",
        latex=f"{FIGURE}.tex",
    log:
        "results/{paper}/logs/figures/{figure}.log",
    benchmark:
        "results/{paper}/benchmarks/figures/{figure}.tsv"
    wildcard_constraints:
        figure=in_any_paper(lambda paper: paper.figures),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest=figure_digest,
        caption=figure_caption,
        presentation=PRESENTATION,
    message:
        "figure {wildcards.figure} ({wildcards.paper})"
    script:
        "../scripts/figure.py"


rule vega:
    """Bundle the program that draws interactive figures, which each of their pages holds."""
    output:
        program=VEGA,
    log:
        "results/vega/logs/vega.log",
    benchmark:
        "results/vega/benchmarks/vega.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        presentation=PRESENTATION,
    message:
        "program of interactive figures"
    script:
        "../scripts/vega.py"


rule interactive:
    """Make a page of one figure of a paper on which one reads off values and hides curves."""
    input:
        shown=figure_inputs,
        program=VEGA,
    output:
        page=f"{FIGURE}.html",
    log:
        "results/{paper}/logs/figures/{figure}_page.log",
    benchmark:
        "results/{paper}/benchmarks/figures/{figure}_page.tsv"
    wildcard_constraints:
        figure=in_any_paper(lambda paper: paper.figures),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest=figure_digest,
        presentation=PRESENTATION,
    message:
        "interactive page of {wildcards.figure} ({wildcards.paper})"
    script:
        "../scripts/interactive.py"


rule gallery:
    """Put all figures of all papers on one page, each of which opens to be explored."""
    input:
        pages=gallery_files("html"),
        pictures=gallery_files("png") if "png" in PLAN.formats else [],
        program=VEGA,
    output:
        page=report(
            GALLERY,
            caption="../report/gallery.rst",
            category="Interactive figures",
            labels={"figure": "Gallery"},
        ),
    log:
        "results/vega/logs/gallery.log",
    benchmark:
        "results/vega/benchmarks/gallery.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        papers=lambda _: gallery_titles(),
        presentation=PRESENTATION,
    message:
        "gallery"
    script:
        "../scripts/gallery.py"
