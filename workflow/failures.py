"""How the script of a job fails: in a sentence, written where it can be read."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def told(outputs: Sequence[str]) -> Iterator[None]:
    """End the script with the sentence of what was refused or cannot be computed or written.

    The sentence goes to the log. Where the disk takes no more, that may be on the same disk, so
    the terminal has it too.
    """
    try:
        yield
    except (ValueError, ArithmeticError) as mistake:
        sys.exit("\n".join([str(mistake), *getattr(mistake, "__notes__", [])]))
    except OSError as failure:
        sentence = f"{failure.filename or ', '.join(outputs)}: {failure.strerror or failure}"
        print(sentence, file=sys.__stderr__)
        sys.exit(sentence)
