"""The commands that ask one question of a shuffle and print one answer."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from shufflebounds.accounting import calibration
from shufflebounds.accounting.calibration import FewestUsers
from shufflebounds.accounting.composition import compose
from shufflebounds.bounds.base import Answer, Bound, Kind, Numerics, attempt, smallest
from shufflebounds.bounds.divergences import largest_answer
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import (
    FEW,
    OF_PAIRS,
    End,
    all_pairs,
    answering,
    is_zero,
    kind_of,
    least,
    one_by_one,
    or_value_error,
    other,
    pairs,
    progress,
    proof,
    show,
    within_eps0,
)
from shufflebounds.cli.deployment import Deployment, Users
from shufflebounds.cli.options import REAL, Output, option, question
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import Candidate
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.reproduce import proofs
from shufflebounds.reproduce.storage import write_text

_MEANINGS = {
    "lower": "two datasets differ by this much; no valid claim can be smaller.",
    "stronger_clone": "the best bound for any mechanism with this eps0.",
}


def _claim(asked: Users, notion: str = "(epsilon, delta)-DP") -> str:
    """What an upper bound lets you claim of what is seen, and for whom."""
    covered = f" for {asked.covered}, not for others" if asked.covered else ""
    return f"the {asked.seen.name} are {notion}{covered}; you can claim it."


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
    answers, notes = within_eps0(found, asked.protocol.eps0, asked.times)
    if claim is not None:
        assert isinstance(asked, Deployment)  # since it is verifiable
        notes = [_write_claims(claim, asked, found, delta, output), *notes]
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
        notes=notes,
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
            "upper": _claim(asked, "(order, this)-RDP"),
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
    by = f"by {best}" if asked.times == 1 or best.startswith("the blanket") else ""
    if isinstance(asked, Deployment):
        tight = f"{by}; you can claim it." if by else "you can claim it."
    else:
        tight = _claim(asked, f"(epsilon, delta)-DP {by}".rstrip())
    return {"tight": tight, "upper": _claim(asked), **_MEANINGS}


def _answers(
    asked: Users, quantity: str, setting: Setting, numerics: Numerics
) -> dict[str, Answer]:
    """Of one round, or of several, and the least of the upper ends where it is said to be."""
    if not isinstance(asked, Deployment):
        at = setting.at(rounds=asked.times)
        return least(_evaluated(asked, asked.known, quantity, at, numerics))
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


# Relative distance of a claimed ε from the bound, in one round: what verify/verify.py loses.
CLAIM_MARGIN = 2e-4


def _write_claims(
    path: Path, asked: Deployment, answers: Mapping[str, Answer], delta: float, output: Output
) -> str:
    """Write the claims of an answer on ε, and return which they are.

    They are the blanket's upper end and, of one round, the dataset pair's lower end; of one report
    also the end that holds for all datasets, where it is smaller. Claims about one round leave the
    second program the room of `CLAIM_MARGIN` that its own bounds need.
    """
    what, n, rounds = proofs.described(asked.protocol.randomizer), asked.honest, asked.times
    assert what is not None  # since `_require_verifiable`
    end = {key: one.enclosure.upper for key, one in answers.items()}
    if math.isinf(end["upper"]):
        raise ValueError("--claim must be left out: no epsilon is known to hold at this delta")
    more, less = (1.0 + CLAIM_MARGIN, 1.0 - CLAIM_MARGIN) if rounds == 1 else (1.0, 1.0)
    claims = [proofs.upper("blanket", what, n, delta, more * end["upper"], rounds)]
    if rounds == 1 and "reports" not in what and end["tight"] < end["upper"]:
        claims.append(proofs.upper("all", what, n, delta, more * end["tight"]))
    pair = answers["lower"]
    if rounds == 1 and pair.enclosure.lower > 0.0:
        eps = less * pair.enclosure.lower
        attained = proofs.lower(pair.others, what, n, delta, eps, pair.inputs)
        claims += [] if attained is None else [attained]
    or_value_error(path, lambda: write_text(json.dumps(claims, indent=2) + "\n", path))
    names = {"blanket": "upper bound", "all": "best proven bound", "pair": "lower bound"}
    numbers = [
        f"{output.text(claim['eps'], up=claim['bound'] != 'pair')} ({names[claim['bound']]})"
        for claim in claims
    ]
    room = f"; each leaves {100.0 * CLAIM_MARGIN:g} % to a second program" if rounds == 1 else ""
    return f"The file {path.name} claims epsilon = {', '.join(numbers)}{room}."


# What meets a target: the largest ε₀, the fewest users, the most rounds.

# Relative widths that are promised of an answer; the last one where there are several rounds.
_EPS0_RTOL, _USERS_RTOL, _ROUNDS_RTOL = 1e-3, 1e-4, 0.01
_FINER_RTOL = 1e-3  # of a search for rounds, which may end wider


@question("users", "eps", "delta", "rounds", "rtol", "output")
def eps0(asked: Deployment, eps: float, delta: float, rtol: float | None, output: Output) -> None:
    """What is the largest eps0 that meets a target (epsilon, delta)?

    With --rounds it is the eps0 of each round, and all rounds together meet the target. Bounds are
    enclosed to a relative width of --rtol, by default 1e-3, over several rounds 1e-2.

    Example: shufflebounds eps0 --mechanism krr --k 10 --n 100000 --eps 0.5 --delta 1e-6
    """
    asked.refuse_own_eps0()
    with progress(hidden=output.as_json):
        answers = _largest_eps0(asked, eps, delta, rtol or _EPS0_RTOL)
    show(
        asked,
        answers,
        output,
        target={"eps": eps, "delta": delta},
        wording=_target(eps, delta),
        column="eps0 (natural log)",
        better="larger",
        meanings={
            "tight": f"the largest proven to meet the target, by {proof(asked, answers, 'lower')}; "
            "you can deploy it.",
            "upper": "with this eps0 the target is met; you can deploy it.",
            "lower": "with this eps0 two datasets miss the target; no valid claim can allow it.",
            "stronger_clone": "the largest proven for every mechanism.",
        },
        instead={
            ("lower", math.inf): f"not even {validation.MAX_EPS0:g}, the largest eps0 that is "
            "looked at, is ruled out."
        },
        notes=["eps0 does not rank mechanisms; `shufflebounds choose` compares their errors."],
        local={"eps0": answers["tight"].enclosure.lower},
    )


@question("eps0", "eps", "delta", "colluding", "rounds", "rtol", "output")
def users(asked: Deployment, eps: float, delta: float, rtol: float | None, output: Output) -> None:
    """How many users are enough for a target (epsilon, delta)?

    With --rounds it is how many must report in each round, and all rounds together meet the target.
    Numbers of users are exact where possible, else enclosed to a relative width of --rtol, by
    default 1e-4, over several rounds 1e-2.

    Example: shufflebounds users --mechanism krr --k 10 --eps0 4 --eps 0.5 --delta 1e-6
    """
    with progress(hidden=output.as_json):
        found = _fewest_users(asked, eps, delta, rtol)
    more = asked.colluding
    answers = {
        key: replace(
            one, enclosure=Enclosure(one.enclosure.lower + more, one.enclosure.upper + more)
        )
        for key, one in found.items()
    }
    show(
        asked,
        answers,
        output,
        target={"eps": eps, "delta": delta, "colluding": more},
        wording=_target(eps, delta),
        column="users",
        meanings={
            "tight": f"the fewest proven to be enough, by {proof(asked, answers, 'upper')}.",
            "upper": "this many users are enough.",
            "lower": "with fewer users two datasets miss the target; fewer are not enough.",
            "stronger_clone": "the fewest proven to be enough for any mechanism with this eps0.",
        },
        instead={("upper", math.inf): "not even 10^15 users are known to be enough."},
    )


@question("eps0", "users", "eps", "delta", "rtol", "output")
def rounds(asked: Deployment, eps: float, delta: float, rtol: float | None, output: Output) -> None:
    """How many rounds, up to 1e6, meet a target (epsilon, delta) together?

    Rounds are separate shuffles of the same users, such as days; a user spends eps0 in each. Their
    number is enclosed to a relative width of --rtol, by default 1e-2.

    Example: shufflebounds rounds --mechanism krr --k 10 --eps0 2 --n 1e5 --eps 0.5 --delta 1e-6
    """
    asked = replace(asked, rounds=None)
    with progress(hidden=output.as_json):
        answers = _most_rounds(asked, eps, delta, rtol)
    show(
        asked,
        answers,
        output,
        target={"eps": eps, "delta": delta},
        wording=_target(eps, delta),
        column="rounds",
        better="larger",
        meanings={
            "tight": f"the most proven to meet the target, by {proof(asked, answers, 'lower')}; "
            "you can run them.",
            "upper": "this many rounds together meet the target; you can run them.",
            "lower": "with more rounds two datasets miss the target; no valid claim can allow "
            "more.",
            "stronger_clone": "the most proven to meet it for any mechanism with this eps0.",
        },
        instead={
            ("upper", 0): "not even one round is known to meet the target.",
            ("lower", 0): "not even one round meets the target; no valid claim can allow it.",
            ("lower", math.inf): f"not even {validation.MAX_ROUNDS} rounds are ruled out.",
        },
        local={"rounds": answers["tight"].enclosure.lower},
    )


def _target(eps: float, delta: float) -> str:
    return f"target epsilon = {eps!r}, delta = {delta!r}"


# What the bounds say, by the key of the JSON.


def _largest_eps0(asked: Deployment, eps: float, delta: float, rtol: float) -> dict[str, Answer]:
    """The best proven bound was itself found to meet the target."""
    answers = {
        key: _largest_eps0_of(bound, asked, eps, delta, rtol)
        for key, bound in one_by_one({key: BOUNDS[key] for key in OF_PAIRS})
    }

    def sent(eps0: float) -> Randomizer:
        return replace(asked, eps0=eps0).protocol.randomizer

    ask = partial(calibration.largest_eps0, sent, eps, delta, asked.honest)
    return _with_tight(answers, attempt(partial(ask, rounds=asked.times, rtol=rtol)))


def _with_tight(
    answers: Mapping[str, Answer], found: Answer, pick: Callable[..., float] = max
) -> dict[str, Answer]:
    """The best of what is proven, for all datasets or by the blanket, to what two datasets miss."""
    end: End = "lower" if pick is max else "upper"
    proven = pick(getattr(one.enclosure, end) for one in (answers["upper"], found))
    missed = answers["lower"]
    ends = proven, pick(proven, getattr(missed.enclosure, other(end)))
    return {"tight": replace(missed, enclosure=Enclosure(*sorted(ends)), shortfall=""), **answers}


def _largest_eps0_of(
    bound: Bound, asked: Deployment, eps: float, delta: float, rtol: float
) -> Answer:
    """The smallest of all pairs': whatever one of them rules out is ruled out."""
    some = pairs(bound, replace(next(asked.coarse_to_fine()), eps0=1.0))
    each = (
        replace(_largest_eps0_of_pair(bound, asked, i, eps, delta, rtol), others=pair.others)
        for i, pair in enumerate(some)
    )
    found = smallest(each, other(kind_of(bound.name)))
    return _held_to(rtol if asked.rounds == 1 else _ROUNDS_RTOL, found, asked, bound)


def _largest_eps0_of_pair(
    bound: Bound, asked: Deployment, pair: int, eps: float, delta: float, rtol: float
) -> Answer:
    """Of the coarsest reports whose answer is as narrow as the finest ones' has to be."""
    for candidate in asked.coarse_to_fine():

        def decomposition(eps0: float, of: Deployment = candidate) -> Decomposition:
            return pairs(bound, replace(of, eps0=eps0))[pair].decomposition

        answer = attempt(
            partial(
                calibration.largest_eps0,
                decomposition,
                eps=eps,
                delta=delta,
                n=asked.honest,
                rounds=asked.times,
                rtol=rtol,
            )
        )
        found = answer.enclosure
        if found.relative_width <= rtol or found.lower == validation.MAX_EPS0:
            break
    return answer


def _fewest_users(
    asked: Deployment, eps: float, delta: float, rtol: float | None
) -> dict[str, Answer]:
    """Of those who hide each other; the best proven bound as in `_largest_eps0`."""
    promised = rtol or (_USERS_RTOL if asked.rounds == 1 else _ROUNDS_RTOL)
    target = FewestUsers(validation.eps(eps), validation.delta(delta), asked.times)
    bounds = answering(asked, *OF_PAIRS)
    compared = {key: pairs(bound, asked) for key, bound in bounds.items()}
    answers = {
        key: _held_to(promised, largest_answer(one.kind, compared[key], target), asked, one)
        for key, one in one_by_one(bounds)
    }
    randomizer = asked.protocol.randomizer
    ask = partial(calibration.fewest_users, randomizer, eps, delta, rounds=asked.times)
    return _with_tight(answers, attempt(ask), min)


def _most_rounds(
    asked: Deployment, eps: float, delta: float, rtol: float | None
) -> dict[str, Answer]:
    width = rtol or _FINER_RTOL
    most = partial(calibration.most_rounds, eps=eps, delta=delta, n=asked.honest, rtol=width)
    answers = {}
    for key, bound in one_by_one(answering(asked, *OF_PAIRS)):
        each = (attempt(partial(most, pair.decomposition)).of(pair) for pair in pairs(bound, asked))
        found = smallest(each, other(kind_of(key)))
        answers[key] = _held_to(rtol or _ROUNDS_RTOL, found, asked, bound)
    return _with_tight(answers, attempt(partial(most, asked.protocol.randomizer)))


def _held_to(rtol: float, answer: Answer, asked: Deployment, bound: Bound) -> Answer:
    """The answer, with a sentence if it is wider than promised.

    Searches end without an error where the engine cannot tell on which side of δ a point is. Of
    several rounds nothing is promised of the lower bound: where its two directions differ, so do
    the ends (docs/composition.md, section 1).
    """
    lower, upper = answer.enclosure.lower, answer.enclosure.upper
    most = (validation.MAX_EPS0, validation.MAX_USERS + 1, validation.MAX_ROUNDS)
    beyond = math.isinf(upper) and lower in most
    counted = isinstance(lower, int) and upper - lower <= 1  # numbers next to each other
    close = answer.enclosure.relative_width <= rtol or counted
    is_free = asked.rounds != 1 and bound.kind is Kind.LOWER
    if answer.shortfall or beyond or close or is_free:
        return answer
    wide = (
        f"known only to lie in [{lower!r}, {upper!r}], which is wider than the relative {rtol:g} "
        "that is promised"
    )
    return replace(answer, shortfall=wide)
