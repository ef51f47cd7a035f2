"""Descriptions: what they build, and that every bad one is refused in one sentence."""

import math
from fractions import Fraction

import hypothesis.strategies as st
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from strategies import examples

import shufflebounds as sb
from shufflebounds import curves, descriptions, specs
from shufflebounds.building import randomizer
from shufflebounds.composition import Joint, Parallel, Subsampled

KRR = {"type": "krr", "k": 3}
BLH = {"type": "blh"}


def joint(*parts):
    return {"type": "joint", "parts": list(parts)}


def parallel(*parts):
    return {"type": "parallel", "parts": list(parts)}


def part(mechanism=KRR, **others):
    return {"mechanism": mechanism, **others}


@pytest.mark.parametrize(("a", "b"), [([0.9, 0.1], [0.1, 0.9]), ([1.0, 0.0], [0.5, 0.5])])
def test_a_mechanism_that_is_less_private_than_it_says_is_refused(monkeypatch, a, b):
    """The clone would be too small for it."""
    wrong = sb.Decomposition(a, b, [0.1, 0.1])
    monkeypatch.setattr(sb.KRR, "blanket", lambda self: wrong)
    message = r"^the blanket of krr must be that of an eps0-LDP randomizer, got .* at eps0 = 2\.1"
    with pytest.raises(ValueError, match=message):
        randomizer(KRR, 2.1)


@settings(deadline=None)
@given(
    st.sampled_from(
        [KRR, BLH, *({"type": name} for name in ("laplace", "oue", "rappor", "hadamard"))]
    ),
    st.floats(1e-6, 300.0),
)
def test_every_mechanism_is_as_private_as_it_says(description, eps0):
    assert randomizer(description, eps0).eps0 == eps0


def test_a_blanket_that_is_none_is_told_with_its_mechanism(monkeypatch):
    monkeypatch.setattr(sb.KRR, "blanket", lambda self: sb.Decomposition([3.0], [1.0], [0.1]))
    with pytest.raises(ValueError, match=r"^the blanket of krr is no decomposition: a must sum"):
        randomizer(KRR, 2.1)


def test_mechanisms():
    assert randomizer(KRR, 1.0) == sb.KRR(3, 1.0)
    assert randomizer(BLH, 1.0) == sb.BLH(1.0)
    assert randomizer({"type": "rappor", "domain_size": 5}, 2.0) == sb.RAPPOR(2.0, 5)
    interval = {"type": "laplace", "domain": "interval", "others": 0.5}
    assert randomizer(interval, 1.0) == sb.Laplace(1.0, domain="interval", others=0.5)


def test_joints_share_eps0():
    assert randomizer(joint(part(), part(BLH)), 3.0) == Joint([sb.KRR(3, 1.5), sb.BLH(1.5)])
    uneven = joint(part(share=0.25), part(BLH, share=0.75))
    assert randomizer(uneven, 2.0) == Joint([sb.KRR(3, 0.5), sb.BLH(1.5)])


def test_parallel_parts_have_all_of_eps0_or_less():
    mixed = parallel(part(weight=0.3), part(BLH, weight=0.7, share=0.5))
    assert randomizer(mixed, 2.0) == Parallel([(0.3, sb.KRR(3, 2.0)), (0.7, sb.BLH(1.0))])
    thirds = parallel(part(weight=Fraction(1, 3)), part(BLH, weight=Fraction(2, 3)))
    assert randomizer(thirds, 1.0).eps0 == 1.0


def test_nesting():
    inner = {"type": "subsample", "mechanism": joint(part(), part()), "rate": 0.5}
    found = randomizer(joint(part(inner, share=0.5), part(BLH, share=0.5)), 4.0)
    assert found == Joint([Subsampled(Joint([sb.KRR(3, 1.0)] * 2), 0.5), sb.BLH(2.0)])
    assert found.eps0 == 4.0
    deep = KRR
    for _ in range(19):
        deep = {"type": "subsample", "mechanism": deep, "rate": 0.5}
    assert randomizer(deep, 1.0).eps0 == 1.0


@given(st.integers(1, 30), st.floats(1e-3, 10.0))
@examples(100)
def test_eps0_is_kept_up_to_rounding(parts, eps0):
    found = randomizer(joint(*[part()] * parts), eps0)
    assert Fraction(found.eps0) >= sum(Fraction(one.eps0) for one in found.parts)
    assert found.eps0 == pytest.approx(eps0, rel=1e-14)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        (None, "description must be a mapping, .* got None"),
        ("krr", "description must be a mapping, .* got 'krr'"),
        ([KRR], "description must be a mapping"),
        ({}, "type must be one of blh, .*, got None"),
        ({"type": "kr", "k": 3}, "type must be one of blh, .*, got 'kr'"),
        ({"type": ["krr"], "k": 3}, r"type must be one of .*, got \['krr'\]"),
        ({"type": True}, "type must be one of .*, got True"),
        ({"type": "base"}, "type must be one of .*, got 'base'"),
        ({"type": "krr"}, "k is missing; krr needs: k"),
        ({"type": "krr", "k": 3, "eps0": 1.0}, "eps0 is no parameter of krr"),
        ({"type": "krr", "k": 3, 5: 6}, "5 is no parameter of krr"),
        ({"type": "krr", "k": "3"}, "k must be an integer >= 2, got '3'"),
        ({"type": "krr", "k": True}, "k must be an integer >= 2, got True"),
        ({"type": "rappor", "domain": 3}, r"domain is no .* \(did you mean domain_size\?\)"),
        ({"type": "oue", "domain_size": 1}, "domain_size must be an integer >= 2, got 1"),
        ({"type": "laplace", "domain": ["binary"]}, r"domain must be one of .* \['binary'\]"),
        ({"type": "laplace", "domain": {}}, r"domain must be one of .* got \{\}"),
        ({"type": "laplace", "domain": "real"}, "domain must be one of binary, interval"),
        ({"type": "laplace", "others": 0.5}, "others must be 1 on the binary domain, got 0.5"),
        ({"type": "laplace", "others": "1"}, "others must be a finite number, got '1'"),
        ({"type": "laplace", "others": True}, "others must be a finite number, got True"),
        ({"type": "laplace", "cells": 0}, "cells must be an integer >= 1, got 0"),
        ({"type": "joint"}, "parts is missing; joint needs: parts"),
        ({"type": "joint", "parts": None}, "parts must be a list .* got None"),
        ({"type": "joint", "parts": part()}, "parts must be a list"),
        ({"type": "joint", "parts": "krr"}, "parts must be a list .* got 'krr'"),
        (joint(), r"parts must be a list of parts that is not empty, got \[\]"),
        (parallel(), r"parts must be a list of parts that is not empty, got \[\]"),
        (joint("krr"), r"parts\[0\] must be a mapping, got 'krr'"),
        (joint(part(), KRR), r"parts\[1\]\.type is no parameter of a part of joint"),
        (joint({"share": 1.0}), r"parts\[0\]\.mechanism is missing; a part of joint needs"),
        (joint(part("krr")), r"parts\[0\]\.mechanism must be a mapping, .* got 'krr'"),
        (joint(part(), part(None)), r"parts\[1\]\.mechanism must be a mapping, .* got None"),
        (joint(part(shares=1.0)), r"parts\[0\]\.shares is no .* \(did you mean share\?\)"),
        (joint(part(weight=1.0)), r"parts\[0\]\.weight is no parameter of a part of joint"),
        (joint(part(share=0.3), part(share=0.3)), "parts must have shares that sum to 1, got 0.6"),
        (
            joint(part(share=0.5), part(), part()),
            r"parts\[1\]\.share is missing; the parts of a joint must have shares that sum to 1, "
            "or none of them a share",
        ),
        (joint(part(share=-1), part(share=2)), r"parts\[0\]\.share must be .* got -1"),
        (joint(part(share=0), part(share=1)), r"parts\[0\]\.share must be more than 0, got 0"),
        (joint(part(share=True)), r"parts\[0\]\.share must be .* got True"),
        (joint(part(share="1")), r"parts\[0\]\.share must be .* got '1'"),
        (joint(part(share=None)), r"parts\[0\]\.share must be .* got None"),
        (joint(part(share=math.nan)), r"parts\[0\]\.share must be .* got nan"),
        (parallel(part()), r"parts\[0\]\.weight is missing; a part of parallel needs"),
        (parallel(part(weight=0.5)), "weights must sum to 1, got 0.5"),
        (parallel(part(weight=-1.0), part(weight=2.0)), "weight must be .* got -1.0"),
        (parallel(part(weight="1")), "weight must be .* got '1'"),
        (parallel(part(weight=math.nan)), "weight must be .* got nan"),
        (parallel(part(weight=True)), "weight must be .* got True"),
        (parallel(part(weight=1.0, share=0.5)), "parts must have 1 for their largest share, got"),
        ({"type": "subsample", "rate": 0.5}, "mechanism is missing; subsample needs"),
        ({"type": "subsample", "mechanism": KRR}, "rate is missing; subsample needs"),
        ({"type": "subsample", "mechanism": "krr", "rate": 0.5}, "mechanism must be a mapping"),
        *(
            ({"type": "subsample", "mechanism": KRR, "rate": rate}, f"rate must be .* got {rate!r}")
            for rate in (1.5, -0.1, math.nan, math.inf, True, None, "half")
        ),
        (joint(part(parallel(part({"type": "krr"}, weight=1)))), "k is missing; krr needs: k"),
    ],
)
def test_bad_descriptions(description, message):
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        randomizer(description, 1.0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("eps0", ["4", None, True, math.nan, [1.0], 0, -1.0, 301.0])
@pytest.mark.parametrize("description", [KRR, joint(part(), part()), parallel(part(weight=1.0))])
def test_bad_eps0(description, eps0):
    with pytest.raises(ValueError, match=r"^eps0 must be a finite number with 0 < eps0 <= 300, g"):
        randomizer(description, eps0)


def test_descriptions_without_end():
    endless = {"type": "subsample", "rate": 0.5}
    endless["mechanism"] = endless
    with pytest.raises(ValueError, match=r"^mechanism must be nested at most 20 levels deep"):
        randomizer(endless, 1.0)


def test_large_joints_are_refused_without_work(monkeypatch):
    large = joint(*[part({"type": "laplace", "cells": 9000})] * 2, *[part(BLH)] * 2)
    monkeypatch.setattr(sb.Decomposition, "joint", None)
    for mechanism in (
        large,
        parallel(part(large, weight=0.5), part(BLH, weight=0.5)),
        {"type": "subsample", "mechanism": large, "rate": 0.1},
    ):
        spec = {"bound": "upper", "mechanism": mechanism, "eps0": 1.0, "delta": 1e-6, "n": [100]}
        with pytest.raises(ValueError, match=r"^a joint of 4 reports .* is too large for memory"):
            specs.check(spec)


def test_texts_and_mechanisms():
    inner = {"type": "subsample", "mechanism": KRR, "rate": 0.8}
    mixed = parallel(part(inner, weight=0.25), part(joint(part(BLH), part(BLH)), weight=0.75))
    assert (
        descriptions.text(mixed) == "parallel(0.25 subsample(0.8 krr(k=3)), 0.75 joint(blh, blh))"
    )
    assert descriptions.mechanisms(mixed) == {"krr", "blh"}
    assert descriptions.text(joint(part(share=0.25), part(BLH, share=0.75))) == (
        "joint(krr(k=3) at 0.25 eps0, blh at 0.75 eps0)"
    )


# Curves of compositions.

SPEC = {
    "experiment": "1",
    "regime": "2e5",
    "curve": "NA",
    "mechanism": {"type": "krr", "k": 10},
    "eps0": 4.0,
    "bound": "upper",
    "delta": 1e-6,
    "n": [20, 1000],
    "engine": "saddle",
    "rtol": 1e-4,
}
INTERVAL = {"type": "laplace", "cells": 12, "domain": "interval"}


@pytest.mark.parametrize(
    ("changes", "distance", "differing", "others"),
    [
        ({}, 1, "1", ""),
        ({"k_joint": 3}, 3, "1 2 3", ""),
        ({"k_joint": 3, "distance": 2}, 2, "1 2", ""),
        ({"k_joint": 3, "bound": "lower"}, 3, "1 2 3", None),
        ({"bound": "lower", "mechanism": INTERVAL, "rtol": 0.05}, 1, "1", None),
        ({"mechanism": joint(part(), part(BLH)), "distance": 1, "eps0": 1.0}, 1, "1", ""),
        ({"mechanism": parallel(part(weight=0.5), part(BLH, weight=0.5))}, 1, "1", ""),
        ({"bound": "clone"}, None, "", ""),
        ({"bound": "blanket_bennett"}, 1, "1", ""),
        ({"bound": "blanket_bennett_generic"}, None, "", ""),
    ],
)
def test_columns_of_a_curve_and_its_file(changes, distance, differing, others, tmp_path):
    rows = curves.compute({**SPEC, **changes})
    assert [row.distance for row in rows] == [distance] * 2
    assert [row.differing for row in rows] == [differing] * 2
    if others is not None:
        assert [row.others for row in rows] == [others] * 2
    curves.write(rows, tmp_path / "curve.csv")
    back = curves.read(tmp_path / "curve.csv")
    assert list(back.columns) == list(curves.COLUMNS)
    assert back["distance"].dtype == "Int64"
    expected = pd.DataFrame(rows).astype({"distance": "Int64", "rtol": float})
    pd.testing.assert_frame_equal(back, expected, check_exact=True)


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=5), st.floats(0.1, 20.0))
def test_the_clone_of_a_joint_is_that_of_its_parts_together(weights, eps0):
    """Rounding must not make it the clone of a smaller ε₀ than the parts have."""
    shares = [weight / math.fsum(weights) for weight in weights]
    assume(abs(math.fsum(shares) - 1.0) <= 1e-12)
    mechanism = joint(*(part(share=share) for share in shares))
    spec = {**SPEC, "bound": "clone", "mechanism": mechanism, "eps0": eps0}
    (candidate,) = specs.candidates(spec)
    spent = sum(Fraction(share * eps0) for share in shares)
    assert candidate.decomposition.a.tolist() == sb.standard_clone(specs.budget(spec)).a.tolist()
    assert max(spent, eps0) <= specs.budget(spec) <= eps0 * (1.0 + 1e-11)


@pytest.mark.parametrize("bound", ["clone", "erlingsson", "blanket_bennett_generic"])
def test_parts_that_add_up_to_a_rounding_more_than_300_are_taken(bound):
    spec = {**SPEC, "bound": bound, "mechanism": KRR, "eps0": 300.0, "k_joint": 9}
    assert specs.budget(spec) > 300.0
    specs.check(spec)
    assert all(row.epsilon_upper >= 299.9 for row in curves.compute(spec))


def test_the_pair_of_a_lower_bound_is_the_best_one():
    """By every other one alone; 1/2 makes Laplace reports easier to tell apart."""
    changes = {"bound": "lower", "mechanism": INTERVAL, "rtol": 0.05}
    best = curves.compute({**SPEC, **changes})
    alone = {
        name: curves.compute({**SPEC, **changes, "mechanism": {**INTERVAL, "others": others}})
        for name, others in (("1", 1), ("1/2", 0.5))
    }
    for others, rows in alone.items():
        assert [row.others for row in rows] == [others] * 2
    for i, row in enumerate(best):
        found = {others: rows[i].epsilon_lower for others, rows in alone.items()}
        assert found[row.others] == max(found.values()) == row.epsilon_lower
        assert row.epsilon_upper == max(rows[i].epsilon_upper for rows in alone.values())


def test_the_kind_of_pair_at_a_distance_is_the_worst_one():
    mechanism = joint(part(share=0.75), part(BLH, share=0.25))
    rows = curves.compute({**SPEC, "mechanism": mechanism, "distance": 1})
    blankets = Joint([sb.KRR(3, 3.0), sb.BLH(1.0)]).blankets(1)
    for row in rows:
        found = {name: sb.epsilon(b, row.n, 1e-6) for name, b in blankets.items()}
        assert row.differing == max(found, key=lambda name: found[name].lower)
        assert row.epsilon_upper == max(one.upper for one in found.values())
    both = curves.compute({**SPEC, "mechanism": mechanism})
    for one, two in zip(rows, both, strict=True):
        assert two.epsilon_upper > one.epsilon_upper


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"distance": 1}, "distance must be left out but for the upper bound of a joint"),
        ({"distance": 1, "k_joint": 2, "bound": "lower"}, "distance must be left out"),
        ({"distance": 3, "k_joint": 2}, "distance must be an integer <= 2, got 3"),
        ({"distance": 0, "k_joint": 2}, "distance must be an integer >= 1, got 0"),
        ({"distance": True, "k_joint": 2}, "distance must be an integer >= 1, got True"),
        ({"k_joint": 101}, "k_joint must be an integer <= 100, got 101"),
        ({"bound": []}, "bound must be one of"),
        ({"mechanism": "krr"}, "description must be a mapping"),
    ],
)
def test_bad_curves(changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        specs.check({**SPEC, **changes})
