"""Claim files: what `verify/verify.py`, a program of its own, proves again."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

from shufflebounds.bounds.base import Answer
from shufflebounds.cli.deployment import Deployment, Users
from shufflebounds.cli.errors import UsageError, or_usage_error
from shufflebounds.reproduce import proofs
from shufflebounds.reproduce.storage import write_text


def require_verifiable(asked: Users) -> Deployment:
    """What is asked; `UsageError` for what the program cannot check, before it is computed."""
    if not isinstance(asked, Deployment) or proofs.described(asked.protocol.randomizer) is None:
        raise UsageError(
            f"--claim needs reports that verify/verify.py defines (matrix, "
            f"{', '.join(proofs.VERIFIED)}; of several only equal ones, no matrices, without "
            f"--rate), got {asked.name}"
        )
    if len(asked.every_round) > 1:
        raise UsageError("--claim needs rounds of one number of users: leave out --also")
    return asked


def write(path: Path, asked: Deployment, answers: Mapping[str, Answer], delta: float) -> None:
    """Write the claims of an answer on ε: upper ends, and the dataset pair's lower end.

    Of several rounds a thousandth above the blanket's upper end alone; of one report also the end
    that holds for all datasets, where it is smaller.
    """
    what, n, rounds = proofs.described(asked.protocol.randomizer), asked.honest, asked.times
    assert what is not None  # since `require_verifiable`
    end = {key: one.enclosure.upper for key, one in answers.items()}
    if math.isinf(end["upper"]):
        raise UsageError("--claim must be left out: no epsilon is known to hold at this delta")
    # The program's own grid of losses is coarser than the library's.
    eps = end["upper"] * (1.0 if rounds == 1 else 1.001)
    claims = [proofs.upper("blanket", what, n, delta, eps, rounds)]
    if rounds == 1 and "reports" not in what and end["tight"] < end["upper"]:
        claims.append(proofs.upper("all", what, n, delta, end["tight"]))
    pair = answers["lower"]
    if rounds == 1 and pair.enclosure.lower > 0.0:
        found = proofs.lower(pair.others, what, n, delta, pair.enclosure.lower, pair.inputs)
        claims += [] if found is None else [found]
    or_usage_error(path, lambda: write_text(json.dumps(claims, indent=2) + "\n", path))
