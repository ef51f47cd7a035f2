"""Two digests say what an edit of the code reruns: of what computes numbers, of what presents them.

Jobs have them among their parameters, so content counts: to touch, copy or move files, or to switch
branches and back, reruns nothing. An edit of what computes numbers reruns every curve, which is
minutes; one of what presents them no curve.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = "src/shufflebounds"

# Folders and files that make figures, tables, pages and verdicts of numbers.
PRESENTING = (
    f"{LIBRARY}/reproduce/proofs.py",
    f"{LIBRARY}/reproduce/papers",
    f"{LIBRARY}/reproduce/plotting",
    "workflow/html_page.py",
)
# Those that no job runs, or that decide nothing but the parameters of jobs.
PLANNING = (
    f"{LIBRARY}/cli",
    f"{LIBRARY}/reproduce/configuration",
    f"{LIBRARY}/reproduce/plan.py",
    f"{LIBRARY}/notebook.py",
)


def of_numbers(root: Path = ROOT) -> str:
    """Of all of the library that neither presents nor plans: a new module counts."""
    other = {*_modules(root, PRESENTING), *_modules(root, PLANNING)}
    return _digest("numbers", root, set(_modules(root, [LIBRARY])) - other)


def of_presentation(root: Path = ROOT) -> str:
    """Of all that presents numbers."""
    return _digest("presentation", root, _modules(root, PRESENTING))


def _modules(root: Path, places: Iterable[str]) -> Iterable[Path]:
    """The files of code, pages and texts included, that are, or lie below, some places."""
    for place in places:
        path = root / place
        kinds = ("py", "html", "yaml")
        yield from (
            [path] if path.is_file() else (f for kind in kinds for f in path.rglob(f"*.{kind}"))
        )


def _digest(name: str, root: Path, paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in sorted(paths):
        content = path.read_bytes()
        found.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    # The name, for whoever asks Snakemake which parameter changed.
    return f"code of {name} {found.hexdigest()[:16]}"
