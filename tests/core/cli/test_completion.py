"""Completion by the Tab key, as docs/library.md switches it on, in a real bash."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from repository import ROOT

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
    [
        ("shufflebounds ep", {"eps0", "epsilon"}),
        ("shufflebounds epsilon --mechanism kr", {"krr"}),
    ],
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
        env={
            **os.environ,
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(found.stdout.split()) == expected
