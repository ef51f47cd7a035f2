"""Su, Cheng and Wang, "Decomposition-Based Optimal Bounds for Privacy Amplification via Shuffling".

arXiv 2504.07414, IEEE S&P 2026: its Tables 1 to 3, its Figure 1 as a measurement, the law of
Figure 8, and its claims. Everything else of the paper is in the library and in config/su2026.yaml.
"""

from __future__ import annotations

from shufflebounds.reproduce.papers.base import Research, TableKind
from shufflebounds.reproduce.papers.su2026 import parameters

RESEARCH = Research(
    tables={
        "gparv": TableKind(
            title="Table 1: the law of the GPARV, regenerated from the mechanisms",
            parameters=parameters.Gparv,
            code=f"{__name__}.tables:GPARV",
        ),
        "finite_domains": TableKind(
            title="Table 2: optimal decompositions at a finite size of the domain",
            parameters=parameters.FiniteDomains,
            code=f"{__name__}.tables:FINITE",
        ),
        "large_domains": TableKind(
            title="Table 3: optimal decompositions in the limit of large domains",
            parameters=parameters.LargeDomains,
            code=f"{__name__}.tables:LIMIT",
        ),
        "hierarchy": TableKind(
            title="Figure 1 as a measurement: the clone, the stronger clone, the clone told which "
            "randomizer, the blanket, the lower bound",
            parameters=parameters.Hierarchy,
            code=f"{__name__}.hierarchy:TABLE",
            mechanisms=lambda given: given.mechanisms,
            uses_numerics=True,
        ),
        "amplification_variable": TableKind(
            title="The law of the privacy amplification random variable",
            parameters=parameters.AmplificationVariable,
            code=f"{__name__}.hierarchy:LAW_TABLE",
            mechanisms=lambda given: (given.mechanism,),
            is_drawn=True,
        ),
    },
    claims=(
        "improvement",
        "improvement_peak",
        "outperforms",
        "tightness",
        "clone_vs_bennett",
        "joint",
        "parallel",
        "rappor_domain",
        "hamming",
        "subsampling",
    ),
    claims_module=f"{__name__}.claims",
)
