"""Curves, figures, tables and claims of the papers: config.yaml and config/ say what, workflow/ how."""

from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/checkout.smk"


configfile: "config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/plan.smk"
include: "workflow/rules/snakemake_internals.smk"


rule all:
    """Every curve, figure, table and claim of every paper."""
    default_target: True
    message:
        "everything of every paper"
    input:
        every_output(),


for paper in PLAN.papers:

    rule:
        name:
            paper
        input:
            outputs(paper),


include: "workflow/rules/curves.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/claims.smk"
