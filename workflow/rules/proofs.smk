rule proofs:
    """Prove points of a paper's curves again, by a program that shares no code with the library."""
    input:
        curves=lambda wildcards: curves(wildcards.paper),
        program=local(ROOT / "verify/verify.py"),
    output:
        csv=report(
            f"{PROOFS}.csv",
            caption="../report/table.rst",
            category=paper_title,
            subcategory="Proofs",
            labels={"table": PROOFS_TITLE, "format": DATA},
        ),
        page=f"{PROOFS}.md",
    log:
        "results/{paper}/logs/verified.log",
    benchmark:
        "results/{paper}/benchmarks/verified.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=120,
    params:
        numbers=NUMBERS,
        presentation=PRESENTATION,
    message:
        "proofs ({wildcards.paper})"
    script:
        "../scripts/proofs.py"
