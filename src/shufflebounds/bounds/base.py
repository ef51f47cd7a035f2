"""What a bound is: its name, what may be concluded from it, what it needs and what it gives.

`divergences` makes bounds that are the divergence of decompositions, `closed_form` here those that
a formula gives, and `registry` lists all.
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
from shufflebounds.protocols.base import Candidate, Protocol, Shuffles

# Which pairs of a protocol a bound is about.
PairsOf = Callable[[Protocol], tuple[Candidate, ...]]


class Kind(StrEnum):
    """What may be concluded from a bound."""

    UPPER = "upper"  # the truth is at most this: you can claim it
    LOWER = "lower"  # the truth is at least this: no valid claim can be smaller
    # Some randomizer of the class attains this, so that no bound that knows the class alone can be
    # less; of a given randomizer it says nothing.
    CLASS_LOWER = "class lower"
    UNPROVEN = "unproven"  # asymptotic, or published without a proof that holds


# What may be asked for, and the settings that a question about it must fix, and may fix. The first
# three are asked of divergences, ``mse`` of estimates.
DIVERGENCES = ("epsilon", "delta", "renyi")
QUANTITIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"epsilon": ("n", "delta"), "delta": ("n", "eps"), "renyi": ("n", "order"), "mse": ("n",)}
)
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


_USUAL = Numerics()


@dataclass(frozen=True)
class Answer:
    """An enclosure, the pair that attains it, and a sentence if it is wider than it should be."""

    enclosure: Enclosure
    differing: str = ""
    others: str = ""
    shortfall: str = ""
    inputs: str = ""

    def of(self, pair: Candidate) -> Answer:
        """The same, named after the pair that it is the answer of."""
        return replace(self, differing=pair.differing, others=pair.others, inputs=pair.inputs)


@dataclass(frozen=True)
class Asked:
    """Where a divergence is asked for: of which shuffles, and at which δ or ε."""

    parts: tuple[Shuffles, ...]
    at: float

    @property
    def draws(self) -> int:
        """Of one shuffle."""
        [part] = self.parts
        return part.protocol.draws(part.n)


# Of settings: an answer each. Made once for a protocol; settings asked together help one another.
Evaluate = Callable[[Sequence[Setting]], list[Answer]]
# Of a protocol, a quantity and numerics.
Prepare = Callable[[Protocol, str, Numerics], Evaluate]


@dataclass(frozen=True)
class Bound:
    """A bound of a protocol.

    Parameters
    ----------
    name
        As configurations and the command line know it.
    kind
        What may be concluded from it.
    label
        As legends and tables call it.
    source
        Who proved it, or stated it, and where.
    quantities
        Which of `QUANTITIES` it gives.
    prepare
        From a protocol to the function that answers.
    knows_mechanism
        Whether it looks at the randomizer; otherwise it holds for every one with the same ε₀.
    is_divergence
        Whether it is the divergence of decompositions, so that the width matters.
    composes
        Whether it knows several rounds. Where not, `prepare` need not look at them: what it
        returns raises ValueError for settings of more than one.
    candidates
        Of a divergence: the pairs whose divergences are compared.

    """

    name: str
    kind: Kind
    label: str
    source: str
    quantities: tuple[str, ...]
    prepare: Prepare
    knows_mechanism: bool = True
    is_divergence: bool = False
    composes: bool = False
    candidates: Callable[[Protocol], tuple[Candidate, ...]] | None = None

    def __post_init__(self) -> None:
        if not self.composes:
            object.__setattr__(self, "prepare", _of_one_round(self.name, self.prepare))

    def seen(self, protocol: Protocol) -> Protocol:
        """What of a protocol the bound looks at."""
        return protocol if self.knows_mechanism else protocol.generic()

    def answer(
        self, protocol: Protocol, quantity: str, setting: Setting, numerics: Numerics = _USUAL
    ) -> Answer:
        """What it says of a protocol at one setting; ValueError where it says nothing."""
        [found] = self.prepare(self.seen(protocol), quantity, numerics)([setting])
        return found


def _of_one_round(name: str, prepare: Prepare) -> Prepare:
    def prepare_one(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        evaluate = prepare(protocol, quantity, numerics)

        def evaluate_one(settings: Sequence[Setting]) -> list[Answer]:
            for setting in settings:
                if setting.rounds not in (None, 1):
                    raise ValueError(f"rounds must be 1 for the bound {name}, got {setting.rounds}")
            return evaluate(settings)

        return evaluate_one

    return prepare_one


def attempt(evaluate: Callable[[], Enclosure]) -> Answer:
    """What `evaluate` returns, or what it had found when its precision was out of reach."""
    try:
        return Answer(evaluate())
    except PrecisionError as error:
        return Answer(error.enclosure, shortfall=str(error))


def largest(answers: Iterable[Answer], kind: Kind) -> Answer:
    """The largest of all pairs, named after the pair with the largest end that is safe to claim."""
    listed = list(answers)
    end = "lower" if kind is Kind.LOWER else "upper"
    return _extreme(listed, max, max(listed, key=lambda x: getattr(x.enclosure, end)))


def smallest(answers: Iterable[Answer], end: str = "upper") -> Answer:
    """The smallest of all pairs, named after the pair with the smallest ``lower`` or ``upper``."""
    listed = list(answers)
    return _extreme(listed, min, min(listed, key=lambda x: getattr(x.enclosure, end)))


def _extreme(
    answers: Sequence[Answer], pick: Callable[[Iterable[float]], float], named: Answer
) -> Answer:
    extreme = Enclosure(
        pick(one.enclosure.lower for one in answers), pick(one.enclosure.upper for one in answers)
    )
    # A wide enclosure that lies beyond the extreme does not make it any wider.
    shortfalls = (
        one.shortfall
        for one in answers
        if one.shortfall
        and one.enclosure.lower <= extreme.upper
        and one.enclosure.upper >= extreme.lower
    )
    return replace(named, enclosure=extreme, shortfall="; ".join(shortfalls))


# Bounds that a formula gives, of the blanket or of ε₀ alone.

# The quantity by a protocol's blanket (None where the bound does not look at it), ε₀ and a setting.
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
    """What a formula says of the blanket (the largest, where there are several) or of ε₀ alone.

    Formulas that `composes` says know several rounds look at ``setting.rounds`` themselves.
    """

    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        formula, eps0 = quantities[quantity], _eps0(name, protocol)
        pairs = protocol.upper_candidates() if knows_mechanism else ()

        def answer(setting: Setting) -> Answer:
            if not knows_mechanism:
                return Answer(formula(None, eps0, setting))
            return largest(
                (Answer(formula(pair.decomposition, eps0, setting)).of(pair) for pair in pairs),
                kind,
            )

        return lambda settings: [answer(setting) for setting in settings]

    return Bound(
        name=name,
        kind=kind,
        label=label,
        source=source,
        knows_mechanism=knows_mechanism,
        quantities=tuple(quantities),
        composes=composes,
        prepare=prepare,
    )


def _eps0(name: str, protocol: Protocol) -> float:
    if protocol.eps0 is None:
        raise ValueError(f"{name} needs a randomizer with an eps0, got one without")
    return protocol.eps0
