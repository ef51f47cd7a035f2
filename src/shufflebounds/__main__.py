"""The console command ``shufflebounds``, which is also ``python -m shufflebounds``.

What it loads takes half a second, in which Ctrl-C is to end it as quietly as later.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import TextIO


def main() -> None:
    """Load the command and run it."""
    # None where it is closed; then errors would go where answers go.
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # else a shell in the background has it ignored
        # An exception would be raised in any of the modules, and look like a mistake of theirs.
        signal.signal(signal.SIGINT, _stop)
    from shufflebounds.cli import main as command

    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, usual)
    command(prog_name="shufflebounds")


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """End the program as `cli` ends a command that is stopped; nothing has been printed yet."""
    sys.stderr.write("Error: stopped\n")
    sys.stderr.flush()
    os._exit(130)


if __name__ == "__main__":
    main()
