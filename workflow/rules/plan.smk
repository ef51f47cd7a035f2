"""What all rules share: the plan of the run, and where its parts end up."""

import functools
import os

import sources

from shufflebounds.experiments.configuration import loading
from shufflebounds.experiments.specification import Name
from shufflebounds.papers.registry import research

# Of a module: what its configuration does not hold, from beside the importing workflow or from here.
for folder in [Path("config"), ROOT / "config"] if IS_MODULE else [Path("config")]:
    or_exit(functools.partial(papers_files.join, override=not IS_MODULE), config, folder)
# Later files, and options, are merged into the first one.
CONFIG_SOURCE = (
    "the configuration of the module"
    if IS_MODULE
    else " with ".join(
        ["config.yaml", *(Path(name).name for name in workflow.overwrite_configfiles)]
        + (["--config"] if workflow.config_settings.config else [])
    )
)
# Jobs, which read the configuration again, need not check it again.
PLAN = (
    or_exit(loading.checked, config, CONFIG_SOURCE)
    if workflow.is_main_process
    else loading.trusted(config)
)

CURVE = "results/{paper}/curves/{experiment}/{regime}/{curve}.csv"
CURVE_BENCHMARK = "results/{paper}/benchmarks/curves/{experiment}/{regime}/{curve}.tsv"
TABLE = "results/{paper}/tables/{table}"
CLAIMS = "results/{paper}/claims"
FIGURE = "figures/{paper}/{figure}"
VEGA = "results/vega.js"
ENVIRONMENT = "../../environment.yml"


def pattern(names):
    """That matches just these names."""
    return "|".join(sorted(set(names))) or "(?!)"


def in_any_paper(part):
    return pattern(name for paper in PLAN.papers.values() for name in part(paper))


wildcard_constraints:
    paper=pattern(PLAN.papers),
    experiment=in_any_paper(lambda paper: (name.experiment for name in paper.curves)),
    regime=in_any_paper(lambda paper: (name.regime for name in paper.curves)),
    curve=in_any_paper(lambda paper: (name.curve for name in paper.curves)),
    table=in_any_paper(lambda paper: paper.tables),
    page="claims|tables/[A-Za-z0-9_-]+",


def outputs(name):
    """Everything that is made for one paper."""
    paper = PLAN.papers[name]
    curves = files(CURVE, name, paper.curves)
    figures = [
        f"figures/{name}/{figure}.{kind}" for figure in paper.figures for kind in PLAN.formats
    ]
    interactive = [f"figures/{name}/{figure}.html" for figure in paper.figures]
    tables = [
        f"results/{name}/tables/{table}.{kind}"
        for table in paper.tables
        for kind in ("csv", "md", "tex", "html")
    ]
    claims = [f"results/{name}/claims.{kind}" for kind in ("csv", "md", "html")]
    return curves + figures + interactive + tables + (claims if paper.claims else [])


def every_output():
    return [output for name in PLAN.papers for output in outputs(name)]


def files(pattern, paper, curves):
    return [
        pattern.format(paper=paper, experiment=c.experiment, regime=c.regime, curve=c.curve)
        for c in curves
    ]
