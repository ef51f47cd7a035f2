"""What one certified ε costs: against the number of users, the FFT engine and plain summation.

Writes ``benchmark.csv`` and the figures ``benchmark.png`` and ``.pdf``, and prints ratios first:
all contestants run side by side here, in one thread, whereas seconds depend on the machine. Times
are medians of CPU time, which other programs disturb less than they do the clock, but do disturb.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # NumPy reads it once, when it is imported.
sys.path.append(str(Path(__file__).parents[1] / "workflow"))

import conditional_binomial
import pandas as pd
import timing_figure

import shufflebounds as sb
from reproduction.papers.su2026 import algorithm7
from shufflebounds.curves.files import write_text

COLUMNS = (
    "what",  # "growth" of sb.epsilon with n, or a "rival" of it at the same n
    "mechanism",
    "eps0",
    "delta",
    "n",
    "engine",
    "seconds",  # CPU time of one ε, the median
    "repeats",
    "epsilon_lower",
    "epsilon_upper",
    "relative_width",
    "ratio",  # of seconds: growth to n = REFERENCE, rival to the default engine
)
REFERENCE, FAR = 10**4, 10**12
RTOL = 1e-4  # the default of sb.epsilon
CLAIM = 1.5  # time at FAR over time at REFERENCE, at most

MECHANISMS: dict[str, Callable[[float], sb.Decomposition]] = {
    "10-RR": lambda eps0: sb.KRR(k=10, eps0=eps0).blanket(),
    "10-RR, 4-joint": lambda eps0: _joint(sb.KRR(k=10, eps0=eps0 / 4).blanket(), 4),
    "BLH": lambda eps0: sb.BLH(eps0).blanket(),
    "RAPPOR": lambda eps0: sb.RAPPOR(eps0).blanket(),
    "OUE": lambda eps0: sb.OUE(eps0).blanket(),
    "Hadamard response": lambda eps0: sb.HadamardResponse(eps0).blanket(),
    "Laplace": lambda eps0: sb.Laplace(eps0).blanket(),
    "Laplace, 4-joint": lambda eps0: _joint(sb.Laplace(eps0 / 4).blanket(), 4),
    "clone": sb.standard_clone,
}
# The FFT engine has a round-off floor under δ, and takes a second or more: 10-RR has to do for all
# n, and the others for one. The 4-joint of Laplace, of thousands of components, takes it a minute.
FFT_SMALLEST_DELTA = 1e-9
FFT_USERS = {name: (REFERENCE,) for name in MECHANISMS if name != "Laplace, 4-joint"} | {
    "10-RR": (10**3, 10**4, 10**5)
}
# Of δ: mass of the numbers of clones that the shorter sum leaves out, and adds.
CLONE_TAIL = 1e-6

Solver = Callable[[int], sb.Enclosure]


@dataclass(frozen=True)
class Plan:
    """What to measure, and how long to go on.

    ``users`` are ascending and hold `REFERENCE`. Each measurement is repeated ``rounds`` times,
    but no further round begins after ``seconds``; and the sums over clones are given no more users
    than they are likely to deal with in ``patience`` seconds.
    """

    users: tuple[int, ...] = tuple(10**k for k in range(3, 16))
    mechanisms: tuple[str, ...] = tuple(MECHANISMS)
    eps0s: tuple[float, ...] = (0.1, 4.0)
    deltas: tuple[float, ...] = (1e-6, 1e-12)
    rounds: int = 7
    seconds: float = 1.5
    patience: float = 3.0


def measure(plan: Plan) -> pd.DataFrame:
    """One row a measurement, with the columns `COLUMNS`."""
    rows = []
    for eps0 in plan.eps0s:
        for mechanism in plan.mechanisms:
            blanket = MECHANISMS[mechanism](eps0)
            for delta in plan.deltas:
                facts = {"mechanism": mechanism, "eps0": eps0, "delta": delta}
                rows += [facts | row for row in _compare(blanket, facts, plan)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _joint(part: sb.Decomposition, count: int) -> sb.Decomposition:
    return reduce(sb.Decomposition.joint, [part] * count)


def _compare(blanket: sb.Decomposition, facts: dict, plan: Plan) -> list[dict]:
    """Rows of one mechanism at one ε₀ and δ: the default engine at every n, then its rivals."""
    delta = facts["delta"]
    default = partial(_epsilon, blanket, delta)
    default(plan.users[0])  # What a decomposition computes once and keeps is not timed.
    growth = [{"engine": "shufflebounds"} | row for row in _timed(default, plan.users, plan)]
    seconds = {row["n"]: row["seconds"] for row in growth}
    rows = [
        {"what": "growth", "ratio": row["seconds"] / seconds[REFERENCE]} | row for row in growth
    ]
    for engine, timed in _rivals(blanket, facts, plan):
        rows += [
            {"what": "rival", "engine": engine, "ratio": row["seconds"] / seconds[row["n"]]} | row
            for row in timed
        ]
    return rows


def _rivals(
    blanket: sb.Decomposition, facts: dict, plan: Plan
) -> Iterator[tuple[str, Iterable[dict]]]:
    """Names, and timings."""
    delta = facts["delta"]
    if delta >= FFT_SMALLEST_DELTA:
        users = [n for n in plan.users if n in FFT_USERS.get(facts["mechanism"], ())]
        yield "fft", _timed(partial(algorithm7.epsilon, blanket, delta=delta), users, plan)
    if facts["mechanism"] == "clone":
        for engine, tail in (("O(n) sum", 0.0), ("O(√n) sum", CLONE_TAIL * delta)):
            yield engine, _climbed(partial(_summed, facts["eps0"], delta, tail), plan)


def _epsilon(blanket: sb.Decomposition, delta: float, n: int) -> sb.Enclosure:
    """Where it cannot reach the relative width, what it did reach: the table shows it."""
    try:
        return sb.epsilon(blanket, n, delta)
    except sb.PrecisionError as error:
        return error.enclosure


def _summed(eps0: float, delta: float, tail: float, n: int) -> sb.Enclosure:
    return sb.Enclosure(*conditional_binomial.epsilon(eps0, n, delta, tail))


def _timed(solve: Solver, users: Sequence[int], plan: Plan) -> list[dict]:
    """Medians per n. Rounds go through all n in turn, so that a busy spell falls on all alike."""
    times: dict[int, list[float]] = {n: [] for n in users}
    found = {}
    begun = time.process_time()
    for _ in range(plan.rounds):
        for n in users:
            start = time.process_time()
            found[n] = solve(n)
            times[n].append(time.process_time() - start)
        if time.process_time() - begun > plan.seconds:
            break
    return [
        {
            "n": n,
            "seconds": statistics.median(times[n]),
            "repeats": len(times[n]),
            "epsilon_lower": found[n].lower,
            "epsilon_upper": found[n].upper,
            "relative_width": found[n].relative_width,
        }
        for n in users
    ]


def _climbed(solve: Solver, plan: Plan) -> Iterator[dict]:
    """`_timed`, n by n, as long as patience lasts."""
    longest = float(plan.users[0])
    for n in plan.users:
        if n > longest:
            return
        (row,) = _timed(solve, [n], plan)
        yield row
        # The cost grows like √n or faster.
        longest = n * (plan.patience / row["seconds"]) ** 2


def write(frame: pd.DataFrame, folder: Path) -> None:
    """Table and figures, each file whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(frame.to_csv(index=False, lineterminator="\n"), folder / "benchmark.csv")
    timing_figure.draw(frame, [folder / f"benchmark.{kind}" for kind in ("png", "pdf")])


def report(frame: pd.DataFrame) -> str:
    """The ratios, then the seconds."""
    growth, rivals = (frame[frame["what"] == what] for what in ("growth", "rival"))
    return "\n\n".join(
        [
            _growth_text(growth),
            _widths_text(growth),
            _rivals_text(rivals, growth),
            _times_text(growth),
            _rates_text(growth),
        ]
    )


def _growth_text(growth: pd.DataFrame) -> str:
    lines = [
        f"Time of one ε at n = {FAR:.0e} over that at n = {REFERENCE:.0e}; "
        f"to be at most {CLAIM:g}. In brackets: ε = 0 at the larger n, which is easy."
    ]
    far = growth[growth["n"] == FAR]
    table = far.assign(
        cell=[
            f"({ratio:.2f})" if eps == 0.0 else f"{ratio:.2f} "
            for ratio, eps in zip(far["ratio"], far["epsilon_upper"], strict=True)
        ]
    )
    hard = far[far["epsilon_upper"] > 0.0]["ratio"]
    if hard.size:
        held = int((hard <= CLAIM).sum())
        lines.append(f"Holds in {held} of {hard.size} cases with ε > 0; largest {hard.max():.2f}.")
    return "\n".join([*lines, _pivot(table, ["eps0", "delta"], "cell")])


def _widths_text(growth: pd.DataFrame) -> str:
    wide = growth[growth["relative_width"] > RTOL]
    lines = [f"Relative width above {RTOL:g}: {len(wide)} of {len(growth)} enclosures."]
    for row in wide.itertuples():
        lines.append(
            f"{row.mechanism:18} ε₀ = {row.eps0:<4g} δ = {row.delta:<6g} n = {row.n:<6.0e} "
            f"{row.relative_width:.1e}"
        )
    return "\n".join(lines)


def _rivals_text(rivals: pd.DataFrame, growth: pd.DataFrame) -> str:
    keys = ["mechanism", "eps0", "delta", "n"]
    both = rivals.merge(growth[[*keys, "relative_width"]], on=keys, suffixes=("", "_default"))
    lines = ["Time of one ε over that of the default engine, and relative widths of both:"]
    for row in both.sort_values("engine", kind="stable").itertuples():
        lines.append(
            f"{row.engine:10} {row.mechanism:18} ε₀ = {row.eps0:<4g} δ = {row.delta:<6g} "
            f"n = {row.n:<6.0e} {row.ratio:9.3g} times, "
            f"{row.relative_width:.1e} against {row.relative_width_default:.1e}"
        )
    return "\n".join(lines)


def _times_text(growth: pd.DataFrame) -> str:
    table = growth.assign(cell=[f"{1e3 * seconds:.3g}" for seconds in growth["seconds"]])
    parts = [
        f"Milliseconds of one ε at ε₀ = {eps0:g}, δ = {delta:g}, against n:\n"
        + _pivot(group, ["n"], "cell")
        for (eps0, delta), group in table.groupby(["eps0", "delta"], sort=False)
    ]
    return "\n\n".join(parts)


def _rates_text(growth: pd.DataFrame) -> str:
    table = growth[growth["n"].isin(FFT_USERS["10-RR"])]
    table = table[table["delta"] == table["delta"].max()]
    table = table.assign(cell=[f"{1.0 / seconds:.3g}" for seconds in table["seconds"]])
    return f"Evaluations of ε a second at δ = {table['delta'].max():g}:\n" + _pivot(
        table, ["eps0", "n"], "cell"
    )


def _pivot(table: pd.DataFrame, columns: list[str], cell: str) -> str:
    wide = table.pivot(index="mechanism", columns=columns, values=cell)
    wide = wide.reindex(table["mechanism"].unique())
    formats = {"eps0": "ε₀ = {:g}", "delta": "δ = {:g}", "n": "{:.0e}"}
    labels = [key if isinstance(key, tuple) else (key,) for key in wide.columns]
    wide.columns = [
        ", ".join(formats[name].format(x) for name, x in zip(columns, key, strict=True))
        for key in labels
    ]
    return wide.rename_axis(None).to_string()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("results"), help="where files go")
    parser.add_argument("--quick", action="store_true", help="fewer n and repeats: a rough look")
    options = parser.parse_args(arguments)
    plan = Plan()
    if options.quick:
        plan = replace(plan, users=(10**3, 10**4, 10**6, 10**9, 10**12, 10**15), rounds=3)
    load = os.getloadavg()[0]
    print(f"load average {load:.1f} on {os.cpu_count()} CPUs; ratios are fair where it is low\n")
    frame = measure(plan)
    write(frame, options.folder)
    print(report(frame))


if __name__ == "__main__":
    main()
