"""A deployment as one object: who reports what on which days, and the ε of all of it together.

docs/deployments.md says what the keys of a description mean, and proves what is claimed of memoized
answers, of groups, and of numbers of users that are rounded.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from shufflebounds.accounting.composition import Round
from shufflebounds.accounting.deployment_description import (
    DailyReport,
    Days,
    DaysError,
    UserGroup,
    parse_deployment,
    read_days,
    read_description,
)
from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, WorkError
from shufflebounds.core.progress import steps
from shufflebounds.core.words import counted
from shufflebounds.core.work import BUDGET, budget
from shufflebounds.profiles.loss_sum import LossSum
from shufflebounds.profiles.losses import Losses
from shufflebounds.profiles.rounds import RoundKind, Rounds, RoundTarget
from shufflebounds.randomizers.base import Randomizer

if TYPE_CHECKING:
    import pandas as pd

# Most pairs of a mechanism and a number of users whose losses are computed. Each takes about 0.3 s.
# The numbers of users of more days are rounded, which widens ε by a few percent.
MAX_KINDS = 40
# Relative width of ε that the losses aim at.
LOSSES_RTOL = 3e-3
# Work that the bound for all datasets may take for each of these pairs. Beyond it, the blanket
# takes its place.
BEST_WORK = 0.1 * BUDGET


class SentReport(NamedTuple):
    """Shuffles of one randomizer in a group.

    ``users`` lists, for each day, a number of users that is at most the true one, one that is at
    least the true one, and the number of shuffles. A lower bound has no users if it is None.
    """

    report: DailyReport
    randomizer: Randomizer
    users: tuple[tuple[int, int | None, int], ...]


class RoundLosses(NamedTuple):
    """Losses above one round of a kind, and below it if such are known."""

    above: Losses
    below: Losses | None


class Deployment:
    """Reports that users send day after day, and the ε of all of them together.

    Parameters
    ----------
    content
        The description, as a file has it: ``reports`` by name, ``users`` and ``days``, ``dropout``,
        ``colluding``, ``groups``. docs/deployments.md explains every key.
    days
        Pairs (date, number of users) in place of ``users`` and ``days``.

    Raises
    ------
    ValueError
        For a key that is missing, unknown or out of range; the message names it.

    Examples
    --------
    >>> deployment = sb.Deployment({
    ...     "users": 100_000,
    ...     "days": 30,
    ...     "reports": {
    ...         "browser": {"mechanism": {"type": "krr", "k": 10}, "eps0": 2.0, "answers": "fresh"}
    ...     },
    ... })
    >>> f"{deployment.epsilon(delta=1e-7).upper:.2f}, {deployment.pure_epsilon:g} unshuffled"
    '0.16, 60 unshuffled'
    """

    def __init__(self, content: Mapping[str, Any], days: Days | None = None) -> None:
        self.content = dict(content) if isinstance(content, Mapping) else content
        self.description = parse_deployment(content, days)
        self.sent = {group.name: self._sent(group) for group in self.description.groups}
        shuffles = max(sum(x[2] for s in sent for x in s.users) for sent in self.sent.values())
        validation.whole("the number of shuffles", shuffles, 1, validation.MAX_ROUNDS)

    @classmethod
    def read(cls, path: str | Path, days: str | Path | None = None) -> Self:
        """Read a deployment from a YAML or JSON file.

        Parameters
        ----------
        path
            The description. YAML needs PyYAML, ``pip install pyyaml``; JSON needs nothing.
        days
            A CSV file with the columns ``date`` (2026-01-31) and ``n``, in place of ``users`` and
            ``days``.

        Returns
        -------
        Deployment
            The deployment.

        Raises
        ------
        ValueError
            For a file that cannot be read, and for its mistakes; the message names the place.
        """
        listed = None if days is None else read_days(Path(days))
        try:
            return cls(read_description(Path(path)), listed)
        except ValueError as error:
            known = str(error).startswith(str(path))
            file = days if days is not None and isinstance(error, DaysError) else path
            raise ValueError(str(error) if known else f"{file}: {error}") from None

    def __repr__(self) -> str:
        names = ", ".join(report.name for report in self.description.reports)
        return f"<Deployment: {names} on {counted(len(self.days), 'day')}>"

    @property
    def days(self) -> Days:
        """Dates, or numbers from 1, and the users of each day."""
        return self.description.days

    def _sent(self, group: UserGroup) -> tuple[SentReport, ...]:
        """Return what a group sends; days with many different n are rounded to fewer."""
        randomizers = [report.randomizer() for report in group.reports]
        daily = {
            r
            for report, r in zip(group.reports, randomizers, strict=True)
            if not report.is_memoized
        }
        counts = [self.description.honest(group, n) for _, n in self.days]
        levels = _levels(counts, max(MAX_KINDS // max(len(daily), 1), 2))
        fresh = [
            (levels[bisect_right(levels, n) - 1], levels[bisect_left(levels, n)]) for n in counts
        ]
        sent = []
        for report, randomizer in zip(group.reports, randomizers, strict=True):
            low, high = fresh[0] if report.same_users else (1, None)
            users = (
                ((low, high, report.times),)
                if report.is_memoized
                else tuple((*ends, report.times) for ends in fresh)
            )
            sent.append(SentReport(report, randomizer, users))
        return tuple(sent)

    @cached_property
    def is_rounded(self) -> bool:
        """Whether numbers of users are rounded, down for claims and up for lower ends."""
        return any(x[1] not in (None, x[0]) for s in self.sent.values() for y in s for x in y.users)

    @property
    def pure_epsilon(self) -> float:
        """The ε that remains, with δ = 0, if the shuffler fails; inf if nothing remains."""
        return max(pure_epsilon(sent, len(self.days)) for sent in self.sent.values())

    def epsilon(self, delta: float) -> Enclosure:
        """Enclose the smallest ε at which all reports of all days together are (ε, δ)-DP.

        Parameters
        ----------
        delta
            Target δ, 10⁻³⁰⁰ ≤ δ < 1.

        Returns
        -------
        Enclosure
            Of ε (natural log), of the group whose ε is largest. You can claim ``upper``.

        Raises
        ------
        ValueError
            For a δ outside this range.
        """
        return _largest(self.epsilon_of_groups(delta).values())

    def epsilon_of_groups(self, delta: float) -> dict[str, Enclosure]:
        """Return the ε of the members of each group, by its name.

        Parameters
        ----------
        delta
            Target δ, 10⁻³⁰⁰ ≤ δ < 1.

        Returns
        -------
        dict
            Enclosures of ε (natural log).
        """
        days = len(self.days)
        return {name: _epsilon_so_far(sent, delta, days, sent) for name, sent in self.sent.items()}

    def running_rows(self, delta: float) -> list[dict[str, Any]]:
        """Return the rows of `running` as dictionaries.

        Parameters
        ----------
        delta
            Target δ, 10⁻³⁰⁰ ≤ δ < 1.

        Returns
        -------
        list of dict
            One for each day.
        """
        count = len(self.days)
        ends = [
            _largest(_epsilon_so_far(x, delta, day, x) for x in self.sent.values())
            for day in steps(range(1, count + 1), "epsilon of days")
        ]
        # More days do not lower ε. So the bounds of one day hold for days before or after it.
        for i in reversed(range(count - 1)):
            upper = min(ends[i].upper, ends[i + 1].upper)
            ends[i] = Enclosure(min(ends[i].lower, upper), upper)
        for i in range(1, count):
            ends[i] = replace(ends[i], lower=max(ends[i].lower, ends[i - 1].lower))
        return [
            {
                "date": date,
                "n": n,
                "epsilon_lower": end.lower,
                "epsilon_upper": end.upper,
                "without_shuffler": max(pure_epsilon(x, day) for x in self.sent.values()),
            }
            for day, ((date, n), end) in enumerate(zip(self.days, ends, strict=True), start=1)
        ]

    def running(self, delta: float) -> pd.DataFrame:
        """Return the ε of all days so far, for each day.

        Parameters
        ----------
        delta
            Target δ, 10⁻³⁰⁰ ≤ δ < 1, of all days together.

        Returns
        -------
        DataFrame
            Columns ``date``, ``n``, ``epsilon_lower``, ``epsilon_upper`` and ``without_shuffler``.
            You can claim ``epsilon_upper``. Needs pandas.
        """
        import pandas as pd

        return pd.DataFrame(self.running_rows(delta))

    def share_rows(self, delta: float) -> list[dict[str, Any]]:
        """Return the rows of `shares` as dictionaries.

        Parameters
        ----------
        delta
            Target δ, 10⁻³⁰⁰ ≤ δ < 1.

        Returns
        -------
        list of dict
            One for each report.
        """
        totals, days = self.epsilon_of_groups(delta), len(self.days)
        name = max(totals, key=lambda group: totals[group].upper)
        sent = self.sent[name]
        rows = []
        for part in sent:
            others = tuple(x for x in sent if x is not part)
            alone = _epsilon_so_far(sent, delta, days, (part,))
            without = _epsilon_so_far(sent, delta, days, others) if others else Enclosure(0.0, 0.0)
            rows.append(
                {
                    "report": part.report.name,
                    "mechanism": str(part.report.mechanism),
                    "eps0": part.randomizer.eps0,
                    "shuffles": sum(x[2] for x in part.users),
                    "fewest_users": min(x[0] for x in part.users),
                    "alone": alone,
                    "without": without,
                    "without_shuffler": pure_epsilon((part,), days),
                }
            )
        return rows

    def shares(self, delta: float) -> pd.DataFrame:
        """Return what each report contributes, in the group whose ε is largest.

        Parameters
        ----------
        delta
            Target δ, 10⁻³⁰⁰ ≤ δ < 1.

        Returns
        -------
        DataFrame
            One row for each report. ``alone`` is the ε that you can claim if it is the only one,
            ``without`` the ε of all others together, each at δ. The sum of ``alone`` is larger
            than the total. ``without_shuffler`` is the ε that remains if the shuffler fails, and
            ``eps0`` that of what a user sends at once. Needs pandas.
        """
        import pandas as pd

        rows = [
            {**row, **{key: row[key].upper for key in ("alone", "without")}}
            for row in self.share_rows(delta)
        ]
        return pd.DataFrame(rows).set_index("report")


def pure_epsilon(sent: Sequence[SentReport], days: int) -> float:
    """Return the sum of the ε₀ of all answers of the first days, rounded up; inf without any."""
    total = Fraction(0)
    for part in sent:
        eps0 = part.randomizer.eps0
        if eps0 is None or math.isinf(eps0):
            return math.inf
        total += Fraction(eps0) * sum(x[2] for x in part.users[:days])
    nearest = float(total)
    return nearest if Fraction(nearest) >= total else math.nextafter(nearest, math.inf)


def _epsilon_so_far(
    sent: tuple[SentReport, ...], delta: float, days: int, parts: Sequence[SentReport]
) -> Enclosure:
    """Return the ε of the first days of some parts of what a group sends."""
    delta = validation.delta(delta)
    counts = _counts(sent, None)
    kinds = tuple((*key, max(both)) for key, both in counts.items())
    laws = dict(zip(counts, _round_losses(kinds, delta), strict=True))
    so_far = _counts(parts, days)
    upper = LossSum([(laws[key].above, times) for key, (times, _) in so_far.items() if times])
    end = min(upper.root(delta, LOSSES_RTOL, 1.0), pure_epsilon(parts, days))
    known = [
        (losses, times)
        for key, (_, times) in so_far.items()
        if times and (losses := laws[key].below) is not None
    ]
    lower = LossSum(known).root(delta, LOSSES_RTOL, -1.0) if known else 0.0
    return Enclosure(min(lower, end), end)


def _counts(
    parts: Sequence[SentReport], days: int | None
) -> dict[tuple[Randomizer, int], tuple[int, int]]:
    """Return how often each randomizer is used with each number of users, above and below."""
    counts: dict[tuple[Randomizer, int], tuple[int, int]] = {}
    for part in parts:
        for low, high, times in part.users[:days]:
            for n, above, below in ((low, times, 0), (high, 0, times)):
                if n is not None:
                    key = part.randomizer, n
                    before = counts.get(key, (0, 0))
                    counts[key] = before[0] + above, before[1] + below
    return counts


@lru_cache(maxsize=16)
def _round_losses(
    kinds: tuple[tuple[Randomizer, int, int], ...], delta: float
) -> tuple[RoundLosses, ...]:
    """Return losses above and below one round of each kind: randomizer, users, number of rounds.

    They hold for any number of rounds. The numbers only choose the nodes.
    """
    rounds = [Round(randomizer, n, times) for randomizer, n, times in kinds]
    with suppress(WorkError), budget(BEST_WORK * len(rounds)):
        return _losses_of_kinds(
            [RoundKind.of(round_.best, round_.times) for round_ in rounds], delta
        )
    return _losses_of_kinds([RoundKind.of(round_.simple, round_.times) for round_ in rounds], delta)


def _losses_of_kinds(kinds: Sequence[RoundKind], delta: float) -> tuple[RoundLosses, ...]:
    # The first pair of datasets is the one with the largest E G². Its first order serves all.
    rounds = Rounds([replace(kind, pairs=kind.pairs[:1]) for kind in kinds])
    curves = rounds.sums_for([RoundTarget(delta, math.nan, LOSSES_RTOL)]).curves
    return tuple(
        RoundLosses(curve.above(), curve.below(orders))
        for curve, orders in zip(curves, rounds.orders()[0], strict=True)
    )


def _largest(enclosures: Any) -> Enclosure:
    """Return the enclosure of the largest of several numbers."""
    ends = list(enclosures)
    return Enclosure(max(x.lower for x in ends), max(x.upper for x in ends))


def _levels(counts: Sequence[int], most: int) -> list[int]:
    """Return at most so many (2 or more) of the counts, the extremes among them, in order.

    ε² grows like the sum of 1/n, so a count is added where that changes most if the others are
    rounded down.
    """
    ordered = sorted(counts)
    levels = sorted({ordered[0], ordered[-1]})
    while len(levels) < min(most, len(set(ordered))):
        savings: dict[int, float] = {}
        for low, high in pairwise(levels):
            inside = ordered[bisect_right(ordered, low) : bisect_left(ordered, high)]
            for i, n in enumerate(inside):
                savings.setdefault(n, (len(inside) - i) * (1.0 / low - 1.0 / n))
        levels = sorted([*levels, max(savings, key=lambda n: savings[n])])
    return levels
