rule curve:
    """Compute one bound of one experiment in one regime along its whole axis."""
    input:
        # The files of a mechanism lie in the project: the prefix of a module is for what it makes.
        lambda wildcards: [local(file) for file in specification(wildcards).reports.files],
    output:
        csv=CURVE,
    log:
        "results/{paper}/logs/curves/{experiment}/{regime}/{curve}.log",
    benchmark:
        CURVE_BENCHMARK
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        specification=lambda wildcards: specification(wildcards).text(),
        numbers=lambda wildcards: numbers_of(specification(wildcards)),
    message:
        "curve {wildcards.curve} of {wildcards.experiment}, {wildcards.regime} ({wildcards.paper})"
    script:
        "../scripts/curve.py"
