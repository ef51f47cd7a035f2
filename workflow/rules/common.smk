"""The plan that the configuration makes, and the files that the rules make of it."""

import shlex
import sys
from pathlib import Path

# Not workflow.basedir, which is that of the importing workflow where this one is a module.
ROOT = Path(workflow.snakefile).resolve().parents[2]
if not (ROOT / "src").is_dir():
    sys.exit(f"{ROOT} is no checkout of shufflebounds; import the workflow from a clone on disk")
# The library and the workflow of this checkout, whatever else is installed.
sys.path[:0] = [str(ROOT / folder) for folder in ("src", "workflow")]
# Snakemake does not quote the Python of jobs, so that no job runs if its path has a space.
sys.executable = shlex.quote(sys.executable)

from reproduction import digests
from reproduction.configuration import checks, loading
from reproduction.configuration.sentences import ConfigError
from shufflebounds.curves.storage import CurveName

# A module gets its configuration from the importing workflow.
IS_MODULE = Path(workflow.basedir).resolve() not in (ROOT, ROOT / "workflow")


def exit_on_mistake(function, *arguments):
    """What a function returns; a mistake in the configuration ends the run with its sentence."""
    try:
        return function(*arguments)
    except ConfigError as mistake:
        sys.exit(str(mistake))


# Snakemake would take the last of two equal keys, and run the Python of a file with expressions.
CHECK_FILE = Path("config.yaml").is_file() and not IS_MODULE
ON_DISK = exit_on_mistake(loading.read, Path("config.yaml")) if CHECK_FILE else {}


configfile: "config.yaml"


# What sentences about mistakes say of where else the configuration is from.
if IS_MODULE:
    ORIGIN = " of the module"
else:
    ORIGIN = "" if config == ON_DISK else " with the command line"
exit_on_mistake(checks.join_papers, config, [Path("config"), ROOT / "config"], ORIGIN)
PLAN = exit_on_mistake(checks.make_plan, config, ORIGIN)

# What the code decides of a result; parameters of the jobs.
NUMBERS = digests.digest_of_numbers()
PRESENTATION = digests.digest_of_presentation()

CURVE = "results/{paper}/curves/{experiment}/{regime}/{curve}.csv"
CURVE_BENCHMARK = "results/{paper}/benchmarks/curves/{experiment}/{regime}/{curve}.tsv"
TABLE = "results/{paper}/tables/{table}"
CLAIMS = "results/{paper}/claims"
PROOFS = "results/{paper}/verified"
FIGURE = "figures/{paper}/{figure}"
GALLERY = "results/gallery.html"
ENVIRONMENT = "../../environment.yml"


def name_pattern(names):
    """A pattern that matches just these names."""
    return "|".join(sorted(set(names))) or "(?!)"


def names_in_papers(part):
    return name_pattern(name for paper in PLAN.papers.values() for name in part(paper))


wildcard_constraints:
    paper=name_pattern(PLAN.papers),
    experiment=names_in_papers(lambda paper: (name.experiment for name in paper.curves)),
    regime=names_in_papers(lambda paper: (name.regime for name in paper.curves)),
    curve=names_in_papers(lambda paper: (name.curve for name in paper.curves)),
    table=names_in_papers(lambda paper: paper.tables),
    figure=names_in_papers(lambda paper: paper.figures),
    page="claims|verified|tables/[A-Za-z0-9_-]+",


def paper_plan(wildcards):
    """The plan of the paper of a job."""
    return PLAN.papers[wildcards.paper]


def specification(wildcards):
    """What a curve is made from."""
    name = CurveName(wildcards.experiment, wildcards.regime, wildcards.curve)
    return paper_plan(wildcards).curves[name]


def numbers_of(specification):
    """What the code decides of a curve, that of mechanisms of other packages included."""
    plugins = digests.digest_of_plugins(specification.reports.mechanism, specification.bound.name)
    return f"{NUMBERS} {plugins}" if plugins else NUMBERS


def curve_files(pattern, paper, names):
    return [pattern.format(paper=paper, **vars(name)) for name in names]


def claimed_files(pattern):
    """Files of every curve that the claims of a paper are measured on."""
    return lambda wildcards: curve_files(
        pattern, wildcards.paper, paper_plan(wildcards).claimed_curves
    )


def figure_inputs(wildcards):
    """The curves that a figure draws, or its table."""
    shown = paper_plan(wildcards).figures[wildcards.figure]
    if isinstance(shown, str):
        return f"{TABLE}.csv".format(paper=wildcards.paper, table=shown)
    return curve_files(CURVE, wildcards.paper, shown.curves)


def curves(name):
    return curve_files(CURVE, name, PLAN.papers[name].curves)


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
    return curves(name) + figures(name) + tables(name) + claims(name)


def for_every_paper(part):
    return [output for name in PLAN.papers for output in part(name)]
