"""What all rules share: the checked matrix, and where its parts end up."""

import os
import sys
from pathlib import Path

# The library of this checkout, whatever else is installed.
sys.path[:0] = [os.path.join(workflow.basedir, folder) for folder in ("src", "workflow")]

import config_check
import matrix
import sources

try:
    config_check.check(config)
except config_check.ConfigError as mistake:
    # The sentence alone: Snakemake would add places in this file to an exception.
    sys.exit(str(mistake))

CURVE = "results/curves/{experiment}/{regime}/{curve}.csv"


wildcard_constraints:
    experiment="|".join(config["experiments"]),
    regime="|".join(config["regimes"]),
    curve="|".join(config["curves"]),
    figure="|".join(config["figures"]),


def final_outputs():
    curves = [CURVE.format(**curve._asdict()) for curve in matrix.curves(config)]
    figures = [
        f"figures/{figure}.{kind}" for figure in config["figures"] for kind in ("pdf", "png")
    ]
    return curves + figures


def curve_spec(wildcards):
    return matrix.curve_spec(config, matrix.Curve(**wildcards))


def curve_sources(wildcards):
    return relative(sources.of_curve(curve_spec(wildcards)))


def figure_curves(wildcards):
    return [
        CURVE.format(**curve._asdict()) for curve in matrix.figure_curves(config, wildcards.figure)
    ]


def figure_sources(wildcards):
    return relative(sources.of_figure())


def figure_layout(wildcards):
    return matrix.figure_layout(config, wildcards.figure)


def figure_style(wildcards):
    return matrix.figure_style(config, wildcards.figure)


def relative(paths):
    """As seen from the working directory: a checkout that moves must not rerun everything."""
    return [os.path.relpath(path) for path in paths]
