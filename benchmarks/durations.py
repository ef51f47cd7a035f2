"""What questions cost: the table of docs/deployments.md, which this program writes.

Every question is asked once. A row has the CPU seconds of its fastest and its slowest question, of
one thread, rounded up to one digit. Other programs on the machine lengthen them.
"""

from __future__ import annotations

import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, timedelta
from decimal import ROUND_UP, Context
from functools import partial
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # NumPy reads it once, when it is imported.

import numpy as np
from click.testing import CliRunner

import shufflebounds as sb
from shufflebounds.cli import main as shufflebounds
from shufflebounds.protocols.histograms import CoordinateSums

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "deployments.md"
HEADING = "| question | CPU seconds |\n|---|---|\n"

N, DELTA = 10**5, 1e-6
KINDS = [partial(sb.KRR, 10), partial(sb.KRR, 256), sb.BLH, sb.RAPPOR, sb.OUE, sb.HadamardResponse]
FINITE = [kind(eps0) for kind in KINDS for eps0 in (1.0, 4.0)]
MATRIX = sb.MatrixRandomizer(np.random.default_rng(6).dirichlet(np.full(50, 4.0), size=20))
DEPLOYMENT = {
    "reports": {
        name: {"mechanism": mechanism, "eps0": 1.0, "answers": "fresh"}
        for name, mechanism in {
            "browser": {"type": "krr", "k": 40},
            "crashes": {"type": "krr", "k": 2},
            "page": {"type": "rappor"},
            "time": {"type": "laplace"},
        }.items()
    }
}
FIRST_DAY = date(2026, 1, 1)
DAYS = [(str(FIRST_DAY + timedelta(day)), 10**6 + 7919 * day) for day in range(90)]

Question = Callable[[], object]


def questions() -> dict[str, list[Question]]:
    """Return the questions of each row."""
    epsilon = partial(sb.epsilon, n=N, delta=DELTA)
    return {
        "one round of randomized response, BLH, RAPPOR, OUE, Hadamard response": [
            partial(epsilon, randomizer) for randomizer in FINITE
        ],
        "one round of Laplace noise, inputs 0 and 1": [partial(epsilon, sb.Laplace(1.0))],
        "one round of Laplace noise, inputs in [0, 1]": [
            partial(epsilon, sb.Laplace(eps0, domain="interval")) for eps0 in (1.0, 4.0)
        ],
        "one round of a matrix of 20 values and 50 reports": [partial(epsilon, MATRIX)],
        "one round of OUE, only the sums of whose bits are published": [
            partial(_sums, rounds=1),
        ],
        "30 rounds of the same": [partial(_sums, rounds=30)],
        "equal rounds of randomized response or BLH, 30 to 10⁶ of them": [
            partial(epsilon, randomizer, rounds=rounds)
            for randomizer in (sb.KRR(10, 4.0), sb.KRR(256, 2.0), sb.BLH(1.0))
            for rounds in (30, 365, 10**6)
        ],
        "one epoch of random allocation": [
            partial(_training, noise, steps, 1)
            for noise in (0.5, 1.0, 2.0)
            for steps in (100, 10**4)
        ],
        "ten epochs of random allocation": [
            partial(_training, noise, 1000, 10) for noise in (0.5, 1.0, 2.0)
        ],
        "`choose` for 64 values": [partial(sb.choose, 64, n=N, eps=0.5, delta=DELTA)],
        "`choose` for eight attributes of 64 values": [
            partial(_command, "choose --attributes 8 --values 64 --n 1e5 --eps 0.5 --delta 1e-6")
        ],
        "`account` of four mechanisms on 90 days with 90 different n": [
            lambda: _deployment().epsilon(DELTA)
        ],
        "the same after each day (`--running`)": [lambda: _deployment().running(DELTA)],
        "`verify.py` of one claim over 90 rounds of randomized response or BLH": [
            partial(_verification, options) for options in ("krr --k 10 --eps0 1", "blh --eps0 1")
        ],
    }


def main() -> None:
    """Measure, print the table, and write it into the page."""
    rows = []
    for name, asked in questions().items():
        seconds = [_seconds(question) for question in asked]
        rows.append(f"| {name} | {_range(seconds)} |\n")
        print(rows[-1], end="", flush=True)
    text = PAGE.read_text(encoding="utf-8")
    table = re.escape(HEADING) + r"(\|.*\n)+"
    PAGE.write_text(re.sub(table, HEADING + "".join(rows), text), encoding="utf-8")


def _seconds(question: Question) -> float:
    """Return the CPU time of this process and of those that it starts."""
    start = _cpu_time()
    with suppress(sb.PrecisionError):
        question()
    return _cpu_time() - start


def _cpu_time() -> float:
    usages = (resource.getrusage(x) for x in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return math.fsum(usage.ru_utime + usage.ru_stime for usage in usages)


def _range(seconds: Sequence[float]) -> str:
    """Return the smallest and the largest, or only one if they are the same."""
    ends = (
        Context(prec=1, rounding=ROUND_UP).create_decimal(x) for x in (min(seconds), max(seconds))
    )
    return " to ".join(dict.fromkeys(f"{end:f}" for end in ends))


def _sums(rounds: int) -> sb.Enclosure:
    return sb.epsilon(CoordinateSums(sb.OUE(4.0)), N, DELTA, rounds=rounds)


def _training(noise: float, steps: int, epochs: int) -> sb.Enclosure:
    allocation = sb.RandomAllocation(noise_multiplier=noise)
    return sb.epsilon(allocation, n=steps, delta=DELTA, rounds=epochs)


def _deployment() -> sb.Deployment:
    return sb.Deployment(DEPLOYMENT, DAYS)


def _command(text: str) -> None:
    result = CliRunner().invoke(shufflebounds, text.split(), catch_exceptions=False)
    if result.exit_code:
        raise RuntimeError(result.output)


def _verification(options: str) -> None:
    """Prove the first claim, that of the blanket, of 90 rounds."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "claim.json"
        target = f"--n 1e5 --delta 1e-6 --rounds 90 --claim {file}"
        _command(f"epsilon --mechanism {options} {target}")
        claims = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps(claims[:1]), encoding="utf-8")
        program = [sys.executable, str(ROOT / "verify" / "verify.py"), str(file)]
        subprocess.run(program, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
