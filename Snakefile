"""The figures, tables and claims of the paper: config.yaml says what, workflow/ says how."""

from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/checkout.smk"


configfile: "config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/stale.smk"
include: "workflow/rules/start.smk"


rule all:
    """Every curve, figure and table of the matrix, and the claims."""
    default_target: True
    input:
        final_outputs(),


include: "workflow/rules/curves.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/tables.smk"
