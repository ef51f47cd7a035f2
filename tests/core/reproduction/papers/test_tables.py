"""Kinds of tables: their code, and that files and pages of each hold what was computed."""

import pandas as pd
import pytest

from reproduction.papers import tables as table_files
from reproduction.papers.base import research
from reproduction.papers.tables import Context, TableCode
from shufflebounds.bounds.base import Numerics
from shufflebounds.randomizers.description import parse

PAPERS = ("accuracy", "allocation", "su2026", "wang2020", "wang2024")
# Small ones of each kind but the map of the best mechanisms, which takes seconds.
SMALL = {
    "gparv": {"eps0": [0.1, 4.0], "eps": 0.05, "k": 10},
    "finite_domains": {"eps0": [0.1, 4.0], "k": 10, "domain_size": 10},
    "large_domains": {"eps0": [0.1, 4.0]},
    "hierarchy": {"mechanisms": ["mine"], "eps0": [1.0], "n": [100], "delta": 1e-6},
    "methods": {
        "rows": [{"clone": "clone"}, {"blanket": "blanket"}],
        "arrows": [{"start": "clone", "end": "blanket", "why": "Theorem 6"}],
    },
    "amplification_variable": {"mechanism": "mine", "eps0": 1.0, "eps": 0.1},
    "algorithm_seven": {"mechanisms": ["mine"], "eps0": [0.5], "n": [100], "delta": 1e-4},
    "post_processing": {"randomizers": {"mine": [[2, 1], [1, 2]]}, "others": [0]},
    "calibrations": {"values": 4, "n": 10_000, "eps": [0.5], "delta": 1e-6},
    "allocations": {"noise_multiplier": [2.0], "steps": [5, 10], "epochs": [1], "delta": 1e-4},
    "batch_schemes": {
        **{"noise_multiplier": [2.0, 3.0], "steps": 5, "neighbours": ["zero-out"], "delta": 1e-4}
    },
    "asymptotics": {"eps0": [1.0], "n": [10**6], "delta": 1e-6},
    "mechanisms": {"eps0": 1.0},
    "metric": {"eps0": 1.0},
    "protocols": {},
    "timed": {"eps0": [1.0], "n": [10**4], "delta": {"over_n": 0.01}, "iterations": [20, 10]},
}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_kind_of_table_has_its_code(paper):
    tables = research(paper).tables
    assert set(tables) - {"best_mechanisms"} <= set(SMALL)
    codes = [kind.load_code() for kind in tables.values()]
    assert len({id(code) for code in codes}) == len(tables) > 0
    for kind, code in zip(tables.values(), codes, strict=True):
        assert isinstance(code, TableCode)
        assert kind.is_drawn == (code.sheet is not None)


@pytest.mark.parametrize("name", SMALL)
def test_files_and_pages_hold_what_was_computed(name, tmp_path):
    (kind,) = (one for p in PAPERS for key, one in research(p).tables.items() if key == name)
    code, path = kind.load_code(), tmp_path / "1.csv"
    context = Context({"mine": parse({"type": "krr", "k": 10})}, Numerics(rtol=1e-4))
    frame = code.compute(kind.model_validate(SMALL[name]), context)
    for file in (path, tmp_path / "2.csv"):
        table_files.write(frame, "0123", file)
    assert path.read_bytes() == (tmp_path / "2.csv").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2
    table_files.verify(path, "0123")
    with pytest.raises(ValueError, match=r"1\.csv has digest = 0123 where 4567 is wanted$"):
        table_files.verify(path, "4567")
    read = table_files.read(path)
    assert list(read.columns[-2:]) == ["version", "digest"]
    read = read[list(frame.columns)]
    pd.testing.assert_frame_equal(read, frame, check_exact=True, check_dtype=False)
    page = code.page(read)
    assert page == code.page(frame)
    assert page.markdown().startswith(f"# {page.title}\n")
    assert page.latex().count("\\\\") > len(page.rows)
