"""The doors at which a question can be asked: functions of Python, commands, curves, accounts.

``DOORS`` holds the doors of each question by their names. Those of Python begin with ``sb.``, and
those of the command line begin with ``$``. A door takes a `Subject` and returns an `Enclosure`, or
an `Upper` if it tells the end that may be claimed only.
"""

import csv
import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from commands import answer, run, succeed

import shufflebounds as sb
from shufflebounds.core.enclosure import Enclosure, outward

DIGITS = 6


@dataclass(frozen=True)
class Subject:
    """Users who share a randomizer, as Python, the command line and descriptions name it."""

    name: str
    randomizer: sb.Randomizer
    options: tuple[object, ...]
    # The entry of a deployment's description; None if it cannot be described.
    described: dict[str, Any] | None = field(hash=False, compare=False)
    n: int = 10_000
    delta: float = 1e-6
    eps: float = 0.2
    order: float = 4.0
    rounds: int = 3

    def __repr__(self) -> str:
        return self.name


class Upper(NamedTuple):
    """The end that may be claimed."""

    upper: float


class Printed(NamedTuple):
    """The number that may be claimed, as it is printed."""

    text: str


class Row(NamedTuple):
    """The best proven answer of a command, and the row of its lower bound."""

    best: Enclosure
    lower: Enclosure | None


def enclosure(ends: dict[str, float | None]) -> Enclosure:
    """Return an enclosure in JSON, where null stands for infinity."""
    low, high = (np.inf if ends[end] is None else ends[end] for end in ("lower", "upper"))
    return Enclosure(low, high)


@cache
def row(command: str, *options: object) -> Row:
    """Return the best answer and the lower bound of a command with ``--json``."""
    facts = answer(command, *options)
    if "advantage" in facts:  # of risk
        facts = facts["advantage"]
    best = facts["best"] if "best" in facts else facts["blanket"]
    return Row(enclosure(best), enclosure(facts["lower"]) if "lower" in facts else None)


NUMBER = r"\d+\.\d+(?:e-?\d+)?|\d+(?:e-?\d+)?|inf"


@cache
def printed(command: str, *options: object) -> tuple[str, str]:
    """Return the number that a command says can be claimed, and that of its report's title."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.md"
        text = succeed(command, *options, "--report", path).stdout
        title = path.read_text(encoding="utf-8").splitlines()[0]
    claim = re.search(
        r"(?:You can .*?|\d+ users? (?:is|are) enough.*?)(?=\.(?:\s|$))", text, re.DOTALL
    )
    assert claim, text
    told = (claim[0], re.sub(r" \(.*", "", title))
    return tuple(re.findall(NUMBER, x.replace("eps0", ""))[-1] for x in told)


def curve(subject: Subject, quantity: str, **settings: float) -> Enclosure:
    """Return the first point of a curve along n."""
    points = sb.curve(
        subject.randomizer, "best", quantity=quantity, n=[subject.n, 2 * subject.n], **settings
    )
    return points.enclosures[0]


def plotted(subject: Subject, quantity: str, *options: object) -> Enclosure:
    """Return the first point of the curve that the command prints as CSV."""
    along = ("--start", subject.n, "--stop", 2 * subject.n, "--points", 2)
    asked = (*subject.options, *options, "--quantity", quantity, "--bound", "best")
    text = succeed("curve", *asked, *along).stdout
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    first = next(csv.DictReader(lines))
    return Enclosure(float(first[f"{quantity}_lower"]), float(first[f"{quantity}_upper"]))


def deployment(subject: Subject, days: int) -> sb.Deployment | None:
    """Return the deployment of fresh answers on some days."""
    if subject.described is None:
        return None
    report = {**subject.described, "answers": "fresh"}
    return sb.Deployment({"users": subject.n, "days": days, "reports": {"a": report}})


def account(subject: Subject, days: int) -> Enclosure | None:
    """Return what the command says of the deployment."""
    described = deployment(subject, days)
    if described is None:
        return None
    report = {**subject.described, "answers": "fresh"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "deployment.yaml"
        path.write_text(
            yaml.safe_dump({"users": subject.n, "days": days, "reports": {"a": report}})
        )
        facts = json.loads(succeed("account", path, "--delta", subject.delta, "--json").stdout)
    return enclosure(facts["epsilon"])


def verdicts(subject: Subject, best: Enclosure) -> tuple[str, str]:
    """Return what `check` says of claims a little above the upper end and below the lower one."""
    asked = (*asked_about(subject), "--delta", subject.delta, "--json")
    claims = (best.upper * 1.001, best.lower * 0.999)
    return tuple(json.loads(run("check", *asked, "--eps", eps).stdout)["verdict"] for eps in claims)


def asked_about(subject: Subject) -> tuple[object, ...]:
    """Return the options on what is sent and on how many send it."""
    return (*subject.options, "--n", subject.n)


Door = Callable[[Subject], Enclosure | Upper | Printed | None]


def commands(name: str, *options_of: Callable[[Subject], tuple[object, ...]]) -> dict[str, Door]:
    """Return the doors of a command: its JSON, its text and its report."""

    def options(subject: Subject) -> tuple[object, ...]:
        return tuple(option for part in options_of for option in part(subject))

    return {
        f"${name} --json": lambda subject: row(name, *options(subject)).best,
        f"${name}": lambda subject: Printed(printed(name, *options(subject))[0]),
        f"${name} --report": lambda subject: Printed(printed(name, *options(subject))[1]),
    }


def at_delta(subject: Subject) -> tuple[object, ...]:
    return "--delta", subject.delta


def at_eps(subject: Subject) -> tuple[object, ...]:
    return "--eps", subject.eps


def at_twice_eps(subject: Subject) -> tuple[object, ...]:
    return "--eps", 2.0 * subject.eps


def at_order(subject: Subject) -> tuple[object, ...]:
    return "--order", subject.order


def in_rounds(subject: Subject) -> tuple[object, ...]:
    return "--rounds", subject.rounds


def sent(subject: Subject) -> tuple[object, ...]:
    return subject.options


def shuffles(subject: Subject, rounds: int = 1) -> list[tuple[sb.Randomizer, int, int]]:
    return [(subject.randomizer, subject.n, rounds)]


def ledger(subject: Subject, rounds: int = 1) -> sb.ShuffleAccountant:
    return sb.ShuffleAccountant().compose(subject.randomizer, subject.n, rounds)


def profile(subject: Subject, rounds: int = 1):
    return _profile(subject.randomizer, subject.n, rounds)


_profile = cache(lambda randomizer, n, rounds: sb.profile(randomizer, n, rounds=rounds))

# The first door of each question is the one that the others are compared with.
DOORS: dict[str, dict[str, Door]] = {
    "epsilon": {
        "sb.epsilon": lambda s: sb.epsilon(s.randomizer, s.n, s.delta),
        "sb.epsilon of arrays": lambda s: sb.epsilon(s.randomizer, [s.n, 9 * s.n], s.delta)[0],
        "sb.mechanism_epsilon": lambda s: (
            sb.mechanism_epsilon(s.randomizer, s.n, s.delta).enclosure
        ),
        "sb.compose": lambda s: sb.compose(shuffles(s)).epsilon(s.delta),
        "sb.ShuffleAccountant": lambda s: Upper(ledger(s).get_epsilon(s.delta)),
        "sb.profile": lambda s: profile(s).epsilon(s.delta),
        "sb.Deployment": lambda s: (d := deployment(s, 1)) and d.epsilon(s.delta),
        "sb.curve": lambda s: curve(s, "epsilon", delta=s.delta),
        "$curve": lambda s: plotted(s, "epsilon", *at_delta(s)),
        **commands("epsilon", asked_about, at_delta),
        "$account --json": lambda s: account(s, 1),
    },
    "delta": {
        "sb.delta": lambda s: sb.delta(s.randomizer, s.eps, s.n),
        "sb.delta of arrays": lambda s: sb.delta(s.randomizer, s.eps, [s.n, 9 * s.n])[0],
        "sb.mechanism_delta": lambda s: sb.mechanism_delta(s.randomizer, s.eps, s.n).enclosure,
        "sb.compose": lambda s: sb.compose(shuffles(s)).delta(s.eps),
        "sb.profile": lambda s: profile(s).delta(s.eps),
        "sb.curve": lambda s: curve(s, "delta", eps=s.eps),
        "$curve": lambda s: plotted(s, "delta", *at_eps(s)),
        **commands("delta", asked_about, at_eps),
    },
    "advantage": {
        "sb.advantage": lambda s: sb.advantage(s.randomizer, s.n),
        "sb.delta": lambda s: sb.delta(s.randomizer, 0.0, s.n),
        "sb.profile": lambda s: profile(s).advantage(),
        **commands("risk", asked_about),
    },
    "renyi": {
        "sb.renyi": lambda s: sb.renyi(s.randomizer, s.n, s.order),
        "sb.curve": lambda s: curve(s, "renyi", order=s.order),
        **commands("renyi", asked_about, at_order),
    },
    "epsilon of rounds": {
        "sb.epsilon": lambda s: sb.epsilon(s.randomizer, s.n, s.delta, rounds=s.rounds),
        "sb.compose": lambda s: sb.compose(shuffles(s, s.rounds)).epsilon(s.delta),
        "sb.ShuffleAccountant": lambda s: Upper(ledger(s, s.rounds).get_epsilon(s.delta)),
        "sb.profile": lambda s: profile(s, s.rounds).epsilon(s.delta),
        "sb.Deployment": lambda s: (d := deployment(s, s.rounds)) and d.epsilon(s.delta),
        "sb.curve": lambda s: curve(s, "epsilon", delta=s.delta, rounds=s.rounds),
        **commands("epsilon", asked_about, at_delta, in_rounds),
        "$account --json": lambda s: account(s, s.rounds),
    },
    "delta of rounds": {
        "sb.delta": lambda s: sb.delta(s.randomizer, s.eps, s.n, rounds=s.rounds),
        "sb.compose": lambda s: sb.compose(shuffles(s, s.rounds)).delta(s.eps),
        "sb.profile": lambda s: profile(s, s.rounds).delta(s.eps),
        "sb.curve": lambda s: curve(s, "delta", eps=s.eps, rounds=s.rounds),
        **commands("delta", asked_about, at_eps, in_rounds),
    },
    "advantage of rounds": {
        "sb.advantage": lambda s: sb.advantage(s.randomizer, s.n, rounds=s.rounds),
        "sb.delta": lambda s: sb.delta(s.randomizer, 0.0, s.n, rounds=s.rounds),
        "sb.profile": lambda s: profile(s, s.rounds).advantage(),
        **commands("risk", asked_about, in_rounds),
    },
    "fewest users": {
        "sb.fewest_users": lambda s: sb.fewest_users(s.randomizer, s.eps, s.delta),
        **commands("users", sent, at_eps, at_delta),
    },
    "most rounds": {
        "sb.most_rounds": lambda s: sb.most_rounds(s.randomizer, 2.0 * s.eps, s.delta, s.n),
        **commands("rounds", asked_about, at_twice_eps, at_delta),
    },
}


def text_of(value: float) -> str:
    """Return a number as the command line prints one that may be claimed, rounded up."""
    return outward(value, up=True, digits=DIGITS)
