"""The code that computes and shows each kind of table of Su, Cheng and Wang, arXiv 2504.07414."""

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
)
from reproduction.papers.su2026.algorithm7 import (
    algorithm7_page,
    algorithm7_sheet,
    algorithm7_table,
)
from reproduction.papers.su2026.amplification_law import law_page, law_sheet, law_table
from reproduction.papers.su2026.decompositions import (
    decomposition_page,
    finite_table,
    gparv_table,
    limit_table,
)
from reproduction.papers.su2026.hierarchy import hierarchy_page, hierarchy_sheet, hierarchy_table
from reproduction.papers.su2026.methods import methods_page, methods_sheet, methods_table
from reproduction.papers.su2026.post_processing import (
    post_processing_page,
    post_processing_table,
)
from reproduction.papers.tables import TableCode

CODE = {
    Gparv: TableCode(gparv_table, decomposition_page),
    FiniteDomains: TableCode(finite_table, decomposition_page),
    LargeDomains: TableCode(limit_table, decomposition_page),
    Hierarchy: TableCode(hierarchy_table, hierarchy_page, hierarchy_sheet),
    Methods: TableCode(methods_table, methods_page, methods_sheet),
    AmplificationVariable: TableCode(law_table, law_page, law_sheet),
    AlgorithmSeven: TableCode(algorithm7_table, algorithm7_page, algorithm7_sheet),
    PostProcessing: TableCode(post_processing_table, post_processing_page),
}
