"""What `verify/verify.py` proves, and that it proves nothing false: a campaign of claims.

Each question is one of the library's ends of ε. A claim a thousandth above an upper end, or below a
lower one, is true; one that is 1 %, 0.3 % or 0.1 % beyond it on the other side is false. Prints
how many of the true ones are proven, and every false one that is. With --grid the questions are
single reports of the deployer's grid (`deployer_grid`), else of all mechanisms and bounds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "workflow"))

import deployer_grid

import shufflebounds as sb
from shufflebounds.curves import claim_files

PROGRAM = Path(__file__).parents[1] / "verify" / "verify.py"
NEAR, BEYOND = 0.001, (0.01, 0.003, 0.001)
MECHANISMS = deployer_grid.MECHANISMS | {
    "Duchi": sb.Duchi,
    "BLH of 4": lambda eps0: sb.BLH(eps0, 4),
    "OUE of 2": lambda eps0: sb.OUE(eps0, 2),
    "RAPPOR of 3": lambda eps0: sb.RAPPOR(eps0, 3),
    "Hadamard response of 7": lambda eps0: sb.HadamardResponse(eps0, 7),
    "local hashing": lambda eps0: sb.LocalHash(eps0, 8, 3),
    "subset": lambda eps0: sb.Subset(eps0, 7, 2),
    "two reports": lambda eps0: sb.Joint([sb.KRR(3, eps0 / 2)] * 2),
}
CLONES = {"clone": sb.standard_clone, "stronger_clone": sb.stronger_clone}


def program() -> Any:
    """The second program, as a module."""
    found = importlib.util.spec_from_file_location("verify_program", PROGRAM)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Question:
    """A claim without its ε, and the library's ends of that."""

    name: str
    claim: dict[str, Any]
    found: sb.Enclosure

    def claims(self) -> Iterator[tuple[bool, dict[str, Any]]]:
        """Whether it is true, and the claim."""
        up = 1.0 if self.claim["bound"] != "pair" else -1.0
        near, far = self.found.upper, self.found.lower
        near, far = (near, far) if up > 0.0 else (far, near)
        for is_true, eps in (
            (True, near * (1.0 + up * NEAR)),
            *((False, far * (1.0 - up * share)) for share in BEYOND),
        ):
            # No claim of a pair is true, and no other false, at ε = 0.
            if 0.0 < eps < math.inf or (eps == 0.0 and is_true and up > 0.0):
                yield is_true, {**self.claim, "eps": eps}


def of_decomposition(name: str, claim: dict[str, Any], law: sb.Decomposition) -> Question:
    """The ε of one decomposition, however wide."""
    try:
        found = sb.epsilon(law, n=claim["n"], delta=claim["delta"], rounds=claim.get("rounds", 1))
    except sb.PrecisionError as error:
        found = error.enclosure
    return Question(name, claim, found)


def grid(seed: int) -> Iterator[Question]:
    """Single reports of the deployer's grid."""
    for point in deployer_grid.points(seed):
        if point.reports == 1:
            one = MECHANISMS[point.mechanism](point.eps0)
            yield of_randomizer(point.mechanism, one, point.side, point)


def of_randomizer(name: str, one: sb.Randomizer, side: str, point: deployer_grid.Point) -> Question:
    """A bound of a mechanism: ``blanket``, ``pair`` or ``all``."""
    one = one if point.rate == 1.0 else sb.Subsampled(one, point.rate)
    what = claim_files.described_claim(one)
    assert what is not None
    n, delta = point.users, point.delta
    if side == "all":
        known = sb.mechanism_epsilon(one, n, delta)
        bound = "all" if known.upper_bound == "all datasets" else "blanket"
        return Question(name, claim_files.upper(bound, what, n, delta, 0.0), known.enclosure)
    if side == "blanket":
        return of_decomposition(name, claim_files.upper(side, what, n, delta, 0.0), one.blanket())
    others, law = next(iter(one.dataset_pairs().items()))
    claim = claim_files.lower(others, what, n, delta, 0.0)
    assert claim is not None
    return of_decomposition(name, claim, law)


def everything(seed: int) -> Iterator[Question]:
    """All mechanisms, matrices, clones and rounds, at points of the grid."""
    draw = random.Random(seed)
    for point in deployer_grid.points(seed):
        # Rounds take half a minute.
        often = [*MECHANISMS, *CLONES, "matrix"] * 3
        name = draw.choice([*often, "rounds"])
        numbers = {"n": point.users, "delta": point.delta}
        if name == "matrix":
            yield of_matrix(draw, numbers)
        elif name in CLONES:
            claim = {"bound": "blanket", "mechanism": name, "eps0": point.eps0, **numbers}
            yield of_decomposition(name, claim, CLONES[name](point.eps0))
        elif name == "rounds":
            one, rounds = sb.KRR(draw.choice((2, 10)), min(point.eps0, 2.0)), draw.choice((2, 7))
            claim = {
                "bound": "blanket",
                "mechanism": "krr",
                "k": one.k,
                "eps0": one.eps0,
                **numbers,
            }
            yield of_decomposition(name, {**claim, "rounds": rounds}, one.blanket())
        else:
            one = MECHANISMS[name](point.eps0)
            sides = (
                ("blanket", "pair", "all")
                if name not in ("Laplace", "two reports")
                else ("blanket", "pair")
            )
            yield of_randomizer(name, one, draw.choice(sides), point)


def of_matrix(draw: random.Random, numbers: dict[str, Any]) -> Question:
    """Two rows of sixteenths, which floats hold exactly."""
    rows = []
    while len(rows) < 2:
        cuts = sorted(draw.choices(range(17), k=2))
        row = [cuts[0] / 16, (cuts[1] - cuts[0]) / 16, 1 - cuts[1] / 16]
        draw.shuffle(row)
        rows += [row] if row not in rows else []
    least = [min(column) for column in zip(*rows, strict=True)]
    claim = {"bound": "blanket", "mechanism": rows, **numbers}
    return of_decomposition("matrix", claim, sb.Decomposition(rows[0], rows[1], least))


def judged(module: Any, question: Question) -> Iterator[tuple[bool, bool, dict[str, Any], str]]:
    """Of each claim whether it is true, whether it is proven, and why."""
    for is_true, claim in question.claims():
        [read] = module.read(json.dumps(claim))
        proven, why = module.attempt(module.verdict, read)
        yield is_true, proven is True, claim, why


def main() -> None:
    """Run a campaign and print the counts; exit code 1 if anything false was proven."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--grid", action="store_true", help="single reports of the deployer's grid")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after so much CPU time")
    arguments = parser.parse_args()
    module, counts = program(), Counter[tuple[bool, bool]]()
    asked = (grid if arguments.grid else everything)(arguments.seed)
    for _, question in zip(range(arguments.questions), asked, strict=False):
        for is_true, proven, claim, why in judged(module, question):
            counts[is_true, proven] += 1
            if is_true != proven:
                print(f"{'not proven' if is_true else 'FALSE, PROVEN'}: {claim}: {why}", flush=True)
        if time.process_time() > arguments.seconds:
            break
    print(
        f"true: {counts[True, True]} of {counts[True, True] + counts[True, False]} proven; ", end=""
    )
    print(f"false: {counts[False, True]} of {counts[False, True] + counts[False, False]} proven")
    raise SystemExit(counts[False, True] > 0)


if __name__ == "__main__":
    main()
