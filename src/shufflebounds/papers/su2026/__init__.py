"""Su, Cheng and Wang, "Decomposition-Based Optimal Bounds for Privacy Amplification via Shuffling".

arXiv 2504.07414, IEEE S&P 2026: its Tables 1 to 3, its Figure 1 as a measurement, the law of
Figure 8, and its claims. Everything else of the paper is in the library and in config/su2026.yaml.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shufflebounds.papers.base import Context, Parameters, Research, TableKind
from shufflebounds.papers.su2026 import parameters

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from shufflebounds.papers.page import Page


def _gparv(given: parameters.Gparv, _: Context) -> pd.DataFrame:
    from shufflebounds.papers.su2026 import decomposition_tables

    return decomposition_tables.gparv(given.eps0, given.eps, given.k)


def _finite(given: parameters.FiniteDomains, _: Context) -> pd.DataFrame:
    from shufflebounds.papers.su2026 import decomposition_tables

    return decomposition_tables.finite(given.eps0, given.k, given.domain_size)


def _limit(given: parameters.LargeDomains, _: Context) -> pd.DataFrame:
    from shufflebounds.papers.su2026 import decomposition_tables

    return decomposition_tables.limit(given.eps0)


def _decomposition_page(table: pd.DataFrame) -> Page:
    from shufflebounds.papers.su2026 import decomposition_tables

    return decomposition_tables.page(table)


def _hierarchy(given: parameters.Hierarchy, context: Context) -> pd.DataFrame:
    from shufflebounds.papers.su2026 import hierarchy

    mechanisms = {name: context.mechanisms[name] for name in given.mechanisms}
    return hierarchy.measure(mechanisms, given.eps0, given.n, given.delta, context.numerics)


def _hierarchy_page(table: pd.DataFrame) -> Page:
    from shufflebounds.papers.su2026 import hierarchy

    return hierarchy.page(table)


def _variable(given: parameters.AmplificationVariable, context: Context) -> pd.DataFrame:
    from shufflebounds.papers.su2026 import amplification_variable

    return amplification_variable.law(context.mechanisms[given.mechanism], given.eps0, given.eps)


def _variable_page(table: pd.DataFrame) -> Page:
    from shufflebounds.papers.su2026 import amplification_variable

    return amplification_variable.page(table)


def _variable_figure(table: pd.DataFrame, title: str) -> Figure:
    from shufflebounds.plotting import step_function

    return step_function.figure(table, title, **_variable_texts(table))


def _variable_interactive(table: pd.DataFrame, title: str, program: str) -> str:
    from shufflebounds.plotting import interactive

    texts = _variable_texts(table)
    return interactive.step_page(table, title, **texts, symbol="t", program=program)


def _variable_texts(table: pd.DataFrame) -> dict[str, str]:
    from shufflebounds.plotting.mathtext import number

    first = table.iloc[0]
    return {
        "x": "value $t$ of the privacy amplification random variable $L$",
        "y": r"$\Pr\,[L \leq t]$",
        "setting": f"ε₀ = {number(first['eps0'])}, ε = {number(first['eps'])}",
    }


_HERE = __name__
# The paper's mechanisms, which its tables ask for by name.
_DECOMPOSITIONS = (
    f"{_HERE}.decomposition_tables",
    *(
        f"shufflebounds.randomizers.{name}"
        for name in ("registry", "krr", "blh", "rappor", "oue", "hadamard")
    ),
)


def _decompositions(
    title: str, given: type[Parameters], compute: Callable[[Any, Context], pd.DataFrame]
) -> TableKind:
    """Symbolic forms beside what the mechanisms themselves give."""
    return TableKind(
        title=title,
        parameters=given,
        modules=_DECOMPOSITIONS,
        compute=compute,
        page=_decomposition_page,
    )


RESEARCH = Research(
    tables={
        "gparv": _decompositions(
            "Table 1: the law of the GPARV, regenerated from the mechanisms",
            parameters.Gparv,
            _gparv,
        ),
        "finite_domains": _decompositions(
            "Table 2: optimal decompositions at a finite size of the domain",
            parameters.FiniteDomains,
            _finite,
        ),
        "large_domains": _decompositions(
            "Table 3: optimal decompositions in the limit of large domains",
            parameters.LargeDomains,
            _limit,
        ),
        "hierarchy": TableKind(
            title="Figure 1 as a measurement: the clone, the stronger clone, the clone told which "
            "randomizer, the blanket, the lower bound",
            parameters=parameters.Hierarchy,
            modules=(f"{_HERE}.hierarchy",),
            compute=_hierarchy,
            page=_hierarchy_page,
            mechanisms=lambda given: given.mechanisms,
            uses_numerics=True,
        ),
        "amplification_variable": TableKind(
            title="The law of the privacy amplification random variable",
            parameters=parameters.AmplificationVariable,
            modules=(f"{_HERE}.amplification_variable",),
            compute=_variable,
            page=_variable_page,
            mechanisms=lambda given: (given.mechanism,),
            draw=_variable_figure,
            draw_modules=(
                "shufflebounds.plotting.step_function",
                "shufflebounds.plotting.mathtext",
            ),
            interact=_variable_interactive,
            interact_modules=(
                "shufflebounds.plotting.interactive",
                "shufflebounds.plotting.mathtext",
            ),
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
    claims_module=f"{_HERE}.claims",
)
