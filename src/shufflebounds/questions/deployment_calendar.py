"""The calendar of a deployment: its days, and those on which a report is sent.

docs/deployments.md explains the keys.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from shufflebounds.core import validation

# Keys of a report that say when it is sent.
CALENDAR_KEYS = ("from", "until", "every", "weekdays", "dates")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class Period(NamedTuple):
    """The days of a deployment, from the first to the last, as whole numbers.

    If it ``has_dates``, they are those of the proleptic calendar; else they count from 1.
    """

    first: int
    last: int
    has_dates: bool

    @staticmethod
    def of(labels: Collection[str]) -> Period:
        """Return the period of days, which are dates such as 2026-01-31, or numbers."""
        if "-" not in next(iter(labels)):
            return Period(1, len(labels), False)
        numbers = [datetime.date.fromisoformat(label).toordinal() for label in labels]
        return Period(min(numbers), max(numbers), True)

    def number(self, label: str) -> int:
        """Return the number of a day."""
        return datetime.date.fromisoformat(label).toordinal() if self.has_dates else int(label)

    def label(self, number: int) -> str:
        """Return the date of a day, or its number."""
        return datetime.date.fromordinal(number).isoformat() if self.has_dates else str(number)

    def parsed(self, name: str, value: Any) -> int:
        """Return the number of a day; ValueError if the value is no day."""
        if self.has_dates:
            return self.number(parsed_date(name, value))
        try:
            return validation.rounds(value, name)
        except ValueError as error:
            raise ValueError(f"{error}; days are numbered unless a CSV file has dates") from None

    def within(self, name: str, number: int) -> int:
        """Return the number of a day of this period; ValueError for any other day."""
        if not self.first <= number <= self.last:
            raise ValueError(
                f"{name} must be a day from {self.label(self.first)} to {self.label(self.last)}, "
                f"got {self.label(number)}"
            )
        return number


def parsed_date(name: str, value: Any) -> str:
    """Return a date, such as 2026-01-31."""
    text = str(value.date() if isinstance(value, datetime.datetime) else value).strip()
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError as error:
        why = "" if str(error).startswith("Invalid") else f": {error}"
        raise ValueError(f"{name} must be like 2026-01-31, got {text!r}{why}") from None


def sending_days(
    place: str, entry: Mapping[str, Any], period: Period, every: int
) -> Collection[int]:
    """Return the days on which a report is sent; ValueError, which names the key, for a mistake.

    Parameters
    ----------
    place
        What stands before a key in messages, such as ``reports.browser.``.
    entry
        The report, with some of `CALENDAR_KEYS`.
    period
        The days of the deployment.
    every
        The number of days from one report to the next.
    """
    given = [key for key in CALENDAR_KEYS if key in entry]
    for key in ("dates", "weekdays"):
        clashes = [x for x in given if x != key and (key == "dates" or x == "every")]
        if key in given and clashes:
            raise ValueError(f"{place}{clashes[0]} must be left out if there are {key}")
    if "dates" in given:
        return _listed_days(f"{place}dates", entry["dates"], period)
    first = period.first
    if "from" in given:
        first = period.within(f"{place}from", period.parsed(f"{place}from", entry["from"]))
    last = _last_day(f"{place}until", entry, first, period)
    if "weekdays" in given:
        weekdays = _weekdays(f"{place}weekdays", entry["weekdays"], period)
        return {x for x in range(first, last + 1) if (x - 1) % 7 in weekdays}
    return range(first, last + 1, every)


def _last_day(name: str, entry: Mapping[str, Any], first: int, period: Period) -> int:
    """Return the last day on which a report is sent, which may be after the period."""
    if "until" not in entry:
        return period.last
    last = period.parsed(name, entry["until"])
    if last < first:
        start = "from" if "from" in entry else "the first day"
        raise ValueError(
            f"{name} must not be before {start}, {period.label(first)}, got {period.label(last)}"
        )
    return min(last, period.last)


def _listed_days(name: str, value: Any, period: Period) -> set[int]:
    """Return the days that are listed."""
    listed = _list(name, value, period.label(period.first))
    days = [
        period.within(f"each of {name}", period.parsed(f"each of {name}", day)) for day in listed
    ]
    return set(_distinct(name, days, [period.label(day) for day in days]))


def _weekdays(name: str, value: Any, period: Period) -> list[int]:
    """Return the weekdays that are listed, as numbers from 0, which is Monday."""
    if not period.has_dates:
        raise ValueError(f"{name} needs dates: give the users of each day in a CSV file")
    listed = _list(name, value, WEEKDAYS[0])
    names = [validation.choice(f"each of {name}", x, WEEKDAYS) for x in listed]
    return [WEEKDAYS.index(x) for x in _distinct(name, names, names)]


def _list(name: str, value: Any, example: str) -> Sequence[Any]:
    """Return a list that is not empty."""
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f"{name} must be a list such as [{example}], got {value!r}")
    return value


def _distinct(name: str, values: Sequence[Any], labels: Sequence[str]) -> Sequence[Any]:
    """Return the values; ValueError, with its label, for one that is given twice."""
    seen: set[Any] = set()
    for value, label in zip(values, labels, strict=True):
        if value in seen:
            raise ValueError(f"{name} must not name {label} twice")
        seen.add(value)
    return values
