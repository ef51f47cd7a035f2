"""Every bound of the registry: what it says of itself is so, and a new one takes one line."""

import os
import subprocess
import sys
from functools import partial
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repository import ROOT
from strategies import examples

from shufflebounds.bounds import base, registry
from shufflebounds.bounds.base import (
    DIVERGENCES,
    QUANTITIES,
    Answer,
    Kind,
    closed_form,
    largest,
    smallest,
)
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.curves import curve, specification
from shufflebounds.curves.storage import CurveName
from shufflebounds.subjects.base import PairName

LOWER = ("lower", "merged_lower", "merged_lower_printed", "girgis_lower", "girgis_lower_simple")


# Configurations and scripts have them, in the order in which commands list them.
NAMES = """
blanket lower best enumerated clone stronger_clone blanket_hoeffding blanket_hoeffding_generic
blanket_hoeffding_similarity blanket_bennett blanket_bennett_generic blanket_bennett_similarity
blanket_best blanket_best_generic blanket_best_similarity clone_closed_form erlingsson
variation_ratio variation_ratio_published variation_ratio_printed variation_ratio_analytic
variation_ratio_asymptotic merged_lower merged_lower_printed original basic_composition
advanced_composition
optimal_composition vector_bits_published clone_advanced blanket_renyi clone_renyi
stronger_clone_renyi girgis_reduction girgis_upper girgis_simple girgis_lower
girgis_lower_simple estimate_error curator_error
"""


def test_names():
    assert list(BOUNDS) == NAMES.split()
    assert all(bound.name == name for name, bound in BOUNDS.items())
    assert registry.bound("clone") is BOUNDS["clone"]
    with pytest.raises(
        ValueError, match=r"^bound must be one of advanced_composition, .*, got 'unheard'$"
    ):
        registry.bound("unheard")


@pytest.mark.parametrize(("former", "present"), registry.FORMER_NAMES.items())
def test_former_names_give_a_warning_and_the_bound(former, present):
    with pytest.warns(FutureWarning, match=f"{former}.* is called .*{present}"):
        assert registry.bound(former) is BOUNDS[present]


@pytest.mark.parametrize("bound", BOUNDS.values(), ids=lambda bound: bound.name)
def test_each_tells_what_it_is(bound):
    kinds = dict.fromkeys(LOWER, Kind.LOWER)
    kinds |= {name: Kind.UNPROVEN for name in BOUNDS if name.startswith("variation_ratio_")}
    kinds["vector_bits_published"] = Kind.UNPROVEN
    kinds |= dict.fromkeys(("girgis_lower", "girgis_lower_simple"), Kind.CLASS_LOWER)
    assert bound.kind is kinds.get(bound.name, Kind.UPPER)
    assert bound.label
    assert bound.source
    assert bound.quantities
    assert set(bound.quantities) <= set(QUANTITIES)
    if bound.is_divergence:
        assert bound.composes
        assert set(bound.quantities) == set(DIVERGENCES)


def test_labels_are_distinct():
    assert len({bound.label for bound in BOUNDS.values()}) == len(BOUNDS)


# A bound of one's own.

TRIVIAL = closed_form(
    "trivial",
    Kind.UPPER,
    label="local privacy",
    source="post-processing",
    knows_mechanism=False,
    quantities={"epsilon": lambda _, eps0, at: Enclosure(eps0, eps0)},
)


def test_a_new_bound_takes_one_line(monkeypatch, tmp_path):
    """Listed, it is known to specifications, curves and files."""
    listed = MappingProxyType({**BOUNDS, TRIVIAL.name: TRIVIAL})
    monkeypatch.setattr(registry, "BOUNDS", listed)
    made = specification.read(
        '{"quantity": "epsilon", "bound": "trivial", "mechanism": {"type": "blh"}, "k_joint": 1, '
        '"delta": 1e-06, "n": 10, "x": {"eps0": [1.0, 2.0]}}'
    )
    assert specification.read(made.text()) == made
    computed = curve.compute(CurveName("a", "b", "c"), made)
    assert [point.answer.enclosure.upper for point in computed.points] == [1.0, 2.0]
    curve.write(computed, tmp_path / "curve.csv")
    curve.verify(tmp_path / "curve.csv", computed.name, made)
    row = curve.read(tmp_path / "curve.csv").iloc[0]
    assert (row["bound"], row["kind"]) == ("trivial", "upper")


# The worst of several pairs.


def answers():
    ends = st.tuples(st.floats(0, 10), st.floats(0, 10)).map(sorted)
    return st.builds(
        Answer,
        enclosure=ends.map(lambda pair: Enclosure(*pair)),
        pair=st.sampled_from(["1", "2", "1 2"]).map(PairName),
        shortfall=st.sampled_from(["", "too wide"]),
    )


@given(st.lists(answers(), min_size=1, max_size=5), st.data())
@examples(200)
def test_the_extreme_of_several_encloses_that_of_what_they_enclose(found, data):
    truths = [data.draw(st.floats(one.enclosure.lower, one.enclosure.upper)) for one in found]
    for extreme, of in ((partial(largest, kind=Kind.LOWER), max), (smallest, min)):
        answer = extreme(found)
        assert of(truths) in answer.enclosure
        # Each end is that of some pair, and the pair named could be it.
        named = [one for one in found if one.differing == answer.differing]
        assert any(
            one.enclosure.lower <= answer.enclosure.upper
            and one.enclosure.upper >= answer.enclosure.lower
            for one in named
        )


def test_only_a_shortfall_that_matters_is_told():
    certain, wide = Answer(Enclosure(2.0, 2.1)), Answer(Enclosure(0.1, 1.0), shortfall="wide")
    assert not largest([certain, wide], Kind.UPPER).shortfall
    assert smallest([certain, wide]).shortfall == "wide"
    overlapping = Answer(Enclosure(0.1, 2.05), shortfall="wide")
    assert largest([certain, overlapping], Kind.UPPER).shortfall == "wide"


def test_the_pair_that_is_named_has_the_end_that_counts():
    narrow = Answer(Enclosure(2.0, 2.1), PairName(others="narrow"))
    wide = Answer(Enclosure(1.0, 3.0), PairName(others="wide"))
    assert largest([narrow, wide], Kind.LOWER).others == "narrow"
    assert largest([narrow, wide], Kind.UPPER).others == "wide"
    assert smallest([narrow, wide], "upper").others == "narrow"
    assert smallest([narrow, wide], "lower").others == "wide"


@pytest.mark.parametrize(
    ("numerics", "message"),
    [({"rtol": 1.0}, "rtol must be .* got 1.0"), ({"rtol": "1e-4"}, "rtol must be .* got '1e-4'")],
)
def test_bad_numerics(numerics, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        base.Numerics(**numerics)


MODULE = """
from dataclasses import replace
from shufflebounds.bounds.clones import CLONE
TWICE = replace(CLONE, name="twice", label="clone of another package")
"""
PROGRAM = """
import sys
from shufflebounds.bounds.registry import BOUNDS, bound
print(*[*BOUNDS][-4:], len(BOUNDS) - len([*BOUNDS]))
print("twice" in BOUNDS, "thrice" in BOUNDS, bound("twice").label, BOUNDS["clone"].label)
import shufflebounds as sb
[one] = sb.curve(sb.KRR(3, 1.0), "twice", n=[1000], delta=1e-6).enclosures
[other] = sb.curve(sb.KRR(3, 1.0), "clone", n=[1000], delta=1e-6).enclosures
print(one == other)
for name in ("other", "lost"):
    try:
        bound(name)
    except ValueError as error:
        print(error)
"""


def test_bounds_of_other_packages(tmp_path):
    """Found by their entry points, loaded when they are asked for; ours keep their names."""
    (tmp_path / "my_bounds.py").write_text(MODULE, encoding="utf-8")
    info = tmp_path / "my_bounds-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-bounds\nVersion: 1.0\n")
    names = ("twice = my_bounds:TWICE", "clone = my_bounds:TWICE", "other = my_bounds:TWICE")
    lines = "\n".join(["[shufflebounds.bounds]", *names, "lost = no_such_module:TWICE"])
    (info / "entry_points.txt").write_text(lines)
    path = f"{ROOT / 'src'}{os.pathsep}{tmp_path}"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "curator_error lost other twice 0",
        "True False clone of another package clone",
        "True",
        "my_bounds:TWICE must be a Bound named other, got " + done.stdout.splitlines()[3][49:],
        "the bound lost cannot be loaded from no_such_module:TWICE: "
        "No module named 'no_such_module'",
    ]
