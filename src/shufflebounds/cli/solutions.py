"""What the bounds answer to the questions with one number for an answer, and claims of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from shufflebounds.accounting import calibration
from shufflebounds.accounting.calibration import FewestUsers
from shufflebounds.accounting.composition import compose
from shufflebounds.bounds.base import Answer, Bound, Kind, Numerics, attempt, smallest
from shufflebounds.bounds.divergences import largest_of_pairs
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import (
    MAX_COMPOSED_PAIRS,
    PAIR_BOUNDS,
    End,
    at_most_blanket,
    informative_bounds,
    is_zero,
    other,
    pairs,
    pairs_of_rounds,
    side_of,
    within_eps0,
)
from shufflebounds.cli.deployment import SOME_EPS0, Deployment
from shufflebounds.cli.progress import by_step
from shufflebounds.cli.reply import Output, or_value_error
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.setting import Setting
from shufflebounds.curves import claim_files
from shufflebounds.curves.files import write_text
from shufflebounds.protocols.base import Candidate

# Relative width of the first estimate of a bound over several rounds, by the quantity.
ROUGH_RTOL = {"epsilon": 0.01, "delta": 0.1}
# A bound that is this many times the best one, by its rough estimate, is not computed further.
MAX_RATIO_TO_BEST = 20.0
# Room that a claim about one round leaves to the bounds of verify/verify.py, relative to ε.
CLAIM_MARGIN = 2e-4
# Relative width that `eps0` promises for one round.
EPS0_RTOL = 1e-3
# Relative width that `users` promises for one round.
USERS_RTOL = 1e-4
# Relative width that searches over several rounds promise.
ROUNDS_RTOL = 0.01
# Relative width that a search for rounds aims at; its answer may end wider.
ROUNDS_SEARCH_RTOL = 1e-3


class Solution(NamedTuple):
    """Answers by the name of the bound, and notes on them, of which warnings are always printed."""

    answers: dict[str, Answer]
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()


def solve_epsilon(
    deployment: Deployment, delta: float, rtol: float | None, claim: Path | None, output: Output
) -> Solution:
    """ε at δ; with ``claim``, also a file of claims."""
    if claim is not None:
        _require_verifiable(deployment)
    setting = deployment.setting(delta=delta)
    computed = _divergences(deployment, "epsilon", setting, Numerics(rtol=rtol))
    answers, notes = within_eps0(computed, deployment.protocol.eps0, deployment.times)
    if claim is None:
        return Solution(answers, notes)
    written = _write_claims(claim, deployment, computed, delta, output)
    return Solution(answers, [written, *notes], [written])


def solve_delta(deployment: Deployment, eps: float, rtol: float | None, output: Output) -> Solution:
    """δ at ε."""
    setting = deployment.setting(eps=eps)
    if is_zero(eps, deployment.protocol.eps0, deployment.times):
        bounds = informative_bounds(deployment, *deployment.bounds)
        return Solution(dict.fromkeys(bounds, Answer(Enclosure(0.0, 0.0))))
    return Solution(_divergences(deployment, "delta", setting, Numerics(rtol=rtol)))


def solve_renyi(
    deployment: Deployment, order: float, rtol: float | None, output: Output
) -> Solution:
    """The Rényi divergence of an order."""
    setting = deployment.setting(order=order, rounds=deployment.rounds)
    names = (*PAIR_BOUNDS, "girgis_upper")
    return Solution(_evaluated(deployment, names, "renyi", setting, Numerics(rtol=rtol)))


def _divergences(
    deployment: Deployment, quantity: str, setting: Setting, numerics: Numerics
) -> dict[str, Answer]:
    """Answers on ε or δ of one round or of several."""
    if deployment.sends_reports and deployment.times > 1:
        answers = _composed(deployment, quantity, setting, numerics)
    else:
        if not deployment.sends_reports:
            setting = setting.at(rounds=deployment.times)
        answers = _evaluated(deployment, deployment.bounds, quantity, setting, numerics)
    return at_most_blanket(answers)


def _evaluated(
    deployment: Deployment,
    names: Sequence[str],
    quantity: str,
    setting: Setting,
    numerics: Numerics,
) -> dict[str, Answer]:
    return {
        name: bound.answer(deployment.protocol, quantity, setting, numerics)
        for name, bound in by_step(informative_bounds(deployment, *names))
    }


def _composed(
    deployment: Deployment, quantity: str, setting: Setting, numerics: Numerics
) -> dict[str, Answer]:
    """Answers on several rounds, in each of which any of several pairs may be the worst."""

    def compose_pairs(
        candidates: Sequence[Candidate], rtol: float | None = numerics.rtol
    ) -> Answer:
        """The answer of some pairs; without any, that of the randomizer for all datasets."""
        sources = [pair.decomposition for pair in candidates] or deployment.randomizer
        composed = compose([(sources, n, times) for n, times in deployment.every_round])
        if quantity == "epsilon":
            return attempt(partial(composed.epsilon, setting.require("delta"), rtol=rtol))
        return attempt(partial(composed.delta, setting.require("eps"), rtol=rtol))

    rough = partial(compose_pairs, rtol=ROUGH_RTOL[quantity])
    answers: dict[str, Answer] = {}
    for name, bound in by_step(informative_bounds(deployment, *deployment.bounds)):
        if bound.candidates is None:
            answers[name] = compose_pairs([])
            continue
        candidates = pairs(bound, deployment)
        if not bound.knows_mechanism and numerics.rtol is None:
            best = min((answer.enclosure.upper for answer in answers.values()), default=math.inf)
            estimate = rough(candidates)
            if estimate.enclosure.lower > MAX_RATIO_TO_BEST * best:
                answers[name] = estimate.of(candidates[0])
                continue
        if bound.kind is not Kind.LOWER and len(candidates) > 1:
            # The worst pair may be another in each round, which no maximum over pairs covers.
            answers[name] = compose_pairs(candidates)
            continue
        pair = candidates[0]
        if len(candidates) > 1:  # Each is a lower bound; the one that looks largest will do.
            few = candidates[:MAX_COMPOSED_PAIRS]
            pair = max(few, key=lambda candidate: rough([candidate]).enclosure.lower)
        answers[name] = compose_pairs([pair]).of(pair)
    return answers


def solve_eps0(
    deployment: Deployment, eps: float, delta: float, rtol: float | None, output: Output
) -> Solution:
    """The largest ε₀ that meets a target, of each bound and of the mechanism."""
    deployment.refuse_own_eps0()
    width = rtol or EPS0_RTOL
    n, rounds = deployment.honest, deployment.times
    ask = partial(calibration.largest_eps0, eps=eps, delta=delta, n=n, rounds=rounds, rtol=width)

    def of_pair(bound: Bound, place: int) -> Answer:
        """The answer of the coarsest reports that is as narrow as the finest one has to be."""
        for candidate in deployment.coarse_to_fine():

            def decomposition(eps0: float, source: Deployment = candidate) -> Decomposition:
                return pairs_of_rounds(bound, replace(source, eps0=eps0))[place].decomposition

            answer = attempt(partial(ask, decomposition))
            ends = answer.enclosure
            if ends.relative_width <= width or ends.lower == validation.MAX_EPS0:
                break
        return answer

    def of_bound(bound: Bound) -> Answer:
        # Whatever one of the pairs rules out is ruled out.
        coarsest = replace(next(deployment.coarse_to_fine()), eps0=SOME_EPS0)
        named = enumerate(pairs_of_rounds(bound, coarsest))
        each = (replace(of_pair(bound, place), others=pair.others) for place, pair in named)
        return smallest(each, other(side_of(bound.name)))

    answers = _search(
        deployment,
        {name: BOUNDS[name] for name in PAIR_BOUNDS},
        of_bound,
        partial(ask, lambda eps0: replace(deployment, eps0=eps0).randomizer),
        width if deployment.rounds == 1 else ROUNDS_RTOL,
    )
    notes = ["eps0 does not rank mechanisms; `shufflebounds choose` compares their errors."]
    return Solution(answers, notes)


def solve_users(
    deployment: Deployment, eps: float, delta: float, rtol: float | None, output: Output
) -> Solution:
    """The fewest users that meet a target, those who collude among them."""
    target = FewestUsers(validation.eps(eps), validation.delta(delta), deployment.times)
    rounds = deployment.times
    answers = _search(
        deployment,
        informative_bounds(deployment, *PAIR_BOUNDS),
        lambda bound: largest_of_pairs(bound.kind, pairs_of_rounds(bound, deployment), target),
        partial(calibration.fewest_users, deployment.randomizer, eps, delta, rounds=rounds),
        rtol or (USERS_RTOL if deployment.rounds == 1 else ROUNDS_RTOL),
        min,
    )
    shifted = {}
    for name, answer in answers.items():
        ends = (end + deployment.colluding for end in astuple(answer.enclosure))
        shifted[name] = replace(answer, enclosure=Enclosure(*ends))
    return Solution(shifted)


def solve_rounds(
    deployment: Deployment, eps: float, delta: float, rtol: float | None, output: Output
) -> Solution:
    """The most rounds that meet a target."""
    width, n = rtol or ROUNDS_SEARCH_RTOL, deployment.honest
    ask = partial(calibration.most_rounds, eps=eps, delta=delta, n=n, rtol=width)

    def of_bound(bound: Bound) -> Answer:
        candidates = pairs_of_rounds(bound, deployment)
        each = (attempt(partial(ask, pair.decomposition)).of(pair) for pair in candidates)
        return smallest(each, other(side_of(bound.name)))

    bounds = informative_bounds(deployment, *PAIR_BOUNDS)
    best = partial(ask, deployment.randomizer)
    return Solution(_search(deployment, bounds, of_bound, best, rtol or ROUNDS_RTOL))


def _search(
    deployment: Deployment,
    bounds: Mapping[str, Bound],
    of_bound: Callable[[Bound], Answer],
    of_mechanism: Callable[[], Enclosure],
    promised: float,
    pick: Callable[..., float] = max,
) -> dict[str, Answer]:
    """The answers of a search, held to the relative width that is promised, after the best one.

    One end of the best is proven for all datasets or by the blanket, and the other end is what two
    datasets miss. The answer sought is the largest, or with ``pick`` min the smallest.
    """
    answers = {
        name: _with_promise(of_bound(bound), promised, deployment, bound)
        for name, bound in by_step(bounds)
    }
    end: End = "lower" if pick is max else "upper"
    best = attempt(of_mechanism)
    proven = pick(getattr(answer.enclosure, end) for answer in (answers["upper"], best))
    missed = answers["lower"]
    ends = proven, pick(proven, getattr(missed.enclosure, other(end)))
    return {"tight": replace(missed, enclosure=Enclosure(*sorted(ends)), shortfall=""), **answers}


def _with_promise(answer: Answer, rtol: float, deployment: Deployment, bound: Bound) -> Answer:
    """The answer, with a shortfall if it is wider than promised.

    Searches end without an error where the engine cannot tell on which side of δ a point is. Over
    several rounds nothing is promised of the lower bound: where its two directions differ, so do
    the ends (docs/composition.md, section 1).
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


# Claim files, which verify/verify.py, a program of its own, proves again.


def _require_verifiable(deployment: Deployment) -> None:
    """Raise ValueError for claims that the program cannot check, before they are computed."""
    is_known = deployment.sends_reports and claim_files.described(deployment.randomizer) is not None
    if not is_known:
        raise ValueError(
            f"--claim needs reports that verify/verify.py defines (matrix, "
            f"{', '.join(claim_files.VERIFIED)}; of several only equal ones, no matrices, without "
            f"--rate), got {deployment.name}"
        )
    if len(deployment.every_round) > 1:
        raise ValueError("--claim needs rounds of one number of users: leave out --also")


def _write_claims(
    path: Path, deployment: Deployment, answers: Mapping[str, Answer], delta: float, output: Output
) -> str:
    """Write the claims of an answer on ε, and return a sentence that lists them.

    They are the blanket's upper end and, of one round, the dataset pair's lower end; of one report
    also the end that holds for all datasets, where it is smaller. Claims about one round leave the
    second program the room of `CLAIM_MARGIN` that its own bounds need.
    """
    mechanism = claim_files.described(deployment.randomizer)
    n, rounds = deployment.honest, deployment.times
    assert mechanism is not None  # since `_require_verifiable`
    end = {name: answer.enclosure.upper for name, answer in answers.items()}
    if math.isinf(end["upper"]):
        raise ValueError("--claim must be left out: no epsilon is known to hold at this delta")
    more, less = (1.0 + CLAIM_MARGIN, 1.0 - CLAIM_MARGIN) if rounds == 1 else (1.0, 1.0)
    claims = [claim_files.upper("blanket", mechanism, n, delta, more * end["upper"], rounds)]
    if rounds == 1 and "reports" not in mechanism and end["tight"] < end["upper"]:
        claims.append(claim_files.upper("all", mechanism, n, delta, more * end["tight"]))
    pair = answers["lower"]
    if rounds == 1 and pair.enclosure.lower > 0.0:
        eps = less * pair.enclosure.lower
        lower = claim_files.lower(pair.others, mechanism, n, delta, eps, pair.inputs)
        claims += [] if lower is None else [lower]
    or_value_error(path, lambda: write_text(json.dumps(claims, indent=2) + "\n", path))
    names = {"blanket": "upper bound", "all": "best proven bound", "pair": "lower bound"}
    numbers = [
        f"{output.text(claim['eps'], up=claim['bound'] != 'pair')} ({names[claim['bound']]})"
        for claim in claims
    ]
    room = f"; each leaves {100.0 * CLAIM_MARGIN:g} % to a second program" if rounds == 1 else ""
    return f"The file {path.name} claims epsilon = {', '.join(numbers)}{room}."
