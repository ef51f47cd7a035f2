"""Which mechanism to deploy: the error of each at its best parameters, at equal certified (ε, δ).

Parameters are searched with the ε₀ that blankets allow, which takes milliseconds. An ε₀ that is
returned is one at which the target itself was found to be met (`largest_eps0`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from shufflebounds.accounting.calibration import largest_eps0
from shufflebounds.accounting.questions import epsilon
from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, PrecisionError, reached
from shufflebounds.protocols.base import Calibrated, MultiMessage, Protocol
from shufflebounds.protocols.messages import CheuZhilyaev, Dump
from shufflebounds.randomizers import accuracy
from shufflebounds.randomizers.accuracy import Error, Spread, Supports
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.crowds import missing_property
from shufflebounds.randomizers.discrete import KRR
from shufflebounds.randomizers.joint import Joint
from shufflebounds.randomizers.mixed import Parallel
from shufflebounds.randomizers.registry import mechanism

# How several attributes are reported, and what each way is called.
WAYS = {
    "separate": "one shuffle for each attribute",
    "one": "one attribute, drawn at random",
    "linked": "all attributes in one report",
}
# Relative width of the returned ε₀ in one shuffle.
_RTOL = 1e-3
# Relative width of the returned ε₀ in several shuffles, where every probe takes a profile.
_RTOL_OF_SEVERAL_SHUFFLES = 3e-3
# Relative width of ε₀ in one shuffle while parameters are searched.
_SEARCH_RTOL = 1e-3
# Relative width of ε₀ in several shuffles while parameters are searched.
_SEARCH_RTOL_OF_SEVERAL_SHUFFLES = 1e-2
# Factor between the first parameters that a search tries.
_FIRST_FACTOR = 4.0
# Smallest factor between two parameters that a search tries.
_LAST_FACTOR = 1.05
# Largest number of hash values that a search tries.
_MAX_HASH_VALUES = 2**40
# Largest number of values of a grid for numbers that a search tries.
_MAX_GRID = 4096
# Largest number of attributes of a task.
_MAX_ATTRIBUTES = 100
# Steps by which an ε₀ is lowered until `epsilon` reports no more than the target; two are usual.
_MOST_STEPS = 10
# The smallest first step, relative to ε; it doubles. What `epsilon` reports jumps by up to 1e-4.
_LEAST_STEP = 1e-6
# An ε₀ of a message at which it is hardly ever flipped: its error differs by less than 10⁻⁹.
_NO_FLIPS = 200.0


# Called with the number of a step, the number of steps, and what the step does.
Progress = Callable[[int, int, str], object]


def _no_progress(step: int, steps: int, label: str) -> None:
    pass


@dataclass(frozen=True)
class Choice:
    """One mechanism at its best parameters.

    Parameters
    ----------
    name
        As `--mechanism` and configurations know it, such as ``krr``.
    parameters
        Those other than ε₀, by name.
    randomizer
        Of one attribute, at the ε₀ to deploy: ``eps0.lower``, or its share of that. A protocol, if
        several messages are sent.
    way
        How attributes are reported: ``separate``, ``one`` or ``linked``.
    preparation
        What a user does before the mechanism, such as rounding a number; empty if nothing.
    proof
        Why ε₀ is certified: ``tight`` (the mechanism's own ε), ``blanket`` or ``clone``.
    eps0
        Of all that a user sends in a shuffle (natural log), if blanket messages, which do not
        depend on the user, are known. At ``lower`` the target was found to be met, and `epsilon`
        reports at most the target; at ``upper`` it is missed, or not known by this proof to be met.
    error
        Of one attribute's estimate from the reports at ``eps0.lower``.
    mse
        What `error.mse` may be between the ends of ``eps0``; its upper end is that of ``error``.
    bits
        Of all that a user sends in a round.
    shuffles
        In how many shuffles a user sends something in a round.

    Examples
    --------
    >>> best = sb.choose(2, n=100_000, eps=1.0, delta=1e-6, most_bits=2).best
    >>> best.name, best.proof, f"{best.eps0.lower:.1f}"
    ('krr', 'tight', '8.0')
    """

    name: str
    parameters: Mapping[str, Any]
    randomizer: Randomizer | MultiMessage
    way: str
    preparation: str
    proof: str
    eps0: Enclosure
    error: Error
    mse: Enclosure
    bits: float
    shuffles: int = 1

    @property
    def eps0_of_round(self) -> float:
        """ε₀ of all that a user sends in a round, rounded up: what remains if the shuffler fails.

        ``eps0.lower`` times ``shuffles``.
        """
        return Enclosure(self.eps0.lower, self.eps0.lower).times(self.shuffles).upper

    @property
    def messages(self) -> int:
        """Of a user in a shuffle, about one attribute."""
        return 1 + (self.randomizer.blankets if isinstance(self.randomizer, MultiMessage) else 0)


@dataclass(frozen=True)
class Ranking:
    """Mechanisms by the total error of their estimates, at equal certified central (ε, δ).

    Parameters
    ----------
    choices
        The best parameters of every mechanism, the smallest ``error.mse`` first.
    by_clone
        The best of one message if its ε₀ is chosen by what holds of every mechanism with that ε₀
        (the stronger clone), as is customary.
    curator_mse
        Of the same estimate by a trusted curator, who adds Gaussian noise to what users hold.

    Examples
    --------
    >>> found = sb.choose(16, n=100_000, eps=1.0, delta=1e-6, most_bits=5)
    >>> [choice.name for choice in found.choices]
    ['krr', 'hadamard_blocks', 'hadamard']
    >>> f"{found.best.mse.upper / found.curator_mse:.1f}"
    '2.2'
    """

    choices: tuple[Choice, ...]
    by_clone: Choice
    curator_mse: float

    @property
    def best(self) -> Choice:
        """The first of the choices."""
        return self.choices[0]


def choose(
    values: int | None,
    *,
    n: int,
    eps: float,
    delta: float,
    items: int = 1,
    attributes: int = 1,
    rounds: int = 1,
    most_bits: float | None = None,
    most_eps0: float | None = None,
    most_messages: int = 1,
    progress: Progress | None = None,
) -> Ranking:
    """Rank the mechanisms that estimate shares of users, or a mean, at equal central (ε, δ).

    Each has the parameters (values in a report, hash values, blocks) with the least total error,
    and as large an ε₀ as is found to meet the target. What is assumed of users is as for `epsilon`.

    Parameters
    ----------
    values
        Number of values, 2 to 2⁵³, of which a user holds one; None for numbers in [−1, 1], of which
        the mean is estimated.
    n
        Number of users who report and do not collude, 1 to 10¹⁵.
    eps, delta
        Target ε and δ, natural log and probability: 0 ≤ ε ≤ 300 and 10⁻³⁰⁰ ≤ δ < 1.
    items
        How many different values a user holds (a set), 1 to 20 and below `values`.
    attributes
        How many such attributes every user has, 1 to 100. All ways to report them are ranked.
    rounds
        In how many rounds, 1 to 10⁶, all reports together meet the target, separate shuffles each.
    most_bits
        Of all that a user sends in a round; None for any number.
    most_eps0
        The largest ε₀ of all that a user sends in a round (natural log), up to 300: what remains if
        the shuffler fails. Separate shuffles share it equally. None for any.
    most_messages
        Of a user in a shuffle, 1 to 10⁶: with more than 1, protocols that hide a user's value among
        messages that depend on nobody are ranked, too (of values, each attribute by itself).
    progress
        Called before each step with its number, the number of steps, and what it does. Parameters
        are searched in some steps, and ε₀ is certified in others, which are counted anew.

    Returns
    -------
    Ranking
        Errors are of one attribute in one round.

    Raises
    ------
    ValueError
        For an argument outside these ranges, and where no mechanism meets the target or has as
        few bits.

    Notes
    -----
    docs/accuracy.md has the formulas, and says when not to trust a ranking.

    Examples
    --------
    >>> found = sb.choose(256, n=2_000_000, eps=1.0, delta=1e-8)
    >>> found.best.name, f"{found.best.eps0.lower:.2f}", f"{found.best.error.standard_error:.1e}"
    ('krr', '10.39', '5.5e-06')
    """
    n = validation.users(n)
    task = _Task(values, items, n, eps, delta, attributes, rounds, most_eps0, most_messages)
    show = progress or _no_progress
    found = [one for way in task.ways for one in _candidates(task, way, show)]
    allowed = [one for one in found if most_bits is None or one.bits <= most_bits]
    if not allowed:
        least = min(found, key=lambda one: one.bits)
        raise ValueError(
            f"most_bits must be at least {least.bits:.6g}, which {least.family.name} takes, the "
            f"fewest of all mechanisms here, got {most_bits!r}"
        )
    ranked = []
    for step, candidate in enumerate(allowed, start=1):
        show(step, len(allowed), f"eps0 of {candidate.family.name}")
        ranked.append((candidate.certified(), candidate))
    ranked.sort(key=lambda pair: pair[0].mse.upper)
    clones = (candidate.by_clone() for _, candidate in ranked if not candidate.family.protocol)
    by_clone = min(clones, key=lambda choice: choice.mse.upper)
    return Ranking(tuple(choice for choice, _ in ranked), by_clone, task.curator_mse)


def calibrated(wanted: Calibrated) -> Choice:
    """One mechanism of values by name, as `choose` ranks it.

    Raises ValueError for other names.
    """
    task = _Task.of(wanted)
    families = {family.name: family for family in _families(task)}
    family = families[validation.choice("mechanism", wanted.mechanism, families)]
    validation.choice("way", wanted.way, task.ways)
    found = _Candidate(task, family, wanted.way, family.least).searched()
    by_clone = validation.choice("by", wanted.by, ("mechanism", "clone")) == "clone"
    return found.by_clone() if by_clone else found.certified()


# What is asked.


@dataclass(frozen=True)
class _Task:
    values: int | None
    items: int
    n: int
    eps: float
    delta: float
    attributes: int
    rounds: int
    most_eps0: float | None = None
    most_messages: int = 1

    def __post_init__(self) -> None:
        if self.values is not None:
            validation.whole("values", self.values, minimum=2, maximum=2**53)
            validation.whole("items", self.items, minimum=1, maximum=min(20, self.values - 1))
        elif self.items != 1:
            raise ValueError(f"items must be left out of numbers, got {self.items!r}")
        validation.whole("attributes", self.attributes, minimum=1, maximum=_MAX_ATTRIBUTES)
        validation.rounds(self.rounds)
        if self.most_eps0 is not None:
            validation.eps0(self.most_eps0, "most_eps0")
        validation.whole("most_messages", self.most_messages, minimum=1, maximum=10**6)
        if self.rounds * self.attributes * self.items > validation.MAX_ROUNDS:
            raise ValueError(
                f"rounds must leave at most {validation.MAX_ROUNDS} shuffles in all, got "
                f"{self.rounds!r}"
            )

    @staticmethod
    def of(one: Calibrated) -> _Task:
        asked = (validation.users(one.n), one.target, one.delta, one.attributes, one.rounds)
        return _Task(one.values, 1, *asked, most_messages=one.most_messages)

    @property
    def ways(self) -> tuple[str, ...]:
        return tuple(WAYS) if self.attributes > 1 else ("separate",)

    @property
    def curator_mse(self) -> float:
        """Of one attribute in one round."""
        sums = self.attributes * self.rounds
        if self.values is None:
            return accuracy.curator_mse_of_mean(self.n, self.eps, self.delta, sums=sums)
        return accuracy.curator_mse(
            self.values, self.n, self.eps, self.delta, items=self.items, sums=sums
        )


# Mechanisms that fit a task, with the range of the one parameter that is free.


@dataclass(frozen=True)
class _Family:
    """A mechanism by name, and its parameters by that which is searched, if there is one.

    ``spread`` and ``bits`` are of one report, ``shuffles`` are those that one attribute takes.
    ``protocol`` makes what is no mechanism of one message, from ε₀ and parameters. ``like`` names
    another family before it, whose reports say the same.
    """

    name: str
    parameters: Callable[[int], dict[str, Any]]
    least: int = 1
    most: int = 1
    preparation: str = ""
    spread: Callable[[Any], Spread] = lambda randomizer: randomizer._variances()
    bits: Callable[[Any], float] = lambda randomizer: float(randomizer.bits)
    shuffles: int = 1
    protocol: Callable[..., MultiMessage] | None = None
    like: str = ""

    def make(self, eps0: float, free: int) -> Randomizer | MultiMessage:
        maker: Callable[..., Randomizer | MultiMessage] = self.protocol or mechanism(self.name)
        return maker(eps0=eps0, **self.parameters(free))


def _families(task: _Task) -> Iterator[_Family]:
    k, s = task.values, task.items
    if k is None:
        yield from _of_numbers()
    elif s == 1:
        yield from _of_values(k)
        if task.most_messages > 1:
            yield from _of_messages(k, task.most_messages - 1)
    else:
        yield from _of_sets(k, s)


def _of_values(k: int) -> Iterator[_Family]:
    yield _Family("krr", lambda _: {"k": k})
    if k > 2:
        yield _Family("subset", lambda m: {"domain_size": k, "subset_size": m}, 2, k - 1)
    yield _Family("local_hash", lambda m: {"domain_size": k, "hash_values": m}, 3, _MAX_HASH_VALUES)
    # The same odds as those of so many hash values, in bits that need no seed.
    yield _Family(
        "unary",
        lambda m: {"domain_size": k, "noise": 1.0 / m},
        3,
        _MAX_HASH_VALUES,
        like="local_hash",
    )
    for name in ("oue", "rappor", "blh", "hadamard"):
        yield _Family(name, lambda _: {"domain_size": k})
    yield _Family("hadamard_blocks", lambda m: {"domain_size": k, "blocks": m}, 2, k)


def _of_messages(k: int, most: int) -> Iterator[_Family]:
    """A message that is ε₀-LDP, and blankets. Without flips, dummies are balls into bins."""
    yield _Family(
        "dump",
        lambda m: {"domain_size": k, "blankets": m},
        1,
        most,
        spread=lambda dump: dump.spread(),
        protocol=_dump,
    )
    # Its error falls with the number of its blankets.
    yield _Family(
        "cheu_zhilyaev",
        lambda _: {"blankets": most},
        spread=lambda vectors: vectors.spread(k),
        bits=lambda vectors: float(k * (1 + vectors.blankets)),
        protocol=_cheu_zhilyaev,
    )


def _dump(eps0: float, domain_size: int, blankets: int) -> Dump:
    """Its flips are those of k-RR."""
    flip = (domain_size - 1) / (math.exp(min(eps0, _NO_FLIPS)) + domain_size - 1)
    return Dump(domain_size, flip, blankets=blankets)


def _cheu_zhilyaev(eps0: float, blankets: int) -> CheuZhilyaev:
    """Two bits of a message depend on the value."""
    return CheuZhilyaev(1.0 / (1.0 + math.exp(min(eps0, _NO_FLIPS) / 2.0)), blankets=blankets)


def _of_numbers() -> Iterator[_Family]:
    yield _Family("duchi", lambda _: {})
    yield _Family("piecewise", lambda _: {})
    # Of numbers in [0, 1], which are half as far apart.
    yield _Family(
        "laplace",
        lambda _: {"domain": "rounded", "steps": 16},
        preparation="x as (1 + x)/2",
        spread=lambda randomizer: randomizer._variances().times(4.0),
    )
    yield _Family(
        "krr",
        lambda m: {"k": m},
        3,
        _MAX_GRID,
        preparation="x rounded at random to one of k evenly spaced numbers",
        spread=lambda randomizer: accuracy.of_grid(_supports(randomizer)),
    )


def _of_sets(d: int, s: int) -> Iterator[_Family]:
    known = {"domain_size": d, "items": s}
    yield _Family("privset", lambda m: {**known, "subset_size": m}, 1, d - s)
    yield _Family("collision", lambda m: {**known, "hash_values": m}, s + 1, _MAX_HASH_VALUES)
    yield _Family(
        "krr",
        lambda _: {"k": d},
        preparation="an item of the user's, drawn at random",
        spread=partial(_of_one_item, s),
    )
    yield _Family(
        "krr",
        lambda _: {"k": d},
        preparation="every item of the user's in a shuffle of its own",
        spread=partial(_of_every_item, s),
        shuffles=s,
    )


def _supports(randomizer: Randomizer) -> Supports:
    supports = randomizer._supports()
    assert supports is not None  # of k-RR
    return supports


def _of_one_item(items: int, randomizer: Randomizer) -> Spread:
    """An item of the user's has a chance of 1/s to be the one that is reported."""
    supports = _supports(randomizer)
    gap = supports.gap / items
    p = supports.q + gap
    return replace(supports, p=p, miss=1.0 - p, gap=gap, items=items).spread


def _of_every_item(items: int, randomizer: Randomizer) -> Spread:
    """The sum of so many histograms."""
    spread = _supports(randomizer).spread
    return replace(
        spread,
        histograms=items,
        at=lambda shares: spread.at(shares) + (items - 1) * np.asarray(spread.other_value),
    )


# A mechanism for a task, its parameter found, and ε₀ certified when it is asked for.


@dataclass(frozen=True)
class _Candidate:
    task: _Task
    family: _Family
    way: str
    free: int = 1

    def sent(self, eps0: float) -> Randomizer | MultiMessage:
        """Of one attribute, where ε₀ is that of all that is sent in a shuffle."""
        share = eps0 / self.task.attributes if self.way == "linked" else eps0
        return self.family.make(share, self.free)

    def blanket(self, eps0: float) -> Decomposition:
        """Of all that is sent in a shuffle."""
        one, count = self.sent(eps0), self.task.attributes
        if isinstance(one, MultiMessage):
            return one.decomposition()
        if self.way == "linked":
            return Joint([one] * count).blanket()
        if self.way == "one":
            return Parallel([(1.0 / count, one)] * count).blanket()
        return one.blanket()

    @property
    def shuffles_of_round(self) -> int:
        """In which a user sends something."""
        return self.family.shuffles * (self.task.attributes if self.way == "separate" else 1)

    @property
    def shuffles(self) -> int:
        """That together meet the target."""
        return self.task.rounds * self.shuffles_of_round

    @property
    def most_eps0(self) -> float:
        """The largest ε₀ of a shuffle, so that all those of a round keep to the task's."""
        if self.task.most_eps0 is None:
            return validation.MAX_EPS0
        share = self.task.most_eps0 / self.shuffles_of_round
        while Enclosure(share, share).times(self.shuffles_of_round).upper > self.task.most_eps0:
            share = math.nextafter(share, 0.0)
        return share

    def eps0(self, sent: Callable[[float], Decomposition | Randomizer], rtol: float) -> Enclosure:
        """The largest that meets the target, by what `sent` says of it."""
        task, most, one = self.task, self.most_eps0, self.sent(1.0)
        if isinstance(one, MultiMessage):
            most = min(most, _NO_FLIPS)
        often: dict[str, Any] = {"rounds": self.shuffles, "rtol": rtol, "most": most}
        try:
            found = largest_eps0(sent, task.eps, task.delta, self.draws, **often)
        except PrecisionError as error:  # its lower end was found to meet the target, if it is one
            found = error.enclosure
            if not found.lower > 0.0:
                raise
        return Enclosure(found.lower, min(found.upper, most))

    @property
    def draws(self) -> int:
        """How many messages of a shuffle do not depend on the victim, plus one."""
        sent = self.sent(1.0)
        return sent.draws(self.task.n) if isinstance(sent, MultiMessage) else self.task.n

    def reported(self, sent: Callable[[float], Decomposition | Randomizer], eps0: float) -> float:
        """At most `eps0`: lowered until `epsilon` reports no more than the target.

        `largest_eps0` compares δ at the target's ε. `epsilon` encloses ε at δ, less closely.
        """
        task, lowered = self.task, eps0
        for step in range(_MOST_STEPS):
            eps = reached(
                partial(epsilon, sent(lowered), self.draws, task.delta, rounds=self.shuffles)
            ).upper
            if eps <= task.eps:
                return lowered
            if math.isinf(eps):  # too much work
                return eps0
            excess = math.log(eps / task.eps) if task.eps > 0.0 else _RTOL
            excess = max(excess, _LEAST_STEP * 2.0**step)
            # ε grows about like e^{ε₀/2} − 1.
            lowered += 2.1 * math.expm1(-0.5 * lowered) * excess
        return lowered

    def error(self, eps0: float) -> Error:
        """Of one attribute."""
        spread = self.family.spread(self.sent(eps0))
        if self.way == "one":
            spread = spread.sampled(1.0 / self.task.attributes)
        return spread.error(self.task.n, None)

    @property
    def bits(self) -> float:
        """Of all that a user sends in a round."""
        one = self.family.bits(self.sent(1.0)) * self.family.shuffles
        count = self.task.attributes
        return one + math.log2(count) if self.way == "one" else one * count

    def searched(self) -> _Candidate:
        """With the free parameter of the least total error at the ε₀ that the blanket allows."""
        if self.family.least == self.family.most:
            return self
        rtol = _SEARCH_RTOL if self.shuffles == 1 else _SEARCH_RTOL_OF_SEVERAL_SHUFFLES

        @cache
        def cost(free: int) -> float:
            one = replace(self, free=free)
            return one.error(one.eps0(one.blanket, rtol).lower).mse

        return replace(self, free=_least(cost, self.family.least, self.family.most))

    def certified(self) -> Choice:
        """At an ε₀ at which the target was found to be met."""
        single = self.shuffles == 1 and self.way == "separate" and not self.family.protocol
        if single and self.randomizer(1.0).crowds():
            return self.choice(self.randomizer, "tight")
        return self.choice(self.blanket, "blanket")

    def randomizer(self, eps0: float) -> Randomizer:
        """The same, of one message."""
        one = self.sent(eps0)
        assert isinstance(one, Randomizer)
        return one

    def by_clone(self) -> Choice:
        """At what every mechanism of the same ε₀ may have (docs/variation-ratio.md, section 5)."""
        return self.choice(lambda eps0: KRR(2, eps0).blanket(), "clone")

    def choice(self, proven: Callable[[float], Decomposition | Randomizer], proof: str) -> Choice:
        eps0 = self.eps0(proven, _RTOL if self.shuffles == 1 else _RTOL_OF_SEVERAL_SHUFFLES)
        eps0 = Enclosure(self.reported(proven, eps0.lower), eps0.upper)
        errors = [self.error(end) for end in (eps0.lower, eps0.upper)]
        sent, parameters = self.sent(eps0.lower), self.family.parameters(self.free)
        if isinstance(sent, MultiMessage):
            parameters["flip"] = vars(sent)["flip"]
        mse = Enclosure(min(one.mse for one in errors), errors[0].mse)
        how = (self.way, self.family.preparation, proof, eps0, errors[0], mse, self.bits)
        return Choice(self.family.name, parameters, sent, *how, self.shuffles_of_round)


def _candidates(task: _Task, way: str, progress: Progress) -> Iterator[_Candidate]:
    """None of a mechanism whose reports nobody has composed that way.

    A composition of linked reports takes seconds, too many to search for parameters.
    """
    best: dict[str, int] = {}
    families = list(_families(task))
    before, steps = task.ways.index(way) * len(families), len(task.ways) * len(families)
    for place, family in enumerate(families, start=1):
        progress(before + place, steps, f"parameters of {family.name}")
        one = _Candidate(task, family, way, best.get(family.like, family.least))
        takes_long = way == "linked" and task.rounds > 1 and family.least < family.most
        if takes_long or (way != "separate" and family.protocol):
            continue
        if way == "separate" or not missing_property(one.randomizer(1.0)):
            found = one if family.like in best else one.searched()
            best[family.name] = found.free
            yield found


def _least(cost: Callable[[int], float], least: int, most: int) -> int:
    """Where the cost is the smallest, looked for in steps of ever smaller factors."""
    best, factor = least, _FIRST_FACTOR
    while factor > _LAST_FACTOR:
        steps = {max(round(best / factor), least), min(max(round(best * factor), best + 1), most)}
        better = min(steps, key=cost)
        if cost(better) < cost(best):
            best = better
        elif best * (factor - 1.0) < 1.0:
            break
        else:
            factor = math.sqrt(factor)
    return best


# The bounds that curves have of the protocol `Calibrated`: docs/accuracy.md.

# Of a calibration by bisection, in floats.
_ROUNDING = 1e-9


def _bound(name: str, label: str, source: str, of: Callable[[Calibrated], Enclosure]) -> Bound:
    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        if not isinstance(protocol, Calibrated):
            raise ValueError(f"the bound {name} needs the protocol calibrated")
        answer = Answer(of(protocol))
        return lambda settings: [answer for _ in settings]

    return Bound(name, Kind.UPPER, label, source, ("mse",), prepare)


def _of_curator(wanted: Calibrated) -> Enclosure:
    mse = _Task.of(wanted).curator_mse
    return Enclosure(mse * (1.0 - _ROUNDING), mse * (1.0 + _ROUNDING))


ESTIMATE_ERROR = _bound(
    "estimate_error",
    "error of the estimate",
    "docs/accuracy.md: supports of values, at an eps0 that meets the target",
    lambda wanted: calibrated(wanted).mse,
)
CURATOR_ERROR = _bound(
    "curator_error",
    "error of a trusted curator",
    "Balle and Wang, ICML 2018, Theorem 8: Gaussian noise, calibrated exactly",
    _of_curator,
)
