"""Curves, figures, tables and claims of the papers: config.yaml and config/ say what, workflow/ how."""

from snakemake.utils import min_version

min_version("9.0")


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/report.smk"


rule all:
    """Every curve, figure, table and claim of every paper."""
    default_target: True
    input:
        of_every_paper(outputs),
        gallery(),
    message:
        "everything of every paper"


include: "workflow/rules/targets.smk"
include: "workflow/rules/curves.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/proofs.smk"
