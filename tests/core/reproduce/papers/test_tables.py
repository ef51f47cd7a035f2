"""Kinds of tables: what planning knows of them is what their code has."""

import pytest

from shufflebounds.reproduce.papers.base import research
from shufflebounds.reproduce.papers.tables import TableCode


@pytest.mark.parametrize("paper", ["accuracy", "su2026", "wang2020", "wang2024"])
def test_every_kind_of_table_has_its_code(paper):
    tables = research(paper).tables
    codes = [kind.load_code() for kind in tables.values()]
    assert len({id(code) for code in codes}) == len(tables) > 0
    for kind, code in zip(tables.values(), codes, strict=True):
        assert isinstance(code, TableCode)
        assert kind.is_drawn == (code.sheet is not None)
