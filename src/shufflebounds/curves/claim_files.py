"""Claims for `verify/verify.py`, a program that shares no line with the library.

A claim is the content of a JSON file. It is about one bound; docs/verification.md describes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from shufflebounds.randomizers import registry
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.joint import Joint
from shufflebounds.randomizers.matrix import KFold, MatrixRandomizer
from shufflebounds.randomizers.mixed import Subsampled

# The mechanisms that the program defines, and what a claim says of each besides ε₀.
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


def described_claim(randomizer: Randomizer) -> Claim | None:
    """Return what a claim says of a randomizer; None where the program does not define it."""
    if isinstance(randomizer, Subsampled):
        sampled = described_claim(randomizer.randomizer)
        if sampled is None or "rate" in sampled:
            return None
        return {**sampled, "rate": randomizer.rate}
    if isinstance(randomizer, Joint):
        return _described_joint(randomizer)
    if isinstance(randomizer, MatrixRandomizer) and not isinstance(randomizer, KFold):
        return {"mechanism": randomizer.matrix().tolist()}
    for name, parameters in VERIFIED.items():
        if type(randomizer) is registry.mechanism(name):
            if not _has_defined_domain(randomizer):
                return None
            return {"mechanism": name, **{x: getattr(randomizer, x) for x in ("eps0", *parameters)}}
    return None


def _has_defined_domain(randomizer: Randomizer) -> bool:
    """Return whether the program defines the inputs: of Laplace noise, 0 and 1 alone.

    Numbers that are rounded to 0 or 1 at random are these inputs, drawn by their owner.
    """
    domain = getattr(randomizer, "domain", "binary")
    return domain == "binary" or (domain == "rounded" and getattr(randomizer, "steps", None) == 1)


def _described_joint(joint: Joint) -> Claim | None:
    """Return what a claim says of reports sent together; None if the program does not define it."""
    counts = Counter(joint.parts)
    claims = [{**part, "reports": counts[x]} for x in counts if (part := _described_part(x))]
    if len(claims) < len(counts):
        return None
    return claims[0] if len(claims) == 1 else {"mechanism": "joint", "parts": claims}


def _described_part(part: Randomizer) -> Claim | None:
    """Return what a claim says of a part: a report of a named mechanism that is always sent."""
    claim = described_claim(part)
    if claim is None or isinstance(claim["mechanism"], list):
        return None
    return None if {"rate", "reports", "parts"} & claim.keys() else claim


def is_single_report(reports: Claim) -> bool:
    """Return whether a user sends one report, which the bound ``all`` needs."""
    return not {"reports", "parts"} & reports.keys()


def upper(
    bound: str,
    reports: Claim,
    n: int,
    delta: float,
    eps: float,
    rounds: int = 1,
    also: Sequence[tuple[int, int]] = (),
) -> Claim:
    """Return the claim that D(ε) ≤ δ, by the bound ``blanket`` or, of one report, ``all``.

    ``also`` lists further rounds as (number of users, number of rounds).
    """
    composed: Claim = {} if rounds == 1 else {"rounds": rounds}
    composed |= {"also": [list(pair) for pair in also]} if also else {}
    return {"bound": bound, **reports, "n": n, "delta": delta, "eps": eps, **composed}


def lower(
    others: str, reports: Claim, n: int, delta: float, eps: float, inputs: str = ""
) -> Claim | None:
    """Return the claim that D(ε) ≥ δ if all others hold `others`; None if that is unknown.

    `inputs` are the victim's rows of a matrix, such as ``0 against 3``.
    """
    if "parts" in reports:
        return None
    if isinstance(reports["mechanism"], list):
        datasets = [int(row) for row in [*inputs.split(" against "), others] if row.isdigit()]
    else:
        inputs_of_others = {_OTHERS.get(name) for name in others.replace(",", " ").split()}
        datasets = [0, 1, *(x for x in inputs_of_others if x is not None)]
        if len(inputs_of_others) > 1:
            return None
    if len(datasets) != 3:
        return None
    claim = {"bound": "pair", **reports, "n": n, "delta": delta, "eps": eps}
    return {**claim, "datasets": datasets}
