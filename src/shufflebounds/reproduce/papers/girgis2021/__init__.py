"""Girgis et al., "On the Rényi Differential Privacy of the Shuffle Model", CCS 2021: its claims.

Everything else of the paper is in the library and in config/girgis2021.yaml.
"""

from __future__ import annotations

from shufflebounds.reproduce.papers.base import Research

RESEARCH = Research(
    package=__name__,
)
