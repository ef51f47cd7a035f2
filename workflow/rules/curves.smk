rule curve:
    """Compute one bound of one experiment in one regime along its whole axis."""
    input:
        curve_inputs,
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
        numbers=NUMBERS,
    message:
        "curve {wildcards.curve} of {wildcards.experiment}, {wildcards.regime} ({wildcards.paper})"
    script:
        "../scripts/curve.py"
