"""What the scripts of all jobs share: the log, the library of this checkout, how they fail."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def running(snakemake: Any) -> Iterator[Any]:
    """Run a job whose messages go to its log, and end it with a sentence where it fails.

    That is the sentence of what was refused or cannot be computed or written. Where the disk takes
    no more, the log may be on the same disk, so the terminal has it too.
    """
    # Line by line, so that a job that is killed has said what it had to say.
    sys.stderr = open(snakemake.log[0], "w", encoding="utf-8", buffering=1)
    # Whatever else is installed, the library and the workflow are those beside this file.
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root / "src"), str(root / "workflow")]
    try:
        yield snakemake
    except (ValueError, ArithmeticError) as mistake:
        sys.exit("\n".join([str(mistake), *getattr(mistake, "__notes__", [])]))
    except OSError as failure:
        outputs = ", ".join(map(str, snakemake.output))
        sentence = f"{failure.filename or outputs}: {failure.strerror or failure}"
        print(sentence, file=sys.__stderr__)
        sys.exit(sentence)
