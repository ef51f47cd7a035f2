"""Answers to one question: what was found, and how it is printed."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from shufflebounds.cli.mistakes import Imprecise
from shufflebounds.cli.rounding import outward, width
from shufflebounds.enclosure import Enclosure, PrecisionError


@dataclass(frozen=True)
class Finding:
    """An enclosure, a sentence if it is wider than it should be, and for which x₂ it holds."""

    enclosure: Enclosure
    shortfall: str = ""
    others: str = ""

    def as_json(self) -> dict[str, Any]:
        """JSON has no infinity; null stands for it."""
        ends = {
            end: value if math.isfinite(value) else None
            for end, value in dataclasses.asdict(self.enclosure).items()
        }
        return {**ends, "others": self.others} if self.others else ends


@dataclass(frozen=True)
class Row:
    """A finding, what it is called, and the end of its enclosure that counts: lower or upper."""

    label: str
    end: str
    finding: Finding


def attempt(evaluate: Callable[..., Enclosure], *args: Any, **kwargs: Any) -> Finding:
    """What `evaluate` returns, or what it found before its precision was out of reach."""
    try:
        return Finding(evaluate(*args, **kwargs))
    except PrecisionError as error:
        return Finding(error.enclosure, str(error))


def largest(candidates: Mapping[str, Finding]) -> Finding:
    """The largest of what was found for every x₂; its ``others`` is the x₂ of the lower end."""
    others = max(candidates, key=lambda name: candidates[name].enclosure.lower)
    return _extreme(candidates, max, others)


def smallest(candidates: Mapping[str, Finding]) -> Finding:
    """The smallest of what was found for every x₂; its ``others`` is the x₂ of the upper end."""
    others = min(candidates, key=lambda name: candidates[name].enclosure.upper)
    return _extreme(candidates, min, others)


def _extreme(candidates: Mapping[str, Finding], pick: Callable, others: str) -> Finding:
    found = [candidate.enclosure for candidate in candidates.values()]
    extreme = Enclosure(pick(e.lower for e in found), pick(e.upper for e in found))
    # A wide enclosure that lies beyond the extreme does not make it any wider.
    shortfalls = (
        candidate.shortfall
        for candidate in candidates.values()
        if candidate.enclosure.lower <= extreme.upper
        and candidate.enclosure.upper >= extreme.lower
        and candidate.shortfall
    )
    return Finding(extreme, "; ".join(shortfalls), others)


def show(
    as_json: bool,
    facts: Mapping[str, Any],
    title: str,
    column: str,
    rows: Mapping[str, Row],
    notes: list[str],
) -> None:
    """Print everything. Raises `Imprecise` afterwards where an enclosure is too wide."""
    shortfalls = [
        f"{name}: {row.finding.shortfall}" for name, row in rows.items() if row.finding.shortfall
    ]
    if as_json:
        found = {name: row.finding.as_json() for name, row in rows.items()}
        answer = {**facts, **found, "precise": not shortfalls, "notes": notes}
        click.echo(json.dumps(answer, indent=2, allow_nan=False))
    else:
        click.echo(f"{title}\n")
        _print_table(column, rows)
        for note in notes:
            click.echo(f"\n{click.wrap_text(note, width=80)}")
    if shortfalls:
        raise Imprecise("; ".join(shortfalls))


def _print_table(column: str, rows: Mapping[str, Row]) -> None:
    lines = [("", column, "relative width", "all others hold")]
    for row in rows.values():
        enclosure = row.finding.enclosure
        value = outward(getattr(enclosure, row.end), up=row.end == "upper")
        lines.append((row.label, value, width(enclosure), row.finding.others))
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        cells = (f"{cell:{size}}" for cell, size in zip(line, widths, strict=True))
        click.echo(f"  {'   '.join(cells)}".rstrip())
