"""A deployment as one object: who reports what on which days, and the ε of all of it together.

docs/deployments.md says what the keys of a description mean, and proves what is claimed of memoized
answers, of groups, and of numbers of users that are rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, WorkError
from shufflebounds.core.progress import steps
from shufflebounds.core.relation import common_relation
from shufflebounds.core.words import counted
from shufflebounds.core.work import BUDGET, budget
from shufflebounds.profiles.profile import Quantity
from shufflebounds.profiles.rounds import RoundQuestion, Sums
from shufflebounds.questions.deployment_description import (
    DailyReport,
    Days,
    DaysError,
    UserGroup,
    parse_deployment,
    read_days,
    read_description,
)
from shufflebounds.questions.intervals import JoinedShuffles, View, fewer_kinds, joined, repeated
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.subjects.base import GivenSource, Shuffle, Source
from shufflebounds.subjects.cohort import Cohort
from shufflebounds.subjects.groups import GroupSource, PossibleSizes, Shares
from shufflebounds.subjects.reports import proven_eps0, source_of

if TYPE_CHECKING:
    import pandas as pd

# Relative width of ε that the losses aim at.
LOSSES_RTOL = 3e-3
# Work that the bound for all datasets may take for each kind of rounds. Beyond it, the blanket
# takes its place.
BEST_WORK = 0.1 * BUDGET


class SentReport(NamedTuple):
    """A report of a group: its randomizer, and its shuffles by the place of their day.

    Memoized answers are in the shuffles of the first day only.
    """

    report: DailyReport
    randomizer: Randomizer
    rounds: Mapping[int, Shuffle]

    @property
    def shuffles(self) -> int:
        """The number of shuffles of all days."""
        return sum(round_.times for round_ in self.rounds.values())

    @property
    def fewest_users(self) -> int:
        """The smallest number of users that upper bounds count on."""
        return min(round_.source.users(round_.draws) for round_ in self.rounds.values())

    @property
    def standard_error(self) -> float | None:
        """That of the estimate from a shuffle of the fewest users; None if there is no estimate.

        Memoized answers are those of the first day. There is none for cohorts.
        """
        if self.report.cohort is not None:
            return None
        users = min(round_.source.members(round_.most_draws) for round_ in self.rounds.values())
        try:
            errors = self.report.first_day_randomizer().errors(users)
        except ValueError:
            return None
        return max(error.standard_error for error in errors)

    def first_days(self, count: int) -> list[Shuffle]:
        """Return the shuffles of the first days of the deployment."""
        return [round_ for day, round_ in self.rounds.items() if day < count]


class SentReports:
    """All reports of a group, and the losses of their rounds.

    Rounds of the same reports are joined as `fewer_kinds` says.
    """

    def __init__(self, parts: Iterable[SentReport]) -> None:
        self.parts = tuple(parts)
        self._sums: dict[float, Sums] = {}

    @cached_property
    def rounds(self) -> list[tuple[SentReport, int]]:
        """The report and the day of every round."""
        return [(part, day) for part in self.parts for day in part.rounds]

    @cached_property
    def shuffles(self) -> list[Shuffle]:
        """The shuffles of these rounds."""
        return [part.rounds[day] for part, day in self.rounds]

    @cached_property
    def kinds(self) -> list[JoinedShuffles]:
        """The same, joined."""
        return fewer_kinds(self.shuffles)

    def __iter__(self) -> Iterator[SentReport]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    @cached_property
    def is_rounded(self) -> bool:
        """Whether numbers of users are rounded, down for claims and up for lower ends."""
        return len(self.kinds) < len(joined(self.shuffles))

    def epsilon(self, delta: float, parts: Sequence[SentReport], days: int) -> Enclosure:
        """Return the ε of some of the reports on the first days."""
        delta = validation.delta(delta)
        if not parts:
            return Enclosure(0.0, 0.0)
        ends = self._sums_at(delta).epsilon(delta, LOSSES_RTOL, self._times(parts, days))
        return _at_most(ends, pure_epsilon(parts, days))

    def running(self, delta: float, days: int) -> list[Enclosure]:
        """Return the ε of all reports of the first day, of the first two days, and so on.

        Days on which nothing is sent have that of the day before.
        """
        delta = validation.delta(delta)
        # The last day comes first: its ends are those of `epsilon`.
        active = sorted({day + 1 for part in self.parts for day in part.rounds}, reverse=True)
        times = (self._times(self.parts, day) for day in steps(active, "epsilon of days"))
        ends = self._sums_at(delta).epsilons(delta, LOSSES_RTOL, times)
        by_day = {
            day: _at_most(x, pure_epsilon(self.parts, day))
            for day, x in zip(active, ends, strict=True)
        }
        running, latest = [], Enclosure(0.0, 0.0)
        for day in range(1, days + 1):
            latest = by_day.get(day, latest)
            running.append(latest)
        return running

    def _times(self, parts: Iterable[SentReport], days: int) -> list[int]:
        """Return the numbers of rounds of each kind that some of the reports have in these days."""
        names = {part.report.name for part in parts}
        counts = [
            shuffle.times if part.report.name in names and day < days else 0
            for (part, day), shuffle in zip(self.rounds, self.shuffles, strict=True)
        ]
        return [sum(counts[place] for place in kind.places) for kind in self.kinds]

    def _sums_at(self, delta: float) -> Sums:
        """Return the losses of all kinds of rounds; they hold for any number of rounds."""
        if delta not in self._sums:
            self._sums[delta] = self._new_sums(delta)
        return self._sums[delta]

    def _best_work(self) -> float:
        """Return the work that the bounds for all datasets may take."""
        return BEST_WORK * sum(kind.shuffle.source.relative_work for kind in self.kinds)

    def _new_sums(self, delta: float) -> Sums:
        """Return losses, of the blanket if the bound for all datasets would cost too much."""
        target = RoundQuestion(Quantity.EPSILON, delta, LOSSES_RTOL)
        with suppress(WorkError), budget(self._best_work()):
            return repeated(self.shuffles).rounds.sums_for([target])
        return repeated(self.shuffles, View.SIMPLE).rounds.sums_for([target])


class Deployment:
    """Reports that users send day after day, and the ε of all of them together.

    Parameters
    ----------
    content
        The description, as a file has it: ``reports`` by name, ``users`` and ``days``, ``dropout``,
        ``colluding``, ``groups``, ``mixed``. docs/deployments.md explains every key.
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
        self.sent = {x.name: SentReports(self._parts(x)) for x in self.description.groups}
        shuffles = max(sum(x.shuffles for x in sent.parts) for sent in self.sent.values())
        validation.rounds(shuffles, "the number of shuffles")
        # How neighbouring datasets differ.
        self.relation = common_relation(
            "reports", (part.randomizer.relation for sent in self.sent.values() for part in sent)
        )

    @classmethod
    def read(cls, path: str | Path, days: str | Path | None = None) -> Self:
        """Read a deployment from a YAML or JSON file.

        Parameters
        ----------
        path
            The description. YAML needs PyYAML, ``pip install pyyaml``; JSON needs nothing.
        days
            A CSV file with the columns ``date`` (2026-01-31) and ``n``, in place of ``users`` and
            ``days``. Every date from the first to the last has a row, unless the description says
            otherwise.

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
    def days(self) -> tuple[tuple[str, int], ...]:
        """Dates, or numbers from 1, and the users of each day on which somebody reports."""
        return self.description.days

    @property
    def dates(self) -> tuple[str, str] | None:
        """The first date and the last one; None if days are numbered."""
        dates = sorted([date for date, _ in self.days] + [*self.description.silent_dates])
        return (dates[0], dates[-1]) if "-" in dates[0] else None

    @property
    def most_users(self) -> int:
        """The largest number of users of a day who do not drop out or collude, in all groups."""
        everybody = UserGroup("", Fraction(1), ())
        return max(self.description.honest(everybody, n) for _, n in self.days)

    def _parts(self, group: UserGroup) -> Iterable[SentReport]:
        """Yield what a group sends."""
        counts = [self.description.honest(group, n) for _, n in self.days]
        for place, report in enumerate(group.reports):
            randomizer = report.randomizer()
            source = source_of(randomizer)
            days = report.days[:1] if report.is_memoized else report.days
            rounds = {day: Shuffle(source, counts[day], report.times) for day in days}
            if report.cohort is not None:
                cohort = Cohort(randomizer, report.cohort)
                rounds = {
                    day: shuffle._replace(times=report.times)
                    for day in days
                    for shuffle in cohort.shuffles(counts[day])
                }
            if self.description.mixed:
                mixed = self._mixed_source(group, place)
                rounds = {day: Shuffle(mixed, self.days[day][1], report.times) for day in days}
            if report.needs_no_users:
                rounds = {days[0]: _unprotected(report, source, counts[days[0]])}
            yield SentReport(report, randomizer, rounds)

    def _mixed_source(self, group: UserGroup, place: int) -> Source:
        """Return what a report tells of a member of a group if all groups share its shuffler."""
        described = self.description
        reports = [x.reports[place] for x in described.groups]
        shares = tuple(x.share for x in described.groups)
        sizes = Shares(shares, described.dropout, described.colluding)
        victim = described.groups.index(group)
        try:
            randomizers = tuple(report.randomizer() for report in reports)
            # Reports with a large ε₀ provide the least cover.
            others = [i for i in range(len(reports)) if i != victim] or [victim]
            spare = max(others, key=lambda i: proven_eps0(randomizers[i]) or math.inf)
            return GroupSource(randomizers, sizes, PossibleSizes(sizes, spare), (victim,))
        except ValueError as error:
            raise ValueError(f"reports.{reports[0].name}: {error}") from None

    @cached_property
    def is_rounded(self) -> bool:
        """Whether numbers of users are rounded, down for claims and up for lower ends."""
        return any(sent.is_rounded for sent in self.sent.values())

    @property
    def pure_epsilon(self) -> float:
        """The ε that remains, with δ = 0, if the shuffler fails; inf if nothing remains."""
        return max(pure_epsilon(sent.parts, len(self.days)) for sent in self.sent.values())

    def epsilon(self, delta: float) -> Enclosure:
        """Enclose the smallest ε at which all reports of all days together are (ε, δ)-DP.

        Neighbouring datasets differ by the replacement of one user, with all values of all days.

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
        return largest_epsilon(self.epsilon_of_groups(delta).values())

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
        return {name: x.epsilon(delta, x.parts, days) for name, x in self.sent.items()}

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
        of_groups = [sent.running(delta, count) for sent in self.sent.values()]
        ends = [largest_epsilon(group_ends) for group_ends in zip(*of_groups, strict=True)]
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
                "without_shuffler": max(pure_epsilon(x.parts, day) for x in self.sent.values()),
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
        for part in sent.parts:
            others = [x for x in sent.parts if x is not part]
            rows.append(
                {
                    "report": part.report.name,
                    "mechanism": str(part.report.mechanism),
                    "eps0": part.randomizer.eps0,
                    "shuffles": part.shuffles,
                    "fewest_users": part.fewest_users,
                    "alone": sent.epsilon(delta, [part], days),
                    "without": sent.epsilon(delta, others, days),
                    "without_shuffler": pure_epsilon((part,), days),
                    "standard_error": part.standard_error,
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
            ``eps0`` that of what a user sends at once. ``standard_error`` is that of the estimate
            (`Randomizer.error`) on the day with the fewest users. Needs pandas.
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
        total += Fraction(eps0) * sum(x.times for x in part.first_days(days))
    nearest = float(total)
    return nearest if Fraction(nearest) >= total else math.nextafter(nearest, math.inf)


def _unprotected(report: DailyReport, source: Source, n: int) -> Shuffle:
    """Return the shuffle of a memoized answer that may stand alone.

    At best, it hides among the n users of the first day, who send it at its rate.
    """
    first = report.first_day_randomizer()
    if report.rate < 1.0:
        datasets, key = source_of(first).datasets, (source.key, first)
        source = GivenSource(source.blankets, datasets, source.eps0, key)
    return Shuffle(source, 1, report.times, lower_draws=n)


def _at_most(enclosure: Enclosure, limit: float) -> Enclosure:
    """Return an enclosure whose ends are at most a limit."""
    upper = min(enclosure.upper, limit)
    return Enclosure(min(enclosure.lower, upper), upper)


def largest_epsilon(enclosures: Iterable[Enclosure]) -> Enclosure:
    """Return the enclosure of the largest of several ε."""
    ends = list(enclosures)
    return Enclosure(max(x.lower for x in ends), max(x.upper for x in ends))
