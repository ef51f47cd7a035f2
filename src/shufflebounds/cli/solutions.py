"""What the bounds answer to the questions with one number for an answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from shufflebounds.bounds import searches
from shufflebounds.bounds.base import Answer, Bound, Kind, Numerics, attempt, largest, smallest
from shufflebounds.cli.answers import (
    PAIR_BOUNDS,
    End,
    at_most_blanket,
    opposite,
    pairs_of_rounds,
    safe_end,
    within_eps0,
)
from shufflebounds.cli.claims import require_verifiable, write_claims
from shufflebounds.cli.progress import by_step
from shufflebounds.cli.reply import Output
from shufflebounds.cli.scenario import SOME_EPS0, Scenario, registered_users
from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, reached
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import Candidate
from shufflebounds.questions import calibration, questions

# The bounds that are asked for ε and δ, and for Rényi divergences.
DIVERGENCE_BOUNDS = ("best", *PAIR_BOUNDS)
RENYI_BOUNDS = (*PAIR_BOUNDS, "girgis_upper")
# Relative width that `eps0` promises for one round.
EPS0_RTOL = 1e-3
# Relative width that `users` promises for one round.
USERS_RTOL = 1e-4
# Relative width that searches over several rounds promise.
ROUNDS_RTOL = 0.01
# Relative width that a search for rounds aims at; its answer may end wider.
ROUNDS_SEARCH_RTOL = 1e-3

# Relative width of δ that shows whether a number of users is enough.
COARSE_RTOL = 0.05
# Most pairs of datasets whose rounds are searched for the fewest users, as each takes seconds.
MAX_DATASETS_OF_ROUNDS = 4


class Solution(NamedTuple):
    """Answers by the name of the bound, notes on them, and sentences on files."""

    answers: dict[str, Answer]
    notes: Sequence[str] = ()
    written: Sequence[str] = ()


def solve_epsilon(
    deployment: Scenario, delta: float, rtol: float | None, claim: Path | None, output: Output
) -> Solution:
    """Return ε at δ; with ``claim``, also write a file of claims."""
    if claim is not None:
        require_verifiable(deployment)
    computed = at_most_blanket(_divergences(deployment, "epsilon", rtol, delta=delta))
    answers, notes = within_eps0(computed, deployment.protocol.eps0, deployment.times)
    if claim is None:
        return Solution(answers, notes)
    return Solution(answers, notes, [write_claims(claim, deployment, computed, delta, output)])


def solve_delta(deployment: Scenario, eps: float, rtol: float | None, output: Output) -> Solution:
    """Return δ at ε."""
    return Solution(at_most_blanket(_divergences(deployment, "delta", rtol, eps=eps)))


def solve_renyi(deployment: Scenario, order: float, rtol: float | None, output: Output) -> Solution:
    """Return the Rényi divergence of an order."""
    return Solution(_divergences(deployment, "renyi", rtol, order=order))


def _divergences(
    deployment: Scenario, quantity: str, rtol: float | None, **target: float
) -> dict[str, Answer]:
    """Return the answers about a divergence of all rounds."""
    setting, numerics = deployment.setting(**target), Numerics(rtol=rtol)
    names = RENYI_BOUNDS if quantity == "renyi" else DIVERGENCE_BOUNDS
    bounds = deployment.bounds(names, quantity)
    answers = {
        name: bound.answer(deployment.protocol, quantity, setting, numerics)
        for name, bound in by_step(bounds)
    }
    if rtol is not None and "best" in answers and deployment.sends_reports:
        answers["best"] = _held_to_width(answers["best"], rtol, deployment)
    return answers


def _held_to_width(answer: Answer, rtol: float, deployment: Scenario) -> Answer:
    """Return the best proven answer, with a shortfall if several rounds are wider than `rtol`.

    `sb.epsilon` and `sb.delta` raise `PrecisionError` then. For one round they promise no width.
    """
    width = answer.enclosure.relative_width
    if deployment.times == 1 or width <= rtol or answer.shortfall:
        return answer
    ends = f"[{answer.enclosure.lower!r}, {answer.enclosure.upper!r}]"
    shortfall = f"known only to lie in {ends}: relative width {width:.1e} where rtol = {rtol:g}"
    advice = validation.rtol_advice(width)
    return replace(answer, shortfall=f"{shortfall} was asked for{advice}")


def solve_eps0(
    deployment: Scenario, eps: float, delta: float, rtol: float | None, output: Output
) -> Solution:
    """Return the largest ε₀ that meets a target, of each bound and of the mechanism."""
    deployment.require_open_eps0()
    width = rtol or EPS0_RTOL
    notes = ["eps0 does not rank mechanisms; `shufflebounds choose` compares their errors."]
    if not deployment.sends_reports:
        at = deployment.setting(eps=eps, delta=delta)
        protocol_at = lambda eps0: replace(deployment, eps0=eps0).protocol  # noqa: E731
        ask_bounds = partial(searches.largest_eps0, protocol_at=protocol_at, at=at, rtol=width)
        return Solution(_protocol_answers(deployment, ask_bounds), notes)
    n, rounds = deployment.honest, deployment.times
    ask = partial(calibration.largest_eps0, eps=eps, delta=delta, n=n, rounds=rounds, rtol=width)

    def of_bound(bound: Bound) -> Answer:
        def pairs(eps0: float) -> tuple[Candidate, ...]:
            return pairs_of_rounds(bound, replace(deployment, eps0=eps0))

        # Whatever one of the pairs rules out is ruled out.
        each = (
            replace(
                attempt(partial(ask, lambda eps0, place=place: pairs(eps0)[place].decomposition)),
                others=pair.others,
            )
            for place, pair in enumerate(pairs(SOME_EPS0))
        )
        return smallest(each, safe_end(bound.name, "lower"))

    answers = _searched_answers(
        deployment,
        of_bound,
        partial(ask, lambda eps0: replace(deployment, eps0=eps0).randomizer),
        width if deployment.rounds == 1 else ROUNDS_RTOL,
    )
    return Solution(answers, notes)


def solve_users(
    deployment: Scenario, eps: float, delta: float, rtol: float | None, output: Output
) -> Solution:
    """Return the fewest users that meet a target, with those who collude or drop out."""
    if deployment.sends_reports:
        answers = _fewest_reports(deployment, eps, delta, rtol)
    else:
        at = Setting(eps=eps, delta=delta, rounds=deployment.rounds)
        ask_bounds = partial(searches.fewest_users, protocol=deployment.protocol, at=at)
        answers = _protocol_answers(deployment, ask_bounds)
    return Solution({name: _of_registered(x, deployment) for name, x in answers.items()})


def _of_registered(answer: Answer, deployment: Scenario) -> Answer:
    """Return an answer on the users who provide cover as one on all users."""
    ends = (
        end
        if math.isinf(end)
        else registered_users(int(end), deployment.colluding, deployment.dropout)
        for end in astuple(answer.enclosure)
    )
    return replace(answer, enclosure=Enclosure(*ends))


def _fewest_reports(
    deployment: Scenario, eps: float, delta: float, rtol: float | None
) -> dict[str, Answer]:
    """Return the fewest users who provide cover that meet a target by their reports."""
    rounds = deployment.times
    ask = partial(calibration.fewest_users, eps=eps, delta=delta, rounds=rounds)

    def of_bound(bound: Bound) -> Answer:
        answers: list[Answer] = []
        candidates = pairs_of_rounds(bound, deployment)
        # A lower bound may leave pairs out.
        is_selective = bound.kind is Kind.LOWER and rounds > 1
        for pair in candidates[: MAX_DATASETS_OF_ROUNDS if is_selective else None]:
            # Fewer users are enough for most pairs than for the first ones.
            known = max((answer.enclosure.upper for answer in answers), default=math.inf)
            if math.isinf(known) or not _meets(pair, int(known), eps, delta, rounds):
                answers.append(attempt(partial(ask, pair.decomposition)).of(pair))
        return largest(answers, bound.kind)

    return _searched_answers(
        deployment,
        of_bound,
        partial(ask, deployment.randomizer),
        rtol or (USERS_RTOL if rounds == 1 else ROUNDS_RTOL),
        min,
    )


def _meets(pair: Candidate, n: int, eps: float, delta: float, rounds: int) -> bool:
    """Return whether n users certainly meet a target with one pair."""
    ask = partial(questions.delta, pair.decomposition, eps, n, rounds=rounds, rtol=COARSE_RTOL)
    return reached(ask).upper <= delta


def solve_rounds(
    deployment: Scenario, eps: float, delta: float, rtol: float | None, output: Output
) -> Solution:
    """Return the most rounds that meet a target."""
    if not deployment.sends_reports:
        at = deployment.setting(eps=eps, delta=delta)
        ask_bounds = partial(searches.most_rounds, protocol=deployment.protocol, at=at)
        return Solution(_protocol_answers(deployment, ask_bounds))
    width, n = rtol or ROUNDS_SEARCH_RTOL, deployment.honest
    ask = partial(calibration.most_rounds, eps=eps, delta=delta, n=n, rtol=width)

    def of_bound(bound: Bound) -> Answer:
        candidates = pairs_of_rounds(bound, deployment)
        each = (attempt(partial(ask, pair.decomposition)).of(pair) for pair in candidates)
        return smallest(each, safe_end(bound.name, "lower"))

    of_mechanism = partial(ask, deployment.randomizer)
    return Solution(_searched_answers(deployment, of_bound, of_mechanism, rtol or ROUNDS_RTOL))


def _protocol_answers(
    deployment: Scenario, ask: Callable[[searches.NamedBounds], Mapping[str, Enclosure]]
) -> dict[str, Answer]:
    """Return the answers of the bounds of a protocol to a search, the best one first."""
    bounds = deployment.bounds((*PAIR_BOUNDS, "best"))
    enclosures = ask(by_step(bounds))
    return {name: Answer(enclosures[name]) for name in sorted(bounds, key=DIVERGENCE_BOUNDS.index)}


def _searched_answers(
    deployment: Scenario,
    of_bound: Callable[[Bound], Answer],
    of_mechanism: Callable[[], Enclosure],
    promised: float,
    pick: Callable[..., float] = max,
) -> dict[str, Answer]:
    """Return the answers of a search, held to the promised relative width, after the best one.

    One end of the best is proven for all datasets or by the blanket, and the other end is what two
    datasets miss. The answer sought is the largest, or with ``pick`` min the smallest.
    """
    answers = {
        name: _with_promise(of_bound(bound), promised, deployment, bound)
        for name, bound in by_step(deployment.bounds(PAIR_BOUNDS))
    }
    end: End = "lower" if pick is max else "upper"
    best = attempt(of_mechanism)
    proven = pick(getattr(answer.enclosure, end) for answer in (answers["blanket"], best))
    missed = answers["lower"]
    ends = proven, pick(proven, getattr(missed.enclosure, opposite(end)))
    return {"best": replace(missed, enclosure=Enclosure(*sorted(ends)), shortfall=""), **answers}


def _with_promise(answer: Answer, rtol: float, deployment: Scenario, bound: Bound) -> Answer:
    """Return the answer, with a shortfall if it is wider than promised.

    Searches end without an error if the engine cannot tell on which side of δ a point is. Over
    several rounds nothing is promised for the lower bound: if its two directions differ, so do
    the ends (docs/proofs/composition.md, section 1).
    """
    lower, upper = answer.enclosure.lower, answer.enclosure.upper
    limits = (validation.MAX_EPS0, validation.MAX_USERS + 1, validation.MAX_ROUNDS)
    is_beyond = math.isinf(upper) and lower in limits
    is_exact = isinstance(lower, int) and upper - lower <= 1  # numbers next to each other
    is_close = answer.enclosure.relative_width <= rtol or is_exact
    is_free = deployment.rounds != 1 and bound.kind is Kind.LOWER
    if answer.shortfall or is_beyond or is_close or is_free:
        return answer
    shortfall = (
        f"known only to lie in [{lower!r}, {upper!r}], which is wider than the relative {rtol:g} "
        "that is promised"
    )
    return replace(answer, shortfall=shortfall)
