"""Curves, figures, tables and claims of the papers: config.yaml and config/ say what, workflow/ how."""

from snakemake.utils import min_version

min_version("9.0")


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/report.smk"


onstart:
    # Snakemake's limit of jobs per second makes it look through all waiting jobs once a second for
    # each job that has ended. No option turns that off. For 500 jobs of a second on two cores it took
    # 36 s of CPU time instead of 13 s.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None


rule all:
    """Every curve, figure, table and claim of every paper."""
    default_target: True
    input:
        for_every_paper(outputs),
        gallery(),
    message:
        "everything of every paper"


include: "workflow/rules/targets.smk"
include: "workflow/rules/curves.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/proofs.smk"
