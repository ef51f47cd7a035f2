"""The console command, run in this process."""

import json

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
