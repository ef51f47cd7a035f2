"""Errors along curves are those of `choose`, and of the curator."""

import pytest

import shufflebounds as sb
from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import SingleMessage
from shufflebounds.reproduce import sent

SETTING = Setting(n=10_000, delta=1e-6, target=0.5)


def mse(bound, **parameters):
    protocol = sent.parse({"type": "calibrated", "values": 4, **parameters}).protocol(SETTING)
    return BOUNDS[bound].prepare(protocol, "mse", Numerics())([SETTING])[0].enclosure


def test_errors_are_those_of_the_ranking():
    found = sb.choose(4, n=10_000, eps=0.5, delta=1e-6, most_bits=2)
    assert mse("estimate_error", mechanism="krr") == found.best.mse
    assert mse("estimate_error", mechanism="krr", by="clone") == found.by_clone.mse
    assert found.curator_mse in mse("curator_error", mechanism="krr")


def test_mistakes_are_told():
    for parameters, told in (
        ({"mechanism": "duchi"}, "mechanism must be one of"),
        ({"mechanism": "krr", "way": "linked"}, "way must be one of separate"),
        ({"mechanism": "krr", "by": "faith"}, "by must be one of clone, mechanism"),
    ):
        with pytest.raises(ValueError, match=told):
            mse("estimate_error", **parameters)
    with pytest.raises(ValueError, match="needs the protocol calibrated"):
        BOUNDS["curator_error"].prepare(SingleMessage(sb.KRR(4, 1.0)), "mse", Numerics())
