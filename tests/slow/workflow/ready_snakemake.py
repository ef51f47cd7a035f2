"""Snakemake in a process that has imported it: a start takes longer than planning a small run.

Each call has a process of its own, forked from one in which nothing but imports has happened; its
folder, arguments, streams and end are as those of ``python -m snakemake``.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from repository import ROOT

# Jobs may leave byte code in their checkout: each compiles the library otherwise.
ENVIRONMENT = {key: os.environ[key] for key in os.environ if key != "PYTHONDONTWRITEBYTECODE"}
_READY = multiprocessing.get_context("forkserver")
_READY.set_forkserver_preload(["snakemake.cli"])


def run(folder: Path, arguments: tuple[str, ...], timeout: float) -> subprocess.CompletedProcess:
    """What ``subprocess.run`` gives of ``python -m snakemake`` in a folder."""
    with tempfile.TemporaryDirectory() as streams:
        paths = [os.path.join(streams, name) for name in ("stdout", "stderr")]
        process = _READY.Process(target=_main, args=(folder, arguments, paths))
        process.start()
        process.join(timeout)
        if process.is_alive():
            process.kill()
            raise subprocess.TimeoutExpired(arguments, timeout)
        said = [Path(path).read_text(encoding="utf-8") for path in paths]
    return subprocess.CompletedProcess(arguments, process.exitcode, *said)


@dataclass(frozen=True)
class Run:
    """A run in the background, in a process group of its own; all it says goes to a file."""

    process: BaseProcess
    log: Path

    @staticmethod
    def start(folder: Path, *arguments: str) -> "Run":
        log = folder / "run.log"
        process = _READY.Process(target=_main, args=(folder, arguments, [str(log)] * 2, True))
        process.start()
        return Run(process, log)

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def wait(self, timeout: float) -> int | None:
        """Its exit code; None where it takes longer."""
        self.process.join(timeout)
        return self.process.exitcode

    def kill(self) -> None:
        """With all its jobs."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.join()


def _main(
    folder: Path, arguments: tuple[str, ...], streams: list[str], leads_group: bool = False
) -> None:
    """What a process does that has just been forked."""
    if leads_group:
        os.setsid()
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    sys.dont_write_bytecode = False
    for number, path in enumerate(streams, start=1):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    # As Python sets it up, without what pytest adds.
    sys.path[:] = [str(folder), *(p for p in sys.path if not Path(p).is_relative_to(ROOT / "src"))]
    sys.argv = ["snakemake", *arguments]
    from snakemake.cli import main

    main(list(arguments))
