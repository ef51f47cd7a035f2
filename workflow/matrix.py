"""The experiment matrix: which curves and figures a checked configuration asks for.

Everything handed to a job is its own slice of the configuration, as plain dicts, lists and
scalars, so that a change elsewhere does not rerun it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from shufflebounds.curves import CERTIFIED


class Curve(NamedTuple):
    """One job: a curve of an experiment in a regime."""

    experiment: str
    regime: str
    curve: str


def curves(config: Mapping) -> list[Curve]:
    """Every curve to compute."""
    return [
        Curve(name, regime, curve)
        for name, experiment in config["experiments"].items()
        for regime in experiment["regimes"]
        for curve in experiment["curves"]
    ]


def curve_spec(config: Mapping, wanted: Curve) -> dict[str, Any]:
    """What `shufflebounds.curves.compute` needs to know, and nothing else.

    Raises ValueError for a curve that is not in the matrix.
    """
    if wanted not in curves(config):
        raise ValueError(
            f"config.yaml asks for no curve {wanted.curve} of experiment {wanted.experiment} "
            f"in regime {wanted.regime}"
        )
    curve = config["curves"][wanted.curve]
    spec = {
        **wanted._asdict(),
        "mechanism": dict(
            config["mechanisms"][config["experiments"][wanted.experiment]["mechanism"]]
        ),
        "eps0": config["regimes"][wanted.regime]["eps0"],
        "k_joint": curve.get("k_joint", 1),
        "bound": curve["bound"],
        "delta": config["delta"],
        "n": dict(config["n"]) if isinstance(config["n"], Mapping) else list(config["n"]),
    }
    # Closed forms have neither engine nor tolerance; changing those must not rerun them.
    if curve["bound"] in CERTIFIED:
        spec |= {"engine": config["engine"], "rtol": config["rtol"]}
    return spec


def figure_curves(config: Mapping, figure: str) -> list[Curve]:
    """Every curve that a figure draws."""
    entry = config["figures"][figure]
    return [
        Curve(experiment, regime, curve)
        for experiment in entry["experiments"]
        for regime in entry["regimes"]
        for curve in entry["curves"]
    ]


def figure_layout(config: Mapping, figure: str) -> dict[str, Any]:
    """Panels of a figure: experiments are rows, regimes columns."""
    entry = config["figures"][figure]
    return {
        "experiments": list(entry["experiments"]),
        "regimes": {name: dict(config["regimes"][name]) for name in entry["regimes"]},
        "curves": list(entry["curves"]),
    }


def figure_style(config: Mapping, figure: str) -> dict[str, Any]:
    """Looks of what a figure shows."""
    entry, style = config["figures"][figure], config["style"]
    return {
        "experiments": {name: style["experiments"][name] for name in entry["experiments"]},
        "curves": {name: dict(style["curves"][name]) for name in entry["curves"]},
    }
