"""What the folder of a paper gives to the workflow: kinds of tables, and claims.

Nothing here, nor in the ``__init__`` of a paper, imports pandas: planning a run needs neither the
tables nor the claims themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from shufflebounds.bounds.base import Numerics
from shufflebounds.randomizers.description import Description

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from shufflebounds.papers.claims import Claim
    from shufflebounds.papers.page import Page


class Parameters(BaseModel):
    """Parameters of a table, as a configuration gives them."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True
    )


@dataclass(frozen=True)
class Context:
    """What a table may refer to: mechanisms by name, and how divergences are computed."""

    mechanisms: Mapping[str, Description]
    numerics: Numerics


@dataclass(frozen=True)
class TableKind:
    """A kind of table: its parameters, how it is computed, and the page that shows it.

    ``modules`` are those of the library that decide its content. ``mechanisms`` names the
    mechanisms of some parameters, and ``uses_numerics`` says whether engine and width matter. Where
    ``draw`` is given, a figure may show the table; ``draw_modules`` decide how it looks. So it is
    with ``interact``, the HTML of its interactive page given the program that draws it, and
    ``interact_modules``; either both are given or none.
    """

    title: str
    parameters: type[Parameters]
    modules: tuple[str, ...]
    compute: Callable[[Any, Context], pd.DataFrame]
    page: Callable[[pd.DataFrame], Page]
    mechanisms: Callable[[Any], tuple[str, ...]] = lambda _: ()
    uses_numerics: bool = False
    draw: Callable[[pd.DataFrame, str], Figure] | None = None
    draw_modules: tuple[str, ...] = ()
    interact: Callable[[pd.DataFrame, str, str], str] | None = None
    interact_modules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Research:
    """What the folder of one paper holds.

    ``claims`` are the names of those that curves decide. ``claims_module`` has all of them, as
    ``CLAIMS``, and what their page says first, as ``INTRODUCTION``.
    """

    tables: Mapping[str, TableKind] = field(default_factory=dict)
    claims: tuple[str, ...] = ()
    claims_module: str = ""

    def load_claims(self) -> tuple[Claim, ...]:
        """All claims; this imports their module."""
        claims: tuple[Claim, ...] = import_module(self.claims_module).CLAIMS
        return claims

    def introduction(self) -> str:
        """What the page of claims says first, as Markdown."""
        return str(import_module(self.claims_module).INTRODUCTION)
