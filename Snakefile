"""Curves, figures, tables and claims of the papers: config.yaml and config/ say what, workflow/ how."""

from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/checkout.smk"


configfile: "config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/plan.smk"
include: "workflow/rules/snakemake_internals.smk"
include: "workflow/rules/inputs.smk"
include: "workflow/rules/report.smk"


rule all:
    """Every curve, figure, table and claim of every paper."""
    default_target: True
    input:
        every_output(),
    message:
        "everything of every paper"


include: "workflow/rules/curves.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/claims.smk"


for paper in PLAN.papers:

    rule:
        name:
            paper
        input:
            outputs(paper),
        message:
            f"everything of {paper}"
