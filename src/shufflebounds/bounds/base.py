"""What a bound is: its name, what may be concluded from it, what it needs and what it gives.

`divergences` makes bounds that are the divergence of decompositions. `closed_form` makes bounds by
a formula of the blanket or of ε₀ alone. `registry` lists all bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, PrecisionError
from shufflebounds.core.setting import Setting
from shufflebounds.questions.plan import MakeInterval
from shufflebounds.subjects.base import PairName, Shuffle, Subject

# Relative error of formulas of a dozen functions, with room to spare.
FORMULA_ERR = 2.0**-40
# Relative error of numbers by SciPy's special functions, with room to spare.
SPECIAL_ERR = 1e-9


class Kind(StrEnum):
    """What may be concluded from a bound."""

    # The truth is at most this: you can claim it.
    UPPER = "upper"
    # The truth is at least this: any smaller claim is false.
    LOWER = "lower"
    # Some randomizer with this ε₀ has this value, so that no bound that looks at ε₀ alone can be
    # smaller. About a specific randomizer it says nothing.
    CLASS_LOWER = "class lower"
    # The bound is asymptotic, or was published without a valid proof.
    UNPROVEN = "unproven"


# Quantities that are divergences of decompositions.
DIVERGENCES = ("epsilon", "delta", "renyi")
# All quantities, with the settings that a question about them must fix; ``mse`` is about estimates.
QUANTITIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"epsilon": ("n", "delta"), "delta": ("n", "eps"), "renyi": ("n", "order"), "mse": ("n",)}
)
# Settings that a question may fix.
OPTIONAL = frozenset({"rounds"})


@dataclass(frozen=True)
class Numerics:
    """The relative width that divergences are asked for.

    ``rtol`` None stands for the default of `sb.epsilon` and `sb.delta`. Raises ValueError for a
    width out of range.
    """

    rtol: float | None = None

    def __post_init__(self) -> None:
        if self.rtol is not None:
            object.__setattr__(self, "rtol", validation.rtol(self.rtol))


_DEFAULT_NUMERICS = Numerics()


# The name of no pair.
NO_NAME = PairName()


@dataclass(frozen=True)
class Answer:
    """An enclosure and the pair that has it.

    ``shortfall`` is a sentence that says why the enclosure is wider than it should be, else empty.
    """

    enclosure: Enclosure
    pair: PairName = NO_NAME
    shortfall: str = ""

    @property
    def differing(self) -> str:
        """The coordinates in which the victim's inputs differ."""
        return self.pair.differing

    @property
    def inputs(self) -> str:
        """The victim's two inputs."""
        return self.pair.inputs

    @property
    def others(self) -> str:
        """What all others hold."""
        return self.pair.others


# Returns what a bound says of a subject and a quantity, at each setting. The settings of one call
# share their work.
Answers = Callable[[Subject, str, Sequence[Setting], Numerics], list[Answer]]


@dataclass(frozen=True)
class Bound:
    """A bound of what users send.

    Parameters
    ----------
    name
        The name in configurations and on the command line.
    kind
        What may be concluded from it.
    label
        The name in legends and tables.
    source
        Who proved it, or stated it, and where.
    quantities
        The `QUANTITIES` that it gives.
    compute
        The function that answers.
    knows_mechanism
        Whether it looks at the randomizer; otherwise it holds for every one with the same ε₀.
    is_of_shuffles
        Whether it answers about every shuffle of a round, as divergences do. Closed forms take n
        for the number of reports in a single shuffle.
    composes
        Whether it can answer about several rounds. If not, `answers` raises ValueError for settings
        of more than one.
    make
        Returns the interval of two profiles that it is, if it is one. Then all questions can be
        asked of it.
    encloses_truth
        Whether its ends are about the subject itself, so that theory may keep them apart. Those of
        other bounds are about the bound.
    """

    name: str
    kind: Kind
    label: str
    source: str
    quantities: tuple[str, ...]
    compute: Answers
    knows_mechanism: bool = True
    is_of_shuffles: bool = False
    composes: bool = False
    make: MakeInterval | None = None
    encloses_truth: bool = False

    @property
    def is_divergence(self) -> bool:
        """Whether it is the divergence of decompositions, so that the width matters."""
        return self.make is not None and not self.encloses_truth

    def answers(
        self,
        subject: Subject,
        quantity: str,
        settings: Sequence[Setting],
        numerics: Numerics = _DEFAULT_NUMERICS,
    ) -> list[Answer]:
        """Return the answers about a subject at settings; ValueError if there is none."""
        for setting in settings:
            if not self.composes and setting.rounds not in (None, 1):
                raise ValueError(
                    f"rounds must be 1 for the bound {self.name}, got {setting.rounds}"
                )
        return self.compute(subject, quantity, settings, numerics)

    def answer(
        self,
        subject: Subject,
        quantity: str,
        setting: Setting,
        numerics: Numerics = _DEFAULT_NUMERICS,
    ) -> Answer:
        """Return the answer about a subject at one setting; ValueError if there is none."""
        return self.answers(subject, quantity, [setting], numerics)[0]


def attempt(evaluate: Callable[[], Enclosure]) -> Answer:
    """Return the answer of `evaluate`, with a shortfall if it raised `PrecisionError`."""
    try:
        return Answer(evaluate())
    except PrecisionError as error:
        return Answer(error.enclosure, shortfall=str(error))


def largest(answers: Iterable[Answer], kind: Kind) -> Answer:
    """Return the largest answer, with the names of the pair whose safe end is the largest."""
    listed = list(answers)
    end = "lower" if kind is Kind.LOWER else "upper"
    return _extreme(listed, max, max(listed, key=lambda x: getattr(x.enclosure, end)))


def smallest(answers: Iterable[Answer], end: str = "upper") -> Answer:
    """Return the smallest answer, with the names of the pair whose `end` is the smallest.

    `end` is ``lower`` or ``upper``.
    """
    listed = list(answers)
    return _extreme(listed, min, min(listed, key=lambda x: getattr(x.enclosure, end)))


def _extreme(
    answers: Sequence[Answer], pick: Callable[[Iterable[float]], float], best: Answer
) -> Answer:
    """Return the extreme of both ends, with the names of `best`."""
    extreme = Enclosure(
        pick(answer.enclosure.lower for answer in answers),
        pick(answer.enclosure.upper for answer in answers),
    )
    # A wide enclosure that lies beyond the extreme does not make it any wider.
    shortfalls = (
        answer.shortfall
        for answer in answers
        if answer.shortfall
        and answer.enclosure.lower <= extreme.upper
        and answer.enclosure.upper >= extreme.lower
    )
    return replace(best, enclosure=extreme, shortfall="; ".join(shortfalls))


# Returns a quantity for a protocol's blanket, ε₀ and a setting. The blanket is None if the bound
# looks at ε₀ alone.
Formula = Callable[[Any, float, Setting], Enclosure]


def closed_form(
    name: str,
    kind: Kind,
    *,
    label: str,
    source: str,
    knows_mechanism: bool,
    quantities: Mapping[str, Formula],
    composes: bool = False,
) -> Bound:
    """Return the bound that formulas give, by the names of their quantities.

    If there are several blankets, their largest value counts. Formulas of a bound that `composes`
    take ``setting.rounds`` into account.
    """

    def compute(
        subject: Subject, quantity: str, settings: Sequence[Setting], _: Numerics
    ) -> list[Answer]:
        formula, eps0 = quantities[quantity], _eps0(name, subject)

        def answer(setting: Setting) -> Answer:
            shuffle = single_shuffle(name, subject, setting)
            # A formula takes n for the number of reports, of which some protocols have fewer.
            reports = setting.at(n=shuffle.draws)
            if not knows_mechanism:
                return Answer(formula(None, eps0, reports))
            return largest(
                (
                    Answer(formula(pair, eps0, reports), shuffle.source.blanket_inputs(key))
                    for key, pair in shuffle.source.blankets.items()
                ),
                kind,
            )

        return [answer(setting) for setting in settings]

    return Bound(
        name=name,
        kind=kind,
        label=label,
        source=source,
        knows_mechanism=knows_mechanism,
        quantities=tuple(quantities),
        composes=composes,
        compute=compute,
    )


def single_shuffle(name: str, subject: Subject, setting: Setting) -> Shuffle:
    """Return the only shuffle of a round; ValueError, with the name of the bound, for several."""
    shuffles = subject.shuffles(setting.require("n"))
    if len(shuffles) > 1 or shuffles[0].times > 1:
        raise ValueError(f"{name} needs a single shuffle, got {subject!r}")
    if not shuffles[0].source.has_whole_crowd:
        raise ValueError(f"{name} needs reports of all users, got {subject.label}")
    return shuffles[0]


def _eps0(name: str, subject: Subject) -> float:
    """Return the subject's ε₀; raise ValueError, with the name of the bound, if it has none."""
    if subject.eps0 is None:
        raise ValueError(f"{name} needs a randomizer with an eps0, got one without")
    return subject.eps0
