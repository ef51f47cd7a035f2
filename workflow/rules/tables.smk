def table(wildcards):
    return part(wildcards, "tables", "table", wildcards.table)


def table_sources(wildcards):
    wanted = table(wildcards)
    refuse_stale(verify_table(wanted), made(TABLE + ".csv", **wildcards))
    return relative(sources.of_table(wanted))


def table_labels(wildcards, kind):
    return {"table": table(wildcards).kind.title, "format": kind}


rule table:
    """Compute one table of a paper."""
    input:
        sources=table_sources,
    output:
        csv=report(
            TABLE + ".csv",
            caption="../report/table.rst",
            category="{paper}",
            subcategory="Tables",
            labels=functools.partial(table_labels, kind="data (CSV)"),
        ),
        page=TABLE + ".md",
        latex=TABLE + ".tex",
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
        digest=lambda wildcards: table(wildcards).digest,
    message:
        "table {wildcards.table} ({wildcards.paper})"
    script:
        "../scripts/table.py"


def page_labels(wildcards):
    name = wildcards.page.removeprefix("tables/")
    kinds = PLAN.papers[wildcards.paper].tables
    title = kinds[name].kind.title if name in kinds else "The paper's claims, measured"
    return {"table": title, "format": "page"}


rule page:
    """Make HTML of a page that goes with a table, for the report, which shows no Markdown."""
    input:
        sources=relative(
            [ROOT / "workflow" / "html_page.py", *sources.closure(["shufflebounds.experiments.files"])]
        ),
        page="results/{paper}/{page}.md",
    output:
        html=report(
            "results/{paper}/{page}.html",
            caption="../report/table.rst",
            category="{paper}",
            subcategory=lambda wildcards: "Claims" if wildcards.page == "claims" else "Tables",
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
    message:
        "page of {wildcards.page} ({wildcards.paper})"
    script:
        "../scripts/page.py"
