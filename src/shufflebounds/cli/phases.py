"""The answer of `account` about phases of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shufflebounds._version import __version__
from shufflebounds.cli.answers import plain_ends
from shufflebounds.cli.notes import large_epsilon
from shufflebounds.cli.questions import DIVERGENCE_ROWS
from shufflebounds.cli.reply import Output, Reply, or_value_error
from shufflebounds.cli.tables import csv_text
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.words import counted
from shufflebounds.curves.files import write_text
from shufflebounds.protocols.training import STEPS
from shufflebounds.questions.training_phases import TrainingPhases

# Columns of the table, and what they mean.
ALONE, SO_FAR = "epsilon alone", "epsilon so far"
LEGEND = {
    ALONE: "what you could claim at the same delta if this were the only phase.",
    SO_FAR: "what you can claim for this phase and all before it.",
}


def phases_reply(
    path: Path, training: TrainingPhases, delta: float, running: Path | None, output: Output
) -> tuple[Reply, Enclosure]:
    """Return the answer without a verdict on a budget, and the ε of all phases.

    It writes the ε of all phases so far to a CSV file, if one is named.
    """
    rows = training.rows(delta)
    total: Enclosure = rows[-1]["so_far"]
    if running is not None:
        or_value_error(
            running, lambda: write_text(csv_text([_running_row(row) for row in rows]), running)
        )
    text = output.text(total.upper, up=True)
    large = large_epsilon(total.upper, text, STEPS.words)
    phases = counted(len(rows), "phase")
    relation = training.relation.short_of(STEPS.words.person)
    composed = (
        f"The {phases} are composed in their order. Each has a secret draw and noise of its own; "
        "gradients may depend on everything published before."
    )
    reply = Reply(
        title=f"{path.name}: {phases} of training, {relation}, delta = {delta!r}",
        facts={
            "version": __version__,
            "training": training.content,
            "relation": training.relation,
            "delta": delta,
            "epsilon": plain_ends(total),
            "phases": [{key: plain_ends(row[key]) for key in ("alone", "so_far")} for row in rows],
        },
        table=_phases_table(rows, total, output),
        fallback=[f"If {STEPS.hidden_by} fails, the noise of each step remains."],
        legend=LEGEND | {"lower bound": DIVERGENCE_ROWS["lower"]},
        notes=[*training.caveats, composed, *large],
        warnings=[*training.caveats, *large],
        bounds=("best", "lower"),
        seen=STEPS,
    )
    return reply, total


def _phases_table(
    rows: Sequence[Mapping[str, Any]], total: Enclosure, output: Output
) -> dict[str, list[str]]:
    """Return a row for each phase, and the lower end of all of them."""
    cells = [
        (
            row["phase"].text,
            str(row["phase"].steps),
            str(row["phase"].epochs),
            *(output.text(row[key].upper, up=True) for key in ("alone", "so_far")),
        )
        for row in rows
    ]
    cells.append(("lower bound", "", "", "", output.text(total.lower, up=False)))
    columns = zip(("", "steps", "epochs", ALONE, SO_FAR), zip(*cells, strict=True), strict=True)
    return {heading: list(column) for heading, column in columns}


def _running_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the file of ``--running``: the ε of all phases so far."""
    phase, so_far = row["phase"], row["so_far"]
    return {
        "phase": phase.text,
        "steps": phase.steps,
        "epochs": phase.epochs,
        "epsilon_lower": so_far.lower,
        "epsilon_upper": so_far.upper,
    }
