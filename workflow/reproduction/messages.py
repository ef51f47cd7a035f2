"""What a run says: which job starts, and why where that is not plain; what can be asked for."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from itertools import chain
from pathlib import PurePosixPath

# Of a first run, or of one that goes on: nobody asks why.
_PLAIN = ("Missing output files", "Input files updated by another job")
# Before every job, of no use.
_NOISE = ("Select jobs to execute", "Execute ")


def is_noise(message: object) -> bool:
    """Whether a message of Snakemake tells nothing."""
    return str(message).startswith(_NOISE)


def why(reason: str) -> str:
    """A reason as Snakemake gives it, in a line: it names one of many files, and the code.

    Empty where it only says that something is not there yet.
    """
    clauses = (clause for clause in reason.split("; ") if not clause.startswith(_PLAIN))
    return "; ".join(map(_brief, clauses))


def _brief(clause: str) -> str:
    what, colon, details = clause.partition(": ")
    if what.startswith("Params"):
        # As `digests` calls them.
        code = sorted(set(re.findall("code of (?:numbers|presentation)", details)))
        return f"{what}: {' and '.join(code)}" if code else what
    first, *more = sorted(details.split(", "))
    return f"{what}{colon}{first}" + (f" and {len(more)} more" if more else "")


def unknown_target(message: str, made: Mapping[str, Collection[str]]) -> str:
    """What Snakemake says of a target that no rule makes, with what is `made` of every paper."""
    found = re.search(r"No rule to produce (.+?) \(if you use input", message)
    if found is None:
        return message
    target = PurePosixPath(found[1])
    files = [PurePosixPath(file) for file in chain.from_iterable(made.values())]
    beside = [file for file in files if file.parent == target.parent]
    if beside:
        names = get_close_matches(target.name, [file.name for file in beside], n=1, cutoff=0.75)
        near = [str(target.parent / name) for name in names]
        stems, suffixes = (
            ", ".join(dict.fromkeys(getattr(file, part) for file in beside))
            for part in ("stem", "suffix")
        )
        known = f"{target.parent} may have {stems} ({suffixes})"
    else:
        near = get_close_matches(str(target), [*made, *map(str, files)], n=1, cutoff=0.8)
        near = near or _of_that_name(target, made)
        known = f"it must be {_targets(made)}"
    guess = f" (did you mean {' or '.join(near)}?)" if near else ""
    return f"No rule makes {target}{guess}; {known}."


def target_of_many_files(message: str, papers: Collection[str]) -> str:
    """What Snakemake says where the target is a rule with wildcards, such as `figure`."""
    if "Target rules may not contain wildcards" not in message:
        return message
    return (
        "A rule of many files, such as figure, table or curve, is no target, since it does not say "
        f"which file is meant; a target is {_targets(papers)}."
    )


def _targets(papers: Collection[str]) -> str:
    """What can be asked for."""
    return (
        f"all, figures, tables, claims, a paper ({', '.join(papers)}), "
        "<paper>_<figure> or a file of one"
    )


def _of_that_name(target: PurePosixPath, made: Mapping[str, Collection[str]]) -> list[str]:
    """The paper of a folder, or the figures of a name, of the paper that the target has, if any."""
    if target.name in made:
        return [target.name]
    papers = [paper for paper in made if paper in target.parts] or list(made)
    return [
        f"{paper}_{target.stem}"
        for paper in papers
        if any(file.startswith(f"figures/{paper}/{target.stem}.") for file in made[paper])
    ]


def mistake(sentence: str, papers: object) -> str:
    """What is wrong with the configuration and, if it is in one paper's file, what runs others."""
    names = papers if isinstance(papers, list) else []
    others = [name for name in names if not sentence.startswith(f"config/{name}.yaml")]
    if not others or len(others) == len(names):
        return sentence
    listed = ",".join(map(str, others))
    return f"{sentence}\nOther papers run meanwhile with --config 'papers=[{listed}]'"
