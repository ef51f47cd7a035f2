"""Wang et al., "Privacy Amplification via Shuffling: Unified, Simplified, and Tightened".

PVLDB 17(8), 2024: its Tables 1 to 5 and its claims. Everything else of the paper is in the library
and in config/wang2024.yaml.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shufflebounds.papers.base import Context, Parameters, Research, TableKind
from shufflebounds.papers.wang2024 import parameters

if TYPE_CHECKING:
    import pandas as pd

    from shufflebounds.papers.page import Page


def _asymptotics(given: parameters.Asymptotics, _: Context) -> pd.DataFrame:
    from shufflebounds.papers.wang2024 import general_pair

    return general_pair.asymptotics(given.eps0, given.n, given.delta)


def _asymptotics_page(table: pd.DataFrame) -> Page:
    from shufflebounds.papers.wang2024 import general_pair

    return general_pair.asymptotics_page(table)


def _mechanisms(given: parameters.Mechanisms, _: Context) -> pd.DataFrame:
    from shufflebounds.papers.wang2024 import parameter_tables

    return parameter_tables.mechanisms(given.eps0)


def _metric(given: parameters.Mechanisms, _: Context) -> pd.DataFrame:
    from shufflebounds.papers.wang2024 import parameter_tables

    return parameter_tables.metric(given.eps0)


def _protocols(given: parameters.Protocols, _: Context) -> pd.DataFrame:
    from shufflebounds.papers.wang2024 import parameter_tables

    return parameter_tables.protocols()


def _parameter_page(table: pd.DataFrame) -> Page:
    from shufflebounds.papers.wang2024 import parameter_tables

    return parameter_tables.page(table)


def _timed(given: parameters.Timed, context: Context) -> pd.DataFrame:
    from shufflebounds.papers.wang2024 import general_pair

    return general_pair.timed(given.eps0, given.n, given.delta, given.iterations, context.numerics)


def _timed_page(table: pd.DataFrame) -> Page:
    from shufflebounds.papers.wang2024 import general_pair

    return general_pair.timed_page(table)


_HERE = __name__


def _parameter_table(
    title: str, given: type[Parameters], compute: Callable[[Any, Context], pd.DataFrame]
) -> TableKind:
    """Printed parameters of mechanisms or protocols, beside measured ones."""
    return TableKind(
        title=title,
        parameters=given,
        modules=(f"{_HERE}.parameter_tables",),
        compute=compute,
        page=_parameter_page,
    )


RESEARCH = Research(
    tables={
        "asymptotics": TableKind(
            title="Table 1: asymptotic forms, measured",
            parameters=parameters.Asymptotics,
            modules=(f"{_HERE}.general_pair",),
            compute=_asymptotics,
            page=_asymptotics_page,
        ),
        "mechanisms": _parameter_table(
            "Table 2: variations of mechanisms, measured on their matrices",
            parameters.Mechanisms,
            _mechanisms,
        ),
        "metric": _parameter_table(
            "Table 3: variations under metric privacy, measured", parameters.Mechanisms, _metric
        ),
        "protocols": _parameter_table(
            "Table 4: parameters of protocols, measured on their messages",
            parameters.Protocols,
            _protocols,
        ),
        "timed": TableKind(
            title="Table 5: the general pair, certified and timed",
            parameters=parameters.Timed,
            modules=(f"{_HERE}.general_pair",),
            compute=_timed,
            page=_timed_page,
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
    claims_module=f"{_HERE}.claims",
)
