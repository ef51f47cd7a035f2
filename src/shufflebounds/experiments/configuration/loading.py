"""From the content of configuration files to the plan of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shufflebounds.bounds.base import Numerics
from shufflebounds.experiments import plan
from shufflebounds.experiments.configuration import consistency
from shufflebounds.experiments.configuration.errors import ConfigError
from shufflebounds.experiments.configuration.models import PaperEntry, RootEntry
from shufflebounds.experiments.configuration.values import is_name

# Keys of config.yaml, and rules of the workflow, where each paper has a rule of its own.
RULES = (
    "all",
    "claims",
    "curve",
    "everything",
    "figure",
    "interactive",
    "page",
    "table",
    "table_figure",
    "table_interactive",
    "vega",
)
_TAKEN = (*RootEntry.model_fields, *RULES)


def checked(content: Mapping[str, Any], source: str = "config.yaml") -> plan.Plan:
    """The plan of config.yaml with every paper's file under the paper's name.

    `source` tells what config.yaml was merged with. Raises ConfigError for the first mistake.
    """
    root = consistency.root(_root(content, source), source)
    numerics = plan.numerics_of(root)
    papers = {
        name: consistency.paper(name, content[name], numerics, paper_source(name, source))
        for name in root.papers
    }
    return plan.Plan(
        {name: _planned(name, entry, numerics, source) for name, entry in papers.items()},
        root.formats,
    )


def _planned(name: str, entry: PaperEntry, numerics: Numerics, source: str) -> plan.Paper:
    try:
        return plan.paper(name, entry, numerics)
    except ValueError as error:
        raise ConfigError(f"{paper_source(name, source)}: {error}") from None


def trusted(content: Mapping[str, Any], *papers: str) -> plan.Plan:
    """The same for a configuration that has been checked; only some papers, if they are named."""
    root = RootEntry.model_validate(_root(content, ""))
    chosen = papers or root.papers
    return plan.make(root, {name: PaperEntry.model_validate(content[name]) for name in chosen})


def paper_source(name: str, source: str = "config.yaml") -> str:
    """What a paper's mistakes are said to be in."""
    if "config.yaml" not in source:  # that of a module, which comes whole
        return f"{source}, {name}"
    return source.replace("config.yaml", f"config/{name}.yaml", 1)


def _root(content: Mapping[str, Any], source: str) -> dict[str, Any]:
    """What is not of a paper."""
    papers = content.get("papers")
    names = papers if isinstance(papers, list | tuple) else []
    for i, name in enumerate(names):
        if isinstance(name, str) and name in _TAKEN:
            raise ConfigError(
                f"{source}: papers[{i}] is {name!r}, which names something else; a paper must be "
                f"called none of {', '.join(_TAKEN)}"
            )
        if is_name(name) and name not in content:
            raise ConfigError(
                f"{source}: papers names {name}, but there is no file config/{name}.yaml"
            )
    return {key: value for key, value in content.items() if key not in names}
