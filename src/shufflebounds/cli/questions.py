"""The questions with one number for an answer, each described by a `Question`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import click

from shufflebounds.bounds.base import Answer
from shufflebounds.cli import solutions
from shufflebounds.cli.answers import (
    COLUMNS,
    End,
    plain_answer,
    safe_end,
    table_of_bounds,
)
from shufflebounds.cli.notes import (
    known_steps,
    large_delta,
    large_epsilon,
    notes_on,
    untried_bound,
    warnings,
    without_shuffler,
    without_shuffler_at,
)
from shufflebounds.cli.options import (
    OUTPUT,
    REPLY,
    USERS,
    number_option,
    option,
    optional,
    rtol_option,
)
from shufflebounds.cli.reply import Output, Reply
from shufflebounds.cli.scenario import Scenario
from shufflebounds.cli.sent import question
from shufflebounds.cli.tables import KEPT_SPACE
from shufflebounds.cli.values import OutputFile
from shufflebounds.core import validation
from shufflebounds.core.enclosure import PrecisionError
from shufflebounds.core.words import counted
from shufflebounds.protocols.allocation import RandomAllocation
from shufflebounds.questions.searches import NOISE_RTOLS


@dataclass(frozen=True)
class Question:
    """A question with one number for an answer, from which its command follows.

    ``name``, ``help`` and ``options`` are those of the command. ``solve`` gets the deployment and
    the values of the options, and returns what the bounds answer. ``target`` names the options
    that the answer depends on, and ``wording`` prints them. ``sought`` is the field of the
    deployment that the answer is about, if it is one.

    ``column`` is the heading of the numbers. ``claim`` is the sentence on the number that may be
    claimed, ``claim_of_one`` the one on a count of 1, and ``rows`` explain each bound.
    ``exceptions`` are the sentences on numbers that say something else, by the bound and the
    number. The ``safe`` end of an upper bound may be claimed. The command is about the ``sender``
    if none is named.
    """

    name: str
    help: str
    options: Sequence[str | click.Option]
    solve: Callable[..., solutions.Solution]
    target: Sequence[str]
    wording: str
    column: str
    claim: str
    rows: Mapping[str, str]
    claim_of_one: str = ""
    exceptions: Mapping[tuple[str, float], str] = field(default_factory=dict)
    sought: str = ""
    safe: End = "upper"
    sender: str | None = None

    def command(self) -> click.Command:
        """Return the command that asks the question."""
        decorate = question(
            *self.options,
            *REPLY,
            sought=self.sought,
            sender=self.sender,
            name=self.name,
            help=self.help,
        )
        return decorate(self.reply)

    def reply(self, deployment: Scenario, output: Output, **given: Any) -> Reply:
        """Return the reply to the question about a deployment."""
        if self.sought:
            left_open: dict[str, Any] = {self.sought: None}
            deployment = replace(deployment, **left_open)
        target = {name: given[name] for name in self.target}
        deployment = replace(deployment, delta=target.get("delta"))
        answers, notes, written = self.solve(deployment, output=output, **given)
        ends = {name: safe_end(name, self.safe) for name in answers}
        numbers = {name: getattr(answers[name].enclosure, end) for name, end in ends.items()}
        # A row of its own for the best proven bound is left out if it is that of the blanket.
        claimed = numbers["best" if "best" in numbers else "blanket"]
        text = output.text(claimed, up=self.safe == "upper")
        facts = {name: plain_answer(answer) for name, answer in answers.items()}
        table = table_of_bounds(
            answers, ends, self._text(self.column, deployment), deployment.label, output
        )
        rows = {deployment.label(name): self._text(self.rows[name], deployment) for name in answers}
        delta = claimed if self.name == "delta" else target.get("delta")
        delta_text = text if self.name == "delta" else repr(delta)
        large = large_delta(deployment, delta, delta_text)
        eps = claimed if self.name == "epsilon" else target.get("eps")
        eps_text = text if self.name == "epsilon" else repr(eps)
        large += large_epsilon(eps, eps_text, deployment.words)
        untried = untried_bound(deployment)
        shortfall = _wide_answers_error(answers, deployment)
        claim = self._claim(deployment, numbers, text)
        return Reply(
            title=deployment.title(self.wording.format(**target)),
            facts=deployment.facts(**target) | facts | {"precise": shortfall is None},
            table=table,
            claim=claim,
            headline=f"{claim[0].removesuffix('.')} ({self.wording.format(**target)})",
            fallback=self._without_shuffler(deployment, claimed, delta, delta_text),
            legend=rows | {heading: COLUMNS[heading] for heading in COLUMNS if heading in table},
            notes=[*notes_on(deployment), *untried, *large, *notes],
            written=written,
            warnings=[*warnings(deployment), *untried, *large],
            bounds=tuple(answers),
            deployment=deployment,
            shortfall=shortfall,
        )

    def _text(self, sentence: str, deployment: Scenario, **parts: str) -> str:
        """Return a sentence, or a heading, in the words of what is sent."""
        words, seen = deployment.words, deployment.sample.seen.name
        return sentence.format(
            seen=seen, unit=words.unit, period=words.period, person=words.person, **parts
        )

    def _claim(self, deployment: Scenario, numbers: Mapping[str, float], text: str) -> list[str]:
        """Return what may be claimed, and what no claim may be."""
        covered = deployment.sample.covered
        whom = f" for {covered}, not for others" if covered else ""
        best = "best" if "best" in numbers else "blanket"
        is_one = numbers[best] == 1 and self.claim_of_one
        sentence = self.claim_of_one if is_one else self.claim
        usual = self._text(sentence, deployment, number=text, for_whom=whom)
        proven, ruled_out = (
            self._text(self.exceptions.get(key, ""), deployment)
            for key in (("blanket", numbers[best]), ("lower", numbers.get("lower", -1.0)))
        )
        # Where every claim is false, it adds nothing that none is known to hold.
        return [x for x in ((proven if not ruled_out else "") if proven else usual, ruled_out) if x]

    def _without_shuffler(
        self, deployment: Scenario, claimed: float, delta: float | None, delta_text: str
    ) -> list[str]:
        """Return what is left if the shuffler, or what stands in its place, fails."""
        hidden_by = deployment.sample.seen.hidden_by
        if deployment.words.no_cover:
            found: dict[str, Any] = {self.sought: claimed} if self.sought else {}
            return known_steps(deployment, found, delta, delta_text)
        if not deployment.has_local_privacy:
            return [f"If {hidden_by} fails, nothing protects a user's value."]
        eps0 = claimed if self.sought == "eps0" else deployment.round_protocol.eps0
        rounds = claimed if self.sought == "rounds" else deployment.times
        noise = deployment.gaussian_noise
        if noise is not None and delta is not None:
            return without_shuffler_at(delta, delta_text, noise, rounds)
        return without_shuffler(eps0, rounds, hidden_by=hidden_by)


def _wide_answers_error(
    answers: Mapping[str, Answer], deployment: Scenario
) -> PrecisionError | None:
    """Return the error that names the bounds whose answers are too wide; None if there is none."""
    wide = [
        (deployment.label(name), answer) for name, answer in answers.items() if answer.shortfall
    ]
    if not wide:
        return None
    sentences = "; ".join(f"{name}: {answer.shortfall}" for name, answer in wide)
    return PrecisionError(sentences, wide[0][1].enclosure)


DIVERGENCE_ROWS = {
    "best": "the smallest bound that is proven; you can claim it.",
    "blanket": "the {seen} are (epsilon, delta)-DP; you can claim it.",
    "lower": "two specific datasets achieve this; any smaller claim is false.",
    "stronger_clone": "the best bound for any mechanism with this eps0.",
}

epsilon = Question(
    name="epsilon",
    help="""What epsilon can you claim at a given delta?

    Example: shufflebounds epsilon krr --k 10 --eps0 4 -n 1e5 --delta 1e-6
    """,
    options=(
        *("eps0", *USERS, "delta", "rounds", "also"),
        rtol_option("1e-4 for one round, else 1e-3; for training 1e-3 and 0.01"),
        option(
            "--claim",
            OutputFile(),
            "Write a file of claims, which verify/verify.py proves again.",
            section=OUTPUT,
        ),
    ),
    solve=partial(solutions.solve_divergence, "epsilon"),
    target=("delta",),
    wording="delta = {delta!r}",
    column=f"epsilon (natural{KEPT_SPACE}log)",
    claim="You can claim epsilon = {number}{for_whom}.",
    rows=DIVERGENCE_ROWS,
    exceptions={
        ("blanket", math.inf): "No epsilon is known to hold at this delta.",
        ("lower", math.inf): "Two datasets rule out every epsilon at this delta.",
    },
).command()

delta = Question(
    name="delta",
    help="""What delta can you claim at a given epsilon?

    Example: shufflebounds delta krr --k 10 --eps0 4 -n 1e4 --eps 0.4
    """,
    options=(
        *("eps0", *USERS, "eps", "rounds", "also"),
        rtol_option("1e-4 for one round, else 0.05; for training 0.02 and 0.1"),
    ),
    solve=partial(solutions.solve_divergence, "delta"),
    target=("eps",),
    wording="epsilon = {eps!r} (natural log)",
    column="delta (probability)",
    claim="You can claim delta = {number}{for_whom}.",
    rows=DIVERGENCE_ROWS,
).command()

renyi = Question(
    name="renyi",
    help="""How large is the Renyi divergence of a given order?

    It is that of the worse direction.

    Example: shufflebounds renyi krr --k 10 --eps0 4 -n 1e5 --order 16
    """,
    options=("eps0", *USERS, "order", "rounds", rtol_option("2e-3")),
    solve=partial(solutions.solve_divergence, "renyi"),
    target=("order",),
    wording="order = {order!r}",
    column=f"Renyi divergence (natural{KEPT_SPACE}log)",
    claim="You can claim a Renyi divergence of {number}{for_whom}.",
    rows={
        "best": DIVERGENCE_ROWS["best"],
        "blanket": "the {seen} are (order, this)-RDP; you can claim it.",
        "lower": DIVERGENCE_ROWS["lower"],
        "stronger_clone": DIVERGENCE_ROWS["stronger_clone"],
        "girgis_upper": "a published bound for any mechanism with this eps0.",
    },
    exceptions={
        ("blanket", math.inf): "No divergence is known to hold at this order.",
        ("lower", math.inf): "Two datasets differ beyond all bounds at this order.",
    },
).command()

eps0 = Question(
    name="eps0",
    help="""What is the largest eps0 that meets a target?

    With --rounds it is the eps0 of each round, and all rounds together meet the target.

    Example: shufflebounds eps0 krr --k 10 -n 1e5 --eps 0.5 --delta 1e-6
    """,
    options=(
        *(*USERS, "eps", "delta", "rounds"),
        rtol_option(f"{solutions.EPS0_RTOL:g} for one round, else {solutions.ROUNDS_RTOL:g}"),
    ),
    solve=solutions.solve_eps0,
    target=("eps", "delta"),
    wording="target epsilon = {eps!r}, delta = {delta!r}",
    column=f"eps0 (natural{KEPT_SPACE}log)",
    claim="You can deploy eps0 = {number}{for_whom}.",
    rows={
        "best": "the largest proven to meet the target; you can deploy it.",
        "blanket": "with this eps0 the target is met; you can deploy it.",
        "lower": "with this eps0 two datasets miss the target; claims that allow it are false.",
        "stronger_clone": "the largest proven for every mechanism.",
    },
    exceptions={
        ("lower", math.inf): f"Not even eps0 = {validation.MAX_EPS0:g}, the largest that is "
        "allowed, is ruled out."
    },
    sought="eps0",
    safe="lower",
).command()


class UsersQuestion(Question):
    """The question for users, who may have to be enough for the error of an estimate, too."""

    def reply(self, deployment: Scenario, output: Output, **given: Any) -> Reply:
        """See `Question`."""
        error = given.pop("error")
        missing = [name for name in self.target if given[name] is None]
        if missing and (error is None or len(missing) < len(self.target)):
            raise ValueError(f"Missing option '--{missing[0]}'.")
        if error is None:
            return super().reply(deployment, output, **given)
        users = solutions.users_for_error(deployment, error)
        claim = f"A standard error of {error!r} needs {counted(users, 'user')}."
        if missing:
            reply = Reply(
                title=deployment.title(f"standard error {error!r}"),
                facts=deployment.facts(),
                claim=[claim],
                fallback=self._without_shuffler(deployment, users, None, ""),
                notes=notes_on(deployment),
                warnings=warnings(deployment),
                deployment=deployment,
            )
        else:
            reply = super().reply(deployment, output, **given)
        assert isinstance(reply.facts, Mapping)
        facts = {**reply.facts, "standard_error": error, "users_for_error": users}
        return replace(
            reply,
            facts=facts,
            claim=list(dict.fromkeys([*reply.claim, claim])),
            notes=[*reply.notes, ERROR_NOTE],
        )


ERROR_NOTE = (
    "The standard error is that of the share of users with a value, the root mean square over all "
    "values, or of the mean of numbers: of the worst data, and of the worst part if there are "
    "several. `shufflebounds choose` finds the mechanism with the smallest error."
)

users = UsersQuestion(
    name="users",
    help="""How many users are enough for a target, or for an error?

    With --rounds it is how many must report in each round, and all rounds together meet the target.
    Numbers of users are exact if possible. --error alone asks how many an estimate needs.

    Example: shufflebounds users krr --k 10 --eps0 4 --eps 0.5 --delta 1e-6
    """,
    options=(
        "eps0",
        *optional("eps", "delta"),
        number_option(validation.ERROR),
        *("colluding", "dropout", "rounds"),
        rtol_option(f"{solutions.USERS_RTOL:g} for one round, else {solutions.ROUNDS_RTOL:g}"),
    ),
    solve=solutions.solve_users,
    target=("eps", "delta"),
    wording="target epsilon = {eps!r}, delta = {delta!r}",
    column="{unit}s",
    claim="{number} {unit}s are enough{for_whom}.",
    claim_of_one="{number} {unit} is enough{for_whom}.",
    rows={
        "best": "the fewest proven to be enough.",
        "blanket": "this many {unit}s are enough.",
        "lower": "with fewer {unit}s two datasets miss the target.",
        "stronger_clone": "the fewest proven to be enough for any mechanism with this eps0.",
    },
    exceptions={("blanket", math.inf): "Not even 10^15 {unit}s are known to be enough."},
    sought="n",
).command()

rounds = Question(
    name="rounds",
    help="""How many rounds meet a target together?

    Rounds are separate shuffles of the same users, such as days, up to 1e6; a user spends eps0 in
    each.

    Example: shufflebounds rounds krr --k 10 --eps0 2 -n 1e5 --eps 0.5 --delta 1e-6
    """,
    options=("eps0", *USERS, "eps", "delta", rtol_option(f"{solutions.ROUNDS_RTOL:g}")),
    solve=solutions.solve_rounds,
    target=("eps", "delta"),
    wording="target epsilon = {eps!r}, delta = {delta!r}",
    column="{period}s",
    claim="You can run {number} {period}s{for_whom}.",
    claim_of_one="You can run {number} {period}{for_whom}.",
    rows={
        "best": "the largest number of {period}s proven to meet the target; you can run them.",
        "blanket": "this many {period}s together meet the target; you can run them.",
        "lower": "with more {period}s two datasets miss the target; claims that allow more are "
        "false.",
        "stronger_clone": "the largest number proven to meet it for any mechanism with this eps0.",
    },
    exceptions={
        ("blanket", 0): "Not even one {period} is known to meet the target.",
        ("lower", 0): "No {period} fits: a single {period} already exceeds the target.",
        ("lower", math.inf): f"Not even {validation.MAX_ROUNDS} {{period}}s are ruled out.",
    },
    sought="rounds",
    safe="lower",
).command()

noise = Question(
    name="noise",
    help="""How much noise does DP-SGD need for a target?

    The answer is the smallest noise multiplier: the standard deviation of the noise of a step, in
    units of the clipping norm. Without a name, steps are drawn by random_allocation;
    `shufflebounds mechanisms random_allocation` says what is assumed.

    Example: shufflebounds noise --steps 1000 --epochs 10 --eps 1 --delta 1e-6
    """,
    options=(
        *(*USERS, "eps", "delta", "rounds", "also"),
        rtol_option(f"{NOISE_RTOLS[0]:g} for one epoch, else {NOISE_RTOLS[1]:g}"),
    ),
    solve=solutions.solve_noise,
    target=("eps", "delta"),
    wording="target epsilon = {eps!r}, delta = {delta!r}",
    column="noise multiplier",
    claim="You can train with noise multiplier {number}{for_whom}.",
    rows={
        "best": "with this noise multiplier the target is met; you can train with it.",
        "lower": "with a smaller one two datasets miss the target.",
    },
    exceptions={
        (
            "blanket",
            math.inf,
        ): f"Not even a noise multiplier of {validation.MAX_NOISE:g} is known to be enough.",
        ("lower", 0.0): "The smallest noise multiplier that is tried is enough.",
    },
    sought="noise_multiplier",
    sender=RandomAllocation.NAME,
).command()
