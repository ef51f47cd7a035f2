"""Descriptions: what they build, and that every bad one is refused in one sentence."""

import json
import math
from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from strategies import examples

import shufflebounds as sb
from shufflebounds.randomizers import description as descriptions
from shufflebounds.randomizers.joint import Joint
from shufflebounds.randomizers.mixed import Parallel, Subsampled

KRR = {"type": "krr", "k": 3}
BLH = {"type": "blh"}


def randomizer(description, eps0):
    return descriptions.parse(description).randomizer(eps0)


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
    with pytest.raises(ValueError, match=r"^the blanket of krr is not a decomposition: a must sum"):
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
        ({}, "type must be one of [a-z_0-9, ]*, got None"),
        ({"type": "kr", "k": 3}, "type must be one of [a-z_0-9, ]*, got 'kr'"),
        ({"type": ["krr"], "k": 3}, r"type must be one of .*, got \['krr'\]"),
        ({"type": "krr"}, "k is missing; krr needs: k"),
        ({"type": "krr", "k": 3, "eps0": 0.0}, "eps0 must be a finite number with 0 < eps0"),
        ({"type": "krr", "k": 3, "eps": 1.0}, "eps is not a parameter of krr"),
        (
            {"type": "krr", "k": 3, "random": 0.1, "eps0": 1.0},
            "eps0 must be left out of krr with random, which determines it$",
        ),
        (
            {"type": "unary", "p": 0.5, "q": 0.1, "noise": 0.2},
            "noise must be left out of unary with p and q, which determine it$",
        ),
        ({"type": "unary", "p": 0.5}, "q is missing; unary needs: p, q"),
        ({"type": "krr", "k": 3, 5: 6}, "5 is not a parameter of krr"),
        ({"type": "krr", "k": "3"}, "k must be an integer from 2 to 9007199254740992, got '3'"),
        ({"type": "rappor", "domain": 3}, r"domain is not a .* \(did you mean domain_size\?\)"),
        ({"type": "oue", "domain_size": 1}, "domain_size must be an integer from 2 to"),
        ({"type": "laplace", "domain": ["binary"]}, r"domain must be one of .* \['binary'\]"),
        ({"type": "joint"}, "parts is missing; joint needs: parts"),
        ({"type": "joint", "parts": "krr"}, "parts must be a list .* got 'krr'"),
        (joint(), r"parts must be a list of parts that is not empty, got \[\]"),
        (joint("krr"), r"parts\[0\] must be a mapping, got 'krr'"),
        (joint(part(), KRR), r"parts\[1\]\.type is not a parameter of a part of joint"),
        (joint({"share": 1.0}), r"parts\[0\]\.mechanism is missing; a part of joint needs"),
        (joint(part(), part(None)), r"parts\[1\]\.mechanism must be a mapping, .* got None"),
        (joint(part(shares=1.0)), r"parts\[0\]\.shares is not a .* \(did you mean share\?\)"),
        (joint(part(weight=1.0)), r"parts\[0\]\.weight is not a parameter of a part of joint"),
        (joint(part(share=0.3), part(share=0.3)), "parts must have shares that sum to 1, got 0.6"),
        (
            joint(part(share=0.5), part(), part()),
            r"parts\[1\]\.share is missing; the parts of a joint must have shares that sum to 1, "
            "or none of them a share",
        ),
        (joint(part(share=0), part(share=1)), r"parts\[0\]\.share must be more than 0, got 0"),
        (joint(part(share="1")), r"parts\[0\]\.share must be .* got '1'"),
        (parallel(part()), r"parts\[0\]\.weight is missing; a part of parallel needs"),
        (parallel(part(weight=0.5)), "weights must sum to 1, got 0.5"),
        (parallel(part(weight=-1.0), part(weight=2.0)), r"parts\[0\]\.weight must be .* got -1.0"),
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


def test_texts():
    inner = {"type": "subsample", "mechanism": KRR, "rate": 0.8}
    mixed = parallel(part(inner, weight=0.25), part(joint(part(BLH), part(BLH)), weight=0.75))
    parsed = descriptions.parse(mixed)
    assert str(parsed) == "parallel(0.25 subsample(0.8 krr(k=3)), 0.75 joint(blh, blh))"
    assert str(descriptions.parse(joint(part(share=0.25), part(BLH, share=0.75)))) == (
        "joint(krr(k=3) at 0.25 eps0, blh at 0.75 eps0)"
    )


def shares(count):
    return st.lists(st.integers(1, 9), min_size=count, max_size=count).map(
        lambda parts: [float(Fraction(part, sum(parts))) for part in parts]
    )


@st.composite
def described(draw, depth=3):
    """Descriptions as configurations may hold them."""
    kinds = ["joint", "parallel", "subsample"] if depth else []
    kind = draw(st.sampled_from(["krr", "blh", "rappor", "laplace", *kinds]))
    if kind == "krr":
        return {"type": kind, "k": draw(st.integers(2, 50))}
    if kind == "laplace":
        return {"type": kind, "cells": draw(st.integers(1, 9)), "domain": "interval", "others": 0.5}
    if kind not in kinds:
        return {"type": kind}
    if kind == "subsample":
        return {
            "type": kind,
            "mechanism": draw(described(depth - 1)),
            "rate": draw(st.floats(0, 1)),
        }
    count = draw(st.integers(1, 3))
    parts = [part(draw(described(depth - 1))) for _ in range(count)]
    weights = draw(shares(count))
    if kind == "parallel":
        parts = [one | {"weight": weight} for one, weight in zip(parts, weights, strict=True)]
        if draw(st.booleans()):
            parts[0]["share"] = 1.0
            parts = parts[:1] + [one | {"share": 0.5} for one in parts[1:]]
    elif draw(st.booleans()):
        parts = [one | {"share": share} for one, share in zip(parts, weights, strict=True)]
    return {"type": kind, "parts": parts}


@given(described())
@examples(100)
def test_a_description_is_found_again_from_its_mapping(described):
    parsed = descriptions.parse(described)
    again = descriptions.parse(json.loads(json.dumps(parsed.plain())))
    assert again == parsed
    assert hash(again) == hash(parsed)
    assert str(again) == str(parsed)
    assert again.plain() == parsed.plain()


@given(described(), described())
@examples(100)
def test_other_descriptions_have_other_texts(one, two):
    """Tables and claims tell mechanisms apart by their texts."""
    one, two = descriptions.parse(one), descriptions.parse(two)
    assert (str(one) == str(two)) == (one == two)
