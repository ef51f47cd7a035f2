rule curve:
    """Compute one bound of one experiment in one regime over the whole grid of n."""
    input:
        sources=curve_sources,
    output:
        csv=CURVE,
    log:
        "results/logs/curves/{experiment}/{regime}/{curve}.log",
    benchmark:
        "results/benchmarks/curves/{experiment}/{regime}/{curve}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        spec=curve_spec,
    script:
        "../scripts/curve.py"
