"""Claim files: what `verify/verify.py`, a program of its own, proves again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shufflebounds.bounds.base import Answer
from shufflebounds.cli.deployment import Deployment
from shufflebounds.cli.errors import UsageError, or_usage_error
from shufflebounds.reproduce.storage import write_text

# The mechanisms that the program defines, and what a claim says of each beside ε₀.
VERIFIED: Mapping[str, tuple[str, ...]] = {
    "krr": ("k",),
    "duchi": (),
    "blh": ("domain_size",),
    "oue": ("domain_size",),
    "rappor": ("domain_size",),
    "hadamard": ("domain_size",),
    "local_hash": ("domain_size", "hash_values"),
    "subset": ("domain_size", "subset_size"),
}
# What all other users hold in a dataset pair, as the program counts inputs.
_OTHERS = {"x1": 1, "third": 2}


def require_verifiable(asked: Deployment) -> None:
    """Raise `UsageError` for what the program cannot check, before anything is computed."""
    if asked.mechanism.type not in VERIFIED:
        raise UsageError(
            f"--claim needs a mechanism that verify/verify.py defines ({', '.join(VERIFIED)}), "
            f"got {asked.mechanism.type}"
        )
    if (asked.k_joint, asked.rate, asked.times) != (1, 1.0, 1):
        raise UsageError(
            "--claim is for one report of one round: leave out --k-joint, --rate and --rounds"
        )


def write(path: Path, asked: Deployment, answers: Mapping[str, Answer], delta: float) -> None:
    """Write the claims of an answer on ε: the blanket's upper end, the dataset pair's lower end."""
    randomizer = asked.protocol.randomizer
    parameters = {name: getattr(randomizer, name) for name in VERIFIED[asked.mechanism.type]}
    common: dict[str, Any] = {
        "mechanism": asked.mechanism.type,
        "eps0": asked.eps0,
        **parameters,
        "n": asked.honest,
        "delta": delta,
    }
    upper, lower = answers["upper"], answers["lower"]
    claims = [{"bound": "blanket", **common, "eps": upper.enclosure.upper}]
    if lower.enclosure.lower > 0.0 and lower.others in _OTHERS:
        claims.append(
            {
                "bound": "pair",
                **common,
                "datasets": [0, 1, _OTHERS[lower.others]],
                "eps": lower.enclosure.lower,
            }
        )
    or_usage_error(path, lambda: write_text(json.dumps(claims, indent=2) + "\n", path))
