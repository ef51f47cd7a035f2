def claimed(pattern):
    """Files of every curve that a claim of the paper is measured on."""

    def of_paper(wildcards):
        curves = PLAN.papers[wildcards.paper].claimed_curves
        return files(pattern, wildcards.paper, curves)

    return of_paper


def claim_sources(wildcards):
    modules = research(wildcards.paper).claim_modules
    return relative(sources.of_claims(modules))


rule claims:
    """Say of each claim of a paper whether the curves show it."""
    input:
        sources=claim_sources,
        curves=claimed(CURVE),
        # Run times belong to what is measured.
        benchmarks=claimed(CURVE_BENCHMARK),
    output:
        csv=report(
            CLAIMS + ".csv",
            caption="../report/table.rst",
            category="{paper}",
            subcategory="Claims",
            labels={"table": "The paper's claims, measured", "format": "data (CSV)"},
        ),
        page=CLAIMS + ".md",
    log:
        "results/{paper}/logs/claims.log",
    benchmark:
        "results/{paper}/benchmarks/claims.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest=lambda wildcards: PLAN.papers[wildcards.paper].claims_digest,
    message:
        "claims ({wildcards.paper})"
    script:
        "../scripts/claims.py"
