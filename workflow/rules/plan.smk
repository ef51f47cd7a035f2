"""Where this checkout is, what it is configured by, and the plan that follows: what is made, where."""

import functools
import gc
import os
import shlex
import sys
from pathlib import Path

# Not workflow.basedir: that is the importing workflow's where this one is used as a module.
ROOT = Path(workflow.snakefile).resolve().parents[2]
if not (ROOT / "src").is_dir():
    sys.exit(
        f"{workflow.snakefile} is in no checkout; import shufflebounds from a clone of it on disk"
    )
# The library of this checkout, whatever else is installed.
sys.path[:0] = [str(ROOT / folder) for folder in ("src", "workflow")]

from reproduction import digests, messages
from reproduction.configuration import checks, loading
from reproduction.configuration.loading import ConfigError

# Jobs, files and their records stay for the whole run: looking for garbage among them at every 700th
# new object is a tenth of a run that has nothing to do.
gc.set_threshold(50_000, 20, 20)

# A module's configuration comes whole from the workflow that imports it.
IS_MODULE = Path(workflow.basedir).resolve() not in (ROOT, ROOT / "workflow")
# Snakemake writes the path of Python unquoted into the shell commands of jobs, and a virtual environment
# inside this checkout has the checkout's spaces in its path.
if not IS_MODULE:
    sys.executable = shlex.quote(sys.executable)


def or_exit(function, *arguments):
    """What a function returns; the run ends with the sentence of a mistake in the configuration."""
    try:
        return function(*arguments)
    except ConfigError as mistake:
        # The sentence alone: Snakemake would add places in this file to an exception.
        sys.exit(messages.mistake(str(mistake), config.get("papers")))


# Before Snakemake reads them: what YAML hides, and what would run.
if not IS_MODULE and workflow.is_main_process:
    for name in ("config.yaml", *workflow.overwrite_configfiles):
        if Path(name).is_file():
            or_exit(loading.check, Path(name))


configfile: "config.yaml"


# Of a module: what its configuration does not hold, from beside the importing workflow or from here.
for folder in [Path("config"), ROOT / "config"] if IS_MODULE else [Path("config")]:
    or_exit(functools.partial(loading.join, override=not IS_MODULE), config, folder)
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
    or_exit(checks.checked, config, CONFIG_SOURCE)
    if workflow.is_main_process
    else checks.trusted(config)
)

# What the code decides of a result; parameters of the jobs.
NUMBERS = digests.of_numbers()
PRESENTATION = digests.of_presentation()

CURVE = "results/{paper}/curves/{experiment}/{regime}/{curve}.csv"
CURVE_BENCHMARK = "results/{paper}/benchmarks/curves/{experiment}/{regime}/{curve}.tsv"
TABLE = "results/{paper}/tables/{table}"
CLAIMS = "results/{paper}/claims"
PROOFS = "results/{paper}/verified"
FIGURE = "figures/{paper}/{figure}"
GALLERY = "results/gallery.html"
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
    page="claims|verified|tables/[A-Za-z0-9_-]+",


def figure_outputs(name, figure):
    """A figure in all its formats, its caption, and its chart."""
    kinds = (*PLAN.formats, "md", "tex", "json")
    return [f"figures/{name}/{figure}.{kind}" for kind in kinds]


def figures(name):
    return [file for figure in PLAN.papers[name].figures for file in figure_outputs(name, figure)]


def gallery():
    """The gallery, where there is any figure to be in it."""
    return [GALLERY] if any(paper.figures for paper in PLAN.papers.values()) else []


def tables(name):
    return [
        f"results/{name}/tables/{table}.{kind}"
        for table in PLAN.papers[name].tables
        for kind in ("csv", "md", "tex", "html")
    ]


def claims(name):
    kinds = ("csv", "md", "html") if PLAN.papers[name].claims else ()
    return [f"results/{name}/claims.{kind}" for kind in kinds]


def proofs(name):
    return [f"results/{name}/verified.{kind}" for kind in ("csv", "md", "html")]


def outputs(name):
    """Everything that is made for one paper."""
    curves = files(CURVE, name, PLAN.papers[name].curves)
    return curves + figures(name) + tables(name) + claims(name)


def of_every_paper(part):
    return [output for name in PLAN.papers for output in part(name)]


def files(pattern, paper, curves):
    return [
        pattern.format(paper=paper, experiment=c.experiment, regime=c.regime, curve=c.curve)
        for c in curves
    ]
