"""Two digests say what an edit of the code reruns: of what computes numbers, of what presents them.

Jobs have them among their parameters, so content counts: to touch, copy or move files, or to switch
branches and back, reruns nothing. An edit of what computes numbers reruns every curve, which is
minutes; one of what presents them no curve.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = "src/shufflebounds"

REPRODUCTION = "workflow/reproduction"

# Folders and files that make figures, tables, pages and verdicts of numbers.
PRESENTING = (
    f"{LIBRARY}/curves/plotting",
    f"{REPRODUCTION}/papers",
    f"{REPRODUCTION}/proofs.py",
    f"{REPRODUCTION}/html_page.py",
)
# Parts of the library that no job runs.
INTERACTIVE = (f"{LIBRARY}/cli", f"{LIBRARY}/notebook.py")


def digest_of_numbers(root: Path = ROOT) -> str:
    """Return the digest of the library without what presents numbers and what no job runs.

    A new module counts.
    """
    excluded = {*_modules(root, PRESENTING), *_modules(root, INTERACTIVE)}
    return _digest("numbers", root, set(_modules(root, [LIBRARY])) - excluded)


def digest_of_presentation(root: Path = ROOT) -> str:
    """Return the digest of all that presents numbers."""
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
    digest = hashlib.sha256()
    for path in sorted(paths):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    # The name, for whoever asks Snakemake which parameter changed.
    return f"code of {name} {digest.hexdigest()[:16]}"
