"""What the folder of a paper gives to the workflow: kinds of tables, and claims.

The folder is that of the paper's configuration, config/<paper>.yaml; a paper without code of its
own has none. Planning a run imports the ``__init__`` of each. None of them imports pandas, which
only computing tables and judging claims needs; so where these are is said by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module, resources
from pkgutil import iter_modules, resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

import yaml
from pydantic import BaseModel, ConfigDict

from reproduction import papers

if TYPE_CHECKING:
    from reproduction.papers.judging import Claim
    from reproduction.papers.tables import TableCode


class TableKind(BaseModel):
    """A kind of table, with the parameters that a configuration gives as fields.

    ``code`` says where its `TableCode` is, as ``package.module:NAME``, ``uses_numerics`` whether
    the width matters, and ``is_drawn`` whether a figure may show it.
    """

    # Built where a table is asked for: most runs ask for few.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)
    title: ClassVar[str]
    code: ClassVar[str]
    uses_numerics: ClassVar[bool] = False
    is_drawn: ClassVar[bool] = False

    def named(self) -> tuple[str, ...]:
        """Names of the mechanisms that the table is about: its ``mechanism`` or ``mechanisms``."""
        mechanism = getattr(self, "mechanism", None)
        return getattr(self, "mechanisms", () if mechanism is None else (mechanism,))

    @classmethod
    def load_code(cls) -> TableCode:
        """Its code; this imports the module that has it."""
        code: TableCode = resolve_name(cls.code)
        return code


@dataclass(frozen=True)
class Research:
    """What the folder of one paper, ``package``, holds; nothing if that is empty.

    Its ``__init__`` has the kinds of tables. If the paper claims anything, claims.yaml says what,
    and ``claims`` judges it: all claims as ``CLAIMS``, and what their page says first as
    ``INTRODUCTION``.
    """

    package: str = ""

    @cached_property
    def tables(self) -> dict[str, type[TableKind]]:
        """Its kinds of tables, by what configurations call them: large_domains of LargeDomains."""
        found = vars(import_module(self.package)) if self.package else {}
        return {
            re.sub(r"\B(?=[A-Z])", "_", name).lower(): kind
            for name, kind in found.items()
            if isinstance(kind, type) and issubclass(kind, TableKind) and kind is not TableKind
        }

    @property
    def claims(self) -> tuple[str, ...]:
        """Names of the claims that curves decide."""
        listed = said(self.package)["claims"] if self.package else ()
        return tuple(one["name"] for one in listed if not one.get("timed"))

    def load_claims(self) -> tuple[str, tuple[Claim, ...]]:
        """What their page says first, as Markdown, and all claims; this imports their module."""
        module = resolve_name(f"{self.package}.claims")
        return module.INTRODUCTION, module.CLAIMS


@cache
def research(paper: str) -> Research:
    """What the folder of a paper holds; nothing for one that needs none."""
    folders = (name for _, name, is_folder in iter_modules(papers.__path__) if is_folder)
    return Research(f"{papers.__name__}.{paper}" if paper in folders else "")


@cache
def said(package: str) -> dict[str, Any]:
    """The content of claims.yaml in the package of a paper; no claims if there is none."""
    file = resources.files(package).joinpath("claims.yaml")
    if not file.is_file():
        return {"claims": []}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    content: dict[str, Any] = loader(file.read_text(encoding="utf-8")).get_single_data()
    return content
