rule judgement:
    """Say of each claim of a paper whether the curves show it."""
    input:
        curves=claimed_files(CURVE),
        # Run times belong to what is measured.
        benchmarks=claimed_files(CURVE_BENCHMARK),
    output:
        csv=report(
            f"{CLAIMS}.csv",
            caption="../report/table.rst",
            category=paper_title,
            subcategory="Claims",
            labels={"table": CLAIMS_TITLE, "format": DATA},
        ),
        page=f"{CLAIMS}.md",
    log:
        "results/{paper}/logs/claims.log",
    benchmark:
        "results/{paper}/benchmarks/claims.tsv"
    wildcard_constraints:
        paper=name_pattern(name for name, paper in PLAN.papers.items() if paper.claims),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest=lambda wildcards: paper_plan(wildcards).claims_digest,
        numbers=NUMBERS,
        presentation=PRESENTATION,
    message:
        "claims ({wildcards.paper})"
    script:
        "../scripts/claims.py"
