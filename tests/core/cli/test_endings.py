"""The command in its surroundings: how it ends without an answer, progress, and the Tab key."""

import io
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib

import pytest
from click.testing import CliRunner
from repository import ROOT

from shufflebounds.bounds import divergences
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli import main, progress
from shufflebounds.core.progress import ERASE_LINE, clear_step

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
CLAIM = ("check", "--mechanism", "krr", "--k", "10", "--eps0", "4", "--n", "1e4")
CLAIM = (*CLAIM, "--delta", "1e-6", "--eps", "0.5")


# Takes long; the signal is one that a shell in the background would have it ignore.
SLOW = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from shufflebounds.cli import main
def slow(*_):
    print("at work", flush=True)
    time.sleep(60)
sys.modules["shufflebounds.cli.check"].findings_on = slow
main(sys.argv[1:])
"""


def failing(error: BaseException):
    def fails(*_, **__):
        raise error

    return fails


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (KeyboardInterrupt(), 130, "Error: stopped\n"),
        (MemoryError(), 70, "Error: there is not enough memory for this\n"),
        (ZeroDivisionError("by us"), 70, "mistake of the program: ZeroDivisionError('by us')\n"),
        (RuntimeError("odd"), 70, "mistake of the program: RuntimeError('odd')\n"),
    ],
)
def test_no_accident_looks_like_a_verdict(monkeypatch, error, code, sentence):
    # The name of the module is that of the command in its package.
    monkeypatch.setattr(sys.modules["shufflebounds.cli.check"], "findings_on", failing(error))
    result = CliRunner().invoke(main, CLAIM)
    assert result.exit_code == code
    assert result.stderr.endswith(sentence)
    assert ("Traceback" in result.stderr) == ("mistake of the program" in sentence)


def test_a_stopped_program_says_so():
    command = [sys.executable, "-c", SLOW, *CLAIM]
    with subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout.readline() == "at work\n"
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=30) == 130
        assert run.stderr.read() == "Error: stopped\n"


# Stopped by what it loads first of all that is heavy.
LOADING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from {module} import {name}
{name}()
"""


def test_a_program_that_is_stopped_while_it_loads_says_so():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, name = project["scripts"]["shufflebounds"].split(":")
    script = LOADING.format(module=module, name=name)
    command = [sys.executable, "-c", script, *CLAIM]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Error: stopped\n")


def test_a_closed_pipe_ends_it_without_a_word():
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "shufflebounds", *CLAIM]
    done = subprocess.run(
        command, env=ENVIRONMENT, stdout=theirs, stderr=subprocess.PIPE, check=False
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("command", [CLAIM, ("check", "--help")])
def test_a_full_disk_is_told_in_one_sentence(device, command):
    with device("full", 7).open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "shufflebounds", *command],
            env=ENVIRONMENT,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    sentence = b"Error: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (70, sentence)


MISTAKE = ("check", "--mechanism", "krr")


def ending(*command: str, redirected: str) -> subprocess.CompletedProcess[bytes]:
    """How a command ends whose streams a shell has redirected."""
    script = f'exec "$@" {redirected}'
    run = ["sh", "-c", script, "sh", sys.executable, "-m", "shufflebounds", *command]
    return subprocess.run(run, env=ENVIRONMENT, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("command", "code", "streams"), [(MISTAKE, 2, "2>&-"), (("bounds",), 0, ">&- 2>&-")]
)
def test_closed_streams_swallow_what_is_printed(command, code, streams):
    done = ending(*command, redirected=streams)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")


def test_a_mistake_that_cannot_be_told_is_no_verdict(device):
    full = device("full", 7)
    assert ending(*MISTAKE, redirected=f"2>{full}").returncode == 2
    assert ending("bounds", redirected=f">{full} 2>{full}").returncode == 70


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch, stream: io.StringIO) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    bounds = {"blanket": BOUNDS["blanket"], "lower": BOUNDS["lower"]}
    assert [name for name, _ in progress.by_step(bounds)] == [*bounds]
    clear_step()
    return stream.getvalue()


def test_what_is_computed_is_shown_on_a_terminal_and_wiped_off(monkeypatch):
    text = shown(monkeypatch, Terminal())
    erase = ERASE_LINE
    steps = ("computing 1 of 2: blanket", "computing 2 of 2: lower bound", "")
    assert text == "".join(f"{erase}{step}" for step in steps)


def test_nothing_is_shown_elsewhere(monkeypatch):
    assert shown(monkeypatch, io.StringIO()) == ""


def test_a_renyi_divergence_that_costs_too_much_is_bounded_nevertheless(monkeypatch):
    monkeypatch.setattr(divergences, "BUDGET", 1e3)
    # Without other users, D₂ is that of a report: log(p²/(1 − p) + (1 − p)²/p).
    asked = ("renyi", "krr", "--k", 2, "--eps0", 2, "-n", 1, "--order", 2, "--json")
    result = CliRunner().invoke(main, [str(x) for x in asked])
    assert result.exit_code == 3
    assert "would cost too much work" in result.stderr
    best = json.loads(result.stdout)["best"]
    p = 1.0 / (1.0 + math.exp(-2.0))
    assert (
        best["lower"] <= math.log(p * p / (1.0 - p) + (1.0 - p) ** 2 / p) <= best["upper"] <= 2.001
    )


# Completion by the Tab key, as docs/library.md switches it on, in a real bash.

PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
(SWITCH,) = re.findall(r'^eval "\$\(_SHUFFLEBOUNDS_COMPLETE.*$', PAGE, re.MULTILINE)

# What bash does at the Tab key: it calls the function that was registered for the command.
ASK = """
set -eu
{switch}
function=$(complete -p shufflebounds | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
COMPREPLY=()
$function shufflebounds "${{COMP_WORDS[COMP_CWORD]}}" ""
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [("shufflebounds ep", {"eps0", "epsilon"}), ("shufflebounds epsilon --mechanism kr", {"krr"})],
)
def test_the_tab_key_completes(words, expected, tmp_path):
    bash = shutil.which("bash")
    if not bash:
        pytest.skip("bash is not installed")
    command = tmp_path / "shufflebounds"
    command.write_text(f"#!/bin/sh\nexec {sys.executable} -m shufflebounds\n", encoding="utf-8")
    command.chmod(0o755)
    found = subprocess.run(
        [bash, "--norc", "-c", ASK.format(switch=SWITCH, words=words)],
        env={**ENVIRONMENT, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(found.stdout.split()) == expected
