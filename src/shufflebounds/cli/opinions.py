"""What every bound says of a claim, and what follows from all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from shufflebounds.bounds.base import Answer, Bound, Kind, Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.progress import one_by_one
from shufflebounds.cli.report import Report
from shufflebounds.cli.trivial import within_eps0
from shufflebounds.protocols.base import Protocol
from shufflebounds.setting import Setting

# Of one round each is the bound that it composes, or that bound by way of Rényi divergences.
_OF_SEVERAL_ROUNDS = frozenset(
    {
        "basic_composition",
        "advanced_composition",
        "optimal_composition",
        "clone_advanced",
        "upper_renyi",
        "clone_renyi",
        "stronger_clone_renyi",
    }
)
# By way of Rényi divergences, which takes longer than all others together and hardly ever decides.
_LAST = frozenset(
    {"upper_renyi", "clone_renyi", "stronger_clone_renyi", "girgis_upper", "girgis_simple"}
)


class Verdict(StrEnum):
    """What is known of a claim."""

    PROVEN = "proven"
    REFUTED = "refuted"
    OPEN = "open"


@dataclass(frozen=True)
class Opinion:
    """What one bound says of ε."""

    bound: Bound
    answer: Answer

    def verdict(self, eps: float) -> Verdict:
        """What follows for the claim of an ε from this bound alone."""
        found = self.answer.enclosure
        if self.bound.kind is Kind.UPPER and eps >= found.upper:
            return Verdict.PROVEN
        if self.bound.kind is Kind.LOWER and eps < found.lower:
            return Verdict.REFUTED
        return Verdict.OPEN

    def is_blurred(self, eps: float) -> bool:
        """Whether the bound might prove or refute an ε if it were computed more closely.

        Others than divergences enclose more than their own value, or are not computed to a width.
        """
        found = self.answer.enclosure
        decides = self.bound.is_divergence and self.bound.kind is not Kind.UNPROVEN
        return decides and found.lower <= eps < found.upper

    @property
    def end(self) -> float:
        """The end of its enclosure that may be relied on."""
        found = self.answer.enclosure
        return found.lower if self.bound.kind is Kind.LOWER else found.upper


def verdict_of(opinions: Iterable[Opinion], eps: float) -> Verdict:
    """What is known of the claim of an ε; no two proven bounds contradict each other."""
    verdicts = (one.verdict(eps) for one in opinions)
    return next((one for one in verdicts if one is not Verdict.OPEN), Verdict.OPEN)


def opinions_on(
    eps: float, report: Report, setting: Setting, numerics: Numerics
) -> tuple[dict[str, Opinion], list[str]]:
    """What every bound says that knows something of the reports, by its name, and notes on them.

    The upper and the lower bound come first; others that do not apply are left out, and so are slow
    ones unless the claim of `eps` is open without them. Raises ValueError for a mistake in the
    setting.
    """
    names = [name for name, bound in BOUNDS.items() if "epsilon" in bound.quantities]
    if setting.rounds in (None, 1):
        names = [name for name in names if name not in _OF_SEVERAL_ROUNDS]
    found = _asked([name for name in names if name not in _LAST], report, setting, numerics)
    if verdict_of(found.values(), eps) is Verdict.OPEN:
        found |= _asked([name for name in names if name in _LAST], report, setting, numerics)
    whole = report.reports.protocol(setting).eps0
    answers = {name: one.answer for name, one in found.items()}
    capped, notes = within_eps0(answers, whole, setting.rounds or 1)
    return {name: replace(found[name], answer=answer) for name, answer in capped.items()}, notes


def _asked(
    names: Iterable[str], report: Report, setting: Setting, numerics: Numerics
) -> dict[str, Opinion]:
    reports = report.reports
    found = {}
    for name, bound in one_by_one({name: BOUNDS[name] for name in names}):
        try:
            protocol: Protocol
            protocol = (reports.protocol if bound.knows_mechanism else reports.generic)(setting)
            [answer] = bound.prepare(protocol, "epsilon", numerics)([setting])
        except ValueError:
            # Not a bound of such reports, as of an infinite eps0, or not of several rounds.
            if name in ("upper", "lower"):
                raise
            continue
        found[name] = Opinion(bound, answer)
    return found


def interval(opinions: Mapping[str, Opinion]) -> tuple[float, float]:
    """Between which two numbers the smallest ε is that is true."""
    least = max(one.end for one in opinions.values() if one.bound.kind is Kind.LOWER)
    most = min(one.end for one in opinions.values() if one.bound.kind is Kind.UPPER)
    return least, most
