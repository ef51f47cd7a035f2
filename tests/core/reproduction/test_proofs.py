"""Points of curves, handed to the second program."""

import dataclasses

import pytest
from repository import ROOT
from specifications import NAME, specification

from reproduction import proofs
from shufflebounds.curves import curve

pytest.importorskip("flint")
PROGRAM = ROOT / "verify" / "verify.py"


def verdicts(wanted, false):
    """Of the curve of a specification, and of the same with its numbers multiplied."""
    frame = curve.compute(NAME, wanted).frame()
    ends = [f"{wanted.quantity}_{end}" for end in ("lower", "upper")]
    spoilt = frame.assign(**{end: false * frame[end] for end in ends})
    other = dataclasses.replace(NAME, curve="false")
    found = proofs.table({NAME: wanted, other: wanted}, {NAME: frame, other: spoilt}, PROGRAM)
    assert proofs.page(found).markdown().count("\n| krr10/large/") == len(found)
    return found["verdict"].tolist()


@pytest.mark.parametrize(
    ("changes", "false"),
    [
        ({"x": {"n": [300, 500, 1000, 2000]}}, 0.99),
        ({"bound": "best", "x": {"n": [2000]}}, 0.97),
        ({"bound": "lower"}, 1.01),
        ({"bound": "clone"}, 0.99),
        ({"k_joint": 2, "eps0": 1.0}, 0.99),
        ({"quantity": "delta", "eps": 0.4, "delta": None}, 0.9),
        ({"mechanism": {"type": "laplace"}, "eps0": 1.0}, 0.99),
    ],
)
def test_the_first_the_middle_and_the_last_are_proven_and_none_that_is_false(changes, false):
    wanted = specification(**{"x": {"n": [500]}, **changes})
    points = min(3, len(wanted.axis.values))
    found = verdicts(wanted, false)
    assert {*found[:points]} <= {proofs.PROVEN, proofs.NEARLY}
    assert found[points:] == [proofs.OPEN] * points


@pytest.mark.parametrize(
    "changes",
    [
        {"bound": "blanket_bennett"},
        {"bound": "variation_ratio_published"},
        {"quantity": "renyi", "order": 4.0, "delta": None},
        {"bound": "lower", "rounds": 3},
        {"k_joint": 2, "eps0": 1.0, "distance": 1},
        {"mechanism": {"type": "collision", "items": 2, "hash_values": 9}},
    ],
)
def test_what_is_not_attempted_is_told(changes):
    wanted = specification(**changes)
    found = proofs.table({NAME: wanted}, {NAME: curve.compute(NAME, wanted).frame()}, PROGRAM)
    assert found["verdict"].tolist() == [proofs.SKIPPED]
    assert found["reason"].all()
