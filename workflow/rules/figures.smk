rule figure:
    """Draw one figure of the paper from its curves."""
    input:
        sources=figure_sources,
        curves=figure_curves,
    output:
        pdf=report(
            "figures/{figure}.pdf",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}", "format": "PDF"},
        ),
        png=report(
            "figures/{figure}.png",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}", "format": "PNG"},
        ),
    log:
        "results/logs/figures/{figure}.log",
    benchmark:
        "results/benchmarks/figures/{figure}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        layout=figure_layout,
        style=figure_style,
    script:
        "../scripts/figure.py"
