"""What the bounds answer to the questions with one number for an answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import NamedTuple

from shufflebounds.bounds.base import Answer, Bound, Kind, Numerics, attempt
from shufflebounds.cli.answers import PAIR_BOUNDS, between_bounds, within_eps0
from shufflebounds.cli.claims import require_verifiable, write_claims
from shufflebounds.cli.progress import by_step
from shufflebounds.cli.reply import Output
from shufflebounds.cli.scenario import SOME_EPS0, Scenario, registered_users
from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.setting import Setting
from shufflebounds.core.work import limited
from shufflebounds.profiles.axis_search import AxisSearch
from shufflebounds.questions.searches import (
    NOISE_RTOLS,
    ROUNDS_RTOLS,
    InverseQuestion,
    Target,
    eps0_question,
    noise_question,
    rounds_question,
    users_question,
)
from shufflebounds.subjects.base import Subject

# The bounds that are asked for ε and δ, and for Rényi divergences.
DIVERGENCE_BOUNDS = ("best", *PAIR_BOUNDS)
RENYI_BOUNDS = (*DIVERGENCE_BOUNDS, "girgis_upper")
# Relative width that `eps0` promises for one round.
EPS0_RTOL = 1e-3
# Relative width that `users` promises for one round.
USERS_RTOL = 1e-4
# Relative width that searches over several rounds promise.
ROUNDS_RTOL = 0.01
# Relative width that a search for rounds aims at; its answer may end wider.
ROUNDS_SEARCH_RTOL = 1e-3


class Solution(NamedTuple):
    """Answers by the name of the bound, notes on them, and sentences on files."""

    answers: dict[str, Answer]
    notes: Sequence[str] = ()
    written: Sequence[str] = ()


def solve_divergence(
    quantity: str,
    deployment: Scenario,
    rtol: float | None,
    output: Output,
    claim: Path | None = None,
    **target: float,
) -> Solution:
    """Return ε at δ, δ at ε or a Rényi divergence; with ``claim``, also write a file of claims."""
    if claim is not None:
        require_verifiable(deployment)
    names = RENYI_BOUNDS if quantity == "renyi" else DIVERGENCE_BOUNDS
    setting, numerics = deployment.setting(**target), Numerics(rtol=rtol)
    bounds = deployment.bounds(names, quantity)
    computed = between_bounds(
        {
            name: bound.answer(deployment.protocol, quantity, setting, numerics)
            for name, bound in by_step(without_attained(bounds, deployment))
        }
    )
    computed = with_attained(computed, bounds)
    if quantity != "epsilon":
        return Solution(computed)
    answers, notes = within_eps0(computed, deployment.pure_eps, deployment.times)
    if claim is None:
        return Solution(answers, notes)
    written = write_claims(claim, deployment, computed, target["delta"], output)
    return Solution(answers, notes, [written])


def without_attained(bounds: Mapping[str, Bound], deployment: Scenario) -> dict[str, Bound]:
    """Return the bounds without the lower one if the best one has its ends."""
    is_attained = deployment.is_attained
    return {name: x for name, x in bounds.items() if name != "lower" or not is_attained}


def with_attained(answers: dict[str, Answer], names: Iterable[str]) -> dict[str, Answer]:
    """Return the answers, with that of the lower bound if it was left out, in order of names."""
    missing = {
        name: replace(answers["best"], shortfall="") for name in names if name not in answers
    }
    return {name: {**answers, **missing}[name] for name in names}


def solve_eps0(
    deployment: Scenario, eps: float, delta: float, rtol: float | None, output: Output
) -> Solution:
    """Return the largest ε₀ that meets a target."""
    deployment.require_open_eps0("There is no eps0 to choose")
    width, rounds = rtol or EPS0_RTOL, deployment.times
    question = eps0_question(
        lambda eps0: replace(deployment, eps0=eps0).protocol,
        Target(eps, delta),
        deployment.honest,
        rounds,
        width,
    )
    setting = replace(deployment, eps0=SOME_EPS0).setting(delta=delta)
    answers = _searched_answers(
        deployment,
        question,
        width if deployment.rounds == 1 else ROUNDS_RTOL,
        lambda eps0: (replace(deployment, eps0=eps0).protocol, setting),
    )
    notes = ["eps0 does not rank mechanisms; `shufflebounds choose` compares their errors."]
    return Solution(answers, notes)


def solve_users(
    deployment: Scenario, eps: float, delta: float, rtol: float | None, output: Output
) -> Solution:
    """Return the fewest users that meet a target, with those who collude or drop out."""
    rounds, subject = deployment.times, deployment.protocol
    answers = _searched_answers(
        deployment,
        users_question(subject, Target(eps, delta), rounds),
        rtol or (USERS_RTOL if rounds == 1 else ROUNDS_RTOL),
        lambda n: (subject, Setting(n=int(n), delta=delta, rounds=rounds)),
    )
    return Solution({name: _of_registered(x, deployment) for name, x in answers.items()})


def users_for_error(deployment: Scenario, error: float) -> int:
    """Return the fewest users for a standard error, with those who collude or drop out."""
    if not deployment.sends_reports:
        raise ValueError("--error needs a mechanism: the errors of protocols are not known")
    if deployment.cohort is not None:
        raise ValueError("--error must be left out with --cohort, whose size decides the error")
    users = deployment.randomizer.users_for_error(error)
    return registered_users(users, deployment.colluding, deployment.dropout)


def _of_registered(answer: Answer, deployment: Scenario) -> Answer:
    """Return an answer on the users who provide cover as one on all users."""
    ends = (
        end
        if math.isinf(end)
        else registered_users(int(end), deployment.colluding, deployment.dropout)
        for end in astuple(answer.enclosure)
    )
    return replace(answer, enclosure=Enclosure(*ends))


def solve_rounds(
    deployment: Scenario, eps: float, delta: float, rtol: float | None, output: Output
) -> Solution:
    """Return the most rounds that meet a target."""
    subject, n = deployment.protocol, deployment.honest
    finest = rtol or ROUNDS_SEARCH_RTOL
    target = Target(eps, delta, (*(x for x in ROUNDS_RTOLS if x > finest), finest))
    answers = _searched_answers(
        deployment,
        rounds_question(subject, target, n),
        rtol or ROUNDS_RTOL,
        lambda rounds: (subject, Setting(n=n, delta=delta, rounds=max(int(rounds), 1))),
    )
    return Solution(answers)


def solve_noise(
    deployment: Scenario, eps: float, delta: float, rtol: float | None, output: Output
) -> Solution:
    """Return the smallest noise multiplier that meets a target."""
    if "noise_multiplier" not in deployment.sent.needs:
        raise ValueError(f"this command is about training, and {deployment.name} is no training")
    n, rounds = deployment.honest, 1 if deployment.also else deployment.times
    promised = rtol or NOISE_RTOLS[deployment.times > 1]
    question = noise_question(
        lambda noise: replace(deployment, noise_multiplier=noise).protocol,
        Target(eps, delta),
        n,
        rounds,
        promised,
        "--eps",
    )
    setting = Setting(n=n, delta=delta, rounds=rounds)
    answers = _searched_answers(
        deployment,
        question,
        promised,
        lambda noise: (replace(deployment, noise_multiplier=noise).protocol, setting),
    )
    return Solution(answers)


def _searched_answers(
    deployment: Scenario,
    question: InverseQuestion,
    promised: float,
    setting_at: Callable[[float], tuple[Subject, Setting]],
) -> dict[str, Answer]:
    """Return the answers of a search, held to the promised relative width, the best one first.

    One end of the best is proven for all datasets or by the blanket, and the other end is what two
    datasets miss. `setting_at` returns what to ask for the names of a pair at a place of the axis.
    """
    bounds = deployment.bounds((*PAIR_BOUNDS, "best"))
    if "blanket" not in bounds:
        best = attempt(limited(lambda: question.enclosure(question.answer())))
        if deployment.is_attained:
            best = _with_promise(best, promised, deployment, bounds["best"])
        return with_attained({"best": best}, [name for name in ("best", "lower") if name in bounds])
    searches: dict[str, AxisSearch] = {}
    answers: dict[str, Answer] = {}
    for name, bound in by_step({key: x for key, x in bounds.items() if key != "best"}):
        assert bound.make is not None
        searches[name] = question.search(bound.make)
        end = searches[name].unsafe_end if name == "lower" else searches[name].safe_end
        answer = Answer(question.enclosure(searches[name]))
        if end is not None:
            answer = replace(answer, pair=bound.answer(*_asked(setting_at(end))).pair)
        answers[name] = _with_promise(answer, promised, deployment, bound)
    if "best" not in bounds or "lower" not in searches:
        return answers
    make = bounds["best"].make
    assert make is not None
    best = attempt(
        lambda: question.enclosure(question.closer(searches["blanket"], searches["lower"], make))
    )
    pair = answers["lower"].pair
    return {"best": Answer(best.enclosure, pair), **answers}


def _asked(at: tuple[Subject, Setting]) -> tuple[Subject, str, Setting]:
    """Return the arguments of the question for ε."""
    subject, setting = at
    return subject, "epsilon", setting


def _with_promise(answer: Answer, rtol: float, deployment: Scenario, bound: Bound) -> Answer:
    """Return the answer, with a shortfall if it is wider than promised.

    Searches end without an error if the engine cannot tell on which side of δ a point is. Over
    several rounds nothing is promised for the lower bound: if its two directions differ, so do
    the ends (docs/proofs/composition.md, section 1).
    """
    lower, upper = answer.enclosure.lower, answer.enclosure.upper
    limits = (
        validation.MAX_EPS0,
        validation.MAX_USERS + 1,
        validation.MAX_ROUNDS,
        validation.MAX_NOISE,
    )
    # Everything, or nothing, that is tried meets the target. A noise multiplier of 0 stands for the
    # smallest one.
    is_beyond = (math.isinf(upper) and lower in limits) or repr(lower) == "0.0"
    is_exact = isinstance(lower, int) and upper - lower <= 1  # numbers next to each other
    is_close = answer.enclosure.relative_width <= rtol or is_exact
    is_free = deployment.rounds != 1 and bound.kind is Kind.LOWER
    if answer.shortfall or is_beyond or is_close or is_free:
        return answer
    width = answer.enclosure.relative_width
    sentence = validation.shortfall("the answer", (lower, upper), width, rtol)
    return replace(answer, shortfall=sentence)
