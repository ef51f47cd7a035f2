"""Specifications: what they ask for, their text and digest, and what is refused."""

import math
from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import assume, given
from specifications import joint, parallel, part, specification
from strategies import examples

import shufflebounds as sb
from shufflebounds.bounds.base import QUANTITIES
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.setting import OverN, Setting
from shufflebounds.curves import specification as specifications
from shufflebounds.protocols import registry

KRR = {"type": "krr", "k": 3}
BLH = {"type": "blh"}


MECHANISMS = [
    KRR,
    {"type": "krr", "k": 4},
    BLH,
    {"type": "laplace", "cells": 7, "domain": "interval", "others": 0.5},
    joint(part(), part(BLH)),
    joint(part(share=0.25), part(BLH, share=0.75)),
    parallel(part(weight=0.5), part(BLH, weight=0.5)),
    {"type": "subsample", "mechanism": joint(part(), part()), "rate": 0.5},
]
VALUES = {
    "n": st.integers(1, 10**15),
    "eps0": st.floats(1e-300, 300.0),
    "eps": st.floats(0.0, 300.0),
    "delta": st.floats(1e-300, 0.999) | st.floats(1e-9, 0.9).map(OverN),
    "rounds": st.integers(1, 10**6),
    "order": st.floats(1.0, 10**6, exclude_min=True),
}
REPORTS = registry.parse_sent(KRR)


@st.composite
def plans(draw):
    """Arguments of `specification`, all of them valid."""
    name = draw(st.sampled_from(list(BOUNDS)))
    quantity = draw(st.sampled_from(BOUNDS[name].quantities))
    wanted = specifications.needed(quantity, REPORTS)
    if BOUNDS[name].composes and draw(st.booleans()):
        wanted.add("rounds")
    axis = draw(st.sampled_from(sorted(wanted)))
    if draw(st.booleans()):
        number = VALUES[axis].filter(lambda value: not isinstance(value, OverN))
        x = draw(st.lists(number, min_size=1, max_size=4, unique=True))
    else:
        ends = (1.5, 90.0) if axis == "order" else (0.01, 0.9)
        ends = (1, 900) if axis in ("n", "rounds", "messages") else ends
        spacing = draw(st.sampled_from([{}, {"spacing": "linear"}]))
        x = {"start": ends[0], "stop": ends[1], "points": draw(st.integers(2, 5)), **spacing}
    plan = {
        **{name: draw(VALUES[name]) for name in sorted(wanted - {axis})},
        "bound": name,
        "quantity": quantity,
        "mechanism": draw(st.sampled_from(MECHANISMS)),
        "k_joint": draw(st.integers(1, 3)),
        "x": {axis: x},
        "rtol": draw(st.sampled_from([None, 1e-4, 0.1])),
    }
    if name == "blanket" and draw(st.booleans()):
        plan["distance"] = draw(st.integers(1, 4))
    # What `specification` has of its own, if it is not wanted.
    return {"eps0": None, "delta": None} | plan


@given(plans())
@examples(100)
def test_a_specification_is_found_again_from_its_text(plan):
    made = specification(**plan)
    text = made.text()
    assert "\n" not in text
    again = specifications.read(text)
    assert again == made
    assert hash(again) == hash(made)
    assert (again.text(), again.digest) == (text, made.digest)


@given(plans(), plans())
@examples(100)
def test_digests_are_equal_where_specifications_are(one, two):
    one, two = specification(**one), specification(**two)
    assert (one == two) == (one.digest == two.digest)


@given(plans(), st.data())
@examples(100)
def test_every_change_changes_the_digest(plan, data):
    """And nothing changes it that the values do not depend on."""
    made = specification(**plan)
    key = data.draw(st.sampled_from(["bound", "quantity", "mechanism", "k_joint", "rtol", *VALUES]))
    options = {
        "bound": st.sampled_from(list(BOUNDS)),
        "quantity": st.sampled_from(list(QUANTITIES)),
        "mechanism": st.sampled_from(MECHANISMS),
        "k_joint": st.integers(1, 3),
        "rtol": st.sampled_from([None, 1e-4, 0.1]),
    }
    change = {key: data.draw(options[key] if key in options else VALUES[key])}
    assume(change[key] != plan.get(key))
    try:
        other = specification(**plan | change)
    except ValueError:
        return
    # At a given n, δ and the share of 1/n that it is may be one.
    shares = [isinstance(value, OverN) for value in (change[key], plan.get(key))]
    assume(shares[0] == shares[1] or made.setting != other.setting)
    counts = specifications.needed(made.quantity, REPORTS) | {"rounds"}
    idle = (key in VALUES and key not in counts - {made.axis.name}) or (
        key == "rtol" and not made.bound.is_divergence
    )
    assert (made.digest == other.digest) == idle
    assert (made == other) == idle


@given(plans())
@examples(50)
def test_settings_are_complete_all_along_the_axis(plan):
    made = specification(**plan)
    try:
        settings = list(made.settings)
    except ValueError as error:
        assert isinstance(plan["delta"], OverN)
        assert "delta must be" in str(error)  # noqa: PT017
        return
    assert [getattr(one, made.axis.name) for one in settings] == list(made.axis.values)
    for one in settings:
        assert set(one.given()) - {"rounds"} == specifications.needed(made.quantity, REPORTS)
        assert (one.rounds is not None) == made.has_rounds
        assert not isinstance(one.delta, OverN)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bound": "unheard"}, "bound must be one of .*, got 'unheard'"),
        (
            {"quantity": "entropy"},
            "quantity must be one of epsilon, delta, renyi for the bound blanket, got",
        ),
        ({"eps0": None}, "eps0 is missing"),
        ({"delta": 1.5}, "delta .*got 1.5"),
        ({"x": {"eps0": [1.0]}}, "n is missing"),
        (
            {"x": {"eps": [1.0]}},
            "x must be one of delta, eps0, n, rounds for the quantity epsilon",
        ),
        ({"bound": "erlingsson", "rounds": 2}, "rounds must be left out for the bound erlingsson"),
        ({"k_joint": 101}, "k_joint must be an integer from 1 to 100, got 101"),
        (
            {"distance": 1, "bound": "clone"},
            "distance is only valid for the blanket",
        ),
    ],
)
def test_what_makes_no_specification_is_refused_in_one_sentence(changes, message):
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        specification(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"distance": 1}, "distance is only valid for the blanket of a joint composition"),
        ({"distance": 3, "k_joint": 2}, "distance must be an integer from 1 to 2, got 3"),
        ({"delta": OverN(2000.0)}, r"delta must be .* got 2\.0, which is 2000\.0/n at n = 1000"),
    ],
)
def test_what_cannot_be_computed_is_refused_by_its_check(changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        specification(**changes).check()


@pytest.mark.parametrize("bound", ["blanket", "lower", "blanket_bennett"])
def test_large_joints_are_refused_without_work(monkeypatch, bound):
    laplace = {"type": "laplace", "cells": 9000}
    large = joint(part(laplace), part(laplace), part(BLH), part(BLH))
    monkeypatch.setattr(sb.Decomposition, "joint", None)
    for mechanism in (
        large,
        parallel(part(large, weight=0.5), part(BLH, weight=0.5)),
        {"type": "subsample", "mechanism": large, "rate": 0.1},
    ):
        made = specification(mechanism=mechanism, bound=bound, eps0=1.0)
        with pytest.raises(ValueError, match=r"^a joint of 4 reports .* is too large for memory"):
            made.check()


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=5), st.floats(0.1, 20.0))
@examples(100)
def test_the_clone_of_a_joint_is_that_of_its_parts_together(weights, eps0):
    """Rounding must not make it the clone of a smaller ε₀ than the parts have."""
    shares = [weight / math.fsum(weights) for weight in weights]
    assume(abs(math.fsum(shares) - 1.0) <= 1e-12)
    mechanism = joint(*(part(share=share) for share in shares))
    made = specification(bound="clone", mechanism=mechanism, eps0=eps0)
    protocol = made.protocol(Setting(eps0=eps0))
    found = made.bound.answer(protocol, "delta", Setting(n=1, eps=0.0)).enclosure
    spent = sum(Fraction(share * eps0) for share in shares)
    # A lone user's clone tells apart what ε₀ allows.
    assert found.upper == pytest.approx(math.tanh(0.5 * protocol.eps0), rel=1e-13)
    assert max(spent, eps0) <= protocol.eps0 <= eps0 * (1.0 + 1e-11)


@pytest.mark.parametrize("k_joint", [2, 3, 7, 9, 49])
@pytest.mark.parametrize("bound", ["clone", "blanket", "blanket_hoeffding_generic"])
def test_no_bound_is_of_a_smaller_eps0_than_the_reports_have(bound, k_joint):
    made = specification(bound=bound, mechanism=KRR, k_joint=k_joint, eps0=1.7)
    parts = made.reports.protocol(Setting(eps0=1.7)).randomizer.parts
    assert made.protocol(Setting(eps0=1.7)).eps0 >= max(
        1.7, sum(Fraction(one.eps0) for one in parts)
    )


def test_the_public_curve_is_the_specification_of_a_mechanism():
    R = sb.RAPPOR(4.0, domain_size=20)
    found = sb.curve(R, "blanket", n=[100, 1000], delta=1e-6)
    assert found.specification == specification(
        mechanism={"type": "rappor", "domain_size": 20}, rtol=None, x={"n": [100, 1000]}
    )
    ends = [sb.epsilon(R.blanket(), n, 1e-6).upper for n in (100, 1000)]
    assert found.enclosures.upper.tolist() == pytest.approx(ends, rel=1e-3)
    along = sb.curve(
        KRR, "lower", quantity="delta", eps0={"start": 1, "stop": 2, "points": 2}, n=9, eps=0.1
    )
    assert [point.setting.eps0 for point in along.points] == [1.0, 2.0]


def test_a_curve_of_a_matrix_without_a_file():
    R = sb.MatrixRandomizer([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]])
    found = sb.curve(R, "blanket", n=[100, 1000], delta=1e-6)
    expected = [sb.worst_epsilon(R.blankets(), n, 1e-6)[1].upper for n in (100, 1000)]
    assert found.enclosures.upper.tolist() == pytest.approx(expected, rel=1e-3)
    assert {row[0] for row in found.frame()[["inputs"]].to_numpy()} == {"0 against 2"}
    other = sb.curve(sb.MatrixRandomizer(R.matrix()[::-1]), "blanket", n=[100, 1000], delta=1e-6)
    assert found.specification.digest != other.specification.digest


@pytest.mark.parametrize(
    ("mechanism", "settings", "message"),
    [
        (KRR, {"n": 9, "eps0": 1.0, "delta": 0.1}, "one list, the axis of the curve, got none"),
        (KRR, {"n": [9], "eps0": [1.0], "delta": 0.1}, "got n and eps0"),
        (KRR, {"n": [9], "users": 1}, "settings must be one of delta, eps"),
        (KRR, {"n": [9], "delta": 0.1}, "eps0 is missing"),
        (sb.Joint([sb.BLH(1.0)]), {"n": [9], "delta": 0.1, "eps0": 2.0}, "1 × BLH has its own"),
    ],
)
def test_what_is_no_curve(mechanism, settings, message):
    with pytest.raises(ValueError, match=message):
        sb.curve(mechanism, **settings)
