"""Wang et al., "Privacy Amplification via Shuffling: Unified, Simplified, and Tightened".

PVLDB 17(8), 2024: its Tables 1 to 5 and its claims. Everything else of the paper is in the library
and in config/wang2024.yaml.
"""

from __future__ import annotations

from shufflebounds.reproduce.papers.base import Research, TableKind
from shufflebounds.reproduce.papers.wang2024 import parameters

RESEARCH = Research(
    tables={
        "asymptotics": TableKind(
            title="Table 1: asymptotic forms, measured",
            parameters=parameters.Asymptotics,
            code=f"{__name__}.general_pair:ASYMPTOTICS",
        ),
        "mechanisms": TableKind(
            title="Table 2: variations of mechanisms, measured on their matrices",
            parameters=parameters.Mechanisms,
            code=f"{__name__}.parameter_tables:MECHANISMS",
        ),
        "metric": TableKind(
            title="Table 3: variations under metric privacy, measured",
            parameters=parameters.Mechanisms,
            code=f"{__name__}.parameter_tables:METRIC",
        ),
        "protocols": TableKind(
            title="Table 4: parameters of protocols, measured on their messages",
            parameters=parameters.Protocols,
            code=f"{__name__}.parameter_tables:PROTOCOLS",
        ),
        "timed": TableKind(
            title="Table 5: the general pair, certified and timed",
            parameters=parameters.Timed,
            code=f"{__name__}.general_pair:TIMED",
            uses_numerics=True,
        ),
    },
    claims=(
        "upper_bound",
        "single_savings",
        "single_peak",
        "multi_savings",
        "analytic_savings",
        "asymptotic_savings",
        "parallel_basic",
        "parallel_separate",
        "tight",
        "symmetry",
    ),
    claims_module=f"{__name__}.claims",
)
