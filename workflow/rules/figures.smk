rule figure:
    """Draw one figure of the paper from its curves."""
    input:
        sources=library("figures", "curves"),
        curves=figure_curves,
    output:
        pdf=report(
            "figures/{figure}.pdf",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}", "format": "print (PDF)"},
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
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        panels=figure_panels,
        specs=figure_specs,
    script:
        "../scripts/figure.py"


rule distribution_figure:
    """Draw the distribution of one privacy amplification random variable."""
    input:
        sources=library("distribution_figure"),
        csv=DISTRIBUTION,
    output:
        pdf=report(
            "figures/{distribution}.pdf",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{distribution}", "format": "print (PDF)"},
        ),
        png=report(
            "figures/{distribution}.png",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{distribution}", "format": "PNG"},
        ),
    log:
        "results/logs/figures/{distribution}.log",
    benchmark:
        "results/benchmarks/figures/{distribution}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        title=lambda wildcards: config["distributions"][wildcards.distribution]["title"],
        spec=distribution_spec,
    script:
        "../scripts/distribution_figure.py"
