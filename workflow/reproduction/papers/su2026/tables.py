"""How the tables of Su, Cheng and Wang, arXiv 2504.07414, are computed and shown."""

from __future__ import annotations

from reproduction.papers.su2026 import (
    AlgorithmSeven,
    AmplificationVariable,
    FiniteDomains,
    Gparv,
    Hierarchy,
    LargeDomains,
    Methods,
    PostProcessing,
    algorithm7,
    amplification_law,
    decompositions,
    hierarchy,
    methods,
    post_processing,
)
from reproduction.papers.tables import TableCode

CODE = {
    Gparv: TableCode(decompositions.gparv, decompositions.page),
    FiniteDomains: TableCode(decompositions.finite, decompositions.page),
    LargeDomains: TableCode(decompositions.limit, decompositions.page),
    Hierarchy: TableCode(hierarchy.measure, hierarchy.page, hierarchy.sheet),
    Methods: TableCode(methods.arrows, methods.page, methods.sheet),
    AmplificationVariable: TableCode(
        amplification_law.law, amplification_law.page, amplification_law.sheet
    ),
    AlgorithmSeven: TableCode(algorithm7.measure, algorithm7.page, algorithm7.sheet),
    PostProcessing: TableCode(post_processing.measure, post_processing.page),
}
