"""The papers that have code of their own, by the names of their configurations."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shufflebounds.reproduce.papers import (
    accuracy,
    girgis2021,
    su2026,
    wang2020,
    wang2024,
    wang2025,
)
from shufflebounds.reproduce.papers.base import Research

_RESEARCH: Mapping[str, Research] = MappingProxyType(
    {
        "su2026": su2026.RESEARCH,
        "wang2024": wang2024.RESEARCH,
        "wang2025": wang2025.RESEARCH,
        "girgis2021": girgis2021.RESEARCH,
        "accuracy": accuracy.RESEARCH,
        "wang2020": wang2020.RESEARCH,
    }
)


def research(paper: str) -> Research:
    """What the folder of a paper holds; nothing for one that needs none."""
    return _RESEARCH.get(paper, Research())
