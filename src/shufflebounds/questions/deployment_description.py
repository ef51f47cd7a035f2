"""Descriptions of deployments: their files, their keys, and one sentence for each mistake.

docs/deployments.md explains the keys, and docs/deployment.schema.json has them for editors.
"""

from __future__ import annotations

import csv
import datetime
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from shufflebounds.core import validation
from shufflebounds.core.number import Number, Real, Whole
from shufflebounds.core.validation import Count
from shufflebounds.core.words import counted
from shufflebounds.protocols.registry import PROTOCOLS
from shufflebounds.questions.deployment_calendar import (
    CALENDAR_KEYS,
    Period,
    parsed_date,
    sending_days,
)
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.description import Description, parse, require_keys
from shufflebounds.randomizers.joint import Joint
from shufflebounds.randomizers.mixed import Subsampled

# Keys of a description, of each of its reports and of each of its groups, with the numbers that
# they hold. `reproduction.configuration.deployment_schema` says what the others mean.
Keys: TypeAlias = Mapping[str, Number[Any] | None]
DEPLOYMENT_KEYS: Keys = {
    "reports": None,
    "users": replace(
        validation.N, name="users", meaning="users of every day, if there is no CSV file of days"
    ),
    "days": Whole(
        "days", "number of days, if there is no CSV file of days", ge=1, le=validation.MAX_ROUNDS
    ),
    "dropout": replace(
        validation.DROPOUT, meaning=f"{validation.DROPOUT.meaning}; all may be in one group"
    ),
    "colluding": validation.COLLUDING,
    **dict.fromkeys(("groups", "mixed", "missing_days")),
}
REPORT_KEYS: Keys = {
    **dict.fromkeys(("mechanism", "answers")),
    "eps0": replace(
        validation.EPS0,
        meaning="local epsilon (natural log) of one answer; left out if the mechanism has its own",
    ),
    "same_users": None,
    "per_day": replace(validation.ROUNDS, name="per_day", meaning="number of answers a day"),
    "linked": None,
    "rate": validation.RATE,
    "cohort": validation.COHORT,
    **dict.fromkeys(CALENDAR_KEYS),
    "every": replace(
        validation.ROUNDS,
        name="every",
        meaning="days from one report to the next, counted from the first: 7 for a weekly one",
    ),
}
GROUP_KEYS: Keys = {
    "share": Real("share", "smallest share of the users of a day who are in the group", gt=0, le=1),
    "eps0": None,
}
# Keys that may not be left out.
REQUIRED = ("reports", "mechanism", "answers", "share")
ANSWERS = ("fresh", "memoized")
# What dates without a row mean: a mistake, or that nobody reported.
MISSING_DAYS = ("refuse", "no_reports")
# Most stretches of dates that a message names.
MAX_STRETCHES = 5

# Users of each day: a date or a number, and how many.
Days: TypeAlias = Sequence[tuple[str, Count]]


class DaysError(ValueError):
    """A mistake in the users of a day, which a file of days may have."""


@dataclass(frozen=True)
class DailyReport:
    """What every user reports on some days: one entry of ``reports`` in a description.

    ``days`` are the places of these days among those on which somebody reports. ``per_day``
    answers, each at ``eps0`` and sent with probability ``rate``, are shuffled separately, or sent
    together as one report if they are ``linked``. If there is a ``cohort``, exactly so many users
    are drawn anew for each shuffle, and no others send the report. Memoized answers are drawn once
    and repeated on each of the days, by the ``same_users`` or by others.
    """

    name: str
    mechanism: Description
    eps0: float | None
    is_memoized: bool
    same_users: bool
    per_day: int
    is_linked: bool
    rate: float
    days: Sequence[int]
    cohort: int | None = None

    def __post_init__(self) -> None:
        place = f"reports.{self.name}."
        if self.same_users and self.rate < 1.0:
            raise ValueError(
                f"{place}same_users must be false: with a rate, senders differ every day"
            )
        if self.cohort is not None and (self.rate < 1.0 or self.is_memoized):
            why = "there is a rate" if self.rate < 1.0 else "answers are memoized"
            raise ValueError(f"{place}cohort must be left out, since {why}")
        if self.is_linked:
            validation.K_JOINT.check(self.per_day, f"{place}per_day")

    @property
    def is_repeated(self) -> bool:
        """Whether an answer is sent again on a later day."""
        return self.is_memoized and len(self.days) > 1

    @property
    def times(self) -> int:
        """The number of shuffles in a day."""
        return 1 if self.is_linked else self.per_day

    @property
    def needs_no_users(self) -> bool:
        """Whether nothing but ε₀ protects the answer, since it may stand alone."""
        return self.is_repeated and not self.same_users

    def randomizer(self) -> Randomizer:
        """Return the randomizer of one shuffle.

        An answer that is repeated is sent sooner or later, whatever the rate.
        """
        return self.first_day_randomizer() if not self.is_repeated else self._randomizer(1.0)

    def first_day_randomizer(self) -> Randomizer:
        """Return the randomizer of a shuffle of the first day on which the report is sent."""
        return self._randomizer(self.rate)

    def _randomizer(self, rate: float) -> Randomizer:
        """Return the randomizer of a shuffle of answers that are sent at a rate."""
        try:
            randomizer = self.mechanism.randomizer(self.eps0)
            if rate < 1.0:
                randomizer = Subsampled(randomizer, rate)
            return Joint([randomizer] * self.per_day) if self.is_linked else randomizer
        except ValueError as error:
            raise ValueError(f"reports.{self.name}: {error}") from None


class UserGroup(NamedTuple):
    """Users with ε₀ of their own: at least a ``share`` of the users of every day."""

    name: str
    share: Fraction
    reports: tuple[DailyReport, ...]


@dataclass(frozen=True)
class DeploymentDescription:
    """A description whose keys were checked.

    ``days`` has dates, or numbers from 1, with their users. On ``silent_dates`` nobody reports.
    ``dropout`` is the share of users who report on no given day, and ``colluding`` the number of
    those who collude, at most. Groups are ``mixed`` if they share the shufflers.
    """

    days: tuple[tuple[str, int], ...]
    silent_dates: tuple[str, ...]
    reports: tuple[DailyReport, ...]
    groups: tuple[UserGroup, ...]
    dropout: Fraction
    colluding: int
    mixed: bool = False

    def __post_init__(self) -> None:
        for report in self.reports:
            self._check_cohort(report)
        for group in self.groups:
            where = f" in group {group.name}" if len(self.groups) > 1 else ""
            for day, n in self.days:
                if self.honest(group, n) < 1:
                    why = ", all of whom may be in one group" if where else ""
                    raise DaysError(
                        f"n must be larger on day {day}: of {counted(n, 'user')} none is left"
                        f"{where} without those who drop out or collude{why}"
                    )
        for report in self.reports:
            same = report.is_repeated and report.same_users
            if same and (self.dropout or len({self.days[i][1] for i in report.days}) > 1):
                why = "dropout is above 0" if self.dropout else "n differs from day to day"
                raise ValueError(
                    f"reports.{report.name}.same_users must be false, since {why}: then two days "
                    "differ by the reports of those who were away"
                )

    def _check_cohort(self, report: DailyReport) -> None:
        """Raise ValueError for the cohort of a report if it is too large, or cannot be bounded."""
        if report.cohort is None:
            return
        place = f"reports.{report.name}.cohort"
        if self.dropout or self.colluding:
            what = "dropout" if self.dropout else "colluding"
            raise ValueError(
                f"{place} must be left out, since {what} is above 0: how many of those who are "
                "drawn then provide cover is random"
            )
        if len(self.groups) > 1 or self.groups[0].share < 1:
            raise ValueError(f"{place} must be left out with groups: it is drawn from all users")
        for day, n in (self.days[i] for i in report.days):
            if n < report.cohort:
                raise ValueError(
                    f"{place} must be at most {n}, the number of users of day {day}, got "
                    f"{report.cohort}"
                )

    def honest(self, group: UserGroup, n: int) -> int:
        """Return how many members of a group provide cover for each other, of a day's n users.

        All users who drop out or collude may be members of this group.
        """
        return math.floor(n * group.share) - math.ceil(n * self.dropout) - self.colluding


def parse_deployment(content: Mapping[str, Any], days: Days | None) -> DeploymentDescription:
    """Return a description; ValueError, which names the key, for a mistake."""
    if not isinstance(content, Mapping):
        shown = "nothing" if content is None else repr(content)
        raise ValueError(f"a deployment must be a mapping with the key reports, got {shown}")
    numbers = _numbers("", "a deployment", content, DEPLOYMENT_KEYS)
    entries = _mapping("reports", content["reports"])
    active_days, silent_dates = _days(content, numbers, days)
    labels = [label for label, _ in active_days]
    period = Period.of([*labels, *silent_dates])
    active = [period.number(label) for label in labels]
    reports = tuple(_report(name, entry, period, active) for name, entry in entries.items())
    return DeploymentDescription(
        active_days,
        silent_dates,
        reports,
        _groups(content.get("groups"), reports),
        Fraction(repr(numbers["dropout"])),
        numbers["colluding"],
        _truth("mixed", content.get("mixed", False)) and "groups" in content,
    )


def read_description(path: Path) -> Any:
    """Return the content of a YAML or JSON file; ValueError, which names it, for its mistakes."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        return _json(text) if path.suffix == ".json" else _yaml(text)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: the file must be text in UTF-8") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _json(text: str) -> Any:
    """Return the content of a JSON text; ValueError for what JSON refuses."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"line {error.lineno}: it is not valid JSON ({error.msg}): it must be one object such "
            'as {"users": 1000, "days": 1, "reports": {...}}, with names in double quotes and '
            "without comments or trailing commas"
        ) from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _yaml(text: str) -> Any:
    """Return the content of a YAML text; ValueError for what YAML refuses or takes silently."""
    try:
        import yaml
    except ImportError:
        raise ValueError(
            "YAML needs PyYAML: `pip install pyyaml`, or write the description as a .json file"
        ) from None

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
            pairs = [
                (self.construct_object(key, deep=True), self.construct_object(value, deep=True))
                for key, value in node.value
            ]
            return _once(pairs)

    # Dates stay texts: a wrong one has a message of its own.
    Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: node.value)
    try:
        return Loader(text).get_single_data()
    except (yaml.YAMLError, RecursionError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or "it is nested too deep or has no text as a key"
        raise ValueError(f"{place}it is not valid YAML: {problem}") from None


def _once(pairs: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a mapping; ValueError for a key that is given twice."""
    mapping: dict[Any, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise ValueError(f"{key} is given twice; give it once")
        mapping[key] = value
    return mapping


def read_days(path: Path) -> list[tuple[str, int]]:
    """Return the dates and numbers of users in a CSV file; ValueError, with the line, otherwise."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, restkey="", restval=None)
            names = [name.strip() for name in table.fieldnames or []]
            if not {"date", "n"} <= {*names}:
                raise ValueError(
                    f"{path}: line 1 must name the columns date and n, separated by commas, got "
                    f"{', '.join(names) or 'nothing'}"
                )
            table.fieldnames = names
            days = [(table.line_num, row["date"], row["n"], row.get("")) for row in table]
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: the file must be text in UTF-8") from None
    checked = []
    for line, date, n, further_cells in days:
        try:
            if further_cells:
                raise ValueError(f"a line has {len(names)} cells, got more")
            checked.append(_day(date, n))
        except ValueError as error:
            raise ValueError(f"{path}: line {line}: {error}") from None
    try:
        return _ordered(checked)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _day(date: Any, n: Any) -> tuple[str, int]:
    """Return a date, such as 2026-01-31, and a number of users."""
    date = parsed_date("date", date)
    if isinstance(n, str) and not n.strip():
        raise ValueError("n is missing: write the number of users, 0 if nobody reported")
    return date, replace(validation.N, ge=0).parse(n)


def _ordered(days: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the days in order; ValueError for none, and for a date that is given twice."""
    if not days:
        raise ValueError("there must be one day or more, got none")
    days = sorted(days)
    for (date, _), (other, _) in pairwise(days):
        if date == other:
            raise ValueError(f"date {date} is given twice; give the users of each day once")
    return days


def _days(
    content: Mapping[str, Any], numbers: Mapping[str, Any], days: Days | None
) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
    """Return the users of each day on which somebody reports, and the dates of the other days.

    The days are those of the description or beside it.
    """
    given = [key for key in ("users", "days") if key in content]
    missing = validation.choice(
        "missing_days", content.get("missing_days", MISSING_DAYS[0]), MISSING_DAYS
    )
    if days is not None:
        if given:
            raise ValueError(f"{given[0]} must be left out if there is a list of days")
        listed = _ordered([_day(*day) for day in validation.pairs("days", days, "(date, n)")])
        return _active_days(listed, is_complete=missing == "refuse")
    if len(given) < 2:
        missing = "days" if "users" in content else "users"
        raise ValueError(
            f"{missing} is missing; a deployment needs users and days, or a CSV file of days"
        )
    return tuple((str(day), numbers["users"]) for day in range(1, numbers["days"] + 1)), ()


def _active_days(
    listed: Sequence[tuple[str, int]], *, is_complete: bool
) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
    """Return the days on which somebody reports, and the dates of the other days.

    Raises DaysError for dates without a row, if the days have to be complete.
    """
    first, last = (datetime.date.fromisoformat(listed[i][0]) for i in (0, -1))
    dates = [
        (first + datetime.timedelta(days)).isoformat() for days in range((last - first).days + 1)
    ]
    missing = sorted({*dates} - {date for date, _ in listed})
    if missing and is_complete:
        has = "has" if len(missing) == 1 else "have"
        raise DaysError(
            f"{len(missing)} of the {len(dates)} dates from {dates[0]} to {dates[-1]} {has} no "
            f"row: {stretches_of(missing)}; add a row for each, with n = 0 if nobody reported, or "
            "write missing_days: no_reports in the description if nobody reports on dates without "
            "a row"
        )
    active = tuple(day for day in listed if day[1])
    if not active:
        raise DaysError("n must be 1 or more on some day, got 0 on all days")
    silent = {*missing} | {date for date, n in listed if not n}
    return active, tuple(sorted(silent))


def stretches_of(dates: Sequence[str]) -> str:
    """Return ascending dates as text, such as ``2026-01-03, 2026-01-05 to 2026-01-08``."""
    stretches: list[list[datetime.date]] = []
    for date in map(datetime.date.fromisoformat, dates):
        if stretches and date - stretches[-1][-1] == datetime.timedelta(1):
            stretches[-1][1:] = [date]
        else:
            stretches.append([date])
    texts = [" to ".join(date.isoformat() for date in ends) for ends in stretches]
    more = [f"{len(texts) - MAX_STRETCHES} more"] if len(texts) > MAX_STRETCHES else []
    return ", ".join([*texts[:MAX_STRETCHES], *more])


def _report(name: str, entry: Any, period: Period, active_days: Sequence[int]) -> DailyReport:
    """Return an entry of ``reports``; ValueError for its mistakes.

    On the `active_days` of the period, somebody reports.
    """
    place = f"reports.{name}."
    entry = _mapping(f"reports.{name}", entry)
    numbers = _numbers(place, "a report", entry, REPORT_KEYS)
    is_memoized = validation.choice(f"{place}answers", entry["answers"], ANSWERS) == "memoized"
    per_day = numbers["per_day"]
    try:
        mechanism = _mechanism_of_report(entry["mechanism"])
    except ValueError as error:
        raise ValueError(f"{place}mechanism: {error}") from None
    reason = "" if is_memoized else "answers are fresh"
    question = "do exactly the same users report every day? (true or false)"
    _require_presence(place, "same_users", entry, reason, question)
    reason = "" if per_day > 1 else "there is one answer a day"
    question = f"can anything link a user's {per_day} answers of a day? (true or false)"
    _require_presence(place, "linked", entry, reason, question)
    reason = f"{mechanism} has its own" if mechanism.has_own_eps0 else ""
    _require_presence(place, "eps0", entry, reason, "give the eps0 of one answer")
    sent_on = sending_days(place, entry, period, numbers["every"])
    days = [i for i, day in enumerate(active_days) if day in sent_on]
    if not days:
        raise ValueError(f"reports.{name} is sent on no day on which somebody reports")
    return DailyReport(
        name,
        mechanism,
        numbers.get("eps0"),
        is_memoized,
        _truth(f"{place}same_users", entry.get("same_users", False)),
        per_day,
        _truth(f"{place}linked", entry.get("linked", False)),
        numbers["rate"],
        days,
        numbers.get("cohort"),
    )


def _require_presence(
    place: str, key: str, entry: Mapping, reason_against: str, question: str
) -> None:
    """Raise ValueError if a key is missing, or is there in spite of a reason against it."""
    if reason_against and key in entry:
        raise ValueError(f"{place}{key} must be left out: {reason_against}")
    if not reason_against and key not in entry:
        raise ValueError(f"{place}{key} is missing: {question}")


def _mechanism_of_report(content: Any) -> Description:
    """Return the mechanism of a report; ValueError for its mistakes, and for epochs of training."""
    if not isinstance(content, Mapping):
        raise ValueError(f"it must be like {{type: krr, k: 10}}, got {content!r}")
    entry = _mapping("mechanism", content)
    described = PROTOCOLS.get(str(entry.get("type")))
    if described is not None and described.words.no_cover:
        raise ValueError(
            f"{entry['type']} is training, which is not composed with reports: list its phases in "
            "a file of their own, and state two guarantees, each with its relation"
        )
    return parse(entry)


def _groups(content: Any, reports: tuple[DailyReport, ...]) -> tuple[UserGroup, ...]:
    """Return the groups; without an entry, one of all users."""
    if content is None:
        return (UserGroup("all users", Fraction(1), reports),)
    groups, total = [], Fraction(0)
    for name, entry in _mapping("groups", content).items():
        place = f"groups.{name}."
        entry = _mapping(f"groups.{name}", entry)
        share = Fraction(repr(_numbers(place, "a group", entry, GROUP_KEYS)["share"]))
        total += share
        own = _mapping(f"{place}eps0", entry["eps0"]) if "eps0" in entry else {}
        names = [x.name for x in reports if not x.mechanism.has_own_eps0]
        require_keys(f"{place}eps0.", "the reports with an eps0", own, names, names)
        own_eps0 = {
            key: validation.EPS0.parse(value, f"{place}eps0.{key}") for key, value in own.items()
        }
        members = [replace(x, eps0=own_eps0.get(x.name, x.eps0)) for x in reports]
        groups.append(UserGroup(str(name), share, tuple(members)))
    if total > 1:
        raise ValueError(f"groups must have shares that sum to 1 at most, got {float(total):g}")
    return tuple(groups)


def _numbers(place: str, kind: str, content: Mapping, keys: Keys) -> dict[str, Any]:
    """Return the numbers of a mapping, with the defaults of those that are left out.

    Raises ValueError unless the mapping has these keys, of which some are `REQUIRED`.
    """
    for key in content:
        if key not in keys:
            guess = validation.likely(key, keys)
            hint = f"did you mean {guess}?" if guess else f"the keys are {', '.join(keys)}"
            raise ValueError(f"unknown key '{place}{key}'; {hint}")
    require_keys(place, kind, content, list(keys), [key for key in keys if key not in REQUIRED])
    return {
        key: number.parse(content.get(key, number.default), f"{place}{key}")
        for key, number in keys.items()
        if number is not None and (key in content or number.default is not None)
    }


def _mapping(name: str, content: Any) -> Mapping[str, Any]:
    """Return a mapping with texts as keys that is not empty; ValueError otherwise."""
    if not isinstance(content, Mapping) or not content:
        hint = (
            "; write a name and a colon in place of each dash" if isinstance(content, list) else ""
        )
        raise ValueError(f"{name} must be a mapping that is not empty, got {content!r}{hint}")
    for key in content:
        if not isinstance(key, str):
            raise ValueError(f"{name} must have texts as keys: write {str(key)!r} in quotes")
    return content


def _truth(name: str, value: Any) -> bool:
    """Return a truth value; ValueError for all else."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {value!r}")
    return value
