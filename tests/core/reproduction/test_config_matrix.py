"""Matrices in configurations: their curves, what stands for their numbers, and mistakes."""

from __future__ import annotations

import copy
import math

import pytest
from small_paper import PAPER, added, mistake

import shufflebounds as sb
from reproduction.configuration import checks
from shufflebounds.curves import curve, specification
from shufflebounds.curves.storage import CurveName

ROWS = [[0.5, 0.375, 0.125], [0.125, 0.75, 0.125], [0.375, 0.125, 0.5]]
CURVES = ("upper", "lower", "clone", "bennett")


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A matrix in the working directory, which is the project's."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data" / "m.csv"
    path.parent.mkdir()
    path.write_text("\n".join(",".join(map(repr, row)) for row in ROWS))
    return path


def configured(**changes):
    mine = {"type": "matrix", "file": "data/m.csv"} | changes
    return added(
        mechanisms={"mine": mine},
        regimes={"own": {"label": "its own"}},
        experiments={"mine": {"mechanism": "mine", "regimes": ["own"], "curves": list(CURVES)}},
    )


def paper_plan(made):
    return checks.make_plan(made).papers[PAPER].curves


def test_the_curves_of_a_matrix_are_those_of_its_worst_pairs(file):
    curves = paper_plan(configured())
    randomizer = sb.MatrixRandomizer(ROWS)
    names = {name: CurveName("mine", "own", name) for name in CURVES}
    found = {name: curve.compute(one, curves[one]) for name, one in names.items()}
    for point in found["upper"].points:
        name, worst = sb.worst_epsilon(randomizer.blankets(), point.setting.n, 1e-6, rtol=1e-3)
        assert point.answer.inputs == name
        assert point.answer.enclosure.upper == pytest.approx(worst.upper, rel=2e-3)
        assert point.setting.eps0 == pytest.approx(math.log(6.0), rel=1e-14)
    for point in found["lower"].points:
        pairs = randomizer.dataset_pairs()
        name, best = sb.best_lower_epsilon(pairs, point.setting.n, 1e-6, rtol=1e-3)
        assert f"{point.answer.inputs} among {point.answer.others}" == name
        assert point.answer.enclosure.lower == pytest.approx(best.lower, rel=2e-3)
    columns = curve.columns("epsilon")
    rows = [dict(zip(columns, row, strict=True)) for row in curve.rows(found["lower"])]
    assert [row["inputs"] for row in rows] == ["1 against 2"] * 3
    assert all(row["distance"] == 1 for row in rows)


@pytest.mark.parametrize(
    ("eps0", "k", "sent", "own"),
    [(2.0, 1, "m.csv", "1.79176"), (1.79176, 2, "2 × m.csv", "3.58352")],
)
def test_a_regime_with_another_eps0_than_all_that_is_sent_is_refused(file, eps0, k, sent, own):
    made = configured()
    made[PAPER]["regimes"]["own"]["eps0"] = eps0
    made[PAPER]["curves"]["upper"]["k_joint"] = k
    made[PAPER]["experiments"]["mine"]["curves"] = ["upper"]
    assert mistake(made) == (
        f"experiments.mine: curve upper in regime own: eps0 must be left out: {sent} has its own, "
        f"{own}, got {eps0}"
    )
    made[PAPER]["regimes"]["own"]["eps0"] = float(own)
    assert paper_plan(made)


def test_an_edit_of_the_numbers_changes_the_digests_of_their_curves_alone(file):
    before = paper_plan(configured())
    texts = {name: one.text() for name, one in before.items()}
    file.write_text(file.read_text() + "\n")
    assert {name: one.digest for name, one in paper_plan(configured()).items()} == {
        name: one.digest for name, one in before.items()
    }
    file.write_text(file.read_text().replace("0.375,0.125,0.5", "0.25,0.25,0.5"))
    after = paper_plan(configured())
    changed = {name for name, one in before.items() if after[name].digest != one.digest}
    assert changed == {name for name in before if name.experiment == "mine"}
    # A job is told what the file held when it was planned.
    for name in changed:
        with pytest.raises(ValueError, match=r"^file 'data/m\.csv' must hold .*: it was changed$"):
            specification.read(texts[name])
        assert specification.read(after[name].text()) == after[name]


def test_a_missing_file_is_told(file):
    assert mistake(configured(file="no.csv")) == (
        "mechanisms.mine: file 'no.csv' cannot be read: No such file or directory"
    )
    assert mistake(configured(file=3)) == (
        "mechanisms.mine: file must be the path of a CSV file, got 3"
    )
    made = configured()
    del made[PAPER]["mechanisms"]["mine"]["file"]
    assert mistake(made) == "mechanisms.mine: file is missing; matrix needs: file"


def test_braces_in_the_name_of_a_file_are_refused(file):
    file.rename(file.with_name("m{1}.csv"))
    assert mistake(configured(file="data/m{1}.csv")) == (
        "mechanisms.mine: file is 'data/m{1}.csv'; it must have no braces, which Snakemake takes "
        "for a wildcard"
    )


def test_no_curve_of_a_matrix_runs_along_eps0(file):
    made = copy.deepcopy(configured())
    made[PAPER]["experiments"]["mine"]["x"] = {"eps0": [1.0, 2.0]}
    made[PAPER]["experiments"]["mine"]["setting"] = {"n": 1000}
    assert "x must be one of " in mistake(made)
