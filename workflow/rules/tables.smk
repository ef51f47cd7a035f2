rule table:
    """Compute one table of a paper."""
    output:
        csv=report(
            f"{TABLE}.csv",
            caption="../report/table.rst",
            category=paper_title,
            subcategory="Tables",
            labels=table_labels,
        ),
        page=f"{TABLE}.md",
        latex=f"{TABLE}.tex",
    log:
        "results/{paper}/logs/tables/{table}.log",
    benchmark:
        "results/{paper}/benchmarks/tables/{table}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest=lambda wildcards: paper_plan(wildcards).tables[wildcards.table].digest,
        numbers=NUMBERS,
        presentation=PRESENTATION,
    message:
        "table {wildcards.table} ({wildcards.paper})"
    script:
        "../scripts/table.py"


rule page:
    """Make HTML of a page that goes with a table, for the report, which shows no Markdown."""
    input:
        page="results/{paper}/{page}.md",
    output:
        html=report(
            "results/{paper}/{page}.html",
            caption="../report/table.rst",
            category=paper_title,
            subcategory=page_group,
            labels=page_labels,
        ),
    log:
        "results/{paper}/logs/{page}_page.log",
    benchmark:
        "results/{paper}/benchmarks/{page}_page.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        presentation=PRESENTATION,
    message:
        "page of {wildcards.page} ({wildcards.paper})"
    script:
        "../scripts/page.py"
