"""Answers about training with random allocation, and the command that finds its noise."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from shufflebounds._version import __version__
from shufflebounds.bounds.base import Answer, attempt
from shufflebounds.cli.answers import ERROR, label, plain_answer, table_of_bounds
from shufflebounds.cli.notes import MAX_TELLING_EPS
from shufflebounds.cli.options import REQUIRED, command, option, rtol_option
from shufflebounds.cli.parameters import TRAINING
from shufflebounds.cli.reply import Output, Reply
from shufflebounds.cli.values import WHOLE
from shufflebounds.core.enclosure import PrecisionError, outward
from shufflebounds.core.relation import Relation
from shufflebounds.questions.searches import smallest_noise_multiplier
from shufflebounds.questions.training import Training

# Meanings of the rows of an answer about ε or δ, and of one about the noise.
ROWS = {
    "best": "training is (epsilon, delta)-DP; you can claim it.",
    "lower": "an example whose clipped gradient is the same unit vector in every step achieves "
    "this; any smaller claim is false.",
}
NOISE_ROWS = {
    "best": "with this noise multiplier the target is met; you can train with it.",
    "lower": "with a smaller one the target is missed.",
}


def training_reply(
    training: Training,
    output: Output,
    *,
    quantity: str,
    target: str,
    wording: str,
    column: str,
    **given: Any,
) -> Reply:
    """Return the reply to the question for ε at δ, or for δ at ε; `target` is the other one."""
    at = given[target]
    answer = attempt(partial(getattr(training, quantity), at, given["rtol"]))
    text = output.text(answer.enclosure.upper, up=True)
    claim = f"You can claim {quantity} = {text}."
    if answer.enclosure.upper == math.inf:
        claim = "No epsilon is known to hold at this delta."
    eps, shown = (answer.enclosure.upper, text) if quantity == "epsilon" else (at, repr(at))
    return _reply(
        {
            "noise_multiplier": training.noise_multiplier,
            "steps": training.steps,
            "epochs": training.epochs,
        },
        {target: at},
        wording.format(**{target: at}),
        answer,
        column,
        [claim, _remains(quantity, getattr(training, f"{quantity}_without_secret")(at))],
        f"--epochs 1 --noise-multiplier {outward(training.noise_of_kept_steps, up=False)}",
        ROWS,
        _large_epsilon(eps, shown),
        output,
    )


@command(
    option(
        "--steps",
        WHOLE,
        "Number of steps of an epoch, such as 1000.",
        required=True,
        metavar="T",
        section=REQUIRED,
    ),
    option(
        "--epochs",
        WHOLE,
        "Number of epochs, in each of which steps are redrawn, up to 1e6.",
        default=1,
        metavar="E",
    ),
    *("eps", "delta"),
    rtol_option("0.01 for one epoch, else 0.02"),
    *("json", "explain"),
)
def noise(
    steps: int, epochs: int, eps: float, delta: float, rtol: float | None, output: Output
) -> Reply:
    """How much noise does DP-SGD need for a target?

    Steps are drawn by random allocation. The answer is the smallest noise multiplier: the standard
    deviation of the noise of a step, in units of the clipping norm. `shufflebounds mechanisms
    random_allocation` says what is assumed.

    Example: shufflebounds noise --steps 1000 --epochs 10 --eps 1 --delta 1e-6
    """
    ask = partial(smallest_noise_multiplier, eps, delta, steps=steps, epochs=epochs, rtol=rtol)
    try:
        answer = attempt(ask)
    except ValueError as error:  # it names the argument in Python
        raise ValueError(re.sub("^target ", "--eps ", str(error))) from None
    multiplier, claim = answer.enclosure.upper, ["No noise multiplier is known to be enough."]
    if multiplier < math.inf:
        remains = Training(multiplier, steps, epochs).epsilon_without_secret(delta)
        text = output.text(multiplier, up=True)
        claim = [f"You can train with noise multiplier {text}.", _remains("epsilon", remains)]
    return _reply(
        {"steps": steps, "epochs": epochs},
        {"eps": eps, "delta": delta},
        f"target epsilon = {eps!r}, delta = {delta!r}",
        answer,
        "noise multiplier",
        claim,
        f"--epochs 1, and multiply that noise by {outward(math.sqrt(epochs), up=True)}",
        NOISE_ROWS,
        _large_epsilon(eps, repr(eps)),
        output,
    )


def _reply(
    parameters: Mapping[str, float],
    target: Mapping[str, float],
    wording: str,
    answer: Answer,
    column: str,
    claim: list[str],
    question_for_kept_steps: str,
    rows: Mapping[str, str],
    warnings: list[str],
    output: Output,
) -> Reply:
    """Return the reply whose two rows are both ends of an answer.

    ``question_for_kept_steps`` says what to ask if examples keep their steps over all epochs.
    """
    answers = {name: answer for name in rows}
    table = table_of_bounds(answers, {"best": "upper", "lower": "lower"}, column, label, output)
    listed = ", ".join(f"{name} = {value!r}" for name, value in parameters.items())
    assumed = _assumptions(int(parameters["steps"]))
    if parameters["epochs"] > 1:
        warnings = [
            "Steps are redrawn in every epoch: an example that keeps its step over all epochs, as "
            "in BallsInBinsSampling of JAX Privacy, is protected less. Ask about "
            f"{question_for_kept_steps}.",
            *warnings,
        ]
    relation = Relation.ADD_OR_REMOVE
    facts = {"version": __version__, "protocol": TRAINING, "parameters": dict(parameters)}
    ends = {name: plain_answer(answer) for name in rows}
    return Reply(
        title=f"Training with random allocation ({listed}), {relation.short}, {wording}",
        facts=facts
        | {"relation": relation}
        | dict(target)
        | ends
        | {"precise": not answer.shortfall},
        table={heading: cells for heading, cells in table.items() if heading != ERROR},
        claim=claim,
        legend={label(name): meaning for name, meaning in rows.items()},
        notes=[*assumed, *warnings],
        warnings=[assumed[0], *warnings],
        shortfall=PrecisionError(answer.shortfall, answer.enclosure) if answer.shortfall else None,
    )


def _assumptions(steps: int) -> list[str]:
    """Return the notes on what an answer rests on."""
    return [
        "Assumed: in every epoch each example joins one step, redrawn in secret (step = "
        f"rng.integers({steps}, size=N)), and neighbours differ by one example that is added or "
        "removed; fixed-size batches of a shuffled dataset are not covered. They are another "
        "mechanism: replace the shuffle in your data loader by this draw. The sizes of batches "
        f"vary then; divide the noisy sum of a step by the expected size, N/{steps}. Poisson "
        "sampling is another mechanism, too.",
        "Replacing an example is removing one and adding one: it is (2 epsilon, (1 + e^epsilon) "
        "delta)-DP if training is (epsilon, delta)-DP here.",
        "A step publishes the sum of gradients, clipped to norm C, with normal noise whose "
        "standard deviation is C times the noise multiplier. Gradients may depend on everything "
        "published before. docs/proofs/random-allocation.md proves it.",
    ]


def _remains(quantity: str, value: float) -> str:
    """Return the sentence on what is left if the steps of examples are known."""
    number = outward(value, up=True, digits=4)
    return f"If an attacker knows which steps an example would join, {quantity} = {number} remains."


def _large_epsilon(eps: float, text: str) -> list[str]:
    """Return a note on an ε above `MAX_TELLING_EPS`, which is printed as ``text``."""
    if not MAX_TELLING_EPS < eps < math.inf:
        return []
    return [
        f"epsilon = {text} protects nobody: an attacker may be certain whether an example was used."
    ]
