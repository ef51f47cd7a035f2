rule figure:
    """Draw one figure of a paper from its curves or its table, for print and for the browser."""
    input:
        shown=figure_inputs,
    output:
        report(
            f"{FIGURE}.{SHOWN_FORMAT}",
            caption="../report/figure.rst",
            category=paper_title,
            subcategory="Figures",
            labels=figure_labels,
        ),
        [f"{FIGURE}.{kind}" for kind in PLAN.formats if kind != SHOWN_FORMAT],
        caption=f"{FIGURE}.md",
        latex=f"{FIGURE}.tex",
        chart=f"{FIGURE}.json",
    log:
        "results/{paper}/logs/figures/{figure}.log",
    benchmark:
        "results/{paper}/benchmarks/figures/{figure}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest=lambda wildcards: paper_plan(wildcards).figure_digest(wildcards.figure),
        caption=figure_caption,
        holds=lambda wildcards: paper_plan(wildcards).holds[wildcards.figure],
        presentation=PRESENTATION,
    message:
        "figure {wildcards.figure} ({wildcards.paper})"
    script:
        "../scripts/figure.py"


rule gallery:
    """Put the charts of all papers on one page, where one reads off values and hides curves."""
    input:
        charts=[file for file in for_every_paper(figures) if file.endswith(".json")],
    output:
        page=report(
            GALLERY,
            caption="../report/gallery.rst",
            category="Interactive figures",
            labels={"figure": "Gallery"},
        ),
    log:
        "results/gallery/logs/gallery.log",
    benchmark:
        "results/gallery/benchmarks/gallery.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        titles=lambda _: gallery_titles(),
        presentation=PRESENTATION,
    message:
        "gallery"
    script:
        "../scripts/gallery.py"
