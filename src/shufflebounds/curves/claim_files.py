"""Claims for `verify/verify.py`, a program that shares no line with the library.

A claim is the content of a JSON file. It is about one bound; docs/verification.md describes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shufflebounds.randomizers import registry
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.joint import Joint
from shufflebounds.randomizers.matrix import KFold, MatrixRandomizer
from shufflebounds.randomizers.mixed import Subsampled

# The mechanisms that the program defines, and what a claim says of each beside ε₀.
VERIFIED: Mapping[str, tuple[str, ...]] = {
    "krr": ("k",),
    "duchi": (),
    "laplace": (),
    "blh": ("domain_size",),
    "oue": ("domain_size",),
    "rappor": ("domain_size",),
    "hadamard": ("domain_size",),
    "local_hash": ("domain_size", "hash_values"),
    "subset": ("domain_size", "subset_size"),
}
# What all other users hold in a dataset pair, in every coordinate, as the program counts inputs.
_OTHERS = {"x1": 1, "1": 1, "third": 2}

Claim = dict[str, Any]


def described(randomizer: Randomizer) -> Claim | None:
    """What a claim says of a randomizer; None where the program does not define it."""
    if isinstance(randomizer, Subsampled):
        one = described(randomizer.randomizer)
        return None if one is None or "rate" in one else {**one, "rate": randomizer.rate}
    if isinstance(randomizer, Joint):
        one = described(randomizer.parts[0])
        if one is None or {"rate", "reports"} & one.keys() or len({*randomizer.parts}) > 1:
            return None
        if isinstance(one["mechanism"], list):
            return None
        return {**one, "reports": len(randomizer.parts)}
    if isinstance(randomizer, MatrixRandomizer) and not isinstance(randomizer, KFold):
        return {"mechanism": randomizer.matrix().tolist()}
    for name, own in VERIFIED.items():
        if type(randomizer) is registry.mechanism(name):
            if getattr(randomizer, "domain", "binary") != "binary":
                return None
            return {"mechanism": name, **{x: getattr(randomizer, x) for x in ("eps0", *own)}}
    return None


def upper(bound: str, what: Claim, n: int, delta: float, eps: float, rounds: int = 1) -> Claim:
    """That D(ε) ≤ δ, by the bound ``blanket`` or, of one report and round, ``all``."""
    several = {} if rounds == 1 else {"rounds": rounds}
    return {"bound": bound, **what, "n": n, "delta": delta, "eps": eps, **several}


def lower(
    others: str, what: Claim, n: int, delta: float, eps: float, inputs: str = ""
) -> Claim | None:
    """That D(ε) ≥ δ of the datasets in which all others hold `others`; None if that is unknown.

    Of a matrix `inputs` are the victim's, such as ``0 against 3``.
    """
    if isinstance(what["mechanism"], list):
        datasets = [int(row) for row in [*inputs.split(" against "), others] if row.isdigit()]
    else:
        held = {_OTHERS.get(one) for one in others.replace(",", " ").split()}
        datasets = [0, 1, *(row for row in held if row is not None and len(held) == 1)]
    if len(datasets) != 3:
        return None
    claim = {"bound": "pair", **what, "n": n, "delta": delta, "eps": eps}
    return {**claim, "datasets": datasets}
