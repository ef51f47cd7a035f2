"""The questions with one number for an answer, each described by a `Question`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from shufflebounds.accounting import calibration
from shufflebounds.accounting.calibration import FewestUsers
from shufflebounds.accounting.composition import compose
from shufflebounds.bounds.base import Answer, Bound, Kind, Numerics, attempt, smallest
from shufflebounds.bounds.divergences import largest_answer
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import (
    COLUMNS,
    MAX_COMPOSED_PAIRS,
    PAIR_BOUNDS,
    End,
    at_most_blanket,
    informative_bounds,
    is_zero,
    label,
    large_delta,
    other,
    pairs,
    pairs_of_rounds,
    plain_answer,
    proof,
    safe_ends,
    side_of,
    table_of_bounds,
    within_eps0,
    without_shuffler,
)
from shufflebounds.cli.deployment import Deployment
from shufflebounds.cli.options import OUTPUT, REPLY, USERS, option, question
from shufflebounds.cli.progress import by_step
from shufflebounds.cli.reply import Output, Reply, or_value_error
from shufflebounds.cli.values import REAL
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, PrecisionError
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import REPORTS, Candidate
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.reproduce import proofs
from shufflebounds.reproduce.storage import write_text

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
# Keys of version 0.1 in JSON, for scripts that read them, and what they are called now.
FORMER_KEYS = {
    "tight_bound": "tight",
    "upper_bound": "upper",
    "lower_bound": "lower",
    "closed_form": "girgis_upper",
}


class Solution(NamedTuple):
    """Answers by the name of the bound, and notes on them, of which warnings are always printed."""

    answers: dict[str, Answer]
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True)
class Question:
    """A question with one number for an answer, from which its command follows.

    ``help`` and ``options`` are those of the command. ``solve`` gets the deployment and the values
    of the options; it returns the answers by the name of the bound, and notes. ``target`` names
    the options that the answer depends on, and ``wording`` prints them.

    ``seeks`` is what the question asks for: ``epsilon``, ``delta``, ``renyi``, or the field of a
    deployment, ``eps0``, ``n`` or ``rounds``. ``column`` is the heading of the numbers. ``claim``
    is the sentence on the number that may be claimed, and ``rows`` explain each bound.
    ``exceptions`` are the sentences on numbers that say something else, by the side of the bound
    and the number. If the ``larger_is_better``, what may be claimed is a lower end.
    """

    name: str
    seeks: str
    help: str
    options: Sequence[str | Callable]
    solve: Callable[..., Solution]
    target: Sequence[str]
    wording: str
    column: str
    claim: str
    rows: Mapping[str, str]
    exceptions: Mapping[tuple[str, float], str] = field(default_factory=dict)
    larger_is_better: bool = False
    messages: bool = False

    def command(self) -> click.Command:
        """The command that asks the question."""
        rows = {label(name): self.rows[name].format(seen=REPORTS.name) for name in self.rows}
        decorate = question(
            *self.options,
            *REPLY,
            messages=self.messages,
            rows=rows | COLUMNS,
            name=self.name,
            help=self.help,
        )
        return decorate(self.reply)

    def reply(self, deployment: Deployment, output: Output, **given: Any) -> Reply:
        """The reply to the question about a deployment."""
        if self.seeks == "rounds":
            deployment = replace(deployment, rounds=None)
        target = {name: given[name] for name in self.target}
        title = deployment.title(self.wording.format(**target))
        answers, notes, warnings = self.solve(deployment, output=output, **given)
        ends = safe_ends(answers, "lower" if self.larger_is_better else "upper")
        numbers = {name: getattr(answers[name].enclosure, end) for name, end in ends.items()}
        table = table_of_bounds(answers, ends, self.column, output)
        best = "tight" if "tight" in answers else "upper"
        claimed = output.text(numbers[best], up=ends[best] == "upper")
        delta = numbers[best] if self.seeks == "delta" else target.get("delta")
        large = large_delta(deployment, delta, claimed if self.seeks == "delta" else repr(delta))
        if self.seeks == "n":
            target["colluding"] = deployment.colluding
        wide = [(label(name), answer) for name, answer in answers.items() if answer.shortfall]
        facts = deployment.facts(**target)
        facts |= {name: plain_answer(answer) for name, answer in answers.items()}
        facts |= {key: facts[name] for key, name in FORMER_KEYS.items() if name in answers}
        shortfalls = "; ".join(f"{name}: {answer.shortfall}" for name, answer in wide)
        return Reply(
            title=title,
            facts=facts | {"precise": not wide},
            table=table,
            claim=self._claim(deployment, numbers, claimed),
            legend=self._legend(deployment, answers, ends)
            | {heading: text for heading, text in COLUMNS.items() if heading in table},
            notes=[*deployment.notes(), *large, *notes],
            warnings=[*deployment.warnings, *large, *warnings],
            bounds=tuple(answers),
            deployment=deployment,
            shortfall=PrecisionError(shortfalls, wide[0][1].enclosure) if wide else None,
        )

    def _claim(
        self, deployment: Deployment, numbers: Mapping[str, float], claimed: str
    ) -> list[str]:
        """What may be claimed, what no claim may, and what remains if the shuffler fails."""
        best = "tight" if "tight" in numbers else "upper"
        covered = deployment.covered
        whom = f" for {covered}, not for others" if covered else ""
        usual = self.claim.format(claimed, for_whom=whom)
        sentences = [self.exceptions.get(("upper", numbers[best]), usual)]
        if (exception := self.exceptions.get(("lower", numbers.get("lower", -1.0)))) is not None:
            sentences.append(exception)
        if not deployment.sends_reports:
            return sentences
        eps0 = numbers[best] if self.seeks == "eps0" else deployment.protocol.eps0
        rounds = numbers[best] if self.seeks == "rounds" else deployment.times
        return sentences + without_shuffler(eps0, rounds)

    def _legend(
        self, deployment: Deployment, answers: Mapping[str, Answer], ends: Mapping[str, End]
    ) -> dict[str, str]:
        legend = {name: self.rows[name].format(seen=deployment.seen.name) for name in answers}
        if "tight" in answers:
            by = proof(deployment, answers, ends["tight"])
            # Over several rounds another bound may be the best at every point of their curves.
            is_mixed = deployment.rounds is not None and deployment.times > 1
            if by.startswith("the blanket") or not is_mixed:
                legend["tight"] += f" Here it is proven by {by}."
        return {label(name): text for name, text in legend.items()}


# What the bounds answer.


def _epsilon(
    deployment: Deployment,
    delta: float,
    rtol: float | None,
    claim: Path | None,
    output: Output,
) -> Solution:
    if claim is not None:
        _require_verifiable(deployment)
    setting = deployment.setting(delta=delta)
    computed = _divergences(deployment, "epsilon", setting, Numerics(rtol=rtol))
    answers, notes = within_eps0(computed, deployment.protocol.eps0, deployment.times)
    if claim is None:
        return Solution(answers, notes)
    written = _write_claims(claim, deployment, computed, delta, output)
    return Solution(answers, [written, *notes], [written])


def _delta(deployment: Deployment, eps: float, rtol: float | None, output: Output) -> Solution:
    setting = deployment.setting(eps=eps)
    if is_zero(eps, deployment.protocol.eps0, deployment.times):
        bounds = informative_bounds(deployment, *deployment.bounds)
        return Solution(dict.fromkeys(bounds, Answer(Enclosure(0.0, 0.0))))
    return Solution(_divergences(deployment, "delta", setting, Numerics(rtol=rtol)))


def _renyi(deployment: Deployment, order: float, rtol: float | None, output: Output) -> Solution:
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


def _largest_eps0(
    deployment: Deployment, eps: float, delta: float, rtol: float | None, output: Output
) -> Solution:
    deployment.refuse_own_eps0()
    width = rtol or EPS0_RTOL
    meets: dict[str, Any] = {
        "eps": eps,
        "delta": delta,
        "n": deployment.honest,
        "rounds": deployment.times,
    }

    def of_pair(bound: Bound, place: int) -> Answer:
        """Of the coarsest reports whose answer is as narrow as that of the finest has to be."""
        for candidate in deployment.coarse_to_fine():

            def decomposition(eps0: float, source: Deployment = candidate) -> Decomposition:
                return pairs_of_rounds(bound, replace(source, eps0=eps0))[place].decomposition

            answer = attempt(partial(calibration.largest_eps0, decomposition, **meets, rtol=width))
            ends = answer.enclosure
            if ends.relative_width <= width or ends.lower == validation.MAX_EPS0:
                break
        return answer

    answers = {}
    for name, bound in by_step({name: BOUNDS[name] for name in PAIR_BOUNDS}):
        coarsest = replace(next(deployment.coarse_to_fine()), eps0=1.0)
        # Whatever one of the pairs rules out is ruled out.
        each = (
            replace(of_pair(bound, place), others=pair.others)
            for place, pair in enumerate(pairs_of_rounds(bound, coarsest))
        )
        answer = smallest(each, other(side_of(name)))
        promised = width if deployment.rounds == 1 else ROUNDS_RTOL
        answers[name] = _with_promise(answer, promised, deployment, bound)

    def sent(eps0: float) -> Randomizer:
        return replace(deployment, eps0=eps0).randomizer

    # The best proven bound itself meets the target at the ε₀ of its answer.
    best = attempt(partial(calibration.largest_eps0, sent, **meets, rtol=width))
    notes = ["eps0 does not rank mechanisms; `shufflebounds choose` compares their errors."]
    return Solution(_with_best(answers, best), notes)


def _fewest_users(
    deployment: Deployment, eps: float, delta: float, rtol: float | None, output: Output
) -> Solution:
    promised = rtol or (USERS_RTOL if deployment.rounds == 1 else ROUNDS_RTOL)
    target = FewestUsers(validation.eps(eps), validation.delta(delta), deployment.times)
    bounds = informative_bounds(deployment, *PAIR_BOUNDS)
    compared = {name: pairs_of_rounds(bound, deployment) for name, bound in bounds.items()}
    answers = {}
    for name, bound in by_step(bounds):
        answer = largest_answer(bound.kind, compared[name], target)
        answers[name] = _with_promise(answer, promised, deployment, bound)
    ask = partial(calibration.fewest_users, deployment.randomizer, eps, delta)
    answers = _with_best(answers, attempt(partial(ask, rounds=deployment.times)), min)
    more = deployment.colluding
    return Solution({name: _shifted(answer, more) for name, answer in answers.items()})


def _shifted(answer: Answer, colluding: int) -> Answer:
    """The number of all users, from that of those who hide each other."""
    lower, upper = answer.enclosure.lower, answer.enclosure.upper
    return replace(answer, enclosure=Enclosure(lower + colluding, upper + colluding))


def _most_rounds(
    deployment: Deployment, eps: float, delta: float, rtol: float | None, output: Output
) -> Solution:
    width = rtol or ROUNDS_SEARCH_RTOL
    most = partial(calibration.most_rounds, eps=eps, delta=delta, n=deployment.honest, rtol=width)
    answers = {}
    for name, bound in by_step(informative_bounds(deployment, *PAIR_BOUNDS)):
        candidates = pairs_of_rounds(bound, deployment)
        each = (attempt(partial(most, pair.decomposition)).of(pair) for pair in candidates)
        answer = smallest(each, other(side_of(name)))
        answers[name] = _with_promise(answer, rtol or ROUNDS_RTOL, deployment, bound)
    return Solution(_with_best(answers, attempt(partial(most, deployment.randomizer))))


def _with_best(
    answers: Mapping[str, Answer], best: Answer, pick: Callable[..., float] = max
) -> dict[str, Answer]:
    """The answers, after the best that is proven for all datasets or by the blanket.

    The other end of the best is what two datasets miss.
    """
    end: End = "lower" if pick is max else "upper"
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
    is_known = deployment.sends_reports and proofs.described(deployment.randomizer) is not None
    if not is_known:
        raise ValueError(
            f"--claim needs reports that verify/verify.py defines (matrix, "
            f"{', '.join(proofs.VERIFIED)}; of several only equal ones, no matrices, without "
            f"--rate), got {deployment.name}"
        )
    if len(deployment.every_round) > 1:
        raise ValueError("--claim needs rounds of one number of users: leave out --also")


def _write_claims(
    path: Path,
    deployment: Deployment,
    answers: Mapping[str, Answer],
    delta: float,
    output: Output,
) -> str:
    """Write the claims of an answer on ε, and return a sentence that lists them.

    They are the blanket's upper end and, of one round, the dataset pair's lower end; of one report
    also the end that holds for all datasets, where it is smaller. Claims about one round leave the
    second program the room of `CLAIM_MARGIN` that its own bounds need.
    """
    mechanism = proofs.described(deployment.randomizer)
    n, rounds = deployment.honest, deployment.times
    assert mechanism is not None  # since `_require_verifiable`
    end = {name: answer.enclosure.upper for name, answer in answers.items()}
    if math.isinf(end["upper"]):
        raise ValueError("--claim must be left out: no epsilon is known to hold at this delta")
    more, less = (1.0 + CLAIM_MARGIN, 1.0 - CLAIM_MARGIN) if rounds == 1 else (1.0, 1.0)
    claims = [proofs.upper("blanket", mechanism, n, delta, more * end["upper"], rounds)]
    if rounds == 1 and "reports" not in mechanism and end["tight"] < end["upper"]:
        claims.append(proofs.upper("all", mechanism, n, delta, more * end["tight"]))
    pair = answers["lower"]
    if rounds == 1 and pair.enclosure.lower > 0.0:
        eps = less * pair.enclosure.lower
        lower = proofs.lower(pair.others, mechanism, n, delta, eps, pair.inputs)
        claims += [] if lower is None else [lower]
    or_value_error(path, lambda: write_text(json.dumps(claims, indent=2) + "\n", path))
    names = {"blanket": "upper bound", "all": "best proven bound", "pair": "lower bound"}
    numbers = [
        f"{output.text(claim['eps'], up=claim['bound'] != 'pair')} ({names[claim['bound']]})"
        for claim in claims
    ]
    room = f"; each leaves {100.0 * CLAIM_MARGIN:g} % to a second program" if rounds == 1 else ""
    return f"The file {path.name} claims epsilon = {', '.join(numbers)}{room}."


# The questions.

DIVERGENCE_ROWS = {
    "tight": "the smallest bound that is proven; you can claim it.",
    "upper": "the {seen} are (epsilon, delta)-DP; you can claim it.",
    "lower": "two datasets differ by this much; no valid claim can be smaller.",
    "stronger_clone": "the best bound for any mechanism with this eps0.",
}

epsilon = Question(
    name="epsilon",
    seeks="epsilon",
    help="""What epsilon can you claim at a given delta?

    Example: shufflebounds epsilon --mechanism krr --k 10 --eps0 4 --n 100000 --delta 1e-6
    """,
    options=(
        *("eps0", *USERS, "delta", "rounds", "also", "rtol"),
        option(
            "--claim",
            click.Path(dir_okay=False, path_type=Path),
            "Write a file of claims, which verify/verify.py proves again.",
            section=OUTPUT,
        ),
    ),
    solve=_epsilon,
    target=("delta",),
    wording="delta = {delta!r}",
    column="epsilon (natural log)",
    claim="You can claim epsilon = {}{for_whom}.",
    rows=DIVERGENCE_ROWS,
    exceptions={
        ("upper", math.inf): "No epsilon is known to hold at this delta.",
        ("lower", math.inf): "Two datasets rule out every epsilon at this delta.",
    },
    messages=True,
).command()

delta = Question(
    name="delta",
    seeks="delta",
    help="""What delta can you claim at a given epsilon?

    Example: shufflebounds delta --mechanism krr --k 10 --eps0 4 --n 10000 --eps 0.4
    """,
    options=("eps0", *USERS, "eps", "rounds", "also", "rtol"),
    solve=_delta,
    target=("eps",),
    wording="epsilon = {eps!r} (natural log)",
    column="delta (probability)",
    claim="You can claim delta = {}{for_whom}.",
    rows=DIVERGENCE_ROWS,
    messages=True,
).command()

renyi = Question(
    name="renyi",
    seeks="renyi",
    help="""How large is the Renyi divergence of a given order, in the worse direction?

    Example: shufflebounds renyi --mechanism krr --k 10 --eps0 4 --n 100000 --order 16
    """,
    options=(
        *("eps0", *USERS),
        option(
            "--order",
            REAL,
            "Order of the divergence, above 1 and up to 1e6.",
            required=True,
        ),
        *("rounds", "rtol"),
    ),
    solve=_renyi,
    target=("order",),
    wording="order = {order!r}",
    column="Renyi divergence (natural log)",
    claim="You can claim a Renyi divergence of {}.",
    rows={
        "upper": "the {seen} are (order, this)-RDP; you can claim it.",
        "lower": DIVERGENCE_ROWS["lower"],
        "stronger_clone": DIVERGENCE_ROWS["stronger_clone"],
        "girgis_upper": "a published bound for any mechanism with this eps0.",
    },
    exceptions={
        ("upper", math.inf): "No divergence is known to hold at this order.",
        ("lower", math.inf): "Two datasets differ beyond all bounds at this order.",
    },
).command()

eps0 = Question(
    name="eps0",
    seeks="eps0",
    help="""What is the largest eps0 that meets a target (epsilon, delta)?

    With --rounds it is the eps0 of each round, and all rounds together meet the target. Bounds are
    enclosed to a relative width of --rtol, by default 1e-3, over several rounds 1e-2.

    Example: shufflebounds eps0 --mechanism krr --k 10 --n 100000 --eps 0.5 --delta 1e-6
    """,
    options=(*USERS, "eps", "delta", "rounds", "rtol"),
    solve=_largest_eps0,
    target=("eps", "delta"),
    wording="target epsilon = {eps!r}, delta = {delta!r}",
    column="eps0 (natural log)",
    claim="You can deploy eps0 = {}.",
    rows={
        "tight": "the largest proven to meet the target; you can deploy it.",
        "upper": "with this eps0 the target is met; you can deploy it.",
        "lower": "with this eps0 two datasets miss the target; no valid claim can allow it.",
        "stronger_clone": "the largest proven for every mechanism.",
    },
    exceptions={
        ("lower", math.inf): f"Not even {validation.MAX_EPS0:g}, the largest eps0 that is looked "
        "at, is ruled out."
    },
    larger_is_better=True,
).command()

users = Question(
    name="users",
    seeks="n",
    help="""How many users are enough for a target (epsilon, delta)?

    With --rounds it is how many must report in each round, and all rounds together meet the target.
    Numbers of users are exact where possible, else enclosed to a relative width of --rtol, by
    default 1e-4, over several rounds 1e-2.

    Example: shufflebounds users --mechanism krr --k 10 --eps0 4 --eps 0.5 --delta 1e-6
    """,
    options=("eps0", "eps", "delta", "colluding", "rounds", "rtol"),
    solve=_fewest_users,
    target=("eps", "delta"),
    wording="target epsilon = {eps!r}, delta = {delta!r}",
    column="users",
    claim="{} users are enough.",
    rows={
        "tight": "the fewest proven to be enough.",
        "upper": "this many users are enough.",
        "lower": "with fewer users two datasets miss the target; fewer are not enough.",
        "stronger_clone": "the fewest proven to be enough for any mechanism with this eps0.",
    },
    exceptions={("upper", math.inf): "Not even 10^15 users are known to be enough."},
).command()

rounds = Question(
    name="rounds",
    seeks="rounds",
    help="""How many rounds, up to 1e6, meet a target (epsilon, delta) together?

    Rounds are separate shuffles of the same users, such as days; a user spends eps0 in each. Their
    number is enclosed to a relative width of --rtol, by default 1e-2.

    Example: shufflebounds rounds --mechanism krr --k 10 --eps0 2 --n 1e5 --eps 0.5 --delta 1e-6
    """,
    options=("eps0", *USERS, "eps", "delta", "rtol"),
    solve=_most_rounds,
    target=("eps", "delta"),
    wording="target epsilon = {eps!r}, delta = {delta!r}",
    column="rounds",
    claim="You can run {} rounds.",
    rows={
        "tight": "the most proven to meet the target; you can run them.",
        "upper": "this many rounds together meet the target; you can run them.",
        "lower": "with more rounds two datasets miss the target; no valid claim can allow more.",
        "stronger_clone": "the most proven to meet it for any mechanism with this eps0.",
    },
    exceptions={
        ("upper", 0): "Not even one round is known to meet the target.",
        ("lower", 0): "Not even one round meets the target; no valid claim can allow it.",
        ("lower", math.inf): f"Not even {validation.MAX_ROUNDS} rounds are ruled out.",
    },
    larger_is_better=True,
).command()
