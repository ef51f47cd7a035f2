"""What the folder of a paper gives to the workflow: kinds of tables, and claims.

Nothing here, nor in the ``__init__`` of a paper, imports pandas: planning a run needs neither the
tables nor the claims themselves, so where these are is said by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import resolve_name
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
class TableCode:
    """How a kind of table is computed from its parameters, and the page that shows it.

    Where a figure may show the table, ``draw`` makes it, given a title, and ``interact`` the HTML
    of its interactive page, given the program that draws it as well.
    """

    compute: Callable[[Any, Context], pd.DataFrame]
    page: Callable[[pd.DataFrame], Page]
    draw: Callable[[pd.DataFrame, str], Figure] | None = None
    interact: Callable[[pd.DataFrame, str, str], str] | None = None


@dataclass(frozen=True)
class TableKind:
    """A kind of table, as far as planning needs it.

    ``code`` says where its `TableCode` is, as ``package.module:NAME``. ``mechanisms`` names the
    mechanisms of some parameters, ``uses_numerics`` says whether engine and width matter, and
    ``is_drawn`` whether a figure may show it.
    """

    title: str
    parameters: type[Parameters]
    code: str
    mechanisms: Callable[[Any], tuple[str, ...]] = lambda _: ()
    uses_numerics: bool = False
    is_drawn: bool = False

    def load_code(self) -> TableCode:
        """Its code; this imports the module that has it."""
        code: TableCode = resolve_name(self.code)
        return code


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
