"""The commands that ask one question of a shuffle and print one answer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from shufflebounds.accounting.composition import compose
from shufflebounds.bounds.base import Answer, Kind, Numerics, attempt
from shufflebounds.cli.answers import (
    FEW,
    OF_PAIRS,
    all_pairs,
    answering,
    is_zero,
    least,
    one_by_one,
    or_value_error,
    progress,
    proof,
    show,
    within_eps0,
)
from shufflebounds.cli.deployment import Deployment, Users
from shufflebounds.cli.options import REAL, Output, option, question
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import Candidate
from shufflebounds.reproduce import proofs
from shufflebounds.reproduce.storage import write_text

_MEANINGS = {
    "upper": "the shuffled reports are (epsilon, delta)-DP; you can claim it.",
    "lower": "two datasets differ by this much; no valid claim can be smaller.",
    "stronger_clone": "the best bound for any mechanism with this eps0.",
}


@question(
    "eps0",
    "users",
    "delta",
    "rounds",
    "also",
    "rtol",
    option(
        "--claim",
        click.Path(dir_okay=False, path_type=Path),
        "Write a file of claims, which verify/verify.py proves again.",
    ),
    "output",
    messages=True,
)
def epsilon(
    asked: Users, delta: float, rtol: float | None, claim: Path | None, output: Output
) -> None:
    """What epsilon can you claim at a given delta?

    Example: shufflebounds epsilon --mechanism krr --k 10 --eps0 4 --n 100000 --delta 1e-6
    """
    if claim is not None:
        asked = _require_verifiable(asked)
    with progress(hidden=output.as_json):
        found = _answers(asked, "epsilon", asked.setting(delta=delta), Numerics(rtol=rtol))
    if claim is not None:
        assert isinstance(asked, Deployment)  # since it is verifiable
        _write_claims(claim, asked, found, delta)
    answers, capped = within_eps0(found, asked.protocol.eps0, asked.times)
    show(
        asked,
        answers,
        output,
        target={"delta": delta},
        wording=f"delta = {delta!r}",
        column="epsilon (natural log)",
        meanings=_meanings(asked, answers),
        instead={
            ("upper", math.inf): "no epsilon is known to hold at this delta.",
            ("lower", math.inf): "two datasets rule out every epsilon at this delta.",
        },
        notes=capped,
    )


@question("eps0", "users", "eps", "rounds", "also", "rtol", "output", messages=True)
def delta(asked: Users, eps: float, rtol: float | None, output: Output) -> None:
    """What delta can you claim at a given epsilon?

    Example: shufflebounds delta --mechanism krr --k 10 --eps0 4 --n 10000 --eps 0.4
    """
    setting = asked.setting(eps=eps)
    if is_zero(eps, asked.protocol.eps0, asked.times):
        answers = dict.fromkeys(answering(asked, *asked.known), Answer(Enclosure(0.0, 0.0)))
    else:
        with progress(hidden=output.as_json):
            answers = _answers(asked, "delta", setting, Numerics(rtol=rtol))
    show(
        asked,
        answers,
        output,
        target={"eps": eps},
        wording=f"epsilon = {eps!r} (natural log)",
        column="delta (probability)",
        meanings=_meanings(asked, answers),
    )


@question(
    "eps0",
    "users",
    option("--order", REAL, "Order of the divergence, above 1 and up to 1e6.", required=True),
    "rounds",
    "rtol",
    "output",
)
def renyi(asked: Deployment, order: float, rtol: float | None, output: Output) -> None:
    """How large is the Renyi divergence of a given order, in the worse direction?

    Example: shufflebounds renyi --mechanism krr --k 10 --eps0 4 --n 100000 --order 16
    """
    setting, keys = asked.setting(order=order, rounds=asked.rounds), (*OF_PAIRS, "girgis_upper")
    with progress(hidden=output.as_json):
        answers = _evaluated(asked, keys, "renyi", setting, Numerics(rtol=rtol))
    show(
        asked,
        answers,
        output,
        target={"order": order},
        wording=f"order = {order!r}",
        column="Renyi divergence (natural log)",
        meanings={
            **_MEANINGS,
            "upper": "the shuffled reports are (order, this)-RDP; you can claim it.",
            "girgis_upper": "a published bound for any mechanism with this eps0.",
        },
        instead={
            ("upper", math.inf): "no divergence is known to hold at this order.",
            ("lower", math.inf): "two datasets differ beyond all bounds at this order.",
        },
    )


def _meanings(asked: Users, answers: Mapping[str, Answer]) -> Mapping[str, str]:
    # Of many rounds another bound may be the best at every point of their curves, or none is.
    best = proof(asked, answers)
    by = f"by {best}; " if asked.times == 1 or best.startswith("the blanket") else ""
    return {"tight": f"{by}you can claim it.", **_MEANINGS}


def _answers(
    asked: Users, quantity: str, setting: Setting, numerics: Numerics
) -> dict[str, Answer]:
    """Of one round, or of several, and the least of the upper ends where it is said to be."""
    if not isinstance(asked, Deployment):
        return _evaluated(asked, asked.known, quantity, setting.at(rounds=asked.times), numerics)
    if asked.times == 1:
        found = _evaluated(asked, asked.known, quantity, setting, numerics)
    else:
        found = _of_rounds(asked, quantity, setting, numerics)
    return least(found)


# The relative width of a first look, and how far above the best that is enough.
_ROUGH, _FAR = {"epsilon": 0.01, "delta": 0.1}, 20.0


def _of_rounds(
    asked: Deployment, quantity: str, setting: Setting, numerics: Numerics
) -> dict[str, Answer]:
    """Of several rounds, in each of which any of several pairs may be the worst."""

    def composed(some: Sequence[Candidate], rtol: float | None = numerics.rtol) -> Enclosure:
        pairs = [pair.decomposition for pair in some] or asked.protocol.randomizer
        rounds = compose([(pairs, n, times) for n, times in asked.every_round])
        if quantity == "epsilon":
            return rounds.epsilon(setting.require("delta"), rtol=rtol)
        return rounds.delta(setting.require("eps"), rtol=rtol)

    answers: dict[str, Answer] = {}
    for key, bound in one_by_one(answering(asked, *asked.known)):
        if bound.candidates is None:  # the best proven bound, of the randomizer itself
            answers[key] = attempt(partial(composed, []))
            continue
        some = all_pairs(bound, asked)
        if not bound.knows_mechanism and numerics.rtol is None:
            # What is so much larger is there for comparison only.
            best = min((one.enclosure.upper for one in answers.values()), default=math.inf)
            rough = attempt(partial(composed, some, _ROUGH[quantity]))
            if rough.enclosure.lower > _FAR * best:
                answers[key] = rough.of(some[0])
                continue
        if bound.kind is not Kind.LOWER and len(some) > 1:
            # The worst may be another in each round, which no maximum over pairs covers.
            answers[key] = attempt(partial(composed, some))
            continue
        pair = some[0]
        if len(some) > 1:  # any of them is a lower bound: the one that looks largest will do
            pair = max(
                some[:FEW],
                key=lambda one: attempt(partial(composed, [one], _ROUGH[quantity])).enclosure.lower,
            )
        answers[key] = attempt(partial(composed, [pair])).of(pair)
    return answers


def _evaluated(
    asked: Users, keys: Sequence[str], quantity: str, setting: Setting, numerics: Numerics
) -> dict[str, Answer]:
    return {
        key: bound.answer(asked.protocol, quantity, setting, numerics)
        for key, bound in one_by_one(answering(asked, *keys))
    }


# Claim files: what `verify/verify.py`, a program of its own, proves again.


def _require_verifiable(asked: Users) -> Deployment:
    """What is asked; ValueError for what the program cannot check, before it is computed."""
    if not isinstance(asked, Deployment) or proofs.described(asked.protocol.randomizer) is None:
        raise ValueError(
            f"--claim needs reports that verify/verify.py defines (matrix, "
            f"{', '.join(proofs.VERIFIED)}; of several only equal ones, no matrices, without "
            f"--rate), got {asked.name}"
        )
    if len(asked.every_round) > 1:
        raise ValueError("--claim needs rounds of one number of users: leave out --also")
    return asked


def _write_claims(
    path: Path, asked: Deployment, answers: Mapping[str, Answer], delta: float
) -> None:
    """Write the claims of an answer on ε: upper ends, and the dataset pair's lower end.

    Of several rounds a thousandth above the blanket's upper end alone; of one report also the end
    that holds for all datasets, where it is smaller.
    """
    what, n, rounds = proofs.described(asked.protocol.randomizer), asked.honest, asked.times
    assert what is not None  # since `_require_verifiable`
    end = {key: one.enclosure.upper for key, one in answers.items()}
    if math.isinf(end["upper"]):
        raise ValueError("--claim must be left out: no epsilon is known to hold at this delta")
    # The program's own grid of losses is coarser than the library's.
    eps = end["upper"] * (1.0 if rounds == 1 else 1.001)
    claims = [proofs.upper("blanket", what, n, delta, eps, rounds)]
    if rounds == 1 and "reports" not in what and end["tight"] < end["upper"]:
        claims.append(proofs.upper("all", what, n, delta, end["tight"]))
    pair = answers["lower"]
    if rounds == 1 and pair.enclosure.lower > 0.0:
        found = proofs.lower(pair.others, what, n, delta, pair.enclosure.lower, pair.inputs)
        claims += [] if found is None else [found]
    or_value_error(path, lambda: write_text(json.dumps(claims, indent=2) + "\n", path))
