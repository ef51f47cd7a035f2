"""What all rules share: the checked matrix, and where its parts end up."""

import functools
import os
import sys
from pathlib import Path

import matrix
import sources

from shufflebounds import curves, descriptions, distribution, randomizers

stop_at_mistakes(functools.partial(config_check.check, source=CONFIG_SOURCE), config)

CURVE = "results/curves/{experiment}/{regime}/{curve}.csv"
CURVE_BENCHMARK = "results/benchmarks/curves/{experiment}/{regime}/{curve}.tsv"
DISTRIBUTION = "results/distributions/{distribution}.csv"
ENVIRONMENT = "../../environment.yml"


def names(section):
    """A pattern for the names of a section of the configuration."""
    return "|".join(config.get(section, [])) or "(?!)"


wildcard_constraints:
    experiment=names("experiments"),
    regime=names("regimes"),
    curve=names("curves"),
    figure=names("figures"),
    distribution=names("distributions"),
    table="|".join(matrix.TABLES),
    page="claims|tables/[a-z0-9]+",


def final_outputs():
    """Everything the configuration asks for."""
    curves = files(CURVE, matrix.curves(config))
    drawn = [*config["figures"], *config.get("distributions", [])]
    figures = [f"figures/{name}.{kind}" for name in drawn for kind in ("pdf", "png")]
    tables = [f"tables/{name}" for name in matrix.tables(config)]
    claims = ["claims"] if "claims" in config else []
    pages = [f"results/{name}.{kind}" for name in tables + claims for kind in ("csv", "md", "html")]
    return curves + figures + pages


def curve_spec(wildcards):
    try:
        return matrix.curve_spec(config, matrix.Curve(**wildcards))
    except ValueError as mistake:
        # The sentence alone: Snakemake would add places in this file to an exception.
        sys.exit(str(mistake))


def curve_sources(wildcards):
    spec = curve_spec(wildcards)
    refuse_stale(curves, made(CURVE, wildcards), spec)
    return relative(sources.of_curve(spec))


def files(pattern, curves):
    return [pattern.format(**curve._asdict()) for curve in curves]


def figure_curves(wildcards):
    return files(CURVE, matrix.figure_curves(config, wildcards.figure))


def figure_specs(wildcards):
    return specs(matrix.figure_curves(config, wildcards.figure))


def specs(curves):
    return [matrix.curve_spec(config, curve) for curve in curves]


def figure_panels(wildcards):
    return matrix.figure_panels(config, wildcards.figure)


def distribution_spec(wildcards):
    return matrix.distribution_spec(config, wildcards.distribution)


def claimed_curves():
    """Every curve that a claim is measured on, once."""
    curves = matrix.claim_curves(config).values()
    return list(dict.fromkeys(curve for shown in curves for curve in shown))


def claim_files(pattern):
    return files(pattern, claimed_curves())


def claim_params():
    """For each claim the places of its curves among all of them: unlike paths, without prefixes."""
    place = {curve: i for i, curve in enumerate(claimed_curves())}
    shown_by = matrix.claim_curves(config)
    return {claim: [place[curve] for curve in curves] for claim, curves in shown_by.items()}


def library(*modules, described=()):
    """Library files behind some of its modules and some descriptions of mechanisms, as inputs."""
    used = [f"randomizers.{name}" for one in described for name in descriptions.mechanisms(one)]
    return relative(sources.closure([f"shufflebounds.{name}" for name in [*modules, *used]]))


def every_mechanism():
    return [{"type": name} for name in randomizers.mechanism_names()]


def distribution_sources(wildcards):
    spec = distribution_spec(wildcards)
    refuse_stale(distribution, made(DISTRIBUTION, wildcards), spec)
    return library("distribution", described=[spec["mechanism"]])


def hierarchy_sources(wildcards):
    return library("hierarchy", described=matrix.hierarchy_spec(config)["mechanisms"].values())


def page_sources():
    return relative([ROOT / "workflow" / "html_page.py"]) + library("files")


def page_category(wildcards):
    return "Claims" if wildcards.page == "claims" else "Tables"


def page_labels(wildcards):
    return {"table": os.path.basename(wildcards.page), "format": "HTML"}


def relative(paths):
    """As seen from the working directory: a checkout that moves must not rerun everything.

    Marked as local, since the prefix of a module is for what it makes, not for its own files.
    """
    return [local(from_here(path)) for path in paths]


# Every job lists some of the same files.
from_here = functools.cache(os.path.relpath)
