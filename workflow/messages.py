"""What a run says of its jobs: which one starts, and why where that is not plain."""

from __future__ import annotations

# Of a first run, or of one that goes on: nobody asks why.
_PLAIN = ("Missing output files", "Input files updated by another job")
# Before every job, of no use.
_NOISE = ("Select jobs to execute", "Execute ")


def is_noise(message: object) -> bool:
    """Whether a message of Snakemake tells nothing."""
    return str(message).startswith(_NOISE)


def why(reason: str) -> str:
    """A reason as Snakemake gives it, in a line: of many files one is named, of parameters none.

    Empty where it only says that something is not there yet.
    """
    clauses = (clause for clause in reason.split("; ") if not clause.startswith(_PLAIN))
    return "; ".join(map(_brief, clauses))


def _brief(clause: str) -> str:
    what, colon, details = clause.partition(": ")
    if what.startswith("Params"):
        return what
    first, *more = sorted(details.split(", "))
    return f"{what}{colon}{first}" + (f" and {len(more)} more" if more else "")
