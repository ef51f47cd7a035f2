"""Claim files, which verify/verify.py, a program of its own, proves again."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from shufflebounds.bounds.base import Answer
from shufflebounds.cli.reply import Output, or_value_error
from shufflebounds.cli.scenario import Scenario
from shufflebounds.curves import claim_files
from shufflebounds.curves.files import write_text
from shufflebounds.profiles.profile import Quantity
from shufflebounds.questions.intervals import View, interval_of
from shufflebounds.questions.plan import Plan

# Room that a claim about one round leaves to the bounds of verify/verify.py, relative to ε.
CLAIM_MARGIN = 2e-4


def is_verifiable(deployment: Scenario) -> bool:
    """Return whether the program defines the reports."""
    return (
        deployment.sends_reports
        and deployment.cohort is None
        and claim_files.described_claim(deployment.randomizer) is not None
    )


def require_verifiable(deployment: Scenario) -> None:
    """Raise ValueError for claims that the program cannot check, before they are computed."""
    if not is_verifiable(deployment):
        raise ValueError(
            f"--claim needs reports that verify/verify.py defines (matrix, "
            f"{', '.join(claim_files.VERIFIED)}; no cohorts, and in a joint no matrices and no "
            "rates), "
            f"got {deployment.name}"
        )


def write_claims(
    path: Path, deployment: Scenario, answers: Mapping[str, Answer], delta: float, output: Output
) -> str:
    """Write the claims of an answer on ε, and return a sentence that lists them.

    They are the blanket's upper end and, for one round, the dataset pair's lower end; for one
    report also the end that holds for all datasets, if it is smaller. Claims about one round leave
    the second program the room of `CLAIM_MARGIN` that its own bounds need.
    """
    mechanism = claim_files.described_claim(deployment.randomizer)
    (n, rounds), *also = deployment.every_round
    is_single = deployment.has_one_round
    assert mechanism is not None  # since `require_verifiable`
    end = {name: answer.enclosure.upper for name, answer in answers.items()}
    if math.isinf(end["blanket"]):
        raise ValueError("--claim must be left out: no epsilon is known to hold at this delta")
    more, less = (1.0 + CLAIM_MARGIN, 1.0 - CLAIM_MARGIN) if is_single else (1.0, 1.0)
    eps = more * end["blanket"]
    claims = [claim_files.upper("blanket", mechanism, n, delta, eps, rounds, also)]
    is_smaller = end["best"] < end["blanket"]
    if is_single and claim_files.is_single_report(mechanism) and is_smaller:
        eps = more * _end_for_all_datasets(deployment, n, delta)
        claims.append(claim_files.upper("all", mechanism, n, delta, eps))
    pair = answers["lower"]
    if is_single and pair.enclosure.lower > 0.0:
        eps = less * pair.enclosure.lower
        lower = claim_files.lower(pair.others, mechanism, n, delta, eps, pair.inputs)
        claims += [] if lower is None else [lower]
    or_value_error(path, lambda: write_text(json.dumps(claims, indent=2) + "\n", path))
    names = {"blanket": "blanket", "all": "bound for all datasets", "pair": "lower bound"}
    numbers = [
        f"{output.text(claim['eps'], up=claim['bound'] != 'pair')} ({names[claim['bound']]})"
        for claim in claims
    ]
    room = f"; each leaves {100.0 * CLAIM_MARGIN:g} % to a second program" if is_single else ""
    return f"The file {path.name} claims epsilon = {', '.join(numbers)}{room}."


def _end_for_all_datasets(deployment: Scenario, n: int, delta: float) -> float:
    """Return the upper end of one report's ε that the second program proves as ``all``.

    It does not look for the worst dataset of two inputs, whose ε may be smaller.
    """
    plan = Plan(deployment.protocol, make=partial(interval_of, view=View.ALL))
    [enclosure] = plan.answer(Quantity.EPSILON, [(delta, delta)], [n]).enclosures()
    return enclosure.upper
