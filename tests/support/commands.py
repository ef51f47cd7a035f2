"""The console command, run in this process or in a terminal."""

import json
import os
import pty
import subprocess
import sys

from click.testing import CliRunner, Result

from shufflebounds.cli import main


def run(*args: object) -> Result:
    return CliRunner().invoke(main, [str(one) for one in args])


def succeed(*args: object) -> Result:
    result = run(*args)
    assert result.exit_code == 0, result.output
    return result


def answer(*args: object) -> dict:
    return json.loads(succeed(*args, "--json").stdout)


def run_in_terminal(*args: object, with_errors: bool = False, **environment: str) -> str:
    """What the command prints to a terminal of 80 columns, with standard error if asked for."""
    ours, theirs = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "shufflebounds", *map(str, args)],
        stdout=theirs,
        stderr=theirs if with_errors else subprocess.DEVNULL,
        env={
            **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
            **{"PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", "COLUMNS": "80"},
            **environment,
        },
    )
    os.close(theirs)
    printed = b""
    try:
        while part := os.read(ours, 65536):
            printed += part
    except OSError:  # Linux ends the output of a terminal with an error.
        pass
    os.close(ours)
    done.wait()
    return printed.decode().replace("\r\n", "\n")
