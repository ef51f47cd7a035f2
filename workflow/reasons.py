"""Why Snakemake runs a job, in a line: of many files one is named, of parameters none."""

from __future__ import annotations

_MOST_FILES = 1


def brief(reason: str) -> str:
    """A reason as Snakemake gives it, cut short."""
    return "; ".join(map(_brief, reason.split("; ")))


def _brief(clause: str) -> str:
    what, colon, details = clause.partition(": ")
    if what.startswith("Params"):
        return what
    files = sorted(details.split(", "))
    if len(files) <= _MOST_FILES:
        return clause
    return f"{what}{colon}{files[0]} and {len(files) - 1} more"
