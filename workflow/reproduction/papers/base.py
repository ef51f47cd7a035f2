"""What a paper's folder gives to the workflow: its kinds of tables and its claims.

A folder is named after the paper's configuration, config/<paper>.yaml; a paper without tables and
claims of its own needs none. A folder holds

- ``__init__.py``, with the parameters of its tables: ``TABLES`` maps names to kinds;
- ``tables.py``, which computes and shows them: ``CODE`` maps kinds to their `TableCode`;
- ``claims.yaml``, which says what the paper claims, how that is measured and when it holds;
- ``claims.py``, with the measures that YAML cannot express: ``MEASURES`` maps claims to functions.

Planning a run reads the first and the third, which import no pandas. Jobs load the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module, resources
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar

import yaml
from pydantic import BaseModel, ConfigDict

from reproduction import papers

if TYPE_CHECKING:
    from reproduction.papers.judging import Claim
    from reproduction.papers.tables import TableCode


class TableKind(BaseModel):
    """A kind of table, whose fields are the parameters that a configuration gives.

    ``uses_numerics`` says whether the width of enclosures matters, and ``is_drawn`` whether a
    figure may show the table.
    """

    # A model is built when a table asks for it, because most runs ask for few.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)
    title: ClassVar[str]
    uses_numerics: ClassVar[bool] = False
    is_drawn: ClassVar[bool] = False

    def named(self) -> tuple[str, ...]:
        """Return the names of the table's mechanisms: its ``mechanism`` or ``mechanisms``."""
        mechanism = getattr(self, "mechanism", None)
        return getattr(self, "mechanisms", () if mechanism is None else (mechanism,))

    @classmethod
    def load_code(cls) -> TableCode:
        """Return how the table is computed and shown; import the paper's ``tables`` module."""
        code: TableCode = import_module(f"{cls.__module__}.tables").CODE[cls]
        return code


@dataclass(frozen=True)
class Research:
    """The content of a paper's folder, which is the package of this name, or nothing for ""."""

    package: str = ""

    @cached_property
    def tables(self) -> dict[str, type[TableKind]]:
        """Kinds of tables by the names that configurations use."""
        return getattr(import_module(self.package), "TABLES", {}) if self.package else {}

    @property
    def claims(self) -> tuple[str, ...]:
        """Names of the claims that curves decide."""
        return tuple(claim["name"] for claim in self._yaml["claims"] if not claim.get("timed"))

    @property
    def citation(self) -> str:
        """The authors and the year, such as Girgis et al. 2021."""
        return str(self._yaml["citation"])

    def load_claims(self) -> tuple[str, tuple[Claim, ...]]:
        """Return the introduction of the page of claims, as Markdown, and all claims.

        This imports the paper's ``claims`` module, if there is one.
        """
        from reproduction.papers.judging import claim_of

        module = f"{self.package}.claims"
        measures = import_module(module).MEASURES if find_spec(module) else {}
        panel = self._yaml.get("panel", "eps0")
        claims = tuple(
            claim_of(entry, panel, measures.get(entry["name"])) for entry in self._yaml["claims"]
        )
        return self._yaml["introduction"], claims

    @cached_property
    def _yaml(self) -> dict[str, Any]:
        """The content of claims.yaml; no claims if there is no such file."""
        file = resources.files(self.package).joinpath("claims.yaml") if self.package else None
        if file is None or not file.is_file():
            return {"claims": []}
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        content: dict[str, Any] = loader(file.read_text(encoding="utf-8")).get_single_data()
        return content


@cache
def research(paper: str) -> Research:
    """Return the content of a paper's folder; nothing if it has none."""
    folders = (name for _, name, is_folder in iter_modules(papers.__path__) if is_folder)
    return Research(f"{papers.__name__}.{paper}" if paper in folders else "")
