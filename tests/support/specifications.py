"""Specifications for the tests of this folder, from what a configuration would say."""

from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.registry import bound
from shufflebounds.core.setting import NAMES, Setting, parse_axis
from shufflebounds.curves.specification import Specification
from shufflebounds.curves.storage import CurveName
from shufflebounds.protocols import registry

NAME = CurveName("krr10", "large", "upper")
PLAIN = {
    "mechanism": {"type": "krr", "k": 10},
    "k_joint": 1,
    "bound": "blanket",
    "quantity": "epsilon",
    "eps0": 4.0,
    "delta": 1e-6,
    "x": {"n": [1000]},
    "rtol": 1e-4,
}


def specification(**changes) -> Specification:
    """The upper bound of 10-RR at ε₀ = 4 and n = 1000, with changes; None leaves something open."""
    given = {**PLAIN, **changes}
    setting = {key: given[key] for key in NAMES if key in given}
    return Specification(
        bound=bound(given["bound"]),
        reports=registry.parse_sent(given["mechanism"], given["k_joint"]),
        setting=Setting(**setting),
        axis=parse_axis(given["x"]),
        quantity=given["quantity"],
        distance=given.get("distance"),
        numerics=Numerics(given["rtol"]),
    )


def part(mechanism: object = None, **others) -> dict:
    """A part of a composition, of 3-ary randomized response if of nothing else."""
    return {"mechanism": {"type": "krr", "k": 3} if mechanism is None else mechanism, **others}


def joint(*parts: dict) -> dict:
    return {"type": "joint", "parts": list(parts)}


def parallel(*parts: dict) -> dict:
    return {"type": "parallel", "parts": list(parts)}
