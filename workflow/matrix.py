"""The experiment matrix: which curves and figures a checked configuration asks for.

Everything handed to a job is its own slice of the configuration, as plain dicts, lists and
scalars, so that a change elsewhere does not rerun it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from shufflebounds.descriptions import COMPOSITIONS
from shufflebounds.specs import CERTIFIED

# Tables of the paper, by the module's names for them, and what each depends on.
TABLES = {
    "table1": ("eps0", "eps", "k"),
    "table2": ("eps0", "k", "domain_size"),
    "table3": ("eps0",),
}


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
    experiment = config["experiments"][wanted.experiment]
    spec = {
        **wanted._asdict(),
        "mechanism": description(config, experiment["mechanism"]),
        "eps0": config["regimes"][wanted.regime]["eps0"],
        "k_joint": curve.get("k_joint", 1),
        "bound": curve["bound"],
        "delta": config["delta"],
        "n": dict(config["n"]) if isinstance(config["n"], Mapping) else list(config["n"]),
    }
    if "distance" in curve:
        spec["distance"] = curve["distance"]
    # Closed forms have neither engine nor tolerance; changing those must not rerun them.
    if curve["bound"] in CERTIFIED:
        spec |= {"engine": config["engine"], "rtol": config["rtol"]}
    return spec


def description(config: Mapping, name: str) -> dict[str, Any]:
    """A mechanism with the mechanisms it is composed of in place of their names."""
    entry = dict(config["mechanisms"][name])
    if entry["type"] in COMPOSITIONS:
        if "mechanism" in entry:
            entry["mechanism"] = description(config, entry["mechanism"])
        if "parts" in entry:
            entry["parts"] = [
                dict(part, mechanism=description(config, part["mechanism"]))
                for part in entry["parts"]
            ]
    return entry


def figure_curves(config: Mapping, figure: str) -> list[Curve]:
    """Every curve that a figure draws, once."""
    panels = figure_panels(config, figure)
    lines = [line for row in panels for panel in row for line in panel["lines"]]
    return list(dict.fromkeys(Curve(*(line[key] for key in Curve._fields)) for line in lines))


def figure_panels(config: Mapping, figure: str) -> list[list[dict[str, Any]]]:
    """Rows of panels, a column per regime: one row per experiment, or one of chosen lines."""
    entry, style = config["figures"][figure], config["style"]
    if "lines" in entry:
        return [[_panel(config, regime, "", entry["lines"]) for regime in entry["regimes"]]]
    return [
        [
            _panel(
                config,
                regime,
                f"{style['experiments'][experiment]}, ",
                [
                    {"experiment": experiment, "curve": curve, **style["curves"][curve]}
                    for curve in entry["curves"]
                ],
            )
            for regime in entry["regimes"]
        ]
        for experiment in entry["experiments"]
    ]


def _panel(
    config: Mapping, regime: str, subject: str, lines: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    facts = config["regimes"][regime]
    return {
        "title": f"{subject}{facts['label']} $\\varepsilon_0$ = {facts['eps0']:g}",
        "lines": [{**line, "regime": regime} for line in lines],
    }


def claim_curves(config: Mapping) -> dict[str, list[Curve]]:
    """For each claim of the paper the curves that are to show it."""
    return {
        claim: [curve for figure in shown for curve in figure_curves(config, figure)]
        for claim, shown in config.get("claims", {}).items()
    }


def distribution_spec(config: Mapping, name: str) -> dict[str, Any]:
    """What `shufflebounds.distribution.compute` needs to know."""
    entry = config["distributions"][name]
    return {
        "distribution": name,
        "mechanism": description(config, entry["mechanism"]),
        "eps0": entry["eps0"],
        "eps": entry["eps"],
    }


def tables(config: Mapping) -> list[str]:
    """Names of the tables to make."""
    return [
        *(TABLES if "tables" in config else []),
        *(["hierarchy"] if "hierarchy" in config else []),
    ]


def table_spec(config: Mapping, table: str) -> dict[str, Any]:
    """What the function of `shufflebounds.tables` for a table needs to know."""
    return {key: config["tables"][key] for key in TABLES[table]}


def hierarchy_spec(config: Mapping) -> dict[str, Any]:
    """What `shufflebounds.hierarchy.measure` needs to know."""
    entry = config["hierarchy"]
    return {
        "mechanisms": {name: description(config, name) for name in entry["mechanisms"]},
        "eps0": list(entry["eps0"]),
        "n": list(entry["n"]),
        "delta": config["delta"],
        "rtol": config["rtol"],
    }
