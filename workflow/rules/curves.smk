rule curve:
    """Compute one bound of one experiment in one regime over the whole grid of n."""
    input:
        sources=curve_sources,
    output:
        csv=CURVE,
    log:
        "results/logs/curves/{experiment}/{regime}/{curve}.log",
    benchmark:
        CURVE_BENCHMARK
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        spec=curve_spec,
    script:
        "../scripts/curve.py"


rule distribution:
    """Compute the distribution of one privacy amplification random variable."""
    input:
        sources=distribution_sources,
    output:
        csv=DISTRIBUTION,
    log:
        "results/logs/distributions/{distribution}.log",
    benchmark:
        "results/benchmarks/distributions/{distribution}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        spec=distribution_spec,
    script:
        "../scripts/distribution.py"
