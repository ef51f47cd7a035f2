rule table:
    """Regenerate one of Tables 1 to 3 of the paper from the mechanisms."""
    input:
        sources=library("tables", described=every_mechanism()),
    output:
        csv=report(
            "results/tables/{table}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}", "format": "data (CSV)"},
        ),
        page="results/tables/{table}.md",
    log:
        "results/logs/tables/{table}.log",
    benchmark:
        "results/benchmarks/tables/{table}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        spec=lambda wildcards: matrix.table_spec(config, wildcards.table),
    script:
        "../scripts/table.py"


rule hierarchy:
    """Measure Figure 1 of the paper: clone, coarsened clone, blanket, lower bound."""
    input:
        sources=hierarchy_sources,
    output:
        csv=report(
            "results/tables/hierarchy.csv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "hierarchy", "format": "data (CSV)"},
        ),
        page="results/tables/hierarchy.md",
    log:
        "results/logs/tables/hierarchy.log",
    benchmark:
        "results/benchmarks/tables/hierarchy.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        spec=lambda wildcards: matrix.hierarchy_spec(config),
    script:
        "../scripts/hierarchy.py"


rule claims:
    """Say of each claim of the paper whether the curves show it."""
    input:
        sources=library("claims", "curves"),
        curves=claim_files(CURVE),
        # Run times belong to what is measured.
        benchmarks=claim_files(CURVE_BENCHMARK),
    output:
        csv=report(
            "results/claims.csv",
            caption="../report/table.rst",
            category="Claims",
            labels={"table": "claims", "format": "data (CSV)"},
        ),
        page="results/claims.md",
    log:
        "results/logs/claims.log",
    benchmark:
        "results/benchmarks/claims.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        shown_by=claim_params(),
        specs=specs(claimed_curves()),
    script:
        "../scripts/claims.py"


rule page:
    """Make HTML of a page that goes with a table, for the report, which shows no Markdown."""
    input:
        sources=page_sources(),
        page="results/{page}.md",
    output:
        html=report(
            "results/{page}.html",
            caption="../report/table.rst",
            category=page_category,
            labels=page_labels,
        ),
    log:
        "results/logs/{page}_page.log",
    benchmark:
        "results/benchmarks/{page}_page.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    script:
        "../scripts/page.py"
