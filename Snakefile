"""Curves, figures, tables and claims of the papers: config.yaml and config/ say what, workflow/ how."""

from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/plan.smk"
include: "workflow/rules/inputs.smk"
include: "workflow/rules/report.smk"


report: "workflow/report/workflow.rst"


onstart:
    # Snakemake would stop at the first job, with a traceback.
    for folder in ("results", "figures"):
        usable = os.path.isdir(folder) and os.access(folder, os.W_OK)
        if os.path.lexists(folder) and not usable:
            sys.exit(f"{folder} cannot be written to, so nothing was run")
    if workflow.local_exec:
        # Snakemake limits how many jobs start per second, and for that looks through all waiting
        # jobs once a second for each that has ended: a fifth of the CPU time of a whole run. The
        # cores are limit enough here.
        workflow.scheduler.job_rate_limiter = None


rule all:
    """Every curve, figure, table and claim of every paper."""
    default_target: True
    input:
        of_every_paper(outputs),
        gallery(),
    message:
        "everything of every paper"


rule figures:
    """Every figure of every paper."""
    input:
        of_every_paper(figures),
        gallery(),
    message:
        "every figure"


rule tables:
    """Every table of every paper."""
    input:
        of_every_paper(tables),
    message:
        "every table"


rule claims:
    """The claims of every paper, judged."""
    input:
        of_every_paper(claims),
    message:
        "every claim"


rule verify:
    """Points of every curve of every paper, proven by a second program; nothing else asks for it."""
    input:
        of_every_paper(proofs),
    message:
        "every proof"


include: "workflow/rules/curves.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/proofs.smk"


for paper in PLAN.papers:

    rule:
        name:
            paper
        input:
            outputs(paper),
        message:
            f"everything of {paper}"

    for figure in PLAN.papers[paper].figures:

        rule:
            name:
                f"{paper}_{figure}"
            input:
                figure_outputs(paper, figure),
            message:
                f"figure {figure} of {paper}"
