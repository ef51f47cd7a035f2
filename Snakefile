"""Figures 2 and 3 of the paper from one command: config.yaml says what, workflow/ says how."""

from snakemake.utils import min_version

min_version("9.0")


configfile: "config.yaml"


include: "workflow/rules/common.smk"


rule all:
    """Every curve of the matrix and every figure."""
    default_target: True
    input:
        final_outputs(),


include: "workflow/rules/curves.smk"
include: "workflow/rules/figures.smk"
