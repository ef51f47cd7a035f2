"""Sentences on what an answer rests on, which ``--explain`` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from shufflebounds.cli.scenario import Scenario, shown_eps0
from shufflebounds.core import validation
from shufflebounds.core.enclosure import outward
from shufflebounds.core.setting import Setting
from shufflebounds.core.words import counted
from shufflebounds.questions.intervals import has_affordable_suprema
from shufflebounds.randomizers.gaussian import local_epsilon
from shufflebounds.subjects.observation import REPORTS, Words

# Largest ε₀ whose e^ε₀ is printed as a number.
MAX_WRITTEN_EPS0 = 14.0
# Largest ε of all rounds that is printed without a note. An attacker for whom two values are
# equally likely may guess wrong with a probability of 1/(1 + e^ε), which is 1/22 000 here.
MAX_TELLING_EPS = 10.0
# Smallest e^ε₀ that is printed without decimals.
MIN_WHOLE_ODDS = 100.0
# Relative difference of the ε₀ of a matrix of rounded masses from the one that it was made for.
ROUNDED_MASSES = 1e-13


def warnings(deployment: Scenario) -> list[str]:
    """Return the notes that restrict what may be claimed, which no answer leaves out."""
    caveat = deployment.sample.caveat
    return [*([caveat] if caveat else []), *_warnings_on_draws(deployment)]


def _warnings_on_draws(deployment: Scenario) -> list[str]:
    """Return notes on what users draw again in every round, if there are several."""
    if deployment.has_one_round:
        return []
    notes = []
    if deployment.rate < 1.0:
        notes.append(
            "The sample is drawn again in every round: this does not hold for a panel that is "
            "drawn once and kept, which protects less. Ask about a panel by itself, with the "
            "number of its members as n and without --rate; docs/what-to-compose.md says what you "
            "can claim if its members stay secret."
        )
    if deployment.cohort is not None:
        notes.append(
            "This does not hold for a cohort that is drawn once and kept: ask about it by itself, "
            "with the number of its members as n and without --cohort."
        )
    if deployment.mechanism.type == "parallel":
        notes.append(
            "Every user draws a part again in every round: this does not hold for users who keep "
            "the part that they drew first."
        )
    return notes


def untried_bound(deployment: Scenario) -> list[str]:
    """Return a note if the bound for all datasets is not part of the best proven bound."""
    if not deployment.sends_reports:
        return []
    [shuffle] = deployment.sample.shuffles(deployment.some_users)
    is_composed = deployment.rounds is None or deployment.times > 1
    if is_composed and deployment.n is not None:
        is_tried = has_affordable_suprema(shuffle._replace(draws=deployment.honest))
    else:
        is_tried = bool(shuffle.source.crowds)
    if is_tried:
        return []
    if not deployment.has_blanket:
        return [
            f"{deployment.sample.label} has too many pairs of inputs to compare, so the stronger "
            "clone, which needs only eps0, stands for the blanket. The best proven bound may be "
            "larger than necessary."
        ]
    return [
        "The bound for all datasets was not tried, so the best proven bound may be larger than "
        "necessary. It needs crowds, which list all inputs of the other users. "
        f"{deployment.sample.label} has none, or too many (docs/own-mechanism.md)."
    ]


def notes_on(deployment: Scenario) -> list[str]:
    """Return what the answers rest on, the warnings among them."""
    if deployment.sends_reports:
        notes = [
            *_notes_on_matrices(deployment),
            *_notes_on_several_reports(deployment),
            *warnings(deployment),
            *_notes_on_users(deployment),
            *_notes_on_rounds(deployment),
        ]
    else:
        notes = _notes_on_messages(deployment)
    if not deployment.bounds(["lower"]):
        notes.append("There is no lower bound, since no pair of datasets is known.")
    return notes


def _notes_on_messages(deployment: Scenario) -> list[str]:
    notes = [
        *warnings(deployment),
        f"{deployment.sample.seen.page} states the assumptions on the protocol, and what its "
        "bounds give away.",
        *_notes_on_users(deployment),
    ]
    if not deployment.has_one_round:
        periods = f"{deployment.words.period}s"
        rounds = f"The {deployment.times} {periods}" if deployment.rounds else periods.capitalize()
        upper = deployment.label(deployment.sample.seen.upper)
        notes.append(deployment.words.rounds.format(rounds=rounds, upper=upper))
    return notes


def _has_numbered_inputs(deployment: Scenario) -> bool:
    """Return whether inputs are rows of a matrix, which fixes ε₀."""
    if not deployment.has_own_eps0:
        return False
    source = deployment.sample.shuffles(deployment.some_users)[0].source
    return any(source.blanket_inputs(name).inputs for name in source.blankets)


def _notes_on_matrices(deployment: Scenario) -> list[str]:
    if not _has_numbered_inputs(deployment):
        return []
    label, k = replace(deployment, rate=1.0, cohort=None).sent.label(Setting()), deployment.k_joint
    together = "" if k == 1 else "of all coordinates together "
    notes = [
        f"Inputs are the rows of {label}, counted from 0. All pairs of them {together}are "
        "compared, and the worst pair is named. Over several rounds no pair is named, since "
        "another may be the worst in each."
    ]
    if k > 1:
        notes.append(
            f"A user sends {k} reports together, one of every coordinate of the input. Each of "
            "them has the eps0 of the matrix; together they have "
            f"{shown_eps0(deployment.sample.eps0)}."
        )
    return notes


def _notes_on_several_reports(deployment: Scenario) -> list[str]:
    notes, k = [], deployment.k_joint
    if k > 1 and not _has_numbered_inputs(deployment):
        each = "" if deployment.has_own_eps0 else f" each at eps0/{k},"
        notes.append(
            f"A user sends {k} reports together,{each} one of every coordinate of the "
            "input. The bounds cover inputs that differ in any number of coordinates. For reports "
            "on separate days, shuffled separately, use --rounds instead."
        )
    if deployment.mechanism.type == "joint":
        notes.append(
            "A user sends the reports of all parts together, linked as one. Each part reports an "
            "attribute of its own and spends its share of eps0, an equal one if none is given. "
            "The bounds cover inputs that differ in any number of attributes."
        )
    if deployment.mechanism.type == "parallel":
        notes.append(
            "Every user draws a part anew for each report, in secret and whatever the value. If "
            "groups of users have parts of their own, name each by --group in place of parallel "
            "(docs/what-to-compose.md)."
        )
    if deployment.cohort is not None:
        notes.append(
            "n is public and counts all users, drawn or not, the same ones in both datasets. "
            f"Exactly {counted(deployment.cohort, 'report')} arrive. If users who do not answer "
            "are replaced, n counts those who would answer (docs/proofs/cohorts.md)."
        )
    if deployment.rate < 1.0:
        sender = "A user takes part" if k == 1 else "Each of these reports is sent"
        clone = (
            " The stronger clone ignores the rate: it is the bound for reports that are always "
            "sent."
        )
        notes.append(
            f"{sender} with probability {deployment.rate!r}. The draw is secret and independent of "
            "all else. n counts all users, whether they take part or not."
            f"{clone if deployment.has_eps0 else ''}"
        )
    return notes


def _notes_on_users(deployment: Scenario) -> list[str]:
    # If n is sought, the answer is a number of users.
    n, notes = deployment.n, []
    if deployment.dropout:
        users = "the answers" if n is None else counted(n, "user")
        notes.append(
            f"The share {deployment.dropout!r} of the users drops out: of {users}, "
            f"n(1 - {deployment.dropout!r}) report, rounded down."
        )
    if deployment.colluding:
        where = " and counted in the answers" if n is None else ""
        notes.append(
            f"Users who collude, {deployment.colluding} here{where}, work with the observer, "
            "drop out or break the protocol. They provide no cover for others: the answers are for "
            "the remaining users, whoever these are."
        )
    return notes


def _notes_on_rounds(deployment: Scenario) -> list[str]:
    if deployment.has_one_round:
        return []
    rounds = "Rounds" if deployment.rounds is None else f"The {deployment.times} rounds"
    spent = " A user spends eps0 in each." if deployment.has_eps0 else ""
    return [
        f"{rounds} are shuffled separately, with fresh randomness.{spent} "
        "The blanket covers everything published together, whatever the others report and "
        "however values are chosen from round to round. The lower bound is for the same two "
        "datasets in every round. For reports that are sent together, linked to each other, use "
        "--k-joint or joint instead."
    ]


def large_delta(deployment: Scenario, delta: float | None, text: str) -> list[str]:
    """Return a note on a δ above 1/n, which is printed as ``text``."""
    is_known = deployment.n is not None and not deployment.words.no_cover
    return large_delta_of(deployment.honest if is_known else None, delta, text)


def large_delta_of(users: int | None, delta: float | None, text: str) -> list[str]:
    """Return what `large_delta` does, for a number of users or, if it is not known, None."""
    if delta is None or users is None or delta * users <= 1.0:
        return []
    return [
        f"delta = {text} is above 1/n and protects nobody: even a protocol that publishes the "
        "inputs of some users satisfies it, with epsilon = 0. docs/choosing-delta.md says how to "
        "choose delta."
    ]


def large_epsilon(eps: float | None, text: str, words: Words = REPORTS.words) -> list[str]:
    """Return a note on an ε above `MAX_TELLING_EPS`, which is printed as ``text``."""
    if eps is None or not MAX_TELLING_EPS < eps < math.inf:
        return []
    return [f"epsilon = {text} protects nobody: {words.certainty}."]


def known_steps(
    deployment: Scenario, found: Mapping[str, float], delta: float | None, text: str
) -> list[str]:
    """Return what is left of training at a δ, printed as ``text``, if the steps are known.

    It is about the setting that was `found`, if one was sought.
    """
    is_empty = any(value in (0.0, math.inf) for value in found.values())
    if is_empty or deployment.also or delta is None or not validation.MIN_DELTA <= delta < 1.0:
        return []
    settings: dict[str, Any] = {
        name: value if name == "noise_multiplier" else int(value) for name, value in found.items()
    }
    known = replace(deployment, **settings)
    eps = known.round_protocol.epsilon_of_known_steps(known.honest, known.times, delta)
    if eps is None:
        return []
    shown, hidden_by = outward(eps, up=True, digits=4), known.sample.seen.hidden_by
    return [f"If {hidden_by} fails, epsilon = {shown} at delta = {text} remains."]


def without_shuffler(
    eps0: float | None,
    rounds: float | None,
    report_eps0: float | None = None,
    hidden_by: str = REPORTS.hidden_by,
) -> list[str]:
    """Return a sentence on what is left if the shuffler fails; none if there is no ε₀.

    ``eps0`` is that of everything a user sends in a round. ``rounds`` is None, or 0, if their
    number is not known. With ``report_eps0``, the ε₀ of one report, the sentence says what that
    reveals. ``hidden_by`` names what stands in place of the shuffler.
    """
    if eps0 is None:
        return []
    if math.isinf(eps0):
        return [f"If {hidden_by} fails, nothing remains, since eps0 is infinite."]
    remains = f"eps0 = {_rounded_up(eps0)} per round"
    if rounds == 1 and report_eps0 in (None, eps0):
        remains = f"eps0 = {_rounded_up(eps0)} remains"
    elif rounds and 1 < rounds < math.inf:
        # The total of the decimal number that was given: its float may be a little larger.
        total = _rounded_up(float(Decimal(repr(float(eps0))) * int(rounds)))
        remains += f", {total} over all {rounds} rounds"
    if report_eps0 is not None:
        remains += (
            "; one report then changes the odds of two inputs by a factor of up to "
            f"{_odds(report_eps0)}"
        )
    return [f"If {hidden_by} fails, {remains}."]


def without_shuffler_at(delta: float, text: str, noise: float, rounds: float) -> list[str]:
    """Return what is left of Gaussian reports at a δ, printed as ``text``; none if it is 0 or 1.

    ``noise`` is the σ with which one report of a round would say as much as all of them.
    """
    if not (validation.MIN_DELTA <= delta < 1.0 and 1 <= rounds < math.inf):
        return []
    eps = local_epsilon(noise, delta, int(rounds))
    over = f" over all {int(rounds)} rounds" if rounds > 1 else ""
    return [
        f"If the shuffler fails, epsilon = {outward(eps, up=True, digits=4)} at delta = {text} "
        f"remains{over}."
    ]


def _odds(eps0: float) -> str:
    """Return e^ε₀, rounded up."""
    if eps0 >= MAX_WRITTEN_EPS0:
        return f"e^{outward(eps0, up=True, digits=3)}"
    odds = math.exp(eps0)
    return outward(odds, up=True, digits=3) if odds < MIN_WHOLE_ODDS else f"{math.ceil(odds)}"


def _rounded_up(eps0: float) -> str:
    """Return ε₀ in six digits if these are exact, else in four.

    The ε₀ of a matrix is that of its rounded masses.
    """
    is_short = math.isclose(float(f"{eps0:g}"), eps0, rel_tol=ROUNDED_MASSES)
    return f"{eps0:g}" if is_short else outward(eps0, up=True, digits=4)
