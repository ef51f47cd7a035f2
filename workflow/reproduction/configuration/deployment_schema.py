"""The JSON schema of descriptions of deployments, and tables of their keys in Markdown."""

from __future__ import annotations

import json
import re
from typing import Any

from shufflebounds.core import validation
from shufflebounds.core.number import Number, Whole, sentence
from shufflebounds.questions.deployment_calendar import WEEKDAYS
from shufflebounds.questions.deployment_description import (
    ANSWERS,
    DEPLOYMENT_KEYS,
    GROUP_KEYS,
    MISSING_DAYS,
    REPORT_KEYS,
    REQUIRED,
    Keys,
)


def number_schema(number: Number[Any]) -> dict[str, Any]:
    """Return the JSON schema of a number."""
    ends = {
        "exclusiveMinimum": number.gt,
        "minimum": number.ge,
        "maximum": number.le,
        "exclusiveMaximum": number.lt,
        "default": number.default,
    }
    given = {key: end for key, end in ends.items() if end is not None}
    type_ = "integer" if isinstance(number, Whole) else "number"
    return {"type": type_, **given, "description": sentence(number.meaning)}


TRUTH, DAY = {"type": "boolean"}, {"$ref": "#/$defs/day"}
BY_NAME = {"type": "object", "minProperties": 1}
EPS0 = number_schema(validation.EPS0)
LIST = {"type": "array", "minItems": 1, "uniqueItems": True}
# What keys that hold no number mean, and the schema of their values.
OTHER_KEYS: dict[str, tuple[str, dict[str, Any]]] = {
    "reports": (
        "what every user reports each day, by name",
        {**BY_NAME, "additionalProperties": {"$ref": "#/$defs/report"}},
    ),
    "groups": (
        "[groups of users with an eps0 of their own](#groups-with-settings-of-their-own), by name",
        {**BY_NAME, "additionalProperties": {"$ref": "#/$defs/group"}},
    ),
    "mixed": (
        "whether [one shuffler mixes the groups](#groups-with-settings-of-their-own), so that they "
        "hide each other",
        {**TRUTH, "default": False},
    ),
    "missing_days": (
        "what dates without a row in the CSV file mean: `refuse`, a mistake; `no_reports`, that "
        "nobody reported",
        {"enum": [*MISSING_DAYS], "default": MISSING_DAYS[0]},
    ),
    "mechanism": (
        "`type` and parameters except eps0, as in [configurations](configuration.md); `joint` has "
        "linked answers to several questions",
        {"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}}},
    ),
    "answers": (
        "`fresh`, drawn again for every answer; or "
        "[`memoized`](what-to-compose.md#memoized-answers), drawn once and repeated every day",
        {"enum": [*ANSWERS]},
    ),
    "same_users": (
        "required for memoized answers: whether exactly the same users report every day",
        TRUTH,
    ),
    "linked": (
        "required for several answers a day: whether anything shows that they "
        "[come from the same user](what-to-compose.md#linked-reports)",
        TRUTH,
    ),
    "from": ("first day on which it is sent", DAY),
    "until": ("last day on which it is sent", DAY),
    "weekdays": (
        "in place of `every`, such as `[monday, thursday]`",
        {**LIST, "items": {"enum": [*WEEKDAYS]}},
    ),
    "dates": ("in place of these four, the only days on which it is sent", {**LIST, "items": DAY}),
    "eps0": (
        "local epsilon of one answer, by the name of the report; others have that of the report",
        {**BY_NAME, "additionalProperties": EPS0},
    ),
}


def schema() -> dict[str, Any]:
    """Return the JSON schema of descriptions."""
    is_memoized = {"required": ["answers"], "properties": {"answers": {"const": ANSWERS[1]}}}
    day = {
        "description": "A date such as 2026-01-31, or the number of a day if days are numbered.",
        "type": ["string", "integer"],
        "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
        "minimum": 1,
    }
    return {
        "description": "A deployment, which `shufflebounds account` reads. docs/deployments.md "
        "explains every key.",
        **_object(DEPLOYMENT_KEYS),
        "dependentRequired": {"users": ["days"], "days": ["users"]},
        "$defs": {
            "report": {
                **_object(REPORT_KEYS),
                "if": is_memoized,
                "then": {"required": ["same_users"]},
                "else": {"properties": {"same_users": False}},
            },
            "day": day,
            "group": _object(GROUP_KEYS),
        },
    }


def _object(keys: Keys) -> dict[str, Any]:
    """Return the JSON schema of a mapping with these keys."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [key for key in keys if key in REQUIRED],
        "properties": {key: _schema(key, number) for key, number in keys.items()},
    }


def _schema(key: str, number: Number[Any] | None) -> dict[str, Any]:
    """Return the JSON schema of the value of a key."""
    if number is not None:
        return number_schema(number)
    meaning, form = OTHER_KEYS[key]
    return {**form, "description": sentence(meaning)}


def with_tables(page: str) -> str:
    """Return a page of Markdown whose tables have a row for each key."""
    for heading, keys in (("key", DEPLOYMENT_KEYS), ("key of a report", REPORT_KEYS)):
        head = f"| {heading} | meaning |\n|---|---|\n"
        rows = "".join(f"| `{key}` | {_meaning(key, x)} |\n" for key, x in keys.items())
        page = re.sub(rf"({re.escape(head)})(\|.*\n)*", rf"\1{rows}", page)
    return page


def _meaning(key: str, number: Number[Any] | None) -> str:
    """Return what a key means, with its default."""
    meaning = OTHER_KEYS[key][0] if number is None else number.meaning
    default = _schema(key, number).get("default")
    return meaning + ("" if default is None else f"; `{json.dumps(default)}` if left out")
